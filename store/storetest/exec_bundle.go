package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treering/store"
)

// execBundle is what a case works with: a fresh store and short forms of the
// calls that must succeed.
type execBundle struct {
	t      *testing.T
	ctx    context.Context
	s      store.ExecutionStore
	f      ExecutionFactory
	closed bool // by the case
}

func newExecBundle(t *testing.T, f ExecutionFactory, o ExecOptions) *execBundle {
	return &execBundle{t: t, ctx: t.Context(), s: f.Open(t, o), f: f}
}

// size is n, or small under the race detector and with -short.
func size(n, small int) int {
	if underRace || testing.Short() {
		return small
	}
	return n
}

func ptr[T any](v T) *T { return &v }

// fresh is a new execution with some state, not yet saved.
func fresh(id string) *store.Execution {
	return &store.Execution{
		ID: id, DefinitionID: "shop", Status: store.Running, ActivePath: ptr("Checkout.Payment"),
		Context: `{"user":"ana","total":49.90}`,
	}
}

// event is an event whose id is its kind and n.
func event(kind string, n int) store.Event {
	return store.Event{ID: fmt.Sprintf("%s-%d", kind, n), Kind: kind, Data: store.JSON(fmt.Sprintf(`{"n":%d}`, n))}
}

func emit(target string, ev store.Event) store.Emit { return store.Emit{TargetID: &target, Event: ev} }

// full is a commit that writes to every part of the store. tag makes its parts
// recognisable.
func full(exe *store.Execution, tag string) store.Commit {
	return store.Commit{
		Execution:        exe,
		Emits:            []store.Emit{{TargetID: ptr("target-" + tag), Event: store.Event{ID: "emit-" + tag, Kind: "Paid"}}},
		ProcessedEventID: ptr("processed-" + tag),
		Timers:           []store.TimerOp{{Action: store.Schedule, Path: "timer-" + tag, FireAt: 10}},
		Spawns:           []store.Spawn{{ChildID: "child-" + tag, RootPath: "Fork.A", Context: `{"a":1}`}},
		Trace:            store.JSON(`{"event_kind":"step-` + tag + `"}`),
	}
}

func (b *execBundle) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// is demands an error that matches every target.
func (b *execBundle) is(err error, targets ...error) {
	b.t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			b.t.Fatalf("error is %v, want %v", err, target)
		}
	}
}

// equal compares by cmp; what says what it is about.
func (b *execBundle) equal(what string, got, want any) {
	b.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func (b *execBundle) save(exe *store.Execution) *store.Execution {
	b.t.Helper()
	b.ok(b.s.Save(b.ctx, exe))
	return exe
}

func (b *execBundle) commit(c store.Commit) []int64 {
	b.t.Helper()
	seqs, err := b.s.Commit(b.ctx, c)
	b.ok(err)
	return seqs
}

// settle returns when a commit of an execution whose answer was not waited for has come to its end:
// one that is still on its way to a server loses against the one here.
func (b *execBundle) settle(id string) {
	b.t.Helper()
	for {
		_, err := b.s.Commit(b.ctx, store.Commit{Execution: b.copyOf(id)})
		if err == nil {
			return
		}
		b.is(err, store.ErrConflict)
	}
}

func (b *execBundle) load(id string) *store.Execution {
	b.t.Helper()
	exe, err := b.s.Load(b.ctx, id)
	b.ok(err)
	return exe
}

// copyOf is an object of the caller's own with the stored state: a stale copy,
// once somebody else has written.
func (b *execBundle) copyOf(id string) *store.Execution {
	b.t.Helper()
	return b.load(id).Clone()
}

func (b *execBundle) absent(id string) {
	b.t.Helper()
	_, err := b.s.Load(b.ctx, id)
	var missing *store.NotFoundError
	if !errors.As(err, &missing) || missing.What != "execution" || missing.ID != id {
		b.t.Fatalf("loading absent %q: %v, want a *NotFoundError of the execution", id, err)
	}
	b.is(err, store.ErrNotFound)
}

// conflict demands a *ConflictError with these fields; found < 0 is no row.
func (b *execBundle) conflict(err error, id string, expected, found int64) {
	b.t.Helper()
	var c *store.ConflictError
	if !errors.As(err, &c) {
		b.t.Fatalf("error is %v, want a *ConflictError", err)
	}
	b.is(err, store.ErrConflict)
	got := int64(-1)
	if c.Found != nil {
		got = *c.Found
	}
	if c.ID != id || c.Expected != expected || got != found {
		b.t.Fatalf("conflict of %q, expected %d, found %d; want %q, %d, %d", c.ID, c.Expected, got, id, expected, found)
	}
}

func (b *execBundle) processed(id, eventID string) bool {
	b.t.Helper()
	ok, err := b.s.IsProcessed(b.ctx, id, eventID)
	b.ok(err)
	return ok
}

func (b *execBundle) outbox() []string {
	b.t.Helper()
	entries, err := b.s.PendingOutbox(b.ctx)
	b.ok(err)
	return lines(entries, outboxLine)
}

func (b *execBundle) spawns() []string {
	b.t.Helper()
	entries, err := b.s.PendingSpawns(b.ctx)
	b.ok(err)
	return lines(entries, spawnLine)
}

// due lists the timers due by now; math.Inf(1) lists all.
func (b *execBundle) due(now float64) []string {
	b.t.Helper()
	timers, err := b.s.DueTimers(b.ctx, now)
	b.ok(err)
	return lines(timers, timerLine)
}

func (b *execBundle) trace(id string) []string {
	b.t.Helper()
	steps, err := b.s.ReadTrace(b.ctx, id)
	b.ok(err)
	return lines(steps, traceLine)
}

func (b *execBundle) ids(f store.ExecutionFilter) []string {
	b.t.Helper()
	return collect(b, func(p store.PageRequest) (store.Page[store.Summary], error) {
		return b.s.ListExecutions(b.ctx, f, p)
	}, func(s store.Summary) string { return s.ID })
}

func lines[T any](items []T, line func(T) string) []string {
	out := make([]string, 0, len(items))
	for _, item := range items {
		out = append(out, line(item))
	}
	return out
}

// collect pages a list to its end.
func collect[T any](b *execBundle, list func(store.PageRequest) (store.Page[T], error), line func(T) string) []string {
	b.t.Helper()
	out := []string{}
	b.ok(store.All(list, func(item T) error {
		out = append(out, line(item))
		return nil
	}))
	return out
}

// orNull shows optional text: nil and "null" must not look the same.
func orNull(s *string) string {
	if s == nil {
		return "-"
	}
	return fmt.Sprintf("%q", *s)
}

func outboxLine(e store.OutboxEntry) string {
	if e.Bad != nil {
		return fmt.Sprintf("%d bad: %v", e.Seq, e.Bad)
	}
	return fmt.Sprintf("%d to %s: %s %s %s", e.Seq, orNull(e.TargetID), e.Event.ID, e.Event.Kind, store.Compact(e.Event.Data))
}

func spawnLine(e store.SpawnEntry) string {
	if e.Bad != nil {
		return fmt.Sprintf("%d bad: %v", e.Seq, e.Bad)
	}
	return fmt.Sprintf("%d by %q: %q at %q %s", e.Seq, e.ParentID, e.ChildID, e.RootPath, store.Compact(e.Context))
}

func timerLine(t store.Timer) string {
	if t.Bad != nil {
		return fmt.Sprintf("bad: %v", t.Bad)
	}
	return fmt.Sprintf("%s %q %q", store.FormatFireAt(t.FireAt), t.ExecutionID, t.Path)
}

// traceLine shows the step without an index of its own, which some backends keep
// in the entry.
func traceLine(e store.TraceEntry) string {
	if e.Bad != nil {
		return fmt.Sprintf("%d bad: %v", e.Index, e.Bad)
	}
	var rest []store.Member
	for k, v := range e.Entry.Members() {
		if k != "index" {
			rest = append(rest, store.Member{Key: k, Value: store.Compact(v)})
		}
	}
	return fmt.Sprintf("%d %s", e.Index, store.ObjectOf(rest...))
}

// dump is the whole store as text, for "nothing else changed". Marks cannot be
// listed, so those in question are named as (execution, event) pairs.
func (b *execBundle) dump(marks ...[2]string) string {
	b.t.Helper()
	var out []string
	for _, id := range b.ids(store.ExecutionFilter{}) {
		exe := b.load(id)
		text, err := exe.Encode(exe.Version)
		b.ok(err)
		out = append(out, "execution "+text)
		out = append(out, b.trace(id)...)
	}
	out = append(out, b.outbox()...)
	out = append(out, b.spawns()...)
	out = append(out, b.due(math.Inf(1))...)
	for _, m := range marks {
		out = append(out, fmt.Sprintf("mark %q: %v", m, b.processed(m[0], m[1])))
	}
	return strings.Join(out, "\n")
}

// unchanged compares with a dump of before.
func (b *execBundle) unchanged(before string, marks ...[2]string) {
	b.t.Helper()
	b.equal("the store", strings.Split(b.dump(marks...), "\n"), strings.Split(before, "\n"))
}

// checkInvariants holds for every store after every case.
func (b *execBundle) checkInvariants() {
	b.ctx = context.Background() // the case's own has ended
	if b.closed || b.t.Failed() {
		return
	}
	s, all := b.s, store.QueueFilter{}
	counts, err := s.Counts(b.ctx)
	b.ok(err)
	want := store.Counts{ByStatus: map[store.Status]int64{}}
	var last string
	b.ok(store.All(func(p store.PageRequest) (store.Page[store.Summary], error) {
		return s.ListExecutions(b.ctx, store.ExecutionFilter{}, p)
	}, func(sum store.Summary) error {
		if want.Executions > 0 && sum.ID <= last {
			return fmt.Errorf("list: %q after %q", sum.ID, last)
		}
		last = sum.ID
		want.Executions++
		want.ByStatus[store.Status(strings.ToUpper(string(sum.Status)))]++
		exe, err := s.Load(b.ctx, sum.ID)
		if err != nil {
			return err
		}
		if exe.Version != sum.Version || len(sum.Drift) != 0 {
			return fmt.Errorf("%q has version %d in the list, %d loaded, drift %v", sum.ID, sum.Version, exe.Version, sum.Drift)
		}
		if sum.Version < 1 {
			return fmt.Errorf("%q is stored at version %d", sum.ID, sum.Version)
		}
		return nil
	}))
	outbox, err := s.PendingOutbox(b.ctx)
	b.ok(err)
	spawns, err := s.PendingSpawns(b.ctx)
	b.ok(err)
	timers, err := s.DueTimers(b.ctx, math.Inf(1))
	b.ok(err)
	want.Outbox, want.Spawns, want.Timers = int64(len(outbox)), int64(len(spawns)), int64(len(timers))
	b.equal("counts", counts, want)
	ascending(b, "outbox seq", outbox, func(x, y store.OutboxEntry) bool { return x.Seq < y.Seq })
	ascending(b, "spawn seq", spawns, func(x, y store.SpawnEntry) bool { return x.Seq < y.Seq })
	ascending(b, "timer", timers, timerBefore)
	b.equal("paged outbox", collect(b, func(p store.PageRequest) (store.Page[store.OutboxEntry], error) {
		return s.ListOutbox(b.ctx, all, p)
	}, outboxLine), lines(outbox, outboxLine))
	b.equal("paged spawns", collect(b, func(p store.PageRequest) (store.Page[store.SpawnEntry], error) {
		return s.ListSpawns(b.ctx, all, p)
	}, spawnLine), lines(spawns, spawnLine))
	b.equal("paged timers", collect(b, func(p store.PageRequest) (store.Page[store.Timer], error) {
		return s.ListTimers(b.ctx, all, p)
	}, timerLine), lines(timers, timerLine))
}

func ascending[T any](b *execBundle, what string, items []T, before func(x, y T) bool) {
	b.t.Helper()
	for i := 1; i < len(items); i++ {
		if !before(items[i-1], items[i]) {
			b.t.Fatalf("%s: %+v comes before %+v", what, items[i-1], items[i])
		}
	}
}

func timerBefore(x, y store.Timer) bool {
	if x.FireAt != y.FireAt {
		return x.FireAt < y.FireAt
	}
	if x.ExecutionID != y.ExecutionID {
		return x.ExecutionID < y.ExecutionID
	}
	return x.Path < y.Path
}

// together runs n calls at once, lets them start at the same moment, and waits
// for all.
func together(n int, call func(i int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			call(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

// numbered are n ids that sort as they count.
func numbered(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s%05d", prefix, i)
	}
	return ids
}

// sorted is a sorted copy.
func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// acks are the acks of both queues.
func (b *execBundle) acks() []func(context.Context, int64) (bool, error) {
	return []func(context.Context, int64) (bool, error){b.s.AckOutbox, b.s.AckSpawn}
}

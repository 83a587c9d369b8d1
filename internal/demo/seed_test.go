package demo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"treering/internal/demo"
	"treering/store"
	"treering/store/memory"
)

// clock is the fixed time of all tests.
var clock = time.Date(2026, 6, 4, 11, 2, 0, 500_000_000, time.UTC)

func now() time.Time { return clock }

func open(t *testing.T) (store.ExecutionStore, store.TreeStore) {
	t.Helper()
	m, err := memory.New(memory.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m.Executions(), m.Trees()
}

func seeded(t *testing.T) (store.ExecutionStore, store.TreeStore) {
	t.Helper()
	es, ts := open(t)
	if err := demo.Seed(t.Context(), es, ts, demo.Options{Now: now, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	return es, ts
}

// all pages a list to its end.
func all[T any](t *testing.T, list func(store.PageRequest) (store.Page[T], error)) []T {
	t.Helper()
	var out []T
	if err := store.All(list, func(v T) error { out = append(out, v); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func executions(t *testing.T, es store.ExecutionStore, f store.ExecutionFilter) []store.Summary {
	t.Helper()
	return all(t, func(p store.PageRequest) (store.Page[store.Summary], error) {
		return es.ListExecutions(t.Context(), f, p)
	})
}

func sessions(t *testing.T, ts store.TreeStore) []store.SessionInfo {
	t.Helper()
	return all(t, func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
		return ts.ListSessions(t.Context(), store.SessionFilter{}, p)
	})
}

func nodes(t *testing.T, ts store.TreeStore, session string) []store.Node {
	t.Helper()
	return all(t, func(p store.PageRequest) (store.Page[store.Node], error) {
		return ts.ListNodes(t.Context(), session, p)
	})
}

func children(t *testing.T, ts store.TreeStore, session, node string) []string {
	t.Helper()
	var ids []string
	for _, n := range all(t, func(p store.PageRequest) (store.Page[store.Node], error) {
		return ts.ListChildren(t.Context(), session, node, p)
	}) {
		ids = append(ids, n.ID)
	}
	return ids
}

// dump is everything in both stores as text.
func dump(t *testing.T, es store.ExecutionStore, ts store.TreeStore) string {
	t.Helper()
	var b strings.Builder
	for _, s := range executions(t, es, store.ExecutionFilter{}) {
		exe, err := es.Load(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		text, err := exe.Encode(exe.Version)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, text)
		steps, err := es.ReadTrace(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range steps {
			fmt.Fprintln(&b, " ", step.Index, step.Entry)
		}
	}
	outbox, err := es.PendingOutbox(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range outbox {
		to := "nobody"
		if e.TargetID != nil {
			to = *e.TargetID
		}
		fmt.Fprintln(&b, e.Seq, to, e.Raw)
	}
	spawns, err := es.PendingSpawns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range spawns {
		fmt.Fprintln(&b, s.Seq, s.ParentID, s.ChildID, s.RootPath, s.Context)
	}
	for _, tm := range timers(t, es) {
		fmt.Fprintln(&b, tm.ExecutionID, tm.Path, store.FormatFireAt(tm.FireAt))
	}
	for _, s := range sessions(t, ts) {
		fmt.Fprintln(&b, s.ID, s.Kind)
		for _, n := range nodes(t, ts, s.ID) {
			parent := ""
			if n.ParentID != nil {
				parent = *n.ParentID
			}
			fmt.Fprintln(&b, " ", n.ID, parent, n.Kind, n.Data)
		}
	}
	return b.String()
}

func timers(t *testing.T, es store.ExecutionStore) []store.Timer {
	t.Helper()
	return all(t, func(p store.PageRequest) (store.Page[store.Timer], error) {
		return es.ListTimers(t.Context(), store.QueueFilter{}, p)
	})
}

func TestSeedIsReproducible(t *testing.T) {
	contents := func(seed int64) string {
		es, ts := open(t)
		if err := demo.Seed(t.Context(), es, ts, demo.Options{Now: now, Seed: seed}); err != nil {
			t.Fatal(err)
		}
		return dump(t, es, ts)
	}
	first := contents(7)
	if diff := cmp.Diff(first, contents(7)); diff != "" {
		t.Errorf("the same seed and clock gave other contents (-first +second):\n%s", diff)
	}
	if contents(8) == first {
		t.Error("another seed gave the same contents")
	}
}

// Every seed must fit between its beginnings and now.
func TestSeedAnySeed(t *testing.T) {
	seeds := int64(20)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		es, ts := open(t)
		if err := demo.Seed(t.Context(), es, ts, demo.Options{Now: now, Seed: seed - 3}); err != nil {
			t.Fatalf("seed %d: %v", seed-3, err)
		}
		due, err := es.DueTimers(t.Context(), float64(clock.Unix()))
		if err != nil {
			t.Fatal(err)
		}
		if len(due) != 5 || len(timers(t, es)) != 10 {
			t.Errorf("seed %d: %d of %d timers are due, want 5 of 10", seed-3, len(due), len(timers(t, es)))
		}
	}
}

func TestSeedRefusesToSeedTwice(t *testing.T) {
	es, ts := seeded(t)
	before := dump(t, es, ts)
	err := demo.Seed(t.Context(), es, ts, demo.Options{Now: now, Seed: 1})
	if !errors.Is(err, demo.ErrPresent) {
		t.Fatalf("second seeding: %v, want ErrPresent", err)
	}
	if diff := cmp.Diff(before, dump(t, es, ts)); diff != "" {
		t.Errorf("the refused seeding wrote something:\n%s", diff)
	}
}

func TestSeedWritesNothingWherePartIsPresent(t *testing.T) {
	t.Run("an execution", func(t *testing.T) {
		es, ts := open(t)
		exe := &store.Execution{ID: "build-delta", DefinitionID: "theirs", Status: store.Running}
		if err := es.Save(t.Context(), exe); err != nil {
			t.Fatal(err)
		}
		before := dump(t, es, ts)
		if err := demo.Seed(t.Context(), es, ts, demo.Options{Now: now}); !errors.Is(err, demo.ErrPresent) {
			t.Fatalf("got %v, want ErrPresent", err)
		}
		if diff := cmp.Diff(before, dump(t, es, ts)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a session", func(t *testing.T) {
		es, ts := open(t)
		if _, err := ts.CreateSession(t.Context(), "preview", "theirs", nil); err != nil {
			t.Fatal(err)
		}
		before := dump(t, es, ts)
		if err := demo.Seed(t.Context(), es, ts, demo.Options{Now: now}); !errors.Is(err, demo.ErrPresent) {
			t.Fatalf("got %v, want ErrPresent", err)
		}
		if diff := cmp.Diff(before, dump(t, es, ts)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSeedLeavesOthersAlone(t *testing.T) {
	es, ts := open(t)
	target := "theirs"
	exe := &store.Execution{ID: target, DefinitionID: "d", Status: store.Running}
	if _, err := es.Commit(t.Context(), store.Commit{
		Execution: exe, Emits: []store.Emit{{TargetID: &target, Event: store.Event{ID: "ev", Kind: "Go"}}},
		Spawns: []store.Spawn{{ChildID: "theirs:A:0", RootPath: "A"}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := demo.Seed(t.Context(), es, ts, demo.Options{Now: now}); err != nil {
		t.Fatal(err)
	}
	outbox, err := es.PendingOutbox(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(outbox) != 6 || outbox[0].Event.ID != "ev" {
		t.Errorf("outbox %v: the entry of the other execution should still be first of six", outbox)
	}
	spawns, err := es.PendingSpawns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(spawns) != 5 || spawns[0].ChildID != "theirs:A:0" {
		t.Errorf("spawns %v: the entry of the other execution should still be first of five", spawns)
	}
	if got, err := es.Load(t.Context(), target); err != nil || got.Version != 1 {
		t.Errorf("the other execution is %v, %v", got, err)
	}
}

func TestSeedOneHalf(t *testing.T) {
	es, ts := open(t)
	if err := demo.Seed(t.Context(), es, nil, demo.Options{Now: now}); err != nil {
		t.Fatal(err)
	}
	if n := len(executions(t, es, store.ExecutionFilter{})); n != 12 || len(sessions(t, ts)) != 0 {
		t.Errorf("%d executions and %d sessions, want 12 and 0", n, len(sessions(t, ts)))
	}
	if err := demo.Seed(t.Context(), nil, ts, demo.Options{Now: now}); err != nil {
		t.Fatal(err)
	}
	if len(sessions(t, ts)) != 4 {
		t.Errorf("%d sessions, want 4", len(sessions(t, ts)))
	}
}

func TestSeedStopsWithItsContext(t *testing.T) {
	es, ts := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := demo.Seed(ctx, es, ts, demo.Options{Now: now}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func ids(list []store.Summary) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.ID)
	}
	return out
}

func sorted(s ...string) []string { slices.Sort(s); return s }

package check

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"treering/store"
	"treering/store/memory"
)

func at(sec int64) time.Time { return time.Unix(sec, 0) }

func text(s string) *string { return &s }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// findings are what a check says, a line each.
func findings(t *testing.T, run func(*Report, func(Finding) error) error) (Report, []string) {
	t.Helper()
	var r Report
	var out []string
	must(t, run(&r, func(f Finding) error {
		out = append(out, fmt.Sprintf("%s %s %s/%s %s: %s", f.Severity, f.Kind, f.Table, f.ID, f.In, f.Message))
		return nil
	}))
	return r, out
}

func executionsIn(t *testing.T) *memory.Executions {
	t.Helper()
	m, err := memory.New(memory.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, m.Close()) })
	es := m.Executions()
	t.Cleanup(es.Observe())
	return es
}

func exe(id string, status store.Status, parent *string, children ...store.ChildState) *store.Execution {
	e := &store.Execution{ID: id, DefinitionID: "d", Status: status, ParentID: parent, Context: "{}"}
	e.SetChildStates(children)
	return e
}

func TestExecutionsThatAreWell(t *testing.T) {
	ctx, es := t.Context(), executionsIn(t)
	must(t, es.Save(ctx, exe("a", store.Running, nil, store.ChildState{ID: "a:b"})))
	_, err := es.Commit(ctx, store.Commit{
		Execution: exe("a:b", store.Running, text("a")),
		Emits:     []store.Emit{{TargetID: text("a"), Event: store.NewEvent("Go", "")}, {Event: store.NewEvent("Nobody", "")}, {TargetID: text("a:c"), Event: store.NewEvent("Cancel", "")}},
		Timers:    []store.TimerOp{{Action: "schedule", Path: "S", FireAt: 970}},
		Spawns:    []store.Spawn{{ChildID: "a:c", RootPath: "R", Context: "{}"}},
		Trace:     `{"event_kind":"Go"}`,
	})
	must(t, err)
	r, got := findings(t, func(r *Report, visit func(Finding) error) error {
		return Executions(ctx, es, Options{Now: at(1000)}, r, visit)
	})
	if len(got) > 0 {
		t.Errorf("%q", got)
	}
	if want := (Report{Executions: 2, Steps: 1, Entries: 4, Timers: 1}); r != want {
		t.Errorf("looked at %+v, want %+v", r, want)
	}
}

func TestExecutionsThatAreNot(t *testing.T) {
	ctx, es := t.Context(), executionsIn(t)
	handled := store.NewEvent("Finished", "")
	for _, c := range []store.Commit{
		{Execution: exe("lost", store.Running, text("gone"))},
		{Execution: exe("loop-1", store.Running, text("loop-2"))},
		{Execution: exe("loop-2", store.Running, text("loop-1"))},
		{Execution: exe("self", store.Running, text("self"))},
		{Execution: exe("hangs-on-loop", store.Running, text("loop-1"))},
		{Execution: exe("parent", store.Running, nil, store.ChildState{ID: "failed"}, store.ChildState{ID: "cancelled", Finished: true}, store.ChildState{ID: "other"})},
		{Execution: exe("failed", store.Failed, text("parent")), Timers: []store.TimerOp{{Action: "schedule", Path: "T", FireAt: 5000}}},
		{Execution: exe("cancelled", store.Cancelled, text("parent"))},
		{Execution: exe("ended", store.Done, nil, store.ChildState{ID: "failed-2"})},
		{Execution: exe("failed-2", store.Failed, text("ended"))},
		{Execution: exe("target", store.Running, nil), ProcessedEventID: &handled.ID, Timers: []store.TimerOp{{Action: "schedule", Path: "T", FireAt: 900}}},
		{
			Execution: exe("sender", store.Running, nil),
			Emits: []store.Emit{
				{TargetID: text("target"), Event: handled}, {TargetID: text("nowhere"), Event: store.NewEvent("Go", "")}, {TargetID: text("ended"), Event: store.NewEvent("Go", "")},
			},
			Spawns: []store.Spawn{{ChildID: "target", RootPath: "R", Context: "{}"}},
		},
	} {
		_, err := es.Commit(ctx, c)
		must(t, err)
	}
	r, got := findings(t, func(r *Report, visit func(Finding) error) error {
		return Executions(ctx, es, Options{Now: at(1000)}, r, visit)
	})
	want := []string{
		`error family-cycle executions/loop-1 : is its own ancestor, through 2 executions`,
		`warning lost-parent executions/lost : its parent "gone" is not there`,
		`error family-cycle executions/self : is its own ancestor, through 1 executions`,
		`error stuck executions/parent : waits for "failed", which is FAILED and will not report back`,
		`warning already-spawned spawns/1 : "target" is there already: it waits only to be acknowledged`,
		`warning already-handled outbox/1 : Finished was handled by "target" already: it waits only to be acknowledged`,
		`warning undeliverable outbox/2 : Go is for an execution that will not take it: "nowhere" is not there`,
		`warning undeliverable outbox/3 : Go is for an execution that will not take it: "ended" is DONE`,
		`warning overdue timers/target T: is overdue by 1m40s: nobody sweeps`,
		`warning lost-timer timers/failed T: its execution takes no more events: "failed" is FAILED`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Errors != 3 || r.Warnings != 7 {
		t.Errorf("%+v", r)
	}
}

// The visitor ends the check, and its error comes back.
func TestAVisitorEndsTheCheck(t *testing.T) {
	ctx, es := t.Context(), executionsIn(t)
	must(t, es.Save(ctx, exe("lost", store.Running, text("gone"))))
	stop := errors.New("stop")
	if err := Executions(ctx, es, Options{}, &Report{}, func(Finding) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

func TestSpans(t *testing.T) {
	for s, want := range map[float64]string{0: "0s", 59.9: "59s", 61: "1m1s", 7260: "2h1m", 90000: "1d1h", 1e300: "11574074d1h", math.Inf(1): "11574074d1h"} {
		if got := span(s); got != want {
			t.Errorf("%v: %s, want %s", s, got, want)
		}
	}
}

// damaged is a tree store that holds what no store of ours takes.
type damaged struct {
	store.TreeStore
	nodes []store.Node
	late  map[string]store.Node // come while the list is read
}

func (d damaged) ListSessions(context.Context, store.SessionFilter, store.PageRequest) (store.Page[store.SessionInfo], error) {
	return store.Page[store.SessionInfo]{Items: []store.SessionInfo{{ID: "s", Kind: "session"}, {ID: "gone", Kind: "session"}}}, nil
}

func (d damaged) ListNodes(_ context.Context, session string, _ store.PageRequest) (store.Page[store.Node], error) {
	if session == "gone" {
		return store.Page[store.Node]{}, &store.NotFoundError{What: "session", ID: session}
	}
	return store.Page[store.Node]{Items: d.nodes}, nil
}

func (d damaged) Nodes(_ context.Context, _ string, ids []string) ([]*store.Node, error) {
	out := make([]*store.Node, len(ids))
	for i, id := range ids {
		if n, ok := d.late[id]; ok {
			out[i] = &n
		}
	}
	return out, nil
}

func TestTrees(t *testing.T) {
	node := func(id string, parent *string) store.Node {
		return store.Node{ID: id, ParentID: parent, Kind: "run", Data: "{}"}
	}
	bad := node("bad", text("root"))
	bad.Data = "[1]"
	ts := damaged{
		nodes: []store.Node{
			node("root", nil), node("a", text("root")), node("orphan", text("nowhere")), node("below-orphan", text("orphan")),
			node("c1", text("c3")), node("c2", text("c1")), node("c3", text("c2")), node("below-cycle", text("c2")), node("self", text("self")),
			node("root-2", nil), bad, node("early", text("late-1")),
		},
		late: map[string]store.Node{"late-1": node("late-1", text("late-2")), "late-2": node("late-2", text("root"))},
	}
	r, got := findings(t, func(r *Report, visit func(Finding) error) error { return Trees(t.Context(), ts, r, visit) })
	want := []string{
		`error bad-node nodes/bad s: data: must be a JSON object, not an array`,
		`error orphan nodes/orphan s: its parent "nowhere" is not there`,
		`error roots nodes/root-2 s: is a second root, beside "root"`,
		`error node-cycle nodes/c1 s: is its own ancestor, through 3 nodes, and hangs on no root`,
		`error node-cycle nodes/self s: is its own ancestor, through 1 nodes, and hangs on no root`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Sessions != 2 || r.Nodes != 12 || r.Errors != 5 {
		t.Errorf("%+v", r)
	}
}

// A chain of a million is walked once.
func TestALongChain(t *testing.T) {
	const n = 1_000_000
	ids := make([]string, n)
	parents := make([]*string, n)
	at := make(map[string]int32, n)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
		at[ids[i]] = int32(i)
		if i+1 < n {
			parents[i] = text(fmt.Sprint(i + 1))
		}
	}
	c := &checker{func(f Finding) error { return fmt.Errorf("%+v", f) }, &Report{}}
	must(t, c.shape("s", ids, parents, at))
}

// Entries that say when they were made are called undrained once they waited for long,
// unless their target is suspended.
func TestEntriesThatNobodyTakes(t *testing.T) {
	ctx, es := t.Context(), executionsIn(t)
	made := func(kind string, when store.JSON) store.Event {
		ev := store.NewEvent(kind, "")
		ev.CreatedTime = when
		return ev
	}
	for _, c := range []store.Commit{
		{Execution: exe("asleep", store.Suspended, nil)},
		{
			Execution: exe("runs", store.Running, nil),
			Emits: []store.Emit{
				{TargetID: text("runs"), Event: made("Old", "100.5")}, {TargetID: text("runs"), Event: made("Young", "941")},
				{TargetID: text("runs"), Event: made("Ageless", store.Null)}, {TargetID: text("asleep"), Event: made("Held", "100")},
				{Event: made("ToNobody", store.Quote("1970-01-01T00:00:10Z"))},
			},
		},
	} {
		_, err := es.Commit(ctx, c)
		must(t, err)
	}
	_, got := findings(t, func(r *Report, visit func(Finding) error) error {
		return Executions(ctx, es, Options{Now: at(1000)}, r, visit)
	})
	want := []string{
		`warning undrained outbox/1 : Old was made 14m59s ago: nobody drains`,
		`warning undrained outbox/5 : ToNobody was made 16m30s ago: nobody drains`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

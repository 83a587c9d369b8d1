package demo_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treering/store"
)

func load(t *testing.T, es store.ExecutionStore, id string) *store.Execution {
	t.Helper()
	exe, err := es.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func trace(t *testing.T, es store.ExecutionStore, id string) []store.TraceEntry {
	t.Helper()
	steps, err := es.ReadTrace(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func TestExecutionsByStatus(t *testing.T) {
	es, _ := seeded(t)
	counts, err := es.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := store.Counts{Executions: 12, Outbox: 5, Spawns: 4, Timers: 10, ByStatus: map[store.Status]int64{
		store.Pending: 1, store.Running: 5, store.Suspended: 1, store.Done: 3, store.Cancelled: 1, store.Failed: 1,
	}}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	order, build := "order", "sandbox-build"
	if n := len(executions(t, es, store.ExecutionFilter{DefinitionID: &order})); n != 8 {
		t.Errorf("%d executions of the order chart, want 8", n)
	}
	if n := len(executions(t, es, store.ExecutionFilter{DefinitionID: &build})); n != 4 {
		t.Errorf("%d executions of the build chart, want 4", n)
	}
	if n := len(executions(t, es, store.ExecutionFilter{RootsOnly: true})); n != 8 {
		t.Errorf("%d roots, want 8", n)
	}
}

func TestForkedOrder(t *testing.T) {
	es, _ := seeded(t)
	parent := "order-1002"
	picking, billing := parent+":Fulfilment.Picking:0", parent+":Fulfilment.Billing:0"
	if diff := cmp.Diff(sorted(picking, billing), ids(executions(t, es, store.ExecutionFilter{ParentID: &parent}))); diff != "" {
		t.Fatalf("children (-want +got):\n%s", diff)
	}
	exe := load(t, es, parent)
	if exe.Status != store.Running || *exe.ActivePath != "Fulfilment" {
		t.Errorf("the parent is %s at %q", exe.Status, *exe.ActivePath)
	}
	if want := store.JSON(`{"":"Fulfilment","Payment":"Payment.Awaiting"}`); exe.History != want {
		t.Errorf("history %s, want %s", exe.History, want)
	}
	states := exe.ChildStates()
	if len(states) != 2 || states[0].ID != picking || states[1].ID != billing {
		t.Fatalf("join bookkeeping %v", states)
	}
	if !states[0].Finished || *states[0].Outcome != "packed" || states[0].Result.At("parcel", "id") != `"HAM2-77120"` {
		t.Errorf("picking is joined as %+v", states[0])
	}
	if states[1].Finished || states[1].Outcome != nil {
		t.Errorf("billing is joined as %+v, but it runs", states[1])
	}
	p, b := load(t, es, picking), load(t, es, billing)
	if p.Status != store.Done || p.RootPath != "Fulfilment.Picking" || *p.ActivePath != "Fulfilment.Picking.Packed" || p.FinishedAt.IsNull() {
		t.Errorf("picking: %+v", p)
	}
	if b.Status != store.Running || *b.ActivePath != "Fulfilment.Billing.Invoicing" || *b.ChildID != billing || !b.FinishedAt.IsNull() {
		t.Errorf("billing: %+v", b)
	}
	// A broadcast event goes to both regions under one id; the parent notes it
	// without a step.
	if kind := trace(t, es, billing)[1].Step().EventKind; kind != "PickStarted" {
		t.Errorf("billing's second step is %s, want the broadcast PickStarted", kind)
	}
	if steps, want := int64(len(trace(t, es, parent))), exe.Version-2; steps != want {
		t.Errorf("the parent has %d steps at version %d, want %d: creation and broadcast have none", steps, exe.Version, want)
	}
}

func TestStuckOrder(t *testing.T) {
	es, _ := seeded(t)
	parent := load(t, es, "order-1003")
	billing := load(t, es, "order-1003:Fulfilment.Billing:0")
	if parent.Status != store.Running || *parent.ActivePath != "Fulfilment" || parent.Priority != 2 || billing.Priority != 2 {
		t.Errorf("the parent is %s at %q with priority %d", parent.Status, *parent.ActivePath, parent.Priority)
	}
	if billing.Status != store.Failed || !strings.HasPrefix(*billing.Error, "TimeoutError: ") || !billing.FinishedAt.IsNull() {
		t.Errorf("billing: %+v", billing)
	}
	steps := trace(t, es, billing.ID)
	if last := steps[len(steps)-1].Step(); last.Actions != nil || *last.To != "Fulfilment.Billing" {
		t.Errorf("the failed step ran %v to %q, want no actions and the composite", last.Actions, *last.To)
	}
	for _, c := range parent.ChildStates() {
		if c.Finished != (c.ID != billing.ID) {
			t.Errorf("%s is joined as finished=%v", c.ID, c.Finished)
		}
	}
}

func TestUnrelayedOrder(t *testing.T) {
	es, _ := seeded(t)
	exe := load(t, es, "order-1004")
	if seq, _ := exe.InvokeSeq.Get("Fulfilment").Int64(); seq != 1 {
		t.Errorf("invoke_seq %s, want 1 for Fulfilment", exe.InvokeSeq)
	}
	spawns, err := es.PendingSpawns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range spawns {
		got = append(got, s.ChildID)
		if _, err := es.Load(t.Context(), s.ChildID); err == nil {
			t.Errorf("%s exists, but its spawn is pending", s.ChildID)
		}
	}
	want := []string{
		"order-1004:Fulfilment.Picking:0", "order-1004:Fulfilment.Billing:0",
		"order-1004:Fulfilment.Picking:1", "order-1004:Fulfilment.Billing:1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spawns (-want +got):\n%s", diff)
	}
	for i, c := range exe.ChildStates() {
		if c.ID != want[2+i] || c.Finished {
			t.Errorf("child %d is joined as %+v, want %s unfinished", i, c, want[2+i])
		}
	}
	if amount, _ := spawns[3].Context.Get("amount").Float64(); amount != 370 {
		t.Errorf("the second billing is spawned with %s, want the amended amount", spawns[3].Context)
	}
}

func TestQueues(t *testing.T) {
	es, _ := seeded(t)
	outbox, err := es.PendingOutbox(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range outbox {
		to := "-"
		if e.TargetID != nil {
			to = *e.TargetID
		}
		got = append(got, e.Event.Kind+" "+to)
		if created, ok := e.Event.CreatedTime.Text(); !ok || !strings.HasPrefix(created, "2026-06-0") {
			t.Errorf("entry %d was created at %q", e.Seq, created)
		}
	}
	want := []string{
		"Finished order-1003", "Audit -", "Cancel order-1004:Fulfilment.Picking:0", "Cancel order-1004:Fulfilment.Billing:0", "Start build-delta",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("outbox (-want +got):\n%s", diff)
	}
	if done, err := es.IsProcessed(t.Context(), "order-1003", outbox[0].Event.ID); err != nil || !done {
		t.Errorf("the Finished that was delivered but not acknowledged is processed=%v, %v", done, err)
	}
	if done, err := es.IsProcessed(t.Context(), "build-delta", outbox[4].Event.ID); err != nil || done {
		t.Errorf("the Start of the pending build is processed=%v, %v", done, err)
	}

	at := float64(clock.UnixMicro()) / 1e6
	due, err := es.DueTimers(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, tm := range due {
		got = append(got, tm.ExecutionID+" "+tm.Path)
	}
	want = []string{
		"order-1003:Fulfilment.Billing:0 Fulfilment.Billing.Invoicing",
		"order-1001 Payment.Retrying", "order-1001 Payment",
		"order-1003 Fulfilment", "build-cobalt Testing",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("due timers (-want +got):\n%s", diff)
	}
	got = nil
	for _, tm := range timers(t, es)[len(due):] {
		got = append(got, tm.ExecutionID+" "+tm.Path)
		if tm.FireAt <= at {
			t.Errorf("%s %s is due after all", tm.ExecutionID, tm.Path)
		}
	}
	want = []string{
		"build-aurora Building.Backoff", "order-1002:Fulfilment.Billing:0 Fulfilment.Billing.Invoicing", "build-aurora Building",
		"order-1002 Fulfilment", "order-1004 Fulfilment",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("timers ahead (-want +got):\n%s", diff)
	}
}

func TestRingHasWrapped(t *testing.T) {
	es, _ := seeded(t)
	steps := trace(t, es, "build-aurora")
	if len(steps) != 200 || steps[0].Index != 60 || steps[199].Index != 259 {
		t.Fatalf("%d steps, %d to %d; want 200, 60 to 259", len(steps), steps[0].Index, steps[len(steps)-1].Index)
	}
	exe := load(t, es, "build-aurora")
	if exe.Version != 261 {
		t.Errorf("version %d, want 261: the creation and 260 steps", exe.Version)
	}
	if exe.Status != store.Running || *exe.ActivePath != "Building.Backoff" {
		t.Errorf("it is %s at %q", exe.Status, *exe.ActivePath)
	}
	if attempt, _ := exe.Context.Get("attempt").Int64(); attempt != 43 {
		t.Errorf("attempt %d, want 43", attempt)
	}
}

// Every trace must read as one life: the seven keys, each step where the last
// one ended, times that climb up to now, and the context of the last step in the
// execution.
func TestTracesAreWhole(t *testing.T) {
	es, _ := seeded(t)
	keys := []string{"event_kind", "event_data", "from_path", "to_path", "actions", "context_out", "timestamp"}
	for _, s := range executions(t, es, store.ExecutionFilter{}) {
		steps := trace(t, es, s.ID)
		if s.Status == store.Pending {
			if len(steps) != 0 {
				t.Errorf("%s has steps but never started", s.ID)
			}
			continue
		}
		exe := load(t, es, s.ID)
		last := 0.0
		for i, entry := range steps {
			var got []string
			for k := range entry.Entry.Members() {
				if k != "index" {
					got = append(got, k)
				}
			}
			if !slices.Equal(got, keys) {
				t.Fatalf("%s step %d has the keys %v", s.ID, entry.Index, got)
			}
			step := entry.Step()
			if i > 0 {
				if before := steps[i-1]; entry.Index != before.Index+1 || *step.From != *before.Step().To {
					t.Errorf("%s step %d starts at %q, the one before ended at %q", s.ID, entry.Index, *step.From, *before.Step().To)
				}
			} else if entry.Index == 0 && (step.From != nil || step.EventKind != "Start") {
				t.Errorf("%s starts with %s from %v", s.ID, step.EventKind, step.From)
			}
			at, ok := step.Timestamp.Float64()
			if !ok || at <= last || at > float64(clock.UnixMicro())/1e6 {
				t.Errorf("%s step %d is at %s, after %v", s.ID, entry.Index, step.Timestamp, last)
			}
			last = at
		}
		if end := steps[len(steps)-1].Step(); *end.To != *exe.ActivePath || !store.Equal(end.Context, exe.Context) {
			t.Errorf("%s is at %q with %s, its last step says %q with %s", s.ID, *exe.ActivePath, exe.Context, *end.To, end.Context)
		}
		for name, stamp := range map[string]store.JSON{"created_at": exe.CreatedAt, "updated_at": exe.UpdatedAt} {
			if v, ok := stamp.Float64(); !ok || v > float64(clock.UnixMicro())/1e6 {
				t.Errorf("%s: %s is %s", s.ID, name, stamp)
			}
		}
		atRest := s.Status == store.Done || s.Status == store.Cancelled
		if atRest == exe.FinishedAt.IsNull() {
			t.Errorf("%s is %s with finished_at %s", s.ID, s.Status, exe.FinishedAt)
		}
	}
}

func TestSuspendedBuildDefersAnEvent(t *testing.T) {
	es, _ := seeded(t)
	exe := load(t, es, "build-cobalt")
	events, err := exe.DeferredEvents()
	if err != nil {
		t.Fatal(err)
	}
	if exe.Status != store.Suspended || len(events) != 1 || events[0].Kind != "Promote" {
		t.Fatalf("%s with %v deferred", exe.Status, events)
	}
	if done, err := es.IsProcessed(t.Context(), exe.ID, events[0].ID); err != nil || !done {
		t.Errorf("the deferred event is processed=%v, %v", done, err)
	}
}

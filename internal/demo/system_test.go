package demo_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"treering/internal/demo"
	"treering/store"
	"treering/store/locate"
	"treering/store/memory"
)

// simulated is a system on a store in memory, in simulated time.
func simulated(t testing.TB, o demo.SystemOptions) (*demo.System, *demo.Clock, store.ExecutionStore, store.TreeStore) {
	t.Helper()
	c := demo.NewClock(clock)
	m, err := memory.New(memory.Options{Now: c.Now, TraceMax: new(1000)})
	if err != nil {
		t.Fatal(err)
	}
	o.Clock = c
	o.Problem = func(err error) { t.Error(err) }
	s := demo.NewSystem(m.Executions(), m.Trees(), o)
	t.Cleanup(func() {
		s.Close()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, c, m.Executions(), m.Trees()
}

func steps(t testing.TB, s *demo.System, n int) {
	t.Helper()
	for range n {
		if _, err := s.StepOne(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSystemIsReproducible(t *testing.T) {
	history := func(seed int64) string {
		s, _, es, ts := simulated(t, demo.SystemOptions{Seed: seed, Rate: 20, Keep: -1})
		steps(t, s, 2500)
		return dump(t, es, ts)
	}
	one, two := history(7), history(7)
	if one != two {
		a, b := strings.Split(one, "\n"), strings.Split(two, "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("line %d differs:\n%s\n%s", i, a[i], b[i])
			}
		}
		t.Fatalf("%d and %d lines", len(a), len(b))
	}
	if history(8) == one {
		t.Error("another seed has the same history")
	}
}

// waits are the states in which an execution may be found, with the timer that ends
// the waiting; "" where another execution's does.
var waits = map[string]string{
	"order Cart": "Cart", "order Payment.Awaiting": "Payment", "order Payment.Retrying": "Payment.Retrying", "order Fulfilment": "Fulfilment",
	"order Shipped": "Shipped", "order Fulfilment.Picking.Waiting": "", "order Fulfilment.Picking.Packing": "",
	"order Fulfilment.Billing.Invoicing": "Fulfilment.Billing.Invoicing",
	"sandbox-build Queued":               "Queued", "sandbox-build Fetching": "Fetching", "sandbox-build Building.Compiling": "Building.Compiling",
	"sandbox-build Building.Backoff": "Building.Backoff", "sandbox-build Testing": "Testing",
}

// hold checks what must be true of the running system's executions at any moment.
func hold(t *testing.T, es store.ExecutionStore, now time.Time) (outcomes, visited map[string]int) {
	t.Helper()
	outcomes, visited = map[string]int{}, map[string]int{}
	armed := map[string]float64{}
	for _, tm := range all(t, func(p store.PageRequest) (store.Page[store.Timer], error) {
		return es.ListTimers(t.Context(), store.QueueFilter{}, p)
	}) {
		armed[tm.ExecutionID+" "+tm.Path] = tm.FireAt
	}
	spawning, told := map[string]bool{}, map[string]bool{}
	for _, sp := range all(t, func(p store.PageRequest) (store.Page[store.SpawnEntry], error) {
		return es.ListSpawns(t.Context(), store.QueueFilter{}, p)
	}) {
		spawning[sp.ChildID] = true
	}
	for _, e := range all(t, func(p store.PageRequest) (store.Page[store.OutboxEntry], error) {
		return es.ListOutbox(t.Context(), store.QueueFilter{}, p)
	}) {
		told[*e.TargetID+" "+e.Event.Kind] = true
		if child, ok := e.Event.Data.Get("child_id").Text(); ok {
			told[child] = true
		}
	}
	for _, sum := range executions(t, es, store.ExecutionFilter{}) {
		exe := load(t, es, sum.ID)
		path := ""
		if exe.ActivePath != nil {
			path = *exe.ActivePath
		}
		outcome := string(exe.Status)
		if exe.Outcome != nil {
			outcome += " " + *exe.Outcome
		}
		if exe.ParentID == nil {
			outcomes[exe.DefinitionID+" "+outcome]++
		}
		switch {
		case exe.Status.Is(store.Pending):
			if !told[exe.ID+" Start"] {
				t.Errorf("%s is PENDING and nobody starts it", exe.ID)
			}
		case exe.Status.Is(store.Running):
			timer, known := waits[exe.DefinitionID+" "+path]
			at, is := armed[exe.ID+" "+timer]
			switch {
			case !known:
				t.Errorf("%s waits at %q, which is no place to wait", exe.ID, path)
			case timer != "" && !is:
				t.Errorf("%s waits at %s without its timer", exe.ID, path)
			case timer != "" && at < float64(now.Unix())-60:
				t.Errorf("the timer of %s at %s is overdue by %v s", exe.ID, path, float64(now.Unix())-at)
			}
			for _, c := range exe.ChildStates() {
				_, err := es.Load(t.Context(), c.ID)
				if err != nil && !spawning[c.ID] {
					t.Errorf("%s waits for %s: %v", exe.ID, c.ID, err)
				}
				if err == nil && path == "Fulfilment" && !c.Finished && load(t, es, c.ID).Status.Is(store.Done) && !told[c.ID] {
					t.Errorf("%s was not told that %s is done", exe.ID, c.ID)
				}
			}
		}
		once(t, es, exe, visited)
	}
	return outcomes, visited
}

// once checks that what the context counts is what the trace tells, step by step.
func once(t *testing.T, es store.ExecutionStore, exe *store.Execution, visited map[string]int) {
	t.Helper()
	count := map[string]int64{}
	last := (*string)(nil)
	finished := map[string]int{}
	ring := trace(t, es, exe.ID)
	for i, e := range ring {
		s := e.Step()
		if int(e.Index) != i {
			return // the ring has wrapped
		}
		if (last == nil) != (s.From == nil) || last != nil && *last != *s.From {
			t.Errorf("%s: step %d begins elsewhere than the one before it ended", exe.ID, i)
		}
		last = s.To
		visited[exe.DefinitionID+" "+*s.To]++
		for _, a := range s.Actions {
			count[a]++
		}
		if id, ok := s.EventData.Get("child_id").Text(); ok {
			finished[id]++
		}
	}
	for id, n := range finished {
		if n != 1 {
			t.Errorf("%s joined %s %d times", exe.ID, id, n)
		}
	}
	for _, c := range []struct {
		action string
		path   []string
	}{{"shop.pay.authorise", []string{"payment", "attempts"}}, {"shop.pick.count", []string{"picked"}}, {"shop.bill.remind", []string{"reminders"}}} {
		if n, _ := exe.Context.At(c.path...).Int64(); n != count[c.action] {
			t.Errorf("%s: %s says %d, the trace has it %d times", exe.ID, strings.Join(c.path, "."), n, count[c.action])
		}
	}
}

func TestSystemAfterHours(t *testing.T) {
	hours, rate := 3, 2.0
	if testing.Short() {
		hours = 1
	}
	s, c, es, ts := simulated(t, demo.SystemOptions{Seed: 3, Rate: rate, Keep: -1})
	for c.Now().Before(clock.Add(time.Duration(hours) * time.Hour)) {
		steps(t, s, 100)
	}
	outcomes, visited := hold(t, es, c.Now())
	t.Log(outcomes)
	t.Logf("%+v", s.Stats())
	for _, o := range []string{"order DONE delivered", "order DONE abandoned", "order DONE returned", "order CANCELLED cancelled",
		"sandbox-build DONE published", "sandbox-build DONE failed", "sandbox-build FAILED"} {
		if outcomes[o] == 0 && !testing.Short() {
			t.Errorf("nothing ended as %s", o)
		}
	}
	for w := range waits {
		if visited[w] == 0 {
			t.Errorf("nothing ever was at %s", w)
		}
	}
	st := s.Stats()
	if st.Problems != 0 || st.Raced == 0 || st.Relay.Conflicts < st.Raced || st.Relay.Fired == 0 || st.Relay.Spawned == 0 {
		t.Errorf("%+v", st)
	}
	if n := len(sessions(t, ts)); n < 2 {
		t.Errorf("%d trees", n)
	}
}

// Old families go, whole.
func TestSystemKeepsNoMoreThanItShould(t *testing.T) {
	s, _, es, _ := simulated(t, demo.SystemOptions{Seed: 5, Rate: 20, Keep: 10, Executions: 4})
	steps(t, s, 6000)
	roots := executions(t, es, store.ExecutionFilter{RootsOnly: true})
	if len(roots) > 10+4*3 {
		t.Errorf("%d orders and builds are left", len(roots))
	}
	there := map[string]bool{}
	for _, r := range roots {
		there[r.ID] = true
	}
	for _, e := range executions(t, es, store.ExecutionFilter{}) {
		if root, _, _ := strings.Cut(e.ID, ":"); !there[root] {
			t.Errorf("%s is left of a family that is gone", e.ID)
		}
	}
	hold2(t, es)
}

// hold2 checks that no queue holds anything of an execution that is gone.
func hold2(t *testing.T, es store.ExecutionStore) {
	t.Helper()
	for _, tm := range all(t, func(p store.PageRequest) (store.Page[store.Timer], error) {
		return es.ListTimers(t.Context(), store.QueueFilter{}, p)
	}) {
		if _, err := es.Load(t.Context(), tm.ExecutionID); err != nil {
			t.Errorf("timer %s: %v", tm.Path, err)
		}
	}
}

// Two systems on one store deliver everything once.
func TestTwoSystemsOnOneStore(t *testing.T) {
	m, err := memory.New(memory.Options{TraceMax: new(1000)})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	together(t, m.Executions(), m.Trees(), 4000)
}

func TestTwoSystemsOnOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.db")
	o, err := locate.Open(t.Context(), path, locate.Options{ReadWrite: true, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	together(t, o.Executions, o.Trees, 400)
}

func together(t *testing.T, es store.ExecutionStore, ts store.TreeStore, until int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var systems []*demo.System
	var wg sync.WaitGroup
	for i := range 2 {
		s := demo.NewSystem(es, ts, demo.SystemOptions{Seed: 1, Executions: 8, Keep: -1, Rate: float64(4000 * i), Problem: func(err error) {
			if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrBusy) {
				t.Error(err)
			}
		}})
		defer s.Close()
		systems = append(systems, s)
		wg.Go(func() {
			if err := s.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil && systems[0].Stats().Steps+systems[1].Stats().Steps < until {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	})
	wg.Wait()
	for _, s := range systems {
		t.Logf("%+v", s.Stats())
		if s.Stats().Steps == 0 {
			t.Error("one of them did nothing")
		}
	}
	// A commit whose answer nobody waited for may still be on its way: this one comes
	// after it.
	if _, err := es.AckOutbox(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	hold(t, es, time.Now())
}

func TestPauseAndStep(t *testing.T) {
	m, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := demo.NewSystem(m.Executions(), nil, demo.SystemOptions{Seed: 1, Rate: 500})
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	for s.Stats().Steps < 20 {
		time.Sleep(time.Millisecond)
	}
	s.Pause()
	at := s.Stats().Steps
	if !s.Paused() {
		t.Error("it does not say that it is paused")
	}
	if moved, err := s.StepOne(t.Context()); !moved || err != nil {
		t.Fatal(moved, err)
	}
	if n := s.Stats().Steps - at; n != 1 {
		t.Errorf("a step was %d commits", n)
	}
	s.SetRate(1000)
	if s.Rate() != 1000 {
		t.Error(s.Rate())
	}
	s.Resume()
	for s.Stats().Steps < at+30 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestActingByHand(t *testing.T) {
	s, c, es, _ := simulated(t, demo.SystemOptions{Seed: 1})
	ctx := t.Context()
	id, err := s.NewExecution(ctx, demo.OrderKind)
	if err != nil {
		t.Fatal(err)
	}
	accepts := func(want ...string) {
		t.Helper()
		got, err := s.Accepts(ctx, id)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("it accepts %q (%v), not %q", got, err, want)
		}
	}
	send := func(kind string) {
		t.Helper()
		if err := s.Send(ctx, id, kind); err != nil {
			t.Fatal(err)
		}
	}
	accepts("Start", "Cancel")
	out := all(t, func(p store.PageRequest) (store.Page[store.OutboxEntry], error) {
		return es.ListOutbox(ctx, store.QueueFilter{}, p)
	})
	if len(out) != 1 {
		t.Fatal(out)
	}
	if effect, err := s.Deliver(ctx, out[0].Seq); !effect || err != nil {
		t.Fatal(effect, err)
	}
	accepts("Cancel", "Checkout", "ItemAdded")
	if err := s.Send(ctx, id, "Paid"); !errors.Is(err, demo.ErrNotAccepted) {
		t.Error(err)
	}
	send("ItemAdded")
	send("Checkout")
	send("Declined")
	accepts("Cancel")
	armed := all(t, func(p store.PageRequest) (store.Page[store.Timer], error) {
		return es.ListTimers(ctx, store.QueueFilter{}, p)
	})
	i := slices.IndexFunc(armed, func(t store.Timer) bool { return t.Path == "Payment.Retrying" })
	if i < 0 || len(armed) != 2 || armed[i].FireAt != float64(c.Now().UnixMicro())/1e6+2 {
		t.Fatalf("%+v", armed)
	}
	if effect, err := s.Fire(ctx, armed[i]); !effect || err != nil {
		t.Fatal(effect, err)
	}
	if effect, err := s.Fire(ctx, armed[i]); effect || err == nil {
		t.Error("it fired twice")
	}
	send("Paid")
	spawns := all(t, func(p store.PageRequest) (store.Page[store.SpawnEntry], error) {
		return es.ListSpawns(ctx, store.QueueFilter{}, p)
	})
	if len(spawns) != 2 || spawns[0].ChildID != id+":Fulfilment.Picking:0" {
		t.Fatalf("%+v", spawns)
	}
	for _, sp := range spawns {
		if effect, err := s.DeliverSpawn(ctx, sp.Seq); !effect || err != nil {
			t.Fatal(effect, err)
		}
	}
	parent := id
	for region, kinds := range map[string][]string{"Picking": {"PickStarted", "ItemPicked", "Sealed"}, "Billing": {"Invoiced"}} {
		id = parent + ":Fulfilment." + region + ":0"
		for _, k := range kinds {
			send(k)
		}
	}
	id = parent
	for _, e := range all(t, func(p store.PageRequest) (store.Page[store.OutboxEntry], error) {
		return es.ListOutbox(ctx, store.QueueFilter{}, p)
	}) {
		if effect, err := s.Deliver(ctx, e.Seq); !effect || err != nil {
			t.Fatal(effect, err)
		}
	}
	accepts("Cancel", "Delivered")
	exe := load(t, es, id)
	if got := exe.Context.At("region_results", "Fulfilment.Picking", "outcome"); got != `"packed"` {
		t.Errorf("the regions' results are %s", exe.Context.Get("region_results"))
	}
	send("Delivered")
	if exe = load(t, es, id); exe.Status != store.Done || *exe.Outcome != "delivered" || exe.ProcessedEvents != 6 {
		t.Errorf("%s %d", exe.Status, exe.ProcessedEvents)
	}
	hold(t, es, c.Now())
	if _, err := s.NewExecution(ctx, "shop"); err == nil {
		t.Error("it runs what it does not know")
	}
}

// What is not the demo's own is not touched.
func TestOthersAreLeftAlone(t *testing.T) {
	s, _, es, ts := simulated(t, demo.SystemOptions{Seed: 1, Rate: 20})
	if err := demo.Seed(t.Context(), es, ts, demo.Options{Now: now, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	nobody := "stranger"
	if _, err := es.Commit(t.Context(), store.Commit{Execution: &store.Execution{ID: nobody, DefinitionID: "order", Status: store.Running, Context: "{}", ActivePath: new("Cart")},
		Emits: []store.Emit{{TargetID: &nobody, Event: store.NewEvent("Checkout", "{}")}}}); err != nil {
		t.Fatal(err)
	}
	others := func() string {
		var b strings.Builder
		for _, e := range executions(t, es, store.ExecutionFilter{}) {
			if !strings.HasPrefix(e.ID, "demo-") {
				fmt.Fprintln(&b, e.ID, e.Version, e.Status)
			}
		}
		for _, e := range all(t, func(p store.PageRequest) (store.Page[store.OutboxEntry], error) {
			return es.ListOutbox(t.Context(), store.QueueFilter{}, p)
		}) {
			if e.TargetID == nil || !strings.HasPrefix(*e.TargetID, "demo-") {
				fmt.Fprintln(&b, e.Seq)
			}
		}
		return b.String()
	}
	before := others()
	steps(t, s, 500)
	if after := others(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if err := s.Send(t.Context(), nobody, "Checkout"); !errors.Is(err, demo.ErrNotOurs) {
		t.Error(err)
	}
	// The seeded ones can be acted on by hand.
	spawns := all(t, func(p store.PageRequest) (store.Page[store.SpawnEntry], error) {
		return es.ListSpawns(t.Context(), store.QueueFilter{}, p)
	})
	i := slices.IndexFunc(spawns, func(s store.SpawnEntry) bool { return s.ParentID == "order-1004" })
	if effect, err := s.DeliverSpawn(t.Context(), spawns[i].Seq); !effect || err != nil {
		t.Error(effect, err)
	}
	if exe := load(t, es, spawns[i].ChildID); exe.Status != store.Running {
		t.Error(exe.Status)
	}
}

func BenchmarkSystem(b *testing.B) {
	m, err := memory.New(memory.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	s := demo.NewSystem(m.Executions(), nil, demo.SystemOptions{Seed: 1, Executions: 2000, Keep: 1000})
	defer s.Close()
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	b.ResetTimer()
	go func() { ended <- s.Run(ctx) }()
	for s.Stats().Steps < int64(b.N) {
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(s.Stats().Steps)/b.Elapsed().Seconds(), "steps/s")
}

package demo

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"treering/store"
	"treering/store/memory"
	"treering/store/relay"
)

// workbench is an execution on a store in memory with a relay and a clock of its own.
type workbench struct {
	t     *testing.T
	es    store.ExecutionStore
	relay *relay.Relay
	clock *Clock
	sent  int
}

func newWorkbench(t *testing.T) *workbench {
	t.Helper()
	w := &workbench{t: t, clock: NewClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))}
	m, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.es = m.Executions()
	w.relay = relay.New(w.es, newEngine(w.es, w.clock.Now), relay.Options{Now: w.clock.Now, Problem: func(p relay.Problem) { t.Error(p) }})
	t.Cleanup(func() {
		w.relay.Close()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *workbench) begin(id, kind string, context store.JSON) {
	w.t.Helper()
	exe := &store.Execution{ID: id, DefinitionID: kind, Status: store.Pending, Context: context}
	if err := w.es.Save(w.t.Context(), exe); err != nil {
		w.t.Fatal(err)
	}
	w.send(id, "Start")
}

// send sends an event, written "Kind" or "Kind {data}".
func (w *workbench) send(id, event string) {
	w.t.Helper()
	kind, data, _ := strings.Cut(event, " ")
	w.sent++
	ev := store.Event{ID: fmt.Sprint("event-", w.sent), Kind: kind, Data: store.JSON(data)}
	if data == "" {
		ev.Data = store.EmptyObject
	}
	if _, err := w.relay.Send(w.t.Context(), id, ev); err != nil {
		w.t.Fatal(err)
	}
}

// drain relays until nothing moves.
func (w *workbench) drain() {
	w.t.Helper()
	for moved := true; moved; {
		var err error
		if moved, err = w.relay.Drain(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// says is the execution in a line: status, outcome and path, with its timers.
func (w *workbench) says(id string) string {
	w.t.Helper()
	_, exe, err := store.Inspect(w.t.Context(), w.es, id)
	if err != nil {
		w.t.Fatal(err)
	}
	s := string(exe.Status)
	if exe.Outcome != nil {
		s += " " + *exe.Outcome
	}
	s += " at " + deref(exe.ActivePath)
	page, err := w.es.ListTimers(w.t.Context(), store.QueueFilter{ExecutionID: &id}, store.PageRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, tm := range page.Items {
		s += fmt.Sprintf(", %s in %vs", tm.Path, tm.FireAt-seconds(w.clock.Now()))
	}
	return s
}

func TestCharts(t *testing.T) {
	build := func() store.JSON { return buildStart(newDice(1, 1)) }
	order := func() store.JSON { return orderStart(newDice(1, 1), 1) }
	const id = "demo-x"
	for _, c := range []struct {
		name  string
		kind  string
		steps string // events; +40s lets time pass, = relays, ~Region sends to that one
		want  string
	}{
		{"a cart idles", OrderKind, "+59s =", "RUNNING at Cart, Cart in 1s"},
		{"an item wakes it", OrderKind, "+59s; ItemAdded", "RUNNING at Cart, Cart in 60s"},
		{"a cart is left", OrderKind, "+60s; =", "DONE abandoned at Abandoned"},
		{"payment", OrderKind, "Checkout", "RUNNING at Payment.Awaiting, Payment in 45s"},
		{"declined", OrderKind, "Checkout; Declined", "RUNNING at Payment.Retrying, Payment.Retrying in 2s, Payment in 45s"},
		{"declined twice rests longer", OrderKind, "Checkout; Declined; +2s; =; Declined", "RUNNING at Payment.Retrying, Payment.Retrying in 4s, Payment in 43s"},
		{"nobody pays", OrderKind, "Checkout; +45s; =", "DONE abandoned at Abandoned"},
		{"too late while it retries", OrderKind, "Checkout; +44s; Declined; +1s; =", "DONE abandoned at Abandoned"},
		{"what is not taken changes nothing", OrderKind, "Paid; Delivered; Nonsense", "RUNNING at Cart, Cart in 60s"},
		{"cancelled", OrderKind, "Checkout; Cancel", "CANCELLED cancelled at Payment.Awaiting"},
		{"what comes after the end", OrderKind, "Cancel; Checkout", "CANCELLED cancelled at Cart"},
		{"two regions", OrderKind, "Checkout; Paid; =", "RUNNING at Fulfilment, Fulfilment in 180s"},
		{"one is done", OrderKind, "Checkout; Paid; =; ~Billing Invoiced; =", "RUNNING at Fulfilment, Fulfilment in 180s"},
		{"both are", OrderKind, "Checkout; Paid; =; ~Billing Invoiced; ~Picking PickStarted; ~Picking Sealed; =", "RUNNING at Shipped, Shipped in 60s"},
		{"delivered", OrderKind, "Checkout; Paid; =; ~Billing Invoiced; ~Picking PickStarted; ~Picking Sealed; =; Delivered", "DONE delivered at Closed"},
		{"the parcel comes back", OrderKind, "Checkout; Paid; =; ~Billing Invoiced; ~Picking PickStarted; ~Picking Sealed; =; +60s; =", "DONE returned at Returned"},
		{"a region fails, the parent waits", OrderKind, `Checkout; Paid; =; ~Picking PickStarted; ~Picking Sealed; ~Billing Invoiced {"ledger_down":"EU-1"}; =; +179s; =`, "RUNNING at Fulfilment, Fulfilment in 1s"},
		{"and gives up", OrderKind, `Checkout; Paid; =; ~Billing Invoiced {"ledger_down":"EU-1"}; =; +180s; =`, "DONE abandoned at Abandoned"},
		{"amended, with regions of another number", OrderKind, "Checkout; Paid; =; Amended; =; Paid; =", "RUNNING at Fulfilment, Fulfilment in 180s"},

		{"queued", BuildKind, "", "RUNNING at Queued, Queued in 60s"},
		{"never claimed", BuildKind, "+60s; =", "DONE failed at Failed"},
		{"the checkout hangs", BuildKind, "Claimed; +20s; =", "DONE failed at Failed"},
		{"progress feeds the watchdog", BuildKind, `Claimed; Fetched; +19s; Progress {"units":5}`, "RUNNING at Building.Compiling, Building.Compiling in 20s, Building in 581s"},
		{"no progress is a failure", BuildKind, "Claimed; Fetched; +20s; =", "RUNNING at Building.Backoff, Building.Backoff in 1s, Building in 580s"},
		{"retried with backoff", BuildKind, "Claimed; Fetched; CompileFailed; +1s; =; CompileFailed; +2s; =; CompileFailed", "RUNNING at Building.Backoff, Building.Backoff in 4s, Building in 597s"},
		{"not for ever", BuildKind, "Claimed; Fetched; CompileFailed; +1s; =; CompileFailed; +2s; =; CompileFailed; +4s; =; CompileFailed", "DONE failed at Failed"},
		{"the runner is lost", BuildKind, `Claimed; Fetched; Progress {"runner_lost":"r-01"}`, "FAILED at Building.Compiling, Building.Compiling in 20s, Building in 600s"},
		{"its timers do nothing", BuildKind, `Claimed; Fetched; Progress {"runner_lost":"r-01"}; +600s; =`, "FAILED at Building.Compiling"},
		{"tests hang", BuildKind, "Claimed; Fetched; Compiled; +30s; =", "DONE failed at Failed"},
		{"tests fail", BuildKind, "Claimed; Fetched; Compiled; TestsFailed", "DONE failed at Failed"},
		{"published", BuildKind, "Claimed; Fetched; Compiled; Promote; TestsPassed", "DONE published at Published"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkbench(t)
			context := order()
			if c.kind == BuildKind {
				context = build()
			}
			w.begin(id, c.kind, context)
			for _, st := range strings.FieldsFunc(c.steps, func(r rune) bool { return r == ';' }) {
				switch st = strings.TrimSpace(st); {
				case strings.HasPrefix(st, "+"):
					by, relays := strings.CutSuffix(st[1:], " =")
					d, err := time.ParseDuration(by)
					if err != nil {
						t.Fatal(err)
					}
					w.clock.Advance(d)
					if relays {
						w.drain()
					}
				case st == "=":
					w.drain()
				case st[0] == '~':
					region, event, _ := strings.Cut(st[1:], " ")
					w.send(relay.ChildID(id, "Fulfilment."+region, 0), event)
				default:
					w.send(id, st)
				}
			}
			if got := w.says(id); got != c.want {
				t.Errorf("it is %s\nwant %s", got, c.want)
			}
		})
	}
}

// What a parent gives up is told to the regions that still run, and only to those.
func TestRegionsEndWithTheirParent(t *testing.T) {
	w := newWorkbench(t)
	w.begin("demo-x", OrderKind, orderStart(newDice(1, 1), 1))
	w.send("demo-x", "Checkout")
	w.send("demo-x", "Paid")
	w.drain()
	w.send("demo-x:Fulfilment.Billing:0", `Invoiced {"number":"I-1"}`)
	w.drain()
	w.clock.Advance(fulfilmentLasts)
	w.drain()
	for id, want := range map[string]string{
		"demo-x":                      "DONE abandoned at Abandoned",
		"demo-x:Fulfilment.Billing:0": "DONE billed at Fulfilment.Billing.Billed",
		"demo-x:Fulfilment.Picking:0": "CANCELLED cancelled at Fulfilment.Picking.Waiting",
	} {
		if got := w.says(id); got != want {
			t.Errorf("%s is %s, not %s", id, got, want)
		}
	}
	exe, err := w.es.Load(t.Context(), "demo-x")
	if err != nil {
		t.Fatal(err)
	}
	states := exe.ChildStates()
	i := slices.IndexFunc(states, func(c store.ChildState) bool { return c.Key == "Fulfilment.Billing" })
	if !states[i].Finished || states[i].Result.At("invoice", "number") != `"I-1"` {
		t.Errorf("%+v", states)
	}
}

// A timer that was armed anew since its event was made does nothing.
func TestAStaleTimeout(t *testing.T) {
	w := newWorkbench(t)
	w.begin("demo-x", OrderKind, orderStart(newDice(1, 1), 1))
	stale := store.Timer{ExecutionID: "demo-x", Path: "Cart", FireAt: seconds(w.clock.Now().Add(cartIdles))}
	w.clock.Advance(time.Second)
	w.send("demo-x", "ItemAdded")
	if _, err := w.relay.Send(t.Context(), "demo-x", relay.Timeout(stale)); err != nil {
		t.Fatal(err)
	}
	if got := w.says("demo-x"); got != "RUNNING at Cart, Cart in 60s" {
		t.Error(got)
	}
}

// An execution of another chart, or of other people, is left alone.
func TestOnlyItsOwn(t *testing.T) {
	w := newWorkbench(t)
	e := newEngine(w.es, w.clock.Now)
	for _, exe := range []*store.Execution{{ID: "demo-1", DefinitionID: "shop"}, {ID: "order-9999", DefinitionID: OrderKind}, {ID: "order", DefinitionID: OrderKind}} {
		if _, err := e.Step(t.Context(), exe, store.Event{Kind: startKind}); !errors.Is(err, ErrNotOurs) {
			t.Errorf("%s of %s: %v", exe.ID, exe.DefinitionID, err)
		}
	}
}

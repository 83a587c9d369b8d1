package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"treering/store"
	"treering/store/relay"
	"treering/ui/layout"
)

// engine is a driver that notes what it is asked to do, and does it to a store.
type engine struct {
	es     store.ExecutionStore
	paused bool
	rate   float64
	asked  []string
	fails  error
	none   bool // nothing is accepted
}

func (e *engine) note(format string, args ...any) {
	e.asked = append(e.asked, fmt.Sprintf(format, args...))
}

func (e *engine) Deliver(ctx context.Context, seq int64) (bool, error) {
	e.note("deliver %d", seq)
	if e.fails != nil {
		return false, e.fails
	}
	return e.es.AckOutbox(ctx, seq)
}

func (e *engine) DeliverSpawn(ctx context.Context, seq int64) (bool, error) {
	e.note("spawn %d", seq)
	if e.fails != nil {
		return false, e.fails
	}
	return e.es.AckSpawn(ctx, seq)
}

func (e *engine) Fire(ctx context.Context, t store.Timer) (bool, error) {
	e.note("fire %s %s", t.ExecutionID, t.Path)
	return e.es.DeleteTimer(ctx, t.ExecutionID, t.Path, t.FireAt)
}

func (e *engine) StepOne(context.Context) (bool, error) { e.note("step"); return true, e.fails }
func (e *engine) Pause()                                { e.paused = true }
func (e *engine) Resume()                               { e.paused = false }
func (e *engine) Paused() bool                          { return e.paused }
func (e *engine) Rate() float64                         { return e.rate }
func (e *engine) SetRate(r float64)                     { e.rate = r }
func (e *engine) Kinds() []string                       { return []string{"order", "sandbox-build"} }

func (e *engine) NewExecution(ctx context.Context, kind string) (string, error) {
	e.note("new %s", kind)
	exe := &store.Execution{ID: "fresh-1", DefinitionID: kind, Status: store.Pending, Context: "{}"}
	return exe.ID, e.es.Save(ctx, exe)
}

func (e *engine) Accepts(_ context.Context, id string) ([]string, error) {
	e.note("accepts %s", id)
	if e.none {
		return nil, nil
	}
	return []string{"Cancel", "Checkout", "ItemAdded"}, e.fails
}

func (e *engine) Send(_ context.Context, id, kind string) error {
	e.note("send %s %s", id, kind)
	return e.fails
}

func (e *engine) did(t *testing.T, want ...string) {
	t.Helper()
	if got := strings.Join(e.asked, "; "); got != strings.Join(want, "; ") {
		t.Errorf("the driver was asked to %q, not %q", got, want)
	}
	e.asked = nil
}

func openDriven(t *testing.T, w, h int) (*driver, *engine) {
	t.Helper()
	o := seeded(t)
	e := &engine{es: o.Executions, rate: 20}
	return openWith(t, o, config{driver: e}, w, h), e
}

func TestWithoutASystemItsKeysSaySo(t *testing.T) {
	d := open(t, seeded(t), 120, 40).hides("running 20/s")
	for key, short := range map[string]string{"x": "send event", "I": "new execution", "S": "pause system", ".": "step system", ")": "faster", "(": "slower"} {
		d.press(key).asksNothing().says(short + ": no running system is attached")
	}
	d.press("6", "d").asksNothing().says("deliver: no running system is attached")
}

func TestSteeringASystem(t *testing.T) {
	d, e := openDriven(t, 120, 40)
	d.shows("running 20/s").press(".").says("the system runs; S pauses it")
	d.press("S").shows("paused").says("paused; . steps it")
	if !e.paused {
		t.Error("it was not paused")
	}
	d.press(".").says("one commit further").press(".")
	e.did(t, "step", "step")
	e.fails = errors.New("no more paper")
	d.press(".").says("no more paper")
	e.fails = nil
	d.press("S").shows("running 20/s").press(")").shows("running 50/s").press("(", "(").shows("running 10/s")
	for range 8 {
		d.press(")")
	}
	d.shows("running flat out").press(")").shows("running flat out").press("(").shows("running 1000/s")
	e.rate = 3 // by somebody else
	d.advance(2 * time.Second).shows("running 3/s").press(")").shows("running 5/s")
	e.rate = 3
	d.advance(2 * time.Second).press("(").shows("running 2/s")
	// In the detail pane the same key moves sideways.
	e.asked = nil
	d.press("S").press("4").focusedOn(layout.Detail).press(".")
	e.did(t)
	d.press("1").press(".")
	e.did(t, "step")
}

func TestDeliveringThroughASystem(t *testing.T) {
	d, e := openDriven(t, 120, 40)
	d.press("6")
	if d.m.queues.tab != outboxTab {
		t.Fatal("the outbox is not shown")
	}
	d.press("w") // the whole store's
	first, ok := d.m.queues.outbox.selected()
	if !ok {
		t.Fatal("the outbox is empty")
	}
	d.press("d").asks(fmt.Sprintf("Deliver outbox entry %d", first.Seq)).shows("the running system hands the event to").settled()
	d.press(d.m.dialog.confirm).asksNothing().says(fmt.Sprintf("delivered outbox %d", first.Seq))
	e.did(t, fmt.Sprintf("deliver %d", first.Seq))
	next, _ := d.m.queues.outbox.selected()
	e.fails = relay.ErrWaits
	d.press("d").settled().press(d.m.dialog.confirm).says("its target does not take it now")
	e.fails = fmt.Errorf("outbox entry: %w", relay.ErrGone)
	d.press("d").settled().press(d.m.dialog.confirm).says("somebody else was first")
	e.fails = nil
	// Somebody else takes it while the dialog is open.
	d.press("d").settled()
	if _, err := e.es.AckOutbox(t.Context(), next.Seq); err != nil {
		t.Fatal(err)
	}
	d.changed().shows("acknowledged by someone else").press("enter")
	e.asked = nil
	d.press("l").press("d").asks("Deliver spawn").shows("makes the child").settled().press(d.m.dialog.confirm).says("delivered spawn")
	if len(e.asked) != 1 || !strings.HasPrefix(e.asked[0], "spawn ") {
		t.Error(e.asked)
	}
	d.press("l", "d").says("timers are not delivered; f fires one")
}

func TestFiringThroughASystem(t *testing.T) {
	d, e := openDriven(t, 120, 40)
	d.press("6", "w", "l", "l")
	tm, ok := d.m.queues.timers.selected()
	if !ok || d.m.until(tm.FireAt) > 0 {
		t.Fatalf("the first timer should be overdue: %+v", tm)
	}
	// It is due, which without a system would be waited for.
	d.press("f").asks("Fire a timer").shows("the running system delivers its Timeout", "(overdue by ").settled().press(d.m.dialog.confirm).says("fired " + tm.Path)
	e.did(t, "fire "+tm.ExecutionID+" "+tm.Path)
	d.press("L").shows("Fire a timer").shows("fired " + tm.Path)
}

func TestANewExecutionAndAnEvent(t *testing.T) {
	d, e := openDriven(t, 120, 40)
	d.press("I").shows("A new execution").shows("sandbox-build").press("esc")
	e.did(t)
	d.press("I").typed("sand").press("enter").says("new: fresh-1").changed()
	e.did(t, "new sandbox-build")
	if d.m.member != "fresh-1" {
		t.Errorf("it looks at %q", d.m.member)
	}
	d.press("x").shows("An event for fresh-1").shows("Checkout").typed("item").press("enter").says("sent ItemAdded to fresh-1")
	e.did(t, "accepts fresh-1", "send fresh-1 ItemAdded")
	e.fails = errors.New("it is asleep")
	d.press("x").says("it is asleep")
	e.fails, e.none = nil, true
	d.press("x").says("takes none any more")
	d.press("L").shows("Send ItemAdded").shows("New execution")
}

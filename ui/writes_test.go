package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/store"
	"treering/store/locate"
)

// asFile makes a store in memory say that it is a file, so that dialogs have a
// command to show.
func (d *driver) asFile() *driver {
	d.m.info.Backend, d.m.info.Path, d.m.info.Ours = "sqlite", "/shop.db", true
	return d
}

// settled lets a dialog's moment without keys pass.
func (d *driver) settled() *driver {
	d.t.Helper()
	return d.advance(quiet)
}

func (d *driver) asks(title string) *driver {
	d.t.Helper()
	if d.m.dialog == nil {
		d.t.Fatalf("no dialog is open, the status line says %q\n%s", d.m.status.text, d.text())
	}
	return d.shows(title)
}

func (d *driver) asksNothing() *driver {
	d.t.Helper()
	if d.m.dialog != nil {
		d.t.Fatalf("a dialog is open\n%s", d.text())
	}
	return d
}

func TestAReadOnlyStoreSaysHowToWrite(t *testing.T) {
	d := openFile(t, "harel-shop.db", locate.Options{}, 100, 30).shows("read-only")
	for _, k := range []string{"s", "r", "T"} {
		d.press(k).asksNothing().says("read-only: start with --rw")
	}
	d.press("6", "f").says("fire: read-only: start with --rw")
	d.press("A").says("acknowledge: read-only: start with --rw")
	d.press("2", "a").says("append: read-only: start with --rw")
	d.press("?").shows("read-only: start with --rw")
	rw := openFile(t, "harel-shop.db", locate.Options{ReadWrite: true}, 100, 30).shows("writable")
	rw.press("s").asks("Suspend").shows("execution order-0000", "version   1", "RUNNING becomes SUSPENDED, version 2", "treering -s shop.db --rw suspend --version 1 order-0000")
}

func TestAppendingANode(t *testing.T) {
	ctx := context.Background()
	o := seeded(t)
	d := open(t, o, 100, 30).press("2", "j", "a").asks("Append a node").shows("parent    n1", "this node has 2 children; yours becomes a 3rd branch")
	d.typed("xx").shows("{}") // swallowed: it was typed before the dialog could be seen
	// An object is typed whole, into a field that is empty.
	d.settled().shows("enter goes on to: kind").typed(`{"a"`).shows(`data     {"a" `, "not JSON")
	d.press("enter", "enter").asks("not JSON").shows("›kind") // it goes no further
	d.press("shift+tab").typed(`:1}`).shows(`data     {"a":1} `).press("enter").shows("›kind     run").press("ctrl+u").shows("kind: must not be empty").typed("stage")
	d.press("enter").asks("y append it").hides("›kind")
	d.press("y").asks("y append it").settled() // too early to have been read
	d.press("enter").paste("y").asks("y append it").press("shift+tab").shows("›kind     stage").typed("y").shows("stagey").press("backspace", "enter").settled()
	id := ""
	for _, r := range d.m.dialog.effect() {
		if r.label.String() == "new id" {
			id = r.words()
		}
	}
	d.press("y").asksNothing().says("appended " + id)
	if d.node() != id {
		t.Errorf("the cursor is on %s, want the new node %s", d.node(), id)
	}
	d.shows("6 nodes, 3 heads", "stage")
	n, err := o.Trees.Node(ctx, "example", id)
	must(t, err)
	if *n.ParentID != "n1" || n.Kind != "stage" || !store.Equal(n.Data, `{"a":1}`) {
		t.Errorf("stored %+v", n)
	}
	d.changed().shows("6 nodes, 3 heads")

	d = open(t, o, 100, 30).press("j", "2").shows("the tree is empty", "a appends its root")
	d.press("a").asks("it becomes the root").shows("data     {}", "kind     init").settled().press("enter", "enter").asks("y append it").settled().press("y").says("appended")
	d.shows("1 node, 1 head", "init")
}

// lossy loses the answer of the first append: it was written, and nobody knows.
type lossy struct {
	store.TreeStore
	tried []store.Node
}

func (l *lossy) Append(ctx context.Context, session string, n store.Node) error {
	l.tried = append(l.tried, n)
	if err := l.TreeStore.Append(ctx, session, n); err != nil {
		return err
	}
	if len(l.tried) == 1 {
		return store.OutcomeUnknown(context.DeadlineExceeded)
	}
	return nil
}

func TestALostAppendIsTriedAgainWithTheSameNode(t *testing.T) {
	o := seeded(t)
	l := &lossy{TreeStore: o.Trees}
	o.Trees = l
	d := open(t, o, 100, 30).press("2", "a").settled().press("enter", "enter").settled().press("y").asks("outcome unknown")
	d.says("R reads the store again")
	d.press("y").asksNothing().says("appended").shows("6 nodes")
	if len(l.tried) != 2 || !l.tried[0].SameAs(l.tried[1]) {
		t.Errorf("tried %+v", l.tried)
	}
}

func TestATimeToLive(t *testing.T) {
	ctx := context.Background()
	o := seeded(t)
	d := open(t, o, 100, 30).asFile().press("t").asks("Time to live").shows("kept until it is deleted", "how long?").settled()
	d.typed("90x").shows("is no time to live").hides("session ttl").press("enter").asks("is no time to live")
	d.press("ctrl+u").typed("-1").shows("zero or more seconds").press("ctrl+u").typed("90m").shows("effect    expires 13:30:00", "session ttl example 90m")
	d.press("enter").asks("y set it").settled().press("y").asksNothing().says("example expires")
	info, err := o.Trees.Session(ctx, "example")
	must(t, err)
	if info.ExpiresAt == nil {
		t.Fatal("the session does not expire")
	}
	d.press("t").settled().typed("none").press("enter").settled().press("y").says("example is kept until it is deleted")
	d.press("t").settled().typed("0").shows("it expires at once").press("enter").settled().press("y").says("example expires")
	d.changed().shows("›web-image").hides("›example")
}

func TestAcknowledging(t *testing.T) {
	ctx := context.Background()
	o := seeded(t)
	d := open(t, o, 100, 30).asFile().press("l", "6", "w", "h", "A").asks("Acknowledge outbox entry 1").shows("to        order-2", "ack outbox 1")
	d.press("y").asks("y remove it") // too early to have been read
	d.settled().press("A").asks("y remove it")
	d.press("n").asksNothing().says("nothing was written")
	d.press("A").settled().press("y").asksNothing().says("acknowledged outbox 1").hides("Audit ")
	pending, err := o.Executions.PendingOutbox(ctx)
	must(t, err)
	if len(pending) != 1 || pending[0].Seq != 2 {
		t.Errorf("pending %+v", pending)
	}

	// Somebody else is first: the dialog is disarmed as soon as that is seen.
	d.press("A").settled().asks("Acknowledge outbox entry 2")
	_, err = o.Executions.AckOutbox(ctx, 2)
	must(t, err)
	d.changed().shows("disarmed: acknowledged by someone else").press("y").asks("disarmed").press("esc").asksNothing()

	// And says so where it was not seen.
	d.press("l", "A").settled().asks("Acknowledge spawn 1").shows("nobody will make the child")
	_, err = o.Executions.AckSpawn(ctx, 1)
	must(t, err)
	d.press("y").says("acknowledged by someone else").asksNothing()
	d.press("l", "A").says("timers are not acknowledged")
}

func TestFiring(t *testing.T) {
	ctx := context.Background()
	o := seeded(t)
	fireAt := func(id, path string) (at float64) {
		t.Helper()
		must(t, store.All(func(p store.PageRequest) (store.Page[store.Timer], error) {
			return o.Executions.ListTimers(ctx, store.QueueFilter{ExecutionID: &id}, p)
		}, func(tm store.Timer) error {
			if tm.Path == path {
				at = tm.FireAt
			}
			return nil
		}))
		return at
	}
	d := open(t, o, 100, 30).asFile().press("l", "6", "w", "l")
	d.shows("›overdue by 2m").press("f").asksNothing().says("fire: due since 11:58:00, waiting for a worker")
	d.press("j", "f").asksNothing().says("time to live, which is not to be fired")
	d.press("j", "f").asks("Fire a timer").shows("armed for 13:00:00.000 (in 1h)", "fire --at", "order-1 Fulfilment", "due now, for the worker that owns this store")
	d.settled().press("f").asks("Fire a timer")
	d.press("y").asksNothing().says("due now: Fulfilment of order-1")
	if got := fireAt("order-1", "Fulfilment"); got != float64(d.now.UnixMicro())/1e6 {
		t.Errorf("armed for %v, want now", got)
	}

	// Moved while the dialog is open, seen and unseen.
	arm := func(at time.Duration) {
		t.Helper()
		exe, err := o.Executions.Load(ctx, "order-1")
		must(t, err)
		_, err = o.Executions.Commit(ctx, store.Commit{Execution: exe, Timers: []store.TimerOp{
			{Action: store.Schedule, Path: "Fulfilment", FireAt: float64(noon.Add(at).Unix())},
		}})
		must(t, err)
	}
	arm(2 * time.Hour)
	d.changed().press("G", "f").settled().asks("armed for 14:00:00")
	arm(3 * time.Hour)
	d.press("y").asksNothing().says("moved to 15:00:00, nothing fired")
	d.press("G", "f").settled().asks("armed for 15:00:00")
	arm(4 * time.Hour)
	d.changed().shows("disarmed: moved to 16:00:00").press("y").asks("disarmed").press("esc")
	d.press("G", "f").settled().asks("armed for 16:00:00")
	exe, err := o.Executions.Load(ctx, "order-1")
	must(t, err)
	_, err = o.Executions.Commit(ctx, store.Commit{Execution: exe, Timers: []store.TimerOp{{Action: store.Cancel, Path: "Fulfilment"}}})
	must(t, err)
	d.press("y").says("it is gone: fired or cancelled meanwhile, nothing fired")
}

func TestControl(t *testing.T) {
	ctx := context.Background()
	o := seeded(t)
	status := func(id string) store.Status {
		t.Helper()
		s, _, err := store.Inspect(ctx, o.Executions, id)
		must(t, err)
		return s.Status
	}
	d := open(t, o, 100, 30).press("l", "r").asksNothing().says("resume: it is RUNNING")
	d.press("s").asks("Suspend").settled().press("s").asks("Suspend").press("y").asksNothing().says("suspend: order-1 is SUSPENDED, version 4")
	if got := status("order-1"); got != store.Suspended {
		t.Errorf("order-1 is %s", got)
	}
	d.shows("›order-1                     SUSPENDED")
	d.press("r").asks("Resume").settled().press("y").says("resume: order-1 is RUNNING, version 5")

	// The version on the screen is the one that is written to.
	save := func() {
		t.Helper()
		exe, err := o.Executions.Load(ctx, "order-1")
		must(t, err)
		must(t, o.Executions.Save(ctx, exe))
	}
	d.press("T").asks("Terminate").shows("RUNNING becomes CANCELLED, version 6").settled()
	save()
	d.press("y").asksNothing().says("changed by someone else: version 6 now, nothing was written")
	d.press("T").asks("version   6").settled()
	save()
	d.changed().shows("disarmed: it moved on: version 6 is now 7, RUNNING").press("y", "enter").asksNothing()
	if got := status("order-1"); got != store.Running {
		t.Errorf("order-1 is %s", got)
	}
	d.press("T").settled().press("y").says("terminate: order-1 is CANCELLED, version 8, and 1 descendant")
	if got := status("order-1:Fulfilment.Billing:0"); got != store.Cancelled {
		t.Errorf("the failed child is %s", got)
	}
	if got := status("order-1:Fulfilment.Picking:0"); got != store.Done {
		t.Errorf("the finished child is %s", got)
	}
	d.press("T").says("terminate: it is CANCELLED")
}

// refusing is a store whose writes fail.
type refusing struct{ store.ExecutionStore }

func (refusing) AckOutbox(context.Context, int64) (bool, error) { return false, store.ErrBusy }

func TestAFailedWriteLeavesTheDialogOpen(t *testing.T) {
	o := seeded(t)
	o.Executions = refusing{o.Executions}
	d := open(t, o, 100, 30).press("l", "6", "w", "h", "A").settled().press("y").asks("the store is busy")
	d.says("the store is busy (R tries again)")
	d.press("esc").asksNothing()
}

func TestPartialFailuresOfACommandAreNamed(t *testing.T) {
	report := []store.Controlled{
		{ID: "p", From: store.Running, To: store.Suspended, Version: 3},
		{ID: "p:a", From: store.Running, To: store.Suspended, Version: 2},
		{ID: "p:b", From: store.Running, Err: errors.New("no luck")},
	}
	got := controlled(store.Suspend, "p", report, nil)
	if want := "suspend: p is SUSPENDED, version 3, and 1 descendant; not done: p:b (no luck)"; got.partly != want {
		t.Errorf("%q, want %q", got.partly, want)
	}
	gone := &store.ConflictError{ID: "p", Expected: 3}
	if got := controlled(store.Suspend, "p", nil, gone); got.moot != "it is not in the store any more, nothing was written" {
		t.Errorf("%+v", got)
	}
	if got := controlled(store.Suspend, "p", nil, &store.StateError{ID: "p", Status: store.Done}); got.moot != "it is DONE now, nothing was written" {
		t.Errorf("%+v", got)
	}
}

func TestTTLTexts(t *testing.T) {
	for text, want := range map[string]string{
		"60": "60", "90m": "5400", "7d": "604800", "1.5d": "129600", "0": "0", "none": "none", "NONE": "none",
		"": "error", "x": "error", "-1": "error", "inf": "error", "nan": "error", "1e999": "error", "5 d": "error", "-0": "error", "1_000": "error", "0x10": "error",
	} {
		ttl, err := store.ParseTTL(text)
		got := "none"
		switch {
		case err != nil:
			got = "error"
		case ttl != nil:
			got = fmt.Sprint(*ttl)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestCommandsCanBePasted(t *testing.T) {
	for word, want := range map[string]string{
		"plain": "plain", "order-1:A.B:0": "order-1:A.B:0", "two words": "'two words'", "it's": `'it'\''s'`, "": "''", "$(x)": "'$(x)'", "é": "é",
	} {
		if got := shellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
	d := open(t, seeded(t), 100, 30)
	if got := d.m.command("ack", nil, "outbox", "1"); !strings.Contains(got, "no other program reaches") {
		t.Errorf("a store in memory: %s", got)
	}
}

func TestPastesReachFieldsOnly(t *testing.T) {
	d := open(t, seeded(t), 100, 30)
	d.paste("qqq").shows("›example") // no key of the panes
	d.press("2", "a").settled().paste("{\"a\":\n1}").shows(`data     {"a": `, `          1} `).press("enter", "enter").settled().press("y").says("appended")
	d.press("1", "/").paste("web").shows("/web", "›web-image").hides(" example")
}

func TestAWindowThatShowsNothingTakesNoKeys(t *testing.T) {
	o := seeded(t)
	d := open(t, o, 100, 30).press("l", "s").settled()
	d.send(tea.WindowSizeMsg{Width: 39, Height: 30})
	d.shows("treering needs 40x12").press("y", "esc", "T")
	d.send(tea.WindowSizeMsg{Width: 100, Height: 30})
	d.asks("Suspend").press("esc")
	s, _, err := store.Inspect(context.Background(), o.Executions, "order-1")
	must(t, err)
	if s.Status != store.Running {
		t.Errorf("order-1 is %s", s.Status)
	}
}

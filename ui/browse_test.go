package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"treering/store"
	"treering/store/locate"
	"treering/ui/layout"
)

func TestOpeningShowsExecutionsAndWhatBelongsToTheFirst(t *testing.T) {
	d := openFile(t, "harel-shop.db", locate.Options{}, 80, 24)
	d.shows("81 executions", "read-only", "order-0000", "RUNNING", "order-0001", "SUSPENDED", "Trace · 1 of 1", "→ Cart")
	d.press("j", "j", "j").shows("waits for 2 of 2", "Fulfilment.Billing:0", "Trace · 3 of 3", "Cart → Payment.Awaiting")
	d.press("/").typed("order-long").press("enter").shows("Trace · 200 of 450, 250 dropped", "Payment.Retrying  timer")
	d.press("5", "g").focusedOn(layout.Trace).press("4").shows("step 250 of order-long", "before: evicted")
	d.press("]").shows("step 251 of order-long").hides("before: evicted")
}

// Every row of a file of broken values is listed, opens, and says what is wrong
// with it.
func TestEveryBadRowIsListedAndOpens(t *testing.T) {
	d := openFile(t, "harel-bad-values.db", locate.Options{}, 120, 60)
	rows := d.m.nav.execs.items
	if len(rows) != 25 {
		t.Fatalf("%d rows are listed, want 25", len(rows))
	}
	for i, s := range rows {
		if got := d.m.subject; got != (subject{execution, s.ID}) {
			t.Fatalf("row %d: the panes are about %+v, want %q", i, got, s.ID)
		}
		d.press("4")
		if d.m.detail.view.Empty() {
			t.Errorf("%q: nothing in the detail", s.ID)
		}
		if s.Bad != nil && s.Status == "" {
			d.shows("unreadable", "error", "stored text")
			if raw := string(s.Bad.Raw); len(raw) > 8 {
				if line, _, _ := strings.Cut(raw[:8], "\n"); strings.IndexFunc(line, func(r rune) bool { return r < 0x20 || r > 0x7e }) < 0 {
					d.shows(line)
				}
			}
		}
		d.press("1", "j")
	}
	d.press("6", "w", "l", "l")
	if n := len(d.m.queues.timers.items); n != 10 {
		t.Errorf("%d timers are listed, want 10", n)
	}
	d.press("h", "h")
	if n := len(d.m.queues.outbox.items); n != 3 {
		t.Errorf("%d outbox entries are listed, want 3", n)
	}
	d.press("l")
	if n := len(d.m.queues.spawns.items); n != 2 {
		t.Errorf("%d spawns are listed, want 2", n)
	}
}

func TestStepsOfOldWorkersHaveNoKind(t *testing.T) {
	open(t, seeded(t), 80, 24).press("l").shows("kind not recorded", "→ Cart", "Checkout")
}

func TestAStoreWithBothStartsOnSessionsIfThereAreAny(t *testing.T) {
	d := open(t, seeded(t), 80, 24)
	d.shows("[Sessions]", "example", "5 nodes, 2 heads")
	d.press("l").shows("[Executions]", "order-1", "Family · order-1")
	d.press("l").shows("[Families]")
	d.press("l").shows("[Sessions]")

	o := openMemory(t)
	seedExecutions(t, o.Executions)
	open(t, o, 80, 24).shows("[Executions]", "order-1", "Family · order-1")
}

func TestAnEmptyStoreSaysWhatToDo(t *testing.T) {
	d := open(t, openMemory(t), 80, 24)
	d.shows("no sessions yet", "+ or treering session create", "treering demo")
	d.press("l").shows("no executions yet", "treering commit")
	d.press("2").shows("nothing is selected")
}

func TestAFamilySaysWhoIsStuck(t *testing.T) {
	d := open(t, seeded(t), 120, 30).press("l")
	d.shows("◆ Fulfilment  stuck: a child is FAILED  waits for 2 of 2", "timer in 1h")
	d.press("2", "j", "j").shows("CardError: declined")
	if d.m.member != "order-1:Fulfilment.Billing:0" {
		t.Errorf("the panes are about %q", d.m.member)
	}
	d.press("h").press("h").press("enter")
}

func TestFoldingAFamily(t *testing.T) {
	d := open(t, seeded(t), 120, 30).press("l", "2")
	d.press("space").shows("▸ order-1", "… 3 steps")
	d.press("space").shows("Fulfilment.Picking:0")
	d.press("1", "l", "space").shows("+2")
	d.hides("Billing:0             FAILED")
}

// What another process writes appears, and nothing that is selected moves.
func TestOthersWritesAppearWithoutMovingTheSelection(t *testing.T) {
	ctx := context.Background()
	o := seeded(t)
	d := open(t, o, 120, 30).press("2", "G")
	if d.node() != "n3" {
		t.Fatalf("on %s", d.node())
	}
	appendNode(t, o.Trees, "example", "n1a", "n1", "run", "in between")
	appendNode(t, o.Trees, "example", "n9", "n3", "run", "at the end")
	_, err := o.Trees.CreateSession(ctx, "another", "session", nil)
	must(t, err)
	d.hides("in between").changed().shows("in between", "at the end", "another", "7 nodes, 3 heads", "›example")
	if d.node() != "n3" {
		t.Errorf("the cursor went to %s", d.node())
	}

	d.press("1", "l", "j", "j", "j") // order-2
	d.shows("›order-2")
	must(t, o.Executions.Save(ctx, &store.Execution{ID: "order-0", DefinitionID: "shop", Status: store.Done}))
	d.changed().shows("order-0", "›order-2", "6 executions: 2 RUNNING, 1 SUSPENDED, 2 DONE, 1 FAILED")
	if d.m.member != "order-2" {
		t.Errorf("the panes are about %s", d.m.member)
	}
}

func TestAUserAtWorkIsLeftWhereTheListLosesTheRow(t *testing.T) {
	ctx := context.Background()
	o := seeded(t)
	d := open(t, o, 120, 30).press("l", "/").typed("status:running").press("enter", "5").focusedOn(layout.Trace)
	exe, err := o.Executions.Load(ctx, "order-1")
	must(t, err)
	exe.Status = store.Done
	must(t, o.Executions.Save(ctx, exe))
	d.changed().shows("›order-3", "Family · order-1", "Trace · 3 of 3")
	d.press("1", "j").shows("Family · order-3")
}

func TestTheTraceFollowsUntilItIsHeld(t *testing.T) {
	ctx := context.Background()
	o := seeded(t)
	d := open(t, o, 120, 30).press("l", "5")
	step := func(n int) store.JSON { return store.JSON(fmt.Sprintf(`{"event_kind":"More%d","to_path":"X"}`, n)) }
	must(t, o.Executions.AppendTrace(ctx, "order-1", step(1)))
	d.changed().shows("Trace · 4 of 4").hides("held").press("4").shows("step 3 of order-1").press("5")
	d.press("k").shows("Trace · 4 of 4, held")
	must(t, o.Executions.AppendTrace(ctx, "order-1", step(2)))
	d.changed().shows("Trace · 5 of 5, held, +1 new").press("4").shows("step 2 of order-1").press("5")
	d.press("space").hides("held").press("4").shows("step 4 of order-1")
	d.press("1", "[").shows("step 3 of order-1").focusedOn(layout.Navigator)
}

func TestNodesThatSortBeforeTheLastPageAreFoundToo(t *testing.T) {
	o := openMemory(t)
	ctx := context.Background()
	_, err := o.Trees.CreateSession(ctx, "s", "session", nil)
	must(t, err)
	appendNode(t, o.Trees, "s", "m0000", "", "init", "root")
	for i := 1; i < 2500; i++ {
		appendNode(t, o.Trees, "s", fmt.Sprintf("m%04d", i), fmt.Sprintf("m%04d", i-1), "run", "step")
	}
	d := open(t, o, 120, 30).shows("2,500 nodes, 1 head")
	appendNode(t, o.Trees, "s", "a-first", "m0003", "run", "sorts first")
	d.changed().shows("2,501 nodes, 2 heads", "sorts first")
	d.press("2", "G")
	if d.node() != "a-first" {
		t.Errorf("the last row is %s", d.node())
	}
	d.press("3", "G", "enter")
	if d.node() != "m0000" {
		t.Errorf("jumped to %s", d.node())
	}
}

func TestASessionThatIsDeletedAndMadeAnewIsAnotherTree(t *testing.T) {
	ctx := context.Background()
	o := seeded(t)
	d := open(t, o, 120, 30).press("2", "j")
	_, err := o.Trees.DeleteSession(ctx, "example")
	must(t, err)
	_, err = o.Trees.CreateSession(ctx, "example", "session", nil)
	must(t, err)
	for i := range 5 {
		parent := ""
		if i > 0 {
			parent = fmt.Sprintf("x%d", i-1)
		}
		appendNode(t, o.Trees, "example", fmt.Sprintf("x%d", i), parent, "run", fmt.Sprintf("another tree %d", i))
	}
	d.changed().shows("another tree 0").hides("apt-get update")

	_, err = o.Trees.DeleteSession(ctx, "example")
	must(t, err)
	d.changed().shows("›web-image").hides("›example")
}

func TestTheFilterDecidesAtTheStoreAndHere(t *testing.T) {
	d := openFile(t, "harel-shop.db", locate.Options{}, 100, 30)
	d.press("/").typed("status:suspended").shows("/status:suspended", "order-0001").hides("order-0002 ")
	d.press("enter")
	if n := len(d.m.nav.execs.items); n != 1 || d.m.subject.id != "order-0001" {
		t.Errorf("%d rows, the panes are about %+v", n, d.m.subject)
	}
	d.press("esc").shows("order-0002 ")
	d.press("/").typed("billing running")
	for _, s := range d.m.nav.execs.items {
		if !strings.Contains(s.ID, "Billing") || s.Status != store.Running {
			t.Errorf("%s %s is listed", s.ID, s.Status)
		}
	}
	d.press("esc").shows("order-0000")
	d.press("/").typed("nothing like this").press("enter").shows("no execution matches", "esc clears the filter")
	d.press("esc", "l", "/").typed("billing status:running").press("enter").shows("[Families]", "order-0003")
	if x := d.m.nav.families.widget.Index(); x.Len() != 20 || x.Missing() != 0 {
		t.Errorf("%d rows with %d parents missing, want ten regions below their orders", x.Len(), x.Missing())
	}
	if said := d.press("/").typed(" status:").text(); strings.Contains(said, "^") {
		t.Errorf("a text that is not finished is a mistake already\n%s", said)
	}
	d.press("enter").shows("^")
	d.press("esc").hides("/billing")
	d.press("/").typed("bogus:x").shows("^", "bogus").press("down").shows("/bogus").hides("^")
	d.press("esc", "/").typed("id:order-0003:Fulfilment.Billing:0").press("enter").shows("/id:order-0003:Fulfilment.Billing:0", "Fulfilment.Billing:0")
}

func TestMovesOfTheNavigatorReadOnAsTheyGo(t *testing.T) {
	o := openMemory(t)
	for i := range 2300 {
		_, err := o.Trees.CreateSession(context.Background(), fmt.Sprintf("s%04d", i), "session", nil)
		must(t, err)
	}
	d := open(t, o, 80, 24)
	if n := len(d.m.nav.sessions.items); n != 1000 {
		t.Errorf("%d sessions were read at first", n)
	}
	d.press("G")
	if d.m.subject.id != "s2299" || !d.m.nav.sessions.done {
		t.Errorf("the panes are about %+v", d.m.subject)
	}
	d.shows("›s2299").press("g").shows("›s0000")
}

// failing is a store whose reads fail while err is set.
type failing struct {
	store.ExecutionStore
	err error
}

func (f *failing) ListExecutions(ctx context.Context, q store.ExecutionFilter, p store.PageRequest) (store.Page[store.Summary], error) {
	if f.err != nil {
		return store.Page[store.Summary]{}, f.err
	}
	return f.ExecutionStore.ListExecutions(ctx, q, p)
}

func (f *failing) ReadTrace(ctx context.Context, id string) ([]store.TraceEntry, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.ExecutionStore.ReadTrace(ctx, id)
}

func TestErrorsSayWhatToDoNext(t *testing.T) {
	o := openMemory(t)
	seedExecutions(t, o.Executions)
	f := &failing{o.Executions, errors.New("disk I/O error\x1b[2J")}
	o.Executions, o.Trees = f, nil
	d := open(t, o, 100, 30)
	d.shows("cannot read: disk I/O error␛[2J", "R tries again")
	f.err = nil
	d.press("R").shows("order-1", "RUNNING").hides("disk I/O error")
	f.err = store.ErrBusy
	d.press("R").says("the store is busy (R tries again)")
	d.shows("order-1", "order-2")
}

func TestLosingTheStoreIsSaid(t *testing.T) {
	d := open(t, seeded(t), 100, 30).shows("· live")
	d.send(storeNews{Err: errors.New("gone"), Since: noon.Add(-time.Minute)})
	d.says("cannot follow the store since 11:59:00: gone").shows("disconnected since 11:59:00")
	d.send(storeNews{Since: noon.Add(-time.Minute)})
	d.says("following the store again").shows("· live")
}

// An answer to a question that was overtaken is dropped.
func TestStaleAnswersAreDropped(t *testing.T) {
	o := seeded(t)
	d := open(t, o, 100, 30).press("l")
	late := d.m.trace.load(d.m)() // of order-1, answered only after the cursor moved on
	d.press("j", "j", "j")
	if d.m.member != "order-2" {
		t.Fatalf("on %s", d.m.member)
	}
	d.send(late)
	if len(d.m.trace.steps) != 0 {
		t.Errorf("order-2 shows %d steps of another execution", len(d.m.trace.steps))
	}
}

func TestReadingIsPacedWhereItTakesLong(t *testing.T) {
	var p pace
	if ok, _ := p.start(noon); !ok {
		t.Fatal("the first reading does not start")
	}
	if ok, wait := p.start(noon.Add(time.Millisecond)); ok || wait != 0 {
		t.Fatal("a second one started beside it")
	}
	done := noon.Add(100 * time.Millisecond)
	if !p.end(done) {
		t.Fatal("what changed meanwhile is forgotten")
	}
	if ok, wait := p.start(done); ok || wait != restFactor*100*time.Millisecond {
		t.Fatalf("started %v, waits %v", ok, wait)
	}
	if ok, wait := p.start(done); ok || wait != 0 {
		t.Fatal("waits twice")
	}
	p.rested()
	if ok, _ := p.start(done.Add(restFactor * 100 * time.Millisecond)); !ok {
		t.Fatal("did not start after the rest")
	}
}

func TestRelativeTimesChangeByThemselvesAndIdleIsIdle(t *testing.T) {
	o := openMemory(t)
	_, err := o.Executions.Commit(context.Background(), store.Commit{
		Execution: &store.Execution{ID: "e", Status: store.Running},
		Timers:    []store.TimerOp{{Action: store.Schedule, Path: "P", FireAt: float64(noon.Unix()) + 90}},
	})
	must(t, err)
	d := open(t, o, 100, 30).press("6").shows("due in 1m", "timer in 1m")
	d.advance(31*time.Second).shows("due in 59s", "timer in <1m")
	d.advance(3 * time.Second).shows("due in 56s")
	d.advance(60 * time.Second).shows("overdue by")

	idle := open(t, seeded(t), 100, 30).press("l", "l", "2").advance(time.Second)
	if idle.m.queues.of != "" {
		idle.m.queues.whole = false
	}
	before := idle.screen()
	n := len(idle.timers)
	idle.advance(20 * time.Second)
	if got := idle.screen(); got != before {
		t.Error("the screen changed while nothing happened")
	}
	if len(idle.timers) > n {
		t.Errorf("%d timers were added while nothing happened", len(idle.timers)-n)
	}
}

func TestQueuesSayWhatBecameOfTheirTargets(t *testing.T) {
	ctx := context.Background()
	o := seeded(t)
	d := open(t, o, 140, 30).press("l", "6").shows("whole store: 2 outbox, 1 spawn, 3 timers").press("w", "h")
	d.shows("whole store", "Audit", "to order-2  SUSPENDED", "to nobody", "seen <1m")
	d.advance(121 * time.Second).shows("seen 2m")
	exe, err := o.Executions.Load(ctx, "order-2")
	must(t, err)
	ev := "ev-1"
	_, err = o.Executions.Commit(ctx, store.Commit{Execution: exe, ProcessedEventID: &ev})
	must(t, err)
	d.changed().shows("to order-2  SUSPENDED, already processed")
	d.press("l").shows("not created yet")
	must(t, o.Executions.Save(ctx, &store.Execution{ID: "order-1:Refund:0", Status: store.Done}))
	d.changed().shows("child exists (DONE)")
	d.press("l").shows("overdue by 4m", "due in 7m")
	d.press("enter").shows("Family · order-3").focusedOn(layout.Tree)
}

func TestCopyingAnID(t *testing.T) {
	d := open(t, seeded(t), 100, 30).press("2", "j", "y")
	d.says("copied n1")
	if len(d.raw) != 1 || !strings.HasPrefix(d.raw[0], "\x1b]52;c;") {
		t.Errorf("sent %q", d.raw)
	}
}

// The way to the newest head comes first at every fork. While the tree grows, it stays
// the first as long as it goes on; what comes elsewhere moves no rows.
func TestTheActivePathComesFirst(t *testing.T) {
	o := seeded(t)
	d := open(t, o, 120, 30).press("2", "G")
	order := func(want string) {
		t.Helper()
		if got := strings.Join(d.rows(), " "); got != want {
			t.Errorf("rows %s, want %s", got, want)
		}
		if d.node() != "n3" {
			t.Errorf("the cursor went to %s", d.node())
		}
	}
	order("n0 n1 n4 n2 n3")
	appendNode(t, o.Trees, "example", "n5", "n4", "run", "further on")
	appendNode(t, o.Trees, "example", "n4a", "n4", "run", "beside it")
	d.changed()
	order("n0 n1 n4 n5 n4a n2 n3")
	appendNode(t, o.Trees, "example", "n9", "n2", "run", "elsewhere")
	d.changed()
	order("n0 n1 n4 n5 n4a n2 n3 n9")
	appendNode(t, o.Trees, "example", "n9a", "n5", "run", "on again")
	d.changed()
	order("n0 n1 n4 n5 n9a n4a n2 n3 n9")
	// Opened anew, the newest head has the first way.
	appendNode(t, o.Trees, "example", "nz", "n9", "run", "the newest")
	d = open(t, o, 120, 30).press("2")
	if got := strings.Join(d.rows(), " "); got != "n0 n1 n2 n9 nz n3 n4 n4a n5 n9a" {
		t.Errorf("rows %s", got)
	}
}

// A file of one session is opened to walk in that session: moving moves there, with no key
// before it. Where there is a choice the choice comes first.
func TestOneSessionIsEntered(t *testing.T) {
	for name, c := range map[string]struct {
		sessions, executions int
		want                 layout.Pane
	}{
		"one session":               {1, 0, layout.Tree},
		"two sessions":              {2, 0, layout.Navigator},
		"a session, an execution":   {1, 1, layout.Navigator},
		"one execution":             {0, 1, layout.Navigator},
		"nothing":                   {0, 0, layout.Navigator},
		"more sessions than a page": {store.DefaultLimit + 1, 0, layout.Navigator},
	} {
		t.Run(name, func(t *testing.T) {
			o := openMemory(t)
			for i := range c.sessions {
				if _, err := o.Trees.CreateSession(t.Context(), fmt.Sprintf("s%04d", i), "session", nil); err != nil {
					t.Fatal(err)
				}
			}
			for i := range c.executions {
				e := &store.Execution{ID: fmt.Sprintf("e%d", i), DefinitionID: "order", Status: store.Running}
				if err := o.Executions.Save(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}
			d := open(t, o, 80, 24)
			if d.m.focus != c.want {
				t.Errorf("the focus is on pane %d, want %d", d.m.focus, c.want)
			}
		})
	}

	o := openMemory(t)
	if _, err := o.Trees.CreateSession(t.Context(), "first", "session", nil); err != nil {
		t.Fatal(err)
	}
	d := open(t, o, 80, 24)
	d.press("1")
	if _, err := o.Trees.CreateSession(t.Context(), "second", "session", nil); err != nil {
		t.Fatal(err)
	}
	d.changed()
	if d.m.focus != layout.Navigator {
		t.Errorf("the focus went to pane %d after the user had gone to the navigator", d.m.focus)
	}
}

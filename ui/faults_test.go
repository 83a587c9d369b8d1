package ui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"treering/store"
	"treering/store/locate"
)

// shrinking is a store in which some executions are not there any more.
type shrinking struct {
	store.ExecutionStore
	gone map[string]bool
}

func (s *shrinking) Load(ctx context.Context, id string) (*store.Execution, error) {
	if s.gone[id] {
		return nil, &store.NotFoundError{What: "execution", ID: id}
	}
	return s.ExecutionStore.Load(ctx, id)
}

func (s *shrinking) ListExecutions(ctx context.Context, f store.ExecutionFilter, p store.PageRequest) (store.Page[store.Summary], error) {
	page, err := s.ExecutionStore.ListExecutions(ctx, f, p)
	var items []store.Summary
	for _, it := range page.Items {
		if !s.gone[it.ID] {
			items = append(items, it)
		}
	}
	page.Items = items
	return page, err
}

func TestAFamilyGoesOnWithoutAMemberThatWasDeleted(t *testing.T) {
	o := openMemory(t)
	seedExecutions(t, o.Executions)
	s := &shrinking{o.Executions, map[string]bool{}}
	o.Executions, o.Trees = s, nil
	d := open(t, o, 120, 30).press("j").advance(time.Second)
	d.shows("›order-1:Fulfilment.Billing:0", "Family · order-1", "3 executions")
	s.gone["order-1:Fulfilment.Billing:0"] = true
	d.changed().advance(time.Second).hides("deleted", "Billing").shows("›order-1:Fulfilment.Picking:0", "2 executions")
	s.gone["order-1"], s.gone["order-1:Fulfilment.Picking:0"] = true, true
	d.changed().advance(time.Second).hides("deleted").shows("›order-3", "Family · order-3")

	// The last one of a family, while the list does not know yet.
	d.press("2")
	s.gone["order-3"] = true
	d.run(d.m.tree.reload(d.m))
	d.shows("deleted or expired")
}

func TestEveryStatusCounts(t *testing.T) {
	c := countsState{known: true, counts: store.Counts{
		Executions: 10, Unreadable: 2,
		ByStatus: map[store.Status]int64{"RUNNING": 3, "running": 1, "HIBERNATING": 2, "ASLEEP": 1, "": 1},
	}}
	if got, want := c.summary(), "10 executions: 4 RUNNING, 4 other, 2 unreadable"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	d := openFile(t, "harel-bad-values.db", locate.Options{}, 160, 40)
	sum := int64(0)
	for _, part := range strings.Split(strings.SplitN(d.m.counts.summary(), ": ", 2)[1], ", ") {
		var n int64
		var word string
		if _, err := fmt.Sscan(part, &n, &word); err != nil {
			t.Fatal(part, err)
		}
		sum += n
	}
	if sum != 25 {
		t.Errorf("%q adds up to %d", d.m.counts.summary(), sum)
	}
}

// locked is a store that somebody else holds the lock of while held is set.
type locked struct {
	store.ExecutionStore
	held bool
}

func (l *locked) err() error {
	if l.held {
		return fmt.Errorf("shop.db: %w", store.ErrBusy)
	}
	return nil
}

func (l *locked) Load(ctx context.Context, id string) (*store.Execution, error) {
	if l.held {
		return nil, l.err()
	}
	return l.ExecutionStore.Load(ctx, id)
}

func (l *locked) Counts(ctx context.Context) (store.Counts, error) {
	if l.held {
		return store.Counts{}, l.err()
	}
	return l.ExecutionStore.Counts(ctx)
}

func (l *locked) ReadTrace(ctx context.Context, id string) ([]store.TraceEntry, error) {
	if l.held {
		return nil, l.err()
	}
	return l.ExecutionStore.ReadTrace(ctx, id)
}

func (l *locked) ListExecutions(ctx context.Context, f store.ExecutionFilter, p store.PageRequest) (store.Page[store.Summary], error) {
	if l.held {
		return store.Page[store.Summary]{}, l.err()
	}
	return l.ExecutionStore.ListExecutions(ctx, f, p)
}

func (l *locked) ListOutbox(ctx context.Context, f store.QueueFilter, p store.PageRequest) (store.Page[store.OutboxEntry], error) {
	if l.held {
		return store.Page[store.OutboxEntry]{}, l.err()
	}
	return l.ExecutionStore.ListOutbox(ctx, f, p)
}

func (l *locked) ListSpawns(ctx context.Context, f store.QueueFilter, p store.PageRequest) (store.Page[store.SpawnEntry], error) {
	if l.held {
		return store.Page[store.SpawnEntry]{}, l.err()
	}
	return l.ExecutionStore.ListSpawns(ctx, f, p)
}

func (l *locked) ListTimers(ctx context.Context, f store.QueueFilter, p store.PageRequest) (store.Page[store.Timer], error) {
	if l.held {
		return store.Page[store.Timer]{}, l.err()
	}
	return l.ExecutionStore.ListTimers(ctx, f, p)
}

func TestALockIsSaidAndEveryPaneRecoversByItself(t *testing.T) {
	o := openMemory(t)
	seedExecutions(t, o.Executions)
	l := &locked{ExecutionStore: o.Executions}
	o.Executions, o.Trees = l, nil
	d := open(t, o, 200, 60).advance(time.Second).shows("· live")
	l.held = true
	d.press("j", "j", "j").shows("waiting for a lock since 12:0", "Outbox ?", "Spawns ?", "Timers ?", "cannot read").hides("· live", "0+", "Outbox 0")
	d.advance(30 * time.Second).shows("waiting for a lock since 12:0")
	l.held = false
	d.advance(lastRetry+time.Second).shows("· live", "›order-2", "Family · order-2", "SUSPENDED", "execution order-2", "[Outbox 1]", "no steps were recorded")
	d.hides("cannot read", "lock", "reading…")
	for i, r := range d.m.readings() {
		if r.err != nil {
			t.Errorf("reading %d has not recovered: %v", i, r.err)
		}
	}
	n := len(d.timers)
	if d.advance(time.Minute); len(d.timers) > n {
		t.Errorf("%d timers were added while nothing happened", len(d.timers)-n)
	}

	// A reading that waits is no sign of life; that it took long is no reason to rest
	// before the next try.
	l.held = true
	_, cmd := d.m.Update(keyMsg("k"))
	d.m.again.waiting = false // its clock is in cmd, with the readings that are to wait
	d.run(d.m.watch())
	d.shows("· live").advance(2 * time.Second).shows("waiting for the store").hides("· live")
	d.now = d.now.Add(5 * time.Second)
	d.run(cmd)
	d.shows("waiting for a lock since 12:0")
	l.held = false
	d.advance(2*time.Second).shows("· live", "›order-1:Fulfilment.Picking:0", "execution order-1:Fulfilment.Picking:0").hides("cannot read", "reading…")

	// At the start, too.
	l.held = true
	d = open(t, o, 200, 60).shows("waiting for a lock since 12:0")
	l.held = false
	d.advance(2*time.Second).shows("· live", "5 executions: ", "›order-1", "Family · order-1").hides("cannot read", "locked")
}

func TestEveryKeyAnswers(t *testing.T) {
	o := openMemory(t)
	seedExecutions(t, o.Executions)
	o.Trees, o.Info.Writable = nil, false
	d := open(t, o, 120, 30).press("6", "s")
	d.says("suspend: read-only")
	d.press("t").says("time to live: not in the queues; it is for the navigator (1), tree (2)")
	d.press("a").says("append: not in the queues")
	d.press("4", "A").says("acknowledge: not in the detail; it is for the queues (6)")
	d.press("1", "w").says("whole store: not in the navigator")
	d.press("!").says("! is no key here")
	d.advance(7 * time.Second).says("! is no key here")
	d.advance(2 * time.Second)
	if !d.m.status.text.Empty() {
		t.Errorf("still said: %q", d.m.status.text)
	}
	open(t, openMemory(t), 80, 24).press("G").says("last: nothing is listed here")
}

func TestCtrlZWorksEverywhere(t *testing.T) {
	for _, keys := range []string{"", "?", "2 a", "/"} {
		d := open(t, seeded(t), 80, 24).press(strings.Fields(keys)...)
		before := d.screen()
		_, cmd := d.m.Update(keyMsg("ctrl+z"))
		suspended := false
		for _, msg := range flatten(cmd) {
			suspended = suspended || fmt.Sprintf("%T", msg) == "tea.SuspendMsg"
		}
		if !suspended {
			t.Errorf("after %q: not suspended", keys)
		}
		if d.screen() != before {
			t.Errorf("after %q: something closed", keys)
		}
	}
}

func TestCountsHaveRoom(t *testing.T) {
	d := openFile(t, "harel-shop.db", locate.Options{}, 80, 24).press("/").typed("status:done").press("enter").shows("35 of 81")
	d.press("esc", "/").typed("order-000").press("enter").shows(" of 81 ")

	o := openMemory(t)
	for i := range 3000 {
		must(t, o.Executions.Save(t.Context(), &store.Execution{ID: fmt.Sprintf("e%04d", i), Status: store.Running}))
	}
	o.Trees = nil
	for _, size := range [][2]int{{80, 24}, {160, 40}} {
		d := open(t, o, size[0], size[1]).shows("1,000 of 3,000")
		// Reading on to the end, before the first page is answered.
		_, cmd := d.m.Update(keyMsg("G"))
		d.shows("… 1,000")
		d.run(cmd)
		d.shows(" 3,000 ", "›e2999").hides("… 1", "… 2")
	}
}

func TestTheTraceKeepsItsTimes(t *testing.T) {
	openFile(t, "harel-shop.db", locate.Options{}, 160, 40).shows("›0 00:00:00")
	openFile(t, "harel-shop.db", locate.Options{}, 80, 24).shows("›0 00:00:00")
}

func TestTheTreesCountsOutliveItsName(t *testing.T) {
	o := openMemory(t)
	ctx := t.Context()
	for _, name := range []string{"preview", strings.Repeat("a-long-name-", 8)} {
		_, err := o.Trees.CreateSession(ctx, name, "session", ptr(30.0))
		must(t, err)
		appendNode(t, o.Trees, name, "r-"+name[:3], "", "init", "root")
	}
	d := open(t, o, 80, 24)
	for range 2 {
		d.now = time.Unix(int64(*d.m.tree.info.ExpiresAt)-20, 0)
		d.m.tree.touch()
		d.shows("1 node", ", <1m left")
		d.press("j")
	}
}

func TestOneMarkBeforeTheStatus(t *testing.T) {
	d := openFile(t, "harel-bad-values.db", locate.Options{}, 80, 70)
	for range 2 {
		for _, line := range strings.Split(d.text(), "\n") {
			row, _, found := strings.Cut(line, "│")
			if i := strings.Index(row, "!"); found && i >= 0 && (row[i-1] != ' ' || row[i+1] == ' ') {
				t.Errorf("%q", row)
			}
		}
		d.shows(" !RUNNING").press("l")
	}
}

func TestQueueRowsStandInColumns(t *testing.T) {
	d := openFile(t, "harel-bad-values.db", locate.Options{}, 120, 40).press("6", "w")
	d.press("h", "h", "h")
	for range tabCount {
		if d.m.queues.tab == timersTab {
			d.press("l")
			continue
		}
		at := map[int]bool{}
		for _, line := range strings.Split(d.text(), "\n") {
			if i := strings.Index(line, "seen <1m"); i >= 0 {
				at[len([]rune(line[:i]))] = true
			}
		}
		if len(at) != 1 {
			t.Errorf("queue %d: ages begin at columns %v\n%s", d.m.queues.tab, at, d.text())
		}
		d.press("l")
	}
}

func TestWhatCanBeReadOfABadRowIsShown(t *testing.T) {
	d := openFile(t, "harel-bad-values.db", locate.Options{}, 160, 60).press("/").typed("version-text").press("enter", "4")
	d.shows("status      RUNNING", "definition", "error", "stored text")
}

func TestEscapesAreDecodedWhereTheyCanBeSeen(t *testing.T) {
	ctx := context.Background()
	o := openMemory(t)
	exe := &store.Execution{ID: "e", Status: store.Running}
	for _, c := range []string{`{"n":9007199254740993}`, `{"n":9007199254740995,"customer":"\u674e\u96f7"}`, `{"n":9007199254740995,"customer":"\u674e\u96f7"}`} {
		_, err := o.Executions.Commit(ctx, store.Commit{Execution: exe, Trace: store.JSON(`{"event_kind":"E","to_path":"X","context_out":` + c + `}`)})
		must(t, err)
	}
	o.Trees = nil
	d := open(t, o, 200, 60).press("5", "k")
	d.shows(`+ "customer": "李雷"`, `~ "n": 9007199254740993 → 9007199254740995`, "~1 changed")
	// What a step left behind is seen where nothing changed, too.
	d.press("j").shows("not changed", "context after", `"customer": "李雷"`)
	openFile(t, "harel-shop.db", locate.Options{}, 200, 60).press("/").typed("order-long").press("enter", "5", "g").
		shows("before: evicted", "context after")
}

func TestAStoreThatWentAwayIsNotMisspelt(t *testing.T) {
	d := open(t, seeded(t), 120, 30)
	err := fmt.Errorf("x.db does not exist; check the spelling: %w", store.ErrStoreNotFound)
	d.send(storeNews{Err: err, Since: noon})
	d.says("is not there any more: deleted or moved")
	d.hides("spelling")
}

func TestTheFooterBeginsWithWhatAppliesToTheSelection(t *testing.T) {
	o := openMemory(t)
	seedExecutions(t, o.Executions)
	o.Trees = nil
	d := open(t, o, 80, 24).shows("? help  enter open")
	d.press("6", "w").shows("? help  enter open  A acknowledge")
	d = open(t, o, 200, 60).press("6", "w", "h").shows("y copy target's id").press("y").says(", the execution that the entry is for")
	d.press("l").shows("y copy parent's id").press("y").says("copied order-1, the parent")
}

// Reading again when somebody asked for it says what came of it, though it was said
// before; the page about the store says it as long as it is so.
func TestReadingAgainSaysWhyNot(t *testing.T) {
	o := openMemory(t)
	seedExecutions(t, o.Executions)
	l := &locked{ExecutionStore: o.Executions}
	o.Executions, o.Trees = l, nil
	d := open(t, o, 160, 60).advance(time.Second)
	l.held = true
	d.press("R").says("the store is busy")
	d.advance(time.Minute).press("%").advance(time.Minute).hides("R tries again") // the panes' own tries are not said
	d.press("R").says("the store is busy")
	d.advance(saidFor).press("i").shows("unread", "the store is busy").press("esc")
	l.held = false
	d.press("R").says("reading again").advance(time.Minute).press("i").hides("unread", "the store is busy")
}

// A file that was replaced is not followed to, and so what leads to it is named; R does
// not.
func TestAReplacedFileSaysWhatOpensIt(t *testing.T) {
	err := fmt.Errorf("shop.db: another file was put in its place; open it again: %w", store.ErrSourceChanged)
	o := openMemory(t)
	d := open(t, o, 160, 40).shows("writable · live")
	d.send(storeNews{Err: err, Since: noon})
	d.shows("writable · replaced, o opens it", "(o does)").hides("R tries again")
	o.Info.Writable = false
	d = open(t, o, 160, 40)
	d.send(storeNews{Err: err, Since: noon})
	d.shows("read-only · disconnected since 12:00:00", "(R tries again)")
}

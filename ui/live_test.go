package ui

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/demo"
	"treering/internal/term"
	"treering/store"
	"treering/store/locate"
	"treering/store/memory"
	"treering/tracefeed"
	"treering/ui/layout"
)

// fed is an explorer that is told what changes, one batch at a time.
type fed struct {
	*driver
	feed *tracefeed.Feed
	o    *locate.Opened
}

func openFed(t testing.TB, o *locate.Opened, c config, w, h int) *fed {
	t.Helper()
	feed := tracefeed.NewFeed(tracefeed.FeedOptions{
		Watcher: o.Watcher, Executions: o.Executions, Trees: o.Trees,
		AllExecutions: o.Executions != nil, Queues: o.Executions != nil, Sessions: o.Trees != nil,
		Most: mostCompared, Changes: true, Counts: true, Uncounted: true, Frame: time.Nanosecond, Budget: time.Minute,
	})
	feed.Prime(t.Context())
	f := &fed{openWith(t, o, c, w, h), feed, o}
	f.told()
	return f
}

// told hands over everything there is to tell.
func (f *fed) told() *fed {
	f.t.Helper()
	for {
		// Nothing is waited for that is not there: what was written before is told at once.
		ctx, cancel := context.WithTimeout(f.t.Context(), 60*time.Millisecond)
		b, err := f.feed.Next(ctx)
		cancel()
		if err != nil {
			return f
		}
		f.send(feedNews(b))
	}
}

// step commits one step of an execution.
func step(t testing.TB, es store.ExecutionStore, exe *store.Execution, kind, from, to, data string) {
	t.Helper()
	exe.ActivePath = &to
	_, err := es.Commit(t.Context(), store.Commit{Execution: exe,
		Trace: store.JSON(fmt.Sprintf(`{"event_kind":%q,"from_path":%q,"to_path":%q,"timestamp":%d,"context_out":%s}`, kind, from, to, noon.Unix()+exe.Version, data))})
	must(t, err)
}

// traced opens an explorer on one execution with so many steps in a ring of 20.
func openTraced(t testing.TB, steps int) (*fed, *store.Execution) {
	t.Helper()
	ring := 20
	s, err := memory.New(memory.Options{TraceMax: &ring})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	o := openMemory(t)
	o.Executions, o.Trees, o.Watcher = s.Executions(), nil, s
	exe := &store.Execution{ID: "e-1", DefinitionID: "d", Status: store.Running, Context: "{}"}
	for i := range steps {
		step(t, o.Executions, exe, fmt.Sprintf("K%d", i), "A", "A", fmt.Sprintf(`{"n":%d}`, i/4))
	}
	return openFed(t, o, config{}, 200, 60), exe
}

func (f *fed) steps(exe *store.Execution, n int) *fed {
	f.t.Helper()
	for range n {
		i := exe.Version
		step(f.t, f.o.Executions, exe, fmt.Sprintf("K%d", i), "A", "A", fmt.Sprintf(`{"n":%d}`, i/4))
	}
	return f.told()
}

// Whatever a running system does, the screen that is told of it is the one that would
// be read.
// timeless is a screen without the times that go by.
func timeless(screen string) string { return distances.ReplaceAllString(screen, "~") }

var distances = regexp.MustCompile(`<?\d+[smhd]\b *`)

func TestWhatIsToldIsWhatWouldBeRead(t *testing.T) {
	if testing.Short() {
		t.Skip("many steps")
	}
	o := openMemory(t)
	must(t, demo.Seed(t.Context(), o.Executions, o.Trees, demo.Options{Now: time.Now, Seed: 3}))
	sys := demo.NewSystem(o.Executions, o.Trees, demo.SystemOptions{Seed: 3, Executions: 6})
	t.Cleanup(func() { sys.Close() })
	sys.Pause()
	f := openFed(t, o, config{}, 200, 60)
	r := rand.New(rand.NewPCG(3, 3))
	keys := []string{"1", "j", "k", "l", "2", "j", "5", "k", "6", "l", "j", "w", "1", "G", "g", "l"}
	for round := range 60 {
		for range r.IntN(6) {
			_, err := sys.StepOne(t.Context())
			must(t, err)
		}
		f.told()
		f.advance(3 * time.Second) // what glows ends
		was := timeless(f.text())
		f.changed().advance(3 * time.Second)
		if now := timeless(f.text()); now != was {
			t.Fatalf("round %d: told\n%s\nread\n%s", round, was, now)
		}
		for range 2 {
			f.press(keys[r.IntN(len(keys))])
		}
	}
}

func TestFollowingPausingAndEviction(t *testing.T) {
	f, exe := openTraced(t, 12)
	f.press("5").shows("Trace · 12 of 12", "following", "›11")
	f.steps(exe, 1).shows("Trace · 13 of 13", "›12")

	// Any move upwards stays where it is, and says how much is new.
	f.press("k", "k").shows("held").hides("new")
	f.steps(exe, 3).shows("held, +3 new", "›10")
	f.press("G").shows("following", "›15").hides("held")

	// Pausing freezes what is shown.
	f.press("space").shows("paused")
	before := stepsOf(f)
	f.steps(exe, 2)
	if now := stepsOf(f); now != before {
		t.Errorf("%s became %s", before, now)
	}
	f.shows("paused, +2 new", "Trace · 18 of 18").press("space").shows("following", "›17")

	// The step that is looked at keeps its id while the ring wraps, and is marked.
	f.press("g").shows("› 0", "held").focusedOn(layout.Trace)
	f.steps(exe, 10).shows("› 0 evicted", "held, +10 new", "20 of 28, 8 dropped")
	if f.m.detail.target.seq != 0 {
		t.Errorf("the detail is of step %d", f.m.detail.target.seq)
	}
	f.shows("evicted: the ring let it go since")
	f.press("j").shows("› 1 evicted", "step 1 of e-1")
	f.press("space").shows("following", "›27").hides("evicted")
}

func stepsOf(f *fed) string {
	var b strings.Builder
	for _, r := range f.m.trace.steps {
		fmt.Fprint(&b, r.Index, " ")
	}
	return b.String()
}

func TestGapsLateStepsAndStepsThatAreGoneAreRows(t *testing.T) {
	f, exe := openTraced(t, 3)
	f.press("5")
	for range 50 {
		step(t, f.o.Executions, exe, "K", "A", "A", "{}")
	}
	f.told().shows("20 of 53, 33 dropped, 30 missed", "░·")
	f.press("g").shows("░ 30 steps missed: the ring let go of 3 to 32 before anybody looked", "steps       3 to 32", "missed: the ring let them go")
	f.press("G")
	must(t, f.o.Executions.AppendTrace(t.Context(), "e-1", `{"index":60,"event_kind":"Ahead"}`))
	f.told().shows("7 missing, 30 missed", "Ahead")
	for _, want := range []string{"7 steps missed: no 53 to 59 in the ring"} {
		f.shows(want)
	}
	must(t, f.o.Executions.AppendTrace(t.Context(), "e-1", `{"index":55,"event_kind":"Behind"}`))
	f.told().shows("late", "Behind", "no 53 to 54", "no 56 to 59")
	f.press("k", "k").shows("held")
	ok, err := f.o.Executions.Purge(t.Context(), "e-1", exe.Version)
	if must(t, err); !ok {
		t.Fatal("not purged")
	}
	f.told().shows("gone", "gone: it is not in the store any more")
}

// A click on the line above the steps goes to the step that the column stands for.
func TestClickingTheScrubber(t *testing.T) {
	d := openFile(t, "harel-shop.db", locate.Options{}, 120, 40).press("J").typed("order-long").press("enter", "5")
	head := -1
	lines := strings.Split(d.text(), "\n")
	for y, line := range lines {
		if strings.Contains(line, "by state") {
			head = y
		}
	}
	if head < 0 {
		t.Fatalf("there is no scrubber:\n%s", d.text())
	}
	from := strings.Index(lines[head], "│")
	x := 1
	if from >= 0 {
		x = term.StyledWidth(lines[head][:from]) + 2
	}
	cells := d.m.trace.scrub.cells
	for _, c := range []struct {
		cell     int
		from, to int64
	}{{0, 250, 251 + 200/int64(cells)}, {cells / 2, 348, 352 + 200/int64(cells)}, {cells - 1, 449 - 200/int64(cells), 449}} {
		d.send(tea.MouseClickMsg{X: x + c.cell, Y: head, Button: tea.MouseLeft})
		if at := d.m.trace.at; at < c.from || at > c.to {
			t.Errorf("cell %d of %d is step %d, want %d to %d", c.cell, cells, at, c.from, c.to)
		}
		d.focusedOn(layout.Trace)
	}
	was := d.m.trace.at
	d.send(tea.MouseClickMsg{X: x + cells + 2, Y: head, Button: tea.MouseLeft})
	if d.m.trace.at != was {
		t.Error("a click behind it moved")
	}
}

func TestScrubbingByChanges(t *testing.T) {
	f, _ := openTraced(t, 12)
	f.press("5").shows("by state")
	f.press("{").says("no change of the state before this step is listed")
	f.press("K").typed("n").press("enter").says("changes are those of the context's n").shows("by n")
	f.press("{").shows("step 8 of e-1").press("{").shows("step 4 of e-1", "held", "step 4: A")
	f.press("}").shows("step 8 of e-1").press("}").says("no change of the context's n after this step is listed")
}

func TestWhatChangesGlowsAndThenIsStill(t *testing.T) {
	f, exe := openTraced(t, 3)
	other := &store.Execution{ID: "e-2", DefinitionID: "d", Status: store.Running}
	must(t, f.o.Executions.Save(t.Context(), other))
	f.told().shows("+e-2").advance(2 * time.Second).hides("+e-2")
	must(t, f.o.Executions.Save(t.Context(), other))
	f.steps(exe, 2).shows("~e-2", "+3 12:", "/s", "█").advance(2*time.Second).hides("~e-2", "+3 12:").shows("/s")
	f.advance(20 * time.Second).hides("/s")
	if n := len(f.timers); n > 0 {
		before := f.screen()
		f.advance(time.Hour)
		if f.screen() != before {
			t.Error("the screen changed while nothing happened")
		}
	}
}

func TestTimingsAreShownWhileAsked(t *testing.T) {
	o := seeded(t)
	timer := &meter{}
	d := openWith(t, o, config{meter: timer}, 140, 30).press("f12").shows("measuring")
	began := timer.begin()
	timer.updated(began)
	timer.viewed(began)
	timer.wrote(500)
	d.advance(time.Second).shows("Update p50", "View p50", "1 messages/s", "500 bytes/s")
	d.press("f12").hides("messages/s").shows("? help")
	if !timer.begin().IsZero() {
		t.Error("it still measures")
	}
}

// A lock that another process holds is told of in the header, since when it is waited
// for, whoever found it; and a store that is away.
func TestTheHeaderSaysWhatIsWaitedFor(t *testing.T) {
	f := openFed(t, seeded(t), config{}, 120, 30)
	since := noon.Add(-time.Minute)
	f.send(feedNews{Facts: []tracefeed.Fact{tracefeed.Disconnected{Since: since, Err: store.ErrBusy}}})
	f.shows("waiting for a lock since 11:59:00").hides("cannot follow")
	f.send(feedNews{Facts: []tracefeed.Fact{tracefeed.Connected{Since: since}}})
	f.shows("· live").hides("following the store again")
	f.send(feedNews{Facts: []tracefeed.Fact{tracefeed.Disconnected{Since: since.Add(-24 * time.Hour), Err: store.ErrStoreNotFound}}})
	f.shows("disconnected since 2025-12-31 11:59", "not there any more")
	f.send(feedNews{Facts: []tracefeed.Fact{tracefeed.Connected{Since: since}}})
	f.shows("· live")
	f.send(feedNews{Behind: 7, Since: since})
	f.shows("behind since 11:59:00")
	f.send(feedNews{})
	f.press("l", "5", "space").shows("· live, trace paused")
	f.press("space").shows("· live").hides("paused")
}

// tale is a demo's story for the explorer, as the command makes one.
type tale struct{ of *demo.Story }

func (s tale) Next(ctx context.Context) (Scene, error) {
	scene, err := s.of.Next(ctx)
	if errors.Is(err, demo.ErrStoryOver) {
		err = ErrStoryOver
	}
	return Scene(scene), err
}

// A story goes on by enter, shows where it is, and goes on from what its viewer wrote.
func TestAStoryIsToldAndItsViewerTakesPart(t *testing.T) {
	o := openMemory(t)
	sys := demo.NewSystem(o.Executions, o.Trees, demo.SystemOptions{Seed: 1})
	t.Cleanup(sys.Close)
	sys.Pause()
	f := openFed(t, o, config{driver: sys, story: tale{demo.NewStory(o.Executions, o.Trees, sys)}}, 80, 24)
	f.shows("1/15 A session is a tree of nodes that never change. This is its root.", "a clean image")
	f.press("enter")
	f.told().shows("2/15 Each step", "make: 3 tests fail")
	if f.node() != "build" {
		t.Errorf("on %s", f.node())
	}
	for range 5 {
		f.press("enter")
		f.told()
	}
	f.shows("7/15 Your turn")
	f.press("a").advance(time.Second).typed(`{"title":"mine"}`).press("enter", "enter").advance(time.Second).press("y").advance(10 * time.Second)
	f.told().shows("mine", "7/15 Your turn")
	f.press("enter")
	f.told().shows("8/15 The story goes on from your node", "the story goes on from your node")
	for range 2 {
		f.press("enter")
		f.told()
	}
	f.shows("10/15 An order, PENDING", "PENDING").press("6").shows("Start")
	for range 5 {
		f.press("enter")
		f.told()
	}
	f.shows("15/15 [ and ] go through its steps", "Fulfilment").press("enter")
	f.says("the story is over").press("1").press("enter").focusedOn(layout.Tree)
}

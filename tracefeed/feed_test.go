package tracefeed_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/store"
	"treering/store/memory"
	storesqlite "treering/store/sqlite"
	"treering/tracefeed"
)

// line is a fact in a few words.
func line(f tracefeed.Fact) string {
	switch f := f.(type) {
	case tracefeed.Began:
		return fmt.Sprintf("began %d %d %d %d %d", f.Executions, f.Outbox, f.Spawns, f.Timers, f.Sessions)
	case tracefeed.Disconnected:
		return "disconnected"
	case tracefeed.Connected:
		return "connected"
	case tracefeed.Replaced:
		return "replaced"
	case tracefeed.RingOpened:
		return fmt.Sprintf("%s opened from %d: %v", f.Execution, f.From, f.Ring)
	case tracefeed.RingRestarted:
		return f.Execution + " restarted"
	case tracefeed.StepAdded:
		return fmt.Sprintf("%s + %d", f.Execution, f.Step.Index)
	case tracefeed.StepsMissed:
		return fmt.Sprintf("%s missed %d-%d", f.Execution, f.First, f.Last)
	case tracefeed.StepsEvicted:
		return fmt.Sprintf("%s evicted %d-%d", f.Execution, f.First, f.Last)
	case tracefeed.StepsGone:
		return fmt.Sprintf("%s gone %d-%d", f.Execution, f.First, f.Last)
	case tracefeed.ExecutionAdded:
		return fmt.Sprintf("new %s v%d %s", f.Summary.ID, f.Summary.Version, f.Summary.Status)
	case tracefeed.ExecutionChanged:
		return fmt.Sprintf("%s v%d>%d %s", f.Summary.ID, f.Before.Version, f.Summary.Version, f.Summary.Status)
	case tracefeed.ExecutionGone:
		return fmt.Sprintf("%s gone v%d", f.ID, f.Before.Version)
	case tracefeed.Queued:
		switch {
		case f.Outbox != nil:
			return fmt.Sprintf("outbox + %d", f.Outbox.Seq)
		case f.Spawn != nil:
			return fmt.Sprintf("spawns + %d", f.Spawn.Seq)
		}
		return fmt.Sprintf("timers + %s %g", f.Timer.ExecutionID, f.Timer.FireAt)
	case tracefeed.Unqueued:
		return fmt.Sprintf("%s - %d%s", f.Queue, f.Seq, f.Timer.ExecutionID)
	case tracefeed.SessionAdded:
		return fmt.Sprintf("session %s, %d nodes", f.Session.ID, f.Nodes)
	case tracefeed.SessionChanged:
		return fmt.Sprintf("session %s, %d to %d nodes", f.Session.ID, f.Before, f.Nodes)
	case tracefeed.SessionGone:
		return "session " + f.ID + " gone"
	}
	return fmt.Sprintf("%T", f)
}

// follower reads a feed to the facts that are expected.
type follower struct {
	t    testing.TB
	feed *tracefeed.Feed
	any  bool // lists are read by turns, so the order of their facts is anybody's
}

func follow(t testing.TB, o tracefeed.FeedOptions) *follower {
	o.Frame = time.Millisecond
	return &follower{t: t, feed: tracefeed.NewFeed(o)}
}

// sees reads batches until there are as many facts as are expected.
func (f *follower) sees(want ...string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 20*time.Second)
	defer cancel()
	var got []string
	for len(got) < len(want) {
		b, err := f.feed.Next(ctx)
		if err != nil {
			f.t.Fatalf("%v after %q, want %q", err, got, want)
		}
		for _, fact := range b.Facts {
			got = append(got, line(fact))
		}
	}
	if f.any {
		slices.Sort(want)
		slices.Sort(got)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Fatal(diff)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newMemory(t testing.TB, ring int) *memory.Store {
	t.Helper()
	s, err := memory.New(memory.Options{TraceMax: &ring})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// commit commits an execution with one step.
func commit(t testing.TB, es store.ExecutionStore, exe *store.Execution, c store.Commit) {
	t.Helper()
	c.Execution = exe
	c.Trace = store.JSON(fmt.Sprintf(`{"event_kind":"E%d","timestamp":%d}`, exe.Version, exe.Version))
	_, err := es.Commit(t.Context(), c)
	must(t, err)
}

func TestFeedOfARing(t *testing.T) {
	s := newMemory(t, 3)
	es := s.Executions()
	exe := &store.Execution{ID: "e", Status: store.Running}
	f := follow(t, tracefeed.FeedOptions{Watcher: s, Executions: es, Rings: []tracefeed.Follow{{Execution: "e"}}})
	f.sees("e opened from 0: no steps")
	commit(t, es, exe, store.Commit{})
	f.sees("new e v1 RUNNING", "e + 0")
	commit(t, es, exe, store.Commit{})
	f.sees("e v1>2 RUNNING", "e + 1")
	for range 5 {
		_, err := es.Commit(t.Context(), store.Commit{Execution: exe, Trace: `{"timestamp":7}`})
		must(t, err)
	}
	// Whatever was read in between: nothing is told twice, and what was missed is.
	told := map[string]int{}
	for len(told) < 1 || told["last"] == 0 {
		b, err := f.feed.Next(t.Context())
		must(t, err)
		for _, fact := range b.Facts {
			switch fact := fact.(type) {
			case tracefeed.StepAdded:
				told["settled"]++
				if fact.Step.Index == 6 {
					told["last"]++
				}
			case tracefeed.StepsMissed:
				told["settled"] += int(fact.Count())
			}
		}
	}
	if told["settled"] != 5 {
		t.Errorf("%d steps were told or counted, 5 were committed", told["settled"])
	}
	purged, err := es.Purge(t.Context(), "e", exe.Version)
	if must(t, err); !purged {
		t.Fatal("not purged")
	}
	f.sees("e gone v7", "e gone 4-6")
	exe = &store.Execution{ID: "e", Status: store.Done}
	commit(t, es, exe, store.Commit{})
	f.sees("new e v1 DONE", "e restarted", "e + 0")

	from := int64(1)
	resumed := follow(t, tracefeed.FeedOptions{Watcher: s, Executions: es, Rings: []tracefeed.Follow{{Execution: "e", From: &from}}})
	resumed.sees("new e v1 DONE", "e opened from 1: 1 of 1")
}

func TestFeedOfListsAndQueues(t *testing.T) {
	s := newMemory(t, 3)
	es := s.Executions()
	exe := &store.Execution{ID: "a", Status: store.Running}
	for i := range 1200 { // several pages
		must(t, es.Save(t.Context(), &store.Execution{ID: fmt.Sprintf("x%04d", i)}))
	}
	f := follow(t, tracefeed.FeedOptions{Watcher: s, Executions: es, AllExecutions: true, Queues: true, Budget: 1})
	f.any = true
	f.sees("began 1200 0 0 0 0")
	target := "a"
	commit(t, es, exe, store.Commit{
		Emits:  []store.Emit{{TargetID: &target, Event: store.Event{ID: "m", Kind: "K"}}},
		Timers: []store.TimerOp{{Action: store.Schedule, Path: "p", FireAt: 5}},
		Spawns: []store.Spawn{{ChildID: "c"}},
	})
	f.sees("new a v1 RUNNING", "outbox + 1", "spawns + 1", "timers + a 5")
	commit(t, es, exe, store.Commit{Timers: []store.TimerOp{{Action: store.Schedule, Path: "p", FireAt: 6}}})
	f.sees("a v1>2 RUNNING", "timers + a 6", "timers - 0a")
	_, err := es.AckOutbox(t.Context(), 1)
	must(t, err)
	f.sees("outbox - 1")
	_, err = es.Purge(t.Context(), "x1199", 1)
	must(t, err)
	f.sees("x1199 gone v1")
}

func TestFeedOfSessions(t *testing.T) {
	s := newMemory(t, 3)
	ts := s.Trees()
	create := func(id string, ttl *float64) {
		t.Helper()
		_, err := ts.CreateSession(t.Context(), id, "session", ttl)
		must(t, err)
	}
	create("old", nil)
	f := follow(t, tracefeed.FeedOptions{Watcher: s, Trees: ts, Sessions: true})
	f.sees("began 0 0 0 0 1")
	soon := 0.2
	create("short", &soon)
	f.sees("session short, 0 nodes")
	must(t, ts.Append(t.Context(), "old", store.Node{ID: "n", Kind: "run", Data: "{}"}))
	f.sees("session old, 0 to 1 nodes")
	f.sees("session short gone") // without a word from the store
}

// A file that is replaced, its tables renamed, that is deleted and comes back, is
// said to be, and followed further.
func TestFeedOfAFileInTrouble(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.db")
	make := func(path string, steps int) *storesqlite.DB {
		t.Helper()
		db, err := storesqlite.Open(t.Context(), storesqlite.Options{Path: path, Create: true})
		must(t, err)
		exe := &store.Execution{ID: "e", Status: store.Running}
		for range steps {
			commit(t, db.Executions(), exe, store.Commit{})
		}
		return db
	}
	must(t, make(path, 2).Close())
	db, err := storesqlite.Open(t.Context(), storesqlite.Options{Path: path})
	must(t, err)
	f := follow(t, tracefeed.FeedOptions{Watcher: db, Executions: db.Executions(), Rings: []tracefeed.Follow{{Execution: "e"}}, AllExecutions: true})
	f.sees("new e v2 RUNNING", "e opened from 0: 2 of 2", "e + 0", "e + 1", "began 1 0 0 0 0")

	other := filepath.Join(dir, "y.db")
	must(t, make(other, 1).Close())
	must(t, os.Rename(other, path))
	f.sees("replaced", "new e v1 RUNNING", "e opened from 0: 1 of 1", "e + 0", "began 1 0 0 0 0")

	execute := func(sql string) {
		t.Helper()
		conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
		must(t, err)
		must(t, sqlitex.ExecuteScript(conn, sql, nil))
		must(t, conn.Close())
	}
	table := db.Layout().Sets[0].Executions
	execute("ALTER TABLE " + table + " RENAME TO elsewhere")
	f.sees("disconnected")
	execute("ALTER TABLE elsewhere RENAME TO " + table)
	f.sees("connected")

	must(t, os.Remove(path))
	f.sees("disconnected")
	must(t, make(other, 3).Close())
	must(t, os.Rename(other, path))
	f.sees("connected", "replaced", "new e v3 RUNNING", "e opened from 0: 3 of 3", "e + 0", "e + 1", "e + 2", "began 1 0 0 0 0")

	must(t, db.Close())
	if _, err := f.feed.Next(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a closed store: %v", err)
	}
}

// However fast commits come there is one batch a frame at most, and every step is told
// or counted.
func TestFeedUnderLoad(t *testing.T) {
	const steps = 20_000
	s := newMemory(t, 200)
	es := s.Executions()
	frame := 10 * time.Millisecond
	feed := tracefeed.NewFeed(tracefeed.FeedOptions{Watcher: s, Executions: es, Rings: []tracefeed.Follow{{Execution: "e", From: new(int64)}}, Frame: frame})
	began := time.Now()
	go func() {
		exe := &store.Execution{ID: "e"}
		for range steps {
			if _, err := es.Commit(t.Context(), store.Commit{Execution: exe, Trace: `{"event_kind":"E"}`}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	var settled, last int64 = 0, -1
	batches := 0
	for settled < steps {
		b, err := feed.Next(t.Context())
		must(t, err)
		batches++
		for _, fact := range b.Facts {
			switch fact := fact.(type) {
			case tracefeed.StepAdded:
				if fact.Step.Index != last+1 {
					t.Fatalf("step %d after %d", fact.Step.Index, last)
				}
				last = fact.Step.Index
				settled++
			case tracefeed.StepsMissed:
				if fact.First != last+1 {
					t.Fatalf("a gap from %d after %d", fact.First, last)
				}
				last = fact.Last
				settled += fact.Count()
			}
		}
	}
	if most := int(time.Since(began)/frame) + 2; batches > most {
		t.Errorf("%d batches, want %d at most", batches, most)
	}
}

func TestNextChange(t *testing.T) {
	entry := func(index int64, to, context string) store.TraceEntry {
		text := "{"
		if to != "" {
			text += `"to_path":"` + to + `",`
		}
		if context != "" {
			text += `"context_out":` + context + ","
		}
		return store.TraceEntry{Index: index, Entry: store.JSON(strings.TrimSuffix(text, ",") + "}")}
	}
	steps := tracefeed.Steps([]store.TraceEntry{
		entry(0, "A", `{"n":1,"k":{"x":null}}`), entry(1, "A", `{"n":1.0,"k":{}}`), entry(2, "", `{"n":2,"k":{}}`),
		entry(3, "B", ""), entry(4, "B", `{"n":3,"k":{}}`), entry(7, "C", `{"n":3}`), {Index: 8, Bad: &store.RowError{}}, entry(9, "D", `{"n":3}`),
	}, nil)
	for _, tt := range []struct {
		from int
		path []string
		want string
	}{
		{0, nil, "{3 true} true"},
		{3, nil, "{5 false} true"}, // 5 and 6 are missing
		{5, nil, "{7 false} true"}, // 8 cannot be read
		{7, nil, "{0 false} false"},
		{0, []string{"n"}, "{2 true} true"},
		{2, []string{"n"}, "{4 false} true"}, // 3 has no context
		{3, []string{"n"}, "{0 false} false"},
		{0, []string{"k", "x"}, "{1 true} true"}, // null is not nothing
		{-1, nil, "{0 false} false"},
		{99, nil, "{0 false} false"},
	} {
		c, ok := tracefeed.NextChange(steps, tt.from, tt.path...)
		if got := fmt.Sprint(c, ok); got != tt.want {
			t.Errorf("from %d, %q: %s, want %s", tt.from, tt.path, got, tt.want)
		}
	}
}

func TestRate(t *testing.T) {
	at := func(seconds float64) time.Time {
		return time.Unix(1000, 0).Add(time.Duration(seconds * float64(time.Second)))
	}
	r := tracefeed.NewRate(10 * time.Second)
	if got := r.PerSecond(at(0)); got != 0 {
		t.Errorf("nothing was counted: %g", got)
	}
	for i := range 100 {
		r.Add(5, at(float64(i)/10))
	}
	for _, tt := range []struct{ at, want float64 }{{9.95, 50}, {14.95, 25}, {25, 0}, {1000, 0}} {
		if got := r.PerSecond(at(tt.at)); got < tt.want*0.93 || got > tt.want*1.07 {
			t.Errorf("%g a second after %g s, want %g", got, tt.at, tt.want)
		}
	}
	r.Add(10, at(1000))
	if got := r.PerSecond(at(1000)); got < 0.9 || got > 1.1 {
		t.Errorf("%g a second, want 1", got)
	}
	r.Add(7, at(3)) // long ago
	if got := r.PerSecond(at(1000)); got > 1.1 {
		t.Errorf("%g a second, want 1", got)
	}
	young := tracefeed.NewRate(10 * time.Second)
	young.Add(10, at(0))
	if got := young.PerSecond(at(1)); got < 8 || got > 12 {
		t.Errorf("10 within the first second: %g a second", got)
	}
}

func TestCostIsTheLeastOfTheLast(t *testing.T) {
	var c tracefeed.Cost
	for i, step := range []struct{ took, want time.Duration }{{8, 8}, {90, 8}, {9, 8}, {70, 8}, {80, 9}, {60, 9}, {50, 50}} {
		if got := c.Add(step.took); got != step.want {
			t.Errorf("%d: %v, want %v", i, got, step.want)
		}
	}
}

// Who was told that something was not looked at yet is told when it was, though nothing
// came of it.
func TestFeedTellsThatItCaughtUp(t *testing.T) {
	s := newMemory(t, 5)
	for i := range 3000 {
		must(t, s.Executions().Save(t.Context(), &store.Execution{ID: fmt.Sprintf("e-%04d", i), Status: store.Running}))
	}
	feed := tracefeed.NewFeed(tracefeed.FeedOptions{Watcher: s, Executions: s.Executions(), AllExecutions: true, Changes: true,
		Frame: time.Millisecond, Budget: time.Nanosecond})
	feed.Prime(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	next := func() tracefeed.Batch {
		b, err := feed.Next(ctx)
		must(t, err)
		return b
	}
	for len(next().Facts) == 0 { // Began
	}
	must(t, s.Executions().AppendTrace(t.Context(), "e-0001", `{"event_kind":"E"}`))
	b := next()
	if b.Behind == 0 || b.Since.IsZero() {
		t.Fatalf("%+v", b)
	}
	for b.Behind > 0 {
		b = next()
	}
	if !b.Since.IsZero() {
		t.Errorf("%+v", b)
	}
}

package relay_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"treering/store"
	"treering/store/memory"
	"treering/store/relay"
	"treering/store/sqlite"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func text(s string) *string { return &s }

// counter is a driver whose executions write down what happened to them.
//
//	Hop      counts; {"to": id, "left": n} sends itself on
//	Fork     asks for {"children": n}
//	Arm      arms the timer {"path": p, "at": t}
//	Timeout  is counted by its path
//	Refuse   fails
type counter struct {
	refuse atomic.Bool
	steps  atomic.Int64
	before func(exe *store.Execution, ev store.Event) // called before each step
}

var errRefused = errors.New("refused")

func (d *counter) Step(_ context.Context, exe *store.Execution, ev store.Event) (store.Commit, error) {
	if d.before != nil {
		d.before(exe, ev)
	}
	d.steps.Add(1)
	if ev.Kind == "Refuse" && d.refuse.Load() {
		return store.Commit{}, errRefused
	}
	c := store.Commit{Execution: exe, Trace: store.ObjectOf(store.Member{Key: "event_kind", Value: store.Quote(ev.Kind)})}
	key := ev.Kind
	switch ev.Kind {
	case "Hop":
		left, _ := ev.Data.Get("left").Int64()
		to, _ := ev.Data.Get("to").Text()
		if left > 0 {
			next := hop(exe.ID, left-1)
			next.ID = fmt.Sprintf("%s>%d", ev.ID, left-1)
			c.Emits = append(c.Emits, store.Emit{TargetID: &to, Event: next})
		}
	case "Fork":
		n, _ := ev.Data.Get("children").Int64()
		for i := range n {
			c.Spawns = append(c.Spawns, store.Spawn{ChildID: relay.FanOutChildID(exe.ID, "Fork", 0, int(i)), RootPath: "Fork", Context: `{"__invoke_fqn__":"child","n":1.50}`})
		}
	case "Arm":
		path, _ := ev.Data.Get("path").Text()
		at, _ := ev.Data.Get("at").Float64()
		c.Timers = append(c.Timers, store.TimerOp{Action: store.Schedule, Path: path, FireAt: at})
	case relay.TimeoutKind:
		path, _ := ev.Data.Get("path").Text()
		key = "Timeout " + path
	}
	exe.Context = count(exe.Context, key)
	return c, nil
}

func (d *counter) Start(_ context.Context, child *store.Execution) (store.Commit, error) {
	if strings.Contains(child.ID, "bad") {
		return store.Commit{}, errRefused
	}
	child.Status = store.Running
	return store.Commit{Execution: child, Emits: []store.Emit{{TargetID: child.ParentID, Event: relay.Finished(child.ID, text("success"))}}}, nil
}

// count adds one to a member.
func count(object store.JSON, key string) store.JSON {
	var members []store.Member
	n, found := int64(0), false
	for k, v := range object.Members() {
		if k == key {
			n, _ = v.Int64()
			v, found = store.JSON(fmt.Sprint(n+1)), true
		}
		members = append(members, store.Member{Key: k, Value: v})
	}
	if !found {
		members = append(members, store.Member{Key: key, Value: "1"})
	}
	return store.ObjectOf(members...)
}

func hop(to string, left int64) store.Event {
	return store.NewEvent("Hop", store.ObjectOf(store.Member{Key: "to", Value: store.Quote(to)}, store.Member{Key: "left", Value: store.JSON(fmt.Sprint(left))}))
}

// world is a store with a relay on it.
type world struct {
	*testing.T
	es     store.ExecutionStore
	driver *counter
	r      *relay.Relay
	now    time.Time

	mu       sync.Mutex
	problems []relay.Problem
}

func (w *world) problem(p relay.Problem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, p)
}

// everywhere runs a test on every kind of store.
func everywhere(t *testing.T, test func(*world)) {
	t.Run("memory", func(t *testing.T) {
		m, err := memory.New(memory.Options{})
		must(t, err)
		t.Cleanup(func() { must(t, m.Close()) })
		test(newWorld(t, m.Executions()))
	})
	t.Run("sqlite", func(t *testing.T) { test(newWorld(t, openFile(t, filepath.Join(t.TempDir(), "r.db")))) })
}

func openFile(t testing.TB, path string) store.ExecutionStore {
	t.Helper()
	db, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, ReadWrite: true, Create: true, Synchronous: "NORMAL"})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db.Executions()
}

func newWorld(t *testing.T, es store.ExecutionStore) *world {
	w := &world{T: t, es: es, driver: &counter{}, now: time.Unix(1000, 0)}
	w.r = relay.New(es, w.driver, relay.Options{Now: func() time.Time { return w.now }, Problem: w.problem})
	t.Cleanup(w.r.Close)
	return w
}

func (w *world) put(id string, status store.Status, emits ...store.Emit) {
	w.Helper()
	_, err := w.es.Commit(w.Context(), store.Commit{Execution: &store.Execution{ID: id, DefinitionID: "d", Status: status, Context: "{}", Priority: 3}, Emits: emits})
	must(w.T, err)
}

func (w *world) drain() {
	w.Helper()
	for {
		moved, err := w.r.Drain(w.Context())
		must(w.T, err)
		if !moved {
			return
		}
	}
}

func (w *world) context(id string) string {
	w.Helper()
	_, exe, err := store.Inspect(w.Context(), w.es, id)
	must(w.T, err)
	return string(exe.Context)
}

// queues says how much waits: outbox, spawns, timers.
func (w *world) queues() [3]int64 {
	w.Helper()
	c, err := w.es.Counts(w.Context())
	must(w.T, err)
	return [3]int64{c.Outbox, c.Spawns, c.Timers}
}

func (w *world) same(what string, got, want any) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s: %s", what, diff)
	}
}

func TestEventsGoRound(t *testing.T) {
	everywhere(t, func(w *world) {
		w.put("a", store.Running)
		w.put("b", store.Running, store.Emit{TargetID: text("a"), Event: hop("b", 9)}, store.Emit{Event: hop("nobody", 0)},
			store.Emit{TargetID: text("gone"), Event: hop("a", 3)})
		w.drain()
		w.same("a", w.context("a"), `{"Hop":5}`)
		w.same("b", w.context("b"), `{"Hop":5}`)
		w.same("queues", w.queues(), [3]int64{})
		w.same("stats", w.r.Stats(), relay.Stats{Delivered: 10, Removed: 2})
	})
}

// Contract, is_processed: an event that was handled is not handled again, whoever
// sends it again.
func TestAHandledEventIsOnlyAcknowledged(t *testing.T) {
	everywhere(t, func(w *world) {
		ev := hop("", 0)
		w.put("a", store.Running, store.Emit{TargetID: text("a"), Event: ev}, store.Emit{TargetID: text("a"), Event: ev})
		w.drain()
		w.same("a", w.context("a"), `{"Hop":1}`)
		w.same("stats", w.r.Stats(), relay.Stats{Delivered: 1, Removed: 1})
	})
}

// Without an id of its own an event is told apart by its entry.
func TestEventsWithoutAnID(t *testing.T) {
	everywhere(t, func(w *world) {
		ev := store.Event{Kind: "Hop", Data: "{}"}
		w.put("a", store.Running, store.Emit{TargetID: text("a"), Event: ev}, store.Emit{TargetID: text("a"), Event: ev})
		w.drain()
		w.same("a", w.context("a"), `{"Hop":2}`)
		handled, err := w.es.IsProcessed(w.Context(), "a", "outbox:1")
		must(w.T, err)
		w.same("the mark", handled, true)
	})
}

func TestStatuses(t *testing.T) {
	everywhere(t, func(w *world) {
		for _, c := range []struct {
			status store.Status
			kind   string
			steps  string
			waits  int64
		}{
			{store.Cancelled, "Hop", `{}`, 0}, {store.Cancelling, "Hop", `{}`, 0}, {store.Cancelling, "Cancel", `{"Cancel":1}`, 0},
			{store.Pending, "Start", `{"Start":1}`, 0}, {store.Done, "Hop", `{"Hop":1}`, 0}, {store.Suspended, "Hop", `{}`, 1},
		} {
			id := string(c.status) + c.kind
			w.put(id, c.status, store.Emit{TargetID: &id, Event: store.NewEvent(c.kind, "")})
			w.drain()
			w.same(id, w.context(id), c.steps)
			w.same(id+" waits", w.queues()[0], c.waits)
		}
		// It goes on once it is resumed.
		_, err := store.Control(w.Context(), w.es, store.Resume, "SUSPENDEDHop", nil, w.now)
		must(w.T, err)
		w.drain()
		w.same("resumed", w.context("SUSPENDEDHop"), `{"Hop":1}`)
		w.same("queues", w.queues(), [3]int64{})
	})
}

func TestSpawns(t *testing.T) {
	everywhere(t, func(w *world) {
		w.put("p", store.Running, store.Emit{TargetID: text("p"), Event: store.NewEvent("Fork", `{"children":3}`)})
		w.drain()
		child, err := w.es.Load(w.Context(), "p:Fork:0:2")
		must(w.T, err)
		w.same("child", []any{child.Status, *child.ParentID, *child.ChildID, child.RootPath, child.Priority, child.DefinitionID, *child.DefinitionFQN, child.Context, child.Version},
			[]any{store.Running, "p", "p:Fork:0:2", "Fork", int64(3), "d", "child", store.JSON(`{"n":1.50}`), int64(1)})
		w.same("the parent heard of each", w.context("p"), `{"Fork":1,"Finished":3}`)
		w.same("queues", w.queues(), [3]int64{})
		w.same("stats", w.r.Stats(), relay.Stats{Delivered: 4, Spawned: 3})
	})
}

// A child that is there is not made again, and one that nobody waits for not at all.
func TestSpawnsThatHaveNothingLeftToDo(t *testing.T) {
	everywhere(t, func(w *world) {
		w.put("there", store.Running)
		_, err := w.es.Commit(w.Context(), store.Commit{Execution: &store.Execution{ID: "p", Status: store.Running, Context: "{}"},
			Spawns: []store.Spawn{{ChildID: "there", RootPath: "R"}}})
		must(w.T, err)
		w.put("q", store.Running)
		q, err := w.es.Load(w.Context(), "q")
		must(w.T, err)
		_, err = w.es.Commit(w.Context(), store.Commit{Execution: q, Spawns: []store.Spawn{{ChildID: "orphan", RootPath: "R"}}})
		must(w.T, err)
		_, err = w.es.Purge(w.Context(), "q", 2)
		must(w.T, err)
		w.drain()
		w.same("queues", w.queues(), [3]int64{})
		_, err = w.es.Load(w.Context(), "orphan")
		w.same("the orphan", errors.Is(err, store.ErrNotFound), true)
		w.same("the child that was there", w.context("there"), `{}`)
	})
}

// What a child's parent sends before the child is made waits for it, and a child
// that does not come about holds up nobody else.
func TestEventsForAChildThatIsYetToBeMade(t *testing.T) {
	everywhere(t, func(w *world) {
		_, err := w.es.Commit(w.Context(), store.Commit{
			Execution: &store.Execution{ID: "p", Status: store.Running, Context: "{}"},
			Emits:     []store.Emit{{TargetID: text("bad"), Event: hop("", 0)}, {TargetID: text("good"), Event: hop("", 0)}},
			Spawns:    []store.Spawn{{ChildID: "bad", RootPath: "R"}, {ChildID: "good", RootPath: "R"}},
		})
		must(w.T, err)
		w.drain()
		w.same("the other one", w.context("good"), `{"Hop":1}`)
		w.same("queues", w.queues(), [3]int64{1, 1, 0})
		w.same("problems", len(w.problems) > 0 && w.problems[0].Queue == "spawns" && errors.Is(w.problems[0].Err, errRefused), true)
	})
}

// An event that does not go through keeps those behind it for the same execution, and
// nobody else's.
func TestOrderBehindAnEventThatDoesNotGoThrough(t *testing.T) {
	everywhere(t, func(w *world) {
		w.driver.refuse.Store(true)
		w.put("b", store.Running)
		w.put("a", store.Running, store.Emit{TargetID: text("a"), Event: store.NewEvent("Refuse", "")}, store.Emit{TargetID: text("a"), Event: hop("", 0)},
			store.Emit{TargetID: text("b"), Event: hop("", 0)})
		w.drain()
		w.same("a", w.context("a"), `{}`)
		w.same("b", w.context("b"), `{"Hop":1}`)
		w.same("queues", w.queues(), [3]int64{2})
		w.same("one problem", len(w.problems), 1)
		w.drain() // it rests after an error
		w.same("still one", len(w.problems), 1)
		w.driver.refuse.Store(false)
		deadline := time.Now().Add(10 * time.Second)
		for w.queues() != [3]int64{} && time.Now().Before(deadline) {
			w.drain()
		}
		w.same("a in the end", w.context("a"), `{"Refuse":1,"Hop":1}`)
	})
}

func TestTimers(t *testing.T) {
	everywhere(t, func(w *world) {
		arm := func(path string, at string) store.Emit {
			return store.Emit{TargetID: text("a"), Event: store.NewEvent("Arm", store.JSON(fmt.Sprintf(`{"path":%q,"at":%s}`, path, at)))}
		}
		w.put("a", store.Running, arm("P", "999.5"), arm("Q", "2000"))
		w.drain()
		w.same("a", w.context("a"), `{"Arm":2,"Timeout P":1}`)
		w.same("queues", w.queues(), [3]int64{0, 0, 1})
		handled, err := w.es.IsProcessed(w.Context(), "a", "timeout:a:P:999.5")
		must(w.T, err)
		w.same("the sweep's own id", handled, true)

		w.now = time.Unix(2000, 0)
		w.drain()
		w.same("when it is due", w.context("a"), `{"Arm":2,"Timeout P":1,"Timeout Q":1}`)
		w.same("fired", w.r.Stats().Fired, int64(2))
	})
}

// Contract, delete_timer: what a step arms anew survives the sweep that fired it.
func TestATimerArmedAnewSurvives(t *testing.T) {
	everywhere(t, func(w *world) {
		w.put("a", store.Running, store.Emit{TargetID: text("a"), Event: store.NewEvent("Arm", `{"path":"P","at":1}`)})
		must(w.T, drainOutboxOnly(w))
		w.driver.before = func(exe *store.Execution, ev store.Event) {
			if ev.Kind == relay.TimeoutKind {
				w.driver.before = nil
				_, err := w.es.RearmTimer(context.Background(), "a", "P", 1, 5000)
				must(w.T, err)
			}
		}
		w.drain()
		w.same("a", w.context("a"), `{"Arm":1,"Timeout P":1}`)
		w.same("queues", w.queues(), [3]int64{0, 0, 1})
	})
}

// drainOutboxOnly delivers before the clock reaches any timer.
func drainOutboxOnly(w *world) error {
	now := w.now
	w.now = time.Unix(0, 0)
	defer func() { w.now = now }()
	_, err := w.r.Drain(w.Context())
	return err
}

func TestTimersOfTheSuspendedWait(t *testing.T) {
	everywhere(t, func(w *world) {
		w.put("a", store.Running, store.Emit{TargetID: text("a"), Event: store.NewEvent("Arm", `{"path":"P","at":1}`)})
		must(w.T, drainOutboxOnly(w))
		_, err := store.Control(w.Context(), w.es, store.Suspend, "a", nil, w.now)
		must(w.T, err)
		w.drain()
		w.same("queues", w.queues(), [3]int64{0, 0, 1})
		_, err = store.Control(w.Context(), w.es, store.Resume, "a", nil, w.now)
		must(w.T, err)
		w.drain()
		w.same("a", w.context("a"), `{"Arm":1,"Timeout P":1}`)
	})
}

// A race that another writer won is run again on what it wrote.
func TestConflictsAreReloaded(t *testing.T) {
	everywhere(t, func(w *world) {
		w.put("a", store.Running, store.Emit{TargetID: text("a"), Event: hop("", 0)})
		var races atomic.Int64
		w.driver.before = func(exe *store.Execution, ev store.Event) {
			if races.Add(1) > 3 {
				return
			}
			other := exe.Clone()
			other.Context = count(other.Context, "Other")
			must(w.T, w.es.Save(context.Background(), other))
		}
		w.drain()
		w.same("a", w.context("a"), `{"Other":3,"Hop":1}`)
		w.same("conflicts", w.r.Stats().Conflicts, int64(3))
	})
}

// Any number of relays do what one does.
func TestTwoRelaysOnOneStore(t *testing.T) {
	everywhere(t, func(w *world) {
		second := relay.New(w.es, w.driver, relay.Options{Now: func() time.Time { return time.Unix(1000, 0) }, Problem: w.problem})
		defer second.Close()
		var emits []store.Emit
		ids := []string{"a", "b", "c"}
		for _, id := range ids {
			w.put(id, store.Running)
		}
		for i := range 30 {
			emits = append(emits, store.Emit{TargetID: &ids[i%3], Event: hop(ids[(i+1)%3], 2)})
		}
		w.put("d", store.Running, emits...)
		var wg sync.WaitGroup
		for _, r := range []*relay.Relay{w.r, second} {
			wg.Go(func() {
				for idle := 0; idle < 20; {
					moved, err := r.Drain(w.Context())
					if err != nil {
						w.Error(err)
						return
					}
					if moved {
						idle = 0
					} else {
						idle++
					}
				}
			})
		}
		wg.Wait()
		w.drain()
		total := int64(0)
		for _, id := range ids {
			n, _ := store.JSON(w.context(id)).Get("Hop").Int64()
			total += n
		}
		w.same("hops", total, int64(90))
		w.same("queues", w.queues(), [3]int64{})
	})
}

// One does one thing at a time, spawns before events before timers.
func TestOne(t *testing.T) {
	everywhere(t, func(w *world) {
		_, err := w.es.Commit(w.Context(), store.Commit{
			Execution: &store.Execution{ID: "p", Status: store.Running, Context: "{}"},
			Emits:     []store.Emit{{TargetID: text("p"), Event: hop("", 0)}},
			Spawns:    []store.Spawn{{ChildID: "c", RootPath: "R"}},
			Timers:    []store.TimerOp{{Action: store.Schedule, Path: "P", FireAt: 1}},
		})
		must(w.T, err)
		var seen []string
		for {
			moved, err := w.r.One(w.Context())
			must(w.T, err)
			if !moved {
				break
			}
			s := w.r.Stats()
			seen = append(seen, fmt.Sprint(s.Spawned, s.Delivered, s.Fired))
		}
		w.same("steps", seen, []string{"1 0 0", "1 1 0", "1 2 0", "1 2 1"})
	})
}

func TestByHand(t *testing.T) {
	everywhere(t, func(w *world) {
		ctx := w.Context()
		_, err := w.es.Commit(ctx, store.Commit{
			Execution: &store.Execution{ID: "p", Status: store.Running, Context: "{}"},
			Emits:     []store.Emit{{TargetID: text("p"), Event: hop("", 0)}, {TargetID: text("c"), Event: hop("", 0)}},
			Spawns:    []store.Spawn{{ChildID: "c", RootPath: "R"}},
			Timers:    []store.TimerOp{{Action: store.Schedule, Path: "P", FireAt: 5000}},
		})
		must(w.T, err)
		if _, err := w.r.Deliver(ctx, 2); !errors.Is(err, relay.ErrWaits) {
			w.Errorf("to a child that is yet to be made: %v", err)
		}
		effect, err := w.r.DeliverSpawn(ctx, 1)
		w.same("spawn", []any{effect, err}, []any{true, error(nil)})
		effect, err = w.r.Deliver(ctx, 2)
		w.same("event", []any{effect, err}, []any{true, error(nil)})
		effect, err = w.r.Fire(ctx, store.Timer{ExecutionID: "p", Path: "P", FireAt: 5000})
		w.same("timer", []any{effect, err}, []any{true, error(nil)})
		effect, err = w.r.Send(ctx, "p", store.Event{ID: "mine", Kind: "Hop"})
		w.same("sent", []any{effect, err}, []any{true, error(nil)})
		effect, err = w.r.Send(ctx, "p", store.Event{ID: "mine", Kind: "Hop"})
		w.same("sent again", []any{effect, err}, []any{false, error(nil)})
		for what, err := range map[string]error{
			"event": second(w.r.Deliver(ctx, 2)), "spawn": second(w.r.DeliverSpawn(ctx, 1)),
			"timer": second(w.r.Fire(ctx, store.Timer{ExecutionID: "p", Path: "P", FireAt: 5000})),
		} {
			if !errors.Is(err, relay.ErrGone) {
				w.Errorf("%s again: %v", what, err)
			}
		}
		w.same("p", w.context("p"), `{"Timeout P":1,"Hop":1}`)
	})
}

func second(_ bool, err error) error { return err }

// Stopping finishes what is under way and starts nothing more.
func TestRunStopsClean(t *testing.T) {
	everywhere(t, func(w *world) {
		ctx, stop := context.WithCancel(w.Context())
		under := make(chan struct{})
		var once sync.Once
		w.driver.before = func(*store.Execution, store.Event) {
			once.Do(func() { close(under); <-ctx.Done() })
		}
		w.put("a", store.Running, store.Emit{TargetID: text("a"), Event: hop("a", 1000)})
		done := make(chan error)
		go func() { done <- w.r.Run(ctx) }()
		<-under
		stop()
		must(w.T, <-done)
		n, _ := store.JSON(w.context("a")).Get("Hop").Int64()
		w.same("no half of a step", n+w.queues()[0] >= 1 && n <= 1, true)
		// Another one goes on from there.
		w.driver.before = nil
		w.drain()
		w.same("a", w.context("a"), `{"Hop":1001}`)
	})
}

func TestRunIsWoken(t *testing.T) {
	everywhere(t, func(w *world) {
		r := relay.New(w.es, w.driver, relay.Options{Poll: time.Hour, Now: func() time.Time { return w.now }})
		defer r.Close()
		ctx, stop := context.WithCancel(w.Context())
		defer stop()
		stepped := make(chan struct{}, 1)
		w.driver.before = func(*store.Execution, store.Event) { stepped <- struct{}{} }
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		w.put("a", store.Running, store.Emit{TargetID: text("a"), Event: hop("", 0)})
		r.Wake()
		<-stepped
		stop()
		must(w.T, <-done)
	})
}

func TestChildIDs(t *testing.T) {
	got := []string{relay.ChildID("P1", "Fork.A", 0), relay.ChildID("I1", "C", 2), relay.FanOutChildID("F1", "Running", 0, 1)}
	if want := []string{"P1:Fork.A:0", "I1:C:2", "F1:Running:0:1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Package relay moves what commits left behind: it makes the children that spawns
// ask for, delivers the events of the outbox, and sweeps timers that are due.
//
// It knows nothing of charts: a [Driver] says what an event does to an execution,
// and the relay commits that under compare-and-swap with the event's id as the
// dedupe mark. An entry is removed after its effect is durable, never before, so a
// relay that dies at any point leaves work that the next one does again, and the
// mark makes doing it again do nothing. Several relays may work on one store.
package relay

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"treering/store"
)

// Driver is an engine, as far as the relay needs one. Its methods are called for
// different executions at once, and for one execution one after the other. The
// execution handed over is the driver's own copy; the commit returned must hold that
// very value. An error leaves the store as it was, and the entry waits for a later
// try.
type Driver interface {
	// Step says what an event does. A driver that ignores an event returns a commit
	// of the execution as it is.
	Step(ctx context.Context, exe *store.Execution, ev store.Event) (store.Commit, error)
	// Start says how a child begins. The execution has its id, its parent's id and
	// definition, its root path, context and priority already, and version 0.
	Start(ctx context.Context, child *store.Execution) (store.Commit, error)
}

// Options say how to relay. The zero value is useful.
type Options struct {
	// Workers bounds how many executions are stepped at once; 0 means
	// [DefaultWorkers].
	Workers int
	// Poll is how often Run looks for work when nothing wakes it; 0 means
	// [DefaultPoll].
	Poll time.Duration
	// Now is the clock of the sweep; nil is time.Now.
	Now func() time.Time
	// Problem is told what does not go through and why, once a try. It is called by
	// several goroutines. nil drops it: the entry stays in its queue, where it can be
	// seen.
	Problem func(Problem)
}

const (
	// DefaultWorkers steps that many executions at once: enough for a writer that
	// groups commits to share a sync.
	DefaultWorkers = 8
	// DefaultPoll is a compromise between a prompt timer and an idle processor.
	DefaultPoll = 250 * time.Millisecond
)

// Bounds of the retries.
const (
	conflictTries = 8
	conflictPause = time.Millisecond       // the first; doubles, give or take a half
	firstPenance  = 100 * time.Millisecond // after a driver's error; doubles
	maxPenance    = 30 * time.Second
	finishTime    = 10 * time.Second // for what is under way when the relay is stopped
)

// Problem is something that waits in a queue and cannot go on now.
type Problem struct {
	Queue string // "outbox", "spawns", "timers"
	Seq   int64  // of an entry
	ID    string // of the execution it is for
	Err   error
}

// Stats counts what was done since the relay was made.
type Stats struct {
	Delivered int64 // events that had an effect
	Spawned   int64 // children made
	Fired     int64 // timers that had an effect
	Removed   int64 // entries and timers that had nothing left to do
	Conflicts int64 // races lost, before their retry
	Problems  int64
}

// Relay works on one store. It is safe for concurrent use.
type Relay struct {
	es      store.ExecutionStore
	seen    store.Observed // nil where Load returns copies
	driver  Driver
	o       Options
	release func()

	seed  maphash.Seed
	turns [64]sync.Mutex // an execution's events come one after the other

	mu      sync.Mutex
	penance map[string]penance // by execution
	told    map[string]bool    // rows that cannot be read, once each

	wake chan struct{}

	delivered, spawned, fired, removed, conflicts, problems atomic.Int64
}

// penance is how long an execution's work rests after an error.
type penance struct {
	until time.Time
	next  time.Duration
}

// New returns a relay. Close releases what it holds of the store, not the store.
func New(es store.ExecutionStore, driver Driver, o Options) *Relay {
	if o.Workers <= 0 {
		o.Workers = DefaultWorkers
	}
	if o.Poll <= 0 {
		o.Poll = DefaultPoll
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Relay{es: es, driver: driver, o: o, seed: maphash.MakeSeed(), penance: map[string]penance{}, told: map[string]bool{}, wake: make(chan struct{}, 1), release: func() {}}
	// A store of live objects hands out copies only while it is observed.
	if seen, ok := es.(store.Observed); ok {
		r.seen, r.release = seen, seen.Observe()
	}
	return r
}

// Close ends the observation of the store. Run must have returned.
func (r *Relay) Close() { r.release() }

// Wake has Run look for work at once.
func (r *Relay) Wake() {
	select {
	case r.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Stats returns the counts so far.
func (r *Relay) Stats() Stats {
	return Stats{r.delivered.Load(), r.spawned.Load(), r.fired.Load(), r.removed.Load(), r.conflicts.Load(), r.problems.Load()}
}

// Run relays until ctx is done, and then returns nil once what is under way is
// finished. An error of the store that is not about one entry ends it.
func (r *Relay) Run(ctx context.Context) error {
	for {
		moved, err := r.Drain(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if !errors.Is(err, store.ErrBusy) {
				return err
			}
			moved = false // another process holds the lock: the next round tries again
		}
		if moved {
			continue
		}
		rest := time.NewTimer(r.o.Poll)
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-rest.C:
		}
		rest.Stop()
	}
}

// Drain does one round: all spawns, then the outbox, then the timers that are due.
// It reports whether anything moved, so that a caller who wants all of it calls it
// until nothing does.
func (r *Relay) Drain(ctx context.Context) (moved bool, err error) {
	for _, queue := range []func(context.Context) (bool, error){r.drainSpawns, r.drainOutbox, r.sweep} {
		m, err := queue(ctx)
		moved = moved || m
		if err != nil {
			return moved, err
		}
	}
	return moved, nil
}

// turn waits until the execution is this goroutine's, which unlocks it when done.
func (r *Relay) turn(id string) *sync.Mutex {
	m := &r.turns[maphash.String(r.seed, id)%uint64(len(r.turns))]
	m.Lock()
	return m
}

// load returns a copy of an execution that is the caller's own.
func (r *Relay) load(ctx context.Context, id string) (*store.Execution, error) {
	if r.seen != nil {
		_, exe, err := r.seen.Snapshot(ctx, id)
		if err != nil || exe != nil {
			return exe, err
		}
		// Not committed since the observation began, so nobody changes it meanwhile
		// but an engine that the caller must keep away.
		exe, err = r.es.Load(ctx, id)
		if err != nil {
			return nil, err
		}
		return exe.Clone(), nil
	}
	return r.es.Load(ctx, id)
}

// loadForEvent is load together with the dedupe question.
func (r *Relay) loadForEvent(ctx context.Context, id, eventID string) (exe *store.Execution, processed bool, err error) {
	if r.seen == nil {
		return r.es.LoadForEvent(ctx, id, eventID)
	}
	if exe, err = r.load(ctx, id); err != nil {
		return nil, false, err
	}
	processed, err = r.es.IsProcessed(ctx, id, eventID)
	return exe, processed, err
}

// outcome is what came of a piece of work.
type outcome uint8

const (
	waits   outcome = iota // it stays where it is
	took                   // it had an effect, which is durable
	nothing                // it has no effect any more
)

// step delivers an event to an execution under compare-and-swap. It returns waits
// with a nil error for one that may not be stepped now.
func (r *Relay) step(ctx context.Context, id string, ev store.Event) (outcome, error) {
	defer r.turn(id).Unlock()
	for try := 0; ; try++ {
		exe, processed, err := r.loadForEvent(ctx, id, ev.ID)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nothing, nil
		case err != nil:
			return waits, err
		case processed:
			return nothing, nil
		case exe.Status.Is(store.Cancelled):
			return nothing, nil
		case exe.Status.Is(store.Cancelling) && ev.Kind != store.CancelEvent:
			return nothing, nil
		case exe.Status.Is(store.Suspended):
			return waits, nil // what comes meanwhile is parked until it is resumed
		}
		c, err := r.driver.Step(ctx, exe, ev)
		if err != nil {
			return waits, err
		}
		if c.Execution != exe {
			return waits, fmt.Errorf("the driver committed another execution than %q", id)
		}
		eventID := ev.ID
		c.ProcessedEventID = &eventID
		if _, err = r.es.Commit(ctx, c); err == nil {
			return took, nil
		}
		// The outcome of a commit whose answer was lost is told by the mark.
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrOutcomeUnknown) || try+1 == conflictTries {
			return waits, err
		}
		r.conflicts.Add(1)
		if err := pause(ctx, try); err != nil {
			return waits, err
		}
	}
}

// pause waits a little longer after every lost race, and not as long as the others.
func pause(ctx context.Context, try int) error {
	wait := conflictPause << min(try, 7)
	wait = wait/2 + rand.N(wait)
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// rests reports whether the execution's work is to wait after an error.
func (r *Relay) rests(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.penance[id]
	return ok && time.Now().Before(p.until)
}

// went notes that an execution's work went through, or why it did not.
func (r *Relay) went(ctx context.Context, p Problem) {
	if p.Err == nil {
		r.mu.Lock()
		delete(r.penance, p.ID)
		r.mu.Unlock()
		return
	}
	if ctx.Err() != nil {
		return // the relay was stopped: nothing is wrong with the entry
	}
	r.problems.Add(1)
	r.mu.Lock()
	next := min(max(r.penance[p.ID].next*2, firstPenance), maxPenance)
	r.penance[p.ID] = penance{time.Now().Add(next), next}
	r.mu.Unlock()
	if r.o.Problem != nil {
		r.o.Problem(p)
	}
}

// unreadable tells of a row that no relay can work on, once.
func (r *Relay) unreadable(p Problem, path string) {
	key := fmt.Sprintf("%s\x00%d\x00%s\x00%s", p.Queue, p.Seq, p.ID, path)
	r.mu.Lock()
	told := r.told[key]
	r.told[key] = true
	r.mu.Unlock()
	if told {
		return
	}
	r.problems.Add(1)
	if r.o.Problem != nil {
		r.o.Problem(p)
	}
}

// fatal reports whether an error is about the store and not about one entry.
func fatal(err error) bool {
	return errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrReadOnly) || errors.Is(err, store.ErrStoreNotFound) ||
		errors.Is(err, store.ErrNotAStore) || errors.Is(err, store.ErrBusy)
}

// finish says the last words of work whose effect is there, which it does not hurt to
// say twice. They outlive the end of ctx for a while, so that stopping leaves as little
// to be done twice as can be.
func finish(ctx context.Context, words func(context.Context) error) error {
	if ctx.Err() == nil {
		if err := words(ctx); err == nil || ctx.Err() == nil {
			return err
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	return words(last)
}

// each runs work for every group, several at once, and returns the first fatal
// error. It starts nothing after ctx is done.
func (r *Relay) each(ctx context.Context, groups [][]func(context.Context) (bool, error)) (moved bool, err error) {
	var wg sync.WaitGroup
	var any atomic.Bool
	var once sync.Once
	var next atomic.Int64
	var stop atomic.Bool
	for range min(r.o.Workers, len(groups)) {
		wg.Go(func() {
			moved := false // told once: what they all write to costs them all
			defer func() {
				if moved {
					any.Store(true)
				}
			}()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(groups) {
					return
				}
				for _, work := range groups[i] {
					if ctx.Err() != nil || stop.Load() {
						return
					}
					on, werr := work(ctx)
					if werr != nil {
						once.Do(func() { err = werr; stop.Store(true) })
						return
					}
					if !on {
						break // what comes behind it must not overtake it
					}
					moved = true
				}
			}
		})
	}
	wg.Wait()
	return any.Load(), err
}

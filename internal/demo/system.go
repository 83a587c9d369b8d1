package demo

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"treering/store"
	"treering/store/relay"
)

// SystemOptions say how the running demo runs. The zero value is useful.
type SystemOptions struct {
	// Seed picks everything that is left to chance.
	Seed int64
	// Rate is in commits a second; 0 or less is as fast as it can.
	Rate float64
	// Executions is how many orders and builds are kept going; 0 means
	// [DefaultExecutions].
	Executions int
	// Keep is how many that have ended stay in the store, with their regions; 0 means
	// [DefaultKeep], negative keeps all.
	Keep int
	// Clock is simulated time, which moves with every step; nil is the system's time.
	Clock *Clock
	// Problem is told what a relay could not do, once a try. It is called by several
	// goroutines; nil drops it, and it is counted only.
	Problem func(error)
}

// What a system does where nothing else is asked for.
const (
	DefaultExecutions = 12
	DefaultKeep       = 200
	DefaultRate       = 20
)

const (
	rivalEvery   = 60 // commits before which somebody else commits
	treeEvery    = 8  // steps of which one is in a session tree
	burstEvents  = 64 // of one worker, before the queues are drained
	burstBirths  = 64
	waitingFor   = 50 // times as many as are wanted may live when most of them wait
	shortestTick = 5 * time.Millisecond
	lookAgain    = 2 * time.Second // at what other processes did to our executions
	lookAtMost   = 32
	simulatedGap = 50 * time.Millisecond // between steps, where the rate says nothing
)

// System is the running demo on one store: orders and builds that are driven through
// the relay, the world that sends them events, and three actors in session trees. It
// is safe for concurrent use. Several systems, of several processes too, may work
// on one store.
type System struct {
	es     store.ExecutionStore // as it was given; nil: there are none
	o      SystemOptions
	now    func() time.Time
	engine *engine
	world  *world
	actors *actors
	auto   *relay.Relay // of the running system's executions
	byHand *relay.Relay // of the seeded ones too, on demand
	live   store.ExecutionStore

	turn     sync.Mutex // of those that move the system
	begun    bool
	next     int // number of the next execution
	looked   time.Time
	leftover []string // to be purged later

	mu     sync.Mutex
	paused bool
	rate   float64
	wake   chan struct{}

	steps, raced, trees, made, problems atomic.Int64
}

// Stats counts what happened since the system was made.
type Stats struct {
	Steps    int64 // commits of executions
	Trees    int64 // acts in session trees
	Made     int64 // executions
	Raced    int64 // commits of the rival
	Problems int64
	Living   int // orders and builds that have not ended
	Relay    relay.Stats
}

// NewSystem returns a system. A nil store leaves that half out. Close releases what
// it holds, not the stores.
func NewSystem(es store.ExecutionStore, ts store.TreeStore, o SystemOptions) *System {
	if o.Executions <= 0 {
		o.Executions = DefaultExecutions
	}
	if o.Keep == 0 {
		o.Keep = DefaultKeep
	}
	s := &System{es: es, o: o, now: time.Now, rate: max(o.Rate, 0), wake: make(chan struct{}, 1)}
	ttl := previewTTL
	if o.Clock != nil {
		s.now, ttl = o.Clock.Now, 0
	}
	s.world = newWorld(newDice(o.Seed, 3))
	if ts != nil {
		s.actors = newActors(ts, s.now, ttl, newDice(o.Seed, 4))
	}
	if es != nil {
		s.engine = newEngine(es, s.now)
		s.live = wrapped(&watched{es, s.world, rivalEvery, &s.steps, &s.raced}, es)
		ro := relay.Options{Now: s.now, Problem: s.problem}
		s.auto = relay.New(wrapped(scoped{s.live}, es), s.engine, ro)
		s.byHand = relay.New(s.live, s.engine, ro)
	}
	return s
}

func (s *System) problem(p relay.Problem) {
	s.report(fmt.Errorf("%s: entry %d of %q: %w", p.Queue, p.Seq, p.ID, p.Err))
}

func (s *System) report(err error) {
	s.problems.Add(1)
	if s.o.Problem != nil {
		s.o.Problem(err)
	}
}

// Close releases the stores. Run must have returned.
func (s *System) Close() {
	if s.auto != nil {
		s.auto.Close()
		s.byHand.Close()
	}
}

// Stats returns the counts so far.
func (s *System) Stats() Stats {
	out := Stats{Steps: s.steps.Load(), Trees: s.trees.Load(), Made: s.made.Load(), Raced: s.raced.Load(), Problems: s.problems.Load(), Living: s.world.living()}
	if s.auto != nil {
		a, h := s.auto.Stats(), s.byHand.Stats()
		out.Relay = relay.Stats{Delivered: a.Delivered + h.Delivered, Spawned: a.Spawned + h.Spawned, Fired: a.Fired + h.Fired,
			Removed: a.Removed + h.Removed, Conflicts: a.Conflicts + h.Conflicts, Problems: a.Problems + h.Problems}
	}
	return out
}

// Pause stops the system. When it returns nothing moves any more.
func (s *System) Pause() { s.set(func() { s.paused = true }) }

// Resume lets it go on.
func (s *System) Resume() { s.set(func() { s.paused = false }) }

// SetRate sets how many commits a second there are at most; 0 is no bound.
func (s *System) SetRate(rate float64) { s.set(func() { s.rate = max(rate, 0) }) }

func (s *System) set(change func()) {
	s.mu.Lock()
	change()
	paused := s.paused
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
	if paused {
		s.turn.Lock() // until what was under way is done
		s.turn.Unlock()
	}
}

// Paused reports whether the system rests.
func (s *System) Paused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused
}

// Rate is how many commits a second there are at most; 0 is no bound.
func (s *System) Rate() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rate
}

// Run runs the system until ctx is done, and then returns nil once what is under way
// is finished. An error of the store that is not about one execution ends it, and
// leaves it paused.
func (s *System) Run(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			s.Pause()
		}
	}()
	last, owed := time.Now(), 0.0
	for ctx.Err() == nil {
		s.mu.Lock()
		paused, rate := s.paused, s.rate
		s.mu.Unlock()
		moved, err := true, error(nil)
		switch {
		case paused:
			owed = 0
		case rate <= 0:
			moved, err = s.burst(ctx)
		default:
			// After a stall it goes on, and does not catch up.
			owed = min(owed+rate*time.Since(last).Seconds(), max(rate/4, 1))
			last = time.Now()
			for ; owed >= 1 && err == nil && ctx.Err() == nil && !s.Paused(); owed-- {
				if moved, err = s.step(ctx); !moved {
					owed = 1 // nothing to do now
				}
			}
		}
		if err != nil && ctx.Err() == nil && !passing(err) {
			return err
		}
		if rate <= 0 && !paused && moved && err == nil {
			last = time.Now()
			continue
		}
		wait := shortestTick
		switch {
		case paused:
			wait = time.Hour
		case rate > 0 && err == nil:
			wait = max(time.Duration(float64(time.Second)*(1-owed)/rate), shortestTick)
		}
		rest := time.NewTimer(min(wait, time.Second))
		if paused {
			rest.Reset(wait)
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-rest.C:
		}
		rest.Stop()
		if paused {
			last = time.Now()
		}
	}
	return nil
}

// passing reports whether an error is one after which the next try may succeed.
func passing(err error) bool {
	return errors.Is(err, store.ErrBusy) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrOutcomeUnknown) || errors.Is(err, relay.ErrWaits)
}

// StepOne moves the whole system by one commit: the next thing that a queue holds,
// that the world does or that an actor appends. It reports whether there was any.
// With simulated time a step takes its while, and where nothing is to be done the
// clock goes on to the next timer.
func (s *System) StepOne(ctx context.Context) (moved bool, err error) { return s.step(ctx) }

func (s *System) step(ctx context.Context) (moved bool, err error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if c := s.o.Clock; c != nil {
		gap := simulatedGap
		if rate := s.Rate(); rate > 0 {
			gap = time.Duration(float64(time.Second) / rate)
		}
		c.Advance(gap)
	}
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	if s.actors != nil && (s.es == nil || s.world.roll(treeEvery)) {
		s.trees.Add(1)
		return true, s.actors.act(ctx)
	}
	if s.es == nil {
		return false, nil
	}
	stimulate := func(ctx context.Context) (bool, error) { return s.stimulate(ctx, false) }
	works := []func(context.Context) (bool, error){s.auto.One, s.populate, stimulate}
	if !s.world.roll(2) {
		works = []func(context.Context) (bool, error){s.populate, stimulate, s.auto.One}
	}
	for _, work := range works {
		if moved, err = work(ctx); moved || err != nil {
			return moved, err
		}
	}
	return s.idle(ctx)
}

// idle lets time pass to the next timer, or has the world begin something more.
func (s *System) idle(ctx context.Context) (bool, error) {
	if s.o.Clock != nil {
		page, err := s.live.ListTimers(ctx, store.QueueFilter{}, store.PageRequest{})
		if err != nil {
			return false, err
		}
		for _, t := range page.Items {
			if running(t.ExecutionID) {
				s.o.Clock.reach(time.UnixMicro(int64(t.FireAt*1e6) + 1).UTC())
				break
			}
		}
		return s.auto.One(ctx)
	}
	if s.world.living() < 3*s.o.Executions {
		_, err := s.create(ctx, "")
		return err == nil, err
	}
	return false, nil
}

// begin takes in what is in the store already.
func (s *System) begin(ctx context.Context) error {
	if s.es == nil || s.begun && (s.o.Clock != nil || time.Since(s.looked) < lookAgain) {
		return nil
	}
	s.looked = time.Now()
	if s.begun {
		return s.look(ctx)
	}
	first := 0
	err := store.All(func(p store.PageRequest) (store.Page[store.Summary], error) {
		return s.es.ListExecutions(ctx, store.ExecutionFilter{}, p)
	}, func(e store.Summary) error {
		if running(e.ID) && e.Bad == nil {
			s.world.saw(e)
			first++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if first > 0 {
		// What an earlier run drew must not be drawn again.
		s.world.mu.Lock()
		s.world.dice = newDice(s.o.Seed, uint64(time.Now().UnixNano()))
		s.world.mu.Unlock()
	}
	s.begun = true
	return nil
}

// look looks at a few executions that others may have moved.
func (s *System) look(ctx context.Context) error {
	for _, id := range s.world.some(lookAtMost) {
		sum, _, err := store.Inspect(ctx, s.es, id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			s.world.lost(id)
		case err != nil:
			return err
		default:
			s.world.saw(sum)
		}
	}
	return nil
}

// populate begins an execution where there are too few, and removes the oldest that
// have ended.
func (s *System) populate(ctx context.Context) (bool, error) {
	if s.o.Keep >= 0 {
		if err := s.purge(ctx); err != nil {
			return false, err
		}
	}
	if s.world.living() >= s.o.Executions {
		return false, nil
	}
	_, err := s.create(ctx, "")
	return err == nil, err
}

func (s *System) purge(ctx context.Context) error {
	for {
		ids, ok := s.world.oldest(s.o.Keep)
		if !ok {
			break
		}
		s.leftover = append(s.leftover, ids...)
	}
	waiting := s.leftover
	s.leftover = nil
	for i, id := range waiting {
		sum, _, err := store.Inspect(ctx, s.es, id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue
		case err == nil:
			if _, err = s.es.Purge(ctx, id, sum.Version); err == nil {
				continue // where it moved on it is of a region that ends by itself
			}
		}
		s.leftover = append(s.leftover, waiting[i:]...)
		return err
	}
	return nil
}

// stimulate has the world send one event.
func (s *System) stimulate(ctx context.Context, hurry bool) (bool, error) {
	id, ev, ok := s.world.stimulus(hurry)
	if !ok {
		return false, nil
	}
	_, err := s.auto.Send(ctx, id, ev)
	if err != nil {
		s.world.again(id)
		if passing(err) {
			return true, nil
		}
	}
	return err == nil, err
}

// create commits a new execution, and its start into the outbox.
func (s *System) create(ctx context.Context, kind string) (id string, err error) {
	for step := 1; ; step *= 2 {
		n := s.next + step
		definition, begins, start := s.world.birth(kind, n)
		id = fmt.Sprintf("%s%s-%05d", idPrefix, strings.TrimPrefix(definition, "sandbox-"), n)
		at := epoch(s.now().UTC())
		start.CreatedTime = iso(s.now())
		exe := &store.Execution{ID: id, DefinitionID: definition, Status: store.Pending, Context: begins,
			CreatedAt: at, UpdatedAt: at, FinishedAt: store.Null, ExpiresAt: store.Null}
		// Memory would let this replace what is there.
		if _, _, err = store.Inspect(ctx, s.es, id); err == nil {
			kind = definition
			continue
		} else if !errors.Is(err, store.ErrNotFound) {
			return "", err
		}
		_, err = s.live.Commit(ctx, store.Commit{Execution: exe, Emits: []store.Emit{{TargetID: &id, Event: start}}})
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err == nil {
			s.next = n
			s.made.Add(1)
		}
		return id, err
	}
}

// burst does as much as it can at once: events by several workers, then the queues.
func (s *System) burst(ctx context.Context) (moved bool, err error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	if s.actors != nil {
		s.trees.Add(1)
		if err := s.actors.act(ctx); err != nil {
			return false, err
		}
		moved = true
	}
	if s.es == nil {
		return moved, nil
	}
	for range burstBirths {
		born, err := s.populate(ctx)
		if err == nil && !born && s.world.idle(s.o.Executions/2) && s.world.living() < waitingFor*s.o.Executions {
			// Too many wait for timers, which take their time.
			_, err = s.create(ctx, "")
			born = err == nil
		}
		if err != nil {
			return moved, err
		}
		if !born {
			break
		}
		moved = true
	}
	var wg sync.WaitGroup
	var once sync.Once
	var any atomic.Bool
	for range runtime.GOMAXPROCS(0) * 2 {
		wg.Go(func() {
			for range burstEvents {
				if ctx.Err() != nil {
					return
				}
				on, serr := s.stimulate(ctx, true)
				if serr != nil {
					once.Do(func() { err = serr })
					return
				}
				if !on {
					return
				}
				any.Store(true)
			}
		})
	}
	wg.Wait()
	if err != nil {
		return moved, err
	}
	drained, err := s.auto.Drain(ctx)
	moved = moved || drained || any.Load()
	if !moved && err == nil {
		return s.idle(ctx)
	}
	return moved, err
}

package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"treering/store"
)

// ErrPresent: the store already holds something under one of the demo's ids.
var ErrPresent = errors.New("the demo is there already")

// Options say which demo.
type Options struct {
	// Now is the clock from which every time of the demo is counted back (timers
	// also ahead); it is read once. nil is the system's. Times to live are counted
	// by the store's own clock.
	Now func() time.Time
	// Seed picks ids of events and images, and how long things took.
	Seed int64
}

// Seed writes the demo: twelve executions with their queues, and five session
// trees of which one has expired. A nil store leaves that half out.
//
// What else a store holds is not touched. If one of the demo's executions or live
// sessions is there already, the answer is [ErrPresent] and nothing is written:
// contents depend on the clock, so a second seeding is never the same as the
// first. An error in the middle leaves what was written until then.
func Seed(ctx context.Context, es store.ExecutionStore, ts store.TreeStore, o Options) error {
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	if err := absent(ctx, es, ts); err != nil {
		return err
	}
	at := now().UTC().Truncate(time.Microsecond)
	if ts != nil {
		if err := seedTrees(ctx, ts, at, o.Seed); err != nil {
			return fmt.Errorf("seed session trees: %w", err)
		}
	}
	if es != nil {
		if err := seedExecutions(ctx, es, at, o.Seed); err != nil {
			return fmt.Errorf("seed executions: %w", err)
		}
	}
	return nil
}

func absent(ctx context.Context, es store.ExecutionStore, ts store.TreeStore) error {
	there := func(what, id string, err error) error {
		var bad *store.RowError
		switch {
		case err == nil || errors.As(err, &bad):
			return fmt.Errorf("%w: %s %q; nothing was written, seed another store", ErrPresent, what, id)
		case errors.Is(err, store.ErrNotFound):
			return nil
		}
		return err
	}
	if es != nil {
		for _, id := range executionIDs() {
			_, err := es.Load(ctx, id)
			if err := there("execution", id, err); err != nil {
				return err
			}
		}
	}
	if ts != nil {
		for _, id := range sessionIDs() {
			_, err := ts.Session(ctx, id)
			if err := there("session", id, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// seeder is what the machines of one seeding share.
type seeder struct {
	ctx  context.Context
	es   store.ExecutionStore
	dice dice
	now  time.Time

	outbox []sent
	err    error // the first one; nothing is written after it
}

func (s *seeder) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// ago is a moment before now.
func (s *seeder) ago(d time.Duration) time.Time { return s.now.Add(-d) }

// event makes an event that was created at that time.
func (s *seeder) event(kind string, at time.Time, data fields) store.Event {
	return store.Event{ID: s.dice.hex(), Kind: kind, CreatedTime: iso(at), Data: object(data)}
}

// sent is an outbox entry of ours that was not acknowledged yet.
type sent struct {
	seq    int64
	target *string
	event  store.Event
}

// waitingFor lists our own events that wait for an execution.
func (s *seeder) waitingFor(id string) []sent {
	var out []sent
	for _, e := range s.outbox {
		if e.target != nil && *e.target == id {
			out = append(out, e)
		}
	}
	return out
}

func (s *seeder) ack(seq int64) {
	if s.err != nil {
		return
	}
	if _, err := s.es.AckOutbox(s.ctx, seq); err != nil {
		s.fail(err)
	}
	s.outbox = slices.DeleteFunc(s.outbox, func(e sent) bool { return e.seq == seq })
}

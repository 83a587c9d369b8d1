// Package memory keeps both contracts in the process: executions as live
// objects without copies, trees in SQLite's in-memory engine. Nothing survives
// the process.
package memory

import (
	"context"
	"errors"
	"time"

	"treering/store"
)

// Options of a store.
type Options struct {
	// TraceMax is the length of each execution's trace ring in steps: nil is
	// [store.DefaultTraceMax], 0 is unbounded, negative is refused.
	TraceMax *int
	// Now is the clock by which trees expire; nil is time.Now.
	Now func() time.Time
}

// Store is one execution store and one tree store.
type Store struct {
	executions *Executions
	trees      *Trees
}

// New returns an empty store. A negative TraceMax is a *[store.ValueError].
func New(o Options) (*Store, error) {
	traceMax := store.DefaultTraceMax
	if o.TraceMax != nil {
		traceMax = *o.TraceMax
	}
	if traceMax < 0 {
		return nil, &store.ValueError{Field: "trace max", Reason: "must not be negative", Err: store.ErrBadLimit}
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	bell := new(bell)
	trees, err := newTrees(now, bell)
	if err != nil {
		return nil, err
	}
	return &Store{executions: newExecutions(traceMax, bell), trees: trees}, nil
}

// Executions is the store's execution half.
func (s *Store) Executions() *Executions { return s.executions }

// Trees is the store's tree half.
func (s *Store) Trees() *Trees { return s.trees }

// ChangeToken implements [store.Watcher] for both halves.
func (s *Store) ChangeToken(ctx context.Context) (string, error) {
	executions, err := s.executions.ChangeToken(ctx)
	if err != nil {
		return "", err
	}
	trees, err := s.trees.ChangeToken(ctx)
	if err != nil {
		return "", err
	}
	return executions + "." + trees, nil
}

// Close releases both halves. Calls after it fail with [store.ErrClosed].
func (s *Store) Close() error {
	return errors.Join(s.executions.Close(), s.trees.Close())
}

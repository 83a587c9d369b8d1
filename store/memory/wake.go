package memory

import (
	"context"
	"sync/atomic"

	"treering/store"
)

// bell wakes those who wait for a change. To ring it costs one look where nobody
// does, so that commits can be rung for under their lock.
type bell struct{ waited atomic.Pointer[wake] }

type wake struct{ up chan struct{} }

// hear returns a channel that is closed at the next ring.
func (b *bell) hear() <-chan struct{} {
	for {
		if w := b.waited.Load(); w != nil {
			return w.up
		}
		w := &wake{make(chan struct{})}
		if b.waited.CompareAndSwap(nil, w) {
			return w.up
		}
	}
}

// ring is called after a change can be seen, or before the lock is released that
// hides it.
func (b *bell) ring() {
	if w := b.waited.Load(); w != nil && b.waited.CompareAndSwap(w, nil) {
		close(w.up)
	}
}

// wait is Wait for whoever has such a token.
func (b *bell) wait(ctx context.Context, token string, current func(context.Context) (string, error)) (string, error) {
	for {
		up := b.hear() // before the token is looked at, or a change between would be lost
		now, err := current(ctx)
		if err != nil || now != token {
			return now, err
		}
		select {
		case <-up:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// noticing is what all halves of the store say.
const noticing = "at once, since this process makes them"

var (
	_ store.Waiter = (*Store)(nil)
	_ store.Waiter = (*Executions)(nil)
	_ store.Waiter = (*Trees)(nil)
)

// Wait implements [store.Waiter] for both halves.
func (s *Store) Wait(ctx context.Context, token string) (string, error) {
	return s.executions.bell.wait(ctx, token, s.ChangeToken)
}

// Noticing implements [store.Waiter].
func (s *Store) Noticing() string { return noticing }

// Identity implements [store.Waiter].
func (s *Store) Identity(ctx context.Context) (string, error) { return s.executions.Identity(ctx) }

// Wait implements [store.Waiter].
func (s *Executions) Wait(ctx context.Context, token string) (string, error) {
	return s.bell.wait(ctx, token, s.ChangeToken)
}

// Noticing implements [store.Waiter].
func (s *Executions) Noticing() string { return noticing }

// Identity implements [store.Waiter].
func (s *Executions) Identity(ctx context.Context) (string, error) { return s.scope, ctx.Err() }

// Wait implements [store.Waiter].
func (t *Trees) Wait(ctx context.Context, token string) (string, error) {
	return t.db.bell.wait(ctx, token, t.ChangeToken)
}

// Noticing implements [store.Waiter].
func (t *Trees) Noticing() string { return noticing }

// Identity implements [store.Waiter].
func (t *Trees) Identity(ctx context.Context) (string, error) { return t.scope, ctx.Err() }

package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

// The client library reports on its pool by a logger that writes to the terminal. All
// that it has to say comes as an error too.
func init() { goredis.SetLogger(silence{}) }

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// health remembers since when a server does not answer.
type health struct {
	mu    sync.Mutex
	since time.Time // zero: it did, last time
}

func (h *health) failed() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		h.since = time.Now()
	}
	return h.since
}

func (h *health) fine() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since = time.Time{}
}

// gate lets calls in until it is closed, which waits for those inside, and has writes
// wait for earlier ones of which nobody waits any more: whoever abandons a write and
// then writes again has the two in that order.
type gate struct {
	mu        sync.Mutex
	closed    bool
	inside    sync.WaitGroup
	abandoned int
	settled   chan struct{} // closed when abandoned is 0 again
}

// enter is left by leaving.
func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return store.ErrClosed
	}
	g.inside.Add(1)
	return nil
}

func (g *gate) leave() { g.inside.Done() }

func (g *gate) shut() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.inside.Wait()
}

func (g *gate) abandon() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.abandoned == 0 {
		g.settled = make(chan struct{})
	}
	g.abandoned++
}

func (g *gate) settle() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.abandoned--; g.abandoned == 0 {
		close(g.settled)
	}
}

// wait returns once nothing is abandoned and under way.
func (g *gate) wait(ctx context.Context) error {
	for {
		g.mu.Lock()
		n, settled := g.abandoned, g.settled
		g.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read runs what only reads. It is run again, once, where the connection turned out to
// be dead. What it returns must not be shared with the caller before: a cancelled ctx
// ends the wait, not the run.
func read[T any](ctx context.Context, d *DB, run func(context.Context) (T, error)) (T, error) {
	return call(ctx, d, false, func(ctx context.Context) (T, error) {
		v, err := run(ctx)
		if err != nil && broken(err) {
			v, err = run(ctx)
		}
		return v, err
	})
}

// write runs one write. After an error that leaves open whether the server has done
// it, as a cancelled wait does, the answer matches [store.ErrOutcomeUnknown].
func write[T any](ctx context.Context, d *DB, run func(context.Context) (T, error)) (T, error) {
	var none T
	if err := d.writable(ctx); err != nil {
		return none, err
	}
	if err := d.gate.wait(ctx); err != nil {
		return none, err
	}
	return call(ctx, d, true, func(ctx context.Context) (T, error) {
		v, err := run(ctx)
		if err != nil && lost(err) {
			err = fmt.Errorf("%w: the connection broke before the answer came (%w); reload before trying again", store.ErrOutcomeUnknown, d.serverError(err))
		}
		return v, err
	})
}

// call runs fn inside the gate, in a goroutine of its own where ctx can be cancelled.
func call[T any](ctx context.Context, d *DB, writes bool, fn func(context.Context) (T, error)) (T, error) {
	var none T
	if err := d.gate.enter(); err != nil {
		return none, err
	}
	if err := ctx.Err(); err != nil {
		d.gate.leave()
		return none, err
	}
	run := func() (v T, err error) {
		defer d.gate.leave()
		// Not with ctx: its end would leave a request half sent or half answered.
		v, err = fn(context.WithoutCancel(ctx))
		if err == nil || redisAnswer(err) != "" {
			d.health.fine()
		}
		return v, d.serverError(err)
	}
	if ctx.Done() == nil {
		return run()
	}
	type answer struct {
		v   T
		err error
	}
	done := make(chan answer, 1)
	go func() {
		v, err := run()
		done <- answer{v, err}
	}()
	select {
	case a := <-done:
		return a.v, a.err
	case <-ctx.Done():
	}
	if !writes {
		return none, ctx.Err()
	}
	d.gate.abandon()
	go func() {
		<-done
		d.gate.settle()
	}()
	return none, store.OutcomeUnknown(ctx.Err())
}

// broken reports whether a connection died under a request.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || lost(err) && !unsent(err) && !timedOut(err)
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// lost reports whether err leaves open what the server did: there is no answer of it,
// and the request may have gone out. Errors of ours say themselves what they mean.
func lost(err error) bool {
	return redisAnswer(err) == "" && !errors.Is(err, goredis.Nil) && !unsent(err) && !errors.Is(err, goredis.ErrClosed) && !ours(err)
}

// ours reports whether an error is an answer of this package or the contract.
func ours(err error) bool {
	for _, target := range [...]error{store.ErrNotFound, store.ErrConflict, store.ErrNodeConflict, store.ErrKindMismatch, store.ErrNotAStore, store.ErrBadCursor, store.ErrBusy, store.ErrClosed, store.ErrOutcomeUnknown, ErrDenied} {
		if errors.Is(err, target) {
			return true
		}
	}
	var row *store.RowError
	var value *store.ValueError
	return errors.As(err, &row) || errors.As(err, &value)
}

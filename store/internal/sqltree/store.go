// Package sqltree is the tree contract on one SQLite connection: the SQL, the
// rules and the cursors that the memory and the SQLite backend share. Whose
// connection it is, and who may use it when, is the backend's business, given by
// two functions.
package sqltree

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"

	"treering/store"
)

// Options are what a backend gives.
type Options struct {
	// Read runs a function on a connection that sees one state of the database until
	// the function returns. The function may be run again after an error.
	Read func(context.Context, func(*sqlite.Conn) error) error
	// Write runs a function inside an immediate transaction, commits if it returns
	// nil and rolls back if it does not. It may be run again after a rollback. A
	// function that returns a [Refusal] has written nothing.
	Write func(context.Context, func(*sqlite.Conn) error) error
	// Now is the clock that decides what has expired; nil means time.Now.
	Now func() time.Time
	// Scope tells this store from every other one: cursors hold to it.
	Scope string
	// Close releases what Read and Write use; nil where somebody else does.
	Close func() error
}

// Store is a [store.TreeStore] on the tables that [Migrate] makes.
type Store struct {
	o       Options
	closed  atomic.Bool
	readers readers
}

var _ store.TreeStore = (*Store)(nil)

// New returns the store of a database that has the tables.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{o: o}
}

// Refusal reports whether err is the contract's own answer to a write, given
// before anything was written: there is nothing to roll back and no use in
// trying again.
func Refusal(err error) bool {
	for _, target := range [...]error{store.ErrNotFound, store.ErrNodeConflict, store.ErrKindMismatch} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// Close closes the store. Every later call fails with [store.ErrClosed]; closing
// again does nothing.
func (s *Store) Close() error {
	if s.closed.Swap(true) || s.o.Close == nil {
		return nil
	}
	return s.o.Close()
}

func (s *Store) read(ctx context.Context, fn func(*sqlite.Conn) error) error {
	return s.run(ctx, s.o.Read, fn)
}

func (s *Store) write(ctx context.Context, fn func(*sqlite.Conn) error) error {
	return s.run(ctx, s.o.Write, fn)
}

func (s *Store) run(ctx context.Context, hook func(context.Context, func(*sqlite.Conn) error) error, fn func(*sqlite.Conn) error) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return hook(ctx, fn)
}

// copied is a pointer of our own to what the caller's points to: a write that is
// under way when its caller goes away must not read what is the caller's again.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// now is the clock in epoch seconds. Not by UnixNano, which ends in 2262.
func (s *Store) now() float64 {
	t := s.o.Now()
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9
}

// deadline is the moment a time to live from now ends: never sooner than asked
// for, whatever float64 makes of the sum, and always finite, so that it can be
// written as JSON. A positive one is never over at once.
func deadline(now float64, ttl *float64) *float64 {
	if ttl == nil {
		return nil
	}
	at := now + *ttl
	if at-now < *ttl {
		at = math.Nextafter(at, math.Inf(1))
	}
	at = min(at, math.MaxFloat64)
	return &at
}

// scope is the cursor scope of a list. The parts are joined with their lengths,
// so that no two lists share one.
func (s *Store) scope(parts ...string) string {
	var b strings.Builder
	for _, p := range append([]string{s.o.Scope}, parts...) {
		b.WriteString(strconv.Itoa(len(p)))
		b.WriteByte(':')
		b.WriteString(p)
	}
	return b.String()
}

// decode returns the position in a cursor: want keys, or none for the first page.
func decode(scope, cursor string, want int) ([]string, error) {
	if cursor == "" {
		return nil, nil
	}
	key, err := store.DecodeCursor(scope, cursor)
	if err != nil {
		return nil, err
	}
	if len(key) != want {
		return nil, store.ErrBadCursor
	}
	return key, nil
}

package memory

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"

	"treering/store"
	"treering/store/internal/sqltree"
)

// Trees is a tree store in SQLite's in-memory engine. It lives as long as the
// process and is shared by whoever holds it.
type Trees struct {
	store.TreeStore
	db    *database
	scope string
}

var _ store.TreeStore = (*Trees)(nil)

func newTrees(now func() time.Time, bell *bell) (*Trees, error) {
	db, err := openDatabase(bell)
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	scope := "memory:" + rand.Text()
	return &Trees{
		TreeStore: sqltree.New(sqltree.Options{
			Read:  db.read,
			Write: db.write,
			Now:   now,
			Scope: scope,
			Close: db.close,
		}),
		db:    db,
		scope: scope,
	}, nil
}

// ChangeToken implements [store.Watcher]: it counts the writes. That a tree's
// time to live has ended is no write.
func (t *Trees) ChangeToken(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if t.db.closed.Load() {
		return "", store.ErrClosed
	}
	return strconv.FormatUint(t.db.writes.Load(), 10), nil
}

// database is the one connection of an in-memory database: a second one would
// open another, empty database.
type database struct {
	turn   chan struct{} // holds one token while the connection is in use
	conn   *sqlite.Conn  // by whom holds the turn
	closed atomic.Bool
	writes atomic.Uint64
	bell   *bell
}

func openDatabase(bell *bell) (*database, error) {
	conn, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	if err := sqltree.Migrate(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &database{turn: make(chan struct{}, 1), conn: conn, bell: bell}, nil
}

// take waits for the connection; ctx bounds the wait, not the work, which is of
// milliseconds.
func (d *database) take(ctx context.Context) error {
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := ctx.Err()
	if d.closed.Load() {
		err = store.ErrClosed
	}
	if err != nil {
		<-d.turn
	}
	return err
}

func (d *database) read(ctx context.Context, fn func(*sqlite.Conn) error) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer func() { <-d.turn }()
	return sqltree.Together(d.conn, func() error { return fn(d.conn) })
}

func (d *database) write(ctx context.Context, fn func(*sqlite.Conn) error) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer func() { <-d.turn }()
	err := sqltree.Atomically(d.conn, func() error { return fn(d.conn) })
	if err == nil {
		d.writes.Add(1)
		d.bell.ring()
	}
	return err
}

func (d *database) close() error {
	d.turn <- struct{}{}
	defer func() { <-d.turn }()
	if d.closed.Swap(true) {
		return nil
	}
	d.bell.ring()
	return d.conn.Close()
}

package postgres

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"treering/store"
)

// channel is where writers of ours tell that something was committed. What is told is
// the number of the table; the listener asks for the rest.
const channel = "treering"

// Bounds of noticing.
const (
	tellEvery = 20 * time.Millisecond  // notifications of one process, at most
	tellWait  = 5 * time.Second        // for the server to take one
	lookEvery = 250 * time.Millisecond // at tables whose writers tell nobody
	lookOurs  = time.Second            // at our own, which harel may write, too
	// lookTimeout is for the answer to the smallest question there is; a server that
	// takes longer is away.
	lookTimeout = 5 * time.Second
)

var _ store.Waiter = (*DB)(nil)

// ChangeToken implements [store.Watcher]. The token is the server's snapshot: no
// transaction that wrote anything has ended between two equal ones, in any database of
// the server. It is free of charge whatever the size of the tables, works on a replica,
// and moves for others' transactions, too.
//
// A server that became a replica, or is none any more, or has lost the one that it
// follows, is a change, too.
func (db *DB) ChangeToken(ctx context.Context) (token string, err error) {
	var now standing
	err = db.reading(ctx, lookTimeout, func(ctx context.Context, conn *pgxpool.Conn) error {
		snapshot := "pg_current_snapshot()"
		if serverMajor(conn.Conn()) < 13 {
			snapshot = "txid_current_snapshot()"
		}
		return conn.QueryRow(ctx, "SELECT "+snapshot+"::text, "+standingQuery).Scan(&token, &now.replica, &now.cut)
	})
	if err != nil {
		return "", err
	}
	return token + db.stands.note(now), nil
}

// Wait implements [store.Waiter].
func (db *DB) Wait(ctx context.Context, token string) (string, error) {
	now, err := db.ChangeToken(ctx)
	if err != nil || now != token {
		return now, err
	}
	every := lookEvery
	var heard <-chan struct{}
	if db.told() {
		var leave func()
		heard, leave = db.ear.listen(db)
		defer leave()
	}
	timer := time.NewTimer(0) // once more at once: something may have come before the ear was open
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-db.closing:
			return "", store.ErrClosed
		case <-timer.C:
		case <-heard:
		}
		if now, err = db.ChangeToken(ctx); err != nil || now != token {
			return now, err
		}
		if every = lookEvery; heard != nil && db.ear.open() {
			every = lookOurs
		}
		timer.Reset(every)
	}
}

// told reports whether writers of ours tell of their commits here. A standby is told of
// nothing.
func (db *DB) told() bool {
	db.stands.mu.Lock()
	defer db.stands.mu.Unlock()
	return !db.stands.now.replica && (db.layout.Trees || db.set != nil && db.set.Ours)
}

// Noticing implements [store.Waiter].
func (db *DB) Noticing() string {
	if db.told() {
		return fmt.Sprintf("at once, treering's own writers tell; others' within %v, by looking", lookOurs)
	}
	db.stands.mu.Lock()
	defer db.stands.mu.Unlock()
	if db.stands.now.replica {
		return fmt.Sprintf("within %v of when it reaches the replica, by looking", lookEvery)
	}
	return fmt.Sprintf("within %v, by looking: its writers tell nobody", lookEvery)
}

// Identity implements [store.Waiter]. A replica that took over is the same store.
func (db *DB) Identity(ctx context.Context) (identity string, err error) {
	err = db.read(ctx, func(q querier) error {
		var s serverInfo
		var database, system string
		if err := q.QueryRow(ctx, identify).Scan(&s.Version, &s.Database, &s.User, &database, &s.Replica, &s.ReadOnly, &system); err != nil {
			return err
		}
		identity = system + "/" + database
		return nil
	})
	if db.set != nil {
		identity += "/" + strconv.FormatUint(uint64(db.set.oid), 10)
	}
	if db.layout.Trees {
		identity += "/" + strconv.FormatUint(uint64(db.layout.trees.oid), 10)
	}
	return identity, err
}

// notifier tells the server's listeners of commits: outside the transactions, since
// inside they would be committed one after the other, and not more often than anybody
// could look.
type notifier struct {
	db     *DB
	bell   chan struct{}
	quit   chan struct{}
	done   chan struct{}
	cancel context.CancelFunc
}

func newNotifier(db *DB) *notifier {
	ctx, cancel := context.WithCancel(context.Background())
	n := &notifier{db: db, bell: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}), cancel: cancel}
	go n.run(ctx)
	return n
}

// tell asks for a notification. It does not wait.
func (n *notifier) tell() {
	select {
	case n.bell <- struct{}{}:
	default:
	}
}

// stop tells what is still to be told, and ends.
func (n *notifier) stop() {
	close(n.quit)
	<-n.done
	n.cancel()
}

func (n *notifier) run(ctx context.Context) {
	defer close(n.done)
	for {
		select {
		case <-n.bell:
			n.send(ctx)
		case <-n.quit:
			select {
			case <-n.bell:
				n.send(ctx)
			default:
			}
			return
		}
		select {
		case <-time.After(tellEvery):
		case <-n.quit:
		}
	}
}

// send is best effort: whoever listens looks by itself from time to time.
func (n *notifier) send(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, tellWait)
	defer cancel()
	_ = n.db.once(ctx, func(ctx context.Context, conn *pgxpool.Conn) error { //nolint:errcheck // see above
		_, err := conn.Exec(ctx, "SELECT pg_notify('"+channel+"', '')")
		return err
	})
}

// ear is the connection that listens, made when somebody waits for the first time, and
// made again when it was lost.
type ear struct {
	mu      sync.Mutex
	waiting map[chan struct{}]bool
	running bool
	up      bool
	cancel  context.CancelFunc
	done    chan struct{}
}

// listen registers somebody who waits.
func (e *ear) listen(db *DB) (heard <-chan struct{}, leave func()) {
	c := make(chan struct{}, 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting == nil {
		e.waiting = map[chan struct{}]bool{}
	}
	e.waiting[c] = true
	if !e.running && !db.closed.Load() {
		var ctx context.Context
		ctx, e.cancel = context.WithCancel(context.Background())
		e.running, e.done = true, make(chan struct{})
		go e.run(ctx, db, e.done)
	}
	return c, func() {
		e.mu.Lock()
		delete(e.waiting, c)
		e.mu.Unlock()
	}
}

// open reports whether notifications arrive.
func (e *ear) open() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.up
}

func (e *ear) close() {
	e.mu.Lock()
	cancel, done := e.cancel, e.done
	e.mu.Unlock()
	if cancel != nil {
		cancel()
		<-done
	}
}

// ring wakes everybody who waits.
func (e *ear) ring(up bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.up = up
	for c := range e.waiting {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// backOff bounds the wait between two tries to listen again.
const (
	backOffFrom = 200 * time.Millisecond
	backOffTo   = 10 * time.Second
)

func (e *ear) run(ctx context.Context, db *DB, done chan struct{}) {
	defer close(done)
	for wait := backOffFrom; ctx.Err() == nil; wait = min(2*wait, backOffTo) {
		if e.hear(ctx, db) {
			wait = backOffFrom
		}
		e.ring(false)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// hear listens until the connection is lost, and says whether there was one.
func (e *ear) hear(ctx context.Context, db *DB) bool {
	conn, err := pgx.ConnectConfig(ctx, db.config.Copy())
	if err != nil {
		return false
	}
	defer conn.Close(context.Background()) //nolint:errcheck // it is over either way
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return false
	}
	for {
		e.ring(true)
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return true
		}
	}
}

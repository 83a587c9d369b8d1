package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// maxBatch bounds the requests of one transaction, so that none of them waits
// long for the others and other processes get their turn.
const maxBatch = 256

// writer takes all writes of this process to one file through one connection, one
// transaction at a time.
//
// Whoever finds the connection free and nobody waiting writes at once, in the
// goroutine of the call. All others queue for the goroutine that run is, which
// puts what has queued up while the last commit was on its way to the disk into
// one transaction, and what comes until that is written: with many committers one
// flush of the disk serves many commits, with one committer there is nobody to
// hand over to.
//
// A write is one function inside one immediate transaction. If it fails, only its
// own effects are undone: errors that [refused] knows come before anything was
// written, after any other one the batch is rolled back and its writes are done
// again one by one. So a function may run more than once, and only its last run
// counts.
type writer struct {
	file *File
	busy time.Duration // how long to wait for another process's lock

	// turn is held by whoever uses the connection. It guards what follows.
	turn    sync.Mutex
	conn    *sqlite.Conn
	src     *source   // of conn
	wal     bool      // of conn
	checked time.Time // that the file is still the one at the path
	crowd   bool      // the last batch had several requests
	turns   turns
	// generation moves with all that may have made the content another one than this
	// writer left: a write of somebody else's, a rollback, a new connection. version is
	// the data_version by which the first is known.
	generation uint64
	version    int64

	waiting atomic.Int32 // requests in queue
	mu      sync.Mutex   // guards what follows
	queue   []*request
	closed  bool
	wake    chan struct{} // one token: there is something in queue
	stopped chan struct{}
}

// request is one queued write. Its state moves once: the writer takes it or the
// caller withdraws it.
type request struct {
	fn       func(*sqlite.Conn) error
	state    atomic.Int32
	err      error
	panicked any           // what fn panicked with
	done     chan struct{} // closed after err and panicked are set
}

const (
	queued int32 = iota
	taken
	withdrawn
)

func newWriter(f *File) *writer {
	w := &writer{file: f, busy: f.opts.BusyTimeout, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	go w.run()
	return w
}

// write runs fn in a transaction and commits if it returns nil.
//
// A context that is done before the write was taken means that nothing is done
// and is answered with its error; one that is done later abandons the wait, with
// [store.ErrOutcomeUnknown]. A lock that another process holds for longer than the
// busy timeout is [store.ErrBusy].
func (w *writer) write(ctx context.Context, fn func(*sqlite.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.turn.TryLock() {
		if done, err := w.atOnce(ctx, fn); done {
			return err
		}
	}
	r := &request{fn: fn, done: make(chan struct{})}
	if err := w.enqueue(r); err != nil {
		return err
	}
	select {
	case <-r.done:
		return r.answer()
	case <-ctx.Done():
		if r.state.CompareAndSwap(queued, withdrawn) {
			return ctx.Err()
		}
	}
	select {
	case <-r.done:
		return r.answer()
	default:
		// Should fn panic now, there is nobody left to tell but the process.
		go func() {
			<-r.done
			if r.panicked != nil {
				panic(r.panicked)
			}
		}()
		return store.OutcomeUnknown(ctx.Err())
	}
}

// answer is called after done is closed.
func (r *request) answer() error {
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.err
}

func (w *writer) enqueue(r *request) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return store.ErrClosed
	}
	w.queue = append(w.queue, r)
	w.waiting.Store(int32(len(w.queue)))
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return nil
}

// close waits until everything queued is written. Later writes are refused.
func (w *writer) close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.wake)
	}
	w.mu.Unlock()
	<-w.stopped
	w.turn.Lock() // whoever writes at once still has it
	w.conn = nil
	w.turn.Unlock()
}

// atOnce writes in the caller's goroutine where nothing stands in the way, and
// gives back the turn. Not done means that the write must queue.
func (w *writer) atOnce(ctx context.Context, fn func(*sqlite.Conn) error) (done bool, err error) {
	defer w.turn.Unlock()
	if w.crowd || w.waiting.Load() > 0 || w.isClosed() {
		// In a crowd one more commit alone would cost the others a flush of the disk.
		return false, nil
	}
	conn, err := w.connection(ctx)
	if err != nil {
		return true, err
	}
	if !w.wal {
		// A commit waits there for readers in other processes, and the caller must be
		// able to go away meanwhile.
		return false, nil
	}
	if err := w.turns.look(w, conn); err != nil {
		return true, w.failed(ctx, err)
	}
	if w.turns.owed > 0 {
		return false, nil // it is paid in the writer's goroutine, and the caller can go away
	}
	if err := w.enter(conn); isBusy(err) {
		return false, nil
	} else if err != nil {
		return true, w.failed(ctx, err)
	}
	finished := false
	defer func() {
		if !finished {
			// fn panics, which says more than a rollback that fails; that gives up the
			// connection.
			_ = w.rollback(conn)
		}
	}()
	if err = ctx.Err(); err == nil {
		if err = fn(conn); err == nil {
			err = w.commit(conn)
		}
	}
	finished = true
	return true, w.undone(ctx, conn, err)
}

func (w *writer) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// run is the writer's goroutine.
func (w *writer) run() {
	defer close(w.stopped)
	for range w.wake {
		for w.waiting.Load() > 0 {
			// Whoever was answered just now may have the next write ready.
			runtime.Gosched()
			w.turn.Lock()
			w.batch()
			w.turn.Unlock()
		}
	}
}

// batch writes what is in the queue in one transaction. It is called in turn.
func (w *writer) batch() {
	ctx := context.Background()
	batch := w.take(nil)
	conn, err := w.connection(ctx)
	if err == nil {
		err = w.begin(ctx, conn, func() bool { return wanted(batch) })
	}
	if err != nil {
		answer(claim(batch), err)
		return
	}
	// Whoever waits for another process's lock can still withdraw; from here on not.
	batch = claim(w.take(batch))
	w.crowd = len(batch) > 1
	for next := 0; next < len(batch); next++ {
		r := batch[next]
		if r.run(conn); r.err != nil && !refused(r.err) || r.panicked != nil {
			w.oneByOne(ctx, conn, batch)
			return
		}
		if next == len(batch)-1 {
			// Who has come meanwhile shares the flush of the disk.
			had := len(batch)
			batch = w.take(batch)
			batch = batch[:had+len(claim(batch[had:]))]
			w.crowd = len(batch) > 1
		}
	}
	if err := w.commit(conn); err != nil {
		answer(batch, w.undone(ctx, conn, err))
		return
	}
	w.turns.left()
	for _, r := range batch {
		close(r.done)
	}
}

// oneByOne rolls the batch back and writes each request in its own transaction.
func (w *writer) oneByOne(ctx context.Context, conn *sqlite.Conn, batch []*request) {
	alone := len(batch) == 1
	if err := w.rollback(conn); err != nil {
		answer(batch, err)
		return
	}
	for _, r := range batch {
		if alone {
			r.err = w.failed(ctx, r.err)
			close(r.done)
			return
		}
		if r.err = w.begin(ctx, conn, func() bool { return true }); r.err == nil {
			if r.run(conn); r.err == nil && r.panicked == nil {
				r.err = w.commit(conn)
			}
			r.err = w.undone(ctx, conn, r.err)
		}
		close(r.done)
	}
}

// commit ends the transaction and makes sure that it has ended in the file at the
// path. A file that was put there meanwhile has nothing of what was written, so it is
// not acknowledged: one look at the path costs a hundredth of a durable commit.
func (w *writer) commit(conn *sqlite.Conn) error {
	if err := step(conn, "COMMIT"); err != nil {
		return err
	}
	_, err := w.src.stale(w.file.named)
	if err == nil {
		return nil
	}
	w.checked = time.Time{}
	if errors.Is(err, store.ErrSourceChanged) || errors.Is(err, store.ErrStoreNotFound) {
		return err
	}
	return store.OutcomeUnknown(err)
}

// take moves requests from the queue to the batch until that is full.
func (w *writer) take(batch []*request) []*request {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(maxBatch-len(batch), len(w.queue))
	batch = append(batch, w.queue[:n]...)
	if n == len(w.queue) {
		w.queue = w.queue[:0]
	} else {
		w.queue = append(w.queue[:0], w.queue[n:]...)
	}
	w.waiting.Store(int32(len(w.queue)))
	return batch
}

// claim keeps those requests that nobody has withdrawn.
func claim(batch []*request) []*request {
	kept := batch[:0]
	for _, r := range batch {
		if r.state.CompareAndSwap(queued, taken) {
			kept = append(kept, r)
		}
	}
	return kept
}

// wanted reports whether anybody still waits for the batch.
func wanted(batch []*request) bool {
	return slices.ContainsFunc(batch, func(r *request) bool { return r.state.Load() == queued })
}

func answer(batch []*request, err error) {
	for _, r := range batch {
		r.err = err
		close(r.done)
	}
}

// run calls fn. A panic is kept for the caller's goroutine.
func (r *request) run(conn *sqlite.Conn) {
	defer func() {
		if p := recover(); p != nil {
			r.panicked = fmt.Sprintf("%v\n\nin the writer:\n%s", p, debug.Stack())
		}
	}()
	r.panicked = nil
	r.err = r.fn(conn)
}

// recheck is how often, at most, the writer looks before a transaction whether
// another file was put in place of the one it writes to. It looks after each one.
const recheck = 20 * time.Millisecond

// connection returns the connection to write through.
func (w *writer) connection(ctx context.Context) (*sqlite.Conn, error) {
	now := time.Now()
	if w.conn != nil && now.Sub(w.checked) < recheck {
		return w.conn, nil
	}
	conn, err := w.file.WriterConn(ctx)
	if err != nil {
		return nil, err
	}
	w.checked = now
	if conn == w.conn {
		return conn, nil
	}
	mode, err := text(conn, "PRAGMA journal_mode")
	if err != nil {
		return nil, w.failed(ctx, err)
	}
	// To begin is to meet a lock, and that wait is begin's: SQLite's own sleeps up to
	// 100 ms at a time while others come and go, and nobody can end it. In WAL mode there
	// is no other wait.
	if w.wal = mode == "wal"; w.wal {
		conn.SetBusyTimeout(0)
	}
	w.conn, w.src = conn, w.file.sourceOf(conn)
	w.generation++
	return conn, nil
}

// begin opens the transaction, with the write lock from the start: a lock asked for
// later is refused at once if somebody has written since. It waits for the lock as long
// as wanted says so.
func (w *writer) begin(ctx context.Context, conn *sqlite.Conn, wanted func() bool) error {
	if err := w.turns.look(w, conn); err != nil {
		return w.failed(ctx, err)
	}
	if err := w.turns.pay(ctx); err != nil {
		return err
	}
	deadline := time.Now().Add(w.busy)
	for delay := 50 * time.Microsecond; ; delay = min(2*delay, 5*time.Millisecond) {
		err := w.enter(conn)
		if err == nil || !isBusy(err) || !time.Now().Before(deadline) || !wanted() {
			return w.failed(ctx, err)
		}
		// Not all who wait come back at the same moment.
		if err := pause(ctx, delay/2+rand.N(delay)); err != nil {
			return err
		}
	}
}

// enter begins a transaction, unless somebody else has the lock.
func (w *writer) enter(conn *sqlite.Conn) error {
	if !w.wal {
		// A commit waits there for readers, the beginning of one does not wait for writers.
		conn.SetBusyTimeout(0)
		defer conn.SetBusyTimeout(w.busy)
	}
	if err := step(conn, "BEGIN IMMEDIATE"); err != nil {
		if isBusy(err) {
			w.turns.met()
		}
		return err
	}
	w.turns.taken()
	version, err := dataVersion(conn)
	if err != nil {
		w.turns.left()
		return firstOf(w.rollback(conn), err)
	}
	if version != w.version {
		w.version = version
		w.generation++
	}
	return nil
}

// rollback leaves the connection without a transaction, whatever the caller's
// context. A connection that does not let go of its transaction is given up.
func (w *writer) rollback(conn *sqlite.Conn) error {
	w.generation++
	if conn.AutocommitEnabled() {
		return nil // SQLite has rolled back by itself
	}
	err := step(conn, "ROLLBACK")
	if !conn.AutocommitEnabled() {
		w.conn = nil
		w.file.dropWriter(conn)
	}
	return w.failed(context.Background(), err)
}

// undone rolls back what err has interrupted, if anything, and words the error.
func (w *writer) undone(ctx context.Context, conn *sqlite.Conn, err error) error {
	err = w.failed(ctx, err)
	w.turns.left()
	if rerr := w.rollback(conn); rerr != nil {
		return errors.Join(err, rerr)
	}
	return err
}

// failed words an error of SQLite's.
func (w *writer) failed(ctx context.Context, err error) error {
	return sqliteError(ctx, w.file.opts.Path, missingTable(err))
}

// dropWriter closes the writing connection, and with it whatever it holds. The next
// one to ask gets a new one.
func (f *File) dropWriter(conn *sqlite.Conn) {
	f.turn <- struct{}{}
	defer f.free()
	if f.writer == conn {
		f.closeConn(conn)
		f.writer = nil
	}
}

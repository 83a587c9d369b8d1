package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// noted is a store with one more table, in which writes leave notes.
type noted struct {
	*DB
	t testing.TB
}

func openNoted(t testing.TB) noted {
	t.Helper()
	n := noted{openNew(t, Options{}), t}
	n.ok(n.writer.write(t.Context(), func(conn *sqlite.Conn) error { return run(conn, "CREATE TABLE notes (note TEXT PRIMARY KEY)") }))
	return n
}

func (n noted) ok(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// leave is a write that leaves a note.
func leave(note string) func(*sqlite.Conn) error {
	return func(conn *sqlite.Conn) error {
		_, err := change(conn, "INSERT INTO notes VALUES (?1)", func(q *sqlite.Stmt) { q.BindText(1, note) })
		return err
	}
}

// notes are all that were left, in order.
func (n noted) notes() string {
	n.t.Helper()
	var all []string
	n.ok(n.file.Read(context.Background(), func(conn *sqlite.Conn) error {
		all = nil
		return query(conn, "SELECT note FROM notes ORDER BY note", nil, func(r *sqlite.Stmt) bool {
			all = append(all, r.ColumnText(0))
			return true
		})
	}))
	return strings.Join(all, " ")
}

// hold keeps the writer busy in a write of its own until release is called, which
// waits for the end of that write.
func (n noted) hold() (release func()) {
	started, end, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		err := n.writer.write(context.Background(), func(*sqlite.Conn) error {
			close(started)
			<-end
			return nil
		})
		if err != nil {
			n.t.Error(err)
		}
	}()
	<-started
	return sync.OnceFunc(func() {
		close(end)
		<-done
	})
}

// queue starts a write behind whatever is under way and returns once it is queued.
func (n noted) queue(ctx context.Context, fn func(*sqlite.Conn) error) (answer chan error) {
	n.t.Helper()
	answer = make(chan error, 1)
	before := n.writer.waiting.Load()
	go func() {
		defer func() {
			if p := recover(); p != nil {
				answer <- fmt.Errorf("panic: %v", p)
			}
		}()
		answer <- n.writer.write(ctx, fn)
	}()
	for deadline := time.Now().Add(10 * time.Second); n.writer.waiting.Load() == before; runtime.Gosched() {
		if time.Now().After(deadline) {
			n.t.Fatal("the write was not queued")
		}
	}
	return answer
}

// A wait that ends before its write was taken means that nothing was done.
func TestWithdrawn(t *testing.T) {
	n := openNoted(t)
	release := n.hold()
	ctx, cancel := context.WithCancel(t.Context())
	withdrawn := n.queue(ctx, leave("withdrawn"))
	kept := n.queue(t.Context(), leave("kept"))
	cancel()
	if err := <-withdrawn; !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrOutcomeUnknown) {
		t.Errorf("withdrawn: %v", err)
	}
	release()
	n.ok(<-kept)
	if got := n.notes(); got != "kept" {
		t.Errorf("notes %q", got)
	}
	if err := n.writer.write(ctx, leave("late")); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is done: %v", err)
	}
}

// Who comes while a transaction is being written is written in it.
func TestLatecomers(t *testing.T) {
	n := openNoted(t)
	release := n.hold()
	started, end := make(chan struct{}), make(chan struct{})
	first := n.queue(t.Context(), func(conn *sqlite.Conn) error {
		close(started)
		<-end
		return leave("first")(conn)
	})
	release()
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	withdrawn := n.queue(ctx, leave("withdrawn"))
	cancel()
	if err := <-withdrawn; !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrOutcomeUnknown) {
		t.Errorf("withdrawn: %v", err)
	}
	second := n.queue(t.Context(), func(conn *sqlite.Conn) error {
		if got := n.notes(); got != "" {
			t.Errorf("committed before the latecomer: %q", got)
		}
		return leave("second")(conn)
	})
	close(end)
	n.ok(<-first)
	n.ok(<-second)
	if got := n.notes(); got != "first second" {
		t.Errorf("notes %q", got)
	}
}

// A wait that ends after its write was taken does not know the outcome; the write
// goes on.
func TestAbandoned(t *testing.T) {
	n := openNoted(t)
	release := n.hold()
	ctx, cancel := context.WithCancel(t.Context())
	started, end := make(chan struct{}), make(chan struct{})
	abandoned := n.queue(ctx, func(conn *sqlite.Conn) error {
		close(started)
		<-end
		return leave("abandoned")(conn)
	})
	release()
	<-started
	cancel()
	if err := <-abandoned; !errors.Is(err, store.ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("abandoned: %v", err)
	}
	close(end)
	n.ok(n.writer.write(t.Context(), leave("next")))
	if got := n.notes(); got != "abandoned next" {
		t.Errorf("notes %q", got)
	}
}

// In a group each write stands or falls alone, whatever the others do.
func TestGroup(t *testing.T) {
	n := openNoted(t)
	release := n.hold()
	broken := errors.New("broken")
	type member struct {
		name string
		fn   func(*sqlite.Conn) error
		want string // in the error
	}
	half := func(conn *sqlite.Conn) error { return errors.Join(leave("half")(conn), broken) }
	group := []member{
		{"good 1", leave("good-1"), ""},
		{"refused", func(*sqlite.Conn) error { return refusedError{&store.ConflictError{ID: "x"}} }, "not in the store"},
		{"good 2", leave("good-2"), ""},
		{"half done", half, "broken"},
		{"twice", leave("good-1"), "UNIQUE"},
		{"panics", func(conn *sqlite.Conn) error { panic(leave("panicked")(conn) == nil) }, "panic: true"},
		{"good 3", leave("good-3"), ""},
	}
	answers := make([]chan error, len(group))
	for i, m := range group {
		answers[i] = n.queue(t.Context(), m.fn)
	}
	release()
	for i, m := range group {
		err := <-answers[i]
		if m.want == "" && err != nil || m.want != "" && (err == nil || !strings.Contains(err.Error(), m.want)) {
			t.Errorf("%s: %v, want %q", m.name, err, m.want)
		}
	}
	if got := n.notes(); got != "good-1 good-2 good-3" {
		t.Errorf("notes %q", got)
	}
}

// A write that fails alone, in the caller's own goroutine, leaves nothing behind
// and the connection as it was.
func TestAlone(t *testing.T) {
	n := openNoted(t)
	err := n.writer.write(t.Context(), func(conn *sqlite.Conn) error { return errors.Join(leave("half")(conn), store.ErrNotFound) })
	if !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("recovered %v", p)
			}
		}()
		err := n.writer.write(t.Context(), func(conn *sqlite.Conn) error {
			n.ok(leave("half")(conn))
			panic("boom")
		})
		t.Errorf("the panic was swallowed: %v", err)
	}()
	n.ok(n.writer.write(t.Context(), leave("whole")))
	if got := n.notes(); got != "whole" {
		t.Errorf("notes %q", got)
	}
}

// A commit that fails is rolled back and answered to all of its group: nothing of
// any of them is there, and the writer goes on.
func TestCommitFails(t *testing.T) {
	n := openNoted(t)
	n.ok(n.writer.write(t.Context(), func(conn *sqlite.Conn) error {
		return run(conn, "CREATE TABLE child (id TEXT PRIMARY KEY, note TEXT REFERENCES notes (note) DEFERRABLE INITIALLY DEFERRED)")
	}))
	conn, err := n.file.WriterConn(t.Context())
	n.ok(err)
	n.ok(run(conn, "PRAGMA foreign_keys = 1"))
	orphan := func(conn *sqlite.Conn) error { return run(conn, "INSERT INTO child VALUES ('c', 'nobody')") }
	if err := n.writer.write(t.Context(), orphan); err == nil || !strings.Contains(err.Error(), "FOREIGN KEY") {
		t.Errorf("alone: %v", err)
	}
	release := n.hold()
	bad := n.queue(t.Context(), orphan)
	good := n.queue(t.Context(), leave("good"))
	release()
	for what, answer := range map[string]chan error{"the one at fault": bad, "the other": good} {
		if err := <-answer; err == nil || !strings.Contains(err.Error(), "FOREIGN KEY") {
			t.Errorf("%s: %v", what, err)
		}
	}
	n.ok(n.writer.write(t.Context(), leave("after")))
	if got := n.notes(); got != "after" {
		t.Errorf("notes %q", got)
	}
}

// When the disk is full SQLite has rolled back by itself; commits that fit still
// go through.
func TestDiskFull(t *testing.T) {
	n := openNoted(t)
	es := n.Executions()
	exe := benchExecution("e", store.Running, 10)
	n.ok(es.Save(t.Context(), exe))
	conn, err := n.file.WriterConn(t.Context())
	n.ok(err)
	pages, err := text(conn, "PRAGMA page_count")
	n.ok(err)
	n.ok(run(conn, "PRAGMA max_page_count = "+pages))
	large := benchExecution("large", store.Running, 1<<20)
	if err := es.Save(t.Context(), large); sqlite.ErrCode(err).ToPrimary() != sqlite.ResultFull || large.Version != 0 {
		t.Errorf("alone: %v, version %d", err, large.Version)
	}
	release := n.hold()
	checked := func(exe *store.Execution) func(*sqlite.Conn) error {
		c, err := store.Commit{Execution: exe}.Check()
		n.ok(err)
		return func(conn *sqlite.Conn) error { return n.executions.swap(conn, c) }
	}
	small := n.queue(t.Context(), checked(exe))
	full := n.queue(t.Context(), checked(large))
	release()
	n.ok(<-small)
	if err := <-full; sqlite.ErrCode(err).ToPrimary() != sqlite.ResultFull || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("in a group: %v", err)
	}
	n.ok(run(conn, "PRAGMA max_page_count = 1000000"))
	n.ok(es.Save(t.Context(), large))
	if loaded, err := es.Load(t.Context(), "e"); err != nil || loaded.Version != 2 {
		t.Errorf("the small one: %+v, %v", loaded, err)
	}
}

// Close writes what was asked for before it, and refuses what comes after.
func TestCloseDrains(t *testing.T) {
	n := openNoted(t)
	release := n.hold()
	var answers []chan error
	for i := range 2*maxBatch + 3 {
		answers = append(answers, n.queue(t.Context(), leave(fmt.Sprintf("%04d", i))))
	}
	closed := make(chan error)
	go func() { closed <- n.Close() }()
	for err := error(nil); !errors.Is(err, store.ErrClosed); runtime.Gosched() {
		// Withdrawn at once where it is still taken.
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if err = n.writer.write(ctx, leave("late")); err == nil {
			t.Fatal("a write came through before the one under way had ended")
		}
	}
	release()
	n.ok(<-closed)
	for _, answer := range answers {
		n.ok(<-answer)
	}
	again := noted{openDB(t, Options{Path: n.Path(), ReadWrite: true}), t}
	if got := len(strings.Fields(again.notes())); got != len(answers) {
		t.Errorf("%d notes, want %d", got, len(answers))
	}
	if err := n.Executions().Save(t.Context(), benchExecution("e", store.Running, 1)); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
	if _, err := n.Trees().CreateSession(t.Context(), "s", "k", nil); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

// While another process holds the lock a write waits, can be withdrawn, and gives
// up after the busy timeout with its own word for it.
func TestLockedByAnother(t *testing.T) {
	for _, journal := range []string{"wal", "delete"} {
		t.Run(journal, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "locked.db")
			makeHarel(t, path, DefaultPrefix, func(*sqlite.Conn) error { return nil })
			other := writerProcess(t, path, "PRAGMA journal_mode="+journal)
			db := openDB(t, Options{Path: path, ReadWrite: true, BusyTimeout: 300 * time.Millisecond})
			es := db.Executions()
			exe := benchExecution("e", store.Running, 1)
			if err := es.Save(t.Context(), exe); err != nil {
				t.Fatal(err)
			}
			other.do("BEGIN IMMEDIATE")
			_, err := es.Commit(t.Context(), boundary(exe, 1))
			if !errors.Is(err, store.ErrBusy) || exe.Version != 1 {
				t.Errorf("locked: %v, version %d", err, exe.Version)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if _, err := es.Commit(ctx, boundary(exe, 1)); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrOutcomeUnknown) {
				t.Errorf("withdrawn: %v", err)
			}
			if got, err := es.Load(t.Context(), "e"); err != nil || got.Version != 1 {
				t.Errorf("a reader meanwhile: %+v, %v", got, err)
			}
			other.do("COMMIT")
			if _, err := es.Commit(t.Context(), boundary(exe, 1)); err != nil || exe.Version != 2 {
				t.Errorf("after it: %v", err)
			}
			if journal == "delete" {
				// There a commit also needs the readers to have gone.
				other.do("BEGIN", "SELECT count(*) FROM harel_executions")
				if _, err := es.Commit(t.Context(), boundary(exe, 2)); !errors.Is(err, store.ErrBusy) {
					t.Errorf("read meanwhile: %v", err)
				}
				other.do("COMMIT")
				if _, err := es.Commit(t.Context(), boundary(exe, 2)); err != nil || exe.Version != 3 {
					t.Errorf("after the reader: %v", err)
				}
			}
			other.close()
		})
	}
}

// A write that nobody waits for any more keeps nobody waiting: neither the writes after
// it nor Close.
func TestWithdrawnWriteIsNotWaitedFor(t *testing.T) {
	for _, journal := range []string{"wal", "delete"} {
		t.Run(journal, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "locked.db")
			makeHarel(t, path, DefaultPrefix, func(*sqlite.Conn) error { return nil })
			other := writerProcess(t, path, "PRAGMA journal_mode="+journal, "BEGIN IMMEDIATE")
			db, err := Open(t.Context(), Options{Path: path, ReadWrite: true, BusyTimeout: 5 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if err := db.Executions().Save(ctx, benchExecution("e", store.Running, 1)); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrOutcomeUnknown) {
				t.Errorf("withdrawn: %v", err)
			}
			closed := make(chan error, 1)
			go func() { closed <- db.Close() }()
			select {
			case err := <-closed:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("Close waits for the lock that nobody needs any more")
			}
			other.do("COMMIT")
			other.close()
		})
	}
}

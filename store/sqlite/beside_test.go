package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"treering/internal/testfiles"
	"treering/store"
	"zombiezen.com/go/sqlite"
)

func init() {
	childRoles["churn"] = childChurn
}

// childChurn opens, commits to and closes the file of its first argument until its
// input ends, as short-lived programs do.
func childChurn(args []string) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var b [1]byte
		for {
			if _, err := os.Stdin.Read(b[:]); err != nil {
				return
			}
		}
	}()
	fmt.Println("ready")
	for {
		select {
		case <-ended:
			return nil
		default:
		}
		conn, err := sqlite.OpenConn(args[0], sqlite.OpenReadWrite)
		if err != nil {
			return err
		}
		conn.SetBusyTimeout(5 * time.Second)
		if err := run(conn, "INSERT INTO t VALUES (1)"); err != nil {
			return err
		}
		if err := conn.Close(); err != nil {
			return err
		}
	}
}

// database makes a database with one row in table t, at rest.
func database(t testing.TB, mode string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x.db")
	w := writerProcess(t, path, "PRAGMA journal_mode="+mode, "CREATE TABLE t(a)", "INSERT INTO t VALUES (1)")
	w.close()
	return path
}

const (
	insert   = "INSERT INTO t VALUES (1)"
	countSQL = "SELECT count(*) FROM t"
)

func wantToken(t testing.TB, f *File, last *string, moved bool) {
	t.Helper()
	token, err := f.ChangeToken(context.Background())
	if err != nil {
		t.Error(err)
	}
	if (token != *last) != moved {
		t.Errorf("token %q after %q: want it moved: %v", token, *last, moved)
	}
	*last = token
}

// Beside a live writer in WAL mode each commit is seen at once, through checkpoints,
// a crash and new writers, and nothing but the writer touches any file.
func TestBesideLiveWriter(t *testing.T) {
	path := database(t, "wal")
	w := writerProcess(t, path, insert)
	check := unharmed(t, filepath.Dir(path))
	f := open(t, Options{Path: path})
	wantMode(t, f, following)
	rows := int64(2)
	want := func() {
		t.Helper()
		if n := number(t, f, countSQL); n != rows {
			t.Errorf("%d rows, want %d", n, rows)
		}
	}
	want()
	token := ""
	wantToken(t, f, &token, true)
	wantToken(t, f, &token, false)
	check()
	for range 50 {
		w.do(insert)
		rows++
		wantToken(t, f, &token, true)
		want()
		wantToken(t, f, &token, false)
	}
	for _, mode := range []string{"PASSIVE", "FULL", "RESTART", "TRUNCATE"} {
		w.do("PRAGMA wal_checkpoint("+mode+")", insert)
		rows++
		wantToken(t, f, &token, true)
		want()
	}
	w.do("BEGIN IMMEDIATE", insert)
	want()
	w.kill() // in the middle of a transaction
	want()
	check = unharmed(t, filepath.Dir(path))
	want()
	check()
	w = writerProcess(t, path, insert)
	rows++
	wantToken(t, f, &token, true)
	want()
	w.close()
	want()
	wantMode(t, f, following)
	check = unharmed(t, filepath.Dir(path))
	closed(t, f)
	check()
}

// Outside WAL mode SQLite's own locks do it; a lock held too long is an error that
// says so, and a wait for one can be given up.
func TestBesideRollbackWriter(t *testing.T) {
	path := database(t, "delete")
	f := open(t, Options{Path: path, BusyTimeout: 50 * time.Millisecond})
	wantMode(t, f, plain)
	w := writerProcess(t, path)
	token := ""
	wantToken(t, f, &token, true)
	for n := int64(2); n < 30; n++ {
		w.do(insert)
		wantToken(t, f, &token, true)
		if got := number(t, f, countSQL); got != n {
			t.Fatalf("%d rows, want %d", got, n)
		}
		wantToken(t, f, &token, false)
	}
	w.do("BEGIN IMMEDIATE", insert)
	if n := number(t, f, countSQL); n != 29 {
		t.Errorf("%d rows beside an open transaction, want 29", n)
	}
	second := open(t, Options{Path: path})
	wantMode(t, second, plain)
	w.do("ROLLBACK", "BEGIN EXCLUSIVE")
	err := f.Read(t.Context(), countAll)
	wantOpenError(t, err, path, store.ErrBusy, "another process holds its lock")
	_, err = OpenFile(t.Context(), Options{Path: path, BusyTimeout: time.Millisecond})
	wantOpenError(t, err, path, store.ErrBusy, "another process holds its lock")

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	start := time.Now()
	err = second.Read(ctx, countAll) // its own timeout is 5 s
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	if waited := time.Since(start); waited > 2*time.Second {
		t.Errorf("waited %v after the context had ended", waited)
	}
	w.do("COMMIT")
	check := unharmed(t, filepath.Dir(path))
	if n := number(t, f, countSQL); n != 29 {
		t.Errorf("%d rows, want 29", n)
	}
	check()
}

// A file at rest is left for its log when a writer comes, and no commit is missed.
func TestWriterComes(t *testing.T) {
	path := database(t, "wal")
	f := open(t, Options{Path: path})
	wantMode(t, f, immutable)
	token := ""
	wantToken(t, f, &token, true)

	// One that comes and goes leaves the file at rest.
	writerProcess(t, path, insert).close()
	wantToken(t, f, &token, true)
	if n := number(t, f, countSQL); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
	wantMode(t, f, immutable)

	w := writerProcess(t, path, insert)
	wantToken(t, f, &token, true)
	if n := number(t, f, countSQL); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
	wantMode(t, f, following)
	w.kill()
}

// A commit in the middle of a read of a file at rest throws the read away.
func TestReadThrownAway(t *testing.T) {
	path := database(t, "wal")
	f := open(t, Options{Path: path})
	wantMode(t, f, immutable)
	var seen []int64
	err := f.Read(t.Context(), func(conn *sqlite.Conn) error {
		if len(seen) == 0 {
			writerProcess(t, path, insert).close()
		}
		return rows(conn, countSQL, func(stmt *sqlite.Stmt) error {
			seen = append(seen, stmt.ColumnInt64(0))
			return nil
		})
	})
	if err != nil || len(seen) != 2 || seen[1] != 2 {
		t.Errorf("counted %v, %v: want a second run that sees 2", seen, err)
	}
}

// A file that never stands still is given up with an error that says so.
func TestKeepsChanging(t *testing.T) {
	path := database(t, "wal")
	f := open(t, Options{Path: path})
	when := time.Now().Add(-time.Hour)
	runs := 0
	err := f.Read(t.Context(), func(conn *sqlite.Conn) error {
		runs++
		when = when.Add(time.Second)
		return os.Chtimes(path, when, when.Add(time.Nanosecond))
	})
	wantOpenError(t, err, path, store.ErrSourceChanged, "changed in the middle of every attempt")
	if runs != maxAttempts {
		t.Errorf("%d runs, want %d", runs, maxAttempts)
	}
	if n := number(t, f, countSQL); n != 1 {
		t.Errorf("%d rows afterwards, want 1", n)
	}
}

// Beside programs that open, commit and close without end, looking makes no file: an
// open that meets the last of them closing could leave an empty log behind.
func TestBesideShortLivedWriters(t *testing.T) {
	path := database(t, "wal")
	c := child(t, "churn", path)
	c.line()
	modes := map[string]int{}
	last := int64(0)
	made := 0
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		// The race is between the writer's close and an open that has just seen its log.
		for wait := time.Now().Add(20 * time.Millisecond); time.Now().Before(wait); {
			if found, err := Probe(path); err == nil && found.Shm {
				break
			}
		}
		f := open(t, Options{Path: path})
		n := number(t, f, countSQL)
		if n < last {
			t.Errorf("%d rows after %d", n, last)
		}
		last = n
		modes[f.How().Mode]++
		closed(t, f)
		if found, err := Probe(path); err == nil && found.Log == LogEmpty && !found.Shm {
			made++
		}
	}
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Error(err)
	}
	found, err := Probe(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("opened %v, %d rows, %d empty logs seen", modes, last, made)
	if found.Log == LogEmpty && !found.Shm {
		t.Error("an empty log was made")
	}
}

// The writer is gone between the look and the open.
func TestWriterGoesBeforeOpen(t *testing.T) {
	path := database(t, "wal")
	w := writerProcess(t, path, insert)
	found, file, err := look(path)
	if err != nil {
		t.Fatal(err)
	}
	w.close()
	check := unharmed(t, filepath.Dir(path))
	s := &source{opts: Options{Path: path, BusyTimeout: time.Second}, found: found, file: file}
	if _, err := s.openFollow(t.Context()); !errors.Is(err, errChanged) {
		t.Errorf("error %v, want another look asked for", err)
	}
	if err := s.dispose(); err != nil {
		t.Error(err)
	}
	check()
	// The lock that was held meanwhile is given back.
	writerProcess(t, path, insert).close()
	if found, err := Probe(path); err != nil || found.Log != LogAbsent {
		t.Errorf("found %+v, %v: want the log gone", found, err)
	}
}

// A database that is switched to WAL mode while it is open is reopened before it
// is read, since reading it as before would make a log.
func TestSwitchedToWAL(t *testing.T) {
	path := database(t, "delete")
	f := open(t, Options{Path: path})
	token := ""
	wantToken(t, f, &token, true)
	writerProcess(t, path, "PRAGMA journal_mode=wal", insert).close()
	check := unharmed(t, filepath.Dir(path))
	wantToken(t, f, &token, true)
	if n := number(t, f, countSQL); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
	wantMode(t, f, immutable)
	writerProcess(t, path, "PRAGMA journal_mode=delete", insert).close()
	wantToken(t, f, &token, true)
	if n := number(t, f, countSQL); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
	wantMode(t, f, plain)
	check = unharmed(t, filepath.Dir(path))
	closed(t, f)
	check()
}

// A writer in exclusive locking mode keeps no index that others could use. It is
// followed by copies.
func TestBesideExclusiveWriter(t *testing.T) {
	path := database(t, "wal")
	w := writerProcess(t, path, "PRAGMA locking_mode=exclusive", insert)
	temp := t.TempDir()
	f := open(t, Options{Path: path, TempDir: temp})
	wantMode(t, f, private)
	token := ""
	wantToken(t, f, &token, true)
	for n := int64(2); n < 6; n++ {
		if got := number(t, f, countSQL); got != n {
			t.Errorf("%d rows, want %d", got, n)
		}
		wantToken(t, f, &token, false)
		w.do(insert)
		wantToken(t, f, &token, true)
	}
	if left := picture(t, temp); len(left) != 1 {
		t.Errorf("%d private copies, want 1", len(left))
	}
	w.kill()
}

// Two openings in one process do not take each other's locks away: a look, which
// opens and closes by hand, in the middle of a transaction.
func TestLookWhileWriting(t *testing.T) {
	for _, mode := range []string{"wal", "delete"} {
		t.Run(mode, func(t *testing.T) {
			path := database(t, mode)
			w := open(t, Options{Path: path, ReadWrite: true})
			conn, err := w.WriterConn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(run(conn, "BEGIN IMMEDIATE"), run(conn, insert)); err != nil {
				t.Fatal(err)
			}
			if _, err := Probe(path); err != nil {
				t.Error(err)
			}
			f := open(t, Options{Path: path})
			if n := number(t, f, countSQL); n != 1 {
				t.Errorf("%d rows, want 1", n)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			second := open(t, Options{Path: path, ReadWrite: true})
			if err := second.Close(); err != nil {
				t.Error(err)
			}
			other := writerProcess(t, path, "PRAGMA busy_timeout=0")
			fmt.Fprintln(other.in, "BEGIN IMMEDIATE")
			if got := other.line(); got == "ok" {
				t.Error("another process could write while the lock was held")
			}
			if err := run(conn, "COMMIT"); err != nil {
				t.Error(err)
			}
			other.do("BEGIN IMMEDIATE", "COMMIT")
			other.close()
		})
	}
}

// Opened for reading first, a file cannot be opened for writing in the same process
// as long as the log is followed: the one view of its index is read-only.
func TestWritingBesideOwnReading(t *testing.T) {
	path := database(t, "wal")
	other := writerProcess(t, path, insert)
	f := open(t, Options{Path: path})
	wantMode(t, f, following)
	_, err := OpenFile(t.Context(), Options{Path: path, ReadWrite: true})
	wantOpenError(t, err, path, store.ErrBusy, "open for reading elsewhere in this program")
	closed(t, f)
	w := open(t, Options{Path: path, ReadWrite: true})
	f = open(t, Options{Path: path})
	conn, err := w.WriterConn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := run(conn, insert); err != nil {
		t.Error(err)
	}
	if n := number(t, f, countSQL); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
	other.kill()
}

func TestForeignFileKeepsItsMode(t *testing.T) {
	path := testfiles.Copy(t, "harel-bad-values.db")
	f := open(t, Options{Path: path, ReadWrite: true})
	wantMode(t, f, "read-write")
	conn, err := f.WriterConn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := run(conn, "DELETE FROM timers"); err != nil {
		t.Fatal(err)
	}
	if mode, err := text(conn, "PRAGMA journal_mode"); err != nil || mode != "delete" {
		t.Errorf("journal mode %q, %v: want it left at delete", mode, err)
	}
	closed(t, f)
	found, err := Probe(path)
	if err != nil || found.WAL || found.Ours {
		t.Errorf("found %+v, %v", found, err)
	}
}

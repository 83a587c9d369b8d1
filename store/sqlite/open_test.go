package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"treering/internal/testfiles"
	"treering/store"
	"zombiezen.com/go/sqlite"
)

// countAll reads every row of every table.
func countAll(conn *sqlite.Conn) error {
	var tables []string
	err := rows(conn, "SELECT name FROM sqlite_schema WHERE type = 'table'", func(stmt *sqlite.Stmt) error {
		tables = append(tables, stmt.ColumnText(0))
		return nil
	})
	if err != nil {
		return err
	}
	for _, table := range tables {
		err := rows(conn, "SELECT * FROM "+Quote(table), func(stmt *sqlite.Stmt) error { return nil })
		if err != nil {
			return err
		}
	}
	return nil
}

// number reads the one number that sql answers.
func number(t testing.TB, f *File, sql string) int64 {
	t.Helper()
	var n int64
	err := f.Read(context.Background(), func(conn *sqlite.Conn) error {
		n = -1
		return rows(conn, sql, func(stmt *sqlite.Stmt) error {
			n = stmt.ColumnInt64(0)
			return nil
		})
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func open(t testing.TB, o Options) *File {
	t.Helper()
	f, err := OpenFile(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// closed closes the file before the end of the test and checks that nothing of it
// is left open.
func closed(t testing.TB, f *File) {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if len(files.files) != 0 {
		t.Errorf("%d files are still open", len(files.files))
	}
}

func wantMode(t testing.TB, f *File, mode string) {
	t.Helper()
	if got := f.How().Mode; got != mode {
		t.Errorf("open %s (%s), want %s", got, f.How().Why, mode)
	}
}

const (
	plain     = "read-only"
	following = "read-only (following)"
	immutable = "read-only (immutable)"
	private   = "read-only (private copy)"
)

func TestRealFilesUnharmed(t *testing.T) {
	for _, name := range databases() {
		t.Run(name, func(t *testing.T) {
			path := testfiles.Copy(t, name)
			check := unharmed(t, filepath.Dir(path))
			found, err := Probe(path)
			if err != nil {
				t.Fatal(err)
			}
			f := open(t, Options{Path: path})
			for range 3 {
				if err := f.Read(t.Context(), countAll); err != nil {
					t.Fatal(err)
				}
			}
			first, err := f.ChangeToken(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if again, err := f.ChangeToken(t.Context()); err != nil || again != first {
				t.Errorf("token %q became %q, %v though nothing happened", first, again, err)
			}
			mode := plain
			if found.WAL {
				mode = immutable
			}
			wantMode(t, f, mode)
			if h := f.How(); h.Why == "" || h.PrivateCopy || h.Ours || (h.JournalMode == "wal") != found.WAL {
				t.Errorf("how: %+v", h)
			}
			if _, err := f.WriterConn(t.Context()); !errors.Is(err, store.ErrReadOnly) {
				t.Errorf("writing connection: %v, want it refused", err)
			}
			closed(t, f)
			check()
		})
	}
}

// The connection of a read cannot write, whatever the file.
func TestReadCannotWrite(t *testing.T) {
	for _, rw := range []bool{false, true} {
		path := testfiles.Copy(t, "harel-bad-values.db")
		f := open(t, Options{Path: path, ReadWrite: rw})
		err := f.Read(t.Context(), func(conn *sqlite.Conn) error { return run(conn, "DELETE FROM timers") })
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("read-write %v: error %v, want it refused", rw, err)
		}
		if n := number(t, f, "SELECT count(*) FROM timers"); n != 10 {
			t.Errorf("read-write %v: %d timers, want 10", rw, n)
		}
	}
}

func TestOddPaths(t *testing.T) {
	names := []string{
		"a b.db", "100%.db", "%41.db", "what?mode=rw.db", "a#b.db", "it's.db", `"quoted".db`, "new\nline.db",
		"-rf", "file:x.db", ":memory:", "a&b=c;d+e.db", "ünïcödé ☃.db", "back\\slash.db", "..db", "x.db-wal-not",
		"\xff\xfe.db", "tab\there", " ",
	}
	if runtime.GOOS != "linux" {
		names = []string{"a b.db", "100%.db", "%41.db", "a#b.db", "it's.db", "-rf", "a&b=c;d+e.db", "ünïcödé ☃.db"}
	}
	content := testfiles.Read(t, "harel-shop.db")
	base := t.TempDir()
	t.Chdir(base)
	for i, name := range names {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			dir := filepath.Join(base, fmt.Sprintf("%d %%?#'", i))
			if runtime.GOOS == "windows" {
				dir = filepath.Join(base, fmt.Sprintf("%d %%#'", i))
			}
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			if err := os.WriteFile(name, content, 0o600); err != nil {
				t.Fatal(err)
			}
			check := unharmed(t, dir)
			for _, path := range []string{name, filepath.Join(dir, name), "../" + filepath.Base(dir) + "/" + name, "." + string(filepath.Separator) + name} {
				f := open(t, Options{Path: path})
				wantMode(t, f, immutable)
				if n := number(t, f, "SELECT count(*) FROM executions"); n != 81 {
					t.Errorf("%q: %d executions, want 81", path, n)
				}
				closed(t, f)
			}
			check()
			// Beside a writer the -wal and -shm have to be found too.
			w := writerProcess(t, filepath.Join(dir, name), "DELETE FROM executions WHERE id = 'order-long'")
			check = unharmed(t, dir)
			f := open(t, Options{Path: name})
			wantMode(t, f, following)
			if n := number(t, f, "SELECT count(*) FROM executions"); n != 80 {
				t.Errorf("%d executions, want 80", n)
			}
			closed(t, f)
			check()
			w.kill()
		})
	}
	if left := picture(t, base); len(left) != len(names) {
		t.Errorf("%d entries in the directory, want %d", len(left), len(names))
	}
}

// The log lies beside the file, not beside a link to it, and a/link/.. is where the
// link leads.
func TestLinks(t *testing.T) {
	base := t.TempDir()
	for _, dir := range []string{"here", "there/deep"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	target := filepath.Join(base, "there", "x.db")
	w := writerProcess(t, target, "PRAGMA journal_mode=wal", "CREATE TABLE t(a)", "INSERT INTO t VALUES (1)")
	for link, to := range map[string]string{"here/x.db": "../there/x.db", "here/dir": "../there/deep", "here/nowhere.db": "gone.db", "here/loop.db": "loop.db"} {
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Skip(err)
		}
	}
	check := unharmed(t, filepath.Join(base, "here"))
	for _, path := range []string{base + "/here/x.db", base + "/here/dir/../x.db"} {
		f := open(t, Options{Path: path})
		wantMode(t, f, following)
		if n := number(t, f, "SELECT count(*) FROM t"); n != 1 {
			t.Errorf("%s: %d rows, want 1", path, n)
		}
		closed(t, f)
	}
	for _, create := range []bool{false, true} {
		path := base + "/here/nowhere.db"
		_, err := OpenFile(t.Context(), Options{Path: path, Create: create})
		wantOpenError(t, err, path, store.ErrStoreNotFound, "symbolic link to a file that does not exist")
	}
	if _, err := Probe(base + "/here/loop.db"); err == nil {
		t.Error("a link to itself was followed")
	}
	check()

	// A link that is set to another file is followed to it.
	other := filepath.Join(base, "other.db")
	o := writerProcess(t, other, "CREATE TABLE t(a)", "INSERT INTO t VALUES (1), (2)")
	o.close()
	f := open(t, Options{Path: base + "/here/x.db"})
	before, err := f.ChangeToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink("../other.db", base+"/here/new"), os.Rename(base+"/here/new", base+"/here/x.db")); err != nil {
		t.Fatal(err)
	}
	if after, err := f.ChangeToken(t.Context()); err != nil || after == before {
		t.Errorf("token %q, %v: want it changed", after, err)
	}
	if n := number(t, f, "SELECT count(*) FROM t"); n != 2 {
		t.Errorf("%d rows, want those of the other file", n)
	}
	wantMode(t, f, plain)
	w.kill()
}

// Through another name of a file its log cannot be seen: it is read with a word about
// that, and not written.
func TestHardLinks(t *testing.T) {
	for _, mode := range []string{"wal", "delete"} {
		path := database(t, mode)
		w := writerProcess(t, path, insert)
		second := filepath.Join(t.TempDir(), "second.db")
		if err := os.Link(path, second); err != nil {
			t.Skip(err)
		}
		for _, name := range []string{path, second} {
			f := open(t, Options{Path: name})
			if why := f.How().Why; !strings.Contains(why, "2 names (hard links)") {
				t.Errorf("%s: why: %s", mode, why)
			}
			closed(t, f)
			_, err := OpenFile(t.Context(), Options{Path: name, ReadWrite: true})
			wantOpenError(t, err, name, store.ErrReadOnly, "2 names (hard links)")
		}
		w.kill()
		if err := os.Remove(second); err != nil {
			t.Fatal(err)
		}
		f := open(t, Options{Path: path, ReadWrite: true})
		if why := f.How().Why; strings.Contains(why, "hard links") {
			t.Errorf("%s: why: %s", mode, why)
		}
		closed(t, f)
	}
}

func TestLongPath(t *testing.T) {
	dir := t.TempDir()
	for len(dir) < 600 {
		dir = filepath.Join(dir, strings.Repeat("d", 100))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(dir, "x.db")
	if err := os.WriteFile(path, testfiles.Read(t, "harel-bad-values.db"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OpenFile(t.Context(), Options{Path: path})
	var oe *OpenError
	if !errors.As(err, &oe) || !strings.Contains(oe.Reason, "longer than SQLite can open") {
		t.Errorf("error %v, want the length named", err)
	}
}

// A file replaced by another under the same name is noticed by the token and by the
// next read; so is one that goes and comes back.
func TestReplaced(t *testing.T) {
	path := testfiles.Copy(t, "harel-shop.db")
	other := testfiles.Copy(t, "harel-monitor-demo.db")
	f := open(t, Options{Path: path})
	token := ""
	wantToken(t, f, &token, true)
	epoch := func() (epoch uint64) {
		err := f.Read(t.Context(), func(conn *sqlite.Conn) error { epoch = f.Epoch(conn); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return epoch
	}
	first := epoch()
	if n := number(t, f, "SELECT count(*) FROM executions"); n != 81 {
		t.Fatalf("%d executions, want 81", n)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	wantToken(t, f, &token, true)
	if n := number(t, f, "SELECT count(*) FROM executions"); n != 7 {
		t.Errorf("%d executions, want the 7 of the new file", n)
	}
	if now := epoch(); now <= first {
		t.Errorf("epoch %d, want more than %d", now, first)
	}
	if err := os.Rename(path, other); err != nil {
		t.Fatal(err)
	}
	err := f.Read(t.Context(), countAll)
	wantOpenError(t, err, path, store.ErrStoreNotFound, "does not exist")
	if _, err := f.ChangeToken(t.Context()); !errors.Is(err, store.ErrStoreNotFound) {
		t.Errorf("token: %v, want that the file is gone", err)
	}
	if err := os.WriteFile(path, testfiles.Read(t, "harel-bad-values.db"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := number(t, f, "SELECT count(*) FROM executions"); n != 25 {
		t.Errorf("%d executions, want 25", n)
	}
}

// An interrupt is for one read: it ends that one, and no other on the connection.
func TestInterruptsAreOfOneRead(t *testing.T) {
	f := open(t, Options{Path: testfiles.Copy(t, "harel-shop.db")})
	const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
	for round := range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		err := f.Read(ctx, func(conn *sqlite.Conn) error {
			stmt, err := conn.Prepare(endless)
			if err != nil {
				return err
			}
			for n := 0; ; n++ {
				if n == round {
					cancel()
				}
				if _, err := stmt.Step(); err != nil {
					return err
				}
			}
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("round %d: %v", round, err)
		}
		read := false
		// What fn leaves in the middle of its rows is reset for it.
		if err := f.Read(t.Context(), func(conn *sqlite.Conn) error {
			stmt, err := conn.Prepare(endless)
			if err != nil {
				return err
			}
			read, err = stmt.Step()
			return err
		}); err != nil || !read {
			t.Fatalf("the read after round %d: %v, %v", round, read, err)
		}
		// The end of a context after its read concerns nobody.
		ctx, cancel = context.WithCancel(t.Context())
		if err := f.Read(ctx, func(*sqlite.Conn) error { return nil }); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	// A result that came after the end of the context is none.
	ctx, cancel := context.WithCancel(t.Context())
	if err := f.Read(ctx, func(*sqlite.Conn) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a read whose context ended in it: %v", err)
	}
}

func TestCancelledRead(t *testing.T) {
	path := testfiles.Copy(t, "harel-shop.db")
	f := open(t, Options{Path: path})
	ctx, cancel := context.WithCancel(t.Context())
	err := f.Read(ctx, func(conn *sqlite.Conn) error {
		cancel()
		return rows(conn, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n", func(*sqlite.Stmt) error { return nil })
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if err := f.Read(ctx, countAll); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v with a done context", err)
	}
	// Cursors left open and a panic leave the connections usable.
	for range 3 {
		err := f.Read(t.Context(), func(conn *sqlite.Conn) error {
			if !conn.AutocommitEnabled() {
				stmt, err := conn.Prepare("SELECT id FROM executions")
				if err != nil {
					return err
				}
				_, err = stmt.Step()
				return err
			}
			return errors.New("not in a transaction")
		})
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() { recover() }()
			f.Read(t.Context(), func(*sqlite.Conn) error { panic("in a read") })
		}()
	}
	f.turn <- struct{}{}
	for conn := range f.owner {
		if !conn.AutocommitEnabled() || conn.CheckReset() != "" {
			t.Error("a connection was left in a transaction or with a cursor")
		}
	}
	f.free()
	own := errors.New("the caller's own")
	if err := f.Read(t.Context(), func(*sqlite.Conn) error { return own }); err != own {
		t.Errorf("error %v, want the caller's own as it is", err)
	}
}

func TestClosedFile(t *testing.T) {
	f := open(t, Options{Path: testfiles.Copy(t, "harel-shop.db")})
	closed(t, f)
	if err := f.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if err := f.Read(t.Context(), countAll); !errors.Is(err, store.ErrClosed) {
		t.Errorf("read after close: %v", err)
	}
	if _, err := f.ChangeToken(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("token after close: %v", err)
	}
}

// Many goroutines read through two connections while the file is replaced now and
// again.
func TestConcurrentReads(t *testing.T) {
	path := testfiles.Copy(t, "harel-shop.db")
	f := open(t, Options{Path: path})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if n := number(t, f, "SELECT count(*) FROM executions"); n != 81 && n != 7 {
					t.Errorf("%d executions", n)
				}
				if _, err := f.ChangeToken(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 6 {
		other := testfiles.Copy(t, []string{"harel-monitor-demo.db", "harel-shop.db"}[i%2])
		if err := os.Rename(other, path); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if len(f.owner) > maxReaders+1 {
		t.Errorf("%d connections, want at most %d", len(f.owner), maxReaders+1)
	}
	closed(t, f)
}

// How does not wait for an opening that is under way.
func TestHowDoesNotWait(t *testing.T) {
	f := open(t, Options{Path: database(t, "delete")})
	f.turn <- struct{}{}
	defer f.free()
	if h := f.How(); h.Mode != plain {
		t.Errorf("how: %+v", h)
	}
}

// A store whose opener asks for nothing else is durable.
func TestSynchronousByDefault(t *testing.T) {
	for given, want := range map[string]string{"": "2", "FULL": "2", "NORMAL": "1", "OFF": "0"} {
		f := open(t, Options{Path: database(t, "wal"), ReadWrite: true, Synchronous: given})
		conn, err := f.WriterConn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := text(conn, "PRAGMA synchronous"); err != nil || got != want {
			t.Errorf("%q: synchronous is %s, %v, want %s", given, got, err, want)
		}
	}
}

// Within the tick of a clock two changes leave one time, so it is waited for.
func TestUnsettled(t *testing.T) {
	info, err := os.Stat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	whole := now.Truncate(time.Second)
	for _, tt := range []struct {
		at       time.Time
		min, max time.Duration
	}{
		{now.Truncate(time.Microsecond).Add(1), 1, tick},
		{now.Add(-time.Minute), 0, 0},
		{now.Add(time.Hour), 0, 0},
		{whole, 1, coarseTick},
	} {
		if got := (sighting{info: info, time: tt.at}).unsettled(); got < tt.min || got > tt.max {
			t.Errorf("changed %v ago: unsettled for %v, want %v to %v", now.Sub(tt.at), got, tt.min, tt.max)
		}
	}
	last := sighting{info: info, time: time.Now().Add(-tick / 2)}
	if err := (signature{db: last}).settle(t.Context()); err != nil || last.unsettled() > 0 {
		t.Errorf("settled with %v to go: %v", last.unsettled(), err)
	}
}

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"treering/internal/testfiles"
	"treering/store"
	"zombiezen.com/go/sqlite"
)

func init() {
	childRoles["create"] = func(args []string) error {
		f, err := OpenFile(context.Background(), Options{Path: args[0], Create: true, Init: initSets})
		if err != nil {
			return err
		}
		conn, err := f.WriterConn(context.Background())
		if err != nil {
			return err
		}
		if err := run(conn, "INSERT INTO harel_outbox (event) VALUES ('{}')"); err != nil {
			return err
		}
		fmt.Println("ok")
		return f.Close()
	}
}

// initSets makes a schema that a second run would refuse.
func initSets(conn *sqlite.Conn) error {
	for _, ddl := range ExecutionDDL(DefaultPrefix) {
		if err := run(conn, strings.Replace(ddl, "IF NOT EXISTS ", "", 1)); err != nil {
			return err
		}
	}
	return nil
}

func wantOurs(t *testing.T, path string) {
	t.Helper()
	found, err := Probe(path)
	if err != nil || !found.Ours || !found.WAL || found.UserVersion != SchemaVersion {
		t.Errorf("found %+v, %v: want a WAL database of ours", found, err)
	}
}

func TestCreate(t *testing.T) {
	for _, kind := range []string{"missing", "zero bytes"} {
		t.Run(kind, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "new %41.db")
			if kind == "zero bytes" {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f := open(t, Options{Path: path, Create: true, Init: initSets, Synchronous: "NORMAL"})
			if h := f.How(); !h.Ours || h.Mode != "read-write" || h.JournalMode != "wal" || h.ApplicationID != ApplicationID || h.UserVersion != SchemaVersion {
				t.Errorf("how: %+v", h)
			}
			conn, err := f.WriterConn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for pragma, want := range map[string]string{
				"journal_mode": "wal", "synchronous": "1", "busy_timeout": "5000", "wal_autocheckpoint": "4000",
				"query_only": "0", "cache_size": "-16000", "application_id": "1414680135", "user_version": "1",
			} {
				if got, err := text(conn, "PRAGMA "+pragma); err != nil || got != want {
					t.Errorf("%s is %s, %v; want %s", pragma, got, err, want)
				}
			}
			token := ""
			wantToken(t, f, &token, true)
			if err := run(conn, "INSERT INTO harel_outbox (event) VALUES ('{}')"); err != nil {
				t.Fatal(err)
			}
			wantToken(t, f, &token, true) // own commits too
			wantToken(t, f, &token, false)
			if n := number(t, f, "SELECT count(*) FROM harel_outbox"); n != 1 {
				t.Errorf("%d rows, want 1", n)
			}
			if again, err := f.WriterConn(t.Context()); err != nil || again != conn {
				t.Errorf("another writing connection %p, %v; want %p", again, err, conn)
			}
			closed(t, f)
			if left := picture(t, filepath.Dir(path)); len(left) != 1 {
				t.Errorf("%d files after closing, want the database alone", len(left))
			}
			wantOurs(t, path)
			// A file that is there is opened as it is.
			f = open(t, Options{Path: path, Create: true, Init: initSets})
			if n := number(t, f, "SELECT count(*) FROM harel_outbox"); n != 1 {
				t.Errorf("%d rows, want 1", n)
			}
			closed(t, f)
			f = open(t, Options{Path: path})
			wantMode(t, f, immutable)
		})
	}
}

func TestCreateLeavesForeignFiles(t *testing.T) {
	for _, name := range databases() {
		path := testfiles.Copy(t, name)
		f := open(t, Options{Path: path, Create: true, Init: initSets})
		closed(t, f)
		if got := picture(t, filepath.Dir(path)); len(got) != 1 || got[name] != string(testfiles.Read(t, name)) {
			t.Errorf("%s was changed", name)
		}
	}
	text := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(text, []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OpenFile(t.Context(), Options{Path: text, Create: true})
	wantOpenError(t, err, text, store.ErrNotAStore, "not a SQLite database")
}

func TestCreateFails(t *testing.T) {
	dir := t.TempDir()
	check := unharmed(t, dir)
	path := filepath.Join(dir, "no", "x.db")
	_, err := OpenFile(t.Context(), Options{Path: path, Create: true})
	wantOpenError(t, err, path, store.ErrStoreNotFound, "make the directory first")

	path = filepath.Join(dir, "x.db")
	refused := errors.New("refused by the hook")
	_, err = OpenFile(t.Context(), Options{Path: path, Create: true, Init: func(conn *sqlite.Conn) error {
		return errors.Join(run(conn, "CREATE TABLE t(a)"), refused)
	}})
	if !errors.Is(err, refused) {
		t.Errorf("error %v, want the hook's", err)
	}
	check()

	// The log of a lost database would be deleted with the first look of SQLite.
	if err := os.WriteFile(path+"-wal", []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	check = unharmed(t, dir)
	_, err = OpenFile(t.Context(), Options{Path: path, Create: true})
	wantOpenError(t, err, path, store.ErrNotAStore, "left from another database")
	check()
	if _, err := OpenFile(t.Context(), Options{Path: path, Synchronous: "EXTRA"}); err == nil {
		t.Error("an unknown synchronous level was taken")
	}
}

// A process that dies while it makes a store leaves what the next one can finish.
// A schema that fails after some of it went to the file already, as on a full disk,
// leaves no file either.
func TestCreateFailsLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	failed := errors.New("failed")
	var size int64
	_, err := OpenFile(t.Context(), Options{Path: path, Create: true, Init: func(conn *sqlite.Conn) error {
		for _, sql := range []string{"PRAGMA cache_size=2", "CREATE TABLE t(a)", "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 200) SELECT randomblob(3000) FROM n"} {
			if err := run(conn, sql); err != nil {
				return err
			}
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		size = info.Size()
		return failed
	}})
	if !errors.Is(err, failed) || size == 0 {
		t.Fatalf("%v, with %d bytes in the file", err, size)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCreateAfterCrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	w := writerProcess(t, path, "PRAGMA cache_size=2", "PRAGMA cache_spill=1", "BEGIN IMMEDIATE", "CREATE TABLE a(x)",
		"INSERT INTO a SELECT randomblob(3000) FROM (WITH RECURSIVE x(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM x WHERE i<50) SELECT i FROM x)")
	w.kill()
	if found, err := Probe(path); !found.Journal || found.Size == 0 {
		t.Fatalf("found %+v, %v: want a half-made file", found, err)
	}
	f := open(t, Options{Path: path, Create: true, Init: initSets})
	if n := number(t, f, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'harel%'"); n != 6 {
		t.Errorf("%d tables, want 6", n)
	}
	closed(t, f)
	wantOurs(t, path)
}

// Any number of processes and goroutines make one store at once.
func TestCreateAtOnce(t *testing.T) {
	for round := range 3 {
		path := filepath.Join(t.TempDir(), "x.db")
		if round == 1 {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var children []*process
		for range 4 {
			children = append(children, child(t, "create", path))
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				f, err := OpenFile(t.Context(), Options{Path: path, Create: true, Init: initSets})
				if err != nil {
					t.Error(err)
					return
				}
				conn, err := f.WriterConn(t.Context())
				if err == nil {
					err = run(conn, "INSERT INTO harel_outbox (event) VALUES ('{}')")
				}
				if err := errors.Join(err, f.Close()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, c := range children {
			if got := c.line(); got != "ok" {
				t.Errorf("child: %s", got)
			}
			if err := c.cmd.Wait(); err != nil {
				t.Error(err)
			}
		}
		f := open(t, Options{Path: path})
		if n := number(t, f, "SELECT count(*) FROM harel_outbox"); n != 8 {
			t.Errorf("%d rows, want 8", n)
		}
		closed(t, f)
		wantOurs(t, path)
	}
}

func TestNewerFileOfOurs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	closed(t, open(t, Options{Path: path, Create: true, Init: initSets}))
	writerProcess(t, path, "PRAGMA user_version=2").close()
	_, err := OpenFile(t.Context(), Options{Path: path, ReadWrite: true})
	wantOpenError(t, err, path, store.ErrReadOnly, "newer version")
	f := open(t, Options{Path: path})
	if h := f.How(); !h.Ours || h.UserVersion != 2 {
		t.Errorf("how: %+v", h)
	}
}

// Another file at the path is neither written to nor mixed with the log of the old
// one.
func TestWriterAfterReplacement(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	f := open(t, Options{Path: path, Create: true, Init: initSets})
	conn, err := f.WriterConn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const add = "INSERT INTO harel_outbox (event) VALUES ('{}')"
	if err := run(conn, add); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(testfiles.Copy(t, "harel-bad-values.db"), path); err != nil {
		t.Fatal(err)
	}
	_, err = f.WriterConn(t.Context())
	wantOpenError(t, err, path, store.ErrSourceChanged, "another file was put in its place")
	err = f.Read(t.Context(), countAll)
	wantOpenError(t, err, path, store.ErrSourceChanged, "another file was put in its place")
	_, err = f.ChangeToken(t.Context())
	wantOpenError(t, err, path, store.ErrSourceChanged, "another file was put in its place")
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || string(b) != string(testfiles.Read(t, "harel-bad-values.db")) {
		t.Errorf("the new file was changed, %v", err)
	}
	// SQLite leaves the log of the file that was moved away.
	found, err := Probe(path)
	if err != nil || found.Log != LogContent {
		t.Fatalf("found %+v, %v: want the old log", found, err)
	}
	_, err = OpenFile(t.Context(), Options{Path: path, ReadWrite: true})
	wantOpenError(t, err, path, store.ErrReadOnly, "may belong to another database")
}

package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"treering/internal/testfiles"
	"treering/store"
	"zombiezen.com/go/sqlite"
)

// columnsIn describes the tables of a file: name, type, not null, place in the key.
func columnsIn(t *testing.T, path, like string) []string {
	t.Helper()
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var out []string
	err = rows(conn, `SELECT m.name || '.' || i.name || ' ' || upper(i.type) || ' ' || i.pk FROM sqlite_schema m, pragma_table_xinfo(m.name) i
		WHERE m.type = 'table' AND m.name LIKE '`+like+`' ORDER BY m.name, i.cid`, func(r *sqlite.Stmt) error {
		out = append(out, r.ColumnText(0))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestNewFile(t *testing.T) {
	db := openNew(t, Options{})
	exe := benchExecution("order-1", store.Running, 10)
	if _, err := db.Executions().Commit(t.Context(), boundary(exe, 1)); err != nil {
		t.Fatal(err)
	}
	if how := db.How(); !how.Ours || how.JournalMode != "wal" || how.UserVersion != SchemaVersion || how.Mode != "read-write" {
		t.Errorf("open %+v", how)
	}
	if set, _ := db.Set(); set.Prefix != DefaultPrefix || len(set.Missing) != 0 || !db.Layout().Trees {
		t.Errorf("set %+v, trees %v", set, db.Layout().Trees)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	harels := testfiles.Copy(t, "harel-shop-prefixed.db")
	if got, want := columnsIn(t, db.Path(), "harel%"), columnsIn(t, harels, "harel%"); !slices.Equal(got, want) {
		t.Errorf("tables\n%s\nharel's\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Python's module is what harel opens a file with.
func TestNewFileInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	db := openNew(t, Options{})
	es := db.Executions()
	for _, id := range []string{"a", "b"} {
		exe := benchExecution(id, store.Running, 10)
		for n := range 3 {
			if _, err := es.Commit(t.Context(), boundary(exe, n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "-c", `
import json, sqlite3, sys
c = sqlite3.connect(sys.argv[1])
for id, data, version in c.execute("SELECT id, data, version FROM harel_executions ORDER BY id"):
    print(id, version, json.loads(data)["version"], json.loads(data)["id"])
print(c.execute("SELECT count(*), min(typeof(event)), min(json_extract(event, '$.kind')) FROM harel_outbox").fetchone())
print(c.execute("SELECT group_concat(idx), min(typeof(entry)) FROM (SELECT * FROM harel_trace WHERE execution_id='a' ORDER BY idx)").fetchone())
print(c.execute("SELECT count(*), min(typeof(fire_at)) FROM harel_timers").fetchone())
with c:
    print(c.execute("UPDATE harel_executions SET version=4, data=json_set(data,'$.version',4) WHERE id='a' AND version=3").rowcount)
    c.execute("INSERT INTO harel_trace VALUES ('a', (SELECT MAX(idx)+1 FROM harel_trace WHERE execution_id='a'), '{}')")
print(c.execute("PRAGMA integrity_check").fetchone())
`, db.Path()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := "a 3 3 a\nb 3 3 b\n(6, 'text', 'Paid')\n('0,1,2', 'text')\n(2, 'real')\n1\n('ok',)\n"
	if string(out) != want {
		t.Errorf("python prints\n%s\nwant\n%s", out, want)
	}
	again := openDB(t, Options{Path: db.Path(), ReadWrite: true})
	exe, err := again.Executions().Load(t.Context(), "a")
	if err != nil || exe.Version != 4 || len(exe.Drift) != 0 {
		t.Errorf("after python: %+v, %v", exe, err)
	}
}

// A file that somebody else made gets the tables it lacks only when asked for, and
// keeps its mark; one that has both is left alone.
func TestCompleteForeign(t *testing.T) {
	path := testfiles.Copy(t, "harel-shop.db")
	db := openDB(t, Options{Path: path, ReadWrite: true})
	if db.Trees() != nil || db.Executions() == nil {
		t.Fatal("harel's file has trees before they were made")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openDB(t, Options{Path: path, ReadWrite: true, Create: true})
	if db.Trees() == nil || db.How().Ours || len(db.Layout().Sets) != 1 {
		t.Errorf("trees %v, ours %v, sets %v", db.Trees(), db.How().Ours, db.Layout().Sets)
	}
	if _, err := db.Trees().CreateSession(t.Context(), "s", "session", nil); err != nil {
		t.Error(err)
	}
	if n := len(executionsOf(t, db.Executions(), store.ExecutionFilter{}, 0)); n != 81 {
		t.Errorf("%d executions", n)
	}

	other := testfiles.Copy(t, "contree-cli.db")
	if _, err := Open(t.Context(), Options{Path: other}); !errors.Is(err, store.ErrNotAStore) || !strings.Contains(err.Error(), "contree-cli") {
		t.Errorf("a file with neither contract: %v", err)
	}
	db = openDB(t, Options{Path: other, ReadWrite: true, Create: true, Prefix: ptr("mine")})
	if set, _ := db.Set(); db.Trees() == nil || set.Prefix != "mine" || db.How().Ours {
		t.Errorf("set %+v", set)
	}
	if _, err := Open(t.Context(), Options{Path: other, ReadWrite: true, Create: true, Prefix: ptr("9 lives")}); err == nil {
		t.Error("a prefix that harel refuses was taken")
	}
}

// Every write to a store that is open for reading says what to do, and the file
// stays as it is.
func TestReadOnly(t *testing.T) {
	path := testfiles.Copy(t, "harel-shop.db")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	db := openDB(t, Options{Path: path})
	es, ctx := db.Executions(), t.Context()
	exe, err := es.Load(ctx, "order-long")
	if err != nil {
		t.Fatal(err)
	}
	version := exe.Version
	for what, call := range map[string]func() error{
		"Save":        func() error { return es.Save(ctx, exe) },
		"Commit":      func() error { _, err := es.Commit(ctx, store.Commit{Execution: exe}); return err },
		"AckOutbox":   func() error { _, err := es.AckOutbox(ctx, 1); return err },
		"AckSpawn":    func() error { _, err := es.AckSpawn(ctx, 1); return err },
		"DeleteTimer": func() error { _, err := es.DeleteTimer(ctx, "a", "b", 1); return err },
		"RearmTimer":  func() error { _, err := es.RearmTimer(ctx, "a", "b", 1, 2); return err },
		"AppendTrace": func() error { return es.AppendTrace(ctx, "a", "{}") },
		"Purge":       func() error { _, err := es.Purge(ctx, "order-long", 1); return err },
	} {
		if err := call(); !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "--rw") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if exe.Version != version {
		t.Errorf("version %d, was %d", exe.Version, version)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("beside the file: %v, %v", left, err)
	}
}

// A companion table that is missing is named by whatever needs it, before anything
// is written; all else works.
func TestMissingTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "partial.db")
	makeHarel(t, path, "p", func(conn *sqlite.Conn) error {
		for _, sql := range []string{"DROP TABLE p_outbox", "DROP TABLE p_spawns", "DROP TABLE p_trace", "CREATE TABLE p_trace (execution_id, idx)", "DROP TABLE p_processed_events"} {
			if err := run(conn, sql); err != nil {
				return err
			}
		}
		return nil
	})
	db, err := Open(t.Context(), Options{Path: path, ReadWrite: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	es, ctx := db.Executions(), t.Context()
	exe := benchExecution("e", store.Running, 1)
	for what, c := range map[string]store.Commit{
		"p_outbox":           {Execution: exe, Emits: []store.Emit{{}}},
		"p_spawns":           {Execution: exe, Spawns: []store.Spawn{{}}},
		"p_trace":            {Execution: exe, Trace: "{}"},
		"p_processed_events": {Execution: exe, ProcessedEventID: ptr("x")},
	} {
		if _, err := es.Commit(ctx, c); !errors.Is(err, store.ErrMissingTable) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := es.Load(ctx, "e"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("something was written: %v", err)
	}
	if _, err := es.Commit(ctx, store.Commit{Execution: exe, Timers: []store.TimerOp{{Action: store.Schedule, Path: "p", FireAt: 1}}}); err != nil {
		t.Errorf("a commit that needs none of them: %v", err)
	}
	for what, err := range map[string]error{
		"PendingOutbox": second(es.PendingOutbox(ctx)), "PendingSpawns": second(es.PendingSpawns(ctx)), "ReadTrace": second(es.ReadTrace(ctx, "e")),
		"IsProcessed": second(es.IsProcessed(ctx, "e", "x")), "AckOutbox": second(es.AckOutbox(ctx, 1)), "AppendTrace": es.AppendTrace(ctx, "e", "{}"),
		"ListSpawns": second(es.ListSpawns(ctx, store.QueueFilter{}, store.PageRequest{})), "Counts": second(es.Counts(ctx)),
	} {
		if !errors.Is(err, store.ErrMissingTable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	counts, _ := es.Counts(ctx)
	if counts.Executions != 1 || counts.Timers != 1 || counts.Outbox != -1 || counts.Spawns != -1 {
		t.Errorf("counts %+v", counts)
	}
	if timers, err := es.DueTimers(ctx, 1); err != nil || len(timers) != 1 {
		t.Errorf("timers %v, %v", timers, err)
	}
	if purged, err := es.Purge(ctx, "e", 1); err != nil || !purged {
		t.Errorf("purge: %v, %v", purged, err)
	}
	// One that is dropped while the store is open is named too.
	other := writerProcess(t, path, "DROP TABLE p_timers")
	other.close()
	if _, err := es.DueTimers(ctx, 1); !errors.Is(err, store.ErrMissingTable) || !strings.Contains(err.Error(), "p_timers") {
		t.Errorf("a dropped table: %v", err)
	}
	if _, err := es.DeleteTimer(ctx, "e", "p", 1); !errors.Is(err, store.ErrMissingTable) {
		t.Errorf("a write to a dropped table: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// Several sets in one file: the only one with rows is taken, with a note; otherwise
// the choice is the caller's.
func TestSeveralSets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sets.db")
	makeHarel(t, path, "", func(conn *sqlite.Conn) error {
		for _, ddl := range harelDDL("two") {
			if err := run(conn, ddl); err != nil {
				return err
			}
		}
		return nil
	})
	var several *AmbiguousSetError
	if _, err := Open(t.Context(), Options{Path: path}); !errors.As(err, &several) || len(several.Sets) != 2 {
		t.Fatalf("two empty sets: %v", err)
	}
	two := openDB(t, Options{Path: path, ReadWrite: true, Prefix: ptr("two")})
	for _, id := range []string{"a", "b", "c"} {
		if err := two.Executions().Save(t.Context(), benchExecution(id, store.Done, 1)); err != nil {
			t.Fatal(err)
		}
	}
	picked := openDB(t, Options{Path: path, ReadWrite: true})
	if set, note := picked.Set(); set.Prefix != "two" || !strings.Contains(note, "several") {
		t.Errorf("picked %q, note %q", set.Prefix, note)
	}
	page, err := two.Executions().ListExecutions(t.Context(), store.ExecutionFilter{}, store.PageRequest{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	next := store.PageRequest{Limit: 1, Cursor: page.Next}
	if page, err = picked.Executions().ListExecutions(t.Context(), store.ExecutionFilter{}, next); err != nil || page.Items[0].ID != "b" {
		t.Errorf("the same set through another handle: %+v, %v", page, err)
	}
	none := openDB(t, Options{Path: path, ReadWrite: true, Prefix: ptr("")})
	if _, err := none.Executions().ListExecutions(t.Context(), store.ExecutionFilter{}, next); !errors.Is(err, store.ErrBadCursor) {
		t.Errorf("a cursor of another set: %v", err)
	}
}

// Once another file is in its place nothing that is written to the one that is open is
// acknowledged, and the error names the log that must not be read with the new one.
func TestWriteAfterReplacement(t *testing.T) {
	for _, committers := range []int{1, 16} {
		db, err := Open(t.Context(), Options{Path: testfiles.Copy(t, "harel-shop.db"), ReadWrite: true})
		if err != nil {
			t.Fatal(err)
		}
		es := db.Executions()
		if err := es.Save(t.Context(), benchExecution("before", store.Running, 1)); err != nil {
			t.Fatal(err)
		}
		other := testfiles.Copy(t, "harel-monitor-demo.db")
		want, err := os.ReadFile(other)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(other, db.Path()); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for n := range committers {
			wg.Go(func() {
				exe := benchExecution(fmt.Sprint("after-", n), store.Running, 1)
				for range 3 {
					err := es.Save(t.Context(), exe)
					if !errors.Is(err, store.ErrSourceChanged) || exe.Version != 0 || !strings.Contains(err.Error(), "its -wal still is that of the old file") {
						t.Errorf("a write after the replacement: %v, version %d", err, exe.Version)
					}
				}
			})
		}
		wg.Wait()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(db.Path()); err != nil || !bytes.Equal(got, want) {
			t.Errorf("the new file has changed: %v", err)
		}
	}
}

// A log that a replaced file left behind is not read with the file in its place.
func TestLogLeftBehind(t *testing.T) {
	path := database(t, "wal")
	w := writerProcess(t, path, insert, insert)
	f := open(t, Options{Path: path})
	if n := number(t, f, countSQL); n != 3 {
		t.Fatalf("%d rows, want 3", n)
	}
	other := database(t, "wal")
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := f.Read(t.Context(), countAll)
		wantOpenError(t, err, path, store.ErrSourceChanged, "still is that of the old one")
	}
	w.kill()
	if err := errors.Join(os.Remove(path+"-wal"), os.Remove(path+"-shm")); err != nil {
		t.Fatal(err)
	}
	if n := number(t, f, countSQL); n != 1 {
		t.Errorf("%d rows, want the one of the new file", n)
	}
	// A log that the new file has of its own is another.
	w = writerProcess(t, path, insert)
	if n := number(t, f, countSQL); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
	w.kill()
}

// A cursor belongs to the file it is of, not to its path.
func TestCursorOfADeletedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	var cursor string
	for n := range 2 {
		db, err := Open(t.Context(), Options{Path: path, Create: true})
		if err != nil {
			t.Fatal(err)
		}
		es := db.Executions()
		for _, id := range []string{"a", "b"} {
			if err := es.Save(t.Context(), benchExecution(id, store.Running, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if n == 0 {
			page, err := es.ListExecutions(t.Context(), store.ExecutionFilter{}, store.PageRequest{Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			cursor = page.Next
			again := openDB(t, Options{Path: path, ReadWrite: true}).Executions()
			if page, err := again.ListExecutions(t.Context(), store.ExecutionFilter{}, store.PageRequest{Cursor: cursor}); err != nil || len(page.Items) != 1 {
				t.Errorf("through another handle: %+v, %v", page, err)
			}
			// Closed here, since the file goes.
			if err := errors.Join(again.Close(), db.Close(), os.Remove(path)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if birthless(t, path) {
			t.Skip("the file system says neither when a file was made nor gives it a number of its own")
		}
		if _, err := es.ListExecutions(t.Context(), store.ExecutionFilter{}, store.PageRequest{Cursor: cursor}); !errors.Is(err, store.ErrBadCursor) {
			t.Errorf("the cursor of the file that was deleted: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func birthless(t testing.TB, path string) bool {
	t.Helper()
	f, err := files.acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	defer files.release(f)
	return strings.HasSuffix(f.identity, "@0")
}

// A selective filter makes short pages rather than long reads.
func TestPagesLookAtSoMany(t *testing.T) {
	db := openNew(t, Options{})
	const count = 2*maxLooked + 5
	err := db.writer.write(t.Context(), func(conn *sqlite.Conn) error {
		_, err := fillExecutions(conn, db.executions.sql.insert, count)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f := store.ExecutionFilter{ParentID: ptr("nobody")}
	var lens []int
	for req := (store.PageRequest{}); ; {
		page, err := db.Executions().ListExecutions(t.Context(), f, req)
		if err != nil {
			t.Fatal(err)
		}
		lens = append(lens, len(page.Items))
		if req.Cursor = page.Next; req.Cursor == "" {
			break
		}
	}
	if !slices.Equal(lens, []int{0, 0, 0}) {
		t.Errorf("pages of %v, want three empty ones", lens)
	}
	// invariants read every row; here the count is what matters.
	if counts, err := db.Executions().Counts(t.Context()); err != nil || counts.Executions != count {
		t.Errorf("counts %+v, %v", counts, err)
	}
}

// Two equal tokens mean that nothing has changed, by whomever.
func TestChangeToken(t *testing.T) {
	db := openNew(t, Options{})
	token := func() string {
		t.Helper()
		got, err := db.ChangeToken(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := token()
	if again := token(); again != first {
		t.Errorf("token %q, then %q, and nothing was written", first, again)
	}
	if err := db.Executions().Save(t.Context(), benchExecution("e", store.Running, 1)); err != nil {
		t.Fatal(err)
	}
	own := token()
	if own == first {
		t.Error("the token has not noticed our own commit")
	}
	other := openDB(t, Options{Path: db.Path(), ReadWrite: true})
	if err := other.Executions().Save(context.Background(), benchExecution("f", store.Running, 1)); err != nil {
		t.Fatal(err)
	}
	if token() == own {
		t.Error("the token has not noticed another's commit")
	}
}

package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// foreignSet is the DDL of a set of which the executions table is declared in a way of its own.
func foreignSet(executions string) []string {
	return append([]string{executions}, harelDDL("")[1:]...)
}

// blobOf is the JSON of a row with that id, as SQL text.
func blobOf(id string) string {
	return fmt.Sprintf(`'{"id":"%s","definition_id":"d","status":"RUNNING","version":1}'`, id)
}

// Whatever a table is declared like, a list shows each row once, whatever the size
// of its pages, and ends.
func TestPagesOfOddTables(t *testing.T) {
	insert := func(values ...string) string {
		return "INSERT INTO executions VALUES " + strings.Join(values, ", ")
	}
	row := func(id, more string) string {
		return fmt.Sprintf("(%s, 'd', %s, 1%s)", id, blobOf("x"), more)
	}
	tests := []struct {
		name string
		sql  []string
		want []string
	}{
		{"compared without case, no rowid", append(foreignSet("CREATE TABLE executions (id TEXT COLLATE NOCASE, definition_id TEXT, data TEXT, version INTEGER, PRIMARY KEY (id COLLATE BINARY)) WITHOUT ROWID"),
			insert(row("'b'", ""), row("'A'", ""), row("'a'", ""), row("'B'", ""), row("'Z'", ""), row("'c'", ""), row("'C'", ""), row("'z'", ""))),
			[]string{"A", "B", "C", "Z", "a", "b", "c", "z"}},
		{"compared without case", append(foreignSet("CREATE TABLE executions (id TEXT COLLATE NOCASE, definition_id TEXT, data TEXT, version INTEGER)"),
			insert(row("'b'", ""), row("'A'", ""), row("'a'", ""), row("'B'", ""), row("'B'", ""))), []string{"A", "B", "B", "a", "b"}},
		{"compared without blanks", append(foreignSet("CREATE TABLE executions (id TEXT COLLATE RTRIM, definition_id TEXT, data TEXT, version INTEGER)"),
			insert(row("'b '", ""), row("'b'", ""), row("'b  '", ""), row("'b'", ""))), []string{"b", "b", "b ", "b  "}},
		{"another primary key, no rowid", append(foreignSet("CREATE TABLE executions (id TEXT, definition_id TEXT, data TEXT, version INTEGER, \"k y\" INTEGER, l TEXT COLLATE NOCASE, PRIMARY KEY (l, \"k y\" DESC)) WITHOUT ROWID"),
			insert(row("'b'", ", 1, 'x'"), row("'A'", ", 2, 'X'"), row("'a'", ", 3, 'x'"), row("'a'", ", 4, 'X'"), row("'a'", ", 4, 'y'"), row("NULL", ", 1, 'z'"), row("NULL", ", 2, 'z'"), row("NULL", ", 2, 'w'"))),
			[]string{"", "", "", "A", "a", "a", "a", "b"}},
		{"columns called like the rowid", append(foreignSet("CREATE TABLE executions (id TEXT, definition_id TEXT, data TEXT, version INTEGER, _rowid_ TEXT, RowID TEXT)"),
			insert(row("'a'", ", NULL, NULL"), row("'a'", ", NULL, NULL"), row("'a'", ", 'x', 'x'"), row("'a'", ", 'x', 'x'"), row("NULL", ", NULL, 1"), row("NULL", ", NULL, 1"))),
			[]string{"", "", "a", "a", "a", "a"}},
		{"all names of the rowid taken, but an alias", append(foreignSet("CREATE TABLE executions (id TEXT, definition_id TEXT, data TEXT, version INTEGER, _rowid_ TEXT, rowid TEXT, oid TEXT, n INTEGER PRIMARY KEY)"),
			insert(row("'a'", ", 1, 1, 1, 5"), row("'a'", ", 1, 1, 1, 4"), row("'a'", ", 1, 1, 1, 3"))), []string{"a", "a", "a"}},
		{"half characters in UTF-16", append([]string{"PRAGMA encoding = 'UTF-16le'"}, append(foreignSet(executionsDDL),
			insert(row("'b'", ""), row("CAST(x'00d86100' AS TEXT)", ""), row("CAST(x'00dc00d8' AS TEXT)", ""), row("CAST(x'ffff' AS TEXT)", ""), row("'c'", ""), row("NULL", ""), row("x'62'", "")))...),
			[]string{"", "\U00010000", "\U00010061", "b", "c", "\uFFFF", "b"}},
		{"UTF-16, big end first", append([]string{"PRAGMA encoding = 'UTF-16be'"}, append(foreignSet(executionsDDL),
			insert(row("'é'", ""), row("'𝄞'", ""), row("'b'", ""), row("'A'", ""), row("CAST(x'd800' AS TEXT)", "")))...),
			[]string{"A", "b", "é", "\xed\xa0\x80", "𝄞"}},
		{"what is no UTF-8", append(foreignSet(executionsDDL),
			insert(row("CAST(x'ff61' AS TEXT)", ""), row("CAST(x'eda080' AS TEXT)", ""), row("'b'", ""), row("CAST(x'6100' AS TEXT)", ""))),
			[]string{"a\x00", "b", "\xed\xa0\x80", "\xffa"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			es := openDB(t, Options{Path: made(t, tt.sql...)}).Executions()
			for _, limit := range limits {
				list := executionsOf(t, es, store.ExecutionFilter{}, limit)
				got := mapped(list, func(s store.Summary) string { return s.ID })
				// A half character has no place of its own in UTF-8.
				slices.Sort(got)
				want := slices.Sorted(slices.Values(tt.want))
				if !slices.Equal(got, want) {
					t.Fatalf("by pages of %d: %q\nwant %q", limit, got, want)
				}
				if strings.Contains(tt.name, "UTF") {
					continue
				}
				if ids := mapped(list, func(s store.Summary) string { return s.ID }); !slices.Equal(ids, tt.want) {
					t.Fatalf("by pages of %d: order %q\nwant %q", limit, ids, tt.want)
				}
			}
			counts, err := es.Counts(t.Context())
			if err != nil || counts.Executions != int64(len(tt.want)) {
				t.Errorf("counts %+v, %v", counts, err)
			}
			for _, s := range executionsOf(t, es, store.ExecutionFilter{}, 0) {
				exe, err := es.Load(t.Context(), s.ID)
				var bad *store.RowError
				switch {
				case err == nil && exe.ID == s.ID:
				case errors.As(err, &bad) && bad.Summary != nil && bad.Summary.ID == s.ID && bad.Summary.Bad == bad:
				default:
					t.Errorf("%q is listed, and loaded as %+v, %v", s.ID, exe, err)
				}
			}
		})
	}
}

const executionsDDL = "CREATE TABLE executions (id TEXT PRIMARY KEY, definition_id TEXT NOT NULL, data TEXT NOT NULL, version INTEGER NOT NULL)"

// openForeign opens for writing what need not be as a file of ours is.
func openForeign(t testing.TB, path string) store.ExecutionStore {
	t.Helper()
	db, err := Open(t.Context(), Options{Path: path, ReadWrite: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db.Executions()
}

// A text that is no whole UTF-16 is a bad row: its name is another's.
func TestTornIDs(t *testing.T) {
	path := made(t, append([]string{"PRAGMA encoding = 'UTF-16le'"}, append(foreignSet(executionsDDL),
		"INSERT INTO executions VALUES (CAST(x'00d86100' AS TEXT), 'd', '{}', 1), ('a\uFFFD', 'd', '{}', 1)",
		"INSERT INTO processed_events VALUES ('a\uFFFD', 'e')", "INSERT INTO trace VALUES ('a\uFFFD', 0, '{}')", "INSERT INTO timers VALUES ('a\uFFFD', 'p', 1.0)")...)...)
	es := openForeign(t, path)
	var bad *store.RowError
	if _, err := es.Load(t.Context(), "\U00010061"); !errors.As(err, &bad) || !strings.Contains(err.Error(), "no whole UTF-16") {
		t.Errorf("load of half a character: %v", err)
	}
	list := executionsOf(t, es, store.ExecutionFilter{}, 0)
	if len(list) != 2 || list[0].Bad == nil || list[1].Bad != nil {
		t.Errorf("listed as %+v", list)
	}
	// SQLite would look for U+FFFD instead.
	for _, id := range []string{"a\xff", "a\uFFFF", "a\uFFFE"} {
		if _, err := es.Load(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("load of %q: %v", id, err)
		}
		if done, err := es.IsProcessed(t.Context(), id, "e"); done || err != nil {
			t.Errorf("%q: processed %v, %v", id, done, err)
		}
		if steps, err := es.ReadTrace(t.Context(), id); len(steps) > 0 || err != nil {
			t.Errorf("%q: trace %v, %v", id, steps, err)
		}
		if timers := timersOf(t, es, store.QueueFilter{ExecutionID: &id}, 0); len(timers) > 0 {
			t.Errorf("%q: timers %v", id, timers)
		}
		if done, err := es.DeleteTimer(t.Context(), id, "p", 1); done || err != nil {
			t.Errorf("%q: timer deleted %v, %v", id, done, err)
		}
		if done, err := es.Purge(t.Context(), id, 1); done || err != nil {
			t.Errorf("%q: purged %v, %v", id, done, err)
		}
		if err := es.AppendTrace(t.Context(), id, "{}"); !errors.Is(err, store.ErrNotText) {
			t.Errorf("%q: trace appended: %v", id, err)
		}
	}
	exe := &store.Execution{ID: "new", DefinitionID: "d", Context: "{\"a\":\"\uFFFF\"}"}
	if err := es.Save(t.Context(), exe); !errors.Is(err, store.ErrNotText) || exe.Version != 0 {
		t.Errorf("save of what SQLite would change: %v", err)
	}
	exe.Context = "{\"a\":\"é𝄞\"}"
	if err := es.Save(t.Context(), exe); err != nil {
		t.Error(err)
	}
}

// One id never finds another's row, however the columns compare.
func TestWritesAreExact(t *testing.T) {
	path := made(t,
		"CREATE TABLE executions (id TEXT PRIMARY KEY COLLATE NOCASE, definition_id TEXT NOT NULL, data TEXT NOT NULL, version INTEGER NOT NULL)",
		"CREATE TABLE outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, target_id TEXT COLLATE NOCASE, event TEXT NOT NULL)",
		"CREATE TABLE processed_events (execution_id TEXT COLLATE NOCASE, event_id TEXT COLLATE NOCASE, PRIMARY KEY (execution_id, event_id))",
		"CREATE TABLE timers (execution_id TEXT COLLATE NOCASE, path TEXT COLLATE NOCASE, fire_at REAL NOT NULL, PRIMARY KEY (execution_id, path))",
		"CREATE TABLE spawns (seq INTEGER PRIMARY KEY AUTOINCREMENT, parent_id TEXT COLLATE NOCASE, child_id TEXT, root_path TEXT, context TEXT)",
		"CREATE TABLE trace (execution_id TEXT COLLATE NOCASE, idx INTEGER, entry TEXT, PRIMARY KEY (execution_id, idx))")
	ctx := t.Context()
	es := openDB(t, Options{Path: path, ReadWrite: true}).Executions()
	event := "E"
	mine := &store.Execution{ID: "A", DefinitionID: "d"}
	_, err := es.Commit(ctx, store.Commit{
		Execution: mine, ProcessedEventID: &event, Trace: `{"n":1}`, Emits: []store.Emit{{TargetID: ptr("A"), Event: store.Event{ID: "x", Kind: "K"}}},
		Timers: []store.TimerOp{{Action: store.Schedule, Path: "P", FireAt: 5}}, Spawns: []store.Spawn{{ChildID: "c", RootPath: "r"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := es.Load(ctx, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("load of a: %v", err)
	}
	var conflict *store.ConflictError
	if err := es.Save(ctx, &store.Execution{ID: "a", DefinitionID: "mine", Version: 1}); !errors.As(err, &conflict) || conflict.Found != nil {
		t.Errorf("save of a: %v", err)
	}
	if err := es.Save(ctx, &store.Execution{ID: "a", DefinitionID: "mine"}); err == nil {
		t.Error("a was saved although the table cannot hold it beside A")
	}
	for what, got := range map[string]func() (bool, error){
		"processed":     func() (bool, error) { return es.IsProcessed(ctx, "a", "E") },
		"event":         func() (bool, error) { return es.IsProcessed(ctx, "A", "e") },
		"timer of a":    func() (bool, error) { return es.DeleteTimer(ctx, "a", "P", 5) },
		"timer p":       func() (bool, error) { return es.DeleteTimer(ctx, "A", "p", 5) },
		"timer rearmed": func() (bool, error) { return es.RearmTimer(ctx, "A", "p", 5, 6) },
		"purged":        func() (bool, error) { return es.Purge(ctx, "a", 1) },
	} {
		if done, err := got(); done || err != nil {
			t.Errorf("%s: %v, %v", what, done, err)
		}
	}
	// What the table does not take beside what it has is an error, never a loss.
	for name, c := range map[string]store.Commit{
		"mark":  {ProcessedEventID: ptr("e")},
		"timer": {Timers: []store.TimerOp{{Action: store.Schedule, Path: "p", FireAt: 7}}},
	} {
		exe, err := es.Load(ctx, "A")
		if err != nil {
			t.Fatal(err)
		}
		c.Execution = exe
		if _, err := es.Commit(ctx, c); err == nil || !strings.Contains(err.Error(), "was not written") || exe.Version != 1 {
			t.Errorf("%s: %v, version %d", name, err, exe.Version)
		}
	}
	if _, err := es.Commit(ctx, store.Commit{Execution: mine, Timers: []store.TimerOp{{Action: store.Cancel, Path: "p"}}}); err != nil {
		t.Fatal(err)
	}
	if steps, err := es.ReadTrace(ctx, "a"); err != nil || len(steps) != 0 {
		t.Errorf("trace of a: %v, %v", steps, err)
	}
	if got := timersOf(t, es, store.QueueFilter{ExecutionID: ptr("a")}, 0); len(got) != 0 {
		t.Errorf("timers of a: %+v", got)
	}
	if got := timersOf(t, es, store.QueueFilter{ExecutionID: ptr("A")}, 1); len(got) != 1 || got[0].FireAt != 5 {
		t.Errorf("timers of A: %+v", got)
	}
	again, err := es.Load(ctx, "A")
	if err != nil || again.Version != 2 || again.DefinitionID != "d" {
		t.Errorf("A is %+v, %v", again, err)
	}
	counts, err := es.Counts(ctx)
	if err != nil || counts.Executions != 1 || counts.Outbox != 1 || counts.Spawns != 1 || counts.Timers != 1 {
		t.Errorf("counts %+v, %v", counts, err)
	}
}

// A write that the database silently leaves out, or that would land in several rows,
// is an error and leaves nothing behind.
func TestWritesThatDoNotLand(t *testing.T) {
	emit := store.Commit{Emits: []store.Emit{{Event: store.Event{ID: "x", Kind: "K"}}}}
	ignore := func(what string) string {
		return "CREATE TRIGGER t BEFORE " + what + " BEGIN SELECT RAISE(IGNORE); END"
	}
	tests := []struct {
		name   string
		sql    string
		commit store.Commit
		says   string
	}{
		{"seq is no rowid", "CREATE TABLE outbox (seq INT PRIMARY KEY, target_id TEXT, event TEXT)", emit, "does not number its entries"},
		{"seq is in descending order", "CREATE TABLE outbox (seq INTEGER PRIMARY KEY DESC, target_id TEXT, event TEXT)", emit, "does not number its entries"},
		{"seq is no key", "CREATE TABLE outbox (seq INTEGER, target_id TEXT, event TEXT)", emit, "does not number its entries"},
		{"spawns without a number", "CREATE TABLE spawns (seq INT PRIMARY KEY, parent_id TEXT, child_id TEXT, root_path TEXT, context TEXT)",
			store.Commit{Spawns: []store.Spawn{{ChildID: "c", RootPath: "r"}}}, "does not number its entries"},
		{"events ignored", ignore("INSERT ON outbox"), emit, "was not written"},
		{"marks ignored", ignore("INSERT ON processed_events"), store.Commit{ProcessedEventID: ptr("e")}, "was not written"},
		{"timers ignored", ignore("INSERT ON timers"), store.Commit{Timers: []store.TimerOp{{Action: store.Schedule, Path: "p", FireAt: 1}}}, "was not written"},
		{"spawns ignored", ignore("INSERT ON spawns"), store.Commit{Spawns: []store.Spawn{{ChildID: "c", RootPath: "r"}}}, "was not written"},
		{"steps ignored", ignore("INSERT ON trace"), store.Commit{Trace: "{}"}, "was not written"},
		{"updates ignored", ignore("UPDATE ON executions"), store.Commit{}, "was not written"},
		{"two rows of one id", "INSERT INTO executions SELECT id, definition_id, data, version FROM executions", store.Commit{}, "there are 2 rows"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sql := []string{"CREATE TABLE executions (id TEXT, definition_id TEXT, data TEXT, version INTEGER)"}
			for _, ddl := range harelDDL("")[1:] {
				name, _, _ := strings.Cut(strings.TrimPrefix(ddl, `CREATE TABLE IF NOT EXISTS "`), `"`)
				if !strings.HasPrefix(tt.sql, "CREATE TABLE "+name+" ") {
					sql = append(sql, ddl)
				}
			}
			sql = append(sql, "INSERT INTO executions VALUES ('e', 'd', '{}', 4)", tt.sql)
			es := openForeign(t, made(t, sql...))
			exe, err := es.Load(t.Context(), "e")
			if err != nil {
				t.Fatal(err)
			}
			tt.commit.Execution = exe
			if _, err := es.Commit(t.Context(), tt.commit); err == nil || !strings.Contains(err.Error(), tt.says) || errors.Is(err, store.ErrConflict) || exe.Version != 4 {
				t.Errorf("%v, version %d", err, exe.Version)
			}
			counts, err := es.Counts(t.Context())
			if again, lerr := es.Load(t.Context(), "e"); errors.Join(err, lerr) != nil || again.Version != 4 || counts.Outbox+counts.Spawns+counts.Timers != 0 {
				t.Errorf("left behind: %+v, %+v, %v", again, counts, errors.Join(err, lerr))
			}
		})
	}
}

// A key that does not lead on is an error, not an endless list.
func TestKeysThatDoNotLeadOn(t *testing.T) {
	text := func(s string) value { return value{class: 3, text: s} }
	o := order{columns: []string{"id"}, tie: []string{"_rowid_"}}
	for _, tt := range []struct {
		a, b   []value
		before bool
	}{
		{[]value{text("a"), {class: 1, int: 1}}, []value{text("a"), {class: 1, int: 1}}, false},
		{[]value{text("a"), {class: 1, int: 1}}, []value{text("a"), {class: 1, int: 2}}, true},
		{[]value{text("b")}, []value{text("a")}, false},
		{[]value{{class: 5}}, []value{{class: 2, float: -1e300}}, true},
		{[]value{{class: 1, int: 9007199254740993}}, []value{{class: 2, float: 9007199254740992}}, false},
		{[]value{{class: 1, int: 9007199254740991}}, []value{{class: 2, float: 9007199254740992}}, true},
		{[]value{{class: 1, int: 1}}, []value{text("")}, true},
		{[]value{text("z")}, []value{{class: 4}}, true},
	} {
		if got := o.before(tt.a, tt.b); got != tt.before {
			t.Errorf("%v before %v: %v", tt.a, tt.b, got)
		}
	}
}

// The conditions that make a write exact cost no index.
func TestPlans(t *testing.T) {
	for _, layout := range []string{"ours", "harel"} {
		path := filepath.Join(t.TempDir(), layout+".db")
		if layout == "harel" {
			path = made(t, harelDDL(DefaultPrefix)...)
		}
		db := openDB(t, Options{Path: path, Create: true})
		sql := db.executions.sql
		conn, err := db.file.WriterConn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{
			sql.load, sql.version, sql.isProcessed, sql.update, sql.cancel, sql.lastStep, sql.trim, sql.steps, sql.ackOutbox, sql.ackSpawn, sql.deleteTimer,
			sql.rearm, sql.purge, sql.sweepProcessed, sql.sweepTrace, sql.sweepTimers,
			"SELECT id FROM " + sql.executions + order{columns: []string{"id"}, tie: []string{"_rowid_"}}.by() + " LIMIT 3",
			"SELECT seq FROM " + sql.outbox + order{columns: []string{"seq"}}.by(),
			"SELECT id FROM " + sql.executions + " WHERE id COLLATE BINARY >= ?1 AND (id COLLATE BINARY > ?1 OR id COLLATE BINARY = ?1 AND _rowid_ > ?2)" + order{columns: []string{"id"}, tie: []string{"_rowid_"}}.by(),
			"SELECT seq FROM " + sql.outbox + " WHERE seq COLLATE BINARY >= ?1 AND seq COLLATE BINARY > ?1" + order{columns: []string{"seq"}}.by(),
		} {
			whole := strings.Contains(s, "ORDER BY") && !strings.Contains(s, "WHERE")
			err := rows(conn, "EXPLAIN QUERY PLAN "+s, func(r *sqlite.Stmt) error {
				if step := r.ColumnText(3); strings.Contains(step, "TEMP B-TREE") || strings.HasPrefix(step, "SCAN") && !whole {
					return fmt.Errorf("%s: %s", s, step)
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s: %v", layout, err)
			}
		}
	}
}

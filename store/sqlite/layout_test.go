package sqlite

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"treering/internal/testfiles"
	"treering/store"
	"treering/store/internal/sqltree"
	"zombiezen.com/go/sqlite"
)

func detect(t testing.TB, path string) Layout {
	t.Helper()
	f := open(t, Options{Path: path})
	var l Layout
	err := f.Read(t.Context(), func(conn *sqlite.Conn) (err error) {
		l, err = Detect(conn)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// made is a database made by the statements.
func made(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if err := run(conn, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDetectRealFiles(t *testing.T) {
	for _, tt := range []struct{ file, prefix, foreign string }{
		{"harel-shop.db", "", ""},
		{"harel-shop-prefixed.db", "harel", ""},
		{"harel-monitor-demo.db", "", ""},
		{"harel-bad-values.db", "", ""},
		{"contree-cli.db", "none", "a session database of contree-cli"},
		{"contree-sdk-v1.db", "none", "a session database of contree-sdk"},
		{"langgraph.sqlite", "none", "a LangGraph checkpoint database"},
	} {
		t.Run(tt.file, func(t *testing.T) {
			l := detect(t, testfiles.Copy(t, tt.file))
			if l.Foreign != tt.foreign || l.Trees || len(l.Transport) > 0 {
				t.Errorf("layout %+v, want foreign %q", l, tt.foreign)
			}
			if tt.prefix == "none" {
				if len(l.Sets) > 0 {
					t.Errorf("sets %+v, want none", l.Sets)
				}
				return
			}
			if len(l.Sets) != 1 {
				t.Fatalf("%d sets, want one", len(l.Sets))
			}
			s := l.Sets[0]
			if want := NewSet(tt.prefix); s.Prefix != tt.prefix || s.Executions != want.Executions || s.Trace != want.Trace ||
				s.Outbox != want.Outbox || s.Processed != want.Processed || s.Timers != want.Timers || s.Spawns != want.Spawns ||
				len(s.Missing) > 0 || !s.HasRows || s.Rows != -1 {
				t.Errorf("set %+v", s)
			}
		})
	}
}

// What a table is called decides nothing: its columns do.
func TestDetectByColumns(t *testing.T) {
	const exe = "(id TEXT PRIMARY KEY, definition_id TEXT, data TEXT, version INTEGER)"
	path := made(t,
		"CREATE TABLE executions (id, name)", // another program's
		"CREATE TABLE _executions "+exe,      // no prefix before the underscore
		"CREATE VIEW v_executions AS SELECT 1 AS id, 2 AS definition_id, 3 AS data, 4 AS version",
		"CREATE VIEW broken_executions AS SELECT * FROM gone",
		`CREATE TABLE "My ""odd"" é_EXECUTIONS" (ID TEXT, Definition_Id TEXT, DATA TEXT, version INTEGER, extra TEXT)`,
		`CREATE TABLE "My ""odd"" é_Outbox" (seq INTEGER PRIMARY KEY, target_id TEXT, event TEXT)`,
		`CREATE VIEW "My ""odd"" é_timers" AS SELECT 1 AS execution_id, 2 AS path, 3 AS fire_at`,
		`CREATE TABLE "My ""odd"" é_spawns" (seq INTEGER PRIMARY KEY, parent_id, child_id, context)`,
		`INSERT INTO "My ""odd"" é_executions" VALUES ('a', 'b', '{}', 1, '')`,
		"CREATE TABLE messages (seq INTEGER PRIMARY KEY AUTOINCREMENT, group_id TEXT, event TEXT, locked_by TEXT, lock_expiry REAL)",
		"CREATE TABLE groups (group_id TEXT PRIMARY KEY, name TEXT)",
		"CREATE TABLE h_transport_groups (group_id TEXT PRIMARY KEY, last_claimed_at REAL, priority INTEGER)",
		"CREATE TABLE tree_sessions (id, kind)",
		"CREATE TABLE tree_nodes (tree, id, parent_id, kind, data)",
	)
	l := detect(t, path)
	if len(l.Sets) != 1 {
		t.Fatalf("sets %+v, want one", l.Sets)
	}
	s := l.Sets[0]
	if s.Prefix != `My "odd" é` || s.Executions != `My "odd" é_EXECUTIONS` || s.Outbox != `My "odd" é_Outbox` || !s.HasRows {
		t.Errorf("set %+v", s)
	}
	want := map[string]string{
		`My "odd" é_processed_events`: "there is no such table",
		`My "odd" é_timers`:           "it is a view",
		`My "odd" é_spawns`:           "it has no column root_path",
		`My "odd" é_trace`:            "there is no such table",
	}
	if len(s.Missing) != len(want) {
		t.Errorf("missing %+v", s.Missing)
	}
	for _, m := range s.Missing {
		if want[m.Table] != m.Reason {
			t.Errorf("%s: %q, want %q", m.Table, m.Reason, want[m.Table])
		}
	}
	if quoted, err := s.Need("outbox"); err != nil || quoted != `"My ""odd"" é_Outbox"` {
		t.Errorf("outbox is %s, %v", quoted, err)
	}
	if _, err := s.Need("spawns"); !errors.Is(err, store.ErrMissingTable) || !strings.Contains(err.Error(), "root_path") {
		t.Errorf("spawns: %v, want the missing column named", err)
	}
	if l.Trees {
		t.Error("tree tables were seen by their names")
	}
	if want := []string{"h_transport_groups", "messages"}; !slices.Equal(l.Transport, want) {
		t.Errorf("transport %q, want %q", l.Transport, want)
	}
	if l.Foreign != "" {
		t.Errorf("foreign %q", l.Foreign)
	}
}

func TestDetectTrees(t *testing.T) {
	path := made(t)
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sqltree.Migrate(conn), conn.Close()); err != nil {
		t.Fatal(err)
	}
	if l := detect(t, path); !l.Trees || len(l.Sets) > 0 {
		t.Errorf("layout %+v, want trees alone", l)
	}
}

// What ExecutionDDL makes has exactly the columns of harel's own tables, and may be
// run again.
func TestExecutionDDL(t *testing.T) {
	for _, prefix := range []string{"", "harel", `o'd"d`} {
		ddl := ExecutionDDL(prefix)
		path := made(t, append(ddl, ddl...)...)
		l := detect(t, path)
		if len(l.Sets) != 1 || l.Sets[0].Prefix != prefix || len(l.Sets[0].Missing) > 0 {
			t.Fatalf("sets %+v", l.Sets)
		}
		columns := func(path, prefix string) (all []string) {
			f := open(t, Options{Path: path})
			err := f.Read(t.Context(), func(conn *sqlite.Conn) error {
				all = nil
				for _, table := range executionTables() {
					err := rows(conn, "PRAGMA table_info("+Quote(tableName(prefix, table.name))+")", func(stmt *sqlite.Stmt) error {
						// Without a rowid a key column cannot be null, which harel's text keys say
						// themselves; a text key of executions may be either.
						all = append(all, strings.Join([]string{table.name, stmt.ColumnText(1), stmt.ColumnText(2), stmt.ColumnText(3), stmt.ColumnText(5)}, " "))
						return nil
					})
					if err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		got, want := columns(path, prefix), columns(testfiles.Copy(t, "harel-shop.db"), "")
		if !slices.Equal(got, want) {
			t.Errorf("columns\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestPickSet(t *testing.T) {
	set := func(prefix string, rows int64) Set { s := NewSet(prefix); s.Rows, s.HasRows = rows, rows > 0; return s }
	p := func(s string) *string { return &s }
	two := Layout{Sets: []Set{set("", 0), set("harel", 81)}}
	full := Layout{Sets: []Set{set("", 3), set("harel", 1)}}
	empty := Layout{Sets: []Set{set("", 0), set("harel", 0)}}
	for _, tt := range []struct {
		name   string
		layout Layout
		prefix *string
		want   string // prefix, or words of the error after "!"
		note   string
	}{
		{"the only one", Layout{Sets: []Set{set("x", 0)}}, nil, "x", ""},
		{"the one with rows", two, nil, "harel", `no prefix (empty), "harel" (81 executions)`},
		{"several with rows", full, nil, `!no prefix (3 executions), "harel" (1 execution)`, ""},
		{"several without", empty, nil, `!no prefix (empty), "harel" (empty)`, ""},
		{"none", Layout{}, nil, `!nor with any other`, ""},
		{"asked for", two, p("harel"), "harel", ""},
		{"with its underscore", two, p("harel_"), "harel", ""},
		{"without a prefix", two, p(""), "", ""},
		{"in other letters", two, p("HAREL"), "harel", ""},
		{"unknown", two, p("shop"), `!no execution tables with prefix "shop"; there are no prefix (empty), "harel" (81 executions)`, ""},
		{"an underscore of its own", Layout{Sets: []Set{set("a", 1), set("a_", 1)}}, p("a_"), "a_", ""},
		{"no prefix unknown", Layout{Sets: []Set{set("a", 1)}}, p(""), `!no execution tables without a prefix; there are "a" (1 execution)`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, note, err := PickSet(tt.layout, tt.prefix)
			if says, fails := strings.CutPrefix(tt.want, "!"); fails {
				var ambiguous *AmbiguousSetError
				var unknown *UnknownPrefixError
				if err == nil || !strings.Contains(err.Error(), says) || errors.As(err, &ambiguous) == errors.As(err, &unknown) {
					t.Errorf("error %v, want one with %q", err, says)
				}
				if ambiguous != nil && len(ambiguous.Sets) != len(tt.layout.Sets) {
					t.Errorf("%d sets in the error", len(ambiguous.Sets))
				}
				return
			}
			if err != nil || got.Prefix != tt.want || !strings.Contains(note, tt.note) || (note == "") != (tt.note == "") {
				t.Errorf("set %q, note %q, %v; want %q, %q", got.Prefix, note, err, tt.want, tt.note)
			}
		})
	}
}

// Where there are several sets their rows are counted.
func TestDetectSeveralSets(t *testing.T) {
	path := testfiles.Copy(t, "harel-shop.db")
	w := writerProcess(t, path)
	w.do(ExecutionDDL("harel")...)
	w.close()
	l := detect(t, path)
	if len(l.Sets) != 2 || l.Sets[0].Rows != 81 || l.Sets[1].Rows != 0 || l.Sets[1].HasRows {
		t.Fatalf("sets %+v", l.Sets)
	}
	if s, note, err := PickSet(l, nil); err != nil || s.Prefix != "" || note == "" {
		t.Errorf("picked %q, note %q, %v", s.Prefix, note, err)
	}
}

func TestCheckPrefix(t *testing.T) {
	for prefix, ok := range map[string]bool{
		"": true, "harel": true, "_x9": true, "9x": false, "a-b": false, "é": false, "a b": false, `a"`: false,
		strings.Repeat("a", 30): true, strings.Repeat("a", 31): false,
	} {
		if err := CheckPrefix(prefix); (err == nil) != ok {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

package contree

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	zombie "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/internal/testfiles"
	"treering/store"
	"treering/store/foreign"
	"treering/store/sqlite"
	"treering/store/storetest"
)

func open(t testing.TB, path string) *foreign.Store {
	t.Helper()
	f, err := sqlite.OpenFile(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	s := foreign.NewStore(New(f), path)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// made is a database of these statements.
func made(t testing.TB, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.db")
	conn, err := zombie.OpenConn(path, zombie.OpenReadWrite|zombie.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

func outline(t testing.TB, s *foreign.Store, session string) (out []store.Outline) {
	t.Helper()
	err := store.All(func(p store.PageRequest) (store.Page[store.Outline], error) {
		return s.ListOutline(t.Context(), session, p)
	},
		func(o store.Outline) error { out = append(out, o); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tree(t testing.TB, s *foreign.Store, session string) (out []string) {
	t.Helper()
	for _, o := range outline(t, s, session) {
		l := o.ID
		if o.ParentID != nil {
			l += "<" + *o.ParentID
		}
		l += " " + o.Kind + ": " + o.Title
		if o.Failed {
			l += " !"
		}
		if len(o.Labels) > 0 {
			l += fmt.Sprintf(" %q", o.Labels)
		}
		if o.Active {
			l += " *"
		}
		out = append(out, l)
	}
	return out
}

func TestReadingHalf(t *testing.T) {
	for _, file := range []string{"contree-cli.db", "contree-sdk-v1.db"} {
		t.Run(file, func(t *testing.T) {
			f, err := sqlite.OpenFile(t.Context(), sqlite.Options{Path: testfiles.Copy(t, file)})
			if err != nil {
				t.Fatal(err)
			}
			storetest.TestTreeReading(t, foreign.NewStore(New(f), file))
		})
	}
}

func TestARealDatabase(t *testing.T) {
	s := open(t, testfiles.Copy(t, "contree-cli.db"))
	heads, err := s.Heads(t.Context())
	if err != nil || len(heads) != 3 {
		t.Fatalf("%+v, %v", heads, err)
	}
	nodes := 0
	forks := map[string]int{}
	for _, h := range heads {
		children := map[string]int{}
		for _, o := range outline(t, s, h.ID) {
			nodes++
			if o.ParentID != nil {
				children[*o.ParentID]++
			}
		}
		for _, n := range children {
			if n > 1 {
				forks[h.ID]++
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"acme_build-api": 3, "acme_fix-flaky-test": 3}, forks); diff != "" || nodes != 29 {
		t.Errorf("%d nodes, branch points %s", nodes, diff)
	}
	got := tree(t, s, "acme_build-api")
	if got[0] != "1 use: ubuntu:24.04" || !strings.Contains(strings.Join(got, "\n"), `["main"] *`) || !strings.Contains(strings.Join(got, "\n"), `["experiment"]`) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	n, err := s.Node(t.Context(), "acme_build-api", "2")
	if err != nil || n.Data.At("raw", "operation_uuid") != `"9b08923d10c67fd994b2b8fda02f34a6"` {
		t.Errorf("%s, %v", n.Data, err)
	}
	// What may be a secret is not read, whatever is asked for.
	for _, h := range heads {
		for _, o := range outline(t, s, h.ID) {
			n, err := s.Node(t.Context(), h.ID, o.ID)
			if err != nil || strings.Contains(string(n.Data), "not-a-real-secret") {
				t.Errorf("%s, %v", n.Data, err)
			}
		}
	}
}

func TestTheOlderSDK(t *testing.T) {
	s := open(t, testfiles.Copy(t, "contree-sdk-v1.db"))
	want := []string{
		`1 init: python:3.12-slim`, `2<1 run: pip install pytest`, `3<2 run: pytest -q (exit 1) ! ["main"]`, `4<2 run: pytest -q -x ["attempt-2"] *`,
	}
	if diff := cmp.Diff(want, tree(t, s, "eval-17")); diff != "" {
		t.Error(diff)
	}
}

// A build is a set of roots; the newest generation of tables comes first; parents of other
// sessions are missing here; names that point nowhere are told.
func TestOddDatabases(t *testing.T) {
	table := func(suffix string) string {
		return fmt.Sprintf(`CREATE TABLE session_history%[1]s (id INTEGER PRIMARY KEY, session_id TEXT, image_uuid TEXT, parent_id INTEGER, kind TEXT, title TEXT, operation_uuid TEXT, created_at TEXT);
CREATE TABLE session_branches%[1]s (session_id TEXT, branch_name TEXT, history_id INTEGER);`, suffix)
	}
	s := open(t, made(t, table("_v2")+table("_v10")+`
INSERT INTO session_history_v2 VALUES (1, 'other', 'i', NULL, 'run', 'old', NULL, '');
INSERT INTO session_history_v10 VALUES (1, 'build:0123456789abcdef', 'abcdef0123', NULL, '', '', NULL, '2026-03-01T10:00:00');
INSERT INTO session_history_v10 VALUES (2, 'build:0123456789abcdef', 'i', NULL, 'cd', '/src', NULL, 'never');
INSERT INTO session_history_v10 VALUES (3, 'other', 'i', 2, 'file', '/etc/hosts', NULL, '2026-03-01T11:00:00');
INSERT INTO session_branches_v10 VALUES ('other', 'main', 3), ('other', 'lost', 1);`))
	heads, err := s.Heads(t.Context())
	if err != nil || len(heads) != 3 || heads[0].ID != "other" || heads[1].Kind != BuildKind || heads[2].ID != "other#2" {
		t.Fatalf("%+v, %v", heads, err)
	}
	want := []string{"build:0123456789abcdef:root root: build:0123456789abcdef", "1<build:0123456789abcdef:root step: step abcdef01", "2<build:0123456789abcdef:root cd: cd /src"}
	if diff := cmp.Diff(want, tree(t, s, heads[1].ID)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`3 file: edit /etc/hosts ["main"]`}, tree(t, s, "other")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1 run: old"}, tree(t, s, "other#2")); diff != "" {
		t.Error(diff)
	}
	r, _, err := s.Report(t.Context(), "other")
	if err != nil || r.Orphans != 1 || len(r.Warnings) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, w := range r.Warnings {
		if !strings.HasPrefix(w.Table, "session_") {
			t.Errorf("no table: %+v", w)
		}
	}
}

// A database is followed while its program writes it.
func TestADatabaseThatGrows(t *testing.T) {
	path := testfiles.Copy(t, "contree-sdk-v1.db")
	s := open(t, path)
	before, err := s.ChangeToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := zombie.OpenConn(path, zombie.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := sqlitex.ExecuteScript(conn, "INSERT INTO session_history_v1 (session_id, image_uuid, parent_id, kind, title) VALUES ('eval-17', 'i', 4, 'run', 'more')", nil); err != nil {
		t.Fatal(err)
	}
	after, err := s.ChangeToken(t.Context())
	if err != nil || after == before {
		t.Errorf("the token is %q as before, %v", after, err)
	}
	if got := tree(t, s, "eval-17"); len(got) != 5 {
		t.Errorf("%q", got)
	}
}

// Every generation of the tables is known by its columns, whatever the names of the
// file; keys may be stored as bytes; tables that can hold secrets are never read.
func TestGenerations(t *testing.T) {
	secrets := `CREATE TABLE session_env%[1]s (%[2]s TEXT, key TEXT, value TEXT); INSERT INTO session_env%[1]s VALUES ('s', 'TOKEN', 'secret');`
	for name, c := range map[string]struct{ script, key, suffix, files, exit string }{
		"contree-cli": {`
CREATE TABLE session_history (id INTEGER PRIMARY KEY, session_key TEXT, image_uuid TEXT, parent_id INTEGER, kind TEXT, title TEXT, operation_uuid TEXT DEFAULT '', created_at TEXT);
CREATE TABLE session_branches (session_key TEXT, branch_name TEXT, history_id INTEGER, PRIMARY KEY (session_key, branch_name));
CREATE TABLE session_state (session_key TEXT PRIMARY KEY, active_branch TEXT, cwd TEXT, updated_at TEXT);
CREATE TABLE session_files (history_id INTEGER, instance_path TEXT, file_uuid TEXT, uid INTEGER, gid INTEGER, mode TEXT);
CREATE TABLE shell_history (id INTEGER PRIMARY KEY, session_key TEXT, line TEXT, created_at TEXT);
INSERT INTO shell_history VALUES (1, 's', 'export TOKEN=secret', '');
INSERT INTO session_files VALUES (2, '/etc/hosts', 'f', 0, 0, '0644');
INSERT INTO session_history VALUES (1, 's', 'abcdef012345', NULL, 'use', '', '', '2026-03-01T10:00:00'), (2, 's', 'i', 1, 'run', 'make', 'op', '2026-03-01T10:00:01');
INSERT INTO session_branches VALUES ('s', 'main', 2), ('s', 'aside', 1); INSERT INTO session_state VALUES ('s', 'main', '/srv/demo', '2026-03-01T10:00:02');`,
			"session_key", "", `[{"path":"/etc/hosts","mode":"0644"}]`, ""},
		"contree-sdk without a number": {`
CREATE TABLE session_history (id INTEGER PRIMARY KEY, session_id TEXT, image_uuid TEXT, parent_id INTEGER, kind TEXT, title TEXT, operation_uuid TEXT, exit_code INTEGER, created_at TEXT);
CREATE TABLE session_branches (session_id TEXT, branch_name TEXT, history_id INTEGER);
CREATE TABLE session_state (session_id TEXT, active_branch TEXT, cwd TEXT, updated_at TEXT);
INSERT INTO session_history VALUES (1, 's', 'abcdef012345', NULL, 'use', '', NULL, NULL, '2026-03-01T10:00:00'), (2, 's', 'i', 1, 'run', 'make', 'op', 3, '2026-03-01T10:00:01');
INSERT INTO session_branches VALUES ('s', 'main', 2), ('s', 'aside', 1); INSERT INTO session_state VALUES ('s', 'main', '/srv/demo', '2026-03-01T10:00:02');`,
			"session_id", "", "", " (exit 3) !"},
		"contree-sdk 7, keys as bytes": {`
CREATE TABLE session_history_v7 (id INTEGER PRIMARY KEY, session_id TEXT, image_uuid TEXT, parent_id INTEGER, kind TEXT, title TEXT, operation_uuid TEXT, exit_code INTEGER, created_at TEXT);
CREATE TABLE session_branches_v7 (session_id TEXT, branch_name TEXT, history_id INTEGER);
CREATE TABLE session_state_v7 (session_id TEXT, active_branch TEXT, updated_at TEXT);
CREATE TABLE session_metadata_v7 (session_id TEXT, cwd TEXT, updated_at TEXT);
CREATE TABLE session_history_files_v7 (history_id INTEGER, file_path TEXT);
CREATE TABLE session_operations_v7 (session_id TEXT, operation_uuid TEXT, payload TEXT);
INSERT INTO session_history_files_v7 VALUES (2, 'a.txt');
INSERT INTO session_history_v7 VALUES (1, CAST('s' AS BLOB), 'abcdef012345', NULL, 'use', '', NULL, NULL, '2026-03-01T10:00:00'), (2, CAST('s' AS BLOB), 'i', 1, 'run', 'make', 'op', 0, '2026-03-01T10:00:01');
INSERT INTO session_branches_v7 VALUES (CAST('s' AS BLOB), 'main', 2), (CAST('s' AS BLOB), 'aside', 1); INSERT INTO session_state_v7 VALUES (CAST('s' AS BLOB), 'main', '');
INSERT INTO session_metadata_v7 VALUES ('s', '/srv/demo', '');`,
			"session_id", "_v7", `[{"path":"a.txt"}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, made(t, c.script+fmt.Sprintf(secrets, c.suffix, c.key)))
			heads, err := s.Heads(t.Context())
			if err != nil || len(heads) != 1 || heads[0].ID != "s" || heads[0].Project != "/srv/demo" {
				t.Fatalf("%+v, %v", heads, err)
			}
			want := []string{`1 use: use abcdef01 ["aside"]`, `2<1 run: make` + c.exit + ` ["main"] *`}
			if diff := cmp.Diff(want, tree(t, s, "s")); diff != "" {
				t.Error(diff)
			}
			n, err := s.Node(t.Context(), "s", "2")
			if err != nil || string(n.Data.At("raw", "files")) != c.files || strings.Contains(string(n.Data), "secret") {
				t.Errorf("%s, %v", n.Data, err)
			}
		})
	}
}

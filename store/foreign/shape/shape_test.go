package shape

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	zombie "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/store"
	"treering/store/foreign"
	"treering/store/sqlite"
	"treering/store/storetest"
)

// made is the store of a database of these statements.
func made(t testing.TB, script string) *foreign.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.db")
	conn, err := zombie.OpenConn(path, zombie.OpenReadWrite|zombie.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
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

func written(t testing.TB, lines ...string) *foreign.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mine.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return foreign.NewStore(foreign.NewLineReader(foreign.OneFile(path), []*foreign.LineFormat{Format()}), path)
}

func tree(t testing.TB, s *foreign.Store, session string) (out []string) {
	t.Helper()
	err := store.All(func(p store.PageRequest) (store.Page[store.Outline], error) {
		return s.ListOutline(t.Context(), session, p)
	}, func(o store.Outline) error {
		line := o.ID
		if o.ParentID != nil {
			line += "<" + *o.ParentID
		}
		out = append(out, line+" "+o.Kind+": "+o.Title)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const treeTables = `
CREATE TABLE trees (session_id TEXT PRIMARY KEY, kind TEXT NOT NULL, secret TEXT);
CREATE TABLE nodes (session_id TEXT, node_id TEXT, parent_id TEXT, kind TEXT, data TEXT, token TEXT);
INSERT INTO trees VALUES ('s', 'docker-build', 'hush'), ('empty', 'session', 'hush');
INSERT INTO nodes VALUES ('s', 'a', NULL, 'init', '{"title":"begin"}', 'hush'), ('s', 'c', 'a', 'run', '{"user":{"label":"mine"}}', 'hush'),
 ('s', 'b', 'a', 'run', 'no json', 'hush'), ('other', 'x', 'gone', 'run', x'7b7d', 'hush'), ('s', 'a', 'c', 'run', '{"command":"make"}', 'hush');`

func TestTables(t *testing.T) {
	s := made(t, treeTables)
	page, err := s.ListSessions(t.Context(), store.SessionFilter{}, store.PageRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := []store.SessionInfo{{ID: "empty", Kind: "session"}, {ID: "s", Kind: "docker-build"}, {ID: "other", Kind: "session"}}
	if diff := cmp.Diff(want, page.Items); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a init: begin", "c<a run: mine", "b<a run: no json", "a#2<c run: make"}, tree(t, s, "s")); diff != "" {
		t.Error(diff)
	}
	n, err := s.Node(t.Context(), "s", "c")
	if err != nil || n.Data.Get("raw") != `{"id":"c","parent_id":"a","kind":"run","data":{"user":{"label":"mine"}}}` {
		t.Errorf("%s, %v", n.Data, err)
	}
	r, _, err := s.Report(t.Context(), "s")
	if err != nil || r.Renamed != 1 || len(r.Warnings) != 2 || r.Warnings[0].Place.String() != "row 3" {
		t.Errorf("%+v, %v", r, err)
	}
	storetest.TestTreeReading(t, s) // closes it
}

// Ids may be numbers, and rows may have no number of their own.
func TestTablesWithoutRowNumbers(t *testing.T) {
	s := made(t, `CREATE TABLE n (session INTEGER, id INTEGER, parent_id INTEGER, kind, data, PRIMARY KEY (session, id)) WITHOUT ROWID;
INSERT INTO n VALUES (7, 10, 9, 'k', '{}'), (7, 9, NULL, 'k', '{}'), (8, 9, NULL, 'k', '{"text":"eight"}')`)
	if diff := cmp.Diff([]string{"9 k: k 9", "10<9 k: k 10"}, tree(t, s, "7")); diff != "" {
		t.Error(diff)
	}
	storetest.TestTreeReading(t, s)
	s = made(t, `CREATE TABLE n (session, id, parent_id, kind, data); INSERT INTO n VALUES (7, 1, NULL, 'k', '{}'), (7, 2, 1, 'k', '{}')`)
	if diff := cmp.Diff([]string{"1 k: k 1", "2<1 k: k 2"}, tree(t, s, "7")); diff != "" {
		t.Error(diff)
	}
	storetest.TestTreeReading(t, s)
}

func TestDetect(t *testing.T) {
	node := []string{"session_id", "id", "parent_id", "kind", "data"}
	for _, tt := range []struct {
		name string
		c    foreign.Columns
		want bool
	}{
		{"nothing", foreign.Columns{}, false},
		{"the shape", foreign.Columns{"n": node}, true},
		{"in capitals", foreign.Columns{"N": {"SESSION", "NODE_ID", "PARENT_ID", "KIND", "DATA"}}, true},
		{"twice", foreign.Columns{"n": node, "m": node}, false},
		{"no session", foreign.Columns{"n": node[1:]}, false},
		{"no data", foreign.Columns{"n": node[:4]}, false},
	} {
		if got := Detect(tt.c); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}

func TestLines(t *testing.T) {
	s := written(t, `{"format":"mine","type":"head"}`, `{"id":1,"parent_id":null,"kind":"note","text":"one\ntwo"}`,
		`{"id":"2","parentId":1,"role":"user","content":[{"type":"text","text":"hello"}],"timestamp":"2026-03-01T10:00:00Z"}`,
		`{"node_id":"3","parent_id":"2","data":{"title":"three"}}`, `{"type":"other"}`, `[1]`)
	if diff := cmp.Diff([]string{"1 note: one", "2<1 user: hello", "3<2 node: three"}, tree(t, s, "mine")); diff != "" {
		t.Error(diff)
	}
	r, _, err := s.Report(t.Context(), "mine")
	if err != nil || r.Unreadable != 1 || r.Skipped != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	storetest.TestTreeReading(t, s)
	for _, line := range []string{`{"id":"a"}`, `{"parent_id":"a"}`, `{"id":"","parent_id":null}`, `{"id":{},"parent_id":null}`} {
		if sniff([]store.JSON{store.JSON(line)}) {
			t.Errorf("%s has the shape", line)
		}
	}
}

// Names that are no text, or are not there, hide neither their rows nor others.
func TestTablesWithNamesThatAreNoText(t *testing.T) {
	for _, c := range []struct{ name, table string }{
		{"numbered", "CREATE TABLE n (session_id, id, parent_id, kind, data)"},
		{"without row numbers", "CREATE TABLE n (session_id, id, parent_id, kind, data, PRIMARY KEY (session_id, id)) WITHOUT ROWID"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t, c.table+`;
INSERT INTO n VALUES ('s', 'a', NULL, 'k', '{"text":"a"}'), ('s', x'fffe', 'a', 'k', '{"text":"b"}'), ('s', 'c', x'fffe', 'k', x'00ff'), (x'ff', 'd', NULL, 'k', '{"text":"d"}'), ('', 'e', NULL, 'k', '{"text":"e"}')`)
			want := map[string][]string{
				"s":      {"a k: a", "\ufffd<a k: b", "c<\ufffd k: \x00\ufffd"},
				"\ufffd": {"d k: d"},
				"":       {"e k: e"},
			}
			heads, err := s.Heads(t.Context())
			if err != nil || len(heads) != len(want) {
				t.Fatalf("%+v, %v", heads, err)
			}
			for _, h := range heads {
				got := tree(t, s, h.ID)
				slices.Sort(got)
				slices.Sort(want[h.ID])
				if diff := cmp.Diff(want[h.ID], got); diff != "" {
					t.Errorf("%q: %s", h.ID, diff)
				}
				page, err := s.ListNodes(t.Context(), h.ID, store.PageRequest{})
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range page.Items {
					if raw := n.Data.Get("raw"); raw.Get("kind") != `"k"` || strings.Contains(string(raw.Get("data")), "text") && raw.At("data", "text") != n.Data.Get("title") {
						t.Errorf("%q: %s", n.ID, n.Data)
					}
				}
			}
		})
	}
	s := made(t, `CREATE TABLE n (session_id, id, parent_id, kind, data); INSERT INTO n VALUES (NULL, 'a', NULL, 'k', '{}'), ('', 'b', 'a', 'k', '{}')`)
	if diff := cmp.Diff([]string{"a k: k a", "b<a k: k b"}, tree(t, s, "")); diff != "" {
		t.Error(diff)
	}
	storetest.TestTreeReading(t, s)
}

// Records that tell of a failure are marked, as far as that is told as usual.
func TestFailures(t *testing.T) {
	for data, want := range map[string]bool{`{"exit_code":1}`: true, `{"exit_code":0}`: false, `{"error":"no rule"}`: true, `{"error":null}`: false, `{"error":false}`: false, `{"error":""}`: false, `{}`: false} {
		if got := failed(store.JSON(data)); got != want {
			t.Errorf("%s: %t", data, got)
		}
	}
}

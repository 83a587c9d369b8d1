package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/internal/testfiles"
	"treering/store"
	"treering/store/locate"
)

func piFile(t testing.TB, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "talk.jsonl")
	text := `{"type":"session","version":3,"id":"talk","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/srv/demo"}` + "\n" + strings.Join(lines, "\n") + "\n"
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func piUser(id, parent, said string) string {
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"%s"}}`, id, parent, said)
}

// The tree of another program's session is drawn from its outline: with its labels,
// its head, under the cursor, and what is wrong with it.
func TestASessionOfAnotherProgram(t *testing.T) {
	path := piFile(t, piUser("z", "null", "begin"), piUser("b", "z", "the first way"), piUser("c", "z", "a third way"), piUser("a", "z", "the other way"), `[1]`,
		`{"type":"label","id":"l","parentId":"a","timestamp":"2026-03-01T10:00:02.000Z","targetId":"a","label":"mine"}`,
		`{"type":"message","id":"t","parentId":"l","timestamp":"2026-03-01T10:00:03.000Z","message":{"role":"toolResult","toolName":"bash","content":"no rule","isError":true}}`)
	o, err := locate.Open(t.Context(), path, locate.Options{})
	must(t, err)
	d := open(t, o, 120, 40)
	d.shows("begin", "1 warning", "[mine]", "[head]", "read-only").press("2")
	if got := d.node(); got != "t" {
		t.Errorf("the cursor is on %q, not on the head", got)
	}
	// What leads to the head is first, then siblings in the order in which they were written.
	if got := strings.Join(d.rows(), " "); got != "talk z a l t b c" {
		t.Errorf("rows %s", got)
	}
	d.press("i").shows("line 6, byte", "not a JSON object").press("esc")
	// What is appended is seen, and moves the head, but not the cursor.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(piUser("n", "t", "go on") + "\n")
	must(t, err)
	must(t, f.Close())
	d.changed().shows("go on  [head]")
	if got := d.node(); got != "t" {
		t.Errorf("the cursor went to %q", got)
	}
}

// What is appended may say where earlier nodes belong: the tree is read anew.
func TestNodesOfAnotherProgramMove(t *testing.T) {
	for name, before := range map[string][]string{
		"a parent that comes late": {piUser("a", "null", "one"), piUser("b", "a", "two"), piUser("c", "late", "three")},
		"the first link of a file": {piUser("a", "null", "one"), piUser("b", "null", "two")},
	} {
		t.Run(name, func(t *testing.T) {
			path := piFile(t, before...)
			o, err := locate.Open(t.Context(), path, locate.Options{})
			must(t, err)
			d := open(t, o, 120, 40)
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteString(piUser("late", "b", "it is here") + "\n")
			must(t, err)
			must(t, f.Close())
			d.changed().shows("it is here").hides("more parent")
			x := d.m.tree.widget.Index()
			got := map[string]string{}
			for r := range x.Walk() {
				got[x.ID(r)] = x.ID(x.Parent(r))
			}
			want := map[string]string{"talk": "", "a": "talk", "b": "a", "late": "b", "c": "late"}
			if len(before) == 2 {
				want = map[string]string{"talk": "", "a": "talk", "b": "talk", "late": "b"}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A head that moves without a new node is seen.
func TestAHeadThatMoves(t *testing.T) {
	path := testfiles.Copy(t, "contree-cli.db")
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must(t, err)
	defer func() { must(t, db.Close()) }()
	exec := func(query string) {
		t.Helper()
		must(t, sqlitex.ExecuteTransient(db, query, nil))
	}
	var key, branch string
	must(t, sqlitex.ExecuteTransient(db, `SELECT s.session_key, b.branch_name FROM session_state s JOIN session_branches b ON b.session_key = s.session_key
		WHERE b.branch_name <> s.active_branch AND b.history_id NOT IN (SELECT history_id FROM session_branches a WHERE a.session_key = s.session_key AND a.branch_name = s.active_branch)
		ORDER BY 1, 2 LIMIT 1`, &sqlitex.ExecOptions{ResultFunc: func(row *sqlite.Stmt) error {
		key, branch = row.ColumnText(0), row.ColumnText(1)
		return nil
	}}))
	o, err := locate.Open(t.Context(), path, locate.Options{})
	must(t, err)
	d := open(t, o, 160, 45)
	for d.m.tree.of.id != key {
		was := d.m.tree.of.id
		if d.press("1", "down"); d.m.tree.of.id == was {
			t.Fatalf("no session %q", key)
		}
	}
	x := d.m.tree.widget.Index()
	before := x.ID(d.m.tree.told.active)
	exec(fmt.Sprintf("UPDATE session_state SET active_branch = '%s' WHERE session_key = '%s'", branch, key))
	d.changed()
	after := d.m.tree.widget.Index().ID(d.m.tree.told.active)
	if before == after || !slices.Contains(d.m.tree.told.labels[d.m.tree.told.active], branch) {
		t.Errorf("the head was %s and is %s, of %q", before, after, d.m.tree.told.labels)
	}
	d.shows("[head] [" + branch[:8])
}

// Answers of tools that ran at once are no branches: neither in the rows nor for the
// filter that asks for those.
func TestFalseForks(t *testing.T) {
	line := func(kind, id, parent, content string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"S","timestamp":"2026-03-01T10:00:00.000Z","message":{"role":%q,"content":%s}}`, kind, id, parent, kind, content)
	}
	path := filepath.Join(t.TempDir(), "5f6d1f2e-0000-4000-8000-000000000001.jsonl")
	call := `[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make"}}]`
	answer := `[{"type":"tool_result","tool_use_id":"t","content":"done"}]`
	must(t, os.WriteFile(path, []byte(strings.Join([]string{
		line("user", "u1", "null", `"begin"`), line("assistant", "a1", `"u1"`, call), line("user", "r1", `"a1"`, answer), line("assistant", "a2", `"a1"`, call),
		line("user", "r2", `"a2"`, answer), line("user", "u2", `"r2"`, `"one way"`), line("user", "u3", `"r2"`, `"the other way"`),
	}, "\n")+"\n"), 0o600))
	o, err := locate.Open(t.Context(), path, locate.Options{})
	must(t, err)
	d := open(t, o, 120, 40)
	if n := strings.Count(d.screen(), "2 branches"); n != 1 {
		t.Errorf("%d rows have branches", n)
	}
	d.press("2", "/").typed("forks()").shows("1 of 7").press("esc")
}

// Where there is no room for the number of branches the title has it: the lanes tell
// of the fork as well, and an end mark alone tells nothing.
func TestNarrowRowsGiveTheirTitlesTheRoom(t *testing.T) {
	d := openWith(t, nestedForks(t, 60), config{}, 80, 24)
	d.press("2", "G", "g").press("j", "j", "j", "j", "j", "j", "j", "j", "j", "j", "j", "j")
	for _, row := range strings.Split(d.text(), "\n") {
		if strings.HasSuffix(strings.TrimRight(row, " "), "… …") {
			t.Errorf("%q", row)
		}
	}
	d.shows("  2 branches") // where there is room
}

// nestedForks is a session in which every fork begins on a branch of the one before.
func nestedForks(t *testing.T, deep int) *locate.Opened {
	t.Helper()
	o := openMemory(t)
	_, err := o.Trees.CreateSession(t.Context(), "forks", "session", nil)
	must(t, err)
	add := func(id, parent string) {
		n := store.Node{ID: id, Kind: "run", Data: store.ObjectOf(store.Member{Key: "title", Value: store.Quote("step " + id + " of it")})}
		if parent != "" {
			n.ParentID = &parent
		}
		must(t, o.Trees.Append(t.Context(), "forks", n))
	}
	parent := "000"
	add(parent, "")
	for i := range deep {
		a, b := fmt.Sprintf("%03da", i), fmt.Sprintf("%03db", i)
		add(b, parent)
		add(a, parent)
		parent = a
	}
	return o
}

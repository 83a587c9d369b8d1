package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"treering/internal/testfiles"
	"treering/store"
)

const talkHeader = `{"type":"session","version":3,"id":"talk","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/srv/demo"}` + "\n"

func entry(id, parent, said string) string {
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"%s"}}`+"\n", id, parent, said)
}

func written(t *testing.T, path string, parts ...string) string {
	t.Helper()
	must(t, os.WriteFile(path, []byte(strings.Join(parts, "")), 0o600))
	return path
}

// target is a world whose store is yet to be made.
func target(t *testing.T) *world {
	w := newWorld(t)
	w.store = filepath.Join(t.TempDir(), "mine.db")
	return w
}

// Every file is imported once, whole: nothing is added the second time, nothing is
// changed in the source, and the tree is the same.
func TestImportTwice(t *testing.T) {
	for _, file := range []string{"pi-session.jsonl", "hostile-text.jsonl", "claude-compacted.jsonl", "claude-torn-lines.jsonl", "contree-cli.db", "contree-sdk-v1.db", "langgraph.sqlite"} {
		t.Run(file, func(t *testing.T) {
			w := target(t)
			source := testfiles.Copy(t, file)
			before := seen(t, filepath.Dir(source))
			dry := strict(t, "dry", w.ok("import", source, "--dry-run", "--json"))
			if exists(w.store) {
				t.Fatal("a dry run made the store")
			}
			first := strict(t, "first", w.ok("import", source, "--create", "--json"))
			second := strict(t, "second", w.ok("import", source, "--json"))
			if len(first) == 0 {
				t.Fatal("no sessions")
			}
			for i, f := range first {
				if f.Get("added") != f.Get("nodes") || dry[i].Get("added") != f.Get("nodes") || second[i].Get("added") != "0" || f.Get("nodes") == "0" {
					t.Errorf("%s, then %s; dry %s", f, second[i], dry[i])
				}
				id, _ := f.Get("session_id").Text()
				from := newWorld(t)
				from.store = source
				there := map[string]store.JSON{}
				for _, n := range strict(t, id, w.ok("nodes", id, "--json")) {
					there[string(n.Get("id"))] = n
				}
				for _, n := range strict(t, id, from.ok("nodes", id, "--json")) {
					mine, ok := there[string(n.Get("id"))]
					if !ok {
						t.Errorf("%s is not there", n.Get("id"))
						continue
					}
					if mine.Get("kind") != n.Get("kind") || n.Get("parent_id") != "null" && mine.Get("parent_id") != n.Get("parent_id") {
						t.Errorf("%s became %s", n, mine)
					}
				}
			}
			unchanged(t, filepath.Dir(source), before)
		})
	}
}

func TestImportGrowth(t *testing.T) {
	w := target(t)
	source := filepath.Join(t.TempDir(), "talk.jsonl")
	written(t, source, talkHeader, entry("a", "null", "one"), entry("b", "a", "two"), entry("c", "late", "its parent comes later"))
	added := func(want string, says ...string) {
		t.Helper()
		got := strict(t, "import", w.ok("import", source, "--create", "--json"))[0]
		if string(got.Get("added")) != want {
			t.Errorf("%s nodes were added, want %s", got.Get("added"), want)
		}
		for _, s := range says {
			if !strings.Contains(string(got.Get("warnings")), s) {
				t.Errorf("warnings %s, want %q", got.Get("warnings"), s)
			}
		}
	}
	added("4", "its parent late is not there")
	added("0")
	// The head, the label and the title of the session change nothing that is stored.
	grown := []string{talkHeader, entry("a", "null", "one"), entry("b", "a", "two"), entry("c", "late", "its parent comes later"), entry("d", "b", "three"),
		`{"type":"label","id":"l","parentId":"d","targetId":"a","label":"mine","timestamp":"2026-03-01T10:00:02.000Z"}` + "\n",
		`{"type":"session_info","id":"i","parentId":"l","name":"a name","timestamp":"2026-03-01T10:00:02.000Z"}` + "\n"}
	written(t, source, grown...)
	added("3")
	written(t, source, append(grown, entry("late", "a", "here"))...)
	added("1", "node c hangs below late in the source now; it stays below talk")
	added("0")
	same(t, "parent", string(strict(t, "node", w.ok("node", "talk", "c", "--json"))[0].Get("parent_id")), `"talk"`)

	// Other contents are a conflict, found before anything is written.
	written(t, source, talkHeader, entry("new", "null", "new"), entry("a", "new", "another one"))
	r := w.run("import", source)
	if r.code != exitConflict || !strings.Contains(r.err, `node "a" of session "talk": it is stored with other data`) {
		t.Errorf("%d %s", r.code, r.err)
	}
	w.fails(exitNotFound, "new", "node", "talk", "new")
	w.fails(exitConflict, "is of kind", "import", source, "--kind", "other")
	w.ok("import", source, "--session", "renamed", "--kind", "other")
	same(t, "kind", string(strict(t, "sessions", w.ok("sessions", "--kind", "other", "--json"))[0].Get("session_id")), `"renamed"`)
}

// A session without a header may get a second first message.
func TestImportASecondRoot(t *testing.T) {
	w := target(t)
	source := filepath.Join(t.TempDir(), "5f6d1f2e-0000-4000-8000-000000000001.jsonl")
	line := func(id, parent, said string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"%s","parentUuid":%s,"sessionId":"s","timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"%s"}}`+"\n", id, parent, said)
	}
	written(t, source, line("u1", "null", "one"), line("u2", `"u1"`, "two"))
	w.ok("import", source, "--create")
	written(t, source, line("u1", "null", "one"), line("u2", `"u1"`, "two"), line("u3", "null", "again"))
	got := strict(t, "import", w.ok("import", source, "--json"))[0]
	same(t, "added", string(got.Get("added")), "1")
}

// Data that no store takes is kept as text, or as its size, and said.
func TestImportWhatNoStoreTakes(t *testing.T) {
	w := target(t)
	source := filepath.Join(t.TempDir(), "talk.jsonl")
	long := strings.Repeat("x", store.MaxDataBytes+1)
	name := strings.Repeat("n", store.MaxIDBytes+1)
	written(t, source, talkHeader, entry("long", "null", long), entry(name, "long", "a long id"),
		strings.Replace(entry("twice", name, "x"), `"id":"twice"`, `"id":"x","id":"twice"`, 1))
	got := strict(t, "import", w.ok("import", source, "--create", "--json"))[0]
	same(t, "added", string(got.Get("added")), "4")
	for _, says := range []string{"are more than a node holds", "its record is kept as text"} {
		if !strings.Contains(string(got.Get("warnings")), says) {
			t.Errorf("warnings %.300s, want %q", got.Get("warnings"), says)
		}
	}
	data := strict(t, "long", w.ok("node", "talk", "long", "--json"))[0].Get("data")
	if data.Get("truncated") != "true" || data.Get("sha256").Kind() != store.String || data.Get("role") != `"user"` {
		t.Errorf("%.300s", data)
	}
	twice := strict(t, "twice", w.ok("node", "talk", "twice", "--json"))[0]
	if text, _ := twice.At("data", "raw_text").Text(); !strings.Contains(text, `"id":"x","id":"twice"`) {
		t.Errorf("%s", twice)
	}
	if parent, _ := twice.Get("parent_id").Text(); parent != targetID("talk", name) || len(parent) != 36 {
		t.Errorf("its parent is %q", parent)
	}
	same(t, "again", string(strict(t, "import", w.ok("import", source, "--json"))[0].Get("added")), "0")
}

func TestImportRefuses(t *testing.T) {
	w := target(t)
	source := written(t, filepath.Join(t.TempDir(), "talk.jsonl"), talkHeader, entry("a", "null", "one"))
	w.fails(exitUsage, "--create", "import", source)
	w.fails(exitUsage, "needs SOURCE", "import")
	w.fails(exitUsage, "--session", "import", source, "--create", "--session", "")
	w.fails(exitUsage, "not a SQLite database", "import", written(t, filepath.Join(t.TempDir(), "notes"), "dear diary\n"), "--create")
	w.ok("import", source, "--create")
	w.fails(exitUsage, "into itself", "import", w.store)
	w.fails(exitUsage, "--session names one session", "import", testfiles.Copy(t, "contree-cli.db"), "--session", "x")
	mine := w.store
	w.store = source
	w.fails(exitUsage, "import", "import", mine)
	w.store = ""
	w.fails(exitUsage, "belongs to another program", "import", mine, "--into", source, "--dry-run")
}

// A session of ours is copied as it is.
func TestImportFromAStoreOfOurs(t *testing.T) {
	from := ours(t, exampleTrees(t))
	w := target(t)
	w.ok("import", from.store, "--create")
	for _, session := range []string{"example", "uploads"} {
		same(t, session, w.ok("nodes", session, "--json"), from.ok("nodes", session, "--json"))
	}
}

// Every parent comes before its children, in the source's order as far as it goes.
func TestParentsFirst(t *testing.T) {
	c := &copying{nodes: []copied{{parent: 3}, {parent: 0}, {parent: 0}, {parent: -1}, {parent: 2}, {parent: 3}}}
	got := fmt.Sprint(c.parentsFirst())
	if got != "[3 0 1 2 4 5]" {
		t.Error(got)
	}
}

func TestAgentsAndForeignSessions(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(w.home, ".pi", "agent", "sessions", "--srv--")
	must(t, os.MkdirAll(dir, 0o700))
	path := written(t, filepath.Join(dir, "talk.jsonl"), talkHeader, entry("a", "null", "hello there"), "[1]\n")
	out := w.ok("agents")
	for _, says := range []string{"pi", "/srv/demo", "hello there", "talk", path} {
		if !strings.Contains(out, says) {
			t.Errorf("agents says %q, want %q", out, says)
		}
	}
	got := strict(t, "agents", w.ok("agents", "--json", "--program", "pi"))
	if len(got) != 1 || got[0].Get("title") != `"hello there"` || got[0].Get("bytes").Kind() != store.Number {
		t.Errorf("%s", got)
	}
	same(t, "another program", w.ok("agents", "--program", "claude"), "")
	w.fails(exitUsage, `"vim" is none`, "agents", "--program", "vim")

	w.store = filepath.Dir(dir)
	if out := w.ok("sessions"); !strings.Contains(out, "/srv/demo") || !strings.Contains(out, "hello there") {
		t.Errorf("sessions says %q", out)
	}
	same(t, "title", string(strict(t, "sessions", w.ok("sessions", "--json"))[0].Get("title")), `"hello there"`)
	if out := w.ok("info"); !strings.Contains(out, "line 3, byte") || !strings.Contains(out, "unreadable 1") {
		t.Errorf("info says %q", out)
	}
	info := strict(t, "info", w.ok("info", "--json"))[0]
	reports := info.Get("reports")
	for r := range reports.Elements() {
		if r.Get("records") != "1" || r.Get("unreadable") != "1" || !strings.Contains(string(r.Get("warnings")), `"line":3,"byte":`) {
			t.Errorf("%s", r)
		}
	}
	if reports.Kind() != store.Array || len(reports) < 10 {
		t.Errorf("reports %s", reports)
	}
}

// shapeOf is a session as id, parent, kind and, where records are written back, the
// record, in any order; the header apart.
func shapeOf(t *testing.T, w *world, session string, raw bool) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, n := range strict(t, session, w.ok("nodes", session, "--json")) {
		id, _ := n.Get("id").Text()
		text := string(n.Get("parent_id"))
		if raw && n.Get("kind") != `"session"` {
			members := map[string]string{}
			for k, v := range n.At("data", "raw").Members() {
				if k != "parentId" {
					members[k] = string(v)
				}
			}
			text += " " + string(n.Get("kind")) + fmt.Sprint(members)
		}
		all[id] = text
	}
	return all
}

// What came from pi goes back to it: the same tree, the same records, the same head,
// straight or by way of a store of ours.
func TestExportToPi(t *testing.T) {
	for _, file := range []string{"pi-session.jsonl", "hostile-text.jsonl"} {
		t.Run(file, func(t *testing.T) {
			from := on(t, file)
			id, _ := strict(t, "sessions", from.ok("sessions", "--json"))[0].Get("session_id").Text()
			mine := target(t)
			mine.ok("import", from.store, "--create")
			for _, w := range []*world{from, mine} {
				back := newWorld(t)
				back.store = written(t, filepath.Join(t.TempDir(), "back.jsonl"), w.ok("export", id, "--format", "pi"))
				want, got := shapeOf(t, from, id, true), shapeOf(t, back, id, true)
				for n := range want {
					if got[n] != want[n] {
						t.Errorf("%s:\n got %.300s\nwant %.300s", n, got[n], want[n])
					}
				}
				same(t, "nodes", fmt.Sprint(len(got)), fmt.Sprint(len(want)))
				head := func(w *world) string {
					for _, n := range strict(t, id, w.ok("nodes", id, "--json")) {
						if n.At("data", "head") == "true" {
							return string(n.Get("id"))
						}
					}
					return ""
				}
				if w == from {
					same(t, "head", head(back), head(from))
				}
			}
		})
	}
}

// Any other session becomes one of custom entries, of the same shape.
func TestExportOthersToPi(t *testing.T) {
	w := ours(t, exampleTrees(t))
	w.says = "treering: 5 nodes written as custom entries, which pi keeps and does not show\n"
	out := w.ok("export", "example", "--format", "pi")
	w.says = ""
	back := newWorld(t)
	back.store = written(t, filepath.Join(t.TempDir(), "back.jsonl"), out)
	got := shapeOf(t, back, "example", false)
	for n, parent := range map[string]string{"example": "null", "n1": `"example"`, "n2": `"n1"`, "n3": `"n2"`, "n4": `"n2"`, "n5": `"n3"`} {
		same(t, n, got[n], parent)
	}
	n := strict(t, "n5", back.ok("node", "example", "n5", "--json"))[0]
	same(t, "data", string(n.At("data", "raw", "data")), `{"kind":"run","data":{"big":12345678901234567890.10,"html":"<&>"}}`)
	w.fails(exitUsage, "whole, or is none", "export", "example", "--format", "pi", "--no-data")
	f := on(t, "claude-compacted.jsonl")
	id, _ := strict(t, "sessions", f.ok("sessions", "--json"))[0].Get("session_id").Text()
	f.says = "treering: 9 nodes written as custom entries, which pi keeps and does not show\n"
	out = f.ok("export", id, "--format", "pi")
	f.says = ""
	back.store = written(t, filepath.Join(t.TempDir(), "claude.jsonl"), out)
	got = shapeOf(t, back, id, false)
	for n, parent := range shapeOf(t, f, id, false) {
		if parent == "null" {
			parent = fmt.Sprintf("%q", id) // below the header
		}
		same(t, n, got[n], parent)
	}
}

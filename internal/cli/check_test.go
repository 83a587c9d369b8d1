package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"treering/store/locate"
)

func TestCheck(t *testing.T) {
	w := ours(t, exampleTrees(t))
	same(t, "a store that is well", w.ok("check"), "")

	w = on(t, "harel-bad-values.db")
	before := seen(t, filepath.Dir(w.store))
	r := w.run("check", "--json")
	if r.code != exitFound || r.err != "" {
		t.Errorf("code %d, stderr %q", r.code, r.err)
	}
	for _, want := range []string{
		`{"severity":"error","kind":"drift","table":"executions","id":"version-mismatch","in":null,"message":"version: column 4, JSON 9"}`,
		`{"severity":"warning","kind":"lost-timer","table":"timers","id":"gone-1","in":"/x","message":"its execution takes no more events: \"gone-1\" is not there"}`,
	} {
		if !strings.Contains(r.out, want+"\n") {
			t.Errorf("no %s in\n%s", want, r.out)
		}
	}
	unchanged(t, filepath.Dir(w.store), before)
	if one := w.run("check", "--limit", "1"); one.code != exitFound || strings.Count(one.out, "\n") != 1 {
		t.Errorf("%+v", one)
	}
}

// Damage that SQLite finds is found, and does not keep the rest from being looked at.
func TestCheckFindsDamage(t *testing.T) {
	w := on(t, "harel-shop.db")
	info, err := os.Stat(w.store)
	must(t, err)
	f, err := os.OpenFile(w.store, os.O_RDWR, 0)
	must(t, err)
	// The last page belongs to a table or an index, not to the schema.
	_, err = f.WriteAt(make([]byte, 4096), info.Size()-4096)
	must(t, err)
	must(t, f.Close())
	r := w.run("check", "--json")
	if r.code != exitFound || !strings.Contains(r.out, `"kind":"integrity","table":"file"`) {
		t.Errorf("code %d\n%.2000s%s", r.code, r.out, r.err)
	}
}

// An id that no shell can pass on can be named all the same.
func TestJSONArgs(t *testing.T) {
	w := on(t, "harel-bad-values.db")
	out := w.ok("--json-args", "execution", `"raw\u0000nul"`, "--json")
	if !strings.Contains(out, `"stored":"raw\u0000nul"`) {
		t.Errorf("%s", out)
	}
	same(t, "as typed", w.ok("--json-args", "trace", "ok-1", "--json"), w.ok("trace", "ok-1", "--json"))
	w.fails(exitUsage, `--json-args: the argument "\"open"`, "--json-args", "execution", `"open`)

	w = ours(t, func(o *locate.Opened) {
		_, err := o.Trees.CreateSession(t.Context(), "line\nfeed", "session", nil)
		must(t, err)
	})
	same(t, "an id in a flag", w.ok("--json-args", "append", `"line\nfeed"`, "--root", "--kind", "run", "--data", "{}", "--id", `"tab\t"`), "tab\t\n")
	same(t, "nodes", w.ok("--json-args", "nodes", `"line\nfeed"`, "--json"), `{"id":"tab\t","parent_id":null,"kind":"run","data":{}}`+"\n")
	w.fails(exitUsage, "--json-args: --id", "--json-args", "append", `"line\nfeed"`, "--root", "--kind", "run", "--data", "{}", "--id", `"\x"`)
}

// What is wrong in the source of another program's session is found, though the tree
// that was made of it is whole.
func TestCheckFindsWhatSourcesHold(t *testing.T) {
	w := on(t, "claude-torn-lines.jsonl")
	before := seen(t, filepath.Dir(w.store))
	r := w.run("check", "--json")
	if r.code != exitFound {
		t.Fatalf("code %d\n%s%s", r.code, r.out, r.err)
	}
	for _, want := range []string{
		`{"severity":"warning","kind":"source","table":"lines","id":"","in":"claude-torn-lines","message":"line 2, byte 296: damaged: one record was found in it"}`,
		`"message":"line 8, byte 2041: not a JSON object"}`,
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %s in\n%s", want, r.out)
		}
	}
	unchanged(t, filepath.Dir(w.store), before)
	if r := on(t, "langgraph.sqlite").run("check"); r.code != 0 || r.out != "" {
		t.Errorf("%+v", r)
	}
}

// Another program's nodes need not keep the rules of this one's stores.
func TestCheckKnowsWhoseRulesHold(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.jsonl")
	must(t, os.WriteFile(path, []byte(`{"type":"session","version":3,"id":"s","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/srv"}
{"type":"message","id":"`+strings.Repeat("x", 600)+`","parentId":null,"message":{"role":"user","content":"one"}}
{"type":"message","id":"a\u0000b","parentId":null,"message":{"role":"user","content":"two"}}
{"type":"message","id":"c","id":"d","parentId":null,"message":{"role":"user","content":"three"}}
`), 0o600))
	w := on(t, "pi-session.jsonl")
	w.store = path
	same(t, "check", w.ok("check"), "")
}

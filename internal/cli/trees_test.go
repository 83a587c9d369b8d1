package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treering/store"
	"treering/store/locate"
)

// Looking at a default store that is not there finds it empty, and does not make it.
func TestDefaultStoreIsNotMadeByLooking(t *testing.T) {
	w := newWorld(t)
	for _, args := range [][]string{
		{"sessions"}, {"sessions", "--json"}, {"executions"}, {"executions", "--json"}, {"outbox"}, {"spawns"}, {"timers", "--due"},
	} {
		same(t, strings.Join(args, " "), w.ok(args...), "")
	}
	w.fails(exitNotFound, `session "x" not found`, "tree", "x")
	w.fails(exitNotFound, `session "x" not found`, "nodes", "x")
	w.fails(exitNotFound, `session "x" not found`, "node", "x", "n")
	w.fails(exitNotFound, `execution "x" not found`, "execution", "x")
	w.fails(exitNotFound, `execution "x" not found`, "trace", "x")
	path := filepath.Join(w.home, ".local/share/treering/treering.db")
	same(t, "info", w.ok("info"), ""+
		"store       "+path+"\n"+
		"backend     none\n"+
		"open        not there yet: the explorer or the first command that writes makes it\n"+
		"executions  none: there are no tables for them\n"+
		"sessions    none: there are no tables for them\n")
	unchanged(t, w.home, map[string]string{})
}

// A command that writes makes the default store, and no other.
func TestDefaultStoreIsMadeByWriting(t *testing.T) {
	w := newWorld(t)
	same(t, "create", w.ok("session", "create", "a"), "a  session  never\n")
	same(t, "sessions", w.ok("sessions"), "a  session  never\n")
	info, err := os.Stat(filepath.Join(w.home, ".local/share/treering"))
	must(t, err)
	if perm := info.Mode().Perm(); perm != 0o700 {
		t.Errorf("its folder has mode %o", perm)
	}
	w.fails(exitUsage, "does not exist", "-s", filepath.Join(w.home, "other.db"), "session", "create", "a")

	// TREERING_STORE names another one, and -s wins over it.
	same(t, "with --create", w.ok("-s", filepath.Join(w.home, "other.db"), "--create", "session", "create", "b"), "b  session  never\n")
}

func TestStoreFromTheEnvironment(t *testing.T) {
	w := ours(t, exampleTrees(t))
	a := &app{env: locate.Environ{"TREERING_STORE=" + w.store, "HOME=" + w.home}}
	locator, isDefault, err := a.locator()
	if locator != w.store || isDefault || err != nil {
		t.Errorf("locator = %q, %t, %v", locator, isDefault, err)
	}
	a.store, a.storeGiven = "memory:", true
	if locator, _, _ := a.locator(); locator != "memory:" {
		t.Errorf("-s does not win: %q", locator)
	}
	a = &app{}
	if _, _, err := a.locator(); err == nil || !strings.Contains(err.Error(), "name a store with -s") {
		t.Errorf("without a home: %v", err)
	}
}

func TestSessions(t *testing.T) {
	w := ours(t, exampleTrees(t))
	same(t, "json", w.ok("sessions", "--json"), ""+
		`{"session_id":"example","kind":"session","expires_at":null}`+"\n"+
		`{"session_id":"uploads","kind":"upload-cache","expires_at":null}`+"\n")
	same(t, "kind", w.ok("sessions", "--kind", "upload-cache"), "uploads  upload-cache  never\n")
	same(t, "two kinds", w.ok("sessions", "--kind", "upload-cache", "--kind", "session", "--limit", "1"), "example  session  never\n")
	same(t, "not kind", w.ok("sessions", "--not-kind", "upload-cache"), "example  session  never\n")
	same(t, "no such kind", w.ok("sessions", "--kind", "other", "--json"), "")
	w.fails(exitFailed, "limit: must not be negative", "sessions", "--limit", "-1")
}

func TestSessionLife(t *testing.T) {
	w := ours(t, nil)
	same(t, "create", w.ok("session", "create", "b-7", "--kind", "docker-build"), "b-7  docker-build  never\n")
	same(t, "create again", w.ok("session", "create", "b-7", "--kind", "docker-build", "--ttl", "5", "--json"),
		`{"session_id":"b-7","kind":"docker-build","expires_at":null}`+"\n")
	w.fails(exitConflict, `session "b-7" is of kind "docker-build", not "session"`, "session", "create", "b-7")

	before := epoch(w.now)
	for _, ttl := range []string{"3600", "1h", "60m", "3600.0", "3.6e3"} {
		out := w.ok("session", "ttl", "b-7", ttl, "--json")
		at, ok := store.JSON(strings.TrimSpace(out)).Get("expires_at").Float64()
		if !ok || at < before {
			t.Errorf("ttl %s: %s", ttl, out)
		}
	}
	same(t, "none", w.ok("session", "ttl", "b-7", "none"), "b-7  docker-build  never\n")
	for _, ttl := range []string{"-5", "-0.5", "-1h", "nan", "inf", "-inf", "1e999"} {
		w.fails(exitFailed, "is not a time to live", "session", "ttl", "b-7", ttl)
		w.fails(exitFailed, "is not a time to live", "session", "create", "new", "--ttl", ttl)
	}
	w.fails(exitNotFound, `session "gone" not found`, "session", "ttl", "gone", "5")
	w.fails(exitFailed, "session id: must not be empty", "session", "create", "")
	w.fails(exitFailed, "has 513 bytes", "session", "create", strings.Repeat("x", 513))

	// Zero expires at once; what is expired is missing, and can be purged.
	w.ok("session", "ttl", "b-7", "0")
	same(t, "sessions", w.ok("sessions"), "")
	w.fails(exitNotFound, `session "b-7" not found`, "nodes", "b-7")
	w.fails(exitNotFound, `session "b-7" not found`, "session", "ttl", "b-7", "5")
	same(t, "count", w.ok("purge", "--expired", "--dry-run"), "would remove 1 expired session\n")
	same(t, "count", w.ok("purge", "--expired", "--dry-run", "--json"), `{"expired":1}`+"\n")
	w.fails(exitUsage, "--dry-run is for --expired", "purge", "example", "--version", "1", "--dry-run")
	same(t, "purge", w.ok("purge", "--expired"), "removed 1 expired session\n")
	same(t, "purge again", w.ok("purge", "--expired", "--json"), `{"purged":0}`+"\n")
	w.fails(exitNotFound, `session "b-7" not found`, "session", "delete", "b-7")

	// Deleting takes the expired too.
	w.ok("session", "create", "c", "--ttl", "0")
	same(t, "delete", w.ok("session", "delete", "c"), "deleted c\n")
	w.ok("session", "create", "c")
	same(t, "delete", w.ok("session", "delete", "c", "--json"), `{"session_id":"c","deleted":true}`+"\n")
}

func TestParseTTL(t *testing.T) {
	for _, tt := range []struct {
		text string
		want float64
	}{{"0", 0}, {"1.5", 1.5}, {"90m", 5400}, {"1h30m", 5400}, {"7d", 604800}, {"0.5d", 43200}, {"250ms", 0.25}} {
		got, err := parseTTL(tt.text)
		if err != nil || got == nil || *got != tt.want {
			t.Errorf("parseTTL(%q) = %v, %v; want %v", tt.text, got, err, tt.want)
		}
	}
	for _, text := range []string{"none", "NONE"} {
		if got, err := parseTTL(text); got != nil || err != nil {
			t.Errorf("parseTTL(%q) = %v, %v", text, got, err)
		}
	}
}

func TestSpan(t *testing.T) {
	for _, tt := range []struct {
		seconds float64
		want    string
	}{{0.9, "0s"}, {59.9, "59s"}, {60, "1m00s"}, {3599, "59m59s"}, {3600, "1h00m"}, {86399, "23h59m"}, {86400, "1d00h"}, {1e300, "over a century"}} {
		same(t, fmt.Sprint(tt.seconds), span(tt.seconds), tt.want)
	}
}

func TestNodeLists(t *testing.T) {
	w := ours(t, exampleTrees(t))
	const (
		n1 = `{"id":"n1","parent_id":null,"kind":"init","data":{"image_uuid":"base-image"}}` + "\n"
		n2 = `{"id":"n2","parent_id":"n1","kind":"run","data":{"command":"apt-get update"}}` + "\n"
		n3 = `{"id":"n3","parent_id":"n2","kind":"run","data":{"user":{"label":"first"}}}` + "\n"
		n4 = `{"id":"n4","parent_id":"n2","kind":"run","data":{"title":"\n second \nmore"}}` + "\n"
		n5 = `{"id":"n5","parent_id":"n3","kind":"run","data":{"big":12345678901234567890.10,"html":"<&>"}}` + "\n"
	)
	same(t, "nodes", w.ok("nodes", "example", "--json"), n1+n2+n3+n4+n5)
	same(t, "nodes, limited", w.ok("nodes", "example", "--json", "--limit", "2"), n1+n2)
	same(t, "nodes of an empty one", w.ok("nodes", "uploads", "--json"), "")
	same(t, "history", w.ok("history", "example", "n5", "--json"), n5+n3+n2+n1)
	same(t, "children", w.ok("children", "example", "n2", "--json"), n3+n4)
	same(t, "children of a leaf", w.ok("children", "example", "n5", "--json"), "")
	same(t, "roots", w.ok("children", "example", "--json"), n1)
	same(t, "node, in the order asked", w.ok("node", "example", "n5", "n1", "n5", "--json"), n5+n1+n5)
	same(t, "plain", w.ok("nodes", "example"), ""+
		"n1  -   init  init n1\n"+
		"n2  n1  run   apt-get update\n"+
		"n3  n2  run   first\n"+
		"n4  n2  run   second\n"+
		"n5  n3  run   run n5\n")
	same(t, "raw", w.ok("node", "example", "n5", "--raw"), `{"big":12345678901234567890.10,"html":"<&>"}`+"\n")
	same(t, "node, plain", w.ok("node", "example", "n1", "n3"), ""+
		"node    n1\nparent  none: the root\nkind    init\ntitle   init n1\n{\n  \"image_uuid\": \"base-image\"\n}\n\n"+
		"node    n3\nparent  n2\nkind    run\ntitle   first\n{\n  \"user\": {\n    \"label\": \"first\"\n  }\n}\n")

	r := w.run("node", "example", "n2", "gone", "n1", "lost", "--json")
	if r.code != exitNotFound || r.err != "treering: session \"example\" has no node \"gone\", \"lost\"\n" {
		t.Errorf("missing nodes: %+v", r)
	}
	same(t, "those that are there", r.out, n2+n1)
	many := []string{"node", "example", "n1", "--json"}
	for i := range 12 {
		many = append(many, fmt.Sprintf("x%d", i))
	}
	if r := w.run(many...); r.code != exitNotFound || !strings.HasSuffix(r.err, ", \"x9\", and 2 more of the 13 asked for\n") {
		t.Errorf("many missing nodes: %+v", r)
	}

	w.fails(exitNotFound, `node "gone" not found in session "example"`, "history", "example", "gone")
	w.fails(exitNotFound, `node "gone" not found in session "example"`, "children", "example", "gone")
	w.fails(exitFailed, "node id: must not be empty", "children", "example", "")
	many = append([]string{"node", "example"}, strings.Fields(strings.Repeat("n1 ", store.MaxNodeIDs+1))...)
	w.fails(exitFailed, "1001 in one call, at most 1000 are taken", many...)
	same(t, "a thousand", strconv.Itoa(strings.Count(w.ok(append([]string{"--json"}, many[:len(many)-1]...)...), n1)), "1000")
}

func TestAppend(t *testing.T) {
	w := ours(t, nil)
	w.ok("session", "create", "s")
	same(t, "root", w.ok("append", "s", "--root", "--kind", "init", "--data", " {\"a\":1}\n", "--id", "r"), "r\n")
	same(t, "again", w.ok("append", "s", "--root", "--kind", "init", "--data", "{\"a\":1.0}", "--id", "r"), "r\n")
	same(t, "stored as given", w.ok("node", "s", "r", "--raw"), "{\"a\":1}\n")

	file := filepath.Join(w.home, "step.json")
	must(t, os.WriteFile(file, []byte("{\"from\":\"a file\"}\n"), 0o600))
	id := strings.TrimSpace(w.ok("append", "s", "--parent", "r", "--kind", "run", "--data", "@"+file))
	if len(id) != 36 {
		t.Errorf("a fresh id is %q", id)
	}
	w.stdin = strings.NewReader(`{"from":"standard input"}`)
	same(t, "json", w.ok("append", "s", "--parent", id, "--kind", "run", "--data", "-", "--id", "n", "--json"),
		`{"id":"n","parent_id":"`+id+`","kind":"run","data":{"from":"standard input"}}`+"\n")
	same(t, "from a file", w.ok("node", "s", id, "--raw"), "{\"from\":\"a file\"}\n")

	before := w.ok("nodes", "s", "--json")
	for _, tt := range []struct {
		code int
		says string
		args []string
	}{
		{1, "data: must be a JSON object, not an array", []string{"--parent", "r", "--kind", "run", "--data", "[1]"}},
		{1, "data: must be a JSON object, not null", []string{"--parent", "r", "--kind", "run", "--data", "null"}},
		{1, "repeated key", []string{"--parent", "r", "--kind", "run", "--data", `{"a":1,"a":2}`}},
		{2, "NaN", []string{"--parent", "r", "--kind", "run", "--data", `{"a":NaN}`}},
		{1, "kind: must not be empty", []string{"--parent", "r", "--kind", "", "--data", "{}"}},
		{1, "node id: must not be empty", []string{"--parent", "r", "--kind", "run", "--data", "{}", "--id", ""}},
		{1, "parent id: must not be empty", []string{"--parent", "", "--kind", "run", "--data", "{}"}},
		{1, "has 600 bytes, at most 512", []string{"--parent", "r", "--kind", "run", "--data", "{}", "--id", strings.Repeat("x", 600)}},
		{2, "--data is not JSON: no key where one should be at byte 1", []string{"--parent", "r", "--kind", "run", "--data", "{a}"}},
		{2, "invalid UTF-8", []string{"--parent", "r", "--kind", "run", "--data", "{\"a\":\"\xff\"}"}},
		{3, `parent "gone" not found`, []string{"--parent", "gone", "--kind", "run", "--data", "{}"}},
		{4, "the tree has a root already", []string{"--root", "--kind", "init", "--data", "{}"}},
		{4, "it is stored with other data", []string{"--root", "--kind", "init", "--data", `{"a":2}`, "--id", "r"}},
		{4, "it is stored with another kind", []string{"--root", "--kind", "run", "--data", `{"a":1}`, "--id", "r"}},
		{4, "it is stored with another parent", []string{"--parent", "n", "--kind", "init", "--data", `{"a":1}`, "--id", "r"}},
	} {
		w.fails(tt.code, tt.says, append([]string{"append", "s"}, tt.args...)...)
	}
	w.fails(exitNotFound, `session "gone" not found`, "append", "gone", "--root", "--kind", "init", "--data", "{}")
	w.ok("session", "create", "old", "--ttl", "0")
	w.fails(exitNotFound, `session "old" not found`, "append", "old", "--root", "--kind", "init", "--data", "{}")
	same(t, "nothing was written", w.ok("nodes", "s", "--json"), before)
}

func TestAppendTooMuch(t *testing.T) {
	w := ours(t, nil)
	w.ok("session", "create", "s")
	w.stdin = strings.NewReader(`{"a":"` + strings.Repeat("x", store.MaxDataBytes) + `"}`)
	w.fails(exitFailed, "longer than 16777216 bytes", "append", "s", "--root", "--kind", "init", "--data", "-")
	w.stdin = endless{}
	w.fails(exitFailed, "longer than 16777216 bytes", "append", "s", "--root", "--kind", "init", "--data", "-")
	w.stdin = strings.NewReader(`{"a":"` + strings.Repeat("x", store.MaxDataBytes-8) + `"}` + "\n")
	w.ok("append", "s", "--root", "--kind", "init", "--data", "-")
}

// endless never ends.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

func TestTree(t *testing.T) {
	w := ours(t, exampleTrees(t))
	same(t, "json", w.ok("tree", "example", "--json"), ""+
		`{"id":"n1","parent_id":null,"kind":"init","depth":0,"title":"init n1"}`+"\n"+
		`{"id":"n2","parent_id":"n1","kind":"run","depth":1,"title":"apt-get update"}`+"\n"+
		`{"id":"n3","parent_id":"n2","kind":"run","depth":2,"title":"first"}`+"\n"+
		`{"id":"n5","parent_id":"n3","kind":"run","depth":3,"title":"run n5"}`+"\n"+
		`{"id":"n4","parent_id":"n2","kind":"run","depth":2,"title":"second"}`+"\n")
	same(t, "drawn", w.ok("tree", "example"), ""+
		"○ init    n1\n"+
		"○ run     apt-get update  n2\n"+
		"├─○ run     first  n3\n"+
		"│ ● run     n5\n"+
		"└─● run     second  n4\n")
	same(t, "limited", w.ok("tree", "example", "--limit", "1"), "○ init    n1\n... 4 more nodes\n")
	same(t, "limited json", strconv.Itoa(strings.Count(w.ok("tree", "example", "--limit", "3", "--json"), "\n")), "3")
	same(t, "empty", w.ok("tree", "uploads"), "")
	w.fails(exitNotFound, `session "gone" not found`, "tree", "gone")
}

// A title is whole, however much of it a drawing shows.
func TestTreeLongTitle(t *testing.T) {
	title := strings.Repeat("long ", 100) + "end"
	w := ours(t, func(o *locate.Opened) {
		_, err := o.Trees.CreateSession(t.Context(), "s", "session", nil)
		must(t, err)
		must(t, o.Trees.Append(t.Context(), "s", store.Node{ID: "r", Kind: "init", Data: store.ObjectOf(store.Member{Key: "title", Value: store.Quote(title)})}))
	})
	same(t, "title", w.ok("tree", "s", "--json"), `{"id":"r","parent_id":null,"kind":"init","depth":0,"title":"`+title+`"}`+"\n")
}

// A chain is drawn without recursion, and without growing to the right.
func TestTreeOfALongChain(t *testing.T) {
	length := 100_000
	if testing.Short() {
		length = 5_000
	}
	w := ours(t, func(o *locate.Opened) {
		_, err := o.Trees.CreateSession(t.Context(), "chain", "session", nil)
		must(t, err)
	})
	execute(t, w.store, fmt.Sprintf(`
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO tree_nodes (tree, id, parent_id, kind, data)
		SELECT (SELECT tree FROM tree_sessions), printf('n%%07d', i), CASE i WHEN 0 THEN NULL ELSE printf('n%%07d', i - 1) END, 'run', '{}' FROM n`, length-1))
	lines := strings.Split(strings.TrimSuffix(w.ok("tree", "chain", "--json"), "\n"), "\n")
	if len(lines) != length {
		t.Fatalf("%d lines, want %d", len(lines), length)
	}
	same(t, "the last", lines[length-1], fmt.Sprintf(`{"id":"n%07d","parent_id":"n%07d","kind":"run","depth":%d,"title":"run n%07d"}`, length-1, length-2, length-1, length-1))
	drawn := strings.Split(strings.TrimSuffix(w.ok("tree", "chain"), "\n"), "\n")
	if len(drawn) != length {
		t.Fatalf("%d lines drawn, want %d", len(drawn), length)
	}
	same(t, "the last drawn", drawn[length-1], fmt.Sprintf("● run     n%07d", length-1))
}

// A store that was not made through the contract is shown with what is odd in it.
func TestTreeWithOrphansAndCycles(t *testing.T) {
	w := ours(t, exampleTrees(t))
	execute(t, w.store, `
		INSERT INTO tree_nodes (tree, id, parent_id, kind, data) SELECT tree, 'o1', 'lost', 'run', '{"title":"orphan"}' FROM tree_nodes WHERE id = 'n1';
		INSERT INTO tree_nodes (tree, id, parent_id, kind, data) SELECT tree, 'x1', 'x2', 'run', '{"title":"cycle"}' FROM tree_nodes WHERE id = 'n1';
		INSERT INTO tree_nodes (tree, id, parent_id, kind, data) SELECT tree, 'x2', 'x1', 'run', '{"title":"cycle too"}' FROM tree_nodes WHERE id = 'n1';`)
	got := map[string]bool{}
	for l := range strings.Lines(w.ok("tree", "example", "--json")) {
		id, _ := store.JSON(l).Get("id").Text()
		got[id] = true
		if id == "o1" && store.JSON(l).Get("parent_id") != `"lost"` {
			t.Errorf("the orphan's parent: %s", l)
		}
	}
	want := map[string]bool{"n1": true, "n2": true, "n3": true, "n4": true, "n5": true, "o1": true, "x1": true, "x2": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	drawn := w.ok("tree", "example")
	for _, says := range []string{"(not in the store)", "(cycle: its parent is "} {
		if !strings.Contains(drawn, says) {
			t.Errorf("nothing says %q in\n%s", says, drawn)
		}
	}
}

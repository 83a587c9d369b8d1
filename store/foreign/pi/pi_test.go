package pi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treering/internal/testfiles"
	"treering/store"
	"treering/store/foreign"
	"treering/store/storetest"
)

func open(t testing.TB, path string) *foreign.Store {
	t.Helper()
	return foreign.NewStore(foreign.NewLineReader(foreign.OneFile(path), []*foreign.LineFormat{Format()}), path)
}

func written(t testing.TB, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
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

// tree is a session as "id<parent kind: title", with its marks.
func tree(t testing.TB, s *foreign.Store, session string) (out []string) {
	t.Helper()
	for _, o := range outline(t, s, session) {
		line := o.ID
		if o.ParentID != nil {
			line += "<" + *o.ParentID
		}
		line += " " + o.Kind + ": " + o.Title
		if len(o.Labels) > 0 {
			line += fmt.Sprintf(" %q", o.Labels)
		}
		if o.Active {
			line += " *"
		}
		if o.Failed {
			line += " !"
		}
		out = append(out, line)
	}
	return out
}

func only(t testing.TB, s *foreign.Store) string {
	t.Helper()
	heads, err := s.Heads(t.Context())
	if err != nil || len(heads) != 1 {
		t.Fatalf("%d sessions, %v", len(heads), err)
	}
	return heads[0].ID
}

func TestReadingHalf(t *testing.T) {
	storetest.TestTreeReading(t, open(t, testfiles.Copy(t, "pi-session.jsonl")))
}

// A real session: 23 entries below the header, two of them roots, one branch point
// with three children, a label with a child.
func TestARealSession(t *testing.T) {
	s := open(t, testfiles.Copy(t, "pi-session.jsonl"))
	id := only(t, s)
	lines := outline(t, s, id)
	children := map[string]int{}
	kinds := map[string]string{}
	for _, o := range lines {
		kinds[o.ID] = o.Kind
		if o.ParentID != nil {
			children[*o.ParentID]++
		}
	}
	forks, labelled := map[int]int{}, 0
	for parent, n := range children {
		if kinds[parent] == "session" {
			if n != 2 {
				t.Errorf("%d roots below the header", n)
			}
			continue
		}
		if n > 1 {
			forks[n]++
		}
		if kinds[parent] == "label" {
			labelled += n
		}
	}
	if len(lines) != 24 || lines[0].Kind != "session" {
		t.Errorf("%d nodes, the first a %s", len(lines), lines[0].Kind)
	}
	if diff := cmp.Diff(map[int]int{3: 1}, forks); diff != "" || labelled != 1 {
		t.Errorf("branch points %s; %d below a label", diff, labelled)
	}
	r, _, err := s.Report(t.Context(), id)
	if err != nil || r.Unreadable+r.Orphans+r.Renamed+r.Duplicates != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	actives := 0
	for i, o := range lines {
		if o.Active {
			actives++
			if i != len(lines)-1 {
				t.Errorf("the active head is node %d", i)
			}
		}
	}
	if actives != 1 {
		t.Errorf("%d active heads", actives)
	}
}

const header = `{"type":"session","version":3,"id":"S","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/srv/demo"}`

func TestEntries(t *testing.T) {
	s := open(t, written(t, header,
		`{"type":"message","id":"u1","parentId":null,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"\n  build   it\nplease"}}`,
		`{"type":"message","id":"a1","parentId":"u1","timestamp":"2026-03-01T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"make -j2"}}]}}`,
		`{"type":"message","id":"r1","parentId":"a1","timestamp":"2026-03-01T10:00:03.000Z","message":{"role":"toolResult","toolName":"bash","content":[{"type":"text","text":"no rule"}],"isError":true}}`,
		`{"type":"model_change","id":"m1","parentId":"r1","timestamp":"2026-03-01T10:00:04.000Z","provider":"acme","modelId":"big"}`,
		`{"type":"message","id":"b1","parentId":"m1","timestamp":"2026-03-01T10:00:05.000Z","message":{"role":"bashExecution","command":"ls","exitCode":2}}`,
		`{"type":"label","id":"l1","parentId":"b1","timestamp":"2026-03-01T10:00:06.000Z","targetId":"u1","label":"start"}`,
		`{"type":"compaction","id":"k1","parentId":"l1","timestamp":"2026-03-01T10:00:07.000Z","summary":"we built","tokensBefore":1200,"firstKeptEntryId":"b1"}`,
		`{"type":"message","id":"a2","parentId":"k1","timestamp":"2026-03-01T10:00:08.000Z","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"overloaded"}}`,
		`{"type":"session_info","id":"n1","parentId":"a2","timestamp":"2026-03-01T10:00:09.000Z","name":"the build"}`,
		`{"type":"never_heard_of","id":"x1","parentId":"n1","timestamp":"2026-03-01T10:00:10.000Z"}`,
		header,
	))
	want := []string{
		`S session: the build`,
		`u1<S user: build it ["start"]`,
		`a1<u1 assistant: bash(make -j2)`,
		`r1<a1 tool_result: ! bash: no rule !`,
		`m1<r1 model_change: model → acme/big`,
		`b1<m1 bash: $ ls !`,
		`l1<b1 label: label: start`,
		`k1<l1 compaction: compacted (1200): we built`,
		`a2<k1 assistant: error: overloaded !`,
		`n1<a2 session_info: name: the build`,
		`x1<n1 never_heard_of: never_heard_of x1 *`,
	}
	if diff := cmp.Diff(want, tree(t, s, only(t, s))); diff != "" {
		t.Error(diff)
	}
	n, err := s.Node(t.Context(), "S", "u1")
	if err != nil || n.Data.At("raw", "message", "content") != `"\n  build   it\nplease"` || n.Data.Get("ts") != `"2026-03-01T10:00:01Z"` {
		t.Errorf("%s, %v", n.Data, err)
	}
}

// A line that moved the head is no node: what hangs below it hangs below what it moved
// to, through any number of them.
func TestLinesThatMoveTheHead(t *testing.T) {
	s := open(t, written(t, header,
		`{"type":"message","id":"a","parentId":null,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"a"}}`,
		`{"type":"message","id":"b","parentId":"a","timestamp":"2026-03-01T10:00:02.000Z","message":{"role":"user","content":"b"}}`,
		`{"type":"leaf","id":"l1","parentId":"b","timestamp":"2026-03-01T10:00:03.000Z","targetId":"a"}`,
		`{"type":"leaf","id":"l2","parentId":"l1","timestamp":"2026-03-01T10:00:03.000Z","targetId":"l1"}`,
		`{"type":"message","id":"c","parentId":"l2","timestamp":"2026-03-01T10:00:04.000Z","message":{"role":"user","content":"c"}}`,
		`{"type":"leaf","id":"l3","parentId":"c","timestamp":"2026-03-01T10:00:05.000Z","targetId":"b"}`,
	))
	want := []string{`S session: a`, `a<S user: a`, `b<a user: b *`, `c<a user: c`}
	if diff := cmp.Diff(want, tree(t, s, only(t, s))); diff != "" {
		t.Error(diff)
	}
}

// However many of such lines lead to each other, or in a circle, reading takes time in
// their number.
func TestLongWaysOfTheHead(t *testing.T) {
	const n = 50_000
	lines := []string{header, `{"type":"message","id":"m","parentId":null,"message":{"role":"user","content":"m"}}`}
	for i := range n { // each to the one before it, and the other way round, and in a circle
		lines = append(lines,
			fmt.Sprintf(`{"type":"leaf","id":"a%d","targetId":"a%d"}`, i, i-1),
			fmt.Sprintf(`{"type":"leaf","id":"b%d","targetId":"b%d"}`, i, i+1),
			fmt.Sprintf(`{"type":"leaf","id":"c%d","targetId":"c%d"}`, i, (i+1)%n),
		)
	}
	lines = append(lines, `{"type":"leaf","id":"a-1","targetId":"m"}`, fmt.Sprintf(`{"type":"leaf","id":"b%d","targetId":""}`, n))
	for i := range n {
		lines = append(lines, fmt.Sprintf(`{"type":"message","id":"x%d","parentId":"%c%d","message":{"role":"user","content":"x"}}`, i, "abc"[i%3], i))
	}
	s := open(t, written(t, lines...))
	parents := map[string]int{}
	for _, o := range outline(t, s, only(t, s)) {
		if o.ParentID != nil {
			parents[*o.ParentID]++
		}
	}
	// Those of a hang on m; those of b are roots, and those of c orphans, below the header
	// with m.
	if diff := cmp.Diff(map[string]int{"m": (n + 2) / 3, "S": 1 + (n+1)/3 + n/3}, parents); diff != "" {
		t.Error(diff)
	}
	r, _, err := s.Report(t.Context(), "S")
	if err != nil || r.Orphans != n/3 {
		t.Errorf("%d orphans, %v", r.Orphans, err)
	}
}

// Files from before there were links are chained in the order of their lines.
func TestTheFirstVersion(t *testing.T) {
	s := open(t, written(t, `{"type":"session","id":"S","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/srv/demo","provider":"acme"}`,
		`{"type":"message","timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"a"}}`,
		`{"type":"message","timestamp":"2026-03-01T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"b"}]}}`,
	))
	want := []string{`S session: a`, `line-2<S user: a`, `line-3<line-2 assistant: b *`}
	if diff := cmp.Diff(want, tree(t, s, only(t, s))); diff != "" {
		t.Error(diff)
	}
}

func TestATitleBeforeTheHeader(t *testing.T) {
	s := open(t, written(t, `{"type":"title","v":1,"title":"named","updatedAt":"2026-03-01T10:00:00.000Z","pad":"      "}`, header,
		`{"type":"credential_pin","id":"p","parentId":null,"timestamp":"2026-03-01T10:00:01.000Z","account":"secret@example.org"}`,
		`{"type":"message","id":"a","parentId":"p","timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"a"}}`))
	want := []string{`S session: named`, `p<S credential_pin: credential_pin p`, `a<p user: a *`}
	if diff := cmp.Diff(want, tree(t, s, only(t, s))); diff != "" {
		t.Error(diff)
	}
}

// A file is followed while it is written: half a line is held back.
func TestAFileThatGrows(t *testing.T) {
	path := written(t, header, `{"type":"message","id":"a","parentId":null,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"a"}}`)
	s := open(t, path)
	id := only(t, s)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	more := `{"type":"message","id":"b","parentId":"a","timestamp":"2026-03-01T10:00:02.000Z","message":{"role":"user","content":"b"}}`
	for i, part := range []string{more[:30], more[30:], "\n"} {
		if _, err := f.WriteString(part); err != nil {
			t.Fatal(err)
		}
		want := 3
		if i == 0 {
			want = 2
		}
		if got := tree(t, s, id); len(got) != want {
			t.Errorf("after part %d: %q", i, got)
		}
	}
	// One that was replaced is read anew.
	if err := os.WriteFile(path+".new", []byte(header+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"S session: /srv/demo"}, tree(t, s, id)); diff != "" {
		t.Error(diff)
	}
}

// What attacks a terminal comes through as it is stored: showing it safely is the
// screen's.
func TestHostileText(t *testing.T) {
	s := open(t, testfiles.Copy(t, "hostile-text.jsonl"))
	id := only(t, s)
	if got := outline(t, s, id); len(got) < 33 {
		t.Errorf("%d nodes", len(got))
	}
	r, _, err := s.Report(t.Context(), id)
	if err != nil || r.Unreadable != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

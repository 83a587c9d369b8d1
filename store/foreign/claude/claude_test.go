package claude

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
	find := foreign.OneFile(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		find = foreign.FilesBelow(path, ".jsonl")
	}
	return foreign.NewStore(foreign.NewLineReader(find, []*foreign.LineFormat{Format()}), path)
}

func written(t testing.TB, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "11111111-2222.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// line is a message: "id<parent" says something.
func line(link, kind, said string, more ...string) string {
	id, parent, _ := strings.Cut(link, "<")
	p := "null"
	if parent != "" {
		p = fmt.Sprintf("%q", parent)
	}
	extra := ""
	for _, m := range more {
		extra += "," + m
	}
	return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"S","timestamp":"2026-03-01T10:00:00.000Z","message":{"role":%q,"content":[{"type":"text","text":%q}]}%s}`,
		kind, id, p, kind, said, extra)
}

func result(link, said string) string {
	id, parent, _ := strings.Cut(link, "<")
	return fmt.Sprintf(`{"type":"user","uuid":%q,"parentUuid":%q,"sessionId":"S","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":%q,"is_error":true}]}}`, id, parent, said)
}

func tree(t testing.TB, s *foreign.Store, session string) (out []string) {
	t.Helper()
	err := store.All(func(p store.PageRequest) (store.Page[store.Outline], error) {
		return s.ListOutline(t.Context(), session, p)
	},
		func(o store.Outline) error {
			l := o.ID
			if o.ParentID != nil {
				l += "<" + *o.ParentID
			}
			l += " " + o.Kind + ": " + o.Title
			if o.Failed {
				l += " !"
			}
			if o.FalseFork {
				l += " ~"
			}
			if o.Active {
				l += " *"
			}
			out = append(out, l)
			return nil
		})
	if err != nil {
		t.Fatal(err)
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
	storetest.TestTreeReading(t, open(t, testfiles.Copy(t, "claude-compacted.jsonl")))
	storetest.TestTreeReading(t, open(t, testfiles.Copy(t, "claude-torn-lines.jsonl")))
}

// Compaction leaves seams, not trees: one root, the newest leaf is the head, and the
// logical parent that is missing is named.
func TestCompactions(t *testing.T) {
	s := open(t, testfiles.Copy(t, "claude-compacted.jsonl"))
	want := []string{
		"4e15779b user: start of a long job", "9840639e<4e15779b assistant: step one", "aababf14<9840639e user: go on",
		"67a9eea9<aababf14 system:compact_boundary: compacted (auto, 150000)", "8536f234<67a9eea9 compact_summary: Summary: step one is done.",
		"62f846d8<8536f234 assistant: step two", "d779f9d3<62f846d8 system:compact_boundary: compacted (manual, 99000)",
		"4519339f<d779f9d3 compact_summary: Summary: step two is done.", "990becc2<4519339f assistant: step three *",
	}
	if diff := cmp.Diff(want, short(tree(t, s, only(t, s)))); diff != "" {
		t.Error(diff)
	}
	r, title, err := s.Report(t.Context(), only(t, s))
	if err != nil || r.Orphans != 1 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "ffa47f4d-a745-5b9b-80e5-f6ddbafe7de9") || r.Warnings[0].Place.Line != 7 {
		t.Errorf("%+v, %v", r, err)
	}
	if title != "start of a long job" {
		t.Errorf("title %q", title)
	}
}

// short cuts uuids to eight characters.
func short(lines []string) (out []string) {
	for _, l := range lines {
		link, rest, _ := strings.Cut(l, " ")
		var ids []string
		for _, id := range strings.Split(link, "<") {
			ids = append(ids, id[:min(8, len(id))])
		}
		out = append(out, strings.Join(ids, "<")+" "+rest)
	}
	return out
}

// All records are found, whatever was torn around them, and every bad place is counted
// and named.
func TestTornLines(t *testing.T) {
	s := open(t, testfiles.Copy(t, "claude-torn-lines.jsonl"))
	id := only(t, s)
	var said []string
	for _, l := range tree(t, s, id) {
		if _, text, ok := strings.Cut(l, ": torn "); ok {
			said = append(said, text[:1])
		}
	}
	if got := strings.Join(said, ""); got != "01234" {
		t.Errorf("records %s\n%s", got, strings.Join(tree(t, s, id), "\n"))
	}
	if got := tree(t, s, id); len(got) != 5 { // blank lines and zeros are no nodes
		t.Error(strings.Join(got, "\n"))
	}
	r, _, err := s.Report(t.Context(), id)
	if err != nil || r.Unreadable < 7 {
		t.Errorf("%+v, %v", r, err)
	}
	places := map[int64]bool{}
	for _, w := range r.Warnings {
		places[w.Place.Line] = true
	}
	for _, l := range []int64{2, 3} {
		if !places[l] {
			t.Errorf("line %d is not named: %+v", l, r.Warnings)
		}
	}
}

// A prompt after a rewind is a branch; what tools that run at once, hooks and
// progress leave behind is none.
func TestForks(t *testing.T) {
	s := open(t, written(t,
		line("u1", "user", "build it"),
		`{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"S","message":{"role":"assistant","id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make"}}]}}`,
		`{"type":"assistant","uuid":"a2","parentUuid":"a1","sessionId":"S","message":{"role":"assistant","id":"m","content":[{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"x.go"}}]}}`,
		result("r1<a1", "no rule"),
		result("r2<a2", "package x"),
		`{"type":"progress","uuid":"p1","parentUuid":"a2","sessionId":"S","data":{"type":"hook_progress"}}`,
		line("a3<r2", "assistant", "done"),
		line("u2<a3", "user", "now test it"),
		line("a4<u2", "assistant", "tested"),
		line("u3<a3", "user", "no, deploy it"),
		line("a5<u3", "assistant", "deployed"),
		`{"type":"system","subtype":"turn_duration","uuid":"s1","parentUuid":"a5","sessionId":"S"}`,
		`{"type":"file-history-snapshot","messageId":"u3"}`,
		`{"type":"custom-title","sessionId":"S","customTitle":"the release"}`,
	))
	want := []string{
		"u1 user: build it", "a1<u1 assistant: Bash: make", "a2<a1 assistant: Read: x.go", "r1<a1 tool_result: → no rule ! ~", "r2<a2 tool_result: → package x !",
		"p1<a2 progress: hook_progress ~", "a3<r2 assistant: done", "u2<a3 user: now test it", "a4<u2 assistant: tested", "u3<a3 user: no, deploy it", "a5<u3 assistant: deployed *",
		"s1<a5 system:turn_duration: turn_duration",
	}
	if diff := cmp.Diff(want, tree(t, s, only(t, s))); diff != "" {
		t.Error(diff)
	}
	r, title, err := s.Report(t.Context(), only(t, s))
	if err != nil || title != "the release" || r.Others["file-history-snapshot"] != 1 {
		t.Errorf("%q, %+v, %v", title, r, err)
	}
}

// What was kept over a compaction is written again under its old id: the boundary
// hangs on what stands earlier, so that nothing becomes its own ancestor.
func TestMessagesWrittenAgain(t *testing.T) {
	s := open(t, written(t,
		line("u1", "user", "a"), line("a1<u1", "assistant", "b"), line("u2<a1", "user", "c"),
		`{"type":"system","subtype":"compact_boundary","uuid":"k","parentUuid":null,"logicalParentUuid":"u2","sessionId":"S","compactMetadata":{"trigger":"auto"}}`,
		line("sum<k", "user", "so far", `"isCompactSummary":true`),
		line("u2<sum", "user", "c"),
		line("a2<u2", "assistant", "d"),
	))
	want := []string{"u1 user: a", "a1<u1 assistant: b", "u2<a1 user: c", "k<u2 system:compact_boundary: compacted (auto, ?)", "sum<k compact_summary: so far", "u2#2<sum user: c", "a2<u2#2 assistant: d *"}
	if diff := cmp.Diff(want, tree(t, s, only(t, s))); diff != "" {
		t.Error(diff)
	}
}

func TestSidechains(t *testing.T) {
	s := open(t, written(t,
		line("u1", "user", "look around"),
		`{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"S","message":{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Task","input":{"description":"look","prompt":"look at x"}}]}}`,
		line("s1", "user", "look at x", `"isSidechain":true`),
		line("s2<s1", "assistant", "seen", `"isSidechain":true`),
		result("r1<a1", "found"),
		line("a2<r1", "assistant", "there it is"),
	))
	want := []string{"u1 user: look around", "a1<u1 assistant: Task: look", "s1<a1 user: look at x ~", "s2<s1 assistant: seen", "r1<a1 tool_result: → found !", "a2<r1 assistant: there it is *"}
	if diff := cmp.Diff(want, tree(t, s, only(t, s))); diff != "" {
		t.Error(diff)
	}
}

// Sub-agents have files of their own, in three places.
func TestAgentFiles(t *testing.T) {
	dir := t.TempDir()
	put := func(path, content string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("aaaa.jsonl", line("u1", "user", "main"))
	put("agent-0001.jsonl", line("s1", "user", "old layout", `"isSidechain":true`))
	put("aaaa/subagents/agent-0002.jsonl", line("s2", "user", "new layout", `"isSidechain":true`))
	put("aaaa/subagents/agent-0002.meta.json", `{"agentType":"explorer","description":"looks","toolUseId":"t9"}`)
	put("aaaa/subagents/workflows/run/agent-0003.jsonl", line("s3", "user", "in a workflow", `"isSidechain":true`))
	put("aaaa/subagents/workflows/run/journal.jsonl", `{"step":1}`)
	s := open(t, dir)
	heads, err := s.Heads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, h := range heads {
		got[h.ID] = fmt.Sprintf("%s %q from %q", h.Kind, h.Title, h.Parent)
	}
	want := map[string]string{
		"aaaa": `claude-code "main" from ""`, "agent-0001": `claude-agent "old layout" from "S"`,
		"agent-0002": `claude-agent "looks" from "aaaa"`, "agent-0003": `claude-agent "in a workflow" from "aaaa"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	n, err := s.Node(t.Context(), "agent-0002", "s2")
	if err != nil || n.Data.Get("tool_use_id") != `"t9"` || n.Data.Get("agent_type") != `"explorer"` {
		t.Errorf("%s, %v", n.Data, err)
	}
}

func TestUsageIsCountedOnceAMessage(t *testing.T) {
	usage := func(id, message string) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":%q,"parentUuid":null,"sessionId":"S","message":{"role":"assistant","id":%q,"model":"big","content":[],"usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":3}}}`, id, message)
	}
	s := open(t, written(t, usage("a", "m1"), usage("b", "m1"), usage("c", "m2")))
	r, _, err := s.Report(t.Context(), only(t, s))
	want := foreign.Totals{Messages: 2, Input: 20, Output: 10, CacheRead: 6, Models: map[string]int64{"big": 2}}
	if diff := cmp.Diff(want, r.Totals); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
}

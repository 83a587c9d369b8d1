package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treering/store"
)

func TestVariants(t *testing.T) {
	boundary := func(id, logical, meta string) string {
		return fmt.Sprintf(`{"type":"system","subtype":"compact_boundary","uuid":%q,"parentUuid":null,"logicalParentUuid":%q,"sessionId":"S","compactMetadata":{"trigger":"auto","preTokens":5%s}}`, id, logical, meta)
	}
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
		title string
	}{
		{"a type that is not known, with a place", []string{
			line("u", "user", "a"),
			`{"type":"brand_new","uuid":"n","parentUuid":"u","sessionId":"S","message":{"content":"news"}}`,
			line("b<n", "assistant", "b"),
			`{"type":"brand_new","sessionId":"S"}`,
		}, []string{"u user: a", "n<u brand_new: news", "b<n assistant: b *"}, "a"},
		{"an export without ids", []string{
			`{"type":"user","message":{"role":"user","content":"a"},"timestamp":"2026-03-01T10:00:00Z"}`,
			`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"b"}]}}`,
			`{"type":"user","message":{"role":"user","content":"c"}}`,
		}, []string{"line-1 user: a", "line-2<line-1 assistant: b", "line-3<line-2 user: c *"}, "a"},
		{"the head is no line of the program's own: the branch that ends with one is out", []string{
			line("u", "user", "a"), line("a1<u", "assistant", "b"), line("u2<a1", "user", "c"), line("a2<u2", "assistant", "d"),
			line("u3<a1", "user", "e"), line("a3<u3", "assistant", "f"), line("m<a3", "user", "caveat", `"isMeta":true`),
		}, []string{"u user: a", "a1<u assistant: b", "u2<a1 user: c", "a2<u2 assistant: d *", "u3<a1 user: e", "a3<u3 assistant: f", "m<a3 user: caveat"}, "a"},
		{"where every branch ends so it is the last message before", []string{
			line("u", "user", "a"), line("a1<u", "assistant", "b"), line("m<a1", "user", "caveat", `"isMeta":true`),
		}, []string{"u user: a", "a1<u assistant: b *", "m<a1 user: caveat"}, "a"},
		{"a team's lines are not the head", []string{
			line("u", "user", "a"), line("a1<u", "assistant", "b"), line("t<u", "assistant", "mate", `"teamName":"x"`),
		}, []string{"u user: a", "a1<u assistant: b ~ *", "t<u assistant: mate"}, "a"},
		{"a boundary that names what comes later", []string{
			line("u", "user", "a"), line("a1<u", "assistant", "b"),
			boundary("k", "x", `,"preservedMessages":{"anchorUuid":"s","uuids":["u","a1"]}`),
			line("s<k", "user", "so far", `"isCompactSummary":true`),
			line("x<s", "user", "kept"),
		}, []string{"u user: a", "a1<u assistant: b", "k<a1 system:compact_boundary: compacted (auto, 5)", "s<k compact_summary: so far", "x<s user: kept *"}, "a"},
		{"a boundary with the segment that was kept", []string{
			line("u", "user", "a"), line("a1<u", "assistant", "b"), line("u2<a1", "user", "c"),
			boundary("k", "gone", `,"preservedSegment":{"headUuid":"u","anchorUuid":"s","tailUuid":"a1"}`),
		}, []string{"u user: a", "a1<u assistant: b", "u2<a1 user: c *", "k<a1 system:compact_boundary: compacted (auto, 5) ~"}, "a"},
		{"what a compaction kept, written once more", []string{
			line("u", "user", "a"),
			boundary("k", "u", ""),
			line("s<k", "user", "so far", `"isCompactSummary":true`),
			line("r1<s", "user", "kept", `"timestamp":"2026-03-01T10:00:05.123Z"`), line("b1<r1", "assistant", "kept too"),
			line("r2<s", "user", "kept", `"timestamp":"2026-03-01T10:00:05.123Z"`), line("b2<r2", "assistant", "kept too"), line("n<b2", "user", "and on"),
		}, []string{"u user: a", "k<u system:compact_boundary: compacted (auto, 5)", "s<k compact_summary: so far", "r1<s user: kept ~", "b1<r1 assistant: kept too", "r2<s user: kept", "b2<r2 assistant: kept too", "n<b2 user: and on *"}, "a"},
		{"and what a person asked twice", []string{
			line("u", "user", "a"),
			boundary("k", "u", ""),
			line("s<k", "user", "so far", `"isCompactSummary":true`),
			line("r1<s", "user", "x", `"timestamp":"2026-03-01T10:00:05.123Z"`),
			line("r2<s", "user", "x", `"timestamp":"2026-03-01T10:00:09.123Z"`),
		}, []string{"u user: a", "k<u system:compact_boundary: compacted (auto, 5)", "s<k compact_summary: so far", "r1<s user: x", "r2<s user: x *"}, "a"},
		{"a command first", []string{
			line("u", "user", "<command-message>init is running</command-message>\n<command-name>/init</command-name>"),
			line("a1<u", "assistant", "b"),
		}, []string{"u user: /init", "a1<u assistant: b *"}, "/init"},
		{"what commands are and say, without their marks", []string{
			line("u", "user", "<bash-input>git status</bash-input>"),
			line("o<u", "user", "<bash-stdout>clean</bash-stdout><bash-stderr></bash-stderr>"),
			line("l<o", "user", "<local-command-stdout>Set model to opus</local-command-stdout>"),
			line("c<l", "user", "<local-command-stdout>cut of"),
			`{"type":"system","subtype":"local_command","uuid":"s","parentUuid":"c","sessionId":"S","content":"<command-name>/cost</command-name>\n<command-args></command-args>"}`,
			line("q<s", "user", "a question"),
		}, []string{"u user: ! git status", "o<u user: → clean", "l<o user: → Set model to opus", "c<l user: → cut of", "s<c system:local_command: local_command /cost", "q<s user: a question *"}, "a question"},
		{"summaries of here and elsewhere", []string{
			`{"type":"summary","summary":"elsewhere","leafUuid":"zz"}`,
			`{"type":"summary","summary":"here","leafUuid":"a1"}`,
			line("u", "user", "a"), line("a1<u", "assistant", "b"),
		}, []string{"u user: a", "a1<u assistant: b *"}, "here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, written(t, c.lines...))
			if diff := cmp.Diff(c.want, tree(t, s, only(t, s))); diff != "" {
				t.Error(diff)
			}
			if _, title, err := s.Report(t.Context(), only(t, s)); err != nil || title != c.title {
				t.Errorf("title %q, %v", title, err)
			}
		})
	}
}

// A parent that is named before it is written is not missing.
func TestALogicalParentThatComesLater(t *testing.T) {
	boundary := `{"type":"system","subtype":"compact_boundary","uuid":"k","parentUuid":null,"logicalParentUuid":%q,"sessionId":"S"}`
	for logical, want := range map[string]int64{"x": 0, "y": 1} {
		s := open(t, written(t, line("u", "user", "a"), fmt.Sprintf(boundary, logical), line("x<k", "user", "kept")))
		r, _, err := s.Report(t.Context(), only(t, s))
		if err != nil || r.Orphans != want || int64(len(r.Warnings)) != want {
			t.Errorf("%s: %+v, %v", logical, r, err)
		}
	}
	n, err := open(t, written(t, line("u", "user", "a"), fmt.Sprintf(boundary, "u"))).Node(t.Context(), "11111111-2222", "k")
	if err != nil || n.Data.Get("compact_boundary") != "true" {
		t.Errorf("%s, %v", n.Data, err)
	}
}

// Where a session comes from is told where it says so; lists say what it was called
// last, though that stands at its end.
func TestWhereASessionIsFrom(t *testing.T) {
	dir := t.TempDir()
	const one, two, three = "0b4c8a6e-0000-4000-8000-000000000001", "0b4c8a6e-0000-4000-8000-000000000002", "0b4c8a6e-0000-4000-8000-000000000003"
	long := strings.Repeat("x", 300<<10)
	for name, lines := range map[string][]string{
		one:        {strings.ReplaceAll(line("u", "user", "a"), `"S"`, `"`+one+`"`), line("b<u", "assistant", long), `{"type":"ai-title","sessionId":"S","aiTitle":"by the program"}`},
		two:        {strings.ReplaceAll(line("u", "user", "a"), `"S"`, `"`+one+`"`), `{"type":"custom-title","sessionId":"S","customTitle":"resumed"}`},
		three:      {line("u", "user", "a", `"forkedFrom":{"sessionId":"`+two+`","messageUuid":"u"}`)},
		"renamed":  {line("u", "user", "a", `"isSidechain":true`, `"agentId":"ab12"`), line("v<u", "assistant", "b", `"isSidechain":true`, `"agentId":"ab12"`)},
		"any-name": {line("u", "user", "a")},
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
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
		one: `claude-code "by the program" from ""`, two: `claude-code "resumed" from "` + one + `"`, three: `claude-code "a" from "` + two + `"`,
		"renamed": `claude-agent "a" from "S"`, "any-name": `claude-code "a" from ""`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := tree(t, s, "renamed"); got[1] != "v<u assistant: b *" {
		t.Errorf("%q", got)
	}
}

// A summary stands at the head of the file of the next session. It is the title of the
// conversation that its leaf ends, in lists and where that is opened, unless a person or the
// program called it something.
func TestTitlesInOtherFiles(t *testing.T) {
	dir := t.TempDir()
	summary := func(leaf, text string) string {
		return fmt.Sprintf(`{"type":"summary","summary":%q,"leafUuid":%q}`, text, leaf)
	}
	write := func(name string, lines ...string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("summarised", line("s1", "user", "prompt"), line("s2<s1", "assistant", "b"))
	write("named", line("n1", "user", "prompt"), line("n2<n1", "assistant", "b"), `{"type":"custom-title","sessionId":"S","customTitle":"by hand"}`)
	write("plain", line("p1", "user", "prompt"))
	write("next", summary("s2", "What was done"), summary("n2", "Not this"), summary("gone", "Of a file that is no more"), line("x1", "user", "go on"))
	s := open(t, dir)
	check := func(want map[string]string) {
		t.Helper()
		heads, err := s.Heads(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, h := range heads {
			got[h.ID] = h.Title
			if _, title, err := s.Report(t.Context(), h.ID); err != nil || title != h.Title {
				t.Errorf("%s is %q in the list and %q opened, %v", h.ID, h.Title, title, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	check(map[string]string{"summarised": "What was done", "named": "by hand", "plain": "prompt", "next": "go on"})
	write("later", summary("p1", "Summed up later"), line("y1", "user", "and on"))
	check(map[string]string{"summarised": "What was done", "named": "by hand", "plain": "Summed up later", "next": "go on", "later": "and on"})
	if err := os.Remove(filepath.Join(dir, "next.jsonl")); err != nil {
		t.Fatal(err)
	}
	check(map[string]string{"summarised": "prompt", "named": "by hand", "plain": "Summed up later", "later": "and on"})
}

// A message is counted once, with what its last line says, and what the program wrote in the
// model's place is none.
func TestUsageOfMessagesInSeveralLines(t *testing.T) {
	spent := func(id, model, usage string) string {
		return fmt.Sprintf(`"message":{"role":"assistant","id":%q,"model":%q,"content":[{"type":"text","text":"x"}],"usage":%s}`, id, model, usage)
	}
	s := open(t, written(t,
		line("u", "user", "a"),
		`{"type":"assistant","uuid":"a1","parentUuid":"u","sessionId":"S",`+spent("m1", "opus", `{"input_tokens":4,"output_tokens":2,"cache_read_input_tokens":1000,"cache_creation_input_tokens":100}`)+`}`,
		`{"type":"assistant","uuid":"a2","parentUuid":"a1","sessionId":"S",`+spent("m1", "opus", `{"input_tokens":4,"output_tokens":80,"cache_read_input_tokens":1000,"cache_creation_input_tokens":100}`)+`}`,
		`{"type":"assistant","uuid":"a3","parentUuid":"a2","sessionId":"S",`+spent("m2", "opus", `{"input_tokens":5,"output_tokens":50}`)+`}`,
		`{"type":"assistant","uuid":"a4","parentUuid":"a3","sessionId":"S",`+spent("m1", "opus", `{"input_tokens":4,"output_tokens":3}`)+`}`,
		`{"type":"assistant","uuid":"a5","parentUuid":"a4","sessionId":"S",`+spent("m3", "<synthetic>", `{"input_tokens":0,"output_tokens":0}`)+`}`,
	))
	r, _, err := s.Report(t.Context(), only(t, s))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(r.Totals.Messages, r.Totals.Input, r.Totals.Output, r.Totals.CacheRead, r.Totals.CacheWrite, r.Totals.Models)
	if want := "2 9 130 1000 100 map[opus:2]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What is marked at the end of a reading may be read at that moment: the race detector tells.
func TestMarksWhileOthersRead(t *testing.T) {
	lines := []string{line("u", "user", "begin")}
	for i := range 50 {
		a, r := fmt.Sprintf("a%d", i), fmt.Sprintf("r%d", i)
		parent := "u"
		if i > 0 {
			parent = fmt.Sprintf("a%d", i-1)
		}
		lines = append(lines, line(a+"<"+parent, "assistant", "call"), result(r+"<"+a, "answer"))
	}
	path := written(t, lines...)
	for range 20 {
		s := open(t, path)
		id := only(t, s)
		for whole := false; !whole; {
			err := store.All(func(p store.PageRequest) (store.Page[store.Outline], error) {
				page, r, err := s.PreviewOutline(t.Context(), id, p)
				whole = r.Whole
				return page, err
			}, func(store.Outline) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

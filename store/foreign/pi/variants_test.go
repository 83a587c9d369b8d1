package pi

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// at is a line of an entry, with what is given besides.
func at(kind, id, parent, more string) string {
	line := fmt.Sprintf(`{"type":%q,"id":%q,"parentId":%s,"timestamp":"2026-03-01T10:00:01.000Z"`, kind, id, parent)
	if more != "" {
		line += "," + more
	}
	return line + "}"
}

func says(role, text string) string {
	return fmt.Sprintf(`"message":{"role":%q,"content":%q}`, role, text)
}

func TestVariants(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
		chain int64
	}{
		{"the first version, forked, with a compaction", []string{
			`{"type":"session","id":"S","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/srv/demo","provider":"acme","modelId":"m","thinkingLevel":"off","branchedFrom":"/home/b/2026-01-01T00-00-00-000Z_older.jsonl"}`,
			`{"type":"message","timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"a"}}`,
			`{"type":"compaction","timestamp":"2026-03-01T10:00:02.000Z","summary":"s","firstKeptEntryIndex":1,"tokensBefore":9}`,
			`{"type":"model_change","timestamp":"2026-03-01T10:00:03.000Z","provider":"acme","modelId":"n"}`,
		}, []string{`S session: a`, `line-2<S user: a`, `line-3<line-2 compaction: compacted (9): s`, `line-4<line-3 model_change: model → acme/n *`}, 2},
		{"the second version", []string{
			`{"type":"session","version":2,"id":"S","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/srv/demo"}`,
			at("message", "a", "null", says("hookMessage", "hooked")),
			at("message", "b", `"a"`, says("user", "b")),
		}, []string{`S session: b`, `a<S hookMessage: hooked`, `b<a user: b *`}, 0},
		{"rows without a parent, and then rows with one", []string{
			header,
			`{"type":"message","id":"a","timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"a"}}`,
			`{"type":"message","id":"b","timestamp":"2026-03-01T10:00:02.000Z","message":{"role":"assistant","content":"b"}}`,
			at("message", "c", `"b"`, says("user", "c")),
			at("message", "d", `"a"`, says("user", "d")),
			`{"type":"message","id":"e","timestamp":"2026-03-01T10:00:03.000Z","message":{"role":"user","content":"e"}}`,
		}, []string{`S session: a`, `a<S user: a`, `b<a assistant: b`, `c<b user: c`, `d<a user: d`, `e<d user: e *`}, 2},
		{"several roots, orphans and parents of themselves", []string{
			header,
			at("message", "a", "null", says("user", "a")),
			at("message", "b", `"gone"`, says("user", "b")),
			at("message", "c", `"c"`, says("user", "c")),
			at("message", "d", `""`, says("user", "d")),
			at("message", "e", `"c"`, says("user", "e")),
		}, []string{`S session: a`, `a<S user: a`, `b<S user: b`, `c<S user: c`, `d<S user: d`, `e<c user: e *`}, 0},
		{"oh-my-pi", []string{
			`{"type":"title","v":1,"title":"the title now","source":"auto","updatedAt":"2026-03-01T11:00:00.000Z","pad":"          "}`,
			`{"type":"session","version":3,"id":"S","title":"the title at first","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/srv/demo","additionalDirectories":["/srv/more"],"previousSessionFiles":[]}`,
			at("model_change", "m", "null", `"model":"acme/big","role":"default"`),
			at("session_init", "i", `"m"`, `"systemPrompt":"you are","task":"look for it","tools":["read"]`),
			at("message", "a", `"i"`, says("user", "a")),
			at("title_change", "t", `"a"`, `"title":"the title between","source":"auto"`),
			at("mode_change", "o", `"t"`, `"mode":"plan"`),
			at("service_tier_change", "v", `"o"`, `"serviceTier":null`),
			at("ttsr_injection", "j", `"v"`, `"injectedRules":["r"]`),
			at("model_usage", "u", `"j"`, `"purpose":"title","model":"small","usage":{"input":5,"output":1,"cost":{"total":0.5}}`),
			at("reset_boundary", "r", `"u"`, ""),
			at("archive", "h", `"r"`, `"targetId":"a","archived":true`),
		}, []string{`S session: the title now`, `m<S model_change: model → acme/big`, `i<m session_init: look for it`, `a<i user: a`, `t<a title_change: name: the title between`,
			`o<t mode_change: mode → plan`, `v<o service_tier_change: service_tier_change v`, `j<v ttsr_injection: ttsr_injection j`, `u<j model_usage: usage small`,
			`r<u reset_boundary: context cleared`, `h<r archive: archive h *`}, 0},
		{"newer entries", []string{
			header,
			at("message", "a", "null", says("user", "a")),
			at("usage", "u", `"a"`, `"kind":"title","provider":"acme","model":"small","usage":{"input":7,"output":2,"cost":{"total":0.25}}`),
			at("context_edit", "x", `"u"`, `"targetId":"a","replacement":null`),
			at("active_tools_change", "c", `"x"`, `"activeToolNames":["read"]`),
			`{"id":"n","parentId":"c","timestamp":"2026-03-01T10:00:09.000Z"}`,
			`{"nothing":"of it"}`,
		}, []string{`S session: a`, `a<S user: a`, `u<a usage: usage small`, `x<u context_edit: taken out of the context: a`, `c<x active_tools_change: active_tools_change c`, `n<c message: message n *`}, 0},
		{"the head before the first message", []string{
			header,
			at("message", "a", "null", says("user", "a")),
			`{"type":"leaf","id":"l","parentId":"a","timestamp":"2026-03-01T10:00:02.000Z","targetId":null}`,
		}, []string{`S session: a *`, `a<S user: a`}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, written(t, c.lines...))
			if diff := cmp.Diff(c.want, tree(t, s, only(t, s))); diff != "" {
				t.Error(diff)
			}
			r, _, err := s.Report(t.Context(), "S")
			if err != nil || r.Chained != c.chain {
				t.Errorf("%+v, %v", r, err)
			}
			heads, err := s.Heads(t.Context())
			if err != nil || "S session: "+heads[0].Title != c.want[0] && c.want[0] != "S session: "+heads[0].Title+" *" {
				t.Errorf("listed as %q, %v", heads[0].Title, err)
			}
		})
	}
}

func TestWhereAForkIsFrom(t *testing.T) {
	for path, want := range map[string]string{
		`/home/a/.pi/agent/sessions/--srv--/2026-11-30T21-10-37-049Z_my_session.v2.jsonl`: "my_session.v2",
		`C:\\Users\\a\\2026-11-30T21-10-37-049Z_one.jsonl`:                                "one",
		`one`: "one",
		``:    "",
	} {
		s := open(t, written(t, fmt.Sprintf(`{"type":"session","version":3,"id":"S","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/srv","parentSession":"%s"}`, path),
			at("message", "a", "null", says("user", "a"))))
		heads, err := s.Heads(t.Context())
		if err != nil || heads[0].Parent != want {
			t.Errorf("%s: %q, %v", path, heads[0].Parent, err)
		}
	}
}

// What a call of a model cost is counted wherever it is written, and messages apart.
func TestTotals(t *testing.T) {
	usage := `"usage":{"input":10,"output":1,"cacheRead":2,"cacheWrite":3,"totalTokens":16,"cost":{"total":0.5}}`
	s := open(t, written(t, header,
		at("message", "a", "null", `"message":{"role":"assistant","content":[],"model":"big",`+usage+`}`),
		at("message", "a", "null", `"message":{"role":"assistant","content":[],"model":"big",`+usage+`}`),
		at("compaction", "c", `"a"`, `"summary":"s","firstKeptEntryId":"a","tokensBefore":1,`+usage),
		at("branch_summary", "b", `"c"`, `"summary":"s","fromId":"a",`+usage),
		at("usage", "u", `"b"`, `"kind":"k","model":"small",`+usage),
	))
	r, _, err := s.Report(t.Context(), "S")
	want := "messages 1 in 40 out 4 read 8 write 12 cost 2 models map[big:1] duplicates 1"
	got := fmt.Sprintf("messages %d in %d out %d read %d write %d cost %v models %v duplicates %d",
		r.Totals.Messages, r.Totals.Input, r.Totals.Output, r.Totals.CacheRead, r.Totals.CacheWrite, r.Totals.Cost, r.Totals.Models, r.Duplicates)
	if err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
}

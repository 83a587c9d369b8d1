package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treering/store"
	"treering/store/foreign"
	"treering/store/storetest"
)

func open(t testing.TB, lines ...string) *foreign.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rollout-2026-03-01T10-00-00-T1.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return foreign.NewStore(foreign.NewLineReader(foreign.OneFile(path), []*foreign.LineFormat{Format()}), path)
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

func wrapped(kind, payload string) string {
	return `{"timestamp":"2026-03-01T10:00:01.000Z","type":"` + kind + `","payload":` + payload + `}`
}

func said(role, text string) string {
	kind := "input_text"
	if role == "assistant" {
		kind = "output_text"
	}
	return wrapped("response_item", `{"type":"message","role":"`+role+`","content":[{"type":"`+kind+`","text":"`+text+`"}]}`)
}

var thread = []string{
	wrapped("session_meta", `{"id":"T1","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/srv/demo","forked_from_id":"T0"}`),
	wrapped("session_meta", `{"id":"T0","cwd":"/srv/demo"}`),
	said("user", "<environment_context>x</environment_context>"),
	said("user", "build it"),
	wrapped("event_msg", `{"type":"user_message","message":"build it"}`),
	wrapped("turn_context", `{"cwd":"/srv/demo"}`),
	wrapped("response_item", `{"type":"reasoning","summary":[{"type":"summary_text","text":"think"}],"encrypted_content":"x"}`),
	wrapped("response_item", `{"type":"function_call","name":"shell","arguments":"{\"command\":[\"make\",\"-j2\"]}","call_id":"c"}`),
	wrapped("response_item", `{"type":"function_call_output","call_id":"c","output":"{\"output\":\"no rule\",\"metadata\":{\"exit_code\":2}}"}`),
	said("assistant", "it fails"),
	said("user", "fix it"),
	said("assistant", "fixed"),
	wrapped("event_msg", `{"type":"thread_rolled_back","num_turns":1}`),
	said("user", "leave it"),
	wrapped("event_msg", `{"type":"token_count","info":{"total_token_usage":{"input_tokens":100,"output_tokens":7}}}`),
	wrapped("event_msg", `{"type":"token_count","info":{"total_token_usage":{"input_tokens":150,"output_tokens":9}}}`),
}

func TestReadingHalf(t *testing.T) { storetest.TestTreeReading(t, open(t, thread...)) }

// Turns that were rolled back stay, as a branch beside what came instead.
func TestAThreadThatWasRolledBack(t *testing.T) {
	s := open(t, thread...)
	want := []string{
		"T1 session: build it", "line-3<T1 user: <environment_context>x</environment_context>", "line-4<line-3 user: build it", "line-7<line-4 reasoning: think",
		"line-8<line-7 function_call: shell: make -j2", "line-9<line-8 function_call_output: → no rule !", "line-10<line-9 assistant: it fails",
		"line-11<line-10 user: fix it", "line-12<line-11 assistant: fixed", "line-14<line-10 user: leave it *",
	}
	if diff := cmp.Diff(want, tree(t, s, "T1")); diff != "" {
		t.Error(diff)
	}
	heads, err := s.Heads(t.Context())
	if err != nil || heads[0].ID != "T1" || heads[0].Parent != "T0" || heads[0].Project != "/srv/demo" || heads[0].Title != "build it" {
		t.Errorf("%+v, %v", heads, err)
	}
	r, _, err := s.Report(t.Context(), "T1")
	if err != nil || r.Totals.Input != 150 || r.Totals.Output != 9 || r.Others["thread_rolled_back"] != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	n, err := s.Node(t.Context(), "T1", "T1")
	if err != nil || n.Data.Get("from_session") != `"T0"` {
		t.Errorf("%s, %v", n.Data, err)
	}
}

// More turns rolled back than there are: the thread begins anew.
func TestRolledBackToTheStart(t *testing.T) {
	s := open(t, thread[0], said("user", "a"), said("user", "b"), wrapped("event_msg", `{"type":"thread_rolled_back","num_turns":9}`), said("user", "c"))
	want := []string{"T1 session: a", "line-2<T1 user: a", "line-3<line-2 user: b", "line-5<T1 user: c *"}
	if diff := cmp.Diff(want, tree(t, s, "T1")); diff != "" {
		t.Error(diff)
	}
}

// The first release wrote its items without a wrapper.
func TestTheFirstRelease(t *testing.T) {
	s := open(t, `{"id":"T1","timestamp":"2025-05-01T10:00:00.000Z","instructions":""}`, `{"record_type":"state"}`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}`, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}]}`)
	want := []string{"T1 session: a", "line-3<T1 user: a", "line-4<line-3 assistant: b *"}
	if diff := cmp.Diff(want, tree(t, s, "T1")); diff != "" {
		t.Error(diff)
	}
}

// Forks and sub-agents name the thread that they are from, a fork with the copied start
// of it; the first release may have had no instructions; names stand at the end.
func TestVariants(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
		head  string
	}{
		{"a fork with what it was forked from", []string{
			wrapped("session_meta", `{"id":"T2","cwd":"/srv/two","forked_from_id":"T1"}`),
			wrapped("session_meta", `{"id":"T1","cwd":"/srv/one"}`),
			said("user", "a"), said("assistant", "b"), said("user", "c"),
			wrapped("event_msg", `{"type":"thread_name_updated","thread_name":"named"}`),
		}, []string{"T2 session: named", "line-3<T2 user: a", "line-4<line-3 assistant: b", "line-5<line-4 user: c *"}, "T2 T1 /srv/two named"},
		{"a sub-agent", []string{
			wrapped("session_meta", `{"id":"T3","cwd":"/srv","source":{"subagent":{"thread_spawn":{"parent_thread_id":"T1","depth":1}}}}`),
			said("user", "a"),
		}, []string{"T3 session: a", "line-2<T3 user: a *"}, "T3 T1 /srv a"},
		{"rolled back twice", []string{
			wrapped("session_meta", `{"id":"T4","cwd":"/srv"}`),
			said("user", "a"), said("assistant", "b"), said("user", "c"), said("assistant", "d"), said("user", "e"), said("assistant", "f"),
			wrapped("event_msg", `{"type":"thread_rolled_back","num_turns":2}`),
			said("user", "g"),
			wrapped("event_msg", `{"type":"thread_rolled_back","num_turns":1}`),
			said("user", "h"),
			wrapped("compacted", `{"message":"short"}`),
		}, []string{"T4 session: a", "line-2<T4 user: a", "line-3<line-2 assistant: b", "line-4<line-3 user: c", "line-5<line-4 assistant: d", "line-6<line-5 user: e", "line-7<line-6 assistant: f",
			"line-9<line-3 user: g", "line-11<line-3 user: h", "line-12<line-11 compacted: compacted: short *"}, "T4  /srv a"},
		{"the first release without instructions", []string{
			`{"id":"T5","timestamp":"2025-05-01T10:00:00.000Z","instructions":null}`,
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}`,
		}, []string{"T5 session: a", "line-2<T5 user: a *"}, "T5   a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, c.lines...)
			heads, err := s.Heads(t.Context())
			if err != nil || len(heads) != 1 {
				t.Fatalf("%+v, %v", heads, err)
			}
			h := heads[0]
			if got := fmt.Sprintf("%s %s %s %s", h.ID, h.Parent, h.Project, h.Title); got != c.head {
				t.Errorf("listed as %q", got)
			}
			if diff := cmp.Diff(c.want, tree(t, s, h.ID)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A call that has no name of its own is told by what it is.
func TestCallsWithoutAName(t *testing.T) {
	item := func(payload string) string { return wrapped("response_item", payload) }
	s := open(t, thread[0],
		item(`{"type":"web_search_call","status":"completed","action":{"type":"search","query":"flaky tests"}}`),
		item(`{"type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["ls","-l"]}}`),
		item(`{"type":"web_search_call"}`),
		item(`{"type":"custom_tool_call","name":"apply_patch","input":"\n*** Begin Patch\n"}`),
		item(`{"type":"function_call","name":"update_plan"}`),
	)
	var got []string
	for _, l := range tree(t, s, "T1")[1:] {
		_, l, _ = strings.Cut(l, " ")
		got = append(got, l)
	}
	want := []string{
		"web_search_call: web search: flaky tests", "local_shell_call: shell: ls -l", "web_search_call: web search",
		"custom_tool_call: apply_patch: *** Begin Patch", "function_call: update_plan *",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

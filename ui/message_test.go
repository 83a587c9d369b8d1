package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treering/store"
	"treering/store/memory"
)

// brief is a message as lines.
func brief(m message) (out []string) {
	for _, f := range m.facts {
		out = append(out, f.label+"="+f.text)
	}
	for _, p := range m.parts {
		l := p.heading
		if p.text != "" {
			l += ": " + p.text
		}
		if p.value != "" {
			l += " " + string(p.value)
		}
		if p.failed {
			l += " !"
		}
		if p.quiet {
			l += " ~"
		}
		out = append(out, l)
	}
	if len(m.calls) > 0 {
		out = append(out, "calls "+strings.Join(m.calls, ","))
	}
	if m.reply != "" {
		out = append(out, "answers "+m.reply)
	}
	return out
}

func TestMessages(t *testing.T) {
	for _, c := range []struct {
		name, data string
		want       []string
	}{
		{"a text", `{"raw":{"message":{"role":"user","content":"build it"}}}`, []string{"user says: build it"}},
		{
			"blocks", `{"raw":{"message":{"role":"assistant","model":"big","usage":{"input_tokens":12345,"output_tokens":6,"cache_read_input_tokens":0},"content":[
{"type":"thinking","thinking":"hm"},{"type":"text","text":"I will"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}},{"type":"never heard of","x":1}]}}}`,
			[]string{"model=big", "tokens=12,345 in, 6 out", "thinks: hm ~", "assistant says: I will", `calls Bash {"command":"make"}`, "calls t1"},
		},
		{"an answer", `{"raw":{"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no rule"}]}]}}}`,
			[]string{"failed=yes", "answers: no rule !", "answers t1"}},
		{"a pi answer", `{"raw":{"message":{"role":"toolResult","toolCallId":"c","toolName":"bash","content":"ok","isError":false}}}`, []string{"bash answers: ok", "answers c"}},
		{"a pi call", `{"raw":{"message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"ls"}}],"usage":{"input":1,"cost":{"total":0.0125}},"stopReason":"error","errorMessage":"overloaded"}}}`,
			[]string{"tokens=1 in", "cost=0.0125", "stopped=error overloaded", `calls bash {"command":"ls"}`, "calls c"}},
		{"a command", `{"raw":{"message":{"role":"bashExecution","command":"false","output":"","exitCode":1}}}`, []string{"exit code=1", "command: $ false", "output !"}},
		{"a picture", `{"raw":{"message":{"role":"user","content":[{"type":"image","source":{"media_type":"image/png","data":"AAAA"}}]}}}`, []string{"an image, image/png, 3 bytes ~"}},
		{"an item", `{"raw":{"payload":{"type":"function_call","name":"shell","call_id":"c","arguments":"{\"command\":[\"make\"]}"}}}`, []string{`calls shell {"command":["make"]}`, "calls c"}},
		{"its output", `{"raw":{"payload":{"type":"function_call_output","call_id":"c","output":"done"}}}`, []string{"answers: done", "answers c"}},
		{"its output with the code", `{"raw":{"payload":{"type":"function_call_output","call_id":"c","output":"{\"output\":\"no rule\",\"metadata\":{\"exit_code\":2,\"duration_seconds\":1.53}}"}}}`, []string{"exit code=2", "took=1.5s", "answers: no rule !", "answers c"}},
		{"an item without a wrapper", `{"raw":{"type":"function_call","name":"shell","call_id":"c","arguments":"{}"}}`, []string{"calls shell {}", "calls c"}},
		{"an answer with its time", `{"raw":{"toolUseResult":{"totalDurationMs":75300},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}}`, []string{"took=1m15s", "answers: ok", "answers t1"}},
		{"a system's line", `{"raw":{"type":"system","subtype":"turn_duration","durationMs":950,"content":"done"}}`, []string{"took=950ms", "says: done"}},
		{"a picture in a URL", `{"raw":{"message":{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"},{"type":"input_image","image_url":"https://x"}]}}}`, []string{"an image, image/png, 3 bytes ~", "an image, elsewhere ~"}},
		{"a thought", `{"raw":{"payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"so"}]}}}`, []string{"thinks: so ~"}},
		{"a state", `{"raw":{"checkpoint":{"channel_values":{"messages":[{"lc":1,"id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"a"}},{"lc":1,"id":["langchain_core","messages","AIMessage"],"kwargs":{"content":"b","tool_calls":[{"name":"search","args":{"q":1}}]}}]}}}}`,
			[]string{"messages=2, the last is shown", "ai says: b", `calls search {"q":1}`}},
		{"a summary", `{"raw":{"type":"compaction","summary":"so far"}}`, []string{"summary: so far"}},
		{"a node of ours", `{"role":"user","content":"hello"}`, []string{"user says: hello"}},
		{"no message", `{"command":"make","n":1}`, nil},
		{"other types than expected", `{"raw":{"message":{"role":1,"content":{"type":"text"},"usage":[],"model":{}}}}`, nil},
	} {
		if diff := cmp.Diff(c.want, brief(messageOf(store.JSON(c.data)))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// A call and its answer find each other, though other calls stand between them.
func TestCallsAndTheirAnswers(t *testing.T) {
	nodes := []store.Node{
		{ID: "root", Kind: "user", Data: `{}`},
		{ID: "c1", Kind: "assistant", Data: `{"raw":{"message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"A"}]}}}`},
		{ID: "c2", Kind: "assistant", Data: `{"raw":{"message":{"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"B"}]}}}`},
		{ID: "r2", Kind: "tool_result", Data: `{"raw":{"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"b"}]}}}`},
		{ID: "r1", Kind: "tool_result", Data: `{"raw":{"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a"}]}}}`},
		{ID: "c3", Kind: "assistant", Data: `{"raw":{"message":{"role":"assistant","content":[{"type":"tool_use","id":"t3","name":"C"}]}}}`},
	}
	ts := treesWith(t, nodes)
	for id, want := range map[string]string{"c1": "answered by r1", "c2": "answered by r2", "r1": "answers c1", "r2": "answers c2", "c3": " ", "root": " "} {
		n, err := ts.Node(t.Context(), "s", id)
		if err != nil {
			t.Fatal(err)
		}
		p, err := pairOf(t.Context(), ts, "s", n)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s %s", p.label, p.id()); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

// treesWith is a store with one session of these nodes, each below the one before.
func treesWith(t testing.TB, nodes []store.Node) store.TreeStore {
	t.Helper()
	m, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	ts := m.Trees()
	if _, err := ts.CreateSession(t.Context(), "s", "session", nil); err != nil {
		t.Fatal(err)
	}
	for i, n := range nodes {
		if i > 0 {
			n.ParentID = &nodes[i-1].ID
		}
		if err := ts.Append(t.Context(), "s", n); err != nil {
			t.Fatal(err)
		}
	}
	return ts
}

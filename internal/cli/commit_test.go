package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"treering/store"
)

func (w *world) commit(lines ...string) result {
	w.t.Helper()
	w.stdin = strings.NewReader(strings.Join(lines, "\n"))
	return w.run("commit")
}

func TestCommit(t *testing.T) {
	w := ours(t, nil)
	r := w.commit(
		`{"execution":{"id":"x","definition_id":"d","status":"RUNNING","context":{"n":1.50},"extra":[1]}}`,
		``,
		`{"execution":{"id":"x","definition_id":"d","status":"RUNNING","version":1,"context":{}},`+
			`"emits":[{"target_id":"y","event":{"kind":"Go"}},{"event":{"id":"mine","kind":"Note","data":{"a":1}}},{"target_id":null,"event":{"id":"","kind":"Third"}}],`+
			`"processed_event_id":"e1",`+
			`"timers":[{"action":"schedule","path":"A","fire_at":10.5},{"action":"schedule","path":"B","fire_at":11},{"action":"cancel","path":"B"}],`+
			`"spawns":[{"child_id":"x:R:0","root_path":"R","context":{"k":true}},{"child_id":"x:S:0","root_path":"S"}],`+
			`"trace":{"event_kind":"Go"}}`,
		`{"execution":{"id":"y","definition_id":"d"},"emits":null,"processed_event_id":null,"timers":null,"spawns":[],"trace":null}`,
	)
	if r.code != exitDone {
		t.Fatal(r.err)
	}
	same(t, "answers", r.out, `{"version":1,"seqs":[]}`+"\n"+`{"version":2,"seqs":[1,2,3]}`+"\n"+`{"version":1,"seqs":[]}`+"\n")
	same(t, "timers", w.ok("timers", "--json"), `{"execution_id":"x","path":"A","fire_at":10.5}`+"\n")
	same(t, "spawns", w.ok("spawns", "--raw"), `{"k":true}`+"\n{}\n")
	same(t, "trace", w.ok("trace", "x", "--json"), `{"index":0,"event_kind":"Go"}`+"\n")
	seen := map[string]bool{}
	for l := range strings.Lines(w.ok("outbox", "--json")) {
		id, _ := store.JSON(l).At("event", "id").Text()
		if id == "" || seen[id] {
			t.Errorf("the event has no id of its own: %s", l)
		}
		seen[id] = true
	}
	if !seen["mine"] {
		t.Error("an id that was given is gone")
	}
	if stored := w.ok("execution", "x", "--raw"); !strings.Contains(stored, `"version":2`) {
		t.Errorf("stored: %s", stored)
	}
}

func TestCommitKeepsUnknownMembers(t *testing.T) {
	w := ours(t, nil)
	if r := w.commit(`{"execution":{"id":"x","definition_id":"d","future":{"a":1e2},"context":{"n":1.50}}}`); r.code != exitDone {
		t.Fatal(r.err)
	}
	stored := strings.TrimSpace(w.ok("execution", "x", "--raw"))
	if !strings.Contains(stored, `"future":{"a":1e2}`) || !strings.Contains(stored, `{"n":1.50}`) {
		t.Fatalf("stored: %s", stored)
	}
	// What --raw prints can be committed again.
	r := w.commit(`{"execution":` + stored + `}`)
	same(t, "again", r.out, `{"version":2,"seqs":[]}`+"\n")
}

func TestCommitConflicts(t *testing.T) {
	w := ours(t, exampleExecutions(t))
	outbox := w.ok("outbox", "--json")
	r := w.commit(
		`{"execution":{"id":"order-2","version":7},"emits":[{"event":{"kind":"Lost"}}]}`,
		`{"execution":{"id":"gone","version":3}}`,
		`{"execution":{"id":"order-2","version":1,"status":"DONE"}}`,
	)
	if r.code != exitConflict || r.err != "treering: 2 of 3 commits lost to another writer; reload these executions and try again\n" {
		t.Errorf("%d %s", r.code, r.err)
	}
	same(t, "answers", r.out, ""+
		`{"conflict":{"execution_id":"order-2","expected":7,"found":1}}`+"\n"+
		`{"conflict":{"execution_id":"gone","expected":3,"found":null}}`+"\n"+
		`{"version":2,"seqs":[]}`+"\n")
	same(t, "a lost commit leaves nothing", w.ok("outbox", "--json"), outbox)
}

func TestCommitRefuses(t *testing.T) {
	w := ours(t, nil)
	const exe = `"execution":{"id":"x","definition_id":"d"}`
	for _, tt := range []struct {
		code       int
		line, says string
	}{
		{2, `{`, "standard input, line 1: not JSON: no key where one should be at byte 1"},
		{2, `[]`, "the line must be an object, not an array"},
		{2, `{}`, `the line has no "execution"`},
		{2, `{"execution":null}`, `the line has no "execution"`},
		{2, `{"execution":[]}`, "execution: not a JSON object but an array"},
		{2, `{"execution":{"id":5}}`, `execution: "id" must be a string, not a number`},
		{2, `{"execution":{"id":"x","context":[]}}`, `"context" must be an object, not an array`},
		{2, `{"execution":{"id":"x","non_json":true}}`, `the execution has a "non_json", so it was printed with --json`},
		{2, `{` + exe + `,"emit":[]}`, `the line has an unknown key "emit"`},
		{2, `{` + exe + `,` + exe + `}`, `the line has the key "execution" twice`},
		{2, `{` + exe + `,"emits":{}}`, "emits must be an array, not an object"},
		{2, `{` + exe + `,"emits":[{}]}`, "emits[0].event is missing"},
		{2, `{` + exe + `,"emits":[{"event":{}}]}`, "emits[0].event.kind is missing"},
		{2, `{` + exe + `,"emits":[{"event":{"kind":"a"},"target":"y"}]}`, `emits[0] has an unknown key "target"`},
		{2, `{` + exe + `,"emits":[{"event":{"kind":"a"}},{"event":{"kind":"a"},"target_id":5}]}`, "emits[1].target_id must be a string, not a number"},
		{2, `{` + exe + `,"emits":[{"event":{"kind":"a","data":[]}}]}`, `emits[0]: event: "data" must be an object`},
		{2, `{` + exe + `,"processed_event_id":5}`, "processed_event_id must be a string, not a number"},
		{2, `{` + exe + `,"timers":[{"path":"a","fire_at":1}]}`, "timers[0].action is missing"},
		{2, `{` + exe + `,"timers":[{"action":"schedule","fire_at":1}]}`, "timers[0].path is missing"},
		{2, `{` + exe + `,"timers":[{"action":"schedule","path":"a"}]}`, "timers[0].fire_at is missing"},
		{2, `{` + exe + `,"timers":[{"action":"schedule","path":"a","fire_at":"soon"}]}`, "timers[0].fire_at must be a number, not a string"},
		{1, `{` + exe + `,"timers":[{"action":"schedule","path":"a","fire_at":NaN}]}`, "timers[0].fire_at: NaN is not a time"},
		{1, `{` + exe + `,"timers":[{"action":"schedule","path":"a","fire_at":-Infinity}]}`, "timers[0].fire_at: -Infinity is not a time"},
		{1, `{` + exe + `,"timers":[{"action":"schedule","path":"a","fire_at":1e999}]}`, "timers[0].fire_at: 1e999 is not a time"},
		{2, `{` + exe + `,"spawns":[{"root_path":"a"}]}`, "spawns[0].child_id is missing"},
		{2, `{` + exe + `,"spawns":[{"child_id":"a"}]}`, "spawns[0].root_path is missing"},
		{1, `{` + exe + `,"spawns":[{"child_id":"a","root_path":"b","context":[]}]}`, "spawn context: must be an object, not an array"},
		{1, `{` + exe + `,"trace":[]}`, "trace: must be an object, not an array"},
		{1, `{"execution":{"definition_id":"d"}}`, "execution id: must not be empty"},
		{1, `{"execution":{"id":"x","version":-1}}`, "version: -1 cannot be followed by another"},
	} {
		r := w.commit(tt.line)
		if r.code != tt.code || !strings.Contains(r.err, tt.says) || r.out != "" {
			t.Errorf("%s: code %d, want %d; %q, want %q in it; out %q", tt.line, r.code, tt.code, r.err, tt.says, r.out)
		}
	}
	same(t, "nothing was written", w.ok("executions", "--json"), "")
}

// A line that is refused ends the command; what stands before it is committed.
func TestCommitStopsAtARefusedLine(t *testing.T) {
	w := ours(t, nil)
	file := filepath.Join(w.home, "commits.jsonl")
	must(t, os.WriteFile(file, []byte("\n"+`{"execution":{"id":"a"}}`+"\n"+`{"execution":`+"\n"+`{"execution":{"id":"b"}}`), 0o600))
	r := w.run("commit", file)
	if r.code != exitUsage || !strings.Contains(r.err, `commits.jsonl", line 3: not JSON`) {
		t.Errorf("%d %s", r.code, r.err)
	}
	same(t, "answers", r.out, `{"version":1,"seqs":[]}`+"\n")
	same(t, "executions", lineCount(w.ok("executions", "--json")), "1")
}

// Whoever talks over a pipe gets each answer before the next line is read.
func TestCommitAnswersAtOnce(t *testing.T) {
	w := ours(t, nil)
	in, send := io.Pipe()
	receive, out := io.Pipe()
	a := &app{stdin: in, stdout: out, stderr: io.Discard, env: []string{"HOME=" + w.home}, now: w.clock}
	done := make(chan int, 1)
	go func() {
		done <- a.run(t.Context(), []string{"-s", w.store, "commit"})
		out.Close()
	}()
	buf := make([]byte, 100)
	for _, version := range []string{"0", "1", "2"} {
		_, err := io.WriteString(send, `{"execution":{"id":"x","version":`+version+"}}\n")
		must(t, err)
		n, err := receive.Read(buf)
		must(t, err)
		if got := string(buf[:n]); !strings.HasPrefix(got, `{"version":`) || !strings.HasSuffix(got, "\n") {
			t.Errorf("answer %q", got)
		}
	}
	must(t, send.Close())
	if code := <-done; code != exitDone {
		t.Errorf("code %d", code)
	}
}

// Commits are not a list: if their answers cannot be written, that is said.
func TestCommitOnAClosedPipe(t *testing.T) {
	w := ours(t, nil)
	r, out, err := os.Pipe()
	must(t, err)
	must(t, r.Close())
	var errs strings.Builder
	a := &app{
		stdin: strings.NewReader(`{"execution":{"id":"a"}}` + "\n" + `{"execution":{"id":"b"}}`), stdout: out, stderr: &errs,
		env: []string{"HOME=" + w.home}, now: w.clock,
	}
	if code := a.run(t.Context(), []string{"-s", w.store, "commit"}); code != exitFailed {
		t.Errorf("code %d", code)
	}
	same(t, "stderr", errs.String(), "treering: standard input, line 1: it is committed, but its answer could not be written: standard output was closed; nothing after it was committed\n")
	must(t, out.Close())
	same(t, "executions", lineCount(w.ok("executions", "--json")), "1")
}

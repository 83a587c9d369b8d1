package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treering/internal/testfiles"
)

// What each of the test files is, told by the commands.
func TestWhatSessionsHold(t *testing.T) {
	for _, c := range []struct {
		file, session string
		nodes         int
		forks         []string // by the filter, in the order of the list
		head, warning string
	}{
		{"pi-session.jsonl", "01a22e4b-9cf9-78d6-988e-666864c47a46", 24, []string{"01a22e4b-9cf9-78d6-988e-666864c47a46", "b5509b19"}, "fce4a667", ""},
		{"claude-compacted.jsonl", "claude-compacted", 9, nil, "990becc2-e216-5a5e-99b2-cb62d9334653", "ffa47f4d-a745-5b9b-80e5-f6ddbafe7de9 is not there"},
		{"claude-torn-lines.jsonl", "claude-torn-lines", 5, nil, "ebbceba3-9eab-5747-965f-ed4ba324045c", "line 2, byte 296"},
		{"contree-cli.db", "acme_build-api", 12, []string{"3", "6", "9"}, "12", ""},
		{"contree-cli.db", "acme_fix-flaky-test", 12, []string{"15", "18", "21"}, "24", ""},
		{"contree-cli.db", "scratch", 5, nil, "29", ""},
		{"langgraph.sqlite", "essay-1", 21, []string{"1f1ed03a-50cc-6b80-8000-42114dc8f896", "1f1ed03a-50d8-6ed0-8001-c7d81567304e"}, "1f1ed03a-51ad-6540-8002-e2bc88f8ca24", ""},
	} {
		w := newWorld(t)
		w.store = testfiles.Copy(t, c.file)
		lines := strict(t, c.file, w.ok("tree", c.session, "--json"))
		heads, roots := []string{}, 0
		for _, l := range lines {
			if id, _ := l.Get("id").Text(); l.Get("head") == "true" {
				heads = append(heads, id)
			}
			if l.Get("parent_id").IsNull() {
				roots++
			}
		}
		if len(lines) != c.nodes || roots != 1 || strings.Join(heads, " ") != c.head {
			t.Errorf("%s, %s: %d nodes, %d roots, heads %q", c.file, c.session, len(lines), roots, heads)
		}
		for _, command := range [][]string{{"nodes", c.session}, {"tree", c.session}} {
			for _, filter := range []string{"forks()", "forks() not data.nothing=here"} { // the shape alone, and with the data
				var got []string
				for _, l := range strict(t, filter, w.ok(append(command, "--json", "--filter", filter)...)) {
					id, _ := l.Get("id").Text()
					got = append(got, id)
				}
				if diff := cmp.Diff(c.forks, got); diff != "" {
					t.Errorf("%s, %s, %q: %s", c.file, c.session, filter, diff)
				}
			}
		}
		if info := w.ok("info"); !strings.Contains(info, c.warning) || c.warning == "" && strings.Contains(info, "warning") {
			t.Errorf("%s: %s", c.file, info)
		}
	}
}

// The tree says what the store says of its nodes: labels, the head, failures. The line
// still ends with the id.
func TestMarksInATree(t *testing.T) {
	w := newWorld(t)
	w.store = testfiles.Copy(t, "pi-session.jsonl")
	out := w.ok("tree", "01a22e4b-9cf9-78d6-988e-666864c47a46")
	for _, want := range []string{
		"assistant There is no wait. Two options: fixed delay or exponential backoff. [decision point]  b5509b19\n", "assistant Here is a short README. [head]  fce4a667\n",
		"tool_result ! bash: 1 failed, 4 passed !  35e9db62\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	// A store may be named behind info as well as before it.
	w.store = ""
	path := testfiles.Copy(t, "contree-cli.db")
	if info := w.ok("info", path); !strings.Contains(info, filepath.Base(path)) || !strings.Contains(info, "contree") {
		t.Error(info)
	}
	w.store = path
	w.fails(exitUsage, "not both", "info", path)
}

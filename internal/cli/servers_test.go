package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"treering/store/postgres/pgserver"
)

// servers are the locators of empty databases on servers, by the backend.
func servers(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"postgres": pgserver.Start(t).Schema(t),
		"redis":    "redis://" + miniredis.RunT(t).Addr(),
	}
}

// A server is written to with --rw and by nothing else, whatever the command and
// whoever made what is there: all backends are alike.
func TestServersAreArmedAlike(t *testing.T) {
	source := written(t, filepath.Join(t.TempDir(), "talk.jsonl"), talkHeader, entry("a", "null", "one"), entry("b", "a", "two"))
	for backend, at := range servers(t) {
		t.Run(backend, func(t *testing.T) {
			w := newWorld(t)
			w.fails(exitUsage, "--rw --create", "import", source, "--into", at)
			w.fails(exitUsage, "--rw --create", "import", source, "--into", at, "--create")
			w.fails(exitUsage, "--rw --create", "-s", at, "--create", "sessions")
			w.fails(exitUsage, "neither executions nor session trees", "-s", at, "sessions")
			added := func(want string, args ...string) {
				t.Helper()
				got := strict(t, "import", w.ok(append([]string{"import", source, "--into", at, "--json"}, args...)...))
				same(t, "added", string(got[0].Get("added")), want)
			}
			w.says = ""
			if backend == "postgres" {
				w.says = "treering: adding the tables for executions and session trees to \"" + at + "\"\n"
			}
			added("3", "--rw", "--create")
			w.says = ""
			w.fails(exitUsage, "--rw opens it for writing", "import", source, "--into", at)
			added("0", "--rw")
			w.store = at
			w.fails(exitUsage, "--rw opens it for writing", "session", "delete", "talk")
			same(t, "how", string(strict(t, "info", w.ok("info", "--json"))[0].Get("writable")), "false")
			if nodes := w.ok("nodes", "talk"); !strings.Contains(nodes, "a") {
				t.Errorf("nodes: %s", nodes)
			}
			w.ok("--rw", "session", "delete", "talk")
		})
	}
}

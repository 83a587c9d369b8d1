package cli

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
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

// What is told of a store on a server, in lists, exports, titles, JSON, errors and what
// is remembered, holds no password, wherever that came from.
func TestPasswordsAreInNoOutput(t *testing.T) {
	const password = "hunter2 %/'#"
	pg := pgserver.Start(t)
	pg.Login(t, "keeper", password)
	m := miniredis.RunT(t)
	m.RequireAuth(password)
	secret := url.UserPassword("keeper", password).String()
	for _, at := range []string{pg.URL(), "redis://" + strings.Replace(secret, "keeper", "", 1) + "@" + m.Addr()} {
		seed := newWorld(t)
		if at == pg.URL() {
			seed.says = fmt.Sprintf("treering: adding the tables for executions and session trees to %q\n", at)
		}
		seed.ok("demo", "--into", at, "--rw", "--create")
	}
	for _, tt := range []struct{ name, at, variable string }{
		{"postgres, by the URL", "postgres://" + secret + "@" + pg.Addr() + "/postgres", ""},
		{"postgres, by a parameter", "postgres://keeper@" + pg.Addr() + "/postgres?application_name=x&password=" + url.QueryEscape(password), ""},
		{"postgres, by the environment", "postgres://keeper@" + pg.Addr() + "/postgres", "PGPASSWORD"},
		{"redis, by the URL", "redis://" + strings.Replace(secret, "keeper", "", 1) + "@" + m.Addr(), ""},
		{"redis, by the environment", "redis://" + m.Addr(), "REDISCLI_AUTH"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			if tt.variable != "" {
				t.Setenv(tt.variable, password)
			}
			quiet := func(r result, args []string) {
				t.Helper()
				for _, part := range []string{"hunter2", "hunter%32"} {
					if strings.Contains(r.out+r.err, part) {
						t.Errorf("%q tells the password: %.300s%.300s", args, r.out, r.err)
					}
				}
			}
			w.store = tt.at
			good := [][]string{
				{"info"}, {"info", "--json"}, {"sessions"}, {"sessions", "--json"}, {"executions"}, {"executions", "--json"}, {"outbox"}, {"spawns"}, {"timers"},
				{"nodes", "aurora"}, {"export", "aurora", "--format", "markdown"}, {"export", "aurora", "--format", "json"}, {"export", "aurora", "--format", "mermaid"},
				{"export", "--execution", "build-aurora", "--format", "json"}, {"trace", "build-aurora"}, {"execution", "build-aurora", "--json"}, {"transport", "--json"}, {"check", "--json"},
			}
			for _, args := range good {
				r := w.run(args...)
				quiet(r, args)
				if r.code != exitDone && r.code != exitFound && args[0] != "transport" {
					t.Errorf("%q: code %d, %s", args, r.code, r.err)
				}
			}
			bad := [][]string{
				{"node", "aurora", "nowhere"}, {"session", "delete", "aurora"}, {"--prefix", "nowhere", "executions"}, {"--rw", "suspend", "nowhere"},
				{"import", tt.at, "--into", tt.at, "--rw"}, {"executions", "--filter", "("},
			}
			for _, args := range bad {
				r := w.run(args...)
				quiet(r, args)
			}
			w.stdin = strings.NewReader("i\nExecutions\nR\nq\n")
			args := []string{"--plain", tt.at}
			r := w.plain(args...)
			quiet(r, args)
			if !strings.Contains(r.out, "executions") {
				t.Errorf("the explorer says %.300q %s", r.out, r.err)
			}
			must(t, filepath.WalkDir(w.home, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				if strings.Contains(string(text), "hunter") {
					t.Errorf("%s remembers the password", path)
				}
				return err
			}))
		})
	}
}

package locate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"treering/internal/testfiles"
)

// The places of each program are looked through, as its variables name them.
func TestAgents(t *testing.T) {
	home := t.TempDir()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	put := func(dir, name, text string) string {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		at = at.Add(-time.Minute)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	database := func(path string) {
		t.Helper()
		b, err := os.ReadFile(testfiles.Copy(t, "contree-sdk-v1.db"))
		if err != nil {
			t.Fatal(err)
		}
		put(filepath.Dir(path), filepath.Base(path), string(b))
	}
	pi := func(id string) string { return fmt.Sprintf(piHeader, id, id) + said("u", "", "hello") }
	claude := `{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","cwd":"/srv/c","timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"a question"}}` + "\n"
	codex := `{"timestamp":"2026-03-01T10:00:01.000Z","type":"session_meta","payload":{"id":"codex-1","timestamp":"2026-03-01T10:00:01.000Z","cwd":"/srv/x","originator":"cli"}}` + "\n"
	put(home, ".claude/projects/-srv-c/one.jsonl", claude)
	put(home, ".claude/history.jsonl", claude)
	put(home, ".claude/projects/-srv-c/one/journal.jsonl", `{"step":1}`+"\n")
	put(home, ".codex/sessions/2026/03/01/rollout-a.jsonl", codex)
	put(home, ".pi/agent/sessions/--srv--/two.jsonl", pi("two"))
	put(home, ".pi/agent/stray.jsonl", pi("stray"))
	put(home, ".omp/agent/sessions/--srv--/omp.jsonl", pi("omp"))
	put(home, ".openclaw/agents/main/sessions/claw.jsonl", pi("claw"))
	database(filepath.Join(home, ".config/contree/cli/sessions/default.db"))
	put(home, ".config/contree/cli/sessions/empty.db", "")
	put(home, ".config/contree/cli/auth.ini", "secret")
	before := tree(t, home)

	list := func(program string, env ...string) (got []string) {
		t.Helper()
		found, notes, err := Agents(t.Context(), append(Environ{"HOME=" + home}, env...), program)
		if err != nil || len(notes) > 0 {
			t.Fatalf("%v, %q", err, notes)
		}
		for _, s := range found {
			if _, err := os.Stat(s.Path); err != nil {
				t.Error(err)
			}
			if s.Program != "contree" {
				got = append(got, strings.Join([]string{s.Program, s.ID, s.Project, s.Title}, "|"))
			}
		}
		return got
	}
	want := []string{"claude|one|/srv/c|a question", "codex|codex-1|/srv/x|", "pi|two|/srv/two|hello", "pi|stray|/srv/stray|hello", "oh-my-pi|omp|/srv/omp|hello", "openclaw|claw|/srv/claw|hello"}
	if diff := cmp.Diff(want, list("")); diff != "" {
		t.Error(diff)
	}
	found, _, err := Agents(t.Context(), Environ{"HOME=" + home}, "contree")
	if err != nil || len(found) == 0 || found[0].Path != filepath.Join(home, ".config/contree/cli/sessions/default.db") {
		t.Errorf("%+v, %v", found, err)
	}
	if diff := cmp.Diff(want[2:4], list("pi")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, tree(t, home)); diff != "" {
		t.Error("looking changed something: " + diff)
	}

	other := t.TempDir()
	put(other, "projects/p/moved.jsonl", claude)
	put(other, "sessions/rollout-b.jsonl", codex)
	put(other, "mine/three.jsonl", pi("three"))
	for program, env := range map[string]string{"claude": "CLAUDE_CONFIG_DIR=" + other, "codex": "CODEX_HOME=" + other, "pi": "PI_CODING_AGENT_SESSION_DIR=" + other + "/mine"} {
		if got := list(program, env, "PI_CODING_AGENT_DIR="+other+"/none"); len(got) != 1 {
			t.Errorf("%s: %q", env, got)
		}
	}
	// A place may be a link.
	if err := os.Symlink(filepath.Join(home, ".claude"), filepath.Join(other, "link")); err != nil {
		t.Skip(err)
	}
	if got := list("claude", "CLAUDE_CONFIG_DIR="+other+"/link"); len(got) != 1 {
		t.Errorf("through a link: %q", got)
	}
	if found, notes, err := Agents(t.Context(), nil, ""); err != nil || len(found)+len(notes) > 0 {
		t.Errorf("without a home: %v %v %v", found, notes, err)
	}
}

// tree is every file below a folder with its content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

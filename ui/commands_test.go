package ui_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"treering/internal/cli"
	"treering/store"
	"treering/store/locate"
	"treering/ui"
)

// shellWords are the words that a shell makes of a command line, by command.
func shellWords(t *testing.T, line string) (commands [][]string) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	out, err := exec.Command(bash, "-c", `treering() { printf '%s\0' "$@"; printf '\n\0'; }; `+line).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	var words []string
	for w := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if w == "\n" {
			commands, words = append(commands, words), nil
			continue
		}
		words = append(words, w)
	}
	return commands
}

// seedFile makes a file of ours with something to write to everywhere.
func seedFile(t *testing.T, path string) {
	t.Helper()
	ctx := context.Background()
	o, err := locate.Open(ctx, path, locate.Options{ReadWrite: true, Create: true})
	check(t, err)
	defer func() { check(t, o.Close()) }()
	ts, es := o.Trees, o.Executions
	for _, s := range []string{"example", "two words", "it's $HOME \x1b[2J"} {
		_, err = ts.CreateSession(ctx, s, "session", nil)
		check(t, err)
		check(t, ts.Append(ctx, s, store.Node{ID: "r", Kind: "init", Data: "{}"}))
	}
	_, err = ts.CreateSession(ctx, "old", "session", store.Seconds(0))
	check(t, err)
	now := float64(time.Now().Unix())
	for _, e := range []struct {
		id     string
		status store.Status
	}{{"done", store.Done}, {"idle", store.Suspended}, {"-run 'x'", store.Running}} {
		exe := &store.Execution{ID: e.id, DefinitionID: "d", Status: e.status}
		c := store.Commit{Execution: exe, Emits: []store.Emit{{TargetID: &e.id, Event: store.Event{ID: "ev-" + e.id, Kind: "K"}}},
			Spawns: []store.Spawn{{ChildID: e.id + ":c", Context: "{}"}}, Timers: []store.TimerOp{{Action: store.Schedule, Path: "A.B", FireAt: now + 3600.123456}}}
		_, err := es.Commit(ctx, c)
		check(t, err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// content is what a file holds, without the ids and times that are fresh each time.
func content(t *testing.T, path string) string {
	t.Helper()
	var all strings.Builder
	run := func(args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		if code := cli.Main(t.Context(), append([]string{"-s", path}, args...), strings.NewReader(""), &out, &errs, os.Environ()); code != 0 {
			t.Fatalf("%q: %d, %s", args, code, errs.String())
		}
		all.WriteString(out.String())
	}
	run("sessions", "--json")
	for _, s := range []string{"example", "two words", "new one"} {
		var out bytes.Buffer
		if cli.Main(t.Context(), []string{"-s", path, "nodes", s, "--json"}, strings.NewReader(""), &out, io.Discard, os.Environ()) == 0 {
			all.WriteString(out.String())
		}
	}
	run("executions", "--json")
	run("outbox", "--json")
	run("spawns", "--json")
	run("timers", "--json")
	run("purge", "--expired", "--dry-run")
	fresh := regexp.MustCompile(`"id":"[0-9a-f]{32}"|"fire_at":[0-9]+\.[0-9]+`)
	return fresh.ReplaceAllStringFunc(all.String(), func(s string) string {
		if strings.HasPrefix(s, `"fire_at"`) && strings.HasSuffix(s, ".123456") {
			return "armed"
		}
		return "fresh"
	})
}

// The command that a dialog shows does exactly what the dialog does: on two copies
// of one file both leave the same.
func TestTheCommandDoesWhatTheDialogDoes(t *testing.T) {
	const running = "-run 'x'"
	dir := t.TempDir()
	seed := filepath.Join(dir, "seed.db")
	seedFile(t, seed)
	untouched := content(t, seed)
	for name, steps := range map[string][]string{
		"append":             {"2", "a", "wait", "type:{\"a\": \"it's\",\n \"b\": \"\\u001b $x\"}", "enter", "enter"},
		"append with an id":  {"2", "a", "wait", "tab", "tab", "type:-mine 'x'", "enter"},
		"append a root":      {"+", "wait", "type:new one", "enter", "enter", "tab", "type:{\"n\":1.50}", "shift+tab", "enter"},
		"create":             {"+", "wait", "type:new one", "enter", "ctrl+u", "type:kind of it", "enter", "enter"},
		"delete":             {"G", "D", "wait", "type:two words", "enter"},
		"delete, odd name":   {"j", "D", "wait", "type:it's $HOME ␛[2J", "enter"},
		"ttl":                {"t", "wait", "type:0", "enter"},
		"purge expired":      {"X"},
		"acknowledge":        {"l", "6", "w", "A"},
		"acknowledge spawn":  {"l", "6", "w", "l", "A"},
		"fire":               {"l", "6", "w", "l", "l", "f"},
		"suspend":            {"l", "jump:" + running, "s"},
		"cancel":             {"l", "jump:" + running, "C"},
		"terminate":          {"l", "jump:" + running, "T"},
		"resume":             {"l", "jump:idle", "r"},
		"purge an execution": {"l", "jump:done", "P"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			byDialog, byCommand := filepath.Join(dir, "dialog.db"), filepath.Join(dir, "it's a command.db")
			bytes, err := os.ReadFile(seed)
			check(t, err)
			check(t, os.WriteFile(byDialog, bytes, 0o600))
			check(t, os.WriteFile(byCommand, bytes, 0o600))
			o, err := locate.Open(t.Context(), byDialog, locate.Options{ReadWrite: true})
			check(t, err)
			line, said := ui.CommandOf(t, o, byCommand, append(steps, "wait")...)
			check(t, o.Close())
			for _, words := range shellWords(t, line) {
				var errs strings.Builder
				if code := cli.Main(t.Context(), words, strings.NewReader(""), io.Discard, &errs, os.Environ()); code != 0 {
					t.Fatalf("%s: exit code %d, %s", line, code, errs.String())
				}
			}
			got, want := content(t, byCommand), content(t, byDialog)
			if got != want {
				t.Errorf("%s leaves\n%s, the dialog, which says %q,\n%s", line, got, said, want)
			}
			if want == untouched {
				t.Errorf("nothing was written: %s", said)
			}
		})
	}
}

package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// everyCommand visits all commands below a root.
func everyCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		everyCommand(sub, visit)
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	w := newWorld(t)
	var names []string
	a := &app{out: newOutput(t.Context(), &strings.Builder{})}
	everyCommand(a.rootCommand(), func(c *cobra.Command) {
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "treering"), " "))
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short help %q", c.CommandPath(), c.Short)
		}
		if c.Example == "" && !c.HasSubCommands() && !strings.Contains(c.CommandPath(), "completion") && c.Name() != "help" {
			t.Errorf("%s has no example", c.CommandPath())
		}
	})
	for _, want := range []string{
		"demo", "info", "sessions", "session create", "session delete", "session ttl", "tree", "nodes", "node", "history", "children", "append",
		"executions", "execution", "trace", "outbox", "spawns", "timers", "commit", "ack", "fire", "suspend", "resume", "terminate", "purge",
		"version", "completion", "man",
	} {
		found := false
		for _, n := range names {
			found = found || n == want
		}
		if !found {
			t.Errorf("there is no command %q", want)
		}
	}
	for _, name := range names {
		args := strings.Fields(name)
		long := w.ok(append(args, "--help")...)
		if !strings.Contains(long, "USAGE") {
			t.Errorf("%q --help: %s", name, long)
		}
	}
	help := w.ok("--help")
	for _, says := range []string{"config.toml", "TREERING_STORE", w.home + "/.local/share/treering/treering.db", w.home + "/.local/state/treering",
		"2  arguments or --data cannot be parsed"} {
		if !strings.Contains(help, says) {
			t.Errorf("--help does not say %q", says)
		}
	}
	same(t, "help", w.ok("help", "fire"), w.ok("fire", "--help"))
}

func TestManPage(t *testing.T) {
	page := newWorld(t).ok("man")
	for _, says := range []string{".TH TREERING 1", ".SH EXIT STATUS", ".SH FILES", ".SH ENVIRONMENT", `\fB-s --store\fP`, `\fBexecutions\fP`} {
		if !strings.Contains(page, says) {
			t.Errorf("the page does not say %q", says)
		}
	}
	if strings.Contains(page, "%!") {
		t.Error("a percent sign was taken for a verb")
	}
	if strings.Contains(page, `\fB--s `) {
		t.Error("a short name with two dashes")
	}
}

func TestVersion(t *testing.T) {
	w := newWorld(t)
	if out := w.ok("version"); !strings.HasPrefix(out, "treering ") {
		t.Errorf("version: %q", out)
	}
	if out := w.ok("--version"); !strings.HasPrefix(out, "treering version ") {
		t.Errorf("--version: %q", out)
	}
	if got := keys(strict(t, "version", w.ok("version", "--json"))[0]); strings.Join(got, " ") != "version commit date go platform" {
		t.Errorf("keys %q", got)
	}
	same(t, "a release", build{"1.2.3", "0123456789abcdef", "2026-12-01"}.String(), "1.2.3 (0123456) 2026-12-01")
}

func TestCompletion(t *testing.T) {
	w := newWorld(t)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out := w.ok("completion", shell); !strings.Contains(out, "treering") {
			t.Errorf("completion %s: %.100s", shell, out)
		}
	}
	// Shells ask like this, and ignore what is said on stderr.
	var out strings.Builder
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: io.Discard, now: w.clock}
	if code := a.run(t.Context(), []string{"__complete", "executions", "--status", "R"}); code != exitDone || !strings.Contains(out.String(), "RUNNING\n") {
		t.Errorf("__complete: code %d, %q", code, out.String())
	}
}

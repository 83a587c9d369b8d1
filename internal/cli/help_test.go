package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
		"executions", "execution", "trace", "watch", "outbox", "spawns", "timers", "commit", "ack", "fire", "suspend", "resume", "cancel", "terminate", "purge",
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
		for line := range strings.Lines(long) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasSuffix(line, " ") || len(line) > helpWidth && !strings.Contains(line, w.home) && !strings.HasPrefix(name, "completion ") {
				t.Errorf("%q --help: the line %q", name, line)
			}
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

// Flags show the value that they take, and which of them are needed.
func TestHelpOfFlags(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct{ command, says string }{
		{"append", "--data JSON       A JSON object, @FILE, or - for standard input (required)"},
		{"append", "--parent ID       Append below the node ID (required: --parent or --root)"},
		{"append", "--kind KIND       The KIND of the node, such as run, stage, config, init"},
		{"fire", "--at TIME         The TIME the timer is armed for, in epoch seconds\n                      (required)"},
		{"sessions", "-s --store STORE  Open this STORE"},
		{"sessions", "--limit N         List no more than N; 0, the default, lists all"},
		{"sessions", "--json            One JSON"},
		{"session create", "(none)"},
	} {
		if help := w.ok(append(strings.Fields(tt.command), "--help")...); !strings.Contains(help, tt.says) {
			t.Errorf("%s --help does not say %q: %s", tt.command, tt.says, help)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		tail  int
		want  string
	}{
		{"", 5, 0, ""},
		{"one two three", 7, 0, "one two\nthree"},
		{"one two", 7, 1, "one\ntwo"},
		{"longer than", 3, 0, "longer\nthan"},
		{"a\n\nb c d", 3, 0, "a\n\nb c\nd"},
		{"2  not to be opened", 12, 0, "2  not to be\n   opened"},
		{"  as it is, whatever", 5, 0, "  as it is, whatever"},
	} {
		same(t, tt.text, wrap(tt.text, tt.width, tt.tail), tt.want)
	}
}

// The page is one that man can show.
func TestManPageIsShown(t *testing.T) {
	man, err := exec.LookPath("man")
	if err != nil {
		t.Skip("no man here")
	}
	file := filepath.Join(t.TempDir(), "treering.1")
	must(t, os.WriteFile(file, []byte(newWorld(t).ok("man")), 0o600))
	cmd := exec.Command(man, "--warnings", "-l", file)
	cmd.Env = append(os.Environ(), "MANWIDTH=80", "LC_ALL=C")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("man: %v %s", err, errs.String())
	}
	if !strings.Contains(string(out), "EXIT STATUS") {
		t.Errorf("man shows %s", out)
	}
}

func TestManPage(t *testing.T) {
	page := newWorld(t).ok("man")
	for _, says := range []string{".TH TREERING 1", ".SH EXIT STATUS", ".SH FILES", ".SH ENVIRONMENT", `\fB\-s \-\-store\fP \fISTORE\fP`, `.SS \fBexecutions\fP`,
		`[\fIOPTION\fP...] \fICOMMAND\fP`, `"emits": [{"target_id": ...`, `.SS \fBsession create\fP NAME`, `\fB\-\-kind\fP \fIKIND\fP`, "(required)"} {
		if !strings.Contains(page, says) {
			t.Errorf("the page does not say %q", says)
		}
	}
	if strings.Contains(page, "%!") {
		t.Error("a percent sign was taken for a verb")
	}
	if n := strings.Count(page, `\-\-help\fP`); n != 1 {
		t.Errorf("--help is listed %d times", n)
	}
	if n := strings.Count(page, `\-\-limit\fP`); n != 1 {
		t.Errorf("--limit is listed %d times", n)
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
	// Shells ask like this, and ignore what is said on stderr. The number after the
	// colon is 0 where the shell is to offer files, 4 where it is not.
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "step.json"), nil, 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "steps"), 0o700))
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"executions", "--status", "RU"}, "RUNNING\nSUSPENDED\nCANCELLING\nDONE\nCANCELLED\nFAILED\n:4\n"},
		{[]string{"sho"}, ":0\n"},
		{[]string{"./x"}, ":0\n"},
		{[]string{"-s", ""}, ":0\n"},
		{[]string{"demo", "--into", ""}, ":0\n"},
		{[]string{"commit", ""}, ":0\n"},
		{[]string{"nodes", ""}, ":4\n"},
		{[]string{"append", "x", "--kind", ""}, ":4\n"},
		{[]string{"ack", "o"}, "outbox\n:4\n"},
		{[]string{"append", "x", "--data", "@" + dir + "/step"}, "@" + dir + "/step.json\n@" + dir + "/steps/\n:6\n"},
		{[]string{"append", "x", "--data", "@" + dir + "/step."}, "@" + dir + "/step.json\n:4\n"},
	} {
		var out strings.Builder
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: io.Discard, now: w.clock}
		if code := a.run(t.Context(), append([]string{"__complete"}, tt.args...)); code != exitDone || !strings.HasSuffix(out.String(), tt.want) {
			t.Errorf("%q: code %d, %q, want %q", tt.args, code, out.String(), tt.want)
		}
	}
}

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"treering/store/locate"
	"treering/store/query"
)

const rootHelp = `Browse session trees and running statecharts, and what is inside them.

With a LOCATOR, or with none, treering opens the explorer. A locator is the path of a SQLite file, a file: or sqlite: URL, or memory:. A file that exists wins over a scheme; a command's name wins over a file of that name, so write ./demo for the file.

A file that another program made is open read-only unless --rw is given, and looking at it changes nothing. Only --create makes a file; the default store is made by the explorer, by session create and by commit.

Lists go on to their end by themselves. On a terminal they have headings; in a pipe every line is a row. What a terminal or a pager would act on is shown as marks; --json escapes it, and --raw in a pipe is byte for byte.`

const environmentHelp = `TREERING_STORE is the store to open where -s names none. XDG_DATA_HOME, XDG_CONFIG_HOME and XDG_STATE_HOME move the files named below. NO_COLOR takes the colours away.`

const filesHelp = `The default store is $XDG_DATA_HOME/treering/treering.db, the configuration $XDG_CONFIG_HOME/treering/config.toml; what the explorer remembers is below $XDG_STATE_HOME/treering. On macOS they are in ~/Library/Application Support/treering, on Windows in a folder treering below the ones that LOCALAPPDATA and APPDATA name.`

const configHelp = `The configuration is TOML, and every setting may be left out:

  theme = "dark"                   # auto, dark, light, 16, mono
  ascii = true                     # as --ascii; false: never
  mouse = false                    # leave it to the terminal
  zone = "Europe/Paris"            # of times: local, utc, or a name
  editor = "vi"                    # instead of VISUAL and EDITOR
  [keys]                           # treering keys lists the intents
  zoom = ["U", "ctrl+x", "Z u"]    # instead of the usual ones
  fire = []                        # no key
  [views]                          # saved filters, for any list
  stuck = "status:failed"
  [[view]]                         # one of one list
  name = "newest"
  subject = "executions"           # or another list
  filter = "status:running"
  sort = "-time"

What the explorer remembers is in one file, state.json: the stores that were open and what was looked at there, how windows are divided, the names of branches, the commands chosen last. It holds no secrets, and may be removed.`

// placesHelp says where things are kept on this machine.
func (a *app) placesHelp() string {
	var b strings.Builder
	for _, p := range []struct {
		what string
		path func(locate.Environ) (string, error)
	}{{"default store", locate.DefaultPath}, {"configuration", locate.ConfigPath}, {"state", locate.StateDir}} {
		path, err := p.path(a.env)
		if err != nil {
			path = "none: " + err.Error()
		}
		fmt.Fprintf(&b, "%-15s%s\n", p.what, a.out.show(path))
	}
	return strings.TrimRight(b.String(), "\n")
}

// help shows a command's help as fang draws it. Nothing else goes through fang: for
// the colours of an error it would ask the terminal what its background is, and the
// answer may come after the program has ended.
func (a *app) help(ctx context.Context, cmd *cobra.Command) error {
	again := a.rootCommand() // one that nothing else uses, since its texts are laid out
	target, _, err := again.Find(strings.Fields(cmd.CommandPath())[1:])
	if err != nil {
		return err
	}
	again.Args, again.PersistentPreRunE = nil, nil
	again.RunE = func(*cobra.Command, []string) error {
		layOut(target)
		again.HelpFunc()(target, nil)
		return nil
	}
	again.SetArgs([]string{})
	var text bytes.Buffer
	var screen recorder
	again.SetOut(&text)
	if f, ok := a.stdout.(*os.File); ok && a.out.terminal {
		screen.File = f
		again.SetOut(&screen)
	}
	err = fang.Execute(ctx, again, fang.WithVersion(again.Version), fang.WithoutManpage(), fang.WithErrorHandler(func(io.Writer, fang.Styles, error) {}))
	if err == nil {
		err = screen.err
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if err := a.out.raw(strings.TrimRight(line, " \n") + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// recorder is a terminal that keeps the error of a write, which fang drops.
type recorder struct {
	*os.File
	err error
}

func (r *recorder) Write(b []byte) (int, error) {
	n, err := r.File.Write(b)
	if err != nil {
		r.err = err
	}
	return n, err
}

// helpWidth is the width of help texts, in cells, with fang's margins in it.
const helpWidth = 80

// layOut makes the texts of a command ready for fang, which shows neither the values
// that flags take nor which of them are needed, and breaks lines in mid-word.
func layOut(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	cmd.InheritedFlags() // merges them in
	text := helpText(cmd)
	if s, ok := query.SubjectNamed(cmd.Annotations[filterAnnotation]); ok {
		text += "\n\nFilters:\n\n" + query.Help(s)
	}
	cmd.Long = wrap(text, helpWidth-4, 0)
	keys := 0
	for _, sub := range cmd.Commands() {
		width := len(sub.Use)
		if sub.HasAvailableSubCommands() {
			width += len(" [command]")
		}
		if sub.HasFlags() || sub.HasPersistentFlags() || sub.HasAvailableFlags() {
			width += len(" [--flags]")
		}
		keys = max(keys, width)
	}
	// The flags are shown under names that no flag can have. Fang parses its examples
	// against the commands, so the true ones must not be found beside them.
	var flags []*pflag.Flag
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		shown := *f
		shown.Name, shown.Usage = flagHelp(cmd, f)
		flags = append(flags, &shown)
		width := len("--") + len(shown.Name)
		if f.Shorthand != "" {
			width += len("-x ")
		}
		keys = max(keys, width)
	})
	for c := cmd; c != nil; c = c.Parent() {
		c.ResetFlags()
	}
	room := helpWidth - keys - len("      ")
	for _, sub := range cmd.Commands() {
		sub.Short = wrap(sub.Short, room, 0)
	}
	for _, f := range flags {
		tail := 0 // fang adds the default
		if f.DefValue != "" && f.Value.Type() == "string" {
			tail = len(f.DefValue) + len(" ()")
		}
		f.Usage = wrap(f.Usage, room, tail)
		cmd.Flags().AddFlag(f)
	}
}

// helpText is what a command says of itself: its long text, or the short one.
func helpText(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return cmd.Short + "."
}

// flagHelp is the name of a flag with the value that it takes, and what it is for.
func flagHelp(cmd *cobra.Command, f *pflag.Flag) (name, usage string) {
	value, usage := pflag.UnquoteUsage(f)
	name = f.Name
	if value != "" {
		name += " " + value
	}
	if len(f.Annotations[cobra.BashCompOneRequiredFlag]) > 0 {
		usage += " (required)"
	}
	if names := f.Annotations[oneOfAnnotation]; len(names) > 0 && cmd != nil {
		usage += " (required: " + flagNames(names, " or ") + ")"
	}
	return name, usage
}

// tag is what a line begins with that is one entry of a list.
var tag = regexp.MustCompile(`^\S+(?: \S+)?  +`)

// wrap breaks lines between words where they are wider than width, and leaves room
// for tail cells after the last one. Lines that begin with a blank are left alone;
// what follows a tag is indented like it.
func wrap(text string, width, tail int) string {
	var b strings.Builder
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			b.WriteString(line)
			continue
		}
		if i == len(lines)-1 {
			line += strings.Repeat("\x00", tail) // is part of the last word
		}
		indent := tag.FindString(line)
		b.WriteString(indent)
		at := len(indent)
		for n, word := range strings.Fields(line[len(indent):]) {
			cells := utf8.RuneCountInString(word)
			switch {
			case n == 0:
			case at+1+cells > width:
				b.WriteString("\n" + strings.Repeat(" ", len(indent)))
				at = len(indent)
			default:
				b.WriteByte(' ')
				at++
			}
			b.WriteString(word)
			at += cells
		}
	}
	return strings.ReplaceAll(b.String(), "\x00", "")
}

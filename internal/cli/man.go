package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"treering/ui"
	"treering/ui/config"

	"treering/store/query"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man",
		Short:   "Print the man page",
		Example: `treering man | man -l -`,
		Args:    exactly(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.out.raw(manPage(cmd.Root())) },
	}
}

// manPage is the man page of all commands, with all that their help says.
func manPage(root *cobra.Command) string {
	var p roff
	p.line(`.TH TREERING 1 "" "treering %s"`, p.text(root.Version))
	p.section("NAME")
	p.line("%s", p.text("treering - "+root.Short))
	p.section("SYNOPSIS")
	p.line(`\fBtreering\fP [\fIOPTION\fP...] [\fILOCATOR\fP]`)
	p.line(".br")
	p.line(`\fBtreering\fP [\fIOPTION\fP...] \fICOMMAND\fP [\fIARGUMENT\fP...]`)
	p.section("DESCRIPTION")
	p.paragraphs(rootHelp)
	p.section("OPTIONS")
	p.flags(root, root.PersistentFlags())
	p.line(".TP\n\\fB%s\\fP\nShow the help of a command", p.text("-h --help"))
	p.line(".TP\n\\fB%s\\fP\nPrint the version", p.text("-v --version"))
	p.section("COMMANDS")
	p.commands(root)
	p.section("FILTERS")
	p.paragraphs(filterHelp)
	for _, s := range query.Subjects() {
		p.line(".PP\nOf %s:\n.RS", p.text(s.Entries()))
		p.verbatim(query.Help(s))
		p.line(".RE")
	}
	p.section("KEYS")
	p.paragraphs("These are the keys without a configuration; treering keys lists those in force.")
	for _, k := range ui.KeyTable(config.Config{}) {
		where := ""
		if n := len(k.Panes); n > 0 && n < 6 {
			where = "In the " + strings.Join(k.Panes, ", ") + ": "
		}
		p.line(".TP\n\\fB%s\\fP (%s)\n%s", p.text(strings.Join(k.Keys, ", ")), p.text(k.ID), p.text(upperFirst(where+k.Text)))
	}
	p.section("CONFIGURATION")
	p.paragraphs(configHelp)
	p.section("ENVIRONMENT")
	p.paragraphs(environmentHelp)
	p.section("FILES")
	p.paragraphs(filesHelp)
	p.section("EXIT STATUS")
	for code := range strings.Lines(exitHelp) {
		number, meaning, _ := strings.Cut(strings.TrimSpace(code), "  ")
		p.line(".TP\n%s\n%s", p.text(number), p.text(meaning))
	}
	p.section("EXAMPLES")
	p.verbatim(root.Example)
	return p.b.String()
}

// roff builds a document of the man macros.
type roff struct{ b strings.Builder }

// line writes one line, or several, of requests and text that was escaped.
func (p *roff) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// text escapes what troff would act on.
func (*roff) text(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

func (p *roff) section(name string) { p.line(".SH %s", name) }

// paragraphs writes text whose paragraphs are parted by blank lines. One of several
// lines keeps them as they are.
func (p *roff) paragraphs(text string) {
	for i, par := range strings.Split(text, "\n\n") {
		if i > 0 {
			p.line(".PP")
		}
		if strings.Contains(par, "\n") {
			p.verbatim(par)
			continue
		}
		p.line("%s", p.text(par))
	}
}

func (p *roff) verbatim(text string) {
	p.line(".nf")
	for line := range strings.Lines(text) {
		p.line("%s", p.text(strings.TrimSuffix(line, "\n")))
	}
	p.line(".fi")
}

func (p *roff) flags(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name, usage := flagHelp(cmd, f)
		name, value, _ := strings.Cut(name, " ")
		short := ""
		if f.Shorthand != "" {
			short = "-" + f.Shorthand + " "
		}
		tag := `\fB` + p.text(short+"--"+name) + `\fP`
		if value != "" {
			tag += ` \fI` + p.text(value) + `\fP`
		}
		p.line(".TP\n%s\n%s", tag, p.text(upperFirst(usage)))
	})
}

// commands describes every command that does something itself.
func (p *roff) commands(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		switch {
		case !sub.IsAvailableCommand() && sub.Name() != "help":
			continue
		case sub.Name() == "completion":
			var shells []string
			for _, shell := range sub.Commands() {
				shells = append(shells, shell.Name())
			}
			p.line(".SS \\fBcompletion\\fP %s", p.text(strings.Join(shells, "|")))
			p.paragraphs("Print a script that completes command lines of treering in that shell; treering completion SHELL --help says where it belongs.")
			continue
		case sub.HasAvailableSubCommands():
			p.commands(sub)
			continue
		}
		name := strings.TrimPrefix(sub.CommandPath(), cmd.Root().Name()+" ")
		p.line(`.SS \fB%s\fP%s`, p.text(name), p.text(strings.TrimPrefix(sub.Use, sub.Name())))
		p.paragraphs(helpText(sub))
		p.flags(sub, sub.LocalNonPersistentFlags())
		if sub.Example != "" {
			p.line(".PP\nFor example:\n.RS")
			p.verbatim(sub.Example)
			p.line(".RE")
		}
	}
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

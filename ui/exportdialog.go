package ui

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/treeview"
	"treering/treeview/export"
	"treering/ui/field"
	"treering/ui/layout"
)

// Scopes of an export.
const (
	scopeAll    = "whole"
	scopeBelow  = "below"  // the selected node, and what is below it
	scopePath   = "path"   // the selected node and its ancestors
	scopeShown  = "shown"  // the rows of the tree, as they are filtered and folded
	scopeStates = "states" // of an execution: the transitions of the traces
)

// maxShown is how many rows of a tree are taken one by one.
const maxShown = 200_000

// exporting is what an export asks for.
type exporting struct {
	of     subject
	node   string // the selected one
	format *field.Field
	scope  *field.Field
	file   *field.Field
	stem   string // of the file's name
	there  map[string]bool
}

// exportable says why nothing can be exported; "" where something can.
func exportable(m *Model) string {
	switch {
	case m.subject.kind == nothing:
		return "nothing is selected"
	case m.subject.kind == session && m.tree.loading:
		return "the tree is still being read"
	case m.subject.kind == session && m.tree.widget.Index().Len() == 0:
		return "the tree is empty"
	}
	return ""
}

// fileStem makes a file's name of an id, which may hold anything.
func fileStem(id string) string {
	stem := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, id)
	if stem = strings.TrimLeft(stem[:min(len(stem), 60)], "."); stem == "" {
		return "export"
	}
	return stem
}

func (x *exporting) scopes() []string {
	if x.of.kind == execution {
		return []string{scopeAll, scopeStates}
	}
	if x.node == "" {
		return []string{scopeAll, scopeShown}
	}
	return []string{scopeAll, scopeBelow, scopePath, scopeShown}
}

func (x *exporting) path() string { return strings.TrimSpace(x.file.Text()) }

// beginning completes one of some words.
func beginning(words []string) func(string) string {
	return func(typed string) string {
		for _, w := range words {
			if strings.HasPrefix(w, typed) {
				return w
			}
		}
		return ""
	}
}

// openExport asks what to write, as what, and where.
func openExport(m *Model, _ string) tea.Cmd {
	x := &exporting{of: m.subject, stem: fileStem(m.subject.id), there: map[string]bool{}}
	if x.of.kind == session {
		x.node, _ = m.tree.selectedNode()
	} else if m.focus != layout.Navigator && m.member != "" {
		x.of.id, x.stem = m.member, fileStem(m.member)
	}
	x.format, x.scope = field.New("json", 40), field.New(scopeAll, 40)
	x.file = field.New(x.stem+".json", 4096)
	var formats []string
	for _, f := range export.Formats() {
		formats = append(formats, string(f))
	}
	what := "session"
	if x.of.kind == execution {
		what = "execution"
	}
	d := &dialog{title: term.Lit("Export"), verb: "write the file", target: []dialogRow{row(what, x.of.id)}}
	if x.node != "" {
		d.target = append(d.target, row("node", x.node))
	}
	d.fields = []*formField{
		{label: "format", input: x.format, offered: "json", empty: strings.Join(formats, ", "), suggest: beginning(formats)},
		{label: "scope", input: x.scope, offered: scopeAll, empty: strings.Join(x.scopes(), ", "), suggest: beginning(x.scopes())},
		{label: "file", input: x.file, empty: "a name, or a path"},
	}
	d.changed = func(m *Model) tea.Cmd { return x.changed(d) }
	d.effect = func() []dialogRow { return x.effect(m) }
	d.command = func() string { return x.command(m) }
	d.invalid = func() string { return x.invalid(m) }
	d.write = func() func(context.Context) outcome { return x.write(m) }
	return tea.Batch(m.ask(d), x.changed(d))
}

// changed keeps the file's extension that of the format, and looks whether the file is
// there, off the program's goroutine.
func (x *exporting) changed(d *dialog) tea.Cmd {
	if f, err := export.ParseFormat(x.format.Text()); err == nil && d.at == 0 {
		for _, other := range export.Formats() {
			if x.path() == x.stem+"."+other.Extension() {
				x.file.Set(x.stem + "." + f.Extension())
				break
			}
		}
	}
	path := x.path()
	if path == "" {
		return nil
	}
	return func() tea.Msg {
		_, err := os.Lstat(path)
		return answerFunc(func(m *Model) tea.Cmd {
			x.there[path] = err == nil
			m.screen.bars()
			return nil
		})
	}
}

// count is how many nodes a scope has.
func (x *exporting) count(m *Model) int {
	w := m.tree.widget
	r, ok := w.Index().Find(x.node)
	switch scope := x.scope.Text(); {
	case scope == scopeBelow && ok:
		return w.Index().Descendants(r) + 1
	case scope == scopePath && ok:
		return w.Index().Depth(r) + 1
	case scope == scopeShown:
		return w.Flat().Len()
	}
	return w.Index().Len()
}

func (x *exporting) effect(m *Model) []dialogRow {
	if x.invalid(m) != "" {
		return []dialogRow{row("formats", "json holds everything, markdown is to be read; mermaid, dot and svg are drawings"),
			row("scopes", strings.Join(x.scopes(), ", "))}
	}
	f, _ := export.ParseFormat(x.format.Text()) //nolint:errcheck // invalid says so
	data := f == export.JSON || f == export.Markdown
	said := ""
	switch {
	case x.of.kind == execution && x.scope.Text() == scopeStates:
		said = "the transitions in the traces of the execution and its descendants"
	case x.of.kind == execution && data:
		said = "the execution and its descendants, with their contexts and traces, whatever is in them"
	case x.of.kind == execution:
		said = "the execution and its descendants, without their contexts"
	default:
		said = countText(x.count(m), "node", "nodes").String()
		if x.scope.Text() == scopeShown {
			said = "the " + countText(x.count(m), "row", "rows").String() + " of the tree as it is filtered and folded"
		}
		if data {
			said += ", with their data, whatever is in it"
		} else {
			said += ", without their data"
		}
	}
	rows := []dialogRow{row("contains", said)}
	if x.there[x.path()] {
		rows = append(rows, dialogRow{label: term.Lit("replaces"), raw: x.path() + " is there already, and is replaced", style: m.theme.Warn})
	}
	return rows
}

func (x *exporting) invalid(m *Model) string {
	f, err := export.ParseFormat(x.format.Text())
	if err != nil {
		return err.Error()
	}
	known := false
	for _, s := range x.scopes() {
		known = known || s == x.scope.Text()
	}
	switch {
	case !known:
		return "the scope is one of " + strings.Join(x.scopes(), ", ")
	case x.scope.Text() == scopeStates && f != export.Mermaid && f != export.DOT:
		return "states are drawn by mermaid and dot"
	case x.scope.Text() == scopeShown && m.tree.widget.Flat().Len() > maxShown:
		return "these are more than " + treeview.Grouped(maxShown) + " rows; whole writes all nodes"
	case x.path() == "":
		return "a file's name is needed"
	case strings.ContainsRune(x.path(), 0), strings.HasSuffix(x.path(), string(filepath.Separator)):
		return "that is no file's name"
	}
	if x.of.kind == session && m.subject != x.of {
		return "the session is not the one shown any more"
	}
	return ""
}

// command is the command that writes the same.
func (x *exporting) command(m *Model) string {
	f, err := export.ParseFormat(x.format.Text())
	if err != nil || x.path() == "" {
		return ""
	}
	flags := []string{"--format", string(f), "-o", x.path()}
	if x.there[x.path()] {
		flags = append(flags, "--force")
	}
	switch x.scope.Text() {
	case scopeBelow:
		flags = append(flags, "--below", x.node)
	case scopePath:
		flags = append(flags, "--path", x.node)
	case scopeStates:
		flags = append(flags, "--states")
	case scopeShown:
		return noCommand + "what is shown is known here only"
	}
	if x.of.kind == execution {
		return m.readingCommand("export", append(flags, "--execution", x.of.id))
	}
	return m.readingCommand("export", flags, x.of.id)
}

// write reads what is asked for and writes the file as a whole, or not at all.
func (x *exporting) write(m *Model) func(context.Context) outcome {
	f, _ := export.ParseFormat(x.format.Text()) //nolint:errcheck // invalid says so
	scope, path, of, es, ts := x.scope.Text(), x.path(), x.of, m.es, m.ts
	replace := x.there[path]
	sel := export.Selection{}
	switch scope {
	case scopeBelow:
		sel.Below = x.node
	case scopePath:
		sel.Path = x.node
	case scopeShown:
		sel.Only = m.tree.shownIDs()
	}
	labels := map[string][]string{}
	for name, node := range m.writes.names.byName {
		labels[node] = append(labels[node], name)
	}
	for letter, at := range map[string]mark{"A": m.marks.a, "B": m.marks.b} {
		if at.kind == ofNode && of == (subject{session, at.session}) {
			labels[at.id] = append(labels[at.id], letter)
		}
	}
	return func(ctx context.Context) outcome {
		var doc *export.Doc
		var err error
		if of.kind == execution {
			doc, err = export.ReadFamily(ctx, es, of.id)
		} else {
			doc, err = export.ReadSession(ctx, ts, of.id, sel, labels)
		}
		if err != nil {
			return outcome{err: err}
		}
		var report export.Report
		err = export.WriteFile(path, replace, func(w io.Writer) (err error) {
			report, err = export.Write(w, f, doc, export.Options{States: scope == scopeStates})
			return errors.Join(err, ctx.Err())
		})
		if errors.Is(err, fs.ErrExist) {
			return outcome{moot: path + " came to be there meanwhile, and is left as it is"}
		}
		if err != nil {
			return outcome{err: err}
		}
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		what := "nodes"
		if of.kind == execution {
			what = "executions"
		}
		said := treeview.Grouped(int64(report.Items)) + " " + what + " as " + string(f) + " in " + path
		if len(report.Warnings) > 0 {
			said += "; " + strings.Join(report.Warnings, "; ")
		}
		return outcome{done: said}
	}
}

// shownIDs are the nodes that have rows, those that a folded run stands for among them.
func (t *treePane) shownIDs() map[string]bool {
	x, flat := t.widget.Index(), t.widget.Flat()
	out := make(map[string]bool, flat.Len())
	for i := range flat.Len() {
		r := flat.At(i)
		out[x.ID(r)] = true
		for range flat.Steps(i) - 1 {
			for c := range x.Children(r) {
				r = c
				break
			}
			out[x.ID(r)] = true
		}
	}
	return out
}

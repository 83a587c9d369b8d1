package ui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/ui/field"
	"treering/ui/jsondoc"
	"treering/ui/layout"
	"treering/ui/paint"
)

// detailFind is the search within what the detail pane shows.
type detailFind struct {
	input  *field.Field // while a text is being typed
	origin jsondoc.Mark // where it began
	missed bool         // what is typed is nowhere
	req    request
}

// maxFind bounds what is searched for, in bytes.
const maxFind = 500

// close ends the typing and what is under way.
func (f *detailFind) close() {
	f.req.stop()
	f.input, f.missed = nil, false
}

// finding reports whether keys are typed into the search.
func (m *Model) finding() bool { return m.detail.find.input != nil && m.focus == layout.Detail }

// startFind opens the line in which a text is typed.
func startFind(m *Model, _ string) tea.Cmd {
	d := &m.detail
	m.setFocus(layout.Detail)
	d.find.close()
	d.find.input = field.New("", maxFind)
	d.find.origin = d.view.Mark()
	d.rev++
	return nil
}

// findKey edits what is searched for, which is looked for as it is typed. enter
// stays there, esc goes back.
func (d *detailPane) findKey(m *Model, name, text string) tea.Cmd {
	f := &d.find
	d.rev++
	switch name {
	case "enter", "down", "up", "tab":
		if f.input.Empty() {
			d.view.Find("")
		}
		f.input, f.missed = nil, false // a search under way may still arrive
		return nil
	case "esc":
		d.view.Return(f.origin)
		d.view.Find("")
		f.close()
		return nil
	}
	if !f.input.Key(name) {
		if text == "" {
			return nil
		}
		return d.findTyped(m, text)
	}
	return d.findAgain(m)
}

func (d *detailPane) findTyped(m *Model, text string) tea.Cmd {
	d.rev++
	if !d.find.input.Insert(text) {
		m.refused("what is searched for is too long")
		return nil
	}
	return d.findAgain(m)
}

// findAgain looks for what is typed from where the search began.
func (d *detailPane) findAgain(m *Model) tea.Cmd {
	query := d.find.input.Text()
	d.view.Return(d.find.origin)
	d.view.Find(query)
	d.find.missed = false
	if query == "" {
		d.find.req.stop()
		return nil
	}
	return d.seek(m, jsondoc.Here)
}

// seek looks for a match, away from the program's goroutine: the document may be
// long.
func (d *detailPane) seek(m *Model, to jsondoc.Direction) tea.Cmd {
	ctx, gen := d.find.req.begin(m.ctx)
	run := d.view.Search(d.view.Query(), to)
	return func() tea.Msg { return foundInDetail(ctx, gen, run) }
}

func foundInDetail(ctx context.Context, gen int, run func(context.Context) (jsondoc.Hit, bool, error)) tea.Msg {
	hit, ok, err := run(ctx)
	return answerFunc(func(m *Model) tea.Cmd {
		d := &m.detail
		if !d.find.req.ends(gen) || err != nil {
			return nil
		}
		d.rev++
		d.find.missed = !ok
		if ok {
			cut := !d.view.Wrapped()
			if d.view.Show(hit); cut && d.view.Wrapped() {
				m.say("the match is too far to the right: long lines are wrapped")
			}
		} else if d.find.input == nil {
			m.refused("nothing here has “" + d.view.Query() + "”")
		}
		return nil
	})
}

// findNext goes to the next match, or the one before.
func findNext(to jsondoc.Direction) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd { return m.detail.seek(m, to) }
}

// searched is why there is no next match.
func searched(m *Model) string {
	if m.detail.view.Query() == "" {
		return "nothing is searched for; " + m.keyFor("detail-find") + " does"
	}
	return ""
}

// findMargin is what the line has besides the text.
const findMargin = 12

// line is the search being typed.
func (f *detailFind) line(m *Model, w int) string {
	l := paint.NewLine(w, "").Put(m.theme.Key, term.Lit("/"))
	shown, _ := f.input.As(m.term).View(w - findMargin)
	l.Plain(shown)
	if f.missed {
		l.Put(m.theme.Warn, term.Lit("  not here"))
	}
	return l.String()
}

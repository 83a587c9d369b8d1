package ui

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/ui/layout"
	"treering/ui/paint"
)

// dialogSize is how wide a dialog is, and how high it may be: into the lowest
// windows one fits if it takes the status line too.
func (m *Model) dialogSize() (w, h int) { return min(m.width, 90), m.screen.layout.Body().H + 1 }

func (d *dialog) hints(m *Model) []hint {
	esc := hint{term.Lit("esc"), term.Lit("leave, nothing is written")}
	switch {
	case d.busy:
		return []hint{{term.Lit("…"), term.Lit("writing")}}
	case d.gone != "":
		return []hint{esc}
	case d.editing() && len(d.fields) > 1:
		return []hint{{term.Lit("enter"), term.Lit("go on")}, {term.Lit("tab"), term.Lit("next field")}, esc}
	case d.editing():
		return []hint{{term.Lit("enter"), term.Lit("go on")}, esc}
	}
	var out []hint
	d.box(m) // what was read shows in the size of today
	switch {
	case d.hindrance() != "":
	case d.unread() > 0:
		out = append(out, hint{term.Lit("down"), term.Lit("read on")})
	default:
		out = append(out, hint{term.Lit(confirmKey), term.Lit(d.verb)})
	}
	if len(d.fields) > 0 {
		out = append(out, hint{term.Lit("tab"), term.Lit("change it")})
	}
	return append(out, esc)
}

const dialogLabel = 10

// maxFieldCells is how much of a field is shown where it is not edited. The
// command has all of it.
const maxFieldCells = 1000

// dialogLine is one line of a dialog: of a row, or of the field being edited.
type dialogLine struct {
	label, text           term.Text
	labelStyle, textStyle paint.Style
}

// box returns the lines of the dialog, as wide and as high as it may be. The last ones,
// which say how to answer, are always there.
func (d *dialog) box(m *Model) []string {
	w, h := m.dialogSize()
	inner := w - 4
	rows, edited := d.rows(m, inner)
	s := &d.scroll
	// An answer is cut only where it would leave no line for what it is about.
	said := d.answer(m)
	last := lines(said.text, max(inner-said.label.Width(), 1))
	if most := max(h-3, 1); len(last) > most {
		last = last[:most]
		last[most-1] = last[most-1].Truncate(inner-1, "").Plus(term.Lit("…"))
	}
	s.room, s.lines = max(min(h-2-len(last), len(rows)), 1), len(rows)
	s.top = max(min(s.top, s.lines-s.room), 0)
	if edited >= 0 {
		s.top = max(min(s.top, edited), edited-s.room+1)
	}
	if s.top+s.room >= s.lines && !m.tooSmall() {
		s.read = s.lines
	}
	if s.read != s.lines {
		// How it is answered depends on what was read.
		said = d.answer(m)
		last = lines(said.text, max(inner-said.label.Width(), 1))
		s.room = max(min(h-2-len(last), len(rows)), 1)
	}
	var out []string
	for _, r := range rows[s.top:min(s.top+s.room, s.lines)] {
		out = append(out, paint.NewLine(inner, "").Put(r.labelStyle, r.label).To(dialogLabel).Put(r.textStyle, r.text).String())
	}
	for i, part := range last {
		l := paint.NewLine(inner, "")
		if i == 0 {
			l.Put(m.theme.Key, said.label)
		}
		out = append(out, l.To(said.label.Width()).Put(said.style, part).String())
	}
	out = frame(m, w, d.title, d.foot(), out)
	d.caret.w, d.caret.h, d.caret.y = w, len(out), -1
	if edited >= s.top && edited < s.top+s.room {
		d.caret.y = edited - s.top + 1
	}
	return out
}

// rows are all lines of the dialog but those that say how to answer, and which of
// them is the field being edited; -1 where there is none.
func (d *dialog) rows(m *Model, inner int) (out []dialogLine, edited int) {
	room := max(inner-dialogLabel, 8)
	put := func(r dialogRow) {
		parts := lines(r.text, room)
		if r.exact {
			parts = r.text.Wrap(room)
		}
		for i, part := range parts {
			l := dialogLine{text: part, textStyle: r.style, labelStyle: m.theme.Dim}
			if i == 0 {
				l.label = r.label
			}
			out = append(out, l)
		}
	}
	for _, r := range d.target {
		put(r)
	}
	edited = -1
	for i, f := range d.fields {
		style := paint.Style("")
		if f.field.Empty() {
			style = m.theme.Dim
		}
		if !d.editing() {
			put(dialogRow{label: term.Lit(f.label), text: m.term.SanitiseN(f.text(), maxFieldCells), style: style})
			continue
		}
		mark := m.theme.NoMark
		shown, cursor := f.field.View(room - 1)
		if i == d.at {
			mark, edited = m.theme.Mark, len(out)
			d.caret.x = 2 + dialogLabel + cursor
		}
		if f.field.Empty() {
			shown = m.term.SanitiseN(f.empty, room-1)
		}
		out = append(out, dialogLine{label: mark.Plus(term.Lit(f.label)), text: shown, labelStyle: m.theme.Bold, textStyle: style})
	}
	for _, r := range d.effect() {
		put(r)
	}
	if command := d.command(); command != "" {
		put(dialogRow{label: term.Lit("command"), text: m.term.Sanitise(command), style: m.theme.Dim, exact: true})
	}
	return out, edited
}

// answer says what stands in the way, or which key goes on; that one is the label.
func (d *dialog) answer(m *Model) dialogRow {
	says := func(s paint.Style, text string) dialogRow { return dialogRow{text: m.term.Sanitise(text), style: s} }
	key := func(name, text string) dialogRow {
		return dialogRow{label: term.Lit(name + " "), text: term.Lit(text)}
	}
	switch {
	case d.gone != "":
		return says(m.theme.Error, "disarmed: "+d.gone)
	case d.busy:
		return says(m.theme.Info, "writing…")
	case d.complaint != "":
		return says(m.theme.Error, d.complaint)
	}
	why := d.hindrance()
	switch {
	case why != "":
		return says(m.theme.Warn, why)
	case d.at < len(d.fields)-1:
		return key("enter", "goes on to: "+d.fields[d.at+1].label)
	case d.editing():
		return key("enter", "goes on; nothing is written yet")
	case d.unread() > 0:
		return key("down", "reads on, then "+confirmKey)
	}
	return key(confirmKey, d.verb)
}

func (d *dialog) foot() term.Text {
	foot := term.Lit("esc leaves")
	if d.gone != "" {
		foot = term.Lit("esc closes")
	}
	if s := &d.scroll; s.room < s.lines {
		return term.Lit(strconv.Itoa(s.top+1) + "-" + strconv.Itoa(s.top+s.room) + " of " + strconv.Itoa(s.lines) + ", ").Plus(foot)
	}
	return foot
}

// cursor is where the terminal's cursor is: in the field being edited, if there
// is one.
func (m *Model) cursor() *tea.Cursor {
	switch {
	case m.tooSmall() || m.screen.content == "":
		return nil
	case m.dialog != nil:
		c := m.dialog.caret
		if c.y < 0 || !m.dialog.editing() || m.dialog.busy || m.dialog.gone != "" {
			return nil
		}
		x, y := m.place(c.w, c.h)
		return tea.NewCursor(x+c.x, y+c.y)
	case m.overlay != nil:
		x, y, ok := m.overlay.cursor()
		if !ok {
			return nil
		}
		_, left, top, _ := m.over()
		return tea.NewCursor(left+x, top+y)
	case m.nav.input != nil:
		r := m.screen.layout.Rects[layout.Navigator]
		if r.W == 0 {
			return nil
		}
		_, at := m.nav.input.View(r.W - 1)
		return tea.NewCursor(r.X+1+at, r.Y+1)
	}
	return nil
}

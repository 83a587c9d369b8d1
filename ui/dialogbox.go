package ui

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/treeview"
	"treering/ui/field"
	"treering/ui/layout"
	"treering/ui/paint"
	"treering/ui/when"
)

// dialogSize is how wide a dialog is, and how high it may be: into the lowest
// windows one fits if it takes the status line too.
func (m *Model) dialogSize() (w, h int) {
	w = min(m.width, 90)
	if m.plain { // a line is as long as it is
		w = m.width
	}
	return w, m.screen.layout.Body().H + 1
}

func (d *dialog) hints(m *Model) []hint {
	esc := hint{term.Lit("esc"), term.Lit("leave, nothing is written")}
	var out []hint
	switch {
	case d.busy:
		return []hint{{term.Lit("…"), term.Lit("writing")}, {term.Lit("esc"), term.Lit("leave it writing")}}
	case d.gone != "":
		return []hint{esc}
	case d.tells != nil:
		return append(d.extra(), hint{term.Lit("esc"), term.Lit("close")})
	case d.lost:
		esc.text = term.Lit("leave")
	}
	if d.editing() {
		out = append(out, hint{term.Lit("enter"), term.Lit("go on")})
		if len(d.fields) > 1 {
			out = append(out, hint{term.Lit("tab"), term.Lit("next field")})
		}
		return append(append(out, d.extra()...), esc)
	}
	d.box(m) // what was read shows in the size of today
	switch {
	case d.hindrance() != "":
	case d.unread() > 0:
		out = append(out, hint{term.Lit("down"), term.Lit("read on")})
	default:
		out = append(out, hint{term.Lit(d.confirm), term.Lit(d.verb)})
	}
	if len(d.fields) > 0 && !d.lost {
		out = append(out, hint{term.Lit("tab"), term.Lit("change it")})
	}
	return append(append(out, d.extra()...), esc)
}

func (d *dialog) extra() []hint {
	if d.more == nil {
		return nil
	}
	return d.more()
}

const dialogLabel = 10

// maxFieldCells is how much of a field is shown where it is not edited. The
// command has all of it.
const maxFieldCells = 400

// dialogLine is one line of a dialog: of a row, or of the field being edited.
type dialogLine struct {
	label, text           term.Text
	labelStyle, textStyle paint.Style
	ghost                 term.Text // what would complete the text
}

// box returns the lines of the dialog, as wide and as high as it may be. The last ones,
// which say how to answer, are always there.
func (d *dialog) box(m *Model) []string {
	w, h := m.dialogSize()
	inner := w - 4
	rows, edited, here := d.rows(m, inner)
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
	if s.follow && here.last > 0 {
		s.top = min(max(s.top, here.last-s.room), here.first)
		s.follow = false
	}
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
		out = append(out, paint.NewLine(inner, "").Put(r.labelStyle, r.label).To(dialogLabel).Put(r.textStyle, r.text).Put(m.theme.Dim, r.ghost).String())
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

// span is a range of lines; last is behind it.
type span struct{ first, last int }

// rows are all lines of the dialog but those that say how to answer, which of
// them has the cursor of a field being edited, -1 where none is, and which belong to
// what is selected.
func (d *dialog) rows(m *Model, inner int) (out []dialogLine, edited int, here span) {
	room := max(inner-dialogLabel, 8)
	put := func(r dialogRow) {
		if r.raw != "" {
			r.text = m.term.Sanitise(r.raw)
		}
		var parts []term.Text
		switch {
		case r.short:
			parts = []term.Text{r.text.Truncate(room, "…")}
		case r.exact:
			parts = r.text.Wrap(room)
		default:
			parts = lines(r.text, room)
		}
		if r.here && here.last == 0 {
			here.first = len(out)
		}
		if r.here {
			here.last = len(out) + len(parts)
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
		if !d.editing() {
			if !f.optional || !f.input.Empty() {
				style := paint.Style("")
				if f.input.Empty() {
					style = m.theme.Dim
				}
				for _, r := range f.summary(m, style) {
					put(r)
				}
			}
			continue
		}
		if i == d.at {
			lines, at := d.editedLines(m, f, room)
			edited = len(out) + at
			out = append(out, lines...)
			continue
		}
		for k, r := range f.summary(m, "") {
			l := dialogLine{text: r.text.Truncate(room, "…"), labelStyle: m.theme.Bold}
			if f.input.Empty() {
				l.textStyle = m.theme.Dim
			}
			if k == 0 {
				l.label = m.theme.NoMark.Plus(term.Lit(f.label))
			}
			out = append(out, l)
		}
	}
	for _, r := range d.effect() {
		put(r)
	}
	if command := d.command(); command != "" {
		put(dialogRow{label: term.Lit("command"), text: m.term.Sanitise(command), style: m.theme.Dim, exact: true})
	}
	return out, edited, here
}

// summary is what the field says, as far as it is worth a look; the command has all
// of it.
func (f *formField) summary(m *Model, style paint.Style) []dialogRow {
	one := func(text term.Text) dialogRow { return dialogRow{label: term.Lit(f.label), text: text, style: style} }
	area, many := f.input.(*field.Area)
	if !many || area.Empty() {
		return []dialogRow{one(m.term.SanitiseN(f.text(), maxFieldCells))}
	}
	var out []dialogRow
	rest := area.Head(maxFieldCells)
	for cells := 0; rest != "" && len(out) < maxFieldLines && cells < maxFieldCells; {
		line, more, _ := strings.Cut(rest, "\n")
		shown := m.term.SanitiseN(line, maxFieldCells-cells)
		cells += shown.Width()
		rest = more
		out = append(out, dialogRow{text: shown, style: style, exact: true})
	}
	out[0].label = term.Lit(f.label)
	if rest != "" || area.Len() > maxFieldCells {
		out = append(out, dialogRow{text: term.Lit("… " + treeview.Grouped(int64(area.Len())) + " bytes in all"), style: style})
	}
	return out
}

// maxFieldLines is how many lines of a text are shown where it is not edited.
const maxFieldLines = 12

// editedLines are the lines of the field being edited, and which of them the cursor
// is on.
func (d *dialog) editedLines(m *Model, f *formField, room int) (out []dialogLine, at int) {
	label := m.theme.Mark.Plus(term.Lit(f.label))
	begin := func(text term.Text) dialogLine { return dialogLine{text: text, labelStyle: m.theme.Bold} }
	place := func(x int) { d.caret.x = 2 + dialogLabel + x }
	if f.input.Empty() {
		l := begin(m.term.SanitiseN(f.empty, room-1))
		l.label, l.textStyle = label, m.theme.Dim
		place(0)
		return []dialogLine{l}, 0
	}
	area, many := f.input.(*field.Area)
	if !many {
		shown, x := f.input.(*field.Field).As(m.term).View(room - 1)
		l := begin(shown)
		l.label = label
		if f.untouched() {
			l.textStyle = m.theme.Dim
		}
		if rest, ok := f.suggested(); ok {
			l.ghost = m.term.SanitiseN(rest, room)
		}
		place(x)
		return []dialogLine{l}, 0
	}
	_, h := m.dialogSize()
	rows, x, y := area.As(m.term).View(room-1, min(max(h/3, 1), maxFieldLines))
	place(x)
	wrong, wrongAt := -1, 0
	if f.fault != nil {
		if byteAt, is := f.fault(); is {
			if fx, fy, ok := area.Find(rows, byteAt); ok {
				wrong, wrongAt = fy, fx
			}
		}
	}
	for i, r := range rows {
		l := begin(r.Text)
		if i == 0 {
			l.label = label
		}
		out = append(out, l)
		if i == y {
			at = len(out) - 1
		}
		if i == wrong {
			out = append(out, dialogLine{text: term.Spaces(wrongAt).Plus(term.Lit("^")), textStyle: m.theme.Error})
		}
	}
	return out, at
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
	case d.slow:
		return says(m.theme.Warn, "waiting for the store since "+when.Clock(when.Seconds(d.began), m.now(), m.zone, 0)+": another program may hold its lock; esc leaves the write to itself")
	case d.busy:
		return says(m.theme.Info, "writing… esc leaves it to itself")
	case d.complaint != "":
		return says(m.theme.Error, d.complaint)
	case d.tells != nil:
		return d.tells()
	}
	why := d.hindrance()
	switch {
	case d.missed && d.wait(m.now()) > 0:
		return says(m.theme.Warn, "wait… a key that comes this soon is not taken for an answer")
	case why != "":
		return says(m.theme.Warn, why)
	case d.editing() && d.next() < len(d.fields):
		return key("enter", "goes on to: "+d.fields[d.next()].label)
	case d.editing():
		return key("enter", "goes on; nothing is written yet")
	case d.unread() > 0:
		return key("down", "reads on, then "+d.confirm)
	}
	if d.missed {
		return key(d.confirm, d.verb+" (ready now)")
	}
	return key(d.confirm, d.verb)
}

func (d *dialog) foot() term.Text {
	foot := term.Lit("esc leaves")
	if d.gone != "" || d.tells != nil {
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
	case m.tooSmall() || m.screen.content == "" || m.aid != nil:
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
	case m.finding():
		r := m.screen.layout.Rects[layout.Detail]
		if r.W == 0 {
			return nil
		}
		_, at := m.detail.find.input.As(m.term).View(r.W - findMargin)
		return tea.NewCursor(r.X+1+at, r.Y+r.H-1)
	case m.typing() != nil:
		r := m.screen.layout.Rects[m.focus]
		if r.W == 0 {
			return nil
		}
		_, at := m.typing().input.As(m.term).View(r.W - 1)
		y := r.Y + 1
		if m.focus == layout.Queues {
			y++ // below the names of the queues
		}
		return tea.NewCursor(r.X+1+at, y)
	}
	return nil
}

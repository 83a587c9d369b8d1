package ui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/ui/field"
	"treering/ui/layout"
	"treering/ui/paint"
)

// grace is how long a dialog takes no keys after it opened: what was typed at the
// panes must not answer a question that came in between.
const grace = 250 * time.Millisecond

// dialog asks before a write. It names its target by id, says what will happen,
// and is disarmed when the target is not what it was any more.
type dialog struct {
	title  term.Text
	target []dialogRow // what is written to
	fields []*formField
	at     int // the field being edited

	verb    string             // what confirming does
	confirm string             // the key that does: never the one that opened it
	effect  func() []dialogRow // what will happen
	command func() string      // the command that does the same; "" while there is none yet
	// guard says why the target is not what it was when the dialog opened; "" while
	// it is. It looks at what was read last.
	guard func(m *Model) string
	// invalid says why what is typed cannot be written; "" where it can.
	invalid func() string
	run     func(ctx context.Context) outcome

	opened    time.Time
	gone      string // why it is disarmed
	busy      bool
	complaint string // why the last try failed
	caret     caret
}

// dialogRow is a labelled line.
type dialogRow struct {
	label, text term.Text
	style       paint.Style
}

func row(label string, text string) dialogRow {
	return dialogRow{label: term.Lit(label), text: term.SanitiseN(text, 1000)}
}

// formField is one field of a form.
type formField struct {
	label string
	field *field.Field
}

// caret is where a field's cursor is within the box.
type caret struct{ x, y, w, h int }

// outcome is what a write did, in words.
type outcome struct {
	done  string // it happened
	moot  string // nothing was written, and trying again is of no use
	err   error  // it failed; the dialog stays, and the same write can be tried again
	after func(m *Model) tea.Cmd
}

// ask opens a dialog.
func (m *Model) ask(d *dialog) {
	d.opened = m.now()
	m.dialog = d
	m.overlay = nil
	m.screen.bars()
}

func (m *Model) closeDialog() {
	m.dialog = nil
	m.screen.bars()
}

// recheck disarms the dialog where its target is another now.
func (d *dialog) recheck(m *Model) {
	if d.gone == "" && !d.busy && d.guard != nil {
		if d.gone = d.guard(m); d.gone != "" {
			m.screen.bars()
		}
	}
}

func (d *dialog) key(m *Model, name, text string) tea.Cmd {
	switch {
	case d.busy, m.now().Sub(d.opened) < grace:
		return nil
	case name == "esc", d.gone != "" && name == "enter":
		m.closeDialog()
		m.say(d.title.String() + ": nothing was written")
		return nil
	case d.gone != "":
		return nil
	case len(d.fields) == 0:
		switch name {
		case d.confirm:
			return d.start(m)
		case "n", "q":
			m.closeDialog()
			m.say(d.title.String() + ": nothing was written")
		}
		return nil
	}
	d.complaint = ""
	switch name {
	case "tab", "down":
		d.at = (d.at + 1) % len(d.fields)
	case "shift+tab", "up":
		d.at = (d.at - 1 + len(d.fields)) % len(d.fields)
	case "enter":
		if d.at < len(d.fields)-1 {
			d.at++
			return nil
		}
		return d.start(m)
	default:
		if f := d.fields[d.at].field; !f.Key(name) && text != "" {
			d.typed(text)
		}
	}
	return nil
}

func (d *dialog) paste(m *Model, text string) tea.Cmd {
	if len(d.fields) > 0 && !d.busy && d.gone == "" && m.now().Sub(d.opened) >= grace {
		d.typed(text)
	}
	return nil
}

func (d *dialog) typed(text string) {
	if !d.fields[d.at].field.Insert(text) {
		d.complaint = "that is more than the field takes"
	}
}

// start writes, off the program's goroutine.
func (d *dialog) start(m *Model) tea.Cmd {
	d.recheck(m)
	if d.gone != "" {
		return nil
	}
	if d.invalid != nil {
		if why := d.invalid(); why != "" {
			d.complaint = why
			return nil
		}
	}
	d.busy, d.complaint = true, ""
	m.screen.bars()
	ctx, run := m.ctx, d.run
	return func() tea.Msg { return written{d, run(ctx)} }
}

type written struct {
	d *dialog
	o outcome
}

func (w written) apply(m *Model) tea.Cmd {
	d := w.d
	if m.dialog != d {
		return nil
	}
	d.busy = false
	m.screen.bars()
	if w.o.err != nil {
		d.complaint = w.o.err.Error()
		m.failed(d.title.String(), w.o.err)
		return m.refresh()
	}
	m.closeDialog()
	if w.o.moot != "" {
		m.refused(d.title.String() + ": " + w.o.moot)
	} else {
		m.done(w.o.done)
	}
	var cmd tea.Cmd
	if w.o.after != nil {
		cmd = w.o.after(m)
	}
	return tea.Batch(cmd, m.refresh())
}

func (d *dialog) hints(*Model) []hint {
	esc := hint{term.Lit("esc"), term.Lit("leave, nothing is written")}
	switch {
	case d.busy:
		return []hint{{term.Lit("…"), term.Lit("writing")}}
	case d.gone != "":
		return []hint{esc}
	case len(d.fields) > 1:
		return []hint{{term.Lit("tab"), term.Lit("next field")}, {term.Lit(d.confirm), term.Lit(d.verb)}, esc}
	}
	return []hint{{term.Lit(d.confirm), term.Lit(d.verb)}, esc}
}

const dialogLabel = 10

// box returns the dialog as lines of w cells, at most h of them. The last line,
// which says how to answer, is always there.
func (d *dialog) box(m *Model, w, h int) []string {
	inner := w - 4
	var rows []string
	put := func(r dialogRow, most int) {
		parts := lines(r.text, max(inner-dialogLabel, 8))
		if len(parts) > most {
			parts = parts[:most]
			parts[most-1] = parts[most-1].Truncate(max(inner-dialogLabel-1, 1), "").Plus(term.Lit("…"))
		}
		for i, part := range parts {
			l := paint.NewLine(inner, "")
			if i == 0 {
				l.Put(m.theme.Dim, r.label)
			}
			rows = append(rows, l.To(dialogLabel).Put(r.style, part).String())
		}
	}
	for _, r := range d.target {
		put(r, 2)
	}
	caretRow := -1
	for i, f := range d.fields {
		mark := m.theme.NoMark
		if i == d.at {
			mark, caretRow = m.theme.Mark, len(rows)
		}
		shown, cursor := f.field.View(inner - dialogLabel - 1)
		if i == d.at {
			d.caret.x = 2 + dialogLabel + cursor
		}
		rows = append(rows, paint.NewLine(inner, "").Put(m.theme.Bold, mark.Plus(term.Lit(f.label))).To(dialogLabel).Plain(shown).String())
	}
	for _, r := range d.effect() {
		put(r, 4)
	}
	if command := d.command(); command != "" {
		put(dialogRow{term.Lit("command"), term.SanitiseN(command, 1000), m.theme.Dim}, 3)
	}
	last := d.answerLine(m, inner)
	// Too low a window shows the target, the fields and how to answer.
	if most := h - 3; len(rows) > most {
		rows = rows[:max(most, 1)]
	}
	rows = append(rows, last)
	out := frame(m, w, d.title, d.foot(), rows)
	d.caret.w, d.caret.h, d.caret.y = w, len(out), -1
	if caretRow >= 0 && caretRow < len(rows)-1 {
		d.caret.y = caretRow + 1
	}
	return out
}

// answerLine says what stands in the way, or how to confirm.
func (d *dialog) answerLine(m *Model, w int) string {
	l := paint.NewLine(w, "")
	switch {
	case d.gone != "":
		return l.Put(m.theme.Error, term.SanitiseN("disarmed: "+d.gone, w)).String()
	case d.busy:
		return l.Put(m.theme.Info, term.Lit("writing…")).String()
	case d.complaint != "":
		return l.Put(m.theme.Error, term.SanitiseN(d.complaint, w)).String()
	}
	if d.invalid != nil {
		if why := d.invalid(); why != "" {
			return l.Put(m.theme.Warn, term.SanitiseN(why, w)).String()
		}
	}
	return l.Put(m.theme.Key, term.Lit(d.confirm)).Gap(1).Plain(term.Lit(d.verb)).String()
}

func (d *dialog) foot() term.Text {
	if d.gone != "" {
		return term.Lit("esc closes")
	}
	return term.Lit("esc leaves")
}

// cursor is where the terminal's cursor is: in the field being edited, if there
// is one.
func (m *Model) cursor() *tea.Cursor {
	switch {
	case m.tooSmall() || m.screen.content == "":
		return nil
	case m.dialog != nil:
		c := m.dialog.caret
		if c.y < 0 || len(m.dialog.fields) == 0 || m.dialog.busy || m.dialog.gone != "" {
			return nil
		}
		x, y := m.place(c.w, c.h)
		return tea.NewCursor(x+c.x, y+c.y)
	case m.overlay == nil && m.nav.input != nil:
		r := m.screen.layout.Rects[layout.Navigator]
		if r.W == 0 {
			return nil
		}
		_, at := m.nav.input.View(r.W - 1)
		return tea.NewCursor(r.X+1+at, r.Y+1)
	}
	return nil
}

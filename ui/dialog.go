package ui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/ui/field"
	"treering/ui/paint"
)

// grace is how long a dialog takes no keys after it opened: what was typed at the
// panes must not answer a question that came in between.
const grace = 250 * time.Millisecond

// confirmKey confirms a write. No key that opens a dialog is this one.
const confirmKey = "y"

// dialog asks before a write. It names its target by id, says what will happen,
// and is disarmed when the target is not what it was any more. What it says has to
// be read before it can be confirmed: fields are filled in first, and what does
// not fit is scrolled through.
type dialog struct {
	title  term.Text
	target []dialogRow // what is written to
	fields []*formField
	at     int // the field being edited; behind the last one, the write is to be confirmed

	verb    string             // what confirming does
	effect  func() []dialogRow // what will happen
	command func() string      // the command that does the same; "" while there is none yet
	// look reads the target again, off the program's goroutine, when the dialog opens
	// and whenever the store changed. What it returns notes what was found.
	look func(ctx context.Context) (found func())
	// guard says why the target is not what it was when the dialog opened; "" while
	// it is. It looks at what was read last.
	guard func(m *Model) string
	// invalid says why this cannot be written, or not yet; "" where it can.
	invalid func() string
	run     func(ctx context.Context) outcome

	since     time.Time // when it opened, or came to be confirmed
	gone      string    // why it is disarmed
	busy      bool
	complaint string // why the last try failed
	caret     caret
	scroll    dialogScroll
	pace      pace
	ctx       context.Context
	cancel    context.CancelFunc
}

// dialogScroll is which of its lines a dialog shows, as it was drawn last.
type dialogScroll struct {
	top, room, lines int
	read             int // how many lines there were when the last one was on the screen
}

// dialogRow is a labelled line.
type dialogRow struct {
	label, text term.Text
	style       paint.Style
	exact       bool // no blank is left out where it is broken
}

func row(label string, text string) dialogRow {
	return dialogRow{label: term.Lit(label), text: term.Sanitise(text)}
}

// formField is one field of a form.
type formField struct {
	label string
	field *field.Field
	empty string // what an empty field stands for
}

// text is what the field says.
func (f *formField) text() string {
	if f.field.Empty() {
		return f.empty
	}
	return f.field.Text()
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
func (m *Model) ask(d *dialog) tea.Cmd {
	d.since, d.scroll = m.now(), dialogScroll{read: -1}
	d.ctx, d.cancel = context.WithCancel(m.ctx)
	m.dialog = d
	m.overlay = nil
	m.screen.bars()
	return d.watch(m)
}

func (m *Model) closeDialog() {
	m.dialog.cancel()
	m.dialog = nil
	m.screen.bars()
}

// leave closes the dialog without a write.
func (d *dialog) leave(m *Model) tea.Cmd {
	m.closeDialog()
	m.say(d.title.String() + ": nothing was written")
	return nil
}

// watch reads the target again.
func (d *dialog) watch(m *Model) tea.Cmd {
	if d.look == nil || d.gone != "" || d.busy {
		return nil
	}
	ok, wait := d.pace.start(m.now())
	if !ok {
		return m.later(wait, func(m *Model) tea.Cmd {
			d.pace.rested()
			if m.dialog != d {
				return nil
			}
			return d.watch(m)
		})
	}
	ctx, look := d.ctx, d.look
	return func() tea.Msg {
		found := look(ctx)
		return answerFunc(func(m *Model) tea.Cmd {
			again := d.pace.end(m.now())
			if m.dialog != d {
				return nil
			}
			found()
			if again {
				return d.watch(m)
			}
			return nil
		})
	}
}

// recheck disarms the dialog where its target is another now.
func (d *dialog) recheck(m *Model) {
	if d.gone == "" && !d.busy && d.guard != nil {
		if d.gone = d.guard(m); d.gone != "" {
			m.screen.bars()
		}
	}
}

// editing reports whether a field takes what is typed.
func (d *dialog) editing() bool { return d.at < len(d.fields) }

// unread is how many lines were not on the screen yet.
func (d *dialog) unread() int {
	if s := &d.scroll; s.read != s.lines {
		return max(s.lines-s.top-s.room, 1)
	}
	return 0
}

func (d *dialog) key(m *Model, name, text string) tea.Cmd {
	switch {
	case d.busy, m.now().Sub(d.since) < grace:
		return nil
	case name == "esc", d.gone != "" && name == "enter":
		return d.leave(m)
	case d.scrolled(name):
		return nil
	case d.gone != "":
		return nil
	case d.editing():
		d.edit(m, name, text)
		return nil
	}
	switch name {
	case confirmKey:
		if d.unread() == 0 {
			return d.start(m)
		}
	case "tab", "shift+tab":
		if len(d.fields) > 0 {
			d.at = 0
			if name != "tab" {
				d.at = len(d.fields) - 1
			}
			d.complaint = ""
		}
	case "n", "q":
		return d.leave(m)
	}
	return nil
}

// scrolled moves through the lines, and reports whether the key does that.
func (d *dialog) scrolled(name string) bool {
	s, page := &d.scroll, max(d.scroll.room-1, 1)
	by, ok := map[string]int{"pgup": -page, "pgdown": page}[name]
	if !ok && !d.editing() {
		by, ok = map[string]int{
			"up": -1, "down": 1, "k": -1, "j": 1, "space": page, "home": -s.lines, "g": -s.lines, "end": s.lines, "G": s.lines,
		}[name]
	}
	if ok {
		s.top = max(min(s.top+by, s.lines-s.room), 0)
	}
	return ok
}

// edit gives a key to the form.
func (d *dialog) edit(m *Model, name, text string) {
	d.complaint = ""
	switch name {
	case "tab", "down":
		d.at = (d.at + 1) % len(d.fields)
	case "shift+tab", "up":
		d.at = (d.at - 1 + len(d.fields)) % len(d.fields)
	case "enter":
		if d.at == len(d.fields)-1 {
			if why := d.hindrance(); why != "" {
				d.complaint = why
				return
			}
			// What is typed ahead does not confirm either.
			d.since, d.scroll = m.now(), dialogScroll{read: -1}
		}
		d.at++
	default:
		if f := d.fields[d.at].field; !f.Key(name) && text != "" {
			d.typed(text)
		}
	}
}

func (d *dialog) paste(m *Model, text string) tea.Cmd {
	if d.editing() && !d.busy && d.gone == "" && m.now().Sub(d.since) >= grace {
		d.complaint = ""
		d.typed(text)
	}
	return nil
}

func (d *dialog) typed(text string) {
	if !d.fields[d.at].field.Insert(text) {
		d.complaint = "that is more than the field takes"
	}
}

// hindrance is why this cannot be written; "" where it can.
func (d *dialog) hindrance() string {
	if d.invalid == nil {
		return ""
	}
	return d.invalid()
}

// start writes, off the program's goroutine.
func (d *dialog) start(m *Model) tea.Cmd {
	d.recheck(m)
	if d.gone != "" {
		return nil
	}
	if why := d.hindrance(); why != "" {
		d.complaint = why
		return nil
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

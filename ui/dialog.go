package ui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
	"treering/ui/field"
	"treering/ui/paint"
)

// What was typed at the panes must not answer a question that came in between. A
// form takes nothing for grace after it opened. One that a key would confirm takes
// nothing until the keys were silent for quiet, at most for maxQuiet.
const (
	grace    = 250 * time.Millisecond
	quiet    = 400 * time.Millisecond
	maxQuiet = 1500 * time.Millisecond
)

// confirmKeys confirm a write: the first of them that opens no dialog here, whatever
// the keys are bound to.
const confirmKeys = "yYco"

func (m *Model) confirmKey() string {
	for _, k := range confirmKeys {
		if it, more := m.lookup(string(k)); !more && (it == nil || !it.Write && it.ID != "name" && it.ID != "unname") {
			return string(k)
		}
	}
	return "ctrl+y" // nothing that is bound to so much is left to chance
}

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
	// write makes the write of what the dialog says now. What it returns is run off
	// the program's goroutine.
	write func() func(ctx context.Context) outcome

	keys    func(m *Model, name string) (cmd tea.Cmd, taken bool) // keys of its own; nil: none
	more    func() []hint                                         // what they are
	changed func(m *Model) tea.Cmd                                // a field has another text; nil: nobody cares
	left    func(m *Model)                                        // it closes, nothing having been written; nil: nobody cares
	tells   func() dialogRow                                      // it asks nothing, and says this where others say how to answer

	confirm   string    // the key that confirms
	since     time.Time // when it opened, or came to be confirmed
	heard     time.Time // when it took no notice of a key last
	missed    bool      // it took no notice of a key that was pressed; that is said
	gone      string    // why it is disarmed
	busy      bool
	began     time.Time // when the write did that is under way
	slow      bool      // that takes long
	lost      bool      // the answer of a write was lost: it may have happened
	complaint string    // why the last try failed
	caret     caret
	scroll    dialogScroll
	pace      pace
	ctx       context.Context
	cancel    context.CancelFunc
}

// dialogScroll is which of its lines a dialog shows, as it was drawn last.
type dialogScroll struct {
	top, room, lines int
	read             int  // how many lines there were when the last one was on the screen
	follow           bool // the rows that are here are to be shown
}

// dialogRow is a labelled line.
type dialogRow struct {
	label, text term.Text
	raw         string // foreign text, to be shown instead of text
	style       paint.Style
	exact       bool // no blank is left out where it is broken
	short       bool // it is cut to one line
	here        bool // it belongs to what is selected
}

func row(label string, text string) dialogRow {
	return dialogRow{label: term.Lit(label), raw: text}
}

// words is what the row says.
func (r dialogRow) words() string {
	if r.raw != "" {
		return r.raw
	}
	return r.text.String()
}

// formField is one field of a form.
type formField struct {
	label    string
	input    input
	empty    string // what an empty field stands for
	optional bool   // enter goes past it
	// offered is a text that stands in a line when the form opens, as a choice that most
	// would make: what is typed at its end replaces it.
	offered string
	// suggest is the text that what is typed may be the beginning of; nil: there is none.
	suggest func(typed string) string
	// fault is the byte at which an area's text is wrong; nil: nowhere.
	fault func() (at int, wrong bool)
}

// input is what a field is edited with.
type input interface {
	Key(name string) bool
	Insert(text string) bool
	Text() string
	Empty() bool
}

// text is what the field says.
func (f *formField) text() string {
	if f.input.Empty() {
		return f.empty
	}
	return f.input.Text()
}

// untouched reports whether a line still says what it offers.
func (f *formField) untouched() bool {
	line, is := f.input.(*field.Field)
	return is && f.offered != "" && line.Text() == f.offered && line.AtEnd()
}

// suggested is what would complete the field: the cursor is at the end of some text
// that is the beginning of a longer one.
func (f *formField) suggested() (rest string, ok bool) {
	line, is := f.input.(*field.Field)
	if f.suggest == nil || !is || line.Empty() || !line.AtEnd() {
		return "", false
	}
	typed := line.Text()
	whole := f.suggest(typed)
	if len(whole) <= len(typed) {
		return "", false
	}
	return whole[len(typed):], true
}

// caret is where a field's cursor is within the box.
type caret struct{ x, y, w, h int }

// outcome is what a write did, in words.
type outcome struct {
	done   string // it happened
	partly string // some of it happened, and the rest did not
	moot   string // nothing was written, and trying again is of no use
	err    error  // it failed; the dialog stays, and the same write can be tried again
	after  func(m *Model) tea.Cmd
}

// ask opens a dialog.
func (m *Model) ask(d *dialog) tea.Cmd {
	d.confirm = m.confirmKey()
	d.open(m.now())
	d.ctx, d.cancel = context.WithCancel(m.ctx)
	m.dialog = d
	m.overlay, m.aid = nil, nil
	if d.tells == nil {
		m.unsay() // what was said before is not about this
	}
	m.screen.bars()
	return d.watch(m)
}

// open makes the dialog deaf for a moment, and what it says unread.
func (d *dialog) open(now time.Time) {
	d.since, d.heard, d.scroll, d.missed = now, now, dialogScroll{read: -1, follow: true}, false
}

// wait is for how long it takes no notice of keys yet, if none is pressed.
func (d *dialog) wait(now time.Time) time.Duration {
	switch {
	case d.tells != nil:
		return 0
	case d.editing():
		return max(grace-now.Sub(d.since), 0)
	}
	return max(min(maxQuiet-now.Sub(d.since), quiet-now.Sub(d.heard)), 0)
}

// deaf reports whether a key pressed now was meant for something else.
func (d *dialog) deaf(now time.Time) bool {
	if d.wait(now) == 0 {
		return false
	}
	d.heard, d.missed = now, true
	return true
}

// hush says that a key was not taken, and when the next one is.
func (d *dialog) hush(m *Model) tea.Cmd {
	m.screen.bars()
	return m.later(d.wait(m.now()), func(m *Model) tea.Cmd { m.screen.bars(); return nil })
}

// slip is the key that closed a dialog. Pressed twice, or held for too long, it would
// do in the panes what it means there: quit, copy over the line that says what came of
// the write, open another question.
type slip struct {
	key          string
	since, heard time.Time
}

// answered notes which key closed a dialog. esc only leads out of things, and plain
// lines are no keys that slip.
func (m *Model) answered(key string) {
	if key != "esc" && !m.plain {
		m.slip = slip{key, m.now(), m.now()}
	}
}

// slipped reports whether a key is the answer to a dialog that is closed by now,
// pressed once more.
func (m *Model) slipped(key string) bool {
	s, now := &m.slip, m.now()
	if s.key != key || now.Sub(s.since) >= maxQuiet || now.Sub(s.heard) >= quiet {
		s.key = ""
		return false
	}
	s.heard = now
	return true
}

func (m *Model) closeDialog() {
	m.dialog.cancel()
	m.dialog, m.aid = nil, nil
	m.screen.bars()
}

// leave closes the dialog without a write. One that is under way goes on: what
// came of it is said when it is known.
func (d *dialog) leave(m *Model) tea.Cmd {
	m.closeDialog()
	if d.left != nil {
		d.left(m)
	}
	switch {
	case d.tells != nil:
	case d.busy:
		m.say(d.title.String() + ": still writing; " + m.keyFor("log") + " lists what becomes of it")
	case d.lost:
		m.refused(d.title.String() + ": it is not known whether it was written")
	default:
		m.say(d.title.String() + ": nothing was written")
	}
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
		if d.gone = d.guard(m); d.gone == "" {
			return
		}
		if d.lost {
			d.gone = "your first try was taken, or somebody else's came first: " + d.gone
		}
		m.screen.bars()
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
	cmd := d.press(m, name, text)
	if m.dialog != d {
		m.answered(name)
	}
	return cmd
}

func (d *dialog) press(m *Model, name, text string) tea.Cmd {
	switch {
	case name == "esc", d.gone != "" && name == "enter":
		return d.leave(m)
	case d.busy:
		return nil
	case d.deaf(m.now()):
		return d.hush(m)
	}
	d.missed = false
	if d.keys != nil && d.gone == "" {
		if cmd, taken := d.keys(m, name); taken {
			return cmd
		}
	}
	switch {
	case d.scrolled(name), d.gone != "":
		return nil
	case d.editing():
		return d.edit(m, name, text)
	}
	switch name {
	case d.confirm:
		if d.tells == nil && d.unread() == 0 {
			return d.start(m)
		}
	case "tab", "shift+tab":
		if len(d.fields) > 0 && !d.lost {
			d.at = 0
			if name != "tab" {
				for d.at = len(d.fields) - 1; d.at > 0 && d.fields[d.at].optional; {
					d.at--
				}
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
func (d *dialog) edit(m *Model, name, text string) tea.Cmd {
	d.complaint = ""
	f := d.fields[d.at]
	if rest, ok := f.suggested(); ok && (name == "tab" || name == "right" || name == "end") {
		return d.typed(m, rest)
	}
	if f.input.Key(name) {
		return d.edited(m)
	}
	switch name {
	case "tab", "down":
		d.at = (d.at + 1) % len(d.fields)
	case "shift+tab", "up":
		d.at = (d.at - 1 + len(d.fields)) % len(d.fields)
	case "enter":
		d.goOn(m)
	default:
		if text != "" {
			return d.typed(m, text)
		}
	}
	return nil
}

// next is the field that enter goes on to; behind the last one, to the question.
func (d *dialog) next() int {
	at := d.at + 1
	for at < len(d.fields) && d.fields[at].optional {
		at++
	}
	return at
}

func (d *dialog) goOn(m *Model) {
	at := d.next()
	if at == len(d.fields) {
		if d.complaint = d.hindrance(); d.complaint != "" {
			return
		}
		// What is typed ahead does not confirm either.
		d.open(m.now())
	}
	d.at = at
}

func (d *dialog) edited(m *Model) tea.Cmd {
	if d.changed == nil {
		return nil
	}
	return d.changed(m)
}

func (d *dialog) paste(m *Model, text string) tea.Cmd {
	switch {
	case !d.editing() || d.busy || d.gone != "":
		return nil
	case d.deaf(m.now()):
		return d.hush(m)
	}
	d.complaint = ""
	return d.typed(m, text)
}

// typed adds a text to the field being edited.
func (d *dialog) typed(m *Model, text string) tea.Cmd {
	f := d.fields[d.at]
	in := f.input
	if line, is := in.(*field.Field); is && f.untouched() {
		line.Set("")
	}
	if in.Insert(text) {
		return d.edited(m)
	}
	most := 0
	switch in := in.(type) {
	case *field.Area:
		most = in.Max
	case *field.Field:
		most = in.Max
	}
	d.complaint = treeview.Grouped(int64(len(text))) + " bytes more are too many: the field takes " + treeview.Grouped(int64(most)) + "; nothing was taken"
	return nil
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
	entry := m.writes.log.begin(m.now(), d)
	ctx, run := m.ctx, d.write()
	began := m.now()
	d.began = began
	return tea.Batch(
		m.later(slowWrite, func(m *Model) tea.Cmd {
			if d.busy && d.began.Equal(began) {
				d.slow = true
				m.screen.bars()
			}
			return nil
		}),
		func() tea.Msg { return written{d, entry, run(ctx)} },
	)
}

// slowWrite is how long a write may take before the dialog says what it waits for.
const slowWrite = time.Second

type written struct {
	d     *dialog
	entry *logEntry
	o     outcome
}

func (w written) apply(m *Model) tea.Cmd {
	d := w.d
	d.busy, d.slow = false, false
	reason := ""
	if w.o.err != nil {
		reason = m.reason(w.o.err)
	}
	w.entry.end(w.o, reason)
	m.screen.bars()
	open := m.dialog == d
	if w.o.err != nil {
		d.lost = d.lost || errors.Is(w.o.err, store.ErrOutcomeUnknown)
		if open {
			d.complaint = reason + d.goesOn(w.o.err)
		}
		m.failed(d.title.String(), w.o.err)
		return m.refresh()
	}
	if open {
		m.closeDialog()
		m.answered(d.confirm)
	}
	switch {
	case w.o.partly != "":
		m.sayStyled(m.theme.Error, w.o.partly)
	case w.o.moot != "":
		m.refused(d.title.String() + ": " + w.o.moot)
		if open && d.left != nil {
			d.left(m)
		}
	default:
		m.done(w.o.done)
	}
	var cmd tea.Cmd
	if w.o.after != nil {
		cmd = w.o.after(m)
	}
	return tea.Batch(cmd, m.refresh())
}

// goesOn says what can be done after a write that failed.
func (d *dialog) goesOn(err error) string {
	var value *store.ValueError
	switch {
	case errors.Is(err, store.ErrOutcomeUnknown):
		return "; " + d.confirm + " asks for the same again, which is safe"
	case len(d.fields) > 0 && (errors.As(err, &value) || errors.Is(err, store.ErrKindMismatch) || errors.Is(err, store.ErrNodeConflict)):
		return "; tab changes it"
	}
	return "; " + d.confirm + " tries the same again"
}

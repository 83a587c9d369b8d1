package ui

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"treering/internal/term"
	"treering/store"
	"treering/store/jsondiff"
	"treering/tracefeed"
	"treering/treeview"
	"treering/ui/paint"
	"treering/ui/when"
)

// doc is what the detail pane shows: finished lines, made off the program's
// goroutine.
type doc []docLine

type docLine struct {
	label, text term.Text
	style       paint.Style
	bold        bool // the label is a heading
}

// Bounds of a document. What is cut is said, with where to get the whole.
const (
	maxDocLines  = 5000
	maxDocCells  = 4000    // of one line
	maxJSONCells = 300_000 // of one value
	maxJSONLevel = 24      // of indent
)

// docWriter makes documents. It is a copy of what it needs, so that commands may
// use it.
type docWriter struct {
	store string // its name
	theme *paint.Theme
	term  term.Profile
	zone  *time.Location
	now   time.Time
	ctx   context.Context // of what it is made for
	lines doc
}

func (m *Model) writer() *docWriter {
	return &docWriter{ctx: m.ctx, store: m.info.Name, theme: m.theme, term: m.term, zone: m.zone, now: m.now()}
}

const labelWidth = 12

func (w *docWriter) field(label string, text term.Text) { w.styled(label, text, "") }

func (w *docWriter) styled(label string, text term.Text, s paint.Style) {
	w.lines = append(w.lines, docLine{label: term.Lit(label).Pad(labelWidth), text: text, style: s})
}

func (w *docWriter) optional(label string, s *string) {
	if s != nil {
		w.field(label, term.SanitiseN(*s, maxDocCells))
	}
}

func (w *docWriter) heading(text string) {
	w.blank()
	w.lines = append(w.lines, docLine{label: term.Lit(text), bold: true})
}

func (w *docWriter) note(s paint.Style, text string) {
	w.lines = append(w.lines, docLine{text: term.SanitiseN(text, maxDocCells), style: s})
}

func (w *docWriter) blank() {
	if len(w.lines) > 0 {
		w.lines = append(w.lines, docLine{})
	}
}

// json writes a value, indented.
func (w *docWriter) json(j store.JSON) {
	c := &lineCutter{max: 4 * maxDocCells}
	cut, err := store.Indent(c, j, maxJSONLevel, maxDocLines)
	if err != nil { // a lineCutter does not fail
		w.note(w.theme.Error, err.Error())
		return
	}
	c.flush()
	room := maxJSONCells
	for i, line := range c.lines {
		if i == maxDocLines || room < 0 {
			cut = true
			break
		}
		text := term.SanitiseN(decoded(line), maxDocCells)
		room -= text.Width()
		w.lines = append(w.lines, docLine{text: text})
	}
	if cut || c.cut {
		w.note(w.theme.Warn, "cut here: a treering command with --json prints the whole")
	}
}

// raw writes text that is not what it should be.
func (w *docWriter) raw(b []byte) {
	n := 0
	for line := range strings.Lines(string(b[:min(len(b), 1<<20)])) {
		if n++; n > maxDocLines {
			break
		}
		w.lines = append(w.lines, docLine{text: term.SanitiseN(strings.TrimRight(line, "\r\n"), maxDocCells)})
	}
	if len(b) > 1<<20 || n > maxDocLines {
		w.note(w.theme.Warn, "cut here: a treering command with --raw prints the whole")
	}
}

// lineCutter collects lines and the beginnings of long ones.
type lineCutter struct {
	max   int
	lines []string
	line  []byte
	cut   bool
}

func (c *lineCutter) Write(p []byte) (int, error) { return c.WriteString(string(p)) }

func (c *lineCutter) WriteString(s string) (int, error) {
	n := len(s)
	for {
		head, rest, found := strings.Cut(s, "\n")
		if room := c.max - len(c.line); len(head) > room {
			c.cut = true
			head = strings.ToValidUTF8(head[:room], "")
		}
		c.line = append(c.line, head...)
		if !found {
			return n, nil
		}
		c.flush()
		s = rest
	}
}

func (c *lineCutter) flush() {
	c.lines = append(c.lines, string(c.line))
	c.line = c.line[:0]
}

// epoch writes a stamp of a blob: a number of epoch seconds, or whatever is there.
func (w *docWriter) epoch(label string, v store.JSON) {
	if v.IsNull() {
		return
	}
	if s, ok := v.Float64(); ok {
		w.field(label, term.Sanitise(when.Clock(s, w.now, w.zone, 3)))
		return
	}
	w.field(label, term.SanitiseN(string(v), 200))
}

// node is a session tree's node.
func (w *docWriter) node(n store.Node) doc {
	w.field("id", term.Sanitise(n.ID))
	if n.ParentID != nil {
		w.field("parent", term.Sanitise(*n.ParentID))
	} else {
		w.field("parent", term.Lit("none, the root"))
	}
	w.field("kind", term.Sanitise(n.Kind))
	w.heading("data")
	w.json(n.Data)
	return w.lines
}

// execution is an execution's state, as far as it is known.
func (w *docWriter) execution(id string, s store.Summary, exe *store.Execution, err error) doc {
	var bad *store.RowError
	switch {
	case errors.As(err, &bad):
		w.readable(id, s, bad)
		w.badRow(bad)
		return w.lines
	case errors.Is(err, store.ErrNotFound):
		w.field("id", term.Sanitise(id))
		w.note(w.theme.Warn, "not in the store: purged, or only named as a parent")
		return w.lines
	case err != nil:
		w.field("id", term.Sanitise(id))
		w.unread(err)
		return w.lines
	}
	w.summary(id, s)
	for _, d := range s.Drift {
		w.styled("drift", term.SanitiseN(d.String(), maxDocCells), w.theme.Error)
	}
	if exe == nil {
		w.blank()
		w.note(w.theme.Dim, "context not seen yet: it was last committed before this explorer opened the store")
		return w.lines
	}
	w.heading("context")
	w.json(exe.Context)
	for _, part := range []struct {
		name  string
		value store.JSON
	}{{"children", exe.Children}, {"deferred", exe.Deferred}, {"history", exe.History}, {"invoke_seq", exe.InvokeSeq}} {
		if c := store.Compact(part.value); c != "" && c != store.EmptyObject && c != store.EmptyArray {
			w.heading(part.name)
			w.json(part.value)
		}
	}
	w.blank()
	w.field("processed", term.Lit(treeview.Grouped(exe.ProcessedEvents)+" events"))
	w.field("priority", term.Lit(strconv.FormatInt(exe.Priority, 10)))
	if exe.RootPath != "" {
		w.field("root path", term.SanitiseN(exe.RootPath, maxDocCells))
	}
	w.optional("machine", exe.DefinitionFQN)
	return w.lines
}

// summary is what a list knows of an execution, as far as there is any.
func (w *docWriter) summary(id string, s store.Summary) {
	w.field("id", term.Sanitise(id))
	w.styled("status", statusText(w.term, s), w.theme.Status(s.Status))
	w.optional("outcome", s.Outcome)
	if s.Error != nil {
		w.styled("error", term.SanitiseN(*s.Error, maxDocCells), w.theme.Error)
	}
	if s.DefinitionID != "" || s.Bad == nil {
		w.field("definition", term.SanitiseN(s.DefinitionID, maxDocCells))
	}
	w.optional("active", s.ActivePath)
	if s.Version != 0 || s.Bad == nil {
		w.field("version", term.Lit(treeview.Grouped(s.Version)))
	}
	w.optional("parent", s.ParentID)
	w.epoch("created", s.CreatedAt)
	w.epoch("updated", s.UpdatedAt)
	w.epoch("finished", s.FinishedAt)
	w.epoch("expires", s.ExpiresAt)
}

// readable is what could be read of a row that could not be read whole.
func (w *docWriter) readable(id string, s store.Summary, bad *store.RowError) {
	if bad.Summary != nil {
		s = *bad.Summary
	} else if s.Status == "" {
		s = store.SummaryOfRow(id, s.DefinitionID, s.Version, bad.Raw)
		s.Drift = nil // the columns are not known here
	}
	if s.Status == "" {
		w.field("id", term.Sanitise(id))
		return
	}
	w.summary(id, s)
	for _, d := range s.Drift {
		w.styled("drift", term.SanitiseN(d.String(), maxDocCells), w.theme.Error)
	}
}

// unread says that something could not be read now.
func (w *docWriter) unread(err error) {
	w.note(w.theme.Error, "cannot read it: "+whyUnread(w.store, err))
	w.note("", "tried again by itself; R does at once")
}

// badRow is a row that could not be read: the error, and what is stored.
func (w *docWriter) badRow(bad *store.RowError) {
	w.styled("error", term.SanitiseN(bad.Err.Error(), maxDocCells), w.theme.Error)
	w.heading("stored text")
	if len(bad.Raw) == 0 {
		w.note(w.theme.Dim, "nothing")
		return
	}
	w.raw(bad.Raw)
}

// step is one step of a trace, and what it did to the context.
func (w *docWriter) step(steps []tracefeed.Step, i int) doc {
	s := steps[i]
	if s.Bad != nil {
		w.field("step", term.Lit(strconv.FormatInt(s.Index, 10)))
		w.badRow(s.Bad)
		return w.lines
	}
	w.field("event", stepEvent(w.term, s))
	w.field("state", stepPath(w.term, w.theme, s))
	if s.Timed {
		t := term.Sanitise(when.Clock(s.At, w.now, w.zone, 3))
		if s.Measured {
			t = t.Plus(term.Spaces(2), term.Lit(tracefeed.Duration(s.Took)))
		}
		w.field("time", t)
	}
	if len(s.Actions) > 0 {
		w.field("actions", joined(w.term, s.Actions))
	}
	if len(s.Guards) > 0 {
		w.field("guards", joined(w.term, s.Guards))
	}
	if s.Note != "" {
		w.field("note", term.SanitiseN(s.Note, maxDocCells))
	}
	w.heading("context")
	if d, err := tracefeed.DiffStep(w.ctx, steps, i); err == nil { // else nobody waits for it
		w.changes(d)
	}
	if d := store.Compact(s.EventData); d != "" && d != store.EmptyObject {
		w.heading("event data")
		w.json(s.EventData)
	}
	if !s.Context.IsNull() {
		w.heading("context after")
		w.json(s.Context)
	}
	return w.lines
}

// changes writes a structural diff: the sign says what happened, colour repeats it.
func (w *docWriter) changes(d tracefeed.StepDiff) {
	if said := d.Before.String(); said != "" {
		w.note(w.theme.Warn, said)
	}
	if d.Diff == nil {
		return
	}
	if d.Diff.Empty() {
		w.note(w.theme.Dim, "not changed")
	}
	shown := 0
	for n, node := range d.Diff.Nodes {
		if node.Op == jsondiff.Same || !d.Diff.Leaf(n) && node.Op != jsondiff.Moved {
			continue
		}
		if shown++; shown > maxDocLines {
			w.note(w.theme.Warn, "and more changes than can be shown")
			return
		}
		w.change(d.Diff, n)
	}
}

func (w *docWriter) change(d *jsondiff.Diff, n int) {
	node := d.Nodes[n]
	path := d.Path(n)
	text := term.Lit(string(node.Op) + " ").Plus(term.SanitiseN(path, 400))
	if path == "" {
		text = text.Plus(term.Lit("(all)"))
	}
	before := term.SanitiseN(decoded(string(d.ValueA(n))), maxDocCells/2)
	after := term.SanitiseN(decoded(string(d.ValueB(n))), maxDocCells/2)
	style := w.theme.Changed
	switch node.Op {
	case jsondiff.Added:
		style = w.theme.Added
		text = text.Plus(term.Spaces(2), after)
	case jsondiff.Removed:
		style = w.theme.Removed
		text = text.Plus(term.Spaces(2), before)
	case jsondiff.Moved:
		text = text.Plus(term.Lit("  was [" + strconv.Itoa(int(node.IndexA)) + "]"))
	default:
		text = text.Plus(term.Spaces(2), before, term.Spaces(1), w.theme.Arrow, term.Spaces(1), after)
	}
	w.lines = append(w.lines, docLine{text: text, style: style})
}

// outbox is an outbox entry.
func (w *docWriter) outbox(e store.OutboxEntry) doc {
	w.field("seq", term.Lit(strconv.FormatInt(e.Seq, 10)))
	if e.TargetID != nil {
		w.field("to", term.Sanitise(*e.TargetID))
	} else {
		w.field("to", term.Lit("nobody: the relay drops it"))
	}
	if e.Bad != nil {
		w.badRow(e.Bad)
		return w.lines
	}
	w.field("event", term.SanitiseN(e.Event.Kind, maxDocCells))
	w.field("event id", term.SanitiseN(e.Event.ID, maxDocCells))
	w.heading("event")
	if e.Raw != "" {
		w.json(e.Raw)
	} else if j, err := e.Event.Encode(); err == nil {
		w.json(j)
	} else {
		w.note(w.theme.Error, err.Error())
	}
	return w.lines
}

// spawn is a child to be created.
func (w *docWriter) spawn(e store.SpawnEntry) doc {
	w.field("seq", term.Lit(strconv.FormatInt(e.Seq, 10)))
	w.field("parent", term.Sanitise(e.ParentID))
	w.field("child", term.Sanitise(e.ChildID))
	w.field("root path", term.SanitiseN(e.RootPath, maxDocCells))
	if e.Bad != nil {
		w.badRow(e.Bad)
		return w.lines
	}
	w.heading("context")
	w.json(e.Context)
	return w.lines
}

// timer is an armed timer.
func (w *docWriter) timer(e store.Timer) doc {
	w.field("execution", term.Sanitise(e.ExecutionID))
	w.field("path", term.SanitiseN(e.Path, maxDocCells))
	if e.Bad != nil {
		w.badRow(e.Bad)
		return w.lines
	}
	w.field("fires at", term.Sanitise(when.Clock(e.FireAt, w.now, w.zone, 3)))
	w.field("stored as", term.Lit(store.FormatFireAt(e.FireAt)))
	w.field("event id", term.SanitiseN(store.TimeoutEventID(e.ExecutionID, e.Path, e.FireAt), maxDocCells))
	return w.lines
}

func joined(p term.Profile, texts []string) term.Text {
	parts := make([]term.Text, len(texts))
	for i, s := range texts {
		parts[i] = p.SanitiseN(s, maxDocCells)
	}
	return term.Join(term.Lit(", "), parts...)
}

func (d doc) equal(o doc) bool { return slices.Equal(d, o) }

// decoded is JSON text with the characters that its \u escapes stand for, where
// they can be seen and mean nothing to JSON. The rest, numbers among it, is as it
// is stored.
func decoded(text string) string {
	if !strings.Contains(text, `\u`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			i++
			continue
		}
		n := 2
		if r, size := escape(text[i:]); size > 0 {
			n = size
			if unicode.IsGraphic(r) && r != '"' && r != '\\' && r != utf8.RuneError {
				b.WriteRune(r)
				i += n
				continue
			}
		}
		b.WriteString(text[i : i+n])
		i += n
	}
	return b.String()
}

// escape reads a \u escape, or the two of a surrogate pair; size is 0 where there
// is none.
func escape(s string) (r rune, size int) {
	const one = len(`\u0000`)
	unit := func(s string) (rune, bool) {
		if len(s) < one || s[:2] != `\u` {
			return 0, false
		}
		n, err := strconv.ParseUint(s[2:one], 16, 16)
		return rune(n), err == nil
	}
	r, ok := unit(s)
	switch {
	case !ok:
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, one
	}
	if low, ok := unit(s[one:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 2 * one
		}
	}
	return utf8.RuneError, one
}

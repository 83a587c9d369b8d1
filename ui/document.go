package ui

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"treering/internal/term"
	"treering/store"
	"treering/store/jsondiff"
	"treering/tracefeed"
	"treering/treeview"
	"treering/ui/jsondoc"
	"treering/ui/paint"
	"treering/ui/when"
)

// maxCells bounds a finished line, in cells. What may be longer is a body, of which
// any length is shown.
const maxCells = 4000

// docWriter makes documents. It is a copy of what it needs, so that commands may
// use it.
type docWriter struct {
	ctx   context.Context // of what it is made for
	store string          // its name
	theme *paint.Theme
	term  term.Profile
	zone  *time.Location
	now   time.Time
	// The keys of what the text tells of: it is made off the program's goroutine.
	reload, pair string

	was *jsondoc.Doc // what is shown: a value in it need not be scanned again
	doc *jsondoc.Doc
}

func (m *Model) writer() *docWriter {
	return &docWriter{ctx: m.ctx, store: m.info.Name, theme: m.theme, term: m.term, zone: m.zone, now: m.now(),
		reload: m.keyFor("reload"), pair: m.keyFor("pair"), was: m.detail.view.Doc(), doc: &jsondoc.Doc{}}
}

const labelWidth = 12

func (w *docWriter) label(label string) []jsondoc.Span {
	text := term.Lit(label)
	return []jsondoc.Span{{Text: text.Pad(max(labelWidth, text.Width()+1)), Style: w.theme.Dim}}
}

func (w *docWriter) field(label string, text term.Text) { w.styled(label, text, "") }

func (w *docWriter) styled(label string, text term.Text, s paint.Style) {
	w.doc.Add(jsondoc.Line{Lead: w.label(label), Text: text, Style: s})
}

// foreign is a field with a text of the store's.
func (w *docWriter) foreign(label, text string) {
	w.doc.Add(jsondoc.Line{Lead: w.label(label), Body: text})
}

func (w *docWriter) foreignStyled(label, text string, s paint.Style) {
	w.doc.Add(jsondoc.Line{Lead: w.label(label), Body: text, Style: s})
}

func (w *docWriter) optional(label string, s *string) {
	if s != nil {
		w.foreign(label, *s)
	}
}

func (w *docWriter) heading(text string) {
	w.doc.Blank()
	w.doc.Add(jsondoc.Line{Text: term.Lit(text), Style: w.theme.Bold})
}

func (w *docWriter) note(s paint.Style, text string) {
	w.doc.Add(jsondoc.Line{Body: text, Style: s})
}

// value is a value below a heading, which paths in it begin with.
func (w *docWriter) value(name string, j store.JSON) { w.valueAs(name, name, j) }

func (w *docWriter) valueAs(heading, name string, j store.JSON) {
	if j == "" {
		w.heading(heading)
		w.note(w.theme.Dim, "nothing")
		return
	}
	v := w.was.Value(j)
	if v == nil {
		var err error
		if v, err = jsondoc.NewValue(w.ctx, j); err != nil {
			if w.ctx.Err() == nil { // else nobody waits for it
				w.heading(heading)
				w.note(w.theme.Error, err.Error())
				w.stored([]byte(j))
			}
			return
		}
	}
	w.doc.Blank()
	w.doc.Head(name, term.Lit(heading), w.theme.Bold, v, jsondoc.NewText(string(j), ""))
}

// stored is what is stored where that is not what it should be: as text, or in
// hexadecimal where it is none.
func (w *docWriter) stored(b []byte) {
	w.doc.Blank()
	w.doc.Head("", term.Lit("stored text"), w.theme.Bold, jsondoc.NewStored(string(b)), nil)
}

// epoch writes a stamp of a blob: a number of epoch seconds, or whatever is there.
func (w *docWriter) epoch(label string, v store.JSON) {
	if v.IsNull() {
		return
	}
	if s, ok := v.Float64(); ok {
		w.clock(label, s)
		return
	}
	w.foreign(label, string(v))
}

// clock writes a time in epoch seconds.
func (w *docWriter) clock(label string, at float64) {
	w.field(label, term.Sanitise(when.Clock(at, w.now, w.zone, 3)))
}

// node is a session tree's node.
func (w *docWriter) node(n store.Node, other pair) *jsondoc.Doc {
	w.foreign("id", n.ID)
	if n.ParentID != nil {
		w.foreign("parent", *n.ParentID)
	} else {
		w.field("parent", term.Lit("none, the root"))
	}
	w.foreign("kind", n.Kind)
	if ts, ok := n.Data.Get("ts").Text(); ok && n.Data.Get("raw").Kind() == store.Object {
		if t, err := time.Parse(time.RFC3339, ts); err == nil {
			w.field("time", term.Sanitise(when.Clock(when.Seconds(t), w.now, w.zone, 3)))
		}
	}
	other.write(w)
	w.message(messageOf(n.Data))
	w.value("data", n.Data)
	return w.doc
}

// execution is an execution's state, as far as it is known.
func (w *docWriter) execution(id string, s store.Summary, exe *store.Execution, err error) *jsondoc.Doc {
	var bad *store.RowError
	switch {
	case errors.As(err, &bad):
		w.readable(id, s, bad)
		w.badRow(bad)
		return w.doc
	case errors.Is(err, store.ErrNotFound):
		w.foreign("id", id)
		w.note(w.theme.Warn, "not in the store: purged, or only named as a parent")
		return w.doc
	case err != nil:
		w.foreign("id", id)
		w.unread(err)
		return w.doc
	}
	w.summary(id, s)
	for _, d := range s.Drift {
		w.foreignStyled("drift", d.String(), w.theme.Error)
	}
	if exe == nil {
		w.doc.Blank()
		w.note(w.theme.Dim, "context not seen yet: it was last committed before this explorer opened the store")
		return w.doc
	}
	w.value("context", exe.Context)
	for _, part := range []struct {
		name  string
		value store.JSON
	}{{"children", exe.Children}, {"deferred", exe.Deferred}, {"history", exe.History}, {"invoke_seq", exe.InvokeSeq}} {
		if c := store.Compact(part.value); c != "" && c != store.EmptyObject && c != store.EmptyArray {
			w.value(part.name, part.value)
		}
	}
	w.doc.Blank()
	w.field("processed", term.Lit(treeview.Grouped(exe.ProcessedEvents)+" events"))
	w.field("priority", term.Lit(strconv.FormatInt(exe.Priority, 10)))
	if exe.RootPath != "" {
		w.foreign("root path", exe.RootPath)
	}
	w.optional("machine", exe.DefinitionFQN)
	return w.doc
}

// summary is what a list knows of an execution, as far as there is any.
func (w *docWriter) summary(id string, s store.Summary) {
	w.foreign("id", id)
	w.styled("status", statusText(w.term, s), w.theme.Status(s.Status))
	w.optional("outcome", s.Outcome)
	if s.Error != nil {
		w.foreignStyled("error", *s.Error, w.theme.Error)
	}
	if s.DefinitionID != "" || s.Bad == nil {
		w.foreign("definition", s.DefinitionID)
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
		w.foreign("id", id)
		return
	}
	w.summary(id, s)
	for _, d := range s.Drift {
		w.foreignStyled("drift", d.String(), w.theme.Error)
	}
}

// unread says that something could not be read now.
func (w *docWriter) unread(err error) {
	w.note(w.theme.Error, "cannot read it: "+whyUnread(w.store, err))
	w.note("", "tried again by itself; "+w.reload+" does at once")
}

// badRow is a row that could not be read: the error, and what is stored.
func (w *docWriter) badRow(bad *store.RowError) {
	w.foreignStyled("error", bad.Err.Error(), w.theme.Error)
	if len(bad.Raw) == 0 {
		w.heading("stored text")
		w.note(w.theme.Dim, "nothing")
		return
	}
	w.stored(bad.Raw)
}

// step is one step of a trace, and what it did to the context.
// gap says what is known of steps that were never seen.
func (w *docWriter) gap(row tracefeed.Row) *jsondoc.Doc {
	w.field("steps", term.Lit(spanText(row)))
	if row.Dropped {
		w.note(w.theme.Warn, "missed: the ring let them go before anybody looked")
	} else {
		w.note(w.theme.Warn, "missed: the ring does not hold them, though it holds older ones; they may still come")
	}
	return w.doc
}

func (w *docWriter) step(steps []tracefeed.Step, i int, row tracefeed.Row) *jsondoc.Doc {
	s := steps[i]
	switch {
	case row.Gone:
		w.note(w.theme.Warn, "gone: it is not in the store any more, and shown as it was seen")
	case row.Evicted:
		w.note(w.theme.Warn, "evicted: the ring let it go since; it is kept here while it is looked at")
	case row.Late:
		w.note(w.theme.Info, "late: it came after steps with a higher index")
	}
	if s.Bad != nil {
		w.field("step", term.Lit(strconv.FormatInt(s.Index, 10)))
		w.badRow(s.Bad)
		return w.doc
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
		w.foreign("note", s.Note)
	}
	d, err := tracefeed.DiffStep(w.ctx, steps, i)
	switch {
	case err != nil: // nobody waits for it
		return w.doc
	case d.Diff == nil:
		w.heading("context")
		w.note(w.theme.Warn, d.Before.String())
	default:
		if said := d.Before.String(); said != "" {
			w.doc.Blank()
			w.note(w.theme.Warn, said)
		}
		w.changes("context", "context", d.Diff)
	}
	if d := store.Compact(s.EventData); d != "" && d != store.EmptyObject {
		w.valueAs("event data", "event_data", s.EventData)
	}
	if !s.Context.IsNull() {
		w.valueAs("context after", "context", s.Context)
	}
	return w.doc
}

// changes is a comparison: how much became what, then what it was.
func (w *docWriter) changes(heading, name string, d *jsondiff.Diff) {
	if d.Empty() {
		w.heading(heading)
		w.note(w.theme.Dim, "not changed")
		return
	}
	src, err := jsondoc.NewDiff(w.ctx, d)
	if err != nil {
		return // nobody waits for it
	}
	w.doc.Blank()
	w.doc.Head(name, term.Lit(heading+"  ").Plus(term.Lit(changed(d.Counts))), w.theme.Bold, src, nil)
	if d.Coarse > 0 {
		w.note(w.theme.Warn, "too large to be compared closely: "+treeview.Grouped(int64(d.Coarse))+" values were compared as a whole or item by item")
	}
}

// changed says how much became what.
func changed(c jsondiff.Counts) string {
	var parts []string
	for _, p := range []struct {
		op   jsondiff.Op
		n    int
		what string
	}{{jsondiff.Added, c.Added, "added"}, {jsondiff.Removed, c.Removed, "removed"}, {jsondiff.Changed, c.Changed, "changed"},
		{jsondiff.Moved, c.Moved, "moved"}, {jsondiff.Same, c.Same, "unchanged"}} {
		if p.n > 0 {
			parts = append(parts, strings.TrimSpace(string(p.op)+treeview.Grouped(int64(p.n))+" "+p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// diff is a document of its own: how a became b.
func (w *docWriter) diff(heading string, a, b store.JSON) *jsondoc.Doc {
	if d, err := jsondiff.Compare(w.ctx, a, b); err == nil { // else nobody waits for it
		w.changes(heading, "", d)
	}
	return w.doc
}

// outbox is an outbox entry.
func (w *docWriter) outbox(e store.OutboxEntry) *jsondoc.Doc {
	w.field("seq", term.Lit(strconv.FormatInt(e.Seq, 10)))
	if e.TargetID != nil {
		w.foreign("to", *e.TargetID)
	} else {
		w.field("to", term.Lit("nobody: the relay drops it"))
	}
	if e.Bad != nil {
		w.badRow(e.Bad)
		return w.doc
	}
	w.foreign("event", e.Event.Kind)
	w.foreign("event id", e.Event.ID)
	j := e.Raw
	if j == "" {
		var err error
		if j, err = e.Event.Encode(); err != nil {
			w.heading("event")
			w.note(w.theme.Error, err.Error())
			return w.doc
		}
	}
	w.value("event", j)
	return w.doc
}

// spawn is a child to be created.
func (w *docWriter) spawn(e store.SpawnEntry) *jsondoc.Doc {
	w.field("seq", term.Lit(strconv.FormatInt(e.Seq, 10)))
	w.foreign("parent", e.ParentID)
	w.foreign("child", e.ChildID)
	w.foreign("root path", e.RootPath)
	if e.Bad != nil {
		w.badRow(e.Bad)
		return w.doc
	}
	w.value("context", e.Context)
	return w.doc
}

// timer is an armed timer.
func (w *docWriter) timer(e store.Timer) *jsondoc.Doc {
	w.foreign("execution", e.ExecutionID)
	w.foreign("path", e.Path)
	if e.Bad != nil {
		w.badRow(e.Bad)
		return w.doc
	}
	w.clock("fires at", e.FireAt)
	w.field("stored as", term.Lit(store.FormatFireAt(e.FireAt)))
	w.foreign("event id", store.TimeoutEventID(e.ExecutionID, e.Path, e.FireAt))
	return w.doc
}

func joined(p term.Profile, texts []string) term.Text {
	parts := make([]term.Text, len(texts))
	for i, s := range texts {
		parts[i] = p.SanitiseN(s, maxCells)
	}
	return term.Join(term.Lit(", "), parts...)
}

package ui

import (
	"context"
	"errors"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
	"treering/ui/field"
	"treering/ui/jsondoc"
	"treering/ui/layout"
	"treering/ui/paint"
	"treering/ui/when"
)

// transportTab is the queues between a fleet's workers, beside the execution queues
// where the store keeps them.
const transportTab queueTab = tabCount

// tabs are the queues that the store has, in the order shown.
func (q *queuesPane) tabs(m *Model) []queueTab {
	var tabs []queueTab
	if m.es != nil {
		tabs = append(tabs, outboxTab, spawnsTab, timersTab)
	}
	if m.transport != nil {
		tabs = append(tabs, transportTab)
	}
	return tabs
}

func (q *queuesPane) initTransport(m *Model) {
	q.transport = pager[store.TransportQueue]{
		what: "the transport", id: func(e store.TransportQueue) string { return e.ID },
		moved: func(m *Model, _ bool) tea.Cmd { return q.landed(m, transportTab) },
		came: func(m *Model) tea.Cmd {
			var cols queueWidths
			for _, e := range q.transport.items {
				cols.of(m, e.Depth, e.ID, headWords(e))
			}
			q.widths[transportTab] = cols
			return q.recheck(m, transportTab)
		},
	}
	if m.es == nil {
		q.tab = transportTab
	}
}

// pointTransport makes the list read the queue of the execution that is looked at, or
// all.
func (q *queuesPane) pointTransport(m *Model) {
	t := m.transport
	if t == nil {
		return
	}
	var f store.TransportFilter
	if q.of != "" {
		of := q.of
		f.Queue = &of
	}
	q.transport.fetch = func(ctx context.Context, req store.PageRequest) (store.Page[store.TransportQueue], error) {
		return t.Queues(ctx, f, req)
	}
}

// headWords is what stands first in a queue.
func headWords(e store.TransportQueue) string {
	switch {
	case e.Bad != nil:
		return e.Bad.Err.Error()
	case e.Head == nil:
		return ""
	case e.Head.Bad != nil:
		return e.Head.Bad.Err.Error()
	}
	return e.Head.Event.Kind
}

// stuck counts the queues that were read and need somebody to look at them.
func (q *queuesPane) stuck(m *Model) (n int) {
	now := when.Seconds(m.now())
	for i := range q.transport.items {
		if q.transport.items[i].State(now).Stuck() {
			n++
		}
	}
	return n
}

// stateWidth is the column of a queue's state, leaseWidth that of when its lease ends:
// "until 999d ago".
const (
	stateWidth = 7
	leaseWidth = 14
)

func (q *queuesPane) transportRow(m *Model, w int, e store.TransportQueue, look look) string {
	l := rowGlow(m, w, look, m.glowOf(glowEntry(transportTab, e.ID)))
	cols := q.widths[transportTab]
	l.Put(m.theme.Dim, term.Lit(treeview.Grouped(e.Depth)).PadLeft(max(cols.seq, 4))).Gap(2)
	state := e.State(when.Seconds(m.now()))
	l.Put(transportStyle(m.theme, state), term.Lit(string(state)).Pad(stateWidth)).Gap(2)
	column(m, l, "", e.ID, min(cols.first, max(w/3, 12)))
	l.Gap(2)
	if w >= narrowTabs {
		l.Put(m.theme.Dim, m.leaseText(e, look).Pad(leaseWidth)).Gap(1)
	}
	style := m.theme.Bold
	if state == store.TransportPoison {
		style = m.theme.Error
	}
	head := m.term.SanitiseN(headWords(e), 200)
	l.Put(style, head.Truncate(max(min(l.Left(), 30), 1), "…"))
	if e.LockedBy != "" && l.Left() > len("  by ")+8 {
		l.Gap(2).Put(m.theme.Dim, term.Lit("by ").Plus(m.term.Sanitise(e.LockedBy).TruncateMiddle(l.Left()-3, "…")))
	}
	return l.String()
}

// leaseText is for how long a lease goes on, or since when it is over.
func (m *Model) leaseText(e store.TransportQueue, look look) term.Text {
	if e.LockedUntil == nil {
		return term.Text{}
	}
	until := m.until(*e.LockedUntil)
	if until <= 0 {
		return term.Lit("since " + when.Distance(-until, look != plain))
	}
	return term.Lit("for " + when.Distance(until, look != plain))
}

func transportStyle(t *paint.Theme, s store.TransportState) paint.Style {
	switch {
	case s == store.TransportPoison:
		return t.Error
	case s.Stuck():
		return t.Warn
	case s == store.TransportLeased:
		return t.Good
	case s == store.TransportParked:
		return t.Info
	}
	return t.Dim
}

// transportMeans says what a state is, for who has not seen it before.
func transportMeans(s store.TransportState) string {
	switch s {
	case store.TransportEmpty:
		return "it holds no message"
	case store.TransportReady:
		return "it waits for a worker"
	case store.TransportLeased:
		return "a worker has the oldest message"
	case store.TransportParked:
		return "it was put aside for a time"
	case store.TransportExpired:
		return "the lease ran out with the message still there; the next worker takes it again"
	case store.TransportHidden:
		return "it lacks the record by which workers find it, and none of them will"
	case store.TransportPoison:
		return "its oldest message is no event, and blocks those behind it"
	}
	return ""
}

// queue is a queue between workers.
func (w *docWriter) queue(e store.TransportQueue) *jsondoc.Doc {
	w.foreign("execution", e.ID)
	w.field("messages", term.Lit(treeview.Grouped(e.Depth)))
	state := e.State(when.Seconds(w.now))
	w.field("state", term.Lit(string(state)+": "+transportMeans(state)))
	if e.Priority != nil {
		w.field("priority", term.Lit(strconv.FormatInt(*e.Priority, 10)+" of "+strconv.Itoa(store.MaxTransportPriority)))
	}
	if e.LockedBy != "" {
		w.foreign("leased by", e.LockedBy)
	}
	if e.LockedUntil != nil {
		label := "until"
		if e.Parked {
			label = "parked until"
		}
		w.clock(label, *e.LockedUntil)
	}
	if e.LastClaimed != nil && *e.LastClaimed > 0 {
		w.clock("claimed", *e.LastClaimed)
	}
	if e.Bad != nil {
		w.badRow(e.Bad)
		return w.doc
	}
	switch h := e.Head; {
	case h == nil:
	case h.Bad != nil:
		w.badRow(h.Bad)
	default:
		w.foreign("event", h.Event.Kind)
		w.foreign("event id", h.Event.ID)
		w.value("oldest message", h.Raw)
	}
	return w.doc
}

// queueAimed is the execution whose queue an event would go to: that of the selected
// queue in the pane, else the one looked at.
func queueAimed(m *Model) string {
	if m.focus == layout.Queues && m.queues.tab == transportTab {
		if e, ok := m.queues.transport.selected(); ok {
			return e.ID
		}
	}
	return m.member
}

// sendForm is an event for an execution, as it is typed.
type sendForm struct {
	m          *Model
	d          *dialog
	execution  string
	event      store.Event // prepared once: another try must be the same event
	kind       *field.Field
	data       *field.Area
	check      dataCheck
	checking   bool
	read, gone bool
	status     string
}

const sendDraft = "send"

// openPublish asks for an event, and hands it to the transport as a producer does.
func openPublish(m *Model, _ string) tea.Cmd {
	f := &sendForm{
		m: m, execution: queueAimed(m), event: store.NewEvent("", ""),
		kind: field.New("", store.MaxIDBytes), data: field.NewArea("", store.MaxDataBytes),
	}
	if texts := m.writes.drafts[sendDraft]; len(texts) == 2 {
		f.kind.Set(texts[0])
		f.data.Set(texts[1])
	}
	d := &dialog{
		title: term.Lit("Send an event"), verb: "send it",
		target: []dialogRow{row("execution", f.execution)},
		fields: []*formField{
			{label: "kind", input: f.kind, suggest: f.suggestKind},
			{label: "data", input: f.data, empty: string(store.EmptyObject), fault: f.fault},
		},
		effect: f.effect, command: f.command, invalid: f.invalid, look: f.look, guard: f.guard, write: f.write,
		changed: f.changed, left: f.keep, keys: f.keys,
		more: func() []hint { return []hint{{term.Lit("ctrl+o"), term.Lit("editor")}} },
	}
	f.d = d
	return tea.Batch(m.ask(d), f.changed(m))
}

// keep holds on to what was typed, for the next form.
func (f *sendForm) keep(m *Model) {
	if !f.kind.Empty() || !f.data.Empty() {
		m.writes.keep(sendDraft, []string{f.kind.Text(), f.data.Text()})
	}
}

func (f *sendForm) keys(m *Model, name string) (tea.Cmd, bool) {
	if f.d.lost || name != "ctrl+o" {
		return nil, false
	}
	return m.editText(f.data.Text(), "{\n}\n", func(m *Model, e edited) tea.Cmd {
		f.d.complaint = e.why
		m.screen.bars()
		if e.changed {
			f.data.Set(e.text)
		}
		if m.dialog != f.d {
			f.keep(m)
			return nil
		}
		return f.changed(m)
	}), true
}

// suggestKind is a kind seen in the queues that begins like what was typed.
func (f *sendForm) suggestKind(typed string) string {
	for _, e := range f.m.queues.transport.items {
		if e.Head != nil && e.Head.Bad == nil && len(e.Head.Event.Kind) > len(typed) && e.Head.Event.Kind[:len(typed)] == typed {
			return e.Head.Event.Kind
		}
	}
	return ""
}

func (f *sendForm) fault() (at int, wrong bool) {
	return f.check.at, f.check.at >= 0 && f.check.rev == f.data.Rev()
}

func (f *sendForm) changed(*Model) tea.Cmd { return checkArea(f.data, &f.check, &f.checking) }

func (f *sendForm) effect() []dialogRow {
	rows := []dialogRow{row("effect", "the event waits in the queue of this execution until one of its workers takes it; nobody is woken")}
	if f.status != "" {
		rows = append(rows, row("status", f.status))
	}
	return append(rows, row("event id", f.event.ID))
}

// prepared is the event as the form says it.
func (f *sendForm) prepared() store.Event {
	ev := f.event
	ev.Kind, ev.Data = f.kind.Text(), f.check.data
	return ev
}

func (f *sendForm) command() string {
	if f.invalid() != "" {
		return ""
	}
	ev := f.prepared()
	return f.m.command("send", []string{"--data", argumentOf(ev.Data), "--id", ev.ID}, f.execution, ev.Kind)
}

func (f *sendForm) invalid() string {
	switch {
	case f.kind.Empty():
		return "the event needs a kind"
	case f.check.rev != f.data.Rev():
		return "checking the data…"
	case f.check.err != nil:
		return "data: " + f.check.err.Error()
	}
	if _, err := store.CheckPublish(f.execution, f.prepared()); err != nil {
		return err.Error()
	}
	return ""
}

// look reads again whether the execution is there.
func (f *sendForm) look(ctx context.Context) func() {
	s, err := summaryOf(ctx, f.m.es, f.execution)
	return func() {
		if f.gone = errors.Is(err, store.ErrNotFound); err == nil {
			f.read, f.status = true, statusWord(s)
		}
	}
}

func (f *sendForm) guard(*Model) string {
	if f.gone {
		return "the execution is not there: no worker would take an event for it"
	}
	return ""
}

func (f *sendForm) write() func(context.Context) outcome {
	es, t, id, ev := f.m.es, f.m.transport, f.execution, f.prepared()
	return func(ctx context.Context) outcome {
		switch err := store.Send(ctx, es, t, id, ev); {
		case errors.Is(err, store.ErrNotFound):
			return outcome{moot: "the execution is gone; nothing was sent"}
		case errors.Is(err, store.ErrHandled):
			return outcome{moot: "the execution has handled an event of this id already: the first try was taken"}
		case err != nil:
			return outcome{err: err}
		}
		return outcome{done: "sent " + ev.Kind + " to " + id + ", event " + ev.ID, after: func(m *Model) tea.Cmd {
			delete(m.writes.drafts, sendDraft)
			return m.queues.transport.load(m)
		}}
	}
}

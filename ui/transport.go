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
	if m.transport != nil && (q.fleet.there || m.es == nil) {
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
	q.fleet.stirred()
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

// headID is the id of the event that stands first in a queue, "" where there is none.
func headID(e store.TransportQueue) string {
	if e.Head == nil || e.Head.Bad != nil {
		return ""
	}
	return e.Head.Event.ID
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
	room := min(l.Left(), 30)
	if state == store.TransportPoison {
		room = l.Left() // nothing else is said of it
	}
	head = head.Truncate(max(room, 1), "…")
	l.Put(style, head.Pad(max(head.Width(), min(cols.second, 10, l.Left()))))
	if e.LockedBy != "" && l.Left() > len("  by ")+8 {
		l.Gap(2).Put(m.theme.Dim, term.Lit("by ").Plus(m.term.Sanitise(e.LockedBy).TruncateMiddle(max(min(l.Left()-3, 30), 8), "…")))
	}
	q.statusOf(m, l, e.ID, headID(e))
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

// shownMessages bounds how many messages of a queue the detail pane reads.
const shownMessages = 50

// queue is a queue between workers with its messages, the oldest first, which it reads.
func (w *docWriter) queue(of store.Transport, e store.TransportQueue) *jsondoc.Doc {
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
	}
	if limits, ok := of.(store.TransportLimits); ok && limits.Limits() != "" {
		w.note(w.theme.Dim, limits.Limits())
	}
	page, err := of.Messages(w.ctx, e.ID, store.PageRequest{Limit: shownMessages})
	if err != nil {
		if w.ctx.Err() == nil { // else nobody waits for it
			w.doc.Blank()
			w.note(w.theme.Error, "cannot read its messages: "+whyUnread(w.store, err))
			w.note("", w.reload+" reads them again")
		}
		return w.doc
	}
	for _, msg := range page.Items {
		w.queued(msg)
	}
	if page.Next != "" {
		w.doc.Blank()
		w.note(w.theme.Dim, "these are the oldest "+strconv.Itoa(len(page.Items))+"; treering transport lists all of one execution")
	}
	return w.doc
}

// queued is one message of a queue.
func (w *docWriter) queued(msg store.TransportMessage) {
	seq := strconv.FormatInt(msg.Seq, 10)
	if msg.Bad != nil {
		w.heading("message " + seq)
		w.badRow(msg.Bad)
		return
	}
	w.valueAs("message "+seq, "message_"+seq, msg.Raw)
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
	ended      bool
	again      bool     // the try of a form before may have been taken
	kept       []string // what that one said
	fresh      string   // the id of another event than that
}

const sendDraft = "send"

// openPublish asks for an event, and hands it to the transport as a producer does.
func openPublish(m *Model, _ string) tea.Cmd {
	f := &sendForm{
		m: m, execution: queueAimed(m), event: store.NewEvent("", ""), fresh: store.NewEvent("", "").ID,
		kind: field.New("", store.MaxIDBytes), data: field.NewArea("", store.MaxDataBytes),
	}
	texts := m.writes.drafts[sendDraft]
	if len(texts) == 4 {
		f.kind.Set(texts[0])
		f.data.Set(texts[1])
		// The answer of the try before was lost: what is asked for again must be the same
		// event, unless another is typed.
		if f.again = texts[3] == f.execution; f.again {
			f.event.ID, f.kept = texts[2], texts[:2]
		}
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
		id, of := "", ""
		if f.d.lost || f.d.busy || f.again && f.same() {
			id, of = f.event.ID, f.execution
		}
		m.writes.keep(sendDraft, []string{f.kind.Text(), f.data.Text(), id, of})
	}
}

// same reports whether what the form says is what was tried before.
func (f *sendForm) same() bool {
	return len(f.kept) == 2 && f.kept[0] == f.kind.Text() && f.kept[1] == f.data.Text()
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
		said := f.status
		if f.ended {
			said += ": it has ended, and its workers drop what it does not take"
		}
		rows = append(rows, row("status", said))
	}
	if f.again && f.same() {
		rows = append(rows, row("again", "the answer of the first try was lost: this is the same event, which is handled once"))
	}
	return append(rows, row("event id", f.prepared().ID))
}

// prepared is the event as the form says it.
func (f *sendForm) prepared() store.Event {
	ev := f.event
	ev.Kind, ev.Data = f.kind.Text(), f.check.data
	if f.again && !f.same() {
		ev.ID = f.fresh
	}
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
			f.ended = s.Status.Is(store.Done) || s.Status.Is(store.Failed) || s.Status.Is(store.Cancelled)
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
			return outcome{moot: "the execution has handled an event of this id already: the first try was taken",
				after: func(m *Model) tea.Cmd { delete(m.writes.drafts, sendDraft); return nil }}
		case err != nil:
			return outcome{err: err}
		}
		return outcome{done: "sent " + ev.Kind + " to " + id + ", event " + ev.ID, after: func(m *Model) tea.Cmd {
			delete(m.writes.drafts, sendDraft)
			return m.queues.transport.load(m)
		}}
	}
}

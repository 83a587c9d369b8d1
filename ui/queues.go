package ui

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/store"
	"treering/store/query"
	"treering/treeview"
	"treering/ui/jsondoc"
	"treering/ui/layout"
	"treering/ui/when"
)

// queueTab is one of the queues.
type queueTab uint8

const (
	outboxTab queueTab = iota
	spawnsTab
	timersTab
)

// tabCount is how many queues an execution store has.
const tabCount = 3

var queueNames = [...]string{"Outbox", "Spawns", "Timers", "Transport"}

// queuesPane shows what is pending: of the execution that is looked at, or of
// the whole store.
type queuesPane struct {
	tab    queueTab
	pick   bool   // the first queue with entries is shown once they were read
	whole  bool   // the whole store's entries
	of     string // the execution whose entries are listed; "" for the whole store
	outbox pager[store.OutboxEntry]
	spawns pager[store.SpawnEntry]
	timers pager[store.Timer]
	// transport is what is on its way between the workers of a fleet, where the store
	// has that.
	transport pager[store.TransportQueue]

	fleet fleetState // of the transport

	bars [tabCount]filterBar
	head int // lines above the rows, as they were drawn last

	// seen is when this explorer first saw an entry that does not say its age.
	seen map[queueKey]time.Time
	// about is what was looked up of the executions that entries name.
	about  map[string]string
	asked  map[string]bool
	lookup request
	err    error // why something could not be looked up
	widths [len(queueNames)]queueWidths
	rev    int
}

// queueWidths are the widest cells of a queue's columns, so that the columns after
// them begin at one place.
type queueWidths struct{ seq, first, second int }

// widest bounds a column; longer ids are cut to it.
const widest = 60

func (c *queueWidths) of(m *Model, seq int64, first, second string) {
	c.seq = max(c.seq, len(strconv.FormatInt(seq, 10)))
	c.first = max(c.first, m.term.SanitiseN(first, widest).Width())
	c.second = max(c.second, m.term.SanitiseN(second, widest).Width())
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

type queueKey struct {
	tab queueTab
	seq int64
}

func (q *queuesPane) init(m *Model) {
	q.seen = map[queueKey]time.Time{}
	q.forget()
	q.outbox = pager[store.OutboxEntry]{
		what: "the outbox", id: func(e store.OutboxEntry) string { return strconv.FormatInt(e.Seq, 10) },
		moved: func(m *Model, _ bool) tea.Cmd { return q.landed(m, outboxTab) },
		came: func(m *Model) tea.Cmd {
			var cols queueWidths
			for _, e := range q.outbox.items {
				q.see(m, outboxTab, e.Seq)
				cols.of(m, e.Seq, deref(e.TargetID), "")
			}
			q.widths[outboxTab] = cols
			return q.recheck(m, outboxTab)
		},
	}
	q.spawns = pager[store.SpawnEntry]{
		what: "the spawns", id: func(e store.SpawnEntry) string { return strconv.FormatInt(e.Seq, 10) },
		moved: func(m *Model, _ bool) tea.Cmd { return q.landed(m, spawnsTab) },
		came: func(m *Model) tea.Cmd {
			var cols queueWidths
			for _, e := range q.spawns.items {
				q.see(m, spawnsTab, e.Seq)
				cols.of(m, e.Seq, e.ChildID, e.ParentID)
			}
			q.widths[spawnsTab] = cols
			return q.recheck(m, spawnsTab)
		},
	}
	q.timers = pager[store.Timer]{
		what: "the timers", id: func(e store.Timer) string { return e.ExecutionID + "\x00" + e.Path },
		moved: func(m *Model, _ bool) tea.Cmd { return q.landed(m, timersTab) },
		came: func(m *Model) tea.Cmd {
			var cols queueWidths
			for _, e := range q.timers.items {
				cols.of(m, 0, e.ExecutionID, e.Path)
			}
			q.widths[timersTab] = cols
			return q.recheck(m, timersTab)
		},
	}
	for tab, s := range [tabCount]query.Subject{query.Outbox, query.Spawns, query.Timers} {
		q.bars[tab] = filterBar{subject: s, changed: func(m *Model) tea.Cmd { return q.sieved(m, queueTab(tab)) }, drawn: q.touch, seen: q.words}
	}
	q.initTransport(m)
	q.point(m)
}

// point makes the lists read the entries that are asked for.
func (q *queuesPane) point(m *Model) {
	q.pointTransport(m)
	es := m.es
	if es == nil {
		return
	}
	var fs [tabCount]store.QueueFilter
	for tab := range fs {
		if by := q.bars[tab].query; by != nil {
			fs[tab] = by.Pushdown().Queue
		}
		if q.of != "" {
			// The filter may ask for another execution; that is decided here then.
			of := q.of
			fs[tab].ExecutionID = &of
		}
	}
	q.outbox.fetch = func(ctx context.Context, req store.PageRequest) (store.Page[store.OutboxEntry], error) {
		return es.ListOutbox(ctx, fs[outboxTab], req)
	}
	q.spawns.fetch = func(ctx context.Context, req store.PageRequest) (store.Page[store.SpawnEntry], error) {
		return es.ListSpawns(ctx, fs[spawnsTab], req)
	}
	q.timers.fetch = func(ctx context.Context, req store.PageRequest) (store.Page[store.Timer], error) {
		return es.ListTimers(ctx, fs[timersTab], req)
	}
	q.outbox.sift, q.spawns.sift, q.timers.sift = nil, nil, nil
	if by := q.bars[outboxTab].query; by != nil {
		q.outbox.sift = func() decider[store.OutboxEntry] { return siftOutbox(by, m.queryEnv()) }
	}
	if by := q.bars[spawnsTab].query; by != nil {
		q.spawns.sift = func() decider[store.SpawnEntry] { return siftSpawns(by, m.queryEnv()) }
	}
	if by := q.bars[timersTab].query; by != nil {
		q.timers.sift = func() decider[store.Timer] { return siftTimers(by, m.queryEnv()) }
	}
}

// sieved lists what matches the filter of a queue.
func (q *queuesPane) sieved(m *Model, tab queueTab) tea.Cmd {
	q.point(m)
	q.touch()
	switch tab {
	case outboxTab:
		return q.outbox.restart(m)
	case spawnsTab:
		return q.spawns.restart(m)
	default:
		return q.timers.restart(m)
	}
}

func (q *queuesPane) words(*Model) query.Vocabulary {
	v := vocabulary{}
	switch q.tab {
	case outboxTab:
		for _, e := range q.outbox.items[:min(len(q.outbox.items), lookedFor)] {
			v.add("event", e.Event.Kind)
			v.add("target", deref(e.TargetID))
		}
	case spawnsTab:
		for _, e := range q.spawns.items[:min(len(q.spawns.items), lookedFor)] {
			v.add("parent", e.ParentID)
			v.add("child", e.ChildID)
		}
	default:
		for _, e := range q.timers.items[:min(len(q.timers.items), lookedFor)] {
			v.add("execution", e.ExecutionID)
			v.add("path", e.Path)
		}
	}
	return v.words()
}

// aim lists the entries of the execution that is looked at, or all.
func (q *queuesPane) aim(m *Model) tea.Cmd {
	of := m.member
	if q.whole {
		of = ""
	}
	read := q.timers.started
	if m.es == nil {
		of, read = "", q.transport.started
	}
	if m.es == nil && m.transport == nil || of == q.of && read {
		return nil
	}
	q.of = of
	q.pick = m.focus != layout.Queues // not under the hands of a user
	q.point(m)
	q.forget()
	return tea.Batch(q.outbox.restart(m), q.spawns.restart(m), q.timers.restart(m), q.transport.restart(m))
}

// widen changes between the selected execution's entries and the whole store's.
func (q *queuesPane) widen(m *Model) tea.Cmd {
	q.whole = !q.whole
	q.rev++
	return q.aim(m)
}

func (q *queuesPane) reload(m *Model) tea.Cmd {
	q.asked = map[string]bool{}
	q.fleet.stirred()
	return tea.Batch(q.outbox.load(m), q.spawns.load(m), q.timers.load(m), q.transport.load(m))
}

func (q *queuesPane) forget() {
	q.about, q.asked, q.err = map[string]string{}, map[string]bool{}, nil
}

// see notes when an entry was first seen. Entries come and go; the notes of
// those that went are dropped when there are many.
func (q *queuesPane) see(m *Model, tab queueTab, seq int64) {
	const many = 100_000
	if len(q.seen) > many {
		q.seen = map[queueKey]time.Time{}
	}
	key := queueKey{tab, seq}
	if _, ok := q.seen[key]; !ok {
		q.seen[key] = m.now()
	}
}

// choose shows the first queue with entries, once that is known of all.
func (q *queuesPane) choose(m *Model) {
	if q.pick && q.outbox.started && q.spawns.started && q.timers.started && (m.transport == nil || q.transport.started && q.fleet.asked) {
		q.pick, q.tab = false, outboxTab
		for _, tab := range q.tabs(m) {
			if n, _, _ := q.length(tab); n > 0 {
				q.tab = tab
				break
			}
		}
		q.rev++
	}
}

// recheck tells a dialog about an entry that the list is a new one.
func (q *queuesPane) recheck(m *Model, tab queueTab) tea.Cmd {
	if m.dialog != nil {
		m.dialog.recheck(m)
	}
	q.choose(m)
	if m.detail.driver == layout.Queues && tab == q.tab {
		return q.describe(m)
	}
	return nil
}

func (q *queuesPane) landed(m *Model, tab queueTab) tea.Cmd {
	if m.detail.driver != layout.Queues || tab != q.tab {
		return nil
	}
	return q.describe(m)
}

// describe shows the selected entry in the detail pane.
func (q *queuesPane) describe(m *Model) tea.Cmd {
	switch q.tab {
	case outboxTab:
		if e, ok := q.outbox.selected(); ok {
			return m.detail.show(m, layout.Queues, target{kind: ofOutbox, seq: e.Seq}, func(w *docWriter) *jsondoc.Doc { return w.outbox(e) })
		}
	case spawnsTab:
		if e, ok := q.spawns.selected(); ok {
			return m.detail.show(m, layout.Queues, target{kind: ofSpawn, seq: e.Seq}, func(w *docWriter) *jsondoc.Doc { return w.spawn(e) })
		}
	case timersTab:
		if e, ok := q.timers.selected(); ok {
			return m.detail.show(m, layout.Queues, target{kind: ofTimer, id: e.ExecutionID, path: e.Path},
				func(w *docWriter) *jsondoc.Doc { return w.timer(e) })
		}
	case transportTab:
		if e, ok := q.transport.selected(); ok {
			return m.detail.show(m, layout.Queues, target{kind: ofQueue, id: e.ID}, func(w *docWriter) *jsondoc.Doc { return w.queue(m.transport, e) })
		}
	}
	return nil
}

// turn shows the next queue, or the one before.
func (q *queuesPane) turn(m *Model, by int) tea.Cmd {
	tabs := q.tabs(m)
	if len(tabs) == 0 {
		return nil
	}
	at := slices.Index(tabs, q.tab)
	return q.turnTo(m, tabs[(at+by+len(tabs))%len(tabs)])
}

func (q *queuesPane) turnTo(m *Model, tab queueTab) tea.Cmd {
	q.tab = tab
	q.rev++
	if tab == transportTab { // it is kept up only while it is shown
		return tea.Batch(q.describe(m), q.transport.load(m))
	}
	return q.describe(m)
}

func (q *queuesPane) move(m *Model, rows int) tea.Cmd {
	q.rev++
	switch q.tab {
	case outboxTab:
		return tea.Batch(q.outbox.move(m, rows), q.describe(m))
	case spawnsTab:
		return tea.Batch(q.spawns.move(m, rows), q.describe(m))
	case transportTab:
		return tea.Batch(q.transport.move(m, rows), q.describe(m))
	default:
		return tea.Batch(q.timers.move(m, rows), q.describe(m))
	}
}

func (q *queuesPane) home(m *Model) tea.Cmd { return q.move(m, -math.MaxInt32) }

func (q *queuesPane) end(m *Model) tea.Cmd {
	q.rev++
	switch q.tab {
	case outboxTab:
		return tea.Batch(q.outbox.end(m), q.describe(m))
	case spawnsTab:
		return tea.Batch(q.spawns.end(m), q.describe(m))
	case transportTab:
		return tea.Batch(q.transport.end(m), q.describe(m))
	default:
		return tea.Batch(q.timers.end(m), q.describe(m))
	}
}

// concerned is the execution that the selected entry is about.
func (q *queuesPane) concerned() (id string, ok bool) {
	switch q.tab {
	case outboxTab:
		if e, found := q.outbox.selected(); found && e.TargetID != nil {
			return *e.TargetID, true
		}
	case spawnsTab:
		if e, found := q.spawns.selected(); found {
			return e.ParentID, true
		}
	case timersTab:
		if e, found := q.timers.selected(); found {
			return e.ExecutionID, true
		}
	case transportTab:
		if e, found := q.transport.selected(); found {
			return e.ID, true
		}
	}
	return "", false
}

// scroll is the window on the list that is shown.
func (q *queuesPane) scroll() treeview.Scroll {
	switch q.tab {
	case outboxTab:
		return q.outbox.scroll
	case spawnsTab:
		return q.spawns.scroll
	case transportTab:
		return q.transport.scroll
	default:
		return q.timers.scroll
	}
}

func (q *queuesPane) height() int {
	return max(q.outbox.scroll.Height, q.spawns.scroll.Height, q.timers.scroll.Height, q.transport.scroll.Height)
}

func (q *queuesPane) touch() {
	q.outbox.touch()
	q.spawns.touch()
	q.timers.touch()
	q.transport.touch()
}

func (q *queuesPane) version() int {
	return q.rev + q.outbox.rev + q.spawns.rev + q.timers.rev + q.transport.rev
}

// nextChange is after how many seconds something on the screen reads differently for
// the time alone.
func (q *queuesPane) nextChange(m *Model) float64 {
	in := math.Inf(1)
	if m.system.driver == nil {
		// What is neglected from then on.
		if at, ok := q.waitingSince(m); ok {
			in = ahead(in, at.Add(neglect).Sub(m.now()).Seconds())
		}
		if i := q.firstTimer(); i < len(q.timers.items) {
			in = ahead(in, m.until(q.timers.items[i].FireAt)+neglect.Seconds())
		}
	}
	switch q.tab {
	case outboxTab:
		for _, e := range q.outbox.visible() {
			if at, ok := q.since(outboxTab, e.Seq, e.Event); ok {
				in = m.sooner(in, when.Seconds(at), false)
			}
		}
	case spawnsTab:
		for _, e := range q.spawns.visible() {
			if at, ok := q.since(spawnsTab, e.Seq, store.Event{}); ok {
				in = m.sooner(in, when.Seconds(at), false)
			}
		}
	case timersTab:
		for i, e := range q.timers.visible() {
			fine := q.timers.scroll.Top+i == q.timers.scroll.Cursor
			in = m.sooner(in, e.FireAt, fine)
		}
	case transportTab:
		for i, e := range q.transport.visible() {
			if e.LockedUntil != nil {
				in = m.sooner(in, *e.LockedUntil, q.transport.scroll.Top+i == q.transport.scroll.Cursor)
			}
		}
	}
	return in
}

// ahead is the sooner of two moments, if the second is still to come.
func ahead(in, other float64) float64 {
	if other >= 0 {
		return min(in, other+0.001) // it is over by then
	}
	return in
}

// since is when an entry was made, where it says so, else when it was first
// seen here.
func (q *queuesPane) since(tab queueTab, seq int64, ev store.Event) (time.Time, bool) {
	if t, ok := eventTime(ev); ok {
		return t, true
	}
	t, ok := q.seen[queueKey{tab, seq}]
	return t, ok
}

// eventTime reads created_time: ISO 8601, or epoch seconds.
func eventTime(ev store.Event) (time.Time, bool) {
	if s, ok := ev.CreatedTime.Float64(); ok {
		return when.Epoch(s)
	}
	s, ok := ev.CreatedTime.Text()
	if !ok {
		return time.Time{}, false
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

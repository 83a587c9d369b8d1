package ui

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
	"treering/ui/layout"
	"treering/ui/paint"
	"treering/ui/when"
)

// queueTab is one of the three queues.
type queueTab uint8

const (
	outboxTab queueTab = iota
	spawnsTab
	timersTab
	tabCount
)

var queueNames = [...]string{"Outbox", "Spawns", "Timers"}

// queuesPane shows what is pending: of the execution that is looked at, or of
// the whole store.
type queuesPane struct {
	tab    queueTab
	chosen bool   // the queue was chosen by a key; otherwise the first with entries is shown
	whole  bool   // the whole store's entries
	of     string // the execution whose entries are listed; "" for the whole store
	outbox pager[store.OutboxEntry]
	spawns pager[store.SpawnEntry]
	timers pager[store.Timer]

	// seen is when this explorer first saw an entry that does not say its age.
	seen map[queueKey]time.Time
	// about is what was looked up of the executions that entries name.
	about  map[string]string
	asked  map[string]bool
	lookup request
	rev    int
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
		moved: func(m *Model) tea.Cmd { return q.landed(m, outboxTab) },
		came: func(m *Model) tea.Cmd {
			for _, e := range q.outbox.items {
				q.see(m, outboxTab, e.Seq)
			}
			return q.recheck(m, outboxTab)
		},
	}
	q.spawns = pager[store.SpawnEntry]{
		what: "the spawns", id: func(e store.SpawnEntry) string { return strconv.FormatInt(e.Seq, 10) },
		moved: func(m *Model) tea.Cmd { return q.landed(m, spawnsTab) },
		came: func(m *Model) tea.Cmd {
			for _, e := range q.spawns.items {
				q.see(m, spawnsTab, e.Seq)
			}
			return q.recheck(m, spawnsTab)
		},
	}
	q.timers = pager[store.Timer]{
		what: "the timers", id: func(e store.Timer) string { return e.ExecutionID + "\x00" + e.Path },
		moved: func(m *Model) tea.Cmd { return q.landed(m, timersTab) },
		came:  func(m *Model) tea.Cmd { return q.recheck(m, timersTab) },
	}
	q.point(m)
}

// point makes the lists read the entries that are asked for.
func (q *queuesPane) point(m *Model) {
	es := m.es
	if es == nil {
		return
	}
	var f store.QueueFilter
	if q.of != "" {
		of := q.of
		f.ExecutionID = &of
	}
	q.outbox.fetch = func(ctx context.Context, req store.PageRequest) (store.Page[store.OutboxEntry], error) {
		return es.ListOutbox(ctx, f, req)
	}
	q.spawns.fetch = func(ctx context.Context, req store.PageRequest) (store.Page[store.SpawnEntry], error) {
		return es.ListSpawns(ctx, f, req)
	}
	q.timers.fetch = func(ctx context.Context, req store.PageRequest) (store.Page[store.Timer], error) {
		return es.ListTimers(ctx, f, req)
	}
}

// aim lists the entries of the execution that is looked at, or all.
func (q *queuesPane) aim(m *Model) tea.Cmd {
	of := m.member
	if q.whole {
		of = ""
	}
	if m.es == nil || of == q.of && q.timers.started {
		return nil
	}
	q.of = of
	q.point(m)
	q.forget()
	return tea.Batch(q.outbox.restart(m), q.spawns.restart(m), q.timers.restart(m))
}

// widen changes between the selected execution's entries and the whole store's.
func (q *queuesPane) widen(m *Model) tea.Cmd {
	q.whole = !q.whole
	q.rev++
	return q.aim(m)
}

func (q *queuesPane) reload(m *Model) tea.Cmd {
	if m.es == nil {
		return nil
	}
	q.asked = map[string]bool{}
	return tea.Batch(q.outbox.load(m), q.spawns.load(m), q.timers.load(m))
}

func (q *queuesPane) forget() {
	q.about, q.asked = map[string]string{}, map[string]bool{}
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

// recheck tells a dialog about an entry that the list is a new one.
func (q *queuesPane) recheck(m *Model, tab queueTab) tea.Cmd {
	if m.dialog != nil {
		m.dialog.recheck(m)
	}
	if !q.chosen && q.outbox.started && q.spawns.started && q.timers.started {
		q.tab = outboxTab
		for tab := range tabCount {
			if n, _ := q.length(tab); n > 0 {
				q.tab = tab
				break
			}
		}
		q.rev++
	}
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
			return m.detail.show(m, layout.Queues, target{kind: ofOutbox, seq: e.Seq}, func(w *docWriter) doc { return w.outbox(e) })
		}
	case spawnsTab:
		if e, ok := q.spawns.selected(); ok {
			return m.detail.show(m, layout.Queues, target{kind: ofSpawn, seq: e.Seq}, func(w *docWriter) doc { return w.spawn(e) })
		}
	case timersTab:
		if e, ok := q.timers.selected(); ok {
			return m.detail.show(m, layout.Queues, target{kind: ofTimer, id: e.ExecutionID, path: e.Path},
				func(w *docWriter) doc { return w.timer(e) })
		}
	}
	return nil
}

// turn shows the next queue, or the one before.
func (q *queuesPane) turn(m *Model, by int) tea.Cmd {
	q.chosen = true
	q.tab = queueTab((int(q.tab) + by + int(tabCount)) % int(tabCount))
	q.rev++
	return q.describe(m)
}

func (q *queuesPane) move(m *Model, rows int) tea.Cmd {
	q.chosen = true
	q.rev++
	switch q.tab {
	case outboxTab:
		return tea.Batch(q.outbox.move(m, rows), q.describe(m))
	case spawnsTab:
		return tea.Batch(q.spawns.move(m, rows), q.describe(m))
	}
	return tea.Batch(q.timers.move(m, rows), q.describe(m))
}

func (q *queuesPane) home(m *Model) tea.Cmd { return q.move(m, -math.MaxInt32) }

func (q *queuesPane) end(m *Model) tea.Cmd {
	q.rev++
	switch q.tab {
	case outboxTab:
		return tea.Batch(q.outbox.end(m), q.describe(m))
	case spawnsTab:
		return tea.Batch(q.spawns.end(m), q.describe(m))
	}
	return tea.Batch(q.timers.end(m), q.describe(m))
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
	}
	return "", false
}

func (q *queuesPane) height() int {
	return max(q.outbox.scroll.Height, q.spawns.scroll.Height, q.timers.scroll.Height)
}

func (q *queuesPane) touch() {
	q.outbox.touch()
	q.spawns.touch()
	q.timers.touch()
}

func (q *queuesPane) version() int {
	return q.rev + q.outbox.rev + q.spawns.rev + q.timers.rev
}

// ask looks up the executions that the entries on the screen name, those that
// were not looked up since the store changed.
func (q *queuesPane) ask(m *Model) tea.Cmd {
	if m.es == nil || q.lookup.busy() {
		return nil
	}
	type question struct{ target, event string }
	var open []question
	add := func(target, event string) {
		if key := target + "\x00" + event; !q.asked[key] {
			q.asked[key] = true
			open = append(open, question{target, event})
		}
	}
	switch q.tab {
	case outboxTab:
		for _, e := range q.outbox.visible() {
			if e.TargetID != nil {
				add(*e.TargetID, e.Event.ID)
			}
		}
	case spawnsTab:
		for _, e := range q.spawns.visible() {
			add(e.ChildID, "")
		}
	case timersTab:
		for _, e := range q.timers.visible() {
			add(e.ExecutionID, "")
		}
	}
	if len(open) == 0 {
		return nil
	}
	ctx, gen := q.lookup.begin(m.ctx)
	es := m.es
	return func() tea.Msg {
		out := aboutRead{gen: gen, about: make(map[string]string, len(open))}
		for _, o := range open {
			said := lookUp(ctx, es, o.target, o.event)
			if ctx.Err() != nil {
				break
			}
			out.about[o.target+"\x00"+o.event] = said
		}
		return out
	}
}

// lookUp is the status of an execution, with what became of an event to it.
func lookUp(ctx context.Context, es store.ExecutionStore, id, event string) string {
	s, err := summaryOf(ctx, es, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "missing"
	case err != nil:
		return "?"
	}
	said := statusText(s).String()
	if event != "" {
		if done, err := es.IsProcessed(ctx, id, event); err == nil && done {
			said += ", already processed"
		}
	}
	return said
}

type aboutRead struct {
	gen   int
	about map[string]string
}

func (r aboutRead) apply(m *Model) tea.Cmd {
	q := &m.queues
	if !q.lookup.ends(r.gen) {
		return nil
	}
	changed := false
	for key, said := range r.about {
		changed = changed || q.about[key] != said
		q.about[key] = said
	}
	if changed {
		q.touch()
	}
	return nil
}

// nextChange is after how many seconds a time on the screen reads differently.
func (q *queuesPane) nextChange(m *Model) float64 {
	in := math.Inf(1)
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

func (q *queuesPane) title(m *Model) (name, note term.Text) {
	name = term.Lit("Queues")
	if m.es == nil {
		return name, note
	}
	scope := term.Lit("whole store")
	if q.of != "" {
		scope = term.Lit("of ").Plus(term.Sanitise(q.of).TruncateMiddle(30, "…"))
	}
	return name.Plus(term.Spaces(1), m.theme.Dot, term.Spaces(1), scope), term.Lit("whole store: " +
		m.counts.total(func(c store.Counts) int64 { return c.Outbox }) + " outbox, " +
		m.counts.total(func(c store.Counts) int64 { return c.Spawns }) + " spawns, " +
		m.counts.total(func(c store.Counts) int64 { return c.Timers }) + " timers")
}

func (q *queuesPane) draw(m *Model, w, h int, focused bool) []string {
	if m.es == nil {
		return paragraph(w, m.theme.Dim, term.Lit("this store holds no executions, so nothing is queued"))
	}
	out := []string{q.tabLine(m, w)}
	var rows []string
	var err error
	var started bool
	switch q.tab {
	case outboxTab:
		rows = q.outbox.draw(w, h-1, focused, func(e store.OutboxEntry, look look) string { return q.outboxRow(m, w, e, look) })
		err, started = q.outbox.err, q.outbox.started
	case spawnsTab:
		rows = q.spawns.draw(w, h-1, focused, func(e store.SpawnEntry, look look) string { return q.spawnRow(m, w, e, look) })
		err, started = q.spawns.err, q.spawns.started
	case timersTab:
		rows = q.timers.draw(w, h-1, focused, func(e store.Timer, look look) string { return q.timerRow(m, w, e, look) })
		err, started = q.timers.err, q.timers.started
	}
	switch {
	case len(rows) > 0:
	case err != nil:
		rows = paragraph(w, m.theme.Error, term.Sanitise("cannot read: "+err.Error()), term.Lit("R tries again"))
	case !started:
		rows = paragraph(w, m.theme.Dim, term.Lit("reading…"))
	case q.of != "":
		rows = paragraph(w, m.theme.Dim, term.Lit("none of this execution; w lists the whole store's"))
	default:
		rows = paragraph(w, m.theme.Dim, term.Lit("none"))
	}
	return append(out, rows...)
}

// tabLine names the three queues with how much is in each.
func (q *queuesPane) tabLine(m *Model, w int) string {
	l := paint.NewLine(w, "").Gap(1)
	for tab := range tabCount {
		n, more := q.length(tab)
		text := queueNames[tab] + " " + treeview.Grouped(int64(n))
		if more {
			text += "+"
		}
		if tab == q.tab {
			l.Put(m.theme.TitleFocus, term.Lit("["+text+"]"))
		} else {
			l.Put(m.theme.Dim, term.Lit(" "+text+" "))
		}
		l.Gap(1)
	}
	if n := q.overdue(m); n > 0 {
		l.Put(m.theme.Warn, term.Lit(treeview.Grouped(int64(n))+" overdue"))
	}
	return l.String()
}

func (q *queuesPane) length(tab queueTab) (n int, more bool) {
	switch tab {
	case outboxTab:
		return len(q.outbox.items), !q.outbox.done
	case spawnsTab:
		return len(q.spawns.items), !q.spawns.done
	}
	return len(q.timers.items), !q.timers.done
}

// overdue counts the timers that were read and are due; they come first.
func (q *queuesPane) overdue(m *Model) int {
	now, n := when.Seconds(m.now()), 0
	for _, t := range q.timers.items {
		if t.Bad == nil && t.FireAt > now {
			break
		}
		if t.Bad == nil {
			n++
		}
	}
	return n
}

func (q *queuesPane) age(m *Model, tab queueTab, seq int64, ev store.Event) term.Text {
	at, ok := q.since(tab, seq, ev)
	if !ok {
		return term.Text{}
	}
	words := when.Distance(-m.until(when.Seconds(at)), false)
	if _, known := eventTime(ev); known {
		return term.Lit("age " + words)
	}
	return term.Lit("seen " + words)
}

func (q *queuesPane) outboxRow(m *Model, w int, e store.OutboxEntry, look look) string {
	l := rowStart(m, w, look)
	l.Put(m.theme.Dim, term.Lit(strconv.FormatInt(e.Seq, 10)).PadLeft(4)).Gap(2)
	if e.Bad != nil {
		l.Put(m.theme.Error, term.Lit("unreadable").Pad(16))
	} else {
		l.Plain(term.SanitiseN(e.Event.Kind, 24).Pad(16))
	}
	l.Gap(1)
	if e.TargetID == nil {
		l.Put(m.theme.Dim, term.Lit("to nobody"))
	} else {
		l.Put(m.theme.Dim, term.Lit("to ")).Plain(term.Sanitise(*e.TargetID).TruncateMiddle(max(l.Left()-24, 12), "…"))
		q.statusOf(m, l, *e.TargetID, e.Event.ID, "")
	}
	return l.Gap(2).Put(m.theme.Dim, q.age(m, outboxTab, e.Seq, e.Event)).String()
}

func (q *queuesPane) statusOf(m *Model, l *paint.Line, id, event, before string) {
	if said := q.about[id+"\x00"+event]; said != "" {
		style := m.theme.Dim
		if said == "missing" && before == "" {
			style = m.theme.Warn
		}
		l.Gap(2).Put(style, term.Sanitise(before+said))
	}
}

func (q *queuesPane) spawnRow(m *Model, w int, e store.SpawnEntry, look look) string {
	l := rowStart(m, w, look)
	l.Put(m.theme.Dim, term.Lit(strconv.FormatInt(e.Seq, 10)).PadLeft(4)).Gap(2)
	if e.Bad != nil {
		l.Put(m.theme.Error, term.Lit("unreadable ")).Gap(1)
	}
	l.Plain(term.Sanitise(e.ChildID).TruncateMiddle(max(w/2-10, 16), "…"))
	l.Put(m.theme.Dim, term.Lit("  of ")).Plain(term.Sanitise(e.ParentID).TruncateMiddle(max(w/4, 12), "…"))
	switch said := q.about[e.ChildID+"\x00"]; said {
	case "", "?":
	case "missing":
		l.Gap(2).Put(m.theme.Dim, term.Lit("not created yet"))
	default:
		l.Gap(2).Put(m.theme.Warn, term.Sanitise("child exists ("+said+")"))
	}
	return l.Gap(2).Put(m.theme.Dim, q.age(m, spawnsTab, e.Seq, store.Event{})).String()
}

func (q *queuesPane) timerRow(m *Model, w int, e store.Timer, look look) string {
	l := rowStart(m, w, look)
	if e.Bad != nil {
		l.Put(m.theme.Error, term.Lit("unreadable").Pad(15))
	} else {
		left, fine := m.until(e.FireAt), look != plain
		switch {
		case left > 0:
			l.Put(m.theme.Info, term.Lit("due in "+when.Distance(left, fine)).Pad(15))
		default:
			l.Put(m.theme.Warn, term.Lit("overdue by "+when.Distance(left, fine)).Pad(15))
		}
	}
	l.Gap(1).Plain(term.Sanitise(e.ExecutionID).TruncateMiddle(max(w/3, 12), "…")).Gap(2)
	l.Put(m.theme.Bold, term.Sanitise(e.Path).TruncateMiddle(max(w/4, 10), "…"))
	q.statusOf(m, l, e.ExecutionID, "", "")
	if e.Bad == nil && w >= 90 {
		l.Gap(2).Put(m.theme.Dim, m.clockText(e.FireAt, 0))
	}
	return l.String()
}

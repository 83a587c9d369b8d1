package ui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
	"treering/ui/paint"
	"treering/ui/when"
)

func (q *queuesPane) title(m *Model) (name, note term.Text) {
	name = term.Lit("Queues")
	if len(q.tabs(m)) == 0 {
		return name, note
	}
	scope := term.Lit("whole store")
	if q.of != "" {
		scope = term.Lit("of ").Plus(m.term.Sanitise(q.of).TruncateMiddle(30, "…"))
	}
	if was, ok := m.trace.past(q.of); ok {
		scope = scope.Plus(term.Lit(", seen from step " + treeview.Grouped(was.Index)))
	}
	return name.Plus(term.Spaces(1), m.theme.Dot, term.Spaces(1), scope), note
}

// later reports whether an entry came after the step that the trace is on, as far as
// both tell their times.
func (q *queuesPane) later(m *Model, ev store.Event) bool {
	was, ok := m.trace.past(q.of)
	if !ok || !was.Timed {
		return false
	}
	at, known := eventTime(ev)
	return known && when.Seconds(at) > was.At
}

func (q *queuesPane) draw(m *Model, w, h int, focused bool) []string {
	if len(q.tabs(m)) == 0 {
		return paragraph(w, m.theme.Dim, term.Lit("this store holds no executions, so nothing is queued"))
	}
	out := []string{q.tabLine(m, w)}
	bar := q.bar()
	if bar != nil {
		out = append(out, bar.lines(m, w, h-1, q.counted())...)
	}
	q.head = len(out)
	var rows []string
	var err error
	var started bool
	switch q.tab {
	case outboxTab:
		rows = q.outbox.draw(w, h-q.head, focused, func(e store.OutboxEntry, look look) string { return q.outboxRow(m, w, e, look) })
		err, started = q.outbox.err, q.outbox.started
	case spawnsTab:
		rows = q.spawns.draw(w, h-q.head, focused, func(e store.SpawnEntry, look look) string { return q.spawnRow(m, w, e, look) })
		err, started = q.spawns.err, q.spawns.started
	case timersTab:
		rows = q.timers.draw(w, h-q.head, focused, func(e store.Timer, look look) string { return q.timerRow(m, w, e, look) })
		err, started = q.timers.err, q.timers.started
	case transportTab:
		rows = q.transport.draw(w, h-q.head, focused, func(e store.TransportQueue, look look) string { return q.transportRow(m, w, e, look) })
		err, started = q.transport.err, q.transport.started
	}
	switch {
	case len(rows) > 0:
	case err != nil:
		rows = m.unreadLines(w, err)
	case !started:
		rows = paragraph(w, m.theme.Dim, term.Lit("reading…"))
	case bar != nil && bar.on():
		rows = paragraph(w, m.theme.Dim, term.Lit("nothing here matches"), term.Lit(m.keyFor("back")+" clears the filter"))
	case q.of != "" && q.tab == transportTab:
		rows = paragraph(w, m.theme.Dim, term.Lit("no message is on its way to this execution; "+m.keyFor("whole-store")+" lists all queues"))
	case q.of != "":
		rows = paragraph(w, m.theme.Dim, term.Lit("none of this execution; "+m.keyFor("whole-store")+" lists the whole store's"))
	default:
		rows = paragraph(w, m.theme.Dim, term.Lit("none"))
	}
	return append(out, rows...)
}

// counted says what came of the filter. Where the store did a part of it, what it
// looked at is not known.
func (q *queuesPane) counted() term.Text {
	switch q.tab {
	case outboxTab:
		return sifted(len(q.outbox.items), q.outbox.looked, q.outbox.noTime)
	case spawnsTab:
		return sifted(len(q.spawns.items), q.spawns.looked, q.spawns.noTime)
	default:
		return sifted(len(q.timers.items), q.timers.looked, q.timers.noTime)
	}
}

// bar is the filter of the queue that is shown; nil where it has none.
func (q *queuesPane) bar() *filterBar {
	if q.tab == transportTab {
		return nil
	}
	return &q.bars[q.tab]
}

// narrowTabs is the width below which four queues have room for one number only.
const narrowTabs = 60

// tabLine names the queues with how much is in each.
func (q *queuesPane) tabLine(m *Model, w int) string {
	l := paint.NewLine(w, "").Gap(1)
	narrow := m.transport != nil && w < narrowTabs
	for _, tab := range q.tabs(m) {
		text := queueNames[tab]
		// The transport is kept up only while it is shown: an old number would be untrue.
		if tab != q.tab && (narrow || tab == transportTab) {
			l.Put(m.theme.Dim, term.Lit(text)).Gap(1)
			continue
		}
		// What was not read yet has no number: a 0 would say that there is nothing.
		if n, more, read := q.length(tab); read {
			text += " " + treeview.Grouped(int64(n))
			if more {
				text += "+"
			}
		} else {
			text += " ?"
		}
		if tab == q.tab {
			l.Put(m.theme.TitleFocus, term.Lit("["+text+"]"))
		} else {
			l.Put(m.theme.Dim, term.Lit(" "+text+" "))
		}
		l.Gap(1)
	}
	stuck := q.stuck(m)
	if stuck > 0 && q.tab == transportTab {
		l.Put(m.theme.Warn, term.Lit(treeview.Grouped(int64(stuck))+" stuck")).Gap(2)
	}
	if n := q.overdue(m); n > 0 {
		words := treeview.Grouped(int64(n)) + " overdue"
		if m.system.driver == nil && -m.until(q.timers.items[q.firstTimer()].FireAt) > neglect.Seconds() {
			words += ", nobody sweeps"
		}
		l.Put(m.theme.Warn, term.Lit(words)).Gap(2)
	}
	if at, ok := q.waitingSince(m); ok && m.system.driver == nil && m.now().Sub(at) > neglect {
		l.Put(m.theme.Warn, term.Lit("nobody drains since "+when.Clock(when.Seconds(at), m.now(), m.zone, 0))).Gap(2)
	}
	switch {
	case q.tab == transportTab:
		if all := q.fleet.total(l.Left() - 3); !all.Empty() {
			l.To(w-all.Width()-1).Put(m.theme.Dim, all)
		}
	case q.of != "":
		all := term.Lit("whole store: " +
			m.counts.total(func(c store.Counts) int64 { return c.Outbox }) + " outbox, " +
			m.counts.counted(func(c store.Counts) int64 { return c.Spawns }, "spawn", "spawns") + ", " +
			m.counts.counted(func(c store.Counts) int64 { return c.Timers }, "timer", "timers"))
		if l.Left() >= all.Width()+3 {
			l.To(w-all.Width()-1).Put(m.theme.Dim, all)
		}
	}
	return l.String()
}

// length is how many entries of a queue were read, whether there are more, and
// whether it was read at all.
func (q *queuesPane) length(tab queueTab) (n int, more, read bool) {
	switch tab {
	case outboxTab:
		return q.outbox.length()
	case spawnsTab:
		return q.spawns.length()
	case transportTab:
		return q.transport.length()
	default:
		return q.timers.length()
	}
}

// neglect is how long something may wait for a worker before it is said that there is
// none: sweeps and drains come round every few seconds.
const neglect = time.Minute

// firstTimer is the place of the first timer that can be read; len where there is none.
func (q *queuesPane) firstTimer() int {
	i := slices.IndexFunc(q.timers.items, func(t store.Timer) bool { return t.Bad == nil })
	if i < 0 {
		return len(q.timers.items)
	}
	return i
}

// waitingSince is since when the entry waits that a relay would have taken first. Those
// to a target that is suspended wait for that, and unreadable ones for somebody to look
// at them.
func (q *queuesPane) waitingSince(m *Model) (at time.Time, ok bool) {
	for _, e := range q.spawns.items {
		if e.Bad == nil {
			at, ok = q.since(spawnsTab, e.Seq, store.Event{})
			break
		}
	}
	for _, e := range q.outbox.items {
		if e.Bad != nil || e.TargetID != nil && strings.HasPrefix(q.about[*e.TargetID+"\x00"+e.Event.ID], string(store.Suspended)) {
			continue
		}
		if of, known := q.since(outboxTab, e.Seq, e.Event); known && (!ok || of.Before(at)) {
			at, ok = of, true
		}
		break
	}
	return at, ok
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
	if q.later(m, ev) {
		return term.Lit("later")
	}
	words := when.Distance(-m.until(when.Seconds(at)), false)
	if _, known := eventTime(ev); known {
		return term.Lit("age " + words)
	}
	return term.Lit("seen " + words)
}

// column puts an id, cut to its column.
func column(m *Model, l *paint.Line, s paint.Style, text string, width int) {
	l.Put(s, m.term.Sanitise(text).TruncateMiddle(width, "…").Pad(width))
}

// ageWidth is the column of an age: "seen 999d".
const ageWidth = 9

func (q *queuesPane) outboxRow(m *Model, w int, e store.OutboxEntry, look look) string {
	l := rowGlow(m, w, look, m.glowOf(glowEntry(outboxTab, strconv.FormatInt(e.Seq, 10))))
	cols := q.widths[outboxTab]
	l.Put(m.theme.Dim, term.Lit(strconv.FormatInt(e.Seq, 10)).PadLeft(max(cols.seq, 4))).Gap(2)
	event := min(max(w/5, 10), 24)
	if e.Bad != nil {
		l.Put(m.theme.Error, term.Lit("unreadable").Pad(event))
	} else {
		l.Plain(m.term.SanitiseN(e.Event.Kind, 200).Truncate(event, "…").Pad(event))
	}
	l.Gap(1).Put(m.theme.Dim, q.age(m, outboxTab, e.Seq, e.Event).Pad(ageWidth)).Gap(1)
	// The status is the last of it, and has room whatever the id.
	room := min(cols.first, max(l.Left()-3-2-statusWidth, 8))
	if e.TargetID == nil {
		return l.Put(m.theme.Dim, term.Lit("to nobody")).String()
	}
	l.Put(m.theme.Dim, term.Lit("to "))
	column(m, l, "", *e.TargetID, room)
	q.statusOf(m, l, *e.TargetID, e.Event.ID)
	return l.String()
}

func (q *queuesPane) statusOf(m *Model, l *paint.Line, id, event string) {
	if said := q.about[id+"\x00"+event]; said != "" {
		style := m.theme.Dim
		if said == "missing" {
			style = m.theme.Warn
		}
		text := m.term.Sanitise(said)
		l.Gap(2).Put(style, text.Truncate(max(l.Left(), 1), "…"))
	}
}

func (q *queuesPane) spawnRow(m *Model, w int, e store.SpawnEntry, look look) string {
	l := rowGlow(m, w, look, m.glowOf(glowEntry(spawnsTab, strconv.FormatInt(e.Seq, 10))))
	cols := q.widths[spawnsTab]
	l.Put(m.theme.Dim, term.Lit(strconv.FormatInt(e.Seq, 10)).PadLeft(max(cols.seq, 4))).Gap(2)
	l.Put(m.theme.Dim, q.age(m, spawnsTab, e.Seq, store.Event{}).Pad(ageWidth)).Gap(1)
	if e.Bad != nil {
		l.Put(m.theme.Error, term.Lit("unreadable ")).Gap(1)
	}
	child := min(cols.first, max(l.Left()/2-4, 12))
	column(m, l, "", e.ChildID, child)
	l.Put(m.theme.Dim, term.Lit("  of "))
	column(m, l, "", e.ParentID, min(cols.second, max(l.Left()-len("  not created yet"), 12)))
	switch said := q.about[e.ChildID+"\x00"]; said {
	case "":
	case "?":
		l.Gap(2).Put(m.theme.Dim, term.Lit("child not read"))
	case "missing":
		l.Gap(2).Put(m.theme.Dim, term.Lit("not created yet"))
	default:
		l.Gap(2).Put(m.theme.Warn, m.term.Sanitise("child exists ("+said+")"))
	}
	return l.String()
}

// dueWidth is the column of when a timer is due: "overdue by 20788d".
const dueWidth = 17

func (q *queuesPane) timerRow(m *Model, w int, e store.Timer, look look) string {
	l := rowGlow(m, w, look, m.glowOf(glowEntry(timersTab, e.ExecutionID+"\x00"+e.Path)))
	if e.Bad != nil {
		l.Put(m.theme.Error, term.Lit("unreadable").Pad(dueWidth))
	} else {
		left, fine := m.until(e.FireAt), look != plain
		switch {
		case left > 0:
			l.Put(m.theme.Info, term.Lit("due in "+when.Distance(left, fine)).Pad(dueWidth))
		default:
			l.Put(m.theme.Warn, term.Lit("overdue by "+when.Distance(left, fine)).Pad(dueWidth))
		}
	}
	cols := q.widths[timersTab]
	l.Gap(1)
	column(m, l, "", e.ExecutionID, min(cols.first, max(w/3, 12)))
	l.Gap(2)
	column(m, l, m.theme.Bold, e.Path, min(cols.second, max(w/4, 10)))
	if e.Bad == nil && w >= 90 {
		l.Gap(2).Put(m.theme.Dim, m.clockText(e.FireAt, 0).Pad(19))
	}
	q.statusOf(m, l, e.ExecutionID, "")
	return l.String()
}

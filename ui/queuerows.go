package ui

import (
	"strconv"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
	"treering/ui/paint"
	"treering/ui/when"
)

func (q *queuesPane) title(m *Model) (name, note term.Text) {
	name = term.Lit("Queues")
	if m.es == nil {
		return name, note
	}
	scope := term.Lit("whole store")
	if q.of != "" {
		scope = term.Lit("of ").Plus(term.Sanitise(q.of).TruncateMiddle(30, "…"))
	}
	return name.Plus(term.Spaces(1), m.theme.Dot, term.Spaces(1), scope), note
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
	for tab := range queueTab(tabCount) {
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
	if q.of != "" {
		all := term.Lit("whole store: " +
			m.counts.total(func(c store.Counts) int64 { return c.Outbox }) + " outbox, " +
			m.counts.total(func(c store.Counts) int64 { return c.Spawns }) + " spawns, " +
			m.counts.total(func(c store.Counts) int64 { return c.Timers }) + " timers")
		if l.Left() >= all.Width()+3 {
			l.To(w-all.Width()-1).Put(m.theme.Dim, all)
		}
	}
	return l.String()
}

func (q *queuesPane) length(tab queueTab) (n int, more bool) {
	switch tab {
	case outboxTab:
		return len(q.outbox.items), !q.outbox.done
	case spawnsTab:
		return len(q.spawns.items), !q.spawns.done
	default:
		return len(q.timers.items), !q.timers.done
	}
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

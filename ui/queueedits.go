package ui

import (
	"cmp"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/store"
	"treering/tracefeed"
)

// edit puts entries that came or went into a queue's list.
func (q *queuesPane) edit(m *Model, tab queueTab, edits []queueEdit) tea.Cmd {
	if len(edits) == 0 {
		return nil
	}
	if q.bars[tab].query != nil {
		return q.reloadTab(m, tab)
	}
	switch tab {
	case outboxTab:
		return applyEdits(m, &q.outbox, edits, func(e queueEdit) (entry *store.OutboxEntry, gone string) {
			if e.outbox != nil && q.of != "" && deref(e.outbox.TargetID) != q.of {
				return nil, ""
			}
			return e.outbox, strconv.FormatInt(e.gone.Seq, 10)
		}, func(a, b store.OutboxEntry) int { return cmp.Compare(a.Seq, b.Seq) })
	case spawnsTab:
		return applyEdits(m, &q.spawns, edits, func(e queueEdit) (entry *store.SpawnEntry, gone string) {
			if e.spawn != nil && q.of != "" && e.spawn.ParentID != q.of {
				return nil, ""
			}
			return e.spawn, strconv.FormatInt(e.gone.Seq, 10)
		}, func(a, b store.SpawnEntry) int { return cmp.Compare(a.Seq, b.Seq) })
	default:
		return applyEdits(m, &q.timers, edits, func(e queueEdit) (entry *store.Timer, gone string) {
			if e.timer != nil {
				if q.of != "" && e.timer.ExecutionID != q.of {
					return nil, ""
				}
				return e.timer, ""
			}
			return nil, q.goneTimer(e.gone.Timer)
		}, byFireAt)
	}
}

// goneTimer is the row of a timer that is not there any more, "" where another time
// came in its place already.
func (q *queuesPane) goneTimer(k tracefeed.TimerKey) string {
	id := k.ExecutionID + "\x00" + k.Path
	if row := q.timers.find(id); row >= 0 && q.timers.items[row].FireAt == k.At() {
		return id
	}
	return ""
}

// byFireAt is the order of timers in every store.
func byFireAt(a, b store.Timer) int {
	return cmp.Or(cmp.Compare(a.FireAt, b.FireAt), strings.Compare(a.ExecutionID, b.ExecutionID), strings.Compare(a.Path, b.Path))
}

// applyEdits applies edits to a list; of tells of each which entry comes, or which goes.
func applyEdits[T any](m *Model, p *pager[T], edits []queueEdit, of func(queueEdit) (*T, string), order func(a, b T) int) tea.Cmd {
	if p.req.busy() || !p.started || p.err != nil {
		return p.load(m) // which may be of before
	}
	for _, e := range edits {
		entry, gone := of(e)
		switch {
		case entry != nil:
			p.remove(p.id(*entry)) // a timer that moved is one row
			p.insert(*entry, order)
		case gone != "":
			p.remove(gone)
		}
	}
	return p.edited(m)
}

// reloadTab reads one of the queues again.
func (q *queuesPane) reloadTab(m *Model, tab queueTab) tea.Cmd {
	switch tab {
	case outboxTab:
		return q.outbox.load(m)
	case spawnsTab:
		return q.spawns.load(m)
	default:
		return q.timers.load(m)
	}
}

// doubt has what is said of executions looked up again: of those, or of all.
func (q *queuesPane) doubt(ids map[string]bool, all bool) {
	if all {
		q.asked = map[string]bool{}
		return
	}
	for key := range q.asked {
		id, _, _ := strings.Cut(key, "\x00")
		if ids[id] {
			delete(q.asked, key)
		}
	}
}

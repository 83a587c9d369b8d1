package ui

import (
	"cmp"

	tea "charm.land/bubbletea/v2"

	"treering/store"
	"treering/store/query"
)

// activity is when an execution was last written, as far as that is recorded.
func activity(s store.Summary) (epoch float64, ok bool) { return query.TimeOf(s.UpdatedAt) }

// latestFirst puts what was written last first, and what does not say when at the
// end, by id.
func latestFirst(a, b store.Summary) int {
	at, known := activity(a)
	bt, also := activity(b)
	switch {
	case known != also && known:
		return -1
	case known != also:
		return 1
	case known && at != bt:
		return cmp.Compare(bt, at)
	}
	return cmp.Compare(a.ID, b.ID)
}

// sortable says why the list on the screen has no other order; "" where it has.
func sortable(m *Model) string {
	switch {
	case len(m.nav.views) == 0:
		return "nothing is listed here"
	case m.nav.view == sessionsView:
		return "sessions do not record their last activity; their nodes may, in their data: filter the tree with since:"
	}
	return ""
}

// sorting changes between the order of ids and that of the last activity.
func sorting(m *Model, _ string) tea.Cmd { return m.nav.sort(m, !m.nav.latest) }

func (n *navigator) sort(m *Model, latest bool) tea.Cmd {
	if n.latest == latest {
		return nil
	}
	n.latest = latest
	if n.execs.order = nil; latest {
		n.execs.order = latestFirst
		m.say("by last activity, the latest first; the whole list is read for it")
	} else {
		m.say("by id")
	}
	n.touch()
	cmds := []tea.Cmd{n.execs.restart(m)}
	if n.families.started {
		cmds = append(cmds, n.families.restart(m))
	}
	return tea.Batch(cmds...)
}

// sortBy sorts a list as a view asks. It reports whether the list can be.
func (m *Model) sortBy(b *filterBar, s query.Sort) (tea.Cmd, bool) {
	switch {
	case b == &m.nav.byExec && s.By == "time" && s.Desc:
		return m.nav.sort(m, true), true
	case b == &m.nav.byExec && s.By == "id" && !s.Desc, b == &m.nav.bySess && s.By == "id" && !s.Desc:
		return m.nav.sort(m, false), true
	case b.subject == query.Timers && s.By == "time" && !s.Desc:
		return nil, true // they are
	}
	return nil, false
}

package ui

import (
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
)

// Waits between two tries to read what could not be read.
const (
	firstRetry = time.Second
	lastRetry  = 8 * time.Second
)

// retryState is the trying again of readings that failed. A lock that somebody
// holds, or a file that was away for a moment, is no change of the store: nobody
// tells of its end.
type retryState struct {
	err     error // what the header tells of
	since   time.Time
	pending bool
	wait    time.Duration
	asked   bool // somebody wants to know: what fails is said, though it was said before

	asking  time.Time
	slow    bool // what is being read gave no answer for a while
	mark    int  // of what is being read
	gen     int
	waiting bool // something is being read
}

// slowAfter is after how long without an answer the header says so: until a wait
// for somebody's lock ends in an error, it looks like any reading.
const slowAfter = time.Second

// unread notes that a reading failed, where it is looked for to be tried again,
// and says so; the same error of another try is not said anew.
func (m *Model) unread(what string, err error, at *error) {
	same := *at != nil && (*at).Error() == err.Error() && !m.again.asked
	*at, m.again.asked = err, false
	if !same {
		m.failed(what, err)
		m.status.ofRead = true
	}
}

// readAgain reads everything on the screen again, and says what cannot be read even if
// it was said before.
func readAgain(m *Model, _ string) tea.Cmd {
	m.say("reading again")
	m.again.asked = m.again.err != nil
	return m.refresh()
}

// passing reports whether an error may be gone at the next try.
func passing(err error) bool {
	var bad *store.RowError
	return err != nil && !abandoned(err) && !errors.As(err, &bad) &&
		!errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrMissingTable) && !errors.Is(err, store.ErrClosed)
}

// reading is something on the screen that can be read again.
type reading struct {
	err  error
	busy bool // it is being read
	mark int  // changes with what came of it
	load func() tea.Cmd
}

// readings are the readings that the screen is made of.
func (m *Model) readings() []reading {
	n, q := &m.nav, &m.queues
	return []reading{
		{n.sessions.err, n.sessions.req.busy(), n.sessions.req.gen + n.sessions.rev, func() tea.Cmd { return n.sessions.load(m) }},
		{n.execs.err, n.execs.req.busy(), n.execs.req.gen + n.execs.rev, func() tea.Cmd { return n.execs.load(m) }},
		{n.families.err, n.families.req.busy(), n.families.req.gen + n.families.rev, func() tea.Cmd { return n.families.load(m) }},
		{m.tree.err, m.tree.req.busy() || m.tree.look.busy(), m.tree.req.gen + m.tree.look.gen + m.tree.rev, func() tea.Cmd { return m.tree.reload(m) }},
		{m.state.err, m.state.req.busy(), m.state.req.gen, m.readState},
		{m.trace.err, m.trace.req.busy(), m.trace.req.gen, func() tea.Cmd { return m.trace.load(m) }},
		{m.detail.err, m.detail.req.busy(), m.detail.req.gen, func() tea.Cmd { return m.detail.reload(m) }},
		{q.outbox.err, q.outbox.req.busy(), q.outbox.req.gen + q.outbox.rev, func() tea.Cmd { return q.outbox.load(m) }},
		{q.spawns.err, q.spawns.req.busy(), q.spawns.req.gen + q.spawns.rev, func() tea.Cmd { return q.spawns.load(m) }},
		{q.timers.err, q.timers.req.busy(), q.timers.req.gen + q.timers.rev, func() tea.Cmd { return q.timers.load(m) }},
		{q.transport.err, q.transport.req.busy(), q.transport.req.gen + q.transport.rev, func() tea.Cmd { return q.transport.load(m) }},
		{q.fleet.err, q.fleet.counted.busy(), q.fleet.counted.gen, func() tea.Cmd { return q.fleet.count(m) }},
		{q.err, q.lookup.busy(), q.lookup.gen, func() tea.Cmd { q.asked = map[string]bool{}; return q.ask(m) }},
		{m.counts.err, m.counts.req.busy(), m.counts.req.gen, func() tea.Cmd { return m.counts.load(m) }},
	}
}

// retry sets the next try where something could not be read, and takes the words
// about it away where everything could.
func (m *Model) retry() tea.Cmd {
	r := &m.again
	var failed error
	for _, one := range m.readings() {
		// A lock is named before its consequences.
		if passing(one.err) && (failed == nil || errors.Is(one.err, store.ErrBusy) && !errors.Is(failed, store.ErrBusy)) {
			failed = one.err
		}
	}
	if (failed == nil) != (r.err == nil) || failed != nil && errors.Is(failed, store.ErrBusy) != errors.Is(r.err, store.ErrBusy) {
		r.since = m.now()
		if r.slow {
			r.since = r.asking // it was waited for since then
		}
		m.screen.bars()
	}
	r.err = failed
	if failed == nil {
		r.wait, r.asked = 0, false
		if m.status.ofRead {
			m.unsay()
		}
		return nil
	}
	if r.pending {
		return nil
	}
	r.pending = true
	r.wait = min(max(2*r.wait, firstRetry), lastRetry)
	return m.later(r.wait, func(m *Model) tea.Cmd {
		m.again.pending = false
		var cmds []tea.Cmd
		for _, one := range m.readings() {
			if passing(one.err) && !one.busy {
				cmds = append(cmds, one.load())
			}
		}
		return tea.Batch(cmds...)
	})
}

// watch notices readings that give no answer for a while.
func (m *Model) watch() tea.Cmd {
	r := &m.again
	waiting, mark := false, 0
	for _, one := range m.readings() {
		mark += one.mark
		waiting = waiting || one.busy
	}
	if waiting == r.waiting && mark == r.mark {
		return nil
	}
	r.waiting, r.mark = waiting, mark
	r.gen++
	if r.slow {
		r.slow = false
		m.screen.bars()
	}
	if !waiting {
		return nil
	}
	gen := r.gen
	r.asking = m.now()
	return m.later(slowAfter, func(m *Model) tea.Cmd {
		if m.again.gen == gen {
			m.again.slow = true
			m.screen.bars()
		}
		return nil
	})
}

// replaced reports whether an error says that another file lies where the one that is
// written to was. It is not followed by itself: only opening it anew leads to it.
func (m *Model) replaced(err error) bool {
	return m.info.Writable && errors.Is(err, store.ErrSourceChanged)
}

// reason is an error in words. What was open once needs no look at its spelling.
func (m *Model) reason(err error) string { return whyUnread(m.info.Name, err) }

func whyUnread(name string, err error) string {
	if errors.Is(err, store.ErrStoreNotFound) {
		return name + " is not there any more: deleted or moved; it is read again once it is back"
	}
	return err.Error()
}

// unreadLines are a pane that could not be read.
func (m *Model) unreadLines(w int, err error) []string {
	return paragraph(w, m.theme.Error, m.term.Sanitise("cannot read: "+m.reason(err)), term.Lit("tried again by itself; "+m.keyFor("reload")+" does at once"))
}

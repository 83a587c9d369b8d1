package ui

import (
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
	"treering/ui/paint"
	"treering/ui/when"
)

// statusLine is the line above the keys: what just happened.
type statusLine struct {
	text  term.Text
	style paint.Style
	since time.Time
}

// staleAfter is how long a message survives the keys pressed after it.
const staleAfter = 2 * time.Second

// say shows a message. It may hold foreign text.
func (m *Model) say(s string) { m.sayStyled("", s) }

func (m *Model) sayStyled(style paint.Style, s string) {
	m.status = statusLine{term.SanitiseN(s, 400), style, m.now()}
	m.screen.bars()
}

// done says that a write succeeded.
func (m *Model) done(s string) { m.sayStyled(m.theme.Good, s) }

// refused says why something was not done.
func (m *Model) refused(s string) { m.sayStyled(m.theme.Warn, s) }

// failed says what went wrong and what to do next.
func (m *Model) failed(what string, err error) {
	if err == nil || abandoned(err) {
		return
	}
	s := what + ": " + err.Error()
	switch {
	case errors.Is(err, store.ErrClosed):
	case errors.Is(err, store.ErrOutcomeUnknown):
		s += " (R reads the store again)"
	default:
		s += " (R tries again)"
	}
	m.sayStyled(m.theme.Error, s)
}

// fade takes a message away that was there long enough when a key is pressed.
func (m *Model) fade() {
	if !m.status.text.Empty() && m.now().Sub(m.status.since) >= staleAfter {
		m.status = statusLine{}
		m.screen.bars()
	}
}

// countsState is the store's totals.
type countsState struct {
	counts store.Counts
	known  bool
	err    error
	req    request
	pace   pace
}

func (c *countsState) load(m *Model) tea.Cmd {
	if m.es == nil {
		return nil
	}
	ok, wait := c.pace.start(m.now())
	if !ok {
		return m.later(wait, func(m *Model) tea.Cmd {
			c.pace.rested()
			return c.load(m)
		})
	}
	ctx, gen := c.req.begin(m.ctx)
	es := m.es
	return func() tea.Msg {
		counts, err := es.Counts(ctx)
		return countsRead{gen, counts, err}
	}
}

type countsRead struct {
	gen    int
	counts store.Counts
	err    error
}

func (r countsRead) apply(m *Model) tea.Cmd {
	c := &m.counts
	if !c.req.ends(r.gen) {
		return nil
	}
	again := c.pace.end(m.now())
	c.err = r.err
	if r.err != nil {
		m.failed("cannot count the store", r.err)
	} else {
		c.counts, c.known = r.counts, true
	}
	m.screen.bars()
	m.nav.touch()
	m.queues.touch()
	if again {
		return c.load(m)
	}
	return nil
}

// total is a count as text, "?" where it could not be read.
func (c *countsState) total(of func(store.Counts) int64) string {
	if !c.known {
		return "?"
	}
	return treeview.Grouped(of(c.counts))
}

// summed is how many executions there are.
func (c *countsState) summed() string {
	return countText(int(c.counts.Executions), "execution", "executions").String()
}

// summary is the executions by status, as the header says it.
func (c *countsState) summary() string {
	s, sep := c.summed(), ": "
	for _, word := range store.Statuses() {
		if n := c.counts.ByStatus[word]; n > 0 {
			s += sep + treeview.Grouped(n) + " " + string(word)
			sep = ", "
		}
	}
	if c.counts.Unreadable > 0 {
		s += sep + treeview.Grouped(c.counts.Unreadable) + " unreadable"
	}
	return s
}

// clockText is a stored time as the screen shows it.
func (m *Model) clockText(seconds float64, digits int) term.Text {
	return term.Sanitise(when.Clock(seconds, m.now(), m.zone, digits))
}

// until is the distance from now to a stored time, in seconds.
func (m *Model) until(seconds float64) float64 { return seconds - when.Seconds(m.now()) }

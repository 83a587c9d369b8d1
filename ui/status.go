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
	text   term.Text
	style  paint.Style
	since  time.Time
	ofRead bool // it tells of a reading that failed, and goes once none does
	timed  bool // its end is set
	stays  bool // until there is a key
	gen    int
}

// staleAfter is how long a message survives the keys pressed after it, saidFor how
// long it stands where none is pressed. An error stays until there is a key:
// nobody may have been there to see it.
const (
	staleAfter = 2 * time.Second
	saidFor    = 8 * time.Second
)

// say shows a message. It may hold foreign text.
func (m *Model) say(s string) { m.sayStyled("", s) }

func (m *Model) sayStyled(style paint.Style, s string) {
	m.status = statusLine{text: m.term.SanitiseN(s, 400), style: style, since: m.now(), gen: m.status.gen + 1}
	m.screen.bars()
}

// unsay takes the message away.
func (m *Model) unsay() {
	m.status = statusLine{gen: m.status.gen + 1}
	m.screen.bars()
}

// expire sets the end of a message. It is the one thing that happens to an
// explorer that is left alone, and happens once.
func (m *Model) expire() tea.Cmd {
	s := &m.status
	if s.text.Empty() || s.timed || s.stays {
		return nil
	}
	s.timed = true
	gen := s.gen
	return m.later(saidFor, func(m *Model) tea.Cmd {
		if m.status.gen == gen {
			m.unsay()
		}
		return nil
	})
}

// done says that a write succeeded.
func (m *Model) done(s string) { m.sayStyled(m.theme.Good, s) }

// refused says why something was not done.
func (m *Model) refused(s string) { m.sayStyled(m.theme.Warn, s) }

// warned says what became of the store by itself. Nobody may be there to see it.
func (m *Model) warned(s string) {
	m.sayStyled(m.theme.Warn, s)
	m.status.stays = true
}

// failed says what went wrong and what to do next.
func (m *Model) failed(what string, err error) {
	if err == nil || abandoned(err) {
		return
	}
	s := what + ": " + m.reason(err)
	switch {
	case errors.Is(err, store.ErrClosed):
	case m.replaced(err):
		s += " (" + m.keyFor("stores") + " does)"
	case errors.Is(err, store.ErrOutcomeUnknown):
		s += " (" + m.keyFor("reload") + " reads the store again)"
	default:
		s += " (" + m.keyFor("reload") + " tries again)"
	}
	m.sayStyled(m.theme.Error, s)
	m.status.stays = true
}

// fade takes a message away that was there long enough when a key is pressed.
func (m *Model) fade() {
	if !m.status.text.Empty() && m.now().Sub(m.status.since) >= staleAfter {
		m.unsay()
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

// told takes over what was counted by following the store.
func (c *countsState) told(m *Model, counts store.Counts) {
	c.req.stop()
	c.pace.end(m.now())
	c.err, c.counts, c.known = nil, counts, true
	m.screen.bars()
	m.nav.rev++
	m.queues.rev++
}

type countsRead struct {
	gen    int
	counts store.Counts
	err    error
}

func (r countsRead) apply(m *Model) tea.Cmd {
	c := &m.counts
	if !c.req.ends(r.gen) || abandoned(r.err) {
		return nil
	}
	again := c.pace.end(m.now())
	if r.err != nil {
		c.pace.failed()
		m.unread("cannot count the store", r.err, &c.err)
	} else {
		c.err, c.counts, c.known = nil, r.counts, true
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
	if n := of(c.counts); c.known && n >= 0 { // below 0: its table is missing
		return treeview.Grouped(n)
	}
	return "?"
}

// counted is a total with its noun.
func (c *countsState) counted(of func(store.Counts) int64, one, many string) string {
	if c.known && of(c.counts) == 1 {
		return "1 " + one
	}
	return c.total(of) + " " + many
}

// summed is how many executions there are.
func (c *countsState) summed() string {
	return countText(int(c.counts.Executions), "execution", "executions").String()
}

// summary is the executions by status, as the header says it. Words that are none
// of the engine's are counted together, so that the parts add up to the total.
func (c *countsState) summary() string {
	s, sep := c.summed(), ": "
	put := func(n int64, what string) {
		if n > 0 {
			s += sep + treeview.Grouped(n) + " " + what
			sep = ", "
		}
	}
	rest := c.counts.Executions - c.counts.Unreadable
	for _, word := range store.Statuses() {
		n := int64(0)
		for written, of := range c.counts.ByStatus {
			if written.Is(word) {
				n += of
			}
		}
		put(n, string(word))
		rest -= n
	}
	put(rest, "other")
	put(c.counts.Unreadable, "unreadable")
	return s
}

// clockText is a stored time as the screen shows it.
func (m *Model) clockText(seconds float64, digits int) term.Text {
	return m.term.Sanitise(when.Clock(seconds, m.now(), m.zone, digits))
}

// until is the distance from now to a stored time, in seconds.
func (m *Model) until(seconds float64) float64 { return seconds - when.Seconds(m.now()) }

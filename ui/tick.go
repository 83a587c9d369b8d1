package ui

import (
	"math"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/ui/when"
)

// tickState is the one timer that keeps relative times right.
type tickState struct {
	at  time.Time // when it fires; zero: there is none
	gen int
}

// maxTick is the longest wait for a text to change: days change unseen.
const maxTick = 12 * time.Hour

// keepTime sets the timer for the next moment at which a relative time on the
// screen reads differently. Between such moments nothing happens at all.
func (m *Model) keepTime() tea.Cmd {
	in := min(m.nav.nextChange(m), m.tree.nextChange(m), m.queues.nextChange(m))
	if math.IsInf(in, 1) {
		return nil
	}
	wait := min(max(time.Duration(in*float64(time.Second)), 50*time.Millisecond), maxTick)
	at := m.now().Add(wait)
	// A timer that is sooner stays: what it was set for may have come in this moment,
	// and nothing else would draw that.
	if !m.tick.at.IsZero() && at.After(m.tick.at.Add(-20*time.Millisecond)) {
		return nil
	}
	m.tick = tickState{at: at, gen: m.tick.gen + 1}
	gen := m.tick.gen
	return m.after(wait, func() tea.Msg { return timePassed(gen) })
}

type timePassed int

func (gen timePassed) apply(m *Model) tea.Cmd {
	if int(gen) == m.tick.gen {
		m.tick.at = time.Time{}
		m.nav.touch()
		m.tree.touch()
		m.queues.fleet.passed(m)
		m.queues.touch()
	}
	return nil
}

// sooner is the smaller of two waits, one of them that until a relative time
// reads differently.
func (m *Model) sooner(wait, epoch float64, fine bool) float64 {
	return min(wait, when.Change(m.until(epoch), fine))
}

package ui

import (
	"math"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/tracefeed"
	"treering/ui/when"
)

// liveState is whether changes by others are noticed.
type liveState struct {
	off  bool // the store does not tell
	lost time.Time
	err  error
}

// follow waits for news of the store. It is asked again after every answer, so
// that there is never more than one.
func (m *Model) follow() tea.Cmd {
	if m.poll == nil {
		return nil
	}
	ctx, poll := m.ctx, m.poll
	next := func() tea.Msg {
		u, err := poll.Next(ctx)
		if err != nil {
			return nil // the program ends
		}
		return storeNews(u)
	}
	if m.plain {
		return func() tea.Msg { return background{do: next} }
	}
	return next
}

// background is a command that is no work under way: it waits for something that may
// be long in coming, first for some time. A run that wants to know when it is done
// with what was asked for does not wait for it.
type background struct {
	wait time.Duration
	do   tea.Cmd
}

type storeNews tracefeed.Update

func (u storeNews) apply(m *Model) tea.Cmd {
	was := m.live
	m.live.err, m.live.lost = u.Err, time.Time{}
	if u.Err != nil {
		m.live.lost = u.Since
	}
	if m.live != was {
		m.screen.bars()
	}
	switch {
	case u.Err != nil:
		m.failed("cannot follow the store since "+u.Since.In(m.zone).Format("15:04:05"), u.Err)
	case !u.Since.IsZero():
		m.say("following the store again; it could not be read since " + u.Since.In(m.zone).Format("15:04:05"))
	}
	if !u.Changed && u.Since.IsZero() {
		return m.follow()
	}
	return tea.Batch(m.refresh(), m.follow())
}

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
		m.tick = tickState{gen: m.tick.gen + 1}
		return nil
	}
	wait := min(max(time.Duration(in*float64(time.Second)), 50*time.Millisecond), maxTick)
	at := m.now().Add(wait)
	if !m.tick.at.IsZero() && m.tick.at.After(m.now()) && m.tick.at.Sub(at).Abs() < 20*time.Millisecond {
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
		m.queues.touch()
	}
	return nil
}

// sooner is the smaller of two waits, one of them that until a relative time
// reads differently.
func (m *Model) sooner(wait, epoch float64, fine bool) float64 {
	return min(wait, when.Change(m.until(epoch), fine))
}

package ui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/ui/when"
)

func fireable(m *Model) string {
	if m.queues.tab != timersTab {
		return "only timers fire; " + m.keyFor("next-view") + " changes the queue"
	}
	t, ok := m.queues.timers.selected()
	switch {
	case !ok:
		return "no timer is selected"
	case t.Bad != nil:
		return "its row cannot be read"
	case m.until(t.FireAt) <= 0 && m.system.driver == nil:
		return "due since " + when.Clock(t.FireAt, m.now(), m.zone, 0) + ", waiting for a worker"
	}
	return ""
}

// openFire asks whether to make a timer due now. Whether it is the execution's
// time to live is looked up first.
func openFire(m *Model, _ string) tea.Cmd {
	t, _ := m.queues.timers.selected()
	ctx, es := m.ctx, m.es
	return func() tea.Msg {
		lifetime, err := isLifetime(ctx, es, t)
		return answerFunc(func(m *Model) tea.Cmd {
			switch {
			case m.dialog != nil || m.overlay != nil:
			case err != nil:
				m.failed("fire: cannot read "+t.ExecutionID, err)
			case lifetime:
				m.refused("fire: that timer is the execution's time to live, which is not to be fired")
			default:
				return askFire(m, t)
			}
			return nil
		})
	}
}

// isLifetime reports whether a timer is its execution's time to live: the engine
// arms it under a path of its own, for the moment of expires_at.
func isLifetime(ctx context.Context, es store.ExecutionStore, t store.Timer) (bool, error) {
	s, err := summaryOf(ctx, es, t.ExecutionID)
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		return false, err
	}
	expires, ok := s.ExpiresAt.Float64()
	return ok && expires == t.FireAt, nil
}

func askFire(m *Model, t store.Timer) tea.Cmd {
	now, zone, es, drv := m.clock, m.zone, m.es, m.system.driver
	d := &dialog{
		title: term.Lit("Fire a timer"), verb: "make it due now",
		target: []dialogRow{
			row("execution", t.ExecutionID), row("path", t.Path),
			row("armed for", when.Clock(t.FireAt, now(), zone, 3)+" ("+dueIn(m.until(t.FireAt))+")"),
		},
	}
	d.effect = func() []dialogRow {
		return []dialogRow{row("effect", "due now, for the worker that owns this store to sweep; nothing is delivered from here")}
	}
	d.command = func() string {
		return m.command("fire", []string{"--at", store.FormatFireAt(t.FireAt)}, t.ExecutionID, t.Path)
	}
	at := 0.0 // what it is armed for instead, once that was tried
	var read struct {
		ok    bool
		timer *store.Timer
		err   error
	}
	d.look = func(ctx context.Context) func() {
		found, err := timerOf(ctx, es, t.ExecutionID, t.Path)
		return func() {
			if read.err = err; err == nil {
				read.ok, read.timer = true, found
			}
		}
	}
	d.invalid = func() string {
		switch {
		case read.err != nil:
			return "the timer cannot be read: " + m.reason(read.err)
		case !read.ok:
			return "reading the timer…"
		}
		return ""
	}
	d.guard = func(m *Model) string {
		switch {
		case d.lost && read.ok && read.timer != nil && read.timer.FireAt == at:
			return ""
		case read.ok && read.timer == nil:
			return "the timer is gone: fired or cancelled"
		case read.ok && read.timer.FireAt != t.FireAt:
			return "moved to " + when.Clock(read.timer.FireAt, m.now(), m.zone, 0)
		case m.until(t.FireAt) <= 0 && drv == nil:
			return "it is due by itself now"
		}
		return ""
	}
	d.write = func() func(context.Context) outcome {
		if at == 0 {
			at = when.Seconds(now())
		}
		moment, lost := at, d.lost
		return func(ctx context.Context) outcome { return fire(ctx, es, t, moment, lost, now, zone) }
	}
	if drv != nil {
		d.bySystem(m, drv, t)
	}
	return m.ask(d)
}

// dueIn says how far off a timer is, in seconds.
func dueIn(until float64) string {
	if until <= 0 {
		return "overdue by " + when.Distance(-until, true)
	}
	return "in " + when.Distance(until, true)
}

// timerOf reads a timer; nil where there is none.
func timerOf(ctx context.Context, es store.ExecutionStore, id, path string) (found *store.Timer, err error) {
	err = store.All(func(req store.PageRequest) (store.Page[store.Timer], error) {
		return es.ListTimers(ctx, store.QueueFilter{ExecutionID: &id}, req)
	}, func(t store.Timer) error {
		if t.Path == path {
			found = &t
		}
		return nil
	})
	return found, err
}

// fire makes a timer due at a moment that has come, if it still is what it was. After
// a try whose answer was lost it may be armed for that moment already.
func fire(ctx context.Context, es store.ExecutionStore, t store.Timer, at float64, lost bool, now func() time.Time, zone *time.Location) outcome {
	lifetime, err := isLifetime(ctx, es, t)
	switch {
	case err != nil:
		return outcome{err: err}
	case lifetime:
		return outcome{moot: "that timer is the execution's time to live now, which is not to be fired"}
	case t.FireAt <= at:
		return outcome{moot: "due since " + when.Clock(t.FireAt, now(), zone, 0) + ", waiting for a worker"}
	}
	moved, err := es.RearmTimer(ctx, t.ExecutionID, t.Path, t.FireAt, at)
	done := "due now: " + t.Path + " of " + t.ExecutionID + "; its worker's next sweep fires it"
	switch {
	case err != nil:
		return outcome{err: err}
	case moved:
		return outcome{done: done}
	}
	found, err := timerOf(ctx, es, t.ExecutionID, t.Path)
	switch {
	case err != nil:
		return outcome{moot: "it was moved or cancelled meanwhile, nothing fired"}
	case found == nil && lost:
		return outcome{moot: "it is gone: the first try was taken and it fired, or somebody else fired or cancelled it"}
	case found == nil:
		return outcome{moot: "it is gone: fired or cancelled meanwhile, nothing fired"}
	case lost && found.FireAt == at:
		return outcome{done: done + " (the first try was taken)"}
	}
	return outcome{moot: "moved to " + when.Clock(found.FireAt, now(), zone, 0) + ", nothing fired"}
}

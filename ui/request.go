package ui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/tracefeed"
)

// answer is what a command brings back. It is applied on the program's
// goroutine.
type answer interface {
	apply(m *Model) tea.Cmd
}

// answerFunc is an answer made in place.
type answerFunc func(m *Model) tea.Cmd

func (f answerFunc) apply(m *Model) tea.Cmd { return f(m) }

// request is a read of which only the latest counts.
type request struct {
	gen    int
	cancel context.CancelFunc
}

// begin abandons the read before it and returns the context and the generation
// of a new one.
func (r *request) begin(parent context.Context) (context.Context, int) {
	r.stop()
	ctx, cancel := context.WithCancel(parent)
	r.cancel = cancel
	return ctx, r.gen
}

// stop abandons the read that is under way, if one is.
func (r *request) stop() {
	if r.cancel != nil {
		r.cancel()
		r.cancel = nil
	}
	r.gen++
}

// busy reports whether a read is under way.
func (r *request) busy() bool { return r.cancel != nil }

// ends reports whether gen is the read under way, which is over with that.
func (r *request) ends(gen int) bool {
	if gen != r.gen || r.cancel == nil {
		return false
	}
	r.cancel()
	r.cancel = nil
	return true
}

// abandoned reports whether an error only says that nobody waits any more.
func abandoned(err error) bool { return errors.Is(err, context.Canceled) }

// restFactor bounds what following a store costs: after a reading that took t,
// the next one of the same list waits at least restFactor times t.
const restFactor = 9

// pace keeps the re-reading of one list from using up a core where the list is
// long and the store changes all the time.
type pace struct {
	running bool
	again   bool // something changed while the reading ran, or while it rested
	waiting bool // a tick is under way
	began   time.Time
	cost    tracefeed.Cost
	ready   time.Time
}

// start asks whether to read now. Otherwise wait is after what time to ask
// again; 0 where that will come by itself.
func (p *pace) start(now time.Time) (ok bool, wait time.Duration) {
	if p.running || p.waiting {
		p.again = true
		return false, 0
	}
	if rest := p.ready.Sub(now); rest > 0 {
		p.waiting = true
		return false, rest
	}
	p.running, p.again, p.began = true, false, now
	return true, 0
}

// end notes that the reading is over, and reports whether another was asked for.
func (p *pace) end(now time.Time) bool {
	if p.running {
		p.ready = now.Add(restFactor * p.cost.Add(now.Sub(p.began)))
	}
	again := p.again
	p.running, p.again = false, false
	return again
}

// failed lets the next reading start at once: what took long was the waiting, and
// it costs nothing.
func (p *pace) failed() { p.ready = time.Time{} }

// rested notes that the wait is over.
func (p *pace) rested() { p.waiting = false }

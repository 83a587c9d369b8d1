package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/store/relay"
	"treering/ui/paint"
)

// Driver is a system that runs on the store that is open: an engine with its relay.
// With one attached the explorer acts through it, instead of writing to the store
// what somebody else is to find there. Its methods are called by several goroutines;
// those that take a context may take their time, and the others return soon, but for
// Pause, which waits until nothing moves.
type Driver interface {
	// Deliver delivers one outbox entry now, and removes it. It is [relay.ErrGone]
	// where somebody else was first, and [relay.ErrWaits] where the target does not
	// take it now. No effect means that there was nothing left to do.
	Deliver(ctx context.Context, seq int64) (effect bool, err error)
	// DeliverSpawn makes the child of one spawn now.
	DeliverSpawn(ctx context.Context, seq int64) (effect bool, err error)
	// Fire delivers the event of a timer now, whenever it is due.
	Fire(ctx context.Context, t store.Timer) (effect bool, err error)

	// StepOne moves the system by one commit, and reports whether there was anything
	// to do.
	StepOne(ctx context.Context) (moved bool, err error)
	Pause()
	Resume()
	Paused() bool
	// Rate is in commits a second; 0 is as fast as it can.
	Rate() float64
	SetRate(perSecond float64)

	// Kinds lists what NewExecution can begin.
	Kinds() []string
	NewExecution(ctx context.Context, kind string) (id string, err error)
	// Accepts lists the kinds of events that an execution takes in its active state.
	Accepts(ctx context.Context, id string) ([]string, error)
	// Send sends an execution an event of a kind.
	Send(ctx context.Context, id, kind string) error
}

// system is the driver that is attached, and what is known of it.
type system struct {
	driver Driver // nil: none
	paused bool
	rate   float64
	busy   bool // a step, a pause or a change of the rate is under way
}

func (s *system) attach(d Driver) {
	if s.driver = d; d != nil {
		s.paused, s.rate = d.Paused(), d.Rate()
	}
}

// word is what the header says of it.
func (s *system) word(t *paint.Theme) (term.Text, paint.Style) {
	switch {
	case s.paused:
		return term.Lit("paused"), t.Warn
	case s.rate <= 0:
		return term.Lit("running flat out"), t.Good
	}
	return term.Lit("running " + rateText(s.rate)), t.Good
}

func rateText(rate float64) string {
	if rate <= 0 {
		return "as fast as it can"
	}
	return strconv.FormatFloat(rate, 'f', -1, 64) + "/s"
}

// steer has the driver do something that changes how it runs.
func (m *Model) steer(do func(ctx context.Context, d Driver) (said string, err error)) tea.Cmd {
	s := &m.system
	if s.busy {
		return nil // the one before it is not done yet
	}
	s.busy = true
	ctx, d := m.ctx, s.driver
	return func() tea.Msg {
		said, err := do(ctx, d)
		paused, rate := d.Paused(), d.Rate()
		return answerFunc(func(m *Model) tea.Cmd {
			s := &m.system
			s.busy, s.paused, s.rate = false, paused, rate
			m.screen.bars()
			if err != nil {
				m.failed("the running system", err)
			} else {
				m.say(said)
			}
			return nil
		})
	}
}

func pausing(m *Model, _ string) tea.Cmd {
	stop := !m.system.paused
	one := m.keyFor("system-step")
	return m.steer(func(_ context.Context, d Driver) (string, error) {
		if stop {
			d.Pause()
			return "the system is paused; " + one + " steps it by one commit", nil
		}
		d.Resume()
		return "the system runs again, " + rateText(d.Rate()), nil
	})
}

func steppable(m *Model) string {
	if !m.system.paused {
		return "the system runs; " + m.keyFor("system-pause") + " pauses it"
	}
	return ""
}

func systemStep(m *Model, _ string) tea.Cmd {
	return m.steer(func(ctx context.Context, d Driver) (string, error) {
		moved, err := d.StepOne(ctx)
		if !moved {
			return "nothing is to be done now: all wait for timers", err
		}
		return "one commit further", err
	})
}

// rates are the speeds that the keys go through; the last is no bound.
var rates = [...]float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 0}

func changingRate(by int) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		now := m.system.rate
		i := slices.Index(rates[:], now)
		if i < 0 {
			// Between two of them: to the one beside it.
			if i = slices.IndexFunc(rates[:], func(r float64) bool { return r == 0 || r > now }); by > 0 {
				i--
			}
		}
		next := rates[min(max(i+by, 0), len(rates)-1)]
		return m.steer(func(_ context.Context, d Driver) (string, error) {
			d.SetRate(next)
			return "the system's speed: " + rateText(next), nil
		})
	}
}

// act has the driver write something that was chosen from a list, and logs it.
func (m *Model) act(title string, target []dialogRow, effect string, write func(ctx context.Context, d Driver) outcome) tea.Cmd {
	asked := &dialog{title: term.Lit(title), target: target,
		effect:  func() []dialogRow { return []dialogRow{row("effect", effect)} },
		command: func() string { return noCommand + "only the running system can do it" }}
	entry := m.writes.log.begin(m.now(), asked)
	ctx, d := m.ctx, m.system.driver
	return func() tea.Msg { return written{asked, entry, write(ctx, d)} }
}

// openNew lists what the system can begin.
func openNew(m *Model, _ string) tea.Cmd {
	kinds := m.system.driver.Kinds()
	m.pickFrom(&picker{
		title: term.Lit("A new execution"), prompt: "of what kind", empty: "the system runs no such kind",
		list: func(_ *Model, typed string) []pick {
			return kindPicks(kinds, typed, func(kind string) func(*Model) tea.Cmd {
				return func(m *Model) tea.Cmd {
					return m.act("New execution", []dialogRow{row("kind", kind)}, "PENDING, with its Start in the outbox", func(ctx context.Context, d Driver) outcome {
						id, err := d.NewExecution(ctx, kind)
						if err != nil {
							return outcome{err: err}
						}
						return outcome{done: "new: " + id, after: func(m *Model) tea.Cmd { return m.jump(id) }}
					})
				}
			})
		},
	}, "")
	return nil
}

func kindPicks(kinds []string, typed string, run func(kind string) func(*Model) tea.Cmd) []pick {
	var out []pick
	for _, kind := range ranked(kinds, typed, func(k string) []string { return []string{k} }) {
		out = append(out, pick{id: kind, text: term.Sanitise(kind), run: run(kind)})
	}
	return out
}

// carried says what an event would need to reach an execution.
func carried(m *Model) string {
	switch {
	case m.system.driver == nil && m.transport == nil:
		return "no running system is attached, as treering demo has one, and the store holds no transport of a fleet"
	case m.system.driver == nil && m.es == nil:
		return "this store holds no executions"
	}
	return ""
}

func sendable(m *Model) string {
	switch {
	case m.system.driver == nil && queueAimed(m) == "", m.system.driver != nil && m.member == "":
		return "no execution is selected"
	}
	return ""
}

// openSend asks the chart what the execution takes, and lists that. Where there is
// none it asks for an event for the transport.
func openSend(m *Model, key string) tea.Cmd {
	if m.system.driver == nil {
		return openPublish(m, key)
	}
	ctx, d, id := m.ctx, m.system.driver, m.member
	return func() tea.Msg {
		kinds, err := d.Accepts(ctx, id)
		return answerFunc(func(m *Model) tea.Cmd {
			switch {
			case m.dialog != nil || m.overlay != nil || m.member != id:
			case err != nil:
				m.refused("send an event: " + m.reason(err))
			case len(kinds) == 0:
				m.refused("send an event: " + id + " takes none any more")
			default:
				m.pickFrom(sendPicker(m, id, kinds), "")
			}
			return nil
		})
	}
}

func sendPicker(m *Model, id string, kinds []string) *picker {
	return &picker{
		title: term.Lit("An event for ").Plus(m.term.Sanitise(id)), prompt: "what its chart takes in its active state", empty: "its chart takes no such event there",
		list: func(_ *Model, typed string) []pick {
			return kindPicks(kinds, typed, func(kind string) func(*Model) tea.Cmd {
				return func(m *Model) tea.Cmd {
					return m.act("Send "+kind, []dialogRow{row("execution", id)}, "delivered at once", func(ctx context.Context, d Driver) outcome {
						if err := d.Send(ctx, id, kind); err != nil {
							return delivery(false, err, "")
						}
						return outcome{done: "sent " + kind + " to " + id}
					})
				}
			})
		},
	}
}

// delivery is what came of something handed to the driver.
func delivery(effect bool, err error, done string) outcome {
	switch {
	case errors.Is(err, relay.ErrGone):
		return outcome{moot: "somebody else was first; it is not there any more"}
	case errors.Is(err, relay.ErrWaits):
		return outcome{moot: "its target does not take it now: it is suspended, or still to be made; the entry stays"}
	case err != nil:
		return outcome{err: err}
	case !effect:
		return outcome{done: done + "; there was nothing left to do, and it was removed"}
	}
	return outcome{done: done}
}

func deliverable(m *Model) string {
	switch m.queues.tab {
	case outboxTab:
		if e, ok := m.queues.outbox.selected(); ok {
			if e.Bad != nil {
				return "its row cannot be read"
			}
			return ""
		}
	case spawnsTab:
		if e, ok := m.queues.spawns.selected(); ok {
			if e.Bad != nil {
				return "its row cannot be read"
			}
			return ""
		}
	case transportTab:
		return "the transport's workers deliver its messages"
	case timersTab:
		return "timers are not delivered; " + m.keyFor("fire") + " fires one"
	}
	return "no entry is selected"
}

// openDeliver asks whether to have the system deliver an entry now.
func openDeliver(m *Model, _ string) tea.Cmd {
	q, drv := &m.queues, m.system.driver
	d := &dialog{verb: "deliver it now"}
	var e queueEntry
	var effect string
	hand := drv.Deliver
	if q.tab == outboxTab {
		o, _ := q.outbox.selected()
		e = outboxEntry(m.es, o)
		to := "nobody"
		effect = "nobody is told; the entry is removed"
		if o.TargetID != nil {
			to = *o.TargetID
			effect = "the running system hands the event to " + to + " and removes the entry, in front of those before it"
		}
		d.title = term.Lit("Deliver outbox entry " + strconv.FormatInt(e.seq, 10))
		d.target = []dialogRow{row("entry", "outbox "+strconv.FormatInt(e.seq, 10)), row("event", o.Event.Kind+" "+o.Event.ID), row("to", to)}
	} else {
		s, _ := q.spawns.selected()
		e = spawnEntry(m.es, s)
		hand = drv.DeliverSpawn
		effect = "the running system makes the child and removes the entry"
		d.title = term.Lit("Deliver spawn " + strconv.FormatInt(e.seq, 10))
		d.target = []dialogRow{row("entry", "spawn "+strconv.FormatInt(e.seq, 10)), row("child", s.ChildID), row("parent", s.ParentID)}
	}
	d.effect = func() []dialogRow { return []dialogRow{row("effect", effect)} }
	d.command = func() string { return noCommand + "only the running system can do it" }
	d.aboutEntry(m, e)
	d.write = func() func(context.Context) outcome {
		return func(ctx context.Context) outcome {
			effect, err := hand(ctx, e.seq)
			return delivery(effect, err, fmt.Sprintf("delivered %s %d", e.queue, e.seq))
		}
	}
	return m.ask(d)
}

// bySystem makes the dialog about a timer one of the running system's.
func (d *dialog) bySystem(m *Model, drv Driver, t store.Timer) {
	d.verb = "deliver its event now"
	d.effect = func() []dialogRow {
		return []dialogRow{row("effect", "the running system delivers its Timeout to "+t.ExecutionID+" now, and removes the timer")}
	}
	d.command = func() string { return noCommand + "only the running system can do it" }
	d.write = func() func(context.Context) outcome {
		return func(ctx context.Context) outcome {
			lifetime, err := isLifetime(ctx, m.es, t)
			switch {
			case err != nil:
				return outcome{err: err}
			case lifetime:
				return outcome{moot: "that timer is the execution's time to live now, which is not to be fired"}
			}
			effect, err := drv.Fire(ctx, t)
			return delivery(effect, err, "fired "+t.Path+" of "+t.ExecutionID)
		}
	}
}

// watchSystem looks, now and then, at how the system runs: somebody else may hold
// its reins too.
func (m *Model) watchSystem() tea.Cmd {
	d := m.system.driver
	if d == nil {
		return nil
	}
	return m.later(time.Second, func(m *Model) tea.Cmd {
		if s := &m.system; !s.busy {
			if paused, rate := d.Paused(), d.Rate(); paused != s.paused || rate != s.rate {
				s.paused, s.rate = paused, rate
				m.screen.bars()
			}
		}
		return m.watchSystem()
	})
}

package ui

import (
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"

	"treering/store"
)

// ask looks up the executions that the entries on the screen name, those that
// were not looked up since the store changed.
func (q *queuesPane) ask(m *Model) tea.Cmd {
	if m.es == nil || q.lookup.busy() {
		return nil
	}
	type question struct{ target, event string }
	var open []question
	add := func(target, event string) {
		if key := target + "\x00" + event; !q.asked[key] {
			q.asked[key] = true
			open = append(open, question{target, event})
		}
	}
	switch q.tab {
	case outboxTab:
		for _, e := range q.outbox.visible() {
			if e.TargetID != nil {
				add(*e.TargetID, e.Event.ID)
			}
		}
	case spawnsTab:
		for _, e := range q.spawns.visible() {
			add(e.ChildID, "")
		}
	case timersTab:
		for _, e := range q.timers.visible() {
			add(e.ExecutionID, "")
		}
	case transportTab:
		for _, e := range q.transport.visible() {
			add(e.ID, headID(e))
		}
	}
	if len(open) == 0 {
		return nil
	}
	ctx, gen := q.lookup.begin(m.ctx)
	es := m.es
	return func() tea.Msg {
		out := aboutRead{gen: gen, about: make(map[string]string, len(open))}
		for _, o := range open {
			said, err := lookUp(ctx, es, o.target, o.event)
			if ctx.Err() != nil {
				break
			}
			if err != nil {
				out.err = err
			}
			out.about[o.target+"\x00"+o.event] = said
		}
		return out
	}
}

// lookUp is the status of an execution, with what became of an event to it.
func lookUp(ctx context.Context, es store.ExecutionStore, id, event string) (string, error) {
	s, err := summaryOf(ctx, es, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "missing", nil
	case err != nil:
		return "?", err
	}
	said := statusWord(s)
	if event != "" {
		done, err := es.IsProcessed(ctx, id, event)
		if err != nil {
			return said + ", processed or not is not known", err
		}
		if done {
			said += ", already processed"
		}
	}
	return said, nil
}

type aboutRead struct {
	gen   int
	about map[string]string
	err   error
}

func (r aboutRead) apply(m *Model) tea.Cmd {
	q := &m.queues
	if !q.lookup.ends(r.gen) {
		return nil
	}
	q.err = r.err
	changed := false
	for key, said := range r.about {
		changed = changed || q.about[key] != said
		q.about[key] = said
	}
	if changed {
		q.touch()
	}
	return nil
}

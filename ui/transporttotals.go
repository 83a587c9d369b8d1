package ui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
	"treering/ui/layout"
	"treering/ui/when"
)

// fleetState is what is known of the transport as a whole. It is counted while it is
// looked at; until something was seen in it, no more is asked than whether there is.
type fleetState struct {
	there bool // something was seen in it, or it could not be read
	asked bool // that was looked up at least once
	due   bool // nobody has looked whether there is something since the store changed
	probe request
	pace  pace // of that

	counts  store.TransportCounts
	known   bool
	stale   bool // the store changed since it was counted
	lapsed  bool // a lease ran out since it was listed
	at      float64
	err     error
	counted request
	rest    pace
}

// stirred notes that what is known may not be so any more.
func (f *fleetState) stirred() { f.due, f.stale = true, true }

// passed has list and totals read again where a lease that is on the screen ran out: a
// store that forgets it by itself need not tell, and what comes after it is the store's
// to say.
func (f *fleetState) passed(m *Model) {
	now := when.Seconds(m.now())
	for _, e := range m.queues.transport.visible() {
		if u := e.LockedUntil; u != nil && *u > f.at && *u <= now {
			f.stale, f.lapsed = true, true
		}
	}
}

// keepUp asks what the screen needs to know of the transport and what was not asked
// since the store changed.
func (f *fleetState) keepUp(m *Model) tea.Cmd {
	switch {
	case m.transport == nil:
		return nil
	case !f.there:
		return f.look(m)
	case f.stale && m.queues.tab == transportTab && (m.focus == layout.Queues || m.screen.layout.Shown(layout.Queues)):
		f.stale = false
		cmd := f.count(m)
		if f.lapsed {
			f.lapsed = false
			cmd = tea.Batch(cmd, m.queues.transport.load(m))
		}
		return cmd
	}
	return nil
}

// look finds out whether there is anything in the transport.
func (f *fleetState) look(m *Model) tea.Cmd {
	if !f.due {
		return nil
	}
	f.due = false
	ok, wait := f.pace.start(m.now())
	if !ok {
		return m.later(wait, func(*Model) tea.Cmd {
			f.pace.rested()
			f.due = true // the update that brings this asks
			return nil
		})
	}
	ctx, gen := f.probe.begin(m.ctx)
	of := m.transport
	return func() tea.Msg {
		found, err := holdsQueues(ctx, of)
		return answerFunc(func(m *Model) tea.Cmd {
			if !f.probe.ends(gen) || abandoned(err) {
				return nil
			}
			f.due = f.pace.end(m.now()) || f.due
			if found || err != nil { // what went wrong is said by the list
				f.there = true
				m.queues.rev++
			}
			f.asked = true
			m.queues.choose(m)
			return nil
		})
	}
}

// holdsQueues reports whether there is a queue in a transport. A page may be empty and
// yet not the last.
func holdsQueues(ctx context.Context, of store.Transport) (bool, error) {
	for n, req := 0, (store.PageRequest{Limit: 1}); n < pagesAtOnce; n++ {
		page, err := of.Queues(ctx, store.TransportFilter{}, req)
		if err != nil || len(page.Items) > 0 {
			return len(page.Items) > 0, err
		}
		if req.Cursor = page.Next; req.Cursor == "" {
			break
		}
	}
	return false, nil
}

func (f *fleetState) count(m *Model) tea.Cmd {
	ok, wait := f.rest.start(m.now())
	if !ok {
		return m.later(wait, func(m *Model) tea.Cmd {
			f.rest.rested()
			return f.count(m)
		})
	}
	f.at = when.Seconds(m.now())
	ctx, gen := f.counted.begin(m.ctx)
	of := m.transport
	return func() tea.Msg {
		counts, err := of.TransportCounts(ctx)
		return answerFunc(func(m *Model) tea.Cmd {
			if !f.counted.ends(gen) || abandoned(err) {
				return nil
			}
			again := f.rest.end(m.now())
			if err != nil {
				f.rest.failed()
				m.unread("cannot count the transport", err, &f.err)
			} else {
				f.err, f.counts, f.known = nil, counts, true
			}
			m.queues.rev++
			if again {
				return f.count(m)
			}
			return nil
		})
	}
}

// total says how much there is in all queues, in as many words as there is room for.
func (f *fleetState) total(room int) term.Text {
	if !f.known {
		return term.Text{}
	}
	c := f.counts
	said := countText(int(c.Messages), "message", "messages").String() + " in " + countText(int(c.Queues), "queue", "queues").String()
	long := "whole store: " + said
	for _, p := range []struct {
		n    int64
		what string
	}{{c.Leased, "leased"}, {c.Parked, "parked"}, {c.Expired, "expired"}, {c.Hidden, "hidden"}} {
		if p.n > 0 {
			long += ", " + treeview.Grouped(p.n) + " " + p.what
		}
	}
	for _, text := range []string{long, "whole store: " + said, said} {
		if t := term.Lit(text); t.Width() <= room {
			return t
		}
	}
	return term.Text{}
}

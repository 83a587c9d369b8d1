package ui

import (
	"context"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
)

func acknowledgeable(m *Model) string {
	switch m.queues.tab {
	case outboxTab:
		if _, ok := m.queues.outbox.selected(); ok {
			return ""
		}
	case spawnsTab:
		if _, ok := m.queues.spawns.selected(); ok {
			return ""
		}
	case transportTab:
		return "messages of the transport are its workers'; nothing is taken from here"
	case timersTab:
		return "timers are not acknowledged; " + m.keyFor("fire") + " makes one due"
	}
	return "no entry is selected"
}

// queueEntry is an entry of the outbox or of the spawns, as a dialog is about it.
type queueEntry struct {
	queue string // as the command names it
	seq   int64
	same  string // what tells the entry from another of that seq, in a store that was made anew
	ack   func(context.Context, int64) (bool, error)
	find  func(context.Context) (same string, there bool, err error)
}

// outboxEntry reads one entry of the outbox again. Entries are listed by seq, so
// nothing behind it is read.
func outboxEntry(es store.ExecutionStore, e store.OutboxEntry) queueEntry {
	same := func(e store.OutboxEntry) string { return deref(e.TargetID) + "\x00" + string(e.Raw) }
	return queueEntry{"outbox", e.Seq, same(e), es.AckOutbox, func(ctx context.Context) (string, bool, error) {
		found, there, err := entryOf(ctx, store.QueueFilter{ExecutionID: e.TargetID}, e.Seq, es.ListOutbox, func(e store.OutboxEntry) int64 { return e.Seq })
		return same(found), there, err
	}}
}

func spawnEntry(es store.ExecutionStore, e store.SpawnEntry) queueEntry {
	same := func(e store.SpawnEntry) string { return e.ParentID + "\x00" + e.ChildID }
	return queueEntry{"spawn", e.Seq, same(e), es.AckSpawn, func(ctx context.Context) (string, bool, error) {
		found, there, err := entryOf(ctx, store.QueueFilter{ExecutionID: &e.ParentID}, e.Seq, es.ListSpawns, func(e store.SpawnEntry) int64 { return e.Seq })
		return same(found), there, err
	}}
}

// entryOf finds one entry of a queue.
func entryOf[T any](ctx context.Context, f store.QueueFilter, seq int64,
	list func(context.Context, store.QueueFilter, store.PageRequest) (store.Page[T], error), seqOf func(T) int64,
) (found T, there bool, err error) {
	for req := (store.PageRequest{}); ; {
		page, err := list(ctx, f, req)
		if err != nil {
			return found, false, err
		}
		for _, e := range page.Items {
			switch at := seqOf(e); {
			case at == seq:
				return e, true, nil
			case at > seq:
				return found, false, nil
			}
		}
		if req.Cursor = page.Next; req.Cursor == "" {
			return found, false, nil
		}
	}
}

// openAcknowledge asks whether to remove a queue entry.
func openAcknowledge(m *Model, _ string) tea.Cmd {
	q := &m.queues
	d := &dialog{verb: "remove it"}
	var e queueEntry
	effect := "the entry is removed; the event is not delivered"
	if q.tab == outboxTab {
		o, _ := q.outbox.selected()
		e = outboxEntry(m.es, o)
		to := "nobody"
		if o.TargetID != nil {
			to = *o.TargetID
		}
		d.title = term.Lit("Acknowledge outbox entry " + strconv.FormatInt(e.seq, 10))
		event := row("event", o.Event.Kind+" "+o.Event.ID)
		if o.Bad != nil {
			event = row("event", "cannot be read: "+o.Bad.Error())
		}
		d.target = []dialogRow{row("entry", "outbox "+strconv.FormatInt(e.seq, 10)), event, row("to", to)}
	} else {
		s, _ := q.spawns.selected()
		e = spawnEntry(m.es, s)
		effect = "removed; nobody will make the child, and a parent that waits for it waits for ever"
		d.title = term.Lit("Acknowledge spawn " + strconv.FormatInt(e.seq, 10))
		d.target = []dialogRow{row("entry", "spawn "+strconv.FormatInt(e.seq, 10)), row("child", s.ChildID), row("parent", s.ParentID)}
	}
	d.effect = func() []dialogRow { return []dialogRow{row("effect", effect)} }
	d.command = func() string { return m.command("ack", nil, e.queue, strconv.FormatInt(e.seq, 10)) }
	d.aboutEntry(m, e)
	d.write = func() func(context.Context) outcome {
		lost := d.lost
		return func(ctx context.Context) outcome {
			removed, err := e.ack(ctx, e.seq)
			switch {
			case err != nil:
				return outcome{err: err}
			case !removed && lost:
				return outcome{done: e.queue + " " + strconv.FormatInt(e.seq, 10) + " is gone: the first try was taken, or somebody else acknowledged it"}
			case !removed:
				return outcome{moot: "acknowledged by someone else"}
			}
			return outcome{done: "acknowledged " + e.queue + " " + strconv.FormatInt(e.seq, 10)}
		}
	}
	return m.ask(d)
}

// aboutEntry has the dialog look at a queue entry, and disarms it where the entry is
// not what it was.
func (d *dialog) aboutEntry(m *Model, e queueEntry) {
	var found struct {
		known, there bool
		same         string
		err          error
	}
	d.look = func(ctx context.Context) func() {
		same, there, err := e.find(ctx)
		return func() {
			if found.err = err; err == nil {
				found.known, found.there, found.same = true, there, same
			}
		}
	}
	d.guard = func(*Model) string {
		switch {
		case found.known && !found.there:
			return "acknowledged by someone else"
		case found.known && found.same != e.same:
			return "another entry has that number now: the store was made anew"
		}
		return ""
	}
	d.invalid = func() string {
		switch {
		case found.err != nil:
			return "the entry cannot be read: " + m.reason(found.err)
		case !found.known:
			return "reading the entry…"
		}
		return ""
	}
}

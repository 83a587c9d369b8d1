package ui

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
)

// purgeable says why the execution cannot be removed; "" where it can: what has not
// ended is not for removal.
func purgeable(m *Model) string {
	s := &m.state
	switch {
	case m.member == "":
		return "no execution is selected"
	case !s.known:
		return "it is still being read"
	case errors.Is(s.err, store.ErrNotFound):
		return "it is not in the store"
	case s.err != nil:
		return "its row cannot be read"
	}
	return unfinished(s.summary.Status)
}

func unfinished(s store.Status) string {
	if s.Is(store.Done) || s.Is(store.Cancelled) {
		return ""
	}
	return "it is " + string(s) + "; only what is DONE or CANCELLED is removed"
}

// purgeTarget is what was found of the execution that is to be removed.
type purgeTarget struct {
	summary                store.Summary
	outbox, spawns, timers int
	children               []string // some of those that stay, without their parent
}

// lookAtPurge reads an execution and what goes with it.
func lookAtPurge(ctx context.Context, es store.ExecutionStore, id string) (p purgeTarget, err error) {
	if p.summary, _, err = store.Inspect(ctx, es, id); err != nil {
		return p, err
	}
	f := store.QueueFilter{ExecutionID: &id}
	err = errors.Join(
		store.All(func(req store.PageRequest) (store.Page[store.OutboxEntry], error) { return es.ListOutbox(ctx, f, req) },
			func(store.OutboxEntry) error { p.outbox++; return nil }),
		store.All(func(req store.PageRequest) (store.Page[store.SpawnEntry], error) { return es.ListSpawns(ctx, f, req) },
			func(store.SpawnEntry) error { p.spawns++; return nil }),
		store.All(func(req store.PageRequest) (store.Page[store.Timer], error) { return es.ListTimers(ctx, f, req) },
			func(store.Timer) error { p.timers++; return nil }),
	)
	if err != nil {
		return p, err
	}
	for req := (store.PageRequest{}); len(p.children) <= maxNamed; {
		page, err := es.ListExecutions(ctx, store.ExecutionFilter{ParentID: &id}, req)
		if err != nil {
			return p, err
		}
		for _, c := range page.Items {
			p.children = append(p.children, c.ID)
		}
		if req.Cursor = page.Next; req.Cursor == "" {
			break
		}
	}
	return p, nil
}

// openPurge asks whether to remove an execution that has ended.
func openPurge(m *Model, _ string) tea.Cmd {
	id, version, status, es := m.member, m.state.summary.Version, m.state.summary.Status, m.es
	var found struct {
		known bool
		gone  bool
		err   error
		purgeTarget
	}
	d := &dialog{
		title: term.Lit("Purge an execution"), verb: "remove it for good",
		target: []dialogRow{row("execution", id), row("version", strconv.FormatInt(version, 10)), row("status", string(status))},
	}
	d.look = func(ctx context.Context) func() {
		p, err := lookAtPurge(ctx, es, id)
		return func() {
			found.gone = errors.Is(err, store.ErrNotFound)
			if found.err = err; err == nil {
				found.known, found.purgeTarget = true, p
			}
		}
	}
	d.effect = func() []dialogRow {
		if !found.known {
			return []dialogRow{row("effect", "removed with all that is its own; nothing brings it back")}
		}
		rows := []dialogRow{row("effect", fmt.Sprintf("removed with its trace and marks, %s to it, %s by it and %s; nothing brings it back",
			countText(found.outbox, "outbox entry", "outbox entries"), countText(found.spawns, "spawn", "spawns"), countText(found.timers, "timer", "timers")))}
		if len(found.children) > 0 {
			stay := row("stay", "its children, without a parent: "+named(found.children))
			stay.style = m.theme.Warn
			rows = append(rows, stay)
		}
		return rows
	}
	d.command = func() string { return m.command("purge", []string{"--version", strconv.FormatInt(version, 10)}, id) }
	d.guard = func(*Model) string {
		switch {
		case found.gone:
			return "it is not in the store any more"
		case found.known && found.summary.Version != version:
			return fmt.Sprintf("it moved on: version %d is now %d, %s", version, found.summary.Version, found.summary.Status)
		case found.known:
			return unfinished(found.summary.Status)
		}
		return ""
	}
	d.invalid = func() string {
		switch {
		case found.err != nil:
			return "what is its own cannot be read: " + m.reason(found.err)
		case !found.known:
			return "reading what is its own…"
		}
		return ""
	}
	d.write = func() func(context.Context) outcome {
		lost := d.lost
		return func(ctx context.Context) outcome {
			purged, err := es.Purge(ctx, id, version)
			switch {
			case err != nil:
				return outcome{err: err}
			case purged:
				return outcome{done: "removed " + id + " with all that was its own"}
			}
			s, _, err := store.Inspect(ctx, es, id)
			switch {
			case errors.Is(err, store.ErrNotFound) && lost:
				return outcome{done: id + " is not there any more: the first try was taken, or somebody else removed it"}
			case errors.Is(err, store.ErrNotFound):
				return outcome{moot: "it was removed by someone else"}
			case err != nil:
				return outcome{moot: "it was changed or removed by someone else, nothing was written"}
			}
			return outcome{moot: fmt.Sprintf("changed by someone else: version %d now, nothing was written", s.Version)}
		}
	}
	return m.ask(d)
}

package ui

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
)

func controllable(cmd store.Command) func(*Model) string {
	return func(m *Model) string {
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
		if _, ok := cmd.Target(s.summary.Status); !ok {
			return "it is " + string(s.summary.Status)
		}
		return ""
	}
}

// controlling asks whether to change an execution's status.
func controlling(cmd store.Command) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		id, s := m.member, m.state.summary
		to, _ := cmd.Target(s.Status)
		version := s.Version
		d := &dialog{
			title: term.Lit(strings.ToUpper(string(cmd[:1])) + string(cmd[1:])), verb: string(cmd), confirm: "y",
			target: []dialogRow{row("execution", id), row("version", strconv.FormatInt(version, 10))},
		}
		d.effect = func() []dialogRow {
			return []dialogRow{row("effect", fmt.Sprintf("%s becomes %s, version %d; live descendants too; timers and queues stay", s.Status, to, version+1))}
		}
		d.command = func() string { return m.command(string(cmd), id) }
		d.guard = func(m *Model) string {
			now := &m.state
			switch {
			case m.member != id || !now.known:
				return ""
			case now.err != nil:
				return "it cannot be read any more: " + now.err.Error()
			case now.summary.Version != version:
				return fmt.Sprintf("it moved on: version %d is now %d, %s", version, now.summary.Version, now.summary.Status)
			}
			return ""
		}
		es, clock := m.es, m.clock
		d.run = func(ctx context.Context) outcome {
			report, err := store.Control(ctx, es, cmd, id, &version, clock())
			return controlled(cmd, id, report, err)
		}
		m.ask(d)
		return nil
	}
}

// controlled puts the report of a command into words.
func controlled(cmd store.Command, id string, report []store.Controlled, err error) outcome {
	var conflict *store.ConflictError
	var state *store.StateError
	switch {
	case errors.As(err, &conflict):
		if conflict.Found == nil {
			return outcome{moot: "it is not in the store any more, nothing was written"}
		}
		return outcome{moot: fmt.Sprintf("changed by someone else: version %d now, nothing was written", *conflict.Found)}
	case errors.As(err, &state):
		return outcome{moot: fmt.Sprintf("it is %s now, nothing was written", state.Status)}
	case errors.Is(err, store.ErrNotFound):
		return outcome{moot: "it is not in the store any more, nothing was written"}
	case err != nil:
		return outcome{err: err}
	}
	did := fmt.Sprintf("%s: %s is %s, version %d", cmd, id, report[0].To, report[0].Version)
	var failed []string
	for _, c := range report[1:] {
		if c.Err != nil {
			failed = append(failed, c.ID+" ("+c.Err.Error()+")")
		}
	}
	if ok := len(report) - 1 - len(failed); ok > 0 {
		did += fmt.Sprintf(", and %s", countText(ok, "descendant", "descendants"))
	}
	if len(failed) > 0 {
		return outcome{moot: did + "; not done: " + strings.Join(failed, ", ")}
	}
	return outcome{done: did}
}

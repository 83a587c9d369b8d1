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
			why := "it is " + string(s.summary.Status)
			if _, ends := store.Terminate.Target(s.summary.Status); cmd == store.CancelGently && ends {
				why += "; " + m.keyFor("terminate") + " terminates it"
			}
			return why
		}
		return ""
	}
}

// maxPlanned bounds how many executions are read to tell what a command reaches,
// maxNamed how many of them are named.
const (
	maxPlanned = 1000
	maxNamed   = 3
)

// controlDialog is what was found of the execution that a command is about, and
// of those that it reaches.
type controlDialog struct {
	known  bool
	err    error
	report []store.Controlled // what would be written, the execution named first
	more   bool               // there are more than were looked at
	first  string             // the descendants reached when the dialog opened
}

// controlling asks whether to change an execution's status.
func controlling(cmd store.Command) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		id, s := m.member, m.state.summary
		to, _ := cmd.Target(s.Status)
		version := s.Version
		c := new(controlDialog)
		d := &dialog{
			title: term.Lit(strings.ToUpper(string(cmd[:1])) + string(cmd[1:])), verb: string(cmd) + " it",
			target: []dialogRow{row("execution", id), row("version", strconv.FormatInt(version, 10))},
		}
		d.effect = func() []dialogRow {
			said := fmt.Sprintf("%s becomes %s, version %d; timers and queues stay", s.Status, to, version+1)
			if cmd != store.CancelGently {
				return append([]dialogRow{row("effect", said)}, c.reaches(to)...)
			}
			said = fmt.Sprintf("%s becomes %s, version %d, and a Cancel event to it goes to the outbox; its timers stay", s.Status, to, version+1)
			below, _ := cmd.Below().Target(store.Running)
			rows := append([]dialogRow{row("effect", said)}, c.reaches(below)...)
			wait := row("until", "somebody delivers that entry it takes no other event. An engine inside a program does at its next step; "+
				"a worker of harel's only after an event that itself emitted something. "+m.keyFor("terminate")+" ends it at once.")
			wait.style = m.theme.Warn
			return append(rows, wait)
		}
		d.command = func() string {
			return m.command(string(cmd), []string{"--version", strconv.FormatInt(version, 10)}, id)
		}
		es, clock := m.es, m.clock
		d.look = func(ctx context.Context) func() {
			report, more, err := store.Plan(ctx, es, cmd, id, maxPlanned)
			return func() { c.found(report, more, err) }
		}
		d.guard = func(*Model) string { return c.moved(version, s.Status) }
		d.invalid = func() string {
			switch {
			case c.err != nil:
				return "what it reaches cannot be read: " + m.reason(c.err)
			case !c.known:
				return "reading what it reaches…"
			}
			return ""
		}
		d.write = func() func(context.Context) outcome {
			now := clock()
			return func(ctx context.Context) outcome {
				report, err := store.Control(ctx, es, cmd, id, &version, now)
				return controlled(cmd, id, report, err)
			}
		}
		return m.ask(d)
	}
}

func (c *controlDialog) found(report []store.Controlled, more bool, err error) {
	if c.err = err; err != nil {
		return
	}
	c.report, c.more = report, more
	if !c.known {
		c.known, c.first = true, c.below()
	}
}

// below tells one set of descendants from another.
func (c *controlDialog) below() string {
	var b strings.Builder
	for _, d := range c.report[1:] {
		b.WriteString(strconv.Quote(d.ID))
	}
	return b.String()
}

// reaches says how many descendants a command reaches, and which.
func (c *controlDialog) reaches(to store.Status) []dialogRow {
	if !c.known {
		return nil
	}
	var live, bad []string
	for _, d := range c.report[1:] {
		if d.Err != nil {
			bad = append(bad, d.ID)
		} else {
			live = append(live, d.ID+" "+string(d.From))
		}
	}
	said := "no live descendant"
	if len(live) > 0 {
		verb := "become"
		if len(live) == 1 {
			verb = "becomes"
		}
		said = fmt.Sprintf("%s %s %s: %s", countText(len(live), "live descendant", "live descendants"), verb, to, named(live))
	}
	switch {
	case c.more && len(live) > 0:
		said = "at least " + said
	case c.more:
		said += fmt.Sprintf(" among the first %d executions", maxPlanned)
	}
	rows := []dialogRow{row("below it", said)}
	if len(bad) > 0 {
		rows = append(rows, row("not", countText(len(bad), "descendant", "descendants").String()+" that cannot be read: "+named(bad)))
	}
	return rows
}

// named lists a few, and says how many there are besides.
func named(ids []string) string {
	if rest := len(ids) - maxNamed; rest > 0 {
		return strings.Join(ids[:maxNamed], ", ") + fmt.Sprintf(", and %d more", rest)
	}
	return strings.Join(ids, ", ")
}

// moved says why an execution is not what the dialog was opened for.
func (c *controlDialog) moved(version int64, status store.Status) string {
	var bad *store.RowError
	switch {
	case errors.Is(c.err, store.ErrNotFound):
		return "it is not in the store any more"
	case errors.As(c.err, &bad):
		return "its row cannot be read any more: " + c.err.Error()
	case c.err != nil || !c.known:
		return "" // the store may be locked for a while; nothing is confirmed meanwhile
	case c.report[0].Version != version:
		return fmt.Sprintf("it moved on: version %d is now %d, %s", version, c.report[0].Version, c.report[0].From)
	case c.report[0].From != status:
		return "it is " + string(c.report[0].From) + " now"
	case c.below() != c.first:
		return "other descendants are live now than those that were named"
	}
	return ""
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
	if cmd == store.CancelGently {
		did += ", its Cancel in the outbox"
	}
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
		return outcome{partly: did + "; not done: " + strings.Join(failed, ", ")}
	}
	return outcome{done: did}
}

package ui

import (
	"context"
	"errors"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/ui/layout"
	"treering/ui/state"
)

// openPalette lists every intent to be found by a few letters of its name, those
// that were chosen last first.
func openPalette(m *Model, _ string) tea.Cmd { return m.palette("") }

// openGoto is the palette with the way to an id begun.
func openGoto(m *Model, _ string) tea.Cmd { return m.palette(gotoPrefix) }

// gotoPrefix begins an id to go to.
const gotoPrefix = "goto "

func (m *Model) palette(typed string) tea.Cmd {
	m.pickFrom(&picker{
		title: term.Lit("Commands"), prompt: "some letters of a command, or goto and an id",
		empty: "there is no such command",
		list:  palettePicks,
	}, typed)
	return nil
}

func palettePicks(m *Model, typed string) []pick {
	if id, ok := strings.CutPrefix(typed, gotoPrefix); ok {
		return []pick{m.gotoPick(id)}
	}
	all := make([]*intent, 0, len(m.keys.table))
	used := m.usedCommands()
	for i := range m.keys.table {
		all = append(all, &m.keys.table[i])
	}
	slices.SortStableFunc(all, func(a, b *intent) int { return m.paletteRank(a, used) - m.paletteRank(b, used) })
	var out []pick
	for _, it := range ranked(all, typed, func(it *intent) []string { return []string{it.ID, it.Short, it.Long} }) {
		out = append(out, pick{
			id: it.ID, key: term.Lit(it.ID), text: term.Lit(it.Long), tail: m.chordNames(m.keysOf(it)), note: m.hindrance(it),
			run: func(m *Model) tea.Cmd { return tea.Batch(m.invoke(it), m.useCommand(it.ID)) },
		})
	}
	if id := strings.TrimSpace(typed); id != "" {
		out = append(out, m.gotoPick(id))
	}
	return out
}

// paletteRank is where a command stands while nothing is typed: first those that
// were used last, then those that can be used here, elsewhere, not at all; moving
// is done by keys.
func (m *Model) paletteRank(it *intent, used []string) int {
	n := len(m.keys.table)
	switch i := slices.Index(used, it.ID); {
	case i >= 0:
		return i
	case len(it.Panes) == len(layout.Panes()):
		return n + 4
	case !it.appliesIn(m.focus):
		return n + 2
	case it.disabled(m) != "":
		return n + 3
	}
	return n + 1
}

// gotoPick leads to what has that id.
func (m *Model) gotoPick(id string) pick {
	text := term.Lit("the session, execution or node with the id ").Plus(m.term.SanitiseN(id, 200))
	if id == "" {
		text = term.Lit("type the id of a session, an execution, or a node of this session")
	}
	return pick{id: "\x00" + id, key: term.Lit("goto"), text: text, run: func(m *Model) tea.Cmd {
		if id == "" {
			return nil
		}
		return m.goTo(id)
	}}
}

// usedCommands are the intents that were chosen here, the latest first.
func (m *Model) usedCommands() []string { return m.memory.Commands() }

// useCommand notes that an intent was chosen.
func (m *Model) useCommand(id string) tea.Cmd {
	return m.remember(func(s *state.State) error { return s.UseCommand(id) })
}

// found is what an id led to.
type found struct {
	gen  int
	id   string
	what subject
	node string // a node of the session what
	err  error
}

// goTo goes to what has that id: a node of the session that is looked at, an
// execution, or a session.
func (m *Model) goTo(id string) tea.Cmd {
	ctx, gen := m.going.begin(m.ctx)
	es, ts, here := m.es, m.ts, m.subject
	m.say("looking for " + id)
	return func() tea.Msg {
		f := found{gen: gen, id: id}
		f.what, f.node, f.err = findID(ctx, es, ts, here, id)
		return f
	}
}

// findID looks an id up. Where nothing has it, what is nothing.
func findID(ctx context.Context, es store.ExecutionStore, ts store.TreeStore, here subject, id string) (what subject, node string, err error) {
	if ts != nil && here.kind == session {
		nodes, err := ts.Nodes(ctx, here.id, []string{id})
		switch {
		case err == nil && len(nodes) == 1 && nodes[0] != nil:
			return here, id, nil
		case err != nil && !unknownID(err):
			return subject{}, "", err
		}
	}
	if es != nil {
		switch _, _, err := store.Inspect(ctx, es, id); {
		case err == nil:
			return subject{execution, id}, "", nil
		case !unknownID(err):
			return subject{}, "", err
		}
	}
	if ts != nil {
		switch _, err := ts.Session(ctx, id); {
		case err == nil:
			return subject{session, id}, "", nil
		case !unknownID(err):
			return subject{}, "", err
		}
	}
	return subject{}, "", nil
}

// unknownID reports whether an error only says that nothing has an id, or that
// nothing can.
func unknownID(err error) bool {
	var value *store.ValueError
	return errors.Is(err, store.ErrNotFound) || errors.As(err, &value)
}

func (f found) apply(m *Model) tea.Cmd {
	if !m.going.ends(f.gen) || abandoned(f.err) {
		return nil
	}
	switch {
	case f.err != nil:
		m.failed("go to "+f.id, f.err)
	case f.node != "":
		m.unsay()
		m.detail.release()
		if m.subject != f.what { // it was left meanwhile
			return m.jumpToSession(f.what.id, f.node)
		}
		m.setFocus(layout.Tree)
		m.tree.want = f.node // where it is not read yet
		return m.tree.selectNode(m, f.node)
	case f.what.kind == execution:
		m.unsay()
		return m.jump(f.id)
	case f.what.kind == session:
		m.unsay()
		return m.jumpToSession(f.id, "")
	default:
		m.refused("no session, no execution and no node of this session has the id " + f.id)
	}
	return nil
}

// jumpToSession goes to a session, and to a node of it, from elsewhere.
func (m *Model) jumpToSession(id, node string) tea.Cmd {
	cmd, listed := m.nav.selectSession(m, id)
	if !listed {
		cmd = tea.Batch(cmd, m.show(subject{session, id}))
	}
	m.setFocus(layout.Tree)
	if node != "" {
		m.tree.want = node
	}
	return cmd
}

// selectSession moves the cursor to a session, if its list has it so far.
func (n *navigator) selectSession(m *Model, id string) (tea.Cmd, bool) {
	turned := n.setView(m, sessionsView)
	cmd, found := n.sessions.selectID(m, id)
	return tea.Batch(turned, cmd), found
}

package ui

import (
	"context"
	"errors"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/ui/field"
)

// nameStore keeps the explorer's own names of nodes. They are nothing of the store,
// which knows no branches.
type nameStore interface {
	// BranchNames are the nodes of a session by their names; it does no I/O.
	BranchNames(store, session string) map[string]string
	// SetBranchName gives a name to a node, taking it from another; "" forgets it.
	SetBranchName(store, session, name, node string) error
}

// branchNames are the names of the session that is looked at.
type branchNames struct {
	kept    nameStore
	key     string // of the store
	session string
	byName  map[string]string
	byNode  map[string][]string
}

func (b *branchNames) init(m *Model, kept nameStore) {
	b.kept, b.key = kept, m.storeKey()
}

// show makes the names those of a session; of anything else there are none.
func (b *branchNames) show(s subject) {
	b.session, b.byName, b.byNode = "", nil, map[string][]string{}
	if s.kind != session {
		return
	}
	b.session, b.byName = s.id, b.kept.BranchNames(b.key, s.id)
	for name, node := range b.byName {
		b.byNode[node] = append(b.byNode[node], name)
	}
	for _, names := range b.byNode {
		slices.Sort(names)
	}
}

// of are the names of a node of the session that is looked at.
func (b *branchNames) of(node string) []string { return b.byNode[node] }

// label is what a node's row says of its names.
func (b *branchNames) label(m *Model, node string) term.Text {
	names := b.byNode[node]
	if len(names) == 0 {
		return term.Text{}
	}
	parts := make([]term.Text, len(names))
	for i, n := range names {
		parts[i] = term.Lit("[").Plus(m.term.SanitiseN(n, 24), term.Lit("]"))
	}
	return term.Join(term.Spaces(1), parts...)
}

// set keeps a name, off the program's goroutine, and shows it at once.
func (b *branchNames) set(session, name, node string) tea.Cmd {
	kept, key := b.kept, b.key
	return func() tea.Msg {
		err := kept.SetBranchName(key, session, name, node)
		return answerFunc(func(m *Model) tea.Cmd {
			if err != nil {
				m.failed("the branch name is not kept", err)
			}
			m.renamed()
			return nil
		})
	}
}

// renamed shows the names that there are now.
func (m *Model) renamed() {
	m.writes.names.show(m.subject)
	m.tree.touch()
	m.trail.touch()
}

// nameable says why the node cannot be named; "" where it can.
func nameable(m *Model) string {
	if reason := sessionOnly(m); reason != "" {
		return reason
	}
	if _, ok := m.tree.selectedNode(); !ok {
		return "no node is selected"
	}
	return ""
}

func hasName(m *Model) string {
	if reason := nameable(m); reason != "" {
		return reason
	}
	if node, _ := m.tree.selectedNode(); len(m.writes.names.of(node)) == 0 {
		return "the node has no branch name"
	}
	return ""
}

// nodeTarget names a node of the session that is looked at.
func nodeTarget(m *Model, session, node string) []dialogRow {
	rows := []dialogRow{row("session", session), row("node", node)}
	if r, ok := m.tree.widget.Index().Find(node); ok {
		rows = append(rows, row("title", m.tree.widget.Index().Title(r)))
	}
	return rows
}

// openName asks for the name of a branch: the node's only one becomes another, else
// the node gets one more.
func openName(m *Model, _ string) tea.Cmd {
	session := m.subject.id
	node, _ := m.tree.selectedNode()
	names := &m.writes.names
	before := names.of(node)
	name := field.New("", store.MaxIDBytes)
	old := ""
	if len(before) == 1 {
		old = before[0]
		name.Set(old)
	}
	d := &dialog{title: term.Lit("Name a branch"), verb: "name it", target: nodeTarget(m, session, node)}
	if len(before) > 1 {
		d.target = append(d.target, row("named", strings.Join(before, ", ")))
	}
	d.fields = []*formField{{label: "name", input: name, suggest: func(typed string) string {
		for _, n := range sortedNames(names.byName) {
			if strings.HasPrefix(n, typed) {
				return n
			}
		}
		return ""
	}}}
	elsewhere := func() string {
		if at, ok := names.byName[name.Text()]; ok && at != node {
			return at
		}
		return ""
	}
	d.effect = func() []dialogRow {
		said := "the node gets the name; the store knows nothing of it"
		switch at := elsewhere(); {
		case at != "":
			said = "the name moves here from node " + at
		case old != "" && name.Text() != old:
			said = "renamed: " + old + " is no name any more"
		}
		return []dialogRow{row("effect", said), row("kept", "by this explorer, for this store and session; an append at the end of the branch takes it along")}
	}
	d.command = func() string { return "" }
	d.invalid = func() string {
		if err := store.CheckID("name", name.Text()); err != nil {
			return err.Error()
		}
		if name.Text() == old {
			return "that is its name"
		}
		return ""
	}
	d.look, d.guard = names.watch(m, session, node)
	d.write = func() func(context.Context) outcome {
		kept, key, to := names.kept, names.key, name.Text()
		return func(context.Context) outcome {
			err := kept.SetBranchName(key, session, to, node)
			if err == nil && old != "" {
				err = kept.SetBranchName(key, session, old, "")
			}
			if err != nil {
				return outcome{err: err}
			}
			return outcome{done: "branch " + to + " is " + node, after: func(m *Model) tea.Cmd { m.renamed(); return nil }}
		}
	}
	return m.ask(d)
}

// openUnname asks whether to forget a name of the node.
func openUnname(m *Model, _ string) tea.Cmd {
	session := m.subject.id
	node, _ := m.tree.selectedNode()
	names := &m.writes.names
	before := names.of(node)
	name := field.New(before[0], store.MaxIDBytes)
	d := &dialog{title: term.Lit("Remove a branch name"), verb: "remove the name", target: nodeTarget(m, session, node)}
	if len(before) > 1 {
		d.target = append(d.target, row("named", strings.Join(before, ", ")))
		d.fields = []*formField{{label: "name", input: name, suggest: func(typed string) string {
			for _, n := range before {
				if strings.HasPrefix(n, typed) {
					return n
				}
			}
			return ""
		}}}
	}
	d.effect = func() []dialogRow {
		return []dialogRow{row("effect", "the name "+name.Text()+" is forgotten; the node and its branch stay")}
	}
	d.command = func() string { return "" }
	d.invalid = func() string {
		if !slices.Contains(names.of(node), name.Text()) {
			return "the node has no name " + name.Text()
		}
		return ""
	}
	d.look, d.guard = names.watch(m, session, node)
	d.write = func() func(context.Context) outcome {
		kept, key, old := names.kept, names.key, name.Text()
		return func(context.Context) outcome {
			if err := kept.SetBranchName(key, session, old, ""); err != nil {
				return outcome{err: err}
			}
			return outcome{done: old + " names nothing any more", after: func(m *Model) tea.Cmd { m.renamed(); return nil }}
		}
	}
	return m.ask(d)
}

// watch reads again whether a node is there.
func (b *branchNames) watch(m *Model, session, node string) (look func(context.Context) func(), guard func(*Model) string) {
	ts, gone := m.ts, ""
	look = func(ctx context.Context) func() {
		got, err := ts.Nodes(ctx, session, []string{node})
		return func() {
			switch {
			case errors.Is(err, store.ErrNotFound):
				gone = "the session was deleted or has expired"
			case err == nil && len(got) == 1 && got[0] == nil:
				gone = "the node is not in the session any more"
			}
		}
	}
	return look, func(*Model) string { return gone }
}

func sortedNames(byName map[string]string) []string {
	out := make([]string, 0, len(byName))
	for n := range byName {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

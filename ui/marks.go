package ui

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/ui/layout"
)

// mark is what one of the two marks is on; the zero value is nothing. It stays on its
// id, whatever is shown.
type mark struct {
	kind    targetKind // ofNode, ofExecution or ofStep
	session string
	id      string
	step    int64
}

// marks are the two things that are compared.
type marks struct{ a, b mark }

// on are the marks on a row: of a session's node, or of an execution.
func (s *marks) on(of subject, id string) string {
	at := mark{kind: ofExecution, id: id}
	if of.kind == session {
		at = mark{kind: ofNode, session: of.id, id: id}
	}
	return s.of(at)
}

func (s *marks) of(at mark) string {
	out := ""
	if s.a == at {
		out = "A"
	}
	if s.b == at {
		out += "B"
	}
	return out
}

// label is how a row shows its marks.
func label(marks string) term.Text {
	if marks == "" {
		return term.Text{}
	}
	return term.Lit("<" + marks + ">")
}

// markable is what a mark would be put on: what is selected in the focused pane.
func (m *Model) markable() (at mark, why string) {
	switch m.focus {
	case layout.Trace:
		t := &m.trace
		if t.scroll.Cursor < len(t.steps) {
			return mark{kind: ofStep, id: t.of, step: t.steps[t.scroll.Cursor].Index}, ""
		}
		return mark{}, "no step is selected"
	case layout.Navigator:
		if s := m.nav.selected(); s.kind == execution {
			return mark{kind: ofExecution, id: s.id}, ""
		}
		if m.nav.selected().kind == nothing {
			return mark{}, "nothing is selected"
		}
		return mark{}, "sessions are not compared; their nodes are"
	case layout.Ancestry:
		if r, ok := m.trail.selected(); ok && m.trail.index.Known(r) {
			if id := m.trail.index.ID(r); m.subject.kind == session {
				return mark{kind: ofNode, session: m.subject.id, id: id}, ""
			} else if mb, ok := m.tree.members[id]; ok {
				return mark{kind: ofExecution, id: mb.summary.ID}, ""
			}
		}
	default: // what the tree's cursor is on
	}
	if m.subject.kind == session {
		if id, ok := m.tree.selectedNode(); ok {
			return mark{kind: ofNode, session: m.subject.id, id: id}, ""
		}
		return mark{}, "no node is selected"
	}
	if m.member != "" {
		return mark{kind: ofExecution, id: m.member}, ""
	}
	return mark{}, "nothing is selected"
}

func canMark(m *Model) string {
	_, why := m.markable()
	return why
}

func hasMarks(m *Model) string {
	if m.marks == (marks{}) {
		return "nothing is marked"
	}
	return ""
}

// marking puts a mark on what is selected, or takes it from there.
func marking(b bool) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		at, _ := m.markable()
		name, put := "A", &m.marks.a
		if b {
			name, put = "B", &m.marks.b
		}
		if *put == at {
			*put = mark{}
			m.say("mark " + name + " is taken away")
		} else {
			*put = at
			m.say("mark " + name + " is on " + at.name() + "; " + m.keyFor("compare") + " compares")
		}
		m.remarked()
		return nil
	}
}

func clearMarks(m *Model, _ string) tea.Cmd {
	m.marks = marks{}
	m.remarked()
	m.say("no marks")
	return nil
}

// remarked shows the marks that there are now.
func (m *Model) remarked() {
	w := m.tree.widget
	for letter, at := range map[rune]mark{'A': m.marks.a, 'B': m.marks.b} {
		id := ""
		if at.kind == ofNode && m.subject == (subject{session, at.session}) {
			id = at.id
		}
		if w.Mark(letter) != id {
			w.SetMark(letter, id) // it keeps its row out of folded runs
		}
	}
	m.tree.touch()
	m.trail.touch()
	m.trace.touch()
	m.nav.touch()
}

// name is what a mark is on, in a sentence.
func (at mark) name() string {
	switch at.kind {
	case ofNode:
		return "node " + at.id
	case ofStep:
		return "step " + strconv.FormatInt(at.step, 10) + " of " + at.id
	default:
		return "execution " + at.id
	}
}

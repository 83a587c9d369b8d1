package ui

import (
	tea "charm.land/bubbletea/v2"

	"treering/treeview"
	"treering/ui/layout"
)

// treeIntents move along the branches of the tree, and fold them.
func treeIntents() []intent {
	here := []layout.Pane{layout.Tree}
	compared := []layout.Pane{layout.Navigator, layout.Tree, layout.Ancestry, layout.Trace}
	both := []layout.Pane{layout.Tree, layout.Ancestry}
	return []intent{
		{ID: "mark-a", Keys: []string{"m"}, Panes: compared, Short: "mark A", Long: "mark one end of a comparison: a node, an execution, a step; again, take the mark away",
			why: canMark, do: marking(false)},
		{ID: "mark-b", Keys: []string{"M"}, Panes: compared, Short: "mark B", Long: "mark the other end; without it what is selected is the other end",
			why: canMark, do: marking(true)},
		{ID: "compare", Keys: []string{"c"}, Panes: compared, Short: "compare", Long: "what differs between A and B, or what is selected: common ancestor, steps side by side, data",
			why: comparable, do: openCompare},
		{ID: "clear-marks", Keys: []string{"u"}, Panes: compared, Short: "no marks", Long: "take both marks away", why: hasMarks, do: clearMarks},
		{ID: "export", Keys: []string{"e"}, Panes: []layout.Pane{layout.Navigator, layout.Tree, layout.Ancestry, layout.Detail, layout.Trace}, Short: "export", Foot: 9,
			Long: "write the session, a subtree of it, or the execution with its descendants to a file: JSON, Markdown, Mermaid, DOT, SVG", why: exportable, do: openExport},
		{ID: "next-sibling", Keys: []string{"'"}, Panes: both, Short: "next sibling", Long: "to the next branch of the same fork, from anywhere on a branch",
			why: planted, do: along(func(w *treeview.Widget) bool { return w.ToSibling(1) }, "no branch after this one")},
		{ID: "previous-sibling", Keys: []string{"\""}, Panes: both, Short: "sibling before", Long: "to the branch before of the same fork",
			why: planted, do: along(func(w *treeview.Widget) bool { return w.ToSibling(-1) }, "no branch before this one")},
		{ID: "next-fork", Keys: []string{"}"}, Panes: here, Short: "next fork", Long: "to the next node with several children",
			why: planted, do: along(func(w *treeview.Widget) bool { return w.NextFork(1) }, "no fork below")},
		{ID: "previous-fork", Keys: []string{"{"}, Panes: here, Short: "fork before", Long: "to the node before with several children",
			why: planted, do: along(func(w *treeview.Widget) bool { return w.NextFork(-1) }, "no fork above")},
		{ID: "next-head", Keys: []string{";"}, Panes: here, Short: "next head", Long: "to the next node without children",
			why: planted, do: along(func(w *treeview.Widget) bool { return w.NextHead(1) }, "no head below")},
		{ID: "previous-head", Keys: []string{","}, Panes: here, Short: "head before", Long: "to the node before without children",
			why: planted, do: along(func(w *treeview.Widget) bool { return w.NextHead(-1) }, "no head above")},
		{ID: "to-fork", Keys: []string{"^"}, Panes: both, Short: "its fork", Long: "to the fork that the selected node's branch leaves",
			why: planted, do: along((*treeview.Widget).ToFork, "nothing above it is a fork")},
		{ID: "to-newest", Keys: []string{"H"}, Panes: both, Short: "newest head", Long: "to the head whose id comes last: the newest where ids begin with the time",
			why: planted, do: toNewest},
		{ID: "fold-siblings", Keys: []string{"_"}, Panes: here, Short: "fold siblings", Long: "fold or unfold the node and the others on the same fork",
			why: planted, do: foldSiblings},
		{ID: "fold-level", Keys: []string{"-"}, Panes: here, Short: "a level less", Long: "fold everything by one level of branches; at first to the level of the selected node",
			why: planted, do: foldLevel(-1)},
		{ID: "unfold-level", Keys: []string{"="}, Panes: here, Short: "a level more", Long: "unfold everything by one level of branches",
			why: planted, do: foldLevel(1)},
		{ID: "unfold-all", Keys: []string{"*"}, Panes: here, Short: "unfold all", Long: "unfold everything, long runs too; again, fold long runs",
			why: planted, do: unfoldAll},
	}
}

// planted says why there is no tree to move in; "" where there is.
func planted(m *Model) string {
	if m.tree.widget.Flat().Len() == 0 {
		return "the tree has no rows"
	}
	return ""
}

// along moves the tree's cursor, or says why there is nowhere to go.
func along(move func(*treeview.Widget) bool, none string) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		m.detail.release()
		m.tree.want = ""
		if !move(m.tree.widget) {
			m.refused(none)
			return nil
		}
		m.tree.rev++
		return m.tree.landed(m)
	}
}

// toNewest goes to the head that came last.
func toNewest(m *Model, _ string) tea.Cmd {
	m.detail.release()
	t := &m.tree
	if t.of.kind == execution {
		return t.end(m)
	}
	r := t.widget.Index().LastHead()
	if r == 0 || !t.widget.SelectRef(r) {
		m.refused("the newest head is not among the rows: the filter leaves it out")
		return nil
	}
	t.touch()
	return t.landed(m)
}

// foldSiblings folds the node and its siblings, or unfolds them where it is folded.
func foldSiblings(m *Model, _ string) tea.Cmd {
	m.detail.release()
	w := m.tree.widget
	r, _ := w.Cursor()
	_, folded := w.Flat().Folded(r)
	if !w.FoldSiblings(!folded) {
		m.refused("nothing is below these")
		return nil
	}
	m.tree.touch()
	return m.tree.landed(m)
}

// foldLevel folds what is deeper than a level of branches.
func foldLevel(by int) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		m.detail.release()
		t := &m.tree
		if t.level < 0 {
			if by > 0 {
				m.refused("nothing is folded by levels")
				return nil
			}
			t.level = t.widget.Flat().Level(t.widget.Row()) + 1
		}
		t.level = max(t.level+by, 0)
		t.widget.FoldTo(t.level)
		m.say("folded below level " + treeview.Grouped(int64(t.level)) + "; " + m.keyFor("unfold-all") + " unfolds everything")
		t.touch()
		return t.landed(m)
	}
}

// unfoldAll unfolds everything; where everything is, it folds long runs again.
func unfoldAll(m *Model, _ string) tea.Cmd {
	m.detail.release()
	t := &m.tree
	rows := t.widget.Flat().Len()
	t.level = -1
	t.widget.UnfoldAll()
	if t.widget.Flat().Len() == rows {
		t.widget.ResetRuns()
		m.say("long runs are folded")
	} else {
		m.say("everything is unfolded")
	}
	t.touch()
	return t.landed(m)
}

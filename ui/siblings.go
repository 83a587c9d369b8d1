package ui

import (
	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/treeview"
)

// siblings are the branches of one fork: those beside the selected node or, from
// within a straight run, beside the branch that it is on. They are in the order of
// the tree's rows.
type siblings struct {
	fork    treeview.Ref // what they hang on; 0: they are roots
	branch  treeview.Ref // the one of them that the node is or is below; 0: there is no fork
	up      int          // edges from the node to it
	list    []treeview.Ref
	own     int // of the branch in list
	listed  bool
	version uint64 // of the rows then
	scroll  treeview.Scroll
}

// forkAbove looks among the nearest ancestors for one with several children, or for
// the place above several roots, and returns the child of it that leads here, how
// many edges up that is, and the fork.
func (t *trailPane) forkAbove() (branch treeview.Ref, up int, fork treeview.Ref) {
	for i, r := range t.refs {
		if p := t.index.Parent(r); (p != 0 || t.whole) && t.index.Forked(p) {
			return r, i, p
		}
	}
	return 0, 0, 0
}

// beside brings the siblings up to date. Listing them costs as much as there are, so
// it is done where they are shown.
func (t *trailPane) beside(m *Model, list bool) *siblings {
	t.sync(m, 0)
	s, w := &t.others, m.tree.widget
	was := s.branch
	if s.branch, s.up, s.fork = t.forkAbove(); s.branch != was {
		s.list, s.listed = nil, false
	}
	if s.branch == 0 || !list || s.listed && s.version == w.Version() {
		return s
	}
	at, row := s.branch, 0
	if s.scroll.Cursor < len(s.list) {
		at = s.list[s.scroll.Cursor] // it stays where somebody put it
	}
	s.list = s.list[:0]
	for r := range w.Flat().Children(s.fork) {
		if r == s.branch {
			s.own = len(s.list)
		}
		if r == at {
			row = len(s.list)
		}
		s.list = append(s.list, r)
	}
	if s.listed {
		s.scroll.Hold(row, len(s.list))
	} else {
		s.scroll.MoveTo(row, len(s.list))
	}
	s.listed, s.version = true, w.Version()
	return s
}

// count is how many siblings there are, for the title.
func (s *siblings) count(x *treeview.Index) term.Text {
	if s.branch == 0 {
		return term.Text{}
	}
	n := len(s.list)
	if !s.listed {
		n = x.CountChildren(s.fork, maxCounted)
	}
	text := treeview.Grouped(int64(n))
	if !s.listed && n == maxCounted {
		text += "+"
	}
	return term.Lit(text)
}

// turn changes between the ancestors and the siblings.
func (t *trailPane) turn(m *Model) tea.Cmd {
	t.aside = !t.aside
	t.touch()
	return nil
}

// shown are the list that is shown, and its window.
func (t *trailPane) shown() ([]treeview.Ref, *treeview.Scroll) {
	if t.aside {
		return t.others.list, &t.others.scroll
	}
	return t.refs, &t.scroll
}

// selected is the node under the pane's cursor.
func (t *trailPane) selected() (treeview.Ref, bool) {
	list, scroll := t.shown()
	if scroll.Cursor >= len(list) {
		return 0, false
	}
	return list[scroll.Cursor], true
}

// drawSiblings are the way to the fork, and what hangs on it.
func (t *trailPane) drawSiblings(m *Model, w, h int, focused bool) []string {
	s := t.beside(m, true)
	if s.branch == 0 {
		why := term.Lit("nothing above it is a fork: it has no siblings")
		if !t.whole {
			why = term.Lit("none of the nearest ").Plus(countText(len(t.refs)-1, "ancestor", "ancestors"), term.Lit(" is a fork; "+m.keyFor("to-fork")+" looks further"))
		}
		return paragraph(w, m.theme.Dim, why)
	}
	var out []string
	if s.fork == 0 {
		out = paragraph(w, m.theme.Dim, term.Lit("the roots of this tree"))[:1]
	} else {
		out = []string{t.crumbs(m, w, s.up+1)}
	}
	s.scroll.Height = max(h-1, 1)
	s.scroll.Clamp(len(s.list))
	for i := s.scroll.Top; i < min(s.scroll.Top+h-1, len(s.list)); i++ {
		out = append(out, t.row(m, s.list[i], i == s.own, w, lookOf(i == s.scroll.Cursor, focused)))
	}
	return out
}

package ui

import (
	"iter"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/treeview"
	"treering/ui/layout"
)

// wheelRows is how far a notch of the wheel goes.
const wheelRows = 3

// wheel scrolls what is under the pointer. A dialog takes no notice of the mouse.
func (m *Model) wheel(at tea.Mouse) tea.Cmd {
	rows := wheelRows
	switch at.Button {
	case tea.MouseWheelUp:
		rows = -rows
	case tea.MouseWheelDown:
	default:
		return nil
	}
	switch {
	case m.tooSmall() || !m.screen.fits:
		return nil
	case m.aid != nil:
		m.aid.wheel(m, rows)
		return nil
	case m.dialog != nil:
		return nil
	case m.overlay != nil:
		m.overlay.wheel(m, rows)
		return nil
	}
	p := m.screen.layout.At(at.X, at.Y)
	if p == layout.None {
		return nil
	}
	if p == layout.Detail {
		m.detail.view.Scroll(rows)
		m.detail.rev++
		return nil
	}
	list, _ := m.list(p)
	return list.move(m, rows)
}

// click focuses the pane under the pointer and selects the row there; on a fold's
// mark it folds, on the name of a list or a pane it shows that. It never does more
// than look.
func (m *Model) click(at tea.Mouse) tea.Cmd {
	switch {
	case at.Button != tea.MouseLeft || m.aid != nil || m.dialog != nil || m.tooSmall() || !m.screen.fits:
		return nil
	case m.overlay != nil:
		box, x, y, w := m.over()
		if at.X >= x && at.X < x+w && at.Y >= y && at.Y < y+len(box) {
			m.overlay.click(m, at.X-x, at.Y-y)
		}
		return nil
	}
	m.keys.pending = nil
	p := m.screen.layout.At(at.X, at.Y)
	if p == layout.None {
		return nil
	}
	rect := m.screen.layout.Rects[p]
	x, row := at.X-rect.X, at.Y-rect.Y
	line := term.Unstyled(m.screen.panes[p].lines[row])
	if row == 0 {
		if q := m.tabAt(p, line, x); q != layout.None {
			return m.focusOn(q)
		}
	}
	cmds := []tea.Cmd{m.focusOn(p)}
	switch {
	case row == 0 && p == layout.Navigator:
		for _, v := range m.nav.views {
			if under(line, x, navNames[v], 1) || under(line, x, navShortNames[v], 1) {
				cmds = append(cmds, m.nav.setView(m, v))
				break
			}
		}
	case row == 0 && p == layout.Ancestry:
		if under(line, x, "Siblings", 8) != m.trail.aside && (m.trail.aside == under(line, x, "Ancestry", 1)) {
			cmds = append(cmds, m.trail.turn(m))
		}
	case row == 1 && p == layout.Queues:
		for _, tab := range m.queues.tabs(m) {
			if under(line, x, queueNames[tab], 6) {
				cmds = append(cmds, m.queues.turnTo(m, tab))
			}
		}
	case p == layout.Trace && row > 0 && row == m.trace.head && m.trace.scrub.cells > 0:
		cmds = append(cmds, m.trace.scrub.click(m, x))
	case row > 0:
		cmds = append(cmds, m.clickRow(p, row-1, x, line))
	}
	return tea.Batch(cmds...)
}

// under reports whether a column is on a name in a line, or on the few cells after
// it that belong to it.
func under(line string, x int, name string, tail int) bool {
	i := strings.Index(line, name)
	if i < 0 {
		return false
	}
	from := term.StyledWidth(line[:i])
	return x >= from && x < from+len(name)+tail
}

// tabAt is the pane whose name is at a column of a title; none where that is the
// pane's own.
func (m *Model) tabAt(p layout.Pane, line string, x int) layout.Pane {
	for _, q := range m.screen.layout.Tabs {
		name := string(rune('0'+q)) + " " + tabNames[q]
		// What is shared stands behind the pane's own name, which a store may have given.
		i := strings.LastIndex(line, name)
		if q == p || i < 0 {
			continue
		}
		if from := term.StyledWidth(line[:i]); x >= from && x < from+len(name) {
			return q
		}
	}
	return layout.None
}

// firstRow is the number of the first row in a window on a tree.
func firstRow(visible iter.Seq2[int, treeview.Ref]) int {
	for i := range visible {
		return i
	}
	return 0
}

// list is what can be moved in a pane, and the height of its window.
func (m *Model) list(p layout.Pane) (mover, int) {
	switch p {
	case layout.Tree:
		m.detail.release()
		return &m.tree, m.tree.widget.Height()
	case layout.Ancestry:
		_, scroll := m.trail.shown()
		return &m.trail, scroll.Height
	case layout.Detail:
		return detailScroll{&m.detail}, m.detail.view.Height()
	case layout.Trace:
		return &m.trace, m.trace.scroll.Height
	case layout.Queues:
		return &m.queues, m.queues.height()
	default:
		m.detail.release()
		return &m.nav, m.nav.height()
	}
}

// rowsOf is where the rows of a pane's list are: the lines above them, the first
// one shown, the one with the cursor, and how many there are.
func (m *Model) rowsOf(p layout.Pane) (head, top, cursor, n int) {
	switch p {
	case layout.Navigator:
		head = m.nav.head
		switch m.nav.view {
		case sessionsView:
			s := m.nav.sessions.scroll
			return head, s.Top, s.Cursor, len(m.nav.sessions.items)
		case executionsView:
			s := m.nav.execs.scroll
			return head, s.Top, s.Cursor, len(m.nav.execs.items)
		}
		w := m.nav.families.widget
		return head, firstRow(w.Visible()), w.Row(), w.Flat().Len()
	case layout.Tree:
		head = m.tree.head
		w := m.tree.widget
		return head, firstRow(w.Visible()), w.Row(), w.Flat().Len()
	case layout.Ancestry:
		list, scroll := m.trail.shown()
		return 1, scroll.Top, scroll.Cursor, len(list)
	case layout.Trace:
		return m.trace.head, m.trace.scroll.Top, m.trace.scroll.Cursor, len(m.trace.steps)
	case layout.Queues:
		s := m.queues.scroll()
		n, _, _ = m.queues.length(m.queues.tab)
		return m.queues.head, s.Top, s.Cursor, n
	}
	return 0, 0, 0, 0
}

// clickRow selects the row at a line below the title.
func (m *Model) clickRow(p layout.Pane, y, x int, line string) tea.Cmd {
	if p == layout.Detail {
		m.detail.view.Click(y)
		m.detail.rev++
		return nil
	}
	head, top, cursor, n := m.rowsOf(p)
	row := top + y - head
	if y < head || row >= n {
		return nil
	}
	list, _ := m.list(p)
	cmd := list.move(m, row-cursor)
	if (p == layout.Tree || p == layout.Navigator && m.nav.view == familiesView) && m.foldMark(line, x) {
		return tea.Batch(cmd, folding(m, ""))
	}
	return cmd
}

// foldMark reports whether a column is on the mark of a row that folds: the first
// one in the line, since text after it may hold any character.
func (m *Model) foldMark(line string, x int) bool {
	marks := strings.TrimSpace(m.theme.Tree.Node) + strings.TrimSpace(m.theme.Tree.Fold)
	i := strings.IndexAny(line, marks)
	return i >= 0 && term.StyledWidth(line[:i]) == x
}

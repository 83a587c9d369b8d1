package ui

import (
	"iter"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/treeview"
	"treering/ui/paint"
)

// trailPane shows the way from the root to the node under the tree's cursor: as
// a breadcrumb, and as the history, the node itself first; or what is beside it.
type trailPane struct {
	node   treeview.Ref // whose trail it is
	index  *treeview.Index
	refs   []treeview.Ref // the nearest ancestors, node first; as many as were needed
	whole  bool           // refs ends with the root
	nodes  int            // how many nodes the tree had then
	scroll treeview.Scroll
	aside  bool // the siblings are shown, not the ancestors
	others siblings
	rev    int
}

// trailAhead is how many ancestors are followed where no more are asked for. A
// chain may be a million long; the cursor moves along it one by one.
const trailAhead = 2000

// maxCounted is how many children of a fork are counted while drawing it.
const maxCounted = 10_000

// touch notes that the tree or its cursor changed.
func (t *trailPane) touch() { t.rev++ }

func (t *trailPane) version() int { return t.rev }

// sync makes the trail that of the tree's cursor, with at least n ancestors.
func (t *trailPane) sync(m *Model, n int) {
	x := m.tree.widget.Index()
	r, _ := m.tree.widget.Cursor()
	if t.index != x {
		t.others = siblings{scroll: treeview.Scroll{Height: t.others.scroll.Height}}
	}
	if t.index != x || t.node != r {
		t.index, t.node, t.refs = x, r, nil
		t.scroll.Cursor, t.scroll.Top = 0, 0
	}
	if r == 0 {
		t.refs, t.whole = nil, true
		return
	}
	n = max(n, trailAhead)
	// What is above the last one may have come since: parents may come after children.
	if len(t.refs) > n || len(t.refs) > 0 && t.whole && t.nodes == x.Len() {
		return
	}
	t.nodes = x.Len()
	t.refs, t.whole = append(t.refs[:0], r), true
	for a := range x.Ancestors(r) {
		if len(t.refs) > n {
			t.whole = false
			break
		}
		t.refs = append(t.refs, a)
	}
	t.scroll.Clamp(len(t.refs))
}

func (t *trailPane) move(m *Model, rows int) tea.Cmd {
	if t.aside {
		s := t.beside(m, true)
		s.scroll.MoveTo(s.scroll.Cursor+rows, len(s.list))
		t.touch()
		return nil
	}
	t.sync(m, t.scroll.Cursor+rows+t.scroll.Height)
	t.scroll.MoveTo(t.scroll.Cursor+rows, len(t.refs))
	t.touch()
	return nil
}

func (t *trailPane) home(m *Model) tea.Cmd { return t.move(m, -m.tree.widget.Index().Size()) }

func (t *trailPane) end(m *Model) tea.Cmd { return t.move(m, m.tree.widget.Index().Len()) }

// open moves the tree's cursor to the node under this one.
func (t *trailPane) open(m *Model) tea.Cmd {
	r, ok := t.selected()
	if !ok {
		return nil
	}
	return m.tree.selectNode(m, t.index.ID(r))
}

func (t *trailPane) title(m *Model) (name, note term.Text) {
	t.sync(m, 0)
	s := t.beside(m, t.aside)
	other := term.Lit("Siblings")
	if n := s.count(t.index); !n.Empty() {
		other = other.Plus(term.Spaces(1), n)
	}
	if t.aside {
		name = term.Lit("Ancestry [").Plus(other, term.Lit("]"))
	} else {
		name = term.Lit("[Ancestry] ").Plus(other)
	}
	switch {
	case t.aside && s.branch != 0 && s.up > 0:
		note = term.Lit("of its branch, which began ").Plus(countText(s.up, "step", "steps"), term.Lit(" above"))
	case t.aside:
	case len(t.refs) == 0:
	case len(t.refs) == 1 && t.whole:
		note = term.Lit("the root")
	case t.whole:
		note = countText(len(t.refs)-1, "step from the root", "steps from the root")
	default:
		note = term.Lit("more than ").Plus(countText(len(t.refs)-1, "step", "steps"))
	}
	return name, note
}

func (t *trailPane) draw(m *Model, w, h int, focused bool) []string {
	t.scroll.Height = max(h-1, 1)
	t.sync(m, t.scroll.Top+h)
	if len(t.refs) == 0 {
		return paragraph(w, m.theme.Dim, term.Lit("no node is selected"))
	}
	if t.aside {
		return t.drawSiblings(m, w, h, focused)
	}
	out := []string{t.crumbs(m, w, 0)}
	for i := t.scroll.Top; i < min(t.scroll.Top+h-1, len(t.refs)); i++ {
		out = append(out, t.row(m, t.refs[i], i == 0, w, lookOf(i == t.scroll.Cursor, focused)))
	}
	return out
}

// crumbs is root > forks > here, the middle left out where it does not fit. Here is
// the node, or an ancestor so many edges up.
func (t *trailPane) crumbs(m *Model, w, up int) string {
	sep := term.Spaces(1).Plus(m.theme.Arrow, term.Spaces(1))
	node := t.refs[up]
	here := t.name(m, node)
	root := t.index.Root(node)
	if root == node {
		return paint.NewLine(w, "").Gap(1).Put(m.theme.Bold, here).String()
	}
	parts := []term.Text{t.name(m, root).Truncate(24, "…")}
	room := w - 1 - parts[0].Width() - 2*sep.Width() - here.Truncate(30, "…").Width()
	var forks []term.Text
	left := false
	for r := range t.forks(up) {
		name := t.name(m, r).Truncate(20, "…")
		if len(forks) == 4 || room < name.Width()+sep.Width()+4 {
			left = true
			break
		}
		room -= name.Width() + sep.Width()
		forks = append(forks, name)
	}
	if left || !t.whole {
		parts = append(parts, term.Lit("…"))
	}
	for i := len(forks) - 1; i >= 0; i-- {
		parts = append(parts, forks[i])
	}
	l := paint.NewLine(w, "").Gap(1)
	l.Plain(term.Join(sep, parts...)).Put(m.theme.Dim, sep)
	return l.Put(m.theme.Bold, here).String()
}

// forks yields the forked ancestors between the root and the one so many edges up,
// nearest first.
func (t *trailPane) forks(up int) iter.Seq[treeview.Ref] {
	return func(yield func(treeview.Ref) bool) {
		root := t.index.Root(t.node)
		for _, r := range t.refs[up+1:] {
			if r != root && t.index.Forked(r) && !yield(r) {
				return
			}
		}
	}
}

// name is what a node is called in a line of several.
func (t *trailPane) name(m *Model, r treeview.Ref) term.Text {
	x := t.index
	if mb, ok := m.tree.members[x.ID(r)]; ok {
		if mb.state {
			return m.theme.Here.Plus(term.Spaces(1), m.term.SanitiseN(*mb.summary.ActivePath, 60))
		}
		return m.term.SanitiseN(shortMember(x, r), 60)
	}
	if title := x.Title(r); x.Known(r) && title != "" {
		return m.term.SanitiseN(title, 60)
	}
	return m.term.SanitiseN(x.ID(r), 60)
}

// row is a node in either list; here marks the node itself, or the branch it is on.
func (t *trailPane) row(m *Model, r treeview.Ref, here bool, w int, look look) string {
	x := t.index
	l := rowStart(m, w, look)
	mark := m.theme.Tree.Node
	if here {
		mark = m.theme.Tree.Head
	}
	l.Put(m.theme.Dim, term.Lit(mark))
	var note term.Text
	switch {
	case !x.Known(r):
		note = x.Oddity(r, m.term)
	case x.Forked(r):
		n := countText(x.CountChildren(r, maxCounted), "child", "children")
		if x.CountChildren(r, maxCounted) == maxCounted {
			n = term.Lit("at least ").Plus(n)
		}
		note = term.Lit("  fork: ").Plus(n)
	}
	tags := m.tree.tags(m, r)
	if !tags.Empty() {
		tags = term.Spaces(2).Plus(tags)
	}
	// A name and marks stay whole; the title yields, then the note.
	title := t.name(m, r)
	if mb, ok := m.tree.members[x.ID(r)]; ok && !mb.state {
		status := statusText(m.term, mb.summary)
		l.Plain(title.Truncate(max(l.Left()-status.Width()-tags.Width()-2, minTitle), "…")).Gap(2)
		l.Put(m.theme.Status(mb.summary.Status), status)
	} else {
		if x.Known(r) && m.tree.of.kind == session {
			l.Put(m.theme.Info, m.term.SanitiseN(x.Kind(r), 14).Pad(kindColumn)).Gap(1)
			title = m.term.SanitiseN(x.TitleBesideKind(r), w)
		}
		l.Plain(title.Truncate(max(l.Left()-tags.Width()-note.Width(), minTitle), "…"))
	}
	return l.Put(m.theme.Bold, tags).Put(m.theme.Warn, note).String()
}

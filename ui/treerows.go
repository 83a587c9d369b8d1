package ui

import (
	"strings"

	"treering/internal/term"
	"treering/store/query"
	"treering/treeview"
	"treering/ui/layout"
	"treering/ui/when"
)

func (t *treePane) title(m *Model) (name, note term.Text) {
	x := t.widget.Index()
	switch t.of.kind {
	case session:
		nodes := countText(x.Len(), "node", "nodes")
		note = nodes.Plus(term.Lit(", "), countText(x.Heads(), "head", "heads"))
		rest := term.Text{}
		if t.loading {
			note = term.Lit(t.told.progress()).Plus(note)
		}
		if t.info != nil && t.info.ExpiresAt != nil {
			if left := m.until(*t.info.ExpiresAt); left > 0 {
				rest = term.Lit(", " + when.Distance(left, false) + " left")
			} else {
				rest = term.Lit(", expired")
			}
		}
		// The counts stay whole; the name yields, then the heads.
		room := m.screen.layout.Rects[layout.Tree].W - 4 - 4 - len("Tree . ")
		id := m.term.SanitiseN(t.of.id, 60)
		if note = note.Plus(rest); room-note.Width() < min(id.Width(), 6) {
			note = nodes.Plus(rest)
		}
		name = term.Lit("Tree ").Plus(m.theme.Dot, term.Spaces(1), id.TruncateMiddle(max(room-note.Width(), 6), "…"))
	case execution:
		top := t.of.id
		if r, ok := x.Find(top); ok {
			top = x.ID(x.Root(r))
		}
		name = term.Lit("Family ").Plus(m.theme.Dot, term.Spaces(1), m.term.SanitiseN(top, 60))
		n := 0
		for _, mb := range t.members {
			if !mb.state {
				n++
			}
		}
		if n > 0 {
			note = countText(n, "execution", "executions")
			if t.more {
				note = note.Plus(term.Lit(" read, there are more"))
			}
			if t.loading {
				note = note.Plus(term.Lit("…")) // the store is still searched for more
			}
		}
	default:
		name = term.Lit("Tree")
	}
	return name, note
}

func countText(n int, one, many string) term.Text {
	if n == 1 {
		return term.Lit("1 " + one)
	}
	return term.Lit(treeview.Grouped(int64(n)) + " " + many)
}

func (t *treePane) draw(m *Model, w, h int, focused bool) []string {
	out := t.filter.bar.lines(m, w, h, t.filter.note(m, t.widget.Index()))
	if t.gone && t.widget.Flat().Len() > 0 && len(out) < h {
		out = append(out, paragraph(w, m.theme.Warn, term.Lit("deleted or expired; this is what was read before"))[0])
	}
	t.head = len(out)
	t.widget.SetHeight(h - t.head)
	t.levels = max(min(treeview.DefaultLevels, w/5), 2)
	if t.widget.Flat().Len() == 0 {
		return append(out, t.emptyLines(m, w)...)
	}
	cursor, _ := t.widget.Cursor()
	for i, r := range t.widget.Visible() {
		look := lookOf(r == cursor, focused)
		line, ok := t.cache.get(i, look, w)
		if !ok {
			draw := t.nodeRow
			if t.of.kind == execution {
				draw = t.memberRow
			}
			line = t.cache.put(i, look, w, draw(m, i, r, w, look))
		}
		out = append(out, line)
	}
	return out
}

func (t *treePane) emptyLines(m *Model, w int) []string {
	switch {
	case t.err != nil:
		return m.unreadLines(w, t.err)
	case t.filter.drawn && t.filter.done && t.widget.Index().Len() > 0:
		return paragraph(w, m.theme.Dim, term.Lit("nothing here matches"), term.Lit("esc clears the filter"))
	case t.gone:
		return paragraph(w, m.theme.Warn, term.Lit("not in the store any more: deleted or expired"))
	case t.of.kind == nothing:
		return paragraph(w, m.theme.Dim, term.Lit("nothing is selected"))
	case t.loading:
		return paragraph(w, m.theme.Dim, term.Lit("reading…"))
	case t.of.kind == session:
		return paragraph(w, m.theme.Dim, term.Lit("the tree is empty"), term.Lit("a appends its root"))
	}
	return nil
}

// kindColumn is where titles begin behind a node's mark; minTitle is what a title
// keeps beside a note, and minBranches the least of a number of branches that is worth showing.
const (
	kindColumn  = 7
	minTitle    = 12
	minBranches = 6
)

func (t *treePane) nodeRow(m *Model, i int, r treeview.Ref, w int, look look) string {
	x, flat := t.widget.Index(), t.widget.Flat()
	l := rowStart(m, w, look)
	l.Put(m.theme.Dim, flat.Gutter(i, m.theme.Tree, t.levels))
	if steps := flat.RunText(i, m.theme.Tree); !steps.Empty() {
		return l.Put(m.theme.Dim, steps).String()
	}
	if !x.Known(r) {
		return l.Plain(m.term.SanitiseN(x.ID(r), w)).Put(m.theme.Warn, flat.Note(i, m.theme.Tree, m.term)).String()
	}
	kind := m.term.SanitiseN(x.Kind(r), 14).Pad(kindColumn)
	l.Put(m.theme.Info, kind).Gap(1)
	// What a fold hides and what is odd about a node is said first, the title has
	// the rest.
	note, names := flat.Note(i, m.theme.Tree, m.term), t.tags(m, r)
	if x.Forked(r) && l.Left() >= minTitle+minBranches { // the lanes tell it as well
		note = term.Spaces(2).Plus(branches(x, r), note)
	}
	if t.told.flag(r, outlineFailed) && !strings.HasPrefix(x.Title(r), "! ") {
		l.Put(m.theme.Error, term.Lit("! "))
	}
	room := l.Left() - note.Width()
	if !names.Empty() {
		room -= names.Width() + 2
	}
	title := m.term.SanitiseN(x.TitleBesideKind(r), w).Truncate(max(room, minTitle), "…")
	if found := t.marking(look); found == nil && look != selected && t.told.flag(r, outlineQuiet) {
		l.Put(m.theme.Dim, title)
	} else {
		putFound(l, found, m.theme.Match, title)
	}
	if !names.Empty() {
		l.Gap(2).Put(m.theme.Bold, names)
	}
	return l.Put(m.theme.Dim, note).String()
}

// tags are what is said of a node wherever it is listed: labels and branch names, and
// the marks on it.
func (t *treePane) tags(m *Model, r treeview.Ref) term.Text {
	var parts []term.Text
	for _, text := range []term.Text{t.told.names(m, r), label(m.marks.on(t.of, t.widget.Index().ID(r)))} {
		if !text.Empty() {
			parts = append(parts, text)
		}
	}
	return term.Join(term.Spaces(1), parts...)
}

// marking is the matcher whose words stand out in rows; none does in the selected one,
// which is of one piece.
func (t *treePane) marking(look look) *query.Matcher {
	if look == selected || t.filter.bar.query == nil {
		return nil
	}
	return t.filter.match
}

// maxBranches is how many branches of a fork are counted in its row.
const maxBranches = 1000

// branches says how many branches begin at a fork.
func branches(x *treeview.Index, r treeview.Ref) term.Text {
	n := x.CountBranches(r, maxBranches+1)
	if n > maxBranches {
		return term.Lit("over ").Plus(countText(maxBranches, "branch", "branches"))
	}
	return countText(n, "branch", "branches")
}

package treeview

import (
	"iter"
	"strings"

	"treering/internal/term"
)

// Glyphs are the pieces that trees are drawn from.
type Glyphs struct {
	Lane, Gap   string // an outer lane that goes on; one that has ended
	Tee, Corner string // a child with siblings below it; the last one
	Deeper      string // levels further out are not drawn
	Node, Head  string // marks before a node; before one without children
	Fold        string // before a folded one
	Missing     string // before a parent that is not there
	Cycle       string // before a node that closes a cycle
}

// Unicode returns the usual glyphs.
func Unicode() Glyphs {
	return Glyphs{
		Lane: "│ ", Gap: "  ", Tee: "├─", Corner: "└─", Deeper: "… ",
		Node: "○ ", Head: "● ", Fold: "▸ ", Missing: "? ", Cycle: "↻ ",
	}
}

// ASCII returns glyphs for terminals and fonts that have no others.
func ASCII() Glyphs {
	return Glyphs{
		Lane: "| ", Gap: "  ", Tee: "|-", Corner: "`-", Deeper: "< ",
		Node: "o ", Head: "* ", Fold: "+ ", Missing: "? ", Cycle: "@ ",
	}
}

// DefaultLevels is how many levels of indent are drawn. Nodes further in keep
// the innermost ones, behind [Glyphs.Deeper].
const DefaultLevels = 12

// Gutter returns what stands before the text of row i: lanes, connector and
// mark, two cells each. levels bounds the indent, from 1 to 64.
func (f *Flat) Gutter(i int, g Glyphs, levels int) term.Text {
	r := f.rows[i]
	levels = min(max(levels, 1), 64)
	drawn := int(r.level())
	var b strings.Builder
	if drawn > levels {
		b.WriteString(g.Deeper)
		drawn = levels
	}
	for k := drawn - 1; k >= 1; k-- {
		b.WriteString(pick(r.lanes>>k&1 == 1, g.Lane, g.Gap))
	}
	if drawn > 0 {
		more := r.lanes&1 == 1
		if r.connects() {
			b.WriteString(pick(more, g.Tee, g.Corner))
		} else {
			b.WriteString(pick(more, g.Lane, g.Gap))
		}
	}
	b.WriteString(f.mark(r, g))
	return term.Lit(b.String())
}

// mark is what stands right before a node's text. Families have none where
// there is nothing to say.
func (f *Flat) mark(r row, g Glyphs) string {
	n := Ref(r.node)
	switch {
	case f.folds.has(r.node):
		return g.Fold
	case f.x.flags[n]&cyclic != 0:
		return g.Cycle
	case !f.x.Known(n):
		return g.Missing
	case f.shape == Nested:
		return ""
	case f.x.Leaf(n):
		return g.Head
	}
	return g.Node
}

func pick(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// Line is one drawn row.
type Line struct {
	Ref    Ref
	Gutter term.Text
	Text   term.Text
}

// DrawOptions say how [Flat.Lines] draws. The zero value draws in Unicode.
type DrawOptions struct {
	ASCII  bool
	Levels int // 0 means [DefaultLevels]
	// Label makes the text of a node; nil means [Index.Label].
	Label func(Ref) term.Text
}

// Lines yields all rows, drawn.
func (f *Flat) Lines(o DrawOptions) iter.Seq[Line] {
	g := Unicode()
	if o.ASCII {
		g = ASCII()
	}
	if o.Levels == 0 {
		o.Levels = DefaultLevels
	}
	if o.Label == nil {
		o.Label = f.x.Label
	}
	return func(yield func(Line) bool) {
		for i := range f.rows {
			r := f.At(i)
			text := o.Label(r).Plus(f.Note(r))
			if !yield(Line{Ref: r, Gutter: f.Gutter(i, g, o.Levels), Text: text}) {
				return
			}
		}
	}
}

// kindWidth is the column that kinds are padded to, so that titles line up.
const kindWidth = 7

// Label is the text of a node: its kind and its title; for a parent that never
// came its id.
func (x *Index) Label(r Ref) term.Text {
	if !x.Known(r) {
		return term.SanitiseN(x.ID(r), MaxTitle)
	}
	return term.SanitiseN(x.Kind(r), 2*kindWidth).Pad(kindWidth).Plus(term.Spaces(1), term.Sanitise(x.Title(r)))
}

// Note is what is to be said of a row besides its label, with a blank before it:
// what a fold hides, a parent that is missing, a cycle that is cut here.
func (f *Flat) Note(r Ref) term.Text {
	var note term.Text
	if hidden, ok := f.Folded(r); ok {
		note = note.Plus(term.Lit("  … "), counted(hidden, "step"))
	}
	if !f.x.Known(r) {
		if f.x.partial {
			note = note.Plus(term.Lit("  (not read yet)"))
		} else {
			note = note.Plus(term.Lit("  (not in the store)"))
		}
	}
	if named, ok := f.x.Cyclic(r); ok {
		note = note.Plus(term.Lit("  (cycle: its parent is "), term.SanitiseN(f.x.ID(named), 40), term.Lit(", below it)"))
	}
	return note
}

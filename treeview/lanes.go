package treeview

import (
	"iter"
	"strconv"
	"strings"

	"treering/internal/term"
)

// Glyphs are the pieces that trees are drawn from, two cells each but for the
// last two.
type Glyphs struct {
	Lane, Gap         string // an outer lane that goes on; one that has ended
	Tee, Corner       string // a child with siblings below it; the last one
	FarTee, FarCorner string // the same, over ancestors that are left out
	Node, Head        string // marks before a node; before one without children
	Active            string // before the active one
	Fold              string // before a folded one
	Run               string // before a folded run
	Missing           string // before a parent that is not there
	Cycle             string // before a node that closes a cycle
	More, Elided      string // before numbers: of what a fold hides; of what is left out
}

// Unicode returns the usual glyphs.
func Unicode() Glyphs {
	return Glyphs{
		Lane: "│ ", Gap: "  ", Tee: "├─", Corner: "└─", FarTee: "├╌", FarCorner: "└╌",
		Node: "○ ", Head: "● ", Active: "◉ ", Fold: "▸ ", Run: "┆ ", Missing: "? ", Cycle: "↻ ", More: "… ", Elided: "~ ",
	}
}

// ASCII returns glyphs for terminals and fonts that have no others.
func ASCII() Glyphs {
	return Glyphs{
		Lane: "| ", Gap: "  ", Tee: "|-", Corner: "`-", FarTee: "|~", FarCorner: "`~",
		Node: "o ", Head: "* ", Active: "@ ", Fold: "+ ", Run: ": ", Missing: "? ", Cycle: "% ", More: "... ", Elided: "~ ",
	}
}

// DefaultLevels is how many levels of indent are drawn. Nodes further in keep
// the innermost ones, behind the number of those that are not drawn.
const DefaultLevels = 12

// Gutter returns what stands before the text of row i: lanes, connector and
// mark, two cells each. levels bounds the indent, from 1 to 32; where there are
// more, "+12 " stands in their place.
func (f *Flat) Gutter(i int, g Glyphs, levels int) term.Text {
	r := &f.rows[i]
	levels = min(max(levels, 1), maxLanes)
	drawn := r.level()
	var b strings.Builder
	if drawn > levels {
		b.WriteString(levelMark(drawn - levels))
		drawn = levels
	}
	for k := drawn - 1; k >= 1; k-- {
		b.WriteString(pick(r.lanes>>k&1 == 1, g.Lane, g.Gap))
	}
	if drawn > 0 {
		more, far := r.lanes&1 == 1, f.Elided(i) > 0
		switch {
		case r.bits&connects == 0:
			b.WriteString(pick(more, g.Lane, g.Gap))
		case far:
			b.WriteString(pick(more, g.FarTee, g.FarCorner))
		default:
			b.WriteString(pick(more, g.Tee, g.Corner))
		}
	}
	b.WriteString(f.mark(r, g))
	return term.Lit(b.String())
}

// levelMark says in four cells how many levels are not drawn, in more where they
// are a hundred thousand.
func levelMark(n int) string {
	s := "+" + strconv.Itoa(n)
	if n > 999 {
		s = "+" + strconv.Itoa(n/1000) + "k"
	}
	return s + strings.Repeat(" ", max(4-len(s), 0))
}

// mark is what stands right before a node's text. Families have none where
// there is nothing to say.
func (f *Flat) mark(r *row, g Glyphs) string {
	n := Ref(r.node)
	switch {
	case r.bits&run != 0:
		return g.Run
	case f.folds.Has(n):
		return g.Fold
	case f.x.flags[n]&cyclic != 0:
		return g.Cycle
	case !f.x.Known(n):
		return g.Missing
	case n == f.active:
		return g.Active
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
	Term   term.Profile
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
		o.Label = func(r Ref) term.Text { return f.x.Label(r, o.Term) }
	}
	return func(yield func(Line) bool) {
		for i := range f.rows {
			r := f.At(i)
			text := f.RunText(i, g)
			if text.Empty() {
				text = o.Label(r).Plus(f.Note(i, g, o.Term))
			}
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
func (x *Index) Label(r Ref, p term.Profile) term.Text {
	if !x.Known(r) {
		return p.SanitiseN(x.ID(r), MaxTitle)
	}
	return x.kindText(r, p).Plus(p.Sanitise(x.TitleBesideKind(r)))
}

// LabelWithID is a node's label with its whole id behind it, in place of the title
// where a node has none but that. Of a parent that is missing it is the id.
func (x *Index) LabelWithID(r Ref, p term.Profile) term.Text {
	id := p.Sanitise(x.ID(r))
	switch {
	case !x.Known(r):
		return x.Label(r, p)
	case (Entry{ID: x.ID(r), Kind: x.Kind(r), Title: x.Title(r)}).Untitled():
		return x.kindText(r, p).Plus(id)
	}
	return x.Label(r, p).Plus(term.Spaces(2), id)
}

// kindText is the column of a node's kind.
func (x *Index) kindText(r Ref, p term.Profile) term.Text {
	return p.SanitiseN(x.Kind(r), 2*kindWidth).Pad(kindWidth).Plus(term.Spaces(1))
}

// RunText is the text of a folded run's row, how many steps it stands for; the
// empty text for other rows.
func (f *Flat) RunText(i int, g Glyphs) term.Text {
	steps := f.Steps(i)
	if steps == 0 {
		return term.Text{}
	}
	return term.Lit(g.More).Plus(counted(steps, "step"))
}

// Note is what is to be said of row i besides its label, with two blanks before
// each: how many ancestors are left out above it, what a fold hides, and what is
// wrong with its node.
func (f *Flat) Note(i int, g Glyphs, p term.Profile) term.Text {
	var note term.Text
	if n := f.Elided(i); n > 0 {
		note = note.Plus(term.Lit("  "+g.Elided), term.Lit(Grouped(int64(n))+" elided"))
	}
	r := f.At(i)
	if f.Steps(i) > 0 {
		return note
	}
	if hidden, ok := f.Folded(r); ok {
		note = note.Plus(term.Lit("  "+g.More), counted(hidden, "step"))
	}
	note = note.Plus(f.x.Oddity(r, p))
	if f.shape == Runs && f.x.ExtraRoot(r) {
		note = note.Plus(term.Lit("  (another root)"))
	}
	return note
}

// Oddity says, after two blanks, what is wrong with a node: a parent that is
// missing, a cycle that is cut here, entries that contradict each other. It is
// empty for most.
func (x *Index) Oddity(r Ref, p term.Profile) term.Text {
	var note term.Text
	if !x.Known(r) {
		if x.partial {
			note = note.Plus(term.Lit("  (not read yet)"))
		} else {
			note = note.Plus(term.Lit("  (not in the store)"))
		}
	}
	if named, ok := x.Cyclic(r); ok {
		note = note.Plus(term.Lit("  (cycle: its parent is "), p.SanitiseN(x.ID(named), 40), term.Lit(", below it)"))
	}
	if n := x.Contradictions(r); n > 0 {
		note = note.Plus(term.Lit("  (has "), counted(n, "more parent"), term.Lit(")"))
	}
	return note
}

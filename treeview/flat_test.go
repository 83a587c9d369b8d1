package treeview

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"treering/internal/term"
)

// picture draws a tree with ids for labels.
func picture(f *Flat, o DrawOptions) string {
	o.Label = func(r Ref) term.Text { return term.Sanitise(f.x.ID(r)) }
	var b strings.Builder
	for line := range f.Lines(o) {
		b.WriteString(strings.TrimRight(line.Gutter.String()+line.Text.String(), " ") + "\n")
	}
	return b.String()
}

func TestFlatPictures(t *testing.T) {
	for _, c := range []struct {
		name, words string
		shape       Shape
		ascii       bool
		levels      int
		fold        string
		want        string
	}{
		{name: "a straight run does not indent", words: "a b<a c<b", want: `
○ a
○ b
● c
`},
		{name: "indent grows at branch points", words: "a b<a c<b d<b e<d f<b g<f", want: `
○ a
○ b
├─● c
├─○ d
│ ● e
└─○ f
  ● g
`},
		{name: "nested forks keep their lanes", words: "a b<a c<a d<b e<b f<d g<d", ascii: true, want: "" +
			"\no a\n|-o b\n| |-o d\n| | |-* f\n| | `-* g\n| `-* e\n`-* c\n"},
		{name: "several roots and what is wrong with a tree", words: "r s q<p x<y y<x", want: `
● r
● s  (another root)
↻ y  (cycle: its parent is x, below it)
● x
? p  (not in the store)
● q
`},
		{name: "a fold says what it hides", words: "a b<a c<b d<b e<d", fold: "b", want: `
○ a
▸ b  … 3 steps
`},
		{name: "a fold of one", words: "a b<a", fold: "a", want: "\n▸ a  … 1 step\n"},
		{name: "families indent every generation", words: "o f<o p<f b<f q<p", shape: Nested, want: `
o
└─f
  ├─b
  └─p
    └─q
`},
		{name: "deep levels keep the innermost lanes", words: "a b<a b2<a c<b c2<b d<c d2<c", levels: 2, want: `
○ a
├─○ b
│ ├─○ c
+1  │ ├─● d
+1  │ └─● d2
│ └─● c2
└─● b2
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := NewFlat(grow(t, ByID, c.words), c.shape)
			if c.fold != "" {
				r, _ := f.x.Find(c.fold)
				f.SetFolded(r, true)
				f.Rebuild()
			}
			got := "\n" + picture(f, DrawOptions{ASCII: c.ascii, Levels: c.levels})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunAndFilterPictures(t *testing.T) {
	const words = "a b<a c<b d<c e<d f<e g<f h<g i<h x<d y<x z<y q<z"
	for _, c := range []struct {
		name  string
		set   func(f *Flat, node func(string) Ref)
		ascii bool
		want  string
	}{
		{name: "long runs are one row", set: func(f *Flat, _ func(string) Ref) { f.SetRuns(3) }, want: `
○ a
○ b
○ c
○ d
├─○ e
│ ┆ … 3 steps
│ ● i
└─○ x
  ○ y
  ○ z
  ● q
`},
		{name: "what is pinned or active is in none, and short rests stay", set: func(f *Flat, node func(string) Ref) {
			f.SetRuns(2)
			f.Pin(node("g"))
			f.SetActive(node("z"))
		}, ascii: true, want: "\no a\n: ... 2 steps\no d\n|-o x\n| o y\n| @ z\n| * q\n`-o e\n  o f\n  o g\n  o h\n  * i\n"},
		{name: "the active path comes first", set: func(f *Flat, node func(string) Ref) {
			f.SetRuns(2)
			f.SetActive(node("q"))
		}, want: `
○ a
┆ … 2 steps
○ d
├─○ x
│ ┆ … 2 steps
│ ◉ q
└─○ e
  ┆ … 3 steps
  ● i
`},
		{name: "matches hang on their nearest ancestors", set: func(f *Flat, node func(string) Ref) {
			var s Set
			for _, id := range []string{"b", "e", "i", "z"} {
				s.Add(node(id))
			}
			f.SetFilter(s, Elided)
		}, want: `
○ b  ~ 1 elided
├╌○ e  ~ 2 elided
│ ● i  ~ 3 elided
└╌○ z  ~ 4 elided
`},
		{name: "or on all of them", set: func(f *Flat, node func(string) Ref) {
			var s Set
			for _, id := range []string{"b", "e", "i", "z"} {
				s.Add(node(id))
			}
			f.SetFilter(s, Shown)
			f.SetRuns(2)
		}, want: `
○ a
○ b
○ c
○ d
├─○ e
│ ┆ … 3 steps
│ ● i
└─○ x
  ○ y
  ○ z
`},
		{name: "a fold that is left out hides nothing", set: func(f *Flat, node func(string) Ref) {
			f.SetFolded(node("d"), true)
			var s Set
			s.Add(node("q"))
			f.SetFilter(s, Elided)
		}, ascii: true, want: "\n* q  ~ 7 elided\n"},
		{name: "a fold counts matches", set: func(f *Flat, node func(string) Ref) {
			f.SetFolded(node("d"), true)
			var s Set
			for _, id := range []string{"d", "q", "i"} {
				s.Add(node(id))
			}
			f.SetFilter(s, Elided)
		}, want: "\n▸ d  ~ 3 elided  … 2 steps\n"},
		{name: "nothing matches", set: func(f *Flat, _ func(string) Ref) { f.SetFilter(nil, Shown) }, want: "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := NewFlat(grow(t, ByID, words), Runs)
			c.set(f, func(id string) Ref {
				r, ok := f.x.Find(id)
				if !ok {
					t.Fatalf("%s is not there", id)
				}
				return r
			})
			f.Rebuild()
			if diff := cmp.Diff(c.want, "\n"+picture(f, DrawOptions{ASCII: c.ascii})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			f.ClearFilter()
			f.SetRuns(0)
			f.SetActive(0)
			f.FoldTo(-1)
			f.Rebuild()
			if diff := cmp.Diff(picture(NewFlat(f.x, Runs), DrawOptions{}), picture(f, DrawOptions{})); diff != "" {
				t.Errorf("undone (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPartialTreesSaySo(t *testing.T) {
	x := grow(t, ByID, "b<a")
	x.SetPartial(true)
	f := NewFlat(x, Runs)
	if got, want := picture(f, DrawOptions{}), "? a  (not read yet)\n● b\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFlatRowsFollowTheFolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := New(ByID)
		for _, e := range entries(t) {
			x.Add(e)
		}
		f := NewFlat(x, rapid.SampledFrom([]Shape{Runs, Nested}).Draw(t, "shape"))
		open := picture(f, DrawOptions{})
		var nodes []Ref
		for r := range x.Walk() {
			nodes = append(nodes, r)
		}
		folded := map[Ref]bool{}
		for range rapid.IntRange(0, 8).Draw(t, "folds") {
			if len(nodes) == 0 {
				break
			}
			r := rapid.SampledFrom(nodes).Draw(t, "fold")
			if f.SetFolded(r, true) {
				folded[r] = true
			}
		}
		f.Rebuild()
		// What is below a fold is hidden, everything else is there, in walking order.
		var want []Ref
		hidden := map[Ref]int{}
		for r := range x.Walk() {
			top := Ref(0)
			for p := range x.Ancestors(r) {
				if folded[p] {
					top = p
				}
			}
			if top == 0 {
				want = append(want, r)
				continue
			}
			hidden[top]++
			if row, ok := f.RowOf(r); !ok || f.At(row) != top || f.Visible(r) {
				t.Fatalf("hidden %s does not lead to the fold %s", x.ID(r), x.ID(top))
			}
		}
		var got []Ref
		for i := range f.Len() {
			got = append(got, f.At(i))
			if row, ok := f.RowOf(f.At(i)); !ok || row != i {
				t.Fatalf("row of row %d is %d", i, row)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		for r, n := range hidden {
			if has, ok := f.Folded(r); !ok || has != n {
				t.Fatalf("fold %s hides %d, says %d", x.ID(r), n, has)
			}
		}
		for r := range folded {
			f.SetFolded(r, false)
		}
		f.Rebuild()
		if diff := cmp.Diff(open, picture(f, DrawOptions{})); diff != "" {
			t.Fatalf("unfolding all does not undo the folds:\n%s", diff)
		}
	})
}

func TestGuttersAreTwoCellsALevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := New(ByID)
		for _, e := range entries(t) {
			x.Add(e)
		}
		levels := rapid.IntRange(1, 5).Draw(t, "levels")
		for _, g := range []Glyphs{Unicode(), ASCII()} {
			f := NewFlat(x, Runs)
			for i := range f.Len() {
				level := f.Level(i)
				want := 2*min(level, levels) + 2
				if level > levels {
					want += 4
				}
				if got := f.Gutter(i, g, levels).Width(); got != want {
					t.Fatalf("gutter of row %d at level %d is %d wide, want %d", i, level, got, want)
				}
			}
		}
	})
}

// Forks in forks stay readable: what is drawn is bounded, the rest is a number.
func TestSixtyNestedForksInEightyColumns(t *testing.T) {
	x := New(ByID)
	var parent *string
	for i := range 60 {
		id := fmt.Sprintf("a%03d", i)
		x.Add(Entry{ID: id, Parent: parent})
		if parent != nil {
			x.Add(Entry{ID: "z" + id, Parent: parent})
		}
		parent = &id
	}
	f := NewFlat(x, Runs)
	deepest, _ := x.Find("a059")
	row, _ := f.RowOf(deepest)
	if got, want := f.Gutter(row, Unicode(), 3).String(), "+56 │ │ ├─● "; got != want {
		t.Errorf("gutter %q, want %q", got, want)
	}
	if got, want := f.Gutter(row, ASCII(), 3).String(), "+56 | | |-* "; got != want {
		t.Errorf("gutter %q, want %q", got, want)
	}
	for i := range f.Len() {
		if got := f.Gutter(i, Unicode(), DefaultLevels).Width(); got > 4+2*DefaultLevels+2 {
			t.Errorf("gutter of row %d is %d wide", i, got)
		}
	}
	if got := f.Gutter(row, Unicode(), 1000).Width(); got != 4+2*maxLanes+2 {
		t.Errorf("gutter of as many levels as there are is %d wide", got)
	}
	for n, want := range map[int]string{1: "+1  ", 12: "+12 ", 999: "+999", 1000: "+1k ", 99_999: "+99k", 123_456: "+123k"} {
		if got := levelMark(n); got != want {
			t.Errorf("mark of %d levels is %q, want %q", n, got, want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		if got := Grouped(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// A glyph of a node is one character and a gap, so that titles stand below each other and apart
// from it; no two say different things.
func TestGlyphsOfNodes(t *testing.T) {
	for name, g := range map[string]Glyphs{"Unicode": Unicode(), "ASCII": ASCII()} {
		seen := map[string]bool{}
		for _, glyph := range []string{g.Node, g.Head, g.Active, g.Fold, g.Run, g.Missing, g.Cycle, g.Elided} {
			if r := []rune(glyph); len(r) != 2 || r[1] != ' ' || seen[glyph] {
				t.Errorf("%s: %q", name, glyph)
			}
			seen[glyph] = true
		}
	}
}

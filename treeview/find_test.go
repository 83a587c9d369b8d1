package treeview

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestWidgetGoesAlongTheTree(t *testing.T) {
	// a - b - c - d - e        rows: a b c d e
	//      \     \ f                 f
	//       g - h - i                g h i
	//             \ j                j
	w := NewWidget(grow(t, ByID, "a b<a c<b d<c e<d f<c g<b h<g i<h j<h"), Runs)
	w.SetHeight(20)
	for _, c := range []struct {
		name, from, to string
		move           func() bool
	}{
		{"to the parent", "e", "d", w.ToParent},
		{"no parent", "a", "", w.ToParent},
		{"to the child", "b", "c", w.ToChild},
		{"no child", "e", "", w.ToChild},
		{"to the fork", "e", "c", w.ToFork},
		{"and further", "c", "b", w.ToFork},
		{"no fork above", "b", "", w.ToFork},
		{"to the sibling", "c", "g", func() bool { return w.ToSibling(1) }},
		{"to the sibling before", "g", "c", func() bool { return w.ToSibling(-1) }},
		{"from a run to the next branch", "e", "f", func() bool { return w.ToSibling(1) }},
		{"from a run to the branch before", "h", "c", func() bool { return w.ToSibling(-1) }},
		{"no sibling", "f", "", func() bool { return w.ToSibling(1) }},
		{"the next fork", "c", "h", func() bool { return w.NextFork(1) }},
		{"the fork before", "i", "h", func() bool { return w.NextFork(-1) }},
		{"no next fork", "h", "", func() bool { return w.NextFork(1) }},
		{"the next head", "a", "e", func() bool { return w.NextHead(1) }},
		{"the head before", "i", "f", func() bool { return w.NextHead(-1) }},
		{"no next head", "j", "", func() bool { return w.NextHead(1) }},
	} {
		if !w.Select(c.from) {
			t.Fatalf("%s: %s cannot be selected", c.name, c.from)
		}
		moved := c.move()
		r, _ := w.Cursor()
		want := c.to
		if want == "" {
			want = c.from
		}
		if got := w.Index().ID(r); got != want || moved != (c.to != "") {
			t.Errorf("%s: from %s to %s (%v), want %q", c.name, c.from, got, moved, c.to)
		}
	}
	root := NewWidget(grow(t, ByID, "a b<a c d<c"), Runs)
	if !root.ToSibling(1) || root.Index().ID(root.cursor) != "c" || root.ToSibling(1) {
		t.Error("the next root is not the next sibling")
	}
}

func TestWidgetFindsWhatFoldsHide(t *testing.T) {
	w := NewWidget(grow(t, ByID, "a b<a c<b d<c e<d f<e g<f x<b"), Runs)
	w.SetHeight(20)
	w.SetRuns(2)
	w.Select("c")
	w.SetFolded(true)
	hit := func(id string) func(Ref) bool {
		return func(r Ref) bool { return w.Index().ID(r) == id }
	}
	for _, c := range []struct {
		by      int
		id      string
		wrapped bool
	}{{1, "e", false}, {1, "a", true}, {-1, "f", true}, {-1, "d", false}, {1, "x", false}, {1, "x", true}} {
		wrapped, ok := w.Find(c.by, hit(c.id))
		if r, _ := w.Cursor(); !ok || wrapped != c.wrapped || w.Index().ID(r) != c.id || w.OnRun() != 0 {
			t.Errorf("looking for %s: cursor on %s, found %v, wrapped %v", c.id, w.Index().ID(r), ok, wrapped)
		}
	}
	if _, ok := w.Find(1, hit("nobody")); ok {
		t.Error("found what is not there")
	}
	if r, _ := w.Cursor(); w.Index().ID(r) != "x" {
		t.Errorf("a search without a hit moved the cursor to %s", w.Index().ID(r))
	}
}

// From every row, the next match is the nearest in the order of all nodes that a
// filter lets through, around the end.
func TestFindGoesInTheOrderOfRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := New(ByID)
		for _, e := range stringy(t) {
			x.Add(e)
		}
		v := anyView(t, x)
		f := v.flat()
		// All nodes that can be found, in order, with the rows they are at. Where a
		// fold is left out by the filter what is below it is there.
		var order []Ref
		var rowAt []int
		var walk func(ids []string)
		walk = func(ids []string) {
			for _, id := range ids {
				r, _ := x.Find(id)
				if v.seen(id) {
					at, _ := f.RowOf(r)
					order, rowAt = append(order, r), append(rowAt, at)
				}
				walk(v.kids[id])
			}
		}
		walk(v.roots)
		wanted := v.nodes(someOf(t, slices.Concat(v.roots, slices.Collect(func(yield func(string) bool) {
			for _, r := range order {
				if !yield(x.ID(r)) {
					return
				}
			}
		})), "wanted"))
		if f.Len() == 0 {
			if _, _, ok := f.Next(0, wanted.Has); ok {
				t.Fatal("found something in no rows")
			}
			return
		}
		i := rapid.IntRange(0, f.Len()-1).Draw(t, "row")
		// The row's own node splits the order; a run's row stands before its nodes.
		own := -1
		before := 0
		for k, r := range order {
			if f.Steps(i) == 0 && r == f.At(i) {
				own = k
			}
			if rowAt[k] < i {
				before = k + 1
			}
		}
		var ahead []Ref // from the row on, around, back to the row
		if own >= 0 {
			ahead = slices.Concat(order[own+1:], order[:own+1])
		} else {
			ahead = slices.Concat(order[before:], order[:before])
		}
		split := len(order) - before
		if own >= 0 {
			split = len(order) - own - 1
		}
		r, wrapped, ok := f.Next(i, wanted.Has)
		at := slices.IndexFunc(ahead, wanted.Has)
		if ok != (at >= 0) || ok && (r != ahead[at] || wrapped != (at >= split)) {
			t.Fatalf("next of row %d: %d, wrapped %v, ok %v; order %v, at %d", i, r, wrapped, ok, ahead, at)
		}
		back := slices.Clone(ahead)
		if own >= 0 {
			back = slices.Concat(order[own:], order[:own])
			split = own
		} else {
			split = before
		}
		slices.Reverse(back)
		r, wrapped, ok = f.Previous(i, wanted.Has)
		at = slices.IndexFunc(back, wanted.Has)
		if ok != (at >= 0) || ok && (r != back[at] || wrapped != (at >= split)) {
			t.Fatalf("previous of row %d: %d, wrapped %v, ok %v; order %v, at %d", i, r, wrapped, ok, back, at)
		}
	})
}

func TestFoldTo(t *testing.T) {
	const words = "a b<a c<b d<c e<d f<c g<b h<g i<h j<h"
	for _, c := range []struct {
		shape  Shape
		levels int
		want   string
	}{
		{Runs, -1, "\n○ a\n○ b\n├─○ c\n│ ├─○ d\n│ │ ● e\n│ └─● f\n└─○ g\n  ○ h\n  ├─● i\n  └─● j\n"},
		{Runs, 1, "\n○ a\n○ b\n├─▸ c  … 3 steps\n└─○ g\n  ▸ h  … 2 steps\n"},
		{Runs, 0, "\n○ a\n▸ b  … 8 steps\n"},
		{Nested, 1, "\na\n└─▸ b  … 8 steps\n"},
		{Nested, 0, "\n▸ a  … 9 steps\n"},
	} {
		f := NewFlat(grow(t, ByID, words), c.shape)
		f.FoldTo(c.levels)
		f.Rebuild()
		if got := "\n" + picture(f, DrawOptions{}); got != c.want {
			t.Errorf("shape %d to %d levels: %s, want %s", c.shape, c.levels, got, c.want)
		}
	}
	w := NewWidget(grow(t, ByID, words), Runs)
	w.SetHeight(20)
	w.Select("g")
	w.FoldSiblings(true)
	if got, want := picture(w.Flat(), DrawOptions{}), "○ a\n○ b\n├─▸ c  … 3 steps\n└─▸ g  … 3 steps\n"; got != want {
		t.Errorf("siblings folded: %s", got)
	}
	w.FoldSiblings(false)
	if w.Flat().Len() != 10 {
		t.Errorf("%d rows after unfolding the siblings", w.Flat().Len())
	}
}

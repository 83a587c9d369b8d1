package treeview

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// kept is what a user did to a widget, by id, and has to stay however the tree
// grows.
type kept struct {
	folded, open, closed map[string]bool
	match                map[string]bool
	filtered             bool
	context              Context
	marks                map[rune]string
}

func idsOf(x *Index, s Set) map[string]bool {
	out := map[string]bool{}
	for r := range s.All() {
		out[x.ID(r)] = true
	}
	return out
}

func keptBy(w *Widget) kept {
	f := w.Flat()
	k := kept{folded: idsOf(f.x, f.folds), open: idsOf(f.x, f.open), closed: idsOf(f.x, f.closed), filtered: f.sifted, context: f.context}
	k.match, k.marks = idsOf(f.x, f.match), maps.Clone(w.tags.marks)
	return k
}

// viewOf is the model of what a widget shows.
func viewOf(w *Widget) *view {
	f := w.Flat()
	k := keptBy(w)
	v := &view{
		x: f.x, shape: f.shape, filtered: k.filtered, match: k.match, context: k.context, folded: k.folded, runs: f.longest,
		open: k.open, closed: k.closed, pinned: idsOf(f.x, f.pins), active: "nobody", first: "nobody",
	}
	if f.active != 0 {
		v.active = f.x.ID(f.active)
	}
	if f.first != 0 {
		v.first = f.x.ID(f.first)
	}
	v.learn()
	return v
}

// While a tree grows in any order and a user does anything to it, rows are what
// the model says, what was folded, unfolded, marked and filtered stays so, and the
// cursor stays on its node and the node on its line, as far as the list goes.
func TestEverythingStaysOnItsNodeWhileTheTreeGrows(t *testing.T) { rapid.Check(t, everythingStays) }

func FuzzWidget(f *testing.F) { f.Fuzz(rapid.MakeFuzz(everythingStays)) }

func everythingStays(t *rapid.T) {
	given := stringy(t)
	if rapid.Bool().Draw(t, "shuffled") {
		given = rapid.Permutation(given).Draw(t, "order")
	}
	x := New(ByID)
	w := NewWidget(x, rapid.SampledFrom([]Shape{Runs, Runs, Nested}).Draw(t, "shape"))
	h := rapid.IntRange(1, 12).Draw(t, "height")
	w.SetHeight(h)
	w.SetRuns(rapid.SampledFrom([]int{0, 2, 4}).Draw(t, "runs"))
	for len(given) > 0 {
		n := rapid.IntRange(1, len(given)).Draw(t, "come")
		before := keptBy(w)
		held, anchor, run := w.held && w.cursor != 0, w.anchor, w.onRun
		visible := held && (w.Flat().Visible(anchor) || run)
		line := w.scroll.Cursor - w.scroll.Top
		for _, e := range given[:n] {
			x.Add(e)
		}
		given = given[n:]
		w.Grow()
		w.Settle()
		if diff := cmp.Diff(before, keptBy(w), cmp.AllowUnexported(kept{})); diff != "" {
			t.Fatalf("growth changed what a user did (-before +after):\n%s", diff)
		}
		v := viewOf(w)
		checkFlat(t, v, w.Flat())
		if held {
			if w.anchor != anchor {
				t.Fatal("the cursor forgot its node")
			}
			checkCursor(t, w, v)
			stays := w.Flat().Visible(anchor) && !run || run && w.onRun
			now := w.scroll.Cursor - w.scroll.Top
			atEnd := w.scroll.Top == 0 || w.scroll.Top+h >= w.Flat().Len()
			if visible && stays && now != line && !atEnd {
				t.Fatalf("the cursor's line went from %d to %d", line, now)
			}
		}
		act(t, w)
		checkFlat(t, viewOf(w), w.Flat())
		if r, ok := w.Cursor(); ok {
			if at := w.Row(); w.Flat().At(at) != r || at < w.scroll.Top || at >= w.scroll.Top+h {
				t.Fatalf("cursor on row %d of a window from %d on", at, w.scroll.Top)
			}
		} else if w.Flat().Len() > 0 {
			t.Fatal("no cursor in a tree with rows")
		}
	}
	// The same tree read anew is the same on the screen.
	w.Refresh() // runs close where the cursor was before
	was, rows := keptBy(w), picture(w.Flat(), DrawOptions{})
	again := New(ByID)
	for r := range x.Walk() {
		if x.Known(r) {
			e := Entry{ID: x.ID(r), Kind: x.Kind(r), Title: x.Title(r)}
			if named, ok := x.Cyclic(r); ok {
				id := x.ID(named)
				e.Parent = &id
			} else if p := x.Parent(r); p != 0 {
				id := x.ID(p)
				e.Parent = &id
			}
			again.Add(e)
		}
	}
	if len(x.names) > 0 || was.filtered || again.Size() != x.Size() {
		return // where a cycle is cut depends on who came first; a filter is cleared
	}
	w.SetIndex(again)
	for _, set := range []map[string]bool{was.folded, was.open, was.closed} {
		maps.DeleteFunc(set, func(id string, _ bool) bool {
			r, ok := again.Find(id)
			return !ok || again.Leaf(r)
		})
	}
	is := keptBy(w)
	is.match = was.match
	is.context = was.context
	if diff := cmp.Diff(was, is, cmp.AllowUnexported(kept{})); diff != "" {
		t.Fatalf("another index changed what a user did (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(rows, picture(w.Flat(), DrawOptions{})); diff != "" && x.Duplicates() == 0 {
		t.Fatalf("another index is another tree (-before +after):\n%s", diff)
	}
}

// checkCursor checks that the cursor is on its node, or what hides it.
func checkCursor(t *rapid.T, w *Widget, v *view) {
	f := w.Flat()
	if w.cursor == 0 {
		if f.Len() > 0 {
			t.Fatal("no cursor in a tree with rows")
		}
		return
	}
	at, ok := f.RowOf(w.anchor)
	if ok && at != w.Row() {
		t.Fatalf("cursor on row %d, its node leads to row %d", w.Row(), at)
	}
	if !ok { // what comes next in the tree, or the last row
		var order []string
		var walk func(ids []string)
		walk = func(ids []string) {
			for _, id := range ids {
				order = append(order, id)
				walk(v.kids[id])
			}
		}
		walk(v.roots)
		want := f.Len() - 1
		for _, id := range order[slices.Index(order, f.x.ID(w.anchor)):] {
			if r, _ := f.x.Find(id); f.Visible(r) {
				want, _ = f.RowOf(r)
				break
			}
		}
		if w.Row() != want {
			t.Fatalf("cursor on row %d, want %d", w.Row(), want)
		}
	}
}

// act does one of the things a user can do.
func act(t *rapid.T, w *Widget) {
	x := w.Index()
	any := func() (Ref, string) {
		if x.Size() == 0 {
			return 0, ""
		}
		r := Ref(rapid.IntRange(1, x.Size()).Draw(t, "node"))
		return r, x.ID(r)
	}
	switch rapid.IntRange(0, 17).Draw(t, "act") {
	case 0, 1:
		w.Move(rapid.IntRange(-5, 5).Draw(t, "by"))
	case 2:
		w.End()
	case 3, 4:
		w.ToggleFold()
	case 5:
		w.ToggleRun()
	case 6:
		r, id := any()
		if ok := w.Select(id); ok != (r != 0 && w.Flat().Visible(r)) || ok && (w.cursor != r || w.onRun) {
			t.Fatalf("selecting %q: %v, cursor on %d, run %v", id, ok, w.cursor, w.onRun)
		}
	case 7:
		w.FoldTo(rapid.IntRange(-1, 3).Draw(t, "levels"))
	case 8:
		w.FoldSiblings(rapid.Bool().Draw(t, "fold"))
	case 9:
		r, id := any()
		if r != 0 && rapid.Bool().Draw(t, "move") {
			w.MoveActive(r)
		} else {
			w.SetActive(id)
		}
	case 10:
		var s Set
		for r := range x.Size() {
			if rapid.Bool().Draw(t, "match") {
				s.Add(Ref(r + 1))
			}
		}
		w.SetFilter(s, rapid.SampledFrom([]Context{Elided, Shown}).Draw(t, "context"))
	case 11:
		w.ClearFilter()
	case 12:
		_, id := any()
		w.SetMark(rapid.RuneFrom([]rune("AB")).Draw(t, "mark"), id)
	case 13:
		r, _ := any()
		w.Find(rapid.SampledFrom([]int{1, -1}).Draw(t, "direction"), func(n Ref) bool { return n == r })
	case 14:
		w.Scroll(rapid.IntRange(-4, 4).Draw(t, "lines"))
	case 15:
		w.ResetRuns()
	case 16:
		w.UnfoldAll()
		if w.OnRun() > 0 || !w.Flat().sifted && w.Flat().Len() != x.Size() {
			t.Fatal("not everything is unfolded")
		}
	case 17:
		w.ToSibling(1)
		w.ToFork()
		w.NextHead(1)
		w.NextFork(-1)
	}
}

// The cursor comes back from where a filter put it.
func TestCursorComesBackWhenTheFilterIsCleared(t *testing.T) {
	w := NewWidget(grow(t, ByID, "a b<a c<b d<c e<c"), Runs)
	w.SetHeight(10)
	w.Select("d")
	var s Set
	for _, id := range []string{"b", "e"} {
		r, _ := w.Index().Find(id)
		s.Add(r)
	}
	at := func(want string) {
		t.Helper()
		if r, _ := w.Cursor(); w.Index().ID(r) != want {
			t.Fatalf("cursor on %s, want %s", w.Index().ID(r), want)
		}
	}
	w.SetFilter(s, Elided)
	at("b")
	if w.Select("d") {
		t.Error("selected what the filter leaves out")
	}
	at("b")
	w.ClearFilter()
	at("d")
	w.SetFilter(s, Elided)
	w.Move(1)
	at("e")
	w.ClearFilter()
	at("e")
}

func TestRunsUnfoldAndFoldByHand(t *testing.T) {
	w := NewWidget(grow(t, ByID, "a b<a c<b d<c e<d f<e"), Runs)
	w.SetHeight(10)
	shows := func(want string) {
		t.Helper()
		if diff := cmp.Diff(want, "\n"+picture(w.Flat(), DrawOptions{})); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
	w.SetRuns(3)
	shows("\n○ a\n┆ … 4 steps\n● f\n")
	w.Move(1)
	if w.OnRun() != 4 {
		t.Fatalf("on a run of %d steps", w.OnRun())
	}
	w.Index().Add(entry("g<f"))
	w.Grow()
	w.Settle()
	shows("\n○ a\n┆ … 5 steps\n● g\n")
	if w.OnRun() != 5 {
		t.Fatalf("on a run of %d steps after growth", w.OnRun())
	}
	if !w.ToggleFold() || w.OnRun() != 0 {
		t.Fatal("the run does not unfold")
	}
	shows("\n○ a\n○ b\n○ c\n○ d\n○ e\n○ f\n● g\n")
	w.Index().Add(entry("h<g"))
	w.Grow()
	w.Settle()
	w.Select("e")
	if !w.ToggleRun() || w.OnRun() != 6 {
		t.Fatalf("the run does not fold: %d", w.OnRun())
	}
	shows("\n○ a\n┆ … 6 steps\n● h\n")
	w.ToggleRun()
	w.ResetRuns()
	shows("\n○ a\n○ b\n○ c\n┆ … 4 steps\n● h\n") // the cursor is on b
	w.Select("e")
	shows("\n○ a\n○ b\n○ c\n○ d\n○ e\n○ f\n○ g\n● h\n")
	w.SetRuns(2)
	shows("\n○ a\n┆ … 2 steps\n○ d\n○ e\n○ f\n○ g\n● h\n")
	w.SetMark('A', "c")
	w.SetNames(map[string]string{"main": "h", "old": "c", "gone": "nobody"})
	shows("\n○ a\n○ b\n○ c\n○ d\n○ e\n○ f\n○ g\n● h\n")
}

package treeview

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"treering/internal/term"
)

func TestWidgetMoves(t *testing.T) {
	w := NewWidget(grow(t, ByID, "a b<a c<a d<b e<d f<e"), Runs) // a b d e f c
	w.SetHeight(3)
	at := func(want string, top int) {
		t.Helper()
		r, ok := w.Cursor()
		if !ok || w.Index().ID(r) != want || w.scroll.Top != top {
			t.Fatalf("cursor on %s with row %d on top, want %s and %d", w.Index().ID(r), w.scroll.Top, want, top)
		}
	}
	at("a", 0)
	if w.Move(-1) {
		t.Error("moved above the first row")
	}
	w.Move(3)
	at("e", 1)
	w.End()
	at("c", 3)
	if w.Move(1) {
		t.Error("moved below the last row")
	}
	w.Page(-1)
	at("e", 3)
	w.Home()
	at("a", 0)
	w.Select("f")
	at("f", 2)
	w.ToParent()
	at("e", 2)
	if w.Select("nobody") {
		t.Error("selected a node that is not there")
	}
}

func TestWidgetFolds(t *testing.T) {
	w := NewWidget(grow(t, ByID, "a b<a c<a d<b e<d"), Runs)
	w.SetHeight(10)
	w.Select("b")
	if !w.ToggleFold() || w.Flat().Len() != 3 {
		t.Fatalf("%d rows after folding b", w.Flat().Len())
	}
	w.Select("c")
	if w.ToggleFold() {
		t.Error("a node without children was folded")
	}
	// Selecting what a fold hides opens the fold.
	w.Select("e")
	r, _ := w.Cursor()
	if w.Index().ID(r) != "e" || w.Flat().Len() != 5 {
		t.Errorf("cursor on %s, %d rows", w.Index().ID(r), w.Flat().Len())
	}
	w.Select("b")
	w.SetFolded(true)
	next := grow(t, ByID, "a b<a c<a d<b e<d g<e")
	w.SetIndex(next)
	r, _ = w.Cursor()
	if hidden, folded := w.Flat().Folded(r); next.ID(r) != "b" || !folded || hidden != 3 {
		t.Errorf("after a new index: cursor on %s, folded %v, hides %d", next.ID(r), folded, hidden)
	}
}

func TestWidgetKeepsTheRowWhereItsNodeIsGone(t *testing.T) {
	w := NewWidget(grow(t, ByID, "a b<a c<a d<a"), Runs)
	w.SetHeight(10)
	w.Select("c")
	w.SetIndex(grow(t, ByID, "a b<a d<a"))
	if r, _ := w.Cursor(); w.Index().ID(r) != "d" {
		t.Errorf("cursor on %s, want d", w.Index().ID(r))
	}
	w.SetIndex(New(ByID))
	if _, ok := w.Cursor(); ok {
		t.Error("a cursor in an empty tree")
	}
}

func TestWidgetStaysOnTheFirstRowUntilMoved(t *testing.T) {
	x := New(ByID)
	w := NewWidget(x, Runs)
	w.SetHeight(4)
	for _, word := range []string{"c<b", "d<c", "b<a", "a"} {
		x.Add(entry(word))
		w.Grow()
	}
	w.Settle()
	if r, _ := w.Cursor(); x.ID(r) != "a" {
		t.Errorf("cursor on %s", x.ID(r))
	}
}

// While a tree grows in any order, the cursor stays on its node and the node on
// its line of the window, as far as the ends of the list allow.
func TestWidgetHoldsStillWhileTheTreeGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := entries(t)
		x := New(ByID)
		w := NewWidget(x, Runs)
		h := rapid.IntRange(1, 12).Draw(t, "height")
		w.SetHeight(h)
		for _, e := range given {
			x.Add(e)
			before, had := w.Cursor()
			held, line := w.held, w.scroll.Cursor-w.scroll.Top
			w.Grow()
			if rapid.Bool().Draw(t, "settle") {
				w.Settle()
			}
			after, ok := w.Cursor()
			if !ok && w.Flat().Len() > 0 {
				t.Fatal("no cursor in a tree with rows")
			}
			// Growth may hide the cursor's node: its parent came, and stands below a
			// folded node. Then the cursor is on what hides it.
			want := before
			for p := range x.Ancestors(before) {
				if _, folded := w.Flat().Folded(p); folded && !w.stale {
					want = p
				}
			}
			if had && held && after != want {
				t.Fatalf("cursor went from %s to %s, want %s", x.ID(before), x.ID(after), x.ID(want))
			}
			now := w.scroll.Cursor - w.scroll.Top
			atEnd := w.scroll.Top == 0 || w.scroll.Top+h >= w.Flat().Len()
			if had && held && now != line && !atEnd && want == before {
				t.Fatalf("the cursor's line went from %d to %d", line, now)
			}
			if now < 0 || now >= h {
				t.Fatalf("cursor on line %d of %d", now, h)
			}
			switch rapid.IntRange(0, 4).Draw(t, "act") {
			case 0:
				w.Move(rapid.IntRange(-3, 3).Draw(t, "by"))
			case 1:
				w.End()
			case 2:
				w.ToggleFold()
			}
			rows := 0
			for i, r := range w.Visible() {
				if w.Flat().At(i) != r {
					t.Fatal("a visible row shows another node")
				}
				rows++
			}
			if want := min(h, w.Flat().Len()); rows != want {
				t.Fatalf("%d rows shown of %d in a window of %d", rows, w.Flat().Len(), h)
			}
		}
	})
}

func TestWidgetScrollsAndIsClicked(t *testing.T) {
	w := NewWidget(grow(t, ByID, "a b<a c<b d<c e<d f<e"), Runs)
	w.SetHeight(3)
	if !w.Scroll(2) || w.scroll.Top != 2 || w.Index().ID(w.cursor) != "c" {
		t.Errorf("scrolled to row %d, cursor on %s", w.scroll.Top, w.Index().ID(w.cursor))
	}
	if row, r, ok := w.At(1); !ok || row != 3 || w.Index().ID(r) != "d" {
		t.Errorf("line 1 is row %d", row)
	}
	for _, y := range []int{-1, 3} {
		if _, _, ok := w.At(y); ok {
			t.Errorf("line %d is a row of a window of 3", y)
		}
	}
	if !w.Scroll(100) || w.scroll.Top != 3 || w.Scroll(1) {
		t.Errorf("scrolled to row %d", w.scroll.Top)
	}
	w.SetHeight(10)
	if _, _, ok := w.At(6); ok {
		t.Error("there is a row below the last")
	}
}

func TestMarksAndNamesRideOnTheirNodes(t *testing.T) {
	w := NewWidget(grow(t, ByID, "a b<a"), Runs)
	w.SetMark('A', "b")
	w.SetMark('B', "c")
	w.SetNames(map[string]string{"old": "b", "main": "b", "\x1b[31mred": "a"})
	said := func(id string) string {
		r, ok := w.Index().Find(id)
		if !ok {
			t.Fatalf("%s is not there", id)
		}
		return w.TagText(r, term.Profile{}).String()
	}
	if got, want := said("b"), "  [main]  [old]  A"; got != want {
		t.Errorf("b is said to be %q, want %q", got, want)
	}
	if got, want := said("a"), "  ["+term.Sanitise("\x1b[31mred").String()+"]"; got != want {
		t.Errorf("a is said to be %q, want %q", got, want)
	}
	w.Index().Add(entry("c<b"))
	w.Grow()
	if got := said("c"); got != "  B" {
		t.Errorf("c is said to be %q", got)
	}
	before := w.Version()
	w.SetMark('A', "a")
	if w.Version() == before {
		t.Error("a mark does not change the version")
	}
	w.SetMark('B', "")
	if said("b") != "  [main]  [old]" || said("c") != "" || w.Mark('A') != "a" || w.Mark('B') != "" {
		t.Errorf("after moving the marks: b %q, c %q, A %q, B %q", said("b"), said("c"), w.Mark('A'), w.Mark('B'))
	}
	w.SetIndex(grow(t, ByID, "b c<b"))
	if said("b") != "  [main]  [old]" {
		t.Errorf("in another index b is said to be %q", said("b"))
	}
}

// The active node moves; rows do only where it is further along on the first way.
func TestTheOrderStaysWhileTheActiveNodeMoves(t *testing.T) {
	x := New(ByID)
	add := func(id, parent string) Ref {
		e := Entry{ID: id, Kind: "k"}
		if parent != "" {
			e.Parent = &parent
		}
		r, _ := x.Add(e)
		return r
	}
	add("r", "")
	add("a", "r")
	b := add("b", "r")
	w := NewWidget(x, Runs)
	w.SetHeight(20)
	check := func(want string, active Ref) {
		t.Helper()
		var got []string
		for i := range w.Flat().Len() {
			got = append(got, x.ID(w.Flat().At(i)))
		}
		if s := strings.Join(got, " "); s != want || w.Flat().Active() != active {
			t.Errorf("rows %s with %d active, want %s with %d", s, w.Flat().Active(), want, active)
		}
	}
	w.MoveActive(b)
	check("r b a", b)
	a1 := add("a1", "a")
	w.Grow()
	w.MoveActive(a1)
	check("r b a a1", a1)
	b0, b1 := add("b0", "b"), add("b1", "b")
	w.Grow()
	w.MoveActive(b1)
	check("r b b1 b0 a a1", b1)
	w.MoveActive(b0)
	w.SetIndex(x)
	check("r b b1 b0 a a1", b0)
	w.SetActive("a1")
	check("r a a1 b b0 b1", a1)
	w.SetActive("")
	check("r a a1 b b0 b1", 0)
}

package layout

import (
	"testing"

	"pgregory.net/rapid"
)

func TestModes(t *testing.T) {
	for _, c := range []struct {
		w, h int
		want Mode
	}{
		{0, 0, TooSmall}, {1, 1, TooSmall}, {39, 50, TooSmall}, {200, 11, TooSmall},
		{40, 12, Single}, {79, 50, Single}, {200, 19, Single},
		{80, 20, Tabbed}, {80, 24, Tabbed}, {159, 60, Tabbed}, {200, 39, Tabbed},
		{160, 40, Full}, {500, 200, Full},
	} {
		if got := Compute(Want{Width: c.w, Height: c.h, Focus: Tree, Lower: Detail, Zoom: false, Traced: true}).Mode; got != c.want {
			t.Errorf("%dx%d: mode %d, want %d", c.w, c.h, got, c.want)
		}
	}
}

func TestTheFocusedPaneIsShownAlone(t *testing.T) {
	for _, p := range Panes() {
		for _, l := range []Layout{Compute(Want{Width: 60, Height: 30, Focus: p, Lower: Detail, Zoom: false, Traced: true}), Compute(Want{Width: 200, Height: 60, Focus: p, Lower: Detail, Zoom: true, Traced: true})} {
			for _, q := range Panes() {
				if l.Shown(q) != (p == q) {
					t.Errorf("focus %d at %dx%d: pane %d shown: %v", p, l.Width, l.Height, q, l.Shown(q))
				}
			}
		}
	}
}

func TestTheLowerPlaceIsShared(t *testing.T) {
	l := Compute(Want{Width: 80, Height: 24, Focus: Navigator, Lower: Trace, Zoom: false, Traced: true})
	if !l.Shown(Navigator) || !l.Shown(Tree) || !l.Shown(Trace) || l.Shown(Detail) {
		t.Errorf("focus on the navigator: %+v", l.Rects)
	}
	if l = Compute(Want{Width: 80, Height: 24, Focus: Queues, Lower: Trace, Zoom: false, Traced: true}); !l.Shown(Queues) || l.Shown(Trace) {
		t.Errorf("focus on the queues: %+v", l.Rects)
	}
}

// Panes and the walls between them cover every cell of the body exactly once.
func TestTheBodyIsTiled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(0, 520).Draw(t, "w"), rapid.IntRange(0, 210).Draw(t, "h")
		focus := Pane(rapid.IntRange(1, 6).Draw(t, "focus"))
		lower := Pane(rapid.IntRange(3, 6).Draw(t, "lower"))
		splits := rapid.MapOf(rapid.SampledFrom([]Split{Left, Middle, Top, TreeRows, TraceRows, "other"}), rapid.IntRange(-100, 1100)).Draw(t, "splits")
		l := Compute(Want{Width: w, Height: h, Focus: focus, Lower: lower, Zoom: rapid.Bool().Draw(t, "zoom"), Traced: true, Splits: splits})
		idle := Compute(Want{Width: w, Height: h, Focus: focus, Lower: lower, Zoom: false, Traced: false})
		if idle.Shown(Trace) && focus != Trace && (idle.Rects[Trace].H != untraced || idle.Rects[Detail].H < 4) && idle.Mode == Full {
			t.Fatalf("a trace without steps has %d rows, the detail %d", idle.Rects[Trace].H, idle.Rects[Detail].H)
		}
		if l.Mode == TooSmall {
			for _, p := range Panes() {
				if l.Shown(p) {
					t.Fatal("a pane in a window that is too small")
				}
			}
			return
		}
		if !l.Shown(focus) {
			t.Fatal("the focused pane is not shown")
		}
		covered := make([]int, w*h)
		for _, p := range Panes() {
			r := l.Rects[p]
			if r.W == 0 {
				continue
			}
			if r.H < 4 || r.W < 27 {
				t.Fatalf("pane %d has %dx%d", p, r.W, r.H)
			}
			for y := r.Y; y < r.Y+r.H; y++ {
				for x := r.X; x < r.X+r.W; x++ {
					covered[y*w+x]++
				}
			}
		}
		for y, row := range l.Walls() {
			for x, piece := range row {
				if piece == NoWall {
					t.Fatal("a wall piece that is none")
				}
				covered[y*w+x]++
			}
		}
		b := l.Body()
		for i, n := range covered {
			y := i / w
			want := 0
			if y >= b.Y && y < b.Y+b.H {
				want = 1
			}
			if n != want {
				t.Fatalf("cell %d,%d of %dx%d is covered %d times", i%w, y, w, h, n)
			}
		}
	})
}

// Growing a pane by so much makes it that much larger, or as large as it can be,
// and shrinking it undoes that.
func TestGrow(t *testing.T) {
	size := func(l Layout, p Pane, upright bool) int {
		if upright {
			return l.Rects[p].H
		}
		return l.Rects[p].W
	}
	rapid.Check(t, func(t *rapid.T) {
		want := Want{
			Width: rapid.IntRange(80, 500).Draw(t, "w"), Height: rapid.IntRange(20, 200).Draw(t, "h"),
			Focus: Pane(rapid.IntRange(1, 6).Draw(t, "focus")), Lower: Detail, Traced: true,
		}
		upright, by := rapid.Bool().Draw(t, "upright"), rapid.IntRange(-8, 8).Draw(t, "by")
		before := Compute(want)
		splits, moved := Grow(want, by, upright)
		again := want
		again.Splits = splits
		after := Compute(again)
		was, is := size(before, want.Focus, upright), size(after, want.Focus, upright)
		switch {
		case !moved && was != is:
			t.Fatalf("nothing moved, and %d became %d", was, is)
		case moved && (is-was)*by <= 0:
			t.Fatalf("by %d: %d became %d", by, was, is)
		case moved && is != was+by && is > was == (by > 0) && (is-was > by) == (by > 0):
			t.Fatalf("by %d: %d became %d", by, was, is)
		}
		back, _ := Grow(again, was-is, upright)
		again.Splits = back
		if got := size(Compute(again), want.Focus, upright); got != was {
			t.Fatalf("%d, by %d %d, and back %d", was, by, is, got)
		}
	})
	for _, c := range []struct {
		w, h    int
		focus   Pane
		zoom    bool
		upright bool
	}{
		{60, 30, Tree, false, false}, {60, 30, Tree, false, true}, {200, 60, Tree, true, false}, {80, 24, Detail, false, false}, {200, 60, Queues, false, false},
	} {
		if _, moved := Grow(Want{Width: c.w, Height: c.h, Focus: c.focus, Lower: Detail, Zoom: c.zoom, Traced: true}, 4, c.upright); moved {
			t.Errorf("%+v: something moved", c)
		}
	}
}

func TestAt(t *testing.T) {
	l := Compute(Want{Width: 200, Height: 60, Focus: Tree, Lower: Detail, Traced: true})
	for _, p := range Panes() {
		r := l.Rects[p]
		if l.At(r.X, r.Y) != p || l.At(r.X+r.W-1, r.Y+r.H-1) != p {
			t.Errorf("pane %d is not at %+v", p, r)
		}
	}
	for _, at := range [][2]int{{-1, 5}, {0, 0}, {5, 59}, {500, 5}, {l.Rects[Navigator].W, 3}} {
		if p := l.At(at[0], at[1]); p != None {
			t.Errorf("pane %d is at %v", p, at)
		}
	}
}

// Queues that a store does not have take no more room than the words that say so.
func TestWithoutQueues(t *testing.T) {
	with := Compute(Want{Width: 200, Height: 60, Focus: Tree, Lower: Detail})
	without := Compute(Want{Width: 200, Height: 60, Focus: Tree, Lower: Detail, Unqueued: true})
	if h := without.Rects[Queues].H; h != untraced || without.Rects[Tree].H <= with.Rects[Tree].H || without.Rects[Detail].H <= with.Rects[Detail].H {
		t.Errorf("queues of %d rows, %+v", h, without.Rects)
	}
	for _, want := range []Want{
		{Width: 200, Height: 60, Focus: Queues, Lower: Detail, Unqueued: true},
		{Width: 200, Height: 60, Focus: Tree, Lower: Detail, Unqueued: true, Splits: Splits{Top: 500}},
	} {
		if got := Compute(want).Rects[Queues].H; got <= untraced {
			t.Errorf("%+v: queues of %d rows", want, got)
		}
	}
}

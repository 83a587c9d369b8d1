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
		if got := Compute(c.w, c.h, Tree, Detail, false, true).Mode; got != c.want {
			t.Errorf("%dx%d: mode %d, want %d", c.w, c.h, got, c.want)
		}
	}
}

func TestTheFocusedPaneIsShownAlone(t *testing.T) {
	for _, p := range Panes() {
		for _, l := range []Layout{Compute(60, 30, p, Detail, false, true), Compute(200, 60, p, Detail, true, true)} {
			for _, q := range Panes() {
				if l.Shown(q) != (p == q) {
					t.Errorf("focus %d at %dx%d: pane %d shown: %v", p, l.Width, l.Height, q, l.Shown(q))
				}
			}
		}
	}
}

func TestTheLowerPlaceIsShared(t *testing.T) {
	l := Compute(80, 24, Navigator, Trace, false, true)
	if !l.Shown(Navigator) || !l.Shown(Tree) || !l.Shown(Trace) || l.Shown(Detail) {
		t.Errorf("focus on the navigator: %+v", l.Rects)
	}
	if l = Compute(80, 24, Queues, Trace, false, true); !l.Shown(Queues) || l.Shown(Trace) {
		t.Errorf("focus on the queues: %+v", l.Rects)
	}
}

// Panes and the walls between them cover every cell of the body exactly once.
func TestTheBodyIsTiled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(0, 520).Draw(t, "w"), rapid.IntRange(0, 210).Draw(t, "h")
		focus := Pane(rapid.IntRange(1, 6).Draw(t, "focus"))
		lower := Pane(rapid.IntRange(3, 6).Draw(t, "lower"))
		l := Compute(w, h, focus, lower, rapid.Bool().Draw(t, "zoom"), true)
		idle := Compute(w, h, focus, lower, false, false)
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

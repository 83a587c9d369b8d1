package layout

import "maps"

// Split is a border between panes that can be moved.
type Split string

// The splits. Each is the size of what is on its left or above it.
const (
	Left      Split = "left"   // the navigator's columns
	Middle    Split = "middle" // the tree's, of those that the navigator leaves
	Top       Split = "top"    // the rows above the lowest panes
	TreeRows  Split = "tree"   // the tree's rows, above the ancestry
	TraceRows Split = "trace"  // the trace's rows, above the detail
)

// Splits are the places of the splits that somebody moved, in thousandths of the
// room they divide, so that they suit other sizes too. Any numbers are taken: what
// would leave a pane too small is moved as far as it may be.
type Splits map[Split]int

// leastWidth and leastHeight are what every pane keeps, in cells.
const leastWidth, leastHeight = 27, 4

// part is the cells before a split of room, at least least of which are left on
// either side.
func (s Splits) part(at Split, room, usual, least int) int {
	n := usual
	if v, ok := s[at]; ok {
		n = room * min(max(v, 0), 1000) / 1000
	}
	return max(min(n, room-least), least)
}

// splitOf is the split that changes a pane's size on one axis, and whether the
// pane is before it; "" where the pane has the whole of the axis.
func (l Layout) splitOf(p Pane, upright bool) (at Split, before bool) {
	switch {
	case !l.divided(), l.Mode == Tabbed && p > Tree && !upright, p == Queues && !upright:
		return "", false
	case l.Mode == Tabbed && upright:
		return Top, p <= Tree
	case p == Navigator && !upright || l.Mode == Tabbed:
		return Left, p == Navigator
	case !upright:
		return Middle, p == Tree || p == Ancestry
	case p == Tree || p == Ancestry:
		return TreeRows, p == Tree
	case p == Trace || p == Detail:
		return TraceRows, p == Trace
	}
	return Top, p == Navigator
}

// divided reports whether there are several panes.
func (l Layout) divided() bool {
	return (l.Mode == Tabbed || l.Mode == Full) && l.Shown(Navigator) && l.Shown(Tree)
}

// Grow moves a split so that the focused pane has that many columns more, or rows
// where it grows upright; fewer where cells is below 0. It reports whether there
// was anything to move.
func Grow(want Want, cells int, upright bool) (Splits, bool) {
	l := Compute(want)
	at, before := l.splitOf(want.Focus, upright)
	if at == "" {
		return want.Splits, false
	}
	if !before {
		cells = -cells
	}
	was, room := l.place(at)
	out := maps.Clone(want.Splits)
	if out == nil {
		out = Splits{}
	}
	out[at] = thousandths(max(was+cells, 0), room)
	want.Splits = out
	now, _ := Compute(want).place(at)
	out[at] = thousandths(now, room) // no further than it went
	return out, now != was
}

// place is where a split is, and the room that it divides, as Compute has it.
func (l Layout) place(at Split) (cells, room int) {
	b := l.Body()
	switch at {
	case Left:
		if l.Mode == Tabbed {
			return l.Rects[Navigator].W, b.W - 1
		}
		return l.Rects[Navigator].W, b.W - 1 - leastWidth - 1
	case Middle:
		return l.Rects[Tree].W, b.W - l.Rects[Navigator].W - 2
	case TreeRows:
		return l.Rects[Tree].H, l.Rects[Navigator].H
	case TraceRows:
		return l.Rects[Trace].H, l.Rects[Navigator].H
	}
	return l.Rects[Navigator].H, b.H
}

// thousandths is the least part of room that has so many cells.
func thousandths(cells, room int) int {
	if room <= 0 {
		return 0
	}
	return (min(cells, room)*1000 + room - 1) / room
}

// At returns the pane that has a cell; None on a wall, a bar or nothing.
func (l Layout) At(x, y int) Pane {
	for _, p := range Panes() {
		if r := l.Rects[p]; x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H {
			return p
		}
	}
	return None
}

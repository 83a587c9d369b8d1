// Package layout divides a window among the panes.
package layout

// Pane is one of the six, by the number that focuses it.
type Pane int

// The panes.
const (
	None Pane = iota
	Navigator
	Tree
	Ancestry
	Detail
	Trace
	Queues
)

// Panes lists them in the order of their numbers.
func Panes() []Pane { return []Pane{Navigator, Tree, Ancestry, Detail, Trace, Queues} }

// Rect is a part of the window in cells. Its first row is the pane's title.
type Rect struct{ X, Y, W, H int }

// Mode is how much is shown at once.
type Mode int

const (
	// TooSmall: a word, and no pane.
	TooSmall Mode = iota
	// Single: one pane at a time.
	Single
	// Tabbed: navigator, tree, and the four others sharing one place.
	Tabbed
	// Full: all six.
	Full
)

// Sizes from which each mode is used.
const (
	MinWidth, MinHeight       = 40, 12
	TabbedWidth, TabbedHeight = 80, 20
	FullWidth, FullHeight     = 160, 40
)

// rowsAround are the header above the panes and the two lines below them.
const rowsAround = 3

// Layout says where everything is.
type Layout struct {
	Mode          Mode
	Width, Height int
	Rects         [Queues + 1]Rect // zero where a pane is not shown
	// Tabs are the panes that share the place of the focused one, which it shows
	// in its title; nil where it has a place of its own.
	Tabs []Pane
}

// Shown reports whether the pane has a place.
func (l Layout) Shown(p Pane) bool { return l.Rects[p].W > 0 }

// Body is the part of the window that panes share.
func (l Layout) Body() Rect { return Rect{0, 1, l.Width, max(l.Height-rowsAround, 0)} }

// untraced is the height of a pane that has nothing to show: its title and the words
// that say so.
const untraced = 3

// Want is what a window is divided for.
type Want struct {
	Width, Height int
	Focus         Pane // is always shown
	Lower         Pane // what the shared place shows while the focus is elsewhere
	Zoom          bool // the focus alone
	// Traced: there is a trace to show. Otherwise its room goes to the detail below,
	// unless it has the focus or its room was chosen.
	Traced bool
	// Unqueued: the store has no queues. Their room goes to the panes above, unless they
	// have the focus or it was chosen.
	Unqueued bool
	Splits   Splits // how windows of this mode are divided
}

// ModeOf is how much a window of that size shows.
func ModeOf(width, height int) Mode {
	switch {
	case width < MinWidth || height < MinHeight:
		return TooSmall
	case width < TabbedWidth || height < TabbedHeight:
		return Single
	case width < FullWidth || height < FullHeight:
		return Tabbed
	}
	return Full
}

// Compute divides a window.
func Compute(want Want) Layout {
	l := Layout{Mode: ModeOf(want.Width, want.Height), Width: want.Width, Height: want.Height}
	if l.Mode == TooSmall {
		return l
	}
	b, s := l.Body(), want.Splits
	focus, lower := want.Focus, want.Lower
	if want.Zoom || l.Mode == Single {
		l.Rects[focus] = b
		if l.Mode == Single {
			l.Tabs = Panes()
		}
		return l
	}
	if l.Mode == Tabbed {
		if focus > Tree {
			lower = focus
		}
		top := s.part(Top, b.H, (b.H+1)/2, leastHeight)
		left := s.part(Left, b.W-1, min(max(b.W*2/5, 30), 52), leastWidth)
		l.Rects[Navigator] = Rect{0, b.Y, left, top}
		l.Rects[Tree] = Rect{left + 1, b.Y, b.W - left - 1, top}
		l.Rects[lower] = Rect{0, b.Y + top, b.W, b.H - top}
		l.Tabs = []Pane{Ancestry, Detail, Trace, Queues}
		return l
	}
	upper := s.part(Top, b.H, b.H-min(max(b.H/5, 9), 16), 2*leastHeight)
	if _, chosen := s[Top]; want.Unqueued && focus != Queues && !chosen {
		upper = b.H - untraced
	}
	left := s.part(Left, b.W-1-leastWidth-1, min(max(b.W/4, 44), 60), leastWidth)
	rest := b.W - left - 2
	middle := s.part(Middle, rest, rest/2, leastWidth)
	treeH := s.part(TreeRows, upper, upper*13/20, leastHeight)
	traceH := s.part(TraceRows, upper, upper*9/20, leastHeight)
	if _, chosen := s[TraceRows]; !want.Traced && focus != Trace && !chosen {
		traceH = untraced
	}
	x2, x3 := left+1, left+middle+2
	l.Rects[Navigator] = Rect{0, b.Y, left, upper}
	l.Rects[Tree] = Rect{x2, b.Y, middle, treeH}
	l.Rects[Ancestry] = Rect{x2, b.Y + treeH, middle, upper - treeH}
	l.Rects[Trace] = Rect{x3, b.Y, rest - middle, traceH}
	l.Rects[Detail] = Rect{x3, b.Y + traceH, rest - middle, upper - traceH}
	l.Rects[Queues] = Rect{0, b.Y + upper, b.W, b.H - upper}
	return l
}

// Piece is what a cell of a wall between two panes looks like.
type Piece uint8

// The pieces of a wall: none, plain, or with a title's rule on its left, its
// right, or both sides.
const (
	NoWall Piece = iota
	Wall
	JoinLeft
	JoinRight
	JoinBoth
)

// Walls returns, for every row of the window, the wall pieces by column.
func (l Layout) Walls() []map[int]Piece {
	rows := make([]map[int]Piece, l.Height)
	at := func(y, x int) Piece { return rows[y][x] }
	for _, p := range Panes() {
		r := l.Rects[p]
		if r.W == 0 {
			continue
		}
		for y := r.Y; y < r.Y+r.H; y++ {
			for _, side := range [...]struct {
				x     int
				title Piece
			}{{r.X - 1, JoinRight}, {r.X + r.W, JoinLeft}} {
				if side.x < 0 || side.x >= l.Width {
					continue
				}
				if rows[y] == nil {
					rows[y] = map[int]Piece{}
				}
				was := at(y, side.x)
				now := Wall
				if y == r.Y {
					now = side.title
				}
				if was > Wall && now > Wall && was != now {
					now = JoinBoth
				}
				rows[y][side.x] = max(was, now)
			}
		}
	}
	return rows
}

package treeview

import "iter"

// Widget is a window on a tree, with a cursor. It holds on to nodes, not to row
// numbers: when rows come and go, cursor, folds, marks and the cursor's place in
// the window stay as they are.
//
// Moving the cursor makes no rows. Everything that changes which rows there are
// walks over the whole tree once.
type Widget struct {
	flat   *Flat
	scroll Scroll
	cursor Ref    // the node of the cursor's row
	anchor Ref    // the node it is there for, which may have no row now
	onRun  bool   // it was put on a folded run, which stays folded
	held   bool   // somebody moved the cursor: it stays on its node from then on
	stale  bool   // nodes came after the rows were made
	rowed  int    // index size when they were made
	active string // id of the active node, which may not have come yet
	first  string // id of the node whose way comes first
	tags   tags

	version uint64
}

// NewWidget returns a widget on x with the cursor on the first row, whichever
// node that is, until the cursor is first moved.
func NewWidget(x *Index, shape Shape) *Widget {
	w := &Widget{flat: NewFlat(x, shape), scroll: Scroll{Height: 1}}
	w.rowed = len(x.links)
	w.settleCursor()
	return w
}

// Flat returns the rows. They are valid until the widget is told of growth or
// folds. What is set on it directly shows after [Widget.Refresh].
func (w *Widget) Flat() *Flat { return w.flat }

// Index returns the tree.
func (w *Widget) Index() *Index { return w.flat.x }

// Version changes with everything that may change how a row is drawn, but for
// the cursor: a row that was drawn at the same version is still right.
func (w *Widget) Version() uint64 { return w.version }

// SetIndex shows another tree in place of this one; cursor, folds, marks and the
// active node are found again by id. A filter is cleared, since it is about the
// other tree's nodes. Where the cursor's node is gone, the cursor stays on its
// row.
func (w *Widget) SetIndex(x *Index) {
	old := w.flat
	f := &Flat{x: x, shape: old.shape, longest: old.longest}
	for _, s := range []struct{ from, to *Set }{{&old.folds, &f.folds}, {&old.open, &f.open}, {&old.closed, &f.closed}} {
		for r := range s.from.All() {
			if now, ok := x.Find(old.x.ID(r)); ok && !x.Leaf(now) {
				s.to.Add(now)
			}
		}
	}
	was := w.anchor
	w.flat, w.cursor, w.anchor = f, 0, 0
	if was != 0 {
		w.anchor, _ = x.Find(old.x.ID(was))
	}
	w.Refresh()
}

// Grow is to be called after entries were added to the index. The rows follow
// when enough has come to be worth the walk over the whole tree: building a tree
// page by page costs in all a small multiple of one walk.
func (w *Widget) Grow() {
	w.stale = true
	w.version++
	if n := len(w.flat.x.links); n-w.rowed >= w.rowed/4 || w.flat.Len() < w.scroll.Height {
		w.Refresh()
	}
}

// Settle brings the rows up to date with the index.
func (w *Widget) Settle() {
	if w.stale {
		w.Refresh()
	}
}

// Refresh makes the rows anew and keeps the cursor where it is in the window.
func (w *Widget) Refresh() {
	f := w.flat
	f.SetActive(0)
	if w.active != "" {
		f.active, _ = f.x.Find(w.active)
	}
	if w.first != "" {
		f.first, _ = f.x.Find(w.first)
	}
	f.Pin(w.pinned()...)
	f.Rebuild()
	w.stale, w.rowed = false, len(f.x.links)
	w.version++
	w.settleCursor()
}

// pinned are the nodes that folded runs leave alone: those with marks and names,
// and the cursor's with its neighbours.
func (w *Widget) pinned() []Ref {
	x := w.flat.x
	pins := w.tags.nodes(x)
	if w.anchor != 0 && w.held && !w.onRun {
		pins = append(pins, w.anchor, x.Parent(w.anchor), Ref(x.links[w.anchor].first))
	}
	return pins
}

func (w *Widget) settleCursor() {
	n := w.flat.Len()
	if w.anchor != 0 && w.held && n > 0 {
		at, ok := w.flat.RowOf(w.anchor)
		for r := int32(w.anchor); !ok; {
			// The filter left out all its ancestors: what comes next, or was before.
			if r = w.flat.next(r); r == 0 {
				at, ok = n-1, true
			} else if w.flat.Visible(Ref(r)) {
				at, ok = int(w.flat.rowOf[r]), true
			}
		}
		w.cursor, w.onRun = w.flat.At(at), w.flat.Steps(at) > 0
		w.scroll.Hold(at, n)
		return
	}
	w.scroll.Clamp(n)
	w.cursor, w.onRun = 0, false
	if n > 0 {
		w.cursor, w.onRun = w.flat.At(w.scroll.Cursor), w.flat.Steps(w.scroll.Cursor) > 0
		w.anchor = w.cursor
	}
}

// SetHeight says how many rows are shown.
func (w *Widget) SetHeight(h int) {
	w.scroll.Height = max(h, 1)
	w.scroll.Clamp(w.flat.Len())
	if w.stale && w.flat.Len() < h {
		w.Refresh()
	}
}

// Height is how many rows are shown.
func (w *Widget) Height() int { return w.scroll.Height }

// Cursor returns the node the cursor is on; ok is false in an empty tree. On a
// folded run it is the first node that the run hides; see [Widget.OnRun].
func (w *Widget) Cursor() (r Ref, ok bool) { return w.cursor, w.cursor != 0 }

// OnRun returns how many steps the folded run under the cursor stands for, 0
// where the cursor is on a node.
func (w *Widget) OnRun() (steps int) {
	if !w.onRun {
		return 0
	}
	return w.flat.Steps(w.scroll.Cursor)
}

// Row is the number of the cursor's row.
func (w *Widget) Row() int { return w.scroll.Cursor }

// At returns the row and the node on line y of the window, counted from 0; ok is
// false below the last row.
func (w *Widget) At(y int) (row int, r Ref, ok bool) {
	row = w.scroll.Top + y
	if y < 0 || y >= w.scroll.Height || row >= w.flat.Len() {
		return 0, 0, false
	}
	return row, w.flat.At(row), true
}

// Visible yields the rows in the window: their numbers and nodes.
func (w *Widget) Visible() iter.Seq2[int, Ref] {
	return func(yield func(int, Ref) bool) {
		from := w.scroll.Top
		for i := from; i < min(from+w.scroll.Height, w.flat.Len()); i++ {
			if !yield(i, w.flat.At(i)) {
				return
			}
		}
	}
}

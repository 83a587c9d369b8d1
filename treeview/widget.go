package treeview

import "iter"

// Widget is a window on a tree, with a cursor. It holds on to nodes, not to row
// numbers: when rows come and go, cursor, folds and the cursor's place in the
// window stay as they are.
type Widget struct {
	flat   *Flat
	cursor Ref
	scroll Scroll
	held   bool // somebody moved the cursor: it stays on its node from then on
	stale  bool // nodes came after the rows were made
	rowed  int  // index size when they were made
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
// folds.
func (w *Widget) Flat() *Flat { return w.flat }

// Index returns the tree.
func (w *Widget) Index() *Index { return w.flat.x }

// SetIndex shows another tree in place of this one; cursor and folds are found
// again by id. Where the cursor's node is gone, the cursor stays on its row.
func (w *Widget) SetIndex(x *Index) {
	old, folded := w.flat.x, w.flat.hidden
	id := ""
	if w.cursor != 0 {
		id = old.ID(w.cursor)
	}
	w.flat = &Flat{x: x, shape: w.flat.shape, hidden: map[Ref]int32{}}
	for r := range folded {
		if now, ok := x.Find(old.ID(r)); ok && !x.Leaf(now) {
			w.flat.SetFolded(now, true)
		}
	}
	w.cursor = 0
	if r, ok := x.Find(id); ok {
		w.cursor = r
	}
	w.rebuild()
}

// Grow is to be called after entries were added to the index. The rows follow
// when enough has come to be worth the walk over the whole tree: building a tree
// page by page costs in all a small multiple of one walk.
func (w *Widget) Grow() {
	w.stale = true
	if n := len(w.flat.x.links); n-w.rowed >= w.rowed/4 || w.flat.Len() < w.scroll.Height {
		w.rebuild()
	}
}

// Settle brings the rows up to date.
func (w *Widget) Settle() {
	if w.stale {
		w.rebuild()
	}
}

// rebuild makes the rows anew and keeps the cursor where it is in the window.
func (w *Widget) rebuild() {
	w.flat.Rebuild()
	w.stale, w.rowed = false, len(w.flat.x.links)
	w.settleCursor()
}

func (w *Widget) settleCursor() {
	n := w.flat.Len()
	if w.cursor != 0 && w.held {
		if at, ok := w.flat.RowOf(w.cursor); ok {
			w.cursor = w.flat.At(at)
			w.scroll.Hold(at, n)
			return
		}
	}
	w.scroll.Clamp(n)
	w.cursor = 0
	if n > 0 {
		w.cursor = w.flat.At(w.scroll.Cursor)
	}
}

// SetHeight says how many rows are shown.
func (w *Widget) SetHeight(h int) {
	w.scroll.Height = max(h, 1)
	w.scroll.Clamp(w.flat.Len())
	if w.stale && w.flat.Len() < h {
		w.rebuild()
	}
}

// Height is how many rows are shown.
func (w *Widget) Height() int { return w.scroll.Height }

// Cursor returns the node the cursor is on; ok is false in an empty tree.
func (w *Widget) Cursor() (r Ref, ok bool) { return w.cursor, w.cursor != 0 }

// Row is the number of the cursor's row.
func (w *Widget) Row() int { return w.scroll.Cursor }

// Move moves the cursor by rows and reports whether it went anywhere.
func (w *Widget) Move(rows int) bool {
	if w.stale && w.scroll.Cursor+rows >= w.flat.Len() {
		w.rebuild()
	}
	return w.moveTo(w.scroll.Cursor + rows)
}

// Page moves by windows.
func (w *Widget) Page(windows int) bool {
	return w.Move(windows * max(w.scroll.Height-1, 1))
}

// Home moves to the first row, End to the last.
func (w *Widget) Home() bool { return w.moveTo(0) }

// End moves to the last row.
func (w *Widget) End() bool {
	w.Settle()
	return w.moveTo(w.flat.Len() - 1)
}

func (w *Widget) moveTo(row int) bool {
	n := w.flat.Len()
	if n == 0 {
		return false
	}
	before := w.cursor
	w.held = true
	w.scroll.MoveTo(row, n)
	w.cursor = w.flat.At(w.scroll.Cursor)
	return w.cursor != before
}

// Select moves the cursor to a node, unfolding what hides it, and reports
// whether the tree has it.
func (w *Widget) Select(id string) bool {
	r, ok := w.flat.x.Find(id)
	if !ok {
		return false
	}
	w.Settle()
	opened := false
	for p := range w.flat.x.Ancestors(r) {
		opened = w.flat.SetFolded(p, false) || opened
	}
	if opened {
		w.flat.Rebuild()
	}
	at, ok := w.flat.RowOf(r)
	if !ok {
		return false
	}
	w.moveTo(at)
	return true
}

// ToggleFold folds or unfolds the cursor's node and reports whether there is
// anything to fold.
func (w *Widget) ToggleFold() bool {
	_, folded := w.flat.Folded(w.cursor)
	return w.SetFolded(!folded)
}

// SetFolded folds or unfolds the cursor's node and reports whether that changed
// anything.
func (w *Widget) SetFolded(folded bool) bool {
	if w.cursor == 0 || !w.flat.SetFolded(w.cursor, folded) {
		return false
	}
	w.held = true
	w.rebuild()
	return true
}

// ToParent moves the cursor to the parent of its node.
func (w *Widget) ToParent() bool {
	if w.cursor == 0 {
		return false
	}
	p := w.flat.x.Parent(w.cursor)
	if p == 0 {
		return false
	}
	at, ok := w.flat.RowOf(p)
	return ok && w.moveTo(at)
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

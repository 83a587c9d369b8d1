package treeview

// Move moves the cursor by rows and reports whether it went anywhere.
func (w *Widget) Move(rows int) bool {
	if w.stale && w.scroll.Cursor+rows >= w.flat.Len() {
		w.Refresh()
	}
	return w.MoveTo(w.scroll.Cursor + rows)
}

// Page moves by windows.
func (w *Widget) Page(windows int) bool {
	return w.Move(windows * max(w.scroll.Height-1, 1))
}

// Home moves to the first row, End to the last.
func (w *Widget) Home() bool { return w.MoveTo(0) }

// End moves to the last row.
func (w *Widget) End() bool {
	w.Settle()
	return w.MoveTo(w.flat.Len() - 1)
}

// MoveTo moves the cursor to a row, or the nearest there is, and reports whether
// it went anywhere.
func (w *Widget) MoveTo(row int) bool {
	n := w.flat.Len()
	if n == 0 {
		return false
	}
	before, was := w.cursor, w.onRun
	w.held = true
	w.scroll.MoveTo(row, n)
	w.cursor, w.onRun = w.flat.At(w.scroll.Cursor), w.flat.Steps(w.scroll.Cursor) > 0
	w.anchor = w.cursor
	return w.cursor != before || w.onRun != was
}

// Scroll moves the window by lines; the cursor goes along where it would leave
// the window. It reports whether anything moved.
func (w *Widget) Scroll(lines int) bool {
	n, h := w.flat.Len(), w.scroll.Height
	top := max(min(w.scroll.Top+lines, n-h), 0)
	if top == w.scroll.Top {
		return false
	}
	w.scroll.Top = top
	if at := min(max(w.scroll.Cursor, top), top+h-1); at != w.scroll.Cursor {
		w.MoveTo(at)
	}
	return true
}

// Select moves the cursor to a node, unfolding what hides it, and reports
// whether it could: the tree may not have the node, or a filter leaves it out.
func (w *Widget) Select(id string) bool {
	r, ok := w.flat.x.Find(id)
	return ok && w.SelectRef(r)
}

// SelectRef is Select for a node of the index.
func (w *Widget) SelectRef(r Ref) bool {
	if r == 0 {
		return false
	}
	w.Settle()
	f := w.flat
	if f.sifted && !f.seen.Has(r) {
		return false
	}
	if !f.Visible(r) {
		for p := range f.x.Ancestors(r) {
			f.SetFolded(p, false)
		}
		// Where a run hides it, the cursor keeps it out of there.
		w.anchor, w.held, w.onRun = r, true, false
		w.Refresh()
	}
	at, ok := f.RowOf(r)
	if !ok {
		return false
	}
	w.MoveTo(at)
	return true
}

// ToParent moves the cursor to what its row hangs on.
func (w *Widget) ToParent() bool { return w.to(w.flat.Parent) }

// ToChild moves the cursor to the first row that hangs on its own.
func (w *Widget) ToChild() bool {
	return w.to(func(i int) int {
		if i+1 < w.flat.Len() && w.flat.Parent(i+1) == i {
			return i + 1
		}
		return -1
	})
}

// ToFork moves the cursor to the nearest branch point towards the root.
func (w *Widget) ToFork() bool { return w.to(w.flat.ForkAbove) }

// ToSibling moves the cursor to the next sibling in a direction, 1 or -1; from
// within a straight run to the next branch.
func (w *Widget) ToSibling(by int) bool {
	return w.to(func(i int) int { return w.flat.Sibling(i, by) })
}

// NextFork moves the cursor to the next branch point in a direction, 1 or -1.
func (w *Widget) NextFork(by int) bool {
	return w.to(func(i int) int { return w.flat.NextFork(i, by) })
}

// NextHead moves the cursor to the next node without children in a direction, 1
// or -1.
func (w *Widget) NextHead(by int) bool {
	return w.to(func(i int) int { return w.flat.NextHead(i, by) })
}

// to moves the cursor from its row to another, -1 for none.
func (w *Widget) to(row func(int) int) bool {
	w.Settle()
	if w.cursor == 0 {
		return false
	}
	at := row(w.scroll.Cursor)
	return at >= 0 && w.MoveTo(at)
}

// Find moves the cursor to the next node in a direction, 1 or -1, that matches,
// unfolding what hides it. wrapped says that the search went over the end.
func (w *Widget) Find(by int, matches func(Ref) bool) (wrapped, ok bool) {
	w.Settle()
	find := w.flat.Next
	if by < 0 {
		find = w.flat.Previous
	}
	r, wrapped, ok := find(w.scroll.Cursor, matches)
	return wrapped, ok && w.SelectRef(r)
}

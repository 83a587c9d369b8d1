package treeview

// ToggleFold unfolds the folded run under the cursor; folds or unfolds the
// cursor's node otherwise. It reports whether there was anything to fold.
func (w *Widget) ToggleFold() bool {
	if w.onRun {
		return w.ToggleRun()
	}
	_, folded := w.flat.Folded(w.cursor)
	return w.SetFolded(!folded)
}

// SetFolded folds or unfolds the cursor's node and reports whether that changed
// anything. A folded run is unfolded; it cannot be folded as a node can.
func (w *Widget) SetFolded(folded bool) bool {
	if w.onRun {
		return !folded && w.ToggleRun()
	}
	if w.cursor == 0 || !w.flat.SetFolded(w.cursor, folded) {
		return false
	}
	w.hold()
	return true
}

// ToggleRun unfolds the folded run under the cursor, or folds the straight run
// that the cursor's node is in. It reports whether there was one.
func (w *Widget) ToggleRun() bool {
	switch {
	case w.cursor == 0:
		return false
	case w.onRun:
		w.flat.OpenRun(w.scroll.Cursor)
		w.onRun = false
		w.hold()
		return true
	case !w.flat.CloseRun(w.cursor):
		return false
	}
	w.anchor, w.held, w.onRun = w.cursor, true, true
	w.Refresh()
	return true
}

// hold keeps the cursor on its row's node while the rows are made anew.
func (w *Widget) hold() {
	w.anchor, w.held = w.cursor, true
	w.Refresh()
}

// SetRuns folds straight runs of so many steps and more; see [Flat.SetRuns].
func (w *Widget) SetRuns(longest int) {
	if w.flat.longest != longest {
		w.flat.SetRuns(longest)
		w.Refresh()
	}
}

// ResetRuns folds and unfolds runs by their length alone again.
func (w *Widget) ResetRuns() {
	w.flat.ResetRuns()
	w.Refresh()
}

// FoldTo folds what is indented deeper than so many levels and unfolds the rest;
// see [Flat.FoldTo].
func (w *Widget) FoldTo(levels int) {
	w.flat.FoldTo(levels)
	w.Refresh()
}

// FoldSiblings folds or unfolds the cursor's node and its siblings.
func (w *Widget) FoldSiblings(folded bool) bool {
	if w.cursor == 0 || w.onRun {
		return false
	}
	w.flat.FoldSiblings(w.cursor, folded)
	w.hold()
	return true
}

// UnfoldAll unfolds all nodes, and all runs until [Widget.ResetRuns].
func (w *Widget) UnfoldAll() {
	w.flat.FoldTo(-1)
	w.flat.OpenRuns()
	w.onRun = false
	w.Refresh()
}

// SetFilter lets only these nodes through. The cursor goes to the nearest row,
// and comes back when the filter is cleared, unless it was moved meanwhile.
func (w *Widget) SetFilter(match Set, context Context) {
	w.held = w.held || w.cursor != 0
	w.flat.SetFilter(match, context)
	w.Refresh()
}

// ClearFilter lets everything through.
func (w *Widget) ClearFilter() {
	if w.flat.sifted {
		w.flat.ClearFilter()
		w.Refresh()
	}
}

// SetActive makes a node the active one, "" none; it may come later.
func (w *Widget) SetActive(id string) {
	if w.active != id || w.first != id {
		w.active, w.first = id, id
		w.Refresh()
	}
}

// MoveActive makes another node of the index the active one, without moving rows
// under a reader: the order stays unless the node is further along on the way that
// comes first; see [Flat.MoveActive].
func (w *Widget) MoveActive(r Ref) {
	if r == w.flat.active {
		return
	}
	w.flat.MoveActive(r)
	w.active, w.first = w.flat.x.ID(r), w.flat.x.ID(w.flat.first)
	w.Refresh()
}

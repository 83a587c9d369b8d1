package jsondoc

// Move moves the cursor by rows. It is at an end where it does not move.
func (v *View) Move(rows int) {
	if v.stack.len == 0 {
		return
	}
	v.cursor = v.placeOf(v.walk(v.spotOf(v.cursor), rows))
	v.settle()
}

// Scroll moves the window by rows, and the cursor only where it would be left
// outside.
func (v *View) Scroll(rows int) {
	if v.stack.len == 0 {
		return
	}
	v.top = v.placeOf(v.walk(v.spotOf(v.top), rows))
	v.fill()
	cursor, top := v.spotOf(v.cursor), v.spotOf(v.top)
	if bottom := v.walk(top, v.height-1); less(cursor, top) {
		v.cursor = v.placeOf(top)
	} else if less(bottom, cursor) {
		v.cursor = v.placeOf(bottom)
	}
}

// Click puts the cursor on a row of the window, from 0, if there is one.
func (v *View) Click(row int) {
	if v.stack.len == 0 || row < 0 || row >= v.height {
		return
	}
	at := v.spotOf(v.top)
	for range row {
		next, ok := v.next(at)
		if !ok {
			return
		}
		at = next
	}
	v.cursor = v.placeOf(at)
}

// walk is the row so many rows away, or the one at the end in that direction.
func (v *View) walk(s spot, rows int) spot {
	for ok := true; rows != 0 && ok; {
		if rows > 0 {
			s, ok = v.next(s)
			rows--
		} else {
			s, ok = v.previous(s)
			rows++
		}
	}
	return s
}

// Home moves the cursor to the first row, End to the last.
func (v *View) Home() {
	v.cursor = place{}
	v.settle()
}

// End moves the cursor to the last row.
func (v *View) End() {
	if v.stack.len == 0 {
		return
	}
	v.cursor = v.placeOf(v.lastOf(v.seen(v.stack.len - 1)))
	v.settle()
}

// foldable is the line that folds where the cursor is: its own, or that of the
// container that it closes. ok is false where none does.
func (v *View) foldable() (n int, ok bool) {
	if v.stack.len == 0 {
		return 0, false
	}
	n = v.cursor.line
	if v.stack.Span(n) > 0 {
		return n, true
	}
	if up := v.stack.Up(n); up >= 0 && up+v.stack.Span(up) == n && v.stack.Line(n, v.look).Body == "" {
		return up, true
	}
	return 0, false
}

// Toggle folds or unfolds what the cursor is on. It reports whether that folds.
func (v *View) Toggle() bool {
	n, ok := v.foldable()
	if ok {
		v.fold(n, !v.folds.is(n))
	}
	return ok
}

func (v *View) fold(n int, folded bool) {
	v.folds.toggle(n, folded, v.stack)
	v.kept = nil
	v.cursor = place{line: n}
	v.settle()
}

// Inward folds what the cursor is on, or goes to what it is in.
func (v *View) Inward() {
	if n, ok := v.foldable(); ok && !v.folds.is(n) {
		v.fold(n, true)
		return
	}
	if v.stack.len == 0 {
		return
	}
	if up := v.stack.Up(v.cursor.line); up >= 0 {
		v.cursor = place{line: up}
		v.settle()
	}
}

// Outward unfolds what the cursor is on, or goes to the first line in it.
func (v *View) Outward() {
	n := v.cursor.line
	switch {
	case v.stack.len == 0 || v.stack.Span(n) == 0:
	case v.folds.is(n):
		v.fold(n, false)
	default:
		v.cursor = place{line: n + 1}
		v.settle()
	}
}

// Deeper shows one level more of everything, or one less: at first one level of
// each value.
func (v *View) Deeper(by int) {
	switch {
	case v.depth < 0 && by > 0:
		return // all is unfolded
	case v.depth < 0:
		v.depth = 1
	default:
		v.depth = max(v.depth+by, 0)
	}
	v.folds.level(v.depth, v.stack)
	v.kept = nil
	v.settle()
}

// Level is to how many levels everything was folded last, -1 where nothing is.
func (v *View) Level() int { return v.depth }

// UnfoldAll unfolds everything.
func (v *View) UnfoldAll() {
	v.depth = -1
	v.folds.reset(v.stack.len)
	v.kept = nil
	v.settle()
}

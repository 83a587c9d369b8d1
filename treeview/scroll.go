package treeview

// Scroll is a cursor in a window on a list of rows. Its zero value shows one
// row, the first.
type Scroll struct {
	Cursor int // row
	Top    int // first row shown
	Height int // rows shown, at least 1
}

// MoveTo puts the cursor on a row of n, or the nearest there is, and scrolls no
// further than it must.
func (s *Scroll) MoveTo(row, n int) {
	s.Cursor = min(max(row, 0), max(n-1, 0))
	s.Clamp(n)
}

// Hold puts the cursor on a row of n without moving it in the window. A window
// at the top of the list stays there as long as the cursor is in it: what comes
// in above would never be seen otherwise.
func (s *Scroll) Hold(row, n int) {
	if s.Top > 0 || row >= max(s.Height, 1) {
		s.Top += row - s.Cursor
	}
	s.Cursor = row
	s.Clamp(n)
}

// Clamp makes cursor and window fit n rows.
func (s *Scroll) Clamp(n int) {
	h := max(s.Height, 1)
	s.Cursor = min(max(s.Cursor, 0), max(n-1, 0))
	s.Top = min(s.Top, s.Cursor)
	s.Top = max(s.Top, s.Cursor-h+1)
	s.Top = max(min(s.Top, n-h), 0)
}

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

// Hold puts the cursor on a row of n without moving it in the window.
func (s *Scroll) Hold(row, n int) {
	s.Top += row - s.Cursor
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

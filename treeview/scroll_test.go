package treeview

import "testing"

func TestScrollHolds(t *testing.T) {
	for _, c := range []struct {
		name      string
		s         Scroll
		row, n    int
		top, line int
	}{
		{"rows came above the window", Scroll{Cursor: 12, Top: 10, Height: 5}, 15, 100, 13, 2},
		{"rows above it went", Scroll{Cursor: 12, Top: 10, Height: 5}, 9, 100, 7, 2},
		{"at the top, new rows are seen", Scroll{Cursor: 0, Top: 0, Height: 5}, 2, 100, 0, 2},
		{"at the top, too many for that", Scroll{Cursor: 1, Top: 0, Height: 5}, 8, 100, 7, 1},
		{"at the end", Scroll{Cursor: 99, Top: 95, Height: 5}, 49, 50, 45, 4},
		{"all fits", Scroll{Cursor: 2, Top: 0, Height: 5}, 1, 3, 0, 1},
	} {
		c.s.Hold(c.row, c.n)
		if c.s.Top != c.top || c.s.Cursor-c.s.Top != c.line {
			t.Errorf("%s: row %d on top, cursor on line %d; want %d, %d", c.name, c.s.Top, c.s.Cursor-c.s.Top, c.top, c.line)
		}
	}
}

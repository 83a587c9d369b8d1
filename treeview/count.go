package treeview

import (
	"strconv"

	"treering/internal/term"
)

// counted is a number with its noun: 1 step, 1,200 steps.
func counted(n int, noun string) term.Text {
	if n != 1 {
		noun += "s"
	}
	return term.Lit(Grouped(int64(n)) + " " + noun)
}

// Grouped prints a number with a comma between thousands.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	from := 0
	if n < 0 {
		from = 1
	}
	for i := len(s) - 3; i > from; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

package term

import "github.com/charmbracelet/x/ansi"

// The functions in this file measure and cut lines that this program has
// already composed: Texts with colours and attributes of its own around them.
// They are not for foreign strings.

// StyledWidth returns the width of s in cells, not counting escape sequences.
func StyledWidth(s string) int { return ansi.StringWidth(s) }

// StyledTruncate returns s in at most w cells, with its end replaced by tail
// if it is wider. Escape sequences are kept, those after the cut too.
func StyledTruncate(s string, w int, tail string) string { return ansi.Truncate(s, w, tail) }

// StyledCut returns the cells from left (included) to right (excluded) of s
// with the escape sequences that apply to them.
func StyledCut(s string, left, right int) string { return ansi.Cut(s, left, right) }

// Unstyled returns s without its escape sequences.
func Unstyled(s string) string { return ansi.Strip(s) }

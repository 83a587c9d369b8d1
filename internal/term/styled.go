package term

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// The functions in this file measure and cut lines that this program has
// already composed: Texts with colours and attributes of its own around them.
// They are not for foreign strings.

// StyledWidth returns the width of s in cells, not counting escape sequences.
func StyledWidth(s string) int { return ansi.StringWidth(s) }

// StyledTruncate returns s in at most w cells, with its end replaced by tail
// if it is wider. Escape sequences are kept, those after the cut too.
func StyledTruncate(s string, w int, tail string) string { return ansi.Truncate(s, w, tail) }

// StyledCut returns the cells from left (included) to right (excluded) of s with
// all its escape sequences. Of a character that an end goes through, what is within
// is blank, so that the width is that of the range as far as s goes.
func StyledCut(s string, left, right int) string {
	if right <= left {
		return ""
	}
	var out strings.Builder
	for at := 0; len(s) > 0; {
		if s[0] == 0x1b {
			seq, _, n, _ := ansi.DecodeSequence(s, 0, nil)
			out.WriteString(seq)
			s = s[n:]
			continue
		}
		cluster, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		s = s[len(cluster):]
		if at >= left && at+w <= right {
			out.WriteString(cluster)
		} else {
			out.WriteString(strings.Repeat(" ", max(min(at+w, right)-max(at, left), 0)))
		}
		at += w
	}
	return out.String()
}

// Unstyled returns s without its escape sequences.
func Unstyled(s string) string { return ansi.Strip(s) }

package query

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is a mistake in a query.
type Error struct {
	Query   string
	At      int    // byte offset of the mistake, at most len(Query)
	Column  int    // code points before it, plus one
	Message string // what is wrong
	Hint    string // the next step, "" where there is none
	// Unfinished: the text ends too early, and more of it may mend the mistake. While it
	// is typed there is no need to tell.
	Unfinished bool
}

// Error is one line that tells the place in words.
func (e *Error) Error() string {
	s := fmt.Sprintf("at column %d: %s", e.Column, e.Message)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// caretRoom is how much of a query Caret shows, in code points.
const caretRoom = 72

// Caret is two lines: the query, or what of it is near the mistake, and a caret
// below it. width tells how many cells a text takes; nil counts code points.
// Control characters become blanks; nothing else of the query is made safe.
func (e *Error) Caret(width func(string) int) string {
	if width == nil {
		width = utf8.RuneCountInString
	}
	blank := func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}
	before, after := []rune(e.Query[:e.At]), []rune(e.Query[e.At:])
	lead, tail := "", ""
	if cut := len(before) - caretRoom*2/3; cut > 0 {
		before, lead = before[cut:], "..."
	}
	if room := caretRoom - len(before); len(after) > room {
		after, tail = after[:room], "..."
	}
	left := lead + strings.Map(blank, string(before))
	return left + strings.Map(blank, string(after)) + tail + "\n" + strings.Repeat(" ", width(left)) + "^"
}

// mistake makes an error at a byte offset of text.
func mistake(text string, at int, message, hint string) *Error {
	at = min(max(at, 0), len(text))
	return &Error{
		Query: text, At: at, Column: utf8.RuneCountInString(text[:at]) + 1, Message: message, Hint: hint,
		Unfinished: at == len(text) && len(text) < MaxBytes,
	}
}

// unfinished is a mistake in what the text ends with, or in what it does not end.
func unfinished(e *Error) *Error {
	e.Unfinished = true
	return e
}

// ErrNoStructure is what Bind answers where a query asks for ancestors, depth or
// children and was given no [Structure].
var ErrNoStructure = errors.New("the filter asks for depth, children, ancestors or descendants, and the shape of the tree is not known here")

// nearest returns the name closest to a mistyped one, "" where none is close.
func nearest(typed string, names []string) string {
	best, least := "", max(1, min(2, utf8.RuneCountInString(typed)/2))+1
	typed = strings.ToLower(typed)
	for _, n := range names {
		d := distance(typed, n)
		if len(typed) > 1 && strings.HasPrefix(n, typed) {
			d = 1
		}
		if d < least {
			best, least = n, d
		}
	}
	return best
}

// distance is the number of letters to change, add, leave out or swap with the
// next one between two names. What is far too long is far away.
func distance(a, b string) int {
	if len(a) > 32 || len(b) > 32 {
		return 32
	}
	var rows [3][33]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, up, upper := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(up[j]+1, row[j-1]+1, up[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], upper[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}

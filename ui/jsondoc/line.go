// Package jsondoc shows documents of any size line by line: JSON values that
// fold, differences between two of them, texts and bytes.
//
// An index over the text is made once, away from the program's goroutine; a line
// is made when it is shown. Lines that are longer than a window are broken in
// pieces of a bounded size, so that any place of a text of any length costs the
// same to show.
package jsondoc

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"treering/internal/term"
	"treering/ui/paint"
)

// Span is a piece of a line in one style.
type Span struct {
	Text  term.Text
	Style paint.Style
}

// Look is how documents are drawn. Lines are made with the one of the moment, so a
// document outlives a change of it.
type Look struct {
	Theme *paint.Theme
	Term  term.Profile
}

// Form says how the body of a line is written.
type Form uint8

const (
	// Plain is foreign text.
	Plain Form = iota
	// JSON is a piece of JSON text: what can be read is decoded, what cannot be
	// seen is escaped, so that what is shown is a way to write the same value.
	JSON
)

// Line is one line of a document, before it is broken to a width.
type Line struct {
	Mark  Span   // after the indent, on every row
	Level int    // of indent
	Lead  []Span // a label or a key; the rows after the first begin below what follows it
	Text  term.Text
	Body  string // instead of Text: foreign, of any length
	Form  Form
	Style paint.Style // of Text or Body
	Tail  []Span
}

// Source is what a document is made of. It is immutable and safe to share. Lines
// are counted with everything unfolded.
type Source interface {
	Len() int
	Line(n int, k Look) Line
	// Span is how many lines after line n are folded into it; 0: it does not fold.
	Span(n int) int
	// Folded is what ends line n while it is folded, in place of its tail.
	Folded(n int, k Look) []Span
	// Up is the line that line n folds into, -1 where there is none.
	Up(n int) int
	// Name tells the lines apart that fold into one.
	Name(n int) string
	// Place is where line n begins in the text, in bytes; At is the line of a place.
	Place(n int) int
	At(place int) int
	// Text is what of line n is searched through.
	Text(n int) (string, Form)
	// Same reports whether o shows the same.
	Same(o Source) bool
}

// readable returns a piece of a text as it is shown: a piece of JSON is decoded
// where that can be read, and escaped where it could not be seen.
func readable(s string, f Form) string {
	if f == Plain || plainASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			n := 2
			if r, size := escape(s[i:]); size > 0 {
				n = size
				if visible(r) && r != '"' && r != '\\' && r != utf8.RuneError {
					b.WriteRune(r)
					i += n
					continue
				}
			}
			b.WriteString(s[i : i+n])
			i += n
		case c < utf8.RuneSelf:
			if c < 0x20 || c == 0x7f {
				fmt.Fprintf(&b, `\u%04x`, c)
			} else {
				b.WriteByte(c)
			}
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case visible(r), r == utf8.RuneError && n == 1: // the sanitiser marks bytes that are no text
				b.WriteString(s[i : i+n])
			case r > 0xffff:
				hi, lo := utf16.EncodeRune(r)
				fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
			default:
				fmt.Fprintf(&b, `\u%04x`, r)
			}
			i += n
		}
	}
	return b.String()
}

// ideographicSpace is the one blank besides the usual one that is shown: it is
// two cells wide and ordinary in Chinese and Japanese text.
const ideographicSpace = '\u3000'

func visible(r rune) bool { return unicode.IsPrint(r) || r == ideographicSpace }

// plainASCII reports whether there is nothing to decode or to escape in s.
func plainASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '\\' && i+1 < len(s) && s[i+1] == 'u' {
			return false
		}
	}
	return true
}

// escape reads a \u escape, or the two of a surrogate pair; size is 0 where there
// is none.
func escape(s string) (r rune, size int) {
	const one = len(`\u0000`)
	unit := func(s string) (rune, bool) {
		if len(s) < one || s[:2] != `\u` {
			return 0, false
		}
		n, err := strconv.ParseUint(s[2:one], 16, 16)
		return rune(n), err == nil
	}
	r, ok := unit(s)
	switch {
	case !ok:
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, one
	}
	if low, ok := unit(s[one:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 2 * one
		}
	}
	return utf8.RuneError, one
}

// pieces is into how many pieces of about that size a text is broken.
func pieces(body string, size int) int { return max((len(body)+size-1)/size, 1) }

// piece is where the k-th piece of a text begins and ends.
func piece(body string, f Form, size, k int) (from, to int) {
	return seam(body, f, k*size), seam(body, f, (k+1)*size)
}

// seam moves a place back to where a text may be broken: not within a character,
// nor within an escape.
func seam(s string, f Form, at int) int {
	if at <= 0 {
		return 0
	}
	if at >= len(s) {
		return len(s)
	}
	for n := 0; n < utf8.UTFMax-1 && at > 0 && !utf8.RuneStart(s[at]); n++ {
		at--
	}
	if f == Plain {
		return at
	}
	for j := at - 1; j >= 0 && j >= at-5; j-- {
		if begins(s, j) {
			size := 2
			if s[j+1] == 'u' {
				size = 6
			}
			if j+size > at {
				at = j
			}
			break
		}
	}
	if at >= 6 && begins(s, at-6) {
		if _, size := escape(s[at-6:]); size == 12 {
			at -= 6
		}
	}
	return at
}

// begins reports whether an escape begins at j: a backslash that none before it
// escapes.
func begins(s string, j int) bool {
	if s[j] != '\\' || j+1 >= len(s) {
		return false
	}
	n := 0
	for j > 0 && s[j-1] == '\\' {
		n, j = n+1, j-1
	}
	return n%2 == 0
}

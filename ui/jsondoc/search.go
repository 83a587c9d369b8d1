package jsondoc

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"treering/ui/paint"
)

// Hit is where a match was found.
type Hit struct {
	line, at int // where in the line's text
	raw      bool
}

// exact reports whether capital letters matter: where the query has some.
func exact(query string) bool { return strings.IndexFunc(query, unicode.IsUpper) >= 0 }

// foldIndex finds a query without capital letters, whatever the case.
func foldIndex(text, query string) (at, n int) {
	first, size := utf8.DecodeRuneInString(query)
	// The small letter of the kelvin sign is an ASCII one.
	if first >= utf8.RuneSelf || query == "" || first == 'k' && strings.Contains(text, "\u212a") {
		return slowIndex(text, query)
	}
	lower, upper := byte(first), byte(unicode.ToUpper(first))
	nextLower, nextUpper := -2, -2 // not looked for
	seek := func(c byte, from int) int {
		if i := strings.IndexByte(text[from:], c); i >= 0 {
			return from + i
		}
		return -1
	}
	for at = 0; at+size <= len(text); at++ {
		if nextLower != -1 && nextLower < at {
			nextLower = seek(lower, at)
		}
		if nextUpper != -1 && nextUpper < at {
			nextUpper = seek(upper, at)
		}
		switch {
		case nextLower < 0 && nextUpper < 0:
			return -1, 0
		case nextLower < 0:
			at = nextUpper
		case nextUpper < 0:
			at = nextLower
		default:
			at = min(nextLower, nextUpper)
		}
		if n := foldPrefix(text[at:], query); n > 0 {
			return at, n
		}
	}
	return -1, 0
}

func slowIndex(text, query string) (at, n int) {
	for at = range text {
		if n := foldPrefix(text[at:], query); n > 0 {
			return at, n
		}
	}
	return -1, 0
}

// foldPrefix is the length of the beginning of text that is the query but for
// case, 0 where there is none.
func foldPrefix(text, query string) int {
	n := 0
	for _, q := range query {
		if n >= len(text) {
			return 0
		}
		r, size := rune(text[n]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[n:])
		}
		if r != q && unicode.ToLower(r) != q {
			return 0
		}
		n += size
	}
	return n
}

// Direction says where a search goes.
type Direction int8

// Where a search goes: to the match before the cursor, to that at it or the one
// after, or to the one after.
const (
	Before Direction = iota - 1
	Here
	After
)

// Search looks for a query, round the whole document. What it returns may run away
// from the program's goroutine: it is about the document as it is now.
func (v *View) Search(query string, to Direction) func(context.Context) (Hit, bool, error) {
	s := v.stack
	from := v.cursor
	// In the text of the cursor's line: matches before the one place, or from the
	// other one on, are yet to come.
	var before, after int
	switch {
	case s.len == 0:
	case v.found == v.cursor && v.foundAt >= 0:
		before, after = v.foundAt, v.foundAt
		if to == After {
			after++
		}
	case from.off > 0:
		before = skip(s, from.line) + from.off
		after = before
	}
	return func(ctx context.Context) (Hit, bool, error) {
		if query == "" || s.len == 0 {
			return Hit{}, false, nil
		}
		for k := 0; k <= s.len; k++ {
			if k%4096 == 0 && ctx.Err() != nil {
				return Hit{}, false, ctx.Err()
			}
			n := (from.line + k) % s.len
			if to == Before {
				n = (from.line - k + s.len) % s.len
			}
			text, form := s.Text(n)
			lo, hi := 0, len(text)
			switch {
			case k == 0 && to == Before:
				hi = before
			case k == 0:
				lo = after
			case k == s.len && to == Before:
				lo = before
			case k == s.len:
				hi = after
			}
			if at := seek(text, form, query, lo, hi, to == Before); at >= 0 {
				return Hit{n, at, s.raw}, true, nil
			}
		}
		return Hit{}, false, nil
	}
}

// plainLook is for lines of which nothing is drawn.
var plainLook = Look{Theme: &paint.Theme{}}

// skip is how much of a line's text stands before its body.
func skip(s *stack, n int) int {
	text, _ := s.Text(n)
	return max(len(text)-len(s.Line(n, plainLook).Body), 0)
}

// seek finds a match that begins in lo <= at < hi, the last one where back is
// set. Where it is not what stands there that is shown, the place is estimated.
func seek(text string, form Form, query string, lo, hi int, back bool) int {
	shown, scale := text, 1.0
	if form == JSON && !plainASCII(text) {
		if shown = readable(text, form); len(shown) > 0 {
			scale = float64(len(text)) / float64(len(shown))
		}
	}
	found := -1
	for at := 0; at < len(shown); {
		i, n := index(shown[at:], query)
		if i < 0 {
			break
		}
		if place := int(float64(at+i) * scale); place >= lo && place < hi {
			if found = place; !back {
				return found
			}
		}
		at += i + max(n, 1)
	}
	return found
}

// Find is what stands out; "" is nothing.
func (v *View) Find(query string) {
	if query != v.query {
		v.query, v.foundAt = query, -1
	}
}

// Mark is a place to return to.
type Mark struct{ at place }

// Mark remembers where the cursor is.
func (v *View) Mark() Mark { return Mark{v.cursor} }

// Return puts the cursor where it was.
func (v *View) Return(m Mark) {
	v.cursor, v.foundAt = m.at, -1
	v.settle()
}

// Query is what stands out.
func (v *View) Query() string { return v.query }

// Show puts the cursor on a match, and unfolds what is around it.
func (v *View) Show(h Hit) {
	if h.raw != v.raw || h.line >= v.stack.len {
		return // another document is shown by now
	}
	v.folds.reveal(h.line, v.stack)
	v.kept = nil
	v.cursor = place{line: h.line, off: max(h.at-skip(v.stack, h.line), 0)}
	v.found, v.foundAt = v.cursor, h.at
	// What is found outside the window comes to its middle, with what is around it.
	here, top := v.spotOf(v.cursor), v.spotOf(v.within(v.top))
	if less(here, top) || less(v.walk(top, v.height-1), here) {
		v.top = v.placeOf(v.walk(here, -v.height/2))
	}
	v.settle()
	v.sideways(h)
}

// sideways brings a match of a line that is cut into the window, with some of what is
// before it. One that is further away than can be scrolled is shown wrapped.
func (v *View) sideways(h Hit) {
	if v.wrap {
		return
	}
	m := v.measure(h.line)
	column, skipped := m.indent, skip(v.stack, h.line)
	width := len(v.query)
	if h.at >= skipped && m.Body != "" {
		off := min(h.at-skipped, len(m.Body))
		if off > maxLook {
			v.Wrap(true)
			return
		}
		off = seam(m.Body, m.Form, off)
		column = m.lead + v.look.Term.Sanitise(readable(m.Body[:off], m.Form)).Width()
	}
	switch {
	case column-width >= v.aside && column+2*width < v.aside+v.width:
		return
	case column+2*width < v.width:
		v.aside = 0
	case column > maxAside:
		v.Wrap(true)
		return
	default:
		v.aside = max(column-v.width/3, 0)
	}
	v.kept = nil
}

// maxLook bounds how far into a line its cells are counted, in bytes.
const maxLook = 1 << 20

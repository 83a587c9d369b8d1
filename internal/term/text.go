package term

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Text is one line that is safe to draw. Its zero value is the empty text.
//
// Its fields are unexported, so a string becomes a Text only through
// [Sanitise], [Lit], [Lines] and their like. Texts are comparable and
// immutable. Joining two of them never merges characters across the seam: the
// width of the whole is the sum of the widths, under both rules.
type Text struct {
	s string
	w int
}

// String returns the text as it may be written to a terminal.
func (t Text) String() string { return t.s }

// Width returns the number of terminal cells that t takes.
func (t Text) Width() int { return t.w }

// Empty reports whether t holds nothing. A text of spaces is not empty.
func (t Text) Empty() bool { return t.s == "" }

// Plus returns t followed by more.
func (t Text) Plus(more ...Text) Text {
	n := len(t.s)
	for _, m := range more {
		n += len(m.s)
	}
	if n == len(t.s) {
		return t
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteString(t.s)
	w := t.w
	for _, m := range more {
		b.WriteString(m.s)
		w += m.w
	}
	return Text{b.String(), w}
}

// Join returns the parts with sep between each two of them.
func Join(sep Text, parts ...Text) Text {
	if len(parts) == 0 {
		return Text{}
	}
	all := make([]Text, 0, 2*len(parts)-2)
	for _, p := range parts[1:] {
		all = append(all, sep, p)
	}
	return parts[0].Plus(all...)
}

// Truncate returns t in at most w cells. If t is wider, its end is replaced by
// tail, which is sanitised and counts towards w; a tail that does not fit is
// itself cut.
func (t Text) Truncate(w int, tail string) Text {
	if t.w <= w {
		return t
	}
	e := Sanitise(tail)
	if e.w >= w {
		return e.head(w)
	}
	return t.head(w - e.w).Plus(e)
}

// TruncateLeft returns t in at most w cells. If t is wider, its beginning is
// replaced by head, which is sanitised and counts towards w.
func (t Text) TruncateLeft(w int, head string) Text {
	if t.w <= w {
		return t
	}
	e := Sanitise(head)
	if e.w >= w {
		return e.head(w)
	}
	return e.Plus(t.tail(w - e.w))
}

// TruncateMiddle returns t in at most w cells. If t is wider, its middle is
// replaced by mid, which is sanitised and counts towards w; the beginning gets
// the odd cell. It suits ids, whose two ends tell them apart.
func (t Text) TruncateMiddle(w int, mid string) Text {
	if t.w <= w {
		return t
	}
	e := Sanitise(mid)
	if e.w >= w {
		return e.head(w)
	}
	room := w - e.w
	return t.head(room-room/2).Plus(e, t.tail(room/2))
}

// Cut returns the cells from left (included) to right (excluded) of t. A wide
// character cut in half by either edge leaves a space, so that the result is
// exactly as wide as the part of [left, right) that t covers.
func (t Text) Cut(left, right int) Text {
	left, right = max(left, 0), min(right, t.w)
	if left >= right {
		return Text{}
	}
	head := t.head(right)
	if head.w < right {
		head = head.Pad(right)
	}
	return head.tail(right - left).PadLeft(right - left)
}

// Pad returns t with spaces added at its end up to w cells. A wider t is
// returned as it is.
func (t Text) Pad(w int) Text {
	if t.w >= w {
		return t
	}
	return t.Plus(Spaces(w - t.w))
}

// PadLeft returns t with spaces added at its beginning up to w cells. A wider
// t is returned as it is.
func (t Text) PadLeft(w int) Text {
	if t.w >= w {
		return t
	}
	return Spaces(w - t.w).Plus(t)
}

// Fit returns t in exactly w cells: truncated with tail where it is wider,
// padded with spaces where it is narrower. A negative w counts as 0.
func (t Text) Fit(w int, tail string) Text {
	w = max(w, 0)
	return t.Truncate(w, tail).Pad(w)
}

// Repeat returns n copies of t in a row, none for n below 1.
func (t Text) Repeat(n int) Text {
	if n < 1 || t.s == "" {
		return Text{}
	}
	return Text{strings.Repeat(t.s, n), t.w * n}
}

const blanks = "                                                                                                                                "

// Spaces returns n spaces, none for n below 1.
func Spaces(n int) Text {
	if n < 1 {
		return Text{}
	}
	if n <= len(blanks) {
		return Text{blanks[:n], n}
	}
	return Text{strings.Repeat(" ", n), n}
}

// Wrap breaks t into lines of at most w cells, after a space where the line
// has one and within a word where it has none. Spaces stay at the ends of the
// lines they follow, so that the lines in a row are t again, except for a
// character wider than w, or one that would merge with what is put after the
// line: a mark takes its place. A w below 1 counts as 1. The empty text is one
// empty line.
func (t Text) Wrap(w int) []Text {
	w = max(w, 1)
	lines := make([]Text, 0, t.w/w+1)
	for t.w > w {
		n, width, start := t.fit(w)
		if n == 0 { // a character of two cells in a column of one
			n, width = next(t.s)
			lines = append(lines, Text{elided, ansi.StringWidth(elided)})
		} else {
			if i := breakAt(t.s, n); i < n {
				width -= ansi.StringWidth(t.s[i:n])
				n, start = i, i-1
			}
			lines = append(lines, seal(t.s[:n], start, width))
		}
		t = Text{t.s[n:], t.w - width}
	}
	if t.s != "" || len(lines) == 0 {
		lines = append(lines, t)
	}
	return lines
}

// breakAt returns where to break s, which has to be broken at n at the latest:
// after the last space before n, or at n if there is none or a space follows.
func breakAt(s string, n int) int {
	if s[n] == ' ' {
		return n
	}
	for i := strings.LastIndexByte(s[:n], ' '); i >= 0; i = strings.LastIndexByte(s[:i], ' ') {
		if size, _ := next(s[i:]); size == 1 { // not the base of a combining mark
			return i + 1
		}
	}
	return n
}

// fit returns the length and width of the longest beginning of t that takes at
// most w cells, and where its last character starts.
func (t Text) fit(w int) (n, width, start int) {
	for n < len(t.s) {
		size, cells := next(t.s[n:])
		if width+cells > w {
			break
		}
		start, n, width = n, n+size, width+cells
	}
	return n, width, start
}

// head returns the longest beginning of t that takes at most w cells.
func (t Text) head(w int) Text {
	if t.w <= w {
		return t
	}
	n, width, start := t.fit(w)
	return seal(t.s[:n], start, width)
}

// tail returns the longest end of t that takes at most w cells.
func (t Text) tail(w int) Text {
	if t.w <= w {
		return t
	}
	if w <= 0 {
		return Text{}
	}
	cut, width := 0, t.w
	for width > w {
		n, cw := next(t.s[cut:])
		cut, width = cut+n, width-cw
	}
	return Text{t.s[cut:], width}
}

// next returns the length in bytes and the width in cells of the first
// character of s, which must be the rest of a Text.
func next(s string) (n, w int) {
	if s[0] < 0x80 && (len(s) == 1 || s[1] < 0x80) {
		return 1, 1
	}
	c, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return len(c), w
}

// seal returns s as a Text of w cells. Its last character begins at start; if
// it would merge with whatever a caller may put after the cut, joins not made
// take its place.
func seal(s string, start, w int) Text {
	last := s[start:]
	if len(last) < 2 || !open(last) {
		return Text{s, w}
	}
	lw := ansi.StringWidth(last)
	return Text{s[:start] + strings.Repeat(joint, lw), w - lw + lw*ansi.StringWidth(joint)}
}

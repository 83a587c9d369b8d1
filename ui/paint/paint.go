// Package paint makes styled lines of exact width out of safe texts.
//
// Styles are whole escape sequences made once, and a line is joined from them
// and from [term.Text] only: what did not pass the sanitiser does not compile
// into a line.
package paint

import "treering/internal/term"

// Style is the sequence that switches a look on; "" is the terminal's own.
type Style string

const off = "\x1b[m"

// SGR makes a style from parameters such as "1;31".
func SGR(params string) Style { return Style("\x1b[" + params + "m") }

// Line is one line under construction. It never grows past its width: what
// does not fit is cut with an ellipsis.
type Line struct {
	buf   []byte
	used  int
	width int
	base  Style
}

// NewLine starts a line of that many cells. A base style, if there is one,
// replaces those of the parts: a selected row is of one piece.
func NewLine(width int, base Style) *Line {
	l := &Line{width: max(width, 0), base: base}
	l.buf = make([]byte, 0, l.width+24)
	if base != "" {
		l.buf = append(l.buf, base...)
	}
	return l
}

// Put adds a text in a style.
func (l *Line) Put(s Style, t term.Text) *Line { return l.PutLink(s, t, term.Link{}) }

// PutLink adds a text in a style that leads somewhere.
func (l *Line) PutLink(s Style, t term.Text, link term.Link) *Line {
	left := l.width - l.used
	if left <= 0 || t.Empty() {
		return l
	}
	if t.Width() > left {
		t = t.Truncate(left, "…")
	}
	l.used += t.Width()
	if l.base != "" || s == "" {
		l.buf = append(l.buf, link.Linked(t.String())...)
		return l
	}
	l.buf = append(l.buf, s...)
	l.buf = append(l.buf, link.Linked(t.String())...)
	l.buf = append(l.buf, off...)
	return l
}

// Plain adds a text without a style.
func (l *Line) Plain(t term.Text) *Line { return l.Put("", t) }

// Gap adds blanks.
func (l *Line) Gap(n int) *Line { return l.Put("", term.Spaces(min(n, l.Left()))) }

// To fills with blanks up to a column.
func (l *Line) To(column int) *Line { return l.Gap(column - l.used) }

// Fill adds as much of a repeated text of one cell as is needed to reach a
// column.
func (l *Line) Fill(s Style, t term.Text, column int) *Line {
	return l.Put(s, t.Repeat(min(column, l.width)-l.used))
}

// Used is the number of cells taken.
func (l *Line) Used() int { return l.used }

// Left is the number of cells free.
func (l *Line) Left() int { return l.width - l.used }

// String ends the line, filled up with blanks to its width.
func (l *Line) String() string {
	l.buf = append(l.buf, term.Spaces(l.width-l.used).String()...)
	if l.base != "" {
		l.buf = append(l.buf, off...)
	}
	l.used = l.width
	return string(l.buf)
}

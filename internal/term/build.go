package term

import (
	"fmt"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

const (
	// maxMarks is how many combining marks one character may carry.
	maxMarks = 4
	// maxRunes is how many code points one character may have in all. It
	// bounds conjuncts and joined emoji; real ones stay below it.
	maxRunes = 16
	// maxElided is how many bytes of combining marks one ellipsis stands for,
	// which bounds the work that one cell can cost.
	maxElided = 1024
)

// builder makes a Text rune by rune. The character that may still grow, if
// any, is out[start:].
type builder struct {
	rule  Rule
	limit int

	out   []byte
	width int // of out, in cells

	start  int  // of the growing character; len(out) if there is none
	cells  int  // its width
	marks  int  // the combining marks it has
	runes  int  // the code points it has
	pict   bool // it is an emoji, perhaps with marks for its modifiers after it
	styled bool // a variation selector was dropped after it
}

// run adds s until the result is wider than the limit, and returns how many
// bytes of s it took.
func (b *builder) run(s string) int {
	taken := 0
	for taken < len(s) && b.width <= b.limit {
		s := s[taken:]
		n := 0
		if !b.open() {
			n = b.plain(s)
		}
		if n == 0 {
			n = b.rune(s)
		}
		taken += n
	}
	return taken
}

// text returns what was built. A character that would merge with what a caller
// puts after it is followed by a join not made.
func (b *builder) text() Text {
	if b.open() {
		b.literal(joint)
	}
	return Text{string(b.out), b.width}
}

// open reports whether the growing character merges with a starter.
func (b *builder) open() bool {
	return b.start < len(b.out) && open(string(b.out[b.start:]))
}

// plain adds the plain characters at the beginning of s and returns how many
// bytes they are.
func (b *builder) plain(s string) int {
	n, w := plainRun(s, b.limit-b.width)
	if n == 0 {
		return 0
	}
	b.finished(s[:n], w)
	return n
}

// rune adds the first rune of s, with those that belong to it, and returns how
// many bytes were taken.
func (b *builder) rune(s string) int {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		b.literal(fmt.Sprintf(`\x%02X`, s[0]))
		return 1
	}
	if r < 0x20 {
		b.literal(string(0x2400 + r))
		return 1
	}
	if r == 0x7f {
		b.literal("␡")
		return 1
	}
	if b.rule == Grapheme {
		if n := emojiSequence(s); n > 0 {
			b.begin(s[:n], maxRunes)
			return n
		}
	}
	switch {
	case hidden(r):
		return b.hidden(s, r, size)
	case regional(r):
		if second, n := utf8.DecodeRuneInString(s[size:]); regional(second) {
			b.begin(s[:size+n], 2)
			return size + n
		}
		b.codePoint(r)
		return size
	case b.start < len(b.out) && joins(string(b.out[b.start:]), r):
		return b.join(s, r, size)
	case !starter(r):
		if zeroWidth(r) && b.agrees(holder+string(r)) {
			b.begin(holder+string(r), 2)
			b.marks = 1
		} else {
			b.codePoint(r)
		}
		return size
	}
	b.first(r)
	return size
}

// first begins a character with the starter r.
func (b *builder) first(r rune) {
	if !b.agrees(string(r)) {
		b.codePoint(r)
		return
	}
	b.begin(string(r), 1)
	b.pict = pictograph(r)
}

// join adds r, which follows the growing character and belongs to it.
func (b *builder) join(s string, r rune, size int) int {
	c := string(b.out[b.start:])
	if zeroWidth(r) {
		switch {
		case b.marks == maxMarks:
			b.literal(elided)
			return size + markRun(s[size:])
		case b.agrees(c + string(r)):
			b.extend(r)
			b.marks++
		default:
			b.codePoint(r)
		}
		return size
	}
	if b.runes == 1 {
		base, _ := utf8.DecodeRuneInString(c)
		if syllable, ok := compose(base, r); ok {
			b.drop()
			b.begin(string(syllable), 1)
			return size
		}
	}
	if mark, vowel, ok := sara(r); ok && b.rule == Wcwidth {
		if b.marks < maxMarks {
			b.extend(mark)
		}
		b.begin(string(vowel), 1)
		return size
	}
	switch {
	case b.runes < maxRunes && b.agrees(c+string(r)):
		b.extend(r)
	case starter(r):
		b.literal(joint)
		b.first(r)
	default:
		pict := b.pict && skinTone(r)
		b.codePoint(r)
		b.pict = pict
	}
	return size
}

// hidden adds the rune r at the beginning of s, which must not be shown as it
// is, and returns how many bytes were taken.
func (b *builder) hidden(s string, r rune, size int) int {
	following, _ := utf8.DecodeRuneInString(s[size:])
	switch {
	case r == textVS || r == emojiVS:
		// The style of an emoji, once; anywhere else a selector is a way to
		// hide something and is shown.
		if b.runes == 1 && b.start < len(b.out) && !b.styled && (b.pict || following == keycap) {
			b.styled = true
			return size
		}
	case r == zwj && b.pict && pictograph(following):
		b.literal(joint)
		return size
	case tag(r):
		return b.tags(s)
	}
	b.codePoint(r)
	return size
}

// tags spells the tag characters at the beginning of s in ASCII and returns
// how many bytes were taken.
func (b *builder) tags(s string) int {
	b.literal("«tag ")
	n := 0
	for n < len(s) && b.width <= b.limit {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !tag(r) {
			if r == 0xe007f { // the end of a tag sequence
				n += size
			}
			break
		}
		b.literal(string(r - 0xe0000))
		n += size
	}
	b.literal("»")
	return n
}

// codePoint adds the mark that names r.
func (b *builder) codePoint(r rune) { b.literal(fmt.Sprintf("«U+%04X»", r)) }

// literal adds one of our own marks, to which nothing is added.
func (b *builder) literal(mark string) { b.finished(mark, ansi.StringWidthWc(mark)) }

// finished adds s, which is w cells wide and to which nothing is added.
func (b *builder) finished(s string, w int) {
	b.out = append(b.out, s...)
	b.width += w
	b.start = len(b.out)
	b.cells, b.marks, b.runes = 0, 0, 0
	b.pict, b.styled = false, false
}

// begin starts a character with c, which has n code points.
func (b *builder) begin(c string, n int) {
	b.start = len(b.out)
	b.out = append(b.out, c...)
	b.cells = ansi.StringWidth(c)
	b.width += b.cells
	b.marks, b.runes = 0, n
	b.pict, b.styled = false, false
}

// extend adds r to the growing character.
func (b *builder) extend(r rune) {
	b.out = utf8.AppendRune(b.out, r)
	w := ansi.StringWidth(string(b.out[b.start:]))
	b.width += w - b.cells
	b.cells = w
	b.runes++
}

// drop takes the growing character back.
func (b *builder) drop() {
	b.out = b.out[:b.start]
	b.width -= b.cells
}

// agrees reports whether the character c can be counted on: it has at least
// one cell, and under the Wcwidth rule the same number by both rules.
func (b *builder) agrees(c string) bool {
	w := ansi.StringWidth(c)
	return w > 0 && (b.rule == Grapheme || w == ansi.StringWidthWc(c))
}

// markRun returns the length of the combining marks at the beginning of s, at
// most maxElided bytes of them.
func markRun(s string) int {
	n := 0
	for n < len(s) && n < maxElided {
		r, size := utf8.DecodeRuneInString(s[n:])
		if r < 0x300 || hidden(r) || ansi.StringWidthWc(s[n:n+size]) != 0 {
			break
		}
		n += size
	}
	return n
}

// emojiSequence returns the length of the emoji at the beginning of s that is
// made of several code points: joined by ZWJ, styled, modified or a keycap.
// It returns 0 if s begins with anything else.
func emojiSequence(s string) int {
	window := s[:min(len(s), maxRunes*utf8.UTFMax)]
	c, w := ansi.FirstGraphemeCluster(window, ansi.GraphemeWidth)
	if w == 0 || len(c) < 4 || len(c) == len(window) && len(window) < len(s) {
		return 0
	}
	const (
		base   = iota // expects a pictograph
		styled        // has one, may be styled or modified
		joined        // may only be joined to the next
	)
	state, runes := base, 0
	for _, r := range c {
		runes++
		switch {
		case state == base && pictograph(r):
			state = styled
		case state == styled && (r == emojiVS || skinTone(r)):
			state = joined
		case state != base && r == zwj:
			state = base
		case runes == 1 && (r >= '0' && r <= '9' || r == '#' || r == '*'):
			if c[1:] == string(emojiVS)+string(keycap) {
				return len(c)
			}
			return 0
		default:
			return 0
		}
	}
	if state == base || runes < 2 || runes > maxRunes {
		return 0
	}
	return len(c)
}

package term

import (
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

const (
	joint   = "‿" // a join that is not made
	elided  = "…" // marks left out
	holder  = "◌" // the base of a mark without one
	zwj     = '\u200d'
	textVS  = '\ufe0e'
	emojiVS = '\ufe0f'
	keycap  = '\u20e3'
)

// hidden reports whether r must not reach the terminal because it is invisible,
// steers the terminal or the order of the text, or is no character at all.
func hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r < 0x300:
		return r == 0xad
	case r == 0x2028, r == 0x2029:
		return true
	case r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// tag reports whether r is a tag character that stands for printable ASCII.
func tag(r rune) bool { return r >= 0xe0020 && r <= 0xe007e }

// regional reports whether r is one half of a flag.
func regional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// skinTone reports whether r is an emoji modifier.
func skinTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

// joins reports whether a and b are one grapheme cluster when b follows a,
// where a is one cluster and b one rune.
func joins(a string, b rune) bool {
	var buf [64]byte
	ab := utf8.AppendRune(append(buf[:0], a...), b)
	c, _ := ansi.FirstGraphemeCluster(ab, ansi.GraphemeWidth)
	return len(c) == len(ab)
}

// pictograph reports whether r can take part in a joined emoji.
func pictograph(r rune) bool {
	return r >= 0xa9 && !regional(r) && joins("😀\u200d", r) && !joins("a", r)
}

// starter reports whether r can begin a character after anything that a Text
// may end with, and whether anything that is not an extension of it can follow
// it without merging with it. Two classes that begin a character well but are
// open to the one that follows, leading Hangul consonants and viramas, are
// looked after by open.
func starter(r rune) bool {
	s := string(r)
	return !joins(joint, r) && !joins("\uac00", r) && !joins(s, 'a')
}

// open reports whether the character c merges with a starter that follows it.
func open(c string) bool {
	return joins(c, '\u1100') || joins(c, '\u0915')
}

// zeroWidth reports whether r adds no cell to the character it joins.
func zeroWidth(r rune) bool { return ansi.StringWidthWc(string(r)) == 0 }

// compose returns the Hangul syllable that a and the jamo b that follows it
// stand for.
func compose(a, b rune) (rune, bool) {
	const sBase, lBase, vBase, tBase, lCount, vCount, tCount = 0xac00, 0x1100, 0x1161, 0x11a7, 19, 21, 28
	switch {
	case a >= lBase && a < lBase+lCount && b >= vBase && b < vBase+vCount:
		return sBase + ((a-lBase)*vCount+(b-vBase))*tCount, true
	case a >= sBase && a < sBase+lCount*vCount*tCount && (a-sBase)%tCount == 0 && b > tBase && b < tBase+tCount:
		return a + b - tBase, true
	}
	return 0, false
}

// sara returns the two characters that a Thai or Lao AM vowel is made of. The
// vowel itself is one cell wide under one rule and none under the other; its
// parts look the same and have the same width under both.
func sara(r rune) (mark, vowel rune, ok bool) {
	switch r {
	case 0xe33:
		return 0xe4d, 0xe32, true
	case 0xeb3:
		return 0xecd, 0xeb2, true
	}
	return 0, 0, false
}

// ambiguousWide is whether RUNEWIDTH_EASTASIAN made ambiguous characters two
// cells wide in x/ansi, which reads it when the process starts. The plain
// table was verified for the usual widths only.
var ambiguousWide = ansi.StringWidth("±") == 2

// plain reports whether r is a character by itself with the same width, at
// least one cell, under both rules: never an extension of what precedes it,
// and never merging with a plain or ASCII character on either side. It is a
// shortcut, so it may be false for runes that would qualify.
func plain(r rune) bool {
	if ambiguousWide {
		return false
	}
	lo, hi := 0, len(plainRanges)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if r > plainRanges[m][1] {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo < len(plainRanges) && r >= plainRanges[lo][0]
}

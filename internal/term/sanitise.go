package term

import (
	"math"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Rule says how a terminal counts the cells of a line.
type Rule int

const (
	// Wcwidth counts code point by code point, as terminals do by default.
	// A Text made under it has the same width under both rules, because what
	// they count differently is replaced by marks.
	Wcwidth Rule = iota
	// Grapheme counts user-perceived characters. It may be used once the
	// terminal confirmed that it does so too (DEC private mode 2027). A Text
	// made under it keeps joined emoji and conjuncts whole; only its width
	// by grapheme clusters is meaningful.
	Grapheme
)

// String returns the rule's name.
func (r Rule) String() string {
	if r == Grapheme {
		return "grapheme"
	}
	return "wcwidth"
}

// Profile is what the sanitiser may take for granted about the terminal. Its
// zero value takes nothing for granted and is right everywhere.
type Profile struct {
	// Rule is how the terminal counts cells.
	Rule Rule
	// ASCII is whether only ASCII may be shown. Everything else is spelled as
	// an escape then, and the rule makes no difference.
	ASCII bool
}

// Sanitise turns any string into one safe line under the [Wcwidth] rule.
// Printable ASCII comes back as it is, without an allocation.
func Sanitise(s string) Text { return Profile{}.Sanitise(s) }

// SanitiseN is Sanitise(s).Truncate(maxCells, "…"), but reads no more of s
// than those cells need: at most a few kilobytes a cell, however long s is.
func SanitiseN(s string, maxCells int) Text { return Profile{}.SanitiseN(s, maxCells) }

// SanitiseBytes is [Sanitise] for bytes, which are copied.
func SanitiseBytes(b []byte) Text { return Profile{}.Sanitise(string(b)) }

// Lit makes a Text of one of the program's own constants. Constants pass the
// sanitiser too, so a value passed by mistake does no harm.
func Lit(s string) Text { return Profile{}.Sanitise(s) }

// Sanitise turns any string into one safe line.
func (p Profile) Sanitise(s string) Text {
	return p.sanitise(s, math.MaxInt)
}

// SanitiseBytes is Sanitise for bytes, which are copied.
func (p Profile) SanitiseBytes(b []byte) Text { return p.Sanitise(string(b)) }

// SanitiseN is Sanitise(s).Truncate(maxCells, "…"), but reads no more of s
// than those cells need. Under an ASCII profile the end is a tilde.
func (p Profile) SanitiseN(s string, maxCells int) Text {
	if maxCells <= 0 {
		return Text{}
	}
	tail := elided
	if p.ASCII {
		tail = asciiElided
	}
	return p.sanitise(s, maxCells).Truncate(maxCells, tail)
}

// sanitise converts s until the result is wider than limit or s ends. Where it
// stops early, what it returns is wider than limit by one mark at most.
func (p Profile) sanitise(s string, limit int) Text {
	if p.ASCII {
		return spelled(s, limit)
	}
	n, w := plainRun(s, limit)
	if n == len(s) {
		return Text{s, w}
	}
	if w > limit {
		return Text{s[:n], w}
	}
	b := builder{rule: p.Rule, out: make([]byte, 0, min(len(s), limit)+16), limit: limit}
	b.run(s)
	return b.text()
}

// plainRun returns the length and width of the longest beginning of s that
// consists of plain characters none of which anything in s joins. It stops
// once the run is wider than limit.
func plainRun(s string, limit int) (n, w int) {
	for n < len(s) && w <= limit {
		if c := s[n]; c-0x20 < 0x5f {
			n, w = n+1, w+1
			continue
		} else if c < 0x80 {
			return n, w
		}
		r, size := utf8.DecodeRuneInString(s[n:])
		if !plain(r) {
			// What follows the run may belong to its last character.
			_, size = utf8.DecodeLastRuneInString(s[:n])
			return n - size, w - ansi.StringWidthWc(s[n-size:n])
		}
		n, w = n+size, w+ansi.StringWidthWc(s[n:n+size])
	}
	return n, w
}

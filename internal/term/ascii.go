package term

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// asciiElided stands for what was left out where only ASCII may be shown.
const asciiElided = "~"

// spelled returns s with all that is not printable ASCII as escapes, until the
// result is wider than limit: \xFF for a control or a byte that is not UTF-8,
// \u00E9 and \U0001F600 for other characters.
func spelled(s string, limit int) Text {
	n := 0
	for n < len(s) && n <= limit && s[n]-0x20 < 0x5f {
		n++
	}
	if n == len(s) || n > limit {
		return Text{s[:n], n}
	}
	out := append(make([]byte, 0, min(len(s), limit)+16), s[:n]...)
	for n < len(s) && len(out) <= limit {
		r, size := utf8.DecodeRuneInString(s[n:])
		switch {
		case r >= 0x20 && r < 0x7f:
			out = append(out, byte(r))
		case r < 0x80, r == utf8.RuneError && size == 1:
			out = fmt.Appendf(out, `\x%02X`, s[n])
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04X`, r)
		default:
			out = fmt.Appendf(out, `\U%08X`, r)
		}
		n += size
	}
	return Text{string(out), len(out)}
}

// StyledASCII returns s, a line or several that this program composed, with
// every character that is not ASCII replaced by one that is, as wide as it was.
// Escape sequences stay. It is the last thing before a terminal that knows
// nothing but ASCII: the program's own ornaments have a likeness, and a text
// that was not made under an ASCII [Profile] becomes question marks.
func StyledASCII(s string) string {
	at := strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 })
	if at < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for {
		b.WriteString(s[:at])
		s = s[at:]
		c, w := ansi.FirstGraphemeCluster(s, ansi.WcWidth)
		if like, ok := likeness(c); ok && len(like) == w {
			b.WriteString(like)
		} else {
			b.WriteString(strings.Repeat("?", w))
		}
		s = s[len(c):]
		if at = strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }); at < 0 {
			b.WriteString(s)
			return b.String()
		}
	}
}

// likeness returns what stands for one of the program's own ornaments.
func likeness(c string) (string, bool) {
	switch c {
	case "…":
		return asciiElided, true
	case "·", "–", "—", "─", "╌", "┄":
		return "-", true
	case "━":
		return "=", true
	case "│", "┊", "┆", "▏", "▎", "┃":
		return "|", true
	case "→", "›", "▸", "▶", "»":
		return ">", true
	case "←", "‹", "◂", "«":
		return "<", true
	case "↑":
		return "^", true
	case "↓", "▾":
		return "v", true
	case "×", "✗":
		return "x", true
	case "◆", "●", "•", "★":
		return "*", true
	case "○", "◇":
		return "o", true
	case "✓":
		return "+", true
	case "├", "┤", "┼", "┬", "┴", "┌", "┐", "└", "┘", "╭", "╮", "╰", "╯":
		return "+", true
	case "‿":
		return "_", true
	case "≥":
		return ">", true
	case "≤":
		return "<", true
	case "█", "▓":
		return "#", true
	case "▒", "░":
		return ":", true
	}
	return "", false
}

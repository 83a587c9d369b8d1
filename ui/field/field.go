// Package field edits one line of text.
package field

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"treering/internal/term"
)

// Field is one line being edited. What is typed or pasted is foreign text: it is
// kept as it came and shown sanitised. The zero value is an empty field without
// a bound.
type Field struct {
	// Max is the most that the field takes, in bytes; 0 is no bound. Input that
	// would exceed it is refused whole.
	Max int
	// Mask, where it is set, is how the text is shown: it returns as many
	// characters as it is given.
	Mask func(text string) string

	before, after []rune // the text on either side of the cursor
	size          int    // in bytes
	term          term.Profile
}

// As says how the terminal shows what is typed, from now on, and returns the field.
// Where it is not said, what is right everywhere is shown.
func (f *Field) As(p term.Profile) *Field {
	f.term = p
	return f
}

// New returns a field that holds text, the cursor behind it.
func New(text string, maxBytes int) *Field {
	f := &Field{Max: maxBytes}
	f.Insert(text)
	return f
}

// Text returns what was typed.
func (f *Field) Text() string { return string(f.before) + string(f.after) }

// AtEnd reports whether the cursor is behind all of it.
func (f *Field) AtEnd() bool { return len(f.after) == 0 }

// Empty reports whether nothing is typed.
func (f *Field) Empty() bool { return len(f.before) == 0 && len(f.after) == 0 }

// Set replaces the text and puts the cursor behind it.
func (f *Field) Set(text string) {
	f.before, f.after, f.size = nil, nil, 0
	f.Insert(text)
}

// Cursor is how many bytes of the text are before the cursor.
func (f *Field) Cursor() int { return len(string(f.before)) }

// SetAt replaces the text and puts the cursor behind so many bytes of it. It
// reports whether the text was taken.
func (f *Field) SetAt(text string, cursor int) bool {
	if f.Max > 0 && len(text) > f.Max {
		return false
	}
	cursor = min(max(cursor, 0), len(text))
	f.Set(text[:cursor])
	f.after = []rune(strings.ToValidUTF8(text[cursor:], string(utf8.RuneError)))
	f.size += len(string(f.after))
	return true
}

// Insert adds text at the cursor, as typing or pasting does. It reports whether
// it was taken.
func (f *Field) Insert(text string) bool {
	// A paste may hold anything; bytes that are no text become U+FFFD here, for
	// a terminal does not send them on purpose.
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if f.Max > 0 && f.size+len(text) > f.Max {
		return false
	}
	f.before = append(f.before, []rune(text)...)
	f.size += len(text)
	return true
}

// Key applies an editing key by its name and reports whether it is one. Keys
// that type a character go to [Field.Insert].
func (f *Field) Key(name string) bool {
	switch name {
	case "left", "ctrl+b":
		f.shift(-1)
	case "right", "ctrl+f":
		f.shift(1)
	case "alt+left", "ctrl+left", "alt+b":
		f.shift(-f.wordBefore())
	case "alt+right", "ctrl+right", "alt+f":
		f.shift(f.wordAfter())
	case "home", "ctrl+a":
		f.shift(-len(f.before))
	case "end", "ctrl+e":
		f.shift(len(f.after))
	case "backspace", "ctrl+h", "shift+backspace":
		f.cutBefore(1)
	case "alt+backspace", "ctrl+w":
		f.cutBefore(f.wordBefore())
	case "ctrl+u":
		f.cutBefore(len(f.before))
	case "delete", "ctrl+d":
		f.cutAfter(1)
	case "alt+d", "alt+delete", "ctrl+delete":
		f.cutAfter(f.wordAfter())
	case "ctrl+k":
		f.cutAfter(len(f.after))
	default:
		return false
	}
	return true
}

// shift moves the cursor by n characters, as far as there are any. after is
// kept in reading order: moving is rarer than drawing.
func (f *Field) shift(n int) {
	switch {
	case n < 0:
		n = min(-n, len(f.before))
		at := len(f.before) - n
		f.after = append(append([]rune(nil), f.before[at:]...), f.after...)
		f.before = f.before[:at]
	case n > 0:
		n = min(n, len(f.after))
		f.before = append(f.before, f.after[:n]...)
		f.after = f.after[n:]
	}
}

func (f *Field) cutBefore(n int) {
	at := len(f.before) - min(n, len(f.before))
	f.size -= len(string(f.before[at:]))
	f.before = f.before[:at]
}

func (f *Field) cutAfter(n int) {
	n = min(n, len(f.after))
	f.size -= len(string(f.after[:n]))
	f.after = f.after[n:]
}

// wordBefore is the length of the word before the cursor with the blanks after
// it, wordAfter that of the next with the blanks before it.
func (f *Field) wordBefore() int {
	i := len(f.before)
	for i > 0 && !wordRune(f.before[i-1]) {
		i--
	}
	for i > 0 && wordRune(f.before[i-1]) {
		i--
	}
	return len(f.before) - i
}

func (f *Field) wordAfter() int {
	i := 0
	for i < len(f.after) && !wordRune(f.after[i]) {
		i++
	}
	for i < len(f.after) && wordRune(f.after[i]) {
		i++
	}
	return i
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// View returns the part of the field around the cursor in at most width cells,
// and the column of the cursor in it, which is below width.
func (f *Field) View(width int) (shown term.Text, cursor int) {
	width = max(width, 1)
	before, after := f.before, f.after
	if f.Mask != nil {
		if all := []rune(f.Mask(f.Text())); len(all) == len(before)+len(after) {
			before, after = all[:len(before)], all[len(before):]
		}
	}
	// No more of either side is looked at than can be seen; a character takes a
	// cell at least, but a mark takes several, so nothing is missed.
	left := f.term.Sanitise(string(before[max(len(before)-width, 0):]))
	if room := width - 1; left.Width() > room || len(before) > width {
		left = left.TruncateLeft(room, "…")
	}
	// One character more than fits, so that a cut is seen.
	right := f.term.Sanitise(string(after[:min(len(after), width+1)]))
	return left.Plus(right.Truncate(width-left.Width(), "…")), left.Width()
}

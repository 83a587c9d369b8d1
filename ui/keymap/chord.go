// Package keymap turns a table of intents and their keys into lookups: which
// intent a press means, which presses may follow a prefix, and what is wrong with
// a remapping. It knows no terminal and no event loop.
package keymap

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Chord is one press or several in a row, as the program is told of them and as
// they are written: "x", "ctrl+x", "g x".
type Chord string

// Presses are the chord's presses in order.
func (c Chord) Presses() []string { return strings.Fields(string(c)) }

// Join is the chord of presses that follow one another.
func Join(presses ...string) Chord { return Chord(strings.Join(presses, " ")) }

// begins reports whether c is a true beginning of d.
func (c Chord) begins(d Chord) bool { return strings.HasPrefix(string(d), string(c)+" ") }

// Modified reports whether a press of the chord needs a modifier other than the
// shift of a capital letter.
func (c Chord) Modified() bool {
	for _, p := range c.Presses() {
		if i := strings.IndexByte(p, '+'); i > 0 && i < len(p)-1 {
			return true
		}
	}
	return false
}

// maxPresses bounds a chord.
const maxPresses = 3

// modifiers in the order in which they are written.
var modifiers = [...]string{"ctrl", "alt", "shift", "meta", "hyper", "super"}

// named are the keys that type no character, and how else they are called.
var named = map[string]string{
	"enter": "enter", "return": "enter", "tab": "tab", "backspace": "backspace", "esc": "esc", "escape": "esc", "space": "space",
	"up": "up", "down": "down", "left": "left", "right": "right", "home": "home", "end": "end",
	"pgup": "pgup", "pageup": "pgup", "pgdown": "pgdown", "pgdn": "pgdown", "pagedown": "pgdown",
	"insert": "insert", "ins": "insert", "delete": "delete", "del": "delete", "begin": "begin", "find": "find", "select": "select",
	"menu": "menu", "pause": "pause", "printscreen": "printscreen",
}

// function reports whether a name is that of a function key, f1 to f24.
func function(name string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "f"))
	return err == nil && n >= 1 && n <= 24 && name == "f"+strconv.Itoa(n)
}

// ChordError is a text that names no key.
type ChordError struct{ Text, Reason string }

func (e *ChordError) Error() string { return fmt.Sprintf("%q is no key: %s", e.Text, e.Reason) }

// Parse reads a chord as a user writes it and returns it as the program is told
// of it: modifiers in order, names in their short form. The error is a
// *[ChordError].
func Parse(text string) (Chord, error) {
	fields := strings.Fields(text)
	switch {
	case len(fields) == 0:
		return "", &ChordError{text, "it is empty; the space bar is called space"}
	case len(fields) > maxPresses:
		return "", &ChordError{text, fmt.Sprintf("no more than %d presses make a chord", maxPresses)}
	}
	for i, f := range fields {
		press, reason := parsePress(f)
		if reason != "" {
			return "", &ChordError{text, reason}
		}
		fields[i] = press
	}
	return Join(fields...), nil
}

func parsePress(text string) (press, reason string) {
	key, held := text, []string(nil)
	// The key may be a plus itself: alone, or at the end of "ctrl++".
	if parts := strings.Split(strings.TrimSuffix(text, "+"), "+"); len(parts) > 1 || text != "+" && strings.HasSuffix(text, "+") {
		if strings.HasSuffix(text, "++") {
			parts = append(strings.Split(strings.TrimSuffix(text, "++"), "+"), "+")
		} else if strings.HasSuffix(text, "+") {
			return "", "a key is missing after the last +"
		}
		key, held = parts[len(parts)-1], parts[:len(parts)-1]
	}
	has := map[string]bool{}
	for _, m := range held {
		m = strings.ToLower(m)
		switch m {
		case "control":
			m = "ctrl"
		case "option", "opt":
			m = "alt"
		}
		switch {
		case !slices.Contains(modifiers[:], m):
			return "", fmt.Sprintf("%q is no modifier; there are %s", m, strings.Join(modifiers[:], ", "))
		case has[m]:
			return "", m + " is there twice"
		}
		has[m] = true
	}
	r, size := utf8.DecodeRuneInString(key)
	switch name, ok := named[strings.ToLower(key)]; {
	case ok:
		key = name
	case function(strings.ToLower(key)):
		key = strings.ToLower(key)
	case size == 0 || size < len(key):
		return "", fmt.Sprintf("there is no key %q", key)
	case r == utf8.RuneError || !unicode.IsPrint(r):
		return "", "it types nothing that can be shown"
	case len(has) == 1 && has["shift"] && unicode.ToUpper(r) != unicode.ToLower(r):
		return string(unicode.ToUpper(r)), "" // which is how it arrives
	case len(has) > 0:
		key = string(unicode.ToLower(r))
	}
	var b strings.Builder
	for _, m := range modifiers {
		if has[m] {
			b.WriteString(m + "+")
		}
	}
	return b.String() + key, ""
}

// The letters of other scripts by the keys that they are on, beside those of a US
// keyboard. Terminals that do not tell which key was pressed send the letter only.
const (
	cyrillic = "йцукенгшщзфывапролдячсмитьіЙЦУКЕНГШЩЗФЫВАПРОЛДЯЧСМИТЬІ"
	onCyr    = "qwertyuiopasdfghjklzxcvbnmsQWERTYUIOPASDFGHJKLZXCVBNMS"
	greek    = "ςερτυθιοπασδφγηξκλζχψωβνμΕΡΤΥΘΙΟΠΑΣΔΦΓΗΞΚΛΖΧΨΩΒΝΜ"
	onGreek  = "wertyuiopasdfghjklzxcvbnmERTYUIOPASDFGHJKLZXCVBNM"
)

// Latin is the letter that a US keyboard has on the key of a Cyrillic or Greek
// letter; ok is false for any other text.
func Latin(text string) (letter string, ok bool) {
	r, size := utf8.DecodeRuneInString(text)
	if size == 0 || size < len(text) {
		return "", false
	}
	for _, layout := range [...][2]string{{cyrillic, onCyr}, {greek, onGreek}} {
		n := 0
		for _, l := range layout[0] {
			if l == r {
				return layout[1][n : n+1], true
			}
			n++
		}
	}
	return "", false
}

package field

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"treering/internal/term"
)

// Area is a text of several lines being edited. Like a [Field] it keeps what was
// typed as it came and shows it sanitised. The text may be as long as Max allows:
// what a key costs depends on the line that it changes, not on the text. The zero
// value is an empty area without a bound.
type Area struct {
	// Max is the most that the area takes, in bytes; 0 is no bound. Input that would
	// exceed it is refused whole.
	Max int

	// buf is the text with a gap at the cursor, from buf[at] up to buf[rest].
	buf      []byte
	at, rest int
	rev      int
	want     int // the column that up and down keep to, in characters; -1: the present one
	term     term.Profile
}

// As says how the terminal shows what is typed, from now on, and returns the area.
// Where it is not said, what is right everywhere is shown.
func (a *Area) As(p term.Profile) *Area {
	a.term = p
	return a
}

// NewArea returns an area that holds text, the cursor at its end.
func NewArea(text string, maxBytes int) *Area {
	a := &Area{Max: maxBytes, want: -1}
	a.Insert(text)
	return a
}

// Text returns what was typed.
func (a *Area) Text() string {
	var b strings.Builder
	b.Grow(a.Len())
	b.Write(a.buf[:a.at])
	b.Write(a.buf[a.rest:])
	return b.String()
}

// Head is the beginning of what was typed, at most n bytes and no part of a
// character.
func (a *Area) Head(n int) string {
	if n >= a.Len() {
		return a.Text()
	}
	head := a.slice(0, n)
	for i := 1; i < utf8.UTFMax && i <= len(head); i++ {
		if last := head[len(head)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRuneInString(last) {
				head = head[:len(head)-i]
			}
			break
		}
	}
	return head
}

// Len is the length of the text in bytes.
func (a *Area) Len() int { return len(a.buf) - (a.rest - a.at) }

// Empty reports whether nothing is typed.
func (a *Area) Empty() bool { return a.Len() == 0 }

// Rev changes whenever the text does.
func (a *Area) Rev() int { return a.rev }

// Set replaces the text and puts the cursor at its end.
func (a *Area) Set(text string) {
	a.buf, a.at, a.rest = nil, 0, 0
	a.rev++
	a.Insert(text)
}

// Insert adds text at the cursor, as typing or pasting does. It reports whether
// it was taken. Line ends of other systems become newlines.
func (a *Area) Insert(text string) bool {
	if a.Max > 0 && a.Len()+len(text) > a.Max {
		return false
	}
	if strings.ContainsRune(text, '\r') {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	if !utf8.ValidString(text) {
		if text = strings.ToValidUTF8(text, string(utf8.RuneError)); a.Max > 0 && a.Len()+len(text) > a.Max {
			return false
		}
	}
	if len(text) == 0 {
		return true
	}
	if a.rest-a.at < len(text) {
		a.grow(len(text))
	}
	copy(a.buf[a.at:], text)
	a.at += len(text)
	a.changed()
	return true
}

// minGap is the least room that is made for typing.
const minGap = 256

func (a *Area) grow(n int) {
	gap := n + max(a.Len()/2, minGap)
	grown := make([]byte, a.Len()+gap)
	copy(grown, a.buf[:a.at])
	copy(grown[a.at+gap:], a.buf[a.rest:])
	a.buf, a.rest = grown, a.at+gap
}

func (a *Area) changed() {
	a.rev++
	a.want = -1
}

// Key applies an editing key by its name and reports whether it is one. Up on the
// first line and down on the last are none: they lead out of the area.
func (a *Area) Key(name string) bool {
	switch name {
	case "up", "down":
		return a.vertical(name == "down")
	case "left", "ctrl+b":
		a.moveTo(a.before(a.at))
	case "right", "ctrl+f":
		a.moveTo(a.at + a.width(a.rest))
	case "alt+left", "ctrl+left", "alt+b":
		a.moveTo(a.wordBefore())
	case "alt+right", "ctrl+right", "alt+f":
		a.moveTo(a.at + a.wordAfter())
	case "home", "ctrl+a":
		a.moveTo(a.lineStart())
	case "end", "ctrl+e":
		a.moveTo(a.at + a.lineRest())
	case "ctrl+home":
		a.moveTo(0)
	case "ctrl+end":
		a.moveTo(a.Len())
	case "backspace", "ctrl+h", "shift+backspace":
		a.cutFrom(a.before(a.at))
	case "alt+backspace", "ctrl+w":
		a.cutFrom(a.wordBefore())
	case "ctrl+u":
		from := a.lineStart()
		if from == a.at {
			from = a.before(a.at) // an empty line goes as a whole
		}
		a.cutFrom(from)
	case "delete", "ctrl+d":
		a.cutAfter(a.width(a.rest))
	case "alt+d", "alt+delete", "ctrl+delete":
		a.cutAfter(a.wordAfter())
	case "ctrl+k":
		n := a.lineRest()
		if n == 0 {
			n = a.width(a.rest)
		}
		a.cutAfter(n)
	case "ctrl+j", "alt+enter", "shift+enter":
		a.Insert("\n")
	default:
		return false
	}
	a.want = -1
	return true
}

// moveTo puts the cursor on a byte of the text.
func (a *Area) moveTo(at int) {
	at = min(max(at, 0), a.Len())
	switch n := at - a.at; {
	case n < 0:
		copy(a.buf[a.rest+n:a.rest], a.buf[at:a.at])
		a.at, a.rest = at, a.rest+n
	case n > 0:
		copy(a.buf[a.at:], a.buf[a.rest:a.rest+n])
		a.at, a.rest = at, a.rest+n
	}
}

// MoveTo puts the cursor on a byte of the text, counted from its start.
func (a *Area) MoveTo(at int) {
	a.moveTo(at)
	a.want = -1
}

func (a *Area) cutFrom(at int) {
	if at < a.at {
		a.at = at
		a.changed()
	}
}

func (a *Area) cutAfter(n int) {
	if n > 0 {
		a.rest += n
		a.changed()
	}
}

// before is where the character before at begins; width how long the one at
// buf[i], behind the gap, is.
func (a *Area) before(at int) int {
	_, n := utf8.DecodeLastRune(a.buf[:at])
	return at - n
}

func (a *Area) width(i int) int {
	_, n := utf8.DecodeRune(a.buf[i:])
	return n
}

func (a *Area) wordBefore() int {
	at := a.at
	for seen := false; at > 0; {
		r, n := utf8.DecodeLastRune(a.buf[:at])
		if wordRune(r) {
			seen = true
		} else if seen {
			break
		}
		at -= n
	}
	return at
}

func (a *Area) wordAfter() int {
	i := a.rest
	for seen := false; i < len(a.buf); {
		r, n := utf8.DecodeRune(a.buf[i:])
		if wordRune(r) {
			seen = true
		} else if seen {
			break
		}
		i += n
	}
	return i - a.rest
}

// lineStart is where the cursor's line begins, lineRest how much of it is behind
// the cursor.
func (a *Area) lineStart() int { return bytes.LastIndexByte(a.buf[:a.at], '\n') + 1 }

func (a *Area) lineRest() int {
	if n := bytes.IndexByte(a.buf[a.rest:], '\n'); n >= 0 {
		return n
	}
	return len(a.buf) - a.rest
}

// vertical moves by a line, and reports whether there is one.
func (a *Area) vertical(down bool) bool {
	start := a.lineStart()
	want := a.want
	if want < 0 {
		want = utf8.RuneCount(a.buf[start:a.at])
	}
	if down {
		n := a.lineRest()
		if a.rest+n == len(a.buf) {
			return false
		}
		a.moveTo(a.at + n + 1)
	} else {
		if start == 0 {
			return false
		}
		a.moveTo(bytes.LastIndexByte(a.buf[:start-1], '\n') + 1)
	}
	for range want {
		if a.rest == len(a.buf) || a.buf[a.rest] == '\n' {
			break
		}
		a.moveTo(a.at + a.width(a.rest))
	}
	a.want = want
	return true
}

// Row is a line of an area as it is shown: the part of the text from byte From up
// to byte To, behind Lead cells that say that there is more before.
type Row struct {
	Text     term.Text
	From, To int
	Lead     int
}

// View returns at most height lines around the cursor, each of at most width
// cells, two at least, and where among them the cursor is.
func (a *Area) View(width, height int) (rows []Row, x, y int) {
	width, height = max(width, 2), max(height, 1)
	start := a.lineStart()
	here, x := a.cursorRow(start, width)
	var above []Row
	// Half the window is above the cursor, more where the text ends below it.
	below := a.below(width, height-1)
	for at := start; at > 0 && len(above) < height-1 && len(above)+min(len(below), height/2) < height-1; {
		from := bytes.LastIndexByte(a.buf[:at-1], '\n') + 1
		above = append(above, a.row(from, at-1, width))
		at = from
	}
	for i := len(above) - 1; i >= 0; i-- {
		rows = append(rows, above[i])
	}
	y = len(rows)
	rows = append(rows, here)
	return append(rows, below[:min(len(below), height-len(rows))]...), x, y
}

// cursorRow is the cursor's own line, which begins at start: the part around the
// cursor where it is too long.
func (a *Area) cursorRow(start, width int) (r Row, x int) {
	// A character may take no cell of its own, but no more than a few in a row.
	from := start
	const each = utf8.UTFMax
	if a.at-start > width*each {
		from = a.at - width*each
		for from < a.at && !utf8.RuneStart(a.buf[from]) {
			from++
		}
	}
	left := a.term.Sanitise(string(a.buf[from:a.at]))
	lead := 0
	if from > start || left.Width() > width-1 {
		for left.Width() > width-2 && from < a.at {
			// The mark or the spelling of a character takes no more cells than this.
			const most = 10
			for range max((left.Width()-width+2)/most, 1) {
				_, n := utf8.DecodeRune(a.buf[from:a.at])
				from += n
			}
			left = a.term.Sanitise(string(a.buf[from:a.at]))
		}
		left, lead = term.Lit("…").Plus(left), 1
	}
	to := a.rest + min(a.lineRest(), width*each)
	for to < len(a.buf) && !utf8.RuneStart(a.buf[to]) {
		to++
	}
	right := a.term.Sanitise(string(a.buf[a.rest:to]))
	x = left.Width()
	return Row{left.Plus(right.Truncate(max(width-x, 0), "…")), from, a.at + to - a.rest, lead}, x
}

// row is a line that the cursor is not on, from its start. Both places are bytes
// of the text before the gap.
func (a *Area) row(from, to, width int) Row {
	return a.shownRow(a.buf[from:to], from, width)
}

// below are the lines after the cursor's.
func (a *Area) below(width, most int) []Row {
	var out []Row
	at := a.rest + a.lineRest()
	for at < len(a.buf) && len(out) < most {
		at++
		end := len(a.buf)
		if n := bytes.IndexByte(a.buf[at:], '\n'); n >= 0 {
			end = at + n
		}
		out = append(out, a.shownRow(a.buf[at:end], at-(a.rest-a.at), width))
		at = end
	}
	return out
}

func (a *Area) shownRow(line []byte, from, width int) Row {
	shown := line[:min(len(line), width*utf8.UTFMax+1)]
	for len(shown) < len(line) && len(shown) > 0 && !utf8.RuneStart(line[len(shown)]) {
		shown = shown[:len(shown)-1]
	}
	return Row{a.term.Sanitise(string(shown)).Truncate(width, "…"), from, from + len(line), 0}
}

// Find returns the row and the column of a byte of the text; ok is false where it
// is not among the rows. A place beyond what a row shows is at its end.
func (a *Area) Find(rows []Row, at int) (x, y int, ok bool) {
	for i, r := range rows {
		if at < r.From || at > r.To {
			continue
		}
		x = r.Text.Width()
		if text := a.slice(r.From, at); len(text) <= 4*utf8.UTFMax*(x+1) {
			x = min(x, r.Lead+a.term.Sanitise(text).Width())
		}
		return x, i, true
	}
	return 0, 0, false
}

// slice is a part of the text.
func (a *Area) slice(from, to int) string {
	if to <= a.at {
		return string(a.buf[from:to])
	}
	gap := a.rest - a.at
	if from >= a.at {
		return string(a.buf[from+gap : to+gap])
	}
	return string(a.buf[from:a.at]) + string(a.buf[a.rest:to+gap])
}

// LineColumn is the line and the column, both from 1, of a byte of a text; the
// column counts characters.
func LineColumn(text string, at int) (line, column int) {
	at = min(max(at, 0), len(text))
	start := strings.LastIndexByte(text[:at], '\n') + 1
	return 1 + strings.Count(text[:at], "\n"), 1 + utf8.RuneCountInString(text[start:at])
}

package jsondoc

import (
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"treering/internal/term"
	"treering/ui/paint"
)

// Text is a text as it is stored, line by line.
type Text struct {
	text  string
	lines []int32 // where they begin
	style paint.Style
}

// NewText makes the index of a text of at most 2 GiB. It takes 4 bytes a line.
func NewText(text string, style paint.Style) *Text {
	t := &Text{text: text, style: style, lines: make([]int32, 1, strings.Count(text, "\n")+1)}
	for at := 0; ; {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 || at+n+1 == len(text) {
			return t
		}
		at += n + 1
		t.lines = append(t.lines, int32(at))
	}
}

func (t *Text) line(n int) string {
	end := len(t.text)
	if n+1 < len(t.lines) {
		end = int(t.lines[n+1])
	}
	line := strings.TrimSuffix(t.text[t.lines[n]:end], "\n")
	return strings.TrimSuffix(line, "\r")
}

// Len is the number of lines.
func (t *Text) Len() int { return len(t.lines) }

// Line makes line n.
func (t *Text) Line(n int, _ Look) Line { return Line{Body: t.line(n), Style: t.style} }

// Span is 0: texts do not fold.
func (t *Text) Span(int) int { return 0 }

// Folded is nothing.
func (t *Text) Folded(int, Look) []Span { return nil }

// Up is -1.
func (t *Text) Up(int) int { return -1 }

// Name is the line's number.
func (t *Text) Name(n int) string { return fmt.Sprint(n) }

// Place is where line n begins, in bytes.
func (t *Text) Place(n int) int { return int(t.lines[n]) }

// At is the line of a place.
func (t *Text) At(place int) int {
	return max(sort.Search(len(t.lines), func(n int) bool { return int(t.lines[n]) > place })-1, 0)
}

// Text is the line.
func (t *Text) Text(n int) (string, Form) { return t.line(n), Plain }

// Same reports whether o is the same text.
func (t *Text) Same(o Source) bool {
	u, ok := o.(*Text)
	return ok && u.text == t.text && u.style == t.style
}

// Bytes is what is no text, in hexadecimal.
type Bytes struct {
	data string
}

// bytesALine is how many are on one line.
const bytesALine = 16

// NewStored shows what is stored, as text where it is text.
func NewStored(data string) Source {
	if utf8.ValidString(data) && strings.IndexByte(data, 0) < 0 {
		return NewText(data, "")
	}
	return &Bytes{data}
}

func (b *Bytes) line(n int) string {
	return b.data[n*bytesALine : min((n+1)*bytesALine, len(b.data))]
}

// Len is the number of lines.
func (b *Bytes) Len() int { return max((len(b.data)+bytesALine-1)/bytesALine, 1) }

// Line is the place, the bytes and the ASCII characters among them.
func (b *Bytes) Line(n int, k Look) Line {
	line := b.line(n)
	digits := hex.EncodeToString([]byte(line))
	var out strings.Builder
	for i := 0; i < bytesALine; i++ {
		if i == bytesALine/2 {
			out.WriteByte(' ')
		}
		if i < len(line) {
			out.WriteString(digits[2*i : 2*i+2])
		} else {
			out.WriteString("  ")
		}
		out.WriteByte(' ')
	}
	seen := []byte(line)
	for i, c := range seen {
		if c < 0x20 || c > 0x7e {
			seen[i] = '.'
		}
	}
	return Line{
		Lead: []Span{{term.Lit(fmt.Sprintf("%08x  ", n*bytesALine)), k.Theme.Dim}},
		Text: term.Sanitise(out.String()),
		Tail: []Span{{term.Lit(" "), ""}, {term.SanitiseBytes(seen), k.Theme.Dim}},
	}
}

// Span is 0: bytes do not fold.
func (b *Bytes) Span(int) int { return 0 }

// Folded is nothing.
func (b *Bytes) Folded(int, Look) []Span { return nil }

// Up is -1.
func (b *Bytes) Up(int) int { return -1 }

// Name is the line's number.
func (b *Bytes) Name(n int) string { return fmt.Sprint(n) }

// Place is where line n begins, in bytes.
func (b *Bytes) Place(n int) int { return n * bytesALine }

// At is the line of a place.
func (b *Bytes) At(place int) int { return min(max(place/bytesALine, 0), b.Len()-1) }

// Text is the bytes of the line.
func (b *Bytes) Text(n int) (string, Form) { return b.line(n), Plain }

// Same reports whether o is the same bytes.
func (b *Bytes) Same(o Source) bool {
	c, ok := o.(*Bytes)
	return ok && c.data == b.data
}

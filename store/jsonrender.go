package store

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Compact returns j without white space between its tokens. Text that is not
// JSON is returned as it is.
func Compact(j JSON) JSON {
	d, err := ParseDoc(j)
	if err != nil {
		return j
	}
	var b strings.Builder
	b.Grow(len(j))
	d.render(&b, renderOptions{})
	return JSON(b.String())
}

// Strict renders j as strict JSON on one line for a reader that knows no more
// than the standard: NaN and the infinities become the strings "NaN",
// "Infinity" and "-Infinity", and non-finite says so; C0, DEL, C1 and bidi
// controls are escaped, so that the line is safe to print. The value is otherwise
// the same. An absent value is null.
func Strict(j JSON) (text JSON, nonFinite bool) {
	if j == "" {
		return Null, false
	}
	d, err := ParseDoc(j)
	if err != nil {
		return Quote(string(j)), false
	}
	var b strings.Builder
	b.Grow(len(j))
	nonFinite = d.render(&b, renderOptions{strict: true})
	return JSON(b.String()), nonFinite
}

// EscapeControls returns valid JSON text with DEL, C1 and bidi controls escaped.
func EscapeControls(j JSON) JSON {
	var b strings.Builder
	escapeControls(&b, string(j))
	return JSON(b.String())
}

// Indent writes j one member or element a line, indented by two spaces a level
// up to maxIndent levels (deeper levels keep that indent, so that depth does not
// cost width). It stops quietly once maxLines lines are written; 0 means no
// bound. Text that is not JSON is written as it is.
func Indent(w io.Writer, j JSON, maxIndent, maxLines int) (truncated bool, err error) {
	d, perr := ParseDoc(j)
	if perr != nil {
		_, err = io.WriteString(w, string(j))
		return false, err
	}
	lw := &lineWriter{w: w, left: maxLines, bounded: maxLines > 0}
	d.render(lw, renderOptions{indent: true, maxIndent: maxIndent, stop: lw.full})
	return lw.cut, lw.err
}

type stringWriter interface {
	WriteString(string) (int, error)
}

type renderOptions struct {
	strict    bool
	indent    bool
	maxIndent int
	stop      func() bool
}

// render writes the tokens in order, without recursion.
func (d *Doc) render(b stringWriter, o renderOptions) (nonFinite bool) {
	type open struct {
		end    int
		object bool
		first  bool
		key    bool // the next token is a key
	}
	var stack []open
	put := func(s string) { b.WriteString(s) } //nolint:errcheck // lineWriter keeps its error; Builder has none
	newline := func() {
		if !o.indent {
			return
		}
		put("\n" + strings.Repeat("  ", min(len(stack), o.maxIndent)))
	}
	for i := 0; ; {
		for len(stack) > 0 && i >= stack[len(stack)-1].end {
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			newline()
			if top.object {
				put("}")
			} else {
				put("]")
			}
		}
		if i >= len(d.toks) || o.stop != nil && o.stop() {
			return nonFinite
		}
		isKey := false
		if len(stack) > 0 {
			top := &stack[len(stack)-1]
			if !top.object || top.key {
				if !top.first {
					put(",")
				}
				top.first = false
				newline()
			}
			isKey = top.object && top.key
			if top.object {
				top.key = !top.key
			}
		}
		t := d.toks[i]
		switch t.kind {
		case Object, Array:
			brackets := "[]"
			if t.kind == Object {
				brackets = "{}"
			}
			if int(t.next) == i+1 {
				put(brackets)
			} else {
				put(brackets[:1])
				stack = append(stack, open{end: int(t.next), object: t.kind == Object, first: true, key: true})
			}
		case NonFinite:
			nonFinite = true
			if o.strict {
				put(`"` + d.src[t.start:t.end] + `"`)
			} else {
				put(d.src[t.start:t.end])
			}
		case String:
			if o.strict {
				escapeControls(b, d.src[t.start:t.end])
			} else {
				put(d.src[t.start:t.end])
			}
		default:
			put(d.src[t.start:t.end])
		}
		if isKey {
			put(":")
			if o.indent {
				put(" ")
			}
		}
		i++
	}
}

// escapeControls copies a piece of JSON text and escapes what could drive a
// terminal: DEL, C1 and the bidi controls. C0 cannot stand in a JSON string.
func escapeControls(b stringWriter, s string) {
	from := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c == 0x7f {
				b.WriteString(s[from:i]) //nolint:errcheck // see render
				b.WriteString(`\u007f`)  //nolint:errcheck // see render
				from = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r >= 0x80 && r <= 0x9f || r == 0x061c || r == 0x200e || r == 0x200f ||
			r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			b.WriteString(s[from:i])                 //nolint:errcheck // see render
			b.WriteString(fmt.Sprintf("\\u%04x", r)) //nolint:errcheck // see render
			from = i + n
		}
		i += n
	}
	b.WriteString(s[from:]) //nolint:errcheck // see render
}

// lineWriter counts lines and remembers the first error.
type lineWriter struct {
	w       io.Writer
	left    int
	bounded bool
	cut     bool
	err     error
}

func (l *lineWriter) full() bool {
	l.cut = l.cut || l.bounded && l.left <= 0
	return l.cut || l.err != nil
}

func (l *lineWriter) WriteString(s string) (int, error) {
	if l.bounded {
		l.left -= strings.Count(s, "\n")
	}
	if l.err != nil || l.cut {
		return 0, l.err
	}
	n, err := io.WriteString(l.w, s)
	l.err = err
	return n, err
}

package foreign

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// listIn finds the list of objects in a JSON document that begins so: the document
// itself, or the first such member of the object that it is. It returns the offset
// behind the bracket, or 0; alone says that the document is the list, as far as can be
// told, and not a line that others follow.
func listIn(head []byte) (offset int64, alone bool) {
	depth, quoted, inList := 0, false, false
	for i := 0; i < len(head); i++ {
		switch c := head[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' && (depth == 0 || depth == 1 && !inList) && offset == 0 && beginsObject(head[i+1:]):
			offset, alone = int64(i+1), depth == 0
			if !alone {
				return offset, false
			}
			depth++
		case c == '{', c == '[':
			inList = inList || depth == 0 && c == '['
			depth++
		case c == '}', c == ']':
			if depth--; depth <= 0 {
				return offset, alone && len(bytes.TrimLeft(head[i+1:], blanks)) == 0
			}
		case depth == 0 && c > ' ' && c < 0x80:
			return 0, false // no document begins so
		}
	}
	return offset, alone
}

// blanks may stand between the parts of a document.
const blanks = " \t\r\n"

func beginsObject(text []byte) bool {
	text = bytes.TrimLeft(text, blanks)
	return len(text) > 0 && text[0] == '{'
}

// readElements reads the whole elements of a list in a JSON document as ReadLines reads
// lines: from a position, which is behind the list's bracket or behind an element, to
// the end of the list. An element that has no end yet is held back.
func readElements(ctx context.Context, f io.ReaderAt, file int32, from Position, visit func(Line) error) (Position, error) {
	r := elementReader{at: from, file: file, line: from.Line}
	buf := make([]byte, chunk)
	for base := from.Offset; ; {
		if err := ctx.Err(); err != nil {
			return r.at, err
		}
		n, err := f.ReadAt(buf, base)
		if verr := r.take(buf[:n], base, visit); verr != nil || r.over {
			r.at.Open = r.over // nothing is missing
			return r.at, verr
		}
		if errors.Is(err, io.EOF) {
			return r.at, nil
		}
		if err != nil {
			return r.at, err
		}
		base += int64(n)
	}
}

// elementReader keeps what was read of an element.
type elementReader struct {
	at      Position
	file    int32
	line    int64 // line feeds so far
	inside  bool  // of an element
	begin   Place // of that
	kept    []byte
	depth   int
	quoted  bool
	escaped bool
	over    bool // the list has ended
}

// take looks at the next bytes, which are at base.
func (r *elementReader) take(b []byte, base int64, visit func(Line) error) error {
	from := 0 // of the element, in b
	for i, c := range b {
		if c == '\n' {
			r.line++
		}
		switch {
		case r.escaped:
			r.escaped = false
			continue
		case r.quoted && c == '\\':
			r.escaped = true
			continue
		case r.quoted:
			if c != '"' {
				continue
			}
			r.quoted = false
			if r.depth > 0 {
				continue
			}
		case !r.inside:
			switch {
			case c == ']':
				r.over = true
				return nil
			case c <= ' ' || c == ',':
				continue
			}
			r.inside, from = true, i
			r.begin = Place{File: r.file, Offset: base + int64(i), Line: r.line + 1}
			fallthrough
		default:
			switch c {
			case '"':
				r.quoted = true
				continue
			case '{', '[':
				r.depth++
				continue
			case '}', ']':
				if r.depth--; r.depth > 0 {
					continue
				}
			case ',', ' ', '\t', '\r', '\n':
				if r.depth > 0 {
					continue
				}
				r.depth = -1
			default:
				continue
			}
			if r.depth < 0 { // a word or a number ends before this
				line := r.line
				if c == '\n' {
					line--
				}
				if err := r.end(b[from:i], Position{Offset: base + int64(i), Line: line}, visit); err != nil {
					return err
				}
				if r.over = c == ']'; r.over {
					return nil
				}
				continue
			}
		}
		if err := r.end(b[from:i+1], Position{Offset: base + int64(i) + 1, Line: r.line}, visit); err != nil {
			return err
		}
	}
	if r.inside {
		r.keep(b[from:])
	}
	return nil
}

// keep keeps more of an element, unless it is too long.
func (r *elementReader) keep(b []byte) {
	r.begin.Length += int64(len(b))
	if r.kept = append(r.kept, b...); r.begin.Length > MaxLine { // both its ends are kept
		r.kept = append(r.kept[:edgeBytes], r.kept[len(r.kept)-edgeBytes:]...)
	}
}

// end hands an element on, of which b is the rest, and behind which it goes on after.
func (r *elementReader) end(b []byte, after Position, visit func(Line) error) error {
	text := b
	if r.begin.Length > 0 {
		r.keep(b)
		text = r.kept
	} else {
		r.begin.Length = int64(len(b))
	}
	l := Line{Place: r.begin, After: after}
	if l.TooLong = r.begin.Length > MaxLine; l.TooLong {
		l.Begin, l.End = text[:edgeBytes], text[len(text)-edgeBytes:]
	} else {
		l.Text, l.Mended = Clean(text, false)
	}
	r.inside, r.depth, r.kept = false, 0, r.kept[:0]
	if err := visit(l); err != nil {
		return err
	}
	r.at = l.After
	return nil
}

package foreign

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"treering/store"
)

// MaxLine is the longest line that is loaded, in bytes. Lines of some megabytes are
// ordinary: pictures and the output of tools.
const MaxLine = 64 << 20

// Position is how far a file was read: always to the end of a whole line.
type Position struct {
	Offset int64 // of the next byte
	Line   int64 // number of lines before it
	// Open says that the last line had no end yet, but was a whole value; or that the
	// list whose elements are read has ended.
	Open bool
}

// Line is one whole line.
type Line struct {
	Place Place
	// Text is without its end, without NULs around it, and valid UTF-8. It is empty
	// where TooLong. It is the reader's own until the next line.
	Text []byte
	// TooLong says that the line is longer than [MaxLine] and was not kept.
	TooLong bool
	// Begin and End are what such a line begins and ends with.
	Begin, End []byte
	// Mended says that bytes which are no UTF-8 were replaced.
	Mended bool
	// Zeros says that there is nothing in it but zero bytes, which a crash leaves.
	Zeros bool
	// After is where to go on behind it.
	After Position
}

// ReadLines reads the whole lines of a file from a position to its end, and returns
// where to go on. Lines end at a line feed only: other line separators are ordinary
// characters within JSON. What a writer has begun and not ended is held back, unless
// it is a JSON value already, which needs no end.
func ReadLines(ctx context.Context, f io.ReaderAt, file int32, from Position, visit func(Line) error) (Position, error) {
	r := lineReader{f: f, file: file, at: from, buf: make([]byte, 0, 1<<16), base: from.Offset}
	for {
		if err := ctx.Err(); err != nil {
			return r.at, err
		}
		line, whole, err := r.next()
		if err != nil {
			return r.at, err
		}
		if !whole {
			return r.tail(line, visit)
		}
		if err := visit(line); err != nil {
			return r.at, err
		}
	}
}

// lineReader keeps what was read and not yet handed out in buf, which begins at base
// in the file.
type lineReader struct {
	f    io.ReaderAt
	file int32
	at   Position
	buf  []byte
	base int64
	used int // of buf
	end  bool
	// what a line that is too long begins with
	begin []byte
}

// edgeBytes is how much is kept of a line that is too long, of both its ends.
const edgeBytes = 4 << 10

const chunk = 1 << 18

// next returns the next line; whole is false for what the file ends with.
func (r *lineReader) next() (line Line, whole bool, err error) {
	searched := r.used
	skipped := int64(0) // of a line that is too long to keep
	for {
		if i := bytes.IndexByte(r.buf[searched:], '\n'); i >= 0 {
			end := searched + i
			line = r.cut(end, skipped)
			r.at.Offset += int64(end-r.used) + skipped + 1
			r.used = end + 1
			if r.at.Open && len(line.Text) == 0 && line.Place.Length == 0 {
				// The end of a line that was handed out before it had one.
				r.at.Open = false
				return r.next()
			}
			r.at.Open = false
			r.at.Line++
			return line, true, nil
		}
		searched = len(r.buf)
		if r.end {
			return r.cut(len(r.buf), skipped), false, nil
		}
		if skipped > 0 || len(r.buf)-r.used > MaxLine {
			if skipped == 0 {
				r.begin = append(r.begin[:0], r.buf[r.used:][:edgeBytes]...)
			}
			drop := len(r.buf) - edgeBytes // the line may end now
			skipped += int64(drop - r.used)
			r.used = drop
		}
		searched -= r.used // what was handed out is dropped
		if err := r.fill(); err != nil {
			return Line{}, false, err
		}
	}
}

// fill reads the next chunk. What was handed out makes room for it.
func (r *lineReader) fill() error {
	if r.used > 0 {
		n := copy(r.buf, r.buf[r.used:])
		r.base += int64(r.used)
		r.buf, r.used = r.buf[:n], 0
	}
	have := len(r.buf)
	if cap(r.buf)-have < chunk {
		grown := make([]byte, have, max(2*cap(r.buf), have+chunk))
		copy(grown, r.buf)
		r.buf = grown
	}
	n, err := r.f.ReadAt(r.buf[have:have+chunk], r.base+int64(have))
	r.buf = r.buf[:have+n]
	if errors.Is(err, io.EOF) {
		r.end, err = true, nil
	}
	return err
}

// cut makes the line that begins at used and ends before end.
func (r *lineReader) cut(end int, skipped int64) Line {
	raw := r.buf[r.used:end]
	line := Line{Place: Place{File: r.file, Offset: r.at.Offset, Length: int64(len(raw)) + skipped, Line: r.at.Line + 1}}
	line.After = Position{Offset: line.Place.Offset + line.Place.Length + 1, Line: line.Place.Line}
	if line.TooLong = skipped > 0 || len(raw) > MaxLine; line.TooLong {
		line.Begin, line.End = r.begin, raw[max(0, len(raw)-edgeBytes):]
		if skipped == 0 {
			line.Begin = raw[:edgeBytes]
		}
		return line
	}
	line.Text, line.Mended = Clean(raw, line.Place.Offset == 0)
	line.Zeros = len(line.Text) == 0 && bytes.IndexByte(raw, 0) >= 0
	return line
}

// tail decides what to do with what has no end yet.
func (r *lineReader) tail(line Line, visit func(Line) error) (Position, error) {
	if len(line.Text) == 0 || line.Text[len(line.Text)-1] != '}' {
		return r.at, nil
	}
	if !whole(string(line.Text)) {
		return r.at, nil // half a line: its writer is not done
	}
	if err := visit(line); err != nil {
		return r.at, err
	}
	r.at.Offset += line.Place.Length
	r.at.Line++
	r.at.Open = true
	return r.at, nil
}

// whole reports whether a text is one object or several run together, of which the last
// is as complete as the first.
func whole(text string) bool {
	for text != "" {
		n, ended := objectLength(text)
		if _, err := store.ParseJSON(text[:n]); !ended || err != nil {
			return false
		}
		text = strings.TrimLeft(text[n:], blanks)
	}
	return true
}

// byteOrderMark is what some editors begin a file with.
const byteOrderMark = "\xef\xbb\xbf"

// Clean makes a line fit to be parsed: without a carriage return at its end, a byte
// order mark at the start of the file, and the NULs that a crash can leave around
// what was written. Bytes that are no UTF-8 are replaced, and mended says so.
func Clean(raw []byte, atStart bool) (text []byte, mended bool) {
	text = raw
	if atStart {
		text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	}
	if text = bytes.Trim(text, "\x00 \t\r"); text == nil {
		text = []byte{} // Trim has nil for what is trimmed away; a line without text is one of a known length
	}
	if !utf8.Valid(text) {
		return bytes.ToValidUTF8(text, []byte("\uFFFD")), true
	}
	return text, false
}

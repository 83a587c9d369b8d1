package term

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	xterm "golang.org/x/term"
)

// IsTerminal reports whether f is a terminal. A nil f is none.
func IsTerminal(f *os.File) bool {
	return f != nil && xterm.IsTerminal(int(f.Fd()))
}

// Size returns the width and height in cells of the terminal that f is. It
// fails if f is not a terminal or the terminal does not tell.
func Size(f *os.File) (width, height int, err error) {
	if f == nil {
		return 0, 0, fmt.Errorf("size of terminal: %w", os.ErrInvalid)
	}
	width, height, err = xterm.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0, fmt.Errorf("size of terminal %s: %w", f.Name(), err)
	}
	return width, height, nil
}

// output is the profile for text that scrolls by: nothing is laid out after
// it, so joined emoji and conjuncts stay whole.
var output = Profile{Rule: Grapheme}

// WritePlain writes s to w as it is, or, if w is a terminal, sanitised line by
// line as by [Lines].
func WritePlain(w io.Writer, isTerminal bool, s string) error {
	if !isTerminal {
		_, err := io.WriteString(w, s)
		return err
	}
	var b strings.Builder
	for line := range output.EachLine(s) {
		b.WriteString(line.s)
		b.WriteByte('\n')
	}
	safe := b.String()
	if !strings.HasSuffix(s, "\n") {
		safe = strings.TrimSuffix(safe, "\n")
	}
	_, err := io.WriteString(w, safe)
	return err
}

// maxLine is how many bytes of one line a [SafeWriter] holds back before it
// writes what it has.
const maxLine = 1 << 16

// SafeWriter sanitises a stream of text on its way to a terminal. It writes
// whole lines; Flush writes the rest. It is not safe for concurrent use.
type SafeWriter struct {
	w    io.Writer
	safe bool
	held []byte // the beginning of a line
}

// NewSafeWriter returns a writer to w that sanitises if isTerminal, and passes
// everything through as it is otherwise.
func NewSafeWriter(w io.Writer, isTerminal bool) *SafeWriter {
	return &SafeWriter{w: w, safe: isTerminal}
}

// Write implements [io.Writer]. On an error of the underlying writer the bytes
// of p are lost.
func (s *SafeWriter) Write(p []byte) (int, error) {
	if !s.safe {
		return s.w.Write(p)
	}
	s.held = append(s.held, p...)
	n := bytes.LastIndexByte(s.held, '\n') + 1
	if n == 0 && len(s.held) > maxLine {
		n = wholeRunes(s.held)
	}
	if err := s.write(n); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what is held back.
func (s *SafeWriter) Flush() error { return s.write(len(s.held)) }

func (s *SafeWriter) write(n int) error {
	if n == 0 {
		return nil
	}
	err := WritePlain(s.w, true, string(s.held[:n]))
	s.held = append(s.held[:0], s.held[n:]...)
	return err
}

// wholeRunes returns the length of b without a rune that is cut at its end,
// and without a \r whose \n may follow.
func wholeRunes(b []byte) int {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) || b[i] == '\r' {
				return i
			}
			break
		}
	}
	return len(b)
}

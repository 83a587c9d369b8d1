package ui

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
)

// screenOut is the terminal as the renderer writes to it, which counts what is
// written.
type screenOut struct {
	*os.File
	writes atomic.Int64
	meter  *meter
}

// Write implements io.Writer.
func (s *screenOut) Write(b []byte) (int, error) {
	s.writes.Add(1)
	s.meter.wrote(len(b))
	return s.File.Write(b)
}

// WriteString implements io.StringWriter.
func (s *screenOut) WriteString(text string) (int, error) {
	s.writes.Add(1)
	s.meter.wrote(len(text))
	return s.File.WriteString(text)
}

// handover gives the terminal away and takes it back.
type handover struct {
	p   *tea.Program
	out *screenOut // nil: not a terminal
}

// give puts the terminal back for others.
func (h *handover) give() error { return h.p.ReleaseTerminal() }

const (
	// rest is how long the renderer is given to end after the terminal was given
	// away. It stops its clock as the last thing; where that comes after the next one
	// set it, nothing would ever be drawn again.
	rest = 20 * time.Millisecond
	// drawTime is how long it has to draw after the terminal was taken back, before it
	// is tried again.
	drawTime = 300 * time.Millisecond
	takes    = 4
)

// take takes the terminal back and sees to it that the screen is drawn.
func (h *handover) take() error {
	for range takes {
		time.Sleep(rest)
		before := int64(0)
		if h.out != nil {
			before = h.out.writes.Load()
		}
		if err := h.p.RestoreTerminal(); err != nil {
			return err
		}
		if h.out == nil {
			return nil
		}
		for end := time.Now().Add(drawTime); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if h.out.writes.Load() > before {
				return nil
			}
		}
		if err := h.give(); err != nil {
			return err
		}
	}
	return errNotDrawn
}

var errNotDrawn = errors.New("the screen cannot be drawn again")

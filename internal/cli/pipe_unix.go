//go:build !windows

package cli

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// isClosedPipe reports whether a write failed because nobody reads any more.
func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// keepPipeErrors makes a write to a closed standard output return an error. By
// default it ends the process with a signal, which no exit code could be made of.
func keepPipeErrors() (undo func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGPIPE)
	return func() { signal.Stop(c) }
}

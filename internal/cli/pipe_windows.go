package cli

import (
	"errors"
	"io"
	"syscall"
)

// What Windows answers to a write into a pipe without a reader.
const (
	errorBrokenPipe = syscall.Errno(109)
	errorNoData     = syscall.Errno(232)
)

// isClosedPipe reports whether a write failed because nobody reads any more.
func isClosedPipe(err error) bool {
	return errors.Is(err, errorBrokenPipe) || errors.Is(err, errorNoData) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// keepPipeErrors has nothing to do here: no signal comes with the error.
func keepPipeErrors() (undo func()) { return func() {} }

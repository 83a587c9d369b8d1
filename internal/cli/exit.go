package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"treering/internal/term"
	"treering/store"
)

// Exit codes.
const (
	exitDone     = 0 // also an equal append retry and a same-kind create
	exitFailed   = 1 // a refused value, or a failure
	exitUsage    = 2 // arguments that cannot be parsed, a store that cannot be opened, a write without --rw
	exitNotFound = 3
	exitConflict = 4 // somebody else's write, changed contents, or a state in which the command does not apply
	exitFound    = 5 // check found something
)

// exitHelp is what --help and the man page say of them.
const exitHelp = `0  done
1  a value was refused, or something failed
2  arguments or --data cannot be parsed, the store cannot be opened, a write without --rw
3  not found: session, node, parent, execution, timer, queue entry
4  a conflict: somebody else was first, other contents, or a state in which it does not apply
5  check found something`

// codedError is an error whose exit code does not follow from its kind.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// usagef is an error in what was typed.
func usagef(format string, args ...any) error {
	return &codedError{exitUsage, fmt.Errorf(format, args...)}
}

// notFoundf is an error of a thing that is not there.
func notFoundf(format string, args ...any) error {
	return &codedError{exitNotFound, fmt.Errorf(format, args...)}
}

// conflictf is an error of a state in which the command does not apply.
func conflictf(format string, args ...any) error {
	return &codedError{exitConflict, fmt.Errorf(format, args...)}
}

// exitCode maps every kind of error to its code.
func exitCode(err error) int {
	var coded *codedError
	var opening *openError
	switch {
	case err == nil, errors.Is(err, errOutputClosed):
		return exitDone
	case errors.Is(err, errFound):
		return exitFound
	case errors.Is(err, context.Canceled):
		return exitFailed // wherever the interrupt came
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &opening):
		return exitUsage
	case errors.Is(err, store.ErrOutcomeUnknown):
		return exitFailed
	case errors.Is(err, store.ErrReadOnly):
		return exitUsage
	case errors.Is(err, store.ErrNotFound):
		return exitNotFound
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNodeConflict),
		errors.Is(err, store.ErrKindMismatch), errors.Is(err, store.ErrWrongState):
		return exitConflict
	}
	return exitFailed
}

// maxErrorCells bounds the error line: an id may be long.
const maxErrorCells = 2000

// report writes the one line that says what went wrong, without what hide takes out.
func report(w io.Writer, err error, hide func(string) string) {
	text := hide(err.Error())
	if errors.Is(err, context.Canceled) && !errors.Is(err, store.ErrOutcomeUnknown) {
		text = "interrupted"
	}
	var folded []string
	for part := range strings.Lines(text) {
		if part = strings.TrimSpace(part); part != "" {
			folded = append(folded, part)
		}
	}
	// Where standard error cannot be written there is nobody left to tell.
	fmt.Fprintf(w, "treering: %s\n", term.SanitiseN(strings.Join(folded, "; "), maxErrorCells)) //nolint:errcheck // see above
	var panicked *term.PanicError
	if errors.As(err, &panicked) {
		fmt.Fprintln(w, "Please report this, with what follows:") //nolint:errcheck // see above
		for line := range (term.Profile{}).EachLine(panicked.Stack) {
			fmt.Fprintln(w, line.Truncate(maxErrorCells, "…")) //nolint:errcheck // see above
		}
	}
}

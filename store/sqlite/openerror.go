package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// OpenError says what is wrong with a file and what to do next. Err matches one of
// [store.ErrStoreNotFound], [store.ErrNotAStore], [store.ErrReadOnly],
// [store.ErrBusy], [store.ErrSourceChanged] or [fs.ErrPermission], beside the
// system's or SQLite's own error; it is only the latter where none of them fits,
// as with a full disk.
type OpenError struct {
	Path   string // as given by the caller
	Reason string // "it is a directory"
	Hint   string // "name a file in it"; "" where there is nothing to advise
	Err    error
}

// Error is one line whatever the path holds.
func (e *OpenError) Error() string {
	s := strconv.Quote(e.Path) + ": " + e.Reason
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap returns Err.
func (e *OpenError) Unwrap() error { return e.Err }

// both is an error that matches a sentinel and its cause.
func both(sentinel, cause error) error {
	if cause == nil {
		return sentinel
	}
	return fmt.Errorf("%w: %w", sentinel, cause)
}

// systemError words an error of a system call on path; what is the file or
// directory that it concerns, seen from the user.
func systemError(path, what string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &OpenError{path, what + " does not exist", "check the spelling", both(store.ErrStoreNotFound, err)}
	case errors.Is(err, fs.ErrPermission):
		return &OpenError{path, what + " cannot be read: permission denied", "ask its owner, or copy it where you may read it", err}
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return &OpenError{path, what + " cannot be read: " + pe.Err.Error(), "", err}
	}
	return &OpenError{path, what + " cannot be read: " + err.Error(), "", err}
}

// sqliteError turns an error that SQLite gave while path was open into one that
// names the file and the next step. Errors that are not SQLite's, such as the
// caller's own, and errors in SQL pass unchanged; so does an error that was
// translated already.
func sqliteError(ctx context.Context, path string, err error) error {
	if err == nil {
		return nil
	}
	var oe *OpenError
	if errors.As(err, &oe) {
		return err
	}
	code := sqlite.ErrCode(err)
	switch code.ToPrimary() {
	case sqlite.ResultInterrupt:
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", strconv.Quote(path), ctx.Err())
		}
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultProtocol:
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", strconv.Quote(path), ctx.Err())
		}
		return &OpenError{path, "another process holds its lock", "try again when that process is done", both(store.ErrBusy, err)}
	case sqlite.ResultNotADB:
		return &OpenError{path, "it is not a SQLite database, or it is encrypted", "", both(store.ErrNotAStore, err)}
	case sqlite.ResultCorrupt:
		return &OpenError{path, "its content is damaged", "try sqlite3's .recover on a copy", both(store.ErrNotAStore, err)}
	case sqlite.ResultFull:
		return &OpenError{path, "the disk is full; nothing was written", "make room and try again", err}
	case sqlite.ResultReadOnly:
		if code == sqlite.ResultReadOnlyDBMoved {
			return &OpenError{path, "it was moved or deleted while it was open", "open it again", both(store.ErrSourceChanged, err)}
		}
		return &OpenError{path, "it cannot be written", "check the permissions of the file and of its directory", both(store.ErrReadOnly, err)}
	case sqlite.ResultCantOpen:
		return &OpenError{path, "SQLite cannot open it, its log or its journal", "check the permissions of the file and of its directory", err}
	case sqlite.ResultIOErr:
		return &OpenError{path, "reading or writing it failed: " + code.Message(), "check the disk", err}
	case sqlite.ResultNoMem:
		return &OpenError{path, "there is not enough memory", "", err}
	}
	return err
}

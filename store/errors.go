package store

import (
	"errors"
	"fmt"
)

// Sentinels, matched with errors.Is. Most arrive wrapped in a type that names
// the thing concerned.
var (
	// ErrNotFound: no such session (missing or expired alike), node, execution or
	// timer. Contract, Tree stores: "missing" and "expired" are one answer.
	ErrNotFound = errors.New("not found")
	// ErrConflict: somebody else's write came first. Wrapped in *ConflictError.
	ErrConflict = errors.New("version conflict")
	// ErrNodeConflict: an append that would change what is stored. Wrapped in *NodeConflictError.
	ErrNodeConflict = errors.New("node conflict")
	// ErrKindMismatch: the live tree of that name has another kind. Wrapped in *KindMismatchError.
	ErrKindMismatch = errors.New("kind mismatch")
	// ErrBadCursor: the cursor is cut, changed, or belongs to another query or store.
	ErrBadCursor = errors.New("bad cursor: start again without one")
	// ErrOutcomeUnknown: the wait for a write was abandoned after it had been taken. Reload, or retry
	// with the same ids.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
	// ErrReadOnly: the store was opened for reading.
	ErrReadOnly = errors.New("the store is read-only")
	// ErrBusy: another process holds the store's lock.
	ErrBusy = errors.New("the store is busy")
	// ErrWrongState: the command does not apply in the execution's state. Wrapped in *StateError.
	ErrWrongState = errors.New("not possible in this state")

	// ErrStoreNotFound: there is nothing at the locator.
	ErrStoreNotFound = errors.New("no store there")
	// ErrNotAStore: what is at the locator is not a store that can be read.
	ErrNotAStore = errors.New("not a store")
	// ErrNotBuilt: a kind of store that this version does not open yet.
	ErrNotBuilt = errors.New("not built yet")
	// ErrSourceChanged: the file was replaced or changed in the middle of a read, again and again.
	ErrSourceChanged = errors.New("the source keeps changing")
	// ErrMissingTable: the store lacks the table that this call reads.
	ErrMissingTable = errors.New("table missing")

	// ErrEmptyID: an id or kind is empty.
	ErrEmptyID = errors.New("empty")
	// ErrTooLong: a value is over its bound.
	ErrTooLong = errors.New("too long")
	// ErrNotText: an id or kind is not valid UTF-8 or holds a NUL.
	ErrNotText = errors.New("not plain text")
	// ErrNotObject: data that is not a JSON object.
	ErrNotObject = errors.New("not a JSON object")
	// ErrTooManyIDs: more ids than one call takes.
	ErrTooManyIDs = errors.New("too many ids")
	// ErrBadTTL: a negative or non-finite time to live.
	ErrBadTTL = errors.New("bad time to live")
	// ErrBadTime: a non-finite timer.
	ErrBadTime = errors.New("bad time")
	// ErrBadVersion: a version that no commit can follow.
	ErrBadVersion = errors.New("bad version")
	// ErrBadLimit: a negative limit.
	ErrBadLimit = errors.New("bad limit")
)

// NotFoundError names what is missing. It matches [ErrNotFound].
type NotFoundError struct {
	What string // "session", "node", "parent", "execution", "timer"
	ID   string
	In   string // the session, where What is a node or a parent
}

func (e *NotFoundError) Error() string {
	if e.In != "" {
		return fmt.Sprintf("%s %q not found in session %q", e.What, e.ID, e.In)
	}
	return fmt.Sprintf("%s %q not found", e.What, e.ID)
}

// Unwrap returns [ErrNotFound].
func (e *NotFoundError) Unwrap() error { return ErrNotFound }

// ConflictError is a lost compare-and-swap: the caller held Expected, the store
// holds Found. Nothing of the commit was written and the execution's Version is
// as the caller had it. It matches [ErrConflict].
type ConflictError struct {
	ID       string
	Expected int64
	Found    *int64 // nil: no such execution
}

func (e *ConflictError) Error() string {
	if e.Found == nil {
		return fmt.Sprintf("execution %q: expected version %d, but it is not in the store", e.ID, e.Expected)
	}
	return fmt.Sprintf("execution %q: expected version %d, found %d; reload it and try again", e.ID, e.Expected, *e.Found)
}

// Unwrap returns [ErrConflict].
func (e *ConflictError) Unwrap() error { return ErrConflict }

// The reasons of a [NodeConflictError].
const (
	ReasonSecondRoot = "the tree has a root already"
	ReasonParent     = "it is stored with another parent"
	ReasonKind       = "it is stored with another kind"
	ReasonData       = "it is stored with other data"
)

// NodeConflictError is an append that would have changed a stored node or added
// a second root. Nothing was written. It matches [ErrNodeConflict].
type NodeConflictError struct {
	Session, Node, Reason string
}

func (e *NodeConflictError) Error() string {
	return fmt.Sprintf("node %q of session %q: %s", e.Node, e.Session, e.Reason)
}

// Unwrap returns [ErrNodeConflict].
func (e *NodeConflictError) Unwrap() error { return ErrNodeConflict }

// KindMismatchError is a live session created again with another kind. It
// matches [ErrKindMismatch].
type KindMismatchError struct {
	Session, Stored, Given string
}

func (e *KindMismatchError) Error() string {
	return fmt.Sprintf("session %q is of kind %q, not %q", e.Session, e.Stored, e.Given)
}

// Unwrap returns [ErrKindMismatch].
func (e *KindMismatchError) Unwrap() error { return ErrKindMismatch }

// ValueError is a refused value. Err is one of the sentinels [ErrEmptyID],
// [ErrTooLong], [ErrNotText], [ErrNotObject], [ErrTooManyIDs], [ErrBadTTL],
// [ErrBadTime], [ErrBadVersion], [ErrBadLimit] or a *[SyntaxError].
type ValueError struct {
	Field  string // "session id", "data", "ttl"
	Reason string
	Err    error
}

func (e *ValueError) Error() string { return e.Field + ": " + e.Reason }

// Unwrap returns Err.
func (e *ValueError) Unwrap() error { return e.Err }

// RowError is a stored row that could not be read whole. Lists carry it on the
// entry; a Load returns it. Raw is what is stored.
type RowError struct {
	Table string // "executions", "outbox", "trace"
	Key   string // the row's key as text
	Err   error
	Raw   []byte
	// Summary is what could be read of an execution, its columns at least, with this
	// error as its Bad. Only a Load sets it: in a list the entry itself says that.
	Summary *Summary
}

func (e *RowError) Error() string {
	return fmt.Sprintf("%s row %q cannot be read: %v", e.Table, e.Key, e.Err)
}

// Unwrap returns Err.
func (e *RowError) Unwrap() error { return e.Err }

// StateError is a control command that does not apply: an execution that is DONE
// cannot be suspended. Nothing was written. It matches [ErrWrongState].
type StateError struct {
	ID      string
	Command string // "suspend", "resume", "terminate", "cancel"
	Status  Status
}

func (e *StateError) Error() string {
	return fmt.Sprintf("cannot %s execution %q: it is %s", e.Command, e.ID, e.Status)
}

// Unwrap returns [ErrWrongState].
func (e *StateError) Unwrap() error { return ErrWrongState }

// OutcomeUnknown wraps a context's error after a write had been handed over. The
// result matches both [ErrOutcomeUnknown] and the cause.
func OutcomeUnknown(cause error) error {
	return fmt.Errorf("%w: the write was handed over before the wait ended (%w); reload before trying again", ErrOutcomeUnknown, cause)
}

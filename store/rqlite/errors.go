package rqlite

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnavailable: no node answers, or none that does knows a leader. Wrapped in
// *[UnavailableError].
var ErrUnavailable = errors.New("the rqlite cluster is not available")

// ErrDenied: the cluster refuses the user. Wrapped in *[NodeError].
var ErrDenied = errors.New("the rqlite cluster refuses access")

// UnavailableError says what each node that was asked answered. Nothing was done. It
// matches [ErrUnavailable].
type UnavailableError struct {
	Nodes []error // one for each node, the last one that it gave
}

func (e *UnavailableError) Error() string {
	said := make([]string, len(e.Nodes))
	for i, err := range e.Nodes {
		said[i] = err.Error()
	}
	return "rqlite: no node can be used: " + strings.Join(said, "; ")
}

// Unwrap returns [ErrUnavailable] and what the nodes answered.
func (e *UnavailableError) Unwrap() []error {
	return append([]error{ErrUnavailable}, e.Nodes...)
}

// NodeError is what one node answered instead of a result.
type NodeError struct {
	Node string // host:port
	Text string // what it said, or why it said nothing
	Err  error
}

func (e *NodeError) Error() string { return e.Node + ": " + e.Text }

// Unwrap returns Err.
func (e *NodeError) Unwrap() error { return e.Err }

// SQLError is what the server said of a statement. A transaction in which it happened
// was rolled back.
type SQLError struct {
	Statement int // counted from 0
	Text      string
}

func (e *SQLError) Error() string { return "rqlite: " + e.Text }

// lost makes an outcome unknown of whatever kept the answer away.
func lost(node string, err error) error {
	return fmt.Errorf("the answer of node %s was lost: %w", node, err)
}

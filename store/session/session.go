// Package session is a caller's own place in a session tree: the node it stands
// on and the names it gave to nodes. The tree store knows neither. Contract: the
// store has no selected branch or shared head; each session keeps its own.
package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"treering/store"
)

// ErrAmbiguous: there is more than one node to go to. Wrapped in *AmbiguousError.
var ErrAmbiguous = errors.New("more than one node to go on from")

// ErrNowhere: there is no node to go to: back beyond the root, forward from a
// leaf, or to a branch that has no such name. Nothing moved.
var ErrNowhere = errors.New("nowhere to go")

// ErrMoved: another goroutine moved the session during the call, which then did
// not. Look where it stands and try again.
var ErrMoved = errors.New("the session has moved")

// AmbiguousError lists the nodes among which a caller must choose: the leaves of
// a tree that was opened without a node, or the children of the node that a step
// forward led from. It matches [ErrAmbiguous].
type AmbiguousError struct {
	Session string
	Node    string   // whose children they are; "" for the leaves of the tree
	Choices []string // node ids, in identity order
}

func (e *AmbiguousError) Error() string {
	const shown = 5
	names := make([]string, 0, shown+1)
	for _, id := range e.Choices[:min(shown, len(e.Choices))] {
		names = append(names, fmt.Sprintf("%q", id))
	}
	if more := len(e.Choices) - shown; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	what := fmt.Sprintf("session %q has %d leaves", e.Session, len(e.Choices))
	if e.Node != "" {
		what = fmt.Sprintf("node %q of session %q has %d children", e.Node, e.Session, len(e.Choices))
	}
	return what + ": choose one of " + strings.Join(names, ", ")
}

// Unwrap returns [ErrAmbiguous].
func (e *AmbiguousError) Unwrap() error { return ErrAmbiguous }

// Session is one caller's position. Independent actors use one each: no Session
// sees another's. Its methods may be called by several goroutines, but then the
// caller must put navigation in an order itself; a position is only changed by a
// call that found it where the call began.
type Session struct {
	ts store.TreeStore
	id string

	mu       sync.Mutex
	at       string            // node id; "" before the root exists
	backs    []string          // where each Back that may be retraced came from
	branches map[string]string // name to node id
	active   string            // the branch that follows appends; "" for none
}

// Open takes a position in a live tree: on the node named, or, where nodeID is "",
// on the only leaf, or before the root of an empty tree. A tree with several
// leaves is an *[AmbiguousError]. To find the leaves the whole tree is listed; name
// the node when going on from a known position.
func Open(ctx context.Context, ts store.TreeStore, sessionID, nodeID string) (*Session, error) {
	if nodeID != "" {
		if _, err := ts.Node(ctx, sessionID, nodeID); err != nil {
			return nil, err
		}
		return at(ts, sessionID, nodeID), nil
	}
	leaves, err := leaves(ctx, ts, sessionID)
	switch {
	case err != nil:
		return nil, err
	case len(leaves) > 1:
		return nil, &AmbiguousError{Session: sessionID, Choices: leaves}
	case len(leaves) == 1:
		return at(ts, sessionID, leaves[0]), nil
	}
	return at(ts, sessionID, ""), nil
}

func at(ts store.TreeStore, sessionID, nodeID string) *Session {
	return &Session{ts: ts, id: sessionID, at: nodeID, branches: map[string]string{}}
}

func leaves(ctx context.Context, ts store.TreeStore, sessionID string) ([]string, error) {
	var ids []string
	parents := map[string]bool{}
	err := store.All(func(p store.PageRequest) (store.Page[store.Node], error) { return ts.ListNodes(ctx, sessionID, p) },
		func(n store.Node) error {
			ids = append(ids, n.ID)
			if n.ParentID != nil {
				parents[*n.ParentID] = true
			}
			return nil
		})
	return slices.DeleteFunc(ids, func(id string) bool { return parents[id] }), err
}

// ID names the tree.
func (s *Session) ID() string { return s.id }

// Position is the id of the node that the session stands on, "" before a root
// exists. Together with ID it is what a caller keeps to go on later.
func (s *Session) Position() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// Prepare makes a node below the position as it is now, with a fresh id. The node
// keeps that parent whatever the session does meanwhile. Keep it: appending it
// again settles an append whose answer was lost.
func (s *Session) Prepare(kind string, data store.JSON) store.Node {
	n := store.Node{ID: store.NewID(), Kind: kind, Data: data}
	if parent := s.Position(); parent != "" {
		n.ParentID = &parent
	}
	return n
}

// Append stores a prepared node. Where that succeeds, and the session still
// stands on the node's parent, it moves to the node, and the active branch with
// it; a late result does not pull a session back that has gone elsewhere. Errors
// are those of [store.TreeStore.Append], and nothing moves.
func (s *Session) Append(ctx context.Context, n store.Node) error {
	parent := ""
	if n.ParentID != nil {
		parent = *n.ParentID
	}
	if err := s.ts.Append(ctx, s.id, n); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at != parent {
		return nil
	}
	s.at, s.backs = n.ID, nil
	if s.active != "" && s.branches[s.active] == parent {
		s.branches[s.active] = n.ID
	}
	return nil
}

// Add prepares a node and appends it. The node is returned with an error too, for
// another try by Append.
func (s *Session) Add(ctx context.Context, kind string, data store.JSON) (store.Node, error) {
	n := s.Prepare(kind, data)
	return n, s.Append(ctx, n)
}

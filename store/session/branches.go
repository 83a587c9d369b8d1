package session

import (
	"context"
	"fmt"
	"maps"

	"treering/store"
)

// SetBranch gives a name to the node that the session stands on, or moves the
// name there, and makes the branch active: it follows the appends made from here.
// Names hold to [store.CheckID]; before a root exists there is nothing to name,
// [ErrNowhere].
func (s *Session) SetBranch(name string) error {
	if err := store.CheckID("branch name", name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == "" {
		return fmt.Errorf("session %q has no node to name %q: %w", s.id, name, ErrNowhere)
	}
	s.branches[name], s.active = s.at, name
	return nil
}

// RemoveBranch takes a name away and says whether there was one. Nodes stay.
func (s *Session) RemoveBranch(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, there := s.branches[name]
	delete(s.branches, name)
	if s.active == name {
		s.active = ""
	}
	return there
}

// CheckoutBranch moves to the node of that name and makes the branch active. A
// name that was not given is [ErrNowhere].
func (s *Session) CheckoutBranch(ctx context.Context, name string) error {
	s.mu.Lock()
	from := s.at
	to, there := s.branches[name]
	s.mu.Unlock()
	if !there {
		return fmt.Errorf("no branch %q: %w", name, ErrNowhere)
	}
	if _, err := s.ts.Node(ctx, s.id, to); err != nil {
		return err
	}
	return s.move(from, func() { s.at, s.backs, s.active = to, nil, name })
}

// Branch is the name of the active branch, "" where none is.
func (s *Session) Branch() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

// Branches is a copy of the names and the ids of their nodes. They live as long as
// the session; a caller that wants them longer keeps them and gives them back.
func (s *Session) Branches() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.branches)
}

// RestoreBranches replaces the names by those that were kept. Whether their nodes
// still exist shows when one is checked out. No branch is active afterwards.
func (s *Session) RestoreBranches(branches map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.branches, s.active = map[string]string{}, ""
	maps.Copy(s.branches, branches)
}

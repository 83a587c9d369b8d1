package foreign

import (
	"context"
	"fmt"

	"treering/store"
)

// refuse answers everything that would write.
func (s *Store) refuse() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	return errReadOnly
}

// errReadOnly says why, and what can be done instead.
var errReadOnly = fmt.Errorf("%w: another program writes it; import it into a store of its own to change it", store.ErrReadOnly)

// CreateSession is refused with [store.ErrReadOnly], as all that writes is.
func (s *Store) CreateSession(context.Context, string, string, *float64) (store.SessionInfo, error) {
	return store.SessionInfo{}, s.refuse()
}

// SetSessionTTL is refused.
func (s *Store) SetSessionTTL(context.Context, string, *float64) (store.SessionInfo, error) {
	return store.SessionInfo{}, s.refuse()
}

// DeleteSession is refused.
func (s *Store) DeleteSession(context.Context, string) (bool, error) { return false, s.refuse() }

// PurgeExpired is refused.
func (s *Store) PurgeExpired(context.Context) (int, error) { return 0, s.refuse() }

// Append is refused.
func (s *Store) Append(context.Context, string, store.Node) error { return s.refuse() }

// CountExpired is 0: nothing in a source of another program expires.
func (s *Store) CountExpired(context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, store.ErrClosed
	}
	return 0, nil
}

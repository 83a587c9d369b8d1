package session

import (
	"context"
	"fmt"

	"treering/store"
)

// Checkout moves to a node of the tree. No branch is active afterwards.
func (s *Session) Checkout(ctx context.Context, nodeID string) error {
	from := s.Position()
	if _, err := s.ts.Node(ctx, s.id, nodeID); err != nil {
		return err
	}
	return s.move(from, func() { s.at, s.backs, s.active = nodeID, nil, "" })
}

// Back moves n parents up. Fewer ancestors than that are [ErrNowhere], a negative
// n is a *[store.ValueError]. No branch is active afterwards.
func (s *Session) Back(ctx context.Context, n int) error {
	switch {
	case n < 0:
		return &store.ValueError{Field: "back", Reason: "must not be negative", Err: store.ErrBadLimit}
	case n == 0:
		return nil
	}
	from := s.Position()
	if from == "" {
		return fmt.Errorf("session %q is empty: %w", s.id, ErrNowhere)
	}
	to, up := "", -1 // the first of a history is the node itself
	for page := (store.PageRequest{}); up < n; {
		page.Limit = min(n-up, store.DefaultLimit)
		got, err := s.ts.ListHistory(ctx, s.id, from, page)
		if err != nil {
			return err
		}
		up += len(got.Items)
		if len(got.Items) > 0 {
			to = got.Items[len(got.Items)-1].ID
		}
		if page.Cursor = got.Next; page.Cursor == "" && up < n {
			return fmt.Errorf("node %q has %d ancestors, not %d: %w", from, up, n, ErrNowhere)
		}
	}
	return s.move(from, func() { s.at, s.backs, s.active = to, append(s.backs, from), "" })
}

// Forward retraces the last Back as a whole, if nothing else has moved the session
// since. Otherwise it moves to the only child: several are an *[AmbiguousError]
// with the children, none is [ErrNowhere]. No branch is active afterwards.
func (s *Session) Forward(ctx context.Context) error {
	s.mu.Lock()
	from, to, steps := s.at, "", len(s.backs)
	if steps > 0 {
		to = s.backs[steps-1]
	}
	s.mu.Unlock()
	if steps > 0 {
		if _, err := s.ts.Node(ctx, s.id, to); err != nil {
			return err
		}
		return s.move(from, func() { s.at, s.backs, s.active = to, s.backs[:min(len(s.backs), steps-1)], "" })
	}
	var children []string
	err := store.All(func(p store.PageRequest) (store.Page[store.Node], error) {
		return s.ts.ListChildren(ctx, s.id, from, p) // of "": the root
	}, func(n store.Node) error {
		children = append(children, n.ID)
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(children) > 1:
		return &AmbiguousError{Session: s.id, Node: from, Choices: children}
	case len(children) == 0:
		return fmt.Errorf("nothing was appended to %q yet: %w", from, ErrNowhere)
	}
	return s.move(from, func() { s.at, s.backs, s.active = children[0], nil, "" })
}

// move changes the position, unless another goroutine has done so since it was
// read.
func (s *Session) move(from string, change func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at != from {
		return fmt.Errorf("%w from %q to %q meanwhile", ErrMoved, from, s.at)
	}
	change()
	return nil
}

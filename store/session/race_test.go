package session_test

import (
	"errors"
	"sync"
	"testing"

	"treering/store/session"
)

// Goroutines that navigate one session at once lose no position and share no memory
// without a lock: each call moves as a whole, or is told that it came too late.
func TestNavigationByManyAtOnce(t *testing.T) {
	s := open(t, grow(t, "a", "b<a", "c<b"), "c")
	var wg sync.WaitGroup
	for _, step := range []func() error{
		func() error { return s.Back(t.Context(), 1) }, func() error { return s.Forward(t.Context()) },
		func() error { return s.Back(t.Context(), 2) }, func() error { return s.Forward(t.Context()) },
	} {
		wg.Go(func() {
			for range 100 {
				if err := step(); err != nil && !errors.Is(err, session.ErrMoved) && !errors.Is(err, session.ErrNowhere) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	switch s.Position() {
	case "a", "b", "c":
	default:
		t.Errorf("ended at %q", s.Position())
	}
}

package demo

import (
	"sync"
	"time"
)

// Clock is simulated time: it moves when it is told to, so that hours pass in a
// moment and the same history comes of the same seed. It is safe for concurrent use.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock returns a clock that stands at a moment, to the microsecond.
func NewClock(at time.Time) *Clock { return &Clock{at: at.UTC().Truncate(time.Microsecond)} }

// Now is the simulated time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Advance moves the clock on; a negative duration is none.
func (c *Clock) Advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(max(by, 0))
}

// reach moves the clock on to a moment, unless that has passed.
func (c *Clock) reach(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.After(c.at) {
		c.at = at
	}
}

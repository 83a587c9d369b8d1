package tracefeed

import "time"

// Cost tells what a reading takes that is done again and again: the least of the last
// few, for on a busy machine each may have waited for others, which is no cost of it.
type Cost struct {
	took [4]time.Duration
	n    int
}

// Add notes what one took, and returns what one takes.
func (c *Cost) Add(took time.Duration) time.Duration {
	c.took[c.n%len(c.took)] = took
	c.n++
	least := took
	for _, t := range c.took[:min(c.n, len(c.took))] {
		least = min(least, t)
	}
	return least
}

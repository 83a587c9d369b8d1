package memory

import (
	"cmp"
	"iter"
	"slices"
)

// many is how many of something one execution has before they get an order of
// their own: fewer are walked or sorted about as fast as they would be found in
// one, and most executions have one or two.
const many = 64

// chain is which entries of a queue are one owner's: their seqs, in order. They are
// numbers, not pointers, so the garbage collector has nothing to follow.
type chain struct {
	few   []int64
	index *sorted[int64] // all of them instead, once they are many
}

// len is how many there are.
func (c *chain) len() int {
	switch {
	case c == nil:
		return 0
	case c.index != nil:
		return c.index.n
	}
	return len(c.few)
}

// link adds a seq, which is newer than all there are.
func (c *chain) link(seq int64) {
	if c.index == nil && len(c.few) < many {
		c.few = append(c.few, seq)
		return
	}
	if c.index == nil {
		c.index = &sorted[int64]{compare: cmp.Compare[int64]}
		for _, seq := range c.few {
			c.index.push(seq)
		}
		c.few = nil
	}
	c.index.push(seq)
}

// unlink takes out a seq, which must be there.
func (c *chain) unlink(seq int64) {
	if c.index != nil {
		if c.index.remove(seq); c.index.n == 0 {
			c.index = nil
		}
		return
	}
	at, _ := slices.BinarySearch(c.few, seq)
	c.few = slices.Delete(c.few, at, at+1)
}

// from yields the seqs behind one.
func (c *chain) from(after int64) iter.Seq[int64] {
	switch {
	case c == nil:
		return func(func(int64) bool) {}
	case c.index != nil:
		return c.index.from(func(seq int64) bool { return seq > after })
	}
	at, found := slices.BinarySearch(c.few, after)
	if found {
		at++
	}
	return slices.Values(c.few[at:])
}

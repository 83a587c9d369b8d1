package memory

import "iter"

// many is how many of something one execution has before they get an order of
// their own: fewer are walked or sorted about as fast as they would be found in
// one, and most executions have one or two.
const many = 64

// chain is the list of an owner's queue entries, by seq.
type chain[T any] struct {
	first, last *entry[T]
	n           int
	index       *sorted[*entry[T]] // the same entries, once they are many
}

// chainOf is the chain at p, made where it is missing.
func chainOf[T any](p **chain[T]) *chain[T] {
	if *p == nil {
		*p = new(chain[T])
	}
	return *p
}

// oldest is the first entry, nil where there is none.
func (c *chain[T]) oldest() *entry[T] {
	if c == nil {
		return nil
	}
	return c.first
}

// link adds e, which is newer than all there is.
func (c *chain[T]) link(e *entry[T]) {
	e.prev = c.last
	if c.last == nil {
		c.first = e
	} else {
		c.last.next = e
	}
	c.last = e
	c.n++
	switch {
	case c.index != nil:
		c.index.push(e)
	case c.n > many:
		c.index = &sorted[*entry[T]]{compare: bySeq[T]}
		for e := c.first; e != nil; e = e.next {
			c.index.push(e)
		}
	}
}

// unlink takes out e, which must be there.
func (c *chain[T]) unlink(e *entry[T]) {
	if e.prev == nil {
		c.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		c.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
	c.n--
	switch {
	case c.n == 0:
		c.index = nil
	case c.index != nil:
		c.index.remove(e)
	}
}

// from yields the entries behind a seq.
func (c *chain[T]) from(after int64) iter.Seq[*entry[T]] {
	behind := func(e *entry[T]) bool { return e.seq > after }
	if c != nil && c.index != nil {
		return c.index.from(behind)
	}
	return func(yield func(*entry[T]) bool) {
		for e := c.oldest(); e != nil; e = e.next {
			if behind(e) && !yield(e) {
				return
			}
		}
	}
}

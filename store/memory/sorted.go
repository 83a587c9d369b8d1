package memory

import (
	"iter"
	"slices"
	"sort"
)

// chunkSize bounds a chunk: an insert or removal moves at most so many entries,
// which costs most while the garbage collector wants to hear of each, and the
// directory of a million entries still has only some ten thousand chunks.
const chunkSize = 128

// sorted keeps entries in a total order, in chunks: a list in which inserting,
// removing and finding a place all cost little at any size. The zero value with
// compare set is empty. Entries that compare as equal are one entry.
type sorted[T any] struct {
	compare func(a, b T) int
	chunks  [][]T // none of them empty
	n       int
}

// chunkFor is the chunk in which x is or belongs; len(s.chunks) only when there is none.
func (s *sorted[T]) chunkFor(x T) int {
	// Most of what comes is newer than all there is.
	last := len(s.chunks) - 1
	if last < 0 || s.compare(x, s.chunks[last][0]) >= 0 {
		return max(last, 0)
	}
	lo, hi := 0, last // the first chunk whose successor begins after x
	for lo < hi {
		mid := (lo + hi) / 2
		if s.compare(s.chunks[mid+1][0], x) > 0 {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// push is insert of what comes behind all there is.
func (s *sorted[T]) push(x T) {
	s.n++
	last := len(s.chunks) - 1
	if last >= 0 && len(s.chunks[last]) < chunkSize {
		s.chunks[last] = append(s.chunks[last], x)
		return
	}
	// The first chunk grows with what there is; the others will be full.
	var chunk []T
	if last >= 0 {
		chunk = make([]T, 0, chunkSize)
	}
	s.chunks = append(s.chunks, append(chunk, x))
}

// insert adds x, which must not be there.
func (s *sorted[T]) insert(x T) {
	s.n++
	c := s.chunkFor(x)
	if c == len(s.chunks) {
		s.chunks = append(s.chunks, []T{x})
		return
	}
	chunk := s.chunks[c]
	at := len(chunk)
	if s.compare(x, chunk[at-1]) < 0 {
		at, _ = slices.BinarySearchFunc(chunk, x, s.compare)
	}
	if len(chunk) < chunkSize {
		s.chunks[c] = slices.Insert(chunk, at, x)
		return
	}
	// At the end of the last chunk a new one begins, so that what only grows fills
	// its chunks; elsewhere a full chunk is cut in two.
	if at == len(chunk) && c == len(s.chunks)-1 {
		s.chunks = append(s.chunks, append(make([]T, 0, chunkSize), x))
		return
	}
	upper := append(make([]T, 0, chunkSize), chunk[chunkSize/2:]...)
	lower := chunk[:chunkSize/2]
	clear(chunk[chunkSize/2:])
	if at <= len(lower) {
		lower = slices.Insert(lower, at, x)
	} else {
		upper = slices.Insert(upper, at-len(lower), x)
	}
	s.chunks[c] = lower
	s.chunks = slices.Insert(s.chunks, c+1, upper)
}

// find returns the first entry that after accepts; after is as in from.
func (s *sorted[T]) find(after func(T) bool) (found T, ok bool) {
	c, at := s.place(after)
	if c == len(s.chunks) {
		return found, false
	}
	return s.chunks[c][at], true
}

// place is where the first entry is that after accepts.
func (s *sorted[T]) place(after func(T) bool) (chunk, at int) {
	// Queues are mostly asked for their oldest entry.
	if len(s.chunks) > 0 && after(s.chunks[0][0]) {
		return 0, 0
	}
	c := sort.Search(len(s.chunks), func(i int) bool { return after(s.chunks[i][len(s.chunks[i])-1]) })
	if c == len(s.chunks) {
		return c, 0
	}
	return c, sort.Search(len(s.chunks[c]), func(i int) bool { return after(s.chunks[c][i]) })
}

// remove takes x out and says whether it was there.
func (s *sorted[T]) remove(x T) bool {
	if len(s.chunks) == 0 {
		return false
	}
	c, at := 0, 0
	if s.compare(x, s.chunks[0][0]) != 0 { // what goes is mostly the oldest
		c = s.chunkFor(x)
		var ok bool
		if at, ok = slices.BinarySearchFunc(s.chunks[c], x, s.compare); !ok {
			return false
		}
	}
	s.n--
	chunk := s.chunks[c]
	if at == 0 {
		// The oldest goes first in every queue: nothing moves.
		var none T
		chunk[0] = none
		chunk = chunk[1:]
	} else {
		chunk = slices.Delete(chunk, at, at+1)
	}
	s.chunks[c] = chunk
	switch {
	case len(chunk) == 0:
		s.chunks = slices.Delete(s.chunks, c, c+1)
	case len(chunk) < chunkSize/4:
		// Small neighbours become one, or removals would leave a directory of crumbs.
		if c+1 == len(s.chunks) {
			c--
		}
		if c >= 0 && len(s.chunks[c])+len(s.chunks[c+1]) <= chunkSize/2 {
			s.chunks[c] = append(s.chunks[c], s.chunks[c+1]...)
			s.chunks = slices.Delete(s.chunks, c+1, c+2)
		}
	}
	return true
}

// from yields in order, beginning with the first entry that after accepts; after
// must hold for all entries behind one for which it holds.
func (s *sorted[T]) from(after func(T) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		c, at := s.place(after)
		for ; c < len(s.chunks); c++ {
			for _, x := range s.chunks[c][at:] {
				if !yield(x) {
					return
				}
			}
			at = 0
		}
	}
}

// all yields in order.
func (s *sorted[T]) all() iter.Seq[T] { return s.from(func(T) bool { return true }) }

package treeview

import (
	"iter"
	"math/bits"
)

// Set is a set of nodes of one index, a bit each. A nil Set is empty.
type Set []uint64

// NewSet returns an empty set with room for the first n nodes.
func NewSet(n int) Set { return make(Set, (n+64)/64) }

// Has reports whether r is in the set.
func (s Set) Has(r Ref) bool {
	return int(r>>6) < len(s) && s[r>>6]>>(r&63)&1 == 1
}

// Add puts r in.
func (s *Set) Add(r Ref) {
	for int(r>>6) >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[r>>6] |= 1 << (r & 63)
}

// Remove takes r out.
func (s Set) Remove(r Ref) {
	if int(r>>6) < len(s) {
		s[r>>6] &^= 1 << (r & 63)
	}
}

// Len counts the nodes in the set.
func (s Set) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// All yields the nodes in the set in the order in which the index learned of
// them.
func (s Set) All() iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(Ref(i<<6 + bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}

package query

// Structure is the shape of a tree, as it is drawn. Refs go from 1 to Size; 0 is
// none. Bind copies what a query needs of it, so that a [Matcher] of it is not
// disturbed when the tree grows; only rows that bring no ref are looked up later.
type Structure interface {
	Size() int32
	// Find returns the node of an id.
	Find(id string) (ref int32, ok bool)
	// Parent is 0 for roots. Parents end at one: there is no cycle.
	Parent(ref int32) int32
	// Known is false for a parent that was named and is not there.
	Known(ref int32) bool
}

// shape is what a matcher keeps of a structure: only what its query asks for.
type shape struct {
	find     func(id string) (int32, bool)
	depth    []int32 // by ref
	children []int32
}

func (s *shape) ref(r Row) int32 {
	ref, id := r.place()
	if ref == 0 && s.find != nil {
		ref, _ = s.find(id)
	}
	return ref
}

// depths counts the ancestors of every node, in time linear in the tree.
func depths(t Structure) []int32 {
	const unknown = -1
	d := make([]int32, int(t.Size())+1)
	for i := range d {
		d[i] = unknown
	}
	var up []int32
	for ref := int32(1); int(ref) < len(d); ref++ {
		up = up[:0]
		n := ref
		// Should there be a cycle after all it ends the climb, wherever it is met.
		for ; n != 0 && d[n] == unknown && len(up) < len(d); n = t.Parent(n) {
			up = append(up, n)
		}
		base := int32(unknown)
		if n != 0 {
			base = d[n]
		}
		for i := len(up) - 1; i >= 0; i-- {
			base++
			d[up[i]] = base
		}
	}
	return d
}

// branchCounts counts those of them that are branches: a structure may know of some that
// they are none.
func branchCounts(t Structure) []int32 {
	knows, ok := t.(interface{ Aside(ref int32) bool })
	n := childCounts(t)
	if !ok {
		return n
	}
	for ref := int32(1); int(ref) < len(n); ref++ {
		if t.Known(ref) && knows.Aside(ref) {
			n[t.Parent(ref)]--
		}
	}
	return n
}

// childCounts counts the children of every node that are there.
func childCounts(t Structure) []int32 {
	n := make([]int32, int(t.Size())+1)
	for ref := int32(1); int(ref) < len(n); ref++ {
		if t.Known(ref) {
			n[t.Parent(ref)]++
		}
	}
	return n
}

// set is a set of refs.
type set []uint64

func newSet(t Structure) set { return make(set, (int(t.Size())+64)/64) }

func (s set) add(ref int32) { s[ref/64] |= 1 << (ref % 64) }

func (s set) has(ref int32) bool {
	return int(ref)/64 < len(s) && s[ref/64]&(1<<(ref%64)) != 0
}

// ancestorSet is a node and what is above it.
func ancestorSet(t Structure, ref int32) set {
	s := newSet(t)
	for ; ref != 0 && !s.has(ref); ref = t.Parent(ref) {
		s.add(ref)
	}
	return s
}

// descendantSet is a node and what is below it, in time linear in the tree.
func descendantSet(t Structure, top int32) set {
	in, out := newSet(t), newSet(t)
	in.add(top)
	var up []int32
	for ref := int32(1); ref <= t.Size(); ref++ {
		up = up[:0]
		n := ref
		for ; n != 0 && !in.has(n) && !out.has(n); n = t.Parent(n) {
			up = append(up, n)
			out.add(n) // a cycle would end here
		}
		if n == 0 || !in.has(n) {
			continue
		}
		for _, u := range up {
			in.add(u)
		}
	}
	return in
}

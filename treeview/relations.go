package treeview

import "iter"

// Parent returns the parent as drawn, the zero Ref for roots.
func (x *Index) Parent(r Ref) Ref { return Ref(x.links[r].parent) }

// Root returns the root that the node hangs below, itself if it is one.
func (x *Index) Root(r Ref) Ref { return Ref(x.fragment(int32(r))) }

// Forked reports whether the node has more than one child that is a branch.
func (x *Index) Forked(r Ref) bool {
	return x.links[r].first != x.links[r].last && (x.asides == 0 || x.CountBranches(r, 2) > 1)
}

// SetAside says of a node whether it is stored as a branch and is none: the answer of a
// tool beside the one that the conversation goes on from.
func (x *Index) SetAside(r Ref, aside bool) {
	if x.aside.Has(r) == aside {
		return
	}
	x.version++
	if aside {
		x.asides++
		x.aside.Add(r)
		return
	}
	x.asides--
	x.aside.Remove(r)
}

// Aside reports what SetAside said.
func (x *Index) Aside(r Ref) bool { return x.asides > 0 && x.aside.Has(r) }

// CountBranches counts the children of r that are branches, up to limit.
func (x *Index) CountBranches(r Ref, limit int) int {
	n := 0
	for c := x.links[r].first; c != 0 && n < limit; c = x.links[c].next {
		if !x.Aside(Ref(c)) {
			n++
		}
	}
	return n
}

// Leaf reports whether the node has no children.
func (x *Index) Leaf(r Ref) bool { return x.links[r].first == 0 }

// Ancestors yields the parent of r and so on up to the root.
func (x *Index) Ancestors(r Ref) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for p := x.links[r].parent; p != 0; p = x.links[p].parent {
			if !yield(Ref(p)) {
				return
			}
		}
	}
}

// CountChildren counts the children of r, up to limit.
func (x *Index) CountChildren(r Ref, limit int) int {
	n := 0
	for c := x.links[r].first; c != 0 && n < limit; c = x.links[c].next {
		n++
	}
	return n
}

// Children yields the children of r in order; of the zero Ref the roots.
func (x *Index) Children(r Ref) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		x.arrange()
		for n := x.links[r].first; n != 0; n = x.links[n].next {
			if !yield(Ref(n)) {
				return
			}
		}
	}
}

// Walk yields every node with its depth, parents before children, siblings in
// order. Roots have depth 0. Parents that are missing are among the roots.
func (x *Index) Walk() iter.Seq2[Ref, int] {
	return func(yield func(Ref, int) bool) {
		x.arrange()
		depth := 0
		for n := x.links[0].first; n != 0; {
			if !yield(Ref(n), depth) {
				return
			}
			if x.links[n].first != 0 {
				n, depth = x.links[n].first, depth+1
				continue
			}
			for n != 0 && x.links[n].next == 0 {
				n, depth = x.links[n].parent, depth-1
			}
			if n != 0 {
				n = x.links[n].next
			}
		}
	}
}

// Relations are the shape of an index under plain numbers, for those who know
// nothing of this package: refs go from 1 to Size, 0 is none.
type Relations struct{ x *Index }

// Relations returns the shape of the tree. It follows the tree as it grows, and
// belongs to the same goroutine.
func (x *Index) Relations() Relations { return Relations{x} }

// Size is the number of nodes, parents that are missing among them.
func (s Relations) Size() int32 { return int32(s.x.Size()) }

// Find returns the node of an id.
func (s Relations) Find(id string) (ref int32, ok bool) {
	r, ok := s.x.Find(id)
	return int32(r), ok
}

// Parent is the parent as drawn, 0 for roots. There are no cycles.
func (s Relations) Parent(ref int32) int32 { return s.x.links[ref].parent }

// Known is false for a parent that was named and is not there.
func (s Relations) Known(ref int32) bool { return s.x.Known(Ref(ref)) }

// IsAncestor is [Index.IsAncestor].
func (s Relations) IsAncestor(a, b int32) bool { return s.x.IsAncestor(Ref(a), Ref(b)) }

// Depth is [Index.Depth].
func (s Relations) Depth(ref int32) int { return s.x.Depth(Ref(ref)) }

// Aside is [Index.Aside].
func (s Relations) Aside(ref int32) bool { return s.x.Aside(Ref(ref)) }

// ChildCount counts the children of a node.
func (s Relations) ChildCount(ref int32) int { return s.x.CountChildren(Ref(ref), s.x.Size()) }

package treeview

// span is where a node stands in a walk over the whole tree: its number in it,
// the number after that of its last descendant, and its depth.
type span struct{ enter, leave, depth int32 }

// spanned numbers all nodes, once for every version of the tree.
func (x *Index) spanned() []span {
	if x.spansOf == x.version && len(x.spans) == len(x.links) {
		return x.spans
	}
	x.arrange()
	if cap(x.spans) < len(x.links) {
		x.spans = make([]span, len(x.links))
	}
	x.spans, x.spansOf = x.spans[:len(x.links)], x.version
	at, depth := int32(0), int32(0)
	for n := x.links[0].first; n != 0; {
		x.spans[n] = span{enter: at, depth: depth}
		at++
		if c := x.links[n].first; c != 0 {
			n, depth = c, depth+1
			continue
		}
		for {
			x.spans[n].leave = at
			if next := x.links[n].next; next != 0 {
				n = next
				break
			}
			if n = x.links[n].parent; n == 0 {
				break
			}
			depth--
		}
	}
	return x.spans
}

// IsAncestor reports whether a is an ancestor of b; no node is its own. The first
// call after a change walks over the tree, further ones cost nothing.
func (x *Index) IsAncestor(a, b Ref) bool {
	s := x.spanned()
	return a != 0 && b != 0 && s[a].enter < s[b].enter && s[b].enter < s[a].leave
}

// Depth is the number of edges between r and its root, as drawn. It costs what
// [Index.IsAncestor] does.
func (x *Index) Depth(r Ref) int {
	if r == 0 {
		return -1
	}
	return int(x.spanned()[r].depth)
}

// Descendants counts what is below r. It costs what [Index.IsAncestor] does.
func (x *Index) Descendants(r Ref) int {
	if r == 0 {
		return len(x.links) - 1
	}
	s := x.spanned()[r]
	return int(s.leave-s.enter) - 1
}

// Size is the number of nodes, parents that are missing among them: refs go from
// 1 to Size.
func (x *Index) Size() int { return len(x.links) - 1 }

// CommonAncestor returns the nearest node that is a or b or above both, 0 where
// their roots differ. It takes no memory.
func (x *Index) CommonAncestor(a, b Ref) Ref {
	if a == 0 || b == 0 || x.Root(a) != x.Root(b) {
		return 0
	}
	da, db := x.climb(a), x.climb(b)
	for ; da > db; da-- {
		a = x.Parent(a)
	}
	for ; db > da; db-- {
		b = x.Parent(b)
	}
	for a != b {
		a, b = x.Parent(a), x.Parent(b)
	}
	return a
}

// climb counts the edges to the root.
func (x *Index) climb(r Ref) int {
	d := 0
	for n := x.links[r].parent; n != 0; n = x.links[n].parent {
		d++
	}
	return d
}

// LastHead returns the node without children whose id comes last in byte order;
// of an index [ByArrival] the one that came last. Where ids begin with the time,
// it is the newest. It is 0 in an empty tree.
func (x *Index) LastHead() Ref {
	if x.lastOf == x.version {
		return x.last
	}
	x.last, x.lastOf = 0, x.version
	for n := int32(len(x.links)) - 1; n > 0; n-- {
		if x.flags[n]&known == 0 || x.links[n].first != 0 {
			continue
		}
		if x.order == ByArrival {
			x.last = Ref(n)
			break
		}
		if x.last == 0 || string(x.id(n)) > string(x.id(int32(x.last))) {
			x.last = Ref(n)
		}
	}
	return x.last
}

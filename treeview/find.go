package treeview

import "iter"

// next returns the node after n in the order of rows, whether it has one or not;
// 0 after the last.
func (f *Flat) next(n int32) int32 {
	if c := f.firstChild(n); c != 0 {
		return c
	}
	for n != 0 {
		if s := f.nextSibling(n); s != 0 {
			return s
		}
		n = f.x.links[n].parent
	}
	return 0
}

// below calls found for what row i hides, in the order of rows, until found
// returns false. What a filter leaves out is not hidden but absent.
func (f *Flat) below(i int, found func(Ref) bool) {
	n := f.rows[i].node
	if steps := f.Steps(i); steps > 0 {
		for ; steps > 0 && found(Ref(n)); steps-- {
			if steps > 1 {
				n = f.onlyChild(n)
			}
		}
		return
	}
	if !f.folds.Has(Ref(n)) {
		return
	}
	for n = f.next(n); n != 0 && f.at(n) == int32(i); n = f.next(n) {
		if (!f.sifted || f.seen.Has(Ref(n))) && !found(Ref(n)) {
			return
		}
	}
}

// Children yields the children of r in the order of rows, whether they have one or
// not; of the zero Ref the roots. They are those of the last [Flat.Rebuild].
func (f *Flat) Children(r Ref) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for n := f.firstChild(int32(r)); n != 0 && yield(Ref(n)); n = f.nextSibling(n) {
		}
	}
}

// Next returns the first node after row i that matches, in the order of rows,
// hidden by folds or not; behind the last row the search goes on at the first, and
// says so, until it is back at row i. It looks at every node at most once.
func (f *Flat) Next(i int, matches func(Ref) bool) (r Ref, wrapped, ok bool) {
	found := func(n Ref) bool {
		if matches(n) {
			r, ok = n, true
		}
		return !ok
	}
	if i >= 0 && i < len(f.rows) {
		f.below(i, found)
	}
	for j := i + 1; !ok && j < len(f.rows); j++ {
		f.own(j, found)
		if !ok {
			f.below(j, found)
		}
	}
	for j := 0; !ok && j <= i && j < len(f.rows); j++ {
		wrapped = true
		f.own(j, found)
		if !ok && j < i {
			f.below(j, found)
		}
	}
	return r, wrapped && ok, ok
}

// Previous is Next in the other direction.
func (f *Flat) Previous(i int, matches func(Ref) bool) (r Ref, wrapped, ok bool) {
	last := func(n Ref) bool {
		if matches(n) {
			r, ok = n, true
		}
		return true
	}
	for j := min(i, len(f.rows)) - 1; !ok && j >= 0; j-- {
		if f.below(j, last); !ok {
			f.own(j, last)
		}
	}
	for j := len(f.rows) - 1; !ok && j >= max(i, 0); j-- {
		wrapped = true
		if f.below(j, last); !ok {
			f.own(j, last)
		}
	}
	return r, wrapped && ok, ok
}

// own calls found for the node that row i is the row of, if it is one's.
func (f *Flat) own(i int, found func(Ref) bool) {
	if f.rows[i].bits&run == 0 {
		found(f.At(i))
	}
}

// Head reports whether row i is a node's own and nothing hangs on it, on the
// screen or folded.
func (f *Flat) Head(i int) bool {
	r := &f.rows[i]
	if r.bits&run != 0 || f.folds.Has(Ref(r.node)) {
		return false
	}
	return i+1 >= len(f.rows) || f.rows[i+1].parent != int32(i)
}

// Fork reports whether row i is a node with several children, on the screen or
// folded.
func (f *Flat) Fork(i int) bool {
	r := &f.rows[i]
	if f.sifted {
		return r.bits&forked != 0
	}
	return r.bits&run == 0 && f.x.Forked(Ref(r.node))
}

// NextFork returns the next row in a direction, 1 or -1, that is a branch point;
// -1 where there is none.
func (f *Flat) NextFork(i, by int) int { return f.seek(i, by, f.Fork) }

// NextHead returns the next row in a direction, 1 or -1, that nothing hangs on;
// -1 where there is none.
func (f *Flat) NextHead(i, by int) int { return f.seek(i, by, f.Head) }

func (f *Flat) seek(i, by int, is func(int) bool) int {
	for j := i + by; j >= 0 && j < len(f.rows); j += by {
		if is(j) {
			return j
		}
	}
	return -1
}

// ForkAbove returns the nearest row above row i, towards the root, that is a
// branch point; -1 where there is none.
func (f *Flat) ForkAbove(i int) int {
	for p := f.Parent(i); p >= 0; p = f.Parent(p) {
		if f.Fork(p) {
			return p
		}
	}
	return -1
}

// Sibling returns the next row in a direction, 1 or -1, that hangs on the same
// one as row i does. Within a straight run it is the branch that has siblings:
// from anywhere on it, the next branch is reached. It is -1 where there is none.
func (f *Flat) Sibling(i, by int) int {
	for f.shape == Runs && f.Parent(i) >= 0 && f.rows[i].bits&connects == 0 {
		i = f.Parent(i)
	}
	p := f.rows[i].parent
	for j := i + by; j >= 0 && j < len(f.rows) && j > int(p); j += by {
		switch at := f.rows[j].parent; {
		case at == p:
			return j
		case at < p:
			return -1
		}
	}
	return -1
}

package treeview

// Rebuild brings the rows up to date with the index and all that was set. It
// visits every node once, and every row twice.
func (f *Flat) Rebuild() {
	f.x.arrange()
	f.trace()
	f.stub()
	f.sift()
	f.unroll()
	if f.sifted {
		f.join()
	}
}

// trace marks the way from the root that comes first.
func (f *Flat) trace() {
	x := f.x
	if f.pathOf == x.version && f.pathTo == f.first {
		return
	}
	f.pathOf, f.pathTo, f.lifts = x.version, f.first, 0
	clear(f.path)
	clear(f.lifted)
	for n := int32(f.first); n != 0; n = x.links[n].parent {
		f.path.Add(Ref(n))
		if p := x.links[n].parent; x.links[p].first != n {
			f.lifted.Add(Ref(p))
			f.lifts++
		}
	}
}

// firstChild and nextSibling are the order in which rows are made: that of the
// index, but for the children on the way that comes first, and for stubs.
func (f *Flat) firstChild(p int32) int32 {
	n := f.x.links[p].first
	if f.stubbed > 0 && n != 0 && f.stubs.Has(Ref(p)) {
		return f.nextAside(n, p)
	}
	if f.lifts > 0 && f.lifted.Has(Ref(p)) {
		for !f.path.Has(Ref(n)) {
			n = f.x.links[n].next
		}
	}
	return n
}

func (f *Flat) nextSibling(n int32) int32 {
	l := &f.x.links[n]
	if f.stubbed > 0 && f.stubs.Has(Ref(l.parent)) {
		if !f.x.Aside(Ref(n)) {
			return 0
		}
		return f.nextAside(l.next, l.parent)
	}
	if f.lifts == 0 || !f.lifted.Has(Ref(l.parent)) {
		return l.next
	}
	if f.path.Has(Ref(n)) {
		return f.x.links[l.parent].first
	}
	if l.next != 0 && f.path.Has(Ref(l.next)) {
		return f.x.links[l.next].next
	}
	return l.next
}

// moved reports whether the children of p have another order than in the index.
func (f *Flat) moved(p int32) bool { return f.lifted.Has(Ref(p)) || f.stubs.Has(Ref(p)) }

// sift works out what may have a row, and which nodes lead to how much of it.
func (f *Flat) sift() {
	f.one, f.many = f.one[:0], f.many[:0]
	if !f.sifted || f.context == Elided {
		f.seen = f.match
		return
	}
	x := f.x
	f.seen = append(f.seen[:0:0], f.match...)
	for r := range f.match.All() {
		if int(r) >= len(x.links) {
			break
		}
		for n := int32(r); x.links[n].parent != 0; {
			n = x.links[n].parent
			if f.one.Has(Ref(n)) {
				f.many.Add(Ref(n))
				break
			}
			f.one.Add(Ref(n))
			if f.seen.Has(Ref(n)) {
				break // a match of its own, whose ancestors have their turn
			}
			f.seen.Add(Ref(n))
		}
	}
}

// unroll makes the rows; where a filter is set, without their lanes.
func (f *Flat) unroll() {
	x := f.x
	f.rows, f.hidden = f.rows[:0], f.hidden[:0]
	if n := len(x.links); cap(f.rowOf) < n {
		f.rowOf = make([]int32, n, n+n/4)
	} else {
		f.rowOf = f.rowOf[:n]
	}
	if cap(f.rows) == 0 && !f.sifted {
		f.rows = make([]row, 0, len(x.links)-1)
	}
	f.rowOf[0] = ^0
	links, rowOf, rows := x.links, f.rowOf, f.rows
	sifted, moving, nested, folding := f.sifted, f.lifts > 0 || f.stubbed > 0, f.shape == Nested, f.folds.Len() > 0
	runs := f.shape == Runs && (f.longest > 0 || len(f.closed) > 0)
	if runs {
		f.keep()
	}
	depth := int32(0)
	// Of the run that was looked at last: how many of its nodes are still to be
	// hidden, or to be shown without looking again.
	hide, show := 0, 0
	for n := f.firstChild(0); n != 0; {
		l := &links[n]
		up := rowOf[l.parent]
		if up < 0 {
			up = ^up - 1
		}
		switch {
		case sifted && !f.seen.Has(Ref(n)):
			rowOf[n] = ^(1 + up)
		case hide > 0:
			hide--
			rowOf[n] = ^(1 + up)
		default:
			at := int32(len(rows))
			lanes, bits := uint32(0), uint32(0)
			rowOf[n] = at
			if show > 0 {
				show--
			} else if runs {
				if steps, fold := f.stretch(n); fold {
					rowOf[n] = ^(1 + at)
					bits, hide = run, steps-1
				} else {
					show = max(steps-1, 0)
				}
			}
			if up >= 0 && !sifted {
				p := &links[l.parent]
				above := &rows[up]
				if branches := p.first != p.last; nested || f.stubbed == 0 && branches || f.stubbed > 0 && f.sets(n, branches) {
					next := l.next
					if moving && f.moved(l.parent) {
						next = f.nextSibling(n)
					}
					lanes, bits = further(above.lanes, above.bits, next == 0)
				} else {
					lanes, bits = above.lanes, bits|above.bits&^flagBits
				}
			}
			if int(at) == cap(rows) {
				rows = append(rows, row{})
			}
			rows = rows[:at+1]
			r := &rows[at] // field by field: a row built elsewhere and copied takes twice as long
			r.lanes, r.node, r.depth, r.parent, r.bits = lanes, n, depth, up, bits
			if hide > 0 && !sifted {
				// Nothing branches off a run that is whole: no need to look at it again.
				for steps := hide + 1; steps > 0; steps-- {
					rowOf[n] = ^(1 + at)
					n, depth = links[n].first, depth+1
				}
				hide = 0
				continue
			}
		}
		if child := l.first; child != 0 {
			if !folding || rowOf[n] < 0 || !f.folds.Has(Ref(n)) {
				if moving && f.moved(n) {
					child = f.firstChild(n)
				}
				n, depth = child, depth+1
				continue
			}
			f.hidden = append(f.hidden, foldedRow{rowOf[n], f.hide(n)})
		}
		for {
			l := &links[n]
			next := l.next
			if moving && f.moved(l.parent) {
				next = f.nextSibling(n)
			}
			if next != 0 {
				n = next
				break
			}
			if n = l.parent; n == 0 {
				break
			}
			depth--
		}
	}
	f.rows = rows
}

// further is what a row a level further in than another is drawn with.
func further(lanes, bits uint32, last bool) (uint32, uint32) {
	bits = bits&^flagBits + 1<<levelShift | connects
	if last {
		return lanes << 1, bits | lastChild
	}
	return lanes<<1 | 1, bits
}

// hide marks everything below n as hidden by it, and counts what the filter
// would have let through.
func (f *Flat) hide(n int32) int32 {
	x, top, count := f.x, n, int32(0)
	by := ^(1 + f.rowOf[n])
	for n = x.links[n].first; ; {
		f.rowOf[n] = by
		if !f.sifted || f.seen.Has(Ref(n)) {
			count++
		}
		if x.links[n].first != 0 {
			n = x.links[n].first
			continue
		}
		for n != top && x.links[n].next == 0 {
			n = x.links[n].parent
		}
		if n == top {
			return count
		}
		n = x.links[n].next
	}
}

// keep collects the nodes that no run hides, whatever lies around them.
func (f *Flat) keep() {
	f.kept = f.kept[:0]
	for _, s := range []Set{f.open, f.pins, f.folds, f.match} {
		for i, w := range s {
			if i == len(f.kept) {
				f.kept = append(f.kept, 0)
			}
			f.kept[i] |= w
		}
	}
	if f.active != 0 {
		f.kept.Add(f.active)
	}
}

// stretch counts the nodes of a straight run from n on, and says whether they
// are one row.
func (f *Flat) stretch(n int32) (steps int, fold bool) {
	if p := f.x.links[n].parent; p == 0 || !f.straight(p) {
		return 0, false
	}
	forced, closing := false, len(f.closed) > 0
	for f.straight(n) && f.x.flags[n] == known && !f.kept.Has(Ref(n)) {
		forced = forced || closing && f.closed.Has(Ref(n))
		steps++
		n = f.onlyChild(n)
	}
	return steps, steps > 1 && (forced || f.longest > 0 && steps >= f.longest)
}

// inRun reports whether nothing is to be said of n but that it lies between two
// others.
func (f *Flat) inRun(n int32) bool {
	p := f.x.links[n].parent
	return p != 0 && f.x.flags[n] == known && f.straight(p) && f.straight(n) && !f.folds.Has(Ref(n)) &&
		(!f.sifted || f.seen.Has(Ref(n)) && !f.match.Has(Ref(n)))
}

// straight reports whether the filter lets one child of n through, or leads to
// one, and no others.
func (f *Flat) straight(n int32) bool {
	if f.sifted {
		return f.one.Has(Ref(n)) && !f.many.Has(Ref(n))
	}
	l := &f.x.links[n]
	return l.first != 0 && l.first == l.last && (f.stubbed == 0 || !f.stubs.Has(Ref(n)))
}

// onlyChild returns that one child of n.
func (f *Flat) onlyChild(n int32) int32 {
	c := f.x.links[n].first
	for f.sifted && !f.seen.Has(Ref(c)) {
		c = f.x.links[c].next
	}
	return c
}

// join draws the lines between the rows that a filter left. First, from the end,
// each parent learns whether one row hangs on it or several; the lanes hold the
// count meanwhile.
func (f *Flat) join() {
	for i := len(f.rows) - 1; i >= 0; i-- {
		r := &f.rows[i]
		if r.parent < 0 {
			continue
		}
		if up := &f.rows[r.parent]; up.lanes == 0 {
			up.lanes = 1
			r.bits |= lastChild
		} else {
			up.bits |= forked
		}
	}
	for i := range f.rows {
		r := &f.rows[i]
		if r.parent < 0 {
			r.lanes = 0
			continue
		}
		up := &f.rows[r.parent]
		keep := r.bits & (run | forked)
		if f.shape == Nested || up.bits&forked != 0 {
			r.lanes, r.bits = further(up.lanes, up.bits, r.bits&lastChild != 0)
		} else {
			r.lanes, r.bits = up.lanes, up.bits&^flagBits
		}
		r.bits |= keep
	}
}

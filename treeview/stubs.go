package treeview

// At a node of which all children but one are stored as branches and are none, nothing
// branches: what goes on from it, if anything does, stays in its column, behind the
// others, which are drawn as stubs. Otherwise every answer of a tool beside the one that a conversation
// goes on from would move all of the rest a level further in.

// stub finds those nodes. Where the way that comes first leads through such a child it
// is drawn as the branch that it is for whoever chose it.
func (f *Flat) stub() {
	x := f.x
	if f.stubsOf == x.version && f.stubsTo == f.first {
		return
	}
	f.stubsOf, f.stubsTo, f.stubbed = x.version, f.first, 0
	clear(f.stubs)
	if x.asides == 0 || f.shape != Runs {
		return
	}
	for r := range x.aside.All() {
		if int(r) >= len(x.links) {
			break
		}
		p := Ref(x.links[r].parent)
		if p == 0 || f.stubs.Has(p) || x.CountBranches(p, 2) > 1 || f.path.Has(p) && !f.stays(p) {
			continue
		}
		f.stubs.Add(p)
		f.stubbed++
	}
}

// stays reports whether the way that comes first ends at p or goes on with what stays in
// its column.
func (f *Flat) stays(p Ref) bool {
	for c := f.x.links[p].first; c != 0; c = f.x.links[c].next {
		if f.path.Has(Ref(c)) {
			return !f.x.Aside(Ref(c))
		}
	}
	return true
}

// nextAside is the first of n and its siblings behind it that is a stub, or the one that
// is none, or 0.
func (f *Flat) nextAside(n, parent int32) int32 {
	for ; n != 0; n = f.x.links[n].next {
		if f.x.Aside(Ref(n)) {
			return n
		}
	}
	for n = f.x.links[parent].first; n != 0 && f.x.Aside(Ref(n)); {
		n = f.x.links[n].next
	}
	return n
}

// sets reports whether n is set apart from its parent's column; branches says that it
// has siblings.
func (f *Flat) sets(n int32, branches bool) bool {
	if f.stubs.Has(Ref(f.x.links[n].parent)) {
		return f.x.Aside(Ref(n))
	}
	return branches
}

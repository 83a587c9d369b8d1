package treeview

import "slices"

// Shape says how generations are told apart.
type Shape uint8

const (
	// Runs keeps an only child in its parent's column: straight runs do not
	// indent, and indent grows at branch points only. It suits long histories.
	Runs Shape = iota
	// Nested indents every generation. It suits families.
	Nested
)

// Context says what becomes of the ancestors of what a filter lets through.
type Context uint8

const (
	// Elided gives rows to matches only. A row whose parent is left out hangs on
	// its nearest ancestor that has one, and says how many lie between.
	Elided Context = iota
	// Shown gives rows to the ancestors of matches too.
	Shown
)

// Flat is an index unrolled into rows. What is below a folded node is left out,
// so is what a filter does not let through; long straight runs may be one row.
//
// A row hangs on the row of its node's nearest ancestor that is not left out. A
// node without such an ancestor hangs on nothing, as roots do.
type Flat struct {
	x     *Index
	shape Shape
	rows  []row
	rowOf []int32 // by node: its row; ^(1+row) of what hides it or it would hang on; ^0 for nothing

	folds  Set
	hidden []foldedRow // in the order of rows

	match   Set // what the filter lets through
	sifted  bool
	context Context
	seen    Set // what may have a row, where sifted
	one     Set // what has a child in seen
	many    Set // what has several

	longest int // runs of as many steps are folded; 0: none
	open    Set // nodes that no run hides, by the user's wish
	closed  Set // nodes in runs that are folded however short they are
	pins    Set // nodes that no run hides, by what is said about them
	kept    Set // all that no run hides

	active Ref
	first  Ref // whose way comes first: the active node, or one that was
	path   Set // that node and its ancestors
	lifted Set // nodes whose child on the path is not their first
	lifts  int
	pathOf uint64 // index version and
	pathTo Ref    // node that path was made for

	stubs   Set // nodes that all children but one are stubs of
	stubbed int
	stubsOf uint64 // made for this version and
	stubsTo Ref    // this way
}

// row is one line of a flat tree. Bit k of lanes says that the lane k levels
// further out goes on below this row; bit 0 is the row's own. Levels further out
// than maxLanes are forgotten.
type row struct {
	lanes  uint32
	node   int32  // of a folded run the first one it hides
	depth  int32  // edges from the root
	parent int32  // the row it hangs on, -1 for none
	bits   uint32 // the level, above the flags below
}

const (
	connects  = 1 << iota // a connector is drawn
	lastChild             // nothing follows on the same parent
	forked                // more than one row hangs on it
	run                   // stands for the nodes of a straight run

	levelShift = 4
	flagBits   = 1<<levelShift - 1
	maxLanes   = 32
)

func (r *row) level() int { return int(r.bits >> levelShift) }

// foldedRow is how many nodes a folded row hides.
type foldedRow struct{ row, hidden int32 }

// NewFlat returns the rows of x with nothing folded and nothing left out.
func NewFlat(x *Index, shape Shape) *Flat {
	f := &Flat{x: x, shape: shape}
	f.Rebuild()
	return f
}

// Len is the number of rows.
func (f *Flat) Len() int { return len(f.rows) }

// At returns the node of row i; of a folded run the first one it hides.
func (f *Flat) At(i int) Ref { return Ref(f.rows[i].node) }

// Parent returns the row that row i hangs on, which may be a folded run's; -1
// where there is none.
func (f *Flat) Parent(i int) int { return int(f.rows[i].parent) }

// Level is how far row i is indented.
func (f *Flat) Level(i int) int { return f.rows[i].level() }

// Depth is the number of edges between the node of row i and its root.
func (f *Flat) Depth(i int) int { return int(f.rows[i].depth) }

// Steps returns how many nodes of a straight run row i stands for, 0 where it is
// a node's own row.
func (f *Flat) Steps(i int) int {
	if f.rows[i].bits&run == 0 {
		return 0
	}
	// A run never ends a tree: what comes next is what it leads to.
	return int(f.rows[i+1].depth - f.rows[i].depth)
}

// Elided returns how many nodes between row i and the row it hangs on are left
// out; where it hangs on nothing, how many between it and its root, the root
// included.
func (f *Flat) Elided(i int) int {
	r := &f.rows[i]
	if r.parent < 0 {
		return int(r.depth)
	}
	up := &f.rows[r.parent]
	if up.bits&run != 0 {
		return 0
	}
	return int(r.depth - up.depth - 1)
}

// RowOf returns the row of a node; for one that is left out that of the fold or
// run that hides it, or else of its nearest ancestor with a row. A node that
// came after the last Rebuild has none yet.
func (f *Flat) RowOf(r Ref) (row int, ok bool) {
	n := int32(r)
	for int(n) >= len(f.rowOf) {
		n = f.x.links[n].parent
	}
	at := f.at(n)
	return int(at), at >= 0
}

// at is the row of n, or of what it would hang on; -1 for none. The rows of n's
// ancestors have to be there.
func (f *Flat) at(n int32) int32 {
	at := f.rowOf[n]
	if at < 0 {
		return ^at - 1
	}
	return at
}

// Visible reports whether the node has a row of its own.
func (f *Flat) Visible(r Ref) bool {
	return r != 0 && int(r) < len(f.rowOf) && f.rowOf[r] >= 0
}

// Folded reports whether the node is folded, and how many nodes that hides. A
// folded node that has itself no row hides nothing.
func (f *Flat) Folded(r Ref) (hidden int, folded bool) {
	if !f.folds.Has(r) {
		return 0, false
	}
	if !f.Visible(r) {
		return 0, true
	}
	i, ok := slices.BinarySearchFunc(f.hidden, f.rowOf[r], func(h foldedRow, row int32) int { return int(h.row - row) })
	if !ok {
		return 0, true
	}
	return int(f.hidden[i].hidden), true
}

// SetFolded folds or unfolds a node and reports whether that changed anything.
// The rows are rebuilt by the caller, here and after everything below.
func (f *Flat) SetFolded(r Ref, folded bool) bool {
	if f.folds.Has(r) == folded || folded && f.x.Leaf(r) {
		return false
	}
	if folded {
		f.folds.Add(r)
	} else {
		f.folds.Remove(r)
	}
	return true
}

// FoldTo folds what is indented deeper than that many levels, and unfolds
// everything else; a negative number unfolds everything.
func (f *Flat) FoldTo(levels int) {
	clear(f.folds)
	if levels < 0 {
		return
	}
	x := f.x
	x.arrange()
	f.trace()
	f.stub()
	indents := func(n int32) int {
		l := &x.links[n]
		if n != 0 && l.first != 0 && (f.shape == Nested || l.first != l.last && !f.stubs.Has(Ref(n))) {
			return 1
		}
		return 0
	}
	level := 0
	for n := x.links[0].first; n != 0; {
		if in := indents(n); in > 0 && level >= levels {
			f.folds.Add(Ref(n))
		}
		if x.links[n].first != 0 {
			level += indents(n)
			n = x.links[n].first
			continue
		}
		for n != 0 && x.links[n].next == 0 {
			n = x.links[n].parent
			level -= indents(n)
		}
		n = x.links[n].next
	}
}

// FoldSiblings folds or unfolds r and all other children of its parent, of a
// root all roots.
func (f *Flat) FoldSiblings(r Ref, folded bool) {
	for c := range f.x.Children(f.x.Parent(r)) {
		f.SetFolded(c, folded)
	}
}

// SetFilter lets only these nodes through, and what the context adds. A fold
// whose node is left out hides nothing: a match is never behind what nobody can
// see. Nodes that come later are left out until a filter with them is set. The
// set is kept and must not be changed.
func (f *Flat) SetFilter(match Set, context Context) {
	f.match, f.context, f.sifted = match, context, true
}

// ClearFilter lets everything through.
func (f *Flat) ClearFilter() { f.match, f.seen, f.sifted = nil, nil, false }

// Filtered reports whether a filter is set.
func (f *Flat) Filtered() bool { return f.sifted }

// Matches reports whether the filter lets r through by itself, not as the
// ancestor of another.
func (f *Flat) Matches(r Ref) bool { return !f.sifted || f.match.Has(r) }

// SetRuns folds straight runs of so many steps and more into one row each; 0
// folds none but those that were folded by hand. It works in the shape [Runs].
//
// Roots, branch points and their children, nodes without children, folded ones,
// matches of the filter, the active node and whatever has a note keep their rows.
func (f *Flat) SetRuns(longest int) { f.longest = longest }

// OpenRun unfolds the run that row i stands for, for good, and reports whether
// it is one.
func (f *Flat) OpenRun(i int) bool {
	steps := f.Steps(i)
	for n := f.rows[i].node; steps > 0; steps-- {
		f.open.Add(Ref(n))
		f.closed.Remove(Ref(n))
		n = f.onlyChild(n)
	}
	return f.rows[i].bits&run != 0
}

// CloseRun folds the straight run around r, however short, and reports whether
// there is one: two steps at least.
func (f *Flat) CloseRun(r Ref) bool {
	if f.shape != Runs || !f.inRun(int32(r)) {
		return false
	}
	top := int32(r)
	for p := f.x.links[top].parent; f.inRun(p); p = f.x.links[p].parent {
		top = p
	}
	steps := 0
	for n := top; f.inRun(n); n = f.onlyChild(n) {
		steps++
	}
	if steps < 2 {
		return false
	}
	for n := top; f.inRun(n); n = f.onlyChild(n) {
		f.open.Remove(Ref(n))
		f.closed.Add(Ref(n))
	}
	return true
}

// OpenRuns unfolds all runs there are, for good.
func (f *Flat) OpenRuns() {
	clear(f.closed)
	for n := len(f.x.links) - 1; n > 0; n-- {
		f.open.Add(Ref(n))
	}
}

// ResetRuns forgets which runs were folded and unfolded by hand.
func (f *Flat) ResetRuns() {
	clear(f.open)
	clear(f.closed)
}

// Pin keeps these nodes' rows out of folded runs, and only these.
func (f *Flat) Pin(nodes ...Ref) {
	clear(f.pins)
	for _, r := range nodes {
		if r != 0 {
			f.pins.Add(r)
		}
	}
}

// SetActive makes r the active node, 0 none: at every branch the child that
// leads to it comes first.
func (f *Flat) SetActive(r Ref) { f.active, f.first = r, r }

// MoveActive makes r the active node as SetActive does, but leaves the order of
// rows to whoever reads them: the way that came first still does, unless r is
// further along on it, or there was none. It climbs from r at most to the root.
func (f *Flat) MoveActive(r Ref) {
	f.active = r
	for n := int32(r); n != 0; n = f.x.links[n].parent {
		if f.first == 0 || Ref(n) == f.first {
			f.first = r
			return
		}
	}
}

// Active returns the active node, 0 for none.
func (f *Flat) Active() Ref { return f.active }

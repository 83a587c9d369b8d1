package treeview

// Shape says how generations are told apart.
type Shape uint8

const (
	// Runs keeps an only child in its parent's column: straight runs do not
	// indent, and indent grows at branch points only. It suits long histories.
	Runs Shape = iota
	// Nested indents every generation. It suits families.
	Nested
)

// row is one line of a flat tree. Bit k of lanes says that the lane k levels
// further out goes on below this row; bit 0 is the row's own. Levels further out
// than 64 are forgotten, which is more than is ever drawn.
type row struct {
	lanes uint64
	node  int32
	depth int32 // the level, shifted by one; the low bit is set where a connector is drawn
}

func (r row) level() int32   { return r.depth >> 1 }
func (r row) connects() bool { return r.depth&1 == 1 }

// Flat is an index unrolled into rows: what is below a folded node is left out.
type Flat struct {
	x      *Index
	shape  Shape
	rows   []row
	rowOf  []int32 // by node; -1 where it is hidden
	folds  bits
	hidden map[Ref]int32 // by folded node: how many are below it
}

// bits is a set of nodes.
type bits []uint64

func (b bits) has(n int32) bool {
	return int(n>>6) < len(b) && b[n>>6]>>(n&63)&1 == 1
}

func (b *bits) set(n int32, in bool) {
	for int(n>>6) >= len(*b) {
		*b = append(*b, 0)
	}
	if in {
		(*b)[n>>6] |= 1 << (n & 63)
	} else {
		(*b)[n>>6] &^= 1 << (n & 63)
	}
}

// NewFlat returns the rows of x with nothing folded.
func NewFlat(x *Index, shape Shape) *Flat {
	f := &Flat{x: x, shape: shape, hidden: map[Ref]int32{}}
	f.Rebuild()
	return f
}

// Rebuild brings the rows up to date with the index and the folds. It visits
// every node once.
func (f *Flat) Rebuild() {
	x := f.x
	x.arrange()
	f.rows = f.rows[:0]
	if n := len(x.links); cap(f.rowOf) < n {
		f.rowOf = make([]int32, n, n+n/4)
	} else {
		f.rowOf = f.rowOf[:n]
	}
	if cap(f.rows) == 0 {
		f.rows = make([]row, 0, len(x.links)-1)
	}
	// up is the row that n hangs on. Going down it is the row just made, so that a
	// walk looks back only where it goes on to a sibling.
	var up row
	for n := x.links[0].first; n != 0; {
		f.rowOf[n] = int32(len(f.rows))
		r := f.place(n, up)
		f.rows = append(f.rows, r)
		if child := x.links[n].first; child != 0 {
			if !f.folds.has(n) {
				n, up = child, r
				continue
			}
			f.hidden[Ref(n)] = f.hide(n)
		}
		for n != 0 && x.links[n].next == 0 {
			n = x.links[n].parent
		}
		if p := x.links[n].parent; p != 0 {
			up = f.rows[f.rowOf[p]]
		} else {
			up = row{}
		}
		n = x.links[n].next
	}
}

// place makes the row of n, which hangs on the row up; roots on the zero row.
func (f *Flat) place(n int32, up row) row {
	switch above := &f.x.links[up.node]; {
	case up.node == 0:
		return row{node: n}
	case f.shape == Runs && above.first == above.last:
		return row{lanes: up.lanes, node: n, depth: up.depth &^ 1}
	}
	lanes := up.lanes << 1
	if f.x.links[n].next != 0 {
		lanes |= 1
	}
	return row{lanes: lanes, node: n, depth: (up.level()+1)<<1 | 1}
}

// hide marks everything below n as hidden and counts it.
func (f *Flat) hide(n int32) int32 {
	x, top, count := f.x, n, int32(0)
	for n = x.links[n].first; ; {
		f.rowOf[n] = -1
		count++
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

// Len is the number of rows.
func (f *Flat) Len() int { return len(f.rows) }

// At returns the node of row i.
func (f *Flat) At(i int) Ref { return Ref(f.rows[i].node) }

// RowOf returns the row of a node; for a hidden one that of its nearest visible
// ancestor. A node that came after the last Rebuild has none yet.
func (f *Flat) RowOf(r Ref) (row int, ok bool) {
	n := int32(r)
	for n != 0 {
		if int(n) < len(f.rowOf) && f.rowOf[n] >= 0 {
			return int(f.rowOf[n]), true
		}
		n = f.x.links[n].parent
	}
	return 0, false
}

// Visible reports whether the node has a row of its own.
func (f *Flat) Visible(r Ref) bool {
	return r != 0 && int(r) < len(f.rowOf) && f.rowOf[r] >= 0
}

// Folded reports whether the node is folded, and how many nodes that hides.
func (f *Flat) Folded(r Ref) (hidden int, folded bool) {
	return int(f.hidden[r]), f.folds.has(int32(r))
}

// SetFolded folds or unfolds a node and reports whether that changed anything.
// The rows are rebuilt by the caller.
func (f *Flat) SetFolded(r Ref, folded bool) bool {
	if f.folds.has(int32(r)) == folded || folded && f.x.Leaf(r) {
		return false
	}
	f.folds.set(int32(r), folded)
	if folded {
		f.hidden[r] = 0
	} else {
		delete(f.hidden, r)
	}
	return true
}

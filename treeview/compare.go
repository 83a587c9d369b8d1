package treeview

import (
	"hash/maphash"
	"slices"
)

// CompareOptions bound a comparison. The zero value compares kinds and titles
// within the default bounds.
type CompareOptions struct {
	// Key is what two steps have in common if they are the same, such as a hash of
	// kind and data; nil means kind and title as the index keeps them. It is called
	// once for every step that is looked at.
	Key func(Ref) uint64
	// MaxSteps is how many steps of either side are aligned, from the fork on; 0
	// means [DefaultSteps]. The counts are those of the whole.
	MaxSteps int
	// MaxEdits is how many steps may be on one side only before steps are put side
	// by side by their number alone; 0 means [DefaultEdits]. Memory grows with its
	// square.
	MaxEdits int
}

// Bounds of a comparison.
const (
	DefaultSteps = 100_000
	DefaultEdits = 1000
)

// Change says what became of a step.
type Change uint8

// The changes.
const (
	Same    Change = iota // on both sides
	Changed               // on both sides, with different contents
	OnlyA
	OnlyB
)

// Step is one step of either side, or of both; the zero Ref where a side has
// none.
type Step struct {
	A, B   Ref
	Change Change
}

// Comparison is how two nodes of a tree relate.
type Comparison struct {
	A, B Ref
	// Ancestor is the nearest node that is A or B or above both; 0 where they hang
	// below different roots. Nothing is aligned then.
	Ancestor Ref
	// Ahead and Behind count the steps from the ancestor, that one excluded, to A
	// and to B, both included; from the roots on, roots included, where there is no
	// ancestor.
	Ahead, Behind int
	Steps         []Step // from the fork on
	First         int    // the first of Steps that is not the same, -1 for none
	// Positional is set where the sides differ too much to be aligned: steps are
	// side by side by their number.
	Positional bool
	// Cut is set where a side has more steps than were aligned.
	Cut bool
}

// Compare puts the ways from the last common ancestor to a and to b side by side.
func Compare(x *Index, a, b Ref, o CompareOptions) Comparison {
	if o.MaxSteps <= 0 {
		o.MaxSteps = DefaultSteps
	}
	if o.MaxEdits <= 0 {
		o.MaxEdits = DefaultEdits
	}
	if o.Key == nil {
		seed := maphash.MakeSeed()
		o.Key = func(r Ref) uint64 {
			var h maphash.Hash
			h.SetSeed(seed)
			e := Entry{ID: x.ID(r), Kind: x.Kind(r), Title: x.Title(r)}
			_, _ = h.WriteString(e.Kind)
			_ = h.WriteByte(0)
			if !e.Untitled() {
				_, _ = h.WriteString(e.Title)
			}
			return h.Sum64()
		}
	}
	c := Comparison{A: a, B: b, First: -1, Ancestor: x.CommonAncestor(a, b)}
	da, db := x.climb(a), x.climb(b)
	if c.Ancestor == 0 {
		c.Ahead, c.Behind = da+1, db+1
		return c
	}
	top := x.climb(c.Ancestor)
	c.Ahead, c.Behind = da-top, db-top
	c.Cut = c.Ahead > o.MaxSteps || c.Behind > o.MaxSteps
	as, bs := x.way(a, c.Ahead, o.MaxSteps), x.way(b, c.Behind, o.MaxSteps)
	pairs, ok := Align(keys(as, o.Key), keys(bs, o.Key), o.MaxEdits)
	c.Positional = !ok
	c.Steps = make([]Step, len(pairs))
	for i, p := range pairs {
		c.Steps[i].Change = p.Change
		if p.A >= 0 {
			c.Steps[i].A = as[p.A]
		}
		if p.B >= 0 {
			c.Steps[i].B = bs[p.B]
		}
	}
	for i := range c.Steps {
		if c.Steps[i].Change != Same {
			c.First = i
			break
		}
	}
	return c
}

// way returns the first of n steps that lead down to r, at most limit.
func (x *Index) way(r Ref, n, limit int) []Ref {
	for ; n > limit; n-- {
		r = x.Parent(r)
	}
	out := make([]Ref, n)
	for i := n - 1; i >= 0; i-- {
		out[i], r = r, x.Parent(r)
	}
	return out
}

func keys(refs []Ref, key func(Ref) uint64) []uint64 {
	out := make([]uint64, len(refs))
	for i, r := range refs {
		out[i] = key(r)
	}
	return out
}

// match is a stretch that both sides have in common: n steps from a and b on.
type match struct{ a, b, n int }

// Pair is a step of either side, or of both, by its number; -1 where a side has
// none.
type Pair struct {
	A, B   int
	Change Change
}

// Align puts two sides side by side by what their steps weigh: equal steps have
// equal weights. It finds a longest common subsequence that leaves at most maxEdits
// steps on one side only; 0 means [DefaultEdits]. ok is false where there is none
// within the bound, and then the sides stand side by side by number.
func Align(a, b []uint64, maxEdits int) (pairs []Pair, ok bool) {
	if maxEdits <= 0 {
		maxEdits = DefaultEdits
	}
	same, ok := align(a, b, maxEdits)
	return pair(len(a), len(b), same), ok
}

// pair writes na and nb steps down: what is in common side by side, what lies between
// side by side too as far as both have some.
func pair(na, nb int, same []match) []Pair {
	out := make([]Pair, 0, max(na, nb))
	a, b := 0, 0
	gap := func(toA, toB int) {
		for a < toA || b < toB {
			switch {
			case b == toB:
				out = append(out, Pair{a, -1, OnlyA})
				a++
			case a == toA:
				out = append(out, Pair{-1, b, OnlyB})
				b++
			default:
				out = append(out, Pair{a, b, Changed})
				a, b = a+1, b+1
			}
		}
	}
	for _, m := range same {
		gap(m.a, m.b)
		for range m.n {
			out = append(out, Pair{a, b, Same})
			a, b = a+1, b+1
		}
	}
	gap(na, nb)
	return out
}

// align finds a longest common subsequence of a and b with at most maxEdits
// steps on one side only, in time that grows with their number and the sides'
// lengths. ok is false where there is none
// within the bound; then what stands at equal positions and is equal comes back.
func align(a, b []uint64, maxEdits int) (same []match, ok bool) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	mid, ok := walk(a[head:len(a)-tail], b[head:len(b)-tail], maxEdits)
	if !ok {
		return positions(a, b), false
	}
	same = add(same, match{0, 0, head})
	for _, m := range mid {
		same = add(same, match{m.a + head, m.b + head, m.n})
	}
	return add(same, match{len(a) - tail, len(b) - tail, tail}), true
}

// add appends a stretch, to the one before where it goes on there.
func add(to []match, m match) []match {
	if m.n == 0 {
		return to
	}
	if last := len(to) - 1; last >= 0 && to[last].a+to[last].n == m.a && to[last].b+to[last].n == m.b {
		to[last].n += m.n
		return to
	}
	return append(to, m)
}

func positions(a, b []uint64) (same []match) {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			same = add(same, match{i, i, 1})
		}
	}
	return same
}

// nowhere is how far a path gets that leaves the two sides.
const nowhere = -1

// greedy is the walk over the grid of both sides. reach[d] is how far along a the
// furthest path with d edits gets on each diagonal a-b from -d to d, every other
// one.
type greedy struct {
	a, b  []uint64
	reach [][]int32
}

// walk finds what a and b have in common, if at most maxEdits steps are not.
func walk(a, b []uint64, maxEdits int) (same []match, ok bool) {
	if len(a) == 0 || len(b) == 0 {
		return nil, true // all on one side, however much
	}
	g := greedy{a: a, b: b}
	for d := 0; d <= maxEdits && d <= len(a)+len(b); d++ {
		g.reach = append(g.reach, make([]int32, d+1))
		for i := range d + 1 {
			x, _ := g.enter(d, i)
			for y := x - 2*i + d; x != nowhere && x < len(a) && y < len(b) && a[x] == b[y]; {
				x, y = x+1, y+1
			}
			g.reach[d][i] = int32(x)
			if x == len(a) && x-2*i+d == len(b) {
				return g.trace(i), true
			}
		}
	}
	return nil, false
}

// enter returns where the furthest path with d edits comes onto diagonal i, and
// the place it comes from in the row before.
func (g *greedy) enter(d, i int) (x, from int) {
	if d == 0 {
		return 0, 0
	}
	x, before := nowhere, g.reach[d-1]
	if i < d { // by a step of b
		if at := int(before[i]); at != nowhere && at-2*i+d <= len(g.b) {
			x, from = at, i
		}
	}
	if i > 0 { // by a step of a
		if at := int(before[i-1]); at != nowhere && at < len(g.a) && at+1 > x {
			x, from = at+1, i-1
		}
	}
	return x, from
}

// trace goes back along the path that ends in place i of the last row.
func (g *greedy) trace(i int) (same []match) {
	for d := len(g.reach) - 1; d >= 0; d-- {
		start, from := g.enter(d, i)
		if n := int(g.reach[d][i]) - start; n > 0 {
			same = append(same, match{start, start - 2*i + d, n})
		}
		i = from
	}
	slices.Reverse(same)
	return same
}

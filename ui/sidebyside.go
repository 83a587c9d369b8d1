package ui

import (
	"context"
	"errors"
	"hash/maphash"

	"treering/store"
	"treering/treeview"
	"treering/ui/paint"
)

// Bounds of a stretch, which is what is put side by side at a time.
const (
	maxStretch = 5000     // steps of either side
	maxWeighed = 64 << 20 // bytes of data that they are told apart by
	dataAtOnce = 100      // nodes that are read at a time
	// keptEqual is how many of the equal steps before the first difference are listed,
	// where more than a stretch of them is read through.
	keptEqual = 200
)

// sideStep is a step of one side. Equal steps have equal weights.
type sideStep struct {
	treeview.Entry
	weight uint64
}

// text is what a row says of the step.
func (s sideStep) text() string {
	if s.Title == "" {
		return s.Kind + " " + s.ID
	}
	return s.Kind + " " + s.TitleBesideKind()
}

// sides are the steps of either end from the fork on.
type sides interface {
	steps(side int) int
	// stretch takes steps of both sides: those from the given ones on, at most
	// maxStretch of each. What it returns weighs them, off the program's goroutine;
	// whole is false where the data of some was left out.
	stretch(from [2]int) (weigh func(ctx context.Context) (parts [2][]sideStep, whole bool, err error))
}

// traceSides are steps of two traces.
type traceSides [2][]sideStep

func (t traceSides) steps(side int) int { return len(t[side]) }

func (t traceSides) stretch(from [2]int) func(context.Context) ([2][]sideStep, bool, error) {
	return func(context.Context) (parts [2][]sideStep, whole bool, err error) {
		for i, s := range t {
			parts[i] = s[from[i]:min(from[i]+maxStretch, len(s))]
		}
		return parts, true, nil
	}
}

// nodeSides are the nodes from the fork of two branches to their ends.
type nodeSides struct {
	ts      store.TreeStore
	session string
	index   *treeview.Index // of the program's goroutine
	refs    [2][]treeview.Ref
	seed    maphash.Seed
}

func newNodeSides(ts store.TreeStore, w ways) *nodeSides {
	return &nodeSides{ts, w.a.session, w.index, w.sides, maphash.MakeSeed()}
}

func (n *nodeSides) steps(side int) int { return len(n.refs[side]) }

func (n *nodeSides) stretch(from [2]int) func(context.Context) ([2][]sideStep, bool, error) {
	var parts [2][]sideStep
	for i, refs := range n.refs {
		for _, r := range refs[from[i]:min(from[i]+maxStretch, len(refs))] {
			parts[i] = append(parts[i], sideStep{Entry: treeview.Entry{ID: n.index.ID(r), Kind: n.index.Kind(r), Title: n.index.Title(r)}})
		}
	}
	return func(ctx context.Context) ([2][]sideStep, bool, error) {
		whole, err := n.weigh(ctx, parts)
		return parts, whole, err
	}
}

// weigh makes a number of what every step is. whole is false where the data of some
// was left out.
func (n *nodeSides) weigh(ctx context.Context, parts [2][]sideStep) (whole bool, err error) {
	left := maxWeighed
	whole = true
	// The sides take turns, so that what is left out is left out of both.
	for from := 0; from < max(len(parts[0]), len(parts[1])); from += dataAtOnce {
		read := left > 0
		whole = whole && read
		for _, side := range parts {
			part := side[min(from, len(side)):min(from+dataAtOnce, len(side))]
			var nodes []*store.Node
			if read && len(part) > 0 {
				ids := make([]string, len(part))
				for k, s := range part {
					ids[k] = s.ID
				}
				if nodes, err = n.ts.Nodes(ctx, n.session, ids); err != nil {
					return false, err
				}
			}
			for k := range part {
				s := &part[k]
				var h maphash.Hash
				h.SetSeed(n.seed)
				h.WriteString(s.Kind) //nolint:errcheck // it never fails
				h.WriteByte(0)        //nolint:errcheck // it never fails
				if !s.Untitled() {    // its title would be its id
					h.WriteString(s.Title) //nolint:errcheck // it never fails
				}
				if nodes != nil && nodes[k] != nil {
					data := store.Compact(nodes[k].Data)
					left -= len(data)
					h.WriteByte(0)              //nolint:errcheck // it never fails
					h.WriteString(string(data)) //nolint:errcheck // it never fails
				}
				s.weight = h.Sum64()
			}
		}
	}
	return whole, nil
}

// sideBySide is a step of either side, or of both.
type sideBySide struct {
	change treeview.Change
	a, b   string // texts; "" where a side has none
}

// stretch is what came of putting some steps side by side.
type stretch struct {
	steps      []sideBySide
	took       [2]int // how many steps of either side they are
	equal      bool   // all of them are the same
	positional bool   // they differ too much to be aligned
	whole      bool   // all data was looked at
	err        error
}

// align puts steps side by side. Where both sides go on behind them, what comes after
// the last pair in common is left to the next stretch: it may belong to what is not
// here yet.
func align(parts [2][]sideStep, goesOn bool) stretch {
	var weights [2][]uint64
	for i, part := range parts {
		for _, s := range part {
			weights[i] = append(weights[i], s.weight)
		}
	}
	pairs, ok := treeview.Align(weights[0], weights[1], 0)
	out := stretch{took: [2]int{len(parts[0]), len(parts[1])}, positional: !ok, equal: true}
	if goesOn {
		for i := len(pairs) - 1; i >= 0; i-- {
			if p := pairs[i]; p.Change == treeview.Same {
				if max(p.A, p.B) >= maxStretch/2 { // else too little would be done
					pairs, out.took = pairs[:i+1], [2]int{p.A + 1, p.B + 1}
				}
				break
			}
		}
	}
	for _, p := range pairs {
		s := sideBySide{change: p.Change}
		if p.A >= 0 {
			s.a = parts[0][p.A].text()
		}
		if p.B >= 0 {
			s.b = parts[1][p.B].text()
		}
		out.equal = out.equal && p.Change == treeview.Same
		out.steps = append(out.steps, s)
	}
	return out
}

// alongside is what is put side by side so far, from the fork on.
type alongside struct {
	of      sides
	steps   []sideBySide
	skipped int    // equal steps at the beginning that are not listed
	at      [2]int // how many steps of either side were put side by side
	first   int    // of steps, the first that differs; -1 for none
	reading bool
	seeking bool // a difference is looked for
	blunt   bool // of some steps, the data was not looked at
	numbers bool // some stand side by side by their number
	err     error
}

func (c *alongside) begin(of sides) { *c = alongside{of: of, first: -1} }

// left is how many steps of a side are not read.
func (c *alongside) left(side int) int { return c.of.steps(side) - c.at[side] }

// ended reports whether no steps are left.
func (c *alongside) ended() bool { return c.of == nil || c.left(0)+c.left(1) == 0 }

// next reads the next stretch; nil where there is none, or one is being read.
func (c *alongside) next(ctx context.Context) func() stretch {
	if c.reading || c.ended() {
		return nil
	}
	c.reading, c.err = true, nil
	weigh := c.of.stretch(c.at)
	goesOn := c.left(0) > maxStretch && c.left(1) > maxStretch
	return func() stretch {
		parts, whole, err := weigh(ctx)
		if err != nil {
			return stretch{err: err}
		}
		s := align(parts, goesOn)
		s.whole = whole
		return s
	}
}

// add appends a stretch. Of equal ones at the beginning only the last steps are kept;
// dropped is how many were let go.
func (c *alongside) add(s stretch) (dropped int) {
	c.reading = false
	if s.err != nil {
		c.err, c.seeking = s.err, false
		return 0
	}
	had := len(c.steps)
	c.steps = append(c.steps, s.steps...)
	c.blunt, c.numbers = c.blunt || !s.whole, c.numbers || s.positional
	c.at[0], c.at[1] = c.at[0]+s.took[0], c.at[1]+s.took[1]
	switch {
	case c.first >= 0:
	case !s.equal:
		c.first = c.differs(had, 1)
	case !c.ended():
		if dropped = max(len(c.steps)-keptEqual, 0); dropped > 0 {
			c.steps = append([]sideBySide(nil), c.steps[dropped:]...)
			c.skipped += dropped
		}
	}
	return dropped
}

// differs is the next step from one on, that included, which differs; -1 for none.
func (c *alongside) differs(from, by int) int {
	for i := from; i >= 0 && i < len(c.steps); i += by {
		if c.steps[i].change != treeview.Same {
			return i
		}
	}
	return -1
}

// says is what is known of the steps: the first difference, and what was not read. In
// a short window the rows say where they differ.
func (c *alongside) says(m *Model, w int, short bool) (out []string) {
	if c.of == nil || c.of.steps(0)+c.of.steps(1) == 0 {
		return nil
	}
	put := func(s paint.Style, text string) { out = append(out, wrapped(w, s, m.term.SanitiseN(text, 400))...) }
	count := func(n int) string { return treeview.Grouped(int64(n)) }
	switch {
	case c.first >= 0 && short && c.skipped == 0: // the cursor is on it
	case c.first >= 0 && c.ended():
		put(m.theme.Dim, "the first difference is at step "+count(c.skipped+c.first+1)+" of "+count(c.skipped+len(c.steps)))
	case c.first >= 0:
		put(m.theme.Dim, "the first difference is at step "+count(c.skipped+c.first+1))
	case c.ended():
		put(m.theme.Dim, "all steps are equal")
	}
	if c.skipped > 0 && !short {
		put(m.theme.Dim, "the first "+count(c.skipped)+" steps are equal and not listed")
	}
	switch {
	case c.numbers && short:
		put(m.theme.Warn, "not aligned: side by side by number")
	case c.numbers:
		put(m.theme.Warn, "the sides differ too much to be aligned: steps stand side by side by their number")
	}
	if c.blunt {
		put(m.theme.Warn, "the data is too large to be compared in every step: some go by kind and title")
	}
	switch {
	case c.err != nil && !errors.Is(c.err, context.Canceled):
		put(m.theme.Error, "the steps from "+count(max(c.at[0], c.at[1])+1)+" on could not be read: "+m.reason(c.err)+"; r tries again")
	case c.reading:
		put(m.theme.Dim, "comparing… "+count(max(c.at[0], c.at[1]))+" of "+count(max(c.of.steps(0), c.of.steps(1)))+" steps")
	case !c.ended() && short:
		put(m.theme.Warn, "not read: "+count(c.left(0))+" of A, "+count(c.left(1))+" of B; r")
	case !c.ended():
		put(m.theme.Warn, "not read yet: the last "+count(c.left(0))+" steps of A, "+count(c.left(1))+" of B; r reads on, n to the next difference")
	}
	return out
}

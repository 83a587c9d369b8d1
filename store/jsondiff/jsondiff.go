// Package jsondiff compares two JSON values by what they mean.
//
// Objects are compared by key and the order of keys does not matter; numbers by
// exact value, however they are written; lists by the key that their items have,
// or else by their longest common part, with items that only moved told apart
// from those that came and went; texts of several lines by line. Of duplicate
// keys the last counts, and NaN equals NaN. Nothing is recursive: depth costs no
// stack.
package jsondiff

import (
	"context"
	"hash/maphash"
	"unicode/utf8"

	"treering/store"
)

// Op says what became of a value, as a diff marks it.
type Op byte

// What can become of a value. Changed is also what a container is in which
// something changed; Moved an item of a list whose place among the others is
// another one, in which something may have changed as well.
const (
	Same    Op = ' '
	Added   Op = '+'
	Removed Op = '-'
	Changed Op = '~'
	Moved   Op = '>'
)

// Bounds of a comparison. What lies deeper, or further on once there are so many
// nodes, is compared as a whole: the result is still exact, it is only less fine,
// and [Diff.Coarse] counts how often.
const (
	MaxLevel = 100_000
	MaxNodes = 4_000_000
)

// Node is one value of the tree of differences, in which the nodes stand in the
// order of the value after, what was removed among them.
type Node struct {
	Op Op
	// A and B are the tokens of the value before and after in [Diff.A] and
	// [Diff.B], -1 where there is none.
	A, B int32
	// IndexA and IndexB are its places in the lists before and after, -1 where it is
	// no item of a list or is not there.
	IndexA, IndexB int32
	Up             int32 // the node of the container, -1 for the whole
	Next           int32 // the index after the last node below this one
	Level          int32 // how many containers it is in

	text int32 // 1 + the index of its lines, 0 where it has none
}

// Counts says how many values became what. Containers in which something changed
// are not counted themselves.
type Counts struct{ Added, Removed, Changed, Moved, Same int }

// Diff is how one JSON value became another. It is immutable.
type Diff struct {
	// Before and After are the texts compared; A and B are those parsed, nil where a
	// text is not JSON or absent, and then there is one node for the whole.
	Before, After store.JSON
	A, B          *store.Doc
	// Nodes begin with the whole value. There are none where both are the same.
	Nodes  []Node
	Counts Counts
	// Coarse is how many values were too large to be compared closely: containers
	// compared as a whole, lists whose items were compared by their places.
	Coarse int

	texts [][]TextLine
}

// Empty reports whether both values are the same.
func (d *Diff) Empty() bool { return len(d.Nodes) == 0 }

// Leaf reports whether nothing is below node n.
func (d *Diff) Leaf(n int) bool { return int(d.Nodes[n].Next) == n+1 }

// ValueA is the text of node n before, "" where it was not there.
func (d *Diff) ValueA(n int) store.JSON { return value(d.A, d.Before, d.Nodes[n].A) }

// ValueB is the text of node n after, "" where it is not there any more.
func (d *Diff) ValueB(n int) store.JSON { return value(d.B, d.After, d.Nodes[n].B) }

func value(doc *store.Doc, whole store.JSON, token int32) store.JSON {
	switch {
	case token < 0:
		return ""
	case doc == nil:
		return whole
	default:
		return doc.JSON(int(token))
	}
}

// Lines is the comparison by line of a node that is a text of several lines
// before and after; nil for every other.
func (d *Diff) Lines(n int) []TextLine {
	if t := d.Nodes[n].text; t > 0 {
		return d.texts[t-1]
	}
	return nil
}

// Compare compares two values. An absent one ("") was not there; text that is not
// JSON is compared as text. The only error is the context's.
func Compare(ctx context.Context, before, after store.JSON) (*Diff, error) {
	d := &Diff{Before: before, After: after}
	if before == after {
		return d, nil
	}
	var err error
	if d.A, err = parse(ctx, before); err != nil {
		return nil, err
	}
	if d.B, err = parse(ctx, after); err != nil {
		return nil, err
	}
	if d.A == nil || d.B == nil {
		return d, d.whole(ctx)
	}
	c := &comparison{ctx: ctx, Diff: d}
	seed := maphash.MakeSeed()
	if c.a.sums, err = sums(ctx, d.A, seed); err != nil {
		return nil, err
	}
	if c.b.sums, err = sums(ctx, d.B, seed); err != nil {
		return nil, err
	}
	c.a.doc, c.b.doc = d.A, d.B
	if c.a.sums[0] == c.b.sums[0] {
		return d, nil
	}
	if err := c.walk(); err != nil {
		return nil, err
	}
	return d, nil
}

// parse returns nil for what is absent or no JSON.
func parse(ctx context.Context, j store.JSON) (*store.Doc, error) {
	if j == "" {
		return nil, nil
	}
	doc, err := store.ParseDocContext(ctx, j)
	if err != nil {
		return nil, ctx.Err()
	}
	return doc, nil
}

// whole is the comparison of what is not JSON on both sides.
func (d *Diff) whole(ctx context.Context) error {
	n := Node{Op: Changed, IndexA: -1, IndexB: -1, Up: -1, Next: 1}
	switch {
	case d.Before == "":
		n.Op, n.A = Added, -1
	case d.After == "":
		n.Op, n.B = Removed, -1
	case d.A == nil && d.B == nil:
		lines, err := compareText(ctx, string(d.Before), string(d.After))
		if err != nil {
			return err
		}
		if lines != nil {
			d.texts, n.text = [][]TextLine{lines}, 1
		}
	}
	d.Nodes = []Node{n}
	d.count(n.Op)
	return nil
}

func (d *Diff) count(op Op) {
	switch c := &d.Counts; op {
	case Added:
		c.Added++
	case Removed:
		c.Removed++
	case Changed:
		c.Changed++
	case Moved:
		c.Moved++
	case Same:
		c.Same++
	}
}

// side is one of the two values.
type side struct {
	doc  *store.Doc
	sums []sum
}

type comparison struct {
	*Diff
	ctx  context.Context
	a, b side
}

// kid is a pair of values in a pair of containers: tokens and places as in
// [Node].
type kid struct {
	a, b   int32
	ia, ib int32
	moved  bool
}

// open is a pair of containers whose kids are being written.
type open struct {
	node int32
	kids []kid
	at   int
}

// walk writes the nodes.
func (c *comparison) walk() error {
	root := kid{ia: -1, ib: -1}
	var stack []open
	if kids, err := c.node(root, -1, 0); err != nil {
		return err
	} else if kids != nil {
		stack = append(stack, open{node: 0, kids: kids})
	}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.at == len(top.kids) {
			c.Nodes[top.node].Next = int32(len(c.Nodes))
			stack = stack[:len(stack)-1]
			continue
		}
		k := top.kids[top.at]
		top.at++
		n := int32(len(c.Nodes))
		kids, err := c.node(k, top.node, c.Nodes[top.node].Level+1)
		if err != nil {
			return err
		}
		if kids != nil {
			stack = append(stack, open{node: n, kids: kids})
		}
	}
	return nil
}

// node writes one pair and returns the pairs in it that are still to be written.
func (c *comparison) node(k kid, up, level int32) ([]kid, error) {
	n := Node{A: k.a, B: k.b, IndexA: k.ia, IndexB: k.ib, Up: up, Next: int32(len(c.Nodes) + 1), Level: level}
	var kids []kid
	var err error
	switch {
	case k.a < 0:
		n.Op = Added
	case k.b < 0:
		n.Op = Removed
	case c.a.sums[k.a] == c.b.sums[k.b]:
		n.Op = Same
	default:
		n.Op = Changed
		kind := c.A.Kind(int(k.a))
		switch {
		case kind != c.B.Kind(int(k.b)):
		case kind >= store.Array && (level >= MaxLevel || len(c.Nodes) >= MaxNodes):
			c.Coarse++
		case kind == store.Object:
			kids = c.members(k)
		case kind == store.Array:
			kids, err = c.items(k)
		case kind == store.String:
			var lines []TextLine
			before, after := c.A.Exact(int(k.a)), c.B.Exact(int(k.b))
			// Half surrogates would not survive being put together from lines.
			if utf8.ValidString(before) && utf8.ValidString(after) {
				lines, err = compareText(c.ctx, before, after)
			}
			if lines != nil {
				c.texts = append(c.texts, lines)
				n.text = int32(len(c.texts))
			}
		}
	}
	if k.moved {
		n.Op = Moved
	}
	if err == nil && len(c.Nodes)%4096 == 0 {
		err = c.ctx.Err()
	}
	c.Nodes = append(c.Nodes, n)
	if kids == nil || n.Op == Moved {
		c.count(n.Op)
	}
	return kids, err
}

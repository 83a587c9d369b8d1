package claude

import "treering/store/foreign"

// role is what a node is for the head of a session.
type role uint8

const (
	none   role = iota
	speaks      // a message
	leads       // one of the conversation itself, which can be the head
)

// marks finds the head of a session while it grows, and tells the forks that a person
// made from those that are only stored as forks. At a real branch point at least two of
// the children lead to something that was asked; where fewer do, one child is what the
// conversation goes on with: the one that leads to a prompt, else the last that has
// something below it, else the last.
type marks struct {
	tree    *foreign.Tree
	shape   uint64
	prompts []bool   // by node: whether something that a person asked is there or below
	roles   []role   // by node
	near    []int32  // by node: the nearest message from there upwards; -1: none
	best    int32    // the head; -1: none
	stale   bool     // it is to be looked for
	stamps  []uint32 // by node, from since on: when it was written; 0: unknown
	since   int32
}

func newMarks(t *foreign.Tree) marks {
	return marks{tree: t, shape: t.Shape(), best: -1, prompts: []bool{false}, roles: []role{none}, near: []int32{-1}}
}

// added takes a node that was added. Those that were written at one moment have the
// same stamp.
func (m *marks) added(n int32, r role, stamp uint32) {
	if int(n) < len(m.prompts) {
		return // it was there: a line that was written twice
	}
	m.prompts, m.roles = append(m.prompts, false), append(m.roles, r)
	if stamp != 0 && m.stamps == nil {
		m.since = n
	}
	if stamp != 0 || m.stamps != nil {
		m.stamps = append(m.stamps, stamp)
	}
	p, ok := m.tree.Parent(n)
	switch {
	case r != none:
		m.near = append(m.near, n)
	case ok:
		m.near = append(m.near, m.near[p])
	default:
		m.near = append(m.near, -1)
	}
	switch at := m.near[n]; {
	case at >= 0 && m.roles[at] == leads:
		m.best = max(m.best, at) // nothing follows what is added last
	default:
		m.stale = true // it may follow the head, which is none then
	}
	m.asked(n)
	if !ok {
		return
	}
	m.weigh(p)
	if above, ok := m.tree.Parent(p); ok {
		m.weigh(above) // p has something below it now
	}
}

// asked notes upwards that a node leads to a prompt.
func (m *marks) asked(n int32) {
	if f := m.tree.Flags(n); f&foreign.Prompt == 0 || f&foreign.Side != 0 {
		return
	}
	for at, ok := n, true; ok && !m.prompts[at]; at, ok = m.tree.Parent(at) {
		m.prompts[at] = true
		if p, has := m.tree.Parent(at); has {
			m.weigh(p)
		}
	}
}

// active is the head: of the nodes that nothing follows, walked up to the nearest
// message, the one that was written last. Where none of those is of the conversation
// itself it is the last message above them that is.
func (m *marks) active() int32 {
	now := m.tree.Shape()
	if now == m.shape && !m.stale {
		return m.best
	}
	if now != m.shape {
		m.again()
	}
	m.shape, m.stale = now, false
	m.best = -1
	other := int32(-1)
	for n := range int32(len(m.near)) {
		if _, more := m.tree.FirstChild(n); more || n == 0 {
			continue
		}
		at := m.near[n]
		if at >= 0 && m.roles[at] == leads {
			m.best = max(m.best, at)
			continue
		}
		for ; m.best < 0 && at >= 0 && at > other; at = m.above(at) {
			if m.roles[at] == leads {
				other = at
				break
			}
		}
	}
	if m.best < 0 {
		m.best = other
	}
	return m.best
}

// above is the nearest message above one.
func (m *marks) above(n int32) int32 {
	p, ok := m.tree.Parent(n)
	if !ok {
		return -1
	}
	return m.near[p]
}

// again looks at all nodes, where some of them came elsewhere.
func (m *marks) again() {
	t := m.tree
	clear(m.prompts)
	// Children have no order by number, so nodes are visited children first.
	order := make([]int32, 0, t.Len())
	for stack := []int32{t.Root()}; len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		order = append(order, at)
		for c, ok := t.FirstChild(at); ok; c, ok = t.NextSibling(c) {
			stack = append(stack, c)
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		at := order[i]
		if f := t.Flags(at); f&foreign.Prompt != 0 && f&foreign.Side == 0 {
			m.prompts[at] = true
		}
		if p, ok := t.Parent(at); ok && m.prompts[at] {
			m.prompts[p] = true
		}
	}
	for _, at := range order {
		m.weigh(at)
		if m.roles[at] == none {
			if m.near[at] = -1; at != t.Root() {
				p, _ := t.Parent(at)
				m.near[at] = m.near[p]
			}
		}
	}
}

// weighed is how many children of a node are looked at: those of one with more are no
// turns of a conversation, and each new one would look at all.
const weighed = 1000

// weigh marks the children of a node that are no branches.
func (m *marks) weigh(at int32) {
	t := m.tree
	children, asked := 0, 0
	main, below := int32(-1), false
	var when map[uint32]int32 // the last child that leads to a prompt, by its stamp
	for c, ok := t.FirstChild(at); ok; c, ok = t.NextSibling(c) {
		if children++; children > weighed {
			return
		}
		_, more := t.FirstChild(c)
		switch {
		case m.prompts[c]:
			asked++
			if stamp := m.stamp(c); stamp != 0 {
				if when == nil {
					when = map[uint32]int32{}
				}
				if _, again := when[stamp]; again {
					asked-- // what a compaction kept, written once more
				}
				when[stamp] = c
			}
			main, below = c, true
		case asked == 0 && (more || !below):
			main, below = c, below || more
		}
	}
	if _, made := t.Record(at); !made {
		return // below a root that was made up every child is a root
	}
	for c, ok := t.FirstChild(at); ok; c, ok = t.NextSibling(c) {
		branch := asked >= 2 && m.prompts[c]
		if stamp := m.stamp(c); branch && stamp != 0 {
			branch = when[stamp] == c
		}
		if children < 2 || branch || c == main {
			t.Mark(c, 0, foreign.FalseFork)
		} else {
			t.Mark(c, foreign.FalseFork, 0)
		}
	}
}

// stamp is when a node was written, if that was noted.
func (m *marks) stamp(n int32) uint32 {
	if i := n - m.since; m.stamps != nil && i >= 0 && int(i) < len(m.stamps) {
		return m.stamps[i]
	}
	return 0
}

package claude

import "treering/store/foreign"

// marks finds the head of a session while it grows, and tells the forks that a person
// made from those that are only stored as forks. At a real branch point at least two of
// the children lead to something that was asked; where fewer do, one child is what the
// conversation goes on with: the one that leads to a prompt, else the last that has
// something below it, else the last.
type marks struct {
	tree    *foreign.Tree
	shape   uint64
	prompts []bool  // by node: whether something that a person asked is there or below
	head    []int32 // by node: the nearest message from there upwards, which can be the head; -1: none
	best    int32   // the head; -1: none
}

func newMarks(t *foreign.Tree) marks {
	return marks{tree: t, shape: t.Shape(), best: -1, prompts: []bool{false}, head: []int32{-1}}
}

// added takes a node that was added; head says that it can be the head.
func (m *marks) added(n int32, head bool) {
	if int(n) < len(m.prompts) {
		return // it was there: a line that was written twice
	}
	m.prompts = append(m.prompts, false)
	p, ok := m.tree.Parent(n)
	switch {
	case head:
		m.head = append(m.head, n)
	case ok:
		m.head = append(m.head, m.head[p])
	default:
		m.head = append(m.head, -1)
	}
	// What is added last is one of those that nothing follows.
	m.best = max(m.best, m.head[n])
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
// message, the one that was written last.
func (m *marks) active() int32 {
	if now := m.tree.Shape(); now != m.shape {
		m.shape = now
		m.again()
	}
	return m.best
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
	m.best = -1
	for _, at := range order {
		m.weigh(at)
		if m.head[at] != at {
			if m.head[at] = -1; at != t.Root() {
				p, _ := t.Parent(at)
				m.head[at] = m.head[p]
			}
		}
		if _, more := t.FirstChild(at); !more {
			m.best = max(m.best, m.head[at])
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
	for c, ok := t.FirstChild(at); ok; c, ok = t.NextSibling(c) {
		if children++; children > weighed {
			return
		}
		_, more := t.FirstChild(c)
		switch {
		case m.prompts[c]:
			asked++
			main, below = c, true
		case asked == 0 && (more || !below):
			main, below = c, below || more
		}
	}
	if _, made := t.Record(at); !made {
		return // below a root that was made up every child is a root
	}
	for c, ok := t.FirstChild(at); ok; c, ok = t.NextSibling(c) {
		if children < 2 || asked >= 2 && m.prompts[c] || c == main {
			t.Mark(c, 0, foreign.FalseFork)
		} else {
			t.Mark(c, foreign.FalseFork, 0)
		}
	}
}

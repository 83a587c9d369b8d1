package claude

import (
	"treering/store/foreign"
)

// mark finds the head, and tells the forks that a person made from those that are
// only stored as forks.
func mark(t *foreign.Tree, heads []int) int32 {
	n := t.Len()
	// prompts: whether something that a person asked hangs at a node or below it.
	// Children have no order by number, so nodes are visited children first.
	order := make([]int32, 0, n)
	for stack := []int32{t.Root()}; len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		order = append(order, at)
		for c, ok := t.FirstChild(at); ok; c, ok = t.NextSibling(c) {
			stack = append(stack, c)
		}
	}
	prompts := make([]bool, n)
	for i := len(order) - 1; i >= 0; i-- {
		at := order[i]
		if rec, ok := t.Record(at); ok && rec.Flags&foreign.Prompt != 0 && rec.Flags&foreign.Side == 0 {
			prompts[at] = true
		}
		if p, ok := t.Parent(at); ok && prompts[at] {
			prompts[p] = true
		}
	}
	for _, at := range order {
		falseForks(t, at, prompts)
	}
	return active(t, heads)
}

// falseForks marks the children of a node that are no branches. At a real branch point
// at least two of them lead to something that was asked; where fewer do, one child is
// what the conversation goes on with: the one that leads to a prompt, else the last
// that has something below it, else the last.
func falseForks(t *foreign.Tree, at int32, prompts []bool) {
	children, asked := 0, 0
	main := int32(-1)
	below := false
	for c, ok := t.FirstChild(at); ok; c, ok = t.NextSibling(c) {
		children++
		_, more := t.FirstChild(c)
		switch {
		case prompts[c]:
			asked++
			main, below = c, true
		case asked == 0 && (more || !below):
			main, below = c, below || more
		}
	}
	if children < 2 {
		return
	}
	if _, made := t.Record(at); !made {
		return // below a root that was made up every child is a root
	}
	for c, ok := t.FirstChild(at); ok; c, ok = t.NextSibling(c) {
		if asked >= 2 && prompts[c] || c == main {
			continue
		}
		if rec, ok := t.Record(c); ok {
			rec.Flags |= foreign.FalseFork
		}
	}
}

// active is the head: of the nodes that nothing follows, walked up to the nearest
// message, the one that was written last.
func active(t *foreign.Tree, heads []int) int32 {
	can := make([]int, t.Len())
	for i := range can {
		can[i] = -1
	}
	for _, i := range heads {
		can[t.Of(i)] = i
	}
	best, place := int32(-1), -1
	for i := range t.Len() {
		n := t.At(i)
		if _, more := t.FirstChild(n); more {
			continue
		}
		for at, ok := n, true; ok; at, ok = t.Parent(at) {
			if can[at] < 0 {
				continue
			}
			if can[at] > place {
				best, place = at, can[at]
			}
			break
		}
	}
	return best
}

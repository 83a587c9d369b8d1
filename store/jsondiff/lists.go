package jsondiff

import (
	"slices"
	"strings"

	"treering/store"
)

// items pairs those of two lists.
func (c *comparison) items(k kid) ([]kid, error) {
	a, b := tokens(c.A, int(k.a)), tokens(c.B, int(k.b))
	// Which list is the first one must not matter to what is found, so that the way
	// back is the way there.
	turned := len(a) > len(b) || len(a) == len(b) && c.a.sums[k.a].lo > c.b.sums[k.b].lo
	first, second := side{c.A, c.a.sums}, side{c.B, c.b.sums}
	x, y := a, b
	if turned {
		first, second, x, y = second, first, y, x
	}
	var stay, move []match
	if keysX, keysY := itemKeys(first, x, second, y); keysX != nil {
		stay, move = byKey(keysX, keysY)
	} else {
		l := lcs[sum]{ctx: c.ctx}
		var err error
		if stay, err = l.find(pick(first.sums, x), pick(second.sums, y)); err != nil {
			return nil, err
		}
		if l.coarse {
			c.Coarse++
		}
		stay, move = c.pairs(first, x, second, y, stay)
	}
	if turned {
		flip(stay)
		flip(move)
		slices.SortFunc(stay, func(p, q match) int { return p.b - q.b })
	}
	return merge(a, b, stay, move), nil
}

func flip(ms []match) {
	for i, m := range ms {
		ms[i] = match{m.b, m.a}
	}
}

func tokens(d *store.Doc, list int) []int32 {
	var out []int32
	for i := list + 1; i < d.Next(list); i = d.Next(i) {
		out = append(out, int32(i))
	}
	return out
}

func pick(sums []sum, tokens []int32) []sum {
	out := make([]sum, len(tokens))
	for i, t := range tokens {
		out[i] = sums[t]
	}
	return out
}

// merge lists the pairs: in the order of b, what was removed before what now
// stands where it was. stay is in order.
func merge(a, b []int32, stay, move []match) []kid {
	partner := make([]int, len(b)) // 1 + the place in a of what moved here
	gone := make([]bool, len(a))
	for _, m := range move {
		partner[m.b] = m.a + 1
		gone[m.a] = true
	}
	kids := make([]kid, 0, len(b))
	i, j := 0, 0
	for n := 0; n <= len(stay); n++ {
		endA, endB := len(a), len(b)
		if n < len(stay) {
			endA, endB = stay[n].a, stay[n].b
		}
		for ; i < endA; i++ {
			if !gone[i] {
				kids = append(kids, kid{a[i], -1, int32(i), -1, false})
			}
		}
		for ; j < endB; j++ {
			if p := partner[j] - 1; p >= 0 {
				kids = append(kids, kid{a[p], b[j], int32(p), int32(j), true})
			} else {
				kids = append(kids, kid{-1, b[j], -1, int32(j), false})
			}
		}
		if n < len(stay) {
			kids = append(kids, kid{a[i], b[j], int32(i), int32(j), false})
			i, j = i+1, j+1
		}
	}
	return kids
}

// pairs adds to what stayed the same: items that are somewhere else now, and of
// those left between two that stayed the pairs that may be one changed.
func (c *comparison) pairs(first side, x []int32, second side, y []int32, stay []match) (all, move []match) {
	usedX, usedY := make([]bool, len(x)), make([]bool, len(y))
	for _, m := range stay {
		usedX[m.a], usedY[m.b] = true, true
	}
	left := map[sum][]int{}
	for i, t := range x {
		if !usedX[i] {
			left[first.sums[t]] = append(left[first.sums[t]], i)
		}
	}
	for j, t := range y {
		if from := left[second.sums[t]]; !usedY[j] && len(from) > 0 {
			move = append(move, match{from[0], j})
			usedX[from[0]], usedY[j] = true, true
			left[second.sums[t]] = from[1:]
		}
	}
	i, j := 0, 0
	for n := 0; n <= len(stay); n++ {
		endX, endY := len(x), len(y)
		if n < len(stay) {
			endX, endY = stay[n].a, stay[n].b
		}
		for {
			for i < endX && usedX[i] {
				i++
			}
			for j < endY && usedY[j] {
				j++
			}
			if i == endX || j == endY {
				break
			}
			if alike(first.doc.Kind(int(x[i])), second.doc.Kind(int(y[j]))) {
				all = append(all, match{i, j})
			}
			i, j = i+1, j+1
		}
		if n < len(stay) {
			all = append(all, stay[n])
			i, j = endX+1, endY+1
		}
	}
	return all, move
}

// alike reports whether a value of one kind may have become one of the other:
// containers only one of their own kind.
func alike(a, b store.Kind) bool {
	return a == b || a < store.Array && b < store.Array
}

// keyNames are the members that items of lists are told apart by, the best one
// first. Besides them, any name that ends as an id does.
var keyNames = [...]string{"id", "key", "uuid", "name", "seq", "path", "event_id", "node_id", "child_id", "execution_id", "session_id", "index"}

func keyRank(name string) (rank int, ok bool) {
	if i := slices.Index(keyNames[:], name); i >= 0 {
		return i, true
	}
	for _, suffix := range [...]string{"_id", "_uuid", "Id", "ID"} {
		if strings.HasSuffix(name, suffix) {
			return len(keyNames), true
		}
	}
	return 0, false
}

// itemKeys returns what the items of two lists are told apart by: of a member
// that all have and no two of one list share. nil where there is none.
func itemKeys(x side, xs []int32, y side, ys []int32) (keysX, keysY []sum) {
	if len(xs) == 0 || len(ys) == 0 || x.doc.Kind(int(xs[0])) != store.Object {
		return nil, nil
	}
	for _, name := range candidates(x, int(xs[0])) {
		if keysX = keysOf(x, xs, name); keysX == nil {
			continue
		}
		if keysY = keysOf(y, ys, name); keysY != nil {
			return keysX, keysY
		}
	}
	return nil, nil
}

// candidates are the keys of an item that may tell items apart, by their sums,
// the best one first.
func candidates(x side, item int) []sum {
	type candidate struct {
		rank int
		name string
		key  sum
	}
	var found []candidate
	for _, m := range lastMembers(x.doc, x.sums, item, nil) {
		if k := x.doc.Kind(int(m.value)); k != store.String && k != store.Number {
			continue
		}
		name := x.doc.Exact(int(m.value) - 1)
		if rank, ok := keyRank(name); ok {
			found = append(found, candidate{rank, name, m.key})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return strings.Compare(a.name, b.name)
	})
	const few = 4
	out := make([]sum, 0, few)
	for _, c := range found[:min(len(found), few)] {
		out = append(out, c.key)
	}
	return out
}

// keysOf returns the sums of the values that the items have for a key; nil
// unless all items are objects, have it, and no two have the same.
func keysOf(s side, items []int32, key sum) []sum {
	out := make([]sum, len(items))
	seen := make(map[sum]bool, len(items))
	for n, t := range items {
		object := int(t)
		if s.doc.Kind(object) != store.Object {
			return nil
		}
		at := -1
		for i := object + 1; i < s.doc.Next(object); i = s.doc.Next(i + 1) {
			if s.sums[i] == key {
				at = i + 1
			}
		}
		if at < 0 {
			return nil
		}
		if k := s.doc.Kind(at); k != store.String && k != store.Number || seen[s.sums[at]] {
			return nil
		}
		out[n] = s.sums[at]
		seen[out[n]] = true
	}
	return out
}

// byKey pairs items of the same key. Those of the longest part that kept its
// order stay, the others moved.
func byKey(xs, ys []sum) (stay, move []match) {
	at := make(map[sum]int, len(xs))
	for i, k := range xs {
		at[k] = i
	}
	var all []match
	for j, k := range ys {
		if i, ok := at[k]; ok {
			all = append(all, match{i, j})
		}
	}
	kept := rising(all)
	for n, m := range all {
		if kept[n] {
			stay = append(stay, m)
		} else {
			move = append(move, m)
		}
	}
	return stay, move
}

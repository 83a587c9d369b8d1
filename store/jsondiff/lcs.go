package jsondiff

import (
	"context"
	"sort"
)

// match says that item a of one sequence is item b of the other.
type match struct{ a, b int }

// Bounds of the search for a common part. Up to maxEdits differences it is the
// longest one. Beyond, the items that are in both exactly once give the frame,
// and between two of them gapEdits are looked through.
const (
	maxEdits = 1500
	gapEdits = 200
)

// lcs finds the common part of two sequences.
type lcs[T comparable] struct {
	ctx    context.Context
	coarse bool // it may be shorter than it could be
}

// find returns the pairs of the common part, in order.
func (l *lcs[T]) find(a, b []T) ([]match, error) {
	out, ok, err := l.exact(nil, a, b, 0, 0, maxEdits)
	if err != nil || ok {
		return out, err
	}
	out = nil // with a frame, more than the ends may be found
	frame := rare(a, b)
	i, j := 0, 0
	for n := 0; n <= len(frame); n++ {
		endA, endB := len(a), len(b)
		if n < len(frame) {
			endA, endB = frame[n].a, frame[n].b
		}
		if i < endA || j < endB {
			if out, ok, err = l.exact(out, a[i:endA], b[j:endB], i, j, gapEdits); err != nil {
				return nil, err
			}
			l.coarse = l.coarse || !ok
		}
		if n < len(frame) {
			out = append(out, frame[n])
			i, j = endA+1, endB+1
		}
	}
	return out, nil
}

// exact appends the longest common part of a and b, whose places begin at i and
// j, by Myers' greedy search. Where that takes more than max edits, ok is false
// and only the same beginning and end are in it.
func (l *lcs[T]) exact(out []match, a, b []T, i, j, edits int) (_ []match, ok bool, err error) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		out = append(out, match{i, j})
		a, b, i, j = a[1:], b[1:], i+1, j+1
	}
	tail := 0
	for tail < len(a) && tail < len(b) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	endA, endB := i+len(a)-tail, j+len(b)-tail
	a, b = a[:len(a)-tail], b[:len(b)-tail]
	ok = true
	if len(a) > 0 && len(b) > 0 {
		if out, ok, err = l.greedy(out, a, b, i, j, edits); err != nil {
			return nil, false, err
		}
	}
	for n := range tail {
		out = append(out, match{endA + n, endB + n})
	}
	return out, ok, nil
}

func (l *lcs[T]) greedy(out []match, a, b []T, i, j, edits int) (_ []match, ok bool, err error) {
	n, m := len(a), len(b)
	edits = min(edits, n+m)
	v := make([]int32, 2*edits+3) // the furthest x on each diagonal
	at := func(k int) int { return k + edits + 1 }
	var trail [][]int32 // v as it was before each step, for the diagonals it has
	for d := 0; d <= edits; d++ {
		if err := l.ctx.Err(); err != nil {
			return nil, false, err
		}
		trail = append(trail, append([]int32(nil), v[at(-d)-1:at(d)+2]...))
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || k != d && v[at(k-1)] < v[at(k+1)] {
				x = int(v[at(k+1)])
			} else {
				x = int(v[at(k-1)]) + 1
			}
			y := x - k
			for x < n && y < m && a[x] == b[y] {
				x, y = x+1, y+1
			}
			v[at(k)] = int32(x)
			if k == n-m && x >= n {
				return append(out, back(trail, n, m, d, i, j)...), true, nil
			}
		}
	}
	return out, false, nil
}

// back follows the steps from the end to the beginning.
func back(trail [][]int32, x, y, d, i, j int) []match {
	var rev []match
	for ; d >= 0; d-- {
		v := trail[d]
		at := func(k int) int { return k + d + 1 }
		k := x - y
		prev := k - 1
		if k == -d || k != d && v[at(k-1)] < v[at(k+1)] {
			prev = k + 1
		}
		px := int(v[at(prev)])
		py := px - prev
		for x > px && y > py && x > 0 && y > 0 {
			x, y = x-1, y-1
			rev = append(rev, match{i + x, j + y})
		}
		x, y = px, py
	}
	for l, r := 0, len(rev)-1; l < r; l, r = l+1, r-1 {
		rev[l], rev[r] = rev[r], rev[l]
	}
	return rev
}

// rare returns the longest part of the items that are exactly once in each.
func rare[T comparable](a, b []T) []match {
	type places struct{ a, b, inA, inB int }
	seen := make(map[T]*places, len(a))
	for i, t := range a {
		p := seen[t]
		if p == nil {
			p = &places{}
			seen[t] = p
		}
		p.a, p.inA = i, p.inA+1
	}
	for j, t := range b {
		if p := seen[t]; p != nil {
			p.b, p.inB = j, p.inB+1
		}
	}
	var all []match
	for j, t := range b {
		if p := seen[t]; p != nil && p.inA == 1 && p.inB == 1 {
			all = append(all, match{p.a, j})
		}
	}
	kept := rising(all)
	out := all[:0]
	for n, m := range all {
		if kept[n] {
			out = append(out, m)
		}
	}
	return out
}

// rising marks the longest part of pairs, ordered by b, that is ordered by a too.
func rising(all []match) []bool {
	var ends []int // of the best part of each length, its last pair
	before := make([]int, len(all))
	for n, m := range all {
		at := sort.Search(len(ends), func(i int) bool { return all[ends[i]].a >= m.a })
		before[n] = -1
		if at > 0 {
			before[n] = ends[at-1]
		}
		if at == len(ends) {
			ends = append(ends, n)
		} else {
			ends[at] = n
		}
	}
	kept := make([]bool, len(all))
	if len(ends) > 0 {
		for n := ends[len(ends)-1]; n >= 0; n = before[n] {
			kept[n] = true
		}
	}
	return kept
}

package jsondoc

import "sort"

// folds are the lines that are folded.
type folds struct {
	set []uint64 // a bit for each line, those within folded ones too
	// outer are those that are not within another one, in order, and hidden how many
	// lines all before and each of them hide.
	outer  []int32
	hidden []int
}

func (f *folds) reset(lines int) {
	*f = folds{set: make([]uint64, (lines+63)/64)}
}

func (f *folds) is(n int) bool { return f.set[n/64]&(1<<(n%64)) != 0 }

func (f *folds) put(n int, folded bool) {
	if folded {
		f.set[n/64] |= 1 << (n % 64)
	} else {
		f.set[n/64] &^= 1 << (n % 64)
	}
}

// total is how many lines are hidden.
func (f *folds) total() int {
	if len(f.hidden) == 0 {
		return 0
	}
	return f.hidden[len(f.hidden)-1]
}

// around is the outermost fold that hides line n, -1 where it is to be seen.
func (f *folds) around(n int, s *stack) int {
	i := sort.Search(len(f.outer), func(i int) bool { return int(f.outer[i]) >= n }) - 1
	if i < 0 {
		return -1
	}
	if at := int(f.outer[i]); n <= at+s.Span(at) {
		return at
	}
	return -1
}

// before is how many lines are hidden before line n.
func (f *folds) before(n int) int {
	i := sort.Search(len(f.outer), func(i int) bool { return int(f.outer[i]) >= n }) - 1
	if i < 0 {
		return 0
	}
	return f.hidden[i]
}

// toggle folds or unfolds a line that is to be seen.
func (f *folds) toggle(n int, folded bool, s *stack) {
	if f.is(n) == folded {
		return
	}
	f.put(n, folded)
	i := sort.Search(len(f.outer), func(i int) bool { return int(f.outer[i]) >= n })
	end := n + s.Span(n)
	if folded {
		k := sort.Search(len(f.outer), func(k int) bool { return int(f.outer[k]) > end })
		f.outer = append(f.outer[:i:i], append([]int32{int32(n)}, f.outer[k:]...)...)
	} else {
		var inside []int32
		for at := n + 1; at <= end; at++ {
			if f.is(at) {
				inside = append(inside, int32(at))
				at += s.Span(at)
			}
		}
		f.outer = append(f.outer[:i:i], append(inside, f.outer[i+1:]...)...)
	}
	f.sum(s)
}

func (f *folds) sum(s *stack) {
	f.hidden = f.hidden[:0]
	all := 0
	for _, n := range f.outer {
		all += s.Span(int(n))
		f.hidden = append(f.hidden, all)
	}
}

// level folds everything that lies in at least so many containers of its part,
// and unfolds the rest. Headings stay as they are.
func (f *folds) level(level int, s *stack) {
	headings := map[int]bool{}
	for i := range s.base {
		if s.doc.parts[i].headed && f.is(s.base[i]) {
			headings[s.base[i]] = true
		}
	}
	f.reset(s.len)
	var ends []int // of the open containers around
	for n := 0; n < s.len; n++ {
		for len(ends) > 0 && n > ends[len(ends)-1] {
			ends = ends[:len(ends)-1]
		}
		span := s.Span(n)
		if span == 0 {
			continue
		}
		if _, line := s.part(n); line < 0 {
			if headings[n] {
				f.put(n, true)
				f.outer = append(f.outer, int32(n))
				n += span
			}
			continue
		}
		if len(ends) >= level {
			f.put(n, true)
			f.outer = append(f.outer, int32(n))
			n += span
			continue
		}
		ends = append(ends, n+span)
	}
	f.sum(s)
}

// reveal unfolds everything around line n.
func (f *folds) reveal(n int, s *stack) {
	for at := f.around(n, s); at >= 0; at = f.around(n, s) {
		f.toggle(at, false, s)
	}
}

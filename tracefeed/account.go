package tracefeed

import (
	"cmp"
	"slices"

	"treering/store"
)

// Span is a run of indexes, both ends included.
type Span struct{ First, Last int64 }

// Count is how many indexes there are in the span.
func (s Span) Count() int64 { return s.Last - s.First + 1 }

// Arrival is one step that was not there at the reading before.
type Arrival struct {
	store.TraceEntry
	Late   bool // below an index that was settled already
	Filled bool // Late, and it had been counted as missed
}

// Missed are indexes of which no step was seen.
type Missed struct {
	Span
	// Dropped: the ring let them go before they were looked at. Otherwise they are
	// missing between steps that are there, and may still come.
	Dropped bool
}

// Reading is what one reading of a ring tells beyond the one before.
type Reading struct {
	First     bool      // there was none before
	Restarted bool      // the indexes begin anew: the execution was purged and made again
	Gone      []Span    // were there, and are not although older ones are, or none is
	Evicted   []Span    // were there, and left the ring at its old end
	Missed    []Missed  // by index
	Arrived   []Arrival // by index
}

// Empty reports whether the reading tells nothing.
func (r *Reading) Empty() bool {
	return !r.First && !r.Restarted && len(r.Gone)+len(r.Evicted)+len(r.Missed)+len(r.Arrived) == 0
}

// Account settles the indexes of one trace ring from reading to reading: in each life
// of the ring each index from the first one on is either handed out once, as an
// Arrival, or counted as Missed. It goes by what the readings hold and nothing else,
// so a ring that was made again and has passed every index that it had, without one
// step in common with the last reading, is taken for the old one with a gap.
//
// It belongs to one goroutine at a time.
type Account struct {
	from   *int64
	begun  bool
	held   []store.TraceEntry // of the last reading, by index
	next   int64              // every index below it is settled
	gaps   []Span             // counted as missed, by index
	missed int64
}

// maxGaps is how many gaps are remembered for steps that come late. Below older ones
// whatever comes late is not known to have been counted.
const maxGaps = 4096

// NewAccount begins an account. A nil from takes over whatever the first reading
// holds. Otherwise the indexes below *from are settled already, and what is missing
// from there on is counted; a ring that ends before the index below *from was made
// again meanwhile.
func NewAccount(from *int64) *Account { return &Account{from: from} }

// Next is the index below which everything is settled: where to resume.
func (a *Account) Next() int64 { return a.next }

// Missed is how many indexes of this life of the ring were counted as missed and have
// not come since.
func (a *Account) Missed() int64 { return a.missed }

// Read takes in one reading of the whole ring.
func (a *Account) Read(entries []store.TraceEntry) Reading {
	rows := entries
	byIndex := func(x, y store.TraceEntry) int { return cmp.Compare(x.Index, y.Index) }
	if !slices.IsSortedFunc(rows, byIndex) {
		rows = slices.Clone(entries)
		slices.SortStableFunc(rows, byIndex)
	}
	var r Reading
	known := a.held
	switch {
	case !a.begun:
		a.begun, r.First = true, true
		known, r.Restarted = a.begin(rows)
	case a.restarted(rows):
		r.Restarted = true
		for _, e := range known {
			r.Gone = grow(r.Gone, e.Index)
		}
		known, a.next, a.gaps, a.missed = nil, 0, nil, 0
	}
	a.held = rows
	a.settle(&r, known, rows)
	return r
}

// begin finds out where the account begins, and which rows are settled already.
func (a *Account) begin(rows []store.TraceEntry) (known []store.TraceEntry, restarted bool) {
	n := len(rows)
	switch {
	case a.from == nil:
		if n > 0 {
			a.next = rows[0].Index
		}
	case n > 0 && rows[n-1].Index < *a.from-1:
		restarted = true
	default:
		a.next = *a.from
		settled, _ := slices.BinarySearchFunc(rows, a.next, func(e store.TraceEntry, index int64) int { return cmp.Compare(e.Index, index) })
		known = rows[:settled]
	}
	return known, restarted
}

// restarted reports whether the rows are of another life of the ring than those held.
func (a *Account) restarted(rows []store.TraceEntry) bool {
	if len(rows) == 0 {
		return false
	}
	if len(a.held) == 0 {
		return rows[0].Index < a.next
	}
	changed, added := false, false
	walk(a.held, rows, func(was, is []store.TraceEntry) {
		if len(was) == 1 && len(is) == 1 && !sameEntry(was[0], is[0]) {
			changed = true // a step never changes
		}
		added = added || len(was) == 0
	})
	return changed || added && rows[len(rows)-1].Index < a.held[len(a.held)-1].Index
}

// settle hands out and counts what is new among rows.
func (a *Account) settle(r *Reading, known, rows []store.TraceEntry) {
	walk(known, rows, func(was, is []store.TraceEntry) {
		was, is = without(was, is), without(is, was)
		for _, e := range was {
			if len(rows) > 0 && e.Index < rows[0].Index {
				r.Evicted = grow(r.Evicted, e.Index)
			} else {
				r.Gone = grow(r.Gone, e.Index)
			}
		}
		for _, e := range is {
			if e.Index < a.next {
				r.Arrived = append(r.Arrived, Arrival{e, true, a.fill(e.Index)})
				continue
			}
			if e.Index > a.next {
				gap := Span{a.next, e.Index - 1}
				r.Missed = append(r.Missed, Missed{gap, e.Index == rows[0].Index})
				a.count(gap)
			}
			a.next = e.Index + 1
			r.Arrived = append(r.Arrived, Arrival{TraceEntry: e})
		}
	})
}

// count counts a gap as missed.
func (a *Account) count(gap Span) {
	a.missed += gap.Count()
	if len(a.gaps) == maxGaps {
		a.gaps = slices.Delete(a.gaps, 0, maxGaps/2)
	}
	a.gaps = append(a.gaps, gap)
}

// fill takes an index out of the gaps, and says whether it was in one.
func (a *Account) fill(index int64) bool {
	i, _ := slices.BinarySearchFunc(a.gaps, index, func(g Span, index int64) int { return cmp.Compare(g.Last, index) })
	if i == len(a.gaps) || a.gaps[i].First > index {
		return false
	}
	g := a.gaps[i]
	var rest []Span
	if g.First < index {
		rest = append(rest, Span{g.First, index - 1})
	}
	if index < g.Last {
		rest = append(rest, Span{index + 1, g.Last})
	}
	a.gaps = slices.Replace(a.gaps, i, i+1, rest...)
	a.missed--
	return true
}

// walk visits every index of two sorted lists with its rows in each. An index may
// have several: whoever writes a step may name its index.
func walk(a, b []store.TraceEntry, visit func(a, b []store.TraceEntry)) {
	for len(a) > 0 || len(b) > 0 {
		var index int64
		switch {
		case len(a) == 0:
			index = b[0].Index
		case len(b) == 0:
			index = a[0].Index
		default:
			index = min(a[0].Index, b[0].Index)
		}
		i, j := leading(a, index), leading(b, index)
		visit(a[:i], b[:j])
		a, b = a[i:], b[j:]
	}
}

// leading is how many rows at the beginning have the index.
func leading(rows []store.TraceEntry, index int64) int {
	n := 0
	for n < len(rows) && rows[n].Index == index {
		n++
	}
	return n
}

// without returns the rows of one index that are not among others, each taken once.
func without(rows, others []store.TraceEntry) []store.TraceEntry {
	switch {
	case len(others) == 0:
		return rows
	case len(rows) == 1 && len(others) == 1:
		if sameEntry(rows[0], others[0]) {
			return nil
		}
		return rows
	}
	others = slices.Clone(others)
	var left []store.TraceEntry
	for _, e := range rows {
		i := slices.IndexFunc(others, func(o store.TraceEntry) bool { return sameEntry(e, o) })
		if i < 0 {
			left = append(left, e)
			continue
		}
		others = slices.Delete(others, i, i+1)
	}
	return left
}

// sameEntry reports whether two rows of one index are one row.
func sameEntry(a, b store.TraceEntry) bool {
	if a.Bad != nil || b.Bad != nil {
		return a.Bad != nil && b.Bad != nil && string(a.Bad.Raw) == string(b.Bad.Raw)
	}
	return a.Entry == b.Entry
}

// grow adds an index, which is not below those there, to spans.
func grow(spans []Span, index int64) []Span {
	if n := len(spans); n > 0 && index <= spans[n-1].Last+1 {
		spans[n-1].Last = index
		return spans
	}
	return append(spans, Span{index, index})
}

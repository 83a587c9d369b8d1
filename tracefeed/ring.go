package tracefeed

import (
	"fmt"

	"treering/store"
)

// Ring is the account of a trace ring, by the indexes of its steps, which climb
// from 0 and survive trimming.
type Ring struct {
	Held        int   // steps there
	First, Last int64 // lowest and highest index; meaningless where Held is 0
	Total       int64 // steps ever written as far as the indexes tell: Last+1
	Dropped     int64 // below First
	Missing     int64 // between First and Last: lost writes, or indexes that a lost race burnt
	Repeated    int   // steps whose index another has too, or that is negative
}

// Measure accounts for a ring.
func Measure(entries []store.TraceEntry) Ring {
	r := Ring{Held: len(entries)}
	if r.Held == 0 {
		return r
	}
	seen := make(map[int64]bool, len(entries))
	r.First, r.Last = entries[0].Index, entries[0].Index
	for _, e := range entries {
		if seen[e.Index] || e.Index < 0 {
			r.Repeated++
		}
		seen[e.Index] = true
		r.First, r.Last = min(r.First, e.Index), max(r.Last, e.Index)
	}
	if r.Repeated > 0 {
		return r
	}
	r.Total, r.Dropped = r.Last+1, r.First
	r.Missing = r.Total - r.Dropped - int64(r.Held)
	return r
}

// String is the gauge: "3 of 3", "200 of 450, 250 dropped", "no steps".
func (r Ring) String() string {
	switch {
	case r.Held == 0:
		return "no steps"
	case r.Repeated > 0:
		return fmt.Sprintf("%d steps, %d with an index that is not their own", r.Held, r.Repeated)
	}
	s := fmt.Sprintf("%d of %d", r.Held, r.Total)
	if r.Dropped > 0 {
		s += fmt.Sprintf(", %d dropped", r.Dropped)
	}
	if r.Missing > 0 {
		s += fmt.Sprintf(", %d missing", r.Missing)
	}
	return s
}

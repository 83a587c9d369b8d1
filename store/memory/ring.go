package memory

import (
	"strings"

	"treering/store"
)

// ring is the trace of one execution: the last steps, and the index of the next.
type ring struct {
	steps []step
	start int // of the oldest, once the ring is full
	next  int64
}

type step struct {
	index int64
	entry store.JSON
}

// push adds a step and drops the oldest beyond limit; 0 is no limit. Contract,
// _record_trace: an explicit index is honoured and the counter advances all the same.
func (r *ring) push(entry store.JSON, limit int) {
	s := step{r.next, entry}
	r.next++
	if mayHaveIndex(entry) {
		if index, ok := store.ExplicitIndex(entry); ok {
			s.index = index
		}
	}
	n := len(r.steps)
	if limit > 0 && n == limit {
		r.steps[r.start] = s
		r.start = (r.start + 1) % limit
		return
	}
	if n == cap(r.steps) && limit > 0 {
		// Grown by hand: append would round up past the limit that the ring never passes.
		grown := make([]step, n, min(limit, max(4, 2*n)))
		copy(grown, r.steps)
		r.steps = grown
	}
	r.steps = append(r.steps, s)
}

// mayHaveIndex rules most entries out at the speed of a byte search: an "index"
// key has an x, or is written with escapes.
func mayHaveIndex(entry store.JSON) bool {
	text := string(entry)
	if strings.IndexByte(text, '\\') >= 0 {
		return true
	}
	for {
		x := strings.IndexByte(text, 'x')
		if x < 0 {
			return false
		}
		if strings.HasSuffix(text[:x+1], `"index`) {
			return true
		}
		text = text[x+1:]
	}
}

// read copies the steps, oldest first.
func (r *ring) read() []store.TraceEntry {
	out := make([]store.TraceEntry, 0, len(r.steps))
	for _, part := range [][]step{r.steps[r.start:], r.steps[:r.start]} {
		for _, s := range part {
			out = append(out, store.TraceEntry{Index: s.index, Entry: s.entry})
		}
	}
	return out
}

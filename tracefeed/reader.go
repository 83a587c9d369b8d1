package tracefeed

import (
	"slices"

	"treering/store"
)

// RingReader makes facts of the readings of one trace ring, each of them told once. It
// belongs to one goroutine at a time.
type RingReader struct {
	id      string
	account *Account
	steps   []Step // of the last reading
	ring    Ring
}

// NewRingReader returns a reader of the ring of that execution; for from see
// [NewAccount].
func NewRingReader(execution string, from *int64) *RingReader {
	return &RingReader{id: execution, account: NewAccount(from)}
}

// Ring is the ring as it was read last.
func (r *RingReader) Ring() Ring { return r.ring }

// Read makes facts of one reading of the whole ring.
func (r *RingReader) Read(entries []store.TraceEntry) []Fact {
	r.ring = Measure(entries)
	reading := r.account.Read(entries)
	var facts []Fact
	if reading.First {
		from := r.account.Next()
		if len(reading.Arrived) > 0 {
			from = reading.Arrived[0].Index
		}
		facts = append(facts, RingOpened{r.id, r.ring, from})
	}
	if reading.Empty() {
		return facts
	}
	// Durations are between neighbours, which are the ring's, not the reading's.
	sorted := slices.IsSortedFunc(entries, func(a, b store.TraceEntry) int { return int(min(max(a.Index-b.Index, -1), 1)) })
	if sorted {
		r.steps = Steps(entries, r.steps)
	}
	for _, s := range reading.Gone {
		facts = append(facts, StepsGone{r.id, s})
	}
	if reading.Restarted {
		facts = append(facts, RingRestarted{r.id})
	}
	for _, s := range reading.Evicted {
		facts = append(facts, StepsEvicted{r.id, s})
	}
	missed := reading.Missed
	for _, a := range reading.Arrived {
		for len(missed) > 0 && missed[0].First <= a.Index {
			facts = append(facts, StepsMissed{r.id, missed[0]})
			missed = missed[1:]
		}
		facts = append(facts, StepAdded{r.id, r.step(a.TraceEntry, sorted), a.Late, a.Filled})
	}
	return facts
}

// step is an entry as read with its neighbours.
func (r *RingReader) step(e store.TraceEntry, sorted bool) Step {
	if sorted {
		i, _ := slices.BinarySearchFunc(r.steps, e.Index, func(s Step, index int64) int { return int(min(max(s.Index-index, -1), 1)) })
		for ; i < len(r.steps) && r.steps[i].Index == e.Index; i++ {
			if sameEntry(store.TraceEntry{Entry: r.steps[i].Entry, Bad: r.steps[i].Bad}, e) {
				return r.steps[i]
			}
		}
	}
	return read(e)
}

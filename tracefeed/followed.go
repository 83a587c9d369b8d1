package tracefeed

import (
	"context"
	"errors"
	"slices"

	"treering/store"
)

// followed is one execution whose trace is followed.
type followed struct {
	id      string
	dirty   bool
	account *Account
	steps   []Step // of the last reading
	known   bool   // the state is that of the last reading
	there   bool
	state   ExecutionState
}

// read reads the execution and then its trace: what a trace holds that is newer than
// the state is told with it, and the state follows with the next change.
func (r *followed) read(ctx context.Context, es store.ExecutionStore) ([]Fact, error) {
	summary, _, err := store.Inspect(ctx, es, r.id)
	var bad *store.RowError
	switch {
	case errors.As(err, &bad):
		summary = store.Summary{ID: r.id, Bad: bad}
	case err != nil && !isNotFound(err):
		return nil, err
	}
	there := err == nil || bad != nil
	entries, err := es.ReadTrace(ctx, r.id)
	if err != nil {
		return nil, err
	}
	facts := r.look(summary, there)
	facts = append(facts, r.settle(entries)...)
	r.dirty = false
	return facts, nil
}

// look compares the execution with what it was.
func (r *followed) look(summary store.Summary, there bool) []Fact {
	was, had, known := r.state, r.there, r.known
	r.known, r.there, r.state = true, there, ExecutionState{}
	if there {
		r.state = StateOf(summary)
	}
	switch {
	case !known && !there, known && had == there && was == r.state:
		return nil
	case !known, !had:
		return []Fact{ExecutionAdded{summary}}
	case !there:
		return []Fact{ExecutionGone{r.id, was}}
	}
	return []Fact{ExecutionChanged{was, summary}}
}

// settle makes facts of one reading of the trace.
func (r *followed) settle(entries []store.TraceEntry) []Fact {
	reading := r.account.Read(entries)
	var facts []Fact
	if reading.First {
		from := r.account.Next()
		if len(reading.Arrived) > 0 {
			from = reading.Arrived[0].Index
		}
		facts = append(facts, RingOpened{r.id, Measure(entries), from})
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
func (r *followed) step(e store.TraceEntry, sorted bool) Step {
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

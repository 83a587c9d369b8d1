package tracefeed

import (
	"context"
	"errors"

	"treering/store"
)

// followed is one execution whose trace is followed.
type followed struct {
	id    string
	dirty bool
	ring  *RingReader
	known bool // the state is that of the last reading
	there bool
	state ExecutionState
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
	facts = append(facts, r.ring.Read(entries)...)
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

package relay

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"treering/store"
)

// work is one entry's: it reports whether the entry is gone from its queue, and an
// error only where the store cannot go on at all.
type work = func(context.Context) (gone bool, err error)

// groups keeps works that share an execution in their order.
type groups struct {
	at    map[string]int
	works [][]work
}

func (g *groups) add(id string, w work) {
	if g.at == nil {
		g.at = map[string]int{}
	}
	i, ok := g.at[id]
	if !ok {
		i = len(g.works)
		g.at[id] = i
		g.works = append(g.works, nil)
	}
	g.works[i] = append(g.works[i], w)
}

// drainOutbox delivers what waits, page by page. Where one of an execution's events
// does not go through, those behind it wait as well.
func (r *Relay) drainOutbox(ctx context.Context) (moved bool, err error) {
	held := map[string]bool{}
	var req store.PageRequest
	for {
		page, err := r.es.ListOutbox(ctx, store.QueueFilter{}, req)
		if err != nil {
			return moved, err
		}
		var g groups
		gone := make([]bool, len(page.Items))
		for i, e := range page.Items {
			target := ""
			if e.TargetID != nil {
				target = *e.TargetID
			}
			if e.Bad != nil {
				r.unreadable(Problem{"outbox", e.Seq, target, e.Bad}, "")
				continue
			}
			if e.TargetID != nil && (held[target] || r.rests(target)) {
				held[target] = true
				continue
			}
			key := target
			if e.TargetID == nil {
				key = fmt.Sprintf("\x00%d", e.Seq) // nobody waits for nobody
			}
			g.add(key, func(ctx context.Context) (bool, error) {
				var err error
				gone[i], err = r.deliver(ctx, e)
				return gone[i], err
			})
		}
		m, err := r.each(ctx, g.works)
		moved = moved || m
		if err != nil || ctx.Err() != nil {
			return moved, err
		}
		for i, e := range page.Items {
			if e.TargetID != nil && !gone[i] {
				held[*e.TargetID] = true
			}
		}
		if page.Next == "" {
			return moved, nil
		}
		req.Cursor = page.Next
	}
}

// deliver is attempt, with what came of it noted.
func (r *Relay) deliver(ctx context.Context, e store.OutboxEntry) (gone bool, err error) {
	id := ""
	if e.TargetID != nil {
		id = *e.TargetID
	}
	done, err := r.attempt(ctx, e)
	return r.settle(ctx, Problem{"outbox", e.Seq, id, err}, done, &r.delivered)
}

// settle counts what came of an entry, and says whether it is gone from its queue.
// Only errors that are about the whole store come back.
func (r *Relay) settle(ctx context.Context, p Problem, done outcome, counter *atomic.Int64) (gone bool, err error) {
	switch {
	case p.Err != nil && fatal(p.Err):
		return false, p.Err
	case p.Err != nil:
		r.went(ctx, p)
		return false, nil
	case done == waits:
		return false, nil
	case done == took:
		counter.Add(1)
	default:
		r.removed.Add(1)
	}
	if p.ID != "" {
		r.went(ctx, p)
	}
	return true, nil
}

// attempt hands one entry to its target and then removes it. An event without an id
// gets one made of the entry's seq: without any, a crash between the two would
// deliver it twice.
func (r *Relay) attempt(ctx context.Context, e store.OutboxEntry) (done outcome, err error) {
	done = nothing
	if e.TargetID != nil {
		ev := e.Event
		if ev.ID == "" {
			ev.ID = fmt.Sprintf("outbox:%d", e.Seq)
		}
		done, err = r.step(ctx, *e.TargetID, ev)
		if err == nil && done == nothing {
			done, err = r.unlessUnborn(ctx, *e.TargetID)
		}
	}
	if err != nil || done == waits {
		return waits, err
	}
	err = finish(ctx, func(ctx context.Context) error {
		_, err := r.es.AckOutbox(ctx, e.Seq)
		return err
	})
	if err != nil {
		return waits, err
	}
	return done, nil
}

// unlessUnborn tells a target that is gone from one that a spawn has yet to make: an
// event for the latter waits.
func (r *Relay) unlessUnborn(ctx context.Context, id string) (outcome, error) {
	_, err := r.load(ctx, id)
	if !errors.Is(err, store.ErrNotFound) {
		return nothing, err // there: it was handled before
	}
	var req store.PageRequest
	for {
		page, err := r.es.ListSpawns(ctx, store.QueueFilter{}, req)
		if err != nil {
			return waits, err
		}
		for _, s := range page.Items {
			if s.ChildID == id {
				return waits, nil
			}
		}
		if page.Next == "" {
			return nothing, nil
		}
		req.Cursor = page.Next
	}
}

// ErrGone is an entry or a timer that is not there any more.
var ErrGone = errors.New("not there any more")

// ErrWaits is an event that its target does not take now: the target is suspended,
// or a spawn has yet to make it.
var ErrWaits = errors.New("its target does not take it now")

// Deliver delivers one entry of the outbox now, out of turn. It is ErrGone where
// somebody else was first, and ErrWaits where the target does not take it.
func (r *Relay) Deliver(ctx context.Context, seq int64) (effect bool, err error) {
	e, err := find(ctx, func(p store.PageRequest) (store.Page[store.OutboxEntry], error) {
		return r.es.ListOutbox(ctx, store.QueueFilter{}, p)
	}, func(e store.OutboxEntry) bool { return e.Seq == seq })
	if err != nil {
		return false, fmt.Errorf("outbox entry %d: %w", seq, err)
	}
	if e.Bad != nil {
		return false, e.Bad
	}
	done, err := r.attempt(ctx, *e)
	return r.loud(done, err, &r.delivered)
}

// loud counts what came of something that was asked for, and says it.
func (r *Relay) loud(done outcome, err error, counter *atomic.Int64) (effect bool, _ error) {
	switch {
	case err != nil:
		return false, err
	case done == waits:
		return false, ErrWaits
	case done == took:
		counter.Add(1)
		return true, nil
	}
	r.removed.Add(1)
	return false, nil
}

// Send hands an event to an execution as if it had come through the outbox. The
// event's id is the dedupe key.
func (r *Relay) Send(ctx context.Context, id string, ev store.Event) (effect bool, err error) {
	done, err := r.step(ctx, id, ev)
	return r.loud(done, err, &r.delivered)
}

// find returns the first item of a list that is wanted, or ErrGone.
func find[T any](ctx context.Context, list func(store.PageRequest) (store.Page[T], error), wanted func(T) bool) (*T, error) {
	var req store.PageRequest
	for {
		page, err := list(req)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if wanted(page.Items[i]) {
				return &page.Items[i], nil
			}
		}
		if page.Next == "" {
			return nil, ErrGone
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		req.Cursor = page.Next
	}
}

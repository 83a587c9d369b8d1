package demo

import (
	"context"
	"sync/atomic"

	"treering/store"
)

// watched is a store of which every commit is told to the world, and into which a
// rival commits now and then just before.
type watched struct {
	store.ExecutionStore
	world *world
	rival int // once in so many commits; 0: never
	steps *atomic.Int64
	raced *atomic.Int64
}

// Commit commits. What the rival does changes nothing but the version, so that the
// relay loses the race and has to look again.
func (s *watched) Commit(ctx context.Context, c store.Commit) ([]int64, error) {
	if s.rival > 0 && c.Execution.Version > 0 && s.world.roll(s.rival) {
		_, exe, err := store.Inspect(ctx, s.ExecutionStore, c.Execution.ID)
		if err != nil {
			return nil, err
		}
		if exe != nil {
			if err := s.Save(ctx, exe); err != nil {
				return nil, err
			}
			s.raced.Add(1)
		}
	}
	seqs, err := s.ExecutionStore.Commit(ctx, c)
	if err == nil {
		s.steps.Add(1)
		planned := make([]string, len(c.Spawns))
		for i, sp := range c.Spawns {
			planned[i] = sp.ChildID
		}
		s.world.saw(summaryOf(c.Execution), planned...)
	}
	return seqs, err
}

// summaryOf is as much of a summary as the world wants.
func summaryOf(e *store.Execution) store.Summary {
	return store.Summary{ID: e.ID, DefinitionID: e.DefinitionID, Status: e.Status, ActivePath: e.ActivePath}
}

// scoped shows a relay the queues of the running system only: the entries of others,
// and the seeded ones that are to be looked at, stay where they are.
type scoped struct{ store.ExecutionStore }

func (s scoped) ListOutbox(ctx context.Context, f store.QueueFilter, p store.PageRequest) (store.Page[store.OutboxEntry], error) {
	page, err := s.ExecutionStore.ListOutbox(ctx, f, p)
	return kept(page, func(e store.OutboxEntry) bool { return e.TargetID != nil && running(*e.TargetID) }), err
}

func (s scoped) ListSpawns(ctx context.Context, f store.QueueFilter, p store.PageRequest) (store.Page[store.SpawnEntry], error) {
	page, err := s.ExecutionStore.ListSpawns(ctx, f, p)
	return kept(page, func(e store.SpawnEntry) bool { return running(e.ParentID) && running(e.ChildID) }), err
}

func (s scoped) DueTimers(ctx context.Context, now float64) ([]store.Timer, error) {
	due, err := s.ExecutionStore.DueTimers(ctx, now)
	return kept(store.Page[store.Timer]{Items: due}, func(t store.Timer) bool { return running(t.ExecutionID) }).Items, err
}

func kept[T any](page store.Page[T], keep func(T) bool) store.Page[T] {
	for i := range page.Items {
		if keep(page.Items[i]) {
			continue
		}
		// The page may be somebody else's slice.
		items := append([]T(nil), page.Items[:i]...)
		for _, it := range page.Items[i+1:] {
			if keep(it) {
				items = append(items, it)
			}
		}
		page.Items = items
		break
	}
	return page
}

// observing is a store of live objects that stays one when it is wrapped: whoever
// looks at it must be able to ask for snapshots.
type observing struct {
	store.ExecutionStore
	store.Observed
}

// wrapped keeps what the inner store offers besides.
func wrapped(outer, inner store.ExecutionStore) store.ExecutionStore {
	if seen, ok := inner.(store.Observed); ok {
		return observing{outer, seen}
	}
	return outer
}

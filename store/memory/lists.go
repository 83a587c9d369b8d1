package memory

import (
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"

	"treering/store"
)

// scanChunk bounds how many entries are looked at under one hold of the lock, so
// that a rare filter over a million executions does not keep commits waiting.
const scanChunk = 4096

// ownSummary gives a summary texts of its own: the store's are shared.
func ownSummary(s store.Summary) store.Summary {
	own(&s.Outcome, &s.Error, &s.ActivePath, &s.ParentID)
	return s
}

// own replaces texts by copies of them, which lie together.
func own(texts ...**string) {
	n := 0
	for _, p := range texts {
		if *p != nil {
			n++
		}
	}
	if n == 0 {
		return
	}
	copies := make([]string, 0, n)
	for _, p := range texts {
		if *p != nil {
			copies = append(copies, **p)
			*p = &copies[len(copies)-1]
		}
	}
}

// ListExecutions implements [store.ExecutionStore]. A page is not of one moment
// where it takes long to find, each of its rows is.
func (s *Executions) ListExecutions(ctx context.Context, f store.ExecutionFilter, p store.PageRequest) (store.Page[store.Summary], error) {
	var page store.Page[store.Summary]
	limit, err := p.Size()
	if err != nil {
		return page, err
	}
	scope := s.scope + " executions " + f.Scope()
	after, started := "", false
	if p.Cursor != "" {
		key, err := store.DecodeCursor(scope, p.Cursor)
		if err != nil || len(key) != 1 {
			return page, store.ErrBadCursor
		}
		after, started = key[0], true
	}
	if f.Status != nil && len(f.Status) == 0 {
		return page, s.touch(ctx)
	}
	for {
		if err := s.lock(ctx); err != nil {
			return store.Page[store.Summary]{}, err
		}
		if f.Status == nil && f.DefinitionID == nil && f.ParentID == nil && !f.RootsOnly {
			page.Items = slices.Grow(page.Items, min(limit-len(page.Items), s.byOrder.n))
		}
		looked, more := 0, false
		for rec := range s.byOrder.from(func(r *record) bool { return !started || r.id > after }) {
			if looked == scanChunk || len(page.Items) == limit {
				more = true
				break
			}
			looked++
			after = rec.id
			if f.Selects(rec.summary) {
				page.Items = append(page.Items, rec.summary)
			}
		}
		started = true
		s.mu.Unlock()
		switch {
		case !more:
		case len(page.Items) < limit:
			continue
		default:
			page.Next = store.EncodeCursor(scope, after)
		}
		for i := range page.Items {
			page.Items[i] = ownSummary(page.Items[i])
		}
		return page, nil
	}
}

// touch is a call that needs nothing but the store to be open.
func (s *Executions) touch(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	s.mu.Unlock()
	return nil
}

// Counts implements [store.ExecutionStore]. The totals are kept, not counted.
func (s *Executions) Counts(ctx context.Context) (store.Counts, error) {
	if err := s.lock(ctx); err != nil {
		return store.Counts{}, err
	}
	defer s.mu.Unlock()
	return store.Counts{
		Executions: int64(s.byOrder.n), Outbox: int64(s.outbox.entries.n), Spawns: int64(s.spawns.entries.n),
		Timers: int64(s.timers.n), ByStatus: maps.Clone(s.byStatus),
	}, nil
}

// PendingOutbox implements [store.ExecutionStore].
func (s *Executions) PendingOutbox(ctx context.Context) ([]store.OutboxEntry, error) {
	return pending(ctx, s, &s.outbox, outboxEntry)
}

// PendingSpawns implements [store.ExecutionStore].
func (s *Executions) PendingSpawns(ctx context.Context) ([]store.SpawnEntry, error) {
	return pending(ctx, s, &s.spawns, spawnEntry)
}

func pending[T, E any](ctx context.Context, s *Executions, q *queue[T], show func(*entry[T]) E) ([]E, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	entries := make([]*entry[T], 0, q.entries.n)
	for _, chunk := range q.entries.chunks {
		entries = append(entries, chunk...)
	}
	s.mu.Unlock()
	// What is shown of an entry does not change once it is in the queue.
	out := make([]E, len(entries))
	for i, e := range entries {
		out[i] = show(e)
	}
	return out, nil
}

// AckOutbox implements [store.ExecutionStore].
func (s *Executions) AckOutbox(ctx context.Context, seq int64) (bool, error) {
	return ack(ctx, s, &s.outbox, seq)
}

// AckSpawn implements [store.ExecutionStore].
func (s *Executions) AckSpawn(ctx context.Context, seq int64) (bool, error) {
	return ack(ctx, s, &s.spawns, seq)
}

func ack[T any](ctx context.Context, s *Executions, q *queue[T], seq int64) (bool, error) {
	if err := s.lock(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	e := q.take(seq)
	if e == nil {
		return false, nil
	}
	s.changed()
	if e.owner != nil {
		s.dropIdle(e.owner)
	}
	return true, nil
}

// ListOutbox implements [store.ExecutionStore].
func (s *Executions) ListOutbox(ctx context.Context, f store.QueueFilter, p store.PageRequest) (store.Page[store.OutboxEntry], error) {
	return listQueue(ctx, s, "outbox", &s.outbox, f, p, outboxEntry)
}

// ListSpawns implements [store.ExecutionStore].
func (s *Executions) ListSpawns(ctx context.Context, f store.QueueFilter, p store.PageRequest) (store.Page[store.SpawnEntry], error) {
	return listQueue(ctx, s, "spawns", &s.spawns, f, p, spawnEntry)
}

func listQueue[T, E any](ctx context.Context, s *Executions, name string, q *queue[T],
	f store.QueueFilter, p store.PageRequest, show func(*entry[T]) E,
) (store.Page[E], error) {
	var page store.Page[E]
	limit, err := p.Size()
	if err != nil {
		return page, err
	}
	scope := s.scope + " " + name + " " + f.Scope()
	after := int64(math.MinInt64)
	if p.Cursor != "" {
		key, err := store.DecodeCursor(scope, p.Cursor)
		if err != nil || len(key) != 1 {
			return page, store.ErrBadCursor
		}
		if after, err = strconv.ParseInt(key[0], 10, 64); err != nil {
			return page, store.ErrBadCursor
		}
	}
	if err := s.lock(ctx); err != nil {
		return page, err
	}
	source := q.entries.from(func(e *entry[T]) bool { return e.seq > after })
	if f.ExecutionID != nil {
		source = q.of(s.byID[*f.ExecutionID], after)
	}
	entries, more := firstOf(source, limit)
	s.mu.Unlock()
	for _, e := range entries {
		page.Items = append(page.Items, show(e))
	}
	if more {
		page.Next = store.EncodeCursor(scope, strconv.FormatInt(entries[limit-1].seq, 10))
	}
	return page, nil
}

// firstOf takes up to limit items and says whether there are more.
func firstOf[T any](source iter.Seq[T], limit int) (items []T, more bool) {
	for x := range source {
		if len(items) == limit {
			return items, true
		}
		items = append(items, x)
	}
	return items, false
}

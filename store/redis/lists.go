package redis

import (
	"context"
	"slices"
	"strings"
	"sync"

	"treering/store"
)

// ListExecutions implements [store.ExecutionStore], in the byte order of ids. In a
// database of more than [syncKeys] keys executions that harel has inserted a moment
// ago may be missing until the next scan; those of treering never are.
func (e *executions) ListExecutions(ctx context.Context, f store.ExecutionFilter, req store.PageRequest) (store.Page[store.Summary], error) {
	limit, err := req.Size()
	if err != nil {
		return store.Page[store.Summary]{}, err
	}
	scope := e.scopeOf("executions", f.Scope())
	after := ""
	if req.Cursor != "" {
		key, err := store.DecodeCursor(scope, req.Cursor)
		if err != nil {
			return store.Page[store.Summary]{}, err
		}
		if len(key) != 1 {
			return store.Page[store.Summary]{}, store.ErrBadCursor
		}
		after = key[0]
	}
	f.Status = slices.Clone(f.Status)
	return read(ctx, e.db, func(ctx context.Context) (store.Page[store.Summary], error) {
		var page store.Page[store.Summary]
		if f.Status != nil && len(f.Status) == 0 {
			return page, nil
		}
		ids, err := e.current(ctx)
		if err != nil {
			return page, err
		}
		if req.Cursor != "" {
			at, there := slices.BinarySearch(ids, after)
			if there {
				at++
			}
			ids = ids[at:]
		}
		looked, bytes := 0, 0
		all := f.Status == nil && f.DefinitionID == nil && !f.RootsOnly && f.ParentID == nil
		for len(ids) > 0 {
			n := min(len(ids), chunkRows)
			if all {
				n = min(len(ids), max(1, limit-len(page.Items)))
			}
			blobs, err := e.blobs(ctx, ids[:n])
			if err != nil {
				return store.Page[store.Summary]{}, err
			}
			for i, b := range blobs {
				blob, there := b.(string)
				if !there {
					continue // gone
				}
				bytes += len(blob)
				if s := store.SummaryOfBlob(ids[i], blob); f.Selects(s) {
					page.Items = append(page.Items, s)
				}
				if len(page.Items) == limit {
					n = i + 1
					break
				}
			}
			last := ids[n-1]
			ids = ids[n:]
			looked += n
			if len(ids) > 0 && (len(page.Items) >= limit || looked >= maxLooked || bytes >= maxBytes) {
				page.Next = store.EncodeCursor(scope, last)
				return page, nil
			}
		}
		return page, nil
	})
}

// blobs reads executions. What is gone, or of another type, is nil.
func (e *executions) blobs(ctx context.Context, ids []string) ([]any, error) {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = e.keys.exe(id)
	}
	return e.db.client.MGet(ctx, names...).Result()
}

// counted keeps the last Counts for as long as the server says that nothing changed.
type counted struct {
	mu     sync.Mutex
	token  string
	counts store.Counts
}

// Counts implements [store.ExecutionStore]. It reads every execution, unless the server
// has not changed anything since the last time.
func (e *executions) Counts(ctx context.Context) (store.Counts, error) {
	return read(ctx, e.db, func(ctx context.Context) (store.Counts, error) {
		before, err := e.state(ctx)
		if err != nil {
			return store.Counts{}, err
		}
		e.counts.mu.Lock()
		c := e.counts.counts
		known := before.token != "" && e.counts.token == before.token
		e.counts.mu.Unlock()
		if known {
			c.ByStatus = copyOf(c.ByStatus)
			return c, nil
		}
		if c, err = e.count(ctx); err != nil {
			return store.Counts{}, err
		}
		e.counts.mu.Lock()
		e.counts.token, e.counts.counts = before.token, c
		e.counts.counts.ByStatus = copyOf(c.ByStatus)
		e.counts.mu.Unlock()
		return c, nil
	})
}

func copyOf(m map[store.Status]int64) map[store.Status]int64 {
	out := make(map[store.Status]int64, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func (e *executions) count(ctx context.Context) (store.Counts, error) {
	c := store.Counts{ByStatus: map[store.Status]int64{}}
	pipe := e.db.client.Pipeline()
	outbox, spawns, timers := pipe.HLen(ctx, e.keys.outbox), pipe.HLen(ctx, e.keys.spawns), pipe.ZCard(ctx, e.keys.timers)
	if _, err := pipe.Exec(ctx); err != nil {
		return c, err
	}
	c.Outbox, c.Spawns, c.Timers = outbox.Val(), spawns.Val(), timers.Val()
	ids, err := e.current(ctx)
	if err != nil {
		return c, err
	}
	for chunk := range slices.Chunk(ids, chunkRows) {
		var blobs []any
		err := e.again(ctx, func() (err error) {
			blobs, err = e.blobs(ctx, chunk)
			return err
		})
		if err != nil {
			return c, err
		}
		for i, b := range blobs {
			blob, there := b.(string)
			if !there {
				continue
			}
			c.Executions++
			s := store.SummaryOfBlob(chunk[i], blob)
			if s.Bad != nil {
				c.Unreadable++
				continue
			}
			c.ByStatus[store.Status(strings.ToUpper(string(s.Status)))]++
		}
	}
	return c, nil
}

package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"

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
				if b == nil {
					continue // gone
				}
				bytes += b.bytes
				if f.Selects(b.summary) {
					page.Items = append(page.Items, b.summary)
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

// blobs reads the summaries of executions. What is gone is nil; a key of another type is
// a bad row.
func (e *executions) blobs(ctx context.Context, ids []string) ([]*blobRead, error) {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = e.keys.exe(id)
	}
	values, err := e.db.client.MGet(ctx, names...).Result()
	if err != nil {
		return nil, err
	}
	out := make([]*blobRead, len(ids))
	kinds := map[int]*goredis.StatusCmd{}
	pipe := e.db.client.Pipeline()
	for i, v := range values {
		if blob, there := v.(string); there {
			out[i] = &blobRead{len(blob), store.SummaryOfBlob(ids[i], blob)}
			continue
		}
		kinds[i] = pipe.Type(ctx, names[i])
	}
	if len(kinds) == 0 {
		return out, nil
	}
	if _, err := pipe.Exec(ctx); err != nil && redisAnswer(err) == "" {
		return nil, err
	}
	for i, kind := range kinds {
		switch kind.Val() {
		case "", "none", "string": // it went, and may have come back
		default:
			out[i] = &blobRead{0, *anotherType(ids[i], kind.Val()).Summary}
		}
	}
	return out, nil
}

// blobRead is an execution as a list shows it, and how long its text is.
type blobRead struct {
	bytes   int
	summary store.Summary
}

// anotherType is the bad row of an execution whose key holds no text.
func anotherType(id, kind string) *store.RowError {
	bad := &store.RowError{Table: "executions", Key: id, Err: fmt.Errorf("its key is a %s, where harel has a string: %w", kind, store.ErrNotAStore)}
	bad.Summary = &store.Summary{ID: id, Bad: bad}
	return bad
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
		var blobs []*blobRead
		err := e.again(ctx, func() (err error) {
			blobs, err = e.blobs(ctx, chunk)
			return err
		})
		if err != nil {
			return c, err
		}
		for _, b := range blobs {
			if b == nil {
				continue
			}
			c.Executions++
			if b.summary.Bad != nil {
				c.Unreadable++
				continue
			}
			c.ByStatus[store.Status(strings.ToUpper(string(b.summary.Status)))]++
		}
	}
	return c, nil
}

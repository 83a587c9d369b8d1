package redis

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sort"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

// The sorted set of timers is in the contract's order already: by time, and those of
// one moment by the bytes of id, NUL, path.

// timerOf reads a member. One without a NUL names no path.
func timerOf(z goredis.Z) store.Timer {
	member, _ := z.Member.(string)
	id, path, found := strings.Cut(member, "\x00")
	t := store.Timer{ExecutionID: id, Path: path, FireAt: z.Score}
	if !found {
		t.Bad = &store.RowError{Table: "timers", Key: member, Err: errors.New("there is no NUL between an id and a path"), Raw: []byte(member)}
	}
	return t
}

// spot is a place in the sorted set.
type spot struct {
	at     float64
	member string
}

func spotOf(z goredis.Z) spot {
	member, _ := z.Member.(string)
	return spot{z.Score, member}
}

func (s spot) compare(o spot) int {
	return cmp.Or(cmp.Compare(s.at, o.at), cmp.Compare(s.member, o.member))
}

// DueTimers implements [store.ExecutionStore].
func (e *executions) DueTimers(ctx context.Context, now float64) ([]store.Timer, error) {
	return read(ctx, e.db, func(ctx context.Context) ([]store.Timer, error) {
		if math.IsNaN(now) {
			return nil, nil
		}
		rows, err := e.db.client.ZRangeByScoreWithScores(ctx, e.keys.timers, &goredis.ZRangeBy{Min: "-inf", Max: formatBound(now)}).Result()
		if err != nil {
			return nil, err
		}
		out := make([]store.Timer, len(rows))
		for i, z := range rows {
			out[i] = timerOf(z)
		}
		return out, nil
	})
}

// formatBound writes a score as the range commands take it.
func formatBound(at float64) string {
	switch {
	case math.IsInf(at, 1):
		return "+inf"
	case math.IsInf(at, -1):
		return "-inf"
	}
	return formatScore(at)
}

// DeleteTimer implements [store.ExecutionStore].
func (e *executions) DeleteTimer(ctx context.Context, id, path string, fireAt float64) (removed bool, err error) {
	return e.changeTimer(ctx, id, path, fireAt, "")
}

// RearmTimer implements [store.ExecutionStore].
func (e *executions) RearmTimer(ctx context.Context, id, path string, from, to float64) (moved bool, err error) {
	if err := e.db.writable(ctx); err != nil {
		return false, err
	}
	if err := store.CheckFireAt(to); err != nil {
		return false, err
	}
	return e.changeTimer(ctx, id, path, from, formatScore(to))
}

func (e *executions) changeTimer(ctx context.Context, id, path string, from float64, to string) (bool, error) {
	if err := e.db.writable(ctx); err != nil || math.IsNaN(from) {
		return false, err
	}
	seen := formatScore(from)
	if math.IsInf(from, 0) {
		seen = strings.TrimPrefix(strings.ToLower(seen), "+")
	}
	return write(ctx, e.db, func(ctx context.Context) (bool, error) {
		n, err := timerScript.Run(ctx, e.db.client, []string{e.keys.timers}, timerMember(id, path), seen, to).Int64()
		return n > 0, err
	})
}

// ListTimers implements [store.ExecutionStore].
func (e *executions) ListTimers(ctx context.Context, f store.QueueFilter, req store.PageRequest) (store.Page[store.Timer], error) {
	limit, err := req.Size()
	if err != nil {
		return store.Page[store.Timer]{}, err
	}
	scope := e.scopeOf("timers", f.Scope())
	var after *spot
	if req.Cursor != "" {
		key, err := store.DecodeCursor(scope, req.Cursor)
		if err != nil {
			return store.Page[store.Timer]{}, err
		}
		if len(key) != 2 {
			return store.Page[store.Timer]{}, store.ErrBadCursor
		}
		at, err := strconv.ParseFloat(key[0], 64)
		if err != nil {
			return store.Page[store.Timer]{}, store.ErrBadCursor
		}
		after = &spot{at, key[1]}
	}
	return read(ctx, e.db, func(ctx context.Context) (store.Page[store.Timer], error) {
		var page store.Page[store.Timer]
		last, looked := after, 0
		for {
			want := min(chunkRows, max(1, limit-len(page.Items)))
			if f.ExecutionID != nil {
				want = chunkRows
			}
			rows, end, err := e.timersAfter(ctx, last, want)
			if err != nil {
				return store.Page[store.Timer]{}, err
			}
			for i, z := range rows {
				if f.DueBy != nil && !(z.Score <= *f.DueBy) {
					return page, nil
				}
				if t := timerOf(z); f.ExecutionID == nil || t.ExecutionID == *f.ExecutionID {
					page.Items = append(page.Items, t)
				}
				here := spotOf(z)
				last = &here
				looked++
				if more := i < len(rows)-1 || !end; more && (len(page.Items) >= limit || looked >= maxLooked) {
					page.Next = store.EncodeCursor(scope, formatScore(here.at), here.member)
					return page, nil
				}
			}
			if end {
				return page, nil
			}
		}
	})
}

// timersAfter reads up to n timers behind a place, in their order, and says whether
// there are no more. Ranks shift while others write, so what was read is looked at: it
// must begin right behind the place.
func (e *executions) timersAfter(ctx context.Context, after *spot, n int) (timers []goredis.Z, end bool, err error) {
	if after == nil {
		rows, err := e.db.client.ZRangeWithScores(ctx, e.keys.timers, 0, int64(n)-1).Result()
		return rows, len(rows) < n, err
	}
	rank, err := e.rankOf(ctx, *after)
	if err != nil {
		return nil, false, err
	}
	for {
		// One more in front: it must not be behind the place.
		from := max(rank-1, 0)
		rows, err := e.db.client.ZRangeWithScores(ctx, e.keys.timers, from, from+int64(n)).Result()
		if err != nil {
			return nil, false, err
		}
		first := sort.Search(len(rows), func(i int) bool { return spotOf(rows[i]).compare(*after) > 0 })
		switch {
		case first == 0 && from > 0:
			rank = max(0, from-int64(n)) // some in front were removed
		case first == len(rows) && len(rows) == n+1:
			rank = from + int64(n) + 1 // some in front were added
		default:
			return rows[first:], len(rows) <= n, nil
		}
	}
}

// rankOf is about the rank of what comes behind a place: exact, unless others write.
func (e *executions) rankOf(ctx context.Context, after spot) (int64, error) {
	var rank *goredis.IntCmd
	var score *goredis.FloatCmd
	_, err := e.db.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
		rank, score = p.ZRank(ctx, e.keys.timers, after.member), p.ZScore(ctx, e.keys.timers, after.member)
		return nil
	})
	switch {
	case err == nil && score.Val() == after.at:
		return rank.Val() + 1, nil
	case err != nil && err != goredis.Nil: //nolint:errorlint // the library returns it as it is
		return 0, err
	}
	low, err := e.db.client.ZCount(ctx, e.keys.timers, "-inf", "("+formatBound(after.at)).Result()
	if err != nil {
		return 0, err
	}
	high, err := e.db.client.ZCount(ctx, e.keys.timers, "-inf", formatBound(after.at)).Result()
	if err != nil {
		return 0, err
	}
	for low < high {
		middle := (low + high) / 2
		rows, err := e.db.client.ZRangeWithScores(ctx, e.keys.timers, middle, middle).Result()
		if err != nil {
			return 0, err
		}
		if len(rows) == 0 || spotOf(rows[0]).compare(after) > 0 {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low, nil
}

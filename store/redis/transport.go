package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

// transport is the view of harel's queues under one prefix.
//
// A lease and a queue that was put aside look the same there: a lock with a token and
// a time to live, and a score that says from when on the queue may be claimed. Both are
// shown as leased. A lease that ran out leaves no trace that tells it from an
// acknowledged one, so no queue is shown as expired.
type transport struct {
	e *executions

	mu     sync.Mutex
	queues []string // ids of q keys, found by the last scan
	ended  time.Time
	took   time.Duration
}

var _ store.Transport = (*transport)(nil)

func (k keys) queue(id string) string  { return k.prefix + ":q:" + id }
func (k keys) lock(id string) string   { return k.prefix + ":lock:" + id }
func (k keys) ready(tier int64) string { return fmt.Sprintf("%s:ready:%d", k.prefix, tier) }
func (k keys) priorities() string      { return k.prefix + ":prio" }

// Transport is the view of the queues between harel's workers that are kept under the
// prefix of the executions, nil where there is no key of them: in a fleet with nothing
// to do there may be none, so of a store that treering has not made it never is.
func (d *DB) Transport(ctx context.Context) (store.Transport, []string, error) {
	k := d.executions.keys
	names := []string{k.priorities()}
	for tier := range int64(store.MaxTransportPriority + 1) {
		names = append(names, k.ready(tier))
	}
	found, err := read(ctx, d, func(ctx context.Context) ([]string, error) {
		var found []string
		for _, name := range names {
			n, err := d.client.Exists(ctx, name).Result()
			if err != nil {
				return nil, err
			}
			if n > 0 {
				found = append(found, name)
			}
		}
		return found, nil
	})
	if err != nil || d.ours && len(found) == 0 {
		return nil, nil, err
	}
	return &transport{e: d.executions}, found, nil
}

// known is where a queue is claimed from.
type known struct {
	tier  int64
	score float64 // epoch milliseconds from when on
}

// ids finds all queues: those that workers can find, those with a priority, and, in a
// scan, those that have messages and neither.
func (t *transport) ids(ctx context.Context) ([]string, map[string]known, error) {
	k, client := t.e.keys, t.e.db.client
	claimable := map[string]known{}
	pipe := client.Pipeline()
	var tiers []*goredis.ZSliceCmd
	for tier := range int64(store.MaxTransportPriority + 1) {
		tiers = append(tiers, pipe.ZRangeWithScores(ctx, k.ready(tier), 0, -1))
	}
	priorities := pipe.HKeys(ctx, k.priorities())
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, nil, err
	}
	var ids []string
	for tier, rows := range tiers {
		for _, z := range rows.Val() {
			id, _ := z.Member.(string)
			claimable[id] = known{int64(tier), z.Score}
			ids = append(ids, id)
		}
	}
	ids = append(ids, priorities.Val()...)
	queues, err := t.scan(ctx)
	if err != nil {
		return nil, nil, err
	}
	ids = append(ids, queues...)
	slices.Sort(ids)
	return slices.Compact(ids), claimable, nil
}

// scan looks for keys of queues. In a large database what it found last counts for a
// while.
func (t *transport) scan(ctx context.Context) ([]string, error) {
	s, err := t.e.state(ctx)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.size > syncKeys && !t.ended.IsZero() && time.Since(t.ended) < max(scanEvery, scanShare*t.took) {
		return t.queues, nil
	}
	node, err := t.e.db.node(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	begin := t.e.keys.queue("")
	var found []string
	for cursor := uint64(0); ; {
		var names []string
		if names, cursor, err = node.Scan(ctx, cursor, glob(begin)+"*", scanCount).Result(); err != nil {
			return nil, err
		}
		for _, name := range names {
			found = append(found, name[len(begin):])
		}
		if cursor == 0 {
			break
		}
	}
	t.queues, t.ended, t.took = found, time.Now(), time.Since(began)
	return found, nil
}

var _ store.TransportLimits = (*transport)(nil)

// Limits implements [store.TransportLimits].
func (t *transport) Limits() string {
	return "Redis keeps a lease and a queue put aside in the same way, and nothing of a lease that ran out: such a queue is shown as leased, or as ready"
}

// Queues implements [store.Transport], in the byte order of ids.
func (t *transport) Queues(ctx context.Context, f store.TransportFilter, req store.PageRequest) (store.Page[store.TransportQueue], error) {
	limit, err := req.Size()
	if err != nil {
		return store.Page[store.TransportQueue]{}, err
	}
	scope := t.e.scopeOf("transport", f.Scope())
	after := ""
	if req.Cursor != "" {
		if after, err = treeCursor(scope, req.Cursor); err != nil {
			return store.Page[store.TransportQueue]{}, err
		}
	}
	if f.Queue != nil {
		wanted := *f.Queue
		f.Queue = &wanted
	}
	return read(ctx, t.e.db, func(ctx context.Context) (store.Page[store.TransportQueue], error) {
		var page store.Page[store.TransportQueue]
		ids, claimable, err := t.ids(ctx)
		if err != nil {
			return page, err
		}
		if f.Queue != nil {
			if _, there := slices.BinarySearch(ids, *f.Queue); !there {
				return page, nil
			}
			ids = []string{*f.Queue}
		}
		at, _ := slices.BinarySearchFunc(ids, after, func(id, after string) int {
			if id <= after && req.Cursor != "" {
				return -1
			}
			return 1
		})
		ids = ids[at:]
		more := len(ids) > limit
		ids = ids[:min(limit, len(ids))]
		if page.Items, err = t.look(ctx, ids, claimable); err != nil {
			return store.Page[store.TransportQueue]{}, err
		}
		if more {
			page.Next = store.EncodeCursor(scope, ids[len(ids)-1])
		}
		return page, nil
	})
}

// look reads what is to be shown of queues.
func (t *transport) look(ctx context.Context, ids []string, claimable map[string]known) ([]store.TransportQueue, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	type row struct {
		depth            *goredis.IntCmd
		head, lock, prio *goredis.StringCmd
		left             *goredis.DurationCmd
	}
	k := t.e.keys
	rows := make([]row, len(ids))
	pipe := t.e.db.client.Pipeline()
	clock := pipe.Time(ctx)
	for i, id := range ids {
		rows[i] = row{
			depth: pipe.LLen(ctx, k.queue(id)), head: pipe.LIndex(ctx, k.queue(id), 0),
			lock: pipe.Get(ctx, k.lock(id)), left: pipe.PTTL(ctx, k.lock(id)), prio: pipe.HGet(ctx, k.priorities(), id),
		}
	}
	if _, err := pipe.Exec(ctx); err != nil && err != goredis.Nil && redisAnswer(err) == "" { //nolint:errorlint // the library returns it as it is
		return nil, err
	}
	now := float64(clock.Val().UnixMicro()) / 1e6
	queues := make([]store.TransportQueue, len(ids))
	for i, id := range ids {
		r := rows[i]
		q := store.TransportQueue{ID: id, Depth: r.depth.Val(), LockedBy: r.lock.Val()}
		place, found := claimable[id]
		q.Hidden = !found && q.Depth > 0
		if n, err := strconv.ParseInt(r.prio.Val(), 10, 64); err == nil {
			q.Priority = &n
		} else if found {
			q.Priority = &place.tier
		}
		switch {
		case q.LockedBy != "" && r.left.Val() > 0:
			until := now + r.left.Val().Seconds()
			q.LockedUntil = &until
		case found && place.score/1000 > now:
			until := place.score / 1000
			q.LockedUntil, q.Parked = &until, q.LockedBy == ""
		}
		if err := r.depth.Err(); err != nil {
			q.Bad = &store.RowError{Table: "transport", Key: id, Err: err}
		}
		if text, err := r.head.Result(); err == nil {
			m := transportMessage(id, 0, text)
			q.Head = &m
		}
		queues[i] = q
	}
	return queues, nil
}

func transportMessage(queue string, place int64, text string) store.TransportMessage {
	m := store.TransportMessage{Seq: place}
	ev, err := store.DecodeEvent(text)
	if err != nil {
		m.Bad = &store.RowError{Table: "transport", Key: queue, Err: err, Raw: []byte(text)}
		return m
	}
	m.Event, m.Raw = ev, store.JSON(text)
	return m
}

// Messages implements [store.Transport]. They have no number but their place, which
// moves when one before is taken out: pages follow places.
func (t *transport) Messages(ctx context.Context, queue string, req store.PageRequest) (store.Page[store.TransportMessage], error) {
	limit, err := req.Size()
	if err != nil {
		return store.Page[store.TransportMessage]{}, err
	}
	scope := t.e.scopeOf("messages", queue)
	from := int64(0)
	if req.Cursor != "" {
		text, err := treeCursor(scope, req.Cursor)
		if err != nil {
			return store.Page[store.TransportMessage]{}, err
		}
		if from, err = strconv.ParseInt(text, 10, 64); err != nil || from < 0 {
			return store.Page[store.TransportMessage]{}, store.ErrBadCursor
		}
	}
	return read(ctx, t.e.db, func(ctx context.Context) (store.Page[store.TransportMessage], error) {
		var page store.Page[store.TransportMessage]
		texts, err := t.e.db.client.LRange(ctx, t.e.keys.queue(queue), from, from+int64(limit)).Result()
		if err != nil {
			return page, err
		}
		for i, text := range texts[:min(limit, len(texts))] {
			page.Items = append(page.Items, transportMessage(queue, from+int64(i), text))
		}
		if len(texts) > limit {
			page.Next = store.EncodeCursor(scope, strconv.FormatInt(from+int64(limit), 10))
		}
		return page, nil
	})
}

// TransportCounts implements [store.Transport].
func (t *transport) TransportCounts(ctx context.Context) (store.TransportCounts, error) {
	return read(ctx, t.e.db, func(ctx context.Context) (store.TransportCounts, error) {
		var c store.TransportCounts
		ids, claimable, err := t.ids(ctx)
		if err != nil {
			return c, err
		}
		for chunk := range slices.Chunk(ids, chunkRows) {
			queues, err := t.look(ctx, chunk, claimable)
			if err != nil {
				return c, err
			}
			now := float64(time.Now().UnixMicro()) / 1e6
			for _, q := range queues {
				c.Queues += min(q.Depth, 1)
				c.Messages += q.Depth
				switch {
				case q.Hidden:
					c.Hidden++
				case q.LockedUntil == nil || q.Depth == 0:
				case q.Parked:
					c.Parked++
				case cmp.Compare(*q.LockedUntil, now) > 0:
					c.Leased++
				}
			}
		}
		return c, nil
	})
}

// publishScript hands over one message. KEYS 1 queue, 2 priorities; ARGV 1 id, 2 event,
// 3 priority, 4 what the keys of the tiers begin with. The tier is that of the stored
// priority, which the first message has fixed.
var publishScript = goredis.NewScript(`
local tier = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or ARGV[3]) or 0
local ready = ARGV[4] .. string.format('%d', tier)
redis.call('LLEN', KEYS[1])
redis.call('ZCARD', ready)
redis.call('RPUSH', KEYS[1], ARGV[2])
redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[3])
redis.call('ZADD', ready, 'NX', 0, ARGV[1])
return {'ok'}
`)

// Publish implements [store.Transport].
func (t *transport) Publish(ctx context.Context, queue string, event store.Event, priority int64) error {
	if err := t.e.db.writable(ctx); err != nil {
		return err
	}
	text, err := store.CheckPublish(queue, event)
	if err != nil {
		return err
	}
	k := t.e.keys
	_, err = write(ctx, t.e.db, func(ctx context.Context) (bool, error) {
		keys := []string{k.queue(queue), k.priorities()}
		_, err := t.e.run(ctx, publishScript, keys, queue, string(text), strconv.FormatInt(store.ClampTransportPriority(priority), 10), strings.TrimSuffix(k.ready(0), "0"))
		return err == nil, t.e.clash(ctx, err, map[string]string{keys[0]: "list", keys[1]: "hash"})
	})
	return err
}

package redis

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// scanCount is how many keys one SCAN looks at: some 100 us of the server's time, in
// which it answers nobody else.
const scanCount = 1000

const (
	// syncKeys is up to where a database is small enough to be scanned again, before a
	// list is answered, whenever anything in it has changed: some milliseconds.
	syncKeys = 10_000
	// Beyond it new executions of ours show at once, and those of others after a scan in
	// the background, which does not take more than a share of the time.
	scanShare = 10
	scanEvery = time.Second
)

// index holds the ids of all executions, sorted: SCAN gives every key that was there
// all the time at least once, in no order, and some twice. Beside the ids' bytes it
// takes 16 bytes for each.
//
// It may hold ids of executions that are gone, which reading them shows.
type index struct {
	executions *executions
	seen       atomic.Int64 // keys that the scan under way has looked at, about
	total      atomic.Int64 // of as many
	scans      sync.WaitGroup

	mu        sync.Mutex
	ids       []string // never changed in place
	born      int64    // births that are in it
	token     string   // of the server before the scan that filled it
	started   int      // scans
	completed int      // number of the last scan that filled it
	large     bool     // the database has too many keys to be scanned for every list
	running   chan struct{}
	err       error // of the last scan
	ended     time.Time
	took      time.Duration
}

// rested reports whether the last scan was long enough ago for another one in the
// background. It is called with the lock held.
func (x *index) rested() bool { return time.Since(x.ended) > max(scanEvery, scanShare*x.took) }

// wait waits for a scan that is under way.
func (x *index) wait() { x.scans.Wait() }

// state is what tells whether the index is up to date.
type state struct {
	token string // "" where the server does not tell
	size  int64  // keys in the database
	born  int64
}

func (e *executions) state(ctx context.Context) (state, error) {
	node, err := e.db.node(ctx)
	if err != nil {
		return state{}, err
	}
	var s state
	pipe := node.Pipeline()
	size, born := pipe.DBSize(ctx), pipe.Get(ctx, e.keys.born)
	var info *goredis.StringCmd
	if e.db.server.counts {
		info = pipe.Info(ctx, "persistence")
	}
	if _, err := pipe.Exec(ctx); err != nil && redisAnswer(err) == "" && err != goredis.Nil { //nolint:errorlint // the library returns it as it is
		return state{}, err
	}
	s.size = size.Val()
	if err := size.Err(); err != nil {
		s.size = syncKeys + 1 // not granted: take it for large
		if !strings.HasPrefix(redisAnswer(err), "NOPERM") {
			return state{}, err
		}
	}
	if s.born, err = born.Int64(); err != nil && err != goredis.Nil { //nolint:errorlint // the same
		return state{}, err
	}
	if info != nil {
		s.token = changeCount(info.Val())
	}
	return s, nil
}

// changeCount is the server's own count of the changes to all that it holds. It is
// counted from the last save, so the time of that is part of it.
func changeCount(info string) string {
	fields := infoFields(info)
	if fields["rdb_changes_since_last_save"] == "" {
		return ""
	}
	return fields["rdb_changes_since_last_save"] + "." + fields["rdb_last_save_time"]
}

// current returns the ids, with all that was inserted before the call: by anybody in a
// small database, by treering in a large one.
func (e *executions) current(ctx context.Context) ([]string, error) {
	x := &e.db.ids
	x.mu.Lock()
	arrived := x.started
	x.mu.Unlock()
	for {
		s, err := e.state(ctx)
		if err != nil {
			return nil, err
		}
		x.mu.Lock()
		first := x.completed == 0
		x.large = s.size > syncKeys
		stale := s.token == "" || s.token != x.token
		mine := x.completed > arrived // it was begun after this call
		switch {
		case first || stale && !mine && !x.large:
			running := x.run(e)
			x.mu.Unlock()
			select {
			case <-running:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			x.mu.Lock()
			err := x.err
			done := x.completed > arrived
			x.mu.Unlock()
			if err != nil {
				return nil, err
			}
			if !done {
				continue // it was under way already and may have missed something
			}
		case stale && !mine && x.rested():
			x.run(e)
			x.mu.Unlock()
		default:
			x.mu.Unlock()
		}
		return x.caughtUp(ctx, e)
	}
}

// run starts a scan, unless one is under way, and returns what is closed at its end.
// It is called with the lock held.
func (x *index) run(e *executions) <-chan struct{} {
	if x.running != nil {
		return x.running
	}
	done := make(chan struct{})
	x.running = done
	x.started++
	number := x.started
	x.scans.Go(func() {
		began := time.Now()
		ids, s, err := e.scan(e.db.life)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.running, x.err = nil, err
		x.ended, x.took = time.Now(), time.Since(began)
		if err == nil {
			x.ids, x.born, x.token, x.completed = ids, s.born, s.token, number
		}
		close(done)
	})
	return done
}

// scan reads all ids.
func (e *executions) scan(ctx context.Context) ([]string, state, error) {
	x := &e.db.ids
	defer func() { x.seen.Store(0); x.total.Store(0) }()
	s, err := e.state(ctx)
	if err != nil {
		return nil, s, err
	}
	node, err := e.db.node(ctx)
	if err != nil {
		return nil, s, err
	}
	x.total.Store(s.size)
	begin := e.keys.exe("")
	var ids []string
	size := 0
	for cursor := uint64(0); ; {
		var names []string
		err := e.again(ctx, func() (err error) {
			names, cursor, err = node.Scan(ctx, cursor, glob(begin)+"*", scanCount).Result()
			return err
		})
		if err != nil {
			return nil, s, err
		}
		for _, name := range names {
			ids = append(ids, name[len(begin):])
			size += len(name) - len(begin)
		}
		x.seen.Add(scanCount)
		if cursor == 0 {
			break
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	// One piece of memory instead of one for each, with the prefix in it.
	var all strings.Builder
	all.Grow(size)
	for _, id := range ids {
		all.WriteString(id)
	}
	text := all.String()
	for i, id := range ids {
		ids[i], text = text[:len(id)], text[len(id):]
	}
	return slices.Clip(ids), s, nil
}

// again runs a step of a long read a second time where the connection broke.
func (e *executions) again(ctx context.Context, step func() error) error {
	err := step()
	if err != nil && broken(err) && ctx.Err() == nil {
		err = step()
	}
	return err
}

// caughtUp adds what treering has inserted since the scan, and returns all ids.
func (x *index) caughtUp(ctx context.Context, e *executions) ([]string, error) {
	for {
		x.mu.Lock()
		ids, born := x.ids, x.born
		x.mu.Unlock()
		now, err := e.db.client.Get(ctx, e.keys.born).Int64()
		if err != nil && err != goredis.Nil { //nolint:errorlint // the library returns it as it is
			return nil, err
		}
		if now == born {
			return ids, nil
		}
		if now < born { // the database was emptied
			if err := x.renew(ctx, e); err != nil {
				return nil, err
			}
			continue
		}
		newer, counted, err := e.births(ctx, now-born)
		if err != nil {
			return nil, err
		}
		missing := counted - born
		if missing > int64(len(newer)) {
			if missing <= keptBirths {
				continue // more were added meanwhile than were asked for
			}
			if err := x.renew(ctx, e); err != nil {
				return nil, err
			}
			continue
		}
		newer = newer[int64(len(newer))-max(missing, 0):]
		slices.Sort(newer)
		merged := merge(ids, newer)
		x.mu.Lock()
		if x.born == born {
			x.ids, x.born = merged, counted
		}
		x.mu.Unlock()
	}
}

// renew waits for a scan.
func (x *index) renew(ctx context.Context, e *executions) error {
	x.mu.Lock()
	running := x.run(e)
	x.mu.Unlock()
	select {
	case <-running:
	case <-ctx.Done():
		return ctx.Err()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.err
}

// keptBirths is how many births the script keeps.
const keptBirths = 10_000

// births reads the last ids that were inserted, n of them and some more, and how many
// there were in all, at one moment: the number is the same before and after.
func (e *executions) births(ctx context.Context, n int64) (ids []string, counted int64, err error) {
	for {
		var before, after *goredis.StringCmd
		var list *goredis.StringSliceCmd
		if _, err := e.db.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			before = p.Get(ctx, e.keys.born)
			list = p.LRange(ctx, e.keys.births, -(n + 64), -1)
			after = p.Get(ctx, e.keys.born)
			return nil
		}); err != nil && err != goredis.Nil { //nolint:errorlint // the library returns it as it is
			return nil, 0, err
		}
		if before.Val() != after.Val() {
			continue
		}
		counted, err = strconv.ParseInt(after.Val(), 10, 64)
		if err != nil {
			return nil, 0, nil //nolint:nilerr // it was deleted meanwhile: nothing was born
		}
		return list.Val(), counted, nil
	}
}

// merge joins two sorted lists of ids, each id once.
func merge(a, b []string) []string {
	out := make([]string, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] > b[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			b = b[1:]
		}
	}
	out = append(out, a...)
	out = append(out, b...)
	return slices.Compact(out)
}

// Progress says how far the first look through the keys is: how many were looked at of
// about how many. Both are 0 where none is under way.
func (d *DB) Progress() (seen, total int64) {
	total = d.ids.total.Load()
	return min(d.ids.seen.Load(), total), total
}

package redis

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

// trees is the [store.TreeStore] of a database. What has expired is decided by the
// server's clock.
type trees struct {
	db    *DB
	keys  treeKeys
	scope string // of cursors
}

var (
	_ store.TreeStore     = (*trees)(nil)
	_ store.BatchAppender = (*trees)(nil)
)

// Close closes the connection, executions included. It may be called more than once.
func (t *trees) Close() error { return t.db.Close() }

// skew is how far the clock is moved, in seconds.
func (t *trees) skew() float64 {
	if t.db.opts.Skew == nil {
		return 0
	}
	return t.db.opts.Skew().Seconds()
}

// seconds is a time of the server in epoch seconds, as the scripts have it.
func seconds(at time.Time, skew float64) float64 {
	return float64(at.Unix()) + float64(at.Nanosecond()/1000)/1e6 + skew
}

// deadline is the moment a time to live from now ends: never sooner than asked for,
// whatever float64 makes of the sum, and always finite.
func deadline(now, ttl float64) float64 {
	at := now + ttl
	if at-now < ttl {
		at = math.Nextafter(at, math.Inf(1))
	}
	return min(at, math.MaxFloat64)
}

// expiry is when a time to live that is given now ends, as it is stored.
func (t *trees) expiry(ctx context.Context, ttl *float64) (string, error) {
	if ttl == nil {
		return "-", nil
	}
	skew := t.skew()
	now, err := t.db.client.Time(ctx).Result()
	if err != nil {
		return "", err
	}
	return formatScore(deadline(seconds(now, skew), *ttl)), nil
}

func (t *trees) run(ctx context.Context, script *goredis.Script, args ...any) ([]any, error) {
	return t.db.executions.run(ctx, script, t.keys.all(), append([]any{strconv.FormatFloat(t.skew(), 'f', -1, 64)}, args...)...)
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func noSession(id string) error { return &store.NotFoundError{What: "session", ID: id} }

// CreateSession implements [store.TreeStore].
func (t *trees) CreateSession(ctx context.Context, id, kind string, ttl *float64) (store.SessionInfo, error) {
	for _, err := range [...]error{store.CheckID("session id", id), store.CheckID("kind", kind), store.CheckTTL(ttl)} {
		if err != nil {
			return store.SessionInfo{}, err
		}
	}
	ttl = copied(ttl)
	return write(ctx, t.db, func(ctx context.Context) (store.SessionInfo, error) {
		at, err := t.expiry(ctx, ttl)
		if err != nil {
			return store.SessionInfo{}, err
		}
		answer, err := t.run(ctx, createTree, id, kind, at)
		if err != nil {
			return store.SessionInfo{}, err
		}
		stored, _ := text(answer, 1)
		if answer[0] == "kind" {
			return store.SessionInfo{}, &store.KindMismatchError{Session: id, Stored: stored, Given: kind}
		}
		return t.info(id, kind, stored)
	})
}

// info is a session by what the scripts answer.
func (t *trees) info(id, kind, at string) (store.SessionInfo, error) {
	r, ok := readRecord(id, "0 "+at+" "+kind)
	if !ok {
		return store.SessionInfo{}, t.spoilt(id)
	}
	return r.info, nil
}

// spoilt is a record or node that this package has not written.
func (t *trees) spoilt(id string) error {
	return fmt.Errorf("%w: what is stored of session %q under %q cannot be read", store.ErrNotAStore, id, t.keys.base+"...")
}

// Session implements [store.TreeStore].
func (t *trees) Session(ctx context.Context, id string) (store.SessionInfo, error) {
	return read(ctx, t.db, func(ctx context.Context) (store.SessionInfo, error) {
		r, err := t.find(ctx, id)
		return r.info, err
	})
}

// look is what is asked about a tree.
type look struct {
	record *goredis.StringCmd
	clock  *goredis.TimeCmd
	skew   float64
}

func (t *trees) ask(ctx context.Context, p goredis.Pipeliner, id string) look {
	return look{p.HGet(ctx, t.keys.records, id), p.Time(ctx), t.skew()}
}

// answer is the live tree. A missing and an expired one are the same
// *[store.NotFoundError].
func (t *trees) answer(l look, id string) (record, error) {
	text, err := l.record.Result()
	if err == goredis.Nil { //nolint:errorlint // the library returns it as it is
		return record{}, noSession(id)
	}
	if err != nil {
		return record{}, err
	}
	now, err := l.clock.Result()
	if err != nil {
		return record{}, err
	}
	r, ok := readRecord(id, text)
	switch {
	case !ok:
		return record{}, t.spoilt(id)
	case !r.live(seconds(now, l.skew)):
		return record{}, noSession(id)
	}
	return r, nil
}

// find looks a live tree up. An id that no tree can have finds none.
func (t *trees) find(ctx context.Context, id string) (record, error) {
	return t.findWith(ctx, id, nil)
}

// findWith asks more in the same request, and for the tree last: nodes never change, so
// what was read before is of the tree, if that is still there under the same number. A
// transaction would say no more, and a server whose memory is full refuses those, even
// to read. What is asked may fail by itself, and by being absent.
func (t *trees) findWith(ctx context.Context, id string, more func(goredis.Pipeliner)) (record, error) {
	if store.CheckID("session id", id) != nil {
		return record{}, noSession(id)
	}
	var l look
	_, err := t.db.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
		if more != nil {
			more(p)
		}
		l = t.ask(ctx, p, id)
		return nil
	})
	if err != nil && err != goredis.Nil && redisAnswer(err) == "" { //nolint:errorlint // the library returns it as it is
		return record{}, err
	}
	return t.answer(l, id)
}

// SetSessionTTL implements [store.TreeStore].
func (t *trees) SetSessionTTL(ctx context.Context, id string, ttl *float64) (store.SessionInfo, error) {
	if err := store.CheckTTL(ttl); err != nil {
		return store.SessionInfo{}, err
	}
	ttl = copied(ttl)
	return write(ctx, t.db, func(ctx context.Context) (store.SessionInfo, error) {
		at, err := t.expiry(ctx, ttl)
		if err != nil {
			return store.SessionInfo{}, err
		}
		answer, err := t.run(ctx, expireTree, id, at)
		if err != nil {
			return store.SessionInfo{}, err
		}
		if answer[0] == "none" {
			return store.SessionInfo{}, noSession(id)
		}
		kind, _ := text(answer, 1)
		return t.info(id, kind, at)
	})
}

// DeleteSession implements [store.TreeStore].
func (t *trees) DeleteSession(ctx context.Context, id string) (bool, error) {
	return write(ctx, t.db, func(ctx context.Context) (bool, error) {
		answer, err := t.run(ctx, deleteTree, id)
		return err == nil && answer[0] == "ok", err
	})
}

// purgeBatch is how many trees one script of a purge takes: some milliseconds, in
// which the server answers nobody else.
const purgeBatch = 500

// PurgeExpired implements [store.TreeStore]. Many expired trees are purged in several
// steps; an error comes with the number of those purged before.
func (t *trees) PurgeExpired(ctx context.Context) (int, error) {
	purged := 0
	for {
		n, err := write(ctx, t.db, func(ctx context.Context) (int64, error) {
			answer, err := t.run(ctx, purgeTrees, strconv.Itoa(purgeBatch))
			if err != nil {
				return 0, err
			}
			return integer(answer, 1)
		})
		purged += int(n)
		if err != nil || n < purgeBatch {
			return purged, err
		}
	}
}

// CountExpired implements [store.TreeStore].
func (t *trees) CountExpired(ctx context.Context) (int, error) {
	return read(ctx, t.db, func(ctx context.Context) (int, error) {
		skew := t.skew()
		now, err := t.db.client.Time(ctx).Result()
		if err != nil {
			return 0, err
		}
		n, err := t.db.client.ZCount(ctx, t.keys.expiry, "-inf", formatScore(seconds(now, skew))).Result()
		return int(n), err
	})
}

// Append implements [store.TreeStore].
func (t *trees) Append(ctx context.Context, session string, node store.Node) error {
	if err := node.Check(); err != nil {
		return err
	}
	return t.append(ctx, session, []store.Node{node})
}

// AppendAll implements [store.BatchAppender], in one script.
func (t *trees) AppendAll(ctx context.Context, session string, nodes []store.Node) error {
	first := make(map[string]int, len(nodes))
	unique := make([]store.Node, 0, len(nodes))
	for i, n := range nodes {
		if err := n.Check(); err != nil {
			return fmt.Errorf("node %d of %d: %w", i+1, len(nodes), err)
		}
		at, twice := first[n.ID]
		if !twice {
			first[n.ID] = i
			unique = append(unique, n)
		} else if reason := nodes[at].DiffersFrom(n); reason != "" {
			return &store.NodeConflictError{Session: session, Node: n.ID, Reason: reason}
		}
	}
	return t.append(ctx, session, unique)
}

func (t *trees) append(ctx context.Context, session string, nodes []store.Node) error {
	nodes = slices.Clone(nodes)
	for i := range nodes {
		nodes[i].ParentID = copied(nodes[i].ParentID)
	}
	_, err := write(ctx, t.db, func(ctx context.Context) (bool, error) {
		return true, t.appendFresh(ctx, session, nodes)
	})
	return err
}

// appendFresh appends those nodes that are not there, if nothing stands against any.
func (t *trees) appendFresh(ctx context.Context, session string, nodes []store.Node) error {
	if store.CheckID("session id", session) != nil {
		return noSession(session)
	}
	for number := ""; ; {
		args := make([]any, 0, 3+3*len(nodes))
		args = append(args, session, number, strconv.Itoa(len(nodes)))
		for _, n := range nodes {
			args = append(args, n.ID, parentOf(n), packNode(n))
		}
		answer, err := t.run(ctx, appendNodes, args...)
		if err != nil {
			return err
		}
		switch answer[0] {
		case "ok":
			return nil
		case "none":
			return noSession(session)
		}
		if number, nodes, err = t.compare(session, nodes, answer); err != nil || len(nodes) == 0 {
			return err
		}
	}
}

// compare looks at the nodes that are there already, and returns the others, if these
// are equal and nothing else is wrong.
func (t *trees) compare(session string, nodes []store.Node, answer []any) (number string, fresh []store.Node, err error) {
	number, _ = text(answer, 1)
	there := map[int]bool{}
	for at := 3; at+1 < len(answer); at += 2 {
		i, err := integer(answer, at)
		if err != nil || i < 1 || int(i) > len(nodes) {
			return "", nil, t.spoilt(session)
		}
		given := nodes[i-1]
		packed, _ := text(answer, at+1)
		stored, ok := unpackNode(given.ID, packed)
		if !ok {
			return "", nil, t.spoilt(session)
		}
		if reason := stored.DiffersFrom(given); reason != "" {
			return "", nil, &store.NodeConflictError{Session: session, Node: given.ID, Reason: reason}
		}
		there[int(i-1)] = true
	}
	wrong, _ := text(answer, 2)
	if what, index, found := strings.Cut(wrong, " "); found {
		i, err := strconv.Atoi(index)
		if err != nil || i < 1 || i > len(nodes) {
			return "", nil, t.spoilt(session)
		}
		if what == "root" {
			return "", nil, &store.NodeConflictError{Session: session, Node: nodes[i-1].ID, Reason: store.ReasonSecondRoot}
		}
		return "", nil, &store.NotFoundError{What: "parent", ID: parentOf(nodes[i-1]), In: session}
	}
	for i, n := range nodes {
		if !there[i] {
			fresh = append(fresh, n)
		}
	}
	return number, fresh, nil
}

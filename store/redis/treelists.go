package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

// Of nodes as many are asked for at once as can be expected to fit.
const (
	firstNodes = 64       // as long as nothing is known of their size
	nodeBytes  = 16 << 20 // enough for a page
)

// treeScope is the cursor scope of a list: the parts are joined with their lengths, so
// that no two lists share one.
func (t *trees) treeScope(parts ...string) string {
	var b strings.Builder
	for _, p := range append([]string{t.scope}, parts...) {
		b.WriteString(strconv.Itoa(len(p)) + ":" + p)
	}
	return b.String()
}

// treeCursor is the id at which a page goes on, "" for the first.
func treeCursor(scope, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	key, err := store.DecodeCursor(scope, cursor)
	if err != nil {
		return "", err
	}
	if len(key) != 1 || key[0] == "" {
		return "", store.ErrBadCursor
	}
	return key[0], nil
}

// lexAfter is the bound of a range that begins behind an id, with "" at the first.
func lexAfter(id string) string {
	if id == "" {
		return "-"
	}
	return "(" + id
}

// Node implements [store.TreeStore].
func (t *trees) Node(ctx context.Context, session, id string) (store.Node, error) {
	slots, err := t.Nodes(ctx, session, []string{id})
	if err != nil {
		return store.Node{}, err
	}
	if slots[0] == nil {
		return store.Node{}, noNode(session, id)
	}
	return *slots[0], nil
}

func noNode(session, id string) error {
	return &store.NotFoundError{What: "node", ID: id, In: session}
}

// Nodes implements [store.TreeStore].
func (t *trees) Nodes(ctx context.Context, session string, ids []string) ([]*store.Node, error) {
	if err := store.CheckNodeIDs(ids); err != nil {
		return nil, err
	}
	ids = slices.Clone(ids)
	return read(ctx, t.db, func(ctx context.Context) ([]*store.Node, error) {
		r, err := t.find(ctx, session)
		if err != nil {
			return nil, err
		}
		slots := make([]*store.Node, len(ids))
		if len(ids) == 0 {
			return slots, nil
		}
		// An id that no node has is not worth sending.
		wanted := make([]string, 0, len(ids))
		for _, id := range ids {
			if store.CheckID("node id", id) == nil {
				wanted = append(wanted, id)
			}
		}
		slices.Sort(wanted)
		wanted = slices.Compact(wanted)
		nodes, err := t.nodes(ctx, r, wanted, 0)
		if err != nil {
			return nil, err
		}
		byID := make(map[string]store.Node, len(nodes))
		for _, n := range nodes {
			byID[n.ID] = n
		}
		for i, id := range ids {
			if n, there := byID[id]; there {
				n.ParentID = copied(n.ParentID)
				slots[i] = &n
			}
		}
		return slots, nil
	})
}

// nodes reads nodes of one moment in the order of ids, those that are there, all of
// them or, with a bound of bytes, as many as make that.
//
// Nodes never change while their tree lives, so several requests see one state as long
// as the tree still has its number at each.
func (t *trees) nodes(ctx context.Context, r record, ids []string, bytes int) ([]store.Node, error) {
	var nodes []store.Node
	if len(ids) == 0 {
		return nil, nil
	}
	for at, size := 0, 0; at < len(ids); {
		n := len(ids) - at
		if bytes > 0 {
			n = min(n, firstNodes)
			if at > 0 {
				n = min(len(ids)-at, max(1, (bytes-size)*at/max(size, 1)))
			}
		}
		var values *goredis.SliceCmd
		now, err := t.findWith(ctx, r.info.ID, func(p goredis.Pipeliner) {
			values = p.HMGet(ctx, t.keys.nodes(r.number), ids[at:at+n]...)
		})
		if err != nil {
			return nil, err
		}
		if now.number != r.number {
			return nil, noSession(r.info.ID) // another one is there under its name
		}
		got, err := values.Result()
		if err != nil {
			return nil, err
		}
		for i, v := range got {
			stored, there := v.(string)
			if !there {
				continue
			}
			node, ok := unpackNode(ids[at+i], stored)
			if !ok {
				return nil, t.spoilt(r.info.ID)
			}
			nodes = append(nodes, node)
			size += len(stored)
		}
		at += n
		if bytes > 0 && size >= bytes {
			break
		}
	}
	return nodes, nil
}

// ListSessions implements [store.TreeStore].
func (t *trees) ListSessions(ctx context.Context, f store.SessionFilter, req store.PageRequest) (store.Page[store.SessionInfo], error) {
	limit, err := req.Size()
	if err != nil {
		return store.Page[store.SessionInfo]{}, err
	}
	f.Kinds, f.NotKinds = slices.Clone(f.Kinds), slices.Clone(f.NotKinds)
	only, not := kindList(f.Kinds), kindList(f.NotKinds)
	scope := t.treeScope(append([]string{"sessions", fmt.Sprint(f.Kinds != nil, len(only))}, slices.Concat(only, not)...)...)
	after, err := treeCursor(scope, req.Cursor)
	if err != nil {
		return store.Page[store.SessionInfo]{}, err
	}
	return read(ctx, t.db, func(ctx context.Context) (store.Page[store.SessionInfo], error) {
		var page store.Page[store.SessionInfo]
		if f.Kinds != nil && len(f.Kinds) == 0 {
			return page, nil
		}
		for looked, last := 0, after; ; {
			infos, ids, err := t.sessionsAfter(ctx, last, limit+1-len(page.Items))
			if err != nil {
				return store.Page[store.SessionInfo]{}, err
			}
			for i, id := range ids {
				if len(page.Items) == limit || looked >= maxLooked {
					page.Next = store.EncodeCursor(scope, last)
					return page, nil
				}
				last = id
				looked++
				if infos[i] != nil && f.Selects(infos[i].Kind) {
					page.Items = append(page.Items, *infos[i])
				}
			}
			if len(ids) == 0 {
				return page, nil
			}
		}
	})
}

// sessionsAfter reads up to n trees behind an id. Those that have expired or went away
// meanwhile are nil.
func (t *trees) sessionsAfter(ctx context.Context, after string, n int) ([]*store.SessionInfo, []string, error) {
	ids, err := t.db.client.ZRangeByLex(ctx, t.keys.ids, &goredis.ZRangeBy{Min: lexAfter(after), Max: "+", Count: int64(n)}).Result()
	if err != nil || len(ids) == 0 {
		return nil, nil, err
	}
	var records *goredis.SliceCmd
	var clock *goredis.TimeCmd
	skew := t.skew()
	if _, err := t.db.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
		records, clock = p.HMGet(ctx, t.keys.records, ids...), p.Time(ctx)
		return nil
	}); err != nil {
		return nil, nil, err
	}
	now := seconds(clock.Val(), skew)
	infos := make([]*store.SessionInfo, len(ids))
	for i, v := range records.Val() {
		text, there := v.(string)
		if !there {
			continue
		}
		r, ok := readRecord(ids[i], text)
		if !ok {
			return nil, nil, t.spoilt(ids[i])
		}
		if r.live(now) {
			infos[i] = &r.info
		}
	}
	return infos, ids, nil
}

// kindList puts a selection into a form that is equal for equal selections, less the
// kinds that no tree can have.
func kindList(kinds []string) []string {
	list := slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return store.CheckID("kind", k) != nil })
	slices.Sort(list)
	return slices.Compact(list)
}

// ListNodes implements [store.TreeStore].
func (t *trees) ListNodes(ctx context.Context, session string, req store.PageRequest) (store.Page[store.Node], error) {
	return t.list(ctx, session, req, "nodes", func(r record) (key, from, to, strip string) {
		return t.keys.order(r.number), "-", "+", ""
	}, nil)
}

// ListChildren implements [store.TreeStore].
func (t *trees) ListChildren(ctx context.Context, session, node string, req store.PageRequest) (store.Page[store.Node], error) {
	var needs *string
	if node != "" {
		needs = &node
	}
	return t.list(ctx, session, req, "children "+node, func(r record) (key, from, to, strip string) {
		return t.keys.below(r.number), "[" + node + "\x00", "(" + node + "\x01", node + "\x00"
	}, needs)
}

// list reads a page of nodes whose ids a sorted set has in order, behind a common
// beginning of its members. Where needs is set that node must be there.
func (t *trees) list(ctx context.Context, session string, req store.PageRequest, what string,
	place func(record) (key, from, to, strip string), needs *string,
) (store.Page[store.Node], error) {
	limit, err := req.Size()
	if err != nil {
		return store.Page[store.Node]{}, err
	}
	return read(ctx, t.db, func(ctx context.Context) (store.Page[store.Node], error) {
		r, err := t.find(ctx, session)
		if err != nil {
			return store.Page[store.Node]{}, err
		}
		scope := t.treeScope(what, session, r.number)
		after, err := treeCursor(scope, req.Cursor)
		if err != nil {
			return store.Page[store.Node]{}, err
		}
		key, from, to, strip := place(r)
		if after != "" {
			from = "(" + strip + after
		}
		if needs != nil && store.CheckID("node id", *needs) != nil {
			return store.Page[store.Node]{}, noNode(session, *needs)
		}
		var members *goredis.StringSliceCmd
		var there *goredis.BoolCmd
		now, err := t.findWith(ctx, session, func(p goredis.Pipeliner) {
			members = p.ZRangeByLex(ctx, key, &goredis.ZRangeBy{Min: from, Max: to, Count: int64(limit) + 1})
			if needs != nil {
				there = p.HExists(ctx, t.keys.nodes(r.number), *needs)
			}
		})
		switch {
		case err != nil:
			return store.Page[store.Node]{}, err
		case now.number != r.number:
			return store.Page[store.Node]{}, noSession(session)
		case members.Err() != nil:
			return store.Page[store.Node]{}, members.Err()
		case there != nil && !there.Val():
			return store.Page[store.Node]{}, noNode(session, *needs)
		}
		ids := members.Val()
		for i := range ids {
			ids[i] = ids[i][len(strip):]
		}
		more := len(ids) > limit
		ids = ids[:min(len(ids), limit)]
		var page store.Page[store.Node]
		if page.Items, err = t.nodes(ctx, r, ids, nodeBytes); err != nil {
			return store.Page[store.Node]{}, err
		}
		if n := len(page.Items); n > 0 && (more || n < len(ids)) {
			page.Next = store.EncodeCursor(scope, page.Items[n-1].ID)
		}
		return page, nil
	})
}

// CountNodes implements [store.TreeStore].
func (t *trees) CountNodes(ctx context.Context, session string) (int64, error) {
	return read(ctx, t.db, func(ctx context.Context) (int64, error) {
		r, err := t.find(ctx, session)
		if err != nil {
			return 0, err
		}
		var n *goredis.IntCmd
		now, err := t.findWith(ctx, session, func(p goredis.Pipeliner) { n = p.HLen(ctx, t.keys.nodes(r.number)) })
		if err == nil && now.number != r.number {
			err = noSession(session)
		}
		if err != nil {
			return 0, err
		}
		return n.Result()
	})
}

// ListHistory implements [store.TreeStore]. A script that only reads follows the
// parents; where the user may not run scripts, each parent is a request.
func (t *trees) ListHistory(ctx context.Context, session, node string, req store.PageRequest) (store.Page[store.Node], error) {
	limit, err := req.Size()
	if err != nil {
		return store.Page[store.Node]{}, err
	}
	return read(ctx, t.db, func(ctx context.Context) (store.Page[store.Node], error) {
		r, err := t.find(ctx, session)
		if err != nil {
			return store.Page[store.Node]{}, err
		}
		scope := t.treeScope("history", session, r.number, node)
		from, err := treeCursor(scope, req.Cursor)
		if err != nil {
			return store.Page[store.Node]{}, err
		}
		if from == "" {
			from = node
		}
		var page store.Page[store.Node]
		if store.CheckID("node id", from) == nil {
			if page.Items, err = t.ancestors(ctx, r, from, limit); err != nil {
				return store.Page[store.Node]{}, err
			}
		}
		if now, err := t.find(ctx, session); err != nil || now.number != r.number {
			if err == nil {
				err = noSession(session)
			}
			return store.Page[store.Node]{}, err
		}
		n := len(page.Items)
		if n == 0 {
			return store.Page[store.Node]{}, noNode(session, from)
		}
		if parent := page.Items[n-1].ParentID; parent != nil {
			page.Next = store.EncodeCursor(scope, *parent)
		}
		return page, nil
	})
}

// ancestors follows parents from a node, beginning with it.
func (t *trees) ancestors(ctx context.Context, r record, from string, limit int) ([]store.Node, error) {
	key := t.keys.nodes(r.number)
	answer, err := history.Run(ctx, t.db.client, []string{key}, from, strconv.Itoa(limit), strconv.Itoa(nodeBytes)).StringSlice()
	var nodes []store.Node
	add := func(id, stored string) error {
		n, ok := unpackNode(id, stored)
		if !ok {
			return t.spoilt(r.info.ID)
		}
		nodes = append(nodes, n)
		return nil
	}
	if err == nil {
		for i := 0; i+1 < len(answer); i += 2 {
			if err := add(answer[i], answer[i+1]); err != nil {
				return nil, err
			}
		}
		return nodes, nil
	}
	if !strings.HasPrefix(redisAnswer(err), "NOPERM") {
		return nil, err
	}
	for size := 0; len(nodes) < limit && size < nodeBytes; {
		stored, err := t.db.client.HGet(ctx, key, from).Result()
		if err == goredis.Nil { //nolint:errorlint // the library returns it as it is
			break
		}
		if err != nil {
			return nil, err
		}
		if err := add(from, stored); err != nil {
			return nil, err
		}
		size += len(stored)
		if from = parentOf(nodes[len(nodes)-1]); from == "" {
			break
		}
	}
	return nodes, nil
}

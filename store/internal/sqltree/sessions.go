package sqltree

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"treering/store"
)

// tree is a stored tree: its number, what callers see of it, and whether it
// lives.
type tree struct {
	number int64
	info   store.SessionInfo
	live   bool
}

const treeByID = "SELECT tree, kind, expires_at FROM tree_sessions WHERE id = ?"

// find looks a tree up, expired or not. An id that no tree can have finds none.
func (s *Store) find(conn *sqlite.Conn, id string) (t tree, found bool, err error) {
	if store.CheckID("session id", id) != nil {
		return tree{}, false, nil
	}
	now := s.now()
	found, err = first(conn, treeByID,
		func(q *sqlite.Stmt) { q.BindText(1, id) },
		func(row *sqlite.Stmt) {
			t.number = row.ColumnInt64(0)
			t.info = store.SessionInfo{ID: id, Kind: row.ColumnText(1), ExpiresAt: optionalFloat(row, 2)}
			t.live = t.info.ExpiresAt == nil || *t.info.ExpiresAt > now
		})
	return t, found, err
}

// live looks a live tree up. A missing and an expired one are the same
// *[store.NotFoundError].
func (s *Store) live(conn *sqlite.Conn, id string) (tree, error) {
	t, found, err := s.find(conn, id)
	if err == nil && (!found || !t.live) {
		err = &store.NotFoundError{What: "session", ID: id}
	}
	return t, err
}

func optionalFloat(row *sqlite.Stmt, col int) *float64 {
	if row.ColumnIsNull(col) {
		return nil
	}
	f := row.ColumnFloat(col)
	return &f
}

func bindDeadline(stmt *sqlite.Stmt, param int, at *float64) {
	if at == nil {
		stmt.BindNull(param)
		return
	}
	stmt.BindFloat(param, *at)
}

// CreateSession implements [store.TreeStore].
func (s *Store) CreateSession(ctx context.Context, id, kind string, ttl *float64) (store.SessionInfo, error) {
	for _, err := range [...]error{store.CheckID("session id", id), store.CheckID("kind", kind), store.CheckTTL(ttl)} {
		if err != nil {
			return store.SessionInfo{}, err
		}
	}
	ttl = copied(ttl)
	var info store.SessionInfo
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		t, found, err := s.find(conn, id)
		switch {
		case err != nil:
			return err
		case found && t.live && t.info.Kind != kind:
			return &store.KindMismatchError{Session: id, Stored: t.info.Kind, Given: kind}
		case found && t.live:
			info = t.info
			return nil
		case found:
			if err := detach(conn, t.number); err != nil {
				return err
			}
		}
		info = store.SessionInfo{ID: id, Kind: kind, ExpiresAt: deadline(s.now(), ttl)}
		_, err = change(conn, "INSERT INTO tree_sessions (id, kind, expires_at) VALUES (?, ?, ?)", func(q *sqlite.Stmt) {
			q.BindText(1, id)
			q.BindText(2, kind)
			bindDeadline(q, 3, info.ExpiresAt)
		})
		return err
	})
	if err != nil {
		return store.SessionInfo{}, err
	}
	return info, nil
}

// Session implements [store.TreeStore].
func (s *Store) Session(ctx context.Context, id string) (store.SessionInfo, error) {
	var t tree
	err := s.read(ctx, func(conn *sqlite.Conn) (err error) {
		t, err = s.live(conn, id)
		return err
	})
	if err != nil {
		return store.SessionInfo{}, err
	}
	return t.info, nil
}

// SetSessionTTL implements [store.TreeStore].
func (s *Store) SetSessionTTL(ctx context.Context, id string, ttl *float64) (store.SessionInfo, error) {
	if err := store.CheckTTL(ttl); err != nil {
		return store.SessionInfo{}, err
	}
	ttl = copied(ttl)
	var info store.SessionInfo
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		t, err := s.live(conn, id)
		if err != nil {
			return err
		}
		info = t.info
		info.ExpiresAt = deadline(s.now(), ttl)
		_, err = change(conn, "UPDATE tree_sessions SET expires_at = ? WHERE tree = ?", func(q *sqlite.Stmt) {
			bindDeadline(q, 1, info.ExpiresAt)
			q.BindInt64(2, t.number)
		})
		return err
	})
	if err != nil {
		return store.SessionInfo{}, err
	}
	return info, nil
}

// DeleteSession implements [store.TreeStore].
//
// The tree is gone with the first transaction; its nodes are removed in further
// ones, so that a tree of a million nodes does not keep others from writing. If
// that ends early the next delete or purge goes on with it. It ends quietly where
// ctx does, since the answer is known; any other error comes with existed set.
func (s *Store) DeleteSession(ctx context.Context, id string) (bool, error) {
	existed := false // not a named result: after an abandoned wait the write may still set it
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		t, found, err := s.find(conn, id)
		existed = found
		if err != nil || !found {
			return err
		}
		return detach(conn, t.number)
	})
	if err != nil {
		return false, err
	}
	return existed, s.reap(ctx)
}

// purgeBatch is how many trees one transaction of a purge takes: a few
// milliseconds.
const purgeBatch = 1000

const listExpired = "SELECT tree FROM tree_sessions WHERE tree > ? AND id IS NOT NULL AND expires_at <= ? ORDER BY tree"

// PurgeExpired implements [store.TreeStore]. Many expired trees are purged in
// several transactions; an error comes with the number of those purged before.
// Their nodes go as DeleteSession says.
func (s *Store) PurgeExpired(ctx context.Context) (int, error) {
	purged, after, now := 0, int64(0), s.now()
	for more := true; more; {
		var batch []int64
		err := s.write(ctx, func(conn *sqlite.Conn) error {
			batch = batch[:0]
			err := each(conn, listExpired,
				func(q *sqlite.Stmt) {
					q.BindInt64(1, after)
					q.BindFloat(2, now)
				},
				func(row *sqlite.Stmt) bool {
					batch = append(batch, row.ColumnInt64(0))
					return len(batch) < purgeBatch
				})
			if err != nil {
				return err
			}
			for _, number := range batch {
				if err := markDeleted(conn, number); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return purged, err
		}
		purged += len(batch)
		if more = len(batch) == purgeBatch; more {
			after = batch[len(batch)-1]
		}
	}
	return purged, s.reap(ctx)
}

const countExpired = "SELECT count(*) FROM tree_sessions WHERE id IS NOT NULL AND expires_at <= ?"

// CountExpired implements [store.TreeStore].
func (s *Store) CountExpired(ctx context.Context) (int, error) {
	count, now := 0, s.now()
	err := s.read(ctx, func(conn *sqlite.Conn) error {
		_, err := first(conn, countExpired,
			func(q *sqlite.Stmt) { q.BindFloat(1, now) },
			func(row *sqlite.Stmt) { count = int(row.ColumnInt64(0)) })
		return err
	})
	if err != nil {
		return 0, err
	}
	return count, nil
}

// ListSessions implements [store.TreeStore].
func (s *Store) ListSessions(ctx context.Context, f store.SessionFilter, page store.PageRequest) (store.Page[store.SessionInfo], error) {
	limit, err := page.Size()
	if err != nil {
		return store.Page[store.SessionInfo]{}, err
	}
	only, not := kindList(f.Kinds), kindList(f.NotKinds)
	scope := s.scope(append([]string{"sessions", fmt.Sprint(f.Kinds != nil, len(only))}, slices.Concat(only, not)...)...)
	one := len(only) == 1
	query := listSessions(one, f.Kinds != nil, len(not) > 0)
	var out store.Page[store.SessionInfo]
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		out = store.Page[store.SessionInfo]{}
		key, err := decode(scope, page.Cursor, 1)
		if err != nil {
			return err
		}
		return each(conn, query, func(q *sqlite.Stmt) {
			if key != nil {
				q.BindText(1, key[0])
			} else {
				q.BindText(1, "") // every id comes after it, and no deleted tree's NULL
			}
			q.BindFloat(2, s.now())
			switch {
			case one:
				q.BindText(3, only[0])
			case f.Kinds != nil:
				q.BindText(3, jsonList(only))
			}
			if len(not) > 0 {
				q.BindText(4, jsonList(not))
			}
		}, func(row *sqlite.Stmt) bool {
			if len(out.Items) == limit {
				out.Next = store.EncodeCursor(scope, out.Items[limit-1].ID)
				return false
			}
			out.Items = append(out.Items, store.SessionInfo{ID: row.ColumnText(0), Kind: row.ColumnText(1), ExpiresAt: optionalFloat(row, 2)})
			return true
		})
	})
	if err != nil {
		return store.Page[store.SessionInfo]{}, err
	}
	return out, nil
}

// listSessions is the query for one kind, which an index has in order, or for some
// of several, and for all but some. With several, that index would have them in
// the wrong order, and every page would sort them all: the plus keeps it out.
func listSessions(one, only, not bool) string {
	query := "SELECT id, kind, expires_at FROM tree_sessions WHERE id > ?1 AND (expires_at IS NULL OR expires_at > ?2)"
	switch {
	case one:
		query += " AND kind = +?3"
	case only:
		query += " AND +kind IN (SELECT value FROM json_each(?3))"
	}
	if not {
		query += " AND kind NOT IN (SELECT value FROM json_each(?4))"
	}
	return query + " ORDER BY id"
}

// kindList puts a selection into a form that is equal for equal selections, less
// the kinds that no tree can have.
func kindList(kinds []string) []string {
	list := slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return store.CheckID("kind", k) != nil })
	slices.Sort(list)
	return slices.Compact(list)
}

func jsonList(kinds []string) string {
	quoted := make([]string, len(kinds))
	for i, k := range kinds {
		quoted[i] = string(store.Quote(k))
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

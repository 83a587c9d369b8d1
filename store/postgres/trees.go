package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"treering/store"
)

// trees is the [store.TreeStore] on our own tables. What has expired is decided by the
// server's clock, so that all clients agree.
type trees struct {
	db    *DB
	t     treeTables
	scope string
}

var (
	_ store.TreeStore     = (*trees)(nil)
	_ store.BatchAppender = (*trees)(nil)
)

func newTrees(db *DB, t treeTables) *trees {
	return &trees{db: db, t: t, scope: store.EncodeCursor("", db.server.Identity, t.sessions)}
}

// Close closes the database, executions included.
func (s *trees) Close() error { return s.db.Close() }

// clock is the time in epoch seconds: the parameter, or where that is NULL the
// server's.
func clock(param string) string {
	return "coalesce(" + param + "::float8, date_part('epoch', clock_timestamp()))"
}

// now is the time by the clock of [Options], nil where the server's counts.
func (s *trees) now() *float64 {
	if s.db.now == nil {
		return nil
	}
	t := s.db.now()
	at := float64(t.Unix()) + float64(t.Nanosecond())/1e9
	return &at
}

// tree is a stored tree: its number, what callers see of it, and whether it lives.
type tree struct {
	number int64
	info   store.SessionInfo
	live   bool
	now    float64
}

// find looks a tree up, expired or not. lock is a locking clause, or nothing.
func (s *trees) find(ctx context.Context, q querier, id, lock string) (t tree, found bool, err error) {
	if store.CheckID("session id", id) != nil {
		return tree{}, false, nil // no tree can have it
	}
	t.info.ID = id
	err = q.QueryRow(ctx, "SELECT tree, kind, expires_at, "+clock("$2")+" FROM "+s.t.sessions+" WHERE id = $1"+lock, id, s.now()).
		Scan(&t.number, &t.info.Kind, &t.info.ExpiresAt, &t.now)
	if errors.Is(err, pgx.ErrNoRows) {
		return tree{}, false, nil
	}
	t.live = t.info.ExpiresAt == nil || *t.info.ExpiresAt > t.now
	return t, err == nil, err
}

// living looks a live tree up. A missing and an expired one are the same
// *[store.NotFoundError].
func (s *trees) living(ctx context.Context, q querier, id, lock string) (tree, error) {
	t, found, err := s.find(ctx, q, id, lock)
	if err == nil && (!found || !t.live) {
		err = &store.NotFoundError{What: "session", ID: id}
	}
	return t, err
}

// deadline is the moment a time to live from now ends: never sooner than asked for,
// and always finite. A positive one is never over at once.
func deadline(now float64, ttl *float64) *float64 {
	if ttl == nil {
		return nil
	}
	at := now + *ttl
	if at-now < *ttl {
		at = math.Nextafter(at, math.Inf(1))
	}
	at = min(at, math.MaxFloat64)
	return &at
}

// change runs fn in a transaction that is made again where it lost a race.
func (s *trees) change(ctx context.Context, fn func(context.Context, pgx.Tx) error) error {
	return s.db.write(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return fn(ctx, tx) })
	})
}

// CreateSession implements [store.TreeStore].
func (s *trees) CreateSession(ctx context.Context, id, kind string, ttl *float64) (store.SessionInfo, error) {
	if err := s.db.writable(ctx); err != nil {
		return store.SessionInfo{}, err
	}
	for _, err := range [...]error{store.CheckID("session id", id), store.CheckID("kind", kind), store.CheckTTL(ttl)} {
		if err != nil {
			return store.SessionInfo{}, err
		}
	}
	ttl = copied(ttl)
	made := make(chan store.SessionInfo, writeTries)
	err := s.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		t, found, err := s.find(ctx, tx, id, " FOR UPDATE")
		switch {
		case err != nil:
			return err
		case found && t.live && t.info.Kind != kind:
			return &store.KindMismatchError{Session: id, Stored: t.info.Kind, Given: kind}
		case found && t.live:
			made <- t.info
			return nil
		case found:
			if _, err := tx.Exec(ctx, "UPDATE "+s.t.sessions+" SET id = NULL WHERE tree = $1", t.number); err != nil {
				return err
			}
			if _, err := s.reapPortion(ctx, tx, t.number); err != nil {
				return err
			}
		}
		now := t.now
		if !found {
			if err := tx.QueryRow(ctx, "SELECT "+clock("$1"), s.now()).Scan(&now); err != nil {
				return err
			}
		}
		info := store.SessionInfo{ID: id, Kind: kind, ExpiresAt: deadline(now, ttl)}
		tag, err := tx.Exec(ctx, "INSERT INTO "+s.t.sessions+" (id, kind, expires_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", id, kind, info.ExpiresAt)
		switch {
		case err != nil:
			return err
		case tag.RowsAffected() == 0:
			return errAgain // somebody else made it just now
		}
		made <- info
		return nil
	})
	if err != nil {
		return store.SessionInfo{}, err
	}
	return last(made), nil
}

// last is the newest of what the tries of a write left.
func last[T any](made chan T) (v T) {
	for {
		select {
		case v = <-made:
		default:
			return v
		}
	}
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// Session implements [store.TreeStore].
func (s *trees) Session(ctx context.Context, id string) (store.SessionInfo, error) {
	var t tree
	err := s.db.read(ctx, func(q querier) (err error) {
		t, err = s.living(ctx, q, id, "")
		return err
	})
	if err != nil {
		return store.SessionInfo{}, err
	}
	return t.info, nil
}

// SetSessionTTL implements [store.TreeStore].
func (s *trees) SetSessionTTL(ctx context.Context, id string, ttl *float64) (store.SessionInfo, error) {
	if err := s.db.writable(ctx); err != nil {
		return store.SessionInfo{}, err
	}
	if err := store.CheckTTL(ttl); err != nil {
		return store.SessionInfo{}, err
	}
	ttl = copied(ttl)
	made := make(chan store.SessionInfo, writeTries)
	err := s.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		t, err := s.living(ctx, tx, id, " FOR NO KEY UPDATE")
		if err != nil {
			return err
		}
		t.info.ExpiresAt = deadline(t.now, ttl)
		if _, err := tx.Exec(ctx, "UPDATE "+s.t.sessions+" SET expires_at = $2 WHERE tree = $1", t.number, t.info.ExpiresAt); err != nil {
			return err
		}
		made <- t.info
		return nil
	})
	if err != nil {
		return store.SessionInfo{}, err
	}
	return last(made), nil
}

// DeleteSession implements [store.TreeStore]. The tree is gone with the first
// transaction; its nodes are removed in further ones.
func (s *trees) DeleteSession(ctx context.Context, id string) (bool, error) {
	if err := s.db.writable(ctx); err != nil {
		return false, err
	}
	if store.CheckID("session id", id) != nil {
		return false, nil
	}
	gone := make(chan bool, writeTries)
	err := s.db.write(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, "UPDATE "+s.t.sessions+" SET id = NULL WHERE id = $1", id)
		if err == nil {
			gone <- tag.RowsAffected() > 0
		}
		return err
	})
	if err != nil {
		return false, err
	}
	if !last(gone) {
		return false, nil
	}
	return true, s.reap(ctx)
}

// PurgeExpired implements [store.TreeStore].
func (s *trees) PurgeExpired(ctx context.Context) (int, error) {
	if err := s.db.writable(ctx); err != nil {
		return 0, err
	}
	purged := make(chan int, writeTries)
	now := s.now()
	err := s.db.write(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, "UPDATE "+s.t.sessions+" SET id = NULL WHERE id IS NOT NULL AND expires_at <= "+clock("$1"), now)
		if err == nil {
			purged <- int(tag.RowsAffected())
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return last(purged), s.reap(ctx)
}

// CountExpired implements [store.TreeStore].
func (s *trees) CountExpired(ctx context.Context) (n int, err error) {
	err = s.db.read(ctx, func(q querier) error {
		return q.QueryRow(ctx, "SELECT count(*) FROM "+s.t.sessions+" WHERE id IS NOT NULL AND expires_at <= "+clock("$1"), s.now()).Scan(&n)
	})
	return n, err
}

// reapNodes is how many nodes of a deleted tree one transaction removes.
const reapNodes = 4096

// reap removes what is left of deleted trees, whoever deleted them.
func (s *trees) reap(ctx context.Context) error {
	for {
		rest := make(chan bool, writeTries)
		err := s.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
			var number int64
			err := tx.QueryRow(ctx, "SELECT tree FROM "+s.t.sessions+" WHERE id IS NULL LIMIT 1 FOR UPDATE SKIP LOCKED").Scan(&number)
			if errors.Is(err, pgx.ErrNoRows) {
				rest <- false
				return nil
			}
			if err == nil {
				_, err = s.reapPortion(ctx, tx, number)
			}
			rest <- true
			return err
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("deleted, but the nodes are not all removed yet (the next delete or purge goes on): %w", err)
		case !last(rest):
			return nil
		}
	}
}

// reapPortion removes one portion of a deleted tree's nodes, and its row with the last
// of them.
func (s *trees) reapPortion(ctx context.Context, tx pgx.Tx, number int64) (over bool, err error) {
	tag, err := tx.Exec(ctx, "DELETE FROM "+s.t.nodes+" WHERE tree = $1 AND id IN (SELECT id FROM "+s.t.nodes+" WHERE tree = $1 LIMIT "+strconv.Itoa(reapNodes)+")", number)
	if err != nil || tag.RowsAffected() == reapNodes {
		return false, err
	}
	_, err = tx.Exec(ctx, "DELETE FROM "+s.t.sessions+" WHERE tree = $1", number)
	return true, err
}

// ListSessions implements [store.TreeStore].
func (s *trees) ListSessions(ctx context.Context, f store.SessionFilter, req store.PageRequest) (store.Page[store.SessionInfo], error) {
	if err := s.db.usable(ctx); err != nil {
		return store.Page[store.SessionInfo]{}, err
	}
	only, not := kindList(f.Kinds), kindList(f.NotKinds)
	l := pageList[store.SessionInfo]{
		table: s.t.sessions, columns: []string{"id", "kind", "expires_at"}, order: []string{"id"}, casts: []string{""},
		where: []string{"id IS NOT NULL", "(expires_at IS NULL OR expires_at > " + clock("$1") + ")"}, args: []any{s.now()},
		scope: s.cursorScope("sessions", fmt.Sprint(f.Kinds != nil), fmt.Sprintf("%q %q", only, not)),
		read: func(rows pgx.Rows, over *bool) (i store.SessionInfo, key []string, selected bool, err error) {
			err = rows.Scan(&i.ID, &i.Kind, &i.ExpiresAt, over)
			return i, []string{i.ID}, true, err
		},
	}
	if f.Kinds != nil {
		l.args = append(l.args, only)
		l.where = append(l.where, "kind = ANY ($"+strconv.Itoa(len(l.args))+"::text[])")
	}
	if len(not) > 0 {
		l.args = append(l.args, not)
		l.where = append(l.where, "kind <> ALL ($"+strconv.Itoa(len(l.args))+"::text[])")
	}
	return l.page(ctx, s.db, req)
}

// kindList puts a selection into a form that is equal for equal selections, less the
// kinds that no tree can have.
func kindList(kinds []string) []string {
	list := slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return store.CheckID("kind", k) != nil })
	slices.Sort(list)
	return append([]string{}, slices.Compact(list)...)
}

// cursorScope is the scope of a list's cursors. The parts are quoted, so that no two
// lists share one.
func (s *trees) cursorScope(parts ...string) string { return fmt.Sprintf("%q %q", s.scope, parts) }

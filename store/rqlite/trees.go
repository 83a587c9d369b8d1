package rqlite

import (
	"context"
	"errors"
	"fmt"

	"treering/store"
)

// treeColumns names the tables that trees are read from, with their columns.
func treeColumns() map[string][]string {
	return map[string][]string{
		"tree_sessions": {"tree", "id", "kind", "expires_at"},
		"tree_nodes":    {"node", "tree", "id", "parent", "parent_id", "kind", "data"},
	}
}

// treeDDL makes the tables of the trees, of the same shape as in a SQLite file.
//
// A tree is known by a number that is never used again. A deleted tree keeps its row,
// without an id, until its nodes are gone: see reap.
func treeDDL() []statement {
	return []statement{
		sql(`CREATE TABLE IF NOT EXISTS tree_sessions (tree INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, kind TEXT NOT NULL, expires_at REAL)`),
		sql(`CREATE INDEX IF NOT EXISTS tree_sessions_kind ON tree_sessions (kind, id)`),
		sql(`CREATE TABLE IF NOT EXISTS tree_nodes (node INTEGER PRIMARY KEY, tree INTEGER NOT NULL, id TEXT NOT NULL, parent INTEGER, parent_id TEXT, kind TEXT NOT NULL, data TEXT NOT NULL)`),
		sql(`CREATE UNIQUE INDEX IF NOT EXISTS tree_nodes_key ON tree_nodes (` + nodeKey + `)`),
		sql(`CREATE INDEX IF NOT EXISTS tree_nodes_children ON tree_nodes (tree, parent, id)`),
		sql(`CREATE TABLE IF NOT EXISTS tree_schema (version INTEGER NOT NULL)`),
		sql(`INSERT INTO tree_schema (version) SELECT 2 WHERE NOT EXISTS (SELECT 1 FROM tree_schema)`),
	}
}

// nodeKey is what a node is found by, as the index has it.
const nodeKey = "tree || '/' || id"

// trees is the [store.TreeStore] of a cluster. What lives and what has expired is
// decided by the leader's clock.
type trees struct {
	db    *DB
	clock clock
}

var (
	_ store.TreeStore     = (*trees)(nil)
	_ store.BatchAppender = (*trees)(nil)
)

// Close closes the database, executions included.
func (t *trees) Close() error { return t.db.Close() }

// ChangeToken implements [store.Watcher].
func (t *trees) ChangeToken(ctx context.Context) (string, error) { return t.db.ChangeToken(ctx) }

// tries bounds how often a call begins again since the trees were changed by others
// between two of its requests.
const tries = 8

var errUnsettled = errors.New("rqlite: the tree keeps changing; try again")

// living is the condition that a tree lives; ?1 is its id, ?2 the time.
const living = "id = ?1 AND (expires_at IS NULL OR expires_at > ?2)"

const sessionQuery = "SELECT tree, kind, expires_at FROM tree_sessions WHERE " + living

// tree is a live tree.
type tree struct {
	number string // digits
	info   store.SessionInfo
}

func readTree(id string, r result) (t tree, found bool, err error) {
	row, err := r.one(3)
	if err != nil || row == nil {
		return tree{}, false, err
	}
	return tree{row[0].text, store.SessionInfo{ID: id, Kind: row[1].text, ExpiresAt: row[2].floatPointer()}}, true, nil
}

func noSession(id string) error { return &store.NotFoundError{What: "session", ID: id} }

// CreateSession implements [store.TreeStore].
func (t *trees) CreateSession(ctx context.Context, id, kind string, ttl *float64) (store.SessionInfo, error) {
	if err := t.db.writable(ctx); err != nil {
		return store.SessionInfo{}, err
	}
	for _, err := range [...]error{store.CheckID("session id", id), store.CheckID("kind", kind), store.CheckTTL(ttl)} {
		if err != nil {
			return store.SessionInfo{}, err
		}
	}
	for range tries {
		now, err := t.db.now(ctx, &t.clock)
		if err != nil {
			return store.SessionInfo{}, err
		}
		ends := t.clock.ends(now, ttl)
		results, err := t.db.request(ctx,
			sql("UPDATE tree_sessions SET id = NULL WHERE id = ?1 AND expires_at <= ?2", id, now),
			sql("INSERT INTO tree_sessions (id, kind, expires_at) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING", id, kind, ends),
			sql(sessionQuery, id, now))
		if err != nil {
			return store.SessionInfo{}, err
		}
		if results[0].RowsAffected > 0 {
			// The new tree is there whatever becomes of the old one's nodes.
			if err := t.reap(ctx); err != nil && !errors.Is(err, store.ErrOutcomeUnknown) {
				return store.SessionInfo{}, err
			}
		}
		if results[1].RowsAffected > 0 {
			return store.SessionInfo{ID: id, Kind: kind, ExpiresAt: ends}, nil
		}
		there, found, err := readTree(id, results[2])
		switch {
		case err != nil:
			return store.SessionInfo{}, err
		case found && there.info.Kind != kind:
			return store.SessionInfo{}, &store.KindMismatchError{Session: id, Stored: there.info.Kind, Given: kind}
		case found:
			return there.info, nil
		}
	}
	return store.SessionInfo{}, errUnsettled
}

// Session implements [store.TreeStore].
func (t *trees) Session(ctx context.Context, id string) (store.SessionInfo, error) {
	results, err := t.query(ctx, id, t.db.browse())
	if err != nil {
		return store.SessionInfo{}, err
	}
	there, found, err := readTree(id, results[0])
	if err == nil && !found {
		err = noSession(id)
	}
	return there.info, err
}

// query asks for a live tree and then what the statements say. ?1 is its id and ?2
// the time in each of them.
func (t *trees) query(ctx context.Context, id string, at level, statements ...statement) ([]result, error) {
	if err := t.db.usable(ctx); err != nil {
		return nil, err
	}
	now, err := t.db.now(ctx, &t.clock)
	if err != nil {
		return nil, err
	}
	all := []statement{sql(sessionQuery, id, now)}
	for _, s := range statements {
		all = append(all, sql(s.sql, append([]any{id, now}, s.params...)...))
	}
	return t.db.query(ctx, at, all...)
}

// SetSessionTTL implements [store.TreeStore].
func (t *trees) SetSessionTTL(ctx context.Context, id string, ttl *float64) (store.SessionInfo, error) {
	if err := firstOf(t.db.writable(ctx), store.CheckTTL(ttl)); err != nil {
		return store.SessionInfo{}, err
	}
	now, err := t.db.now(ctx, &t.clock)
	if err != nil {
		return store.SessionInfo{}, err
	}
	results, err := t.db.request(ctx,
		sql("UPDATE tree_sessions SET expires_at = ?3 WHERE "+living, id, now, t.clock.ends(now, ttl)),
		sql("SELECT tree, kind, expires_at FROM tree_sessions WHERE id = ?1", id))
	if err != nil {
		return store.SessionInfo{}, err
	}
	there, found, err := readTree(id, results[1])
	if err == nil && (!found || results[0].RowsAffected == 0) {
		err = noSession(id)
	}
	if err != nil {
		return store.SessionInfo{}, err
	}
	return there.info, nil
}

// DeleteSession implements [store.TreeStore].
//
// The tree is gone with the first request; its nodes are removed in portions by
// further ones, so that a large tree does not hold up the cluster. If that ends early
// the next delete or purge goes on with it.
func (t *trees) DeleteSession(ctx context.Context, id string) (bool, error) {
	results, err := t.db.execute(ctx, sql("UPDATE tree_sessions SET id = NULL WHERE id = ?1", id))
	if err != nil || results[0].RowsAffected == 0 {
		return false, err
	}
	return true, t.reap(ctx)
}

// PurgeExpired implements [store.TreeStore]. Nodes go as DeleteSession says.
func (t *trees) PurgeExpired(ctx context.Context) (int, error) {
	if err := t.db.writable(ctx); err != nil {
		return 0, err
	}
	now, err := t.db.now(ctx, &t.clock)
	if err != nil {
		return 0, err
	}
	results, err := t.db.execute(ctx, sql("UPDATE tree_sessions SET id = NULL WHERE id IS NOT NULL AND expires_at <= ?1", now))
	if err != nil {
		return 0, err
	}
	return int(results[0].RowsAffected), t.reap(ctx)
}

// CountExpired implements [store.TreeStore].
func (t *trees) CountExpired(ctx context.Context) (int, error) {
	if err := t.db.usable(ctx); err != nil {
		return 0, err
	}
	now, err := t.db.now(ctx, &t.clock)
	if err != nil {
		return 0, err
	}
	results, err := t.db.query(ctx, t.db.browse(), sql("SELECT count(*) FROM tree_sessions WHERE id IS NOT NULL AND expires_at <= ?1", now))
	if err != nil {
		return 0, err
	}
	row, err := results[0].one(1)
	if err != nil || row == nil {
		return 0, firstOf(err, errCounted)
	}
	n, _ := row[0].int()
	return int(n), nil
}

// reapNodes is how many nodes of deleted trees one request removes.
const reapNodes = 2000

// The order makes every node of the cluster remove the same rows.
const (
	deletedTree = "(SELECT min(tree) FROM tree_sessions WHERE id IS NULL)"
	reapPortion = "DELETE FROM tree_nodes WHERE node IN (SELECT node FROM tree_nodes INDEXED BY tree_nodes_children WHERE tree = " + deletedTree + " ORDER BY parent, id LIMIT ?1)"
	reapTree    = "DELETE FROM tree_sessions WHERE tree = " + deletedTree + " AND NOT EXISTS (SELECT 1 FROM tree_nodes AS n WHERE n.tree = tree_sessions.tree)"
)

// reap removes what is left of deleted trees, whoever deleted them. It ends quietly
// where ctx does.
func (t *trees) reap(ctx context.Context) error {
	for {
		results, err := t.db.execute(ctx, sql(reapPortion, int64(reapNodes)), sql(reapTree))
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("deleted, but the nodes are not all removed yet (the next delete or purge goes on): %w", err)
		case results[0].RowsAffected == 0 && results[1].RowsAffected == 0:
			return nil
		}
	}
}

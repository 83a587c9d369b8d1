package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"treering/store"
)

// appendSQL inserts a node if its tree lives and its parent is there, in one statement.
// The lock lets nobody delete the tree meanwhile, and any number append.
func (s *trees) appendSQL() string {
	return "WITH s AS (SELECT tree, expires_at IS NULL OR expires_at > " + clock("$6") + " AS live FROM " + s.t.sessions + " WHERE id = $1 FOR KEY SHARE), " +
		"n AS (INSERT INTO " + s.t.nodes + " (tree, id, parent_id, kind, data) SELECT s.tree, $2, $3, $4, $5 FROM s WHERE s.live AND ($3::text IS NULL OR EXISTS (SELECT 1 FROM " +
		s.t.nodes + " p WHERE p.tree = s.tree AND p.id = $3)) ON CONFLICT DO NOTHING RETURNING 1) " +
		"SELECT s.tree, s.live, EXISTS (SELECT 1 FROM n) FROM s"
}

func (s *trees) appendArgs(session string, n store.Node, now *float64) []any {
	return []any{session, n.ID, n.ParentID, n.Kind, string(n.Data), now}
}

// Append implements [store.TreeStore].
func (s *trees) Append(ctx context.Context, session string, node store.Node) error {
	if err := s.db.writable(ctx); err != nil {
		return err
	}
	if err := node.Check(); err != nil {
		return err
	}
	node.ParentID = copied(node.ParentID)
	if store.CheckID("session id", session) != nil {
		return &store.NotFoundError{What: "session", ID: session}
	}
	sql, args := s.appendSQL(), s.appendArgs(session, node, s.now())
	return s.db.write(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		var r appended
		if err := r.scan(conn.QueryRow(ctx, sql, args...), session); err != nil || r.inserted {
			return err
		}
		return s.refused(ctx, conn, session, r.number, node)
	})
}

// appended is the answer to appendSQL.
type appended struct {
	number         int64
	live, inserted bool
}

func (r *appended) scan(row pgx.Row, session string) error {
	err := row.Scan(&r.number, &r.live, &r.inserted)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !r.live {
		return &store.NotFoundError{What: "session", ID: session}
	}
	return err
}

// refused finds out why a node was not inserted. Contract, append: an equal retry
// succeeds.
func (s *trees) refused(ctx context.Context, q querier, session string, number int64, node store.Node) error {
	var stored store.Node
	err := scanNode(q.QueryRow(ctx, "SELECT id, parent_id, kind, data FROM "+s.t.nodes+" WHERE tree = $1 AND id = $2", number, node.ID), &stored)
	switch {
	case err == nil:
		if reason := stored.DiffersFrom(node); reason != "" {
			return &store.NodeConflictError{Session: session, Node: node.ID, Reason: reason}
		}
		return nil
	case !errors.Is(err, pgx.ErrNoRows):
		return err
	}
	var there bool
	if node.ParentID == nil {
		err = q.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+s.t.nodes+" WHERE tree = $1 AND parent_id IS NULL)", number).Scan(&there)
		if err == nil && there {
			return &store.NodeConflictError{Session: session, Node: node.ID, Reason: store.ReasonSecondRoot}
		}
	} else {
		err = q.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+s.t.nodes+" WHERE tree = $1 AND id = $2)", number, *node.ParentID).Scan(&there)
		if err == nil && !there {
			return &store.NotFoundError{What: "parent", ID: *node.ParentID, In: session}
		}
	}
	if err != nil {
		return err
	}
	return errAgain // what stood against it came or went meanwhile
}

func scanNode(row pgx.Row, n *store.Node) error {
	var data string
	err := row.Scan(&n.ID, &n.ParentID, &n.Kind, &data)
	n.Data = store.JSON(data)
	return err
}

// appendPortion is how many appends of a batch go to the server at once.
const appendPortion = 500

// AppendAll implements [store.BatchAppender], in one transaction.
func (s *trees) AppendAll(ctx context.Context, session string, nodes []store.Node) error {
	if err := s.db.writable(ctx); err != nil {
		return err
	}
	for i, n := range nodes {
		if err := n.Check(); err != nil {
			return fmt.Errorf("node %d of %d: %w", i+1, len(nodes), err)
		}
	}
	if store.CheckID("session id", session) != nil {
		return &store.NotFoundError{What: "session", ID: session}
	}
	nodes = slices.Clone(nodes)
	for i := range nodes {
		nodes[i].ParentID = copied(nodes[i].ParentID)
	}
	sql, now := s.appendSQL(), s.now()
	return s.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := s.living(ctx, tx, session, " FOR KEY SHARE"); err != nil {
			return err
		}
		for portion := range slices.Chunk(nodes, appendPortion) {
			if err := s.appendPortion(ctx, tx, session, sql, now, portion); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *trees) appendPortion(ctx context.Context, tx pgx.Tx, session, sql string, now *float64, nodes []store.Node) error {
	batch := new(pgx.Batch)
	for _, n := range nodes {
		batch.Queue(sql, s.appendArgs(session, n, now)...)
	}
	results := tx.SendBatch(ctx, batch)
	doubtful := -1
	var number int64
	for i := range nodes {
		var r appended
		if err := r.scan(results.QueryRow(), session); err != nil {
			return errors.Join(err, results.Close())
		}
		if !r.inserted && doubtful < 0 {
			doubtful, number = i, r.number
		}
	}
	if err := results.Close(); err != nil {
		return err
	}
	// Those after the first that stands in doubt may hang on it.
	for _, n := range nodes[max(doubtful, 0):] {
		if doubtful < 0 {
			break
		}
		if err := s.refused(ctx, tx, session, number, n); err != nil {
			return err
		}
	}
	return nil
}

// Node implements [store.TreeStore].
func (s *trees) Node(ctx context.Context, session, id string) (node store.Node, err error) {
	err = s.db.readOne(ctx, func(q querier) error {
		t, err := s.living(ctx, q, session, "")
		if err != nil {
			return err
		}
		return s.node(ctx, q, t, id, &node)
	})
	if err != nil {
		return store.Node{}, err
	}
	return node, nil
}

func (s *trees) node(ctx context.Context, q querier, t tree, id string, node *store.Node) error {
	err := error(pgx.ErrNoRows)
	if store.CheckID("node id", id) == nil {
		err = scanNode(q.QueryRow(ctx, "SELECT id, parent_id, kind, data FROM "+s.t.nodes+" WHERE tree = $1 AND id = $2", t.number, id), node)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return &store.NotFoundError{What: "node", ID: id, In: t.info.ID}
	}
	return err
}

// Nodes implements [store.TreeStore].
func (s *trees) Nodes(ctx context.Context, session string, ids []string) ([]*store.Node, error) {
	if err := store.CheckNodeIDs(ids); err != nil {
		return nil, err
	}
	slots := make([]*store.Node, len(ids))
	err := s.db.readOne(ctx, func(q querier) error {
		t, err := s.living(ctx, q, session, "")
		if err != nil {
			return err
		}
		asked := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return store.CheckID("node id", id) != nil })
		rows, err := q.Query(ctx, "SELECT id, parent_id, kind, data FROM "+s.t.nodes+" WHERE tree = $1 AND id = ANY ($2::text[])", t.number, asked)
		if err != nil {
			return err
		}
		defer rows.Close()
		found := make(map[string]store.Node, len(asked))
		for rows.Next() {
			var n store.Node
			if err := scanNode(rows, &n); err != nil {
				return err
			}
			found[n.ID] = n
		}
		for i, id := range ids {
			slots[i] = nil
			if n, ok := found[id]; ok {
				n.ParentID = copied(n.ParentID) // duplicates are independent
				slots[i] = &n
			}
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return slots, nil
}

// CountNodes implements [store.TreeStore].
func (s *trees) CountNodes(ctx context.Context, session string) (n int64, err error) {
	err = s.db.readOne(ctx, func(q querier) error {
		t, err := s.living(ctx, q, session, "")
		if err != nil {
			return err
		}
		return q.QueryRow(ctx, "SELECT count(*) FROM "+s.t.nodes+" WHERE tree = $1", t.number).Scan(&n)
	})
	return n, err
}

// ListNodes implements [store.TreeStore].
func (s *trees) ListNodes(ctx context.Context, session string, req store.PageRequest) (store.Page[store.Node], error) {
	return s.list(ctx, session, req, func(_ querier, _ tree, l *pageList[store.Node]) ([]string, error) {
		return []string{"nodes"}, nil
	})
}

// ListChildren implements [store.TreeStore].
func (s *trees) ListChildren(ctx context.Context, session, node string, req store.PageRequest) (store.Page[store.Node], error) {
	return s.list(ctx, session, req, func(q querier, t tree, l *pageList[store.Node]) ([]string, error) {
		if node == "" {
			l.where = append(l.where, "parent_id IS NULL")
			return []string{"roots"}, nil
		}
		var parent store.Node
		if err := s.node(ctx, q, t, node, &parent); err != nil {
			return nil, err
		}
		l.args = append(l.args, node)
		l.where = append(l.where, "parent_id = $"+strconv.Itoa(len(l.args)))
		return []string{"children", node}, nil
	})
}

// list pages the nodes of a live tree in the order of their ids.
func (s *trees) list(ctx context.Context, session string, req store.PageRequest, choose func(querier, tree, *pageList[store.Node]) (scope []string, err error)) (page store.Page[store.Node], err error) {
	limit, err := req.Size()
	if err != nil {
		return page, err
	}
	err = s.db.readOne(ctx, func(q querier) error {
		t, err := s.living(ctx, q, session, "")
		if err != nil {
			return err
		}
		l := pageList[store.Node]{
			table: s.t.nodes, columns: []string{"id", "parent_id", "kind"}, big: "data", order: []string{"id"}, casts: []string{""},
			where: []string{"tree = $1"}, args: []any{t.number},
			read: func(rows pgx.Rows, over *bool) (n store.Node, key []string, selected bool, err error) {
				var data *string
				err = rows.Scan(&n.ID, &n.ParentID, &n.Kind, &data, over)
				n.Data = store.JSON(deref(data))
				return n, []string{n.ID}, true, err
			},
		}
		scope, err := choose(q, t, &l)
		if err != nil {
			return err
		}
		l.scope = s.treeScope(t, scope...)
		var from []string
		if req.Cursor != "" {
			if from, err = store.DecodeCursor(l.scope, req.Cursor); err != nil {
				return err
			}
			if len(from) != 1 {
				return store.ErrBadCursor
			}
		}
		page, err = l.pageOn(ctx, q, from, limit)
		return err
	})
	if err != nil {
		return store.Page[store.Node]{}, err
	}
	return page, nil
}

// treeScope is the cursor scope of a list within one tree. The number makes it fit no
// later tree of the same name.
func (s *trees) treeScope(t tree, parts ...string) string {
	return s.cursorScope(append([]string{"tree", strconv.FormatInt(t.number, 10)}, parts...)...)
}

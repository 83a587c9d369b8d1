package sqltree

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/store"
)

// The columns that [reader] reads, in its order: those of any node, and those of nodes below one
// parent, which need not say it: a tenth of the time of a list is one column.
const (
	selectNode  = "SELECT id, parent_id, kind, data FROM tree_nodes "
	selectBelow = "SELECT id, kind, data FROM tree_nodes "
)

// The planner is told the indexes: left to itself it would walk all nodes of a
// tree for the children of one.
const (
	byKey      = "INDEXED BY tree_nodes_key WHERE " + key + " "
	nodeByID   = selectNode + byKey + "= ?"
	nodeNumber = "SELECT node FROM tree_nodes " + byKey + "= ?"
	rootExists = "SELECT 1 FROM tree_nodes INDEXED BY tree_nodes_children WHERE tree = ? AND parent IS NULL LIMIT 1"
	countNodes = "SELECT count(*) FROM tree_nodes INDEXED BY tree_nodes_children WHERE tree = ?"
)

// key is what a node is found by, as the index has it: the number of its tree and
// its id in one text. A list that goes through an index of two columns compares
// the first one at every row to see whether the tree has ended.
const key = "tree || '/' || id"

// keyOf is the key of a node. Every key of the tree comes after that of "" and
// before keysEnd.
func keyOf(tree int64, id string) string { return strconv.FormatInt(tree, 10) + "/" + id }

// keysEnd comes after every key of the tree and before any other one: 0 follows the
// stroke in ASCII.
func keysEnd(tree int64) string { return strconv.FormatInt(tree, 10) + "0" }

// Append implements [store.TreeStore].
func (s *Store) Append(ctx context.Context, session string, node store.Node) error {
	if err := node.Check(); err != nil {
		return err
	}
	node.ParentID = copied(node.ParentID)
	return s.write(ctx, func(conn *sqlite.Conn) error {
		t, err := s.live(conn, session)
		if err != nil {
			return err
		}
		inserted, err := insert(conn, t.number, node)
		if err != nil || inserted {
			return err
		}
		return s.refused(conn, t, node)
	})
}

// AppendAll implements [store.BatchAppender], in one transaction.
func (s *Store) AppendAll(ctx context.Context, session string, nodes []store.Node) error {
	for i, n := range nodes {
		if err := n.Check(); err != nil {
			return fmt.Errorf("node %d of %d: %w", i+1, len(nodes), err)
		}
	}
	nodes = slices.Clone(nodes)
	for i := range nodes {
		nodes[i].ParentID = copied(nodes[i].ParentID)
	}
	return s.write(ctx, func(conn *sqlite.Conn) (err error) {
		// A refusal counts as one that came before anything was written.
		defer sqlitex.Save(conn)(&err)
		t, err := s.live(conn, session)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			inserted, err := insert(conn, t.number, n)
			if err != nil {
				return err
			}
			if !inserted {
				if err := s.refused(conn, t, n); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// insert writes a node if nothing stands against it. The check is a statement of
// its own: as part of an INSERT ... SELECT it would make SQLite copy every page it
// is about to change into a statement journal.
func insert(conn *sqlite.Conn, number int64, node store.Node) (bool, error) {
	var parent int64
	var fits bool
	var err error
	if node.ParentID != nil {
		parent, fits, err = numberOf(conn, number, *node.ParentID)
	} else {
		fits, err = first(conn, rootExists, func(q *sqlite.Stmt) { q.BindInt64(1, number) }, func(*sqlite.Stmt) {})
		fits = !fits
	}
	if err != nil || !fits {
		return false, err
	}
	n, err := change(conn, "INSERT INTO tree_nodes (tree, id, parent, parent_id, kind, data) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		func(q *sqlite.Stmt) {
			q.BindInt64(1, number)
			q.BindText(2, node.ID)
			if node.ParentID != nil {
				q.BindInt64(3, parent)
				q.BindText(4, *node.ParentID)
			}
			q.BindText(5, node.Kind)
			q.BindText(6, string(node.Data))
		})
	return n > 0, err
}

// refused finds out why insert wrote nothing. Contract, append: an equal retry
// succeeds.
func (s *Store) refused(conn *sqlite.Conn, t tree, node store.Node) error {
	stored, found, err := s.one(conn, t, node.ID)
	switch {
	case err != nil:
		return err
	case found:
		if reason := stored.DiffersFrom(node); reason != "" {
			return &store.NodeConflictError{Session: t.info.ID, Node: node.ID, Reason: reason}
		}
		return nil
	case node.ParentID == nil:
		return &store.NodeConflictError{Session: t.info.ID, Node: node.ID, Reason: store.ReasonSecondRoot}
	}
	return &store.NotFoundError{What: "parent", ID: *node.ParentID, In: t.info.ID}
}

// numberOf looks a node's number up. An id that no node can have finds none.
func numberOf(conn *sqlite.Conn, number int64, id string) (node int64, found bool, err error) {
	if store.CheckID("node id", id) != nil {
		return 0, false, nil
	}
	found, err = first(conn, nodeNumber, func(q *sqlite.Stmt) { q.BindText(1, keyOf(number, id)) },
		func(row *sqlite.Stmt) { node = row.ColumnInt64(0) })
	return node, found, err
}

// Node implements [store.TreeStore].
func (s *Store) Node(ctx context.Context, session, id string) (store.Node, error) {
	var node store.Node
	err := s.read(ctx, func(conn *sqlite.Conn) error {
		t, err := s.live(conn, session)
		if err != nil {
			return err
		}
		var found bool
		node, found, err = s.one(conn, t, id)
		if err == nil && !found {
			err = &store.NotFoundError{What: "node", ID: id, In: session}
		}
		return err
	})
	if err != nil {
		return store.Node{}, err
	}
	return node, nil
}

// Nodes implements [store.TreeStore].
func (s *Store) Nodes(ctx context.Context, session string, ids []string) ([]*store.Node, error) {
	if err := store.CheckNodeIDs(ids); err != nil {
		return nil, err
	}
	var slots []*store.Node
	err := s.read(ctx, func(conn *sqlite.Conn) error {
		t, err := s.live(conn, session)
		if err != nil {
			return err
		}
		r := s.readers.get(len(ids))
		defer s.readers.put(r)
		seek := seeker{conn: conn, tree: t.number, r: r}
		at := make(map[string]int, len(ids)) // the place of each id among the nodes, -1 where it is missing
		for _, id := range ids {
			if _, ok := at[id]; ok {
				continue
			}
			at[id] = -1
			found, err := seek.read(id)
			if err != nil {
				return err
			}
			if found {
				at[id] = r.count() - 1
			}
		}
		nodes := r.all()
		given := make([]bool, len(nodes))
		slots = make([]*store.Node, len(ids))
		for i, id := range ids {
			switch n := at[id]; {
			case n < 0:
			case given[n]:
				slots[i] = copyOf(&nodes[n])
			default:
				slots[i], given[n] = &nodes[n], true
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return slots, nil
}

// one reads one node.
func (s *Store) one(conn *sqlite.Conn, t tree, id string) (node store.Node, found bool, err error) {
	r := s.readers.get(1)
	defer s.readers.put(r)
	found, err = (&seeker{conn: conn, tree: t.number, r: r}).read(id)
	if err == nil && found {
		node = r.all()[0]
	}
	return node, found, err
}

// copyOf keeps duplicates independent of each other.
func copyOf(n *store.Node) *store.Node {
	c := *n
	if n.ParentID != nil {
		parent := *n.ParentID
		c.ParentID = &parent
	}
	return &c
}

// CountNodes implements [store.TreeStore].
func (s *Store) CountNodes(ctx context.Context, session string) (int64, error) {
	var count int64
	err := s.read(ctx, func(conn *sqlite.Conn) error {
		t, err := s.live(conn, session)
		if err != nil {
			return err
		}
		_, err = first(conn, countNodes,
			func(q *sqlite.Stmt) { q.BindInt64(1, t.number) },
			func(row *sqlite.Stmt) { count = row.ColumnInt64(0) })
		return err
	})
	if err != nil {
		return 0, err
	}
	return count, nil
}

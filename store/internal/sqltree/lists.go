package sqltree

import (
	"context"
	"strconv"

	"zombiezen.com/go/sqlite"

	"treering/store"
)

// pageBytes ends a page early, after the node that goes past it: nodes may be of
// 16 MiB each. Contract, lists: a backend may return fewer items to bound the
// size of a response.
const pageBytes = 8 << 20

// Nothing bound is made visible to the planner, which would look at its value and
// plan anew for every other one: what is equal stands behind a plus, and the limit
// is ours.
const (
	listNodes    = selectNode + byKey + "> ? ORDER BY " + key
	lastNode     = "SELECT id FROM tree_nodes " + byKey + "> ? AND " + key + " < ? ORDER BY " + key + " DESC"
	listChildren = selectBelow + "INDEXED BY tree_nodes_children WHERE tree = +? AND parent = +? AND id > ? ORDER BY id"
	listRoots    = selectBelow + "INDEXED BY tree_nodes_children WHERE tree = +? AND parent IS NULL AND id > ? ORDER BY id"
)

// ListNodes implements [store.TreeStore].
func (s *Store) ListNodes(ctx context.Context, session string, page store.PageRequest) (store.Page[store.Node], error) {
	return s.list(ctx, session, page, func(conn *sqlite.Conn, t tree) (selection, error) {
		sel := selection{scope: []string{"nodes"}, query: listNodes, add: (*reader).add, bind: func(q *sqlite.Stmt, after string) { q.BindText(1, keyOf(t.number, after)) }}
		found, err := first(conn, lastNode, func(q *sqlite.Stmt) {
			q.BindText(1, keyOf(t.number, ""))
			q.BindText(2, keysEnd(t.number))
		}, func(row *sqlite.Stmt) { sel.last = row.ColumnText(0) })
		sel.empty = !found
		return sel, err
	})
}

// ListChildren implements [store.TreeStore].
func (s *Store) ListChildren(ctx context.Context, session, node string, page store.PageRequest) (store.Page[store.Node], error) {
	return s.list(ctx, session, page, func(conn *sqlite.Conn, t tree) (selection, error) {
		if node == "" {
			return selection{scope: []string{"roots"}, query: listRoots, add: (*reader).addBelow, bind: func(q *sqlite.Stmt, after string) {
				q.BindInt64(1, t.number)
				q.BindText(2, after)
			}}, nil
		}
		parent, found, err := numberOf(conn, t.number, node)
		if err == nil && !found {
			err = &store.NotFoundError{What: "node", ID: node, In: session}
		}
		return selection{scope: []string{"children", node}, query: listChildren, add: (*reader).addBelow, under: &node, bind: func(q *sqlite.Stmt, after string) {
			q.BindInt64(1, t.number)
			q.BindInt64(2, parent)
			q.BindText(3, after)
		}}, err
	})
}

// selection is what a list in identity order goes through.
type selection struct {
	scope []string
	query string
	add   func(r *reader, row *sqlite.Stmt)  // a row of it
	under *string                            // the parent of all rows, nil where the query tells
	bind  func(q *sqlite.Stmt, after string) // after is "" before every id
	// last is the id of the last row where the query does not end by itself; "" where
	// it does.
	last  string
	empty bool // there is none
}

func (s *Store) list(ctx context.Context, session string, page store.PageRequest, selected func(*sqlite.Conn, tree) (selection, error)) (store.Page[store.Node], error) {
	limit, err := page.Size()
	if err != nil {
		return store.Page[store.Node]{}, err
	}
	var out store.Page[store.Node]
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		t, err := s.live(conn, session)
		if err != nil {
			return err
		}
		sel, err := selected(conn, t)
		if err != nil {
			return err
		}
		scope := s.treeScope(t, sel.scope...)
		key, err := decode(scope, page.Cursor, 1)
		if err != nil {
			return err
		}
		out = store.Page[store.Node]{}
		after := ""
		if key != nil {
			after = key[0]
		}
		if sel.empty || sel.last != "" && after >= sel.last {
			return nil
		}
		r := s.readers.get(limit)
		defer s.readers.put(r)
		r.under = sel.under
		size, more := 0, false
		err = each(conn, sel.query, func(q *sqlite.Stmt) { sel.bind(q, after) }, func(row *sqlite.Stmt) bool {
			if r.count() == limit || size >= pageBytes {
				more = true
				return false
			}
			sel.add(r, row)
			size += r.size()
			return string(r.id()) != sel.last
		})
		if err != nil {
			return err
		}
		if out.Items = r.all(); more {
			out.Next = store.EncodeCursor(scope, out.Items[len(out.Items)-1].ID)
		}
		return nil
	})
	if err != nil {
		return store.Page[store.Node]{}, err
	}
	return out, nil
}

// treeScope is the cursor scope of a list within one tree. The number makes it
// fit no later tree of the same name.
func (s *Store) treeScope(t tree, parts ...string) string {
	return s.scope(append([]string{"tree", strconv.FormatInt(t.number, 10)}, parts...)...)
}

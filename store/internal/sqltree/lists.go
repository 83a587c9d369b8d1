package sqltree

import (
	"context"
	"slices"
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
	listNodes    = selectNode + "INDEXED BY tree_nodes_id WHERE tree = +? AND id > ? ORDER BY id"
	listChildren = selectNode + "INDEXED BY tree_nodes_children WHERE tree = +? AND parent = +? AND id > ? ORDER BY id"
	listRoots    = selectNode + "INDEXED BY tree_nodes_children WHERE tree = +? AND parent IS NULL AND id > ? ORDER BY id"
)

// ListNodes implements [store.TreeStore].
func (s *Store) ListNodes(ctx context.Context, session string, page store.PageRequest) (store.Page[store.Node], error) {
	return s.list(ctx, session, page, func(*sqlite.Conn, tree) (selection, error) {
		return selection{scope: []string{"nodes"}, query: listNodes}, nil
	})
}

// ListChildren implements [store.TreeStore].
func (s *Store) ListChildren(ctx context.Context, session, node string, page store.PageRequest) (store.Page[store.Node], error) {
	return s.list(ctx, session, page, func(conn *sqlite.Conn, t tree) (selection, error) {
		if node == "" {
			return selection{scope: []string{"roots"}, query: listRoots}, nil
		}
		parent, found, err := numberOf(conn, t.number, node)
		if err == nil && !found {
			err = &store.NotFoundError{What: "node", ID: node, In: session}
		}
		return selection{scope: []string{"children", node}, query: listChildren, parent: parent}, err
	})
}

// selection is what a list in identity order goes through.
type selection struct {
	scope  []string
	query  string
	parent int64 // bound second in the query where it is not 0, which no node is
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
		var r reader
		size := 0
		return each(conn, sel.query, func(q *sqlite.Stmt) {
			q.BindInt64(1, t.number)
			param := 2
			if sel.parent != 0 {
				q.BindInt64(param, sel.parent)
				param++
			}
			if key != nil {
				q.BindText(param, key[0])
			} else {
				q.BindText(param, "") // every id comes after it
			}
		}, func(row *sqlite.Stmt) bool {
			if len(out.Items) == limit || size >= pageBytes {
				out.Next = store.EncodeCursor(scope, out.Items[len(out.Items)-1].ID)
				return false
			}
			node := r.node(row)
			size += len(node.Data)
			out.Items = append(room(out.Items, limit), node)
			return true
		})
	})
	if err != nil {
		return store.Page[store.Node]{}, err
	}
	return out, nil
}

// room grows a page's items in two steps, so that a short page takes little and a
// long one is hardly ever copied.
func room(items []store.Node, limit int) []store.Node {
	if len(items) < cap(items) {
		return items
	}
	if len(items) == 0 {
		limit = min(limit, 32)
	}
	return slices.Grow(items, limit-len(items))
}

// treeScope is the cursor scope of a list within one tree. The number makes it
// fit no later tree of the same name.
func (s *Store) treeScope(t tree, parts ...string) string {
	return s.scope(append([]string{"tree", strconv.FormatInt(t.number, 10)}, parts...)...)
}

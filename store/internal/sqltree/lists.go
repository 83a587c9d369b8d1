package sqltree

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"zombiezen.com/go/sqlite"

	"treering/store"
)

// pageBytes ends a page early, after the node that goes past it: nodes may be of
// 16 MiB each. Contract, lists: a backend may return fewer items to bound the
// size of a response.
const pageBytes = 8 << 20

// The planner is told the index: left to itself it would walk all nodes of the
// tree for the children of one.
const (
	listNodes    = selectNode + "WHERE tree = ? AND id > ? ORDER BY id LIMIT ?"
	listChildren = selectNode + "INDEXED BY tree_nodes_children WHERE tree = ? AND parent_id = ? AND id > ? ORDER BY id LIMIT ?"
	listRoots    = selectNode + "INDEXED BY tree_nodes_children WHERE tree = ? AND parent_id IS NULL AND id > ? ORDER BY id LIMIT ?"
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
		found := false
		var err error
		if store.CheckID("node id", node) == nil {
			found, err = exists(conn, t.number, node)
		}
		if err == nil && !found {
			err = &store.NotFoundError{What: "node", ID: node, In: session}
		}
		return selection{scope: []string{"children", node}, query: listChildren, parent: &node}, err
	})
}

// selection is what a list in identity order goes through.
type selection struct {
	scope  []string
	query  string
	parent *string // bound second in the query where set
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
			if sel.parent != nil {
				q.BindText(param, *sel.parent)
				param++
			}
			if key != nil {
				q.BindText(param, key[0])
			} else {
				q.BindText(param, "") // every id comes after it
			}
			q.BindInt64(param+1, int64(limit)+1)
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

// ListHistory implements [store.TreeStore].
func (s *Store) ListHistory(ctx context.Context, session, node string, page store.PageRequest) (store.Page[store.Node], error) {
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
		scope := s.treeScope(t, "history", node)
		w, err := decodeWalk(scope, page.Cursor, node)
		if err != nil {
			return err
		}
		out = store.Page[store.Node]{}
		q, err := conn.Prepare(nodeByID)
		if err != nil {
			return err
		}
		q.BindInt64(1, t.number)
		var r reader
		for size := 0; ; {
			if len(out.Items) == limit || size >= pageBytes {
				out.Next = w.cursor(scope)
				return nil
			}
			found := false
			var n store.Node
			if store.CheckID("node id", w.next) == nil {
				if n, found, err = r.seek(q, 2, w.next); err != nil {
					return err
				}
			}
			switch {
			case !found && len(out.Items) > 0:
				// Only a database that somebody else has edited lacks a parent. What was found
				// is given first; the next page tells.
				out.Next = w.cursor(scope)
				return nil
			case !found:
				return &store.NotFoundError{What: "node", ID: w.next, In: session}
			}
			out.Items = append(room(out.Items, limit), n)
			size += len(n.Data)
			if n.ParentID == nil {
				return nil
			}
			if err := w.step(*n.ParentID); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return store.Page[store.Node]{}, err
	}
	return out, nil
}

// walk is a position in a history. Appends cannot close a circle, but a database
// may have been edited by hand, and then paging would never end: the walk keeps
// one node behind, moves it up whenever the steps have doubled, and meets it
// again if there is a circle.
type walk struct {
	next   string // to be read
	behind string
	steps  uint64 // since behind was next
	moveAt uint64 // steps after which behind moves up
}

func decodeWalk(scope, cursor, node string) (walk, error) {
	key, err := decode(scope, cursor, 4)
	if err != nil {
		return walk{}, err
	}
	if key == nil {
		return walk{next: node, behind: node, moveAt: 1}, nil
	}
	w := walk{next: key[0], behind: key[1]}
	var errs [2]error
	w.steps, errs[0] = strconv.ParseUint(key[2], 10, 64)
	w.moveAt, errs[1] = strconv.ParseUint(key[3], 10, 64)
	if errs != [2]error{} {
		return walk{}, store.ErrBadCursor
	}
	return w, nil
}

func (w *walk) cursor(scope string) string {
	return store.EncodeCursor(scope, w.next, w.behind, strconv.FormatUint(w.steps, 10), strconv.FormatUint(w.moveAt, 10))
}

func (w *walk) step(parent string) error {
	w.next = parent
	w.steps++
	if parent == w.behind {
		return &store.RowError{Table: "tree_nodes", Key: parent, Err: errors.New("its ancestors lead back to it")}
	}
	if w.steps == w.moveAt {
		w.behind, w.steps, w.moveAt = parent, 0, 2*w.moveAt
	}
	return nil
}

package sqltree

import (
	"context"
	"errors"
	"strconv"

	"zombiezen.com/go/sqlite"

	"treering/store"
)

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
		c := climber{conn: conn, tree: t.number}
		for size := 0; ; {
			if len(out.Items) == limit || size >= pageBytes {
				out.Next = w.cursor(scope)
				return nil
			}
			n, found, err := c.read(w.next)
			switch {
			case err != nil:
				return err
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

const (
	climbByNumber = "SELECT id, parent_id, kind, data, parent FROM tree_nodes WHERE node = ? AND tree = ?"
	climbByID     = "SELECT id, parent_id, kind, data, parent FROM tree_nodes " + byKey + "= ?"
)

// climber reads a node and then its ancestors.
type climber struct {
	conn   *sqlite.Conn
	tree   int64
	parent int64        // the number of the next one, 0 where it is not known
	up     *sqlite.Stmt // climbByNumber
	r      reader
}

// read reads the node of that id, by its number where it is the parent of the one
// before. Where a number leads to another node, in a database that was edited by
// hand, the id counts.
func (c *climber) read(id string) (node store.Node, found bool, err error) {
	if c.parent != 0 {
		if c.up == nil {
			if c.up, err = prepare(c.conn, climbByNumber); err != nil {
				return store.Node{}, false, err
			}
			c.up.BindInt64(2, c.tree)
		}
		c.up.BindInt64(1, c.parent)
		found, err = c.up.Step()
		if err == nil && found {
			node, c.parent = c.r.node(c.up), c.up.ColumnInt64(4)
		}
		if err == nil {
			err = c.up.Reset()
		}
		if err != nil || found && node.ID == id {
			return node, found, err
		}
	}
	if store.CheckID("node id", id) != nil {
		return store.Node{}, false, nil
	}
	found, err = first(c.conn, climbByID, func(q *sqlite.Stmt) { q.BindText(1, keyOf(c.tree, id)) }, func(row *sqlite.Stmt) { node, c.parent = c.r.node(row), row.ColumnInt64(4) })
	return node, found, err
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

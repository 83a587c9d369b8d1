package sqltree

import (
	"bytes"
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
	err = s.read(ctx, func(conn *sqlite.Conn) (err error) {
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
		r := s.readers.get(limit)
		defer s.readers.put(r)
		c := climber{conn: conn, tree: t.number, r: r}
		defer func() { err = errors.Join(err, c.close()) }()
		more := true
		for size := 0; more && r.count() < limit && size < pageBytes; {
			found, err := c.read(w.next)
			switch {
			case err != nil:
				return err
			case !found && r.count() > 0:
				// Only a database that somebody else has edited lacks a parent. What was found
				// is given first; the next page tells.
				out.Items, out.Next = r.all(), w.cursor(scope)
				return nil
			case !found:
				return &store.NotFoundError{What: "node", ID: string(w.next), In: session}
			}
			size += r.size()
			parent, ok := r.parentID()
			if !ok {
				more = false
			} else if err := w.step(parent); err != nil {
				return err
			}
		}
		if out.Items = r.all(); more {
			out.Next = w.cursor(scope)
		}
		return nil
	})
	if err != nil {
		return store.Page[store.Node]{}, err
	}
	return out, nil
}

const (
	climbByNumber = "SELECT id, parent_id, kind, data, parent, node, tree FROM tree_nodes WHERE node <= ? ORDER BY node DESC"
	climbByID     = "SELECT id, parent_id, kind, data, parent, node FROM tree_nodes " + byKey + "= ?"
)

// climber reads a node and then its ancestors.
type climber struct {
	conn   *sqlite.Conn
	tree   int64
	node   int64        // the number of the one before
	parent int64        // that of its parent, 0 where it is not known
	up     *sqlite.Stmt // climbByNumber
	onIt   bool         // up stands on the node before
	r      *reader
}

// read adds the node of that id, by its number where it is the parent of the one
// before. Where a number leads to another node, in a database that was edited by
// hand, the id counts.
//
// Rows are kept in the order of appending, so the parent mostly lies right before its
// child: the statement goes on to it, which takes a third of the time of asking anew.
func (c *climber) read(id []byte) (found bool, err error) {
	if c.parent != 0 {
		if found, err = c.climb(id); found || err != nil {
			return found, err
		}
	}
	if store.CheckID("node id", string(id)) != nil {
		return false, nil
	}
	return first(c.conn, climbByID, func(q *sqlite.Stmt) { q.BindText(1, keyOf(c.tree, string(id))) }, func(row *sqlite.Stmt) {
		c.r.add(row)
		c.node, c.parent = row.ColumnInt64(5), row.ColumnInt64(4)
	})
}

func (c *climber) climb(id []byte) (found bool, err error) {
	if !c.onIt || c.parent != c.node-1 {
		if err := c.close(); err != nil {
			return false, err
		}
		if c.up == nil {
			if c.up, err = prepare(c.conn, climbByNumber); err != nil {
				return false, err
			}
		}
		c.up.BindInt64(1, c.parent)
	}
	c.onIt = false // Step has reset it where it fails or has ended
	if found, err = c.up.Step(); !found || err != nil {
		return false, err
	}
	c.onIt = true
	if c.up.ColumnInt64(5) != c.parent || c.up.ColumnInt64(6) != c.tree {
		return false, nil
	}
	c.r.add(c.up)
	if string(c.r.id()) != string(id) {
		c.r.drop()
		return false, nil
	}
	c.node, c.parent = c.parent, c.up.ColumnInt64(4)
	return true, nil
}

// close ends the statement, which else would hold its read transaction open.
func (c *climber) close() error {
	c.onIt = false
	if c.up == nil {
		return nil
	}
	return c.up.Reset()
}

// walk is a position in a history. Appends cannot close a circle, but a database
// may have been edited by hand, and then paging would never end: the walk keeps
// one node behind, moves it up whenever the steps have doubled, and meets it
// again if there is a circle.
type walk struct {
	next   []byte // to be read
	behind []byte
	steps  uint64 // since behind was next
	moveAt uint64 // steps after which behind moves up
}

func decodeWalk(scope, cursor, node string) (walk, error) {
	key, err := decode(scope, cursor, 4)
	if err != nil {
		return walk{}, err
	}
	if key == nil {
		return walk{next: []byte(node), behind: []byte(node), moveAt: 1}, nil
	}
	w := walk{next: []byte(key[0]), behind: []byte(key[1])}
	var errs [2]error
	w.steps, errs[0] = strconv.ParseUint(key[2], 10, 64)
	w.moveAt, errs[1] = strconv.ParseUint(key[3], 10, 64)
	if errs != [2]error{} {
		return walk{}, store.ErrBadCursor
	}
	return w, nil
}

func (w *walk) cursor(scope string) string {
	return store.EncodeCursor(scope, string(w.next), string(w.behind), strconv.FormatUint(w.steps, 10), strconv.FormatUint(w.moveAt, 10))
}

func (w *walk) step(parent []byte) error {
	w.next = append(w.next[:0], parent...)
	w.steps++
	if bytes.Equal(parent, w.behind) {
		return &store.RowError{Table: "tree_nodes", Key: string(parent), Err: errors.New("its ancestors lead back to it")}
	}
	if w.steps == w.moveAt {
		w.behind = append(w.behind[:0], parent...)
		w.steps, w.moveAt = 0, 2*w.moveAt
	}
	return nil
}

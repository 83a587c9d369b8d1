package sqltree

import (
	"zombiezen.com/go/sqlite"

	"treering/store"
)

// reader turns rows of [selectNode] into nodes. Lists of a million nodes go
// through it. Of neighbouring rows the kinds are mostly the same, and the parent
// mostly is the node before or the parent of the node before: such strings are
// shared, which halves both the time and what a whole tree takes in memory.
type reader struct {
	id, parent, kind string // of the row before
	parents          []string
	scratch          [store.MaxIDBytes]byte
}

// node reads the row that the statement is on.
func (r *reader) node(row *sqlite.Stmt) store.Node {
	n := store.Node{ID: row.ColumnText(0), Data: store.JSON(row.ColumnText(3))}
	r.kind = r.text(row, 2, r.kind, "")
	n.Kind = r.kind
	if parent := r.text(row, 1, r.id, r.parent); parent != "" || !row.ColumnIsNull(1) {
		n.ParentID = r.pointer(parent)
		r.parent = parent
	}
	r.id = n.ID
	return n
}

// text reads a column and returns a or b where it holds the same.
func (r *reader) text(row *sqlite.Stmt, col int, a, b string) string {
	size := row.ColumnLen(col)
	if size > len(r.scratch) {
		return row.ColumnText(col)
	}
	row.ColumnBytes(col, r.scratch[:size])
	switch got := r.scratch[:size]; {
	case string(got) == a:
		return a
	case string(got) == b:
		return b
	default:
		return string(got)
	}
}

// pointer returns a string of the node's own, which the caller may change; those
// of up to 64 nodes lie in one piece.
func (r *reader) pointer(s string) *string {
	if len(r.parents) == cap(r.parents) {
		r.parents = make([]string, 0, max(1, min(64, 2*cap(r.parents))))
	}
	r.parents = append(r.parents, s)
	return &r.parents[len(r.parents)-1]
}

// seeker reads nodes of one tree by their ids.
type seeker struct {
	conn *sqlite.Conn
	tree int64
	r    reader
	q    *sqlite.Stmt // nodeByID, kept from node to node
}

// read reads one node. An id that no node can have finds none.
func (s *seeker) read(id string) (node store.Node, found bool, err error) {
	if store.CheckID("node id", id) != nil {
		return store.Node{}, false, nil
	}
	if s.q == nil {
		if s.q, err = s.conn.Prepare(nodeByID); err != nil {
			return store.Node{}, false, err
		}
		s.q.BindInt64(1, s.tree)
	}
	s.q.BindText(2, id)
	if found, err = s.q.Step(); err != nil {
		return store.Node{}, false, err // Step has reset it
	}
	if found {
		node = s.r.node(s.q)
	}
	return node, found, s.q.Reset()
}

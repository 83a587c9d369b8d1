package sqltree

import (
	"zombiezen.com/go/sqlite"

	"treering/store"
)

// reader turns rows of [selectNode] into nodes. Lists of a million nodes are read
// through it, so it spares allocations where strings repeat.
type reader struct {
	kind string // of the node before
	buf  []byte
}

// node reads the row that the statement is on.
func (r *reader) node(row *sqlite.Stmt) store.Node {
	n := store.Node{ID: row.ColumnText(0), Kind: row.ColumnText(2), Data: store.JSON(row.ColumnText(3))}
	if !row.ColumnIsNull(1) {
		parent := row.ColumnText(1)
		n.ParentID = &parent
	}
	return n
}

// seek runs a statement, of which only the id is not bound yet, for one node.
func (r *reader) seek(q *sqlite.Stmt, param int, id string) (node store.Node, found bool, err error) {
	q.BindText(param, id)
	if found, err = q.Step(); err != nil {
		return node, false, err
	}
	if found {
		node = r.node(q)
	}
	return node, found, q.Reset()
}

package sqltree

import (
	"strings"

	"zombiezen.com/go/sqlite"

	"treering/store"
)

// reader turns rows of [selectNode] into nodes. Lists of a million nodes go
// through it. Of neighbouring rows the kinds are mostly the same, and the parent
// mostly is the node before or the parent of the node before: such strings are
// shared, and the others lie in pieces of many. That takes a third of the time of a
// string each. Ids and data lie apart, so that whoever keeps the ids of a tree
// does not keep its data.
type reader struct {
	id, parent, kind string // of the row before
	parents          []string
	names, data      pieces
	value            [1024]byte // the column that is read; a longer one is a string of its own
}

// node reads the row that the statement is on.
func (r *reader) node(row *sqlite.Stmt) store.Node {
	n := store.Node{ID: r.text(row, 0, &r.names), Data: store.JSON(r.text(row, 3, &r.data))}
	r.kind = r.shared(row, 2, r.kind, "")
	n.Kind = r.kind
	if parent := r.shared(row, 1, r.id, r.parent); parent != "" || !row.ColumnIsNull(1) {
		n.ParentID = r.pointer(parent)
		r.parent = parent
	}
	r.id = n.ID
	return n
}

// text reads a column.
func (r *reader) text(row *sqlite.Stmt, col int, p *pieces) string {
	n := row.ColumnBytes(col, r.value[:])
	if n == len(r.value) {
		return row.ColumnText(col) // there may be more of it
	}
	return p.add(r.value[:n])
}

// shared reads a column and returns a or b where it holds the same.
func (r *reader) shared(row *sqlite.Stmt, col int, a, b string) string {
	n := row.ColumnBytes(col, r.value[:])
	switch got := r.value[:n]; {
	case n == len(r.value):
		return row.ColumnText(col)
	case string(got) == a:
		return a
	case string(got) == b:
		return b
	default:
		return r.names.add(got)
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

// The pieces that strings lie in, in bytes. A string that is kept keeps its piece.
const (
	firstPiece = 256
	lastPiece  = 16 << 10
)

// pieces makes strings that lie next to each other in memory, in pieces that grow:
// one row takes little, a long list few allocations.
type pieces struct {
	b    strings.Builder
	size int
}

func (p *pieces) add(text []byte) string {
	if p.b.Cap()-p.b.Len() < len(text) {
		p.size = max(firstPiece, len(text), min(lastPiece, 4*p.size))
		p.b = strings.Builder{}
		p.b.Grow(p.size)
	}
	from := p.b.Len()
	p.b.Write(text) // never fails
	return p.b.String()[from:]
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
		if s.q, err = prepare(s.conn, nodeByID); err != nil {
			return store.Node{}, false, err
		}
	}
	s.q.BindText(1, keyOf(s.tree, id))
	if found, err = s.q.Step(); err != nil {
		return store.Node{}, false, err // Step has reset it
	}
	if found {
		node = s.r.node(s.q)
	}
	return node, found, s.q.Reset()
}

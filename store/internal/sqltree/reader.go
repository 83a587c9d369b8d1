package sqltree

import (
	"sync"

	"zombiezen.com/go/sqlite"

	"treering/store"
)

// reader turns rows of [selectNode] into nodes. Lists of a million nodes go
// through it, so rows are only copied one after the other into memory that is used
// again, and a portion of them becomes nodes at once: their ids lie in one string,
// their data in another, so that whoever keeps the ids of a tree does not keep its
// data. That takes two thirds of the time of strings made row by row. The parent of a
// row mostly is that of the row before, or that row itself, and the kinds are mostly
// the same: these are not even copied.
type reader struct {
	names, data  []byte // of the portion
	rows         []rowEnds
	parent, kind span    // of the last row, in names
	before       [2]span // what these were, for drop
	long         string  // the data of the last row, where it is too much for a portion
	nodes        []store.Node
	limit        int     // the most nodes that there will be
	under        *string // of addBelow: the parent of all rows, nil for roots
}

// rowEnds says where the texts of a row end. Each begins where the one before ends;
// one that is as in the row before, or that is not there, is empty.
type rowEnds struct {
	id, parent, kind int // in names, in this order
	data             int // in data
	origin           origin
	sameKind         bool // as in the row before
}

// origin is where the parent of a row stands.
type origin uint8

const (
	noParent  origin = iota // it is a root
	ownParent               // in the row
	sibling                 // the parent of the row before is this one's too
	child                   // the row before is the parent
	given                   // all rows have it
)

type span struct{ from, to int }

// A portion becomes nodes when it holds so many bytes of names or of data: whoever
// keeps one string keeps all of them. Data as long as a portion is a string of its own.
const portion = 64 << 10

// readers are those that nobody uses.
type readers struct{ pool sync.Pool }

// get returns a reader of at most limit nodes.
func (p *readers) get(limit int) *reader {
	r, ok := p.pool.Get().(*reader)
	if !ok {
		r = new(reader)
	}
	r.limit = limit
	return r
}

// put takes a reader back, with nothing in it. One that grew for names as no program
// gives them is not kept.
func (p *readers) put(r *reader) {
	r.forget()
	r.nodes, r.under = nil, nil
	if cap(r.names)+cap(r.data) <= 8*portion {
		p.pool.Put(r)
	}
}

func (r *reader) forget() {
	clear(r.rows)
	*r = reader{names: r.names[:0], data: r.data[:0], rows: r.rows[:0], nodes: r.nodes, limit: r.limit, under: r.under}
}

// count is how many nodes were read.
func (r *reader) count() int { return len(r.nodes) + len(r.rows) }

// add reads the row that the statement is on, of [selectNode].
func (r *reader) add(row *sqlite.Stmt) {
	ends := r.begin(row)
	r.names = column(row, 1, r.names)
	var last span
	if n := len(r.rows); n > 0 {
		last = r.idSpan(n - 1)
	}
	switch got := r.names[ends.id:]; {
	case len(got) == 0 && row.ColumnIsNull(1):
		r.parent = span{}
	case len(r.rows) == 0 || len(got) == 0:
		ends.origin, r.parent = ownParent, span{ends.id, len(r.names)}
	case string(got) == string(r.in(r.parent)):
		ends.origin, r.names = sibling, r.names[:ends.id]
	case string(got) == string(r.in(last)):
		ends.origin, r.names, r.parent = child, r.names[:ends.id], last
	default:
		ends.origin, r.parent = ownParent, span{ends.id, len(r.names)}
	}
	r.rest(row, &ends, 2)
}

// addBelow reads a row of [selectBelow], all of which have one parent.
func (r *reader) addBelow(row *sqlite.Stmt) {
	ends := r.begin(row)
	if r.under != nil {
		ends.origin = given
	}
	r.rest(row, &ends, 1)
}

// begin reads the id.
func (r *reader) begin(row *sqlite.Stmt) (ends rowEnds) {
	if r.long != "" || len(r.data) >= portion || len(r.names) >= portion {
		r.flush()
	}
	r.before = [2]span{r.parent, r.kind}
	r.names = column(row, 0, r.names)
	ends.id = len(r.names)
	return ends
}

// rest reads the kind, which is in that column, and the data, which is in the next one.
func (r *reader) rest(row *sqlite.Stmt, ends *rowEnds, kind int) {
	ends.parent = len(r.names)
	r.names = column(row, kind, r.names)
	if len(r.rows) > 0 && string(r.names[ends.parent:]) == string(r.in(r.kind)) {
		ends.sameKind, r.names = true, r.names[:ends.parent]
	} else {
		r.kind = span{ends.parent, len(r.names)}
	}
	ends.kind = len(r.names)

	free := r.data[len(r.data):cap(r.data)]
	switch n := row.ColumnBytes(kind+1, free); {
	case n < len(free):
		r.data = r.data[:len(r.data)+n]
	case row.ColumnLen(kind+1) >= portion:
		r.long = row.ColumnText(kind + 1)
	default:
		r.data = column(row, kind+1, r.data)
	}
	ends.data = len(r.data)
	r.rows = append(r.rows, *ends)
}

// drop takes back the row that was added last.
func (r *reader) drop() {
	n := len(r.rows) - 1
	r.rows = r.rows[:n]
	names, data := 0, 0
	if n > 0 {
		names, data = r.rows[n-1].kind, r.rows[n-1].data
	}
	r.names, r.data, r.long = r.names[:names], r.data[:data], ""
	r.parent, r.kind = r.before[0], r.before[1]
}

func (r *reader) in(s span) []byte { return r.names[s.from:s.to] }

func (r *reader) idSpan(row int) span {
	if row == 0 {
		return span{0, r.rows[0].id}
	}
	return span{r.rows[row-1].kind, r.rows[row].id}
}

// id is that of the row that was added last. It is good until the next one is.
func (r *reader) id() []byte { return r.in(r.idSpan(len(r.rows) - 1)) }

// parentID is that of the row that was added last, with false for a root.
func (r *reader) parentID() ([]byte, bool) {
	return r.in(r.parent), r.rows[len(r.rows)-1].origin != noParent
}

// size is how many bytes of data the row that was added last has.
func (r *reader) size() int {
	n := len(r.rows)
	switch {
	case r.long != "":
		return len(r.long)
	case n == 1:
		return r.rows[0].data
	}
	return r.rows[n-1].data - r.rows[n-2].data
}

// all returns the nodes that were read. Each has a parent of its own, which the caller
// may change.
func (r *reader) all() []store.Node {
	r.flush()
	return r.nodes
}

// flush makes nodes of the portion.
func (r *reader) flush() {
	if len(r.rows) == 0 {
		return
	}
	from := len(r.nodes)
	r.room(len(r.rows))
	r.nodes = r.nodes[:from+len(r.rows)]
	parents := make([]string, len(r.rows))
	names, data := string(r.names), string(r.data)
	var id, parent, kind string
	var at, dataAt int
	for i := range r.rows {
		ends := &r.rows[i]
		switch ends.origin {
		case ownParent:
			parent = names[ends.id:ends.parent]
		case child:
			parent = id
		case noParent:
			parent = ""
		case given:
			parent = *r.under
		case sibling:
		}
		id = names[at:ends.id]
		if !ends.sameKind {
			kind = names[ends.parent:ends.kind]
		}
		n := &r.nodes[from+i]
		n.ID, n.Kind, n.Data = id, kind, store.JSON(data[dataAt:ends.data])
		if ends.origin != noParent {
			parents[i] = parent
			n.ParentID = &parents[i]
		}
		at, dataAt = ends.kind, ends.data
	}
	if r.long != "" {
		r.nodes[len(r.nodes)-1].Data = store.JSON(r.long)
	}
	r.forget()
}

// room makes space for so many nodes: for no more where they are all, and else for a
// whole list at once.
func (r *reader) room(more int) {
	if len(r.nodes)+more <= cap(r.nodes) {
		return
	}
	space := len(r.nodes) + more
	if len(r.data) >= portion || len(r.names) >= portion || len(r.nodes) > 0 {
		space = max(space, r.limit)
	}
	nodes := make([]store.Node, len(r.nodes), space)
	copy(nodes, r.nodes)
	r.nodes = nodes
}

// column appends the bytes of a column.
func column(row *sqlite.Stmt, col int, to []byte) []byte {
	for {
		free := to[len(to):cap(to)]
		if n := row.ColumnBytes(col, free); n < len(free) {
			return to[:len(to)+n]
		}
		// There may be more of it.
		grown := make([]byte, len(to), max(1024, 2*cap(to), len(to)+row.ColumnLen(col)+1))
		copy(grown, to)
		to = grown
	}
}

// seeker reads nodes of one tree by their ids.
type seeker struct {
	conn *sqlite.Conn
	tree int64
	r    *reader
	q    *sqlite.Stmt // nodeByID, kept from node to node
}

// read adds one node to those of the reader. An id that no node can have finds none.
func (s *seeker) read(id string) (found bool, err error) {
	if store.CheckID("node id", id) != nil {
		return false, nil
	}
	if s.q == nil {
		if s.q, err = prepare(s.conn, nodeByID); err != nil {
			return false, err
		}
	}
	s.q.BindText(1, keyOf(s.tree, id))
	if found, err = s.q.Step(); err != nil {
		return false, err // Step has reset it
	}
	if found {
		s.r.add(s.q)
	}
	return found, s.q.Reset()
}

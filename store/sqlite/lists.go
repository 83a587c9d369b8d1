package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// Bounds of what one page looks at: a selective filter makes a short page with a
// cursor rather than a long read.
const (
	maxLooked = 10_000   // rows
	maxBytes  = 16 << 20 // of stored text
)

// list is one paged list: what is common to executions, outbox and spawns.
type list[T any] struct {
	noun    string // of the table, without the prefix
	table   string // quoted
	columns string
	order   order // without the rowid
	scope   string
	where   string // a condition of the list, "" for none
	bind    func(*sqlite.Stmt)
	binds   int // parameters in where
	// sorted: no index has the order, so SQLite sorts; it keeps fewer rows in hand if it
	// knows how many are wanted. read must select every row.
	sorted bool
	// all reads every matching row in one page, however many.
	all bool
	// key reads the order's columns off a row. rowid, where there is one, follows the
	// columns.
	key func(*sqlite.Stmt) []value
	// read makes an item of a row, or says that the filter leaves it out. size is what
	// it looked at, in bytes.
	read func(*sqlite.Stmt) (item T, selected bool, size int)
}

// page reads one page.
func (l list[T]) page(ctx context.Context, e *executions, req store.PageRequest) (store.Page[T], error) {
	limit, err := req.Size()
	if err != nil {
		return store.Page[T]{}, err
	}
	var page store.Page[T]
	err = e.read(ctx, func(conn *sqlite.Conn) error {
		page = store.Page[T]{}
		return l.pageOn(conn, e, req.Cursor, limit, &page)
	})
	if err != nil {
		return store.Page[T]{}, err
	}
	return page, nil
}

func (l list[T]) pageOn(conn *sqlite.Conn, e *executions, cursor string, limit int, page *store.Page[T]) error {
	if err := e.sql.need(l.noun); err != nil {
		return err
	}
	hasRowid, err := e.rowids.has(conn, e.file.Epoch(conn), l.table)
	if err != nil {
		return err
	}
	order := l.order
	order.rowid = hasRowid
	from, err := order.decodeKey(l.scope, cursor)
	if err != nil {
		return err
	}
	sql := l.columns
	rowidAt := strings.Count(sql, ",") + 1
	if hasRowid {
		sql += ", _rowid_"
	}
	sql += " FROM " + l.table
	var conds []string
	if l.where != "" {
		conds = append(conds, l.where)
	}
	if from != nil {
		conds = append(conds, order.after(from, l.binds+1))
	}
	if len(conds) > 0 {
		sql += " WHERE " + strings.Join(conds, " AND ")
	}
	sql += order.by()
	limitAt := l.binds + len(from) + 1
	if l.sorted && !l.all {
		sql += " LIMIT ?" + strconv.Itoa(limitAt)
	}

	var looked, size int
	var last []value // key of the last row looked at, read when the page is over
	full := false
	err = query(conn, sql, func(q *sqlite.Stmt) {
		if l.bind != nil {
			l.bind(q)
		}
		for i, v := range from {
			v.bind(q, l.binds+1+i)
		}
		if l.sorted && !l.all {
			q.BindInt64(limitAt, int64(limit)+1)
		}
	}, func(row *sqlite.Stmt) bool {
		if full {
			// One row more than the page holds: so there is a next page.
			page.Next = encodeKey(l.scope, last)
			return false
		}
		item, selected, n := l.read(row)
		if selected {
			if page.Items == nil && !l.all {
				page.Items = make([]T, 0, limit)
			}
			page.Items = append(page.Items, item)
		}
		looked, size = looked+1, size+n
		if !l.all && (len(page.Items) == limit || looked == maxLooked || size >= maxBytes) {
			full = true
			last = l.key(row)
			if hasRowid {
				last = append(last, column(row, rowidAt))
			}
		}
		return true
	})
	return err
}

// everything reads the whole list in one transaction.
func (l list[T]) everything(ctx context.Context, e *executions) ([]T, error) {
	l.all = true
	page, err := l.page(ctx, e, store.PageRequest{})
	return page.Items, err
}

// scopeOf is the scope of the cursors of one list with one selection.
func (e *executions) scopeOf(list, selection string) string {
	return fmt.Sprintf("%q %s %s", e.scope, list, selection)
}

// ListExecutions implements [store.ExecutionStore]. The filter is decided on the
// summary that the page shows; rows are left out before only where that is certain.
func (e *executions) ListExecutions(ctx context.Context, f store.ExecutionFilter, req store.PageRequest) (store.Page[store.Summary], error) {
	if f.Status != nil && len(f.Status) == 0 {
		if _, err := req.Size(); err != nil {
			return store.Page[store.Summary]{}, err
		}
		if req.Cursor != "" {
			return store.Page[store.Summary]{}, store.ErrBadCursor // there was no page to give one
		}
		return store.Page[store.Summary]{}, e.usable(ctx)
	}
	var buf []byte
	return list[store.Summary]{
		noun: tableExecutions, table: e.sql.executions, columns: "SELECT id, definition_id, version, data", order: order{columns: []string{"id"}},
		scope: e.scopeOf("executions", f.Scope()),
		key:   func(row *sqlite.Stmt) []value { return []value{column(row, 0)} },
		read: func(row *sqlite.Stmt) (s store.Summary, selected bool, size int) {
			if f.Status != nil || f.ParentID != nil {
				if t := row.ColumnType(3); t == sqlite.TypeText || t == sqlite.TypeBlob {
					buf = bytesOf(row, 3, buf)
					if !preselect(f, buf) {
						return s, false, len(buf)
					}
				}
			}
			if f.DefinitionID != nil && column(row, 1).String() != *f.DefinitionID {
				return s, false, 0
			}
			r := readExecution(row)
			s = r.summary()
			return s, f.Selects(s), len(r.data.text)
		},
	}.page(ctx, e, req)
}

// bytesOf reads text or a blob into buf, which it grows as needed.
func bytesOf(row *sqlite.Stmt, col int, buf []byte) []byte {
	n := row.ColumnLen(col)
	buf = slices.Grow(buf[:0], n)[:n]
	row.ColumnBytes(col, buf)
	return buf
}

// ListOutbox implements [store.ExecutionStore].
func (e *executions) ListOutbox(ctx context.Context, f store.QueueFilter, req store.PageRequest) (store.Page[store.OutboxEntry], error) {
	return e.outbox(f).page(ctx, e, req)
}

// PendingOutbox implements [store.ExecutionStore].
func (e *executions) PendingOutbox(ctx context.Context) ([]store.OutboxEntry, error) {
	return e.outbox(store.QueueFilter{}).everything(ctx, e)
}

func (e *executions) outbox(f store.QueueFilter) list[store.OutboxEntry] {
	return list[store.OutboxEntry]{
		noun: tableOutbox, table: e.sql.outbox, columns: "SELECT seq, target_id, event", order: order{columns: []string{"seq"}},
		scope: e.scopeOf("outbox", f.Scope()),
		key:   func(row *sqlite.Stmt) []value { return []value{column(row, 0)} },
		read: func(row *sqlite.Stmt) (store.OutboxEntry, bool, int) {
			target := column(row, 1)
			if f.ExecutionID != nil && (target.class == sqlite.TypeNull || target.String() != *f.ExecutionID) {
				return store.OutboxEntry{}, false, len(target.text)
			}
			event := column(row, 2)
			return outboxEntry(column(row, 0), target, event), true, len(event.text)
		},
	}
}

func outboxEntry(seq, target, event value) store.OutboxEntry {
	o := store.OutboxEntry{Seq: seq.int}
	err := seq.is("seq", sqlite.TypeInteger)
	if target.class != sqlite.TypeNull {
		t := target.String()
		o.TargetID = &t
		err = firstOf(err, target.is("target_id", sqlite.TypeText))
	}
	if event.class != sqlite.TypeBlob {
		err = firstOf(err, event.is("event", sqlite.TypeText))
	}
	ev, derr := store.DecodeEvent(event.String())
	if err = firstOf(err, derr); derr == nil {
		o.Event = ev
	}
	if err != nil {
		o.Bad = &store.RowError{Table: "outbox", Key: seq.String(), Err: err, Raw: []byte(event.String())}
	} else {
		o.Raw = store.JSON(strings.TrimSpace(event.text))
	}
	return o
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// ListSpawns implements [store.ExecutionStore].
func (e *executions) ListSpawns(ctx context.Context, f store.QueueFilter, req store.PageRequest) (store.Page[store.SpawnEntry], error) {
	return e.spawns(f).page(ctx, e, req)
}

// PendingSpawns implements [store.ExecutionStore].
func (e *executions) PendingSpawns(ctx context.Context) ([]store.SpawnEntry, error) {
	return e.spawns(store.QueueFilter{}).everything(ctx, e)
}

func (e *executions) spawns(f store.QueueFilter) list[store.SpawnEntry] {
	return list[store.SpawnEntry]{
		noun: tableSpawns, table: e.sql.spawns, columns: "SELECT seq, parent_id, child_id, root_path, context", order: order{columns: []string{"seq"}},
		scope: e.scopeOf("spawns", f.Scope()),
		key:   func(row *sqlite.Stmt) []value { return []value{column(row, 0)} },
		read: func(row *sqlite.Stmt) (store.SpawnEntry, bool, int) {
			parent := column(row, 1)
			if f.ExecutionID != nil && parent.String() != *f.ExecutionID {
				return store.SpawnEntry{}, false, len(parent.text)
			}
			given := column(row, 4)
			return spawnEntry(column(row, 0), parent, column(row, 2), column(row, 3), given), true, len(given.text)
		},
	}
}

func spawnEntry(seq, parent, child, root, given value) store.SpawnEntry {
	s := store.SpawnEntry{Seq: seq.int, ParentID: parent.String(), ChildID: child.String(), RootPath: root.String()}
	err := seq.is("seq", sqlite.TypeInteger)
	err = firstOf(err, parent.is("parent_id", sqlite.TypeText))
	err = firstOf(err, child.is("child_id", sqlite.TypeText))
	err = firstOf(err, root.is("root_path", sqlite.TypeText))
	if given.class != sqlite.TypeBlob {
		err = firstOf(err, given.is("context", sqlite.TypeText))
	}
	context, cerr := object(given.String())
	if err = firstOf(err, cerr); cerr == nil {
		s.Context = context
	}
	if err != nil {
		s.Bad = &store.RowError{Table: "spawns", Key: seq.String(), Err: err, Raw: []byte(given.String())}
	}
	return s
}

// object parses what harel's json.dumps wrote for a mapping.
func object(text string) (store.JSON, error) {
	j, err := store.ParseJSON(text)
	if err != nil {
		return "", err
	}
	if k := j.Kind(); k != store.Object {
		return "", fmt.Errorf("%w but %s", store.ErrNotObject, k)
	}
	return j, nil
}

// ReadTrace implements [store.ExecutionStore].
func (e *executions) ReadTrace(ctx context.Context, id string) ([]store.TraceEntry, error) {
	var steps []store.TraceEntry
	err := e.read(ctx, func(conn *sqlite.Conn) error {
		if err := e.sql.need(tableTrace); err != nil {
			return err
		}
		steps = nil
		return query(conn, e.sql.steps, func(q *sqlite.Stmt) { q.BindText(1, id) }, func(row *sqlite.Stmt) bool {
			steps = append(steps, traceEntry(id, column(row, 0), column(row, 1)))
			return true
		})
	})
	if err != nil {
		return nil, err
	}
	return steps, nil
}

// unknownIndex stands for an index that could not be read; real ones begin at 0.
const unknownIndex = -1

// traceEntry reads one step. The column is its index: what the JSON calls index is
// left out.
func traceEntry(id string, index, entry value) store.TraceEntry {
	t := store.TraceEntry{Index: index.int}
	err := index.is("idx", sqlite.TypeInteger)
	if err != nil {
		t.Index = unknownIndex
	}
	if entry.class != sqlite.TypeBlob {
		err = firstOf(err, entry.is("entry", sqlite.TypeText))
	}
	step, serr := object(entry.String())
	if err = firstOf(err, serr); serr == nil {
		t.Entry = step
		if step.Get("index") != "" {
			t.Entry = withoutIndex(step)
		}
	}
	if err != nil {
		t.Bad = &store.RowError{Table: "trace", Key: id + " " + index.String(), Err: err, Raw: []byte(entry.String())}
	}
	return t
}

func withoutIndex(step store.JSON) store.JSON {
	var members []store.Member
	for k, v := range step.Members() {
		if k != "index" {
			members = append(members, store.Member{Key: k, Value: v})
		}
	}
	return store.ObjectOf(members...)
}

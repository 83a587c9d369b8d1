package sqlite

import (
	"context"
	"errors"
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

// list is one paged list: what is common to executions, outbox, spawns and timers.
type list[T any] struct {
	noun    string   // of the table, without the prefix
	table   string   // quoted
	columns []string // those of the order first
	order   []string
	scope   string
	where   string  // a condition of the list, "" for none
	bound   []value // the parameters in where
	// whole: read selects every row, so that SQLite, which sorts where no index has the
	// order, need not keep more rows in hand than the page holds.
	whole bool
	// all reads every matching row in one page, however many.
	all bool
	// read makes an item of a row, or says that the filter leaves it out. size is what
	// it looked at, in bytes.
	read func(r listRow) (item T, selected bool, size int)
}

// listRow is one row of a list.
type listRow struct {
	*sqlite.Stmt
	// torn: the text of the order's first column is no whole UTF-16, and stands for
	// another text in UTF-8.
	torn bool
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
	shape, err := e.shapeOf(conn, l.table)
	if err != nil {
		return err
	}
	if len(shape.tie) == 0 {
		return fmt.Errorf("%w: table %s: its columns _rowid_, oid and rowid hide the number of a row", store.ErrNotAStore, l.table)
	}
	order := order{columns: l.order, utf16: shape.utf16}
	for _, c := range shape.tie {
		if !slices.Contains(l.order, fold(strings.Trim(c, `"`))) {
			order.tie = append(order.tie, c)
		}
	}
	scope := e.file.identity(conn) + " " + l.scope
	from, err := order.decodeKey(scope, cursor)
	if err != nil {
		return err
	}
	sql := "SELECT " + strings.Join(l.columns, ", ") + order.selected() + " FROM " + l.table
	bound := l.bound
	var conds []string
	if l.where != "" {
		conds = append(conds, l.where)
	}
	if from != nil {
		cond, more := order.after(from, len(bound)+1)
		conds, bound = append(conds, cond), append(bound[:len(bound):len(bound)], more...)
	}
	if len(conds) > 0 {
		sql += " WHERE " + strings.Join(conds, " AND ")
	}
	sql += order.by()
	if !l.all {
		// One row more than can be looked at: so there is a next page.
		atMost := maxLooked
		if l.whole {
			atMost = limit
		}
		bound = append(bound[:len(bound):len(bound)], value{class: sqlite.TypeInteger, int: int64(atMost) + 1})
		sql += " LIMIT ?" + strconv.Itoa(len(bound))
	}

	var looked, size int
	var last []value // key of the last row looked at, read when the page is over
	full, stuck := false, false
	err = query(conn, sql, func(q *sqlite.Stmt) {
		for i, v := range bound {
			v.bind(q, i+1)
		}
	}, func(row *sqlite.Stmt) bool {
		if full {
			page.Next = encodeKey(scope, last)
			return false
		}
		r := listRow{Stmt: row}
		if order.utf16 && row.ColumnType(0) == sqlite.TypeText {
			raw := column(row, len(l.columns)+len(order.tie))
			r.torn = !isUTF16(column(row, 0).text, raw.text, shape.bigEndian)
		}
		item, selected, n := l.read(r)
		if selected {
			if page.Items == nil && !l.all {
				page.Items = make([]T, 0, limit)
			}
			page.Items = append(page.Items, item)
		}
		looked, size = looked+1, size+n
		if !l.all && (len(page.Items) == limit || looked == maxLooked || size >= maxBytes) {
			full = true
			last = order.key(row, len(l.columns))
			stuck = from != nil && !order.before(from, last)
		}
		return !stuck
	})
	if err == nil && stuck {
		return &store.RowError{Table: l.noun, Key: last[0].String(), Err: errors.New("the list does not go on after this row: the file keeps it under a key that SQLite does not find again")}
	}
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
	var r rowReader
	return list[store.Summary]{
		noun: tableExecutions, table: e.sql.executions, columns: executionColumns(), order: []string{"id"},
		scope: e.scopeOf("executions", f.Scope()), whole: f.Status == nil && f.DefinitionID == nil && f.ParentID == nil && !f.RootsOnly,
		read: func(row listRow) (s store.Summary, selected bool, size int) {
			r.next(row)
			if r.isText() && !preselect(f, r.data) {
				return s, false, len(r.data)
			}
			if f.DefinitionID != nil && column(row.Stmt, 1).String() != *f.DefinitionID {
				return s, false, 0
			}
			s = r.summary()
			return s, f.Selects(s), len(r.data)
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
		noun: tableOutbox, table: e.sql.outbox, columns: []string{"seq", "target_id", "event"}, order: []string{"seq"},
		scope: e.scopeOf("outbox", f.Scope()), whole: f.ExecutionID == nil,
		read: func(r listRow) (store.OutboxEntry, bool, int) {
			row := r.Stmt
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
		noun: tableSpawns, table: e.sql.spawns, columns: []string{"seq", "parent_id", "child_id", "root_path", "context"}, order: []string{"seq"},
		scope: e.scopeOf("spawns", f.Scope()), whole: f.ExecutionID == nil,
		read: func(r listRow) (store.SpawnEntry, bool, int) {
			row := r.Stmt
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
		if sayable, err := e.sayable(conn, id); err != nil || !sayable {
			return err
		}
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

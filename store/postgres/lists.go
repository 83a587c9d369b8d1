package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"treering/store"
)

// Bounds of what one page looks at: a selective filter makes a short page with a cursor
// rather than a long read.
const (
	maxLooked = 20_000   // rows that a filter looks through
	pageBytes = 16 << 20 // of stored text
)

// pageList is one paged list.
type pageList[T any] struct {
	table   string   // quoted
	columns []string // that read scans, before the big one
	big     string   // the column that may hold much text, scanned last; "" for none
	order   []string // columns, in a total order
	casts   []string // of the order's parameters, which come as text
	where   []string // conditions on rows, with parameters from $1 on
	args    []any
	sieve   string // a superset of what is selected, "" for all; read decides
	scope   string
	all     bool // every row in one page
	// read makes an item of a row, or says that the filter leaves it out, and its key.
	// The row has one more column, which goes to over.
	read func(rows pgx.Rows, over *bool) (item T, key []string, selected bool, err error)
}

// page reads one page.
func (l pageList[T]) page(ctx context.Context, db *DB, req store.PageRequest) (page store.Page[T], err error) {
	limit, err := req.Size()
	if err != nil {
		return page, err
	}
	var from []string
	if req.Cursor != "" {
		if from, err = store.DecodeCursor(l.scope, req.Cursor); err != nil {
			return page, err
		}
		if len(from) != len(l.order) {
			return page, store.ErrBadCursor
		}
	}
	run := db.read
	if l.sieve != "" {
		run = db.readOne // two statements
	}
	err = run(ctx, func(q querier) (err error) {
		page, err = l.pageOn(ctx, q, from, limit)
		return err
	})
	if err != nil {
		return store.Page[T]{}, err
	}
	return page, nil
}

// bound adds a comparison of the order with a key.
func (l pageList[T]) bound(where []string, args []any, op string, key []string) ([]string, []any) {
	params := make([]string, len(key))
	for i, k := range key {
		args = append(args, k)
		params[i] = "$" + strconv.Itoa(len(args)) + "::text" + l.casts[i]
	}
	if len(key) == 1 { // plainly, for the index of a table of somebody else's
		return append(where, l.order[0]+" "+op+" "+params[0]), args
	}
	return append(where, "("+strings.Join(l.order, ", ")+") "+op+" ("+strings.Join(params, ", ")+")"), args
}

func (l pageList[T]) pageOn(ctx context.Context, q querier, from []string, limit int) (page store.Page[T], err error) {
	where, args := append([]string(nil), l.where...), append([]any(nil), l.args...)
	if from != nil {
		where, args = l.bound(where, args, ">", from)
	}
	var edge []string // the last key that the filter looks at; nil: to the end
	if l.sieve != "" {
		if edge, err = l.edge(ctx, q, from); err != nil {
			return page, err
		}
		if edge != nil {
			where, args = l.bound(where, args, "<=", edge)
		}
		where = append(where, l.sieve)
	}
	rows, err := q.Query(ctx, l.query(where, limit), args...)
	if err != nil {
		return page, err
	}
	defer rows.Close()
	var last []string
	for looked := 0; rows.Next(); looked++ {
		var over bool
		item, key, selected, err := l.read(rows, &over)
		if err != nil {
			return page, err
		}
		if !l.all && (looked == limit || over) {
			page.Next = store.EncodeCursor(l.scope, last...)
			break
		}
		last = key
		if selected {
			page.Items = append(page.Items, item)
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return store.Page[T]{}, err
	}
	if page.Next == "" && edge != nil {
		page.Next = store.EncodeCursor(l.scope, edge...)
	}
	return page, nil
}

func conditions(where []string) string {
	if len(where) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(where, " AND ")
}

// edge finds the last key of the rows that one page looks through.
func (l pageList[T]) edge(ctx context.Context, q querier, from []string) ([]string, error) {
	var where []string
	var args []any // none of the sieve's, which the server would not know the types of
	if from != nil {
		where, args = l.bound(where, args, ">", from)
	}
	order := strings.Join(l.order, ", ")
	keys := make([]string, len(l.order))
	into := make([]any, len(l.order))
	for i := range keys {
		into[i] = &keys[i]
	}
	err := q.QueryRow(ctx, "SELECT "+strings.Join(l.order, "::text, ")+"::text FROM "+l.table+conditions(where)+
		" ORDER BY "+order+" OFFSET "+strconv.Itoa(maxLooked)+" LIMIT 1", args...).Scan(into...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return keys, err
}

// query is the text of a page's query: one row more than the page has, so that it is
// known whether there is a next one, and without the text that comes after the bound of
// bytes.
func (l pageList[T]) query(where []string, limit int) string {
	columns, order := strings.Join(l.columns, ", "), strings.Join(l.order, ", ")
	if l.big == "" || l.all {
		if l.big != "" {
			columns += ", " + l.big
		}
		text := "SELECT " + columns + ", false FROM " + l.table + conditions(where) + " ORDER BY " + order
		if !l.all {
			text += " LIMIT " + strconv.Itoa(limit+1)
		}
		return text
	}
	return "SELECT " + columns + ", CASE WHEN spent < " + strconv.Itoa(pageBytes) + " THEN " + l.big + " END, spent >= " + strconv.Itoa(pageBytes) +
		" FROM (SELECT *, coalesce(sum(octet_length(" + l.big + ")) OVER (ORDER BY " + order + " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS spent" +
		" FROM (SELECT " + columns + ", " + l.big + " FROM " + l.table + conditions(where) + " ORDER BY " + order + " LIMIT " + strconv.Itoa(limit+1) + ") AS page) AS page ORDER BY " + order
}

// scopeOf is the scope of the cursors of one list with one selection.
func (e *executions) scopeOf(list, selection string) string {
	return fmt.Sprintf("%q %s %s", e.scope, list, selection)
}

// ListExecutions implements [store.ExecutionStore]. The filter is decided on the
// summary that the page shows; the server leaves out only what certainly fails it. The
// order is that of the id column, in bytes where its collation is "C".
func (e *executions) ListExecutions(ctx context.Context, f store.ExecutionFilter, req store.PageRequest) (store.Page[store.Summary], error) {
	if err := e.db.usable(ctx); err != nil {
		return store.Page[store.Summary]{}, err
	}
	if f.Status != nil && len(f.Status) == 0 {
		if _, err := req.Size(); err != nil {
			return store.Page[store.Summary]{}, err
		}
		if req.Cursor != "" {
			return store.Page[store.Summary]{}, store.ErrBadCursor // there was no page to give one
		}
		return store.Page[store.Summary]{}, nil
	}
	t, err := e.set.table(tableExecutions)
	if err != nil {
		return store.Page[store.Summary]{}, err
	}
	sieve, args := sieveOf(f)
	return pageList[store.Summary]{
		table: t, columns: []string{"id", "definition_id", "version"}, big: "data", order: []string{"id"}, casts: []string{""},
		scope: e.scopeOf("executions", f.Scope()), sieve: sieve, args: args,
		read: func(rows pgx.Rows, over *bool) (s store.Summary, key []string, selected bool, err error) {
			var r executionRow
			if err := rows.Scan(&r.id, &r.definitionID, &r.version, &r.data, over); err != nil || *over {
				return s, nil, false, err
			}
			s = r.summary()
			return s, []string{deref(r.id)}, f.Selects(s), nil
		},
	}.page(ctx, e.db, req)
}

// ListOutbox implements [store.ExecutionStore].
func (e *executions) ListOutbox(ctx context.Context, f store.QueueFilter, req store.PageRequest) (store.Page[store.OutboxEntry], error) {
	l, err := e.outbox(ctx, f)
	if err != nil {
		return store.Page[store.OutboxEntry]{}, err
	}
	return l.page(ctx, e.db, req)
}

// PendingOutbox implements [store.ExecutionStore].
func (e *executions) PendingOutbox(ctx context.Context) ([]store.OutboxEntry, error) {
	l, err := e.outbox(ctx, store.QueueFilter{})
	if err != nil {
		return nil, err
	}
	l.all = true
	page, err := l.page(ctx, e.db, store.PageRequest{})
	return page.Items, err
}

// only keeps the rows of one execution; ok is false where there can be none.
func only(column string, id *string) (where []string, args []any) {
	switch {
	case id == nil:
		return nil, nil
	case !sayable(*id):
		return []string{"false"}, nil
	}
	return []string{column + " = $1"}, []any{*id}
}

func (e *executions) outbox(ctx context.Context, f store.QueueFilter) (l pageList[store.OutboxEntry], err error) {
	if err := e.db.usable(ctx); err != nil {
		return l, err
	}
	if l.table, err = e.set.table(tableOutbox); err != nil {
		return l, err
	}
	l.columns, l.big, l.order, l.casts = []string{"seq", "target_id"}, "event", []string{"seq"}, []string{"::bigint"}
	l.where, l.args = only("target_id", f.ExecutionID)
	l.scope = e.scopeOf("outbox", f.Scope())
	l.read = func(rows pgx.Rows, over *bool) (o store.OutboxEntry, key []string, selected bool, err error) {
		var event *string
		if err := rows.Scan(&o.Seq, &o.TargetID, &event, over); err != nil || *over {
			return o, nil, false, err
		}
		o.Event, o.Raw, o.Bad = readEvent("outbox", strconv.FormatInt(o.Seq, 10), event)
		return o, []string{strconv.FormatInt(o.Seq, 10)}, f.ExecutionID == nil || o.TargetID != nil && *o.TargetID == *f.ExecutionID, nil
	}
	return l, nil
}

// readEvent reads a stored event, or says what is wrong with it.
func readEvent(table, key string, text *string) (ev store.Event, raw store.JSON, bad *store.RowError) {
	err := errors.New("event is NULL")
	if text != nil {
		if ev, err = store.DecodeEvent(*text); err == nil {
			return ev, store.JSON(strings.TrimSpace(*text)), nil
		}
	}
	return store.Event{}, "", &store.RowError{Table: table, Key: key, Err: err, Raw: []byte(deref(text))}
}

// ListSpawns implements [store.ExecutionStore].
func (e *executions) ListSpawns(ctx context.Context, f store.QueueFilter, req store.PageRequest) (store.Page[store.SpawnEntry], error) {
	l, err := e.spawnList(ctx, f)
	if err != nil {
		return store.Page[store.SpawnEntry]{}, err
	}
	return l.page(ctx, e.db, req)
}

// PendingSpawns implements [store.ExecutionStore].
func (e *executions) PendingSpawns(ctx context.Context) ([]store.SpawnEntry, error) {
	l, err := e.spawnList(ctx, store.QueueFilter{})
	if err != nil {
		return nil, err
	}
	l.all = true
	page, err := l.page(ctx, e.db, store.PageRequest{})
	return page.Items, err
}

func (e *executions) spawnList(ctx context.Context, f store.QueueFilter) (l pageList[store.SpawnEntry], err error) {
	if err := e.db.usable(ctx); err != nil {
		return l, err
	}
	if l.table, err = e.set.table(tableSpawns); err != nil {
		return l, err
	}
	l.columns, l.big, l.order, l.casts = []string{"seq", "parent_id", "child_id", "root_path"}, "context", []string{"seq"}, []string{"::bigint"}
	l.where, l.args = only("parent_id", f.ExecutionID)
	l.scope = e.scopeOf("spawns", f.Scope())
	l.read = func(rows pgx.Rows, over *bool) (s store.SpawnEntry, key []string, selected bool, err error) {
		var parent, child, root, given *string
		if err := rows.Scan(&s.Seq, &parent, &child, &root, &given, over); err != nil || *over {
			return s, nil, false, err
		}
		s.ParentID, s.ChildID, s.RootPath = deref(parent), deref(child), deref(root)
		if s.Context, err = object("context", given); err != nil {
			s.Bad = &store.RowError{Table: "spawns", Key: strconv.FormatInt(s.Seq, 10), Err: err, Raw: []byte(deref(given))}
		}
		return s, []string{strconv.FormatInt(s.Seq, 10)}, f.ExecutionID == nil || s.ParentID == *f.ExecutionID, nil
	}
	return l, nil
}

// object parses what harel's json.dumps wrote for a mapping.
func object(column string, text *string) (store.JSON, error) {
	if text == nil {
		return "", errors.New(column + " is NULL")
	}
	j, err := store.ParseJSON(*text)
	if err != nil {
		return "", err
	}
	if k := j.Kind(); k != store.Object {
		return "", fmt.Errorf("%w but %s", store.ErrNotObject, k)
	}
	return j, nil
}

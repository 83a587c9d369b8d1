package rqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"treering/store"
)

// Bounds of one page: a selective filter makes a short page with a cursor rather than
// a long read, and large rows a short one.
const (
	maxLooked = 10_000  // rows
	maxBytes  = 8 << 20 // of stored text, after which a page ends
)

// page is a list's SQL: the rows that a page may hold, in order, up to the one that
// goes past [maxBytes]. Behind the list's own columns comes the number of rows that
// there are.
type page struct {
	columns string
	table   string
	where   []string
	order   string
	key     string // by which a row is found again
	size    string // of a row, in bytes; "" where rows are small
	looked  int    // rows in order, of which where2 selects; 0: no bound
	where2  []string
	params  []any
}

func (p *page) param(v any) string {
	p.params = append(p.params, v)
	return "?" + strconv.Itoa(len(p.params))
}

func conditions(conds []string) string {
	if len(conds) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conds, " AND ")
}

// statement measures the rows first, by their keys alone: what a window sorts is
// copied, and the rows may be large.
func (p *page) statement(limit int) statement {
	order := " ORDER BY " + p.order
	most := " LIMIT " + strconv.Itoa(limit+1)
	if p.size == "" {
		return sql("SELECT "+p.columns+", NULL FROM "+p.table+conditions(p.where)+order+most, p.params...)
	}
	rows := "SELECT " + p.key + " AS at_key, " + p.size + " AS at_size FROM " + p.table + conditions(p.where) + order + most
	if p.looked > 0 {
		rows = "SELECT " + p.key + " AS at_key, " + p.size + " AS at_size FROM (SELECT * FROM " + p.table + conditions(p.where) + order + " LIMIT " + strconv.Itoa(p.looked) + ")" + conditions(p.where2) + order + most
	}
	table, _, _ := strings.Cut(p.table, " ")
	return sql("SELECT "+p.columns+", at_total FROM (SELECT at_key, row_number() OVER () AS at_place, count(*) OVER () AS at_total,"+
		" sum(at_size) OVER (ROWS UNBOUNDED PRECEDING) - at_size AS at_before FROM ("+rows+")) CROSS JOIN "+table+" ON "+p.key+" IS at_key"+
		" WHERE at_before < "+strconv.Itoa(maxBytes)+" ORDER BY at_place", p.params...)
}

// cut returns the rows of a page, and whether there are more.
func cut(r result, limit int) (rows [][]cell, more bool) {
	rows = r.Values
	if len(rows) == 0 {
		return nil, false
	}
	last := rows[0]
	if total, ok := last[len(last)-1].int(); ok && int64(len(rows)) < total {
		more = true
	}
	if len(rows) > limit {
		return rows[:limit], true
	}
	return rows, more
}

// scopeOf is the scope of the cursors of one list with one selection.
func (e *executions) scopeOf(list, selection string) string {
	return fmt.Sprintf("%q %s %s", e.scope, list, selection)
}

// ListExecutions implements [store.ExecutionStore]. The filter is decided on the
// summary that the page shows; the server only leaves out rows that it certainly does
// not select.
func (e *executions) ListExecutions(ctx context.Context, f store.ExecutionFilter, req store.PageRequest) (store.Page[store.Summary], error) {
	var out store.Page[store.Summary]
	limit, err := req.Size()
	if err != nil {
		return out, err
	}
	if f.Status != nil && len(f.Status) == 0 {
		if req.Cursor != "" {
			return out, store.ErrBadCursor // there was no page to give one
		}
		return out, e.db.usable(ctx)
	}
	scope := e.scopeOf("executions", f.Scope())
	p := page{columns: executionColumns, table: e.sql.executions, order: "id", key: "id", size: bytesOf("data")}
	if err := p.after(scope, req.Cursor); err != nil {
		return out, err
	}
	statements := make([]statement, 0, 2)
	filtered := f.Status != nil || f.DefinitionID != nil || f.ParentID != nil || f.RootsOnly
	if filtered {
		looked := slices.Clone(p.params)
		where := p.where
		p.looked = maxLooked
		p.preselect(f)
		statements = append(statements, p.statement(limit),
			sql("SELECT count(*), max(id), max(typeof(id)) FROM (SELECT id FROM "+p.table+conditions(where)+" ORDER BY id LIMIT "+strconv.Itoa(maxLooked)+")", looked...))
	} else {
		statements = append(statements, p.statement(limit))
	}
	results, err := e.db.query(ctx, e.db.browse(), statements...)
	if err != nil {
		return out, err
	}
	rows, more := cut(results[0], limit)
	var last executionRow
	for _, row := range rows {
		if last, err = readExecution(row); err != nil {
			return out, err
		}
		if s := last.summary(); f.Selects(s) {
			out.Items = append(out.Items, s)
		}
	}
	switch {
	case more:
		out.Next = store.EncodeCursor(scope, idKey(last))
	case filtered:
		looked, err := results[1].one(3)
		if err != nil {
			return store.Page[store.Summary]{}, err
		}
		if looked != nil && looked[0].text == strconv.Itoa(maxLooked) {
			key := "t" + looked[1].text
			if looked[2].text == "blob" || looked[1].kind == isBlob {
				key = "b" + looked[1].text
			}
			out.Next = store.EncodeCursor(scope, key)
		}
	}
	return out, nil
}

// idKey is the position of a row for a cursor, with the class of its id.
func idKey(r executionRow) string {
	switch {
	case r.fault != nil && strings.Contains(r.fault.Error(), "id is blob"):
		return "b" + r.id
	case r.fault != nil && strings.Contains(r.fault.Error(), "id is null"):
		return "n"
	}
	return "t" + r.id
}

func (p *page) after(scope, cursor string) error {
	if cursor == "" {
		return nil
	}
	key, err := store.DecodeCursor(scope, cursor)
	if err != nil {
		return err
	}
	if len(key) != 1 || key[0] == "" {
		return store.ErrBadCursor
	}
	switch id := key[0][1:]; key[0][0] {
	case 't':
		p.where = append(p.where, "id > "+p.param(id))
	case 'b':
		p.where = append(p.where, "id > CAST("+p.param(id)+" AS BLOB)")
	case 'n':
		p.where = append(p.where, "id IS NOT NULL")
	default:
		return store.ErrBadCursor
	}
	return nil
}

// preselect adds conditions that every row fulfils that the filter selects.
func (p *page) preselect(f store.ExecutionFilter) {
	if f.DefinitionID != nil {
		p.where2 = append(p.where2, "(definition_id = "+p.param(*f.DefinitionID)+" OR typeof(definition_id) <> 'text')")
	}
	if f.ParentID != nil {
		p.where2 = append(p.where2, `(instr(data, `+p.param(*f.ParentID)+`) > 0 OR instr(data, '\') > 0)`)
	}
	if f.Status == nil {
		return
	}
	// A word may be written with escapes. The letters K and S have each a third form, and
	// where no status is written it is PENDING.
	words := []string{`instr(data, '\u') > 0`, "instr(data, '\u212a') > 0", "instr(data, '\u017f') > 0"}
	for _, w := range f.Status {
		if w.Is(store.Pending) || strings.ContainsFunc(string(w), func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
			return
		}
		words = append(words, "instr(upper(data), "+p.param(strings.ToUpper(string(w)))+") > 0")
	}
	p.where2 = append(p.where2, "("+strings.Join(words, " OR ")+")")
}

// queue lists a table by its seq.
func queue[T any](ctx context.Context, e *executions, table, sqlTable, columns, owner, text string, f store.QueueFilter, req store.PageRequest,
	read func([]cell) (T, int, error), seq func(T) int64,
) (store.Page[T], error) {
	var out store.Page[T]
	limit, err := req.Size()
	if err != nil {
		return out, err
	}
	if err := firstOf(e.db.usable(ctx), e.set.need(table)); err != nil {
		return out, err
	}
	scope := e.scopeOf(table, f.Scope())
	p := page{columns: columns, table: sqlTable, order: "seq", key: "seq", size: bytesOf(text)}
	if req.Cursor != "" {
		key, err := store.DecodeCursor(scope, req.Cursor)
		if err != nil {
			return out, err
		}
		from, err := strconv.ParseInt(strings.Join(key, " "), 10, 64)
		if err != nil {
			return out, store.ErrBadCursor
		}
		p.where = append(p.where, "seq > "+p.param(from))
	}
	if f.ExecutionID != nil {
		p.where = append(p.where, owner+" = "+p.param(*f.ExecutionID))
	}
	results, err := e.db.query(ctx, e.db.browse(), p.statement(limit))
	if err != nil {
		return out, err
	}
	rows, more := cut(results[0], limit)
	for _, row := range rows {
		item, _, err := read(row)
		if err != nil {
			return store.Page[T]{}, err
		}
		out.Items = append(out.Items, item)
	}
	if more {
		out.Next = store.EncodeCursor(scope, strconv.FormatInt(seq(out.Items[len(out.Items)-1]), 10))
	}
	return out, nil
}

// ListOutbox implements [store.ExecutionStore].
func (e *executions) ListOutbox(ctx context.Context, f store.QueueFilter, req store.PageRequest) (store.Page[store.OutboxEntry], error) {
	return queue(ctx, e, tableOutbox, e.sql.outbox, outboxColumns, "target_id", "event", f, req, readOutbox, func(o store.OutboxEntry) int64 { return o.Seq })
}

// ListSpawns implements [store.ExecutionStore].
func (e *executions) ListSpawns(ctx context.Context, f store.QueueFilter, req store.PageRequest) (store.Page[store.SpawnEntry], error) {
	return queue(ctx, e, tableSpawns, e.sql.spawns, spawnColumns, "parent_id", "context", f, req, readSpawn, func(s store.SpawnEntry) int64 { return s.Seq })
}

// everything reads a whole queue in one transaction.
func everything[T any](ctx context.Context, e *executions, table string, s statement, read func([]cell) (T, int, error)) ([]T, error) {
	if err := firstOf(e.db.usable(ctx), e.set.need(table)); err != nil {
		return nil, err
	}
	results, err := e.db.query(ctx, e.db.decide(), s)
	if err != nil {
		return nil, err
	}
	var all []T
	for _, row := range results[0].Values {
		item, _, err := read(row)
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// PendingOutbox implements [store.ExecutionStore].
func (e *executions) PendingOutbox(ctx context.Context) ([]store.OutboxEntry, error) {
	return everything(ctx, e, tableOutbox, sql("SELECT "+outboxColumns+" FROM "+e.sql.outbox+" ORDER BY seq"), readOutbox)
}

// PendingSpawns implements [store.ExecutionStore].
func (e *executions) PendingSpawns(ctx context.Context) ([]store.SpawnEntry, error) {
	return everything(ctx, e, tableSpawns, sql("SELECT "+spawnColumns+" FROM "+e.sql.spawns+" ORDER BY seq"), readSpawn)
}

// timerOrder is the order of timers. There is no index by time, which would cost every
// commit.
const timerOrder = "fire_at, execution_id, path"

// DueTimers implements [store.ExecutionStore].
func (e *executions) DueTimers(ctx context.Context, now float64) ([]store.Timer, error) {
	by, param := timeIs(now, "?1")
	s := sql("SELECT " + timerColumns + " FROM " + e.sql.timers + " WHERE fire_at <= " + by + " ORDER BY " + timerOrder)
	if param != nil {
		s.params = append(s.params, param)
	}
	return everything(ctx, e, tableTimers, s, readTimer)
}

// ListTimers implements [store.ExecutionStore].
func (e *executions) ListTimers(ctx context.Context, f store.QueueFilter, req store.PageRequest) (store.Page[store.Timer], error) {
	var out store.Page[store.Timer]
	limit, err := req.Size()
	if err != nil {
		return out, err
	}
	if err := firstOf(e.db.usable(ctx), e.set.need(tableTimers)); err != nil {
		return out, err
	}
	scope := e.scopeOf("timers", f.Scope())
	p := page{columns: timerColumns, table: e.sql.timers, order: timerOrder}
	if req.Cursor != "" {
		key, err := store.DecodeCursor(scope, req.Cursor)
		if err != nil {
			return out, err
		}
		if len(key) != 3 || key[0] == "" {
			return out, store.ErrBadCursor
		}
		at, err := p.timeKey(key[0])
		if err != nil {
			return out, err
		}
		p.where = append(p.where, "(fire_at, execution_id, path) > ("+at+", "+p.param(key[1])+", "+p.param(key[2])+")")
	}
	if f.ExecutionID != nil {
		p.where = append(p.where, "execution_id = "+p.param(*f.ExecutionID))
	}
	if f.DueBy != nil {
		p.where = append(p.where, "fire_at <= "+p.time(*f.DueBy))
	}
	results, err := e.db.query(ctx, e.db.browse(), p.statement(limit))
	if err != nil {
		return out, err
	}
	rows, more := cut(results[0], limit)
	for _, row := range rows {
		t, _, err := readTimer(row)
		if err != nil {
			return store.Page[store.Timer]{}, err
		}
		out.Items = append(out.Items, t)
	}
	if more {
		last := rows[len(rows)-1]
		key := "t" + last[2].text
		if f, ok := last[2].float(); ok {
			key = "f" + strconv.FormatUint(math.Float64bits(f), 16)
		}
		out.Next = store.EncodeCursor(scope, key, last[0].text, last[1].text)
	}
	return out, nil
}

func (p *page) time(at float64) string {
	expr, value := timeIs(at, "?"+strconv.Itoa(len(p.params)+1))
	if value != nil {
		p.params = append(p.params, value)
	}
	return expr
}

// timeKey is the time in a cursor: a float by its bits, or what a foreign row holds
// instead.
func (p *page) timeKey(key string) (string, error) {
	switch key[0] {
	case 't':
		return p.param(key[1:]), nil
	case 'f':
		if bits, err := strconv.ParseUint(key[1:], 16, 64); err == nil {
			return p.time(math.Float64frombits(bits)), nil
		}
	}
	return "", store.ErrBadCursor
}

var errCounted = errors.New("rqlite: a count has another number of columns than was asked for")

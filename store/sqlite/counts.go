package sqlite

import (
	"context"
	"errors"
	"strings"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// Counts implements [store.ExecutionStore]. Executions are counted by portions in
// transactions of their own, so a count may straddle commits but holds up nobody's
// checkpoint. Where a table is missing its count is -1, the others are right, and
// the error is [store.ErrMissingTable].
func (e *executions) Counts(ctx context.Context) (store.Counts, error) {
	c := store.Counts{ByStatus: make(map[store.Status]int64)}
	tally := list[struct{}]{
		noun: tableExecutions, table: e.sql.executions, columns: executionColumns(), order: []string{"id"},
		scope: e.scopeOf("counts", ""),
	}
	var r rowReader
	for req := (store.PageRequest{}); ; {
		part := store.Counts{ByStatus: make(map[store.Status]int64)}
		tally.read = func(row listRow) (struct{}, bool, int) {
			part.Executions++
			r.next(row)
			if status, readable := r.status(); readable {
				part.ByStatus[store.Status(strings.ToUpper(string(status)))]++
			} else {
				part.Unreadable++
			}
			return struct{}{}, false, len(r.data)
		}
		var next string
		err := e.read(ctx, func(conn *sqlite.Conn) error {
			part.Executions, part.Unreadable = 0, 0
			clear(part.ByStatus)
			var page store.Page[struct{}]
			err := tally.pageOn(conn, e, req.Cursor, store.DefaultLimit, &page)
			next = page.Next
			return err
		})
		if err != nil {
			return store.Counts{}, err
		}
		c.Executions += part.Executions
		c.Unreadable += part.Unreadable
		for status, n := range part.ByStatus {
			c.ByStatus[status] += n
		}
		if next == "" {
			break
		}
		req.Cursor = next
	}
	var missing error
	for _, q := range []struct {
		table, sql string
		total      *int64
	}{
		{tableOutbox, e.sql.countOutbox, &c.Outbox}, {tableSpawns, e.sql.countSpawns, &c.Spawns},
		{tableTimers, e.sql.countTimers, &c.Timers},
	} {
		err := e.read(ctx, func(conn *sqlite.Conn) error {
			if err := e.sql.need(q.table); err != nil {
				return err
			}
			return query(conn, q.sql, nil, func(row *sqlite.Stmt) bool {
				*q.total = row.ColumnInt64(0)
				return false
			})
		})
		switch {
		case errors.Is(err, store.ErrMissingTable):
			*q.total = -1
			missing = errors.Join(missing, err)
		case err != nil:
			return store.Counts{}, err
		}
	}
	return c, missing
}

package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"treering/store"
)

// Counts implements [store.ExecutionStore]. Executions are counted by pages, each a
// statement of its own, so a count may straddle commits but holds up nobody's vacuum.
// Where a table is missing its count is -1, the others are right, and the error is
// [store.ErrMissingTable].
func (e *executions) Counts(ctx context.Context) (store.Counts, error) {
	c := store.Counts{ByStatus: make(map[store.Status]int64)}
	if err := e.db.usable(ctx); err != nil {
		return c, err
	}
	t, err := e.set.table(tableExecutions)
	if err != nil {
		return c, err
	}
	type tally struct {
		status   store.Status
		readable bool
	}
	tallies := pageList[tally]{
		table: t, columns: []string{"id", "definition_id", "version"}, big: "data", order: []string{"id"}, casts: []string{""},
		scope: e.scopeOf("counts", ""),
		read: func(rows pgx.Rows, over *bool) (one tally, key []string, selected bool, err error) {
			var r executionRow
			if err := rows.Scan(&r.id, &r.definitionID, &r.version, &r.data, over); err != nil || *over {
				return one, nil, false, err
			}
			if r.fault() == nil {
				one.status, one.readable = store.StatusOfRow(*r.id, *r.definitionID, *r.version, []byte(*r.data))
			}
			return one, []string{deref(r.id)}, true, nil
		},
	}
	err = store.All(func(p store.PageRequest) (store.Page[tally], error) { return tallies.page(ctx, e.db, p) }, func(one tally) error {
		c.Executions++
		if one.readable {
			c.ByStatus[store.Status(strings.ToUpper(string(one.status)))]++
		} else {
			c.Unreadable++
		}
		return nil
	})
	if err != nil {
		return store.Counts{}, err
	}
	var missing error
	for _, part := range []struct {
		table string
		total *int64
	}{{tableOutbox, &c.Outbox}, {tableSpawns, &c.Spawns}, {tableTimers, &c.Timers}} {
		err := e.db.read(ctx, func(q querier) error {
			t, err := e.set.table(part.table)
			if err != nil {
				return err
			}
			return q.QueryRow(ctx, "SELECT count(*) FROM "+t).Scan(part.total)
		})
		switch {
		case errors.Is(err, store.ErrMissingTable):
			*part.total = -1
			missing = errors.Join(missing, err)
		case err != nil:
			return store.Counts{}, err
		}
	}
	return c, missing
}

package rqlite

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"treering/store"
)

// statusOf is the status of a row as the server tells it without sending the row: NULL
// where it is not certain that a summary would say the same, since the text is not
// strict JSON, or a member twice or not of its kind. Those rows are read here.
const statusOf = `CASE WHEN typeof(id) = 'text' AND typeof(definition_id) = 'text' AND typeof(version) = 'integer' AND typeof(data) = 'text' AND json_valid(data) THEN (
SELECT CASE WHEN sum(CASE
WHEN key = 'status' THEN type <> 'text'
WHEN key = 'root_path' THEN type <> 'text'
WHEN key IN ('outcome', 'error', 'active_path', 'parent_id', 'definition_fqn', 'child_id') THEN type NOT IN ('text', 'null')
WHEN key IN ('history', 'context', 'children', 'invoke_seq') THEN type NOT IN ('object', 'null')
WHEN key = 'deferred' THEN type NOT IN ('array', 'null')
WHEN key IN ('processed_events', 'priority') THEN type <> 'integer'
ELSE 0 END) = 0 AND count(*) = count(DISTINCT key) AND sum(key = 'status') = 1 THEN max(CASE WHEN key = 'status' THEN atom END) END
FROM json_each(data)) END`

// countPortion is how many rows one read of a count takes, so that it holds up nobody
// for long.
const countPortion = 20_000

// Counts implements [store.ExecutionStore]. Executions are counted in portions, so a
// count may straddle commits. Where a table is missing its count is -1, the others are
// right, and the error is [store.ErrMissingTable].
func (e *executions) Counts(ctx context.Context) (store.Counts, error) {
	c := store.Counts{ByStatus: make(map[store.Status]int64)}
	after, where := "", ""
	for {
		portion := "(SELECT * FROM " + e.sql.executions + where + " ORDER BY id LIMIT " + strconv.Itoa(countPortion) + ")"
		var params []any
		if where != "" {
			params = append(params, after)
		}
		results, err := e.db.query(ctx, e.db.browse(),
			sql("SELECT status, count(*) FROM (SELECT "+statusOf+" AS status FROM "+portion+") GROUP BY status", params...),
			sql("SELECT count(*), max(id) FROM "+portion, params...))
		if err != nil {
			return store.Counts{}, err
		}
		doubtful := false
		for _, row := range results[0].Values {
			if len(row) != 2 {
				return store.Counts{}, errCounted
			}
			n, _ := row[1].int()
			if row[0].kind == isNull {
				doubtful = doubtful || n > 0
				continue
			}
			c.Executions += n
			c.ByStatus[store.Status(strings.ToUpper(row[0].text))] += n
		}
		if doubtful {
			if err := e.countDoubtful(ctx, &c, portion, params); err != nil {
				return store.Counts{}, err
			}
		}
		end, err := results[1].one(2)
		if err != nil || end == nil {
			return store.Counts{}, firstOf(err, errCounted)
		}
		if end[0].text != strconv.Itoa(countPortion) {
			break
		}
		after, where = end[1].text, " WHERE id > ?1"
	}
	return c, e.countQueues(ctx, &c)
}

// countDoubtful reads the rows of a portion whose status the server cannot tell.
func (e *executions) countDoubtful(ctx context.Context, c *store.Counts, portion string, params []any) error {
	results, err := e.db.query(ctx, e.db.browse(), sql("SELECT "+executionColumns+" FROM "+portion+" WHERE ("+statusOf+") IS NULL", params...))
	if err != nil {
		return err
	}
	for _, values := range results[0].Values {
		row, err := readExecution(values)
		if err != nil {
			return err
		}
		c.Executions++
		if s := row.summary(); s.Bad == nil {
			c.ByStatus[store.Status(strings.ToUpper(string(s.Status)))]++
		} else {
			c.Unreadable++
		}
	}
	return nil
}

func (e *executions) countQueues(ctx context.Context, c *store.Counts) error {
	var missing error
	for _, q := range []struct {
		table, sql string
		total      *int64
	}{
		{tableOutbox, e.sql.outbox, &c.Outbox}, {tableSpawns, e.sql.spawns, &c.Spawns}, {tableTimers, e.sql.timers, &c.Timers},
	} {
		if err := e.set.need(q.table); err != nil {
			*q.total, missing = -1, errors.Join(missing, err)
			continue
		}
		results, err := e.db.query(ctx, e.db.browse(), sql("SELECT count(*) FROM "+q.sql))
		if errors.Is(err, store.ErrMissingTable) {
			*q.total, missing = -1, errors.Join(missing, err)
			continue
		}
		if err != nil {
			return err
		}
		row, err := results[0].one(1)
		if err != nil || row == nil {
			return firstOf(err, errCounted)
		}
		*q.total, _ = row[0].int()
	}
	return missing
}

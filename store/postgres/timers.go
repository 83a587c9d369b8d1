package postgres

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5"

	"treering/store"
)

// ListTimers implements [store.ExecutionStore]. There is no index by time, which harel
// has not and which would cost every commit: a page sorts the timers after its cursor.
func (e *executions) ListTimers(ctx context.Context, f store.QueueFilter, req store.PageRequest) (store.Page[store.Timer], error) {
	l, err := e.timerList(ctx, f)
	if err != nil {
		return store.Page[store.Timer]{}, err
	}
	return l.page(ctx, e.db, req)
}

// DueTimers implements [store.ExecutionStore].
func (e *executions) DueTimers(ctx context.Context, now float64) ([]store.Timer, error) {
	l, err := e.timerList(ctx, store.QueueFilter{DueBy: &now})
	if err != nil {
		return nil, err
	}
	l.all = true
	page, err := l.page(ctx, e.db, store.PageRequest{})
	return page.Items, err
}

func (e *executions) timerList(ctx context.Context, f store.QueueFilter) (l pageList[store.Timer], err error) {
	if err := e.db.usable(ctx); err != nil {
		return l, err
	}
	if l.table, err = e.set.table(tableTimers); err != nil {
		return l, err
	}
	l.columns = []string{"fire_at", "execution_id", "path"}
	l.order, l.casts = l.columns, []string{"::float8", "", ""}
	l.where, l.args = only("execution_id", f.ExecutionID)
	if f.DueBy != nil {
		l.args = append(l.args, *f.DueBy)
		if math.IsNaN(*f.DueBy) {
			l.where = append(l.where, "false") // nothing is due by no time
		}
		// NaN comes after everything, and is never due.
		l.where = append(l.where, "fire_at <= $"+strconv.Itoa(len(l.args))+" AND fire_at <> 'NaN'")
	}
	l.scope = e.scopeOf("timers", f.Scope())
	l.read = func(rows pgx.Rows, over *bool) (t store.Timer, key []string, selected bool, err error) {
		if err := rows.Scan(&t.FireAt, &t.ExecutionID, &t.Path, over); err != nil {
			return t, nil, false, err
		}
		if t.FireAt != t.FireAt { //nolint:staticcheck // NaN
			t.Bad = &store.RowError{Table: "timers", Key: t.ExecutionID + " " + t.Path, Err: fmt.Errorf("fire_at is not a number"), Raw: []byte("NaN")}
		}
		key = []string{strconv.FormatFloat(t.FireAt, 'g', -1, 64), t.ExecutionID, t.Path}
		return t, key, f.ExecutionID == nil || t.ExecutionID == *f.ExecutionID, nil
	}
	return l, nil
}

// ReadTrace implements [store.ExecutionStore].
func (e *executions) ReadTrace(ctx context.Context, id string) ([]store.TraceEntry, error) {
	if err := e.db.usable(ctx); err != nil {
		return nil, err
	}
	t, err := e.set.table(tableTrace)
	if err != nil || !sayable(id) {
		return nil, err
	}
	var steps []store.TraceEntry
	err = e.db.read(ctx, func(q querier) error {
		steps = nil
		rows, err := q.Query(ctx, "SELECT idx::bigint, entry FROM "+t+" WHERE execution_id = $1 ORDER BY idx", id)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var index int64
			var entry *string
			if err := rows.Scan(&index, &entry); err != nil {
				return err
			}
			steps = append(steps, traceEntry(id, index, entry))
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return steps, nil
}

// traceEntry reads one step. The column is its index: what the JSON calls index is left
// out.
func traceEntry(id string, index int64, entry *string) store.TraceEntry {
	step, err := object("entry", entry)
	if err != nil {
		return store.TraceEntry{Index: index, Bad: &store.RowError{
			Table: "trace", Key: id + " " + strconv.FormatInt(index, 10), Err: err, Raw: []byte(deref(entry)),
		}}
	}
	if step.Get("index") != "" {
		var members []store.Member
		for k, v := range step.Members() {
			if k != "index" {
				members = append(members, store.Member{Key: k, Value: v})
			}
		}
		step = store.ObjectOf(members...)
	}
	return store.TraceEntry{Index: index, Entry: step}
}

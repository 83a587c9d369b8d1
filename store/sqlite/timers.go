package sqlite

import (
	"context"
	"math"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// ListTimers implements [store.ExecutionStore]. There is no index by time, which
// would cost every commit, so a page sorts the timers after its cursor; those of
// one execution are found by key.
func (e *executions) ListTimers(ctx context.Context, f store.QueueFilter, req store.PageRequest) (store.Page[store.Timer], error) {
	return e.timers(f).page(ctx, e, req)
}

// DueTimers implements [store.ExecutionStore].
func (e *executions) DueTimers(ctx context.Context, now float64) ([]store.Timer, error) {
	return e.timers(store.QueueFilter{DueBy: &now}).everything(ctx, e)
}

func (e *executions) timers(f store.QueueFilter) list[store.Timer] {
	l := list[store.Timer]{
		noun: tableTimers, table: e.sql.timers, columns: "SELECT fire_at, execution_id, path", order: order{columns: []string{"fire_at", "execution_id", "path"}},
		scope: e.scopeOf("timers", f.Scope()), sorted: true,
		key: func(row *sqlite.Stmt) []value { return []value{column(row, 0), column(row, 1), column(row, 2)} },
		read: func(row *sqlite.Stmt) (store.Timer, bool, int) {
			at, id, path := column(row, 0), column(row, 1), column(row, 2)
			return timerOf(at, id, path), true, len(id.text) + len(path.text)
		},
	}
	id, due := f.ExecutionID, f.DueBy
	switch {
	case id != nil && due != nil:
		l.where, l.binds = "execution_id IN (?1, CAST(?1 AS BLOB)) AND fire_at <= ?2", 2
	case id != nil:
		l.where, l.binds = "execution_id IN (?1, CAST(?1 AS BLOB))", 1
	case due != nil:
		// Text and blobs come after every number: they are never due.
		l.where, l.binds = "fire_at <= ?1", 1
	}
	l.bind = func(q *sqlite.Stmt) {
		if id != nil {
			q.BindText(1, *id)
		}
		if due != nil {
			q.BindFloat(l.binds, *due)
		}
	}
	return l
}

// timerOf reads one timer. A time that cannot be read is NaN.
func timerOf(at, id, path value) store.Timer {
	t := store.Timer{ExecutionID: id.String(), Path: path.String(), FireAt: at.float}
	err := id.is("execution_id", sqlite.TypeText)
	err = firstOf(err, path.is("path", sqlite.TypeText))
	switch at.class {
	case sqlite.TypeInteger:
		t.FireAt = float64(at.int)
	case sqlite.TypeFloat:
	default:
		t.FireAt = math.NaN()
		err = firstOf(err, at.is("fire_at", sqlite.TypeFloat))
	}
	if err != nil {
		t.Bad = &store.RowError{Table: "timers", Key: t.ExecutionID + " " + t.Path, Err: err, Raw: []byte(at.String())}
	}
	return t
}

package sqlite

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

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
	id, due := f.ExecutionID, f.DueBy
	l := list[store.Timer]{
		noun: tableTimers, table: e.sql.timers, columns: []string{"fire_at", "execution_id", "path"}, order: []string{"fire_at", "execution_id", "path"},
		scope: e.scopeOf("timers", f.Scope()), whole: id == nil,
		read: func(r listRow) (store.Timer, bool, int) {
			at, owner, path := column(r.Stmt, 0), column(r.Stmt, 1), column(r.Stmt, 2)
			// SQL finds 1e17 where it looks for 100000000000000000.
			if id != nil && owner.String() != *id {
				return store.Timer{}, false, len(owner.text)
			}
			return timerOf(at, owner, path), true, len(owner.text) + len(path.text)
		},
	}
	if id != nil {
		var places []string
		null := ""
		for _, v := range spellings(*id) {
			if v.class == sqlite.TypeNull {
				null = " OR execution_id IS NULL"
				continue
			}
			l.bound = append(l.bound, v)
			places = append(places, v.placeholder(len(l.bound)))
		}
		l.where = "(execution_id IN (" + strings.Join(places, ", ") + ")" + null + ")"
	}
	if due != nil {
		if l.where != "" {
			l.where += " AND "
		}
		// Text and blobs come after every number: they are never due.
		l.bound = append(l.bound, value{class: sqlite.TypeFloat, float: *due})
		l.where += "fire_at <= ?" + strconv.Itoa(len(l.bound))
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
		if !isExactly(t.FireAt, at.int) {
			// It could be shown, but never named: not deleted, not moved.
			err = firstOf(err, fmt.Errorf("fire_at is %d, which no float holds", at.int))
		}
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

func isExactly(f float64, n int64) bool {
	return f < -math.MinInt64 && int64(f) == n
}

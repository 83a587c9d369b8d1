package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"treering/store"
)

// executions is the [store.ExecutionStore] on one execution set. Of an execution the
// columns id, definition_id and version count; what the JSON says instead is drift.
type executions struct {
	db       *DB
	set      *Set
	traceMax int64 // 0: unbounded
	function *function
	scope    string
}

var _ store.ExecutionStore = (*executions)(nil)

func newExecutions(db *DB, set *Set, traceMax int64) *executions {
	return &executions{db: db, set: set, traceMax: traceMax, function: newFunction(set, traceMax), scope: store.EncodeCursor("", db.server.Identity, set.Schema, set.Prefix)}
}

// Close closes the database, trees included.
func (e *executions) Close() error { return e.db.Close() }

// Load implements [store.ExecutionStore].
func (e *executions) Load(ctx context.Context, id string) (*store.Execution, error) {
	var row executionRow
	err := e.db.readSettled(ctx, func(q querier) error { return e.loadRow(ctx, q, id, &row) })
	if err != nil {
		return nil, err
	}
	return row.execution()
}

func (e *executions) loadRow(ctx context.Context, q querier, id string, row *executionRow) error {
	if !sayable(id) {
		return &store.NotFoundError{What: "execution", ID: id}
	}
	t, err := e.set.table(tableExecutions)
	if err != nil {
		return err
	}
	err = q.QueryRow(ctx, "SELECT id, definition_id, version::bigint, data FROM "+t+" WHERE id = $1", id).
		Scan(&row.id, &row.definitionID, &row.version, &row.data)
	if errors.Is(err, pgx.ErrNoRows) {
		return &store.NotFoundError{What: "execution", ID: id}
	}
	return err
}

// LoadForEvent implements [store.ExecutionStore].
func (e *executions) LoadForEvent(ctx context.Context, id, eventID string) (*store.Execution, bool, error) {
	var row executionRow
	var processed bool
	err := e.db.readSettled(ctx, func(q querier) error {
		if !sayable(id) {
			return &store.NotFoundError{What: "execution", ID: id}
		}
		t, err := e.set.table(tableExecutions)
		if err != nil {
			return err
		}
		marks, err := e.set.table(tableProcessed)
		if err != nil {
			return err
		}
		if !sayable(eventID) {
			return e.loadRow(ctx, q, id, &row)
		}
		err = q.QueryRow(ctx, "SELECT id, definition_id, version::bigint, data, EXISTS (SELECT 1 FROM "+marks+" WHERE execution_id = $1 AND event_id = $2) FROM "+t+" WHERE id = $1", id, eventID).
			Scan(&row.id, &row.definitionID, &row.version, &row.data, &processed)
		if errors.Is(err, pgx.ErrNoRows) {
			return &store.NotFoundError{What: "execution", ID: id}
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	exe, err := row.execution()
	if err != nil {
		return nil, false, err
	}
	return exe, processed, nil
}

// IsProcessed implements [store.ExecutionStore].
func (e *executions) IsProcessed(ctx context.Context, id, eventID string) (processed bool, err error) {
	err = e.db.readSettled(ctx, func(q querier) error {
		t, err := e.set.table(tableProcessed)
		if err != nil || !sayable(id, eventID) {
			return err
		}
		return q.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+t+" WHERE execution_id = $1 AND event_id = $2)", id, eventID).Scan(&processed)
	})
	return processed && err == nil, err
}

// executionRow is a row as it is stored. A foreign table may hold NULLs.
type executionRow struct {
	id, definitionID, data *string
	version                *int64
}

func (r *executionRow) fault() error {
	for _, c := range []struct {
		name string
		null bool
	}{{"id", r.id == nil}, {"definition_id", r.definitionID == nil}, {"version", r.version == nil}, {"data", r.data == nil}} {
		if c.null {
			return errors.New(c.name + " is NULL")
		}
	}
	return nil
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func (r *executionRow) bad(err error) *store.RowError {
	return &store.RowError{Table: "executions", Key: deref(r.id), Err: err, Raw: []byte(deref(r.data))}
}

// execution is the whole of the row. The error of one that cannot be read has with it
// what could be.
func (r *executionRow) execution() (*store.Execution, error) {
	err := r.fault()
	if err == nil {
		var exe *store.Execution
		if exe, err = store.DecodeExecutionRow(*r.id, *r.definitionID, *r.version, *r.data); err == nil {
			return exe, nil
		}
	}
	s := r.summary()
	if s.Bad == nil {
		s.Bad = r.bad(err)
	}
	s.Bad.Summary = &s
	return nil, s.Bad
}

func (r *executionRow) summary() store.Summary {
	s := store.SummaryOfRow(deref(r.id), deref(r.definitionID), deref(r.version), []byte(deref(r.data)))
	if err := r.fault(); err != nil {
		s.Bad, s.Drift = r.bad(err), nil
	}
	return s
}

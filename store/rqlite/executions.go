package rqlite

import (
	"context"
	"fmt"
	"math"

	"treering/store"
)

// executions is the [store.ExecutionStore] on one set of tables. Of an execution the
// columns id, definition_id and version count; what the JSON says instead is drift.
type executions struct {
	db    *DB
	set   *Set
	sql   executionSQL
	scope string // of cursors: this cluster and set
}

var _ store.ExecutionStore = (*executions)(nil)

// executionSQL is the text of the statements on one set of tables.
type executionSQL struct {
	executions, outbox, processed, timers, spawns, traces string

	load, version, isProcessed              string
	update, insert                          string
	emit, process, schedule, cancel, spawn  string
	addStep, trim, steps                    string
	ackOutbox, ackSpawn, deleteTimer, rearm string
	purge                                   string
	sweeps                                  [][2]string // table, statement
}

// swapped fails unless the statement before it changed one row, which rolls back the
// transaction: a lost race leaves nothing behind, however equal the two writes are.
const swapped = "SELECT CASE changes() WHEN 1 THEN 1 ELSE json('lost') END"

func newExecutions(db *DB) *executions {
	t := executionSQL{
		executions: db.set.table(tableExecutions), outbox: db.set.table(tableOutbox), processed: db.set.table(tableProcessed),
		timers: db.set.table(tableTimers), spawns: db.set.table(tableSpawns), traces: db.set.table(tableTrace),
	}
	// An id that is stored as a blob is shown as its text, and found by it.
	t.load = "SELECT " + executionColumns + " FROM " + t.executions + " WHERE id IN (?1, CAST(?1 AS BLOB)) ORDER BY id"
	t.version = "SELECT version, typeof(version) FROM " + t.executions + " WHERE id = ?1"
	t.isProcessed = "SELECT 1 FROM " + t.processed + " WHERE execution_id = ?1 AND event_id = ?2"

	t.update = "UPDATE " + t.executions + " SET definition_id = ?2, data = ?3, version = ?4 WHERE id = ?1 AND version = ?5 AND typeof(version) = 'integer'"
	t.insert = "INSERT INTO " + t.executions + " (id, definition_id, data, version) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO UPDATE SET definition_id = excluded.definition_id, data = excluded.data, version = excluded.version WHERE version = ?5 AND typeof(version) = 'integer'"

	t.emit = "INSERT INTO " + t.outbox + " (target_id, event) VALUES (?1, ?2)"
	t.process = "INSERT OR IGNORE INTO " + t.processed + " (execution_id, event_id) VALUES (?1, ?2)"
	t.schedule = "INSERT INTO " + t.timers + " (execution_id, path, fire_at) VALUES (?1, ?2, ?3) ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at"
	t.cancel = "DELETE FROM " + t.timers + " WHERE execution_id = ?1 AND path = ?2"
	t.spawn = "INSERT INTO " + t.spawns + " (parent_id, child_id, root_path, context) VALUES (?1, ?2, ?3, ?4)"

	// Text under idx comes after every number, so the bound leaves it out. After the last
	// index there is none: the step collides with the last one, and the write fails.
	last := "(SELECT idx FROM " + t.traces + " WHERE execution_id = ?1 AND idx <= 9223372036854775807 ORDER BY idx DESC LIMIT 1)"
	t.addStep = "INSERT INTO " + t.traces + " (execution_id, idx, entry) VALUES (?1, coalesce(min(" + last + " + 1, 9223372036854775807), 0), ?2)"
	t.trim = "DELETE FROM " + t.traces + " WHERE execution_id = ?1 AND idx <= " + last + " - ?2"
	t.steps = "SELECT " + traceColumns + " FROM " + t.traces + " WHERE execution_id = ?1 ORDER BY idx"

	t.ackOutbox = "DELETE FROM " + t.outbox + " WHERE seq = ?1"
	t.ackSpawn = "DELETE FROM " + t.spawns + " WHERE seq = ?1"
	t.deleteTimer = "DELETE FROM " + t.timers + " WHERE execution_id = ?1 AND path = ?2 AND fire_at = "
	t.rearm = "UPDATE " + t.timers + " SET fire_at = ?3 WHERE execution_id = ?1 AND path = ?2 AND fire_at = "

	t.purge = "DELETE FROM " + t.executions + " WHERE id = ?1 AND version = ?2 AND typeof(version) = 'integer'"
	for _, s := range [][2]string{{tableProcessed, "execution_id"}, {tableTrace, "execution_id"}, {tableTimers, "execution_id"}, {tableOutbox, "target_id"}, {tableSpawns, "parent_id"}} {
		t.sweeps = append(t.sweeps, [2]string{s[0], "DELETE FROM " + db.set.table(s[0]) + " WHERE " + s[1] + " = ?1 AND NOT EXISTS (SELECT 1 FROM " + t.executions + " WHERE id = ?1)"})
	}
	return &executions{db: db, set: db.set, sql: t, scope: fmt.Sprintf("%s %q", db.scope, db.set.Prefix)}
}

// Close closes the database, trees included.
func (e *executions) Close() error { return e.db.Close() }

// ChangeToken implements [store.Watcher].
func (e *executions) ChangeToken(ctx context.Context) (string, error) { return e.db.ChangeToken(ctx) }

// Load implements [store.ExecutionStore].
func (e *executions) Load(ctx context.Context, id string) (*store.Execution, error) {
	results, err := e.db.query(ctx, e.db.decide(), sql(e.sql.load, id))
	if err != nil {
		return nil, err
	}
	return e.loaded(id, results[0])
}

func (e *executions) loaded(id string, r result) (*store.Execution, error) {
	if len(r.Values) == 0 {
		return nil, &store.NotFoundError{What: "execution", ID: id}
	}
	row, err := readExecution(r.Values[0])
	if err != nil {
		return nil, err
	}
	return row.execution()
}

// LoadForEvent implements [store.ExecutionStore].
func (e *executions) LoadForEvent(ctx context.Context, id, eventID string) (exe *store.Execution, processed bool, err error) {
	if err := firstOf(e.db.usable(ctx), e.set.need(tableProcessed)); err != nil {
		return nil, false, err
	}
	results, err := e.db.query(ctx, e.db.decide(), sql(e.sql.load, id), sql(e.sql.isProcessed, id, eventID))
	if err != nil {
		return nil, false, err
	}
	if exe, err = e.loaded(id, results[0]); err != nil {
		return nil, false, err
	}
	return exe, len(results[1].Values) > 0, nil
}

// IsProcessed implements [store.ExecutionStore].
func (e *executions) IsProcessed(ctx context.Context, id, eventID string) (bool, error) {
	if err := firstOf(e.db.usable(ctx), e.set.need(tableProcessed)); err != nil {
		return false, err
	}
	results, err := e.db.query(ctx, e.db.decide(), sql(e.sql.isProcessed, id, eventID))
	return err == nil && len(results[0].Values) > 0, err
}

// ReadTrace implements [store.ExecutionStore].
func (e *executions) ReadTrace(ctx context.Context, id string) ([]store.TraceEntry, error) {
	if err := firstOf(e.db.usable(ctx), e.set.need(tableTrace)); err != nil {
		return nil, err
	}
	results, err := e.db.query(ctx, e.db.browse(), sql(e.sql.steps, id))
	if err != nil {
		return nil, err
	}
	var steps []store.TraceEntry
	for _, row := range results[0].Values {
		step, err := readStep(id, row)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// timeIs is a time in SQL, which has infinities where JSON has none, and the parameter
// that it takes, if any. NaN is NULL: it equals nothing.
func timeIs(at float64, param string) (expr string, value any) {
	switch {
	case math.IsInf(at, 1):
		return "9e999", nil
	case math.IsInf(at, -1):
		return "-9e999", nil
	case math.IsNaN(at):
		return "NULL", nil
	}
	return param, at
}

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"

	"treering/store"
	"treering/store/internal/sqltree"
	"zombiezen.com/go/sqlite"
)

// refusedError is the answer to a write that a store's own rules turn down before
// anything of it was written.
type refusedError struct{ error }

func (e refusedError) Unwrap() error { return e.error }

// refused reports whether a write that failed with err has written nothing, so that
// the transaction can go on without it.
func refused(err error) bool {
	return errors.As(err, new(refusedError)) || sqltree.Refusal(err)
}

// Save implements [store.ExecutionStore].
func (e *executions) Save(ctx context.Context, exe *store.Execution) error {
	_, err := e.Commit(ctx, store.Commit{Execution: exe})
	return err
}

// Commit implements [store.ExecutionStore].
func (e *executions) Commit(ctx context.Context, c store.Commit) ([]int64, error) {
	if err := e.writable(ctx); err != nil {
		return nil, err
	}
	checked, err := c.Check()
	if err != nil {
		return nil, err
	}
	if err := e.needs(checked); err != nil {
		return nil, err
	}
	seqs := make([]int64, 0, len(checked.Emits))
	err = e.writer.write(ctx, func(conn *sqlite.Conn) error {
		seqs = seqs[:0]
		if err := e.fit(conn, checked); err != nil {
			return err
		}
		if err := e.swap(conn, checked); err != nil {
			return err
		}
		for _, emit := range checked.Emits {
			seq, err := e.emit(conn, emit)
			if err != nil {
				return err
			}
			seqs = append(seqs, seq)
		}
		return e.extras(conn, checked)
	})
	if err != nil {
		// seqs is not touched: after an abandoned wait the writer may still be at work.
		return nil, err
	}
	c.Execution.Version = checked.Expected + 1
	return seqs, nil
}

// needs refuses a commit that would write to a table that the set lacks.
func (e *executions) needs(c store.Checked) error {
	var names []string
	for _, part := range []struct {
		there bool
		table string
	}{
		{len(c.Emits) > 0, tableOutbox}, {c.ProcessedEventID != nil, tableProcessed}, {len(c.Timers) > 0, tableTimers},
		{len(c.Spawns) > 0, tableSpawns}, {c.Trace != "", tableTrace},
	} {
		if part.there {
			names = append(names, part.table)
		}
	}
	return e.sql.need(names...)
}

// fit refuses a commit that this file would not keep as it is.
func (e *executions) fit(conn *sqlite.Conn, c store.Checked) error {
	if len(c.Emits) > 0 {
		if err := e.numbered(conn, e.sql.outbox); err != nil {
			return err
		}
	}
	if len(c.Spawns) > 0 {
		if err := e.numbered(conn, e.sql.spawns); err != nil {
			return err
		}
	}
	return e.allSayable(conn, c)
}

// one makes an error of a statement that should have changed one row: a trigger may
// keep it from being written without an error, and a table without a key may hold
// several rows of one id, of which one says nothing about the others. what and the
// name, where it has one, word the error.
func one(n int, err error, table, what, name string) error {
	if err != nil || n == 1 {
		return err
	}
	if name != "" {
		what += quoted(name)
	}
	switch n {
	case 0:
		return fmt.Errorf("%s: %s was not written: a trigger or a collation of the database prevents it; nothing was changed", table, what)
	default:
		return fmt.Errorf("%s: there are %d rows of %s; nothing was changed", table, n, what)
	}
}

// swap is the compare-and-swap: always the first statement of a commit, so that a
// lost race has nothing to undo.
func (e *executions) swap(conn *sqlite.Conn, c store.Checked) error {
	n, err := change(conn, e.sql.update, func(q *sqlite.Stmt) {
		q.BindText(1, c.ID)
		q.BindText(2, c.DefinitionID)
		q.BindText(3, c.Data)
		q.BindInt64(4, c.Expected+1)
		q.BindInt64(5, c.Expected)
	})
	if err != nil || n > 0 {
		return one(n, err, e.sql.executions, "", c.ID)
	}
	var stored *value
	err = query(conn, e.sql.version, func(q *sqlite.Stmt) { q.BindText(1, c.ID) }, func(row *sqlite.Stmt) bool {
		v := column(row, 0)
		stored = &v
		return false
	})
	switch {
	case err != nil:
		return err
	case stored != nil && stored.class != sqlite.TypeInteger:
		return refusedError{&store.RowError{Table: "executions", Key: c.ID, Err: stored.is("version", sqlite.TypeInteger), Raw: []byte(stored.String())}}
	case stored != nil && stored.int == c.Expected:
		return one(0, nil, e.sql.executions, "", c.ID)
	case stored != nil:
		return refusedError{&store.ConflictError{ID: c.ID, Expected: c.Expected, Found: &stored.int}}
	case c.Expected != 0:
		return refusedError{&store.ConflictError{ID: c.ID, Expected: c.Expected}}
	}
	n, err = change(conn, e.sql.insert, func(q *sqlite.Stmt) {
		q.BindText(1, c.ID)
		q.BindText(2, c.DefinitionID)
		q.BindText(3, c.Data)
		q.BindInt64(4, 1)
	})
	return one(n, err, e.sql.executions, "", c.ID)
}

func quoted(id string) string { return fmt.Sprintf("%q", id) }

func (e *executions) emit(conn *sqlite.Conn, emit store.EncodedEmit) (seq int64, err error) {
	n, err := change(conn, e.sql.emit, func(q *sqlite.Stmt) {
		if emit.TargetID == nil {
			q.BindNull(1)
		} else {
			q.BindText(1, *emit.TargetID)
		}
		q.BindText(2, emit.Event)
	})
	return conn.LastInsertRowID(), one(n, err, e.sql.outbox, "an event", "")
}

// extras are the parts of a commit after its state and its emits.
func (e *executions) extras(conn *sqlite.Conn, c store.Checked) error {
	if c.ProcessedEventID != nil {
		n, err := change(conn, e.sql.process, func(q *sqlite.Stmt) {
			q.BindText(1, c.ID)
			q.BindText(2, *c.ProcessedEventID)
		})
		if err == nil && n == 0 {
			// Most probably it is there already.
			var there bool
			if there, err = e.processedRow(conn, c.ID, *c.ProcessedEventID); there {
				n = 1
			}
		}
		if err := one(n, err, e.sql.processed, "", *c.ProcessedEventID); err != nil {
			return err
		}
	}
	for _, t := range c.Timers {
		sql := e.sql.cancel
		if t.Action == store.Schedule {
			sql = e.sql.schedule
		}
		n, err := change(conn, sql, func(q *sqlite.Stmt) {
			q.BindText(1, c.ID)
			q.BindText(2, t.Path)
			if t.Action == store.Schedule {
				q.BindFloat(3, t.FireAt)
			}
		})
		if t.Action == store.Schedule {
			err = one(n, err, e.sql.timers, "timer ", t.Path)
		}
		if err != nil {
			return err
		}
	}
	for _, s := range c.Spawns {
		n, err := change(conn, e.sql.spawn, func(q *sqlite.Stmt) {
			q.BindText(1, c.ID)
			q.BindText(2, s.ChildID)
			q.BindText(3, s.RootPath)
			q.BindText(4, string(s.Context))
		})
		if err := one(n, err, e.sql.spawns, "", s.ChildID); err != nil {
			return err
		}
	}
	if c.Trace == "" {
		return nil
	}
	return e.addStep(conn, c.ID, c.Trace)
}

// addStep appends to the ring. The index is one more than the last one, whatever the
// entry says about itself, so it survives trimming as long as the ring keeps a step.
func (e *executions) addStep(conn *sqlite.Conn, id string, entry store.JSON) error {
	next, err := e.nextStep(conn, id)
	if err != nil {
		return err
	}
	if next == math.MinInt64 {
		return fmt.Errorf("trace of execution %q: there is no index after %d", id, int64(math.MaxInt64))
	}
	n, err := change(conn, e.sql.addStep, func(q *sqlite.Stmt) {
		q.BindText(1, id)
		q.BindInt64(2, next)
		q.BindText(3, string(entry))
	})
	if err := one(n, err, e.sql.traces, "a step", ""); err != nil {
		return err
	}
	e.steps.added(id, next)
	if e.traceMax == 0 || next < e.traceMax {
		return nil
	}
	_, err = change(conn, e.sql.trim, func(q *sqlite.Stmt) {
		q.BindText(1, id)
		q.BindInt64(2, next-e.traceMax)
	})
	return err
}

// AppendTrace implements [store.ExecutionStore].
func (e *executions) AppendTrace(ctx context.Context, id string, entry store.JSON) error {
	if err := e.writable(ctx); err != nil {
		return err
	}
	if err := store.CheckExecutionID(id); err != nil {
		return err
	}
	if err := store.CheckTrace(entry); err != nil {
		return err
	}
	if err := e.sql.need(tableTrace); err != nil {
		return err
	}
	return e.write(ctx, func(conn *sqlite.Conn) error {
		if sayable, err := e.sayable(conn, id, string(entry)); err != nil {
			return err
		} else if !sayable {
			return refusedError{errUnsayable()}
		}
		return e.addStep(conn, id, entry)
	})
}

// AckOutbox implements [store.ExecutionStore].
func (e *executions) AckOutbox(ctx context.Context, seq int64) (removed bool, err error) {
	return e.changeOne(ctx, tableOutbox, e.sql.ackOutbox, nil, func(q *sqlite.Stmt) { q.BindInt64(1, seq) })
}

// AckSpawn implements [store.ExecutionStore].
func (e *executions) AckSpawn(ctx context.Context, seq int64) (removed bool, err error) {
	return e.changeOne(ctx, tableSpawns, e.sql.ackSpawn, nil, func(q *sqlite.Stmt) { q.BindInt64(1, seq) })
}

// DeleteTimer implements [store.ExecutionStore].
func (e *executions) DeleteTimer(ctx context.Context, id, path string, fireAt float64) (removed bool, err error) {
	return e.changeOne(ctx, tableTimers, e.sql.deleteTimer, []string{id, path}, func(q *sqlite.Stmt) {
		q.BindText(1, id)
		q.BindText(2, path)
		q.BindFloat(3, fireAt)
	})
}

// RearmTimer implements [store.ExecutionStore].
func (e *executions) RearmTimer(ctx context.Context, id, path string, from, to float64) (moved bool, err error) {
	if err := e.writable(ctx); err != nil {
		return false, err
	}
	if err := store.CheckFireAt(to); err != nil {
		return false, err
	}
	return e.changeOne(ctx, tableTimers, e.sql.rearm, []string{id, path}, func(q *sqlite.Stmt) {
		q.BindText(1, id)
		q.BindText(2, path)
		q.BindFloat(3, from)
		q.BindFloat(4, to)
	})
}

// changeOne runs one statement in a transaction of its own and says whether it
// found anything. names are the texts by which it looks.
func (e *executions) changeOne(ctx context.Context, table, sql string, names []string, bind func(*sqlite.Stmt)) (bool, error) {
	if err := firstOf(e.writable(ctx), e.sql.need(table)); err != nil {
		return false, err
	}
	// Not a named result: after an abandoned wait the writer may still set it.
	changed := false
	err := e.write(ctx, func(conn *sqlite.Conn) error {
		if sayable, err := e.sayable(conn, names...); err != nil || !sayable {
			changed = false
			return err
		}
		n, err := change(conn, sql, bind)
		changed = n > 0
		if n > 1 && table != tableTimers { // timers that agree in all they have are one
			return one(n, err, table, "this seq", "")
		}
		return err
	})
	if err != nil {
		return false, err
	}
	return changed, nil
}

// Purge implements [store.ExecutionStore]. A companion table that is missing has
// nothing to delete.
func (e *executions) Purge(ctx context.Context, id string, version int64) (bool, error) {
	purged := false
	err := e.write(ctx, func(conn *sqlite.Conn) error {
		if sayable, err := e.sayable(conn, id); err != nil || !sayable {
			purged = false
			return err
		}
		n, err := change(conn, e.sql.purge, func(q *sqlite.Stmt) {
			q.BindText(1, id)
			q.BindInt64(2, version)
		})
		if n > 1 {
			err = one(n, err, e.sql.executions, "", id)
		}
		if err != nil {
			return err
		}
		if purged = n > 0; !purged {
			there := false
			err := query(conn, e.sql.version, func(q *sqlite.Stmt) { q.BindText(1, id) }, func(*sqlite.Stmt) bool {
				there = true
				return false
			})
			if err != nil || there {
				return err
			}
		}
		for _, sweep := range [][2]string{
			{tableProcessed, e.sql.sweepProcessed}, {tableTrace, e.sql.sweepTrace}, {tableTimers, e.sql.sweepTimers},
			{tableOutbox, e.sql.sweepOutbox}, {tableSpawns, e.sql.sweepSpawns},
		} {
			if e.sql.need(sweep[0]) != nil {
				continue
			}
			if _, err := change(conn, sweep[1], func(q *sqlite.Stmt) { q.BindText(1, id) }); err != nil {
				return err
			}
		}
		e.steps.forget(id)
		return nil
	})
	if err != nil {
		return false, err
	}
	return purged, nil
}

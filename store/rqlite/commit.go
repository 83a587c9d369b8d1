package rqlite

import (
	"context"
	"errors"
	"fmt"

	"treering/store"
)

// Save implements [store.ExecutionStore].
func (e *executions) Save(ctx context.Context, exe *store.Execution) error {
	_, err := e.Commit(ctx, store.Commit{Execution: exe})
	return err
}

// swapTries bounds how often a commit is sent again that lost its race against
// nothing that is to be seen.
const swapTries = 3

// Commit implements [store.ExecutionStore], in one request.
//
// After [store.ErrOutcomeUnknown] the same commit can be sent again: either it is done
// now, or it is a *[store.ConflictError] that has found the version it would have made.
func (e *executions) Commit(ctx context.Context, c store.Commit) ([]int64, error) {
	if err := e.db.writable(ctx); err != nil {
		return nil, err
	}
	checked, err := c.Check()
	if err != nil {
		return nil, err
	}
	if err := e.needs(checked); err != nil {
		return nil, err
	}
	statements, emits := e.statements(checked)
	for try := 1; ; try++ {
		results, err := e.db.execute(ctx, statements...)
		lost := false
		var said *SQLError
		switch {
		case errors.As(err, &said) && said.Statement == 1:
			lost = true
		case err != nil:
			return nil, err
		default:
			lost = results[0].RowsAffected == 0
		}
		if !lost {
			seqs := make([]int64, len(checked.Emits))
			for i := range seqs {
				seqs[i] = results[emits+i].LastInsertID
			}
			c.Execution.Version = checked.Expected + 1
			return seqs, nil
		}
		again, err := e.loser(ctx, checked)
		if err != nil {
			return nil, err
		}
		if !again || try == swapTries {
			return nil, fmt.Errorf("%s: %q was not written: a trigger of the database prevents it; nothing was changed", e.sql.executions, checked.ID)
		}
	}
}

// needs refuses a commit that would write to a table that the set lacks.
func (e *executions) needs(c store.Checked) error {
	for _, part := range []struct {
		there bool
		table string
	}{
		{len(c.Emits) > 0, tableOutbox}, {c.ProcessedEventID != nil, tableProcessed}, {len(c.Timers) > 0, tableTimers},
		{len(c.Spawns) > 0, tableSpawns}, {c.Trace != "", tableTrace},
	} {
		if part.there {
			if err := e.set.need(part.table); err != nil {
				return err
			}
		}
	}
	return nil
}

// statements are a commit's: the compare-and-swap, what makes the transaction fail
// where that was lost, and the rest. Emits begin at the index returned.
func (e *executions) statements(c store.Checked) (all []statement, emits int) {
	swap := e.sql.update
	if c.Expected == 0 {
		swap = e.sql.insert
	}
	all = []statement{sql(swap, c.ID, c.DefinitionID, c.Data, c.Expected+1, c.Expected)}
	if len(c.Emits)+len(c.Timers)+len(c.Spawns) == 0 && c.ProcessedEventID == nil && c.Trace == "" {
		return all, 1
	}
	all = append(all, sql(swapped))
	emits = len(all)
	for _, emit := range c.Emits {
		all = append(all, sql(e.sql.emit, emit.TargetID, emit.Event))
	}
	if c.ProcessedEventID != nil {
		all = append(all, sql(e.sql.process, c.ID, *c.ProcessedEventID))
	}
	for _, t := range c.Timers {
		if t.Action == store.Schedule {
			all = append(all, sql(e.sql.schedule, c.ID, t.Path, t.FireAt))
		} else {
			all = append(all, sql(e.sql.cancel, c.ID, t.Path))
		}
	}
	for _, s := range c.Spawns {
		all = append(all, sql(e.sql.spawn, c.ID, s.ChildID, s.RootPath, string(s.Context)))
	}
	if c.Trace != "" {
		all = append(all, e.step(c.ID, c.Trace)...)
	}
	return all, emits
}

func (e *executions) step(id string, entry store.JSON) []statement {
	steps := []statement{sql(e.sql.addStep, id, string(entry))}
	if e.db.traceMax > 0 {
		steps = append(steps, sql(e.sql.trim, id, e.db.traceMax))
	}
	return steps
}

// loser finds out what a lost race was lost to. With again nothing stands against the
// commit any more.
func (e *executions) loser(ctx context.Context, c store.Checked) (again bool, err error) {
	results, err := e.db.query(ctx, strong, sql(e.sql.version, c.ID))
	if err != nil {
		// That it was lost is known all the same.
		return false, &store.ConflictError{ID: c.ID, Expected: c.Expected}
	}
	row, err := results[0].one(2)
	switch {
	case err != nil:
		return false, err
	case row == nil && c.Expected == 0:
		return true, nil
	case row == nil:
		return false, &store.ConflictError{ID: c.ID, Expected: c.Expected}
	}
	found, whole := row[0].int()
	switch {
	case row[1].text != "integer" || !whole:
		return false, &store.RowError{Table: tableExecutions, Key: c.ID, Err: fmt.Errorf("version is %s, not an integer", row[1].text), Raw: []byte(row[0].text)}
	case found == c.Expected:
		return true, nil
	}
	return false, &store.ConflictError{ID: c.ID, Expected: c.Expected, Found: &found}
}

// AppendTrace implements [store.ExecutionStore].
func (e *executions) AppendTrace(ctx context.Context, id string, entry store.JSON) error {
	if err := e.db.writable(ctx); err != nil {
		return err
	}
	if err := firstOf(store.CheckExecutionID(id), store.CheckTrace(entry)); err != nil {
		return err
	}
	if err := e.set.need(tableTrace); err != nil {
		return err
	}
	_, err := e.db.execute(ctx, e.step(id, entry)...)
	return err
}

// AckOutbox implements [store.ExecutionStore].
func (e *executions) AckOutbox(ctx context.Context, seq int64) (removed bool, err error) {
	return e.changeOne(ctx, tableOutbox, sql(e.sql.ackOutbox, seq))
}

// AckSpawn implements [store.ExecutionStore].
func (e *executions) AckSpawn(ctx context.Context, seq int64) (removed bool, err error) {
	return e.changeOne(ctx, tableSpawns, sql(e.sql.ackSpawn, seq))
}

// DeleteTimer implements [store.ExecutionStore].
func (e *executions) DeleteTimer(ctx context.Context, id, path string, fireAt float64) (removed bool, err error) {
	at, param := timeIs(fireAt, "?3")
	s := sql(e.sql.deleteTimer+at, id, path)
	if param != nil {
		s.params = append(s.params, param)
	}
	return e.changeOne(ctx, tableTimers, s)
}

// RearmTimer implements [store.ExecutionStore].
func (e *executions) RearmTimer(ctx context.Context, id, path string, from, to float64) (moved bool, err error) {
	if err := e.db.writable(ctx); err != nil {
		return false, err
	}
	if err := store.CheckFireAt(to); err != nil {
		return false, err
	}
	at, param := timeIs(from, "?4")
	s := sql(e.sql.rearm+at, id, path, to)
	if param != nil {
		s.params = append(s.params, param)
	}
	return e.changeOne(ctx, tableTimers, s)
}

// changeOne runs one statement and says whether it found anything.
func (e *executions) changeOne(ctx context.Context, table string, s statement) (bool, error) {
	if err := firstOf(e.db.writable(ctx), e.set.need(table)); err != nil {
		return false, err
	}
	results, err := e.db.execute(ctx, s)
	return err == nil && results[0].RowsAffected > 0, err
}

// Purge implements [store.ExecutionStore]. A companion table that is missing has
// nothing to delete.
func (e *executions) Purge(ctx context.Context, id string, version int64) (bool, error) {
	all := []statement{sql(e.sql.purge, id, version)}
	for _, sweep := range e.sql.sweeps {
		if e.set.need(sweep[0]) == nil {
			all = append(all, sql(sweep[1], id))
		}
	}
	results, err := e.db.execute(ctx, all...)
	return err == nil && results[0].RowsAffected > 0, err
}

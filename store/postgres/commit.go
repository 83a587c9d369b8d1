package postgres

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"treering/store"
)

// Save implements [store.ExecutionStore].
func (e *executions) Save(ctx context.Context, exe *store.Execution) error {
	_, err := e.Commit(ctx, store.Commit{Execution: exe})
	return err
}

// Commit implements [store.ExecutionStore] in one statement, and so in one round trip
// and one transaction. Only after a race that was lost while it waited for the winner
// is the row read once more, for the version to report.
func (e *executions) Commit(ctx context.Context, c store.Commit) ([]int64, error) {
	if err := e.db.writable(ctx); err != nil {
		return nil, err
	}
	checked, err := c.Check()
	if err != nil {
		return nil, err
	}
	if err := e.fits(checked); err != nil {
		return nil, err
	}
	args, err := e.functionArgs(checked)
	if err != nil {
		return nil, err
	}
	type outcome struct {
		mu   sync.Mutex
		seqs []int64
	}
	done := new(outcome) // not the caller's: after an abandoned wait the write goes on
	err = e.db.write(ctx, e.set.Ours, func(ctx context.Context, conn *pgxpool.Conn) error {
		var won bool
		var found *int64
		var seqs []int64
		err := errNoFunction
		if e.function.had(ctx, conn) {
			err = e.function.call(ctx, conn, args, &won, &found, &seqs)
		}
		if errors.Is(err, errNoFunction) {
			st, serr := e.statement(checked)
			if serr != nil {
				return serr
			}
			err = conn.QueryRow(ctx, st.sql, st.args...).Scan(&won, &found, &seqs)
		}
		switch {
		case sqlState(err) == uniqueViolation && checked.Trace != "":
			return errAgain // somebody appended to the trace outside a commit
		case err != nil:
			return refusedText(err)
		case !won:
			return e.lost(ctx, conn, checked, found)
		}
		done.mu.Lock()
		done.seqs = seqs
		done.mu.Unlock()
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.Execution.Version = checked.Expected + 1
	if done.seqs == nil {
		done.seqs = []int64{}
	}
	return done.seqs, nil
}

// refusedText words what the server cannot hold.
func refusedText(err error) error {
	switch sqlState(err) {
	case badText:
		return &store.ValueError{Field: "text", Reason: "PostgreSQL holds no NUL", Err: store.ErrNotText}
	case outOfRange:
		return &store.ValueError{Field: "version", Reason: "the column of this database has 32 bits only", Err: store.ErrBadVersion}
	}
	return err
}

// lost is the answer to a compare-and-swap that found another version, or none. found
// is what the statement saw, which is the expected one where it waited for the winner.
func (e *executions) lost(ctx context.Context, q querier, c store.Checked, found *int64) error {
	if found != nil && *found != c.Expected {
		return &store.ConflictError{ID: c.ID, Expected: c.Expected, Found: found}
	}
	t, err := e.set.table(tableExecutions)
	if err != nil {
		return err
	}
	var now *int64
	err = q.QueryRow(ctx, "SELECT version::bigint FROM "+t+" WHERE id = $1", c.ID).Scan(&now)
	switch {
	case errors.Is(err, pgx.ErrNoRows) && c.Expected != 0:
		return &store.ConflictError{ID: c.ID, Expected: c.Expected}
	case errors.Is(err, pgx.ErrNoRows):
		return errAgain // inserted by somebody and gone already
	case err != nil:
		return err
	case now == nil:
		return &store.RowError{Table: "executions", Key: c.ID, Err: errors.New("version is NULL")}
	case *now == c.Expected:
		return errAgain
	}
	return &store.ConflictError{ID: c.ID, Expected: c.Expected, Found: now}
}

// statement is the text of a commit and its arguments. There are few texts, one for
// each combination of parts, so that each is planned once a connection.
type statement struct {
	sql  string
	args []any
	b    strings.Builder
}

func (s *statement) arg(v any) string {
	s.args = append(s.args, v)
	return "$" + strconv.Itoa(len(s.args))
}

// fits refuses what the server cannot hold.
func (e *executions) fits(c store.Checked) error {
	if _, err := e.set.table(tableExecutions); err != nil {
		return err
	}
	if !sayable(c.ID, c.DefinitionID) {
		return &store.ValueError{Field: "execution id", Reason: "PostgreSQL holds no NUL", Err: store.ErrNotText}
	}
	if c.Expected > math.MaxInt32-1 && !e.set.Ours {
		return refusedVersion()
	}
	return nil
}

func (e *executions) statement(c store.Checked) (*statement, error) {
	s := &statement{args: make([]any, 0, 16)}
	x, err := e.set.table(tableExecutions)
	if err != nil {
		return nil, err
	}
	id, definition, data, expected := s.arg(c.ID), s.arg(c.DefinitionID), s.arg(c.Data), s.arg(c.Expected)
	s.b.WriteString("WITH updated AS (UPDATE " + x + " SET definition_id = " + definition + ", data = " + data + ", version = " + expected + "::bigint + 1 WHERE id = " + id + " AND version = " + expected + " RETURNING 1)")
	if c.Expected == 0 {
		// The loser of two first inserts finds the winner's row, and inserts nothing.
		s.b.WriteString(", won AS (INSERT INTO " + x + " (id, definition_id, data, version) SELECT " + id + ", " + definition + ", " + data + ", 1 WHERE NOT EXISTS (SELECT 1 FROM updated) ON CONFLICT (id) DO NOTHING RETURNING 1), " +
			"sure AS (SELECT 1 FROM updated UNION ALL SELECT 1 FROM won)")
	} else {
		s.b.WriteString(", sure AS (SELECT 1 FROM updated)")
	}
	seqs := "NULL::bigint[]"
	for _, part := range []func(*statement, store.Checked, string) error{e.emits, e.mark, e.timers, e.spawns, e.step} {
		if err := part(s, c, id); err != nil {
			return nil, err
		}
	}
	if len(c.Emits) > 0 {
		seqs = "(SELECT array_agg(seq::bigint ORDER BY seq) FROM emitted)"
	}
	s.b.WriteString(" SELECT EXISTS (SELECT 1 FROM sure), CASE WHEN EXISTS (SELECT 1 FROM sure) THEN NULL ELSE (SELECT version::bigint FROM " + x + " WHERE id = " + id + ") END, " + seqs)
	s.sql = s.b.String()
	return s, nil
}

func refusedVersion() error {
	return &store.ValueError{Field: "version", Reason: "the column of this database has 32 bits only", Err: store.ErrBadVersion}
}

func (e *executions) emits(s *statement, c store.Checked, _ string) error {
	if len(c.Emits) == 0 {
		return nil
	}
	t, err := e.set.table(tableOutbox)
	if err != nil {
		return err
	}
	targets, events := make([]*string, len(c.Emits)), make([]string, len(c.Emits))
	for i, em := range c.Emits {
		targets[i], events[i] = em.TargetID, em.Event
	}
	s.b.WriteString(", emitted AS (INSERT INTO " + t + " (target_id, event) SELECT u.t, u.e FROM sure, unnest(" + s.arg(targets) + "::text[], " + s.arg(events) + "::text[]) WITH ORDINALITY AS u(t, e, n) ORDER BY u.n RETURNING seq)")
	return nil
}

func (e *executions) mark(s *statement, c store.Checked, id string) error {
	if c.ProcessedEventID == nil {
		return nil
	}
	t, err := e.set.table(tableProcessed)
	if err != nil {
		return err
	}
	s.b.WriteString(", marked AS (INSERT INTO " + t + " (execution_id, event_id) SELECT " + id + ", " + s.arg(*c.ProcessedEventID) + " FROM sure ON CONFLICT DO NOTHING)")
	return nil
}

// timers applies the last op of each path: later ones win.
func (e *executions) timers(s *statement, c store.Checked, id string) error {
	if len(c.Timers) == 0 {
		return nil
	}
	t, err := e.set.table(tableTimers)
	if err != nil {
		return err
	}
	armed, times, cancelled := lastOps(c.Timers)
	if armed != nil {
		s.b.WriteString(", armed AS (INSERT INTO " + t + " (execution_id, path, fire_at) SELECT " + id + ", u.p, u.f FROM sure, unnest(" + s.arg(armed) + "::text[], " + s.arg(times) + "::float8[]) AS u(p, f) ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at)")
	}
	if cancelled != nil {
		s.b.WriteString(", cancelled AS (DELETE FROM " + t + " WHERE execution_id = " + id + " AND path = ANY (" + s.arg(cancelled) + "::text[]) AND EXISTS (SELECT 1 FROM sure))")
	}
	return nil
}

// lastOps are the last op of each path: those that arm, with their times, and those
// that cancel.
func lastOps(ops []store.TimerOp) (armed []string, times []float64, cancelled []string) {
	last := make(map[string]int, len(ops))
	for i, op := range ops {
		last[op.Path] = i
	}
	for i, op := range ops {
		switch {
		case last[op.Path] != i:
		case op.Action == store.Schedule:
			armed, times = append(armed, op.Path), append(times, op.FireAt)
		default:
			cancelled = append(cancelled, op.Path)
		}
	}
	return armed, times, cancelled
}

func (e *executions) spawns(s *statement, c store.Checked, id string) error {
	if len(c.Spawns) == 0 {
		return nil
	}
	t, err := e.set.table(tableSpawns)
	if err != nil {
		return err
	}
	n := len(c.Spawns)
	children, roots, contexts := make([]string, n), make([]string, n), make([]string, n)
	for i, sp := range c.Spawns {
		children[i], roots[i], contexts[i] = sp.ChildID, sp.RootPath, string(sp.Context)
	}
	s.b.WriteString(", spawned AS (INSERT INTO " + t + " (parent_id, child_id, root_path, context) SELECT " + id + ", u.c, u.r, u.x FROM sure, unnest(" + s.arg(children) + "::text[], " + s.arg(roots) + "::text[], " + s.arg(contexts) + "::text[]) WITH ORDINALITY AS u(c, r, x, n) ORDER BY u.n)")
	return nil
}

// step appends to the ring. The index is one more than the last one, whatever the entry
// says about itself. Two who do that at once meet at the key, and one begins again.
func (e *executions) step(s *statement, c store.Checked, id string) error {
	if c.Trace == "" {
		return nil
	}
	return e.addStep(s, id, c.Trace, "sure")
}

func (e *executions) addStep(s *statement, id string, entry store.JSON, from string) error {
	t, err := e.set.table(tableTrace)
	if err != nil {
		return err
	}
	if from != "" {
		from = " FROM " + from
	}
	s.b.WriteString(", step AS (INSERT INTO " + t + " (execution_id, idx, entry) SELECT " + id + ", coalesce((SELECT max(idx) FROM " + t + " WHERE execution_id = " + id + "), -1) + 1, " + s.arg(string(entry)) + from + " RETURNING idx)")
	if e.traceMax > 0 {
		s.b.WriteString(", trimmed AS (DELETE FROM " + t + " WHERE execution_id = " + id + " AND idx <= (SELECT idx - " + strconv.FormatInt(e.traceMax, 10) + " FROM step))")
	}
	return nil
}

// AppendTrace implements [store.ExecutionStore].
func (e *executions) AppendTrace(ctx context.Context, id string, entry store.JSON) error {
	if err := e.db.writable(ctx); err != nil {
		return err
	}
	if err := store.CheckExecutionID(id); err != nil {
		return err
	}
	if err := store.CheckTrace(entry); err != nil {
		return err
	}
	if !sayable(id) {
		return &store.ValueError{Field: "execution id", Reason: "PostgreSQL holds no NUL", Err: store.ErrNotText}
	}
	s := new(statement)
	key := s.arg(id)
	s.b.WriteString("WITH one AS (SELECT 1)")
	if err := e.addStep(s, key, entry, "one"); err != nil {
		return err
	}
	s.b.WriteString(" SELECT count(*) FROM step")
	return e.db.write(ctx, e.set.Ours, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, s.b.String(), s.args...)
		if sqlState(err) == uniqueViolation {
			return errAgain
		}
		return err
	})
}

// AckOutbox implements [store.ExecutionStore].
func (e *executions) AckOutbox(ctx context.Context, seq int64) (bool, error) {
	return e.changeOne(ctx, tableOutbox, "DELETE FROM %t WHERE seq = $1", nil, seq)
}

// AckSpawn implements [store.ExecutionStore].
func (e *executions) AckSpawn(ctx context.Context, seq int64) (bool, error) {
	return e.changeOne(ctx, tableSpawns, "DELETE FROM %t WHERE seq = $1", nil, seq)
}

// DeleteTimer implements [store.ExecutionStore].
func (e *executions) DeleteTimer(ctx context.Context, id, path string, fireAt float64) (bool, error) {
	if math.IsNaN(fireAt) { // equal to itself in PostgreSQL, and to nothing by the contract
		return false, e.db.writable(ctx)
	}
	return e.changeOne(ctx, tableTimers, "DELETE FROM %t WHERE execution_id = $1 AND path = $2 AND fire_at = $3", []string{id, path}, id, path, fireAt)
}

// RearmTimer implements [store.ExecutionStore].
func (e *executions) RearmTimer(ctx context.Context, id, path string, from, to float64) (bool, error) {
	if err := e.db.writable(ctx); err != nil {
		return false, err
	}
	if err := store.CheckFireAt(to); err != nil || math.IsNaN(from) {
		return false, err
	}
	return e.changeOne(ctx, tableTimers, "UPDATE %t SET fire_at = $4 WHERE execution_id = $1 AND path = $2 AND fire_at = $3", []string{id, path}, id, path, from, to)
}

// changeOne runs one statement and says whether it found anything. names are the texts
// by which it looks.
func (e *executions) changeOne(ctx context.Context, table, sql string, names []string, args ...any) (bool, error) {
	if err := e.db.writable(ctx); err != nil {
		return false, err
	}
	t, err := e.set.table(table)
	if err != nil || !sayable(names...) {
		return false, err
	}
	changed := make(chan bool, writeTries)
	err = e.db.write(ctx, e.set.Ours, func(ctx context.Context, conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, strings.Replace(sql, "%t", t, 1), args...)
		if err == nil {
			changed <- tag.RowsAffected() > 0
		}
		return err
	})
	if err != nil {
		return false, err
	}
	return <-changed, nil
}

// Purge implements [store.ExecutionStore]. A companion table that is missing has
// nothing to delete.
func (e *executions) Purge(ctx context.Context, id string, version int64) (bool, error) {
	if err := e.db.writable(ctx); err != nil {
		return false, err
	}
	x, err := e.set.table(tableExecutions)
	if err != nil || !sayable(id) {
		return false, err
	}
	sql := "WITH gone AS (DELETE FROM " + x + " WHERE id = $1 AND version = $2 RETURNING 1), " +
		"sweep AS (SELECT 1 WHERE EXISTS (SELECT 1 FROM gone) OR NOT EXISTS (SELECT 1 FROM " + x + " WHERE id = $1))"
	for i, companion := range []struct{ table, column string }{
		{tableProcessed, "execution_id"}, {tableTrace, "execution_id"}, {tableTimers, "execution_id"}, {tableOutbox, "target_id"}, {tableSpawns, "parent_id"},
	} {
		if t, err := e.set.table(companion.table); err == nil {
			sql += ", swept" + strconv.Itoa(i) + " AS (DELETE FROM " + t + " WHERE " + companion.column + " = $1 AND EXISTS (SELECT 1 FROM sweep))"
		}
	}
	sql += " SELECT EXISTS (SELECT 1 FROM gone)"
	purged := make(chan bool, writeTries)
	err = e.db.write(ctx, e.set.Ours, func(ctx context.Context, conn *pgxpool.Conn) error {
		var done bool
		err := conn.QueryRow(ctx, sql, id, version).Scan(&done)
		if err == nil {
			purged <- done
		}
		return err
	})
	if err != nil {
		return false, err
	}
	return <-purged, nil
}

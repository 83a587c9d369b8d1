package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// executions is the [store.ExecutionStore] on one execution set. Of an execution
// the columns id, definition_id and version count; what the JSON says instead is
// drift.
type executions struct {
	file     *File
	writer   *writer // nil: open for reading
	sql      executionSQL
	traceMax int64  // 0: unbounded
	scope    string // of cursors: this file and set
	shapes   shapes
	steps    nextSteps // the writer's
	close    func() error
	closed   atomic.Bool
}

var _ store.ExecutionStore = (*executions)(nil)

// executionSQL is the text of every statement on one set of tables.
type executionSQL struct {
	tables
	load, loadTorn, version, isProcessed    string
	update, insert                          string
	emit, process, schedule, cancel, spawn  string
	lastStep, addStep, trim, steps          string
	ackOutbox, ackSpawn, deleteTimer, rearm string
	purge                                   string
	sweepProcessed, sweepTrace, sweepTimers string
	sweepOutbox, sweepSpawns                string
	countOutbox, countSpawns, countTimers   string
}

// is is the condition that a column holds exactly what is bound to a parameter. Where
// a column may compare text in a way of its own, as NOCASE does, one id would find the
// row of another; the first half is for its index.
func (t tables) is(column, param string) string {
	cond := column + " = " + param
	if t.collates {
		cond += " AND " + column + bytewise + " = " + param
	}
	return cond
}

func executionColumns() []string { return []string{"id", "definition_id", "version", "data"} }

func executionSQLOf(t tables) executionSQL {
	columns := strings.Join(executionColumns(), ", ")
	same, sameTimer := "", ""
	if t.collates {
		same = " AND id" + bytewise + " IS ?1"
		sameTimer = " WHERE execution_id" + bytewise + " = excluded.execution_id AND path" + bytewise + " = excluded.path"
	}
	return executionSQL{
		tables: t,

		load: "SELECT " + columns + " FROM " + t.executions + " WHERE id IS ?1" + same,
		// Only in a UTF-16 database, and only where the id was not found by itself.
		loadTorn:    "SELECT " + columns + ", CAST(id AS BLOB) FROM " + t.executions + " WHERE typeof(id) = 'text'",
		version:     "SELECT version FROM " + t.executions + " WHERE " + t.is("id", "?1"),
		isProcessed: "SELECT 1 FROM " + t.processed + " WHERE " + t.is("execution_id", "?1") + " AND " + t.is("event_id", "?2"),

		update: "UPDATE " + t.executions + " SET definition_id = ?2, data = ?3, version = ?4 WHERE " + t.is("id", "?1") + " AND version = ?5 AND typeof(version) = 'integer'",
		insert: "INSERT INTO " + t.executions + " (id, definition_id, data, version) VALUES (?1, ?2, ?3, ?4)",

		emit:     "INSERT INTO " + t.outbox + " (target_id, event) VALUES (?1, ?2)",
		process:  "INSERT OR IGNORE INTO " + t.processed + " (execution_id, event_id) VALUES (?1, ?2)",
		schedule: "INSERT INTO " + t.timers + " (execution_id, path, fire_at) VALUES (?1, ?2, ?3) ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at" + sameTimer,
		cancel:   "DELETE FROM " + t.timers + " WHERE " + t.is("execution_id", "?1") + " AND " + t.is("path", "?2"),
		spawn:    "INSERT INTO " + t.spawns + " (parent_id, child_id, root_path, context) VALUES (?1, ?2, ?3, ?4)",

		// Text under idx comes after every number, so the bound leaves it out. With a
		// bare parameter beside ORDER BY, SQLite prepares the statement again at every
		// new value, which takes ten times as long as running it; a plus sign prevents it.
		lastStep: "SELECT idx FROM " + t.traces + " WHERE " + t.is("execution_id", "+?1") + " AND idx <= 9223372036854775807 ORDER BY idx DESC LIMIT 1",
		addStep:  "INSERT INTO " + t.traces + " (execution_id, idx, entry) VALUES (?1, ?2, ?3)",
		trim:     "DELETE FROM " + t.traces + " WHERE " + t.is("execution_id", "?1") + " AND idx <= ?2",
		steps:    "SELECT idx, entry FROM " + t.traces + " WHERE " + t.is("execution_id", "+?1") + " ORDER BY idx",

		ackOutbox:   "DELETE FROM " + t.outbox + " WHERE seq = ?1",
		ackSpawn:    "DELETE FROM " + t.spawns + " WHERE seq = ?1",
		deleteTimer: "DELETE FROM " + t.timers + " WHERE " + t.is("execution_id", "?1") + " AND " + t.is("path", "?2") + " AND fire_at = ?3",
		rearm:       "UPDATE " + t.timers + " SET fire_at = ?4 WHERE " + t.is("execution_id", "?1") + " AND " + t.is("path", "?2") + " AND fire_at = ?3",

		purge:          "DELETE FROM " + t.executions + " WHERE " + t.is("id", "?1") + " AND version = ?2",
		sweepProcessed: "DELETE FROM " + t.processed + " WHERE " + t.is("execution_id", "?1"),
		sweepTrace:     "DELETE FROM " + t.traces + " WHERE " + t.is("execution_id", "?1"),
		sweepTimers:    "DELETE FROM " + t.timers + " WHERE " + t.is("execution_id", "?1"),
		sweepOutbox:    "DELETE FROM " + t.outbox + " WHERE " + t.is("target_id", "?1"),
		sweepSpawns:    "DELETE FROM " + t.spawns + " WHERE " + t.is("parent_id", "?1"),

		countOutbox: "SELECT count(*) FROM " + t.outbox,
		countSpawns: "SELECT count(*) FROM " + t.spawns,
		countTimers: "SELECT count(*) FROM " + t.timers,
	}
}

// read runs fn in one short read transaction. It may run more than once.
func (e *executions) read(ctx context.Context, fn func(*sqlite.Conn) error) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	return missingTable(e.file.Read(ctx, fn))
}

// write runs fn in a transaction of the writer. It may run more than once.
func (e *executions) write(ctx context.Context, fn func(*sqlite.Conn) error) error {
	if err := e.writable(ctx); err != nil {
		return err
	}
	return e.writer.write(ctx, fn)
}

func (e *executions) usable(ctx context.Context) error {
	if e.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

func (e *executions) writable(ctx context.Context) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	if e.writer == nil {
		return readOnlyError(e.file)
	}
	return nil
}

func readOnlyError(f *File) error {
	return &OpenError{f.Path(), "it is open for reading only", "open it with --rw to write", store.ErrReadOnly}
}

// Close closes the database, trees included. It may be called more than once.
func (e *executions) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	return e.close()
}

// Load implements [store.ExecutionStore].
func (e *executions) Load(ctx context.Context, id string) (exe *store.Execution, err error) {
	err = e.read(ctx, func(conn *sqlite.Conn) (err error) {
		exe, err = e.loadRow(conn, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return exe, nil
}

// LoadForEvent implements [store.ExecutionStore].
func (e *executions) LoadForEvent(ctx context.Context, id, eventID string) (exe *store.Execution, processed bool, err error) {
	err = e.read(ctx, func(conn *sqlite.Conn) (err error) {
		if exe, err = e.loadRow(conn, id); err != nil {
			return err
		}
		processed, err = e.processedRow(conn, id, eventID)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return exe, processed, nil
}

// IsProcessed implements [store.ExecutionStore].
func (e *executions) IsProcessed(ctx context.Context, id, eventID string) (processed bool, err error) {
	err = e.read(ctx, func(conn *sqlite.Conn) (err error) {
		processed, err = e.processedRow(conn, id, eventID)
		return err
	})
	return processed && err == nil, err
}

func (e *executions) processedRow(conn *sqlite.Conn, id, eventID string) (processed bool, err error) {
	if err := e.sql.need(tableProcessed); err != nil {
		return false, err
	}
	if sayable, err := e.sayable(conn, id, eventID); err != nil || !sayable {
		return false, err
	}
	err = query(conn, e.sql.isProcessed, func(q *sqlite.Stmt) {
		q.BindText(1, id)
		q.BindText(2, eventID)
	}, func(*sqlite.Stmt) bool {
		processed = true
		return false
	})
	return processed, err
}

// loadRow reads one execution. A row that lists show under this id although it is
// not stored as text is found too, as the bad row it is.
func (e *executions) loadRow(conn *sqlite.Conn, id string) (*store.Execution, error) {
	for _, key := range spellings(id) {
		var found *executionRow
		err := query(conn, e.sql.load, func(q *sqlite.Stmt) { key.bind(q, 1) }, func(r *sqlite.Stmt) bool {
			// SQL finds 1e17 where it looks for 100000000000000000.
			if column(r, 0).String() == id {
				row := readExecution(listRow{Stmt: r})
				found = &row
			}
			return found == nil
		})
		if err != nil {
			return nil, err
		}
		if found != nil {
			return found.execution()
		}
	}
	found, err := e.tornRow(conn, id)
	if err != nil {
		return nil, err
	}
	if found != nil {
		return found.execution()
	}
	return nil, &store.NotFoundError{What: "execution", ID: id}
}

// tornRow looks through a UTF-16 database for a row that lists show under this id
// although no binding of it finds the row. In any other database there is none.
func (e *executions) tornRow(conn *sqlite.Conn, id string) (found *executionRow, err error) {
	s, err := e.shapeOf(conn, e.sql.executions)
	if err != nil || !s.utf16 || isASCII(id) {
		return nil, err
	}
	err = query(conn, e.sql.loadTorn, nil, func(r *sqlite.Stmt) bool {
		if r.ColumnText(0) == id && !isUTF16(id, column(r, len(executionColumns())).text, s.bigEndian) {
			row := readExecution(listRow{Stmt: r, torn: true})
			found = &row
		}
		return found == nil
	})
	return found, err
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// spellings are the stored values that a list shows as id, text first.
func spellings(id string) []value {
	out := []value{{class: sqlite.TypeText, text: id}, {class: sqlite.TypeBlob, text: id}}
	if id == "" {
		out = append(out, value{class: sqlite.TypeNull})
	}
	if n, err := strconv.ParseInt(id, 10, 64); err == nil {
		out = append(out, value{class: sqlite.TypeInteger, int: n})
	}
	if f, err := strconv.ParseFloat(id, 64); err == nil {
		out = append(out, value{class: sqlite.TypeFloat, float: f})
	}
	return out
}

// executionRow is a row as it is stored.
type executionRow struct {
	id, definitionID, version, data value
	torn                            bool // see listRow
}

func readExecution(row listRow) executionRow {
	return executionRow{column(row.Stmt, 0), column(row.Stmt, 1), column(row.Stmt, 2), column(row.Stmt, 3), row.torn}
}

// fault says why the columns cannot be taken for what they should be. The JSON may
// be a blob: harel reads it all the same.
func (r executionRow) fault() error {
	if err := errors.Join(r.id.is("id", sqlite.TypeText), r.definitionID.is("definition_id", sqlite.TypeText),
		r.version.is("version", sqlite.TypeInteger)); err != nil {
		return errors.New(oneLine(err))
	}
	if r.torn {
		return errors.New("id is no whole UTF-16, so nothing can name the row exactly")
	}
	if r.data.class != sqlite.TypeBlob {
		return r.data.is("data", sqlite.TypeText)
	}
	return nil
}

func (r executionRow) bad(err error) *store.RowError {
	return &store.RowError{Table: "executions", Key: r.id.String(), Err: err, Raw: []byte(r.data.String())}
}

// execution is the whole of the row. The error of one that cannot be read has with it
// what could be.
func (r executionRow) execution() (*store.Execution, error) {
	err := r.fault()
	if err == nil {
		var exe *store.Execution
		if exe, err = store.DecodeExecutionRow(r.id.text, r.definitionID.text, r.version.int, r.data.text); err == nil {
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

func (r executionRow) summary() store.Summary {
	s := store.SummaryOfText(r.id.String(), r.definitionID.String(), r.version.int, r.data.String())
	if err := r.fault(); err != nil {
		s.Bad = r.bad(err)
		s.Drift = nil // what differs is in the error
	}
	if s.Bad == nil && len(r.data.text) > detachFrom {
		detach(&s)
	}
	return s
}

// detachFrom is the length from which on a summary does not keep the whole text in
// memory for the sake of the few words that it has of it.
const detachFrom = 4096 // bytes

func detach(s *store.Summary) {
	s.Status = store.Status(strings.Clone(string(s.Status)))
	s.RootPath = strings.Clone(s.RootPath)
	for _, p := range []*string{s.Outcome, s.Error, s.ActivePath, s.ParentID} {
		if p != nil {
			*p = strings.Clone(*p)
		}
	}
	for _, p := range []*store.JSON{&s.CreatedAt, &s.UpdatedAt, &s.FinishedAt, &s.ExpiresAt} {
		*p = store.JSON(strings.Clone(string(*p)))
	}
	for i, d := range s.Drift {
		s.Drift[i].JSON = strings.Clone(d.JSON)
	}
}

// oneLine words joined errors as one.
func oneLine(err error) string {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		text := ""
		for i, one := range many.Unwrap() {
			if i > 0 {
				text += ", "
			}
			text += one.Error()
		}
		return text
	}
	return fmt.Sprint(err)
}

package sqlite

import (
	"errors"
	"fmt"
	"strings"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// tables are the names of one execution set, quoted for SQL. A table that the set
// lacks has the name it should have.
type tables struct {
	executions, outbox, processed, spawns, timers, traces string
	missing                                               map[string]error // by the name without a prefix
	collates                                              bool             // see Set
}

func tablesOf(set Set) tables {
	t := tables{missing: make(map[string]error), collates: set.collates}
	for _, table := range []struct {
		name string
		to   *string
	}{
		{tableExecutions, &t.executions}, {tableOutbox, &t.outbox}, {tableProcessed, &t.processed},
		{tableSpawns, &t.spawns}, {tableTimers, &t.timers}, {tableTrace, &t.traces},
	} {
		var err error
		if *table.to, err = set.Need(table.name); err != nil {
			*table.to = Quote(tableName(set.Prefix, table.name))
			t.missing[table.name] = err
		}
	}
	return t
}

// need returns the error of the first of these tables that the set lacks.
func (t tables) need(names ...string) error {
	for _, name := range names {
		if err := t.missing[name]; err != nil {
			return err
		}
	}
	return nil
}

// missingTable makes SQLite's "no such table", of a table dropped since the file was
// opened, a [store.ErrMissingTable] that names it; any other error passes.
func missingTable(err error) error {
	if err == nil || sqlite.ErrCode(err) != sqlite.ResultError || errors.Is(err, store.ErrMissingTable) {
		return err
	}
	const said = "no such table: "
	_, name, found := strings.Cut(err.Error(), said)
	if !found {
		return err
	}
	name = strings.TrimPrefix(name, "main.")
	return fmt.Errorf("%w: the database has no table %q: %w", store.ErrMissingTable, name, err)
}

// query runs a prepared statement to its end or until row returns false.
func query(conn *sqlite.Conn, sql string, bind func(*sqlite.Stmt), row func(*sqlite.Stmt) bool) error {
	stmt, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	if bind != nil {
		bind(stmt)
	}
	for {
		more, err := stmt.Step()
		if err != nil {
			return err // Step has reset it
		}
		if !more || !row(stmt) {
			return stmt.Reset()
		}
	}
}

// change runs a prepared statement that returns no rows and says how many it
// changed.
func change(conn *sqlite.Conn, sql string, bind func(*sqlite.Stmt)) (int, error) {
	stmt, err := conn.Prepare(sql)
	if err != nil {
		return 0, err
	}
	bind(stmt)
	if _, err := stmt.Step(); err != nil {
		return 0, err
	}
	return conn.Changes(), stmt.Reset()
}

package sqltree

import (
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
)

// The connection keeps prepared statements by their text, so every text here is
// one of a few. A statement is reset as soon as it is done with: one that is not
// holds its read transaction open.

// first runs a query and hands over its first row.
func first(conn *sqlite.Conn, query string, bind, row func(*sqlite.Stmt)) (found bool, err error) {
	err = each(conn, query, bind, func(stmt *sqlite.Stmt) bool {
		found = true
		row(stmt)
		return false
	})
	return found, err
}

// each runs a query and hands over its rows until row returns false.
func each(conn *sqlite.Conn, query string, bind func(*sqlite.Stmt), row func(*sqlite.Stmt) bool) error {
	stmt, err := prepare(conn, query)
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

// prepare returns the kept statement of a query. Where it cannot be made since the
// tables are of another version, which a database that is open for reading may well
// have, the error says so.
func prepare(conn *sqlite.Conn, query string) (*sqlite.Stmt, error) {
	stmt, err := conn.Prepare(query)
	if sqlite.ErrCode(err) != sqlite.ResultError || !strings.Contains(query, "tree_nodes") {
		return stmt, err
	}
	version, verr := schemaVersion(conn)
	switch {
	case verr != nil || version == SchemaVersion:
		return nil, err
	case version > SchemaVersion:
		return nil, fmt.Errorf("%w: version %d, this one knows %d", ErrNewerSchema, version, SchemaVersion)
	}
	return nil, fmt.Errorf("%w: version %d, this one needs %d; the explorer, or a command that writes, brings a store of treering's own up to it", ErrOlderSchema, version, SchemaVersion)
}

// change runs a statement that returns no rows and says how many it changed.
func change(conn *sqlite.Conn, statement string, bind func(*sqlite.Stmt)) (int, error) {
	if err := each(conn, statement, bind, func(*sqlite.Stmt) bool { return true }); err != nil {
		return 0, err
	}
	return conn.Changes(), nil
}

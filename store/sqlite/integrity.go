package sqlite

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"treering/store"
)

// maxDamages is how much damage of one table is told, as by SQLite itself.
const maxDamages = 100

// CheckIntegrity has SQLite look through every table and its indexes, and returns
// what it finds damaged, a line each; nothing where all is well. It reads the whole
// file, table by table: each is one read transaction, during which a file in
// rollback mode cannot be written by anybody.
func (db *DB) CheckIntegrity(ctx context.Context) ([]string, error) {
	var tables []string
	err := db.file.Read(ctx, func(conn *sqlite.Conn) error {
		tables = tables[:0]
		return each(conn, "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name", func(s *sqlite.Stmt) {
			tables = append(tables, s.ColumnText(0))
		})
	})
	if err != nil {
		return damaged(nil, err)
	}
	var found []string
	for _, table := range tables {
		var here []string
		err := db.file.Read(ctx, func(conn *sqlite.Conn) error {
			here = here[:0]
			return each(conn, fmt.Sprintf("PRAGMA integrity_check(%s)", Quote(table)), func(s *sqlite.Stmt) {
				if text := s.ColumnText(0); text != "ok" && len(here) < maxDamages {
					here = append(here, table+": "+text)
				}
			})
		})
		if err != nil {
			return damaged(found, err)
		}
		found = append(found, here...)
	}
	return found, nil
}

// damaged tells damage that ended the reading from other errors.
func damaged(found []string, err error) ([]string, error) {
	if errors.Is(err, store.ErrNotAStore) {
		return append(found, err.Error()), nil
	}
	return found, err
}

// each runs a query that is asked once.
func each(conn *sqlite.Conn, query string, row func(*sqlite.Stmt)) (err error) {
	stmt, _, err := conn.PrepareTransient(query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Finalize()) }()
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return err
		}
		row(stmt)
	}
}

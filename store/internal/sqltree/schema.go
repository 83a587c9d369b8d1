package sqltree

import (
	"errors"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
)

// SchemaVersion is the version that [Migrate] brings a database to.
const SchemaVersion = 2

// ErrNewerSchema is a database whose tree tables a later version has migrated.
var ErrNewerSchema = errors.New("the tree tables were made by a newer version")

// ErrOlderSchema is a database whose tree tables are of an earlier version and were
// not migrated.
var ErrOlderSchema = errors.New("the tree tables were made by an older version")

// migrations[i] leads from version i to version i+1.
//
// A tree is known by a number that is never used again, so that deleting it is
// one row and a cursor of a deleted tree fits no tree created later under the
// same name. A deleted tree keeps its row, without an id, until its nodes are
// gone: see reap.
//
// Nodes are kept in the order of appending, which ids that climb with time share,
// and know their parent by its number: following one is a third of the cost of
// looking up an id. The name of the parent is kept beside it, so that no list has
// to look it up. One index is of the [key]s, the other one ends in the id, so
// children come in identity order from it, and with parent NULL the roots do.
var migrations = [...]string{
	`CREATE TABLE tree_sessions (
  tree INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT UNIQUE,
  kind TEXT NOT NULL,
  expires_at REAL
);
CREATE INDEX tree_sessions_kind ON tree_sessions (kind, id);
CREATE TABLE tree_nodes (
  node INTEGER PRIMARY KEY,
  tree INTEGER NOT NULL,
  id TEXT NOT NULL,
  parent INTEGER,
  parent_id TEXT,
  kind TEXT NOT NULL,
  data TEXT NOT NULL
);
CREATE UNIQUE INDEX tree_nodes_id ON tree_nodes (tree, id);
CREATE INDEX tree_nodes_children ON tree_nodes (tree, parent, id);
CREATE TABLE tree_schema (version INTEGER NOT NULL);
INSERT INTO tree_schema (version) VALUES (0);
`,
	`DROP INDEX tree_nodes_id;
CREATE UNIQUE INDEX tree_nodes_key ON tree_nodes (` + key + `);
`,
}

// Columns names the tables that trees are read from, with the columns each must
// have. A database that has them holds trees, whatever else it holds. One that
// has lost the indexes is not read: the queries name them.
func Columns() map[string][]string {
	return map[string][]string{
		"tree_sessions": {"tree", "id", "kind", "expires_at"},
		"tree_nodes":    {"node", "tree", "id", "parent", "parent_id", "kind", "data"},
	}
}

// Migrate creates the tables or brings them to [SchemaVersion], all in one
// transaction: an immediate one, or a savepoint where the caller has begun one.
// Tables that are up to date are only looked at. A newer schema is
// [ErrNewerSchema]; a table of somebody else's under one of the names, and a
// database whose text is not UTF-8 (ids would not be in byte order), are errors
// too. Nothing is changed on error.
func Migrate(conn *sqlite.Conn) error {
	version, err := schemaVersion(conn)
	if err != nil {
		return fmt.Errorf("tree tables: %w", err)
	}
	if version == SchemaVersion {
		return nil
	}
	if err := Atomically(conn, func() error { return migrate(conn) }); err != nil {
		return fmt.Errorf("tree tables: %w", err)
	}
	return nil
}

func migrate(conn *sqlite.Conn) error {
	// Another process may have migrated between the first look and the lock.
	version, err := schemaVersion(conn)
	if err != nil {
		return err
	}
	if version > SchemaVersion {
		return fmt.Errorf("%w: version %d, this one knows %d", ErrNewerSchema, version, SchemaVersion)
	}
	var encoding string
	if _, err := first(conn, "PRAGMA encoding", nil, func(row *sqlite.Stmt) { encoding = row.ColumnText(0) }); err != nil {
		return err
	}
	if encoding != "UTF-8" {
		return fmt.Errorf("the database keeps text as %s, trees need UTF-8", encoding)
	}
	for _, script := range migrations[version:] {
		if err := execute(conn, script); err != nil {
			return err
		}
	}
	return execute(conn, fmt.Sprintf("UPDATE tree_schema SET version = %d", SchemaVersion))
}

// schemaVersion is 0 where there are no tree tables yet.
func schemaVersion(conn *sqlite.Conn) (version int64, err error) {
	found, err := first(conn, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'tree_schema'", nil, func(*sqlite.Stmt) {})
	if err != nil || !found {
		return 0, err
	}
	found, err = first(conn, "SELECT version FROM tree_schema", nil, func(row *sqlite.Stmt) { version = row.ColumnInt64(0) })
	if err == nil && !found {
		err = errors.New("tree_schema is empty")
	}
	return version, err
}

// execute runs statements that return nothing and are not worth keeping.
func execute(conn *sqlite.Conn, script string) error {
	for script = strings.TrimSpace(script); script != ""; script = strings.TrimSpace(script) {
		stmt, trailing, err := conn.PrepareTransient(script)
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			more, err = stmt.Step()
		}
		if err := errors.Join(err, stmt.Finalize()); err != nil {
			return err
		}
		script = script[len(script)-trailing:]
	}
	return nil
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"treering/store"
)

// setupLock is the advisory lock that harel takes while it sets up its tables, and so
// do we: two who create the same table at once would fail otherwise.
const setupLock = 7723019

// What our tables are told by: the beginning of the comment on executions tables and on
// tree_sessions, followed by the version of the schema.
const (
	commentPrefix = "treering schema "
	schemaVersion = "1"
	comment       = commentPrefix + schemaVersion
)

// executionDDL makes harel's six tables. Text that is compared is bytewise by its
// definition, whatever the database's own collation, so that keys serve our order; the
// columns are otherwise harel's, with 64 bits where harel has 32.
func executionDDL(schema, prefix string) []string {
	name := func(table string) string { return pgx.Identifier{schema, tableName(prefix, table)}.Sanitize() }
	const key = `text COLLATE "C" NOT NULL`
	return []string{
		`CREATE TABLE ` + name(tableExecutions) + ` (id ` + key + ` PRIMARY KEY, definition_id ` + key + `, data text NOT NULL, version bigint NOT NULL)`,
		`CREATE TABLE ` + name(tableOutbox) + ` (seq bigserial PRIMARY KEY, target_id text COLLATE "C", event text NOT NULL)`,
		`CREATE TABLE ` + name(tableProcessed) + ` (execution_id ` + key + `, event_id ` + key + `, PRIMARY KEY (execution_id, event_id))`,
		`CREATE TABLE ` + name(tableTimers) + ` (execution_id ` + key + `, path ` + key + `, fire_at double precision NOT NULL, PRIMARY KEY (execution_id, path))`,
		`CREATE TABLE ` + name(tableSpawns) + ` (seq bigserial PRIMARY KEY, parent_id ` + key + `, child_id ` + key + `, root_path ` + key + `, context text NOT NULL)`,
		`CREATE TABLE ` + name(tableTrace) + ` (execution_id ` + key + `, idx bigint NOT NULL, entry text NOT NULL, PRIMARY KEY (execution_id, idx))`,
		`COMMENT ON TABLE ` + name(tableExecutions) + ` IS '` + comment + `'`,
	}
}

// treeDDL makes the tables of session trees. A tree is known by a number that is never
// used again, so that deleting it is one row, and a cursor of a deleted tree fits no
// later one of the same name. A deleted tree keeps its row, without an id, until its
// nodes are gone. The partial index lets a tree have one root, whoever writes.
func treeDDL(schema string) []string {
	sessions, nodes := pgx.Identifier{schema, tableTreeSessions}.Sanitize(), pgx.Identifier{schema, tableTreeNodes}.Sanitize()
	return []string{
		`CREATE TABLE ` + sessions + ` (tree bigserial PRIMARY KEY, id text COLLATE "C" UNIQUE, kind text COLLATE "C" NOT NULL, expires_at double precision)`,
		`CREATE TABLE ` + nodes + ` (tree bigint NOT NULL, id text COLLATE "C" NOT NULL, parent_id text COLLATE "C", kind text COLLATE "C" NOT NULL, data text NOT NULL, PRIMARY KEY (tree, id))`,
		`CREATE INDEX tree_nodes_children ON ` + nodes + ` (tree, parent_id, id)`,
		`CREATE UNIQUE INDEX tree_nodes_root ON ` + nodes + ` (tree) WHERE parent_id IS NULL`,
		`COMMENT ON TABLE ` + sessions + ` IS '` + comment + `'`,
	}
}

// create makes the contracts that are missing, in one transaction under harel's lock.
// announce is told what, before anything is made.
func create(ctx context.Context, conn *pgx.Conn, prefix *string, announce func(what []string) error) error {
	set := DefaultPrefix
	if prefix != nil {
		set = strings.TrimSuffix(*prefix, "_")
		if err := checkPrefix(set); err != nil {
			return err
		}
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", setupLock); err != nil {
			return err
		}
		l, err := detect(ctx, tx) // somebody else may have been faster
		if err != nil {
			return err
		}
		var schema *string
		if err := tx.QueryRow(ctx, "SELECT current_schema()::text").Scan(&schema); err != nil {
			return err
		}
		var ddl, what []string
		if _, _, err := l.pick(prefix); prefix == nil && len(l.Sets) == 0 || errors.Is(err, store.ErrNotFound) {
			what = append(what, "executions")
			if schema != nil {
				ddl = append(ddl, executionDDL(*schema, set)...)
			}
		}
		if !l.Trees && !l.OtherTree {
			what = append(what, "session trees")
			if schema != nil {
				ddl = append(ddl, treeDDL(*schema)...)
			}
		}
		if what == nil {
			return nil
		}
		if schema == nil {
			return fmt.Errorf("%w: no schema of the search path is there to make tables in", store.ErrStoreNotFound)
		}
		if announce != nil {
			if err := announce(what); err != nil {
				return err
			}
		}
		for _, statement := range ddl {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// The tables of session trees.
const (
	tableTreeSessions = "tree_sessions"
	tableTreeNodes    = "tree_nodes"
)

// treeTables are their quoted names.
type treeTables struct {
	sessions, nodes string
	oid             uint32
}

// findTrees looks for the tree tables.
func (l *Layout) findTrees(all map[string]relation) {
	sessions, nodes := all[tableTreeSessions], all[tableTreeNodes]
	whyS := lacks(all, tableTreeSessions, []string{"tree", "id", "kind", "expires_at"})
	whyN := lacks(all, tableTreeNodes, []string{"tree", "id", "parent_id", "kind", "data"})
	switch {
	case whyS == "" && whyN == "" && sessions.schema == nodes.schema && sessions.comment == comment:
		l.Trees = true
		l.trees = treeTables{sessions.quoted(), nodes.quoted(), sessions.oid}
	case sessions.name != "" || nodes.name != "":
		l.OtherTree = true
	}
}

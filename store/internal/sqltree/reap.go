package sqltree

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// A deleted tree loses its id at once and its nodes in portions, each its own
// transaction.
const (
	reapNodes = 4096     // nodes in a portion: some 15 ms
	reapBytes = 32 << 20 // or this much data
)

const (
	deletedTree = "SELECT tree FROM tree_sessions WHERE id IS NULL LIMIT 1"
	nodeSizes   = "SELECT id, octet_length(data) FROM tree_nodes " + byKey + "> ? AND " + key + " < ? ORDER BY " + key
	deleteUpTo  = "DELETE FROM tree_nodes " + byKey + "> ? AND " + key + " <= ?"
)

// markDeleted takes the id from a tree: nobody finds it any more.
func markDeleted(conn *sqlite.Conn, number int64) error {
	_, err := change(conn, "UPDATE tree_sessions SET id = NULL WHERE tree = ?", func(q *sqlite.Stmt) { q.BindInt64(1, number) })
	return err
}

// detach deletes a tree as far as anybody can see, and the first portion of its
// nodes, which mostly is all of them.
func detach(conn *sqlite.Conn, number int64) error {
	if err := markDeleted(conn, number); err != nil {
		return err
	}
	return reapPortion(conn, number)
}

// reap removes what is left of deleted trees, whoever deleted them.
func (s *Store) reap(ctx context.Context) error {
	for {
		var number int64
		var found bool
		err := s.read(ctx, func(conn *sqlite.Conn) (err error) {
			found, err = first(conn, deletedTree, nil,
				func(row *sqlite.Stmt) { number = row.ColumnInt64(0) })
			return err
		})
		if err == nil && found {
			err = s.write(ctx, func(conn *sqlite.Conn) error { return reapPortion(conn, number) })
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("deleted, but the nodes are not all removed yet (the next delete or purge goes on): %w", err)
		case !found:
			return nil
		}
	}
}

// reapPortion removes one portion of a deleted tree's nodes, and its row with the
// last of them.
func reapPortion(conn *sqlite.Conn, number int64) error {
	var (
		last         string
		nodes, bytes int64
		rest         bool
	)
	err := each(conn, nodeSizes,
		func(q *sqlite.Stmt) {
			q.BindText(1, keyOf(number, ""))
			q.BindText(2, keysEnd(number))
		},
		func(row *sqlite.Stmt) bool {
			if rest = nodes == reapNodes || bytes >= reapBytes; rest {
				return false
			}
			nodes++
			bytes += row.ColumnInt64(1)
			if nodes == reapNodes || bytes >= reapBytes {
				last = row.ColumnText(0)
			}
			return true
		})
	if err != nil {
		return err
	}
	if rest {
		_, err = change(conn, deleteUpTo, func(q *sqlite.Stmt) {
			q.BindText(1, keyOf(number, ""))
			q.BindText(2, keyOf(number, last))
		})
		return err
	}
	for _, statement := range [...]string{"DELETE FROM tree_nodes WHERE tree = ?", "DELETE FROM tree_sessions WHERE tree = ?"} {
		if _, err := change(conn, statement, func(q *sqlite.Stmt) { q.BindInt64(1, number) }); err != nil {
			return err
		}
	}
	return nil
}

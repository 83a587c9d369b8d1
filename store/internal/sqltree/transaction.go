package sqltree

import (
	"errors"

	"zombiezen.com/go/sqlite"
)

// Atomically runs fn in an immediate transaction, or in a savepoint of the one
// that is open, and rolls back where fn fails or panics.
func Atomically(conn *sqlite.Conn, fn func() error) error {
	if conn.AutocommitEnabled() {
		return transaction(conn, fn, "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
	}
	return transaction(conn, fn, "SAVEPOINT tree", "RELEASE tree", "ROLLBACK TO tree", "RELEASE tree")
}

// Together runs fn, which reads, in one transaction: it sees one state, and its
// queries do not each lock and unlock the database.
func Together(conn *sqlite.Conn, fn func() error) error {
	if conn.AutocommitEnabled() {
		return transaction(conn, fn, "BEGIN", "COMMIT", "ROLLBACK")
	}
	return fn()
}

func transaction(conn *sqlite.Conn, fn func() error, begin, commit string, rollback ...string) (err error) {
	if err := run(conn, begin); err != nil {
		return err
	}
	done := false
	defer func() {
		// Some errors, a full disk among them, have rolled back by themselves.
		if done || conn.AutocommitEnabled() {
			return
		}
		for _, statement := range rollback {
			err = errors.Join(err, run(conn, statement))
		}
	}()
	if err := fn(); err != nil {
		return err
	}
	if err := run(conn, commit); err != nil {
		return err
	}
	done = true
	return nil
}

func run(conn *sqlite.Conn, statement string) error {
	_, err := change(conn, statement, nil)
	return err
}

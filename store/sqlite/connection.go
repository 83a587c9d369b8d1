package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// busySlice is how long SQLite itself waits for a lock before it hands back
// control. Its wait cannot be interrupted, so a longer one is made of slices
// between which the context is looked at.
const busySlice = 20 * time.Millisecond

// connect opens one connection that cannot write, whatever mode its URI asks for.
func connect(uri string, flags sqlite.OpenFlags) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(uri, flags|sqlite.OpenURI)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(busySlice)
	if err := set(conn, "query_only", "1"); err != nil {
		return nil, closeAfter(conn, err)
	}
	// A view or trigger of a foreign file gets at nothing that could have a side effect.
	if err := set(conn, "trusted_schema", "0"); err != nil {
		return nil, closeAfter(conn, err)
	}
	return conn, nil
}

// closeAfter closes a connection that failed. Nothing was written through it, so
// the first error is the one that matters.
func closeAfter(conn *sqlite.Conn, err error) error {
	conn.Close()
	return err
}

// set changes a pragma and reads it back.
func set(conn *sqlite.Conn, pragma, value string) error {
	if err := run(conn, "PRAGMA "+pragma+"="+value); err != nil {
		return err
	}
	got, err := text(conn, "PRAGMA "+pragma)
	if err == nil && !strings.EqualFold(got, value) {
		err = fmt.Errorf("PRAGMA %s is %s after it was set to %s", pragma, got, value)
	}
	return err
}

// run executes one statement that is not worth keeping.
func run(conn *sqlite.Conn, sql string) error {
	_, err := text(conn, sql)
	return err
}

// text executes one statement to its end and returns the first column of its first
// row.
func text(conn *sqlite.Conn, sql string) (first string, err error) {
	stmt, _, err := conn.PrepareTransient(sql)
	if err != nil {
		return "", err
	}
	defer stmt.Finalize()
	for n := 0; ; n++ {
		row, err := stmt.Step()
		if err != nil || !row {
			return first, err
		}
		if n == 0 {
			first = stmt.ColumnText(0)
		}
	}
}

// step executes a statement that the connection keeps prepared.
func step(conn *sqlite.Conn, sql string) error {
	stmt, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	_, err = stmt.Step()
	if rerr := stmt.Reset(); err == nil {
		err = rerr
	}
	return err
}

// isBusy reports whether waiting may help.
func isBusy(err error) bool {
	p := sqlite.ErrCode(err).ToPrimary()
	return p == sqlite.ResultBusy || p == sqlite.ResultLocked || p == sqlite.ResultProtocol
}

// untilFree repeats try while it answers that a lock is held, until the deadline
// or the end of the context.
func untilFree(ctx context.Context, deadline time.Time, try func() error) error {
	for {
		start := time.Now()
		err := try()
		if err == nil || !isBusy(err) || ctx.Err() != nil || !time.Now().Before(deadline) {
			return err
		}
		// Some locks are refused without SQLite's own wait.
		if rest := busySlice/4 - time.Since(start); rest > 0 {
			if err := pause(ctx, rest); err != nil {
				return err
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inRead runs fn inside one read transaction. It leaves the connection without a
// transaction, without an interrupt and with its kept statements reset.
//
// The end of ctx interrupts it, and what it has read by then is no answer any more.
func inRead(ctx context.Context, i *interruption, wait time.Duration, fn func(*sqlite.Conn) error) (err error) {
	conn := i.conn
	off := i.during(ctx)
	defer func() {
		off()
		if conn.AutocommitEnabled() {
			return
		}
		if rerr := step(conn, "ROLLBACK"); rerr != nil && err == nil {
			err = rerr
		}
	}()
	err = untilFree(ctx, time.Now().Add(wait), func() error {
		if err := step(conn, "BEGIN"); err != nil {
			return err
		}
		// BEGIN takes no lock yet. Here every obstacle shows: a lock, a hot journal, a
		// log that cannot be read, a file that is no database.
		err := step(conn, "SELECT 1 FROM sqlite_schema")
		if err != nil && !conn.AutocommitEnabled() {
			if rerr := step(conn, "ROLLBACK"); rerr != nil && ctx.Err() == nil {
				return rerr
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := fn(conn); err != nil {
		return err
	}
	return ctx.Err()
}

// Writing connections wait this long for another process, and move the log into
// the database once it has that many pages: a busy store then does so a quarter as
// often as by default, which halves the slowest commits.
const (
	writerBusyTimeout    = 5 * time.Second
	writerAutocheckpoint = "4000"
	writerCache          = "-16000" // KiB, negative as SQLite wants it
)

// makeWriter turns a connection made by connect into the writing one.
func makeWriter(conn *sqlite.Conn, synchronous string) error {
	level, ok := synchronousLevel(synchronous)
	if !ok {
		return fmt.Errorf("synchronous cannot be %q: FULL, NORMAL or OFF", synchronous)
	}
	conn.SetBusyTimeout(writerBusyTimeout)
	for _, s := range [][2]string{
		{"query_only", "0"},
		{"synchronous", level},
		{"busy_timeout", fmt.Sprint(writerBusyTimeout.Milliseconds())},
		{"wal_autocheckpoint", writerAutocheckpoint},
		{"cache_size", writerCache},
	} {
		if err := set(conn, s[0], s[1]); err != nil {
			return err
		}
	}
	return nil
}

// synchronousLevel is SQLite's number for one of the three words.
func synchronousLevel(word string) (level string, ok bool) {
	switch word {
	case "FULL":
		return "2", true
	case "NORMAL":
		return "1", true
	case "OFF":
		return "0", true
	}
	return "", false
}

// setWAL puts a database of ours into WAL mode, in which it stays.
func setWAL(ctx context.Context, path string, conn *sqlite.Conn, wait time.Duration) error {
	var mode string
	err := untilFree(ctx, time.Now().Add(wait), func() (err error) {
		mode, err = text(conn, "PRAGMA journal_mode=wal")
		return err
	})
	if err == nil && mode != "wal" {
		return &OpenError{path, "its file system does not allow SQLite's WAL mode (it stays " + mode + ")", "keep the store on a local disk", store.ErrReadOnly}
	}
	return err
}

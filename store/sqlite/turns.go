package sqlite

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"
)

// turns sees to it that other processes can write to the file as well. Whoever waits
// for SQLite's lock sleeps between looks, up to 100 ms at a time, and finds it taken
// by a writer that begins its next transaction as soon as one is done; after its busy
// timeout it gives up. So a writer that has had the lock most of the time leaves it
// free for a while, but only where another process is there to take it: alone nothing
// is given away.
type turns struct {
	since  time.Time     // of this look-out
	held   time.Duration // how long the lock was held since
	begun  time.Time     // of the transaction under way
	seen   time.Time     // another's write was last noticed
	alone  time.Time     // nobody else was there, or was left a long pause
	others int64         // the data_version, which moves when others write
	owed   time.Duration // how long to leave the lock free before the next transaction
}

const (
	// lookOut is after how long the writer asks itself whether it takes too much.
	lookOut = 20 * time.Millisecond
	// While others write, the lock is left free for a third of the time. They find it
	// so after three looks on average.
	shortPause = 10 * time.Millisecond
	othersFor  = 5 * time.Second // since they were last noticed
	// A process that has the file open and does not write may be one that reads, or one
	// that waits to write for the first time: every so often the lock is left free for
	// longer than SQLite sleeps between two looks. That comes well before the timeout of
	// 5 s that is Python's default and harel's.
	longPause      = 105 * time.Millisecond
	longPauseEvery = 2500 * time.Millisecond
)

// taken, left and met note that a transaction begins, that it has ended, and that
// another's was in the way.
func (t *turns) taken() { t.begun = time.Now() }

func (t *turns) left() {
	if !t.begun.IsZero() {
		t.held += time.Since(t.begun)
		t.begun = time.Time{}
	}
}

func (t *turns) met() { t.seen = time.Now() }

// look finds out what is owed. It is called before each transaction.
func (t *turns) look(w *writer, conn *sqlite.Conn) error {
	now := time.Now()
	since := now.Sub(t.since)
	if since < lookOut || t.owed > 0 {
		return nil
	}
	held := t.held
	t.since, t.held = now, 0
	if held < since/2 {
		return nil
	}
	version, err := dataVersion(conn)
	switch {
	case isBusy(err):
		t.met()
	case err != nil:
		return err
	case version != t.others:
		if t.others != 0 {
			t.seen = now
		}
		t.others = version
	}
	if now.Sub(t.seen) < othersFor {
		t.owed, t.alone = shortPause, now
		return nil
	}
	// Without a log nobody can be seen waiting.
	there := true
	if w.wal {
		if there, err = sharedByOthers(w.src.file.fd); err != nil {
			return err
		}
	}
	switch {
	case !there:
		t.alone = now
	case now.Sub(t.alone) >= longPauseEvery:
		if !t.alone.IsZero() {
			t.owed = longPause
		}
		t.alone = now
	}
	return nil
}

// pay leaves the lock free for as long as is owed.
func (t *turns) pay(ctx context.Context) error {
	if t.owed == 0 {
		return nil
	}
	err := pause(ctx, t.owed)
	t.owed, t.since, t.held = 0, time.Now(), 0
	return err
}

// dataVersion moves whenever another connection has written.
func dataVersion(conn *sqlite.Conn) (version int64, err error) {
	err = query(conn, "PRAGMA data_version", nil, func(row *sqlite.Stmt) bool {
		version = row.ColumnInt64(0)
		return false
	})
	return version, err
}

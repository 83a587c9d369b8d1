package sqlite

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
)

// busy is a write that holds the lock for a millisecond.
func busy(*sqlite.Conn) error {
	time.Sleep(time.Millisecond)
	return nil
}

// However many write here without a break, a program beside them that waits as SQLite
// does gets its turn: for each of its writes there are so many of ours and no more.
func TestOthersGetTheirTurn(t *testing.T) {
	for _, committers := range []int{1, 8} {
		db := openNew(t, Options{Synchronous: "OFF"})
		other := writerProcess(t, db.Path())
		var ours atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range committers {
			wg.Go(func() {
				for ctx.Err() == nil {
					if err := db.writer.write(context.Background(), busy); err != nil {
						t.Error(err)
						return
					}
					ours.Add(1)
				}
			})
		}
		const add = "INSERT INTO harel_outbox (event) VALUES ('{}')"
		other.do(add) // from now on it is known
		before := ours.Load()
		const theirs = 20
		for range theirs {
			other.do(add)
		}
		each := (ours.Load() - before) / theirs
		cancel()
		wg.Wait()
		// The lock is held for 20 ms and free for 10, in which most of them come.
		if each > int64(200*committers) {
			t.Errorf("%d committers: %d writes of ours for each of another's", committers, each)
		}
		other.close()
	}
}

// Alone nothing is given away; to a process that only has the file open a long pause
// now and then; to one that writes a short one each time.
func TestTurnsOwed(t *testing.T) {
	db := openNew(t, Options{})
	w := db.writer
	look := func(alone time.Duration) time.Duration {
		t.Helper()
		if err := w.write(t.Context(), busy); err != nil {
			t.Fatal(err)
		}
		w.turn.Lock()
		defer w.turn.Unlock()
		w.turns.owed = 0
		w.turns.since, w.turns.held = time.Now().Add(-lookOut), lookOut
		w.turns.alone = time.Now().Add(-alone)
		if err := w.turns.look(w, w.conn); err != nil {
			t.Fatal(err)
		}
		owed := w.turns.owed
		w.turns.owed = 0
		return owed
	}
	for range 2 {
		if owed := look(longPauseEvery); owed != 0 {
			t.Errorf("alone: %v is given away", owed)
		}
	}
	other := writerProcess(t, db.Path(), "SELECT 1 FROM sqlite_schema")
	if owed := look(0); owed != 0 {
		t.Errorf("soon after the last pause: %v", owed)
	}
	if owed := look(longPauseEvery); owed != longPause {
		t.Errorf("with a reader: %v, want %v", owed, longPause)
	}
	other.do("INSERT INTO harel_outbox (event) VALUES ('{}')")
	if owed := look(0); owed != shortPause {
		t.Errorf("with a writer: %v, want %v", owed, shortPause)
	}
	w.turn.Lock()
	w.turns.since, w.turns.held = time.Now().Add(-lookOut), lookOut/4
	err := w.turns.look(w, w.conn)
	owed := w.turns.owed
	w.turn.Unlock()
	if err != nil || owed != 0 {
		t.Errorf("after a quiet time: %v, %v", owed, err)
	}
	other.close()
}

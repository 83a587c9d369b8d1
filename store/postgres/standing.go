package postgres

import (
	"sync"
	"time"

	"treering/store"
)

// standingQuery asks what [standing] says. What the receiver of a standby does is told
// to few, that it is there to everybody.
const standingQuery = "pg_is_in_recovery(), pg_is_in_recovery() AND NOT EXISTS (SELECT 1 FROM pg_stat_wal_receiver)"

// standing is how a server stands to others.
type standing struct {
	replica bool // it takes no writes, and follows another one
	cut     bool // nothing reaches it from that one
}

// isReplica is why a standby is not written to.
const isReplica = "the server is a replica (a standby), which takes no writes"

// stands remembers how the server stands, as far as it was seen.
type stands struct {
	mu  sync.Mutex
	now standing
	cut time.Time // since when now.cut
}

// note remembers what was seen, and returns what it adds to the token of changes.
func (s *stands) note(now standing) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !now.cut:
		s.cut = time.Time{}
	case s.cut.IsZero():
		s.cut = time.Now()
	}
	s.now = now
	switch {
	case now.cut:
		return " cut off"
	case now.replica:
		return " replica"
	}
	return ""
}

var _ store.Follower = (*DB)(nil)

// Behind implements [store.Follower]: a standby that nothing reaches shows what was.
func (db *DB) Behind() (since time.Time, why string) {
	db.stands.mu.Lock()
	defer db.stands.mu.Unlock()
	if db.stands.cut.IsZero() {
		return time.Time{}, ""
	}
	return db.stands.cut, "the server is a replica that nothing reaches from the one that it follows"
}

// How says how and why the database is open as it is, and asks the server nothing: what
// it became since is known from looks at it.
func (db *DB) How() (how, why string) {
	db.stands.mu.Lock()
	replica := db.stands.now.replica
	db.stands.mu.Unlock()
	switch {
	case db.asked && db.server.Replica && !replica:
		return db.how, "the server was a replica when it was opened, and takes writes now: open it again to write"
	case db.readOnly == "" && replica:
		return db.how, isReplica + " now"
	}
	return db.how, db.why
}

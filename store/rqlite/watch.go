package rqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"treering/store"
)

var _ store.Waiter = (*DB)(nil)

// defaultPoll is how often Wait looks: rqlite tells nobody when something changes.
const defaultPoll = 250 * time.Millisecond

// watch is what the last look at a node came to.
type watch struct {
	mu     sync.Mutex
	status nodeStatus
	known  bool
	denied bool      // the user may not see the status
	since  time.Time // the node is behind, or may be; zero: nothing speaks for that
}

// Bounds of what a node that is well may be behind: leaders send a sign of life every
// second, and what was written is applied in less.
const (
	contactMost = 3 * time.Second
	behindMost  = 2 * time.Second
)

// note remembers what a node says, and returns what it adds to the token of changes.
func (w *watch) note(s nodeStatus, now time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status, w.known = s, true
	switch {
	case s.leader || !s.alone && s.contact < contactMost && s.behind == 0:
		w.since = time.Time{}
	case w.since.IsZero():
		w.since = now.Add(-s.contact)
	}
	if w.stale(now) {
		return " behind"
	}
	return ""
}

func (w *watch) stale(now time.Time) bool { return !w.since.IsZero() && now.Sub(w.since) >= behindMost }

var _ store.Follower = (*DB)(nil)

// Behind implements [store.Follower].
func (db *DB) Behind() (since time.Time, why string) {
	db.watch.mu.Lock()
	defer db.watch.mu.Unlock()
	if !db.watch.stale(time.Now()) {
		return time.Time{}, ""
	}
	return db.watch.since, db.watch.status.staleness()
}

// nodeStatus is what a node says of its place in the cluster.
type nodeStatus struct {
	node    string // host:port that was asked
	leader  bool
	alone   bool          // it hears of no leader
	contact time.Duration // since it heard from the leader last
	behind  int64         // entries of the log that the node knows of and has not applied
	index   string        // of the last entry that changed the database
}

// staleness says how the node stands to its leader.
func (s nodeStatus) staleness() string {
	switch {
	case s.leader:
		return "lists are read from the leader, " + s.node
	case s.alone:
		return "lists are read from " + s.node + ", which hears of no leader and may be far behind"
	}
	text := "lists are read from " + s.node + ", which heard from the leader " + s.contact.String() + " ago"
	if s.behind > 0 {
		text += fmt.Sprintf(" and is %d entries behind", s.behind)
	}
	return text
}

// ChangeToken implements [store.Watcher]: the number of the last entry of the log that
// has changed the database of the node that lists are read from.
func (db *DB) ChangeToken(ctx context.Context) (string, error) {
	if err := db.usable(ctx); err != nil {
		return "", err
	}
	db.watch.mu.Lock()
	denied := db.watch.denied
	db.watch.mu.Unlock()
	if !denied {
		s, err := db.client.status(ctx)
		switch {
		case err == nil:
			return s.index + db.watch.note(s, time.Now()), nil
		case !errors.Is(err, ErrDenied):
			return "", err
		}
		db.watch.mu.Lock()
		db.watch.denied = true
		db.watch.mu.Unlock()
	}
	// Without the right to see the status, time stands in for it: everything is read anew
	// every other second. One read says whether the cluster is there.
	if _, err := db.query(ctx, db.browse(), sql("SELECT 1")); err != nil {
		return "", err
	}
	return "t" + strconv.FormatInt(time.Now().Unix()/2, 10), nil
}

// Wait implements [store.Waiter], by looking again and again.
func (db *DB) Wait(ctx context.Context, token string) (string, error) {
	ticker := time.NewTicker(db.opts.Poll)
	defer ticker.Stop()
	for {
		now, err := db.ChangeToken(ctx)
		if err != nil || now != token {
			return now, err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-db.ended:
			return "", store.ErrClosed
		case <-ticker.C:
		}
	}
}

// Noticing implements [store.Waiter].
func (db *DB) Noticing() string {
	db.watch.mu.Lock()
	denied := db.watch.denied
	db.watch.mu.Unlock()
	if denied {
		return "every 2s, by reading anew: the user may not see the node's status"
	}
	return fmt.Sprintf("within %v, by asking; %s", db.opts.Poll, db.Staleness())
}

// Staleness says for people how old what is browsed may be: which node it comes from
// and how that stands to the leader.
func (db *DB) Staleness() string {
	if !db.opts.Browse {
		return "every read goes through the cluster's log"
	}
	db.watch.mu.Lock()
	defer db.watch.mu.Unlock()
	if !db.watch.known {
		return "lists are read from one node as it is"
	}
	return db.watch.status.staleness()
}

// Identity implements [store.Waiter].
func (db *DB) Identity(ctx context.Context) (string, error) {
	if err := db.usable(ctx); err != nil {
		return "", err
	}
	return db.scope, nil
}

// status asks the node that lists are read from, or the next one that answers.
func (c *client) status(ctx context.Context) (nodeStatus, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, min(c.timeout, readTry), errTimeout)
	defer cancel()
	unavailable := &UnavailableError{}
	for _, node := range c.order(false) {
		status, _, text, err := c.post(ctx, http.MethodGet, node, "/status?key=store", nil)
		switch {
		case err != nil:
			err = c.unreached(ctx, node, err)
		case status == http.StatusUnauthorized || status == http.StatusForbidden:
			return nodeStatus{}, &NodeError{node, "it does not show its status to this user", ErrDenied}
		case status != http.StatusOK:
			err = &NodeError{node, orStatus(short(strings.TrimSpace(string(text))), status), nil}
		default:
			s, serr := readStatus(node, text)
			if serr == nil {
				c.note(node, false)
				return s, nil
			}
			err = serr
		}
		unavailable.Nodes = append(unavailable.Nodes, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nodeStatus{}, unavailable
}

// readStatus reads the part "store" of a status.
func readStatus(node string, text []byte) (nodeStatus, error) {
	var said struct {
		Open      *json.RawMessage `json:"open"`
		FSM       json.Number      `json:"fsm_index"`
		DBApplied json.Number      `json:"db_applied_index"`
		Raft      struct {
			State       string          `json:"state"`
			LastContact json.RawMessage `json:"last_contact"`
			Commit      json.Number     `json:"commit_index"`
			Applied     json.Number     `json:"applied_index"`
		} `json:"raft"`
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return nodeStatus{}, &NodeError{node, "its status cannot be read", err}
	}
	s := nodeStatus{node: node, leader: said.Raft.State == "Leader", index: said.DBApplied.String()}
	if s.index == "" { // of an older server
		s.index = said.FSM.String()
	}
	if s.index == "" {
		s.index = said.Raft.Applied.String()
	}
	if s.index == "" {
		return nodeStatus{}, &NodeError{node, "its status says nothing about the database", nil}
	}
	// "0", 0, "12.3ms" or "never"; of the leader it is 0.
	contact, err := time.ParseDuration(strings.Trim(string(said.Raft.LastContact), `"`))
	s.contact, s.alone = contact.Round(time.Millisecond), err != nil
	commit, cerr := said.Raft.Commit.Int64()
	applied, aerr := said.Raft.Applied.Int64()
	if cerr == nil && aerr == nil {
		s.behind = max(0, commit-applied)
	}
	return s, nil
}

package memory

import (
	"context"
	"crypto/rand"
	"hash/maphash"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"treering/store"
)

// Executions keeps executions as the live objects that were saved. Contract,
// DictStore: Load returns the identical object, never a copy, so it is for the
// engine that owns the objects. Everybody else reads summaries, queues, traces
// and snapshots, which are of the last commit: the store reads a live object
// only inside its owner's own Save or Commit.
//
// It implements [store.ExecutionStore], [store.Observed] and [store.Watcher].
type Executions struct {
	scope     string // of cursors: this store and no other
	traceMax  int    // 0 is unbounded
	seed      maphash.Seed
	observers atomic.Int64
	bell      *bell

	// mu guards everything below and in the records: a commit's parts become visible
	// together because they are written under one hold.
	mu       sync.Mutex
	closed   bool
	changes  uint64
	byID     map[string]*record
	byOrder  sorted[*record] // those with an execution, by id
	byStatus map[store.Status]int64
	purged   map[string]struct{} // ids that were: their stale copies must not revive them
	outbox   queue[mail]
	spawns   queue[birth]
	seqs     seqRoom // for answers
	timers   sorted[*timer]
}

var (
	_ store.ExecutionStore = (*Executions)(nil)
	_ store.Observed       = (*Executions)(nil)
)

// record is all that is kept under one id. It exists without an execution while
// there are steps or outbox entries for the id.
type record struct {
	id        string
	exe       *store.Execution // the caller's own object; nil where there is none
	summary   store.Summary    // of the last commit; what it points to is never changed
	status    store.Status     // the summary's word, as counted
	snapshot  *store.Execution // the state of the last commit, if somebody observed it
	processed marks
	timers    map[string]*timer // by path
	recent    *timer            // the one of them that a commit armed last: mostly it is armed again
	byTime    *sorted[*timer]   // the same in order, once they are many
	trace     ring
	inbox     *chain // outbox entries to it; nil where there never were any
	spawned   *chain // spawns by it, likewise
}

// timer is one armed timer.
type timer struct {
	at   float64 // changes only while it is out of the order
	rec  *record
	path string
}

func byID(a, b *record) int { return strings.Compare(a.id, b.id) }

func byTime(a, b *timer) int {
	switch {
	case a.at < b.at:
		return -1
	case a.at > b.at:
		return 1
	case a.rec != b.rec:
		// A cursor's stand-in has a record of its own for the same id.
		if c := strings.Compare(a.rec.id, b.rec.id); c != 0 {
			return c
		}
	}
	return strings.Compare(a.path, b.path)
}

func newExecutions(traceMax int, bell *bell) *Executions {
	return &Executions{
		scope:    "memory:" + rand.Text(),
		traceMax: traceMax,
		bell:     bell,
		seed:     maphash.MakeSeed(),
		byID:     map[string]*record{},
		byOrder:  sorted[*record]{compare: byID},
		byStatus: map[store.Status]int64{},
		purged:   map[string]struct{}{},
		outbox:   newQueue[mail](func(r *record) **chain { return &r.inbox }),
		spawns:   newQueue[birth](func(r *record) **chain { return &r.spawned }),
		timers:   sorted[*timer]{compare: byTime},
	}
}

// lock takes the lock unless the call is over already or the store closed. Without
// an error the caller unlocks. It is one for reading and writing: commits are far
// more than reads and hold it for less than a microsecond, and with one that knows
// readers each of them would take longer.
func (s *Executions) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return store.ErrClosed
	}
	return nil
}

// changed notes a change. It is called under the lock.
func (s *Executions) changed() {
	s.changes++
	s.bell.ring()
}

// Load implements [store.ExecutionStore]. It allocates nothing.
func (s *Executions) Load(ctx context.Context, id string) (*store.Execution, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	rec := s.byID[id]
	if rec == nil || rec.exe == nil {
		s.mu.Unlock()
		return nil, notFound(id)
	}
	exe := rec.exe
	s.mu.Unlock()
	return exe, nil
}

func notFound(id string) error { return &store.NotFoundError{What: "execution", ID: id} }

// LoadForEvent implements [store.ExecutionStore].
func (s *Executions) LoadForEvent(ctx context.Context, id, eventID string) (*store.Execution, bool, error) {
	if err := s.lock(ctx); err != nil {
		return nil, false, err
	}
	defer s.mu.Unlock()
	rec := s.byID[id]
	if rec == nil || rec.exe == nil {
		return nil, false, notFound(id)
	}
	return rec.exe, rec.processed.has(s.seed, eventID), nil
}

// IsProcessed implements [store.ExecutionStore].
func (s *Executions) IsProcessed(ctx context.Context, id, eventID string) (bool, error) {
	if err := s.lock(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	rec := s.byID[id]
	if rec == nil {
		return false, nil
	}
	return rec.processed.has(s.seed, eventID), nil
}

// AppendTrace implements [store.ExecutionStore].
func (s *Executions) AppendTrace(ctx context.Context, id string, entry store.JSON) error {
	if err := store.CheckExecutionID(id); err != nil {
		return err
	}
	if err := store.CheckTrace(entry); err != nil {
		return err
	}
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.record(id).trace.push(entry, s.traceMax)
	s.changed()
	return nil
}

// ReadTrace implements [store.ExecutionStore].
func (s *Executions) ReadTrace(ctx context.Context, id string) ([]store.TraceEntry, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	rec := s.byID[id]
	if rec == nil {
		return nil, nil
	}
	return rec.trace.read(), nil
}

// record returns the record of an id, made where it is missing.
func (s *Executions) record(id string) *record {
	rec := s.byID[id]
	if rec == nil {
		rec = &record{id: id}
		s.byID[id] = rec
	}
	return rec
}

// dropIdle forgets a record in which nothing is left.
func (s *Executions) dropIdle(rec *record) {
	if rec.exe == nil && rec.trace.next == 0 && rec.inbox.len() == 0 && rec.spawned.len() == 0 {
		delete(s.byID, rec.id)
	}
}

// Purge implements [store.ExecutionStore].
func (s *Executions) Purge(ctx context.Context, id string, version int64) (bool, error) {
	if err := s.lock(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	rec := s.byID[id]
	if rec == nil || rec.exe != nil && rec.summary.Version != version {
		return false, nil
	}
	s.changed()
	delete(s.byID, id)
	for _, t := range rec.timers {
		s.timers.remove(t)
	}
	s.outbox.drop(rec)
	s.spawns.drop(rec)
	if rec.exe == nil {
		return false, nil
	}
	s.byOrder.remove(rec)
	s.count(rec.status, -1)
	s.purged[id] = struct{}{}
	return true, nil
}

// count keeps the totals by status.
func (s *Executions) count(word store.Status, by int64) {
	word = store.Status(strings.ToUpper(string(word)))
	if s.byStatus[word] += by; s.byStatus[word] == 0 {
		delete(s.byStatus, word)
	}
}

// Observe implements [store.Observed].
func (s *Executions) Observe() (release func()) {
	s.observers.Add(1)
	return sync.OnceFunc(func() { s.observers.Add(-1) })
}

// Snapshot implements [store.Observed]. What it returns is the caller's own.
func (s *Executions) Snapshot(ctx context.Context, id string) (store.Summary, *store.Execution, error) {
	if err := s.lock(ctx); err != nil {
		return store.Summary{}, nil, err
	}
	rec := s.byID[id]
	if rec == nil || rec.exe == nil {
		s.mu.Unlock()
		return store.Summary{}, nil, notFound(id)
	}
	summary, snapshot := rec.summary, rec.snapshot
	s.mu.Unlock()
	if snapshot != nil {
		copied := *snapshot // its Drift is nil
		own(&copied.DefinitionFQN, &copied.Outcome, &copied.Error, &copied.ActivePath, &copied.ParentID, &copied.ChildID)
		snapshot = &copied
	}
	return ownSummary(summary), snapshot, nil
}

// ChangeToken implements [store.Watcher].
func (s *Executions) ChangeToken(ctx context.Context) (string, error) {
	if err := s.lock(ctx); err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	return strconv.FormatUint(s.changes, 10), nil
}

// Close implements [store.ExecutionStore]. Closing again does nothing.
func (s *Executions) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.bell.ring()
	// What was kept may be large and the store may stay referenced.
	s.byID, s.byOrder, s.timers, s.purged, s.byStatus = nil, sorted[*record]{}, sorted[*timer]{}, nil, nil
	s.outbox, s.spawns = queue[mail]{}, queue[birth]{}
	return nil
}

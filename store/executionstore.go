package store

import (
	"context"
	"fmt"
	"math"
)

// DefaultTraceMax is the length of an execution's trace ring where nothing else
// is asked for.
const DefaultTraceMax = 200

// Commit is one event boundary: everything in it lands together or not at all.
//
// Its slices and pointers stay the caller's: a store keeps none of them, and does
// not look at them once its Commit has returned, cancelled or not. Who commits often
// may use the same slices for the next boundary. The execution itself is another
// matter: a store of live objects keeps that.
type Commit struct {
	// Execution to store, guarded by its Version. On success the store sets Version
	// to the committed one; on any failure it is as it was.
	Execution *Execution
	// Emits go to the outbox in this order.
	Emits []Emit
	// ProcessedEventID is the dedupe mark of the event just handled; nil for none.
	ProcessedEventID *string
	// Timers are applied in order, so later ones win.
	Timers []TimerOp
	// Spawns go to the spawn outbox in this order. Their contexts are snapshots.
	Spawns []Spawn
	// Trace is one step for the ring, an object; absent for none.
	Trace JSON
}

// Emit is an event for another execution (nil: nobody in particular).
type Emit struct {
	TargetID *string
	Event    Event
}

// TimerOp arms or cancels the timer of one state path.
type TimerOp struct {
	Action string // Schedule arms or re-arms; anything else cancels
	Path   string
	FireAt float64 // epoch seconds, finite
}

// Schedule is the one action of a [TimerOp] that arms; Cancel is the usual other.
const (
	Schedule = "schedule"
	Cancel   = "cancel"
)

// Spawn is the intent to create one child execution.
type Spawn struct {
	ChildID  string
	RootPath string
	Context  JSON // object
}

// OutboxEntry is a deferred event awaiting delivery.
type OutboxEntry struct {
	Seq      int64
	TargetID *string
	Event    Event
	Raw      JSON      // the event as stored; "" where Bad
	Bad      *RowError // set where the event could not be read
}

// SpawnEntry is a child execution awaiting its creation.
type SpawnEntry struct {
	Seq      int64
	ParentID string
	ChildID  string
	RootPath string
	Context  JSON
	Bad      *RowError
}

// Timer is one armed durable timer.
type Timer struct {
	ExecutionID string
	Path        string
	FireAt      float64 // epoch seconds as stored; a foreign row may hold an infinity
	Bad         *RowError
}

// TraceEntry is one step of a trace ring. Index climbs from 0 for each execution
// and survives trimming. Entry is immutable and, read back, has no index of its
// own where the backend keeps it in a column.
type TraceEntry struct {
	Index int64
	Entry JSON
	Bad   *RowError
}

// ExecutionFilter selects executions. The zero value selects all.
type ExecutionFilter struct {
	Status       []Status // any of these words; nil: any at all; empty: none
	DefinitionID *string  // exact
	RootsOnly    bool     // without a parent
	ParentID     *string  // children of this one, by their own parent_id
}

// Selects decides on the same summary that lists show. A row whose status could
// not be read matches no status.
func (f ExecutionFilter) Selects(s Summary) bool {
	if f.Status != nil {
		found := false
		for _, w := range f.Status {
			found = found || s.Status != "" && w.Is(s.Status)
		}
		if !found {
			return false
		}
	}
	if f.DefinitionID != nil && s.DefinitionID != *f.DefinitionID {
		return false
	}
	if f.RootsOnly && s.ParentID != nil {
		return false
	}
	return f.ParentID == nil || s.ParentID != nil && *s.ParentID == *f.ParentID
}

// Scope is a text that differs for different selections. Cursors are bound to it.
func (f ExecutionFilter) Scope() string {
	b := fmt.Appendf(nil, "%t ", f.RootsOnly)
	b = appendOptional(b, f.DefinitionID)
	b = appendOptional(b, f.ParentID)
	if f.Status != nil {
		b = fmt.Appendf(b, "%q", f.Status)
	}
	return string(b)
}

func appendOptional(b []byte, s *string) []byte {
	if s == nil {
		return append(b, "- "...)
	}
	return fmt.Appendf(b, "%q ", *s)
}

// QueueFilter selects outbox entries, spawns or timers.
type QueueFilter struct {
	// ExecutionID keeps outbox entries to it, spawns by it, timers of it.
	ExecutionID *string
	// DueBy keeps timers with fire_at <= DueBy, in epoch seconds.
	DueBy *float64
}

// Scope is a text that differs for different selections. Cursors are bound to it.
func (f QueueFilter) Scope() string {
	b := appendOptional(nil, f.ExecutionID)
	if f.DueBy != nil {
		b = fmt.Appendf(b, "%x", math.Float64bits(*f.DueBy))
	}
	return string(b)
}

// Counts are totals of a store. ByStatus is keyed by the upper-case word; rows
// that could not be read are in Unreadable.
type Counts struct {
	Executions, Outbox, Spawns, Timers int64
	ByStatus                           map[Status]int64
	Unreadable                         int64
}

// ExecutionStore keeps executions. Every method is safe for concurrent use by
// goroutines and, for durable backends, by processes. Cancelling the context
// abandons the wait: a write that was not taken yet is not done, one that was is
// reported as [ErrOutcomeUnknown].
type ExecutionStore interface {
	// Load returns an execution, or a *[NotFoundError]; a row that cannot be read is
	// a *[RowError] with its raw bytes. The memory backend returns the very object
	// that was saved; the others a fresh copy.
	Load(ctx context.Context, id string) (*Execution, error)
	// LoadForEvent is Load and IsProcessed in one round trip.
	LoadForEvent(ctx context.Context, id, eventID string) (exe *Execution, processed bool, err error)
	// Save is Commit of the execution alone.
	Save(ctx context.Context, exe *Execution) error
	// Commit writes one event boundary under compare-and-swap on the version. It
	// returns the outbox seqs in the order of Emits. A lost race is a
	// *[ConflictError] and leaves nothing behind.
	Commit(ctx context.Context, c Commit) (seqs []int64, err error)
	// IsProcessed reports whether that event was already handled by that execution.
	IsProcessed(ctx context.Context, id, eventID string) (bool, error)

	// PendingOutbox lists all entries by seq.
	PendingOutbox(ctx context.Context) ([]OutboxEntry, error)
	// AckOutbox removes one entry and says whether it was there. An unknown seq
	// changes nothing.
	AckOutbox(ctx context.Context, seq int64) (removed bool, err error)
	// PendingSpawns lists all entries by seq.
	PendingSpawns(ctx context.Context) ([]SpawnEntry, error)
	// AckSpawn removes one entry and says whether it was there.
	AckSpawn(ctx context.Context, seq int64) (removed bool, err error)
	// DueTimers lists timers with fire_at <= now (epoch seconds) by (fire_at, id, path).
	DueTimers(ctx context.Context, now float64) ([]Timer, error)
	// DeleteTimer removes a timer that still holds exactly fireAt, and says whether
	// it did: a timer re-armed meanwhile survives a stale sweep.
	DeleteTimer(ctx context.Context, id, path string, fireAt float64) (removed bool, err error)
	// RearmTimer moves a timer that still holds exactly from.
	RearmTimer(ctx context.Context, id, path string, from, to float64) (moved bool, err error)

	// AppendTrace adds a step outside a commit; the execution need not exist. An id
	// that is empty or not UTF-8 is a *[ValueError].
	AppendTrace(ctx context.Context, id string, entry JSON) error
	// ReadTrace returns the ring, oldest first; nothing for an unknown id.
	ReadTrace(ctx context.Context, id string) ([]TraceEntry, error)

	// ListExecutions lists by id in byte order.
	ListExecutions(ctx context.Context, f ExecutionFilter, page PageRequest) (Page[Summary], error)
	// ListOutbox and ListSpawns page by seq, ListTimers by (fire_at, id, path).
	ListOutbox(ctx context.Context, f QueueFilter, page PageRequest) (Page[OutboxEntry], error)
	ListSpawns(ctx context.Context, f QueueFilter, page PageRequest) (Page[SpawnEntry], error)
	ListTimers(ctx context.Context, f QueueFilter, page PageRequest) (Page[Timer], error)
	// Counts totals the store. It may read every row.
	Counts(ctx context.Context) (Counts, error)

	// Purge deletes an execution that still has that version, with its marks, trace
	// and counter, timers, outbox entries to it and spawns by it, and says whether
	// it did. With no such row it sweeps leftovers and returns false.
	Purge(ctx context.Context, id string, version int64) (purged bool, err error)
	// Close releases the store. Calls after it fail with [ErrClosed].
	Close() error
}

// Observed is what the memory backend offers besides: live objects cannot be
// read while an engine changes them, so observers see snapshots of committed
// states, taken only while at least one observes.
type Observed interface {
	// Observe starts the taking of snapshots; release ends it.
	Observe() (release func())
	// Snapshot returns the summary of the last commit, and the full state as of then
	// if it was taken, else nil. An unknown id is a *[NotFoundError].
	Snapshot(ctx context.Context, id string) (Summary, *Execution, error)
}

// Inspect reads an execution for showing: never the live object. exe is nil where
// only the summary is known ("context not seen yet") or the row is bad.
func Inspect(ctx context.Context, es ExecutionStore, id string) (s Summary, exe *Execution, err error) {
	if o, ok := es.(Observed); ok {
		return o.Snapshot(ctx, id)
	}
	exe, err = es.Load(ctx, id)
	if err != nil {
		return Summary{}, nil, err
	}
	return SummaryOf(exe), exe, nil
}

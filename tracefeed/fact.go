package tracefeed

import (
	"math"
	"time"

	"treering/store"
)

// Fact is one thing that a [Feed] found out. It is one of the types below.
type Fact interface{ fact() }

type (
	// Began: what is there was taken in, and changes are told from here on. The counts
	// are of what the feed was asked to follow.
	Began struct {
		Executions, Outbox, Spawns, Timers, Sessions int
		Moved                                        bool // something changed since [Feed.Prime]
	}
	// Stirred: one of the lists, by its name, may hold something else than before; it is
	// longer than [FeedOptions.Most], so what is not known.
	Stirred struct{ List string }
	// Counted: how much the store holds now, where executions and queues are followed and
	// none of their lists is too long.
	Counted struct{ Counts store.Counts }
	// Disconnected: the store cannot be read since then. It is told again when the reason
	// changes.
	Disconnected struct {
		Since time.Time
		Err   error
	}
	// Connected: it can be read again. What changed meanwhile follows.
	Connected struct{ Since time.Time }
	// Replaced: it is another store than before. What it holds is told anew.
	Replaced struct{}

	// RingOpened: a trace is followed from here on, beginning at index From.
	RingOpened struct {
		Execution string
		Ring      Ring // as it was
		From      int64
	}
	// RingRestarted: the indexes of the trace begin anew.
	RingRestarted struct{ Execution string }
	// StepAdded: a step that was not there before.
	StepAdded struct {
		Execution string
		Step      Step
		Late      bool // below steps that were told before
		Filled    bool // Late, and it had been told as missed
	}
	// StepsMissed: steps that were never seen.
	StepsMissed struct {
		Execution string
		Missed
	}
	// StepsEvicted: steps that left the ring at its old end.
	StepsEvicted struct {
		Execution string
		Span
	}
	// StepsGone: steps that are gone otherwise.
	StepsGone struct {
		Execution string
		Span
	}

	// ExecutionAdded: an execution that was not there before.
	ExecutionAdded struct{ Summary store.Summary }
	// ExecutionChanged: commits to an execution. One that was purged and made again has
	// a lower version than before.
	ExecutionChanged struct {
		Before  ExecutionState
		Summary store.Summary
	}
	// ExecutionGone: an execution that is not there any more.
	ExecutionGone struct {
		ID     string
		Before ExecutionState
	}

	// Queued: an entry of a queue that was not there before. One of the three is set.
	Queued struct {
		Outbox *store.OutboxEntry
		Spawn  *store.SpawnEntry
		Timer  *store.Timer
		Late   bool // its seq is below that of an entry seen before
	}
	// Unqueued: an entry is not there any more: acknowledged, cancelled, fired or moved.
	Unqueued struct {
		Queue string // [Outbox], [Spawns], [Timers]
		Seq   int64  // of an outbox entry or a spawn
		Timer TimerKey
	}

	// SessionAdded: a session tree that was not there before.
	SessionAdded struct {
		Session store.SessionInfo
		Nodes   int64
	}
	// SessionChanged: nodes were appended, the time to live was set, or it was made anew.
	SessionChanged struct {
		Session       store.SessionInfo
		Before, Nodes int64
	}
	// SessionGone: a session tree is not there any more: deleted or expired.
	SessionGone struct{ ID string }
)

// Names of the lists that a feed compares.
const (
	Executions = "executions"
	Outbox     = "outbox"
	Spawns     = "spawns"
	Timers     = "timers"
	Sessions   = "sessions"
)

// ExecutionState is what a feed remembers of an execution.
type ExecutionState struct {
	Version      int64
	Status       store.Status
	ActivePath   string
	Outcome      string
	DefinitionID string
	Bad          bool
}

// StateOf is what a feed remembers of a summary.
func StateOf(s store.Summary) ExecutionState {
	state := ExecutionState{Version: s.Version, Status: s.Status, DefinitionID: s.DefinitionID, Bad: s.Bad != nil}
	if s.ActivePath != nil {
		state.ActivePath = *s.ActivePath
	}
	if s.Outcome != nil {
		state.Outcome = *s.Outcome
	}
	return state
}

// TimerKey names a timer as it was armed.
type TimerKey struct {
	ExecutionID, Path string
	FireAt            uint64 // the bits of the float: infinities and NaNs are stored too
}

// At is when the timer was armed for, in epoch seconds.
func (k TimerKey) At() float64 { return math.Float64frombits(k.FireAt) }

func (Began) fact()            {}
func (Stirred) fact()          {}
func (Counted) fact()          {}
func (Disconnected) fact()     {}
func (Connected) fact()        {}
func (Replaced) fact()         {}
func (RingOpened) fact()       {}
func (RingRestarted) fact()    {}
func (StepAdded) fact()        {}
func (StepsMissed) fact()      {}
func (StepsEvicted) fact()     {}
func (StepsGone) fact()        {}
func (ExecutionAdded) fact()   {}
func (ExecutionChanged) fact() {}
func (ExecutionGone) fact()    {}
func (Queued) fact()           {}
func (Unqueued) fact()         {}
func (SessionAdded) fact()     {}
func (SessionChanged) fact()   {}
func (SessionGone) fact()      {}

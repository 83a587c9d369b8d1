package store

import (
	"context"
	"errors"
	"fmt"
)

// Transport is what a store offers besides where the queues between harel's workers
// are kept beside its executions: a view of them that changes nothing, and the one
// write that an outside producer makes. One queue belongs to one execution, whose id
// names it; at most one of its messages is with a worker at a time. It is safe for
// concurrent use.
//
// harel counts no retries and has no dead letters: a message that its worker fails on
// comes back as soon as the lease ran out, for ever. [TransportQueue.State] tells such
// queues from those that only wait.
type Transport interface {
	// Queues lists the queues that hold messages, or a record of a worker, by id in
	// the store's own stable order. A queue of which something cannot be read is
	// listed with its Bad set.
	Queues(ctx context.Context, f TransportFilter, page PageRequest) (Page[TransportQueue], error)
	// Messages lists the messages of one queue, the oldest first. An unknown one has
	// none.
	Messages(ctx context.Context, queue string, page PageRequest) (Page[TransportMessage], error)
	// TransportCounts totals the queues. It may read every one of them, but no message.
	TransportCounts(ctx context.Context) (TransportCounts, error)
	// Publish hands an event to an execution's queue as a producer of harel does. The
	// event's id is its dedupe key: retried with the same prepared event, it is handled
	// once. The first message of an empty queue fixes its priority, 0 to 4, anything
	// else is cut to that; pass the execution's own. Nobody is notified: workers look.
	// On a store that is open for reading it is [ErrReadOnly]; a lost answer is
	// [ErrOutcomeUnknown].
	Publish(ctx context.Context, queue string, event Event, priority int64) error
}

// TransportLimits is what a [Transport] offers besides whose layout, or whose place of
// reading, cannot tell all that is listed of a queue.
type TransportLimits interface {
	// Limits says for people what is not known, in one phrase; "" where that is nothing. It
	// does not wait for the store.
	Limits() string
}

// TransportFilter selects queues. The zero value selects all.
type TransportFilter struct {
	Queue *string // the queue of this execution only
}

// Scope is a text that differs for different selections. Cursors are bound to it.
func (f TransportFilter) Scope() string { return string(appendOptional(nil, f.Queue)) }

// TransportQueue is the queue of one execution.
type TransportQueue struct {
	ID    string // the execution's
	Depth int64  // messages, the one with a worker included
	// Priority is that of all its messages, 0 to 4, a higher one first; nil: the
	// store has no record of it.
	Priority *int64
	// LockedBy is the token of the worker that holds the lease, "" for none.
	LockedBy string
	// LockedUntil is when the lease runs out, or until when the queue is parked, in
	// epoch seconds by the workers' clocks; nil: neither.
	LockedUntil *float64
	// Parked: no worker holds it, but it was put aside until LockedUntil.
	Parked bool
	// LastClaimed is when a worker took from it last, in epoch seconds; nil: not known.
	LastClaimed *float64
	// Hidden: its messages lack the record by which workers find a queue, so that none
	// of them ever will be delivered.
	Hidden bool
	// Head is the oldest message, nil where there is none.
	Head *TransportMessage
	Bad  *RowError // set where the queue's own record could not be read
}

// TransportState is what a queue waits for.
type TransportState string

// The states of a queue.
const (
	TransportEmpty  TransportState = "empty"  // no message: a record that was left behind
	TransportReady  TransportState = "ready"  // waiting for a worker
	TransportLeased TransportState = "leased" // with a worker
	TransportParked TransportState = "parked" // put aside for a time
	// TransportExpired: the lease ran out with the message still there. Its worker died
	// or failed on it, and another will take it, again and again if it is at fault.
	TransportExpired TransportState = "expired"
	TransportHidden  TransportState = "hidden" // no worker can find it
	TransportPoison  TransportState = "poison" // its oldest message is no event, and blocks it
)

// State says what the queue waits for at a time, in epoch seconds.
func (q *TransportQueue) State(now float64) TransportState {
	switch {
	case q.Depth == 0:
		return TransportEmpty
	case q.Hidden:
		return TransportHidden
	case q.Bad != nil || q.Head != nil && q.Head.Bad != nil:
		return TransportPoison
	case q.LockedUntil == nil:
		return TransportReady
	case *q.LockedUntil > now && q.Parked:
		return TransportParked
	case *q.LockedUntil > now:
		return TransportLeased
	case q.Parked:
		return TransportReady
	}
	return TransportExpired
}

// Stuck reports whether a queue in that state needs somebody to look at it.
func (s TransportState) Stuck() bool {
	return s == TransportExpired || s == TransportHidden || s == TransportPoison
}

// TransportMessage is one event on its way to an execution.
type TransportMessage struct {
	// Seq is the message's own number where the store gives it one, else its place in
	// the queue, from 0.
	Seq   int64
	Event Event
	Raw   JSON      // the event as stored; "" where Bad
	Bad   *RowError // set where the event could not be read
}

// TransportCounts are totals of a transport at one time.
type TransportCounts struct {
	Queues   int64 // that hold messages
	Messages int64
	Leased   int64 // queues with a worker
	Parked   int64
	Expired  int64
	Hidden   int64
}

// MaxTransportPriority is the highest priority of a queue; the lowest is 0.
const MaxTransportPriority = 4

// ClampTransportPriority cuts a priority to what a transport knows.
func ClampTransportPriority(p int64) int64 { return min(max(p, 0), MaxTransportPriority) }

// CheckPublish refuses a message that no transport takes: an empty queue name or one
// that is not UTF-8, an event without an id or a kind ([ErrEmptyID]), data that is no
// object. It returns the event as the transports store it, with all five keys.
func CheckPublish(queue string, ev Event) (JSON, error) {
	if err := checkTransportName("queue", queue); err != nil {
		return "", err
	}
	if err := checkTransportName("event id", ev.ID); err != nil {
		return "", err
	}
	if err := checkTransportName("event kind", ev.Kind); err != nil {
		return "", err
	}
	return ev.Encode()
}

// ErrHandled: the execution has handled an event of that id before, so its workers
// would ignore another one.
var ErrHandled = errors.New("handled already")

// Send hands an event to an execution as a producer of harel does: the execution must
// be there ([ErrNotFound]) and must not have handled an event of that id ([ErrHandled]);
// the event gets the execution's own priority. After [ErrOutcomeUnknown] the same event
// can be sent again: it is handled once.
func Send(ctx context.Context, es ExecutionStore, t Transport, id string, event Event) error {
	exe, handled, err := es.LoadForEvent(ctx, id, event.ID)
	if err != nil {
		return err
	}
	if handled {
		return fmt.Errorf("execution %q has %w an event with the id %q, so its workers would ignore this one", id, ErrHandled, event.ID)
	}
	return t.Publish(ctx, id, event, exe.Priority)
}

func checkTransportName(field, text string) error {
	if text == "" {
		return &ValueError{field, "must not be empty", ErrEmptyID}
	}
	return checkText(field, text, false)
}

package store

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// Command is one act of the control plane.
type Command string

// The control plane's commands. Each is one compare-and-swap that changes the
// status, the version, and those stamps that the blob already has; timers and
// queues stay.
const (
	Suspend   Command = "suspend"   // RUNNING to SUSPENDED
	Resume    Command = "resume"    // SUSPENDED to RUNNING
	Terminate Command = "terminate" // anything but DONE and CANCELLED to CANCELLED
	// CancelGently is RUNNING or SUSPENDED to CANCELLING, with a [CancelEvent] to
	// itself in the same commit, and the live descendants to CANCELLED. Until
	// somebody delivers that entry the engine drops every other event: a distributed
	// worker of harel's relays entries only after an event that itself emitted.
	CancelGently Command = "cancel"
)

// CancelEvent is the kind of the event that the engine ends an execution with in
// its own way, or, where the chart does not model that, without ceremony.
const CancelEvent = "Cancel"

// Target returns the status the command leads to from s, and whether it applies.
func (c Command) Target(s Status) (Status, bool) {
	switch c {
	case Suspend:
		return Suspended, s.Is(Running)
	case Resume:
		return Running, s.Is(Suspended)
	case Terminate:
		return Cancelled, !s.Is(Done) && !s.Is(Cancelled)
	case CancelGently:
		return Cancelling, s.Is(Running) || s.Is(Suspended)
	}
	return "", false
}

// Below is the command that the descendants get where an execution gets this one.
func (c Command) Below() Command {
	if c == CancelGently {
		return Terminate
	}
	return c
}

// Controlled is what a command did to one execution. With a nil Err and an empty
// To it did not apply there, and nothing was written.
type Controlled struct {
	ID       string
	From, To Status
	Version  int64 // after the write
	Err      error
}

// controlTries bounds the reloads of one execution under contention.
const controlTries = 5

// Control applies a command to an execution and then, parent first, to the live
// descendants that it finds through the children maps, each under its own
// compare-and-swap with the state looked at again before each of five tries.
//
// The error is that of the execution named: *[NotFoundError], *[StateError]
// (nothing written anywhere), *[ConflictError] after five lost races. Failures of
// descendants are in the report, one entry for each id that was reached.
//
// Where expected is not nil, the execution named must still have that version;
// another one is a *[ConflictError] and nothing is written.
func Control(ctx context.Context, es ExecutionStore, cmd Command, id string, expected *int64, now time.Time) ([]Controlled, error) {
	top, children := controlOne(ctx, es, cmd, id, expected, now)
	if top.Err != nil {
		return nil, top.Err
	}
	if top.To == "" {
		return nil, &StateError{ID: id, Command: string(cmd), Status: top.From}
	}
	report := []Controlled{top}
	descend(id, children, func(next string) ([]string, bool) {
		done, below := controlOne(ctx, es, cmd.Below(), next, nil, now)
		if reached(done) {
			report = append(report, done)
		}
		return below, true
	})
	return report, nil
}

// Plan tells what [Control] would write now, in its order, and writes nothing: To
// is the status that an execution would get, Version the one that it has. The
// execution named comes first, with an empty To where the command does not apply to
// it. No more than limit executions are looked at; more reports whether there are
// others. The error is that of reading the execution named.
func Plan(ctx context.Context, es ExecutionStore, cmd Command, id string, limit int) (report []Controlled, more bool, err error) {
	top, children := planOne(ctx, es, cmd, id)
	if top.Err != nil {
		return nil, false, top.Err
	}
	report = []Controlled{top}
	looked := 1
	descend(id, children, func(next string) ([]string, bool) {
		if looked >= limit || ctx.Err() != nil {
			more = true
			return nil, false
		}
		looked++
		planned, below := planOne(ctx, es, cmd.Below(), next)
		if reached(planned) {
			report = append(report, planned)
		}
		return below, true
	})
	return report, more, ctx.Err()
}

func planOne(ctx context.Context, es ExecutionStore, cmd Command, id string) (Controlled, []string) {
	exe, err := loadCopy(ctx, es, id)
	if err != nil {
		return Controlled{ID: id, Err: err}, nil
	}
	planned := Controlled{ID: id, From: exe.Status, Version: exe.Version}
	if to, applies := cmd.Target(exe.Status); applies {
		planned.To = to
	}
	return planned, childIDs(exe)
}

// descend visits what is below an execution, parents first, each once, until a
// visit says that it is enough.
func descend(id string, children []string, visit func(id string) (below []string, on bool)) {
	seen := map[string]bool{id: true}
	for len(children) > 0 {
		next := children[0]
		children = children[1:]
		if seen[next] {
			continue
		}
		seen[next] = true
		below, on := visit(next)
		if !on {
			return
		}
		children = append(children, below...)
	}
}

// reached reports whether a descendant belongs into a report: a child that was
// planned but never made, or is at rest already, is no failure.
func reached(c Controlled) bool {
	return !errors.Is(c.Err, ErrNotFound) && (c.Err != nil || c.To != "")
}

func childIDs(exe *Execution) []string {
	var ids []string
	for _, c := range exe.ChildStates() {
		ids = append(ids, c.ID)
	}
	return ids
}

func controlOne(ctx context.Context, es ExecutionStore, cmd Command, id string, expected *int64, now time.Time) (Controlled, []string) {
	done := Controlled{ID: id}
	for range controlTries {
		exe, err := loadCopy(ctx, es, id)
		if err != nil {
			done.Err = err
			return done, nil
		}
		children := childIDs(exe)
		done.From = exe.Status
		if expected != nil && exe.Version != *expected {
			found := exe.Version
			done.Err = &ConflictError{ID: id, Expected: *expected, Found: &found}
			return done, nil
		}
		to, applies := cmd.Target(exe.Status)
		if !applies {
			done.Err = nil // a race lost before this look is not what stopped it
			return done, children
		}
		exe.Status = to
		stamp(exe, now)
		switch err = saveControlled(ctx, es, cmd, exe); {
		case err == nil:
			done.To, done.Version, done.Err = to, exe.Version, nil
			return done, children
		case !errors.Is(err, ErrConflict):
			done.Err = err
			return done, nil
		}
		done.Err = err
	}
	return done, nil
}

// saveControlled writes what a command made of an execution.
func saveControlled(ctx context.Context, es ExecutionStore, cmd Command, exe *Execution) error {
	if cmd != CancelGently {
		return es.Save(ctx, exe)
	}
	_, err := es.Commit(ctx, Commit{Execution: exe, Emits: []Emit{{TargetID: &exe.ID, Event: NewEvent(CancelEvent, EmptyObject)}}})
	return err
}

// loadCopy returns a copy that may be changed: the memory backend's Load gives
// the engine's own object, which nobody else may touch.
func loadCopy(ctx context.Context, es ExecutionStore, id string) (*Execution, error) {
	if o, ok := es.(Observed); ok {
		if _, exe, err := o.Snapshot(ctx, id); err != nil || exe != nil {
			return exe, err
		}
		// Not observed since its last commit: the engine that owns the object is the
		// caller's to keep still meanwhile.
	}
	exe, err := es.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	return exe.Clone(), nil
}

// stamp sets those stamps that the blob has: harel below 0.4 has none and would
// drop them.
func stamp(e *Execution, now time.Time) {
	at := epochSeconds(now)
	if e.UpdatedAt != "" {
		e.UpdatedAt = at
	}
	if e.FinishedAt == "" {
		return
	}
	if e.Status.Is(Done) || e.Status.Is(Cancelled) {
		e.FinishedAt = at
	} else if e.Status.Is(Running) {
		e.FinishedAt = Null
	}
}

// epochSeconds is a time as harel writes one: seconds with microseconds.
func epochSeconds(t time.Time) JSON {
	return JSON(strconv.FormatFloat(float64(t.UnixMicro())/1e6, 'f', -1, 64))
}

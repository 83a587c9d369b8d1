// Package check looks a store through for what is wrong in it: rows that cannot be
// read, columns that differ from their JSON, trees that do not hang together, and
// work that nobody will do. It reads by pages through the contracts and changes
// nothing.
//
// A store that is being written is never whole at one moment of such a reading.
// What is compared across rows is read a second time before it is called wrong.
package check

import (
	"fmt"

	"treering/store"
)

// Kind is what is wrong.
type Kind string

// What can be wrong with executions and their queues.
const (
	BadRow         Kind = "bad-row"         // a row cannot be read
	Drifted        Kind = "drift"           // a column differs from the JSON beside it
	LostParent     Kind = "lost-parent"     // parent_id names no execution
	FamilyCycle    Kind = "family-cycle"    // an execution is its own ancestor
	Stuck          Kind = "stuck"           // a parent waits for a child that never reports back
	Overdue        Kind = "overdue"         // a timer is due and nobody sweeps
	LostTimer      Kind = "lost-timer"      // a timer of an execution that is not there, or has ended
	Undeliverable  Kind = "undeliverable"   // an outbox entry to an execution that is not there, or has ended
	AlreadyHandled Kind = "already-handled" // an outbox entry that its target has processed
	Undrained      Kind = "undrained"       // an outbox entry that was made long ago and nobody takes
	LostSpawn      Kind = "lost-spawn"      // a spawn by an execution that is not there
	AlreadySpawned Kind = "already-spawned" // a spawn whose child is there
)

// What can be wrong with session trees, and with the file.
const (
	Orphan    Kind = "orphan"     // a node whose parent is not there
	NodeCycle Kind = "node-cycle" // nodes that are reachable from no root
	Roots     Kind = "roots"      // a second root
	BadNode   Kind = "bad-node"   // a node that the contract refuses
	Integrity Kind = "integrity"  // the store's own engine found damage
	Source    Kind = "source"     // a session of another program holds what is no record, or contradicts itself
)

// Severity says how bad it is.
type Severity string

const (
	// Error is wrong whatever happens next.
	Error Severity = "error"
	// Warning may be right: a worker that is down for a minute leaves timers overdue.
	Warning Severity = "warning"
)

// Finding is one thing that is wrong. Its texts are foreign.
type Finding struct {
	Kind     Kind
	Severity Severity
	Table    string // "executions", "trace", "outbox", "spawns", "timers", "nodes", "file"
	ID       string // of the execution or the node; the seq of a queue entry
	In       string // the session of a node, the execution of a trace step
	Message  string
}

// Report counts what was looked at.
type Report struct {
	Executions, Steps, Entries, Timers, Sessions, Nodes int64
	Errors, Warnings                                    int64
}

// checker hands findings on and counts them.
type checker struct {
	visit func(Finding) error
	r     *Report
}

func (c *checker) found(f Finding) error {
	if f.Severity == Error {
		c.r.Errors++
	} else {
		c.r.Warnings++
	}
	return c.visit(f)
}

func (c *checker) bad(table, id, in string, e *store.RowError) error {
	return c.found(Finding{BadRow, Error, table, id, in, e.Err.Error()})
}

// ended are the statuses from which an execution handles nothing more.
func ended(s store.Status) bool {
	return s.Is(store.Done) || s.Is(store.Failed) || s.Is(store.Cancelled)
}

func seqText(seq int64) string { return fmt.Sprintf("%d", seq) }

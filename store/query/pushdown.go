package query

import (
	"slices"
	"strings"

	"treering/store"
)

// Pushdown is what of a query a store can pre-select. It lets through every row
// that matches, and may let through more: the matcher decides.
type Pushdown struct {
	Sessions   store.SessionFilter
	Executions store.ExecutionFilter
	Queue      store.QueueFilter // of the outbox, spawns and timers
}

// Pushdown derives it. Times are left to the matcher: a store would not say how many
// rows have none.
func (q *Query) Pushdown() Pushdown {
	n := narrow{}
	if q.root != nil {
		n = narrowed(q.root, q.subject)
	}
	var p Pushdown
	switch q.subject {
	case Sessions:
		p.Sessions = store.SessionFilter{Kinds: n.kinds, NotKinds: n.notKinds}
	case Executions:
		p.Executions = store.ExecutionFilter{DefinitionID: n.definition, RootsOnly: n.roots, ParentID: n.parent}
		if n.statuses != nil {
			p.Executions.Status = make([]store.Status, len(n.statuses))
			for i, s := range n.statuses {
				p.Executions.Status[i] = store.Status(s)
			}
		}
	case Outbox, Spawns, Timers:
		p.Queue.ExecutionID = n.execution
	case Nodes, Steps:
	default:
	}
	return p
}

// narrow is what must hold of every row that matches. Absent members say nothing.
type narrow struct {
	kinds      []string // one of these; nil: any
	notKinds   []string
	statuses   []string // one of these in any case, kept in upper case; nil: any
	definition *string
	parent     *string
	roots      bool
	execution  *string
}

func narrowed(e expr, s Subject) narrow {
	switch e := e.(type) {
	case *allOf:
		n := narrowed(e.parts[0], s)
		for _, p := range e.parts[1:] {
			n = n.and(narrowed(p, s))
		}
		return n
	case *anyOf:
		n := narrowed(e.parts[0], s)
		for _, p := range e.parts[1:] {
			n = n.or(narrowed(p, s))
		}
		return n
	case *negation:
		if c, ok := e.of.(*comparison); ok && c.field == fieldKind && (c.op == opIs || c.op == opEqual) {
			return narrow{notKinds: []string{c.value.text}}
		}
	case *comparison:
		return narrowedBy(e, s)
	case *call:
		return narrow{roots: e.function == roots}
	}
	return narrow{}
}

func narrowedBy(e *comparison, s Subject) narrow {
	value := e.value.text
	if e.field == fieldKind && e.op == opDiffers {
		return narrow{notKinds: []string{value}}
	}
	if e.op != opIs && e.op != opEqual {
		return narrow{}
	}
	switch e.field {
	case fieldKind:
		return narrow{kinds: []string{value}}
	case fieldStatus:
		return narrow{statuses: []string{strings.ToUpper(value)}}
	case fieldDefinition:
		return narrow{definition: &value}
	case fieldParent:
		if s == Spawns {
			return narrow{execution: &value}
		}
		return narrow{parent: &value}
	case fieldTarget, fieldExecution:
		return narrow{execution: &value}
	default:
	}
	return narrow{}
}

// and is what holds where both do. Of two that exclude each other one is enough.
func (n narrow) and(o narrow) narrow {
	return narrow{
		kinds: both(n.kinds, o.kinds), notKinds: slices.Concat(n.notKinds, o.notKinds), statuses: both(n.statuses, o.statuses),
		definition: first(n.definition, o.definition), parent: first(n.parent, o.parent), roots: n.roots || o.roots,
		execution: first(n.execution, o.execution),
	}
}

// or is what holds where one of the two does.
func (n narrow) or(o narrow) narrow {
	r := narrow{
		kinds: either(n.kinds, o.kinds), statuses: either(n.statuses, o.statuses),
		definition: agreed(n.definition, o.definition), parent: agreed(n.parent, o.parent), roots: n.roots && o.roots,
		execution: agreed(n.execution, o.execution),
	}
	for _, k := range n.notKinds {
		if slices.Contains(o.notKinds, k) {
			r.notKinds = append(r.notKinds, k)
		}
	}
	return r
}

func both(a, b []string) []string {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	out := []string{}
	for _, s := range a {
		if slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

func either(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func first(a, b *string) *string {
	if a != nil {
		return a
	}
	return b
}

func agreed(a, b *string) *string {
	if a == nil || b == nil || *a != *b {
		return nil
	}
	return a
}

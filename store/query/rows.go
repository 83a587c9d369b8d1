package query

import "treering/store"

// Row is one row of a list as a filter sees it: a *[SessionRow], *[NodeRow],
// *[ExecutionRow], *[StepRow], *[OutboxRow], *[SpawnRow] or *[TimerRow]. A loop
// over many rows fills the same one again, and then nothing is allocated. One row
// is not for two goroutines at a time.
type Row interface {
	// text is the i-th text of a field; most have at most one.
	text(f field, i int) (string, bool)
	number(f field) int64
	document(f field) store.JSON
	time() (epoch float64, ok bool)
	// place is where the row is in a tree: by ref, or where that is 0 by id.
	place() (ref int32, id string)
}

// only is text's answer for a field with at most one.
func only(s string, i int) (string, bool) { return s, i == 0 && s != "" }

func optional(s *string, i int) (string, bool) {
	if s == nil || i > 0 {
		return "", false
	}
	return *s, true
}

func rowError(e *store.RowError, i int) (string, bool) {
	if e == nil || i > 0 || e.Err == nil {
		return "", false
	}
	return e.Err.Error(), true
}

// noTree is for rows that are in no tree.
type noTree struct{}

func (noTree) place() (int32, string) { return 0, "" }

// SessionRow is a row of [Sessions].
type SessionRow struct {
	noTree
	Session *store.SessionInfo
	// Of a session that another program keeps: what it is called, the folder that it is
	// about, and when it was written last in epoch seconds, 0 where that is not known.
	Title, Project string
	Updated        float64
}

func (r *SessionRow) text(f field, i int) (string, bool) {
	switch f {
	case fieldID:
		return only(r.Session.ID, i)
	case fieldKind:
		return only(r.Session.Kind, i)
	case fieldTitle:
		return only(r.Title, i)
	case fieldProject:
		return only(r.Project, i)
	default:
	}
	return "", false
}

func (*SessionRow) number(field) int64        { return 0 }
func (*SessionRow) document(field) store.JSON { return "" }

func (r *SessionRow) time() (float64, bool) {
	if r.Session.ExpiresAt == nil {
		return r.Updated, r.Updated != 0
	}
	return *r.Session.ExpiresAt, true
}

// NodeRow is a row of [Nodes].
type NodeRow struct {
	ID     string
	Parent *string // nil: a root
	Kind   string
	Title  string
	// Ref is the node's place in the [Structure], 0 where it is to be looked up by id.
	Ref int32
	// Data reads the node's data, only where the filter needs it. It may be nil: then
	// there is none.
	Data func() store.JSON

	said []string // of the row that was asked last
}

func (r *NodeRow) text(f field, i int) (string, bool) {
	switch f {
	case fieldID:
		return only(r.ID, i)
	case fieldParent:
		return optional(r.Parent, i)
	case fieldKind:
		return only(r.Kind, i)
	case fieldTitle:
		return only(r.Title, i)
	case fieldText:
		if i == 0 {
			r.said = saidIn(r.document(fieldData))
		}
		if i < len(r.said) {
			return r.said[i], true
		}
	default:
	}
	return "", false
}

func (*NodeRow) number(field) int64 { return 0 }

func (r *NodeRow) document(field) store.JSON {
	if r.Data == nil {
		return ""
	}
	return r.Data()
}

func (r *NodeRow) time() (float64, bool) { return DataTime(r.document(fieldData)) }

func (r *NodeRow) place() (int32, string) { return r.Ref, r.ID }

// ExecutionRow is a row of [Executions].
type ExecutionRow struct {
	Summary *store.Summary
	Ref     int32             // as in a [NodeRow]
	Context func() store.JSON // read only where the filter needs it; nil: not known
	// LastStep is the time of the trace's last step in epoch seconds. It is asked only
	// where the summary has no time of its own. nil: there is none.
	LastStep func() (epoch float64, ok bool)
}

func (r *ExecutionRow) text(f field, i int) (string, bool) {
	s := r.Summary
	switch f {
	case fieldID:
		return only(s.ID, i)
	case fieldDefinition:
		return only(s.DefinitionID, i)
	case fieldStatus:
		return only(string(s.Status), i)
	case fieldOutcome:
		return optional(s.Outcome, i)
	case fieldState:
		return optional(s.ActivePath, i)
	case fieldError:
		return optional(s.Error, i)
	case fieldParent:
		return optional(s.ParentID, i)
	case fieldRowError:
		return rowError(s.Bad, i)
	default:
	}
	return "", false
}

func (r *ExecutionRow) number(field) int64 { return r.Summary.Version }

func (r *ExecutionRow) document(field) store.JSON {
	if r.Context == nil {
		return ""
	}
	return r.Context()
}

func (r *ExecutionRow) time() (float64, bool) {
	if at, ok := TimeOf(r.Summary.UpdatedAt); ok {
		return at, true
	}
	if r.LastStep == nil {
		return 0, false
	}
	return r.LastStep()
}

func (r *ExecutionRow) place() (int32, string) { return r.Ref, r.Summary.ID }

// StepRow is a row of [Steps].
type StepRow struct {
	noTree
	Index int64
	Step  *store.Step // not nil; empty where Bad
	Bad   *store.RowError
}

func (r *StepRow) text(f field, i int) (string, bool) {
	s := r.Step
	switch f {
	case fieldEvent:
		if s.KindUnknown {
			return "", false
		}
		return only(s.EventKind, i)
	case fieldFrom:
		return optional(s.From, i)
	case fieldTo:
		return optional(s.To, i)
	case fieldAction:
		if i < len(s.Actions) {
			return s.Actions[i], true
		}
	case fieldNote:
		return only(s.Note, i)
	case fieldRowError:
		return rowError(r.Bad, i)
	default:
	}
	return "", false
}

func (r *StepRow) number(field) int64 { return r.Index }

func (r *StepRow) document(f field) store.JSON {
	if f == fieldContext {
		return r.Step.Context
	}
	return r.Step.EventData
}

func (r *StepRow) time() (float64, bool) { return TimeOf(r.Step.Timestamp) }

// OutboxRow is a row of [Outbox].
type OutboxRow struct {
	noTree
	Entry *store.OutboxEntry
}

func (r *OutboxRow) text(f field, i int) (string, bool) {
	switch f {
	case fieldID:
		return only(r.Entry.Event.ID, i)
	case fieldEvent:
		return only(r.Entry.Event.Kind, i)
	case fieldTarget:
		return optional(r.Entry.TargetID, i)
	case fieldRowError:
		return rowError(r.Entry.Bad, i)
	default:
	}
	return "", false
}

func (r *OutboxRow) number(field) int64        { return r.Entry.Seq }
func (r *OutboxRow) document(field) store.JSON { return r.Entry.Event.Data }

func (r *OutboxRow) time() (float64, bool) {
	if at, ok := TimeOf(r.Entry.Event.CreatedTime); ok {
		return at, true
	}
	return DataTime(r.Entry.Event.Data)
}

// SpawnRow is a row of [Spawns].
type SpawnRow struct {
	noTree
	Entry *store.SpawnEntry
}

func (r *SpawnRow) text(f field, i int) (string, bool) {
	switch f {
	case fieldParent:
		return only(r.Entry.ParentID, i)
	case fieldChild:
		return only(r.Entry.ChildID, i)
	case fieldPath:
		return only(r.Entry.RootPath, i)
	case fieldRowError:
		return rowError(r.Entry.Bad, i)
	default:
	}
	return "", false
}

func (r *SpawnRow) number(field) int64        { return r.Entry.Seq }
func (r *SpawnRow) document(field) store.JSON { return r.Entry.Context }
func (r *SpawnRow) time() (float64, bool)     { return DataTime(r.Entry.Context) }

// TimerRow is a row of [Timers].
type TimerRow struct {
	noTree
	Timer *store.Timer
}

func (r *TimerRow) text(f field, i int) (string, bool) {
	switch f {
	case fieldExecution:
		return only(r.Timer.ExecutionID, i)
	case fieldPath:
		return only(r.Timer.Path, i)
	case fieldRowError:
		return rowError(r.Timer.Bad, i)
	default:
	}
	return "", false
}

func (*TimerRow) number(field) int64        { return 0 }
func (*TimerRow) document(field) store.JSON { return "" }
func (r *TimerRow) time() (float64, bool)   { return r.Timer.FireAt, r.Timer.Bad == nil }

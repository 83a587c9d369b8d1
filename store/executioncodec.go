package store

import (
	"fmt"
	"strconv"
	"strings"
)

// DecodeExecution reads a stored blob. Every key is optional and takes harel's
// default; unknown ones are kept. The error says which member is wrong.
func DecodeExecution(data string) (*Execution, error) {
	c, err := newCodec("execution", data, make([]Member, 0, usualMembers), nil)
	if err != nil {
		return nil, err
	}
	e := new(Execution)
	c.execution(e)
	e.ID, e.DefinitionID, e.Version = c.text("id", ""), c.text("definition_id", ""), c.integer("version")
	if c.err != nil {
		return nil, c.err
	}
	e.decoded(c.members, data)
	return e, nil
}

// decoded notes what e was read from, once its fields are set.
func (e *Execution) decoded(members []Member, data string) {
	e.members, e.stored, e.readID, e.readDefinitionID = members, data, e.ID, e.DefinitionID
}

// DecodeExecutionRow reads a row of which the columns count: whatever the blob says
// instead is noted in Drift.
func DecodeExecutionRow(id, definitionID string, version int64, data string) (*Execution, error) {
	c, err := newCodec("execution", data, make([]Member, 0, usualMembers), nil)
	if err != nil {
		return nil, err
	}
	e := new(Execution)
	c.execution(e)
	if c.err != nil {
		return nil, c.err
	}
	e.Drift = drift(id, definitionID, version, c.members)
	e.ID, e.DefinitionID, e.Version = id, definitionID, version
	e.decoded(c.members, data)
	return e, nil
}

// execution fills in all that a row has no column of its own for. What it refuses
// makes a row bad, in lists and on a load alike.
func (c *codec) execution(e *Execution) {
	e.DefinitionFQN = c.optional("definition_fqn")
	e.RootPath = c.text("root_path", "")
	e.Status = Status(c.text("status", string(Pending)))
	e.Outcome = c.optional("outcome")
	e.Error = c.optional("error")
	e.ActivePath = c.optional("active_path")
	e.History = c.collection("history", Object, EmptyObject)
	e.Context = c.collection("context", Object, EmptyObject)
	e.ProcessedEvents = c.integer("processed_events")
	e.Priority = c.integer("priority")
	e.ParentID = c.optional("parent_id")
	e.ChildID = c.optional("child_id")
	e.Deferred = c.collection("deferred", Array, EmptyArray)
	e.Children = c.collection("children", Object, EmptyObject)
	e.InvokeSeq = c.collection("invoke_seq", Object, EmptyObject)
	e.CreatedAt = c.get("created_at")
	e.UpdatedAt = c.get("updated_at")
	e.FinishedAt = c.get("finished_at")
	e.ExpiresAt = c.get("expires_at")
}

func drift(id, definitionID string, version int64, members []Member) []Drift {
	var out []Drift
	for _, m := range members {
		switch m.Key {
		case "id", "definition_id":
			want := id
			if m.Key != "id" {
				want = definitionID
			}
			if got, ok := m.Value.Text(); !ok || got != want {
				out = append(out, Drift{m.Key, want, string(m.Value)})
			}
		case "version":
			if got, ok := laxInt(m.Value); !ok || got != version {
				out = append(out, Drift{"version", strconv.FormatInt(version, 10), string(m.Value)})
			}
		}
	}
	return out
}

// Encode returns the blob of the execution with the given version in it. One that
// was not decoded has all of harel's 18 members, and the stamps that are set.
//
// One that was decoded differs from its blob in what was changed since, and in the
// version. Members stand where they stood, unknown ones included; values that did
// not change keep their text, an id or a definition id that drifted from its column
// too; a member that the blob has not is added, in harel's order behind the others,
// only where it is not the default that its absence stands for. A null where harel
// needs a map or a list, which makes the row unreadable to it, becomes an empty one.
//
// Non-JSON in one of the JSON fields is a *[ValueError].
func (e *Execution) Encode(version int64) (string, error) {
	known := [...]Member{
		{"id", Quote(e.ID)},
		{"definition_id", Quote(e.DefinitionID)},
		{"definition_fqn", quoteOptional(e.DefinitionFQN)},
		{"root_path", Quote(e.RootPath)},
		{"status", Quote(string(e.Status))},
		{"outcome", quoteOptional(e.Outcome)},
		{"error", quoteOptional(e.Error)},
		{"active_path", quoteOptional(e.ActivePath)},
		{"history", orEmpty(e.History, EmptyObject)},
		{"context", orEmpty(e.Context, EmptyObject)},
		{"processed_events", JSON(strconv.FormatInt(e.ProcessedEvents, 10))},
		{"version", JSON(strconv.FormatInt(version, 10))},
		{"priority", JSON(strconv.FormatInt(e.Priority, 10))},
		{"parent_id", quoteOptional(e.ParentID)},
		{"child_id", quoteOptional(e.ChildID)},
		{"deferred", orEmpty(e.Deferred, EmptyArray)},
		{"children", orEmpty(e.Children, EmptyObject)},
		{"invoke_seq", orEmpty(e.InvokeSeq, EmptyObject)},
		{"created_at", e.CreatedAt},
		{"updated_at", e.UpdatedAt},
		{"finished_at", e.FinishedAt},
		{"expires_at", e.ExpiresAt},
	}
	for _, m := range known {
		switch m.Key {
		case "history", "context", "children", "invoke_seq":
			if err := checkField(m.Key, m.Value, Object); err != nil {
				return "", err
			}
		case "deferred":
			if err := checkField(m.Key, m.Value, Array); err != nil {
				return "", err
			}
		case "created_at", "updated_at", "finished_at", "expires_at":
			if m.Value == "" {
				continue
			}
			if _, err := ParseJSON(string(m.Value)); err != nil {
				return "", &ValueError{m.Key, err.Error(), err}
			}
		}
	}
	if e.stored == "" {
		return string(ObjectOf(known[:]...)), nil
	}
	return string(e.overlay(known[:])), nil
}

// overlay lays the members of today over the blob that the execution was decoded
// from.
func (e *Execution) overlay(known []Member) JSON {
	out := make([]Member, 0, len(known)+len(e.members))
	var seen [usualMembers]bool
	for _, m := range e.members {
		if i := memberIndex(known, m.Key); i >= 0 {
			seen[i] = true
			if v := known[i].Value; v == "" || !e.unchanged(m, v) {
				m.Value = v
			}
		}
		out = append(out, m)
	}
	for i, m := range known {
		if !seen[i] && !e.unchanged(Member{m.Key, absent(m.Key)}, m.Value) {
			out = append(out, m)
		}
	}
	return ObjectOf(out...)
}

// unchanged reports whether a member of the blob, or what its absence stands for,
// was decoded to the value that now encodes as v.
func (e *Execution) unchanged(was Member, v JSON) bool {
	switch was.Key {
	case "id":
		return e.ID == e.readID
	case "definition_id":
		return e.DefinitionID == e.readDefinitionID
	case "processed_events", "priority":
		n, ok := laxInt(was.Value)
		now, _ := v.Int64()
		return ok && n == now
	case "version":
		// The one that counts is written as a number, in whatever form it was read.
		return was.Value != "" && sameWritten(was.Value, v)
	}
	return sameWritten(was.Value, v)
}

// absent returns what the absence of a member stands for. Absent stamps stay so.
func absent(key string) JSON {
	switch key {
	case "definition_fqn", "outcome", "error", "active_path", "parent_id", "child_id":
		return Null
	case "history", "context", "children", "invoke_seq":
		return EmptyObject
	case "deferred":
		return EmptyArray
	case "root_path":
		return `""`
	case "status":
		return Quote(string(Pending))
	case "processed_events", "priority":
		return "0"
	}
	return ""
}

func checkField(key string, v JSON, kind Kind) error {
	// Much the most frequent value needs no scan.
	if kind == Object && v == EmptyObject || kind == Array && v == EmptyArray {
		return nil
	}
	if _, err := ParseJSON(string(v)); err != nil {
		return &ValueError{key, err.Error(), err}
	}
	if v.Kind() != kind {
		return &ValueError{key, fmt.Sprintf("must be %s, not %s", kind, v.Kind()), ErrNotObject}
	}
	return nil
}

// orEmpty replaces what is absent or null. Text that only begins like null stays,
// to be refused.
func orEmpty(v, empty JSON) JSON {
	if v.IsNull() {
		if text := strings.TrimSpace(string(v)); text == "" || text == string(Null) {
			return empty
		}
	}
	return v
}

// mergeMembers lays known values over the members a value was decoded with:
// those stay in their places, what is new follows in the order of known.
func mergeMembers(decoded, known []Member) JSON {
	if len(decoded) == 0 {
		return ObjectOf(known...)
	}
	out := make([]Member, 0, len(known)+len(decoded))
	seen := make([]bool, len(known))
	for _, m := range decoded {
		if i := memberIndex(known, m.Key); i >= 0 {
			seen[i] = true
			// A string keeps its escapes (a half surrogate would not survive a decode) and
			// a number its digits where they still say the same.
			if v := known[i].Value; v == "" || !sameWritten(m.Value, v) {
				m.Value = v
			}
		}
		out = append(out, m)
	}
	for i, m := range known {
		if !seen[i] {
			out = append(out, m)
		}
	}
	return ObjectOf(out...)
}

func sameWritten(was, now JSON) bool {
	if was == now {
		return true
	}
	a, okA := was.Text()
	b, okB := now.Text()
	if okA || okB {
		return okA && okB && a == b
	}
	m, okM := was.Int64()
	n, okN := now.Int64()
	return okM && okN && m == n
}

// DecodeEvent reads an event. An absent id stays empty.
func DecodeEvent(text string) (Event, error) {
	c, err := newCodec("event", text, make([]Member, 0, 5), nil)
	if err != nil {
		return Event{}, err
	}
	ev := Event{
		ID: c.text("id", ""), Kind: c.text("kind", ""),
		CreatedTime: c.get("created_time"), ReceivedTime: c.get("received_time"),
		Data: c.collection("data", Object, EmptyObject), members: c.members,
	}
	if c.err != nil {
		return Event{}, c.err
	}
	return ev, nil
}

// Encode returns the event with all five keys, unknown ones kept. Data that is
// no object and times that are no JSON are a *[ValueError].
func (ev Event) Encode() (JSON, error) {
	if err := ev.check(); err != nil {
		return "", err
	}
	return mergeMembers(ev.members, []Member{
		{"id", Quote(ev.ID)}, {"kind", Quote(ev.Kind)},
		{"created_time", orEmpty(ev.CreatedTime, Null)}, {"received_time", orEmpty(ev.ReceivedTime, Null)},
		{"data", orEmpty(ev.Data, EmptyObject)},
	}), nil
}

func (ev *Event) check() error {
	if ev.Data != "" {
		if err := checkField("event data", orEmpty(ev.Data, EmptyObject), Object); err != nil {
			return err
		}
	}
	for _, t := range [...]struct {
		key string
		at  JSON
	}{{"created_time", ev.CreatedTime}, {"received_time", ev.ReceivedTime}} {
		if t.at == "" || orEmpty(t.at, Null) == Null {
			continue
		}
		if _, err := ParseJSON(string(t.at)); err != nil {
			return &ValueError{"event " + t.key, err.Error(), err}
		}
	}
	return nil
}

package store

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Status is the word an execution's blob holds. The seven below are the engine's;
// any other is shown as it is. Words compare without regard to case.
type Status string

// The statuses of harel's engine.
const (
	Pending    Status = "PENDING"
	Running    Status = "RUNNING"
	Done       Status = "DONE"
	Cancelled  Status = "CANCELLED"
	Suspended  Status = "SUSPENDED"
	Cancelling Status = "CANCELLING"
	Failed     Status = "FAILED"
)

// Statuses lists the engine's own words in the order of a life.
func Statuses() []Status {
	return []Status{Pending, Running, Suspended, Cancelling, Done, Cancelled, Failed}
}

// Is compares two status words without regard to case.
func (s Status) Is(o Status) bool { return strings.EqualFold(string(s), string(o)) }

// Execution is one running statechart instance. JSON fields keep their text;
// members that this type does not know are kept, in their place, across a
// decode and encode, and what was not changed is written as it was read.
//
// In a fresh execution an absent History, Context, Children or InvokeSeq encodes
// as {}, an absent Deferred as []: a null there would make the row unreadable to
// harel. The four stamps (epoch seconds, number or null) encode only when they are
// not absent.
type Execution struct {
	ID              string
	DefinitionID    string
	DefinitionFQN   *string
	RootPath        string // "" is the machine's root
	Status          Status
	Outcome         *string
	Error           *string
	ActivePath      *string
	History         JSON // object: composite path -> last active child
	Context         JSON // object
	ProcessedEvents int64
	Version         int64 // compare-and-swap token; 0 is never stored
	Priority        int64 // 0..4
	ParentID        *string
	ChildID         *string // key in the parent's Children
	Deferred        JSON    // array of events
	Children        JSON    // object: child id -> ChildState
	InvokeSeq       JSON    // object: path -> times left
	CreatedAt       JSON
	UpdatedAt       JSON
	FinishedAt      JSON
	ExpiresAt       JSON

	// Drift names each column that differs from the blob it came with. It is not
	// stored; the columns have won.
	Drift []Drift

	// members is the blob as decoded: order, unknown members, original texts. It is
	// never changed, so copies of an Execution may share it.
	members []Member
	stored  string // the blob itself
	// readID and readDefinitionID are what the two were when it was decoded. The blob
	// may say something else.
	readID, readDefinitionID string
}

// Stored is the text that the execution was decoded from, byte for byte, "" for
// one that was not. Later changes of the fields do not show in it.
func (e *Execution) Stored() string { return e.stored }

// Drift is a column that says something else than the JSON beside it.
type Drift struct {
	Column string // "id", "definition_id", "version"
	Stored string // what the column holds, and what counts
	JSON   string // what the blob says
}

func (d Drift) String() string {
	return fmt.Sprintf("%s: column %s, JSON %s", d.Column, d.Stored, d.JSON)
}

// Clone returns an independent copy.
func (e *Execution) Clone() *Execution {
	c := *e
	c.Drift = slices.Clone(e.Drift)
	for _, p := range []**string{&c.DefinitionFQN, &c.Outcome, &c.Error, &c.ActivePath, &c.ParentID, &c.ChildID} {
		if *p != nil {
			v := **p
			*p = &v
		}
	}
	return &c
}

// ChildState is the join bookkeeping of one child of the current entry.
type ChildState struct {
	ID         string
	RootPath   string
	Finished   bool
	Outcome    *string
	Result     JSON
	Submachine bool
	Key        string
}

// ChildStates reads Children, in its order. Entries that are not objects are
// left out; a family is to be built from ParentID anyway.
func (e *Execution) ChildStates() []ChildState {
	var out []ChildState
	for id, v := range e.Children.Members() {
		if v.Kind() != Object {
			continue
		}
		c := ChildState{ID: id, Finished: v.Get("finished") == "true", Submachine: v.Get("submachine") == "true", Result: v.Get("result")}
		c.RootPath, _ = v.Get("root_path").Text()
		c.Key, _ = v.Get("key").Text()
		c.Outcome = optionalText(v.Get("outcome"))
		out = append(out, c)
	}
	return out
}

// JSON encodes a child state as harel writes it, without its id.
func (c ChildState) JSON() JSON {
	result := c.Result
	if result.IsNull() {
		result = EmptyObject
	}
	return ObjectOf(
		Member{"root_path", Quote(c.RootPath)}, Member{"finished", boolJSON(c.Finished)},
		Member{"outcome", quoteOptional(c.Outcome)}, Member{"result", result},
		Member{"submachine", boolJSON(c.Submachine)}, Member{"key", Quote(c.Key)},
	)
}

// SetChildStates replaces Children.
func (e *Execution) SetChildStates(states []ChildState) {
	ms := make([]Member, len(states))
	for i, c := range states {
		ms[i] = Member{c.ID, c.JSON()}
	}
	e.Children = ObjectOf(ms...)
}

// DeferredEvents reads Deferred. An entry that is no event is an error.
func (e *Execution) DeferredEvents() ([]Event, error) {
	var out []Event
	for v := range e.Deferred.Elements() {
		ev, err := DecodeEvent(string(v))
		if err != nil {
			return nil, fmt.Errorf("deferred event %d of execution %q: %w", len(out), e.ID, err)
		}
		out = append(out, ev)
	}
	return out, nil
}

// Event is what executions react to. Its id is the dedupe key. The engine never
// fills the two times.
type Event struct {
	ID           string
	Kind         string
	CreatedTime  JSON // ISO 8601 string or null
	ReceivedTime JSON
	Data         JSON // object

	members []Member
}

// Bare reports that the event has an id, a kind and data, and neither times nor
// members that this type does not know.
func (e *Event) Bare() bool {
	return e.members == nil && e.CreatedTime.IsNull() && e.ReceivedTime.IsNull()
}

// Created is when the event was made, where it says so: ISO 8601 text, in UTC where
// that names no zone, or epoch seconds. ok is false for anything else.
func (e *Event) Created() (at time.Time, ok bool) {
	if s, ok := e.CreatedTime.Float64(); ok {
		if math.IsNaN(s) || s < -62135596800 || s >= 253402300800 { // the years 1 to 9999
			return time.Time{}, false
		}
		whole := math.Floor(s)
		return time.Unix(int64(whole), int64((s-whole)*1e9)), true
	}
	s, ok := e.CreatedTime.Text()
	if !ok {
		return time.Time{}, false
	}
	for _, layout := range [...]string{time.RFC3339, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// NewEvent returns an event with a fresh id and no data where data is absent.
func NewEvent(kind string, data JSON) Event {
	return Event{ID: strings.ReplaceAll(NewID(), "-", ""), Kind: kind, Data: data}
}

// codec is one object under decoding: its members, the last of equal keys
// winning in the place of the first, and the first error.
type codec struct {
	what    string
	members []Member
	err     error
}

// newCodec parses an object. Where keep is not nil only the members that it wants
// are kept. They are put into room, as far as that goes.
func newCodec(what, text string, room []Member, keep func(key string) bool) (codec, error) {
	c := codec{what: what, members: room}
	if c.parse(text, keep) {
		return c, nil
	}
	// Whatever is wrong with it, ParseJSON says it best.
	j, err := ParseJSON(text)
	if err == nil {
		err = fmt.Errorf("%w but %s", ErrNotObject, j.Kind())
	}
	return codec{what: what}, fmt.Errorf("%s: %w", what, err)
}

// parse reads the members of text in one pass. It fails on everything but one
// object that ParseJSON would take.
func (c *codec) parse(s string, keep func(key string) bool) bool {
	i := skipSpace(s, 0)
	if !utf8.ValidString(s) || i >= len(s) || s[i] != '{' {
		return false
	}
	sc := scanner{src: s}
	var index map[string]int // only for objects that a linear search would be slow in
	i = skipSpace(s, i+1)
	if i < len(s) && s[i] == '}' {
		return skipSpace(s, i+1) == len(s)
	}
	for {
		from, err := sc.key(i)
		if err != nil {
			return false
		}
		end, err := sc.value(from)
		if err != nil {
			return false
		}
		keyEnd, _ := scanString(s, i)
		if key := unquote(s[i:keyEnd]); keep == nil || keep(key) {
			index = c.set(index, key, JSON(s[skipSpace(s, from):end]))
		}
		if i = skipSpace(s, end); i >= len(s) {
			return false
		}
		if s[i] == '}' {
			return skipSpace(s, i+1) == len(s)
		}
		if s[i] != ',' {
			return false
		}
		i = skipSpace(s, i+1)
	}
}

// set adds a member, or gives the one that has the key already the newer value.
func (c *codec) set(index map[string]int, key string, val JSON) map[string]int {
	at := -1
	if index == nil {
		at = memberIndex(c.members, key)
	} else if i, ok := index[key]; ok {
		at = i
	}
	if at >= 0 {
		c.members[at].Value = val
		return index
	}
	c.members = append(c.members, Member{key, val})
	switch {
	case index != nil:
		index[key] = len(c.members) - 1
	case len(c.members) == manyMembers:
		index = make(map[string]int, 4*manyMembers)
		for i, m := range c.members {
			index[m.Key] = i
		}
	}
	return index
}

// usualMembers is what an execution's blob has; manyMembers is where a map begins to beat a linear search.
const (
	usualMembers = 22
	manyMembers  = 64
)

func memberIndex(ms []Member, key string) int {
	for i := range ms {
		if ms[i].Key == key {
			return i
		}
	}
	return -1
}

func (c *codec) get(key string) JSON {
	if i := memberIndex(c.members, key); i >= 0 {
		return c.members[i].Value
	}
	return ""
}

func (c *codec) fail(key, want string, got JSON) {
	if c.err == nil {
		c.err = fmt.Errorf("%s: %q must be %s, not %s", c.what, key, want, got.Kind())
	}
}

func (c *codec) text(key, def string) string {
	v := c.get(key)
	if v == "" {
		return def
	}
	s, ok := v.Text()
	if !ok {
		c.fail(key, "a string", v)
	}
	return s
}

func (c *codec) optional(key string) *string {
	v := c.get(key)
	if v.IsNull() {
		return nil
	}
	s, ok := v.Text()
	if !ok {
		c.fail(key, "a string or null", v)
		return nil
	}
	return &s
}

func (c *codec) integer(key string) int64 {
	v := c.get(key)
	if v == "" {
		return 0
	}
	n, ok := laxInt(v)
	if !ok {
		c.fail(key, "a whole number of 64 bits", v)
	}
	return n
}

// laxInt takes what harel's models take for an integer: 3, 3.0 and "3".
func laxInt(v JSON) (int64, bool) {
	if s, ok := v.Text(); ok {
		v = JSON(strings.TrimSpace(s))
		if v.Kind() != Number {
			return 0, false
		}
		if _, err := ParseJSON(string(v)); err != nil {
			return 0, false
		}
	}
	return v.Int64()
}

func (c *codec) collection(key string, kind Kind, empty JSON) JSON {
	v := c.get(key)
	if v.IsNull() {
		return empty
	}
	if v.Kind() != kind {
		c.fail(key, kind.String(), v)
		return empty
	}
	return v
}

func optionalText(v JSON) *string {
	if s, ok := v.Text(); ok {
		return &s
	}
	return nil
}

func quoteOptional(s *string) JSON {
	if s == nil {
		return Null
	}
	return Quote(*s)
}

func boolJSON(b bool) JSON {
	if b {
		return "true"
	}
	return "false"
}

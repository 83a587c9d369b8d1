package store

// Step is a trace entry's known members. Anything may be missing: the engine
// writes seven keys, monitors' seeds others.
type Step struct {
	EventKind string
	EventData JSON
	From, To  *string
	Actions   []string
	Context   JSON // after the step
	ContextIn JSON
	Guards    []string
	Note      string
	Timestamp JSON // epoch seconds
	Assigned  JSON
	// KindUnknown marks a step whose "Start" is not the event's kind: older workers
	// did not hand the event to the trace, so every step of theirs says Start.
	KindUnknown bool
}

// Step reads the entry's members.
func (t TraceEntry) Step() Step {
	e := t.Entry
	s := Step{
		EventData: e.Get("event_data"), Context: e.Get("context_out"), ContextIn: e.Get("context_in"),
		Timestamp: e.Get("timestamp"), Assigned: e.Get("assigned"),
		From: optionalText(e.Get("from_path")), To: optionalText(e.Get("to_path")),
		Actions: texts(e.Get("actions")), Guards: texts(e.Get("guards")),
	}
	s.EventKind, _ = e.Get("event_kind").Text()
	s.Note, _ = e.Get("note").Text()
	s.KindUnknown = s.EventKind == "Start" && s.From != nil
	return s
}

func texts(list JSON) []string {
	var out []string
	for v := range list.Elements() {
		if s, ok := v.Text(); ok {
			out = append(out, s)
		}
	}
	return out
}

// ExplicitIndex returns the index an entry names for itself.
func ExplicitIndex(entry JSON) (int64, bool) { return entry.Get("index").Int64() }

// WithIndex returns the entry with that index as its last member, any other taken out.
func WithIndex(entry JSON, index int64) JSON {
	var ms []Member
	for k, v := range entry.Members() {
		if k != "index" {
			ms = append(ms, Member{k, v})
		}
	}
	n, err := ValueOf(index)
	if err != nil { // an int64 always encodes
		return entry
	}
	return ObjectOf(append(ms, Member{"index", n})...)
}

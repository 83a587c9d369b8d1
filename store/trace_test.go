package store_test

import (
	"testing"

	"treering/store"
)

func TestStep(t *testing.T) {
	full := store.TraceEntry{Entry: `{"event_kind":"Paid","event_data":{"a":1},"from_path":null,"to_path":"B","actions":["x",7,"y"],"guards":["g"],"context_out":{"c":1.0},"context_in":{},"note":"n","timestamp":1.5,"assigned":{"k":1}}`}.Step()
	equal(t, "step", full, store.Step{
		EventKind: "Paid", EventData: `{"a":1}`, To: text("B"), Actions: []string{"x", "y"}, Guards: []string{"g"}, Context: `{"c":1.0}`,
		ContextIn: `{}`, Note: "n", Timestamp: "1.5", Assigned: `{"k":1}`,
	})
	equal(t, "nothing", store.TraceEntry{Entry: `{}`}.Step(), store.Step{})
	for entry, want := range map[store.JSON]bool{
		`{"event_kind":"Start","from_path":null}`: false,
		`{"event_kind":"Start","from_path":"A"}`:  true,
		`{"event_kind":"Paid","from_path":"A"}`:   false,
	} {
		if got := (store.TraceEntry{Entry: entry}).Step().KindUnknown; got != want {
			t.Errorf("%s: kind unknown is %v", entry, got)
		}
	}
}

func TestExplicitIndex(t *testing.T) {
	for entry, want := range map[store.JSON]int64{`{"index":7}`: 7, `{"index":7.0}`: 7, `{"index":1,"index":2}`: 2, `{"\u0069ndex":3}`: 3} {
		if got, ok := store.ExplicitIndex(entry); !ok || got != want {
			t.Errorf("index of %s = %d, %v", entry, got, ok)
		}
	}
	for _, entry := range []store.JSON{`{}`, `{"index":"7"}`, `{"index":7.5}`, `{"a":{"index":7}}`, `[]`} {
		if got, ok := store.ExplicitIndex(entry); ok {
			t.Errorf("index of %s = %d", entry, got)
		}
	}
	equal(t, "with index", store.WithIndex(`{"index":1,"a":1.0}`, 9), store.JSON(`{"a":1.0,"index":9}`))
	equal(t, "of nothing", store.WithIndex(`{}`, -1), store.JSON(`{"index":-1}`))
}

package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"treering/store"
)

func text(s string) *string { return &s }

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestDecodeExecutionDefaults(t *testing.T) {
	e, err := store.DecodeExecution(`{}`)
	if err != nil {
		t.Fatal(err)
	}
	if e.Status != store.Pending || e.Version != 0 || e.RootPath != "" || e.Outcome != nil || e.ParentID != nil {
		t.Errorf("defaults: %+v", e)
	}
	equal(t, "collections", []store.JSON{e.History, e.Context, e.Deferred, e.Children, e.InvokeSeq}, []store.JSON{"{}", "{}", "[]", "{}", "{}"})
	equal(t, "stamps", []store.JSON{e.CreatedAt, e.UpdatedAt, e.FinishedAt, e.ExpiresAt}, []store.JSON{"", "", "", ""})
	equal(t, "stored", e.Stored(), `{}`)
}

// What harel's models take, and what they refuse.
func TestDecodeExecutionTypes(t *testing.T) {
	for blob, want := range map[string]string{
		`{"version":"3","priority":4.0,"processed_events":30e-1}`: "",
		`{"version":3,"version":" 5 "}`:                           "",
		`{"history":null,"deferred":null,"outcome":null}`:         "",
		`{"status":"anything at all"}`:                            "",
		`{"version":3.5}`:                                         `"version" must be a whole number of 64 bits, not a number`,
		`{"version":"x"}`:                                         `"version" must be a whole number`,
		`{"version":"0x10"}`:                                      `"version" must be a whole number`,
		`{"version":null}`:                                        `"version" must be a whole number of 64 bits, not null`,
		`{"version":99999999999999999999}`:                        `"version" must be a whole number`,
		`{"id":7}`:                                                `"id" must be a string, not a number`,
		`{"status":null}`:                                         `"status" must be a string, not null`,
		`{"outcome":1}`:                                           `"outcome" must be a string or null, not a number`,
		`{"context":[]}`:                                          `"context" must be an object, not an array`,
		`{"deferred":{}}`:                                         `"deferred" must be an array, not an object`,
		`{"children":"x"}`:                                        `"children" must be an object, not a string`,
		`[]`:                                                      `not a JSON object but an array`,
		`{"id":`:                                                  `not JSON`,
		``:                                                        `not JSON`,
	} {
		_, err := store.DecodeExecution(blob)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", blob, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", blob, err, want)
		}
	}
	e, err := store.DecodeExecution(`{"version":3,"version":" 5 ","a":1,"a":2}`)
	if err != nil || e.Version != 5 {
		t.Errorf("of two versions the last wins: %+v, %v", e, err)
	}
	if _, err := store.DecodeExecution(`[]`); !errors.Is(err, store.ErrNotObject) {
		t.Errorf("an array: %v", err)
	}
}

func TestColumnsWinAndDriftIsNamed(t *testing.T) {
	const blob = `{"id":"other","definition_id":7,"version":"2","status":"DONE"}`
	e, err := store.DecodeExecution(strings.Replace(blob, `7`, `"d"`, 1))
	if err != nil || len(e.Drift) != 0 {
		t.Fatalf("%+v, %v", e, err)
	}
	e, err = store.DecodeExecutionRow("x", "shop", 3, strings.Replace(blob, `7`, `"d"`, 1))
	if err != nil {
		t.Fatal(err)
	}
	if e.ID != "x" || e.DefinitionID != "shop" || e.Version != 3 {
		t.Errorf("columns lost: %q %q %d", e.ID, e.DefinitionID, e.Version)
	}
	equal(t, "drift", e.Drift, []store.Drift{{Column: "id", Stored: "x", JSON: `"other"`}, {Column: "definition_id", Stored: "shop", JSON: `"d"`}, {Column: "version", Stored: "3", JSON: `"2"`}})
	equal(t, "as text", e.Drift[2].String(), `version: column 3, JSON "2"`)

	same, err := store.DecodeExecutionRow("x", "d", 3, `{"id":"x","version":3.0}`)
	if err != nil || len(same.Drift) != 0 {
		t.Errorf("what is absent or says the same is no drift: %v, %v", same.Drift, err)
	}
}

func TestSummaryOfABadRow(t *testing.T) {
	const bad = `{"status":"DONE","outcome":7,"parent_id":"p"}`
	s := store.SummaryOfRow("x", "d", 4, []byte(bad))
	if s.Bad == nil || s.Status != store.Done || *s.ParentID != "p" || s.Version != 4 || s.Outcome != nil {
		t.Errorf("what could be read is kept: %+v", s)
	}
	if string(s.Bad.Raw) != bad || s.Bad.Key != "x" || !strings.Contains(s.Bad.Error(), `executions row "x" cannot be read`) {
		t.Errorf("bad: %v", s.Bad)
	}
	s = store.SummaryOfRow("x", "d", 4, []byte("\xff"))
	if s.Bad == nil || s.Status != "" || s.ID != "x" {
		t.Errorf("no JSON: %+v", s)
	}
	if (store.ExecutionFilter{Status: []store.Status{""}}).Selects(s) {
		t.Error("a status that could not be read matches a word")
	}
}

func TestEncodeRefuses(t *testing.T) {
	for what, e := range map[string]store.Execution{
		"context":    {Context: `[]`},
		"history":    {History: `{`},
		"children":   {Children: `nope`},
		"invoke_seq": {InvokeSeq: `1`},
		"deferred":   {Deferred: `{}`},
		"updated_at": {UpdatedAt: `soon`},
	} {
		_, err := e.Encode(1)
		var v *store.ValueError
		if !errors.As(err, &v) || v.Field != what {
			t.Errorf("%s: %v, want a *ValueError", what, err)
		}
	}
}

func TestStampsOnlyWhereTheyAre(t *testing.T) {
	e := &store.Execution{ID: "x"}
	without, err := e.Encode(1)
	if err != nil || strings.Contains(without, "_at\"") {
		t.Errorf("stamps of an execution without: %s, %v", without, err)
	}
	e.CreatedAt, e.FinishedAt = "1.5", store.Null
	with, err := e.Encode(1)
	if err != nil || !strings.HasSuffix(with, `"invoke_seq":{},"created_at":1.5,"finished_at":null}`) {
		t.Errorf("stamps: %s, %v", with, err)
	}
}

func TestCloneIsIndependent(t *testing.T) {
	e, err := store.DecodeExecutionRow("x", "d", 1, `{"id":"y","outcome":"o","error":"e","active_path":"a","parent_id":"p","child_id":"c","definition_fqn":"f","later":1}`)
	if err != nil {
		t.Fatal(err)
	}
	before, err := e.Encode(1)
	if err != nil {
		t.Fatal(err)
	}
	c := e.Clone()
	for _, p := range []*string{c.Outcome, c.Error, c.ActivePath, c.ParentID, c.ChildID, c.DefinitionFQN} {
		*p = "changed"
	}
	c.Drift[0].JSON, c.Status = "changed", store.Failed
	after, err := e.Encode(1)
	if err != nil || after != before || e.Drift[0].JSON != `"y"` {
		t.Errorf("the original changed: %s, %v", after, err)
	}
	if got, err := c.Encode(1); err != nil || !strings.Contains(got, `"later":1`) {
		t.Errorf("the clone lost an unknown member: %s, %v", got, err)
	}
}

func TestChildStates(t *testing.T) {
	e := &store.Execution{Children: `{"b":{"root_path":"F.B","finished":true,"outcome":"ok","result":{"n":1.0},"submachine":true,"key":"k","new":1},"odd":7,"a":{}}`}
	got := e.ChildStates()
	want := []store.ChildState{
		{ID: "b", RootPath: "F.B", Finished: true, Outcome: text("ok"), Result: `{"n":1.0}`, Submachine: true, Key: "k"},
		{ID: "a"},
	}
	equal(t, "states", got, want)
	e.SetChildStates(got)
	equal(t, "written", e.Children, store.JSON(`{"b":{"root_path":"F.B","finished":true,"outcome":"ok","result":{"n":1.0},"submachine":true,"key":"k"},"a":{"root_path":"","finished":false,"outcome":null,"result":{},"submachine":false,"key":""}}`))
}

func TestDeferredEvents(t *testing.T) {
	e := &store.Execution{ID: "x", Deferred: `[{"id":"1","kind":"A","data":{"n":1}},{"id":"2","kind":"B"}]`}
	events, err := e.DeferredEvents()
	if err != nil || len(events) != 2 || events[1].Kind != "B" || events[1].Data != "{}" {
		t.Errorf("%+v, %v", events, err)
	}
	e.Deferred = `[{"id":"1"},7]`
	if _, err := e.DeferredEvents(); err == nil || !strings.Contains(err.Error(), `deferred event 1 of execution "x"`) {
		t.Errorf("an entry that is no event: %v", err)
	}
}

func TestEvents(t *testing.T) {
	const stored = `{"later":[1.0],"id":"\u0061","kind":"K","created_time":"2026-06-04T11:02:00Z","received_time":null,"data":{"n":1.50}}`
	ev, err := store.DecodeEvent(stored)
	if err != nil || ev.ID != "a" {
		t.Fatalf("%+v, %v", ev, err)
	}
	if got, err := ev.Encode(); err != nil || string(got) != stored {
		t.Errorf("unchanged: %s, %v", got, err)
	}
	ev.Data = ""
	if got, err := ev.Encode(); err != nil || string(got) != strings.Replace(stored, `{"n":1.50}`, `{}`, 1) {
		t.Errorf("without data: %s, %v", got, err)
	}
	for _, bad := range []store.Event{{Data: `[]`}, {Data: `{"a":}`}, {Data: `nope`}, {CreatedTime: `yesterday`}, {ReceivedTime: `n`}} {
		var v *store.ValueError
		if _, err := bad.Encode(); !errors.As(err, &v) {
			t.Errorf("%+v: %v, want a *ValueError", bad, err)
		}
		if err := (store.Commit{Execution: &store.Execution{ID: "x"}, Emits: []store.Emit{{Event: bad}}}).Validate(); !errors.As(err, &v) {
			t.Errorf("commit of %+v: %v, want a *ValueError", bad, err)
		}
	}
	for _, bad := range []string{`[]`, `{"id":1}`, `{"data":[]}`, `{`} {
		if _, err := store.DecodeEvent(bad); err == nil {
			t.Errorf("event %s was read", bad)
		}
	}
	a, b := store.NewEvent("K", ""), store.NewEvent("K", `{"a":1}`)
	if a.ID == b.ID || len(a.ID) != 32 || b.Data != `{"a":1}` {
		t.Errorf("new events %+v, %+v", a, b)
	}
}

// What a decoded execution says is laid over the blob it came from: nothing is
// added, and nothing rewritten, that was not changed.
func TestADecodedExecutionChangesWhatWasChanged(t *testing.T) {
	decode := func(blob string) *store.Execution {
		t.Helper()
		e, err := store.DecodeExecutionRow("col", "def", 7, blob)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, c := range []struct {
		name, blob string
		change     func(*store.Execution)
		want       string
	}{
		{"nothing in it", `{}`, func(*store.Execution) {}, `{"version":8}`},
		{"a status", `{}`, func(e *store.Execution) { e.Status = store.Cancelled }, `{"status":"CANCELLED","version":8}`},
		{"drift stays", `{"version":"3","definition_id":null,"id":"other"}`, func(e *store.Execution) { e.Status = store.Running },
			`{"version":8,"definition_id":null,"id":"other","status":"RUNNING"}`},
		{"new ids are written", `{"id":"other","definition_id":"other"}`, func(e *store.Execution) { e.ID, e.DefinitionID = "x", "y" },
			`{"id":"x","definition_id":"y","version":8}`},
		{"absent ids too", `{"status":"DONE"}`, func(e *store.Execution) { e.ID, e.DefinitionID = "x", "y" },
			`{"status":"DONE","id":"x","definition_id":"y","version":8}`},
		{"lax numbers", `{"priority":"2","processed_events":4.0,"version":7.0}`, func(*store.Execution) {},
			`{"priority":"2","processed_events":4.0,"version":8}`},
		{"nulls", `{"history":null,"deferred":null,"outcome":null}`, func(*store.Execution) {}, `{"history":{},"deferred":[],"outcome":null,"version":8}`},
		{"what replaces them", `{"history":null,"priority":"2"}`, func(e *store.Execution) { e.History, e.Priority = `{"a":"b"}`, 3 },
			`{"history":{"a":"b"},"priority":3,"version":8}`},
		{"emptied", `{"context":{"a":1},"outcome":"x","created_at":1}`, func(e *store.Execution) { e.Context, e.Outcome, e.CreatedAt = "", nil, "" },
			`{"context":{},"outcome":null,"version":8}`},
		{"all that was absent", `{}`, func(e *store.Execution) {
			s := "s"
			e.DefinitionFQN, e.RootPath, e.Outcome, e.Error, e.ActivePath, e.ParentID, e.ChildID = &s, s, &s, &s, &s, &s, &s
			e.History, e.Context, e.Children, e.InvokeSeq, e.Deferred = `{"a":1}`, `{"a":1}`, `{"a":1}`, `{"a":1}`, `[1]`
			e.ProcessedEvents, e.Priority, e.CreatedAt = 1, 2, "3"
		}, `{"definition_fqn":"s","root_path":"s","outcome":"s","error":"s","active_path":"s","history":{"a":1},"context":{"a":1},` +
			`"processed_events":1,"version":8,"priority":2,"parent_id":"s","child_id":"s","deferred":[1],"children":{"a":1},"invoke_seq":{"a":1},"created_at":3}`},
	} {
		e := decode(c.blob)
		c.change(e)
		got, err := e.Clone().Encode(8)
		if err != nil || got != c.want {
			t.Errorf("%s: %s becomes\n%s, %v, want\n%s", c.name, c.blob, got, err, c.want)
		}
	}
}

func TestWhenAnEventWasMade(t *testing.T) {
	noon := time.Date(2026, 12, 1, 12, 0, 0, 250_000_000, time.UTC)
	for _, c := range []struct {
		written store.JSON
		want    time.Time
		ok      bool
	}{
		{store.Quote("2026-12-01T12:00:00.25Z"), noon, true},
		{store.Quote("2026-12-01T13:00:00.250+01:00"), noon, true},
		{store.Quote("2026-12-01T12:00:00.250000"), noon, true},
		{"1796126400.25", noon, true},
		{store.Null, time.Time{}, false},
		{"", time.Time{}, false},
		{store.Quote("soon"), time.Time{}, false},
		{"NaN", time.Time{}, false},
		{"1e300", time.Time{}, false},
		{"{}", time.Time{}, false},
	} {
		ev := store.Event{CreatedTime: c.written}
		if got, ok := ev.Created(); ok != c.ok || !got.Equal(c.want) {
			t.Errorf("%s: %v, %v; want %v, %v", c.written, got, ok, c.want, c.ok)
		}
	}
}

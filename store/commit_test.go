package store_test

import (
	"errors"
	"math"
	"testing"

	"treering/store"
)

func TestCheckCopiesEverything(t *testing.T) {
	target, mark := "t", "m"
	exe := &store.Execution{ID: "e", DefinitionID: "d", Version: 3, Outcome: text("ok")}
	c := store.Commit{
		Execution: exe, ProcessedEventID: &mark, Trace: `{"n":1}`,
		Emits:  []store.Emit{{TargetID: &target, Event: store.Event{ID: "x", Kind: "K"}}},
		Timers: []store.TimerOp{{Action: store.Schedule, Path: "p", FireAt: 1}},
		Spawns: []store.Spawn{{ChildID: "c"}},
	}
	got, err := c.Check()
	if err != nil {
		t.Fatal(err)
	}
	target, mark, *exe.Outcome = "changed", "changed", "changed"
	exe.DefinitionID, exe.Version = "changed", 9
	c.Timers[0].Path, c.Spawns[0].ChildID = "changed", "changed"
	if got.ID != "e" || got.Expected != 3 || got.DefinitionID != "d" || *got.ProcessedEventID != "m" || *got.Emits[0].TargetID != "t" ||
		got.Timers[0].Path != "p" || got.Spawns[0].ChildID != "c" || got.Spawns[0].Context != "{}" {
		t.Errorf("checked commit changed with the caller's: %+v", got)
	}
	if back, err := store.DecodeExecution(got.Data); err != nil || back.Version != 4 || *back.Outcome != "ok" {
		t.Errorf("data %s, %v", got.Data, err)
	}
	if got.Emits[0].Event != `{"id":"x","kind":"K","created_time":null,"received_time":null,"data":{}}` {
		t.Errorf("event %s", got.Emits[0].Event)
	}
}

// Validate and Check must refuse the same commits.
func TestValidateRefusesWhatCheckRefuses(t *testing.T) {
	exe := &store.Execution{ID: "e"}
	for what, tc := range map[string]struct {
		c    store.Commit
		want error
	}{
		"fine":                     {store.Commit{Execution: exe}, nil},
		"cancel at NaN":            {store.Commit{Execution: exe, Timers: []store.TimerOp{{Action: store.Cancel, FireAt: math.NaN()}}}, nil},
		"no execution":             {store.Commit{}, store.ErrEmptyID},
		"no id":                    {store.Commit{Execution: &store.Execution{}}, store.ErrEmptyID},
		"negative version":         {store.Commit{Execution: &store.Execution{ID: "e", Version: -1}}, store.ErrBadVersion},
		"last version":             {store.Commit{Execution: &store.Execution{ID: "e", Version: math.MaxInt64}}, store.ErrBadVersion},
		"id that is not UTF-8":     {store.Commit{Execution: &store.Execution{ID: "e\xff"}}, store.ErrNotText},
		"id with a NUL":            {store.Commit{Execution: &store.Execution{ID: "e\x00"}}, store.ErrNotText},
		"path with a NUL":          {store.Commit{Execution: &store.Execution{ID: "e"}, Timers: []store.TimerOp{{Action: store.Cancel, Path: "a\x00b"}}}, store.ErrNotText},
		"target that is not UTF-8": {store.Commit{Execution: &store.Execution{ID: "e"}, Emits: []store.Emit{{TargetID: new("\xff"), Event: store.NewEvent("k", "")}}}, store.ErrNotText},
		"NaN":                      {store.Commit{Execution: exe, Timers: []store.TimerOp{{Action: store.Schedule, FireAt: math.NaN()}}}, store.ErrBadTime},
		"infinity":                 {store.Commit{Execution: exe, Timers: []store.TimerOp{{Action: store.Schedule, FireAt: math.Inf(-1)}}}, store.ErrBadTime},
		"trace":                    {store.Commit{Execution: exe, Trace: `1`}, store.ErrNotObject},
		"null trace":               {store.Commit{Execution: exe, Trace: `null`}, store.ErrNotObject},
		"spawn":                    {store.Commit{Execution: exe, Spawns: []store.Spawn{{Context: `[]`}}}, store.ErrNotObject},
		"event":                    {store.Commit{Execution: exe, Emits: []store.Emit{{Event: store.Event{Data: `"x"`}}}}, store.ErrNotObject},
	} {
		_, checked := tc.c.Check()
		for how, err := range map[string]error{"Validate": tc.c.Validate(), "Check": checked} {
			if !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) {
				t.Errorf("%s, %s: %v, want %v", what, how, err, tc.want)
			}
		}
	}
}

func TestSelects(t *testing.T) {
	s := store.Summary{ID: "e", DefinitionID: "d", Status: "Running", ParentID: text("p")}
	for what, tc := range map[string]struct {
		f    store.ExecutionFilter
		want bool
	}{
		"all":         {store.ExecutionFilter{}, true},
		"any of":      {store.ExecutionFilter{Status: []store.Status{store.Done, store.Running}}, true},
		"other":       {store.ExecutionFilter{Status: []store.Status{store.Done}}, false},
		"none":        {store.ExecutionFilter{Status: []store.Status{}}, false},
		"definition":  {store.ExecutionFilter{DefinitionID: text("d")}, true},
		"other one":   {store.ExecutionFilter{DefinitionID: text("D")}, false},
		"roots":       {store.ExecutionFilter{RootsOnly: true}, false},
		"child":       {store.ExecutionFilter{ParentID: text("p")}, true},
		"other child": {store.ExecutionFilter{ParentID: text("")}, false},
	} {
		if got := tc.f.Selects(s); got != tc.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// A cursor of one selection must not fit another, so no two may share a scope.
func TestScopesDiffer(t *testing.T) {
	due := 1.0
	seen := map[string]int{}
	for i, f := range []store.ExecutionFilter{
		{}, {RootsOnly: true}, {Status: []store.Status{}}, {Status: []store.Status{""}}, {Status: []store.Status{"A", "B"}}, {Status: []store.Status{"A B"}},
		{Status: []store.Status{`A" "B`}}, {DefinitionID: text("")}, {DefinitionID: text("-")}, {ParentID: text("")}, {ParentID: text("-")},
		{DefinitionID: text("a"), ParentID: text("b")}, {DefinitionID: text(`a" "b`)}, {ParentID: text(`a" "b`)},
	} {
		if at, ok := seen[f.Scope()]; ok {
			t.Errorf("filters %d and %d share the scope %s", at, i, f.Scope())
		}
		seen[f.Scope()] = i
		if f.Scope() != f.Scope() {
			t.Error("a scope changes")
		}
	}
	seen = map[string]int{}
	for i, f := range []store.QueueFilter{{}, {ExecutionID: text("")}, {ExecutionID: text("-")}, {DueBy: &due}, {ExecutionID: text("-"), DueBy: &due}, {ExecutionID: text("- 3ff")}} {
		if at, ok := seen[f.Scope()]; ok {
			t.Errorf("queue filters %d and %d share the scope %s", at, i, f.Scope())
		}
		seen[f.Scope()] = i
	}
}

func TestPageRequestSize(t *testing.T) {
	for limit, want := range map[int]int{0: 1000, 1: 1, 999: 999, 1000: 1000, 1001: 1000, 1 << 40: 1000} {
		if got, err := (store.PageRequest{Limit: limit}).Size(); err != nil || got != want {
			t.Errorf("Size of %d = %d, %v", limit, got, err)
		}
	}
	if _, err := (store.PageRequest{Limit: -1}).Size(); !errors.Is(err, store.ErrBadLimit) {
		t.Errorf("a negative limit: %v", err)
	}
}

func TestAllStops(t *testing.T) {
	stop, broken := errors.New("stop"), errors.New("broken")
	calls := 0
	list := func(p store.PageRequest) (store.Page[int], error) {
		calls++
		if p.Cursor == "c" {
			return store.Page[int]{}, broken
		}
		return store.Page[int]{Items: []int{1, 2}, Next: "c"}, nil
	}
	var got []int
	err := store.All(list, func(i int) error { got = append(got, i); return nil })
	if !errors.Is(err, broken) || len(got) != 2 || calls != 2 {
		t.Errorf("%v after %d calls and %v", err, calls, got)
	}
	if err := store.All(list, func(int) error { return stop }); !errors.Is(err, stop) || calls != 3 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestTimeoutEventID(t *testing.T) {
	if got := store.TimeoutEventID("e:1", "Checkout.Payment", 1784730012); got != "timeout:e:1:Checkout.Payment:1784730012.0" {
		t.Error(got)
	}
}

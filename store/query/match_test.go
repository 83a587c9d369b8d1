package query

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"treering/store"
)

// noon is the time at which tests filter.
var noon = float64(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC).Unix())

// forest is a tree as its parents: ref i+1 has the parent forest[i].
type forest []int32

func (f forest) Size() int32 { return int32(len(f)) }

func (f forest) Find(id string) (int32, bool) {
	var n int32
	if _, err := fmt.Sscanf(id, "n%d", &n); err != nil || n < 1 || int(n) > len(f) {
		return 0, false
	}
	return n, true
}

func (f forest) Parent(ref int32) int32 { return f[ref-1] }
func (f forest) Known(int32) bool       { return true }

func text(s string) *string { return &s }

func data(j store.JSON) func() store.JSON { return func() store.JSON { return j } }

// rowOf is an empty row.
func rowOf(s Subject) Row {
	switch s {
	case Sessions:
		return &SessionRow{Session: &store.SessionInfo{}}
	case Nodes:
		return &NodeRow{}
	case Executions:
		return &ExecutionRow{Summary: &store.Summary{}}
	case Steps:
		return &StepRow{Step: &store.Step{}}
	case Outbox:
		return &OutboxRow{Entry: &store.OutboxEntry{}}
	case Spawns:
		return &SpawnRow{Entry: &store.SpawnEntry{}}
	default:
	}
	return &TimerRow{Timer: &store.Timer{}}
}

// check matches each query on the row.
func check(t *testing.T, s Subject, r Row, tree Structure, cases map[string]Result) {
	t.Helper()
	for text, want := range cases {
		q, err := Parse(text, s)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		m, err := q.Bind(Env{Now: noon, Tree: tree})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := m.Match(r); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

func TestMatchNode(t *testing.T) {
	r := &NodeRow{ID: "n4", Parent: text("n2"), Kind: "run", Title: "make -O3 Bench", Data: data(store.JSON(`{
		"user":{"label":"first","name":"Ана"},"n":12,"big":12345678901234567890.10,"neg":-0.5,"zero":0e5,"t":true,"nil":null,"nan":NaN,
		"items":[{"name":"apple"},7,"pear"],"0":"key","empty":"","esc":"a\nb","num":"12","ts":` + fmt.Sprint(int64(noon)-300) + `,"obj":{}}`))}
	check(t, Nodes, r, forest{0, 1, 2, 2}, map[string]Result{
		"": Yes, "bench": Yes, "mkbn": Yes, "Bench": Yes, "BENCH": No, "n4": Yes, "run": Yes, "zz": No, "bench run": Yes, "bench zz": No,
		"zz or bench": Yes, "not zz": Yes, "not bench": No,
		`"-O3 B"`: Yes, `"-o3"`: No, `"make Bench"`: No,
		"kind:run": Yes, "kind:Run": No, "kind=run": Yes, "kind!=run": No, "kind!=stage": Yes, "kind~U": No, "kind~u": Yes, "kind:ru": No,
		"id:n4": Yes, "id~4": Yes, "parent:n2": Yes, "parent:n4": No, "parent!=n4": Yes,
		"title:bench": Yes, "title:Bench": Yes, "title:BENCH": No, "title:mkb": No, "title=bench": No, `title="make -O3 Bench"`: Yes,
		"depth:2": Yes, "depth>1": Yes, "depth>2": No, "depth>=2": Yes, "depth<2": No, "depth<=2": Yes, "depth!=2": No, "depth=2.0": Yes, "depth>1.5": Yes,
		"depth<2.5": Yes, "depth=2.5": No, "depth!=2.5": Yes, "depth<1e400": Yes, "depth>-1e400": Yes,
		"children:0": Yes, "children>0": No, "heads()": Yes, "forks()": No, "roots()": No,
		"ancestors(n4)": Yes, "ancestors(n3)": No, "descendants(n1)": Yes, "descendants(n3)": No, "descendants(n2)": Yes, "ancestors(n9)": No,
		"data.user.label=first": Yes, "data.user.label:first": Yes, "data.user.label=First": No, "data.user.label!=first": No,
		"data.user.label!=other": Yes, "data.user.gone!=other": No, "not data.user.gone=other": Yes, "data.user.label~IRS": No, "data.user.label~irs": Yes,
		"data.user.name~ана": Yes, "data.user.label<g": Yes, "data.user.label>g": No,
		"data.n=12": Yes, "data.n=12.0": Yes, "data.n=1.2e1": Yes, "data.n>11": Yes, "data.n>12": No, "data.n>=12": Yes, "data.n<12.5": Yes, `data.n="12"`: No,
		`data.num="12"`: Yes, "data.num=12": No, "data.num>1": No, "data.n~2": Yes, "data.n<x": No,
		"data.big=12345678901234567890.1": Yes, "data.big=12345678901234567890": No, "data.big>12345678901234567890": Yes,
		"data.big<12345678901234567890.11": Yes, "data.neg<0": Yes, "data.neg>=-0.50": Yes, "data.zero=0": Yes, "data.zero=-0": Yes,
		"data.t=true": Yes, "data.t=false": No, `data.t="true"`: No, "data.t!=false": Yes, "data.nil=null": Yes, "data.n=null": No, "data.gone=null": No,
		"data.nil!=null": No, "data.n!=null": Yes, "data.nil!=1": No, "data.nan=NaN": Yes, "data.nan=1": No, "data.nan>1": No,
		"data.items.0.name=apple": Yes, "data.items.1=7": Yes, "data.items.2=pear": Yes, "data.items.3=pear": No, "data.items.x=1": No, "data.0=key": Yes,
		"data.items~ear": Yes, "data.items~7": Yes, "data.items~zz": No, "data.items=pear": No, "data.n.x=1": No,
		`data.empty=""`: Yes, `data.gone=""`: No, `data.esc="a\nb"`: Yes,
		"has:data.user": Yes, "has:data.nil": No, "has:data.gone": No, "has:data.items.1": Yes, "has:data": Yes, "has:data.empty": Yes, "has:data.obj": Yes,
		"has:parent": Yes, "has:title": Yes, "has:time": Yes, "has:depth": Yes, "has:children": No,
		"since:10m": Yes, "since:4m": No, "before:4m": Yes, "before:10m": No, "since:now": No, "before:now": Yes, "since:2026-11-30T11:55Z": Yes,
		"since:2026-11-30T11:55:01": No, `before:"2026-11-30 12:00+00:00"`: Yes, "since:2026-11-30": Yes, "since:+1h": No, "before:+1h": Yes, "since:1796000000": Yes,
		"since:1796000000000": Yes,
	})
	root := &NodeRow{ID: "n1", Kind: "init"}
	check(t, Nodes, root, forest{0, 1, 1}, map[string]Result{
		"roots()": Yes, "forks()": Yes, "heads()": No, "children:2": Yes, "depth:0": Yes, "has:parent": No, "parent!=x": No, "not parent:x": Yes, "title:x": No, "has:title": No,
		"since:10m": NoTime, "before:10m": NoTime, "not since:10m": NoTime, "since:10m init": NoTime, "since:10m zz": No, "init or since:10m": Yes, "zz or since:10m": NoTime,
		"not (zz since:10m)": Yes, "has:time": No, "has:data": No, "data.x=1": No,
	})
	// What is not in the tree has no depth and no children, and is nobody's kin.
	check(t, Nodes, &NodeRow{ID: "other"}, forest{0}, map[string]Result{"depth>=0": No, "children>=0": No, "heads()": No, "descendants(n1)": No, "not heads()": Yes})
	// A ref is not looked up.
	check(t, Nodes, &NodeRow{ID: "other", Ref: 1}, forest{0}, map[string]Result{"depth:0": Yes, "heads()": Yes, "descendants(n1)": Yes})
	check(t, Nodes, &NodeRow{ID: "late", Ref: 99}, forest{0}, map[string]Result{"depth:0": No, "heads()": No, "descendants(n1)": No})
}

func TestMatchExecution(t *testing.T) {
	r := &ExecutionRow{
		Summary: &store.Summary{ID: "order-1:P:0", DefinitionID: "shop", Status: "RUNNING", ActivePath: text("Fulfilment.Billing"), Version: 3, ParentID: text("order-1"), UpdatedAt: "null"},
		Context: data(`{"total":455.30}`), LastStep: func() (float64, bool) { return noon - 60, true },
	}
	check(t, Executions, r, forest{0}, map[string]Result{
		"order": Yes, "shop": Yes, "running": Yes, "billing": Yes, "zz": No,
		"status:running": Yes, "status:Running": Yes, "status=RUNNING": Yes, "status!=running": No, "status~RUN": Yes, "status~run": Yes, "status:run": No,
		"definition:shop": Yes, "definition:Shop": No, "id:order-1:P:0": Yes, "parent:order-1": Yes, "roots()": No,
		"state:Fulfilment": Yes, "state:Fulfilment.Billing": Yes, "state:Fulfil": No, "state=Fulfilment": No, "state~bill": Yes, "state:Fulfilment.Billing.X": No,
		"outcome:success": No, "outcome!=success": No, "has:outcome": No, "version:3": Yes, "version>=3": Yes, "version<3": No,
		"context.total=455.3": Yes, "context.total>455": Yes, "has:context.gone": No, "since:2m": Yes, "since:30s": No, "has:row_error": No,
	})
	r.Summary.UpdatedAt = "1796040000"
	r.LastStep = func() (float64, bool) { t.Error("the trace is read though the summary has a time"); return 0, false }
	check(t, Executions, r, nil, map[string]Result{"since:2h": Yes})

	bad := &ExecutionRow{Summary: &store.Summary{ID: "x", Bad: &store.RowError{Err: store.ErrNotObject}}}
	check(t, Executions, bad, nil, map[string]Result{
		"status:running": No, "status!=running": No, "not status:running": Yes, "version<5": No, "has:version": No, "has:row_error": Yes, "since:1h": NoTime, "context.a=1": No,
	})
}

func TestMatchOthers(t *testing.T) {
	check(t, Sessions, &SessionRow{Session: &store.SessionInfo{ID: "example", Kind: "session"}}, nil, map[string]Result{
		"exa": Yes, "kind:session": Yes, "kind:other": No, "id:example": Yes, "before:+1h": NoTime, "not has:time": Yes,
	})
	soon := noon + 60
	check(t, Sessions, &SessionRow{Session: &store.SessionInfo{ID: "e", ExpiresAt: &soon}}, nil, map[string]Result{"before:+1h": Yes, "before:now": No, "has:time": Yes})
	check(t, Steps, &StepRow{Index: 7, Step: &store.Step{
		EventKind: "Paid", EventData: `{"a":1}`, From: text("Cart"), To: text("Pay.Card"), Actions: []string{"reserve", "mail"}, Context: `{"x":2}`, Timestamp: "1796039990.5", Note: "Late",
	}}, nil, map[string]Result{
		"paid": Yes, "card": Yes, "mail": Yes, "zz": No, "event:Paid": Yes, "from:Cart": Yes, "to:Pay": Yes, "action:mail": Yes, "action:reserve": Yes, "action:x": No,
		"action!=x": Yes, "action!=mail": No, "action~ser": Yes, "note:late": Yes, "index:7": Yes, "index<7": No, "data.a=1": Yes, "context.x=2": Yes, "since:1m": Yes, "since:1s": No,
	})
	check(t, Steps, &StepRow{Step: &store.Step{EventKind: "Start", KindUnknown: true}}, nil, map[string]Result{"event:Start": No, "has:event": No, "start": No, "since:1h": NoTime})
	check(t, Steps, &StepRow{Step: &store.Step{}, Bad: &store.RowError{Err: store.ErrNotObject}}, nil, map[string]Result{"has:row_error": Yes, "has:time": No})
	check(t, Outbox, &OutboxRow{Entry: &store.OutboxEntry{Seq: 3, TargetID: text("order-2"), Event: store.Event{ID: "ev1", Kind: "Cancel", CreatedTime: `"2026-11-30T11:59:30Z"`, Data: `{"by":"support"}`}}},
		nil, map[string]Result{
			"order": Yes, "cancel": Yes, "ev1": Yes, "target:order-2": Yes, "event:Cancel": Yes, "id:ev1": Yes, "seq:3": Yes, "seq>3": No, "data.by=support": Yes, "since:1m": Yes, "since:10s": No,
		})
	check(t, Outbox, &OutboxRow{Entry: &store.OutboxEntry{Event: store.Event{Data: `{"created_at":1796039990000}`}}}, nil, map[string]Result{"since:1m": Yes, "has:target": No})
	check(t, Spawns, &SpawnRow{Entry: &store.SpawnEntry{Seq: 1, ParentID: "a", ChildID: "a:P:0", RootPath: "P.Q", Context: `{"limit":Infinity,"ts":"2026-11-30 11:59:59,5"}`}}, nil, map[string]Result{
		"parent:a": Yes, "child:a:P:0": Yes, "path:P": Yes, "path:P.Q": Yes, "path:Q": No, "seq:1": Yes, "context.limit=Infinity": Yes, "since:1s": Yes,
	})
	check(t, Timers, &TimerRow{Timer: &store.Timer{ExecutionID: "order-1", Path: "Payment", FireAt: noon - 60}}, nil, map[string]Result{
		"order": Yes, "pay": Yes, "execution:order-1": Yes, "path:Payment": Yes, "before:now": Yes, "before:2m": No, "since:2m": Yes,
	})
	check(t, Timers, &TimerRow{Timer: &store.Timer{FireAt: math.Inf(1)}}, nil, map[string]Result{"before:now": No, "since:now": Yes})
	check(t, Timers, &TimerRow{Timer: &store.Timer{FireAt: math.NaN()}}, nil, map[string]Result{"before:now": NoTime, "since:now": NoTime, "has:time": No})
	check(t, Timers, &TimerRow{Timer: &store.Timer{Bad: &store.RowError{Err: store.ErrNotObject}}}, nil, map[string]Result{"before:now": NoTime, "has:row_error": Yes})
}

func TestNeeds(t *testing.T) {
	for _, tt := range []struct {
		subject Subject
		text    string
		want    Needs
	}{
		{Nodes, "", Needs{}},
		{Nodes, `a "b" kind:c roots() has:parent`, Needs{}},
		{Nodes, "not (a or data.x=1)", Needs{Data: true}},
		{Nodes, "has:data.x", Needs{Data: true}},
		{Nodes, "since:1h", Needs{Data: true, Time: true}},
		{Executions, "since:1h", Needs{Time: true}},
		{Executions, "has:time", Needs{Time: true}},
		{Executions, "context.x=1", Needs{Data: true}},
		{Nodes, "depth>1", Needs{Shape: true}},
		{Nodes, "a or heads()", Needs{Shape: true}},
		{Nodes, "ancestors(x)", Needs{Shape: true}},
	} {
		q := parsed(t, tt.text, tt.subject)
		if got := q.Needs(); got != tt.want {
			t.Errorf("%q needs %+v, want %+v", tt.text, got, tt.want)
		}
		if _, err := q.Bind(Env{}); errors.Is(err, ErrNoStructure) != tt.want.Shape {
			t.Errorf("%q without a tree: %v", tt.text, err)
		}
	}
	got := parsed(t, "ancestors(n1) or not descendants(n7) ancestors(gone) heads()", Nodes).Missing(forest{0, 1})
	if want := "n7 gone"; strings.Join(got, " ") != want {
		t.Errorf("missing: %q, want %q", got, want)
	}
}

// Chains as long as they get, and a cycle that no structure should have.
func TestShapes(t *testing.T) {
	const n = 200_000
	chain := make(forest, n)
	for i := range chain {
		chain[i] = int32(i)
	}
	check(t, Nodes, &NodeRow{Ref: n}, chain, map[string]Result{fmt.Sprintf("depth:%d", n-1): Yes, "heads()": Yes, "descendants(n1)": Yes, "ancestors(n1)": No})
	check(t, Nodes, &NodeRow{Ref: 1}, chain, map[string]Result{"depth:0": Yes, fmt.Sprintf("ancestors(n%d)", n): Yes, fmt.Sprintf("descendants(n%d)", n): No})
	cycle := forest{3, 1, 2, 0}
	check(t, Nodes, &NodeRow{Ref: 4}, cycle, map[string]Result{"depth:0": Yes, "descendants(n1)": No, "ancestors(n1)": No})
	check(t, Nodes, &NodeRow{Ref: 2}, cycle, map[string]Result{"ancestors(n1)": Yes, "descendants(n1)": Yes})
}

func TestTimes(t *testing.T) {
	for _, tt := range []struct {
		value store.JSON
		want  float64
		ok    bool
	}{
		{"1796040000", 1796040000, true},
		{"1796040000.25", 1796040000.25, true},
		{"1796040000250", 1796040000.25, true},
		{"0", 0, true},
		{`"2026-11-30T12:00:00Z"`, noon, true},
		{`"2026-11-30T12:00:00"`, noon, true},
		{`"2026-11-30 12:00"`, noon, true},
		{`"2026-11-30T13:00:00+01:00"`, noon, true},
		{`"2026-11-30T13:00:00+0100"`, noon, true},
		{`"2026-11-30T06:30:00.500-05"`, noon - 1800 + 0.5, true},
		{`"2026-11-30T12:00:00.123456789Z"`, noon + 0.123456789, true},
		{`" 2026-11-30 "`, noon - 43200, true},
		{`"1969-12-31T23:59:59z"`, -1, true},
		{`"2024-02-29"`, 1709164800, true},
		{`"2023-02-29"`, 0, false},
		{`"2026-11-30T25:00"`, 0, false},
		{`"2026-11-30T12:60"`, 0, false},
		{`"2026-11-30T12:00:00."`, 0, false},
		{`"2026-11-30T12:00:00+1"`, 0, false},
		{`"2026-11-30X12:00"`, 0, false},
		{`"yesterday"`, 0, false},
		{`"1796040000"`, 0, false},
		{"null", 0, false}, {"", 0, false}, {"NaN", 0, false}, {"true", 0, false}, {"1e999", 0, false},
	} {
		got, ok := TimeOf(tt.value)
		if ok != tt.ok || ok && math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%s is %f, %t, want %f, %t", tt.value, got, ok, tt.want, tt.ok)
		}
	}
	if at, ok := DataTime(`{"created_at":3,"timestamp":2,"ts":"nonsense"}`); at != 2 || !ok {
		t.Errorf("the time of data with three is %f, %t", at, ok)
	}
	if at, ok := DataTime(`{"created":3}`); ok {
		t.Errorf("the time of data without one is %f", at)
	}
	for text, want := range map[string]float64{"10s": 10, "1h30m": 5400, "1.5d": 129600, "2w": 1209600, "+1m": -60, "now": 0, "0s": 0} {
		if w, err := parseWhen(text); err != nil || !w.relative || w.seconds != want {
			t.Errorf("%q is %+v, %v, want %f seconds ago", text, w, err, want)
		}
	}
	for _, text := range []string{"", "+", "10", "h", "1x", "1h2", "-1h", "1..5h", "Inf", "NaN", "1e3h", "++1h", "99999999"} {
		if w, err := parseWhen(text); err == nil {
			t.Errorf("%q is %+v", text, w)
		}
	}
}

func TestBounds64(t *testing.T) {
	for _, tt := range []struct {
		n    int64
		text string
		want int
	}{
		{3, "3", 0}, {3, "2.5", 1}, {2, "2.5", -1}, {-3, "-2.5", -1}, {-2, "-2.5", 1}, {0, "0.0", 0}, {0, "-0", 0}, {1, "1e-400", 1}, {0, "1e-400", -1}, {0, "-1e-400", 1},
		{math.MaxInt64, "1e400", -1}, {math.MinInt64, "-1e400", 1}, {math.MaxInt64, "9223372036854775807", 0}, {math.MaxInt64, "9223372036854775807.5", -1},
		{math.MaxInt64, "9223372036854775808", -1}, {math.MinInt64, "-9223372036854775808", 0}, {math.MinInt64, "-9223372036854775808.5", 1},
	} {
		if got := boundOf(tt.text).compare(tt.n); got != tt.want {
			t.Errorf("%d against %s: %d, want %d", tt.n, tt.text, got, tt.want)
		}
	}
}

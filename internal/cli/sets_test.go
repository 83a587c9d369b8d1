package cli

import (
	"errors"
	"strings"
	"testing"

	"treering/store/locate"
)

// several is a store with two sets of execution tables of which neither can be preferred.
func several(t *testing.T) *world {
	t.Helper()
	w := ours(t, exampleExecutions(t))
	execute(t, w.store, `
		CREATE TABLE "other_executions" AS SELECT * FROM harel_executions WHERE id = 'order-2';`)
	return w
}

func TestSeveralSets(t *testing.T) {
	w := several(t)
	const says = `several sets of execution tables: "harel" (3 executions), "other" (1 execution); choose one with --prefix`
	for _, args := range [][]string{{"executions"}, {"sessions"}, {"ack", "outbox", "1"}} {
		w.fails(exitUsage, says, args...)
	}
	out := w.ok("info")
	for _, says := range []string{"executions  3, prefix harel\n", "executions  1, prefix other, lacking ", "choose one with its prefix"} {
		if !strings.Contains(out, says) {
			t.Errorf("info does not say %q: %s", says, out)
		}
	}
	sets := strict(t, "info", w.ok("info", "--json"))[0].Get("sets")
	for i, want := range []string{`{"prefix":"harel","executions":3,"open":false,`, `{"prefix":"other","executions":1,"open":false,`} {
		if !strings.Contains(string(sets), want) {
			t.Errorf("set %d: %s", i, sets)
		}
	}
	same(t, "harel", lineCount(w.ok("executions", "--prefix", "harel")), "3")
	same(t, "other_", lineCount(w.ok("executions", "--prefix", "other_")), "1")
	if out := w.ok("info", "--prefix", "other"); !strings.Contains(out, "executions  1, prefix other, open, lacking other_outbox, ") {
		t.Errorf("info: %s", out)
	}
}

// The explorer asks which one.
func TestAskForSet(t *testing.T) {
	w := several(t)
	for _, tt := range []struct {
		answer, prefix string
		fails          bool
	}{{"2\n", "other", false}, {" 1 \n", "harel", false}, {"2", "other", false}, {"3\n", "", true}, {"q\n", "", true}, {"", "", true}} {
		var out strings.Builder
		a := &app{stdin: strings.NewReader(tt.answer), out: newOutput(t.Context(), &out), store: w.store, storeGiven: true, now: w.clock}
		_, err := a.open(t.Context(), exploring)
		sets, ok := asSets(err)
		if !ok {
			t.Fatalf("open = %v", err)
		}
		err = a.askForSet(t.Context(), sets)
		if (err != nil) != tt.fails || exitCode(err) != map[bool]int{false: exitDone, true: exitUsage}[tt.fails] {
			t.Errorf("answer %q: %v", tt.answer, err)
		}
		if a.prefix != tt.prefix || a.prefixGiven == tt.fails {
			t.Errorf("answer %q: prefix %q, given %t", tt.answer, a.prefix, a.prefixGiven)
		}
		if !strings.HasSuffix(out.String(), "1  3, prefix harel\n2  1, prefix other, lacking other_outbox, other_processed_events, other_timers, other_spawns, other_trace\nWhich one? ") {
			t.Errorf("it asks %q", out.String())
		}
		if tt.fails {
			continue
		}
		o, err := a.open(t.Context(), exploring)
		must(t, err)
		if open := o.Info.Sets[0].Open; open != (tt.prefix == "harel") {
			t.Errorf("answer %q: sets %+v", tt.answer, o.Info.Sets)
		}
		must(t, o.Close())
	}
}

func asSets(err error) (sets *locate.AmbiguousSetError, ok bool) {
	ok = errors.As(err, &sets)
	return sets, ok
}

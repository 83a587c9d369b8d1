package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// Whatever happens to a trace between two steps, the next one gets the index after
// the last that is there, and a trace that is gone begins anew.
func TestNextStepIsOneMoreThanTheLast(t *testing.T) {
	const step = store.JSON(`{"note":"x"}`)
	db := openNew(t, Options{})
	es, w := db.Executions(), db.writer
	exe := &store.Execution{ID: "a", DefinitionID: "d", Status: store.Running}
	want := func(indices ...int64) {
		t.Helper()
		if _, err := es.Commit(t.Context(), store.Commit{Execution: exe, Trace: step}); err != nil {
			t.Fatal(err)
		}
		steps, err := es.ReadTrace(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, s := range steps {
			got = append(got, s.Index)
		}
		if !slices.Equal(got, indices) {
			t.Errorf("indices %v, want %v", got, indices)
		}
	}
	want(0)
	want(0, 1)
	if err := es.AppendTrace(t.Context(), "a", step); err != nil {
		t.Fatal(err)
	}
	want(0, 1, 2, 3)

	other := writerProcess(t, db.Path())
	other.do("INSERT INTO harel_trace VALUES ('a', 10, '{}')")
	want(0, 1, 2, 3, 10, 11)
	other.do("DELETE FROM harel_trace WHERE idx > 1")
	want(0, 1, 2)

	// A transaction that is undone has written no step.
	stop := errors.New("stop")
	err := w.write(t.Context(), func(conn *sqlite.Conn) error {
		for range 3 {
			if err := db.executions.addStep(conn, "a", step); err != nil {
				return err
			}
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	want(0, 1, 2, 3)

	// Nor has one that was begun together with others and done again.
	err = w.write(t.Context(), func(conn *sqlite.Conn) error {
		if err := db.executions.addStep(conn, "a", step); err != nil {
			return err
		}
		return run(conn, "INSERT INTO harel_trace VALUES ('a', 0, '{}')") // there is one
	})
	if err == nil {
		t.Fatal("a step of an index that is taken was written")
	}
	want(0, 1, 2, 3, 4)

	if purged, err := es.Purge(t.Context(), "a", exe.Version); err != nil || !purged {
		t.Fatal(purged, err)
	}
	exe = &store.Execution{ID: "a", DefinitionID: "d", Status: store.Running}
	want(0)

	// From here on a trigger deletes steps behind the writer's back.
	other.do("CREATE TRIGGER tidy AFTER UPDATE ON harel_executions BEGIN DELETE FROM harel_trace WHERE idx > 0; END")
	want(0, 1)
	want(0, 1)
	other.do("DROP TRIGGER tidy")
	want(0, 1, 2)
	other.close()
}

func TestNextStepsAreFew(t *testing.T) {
	db := openNew(t, Options{Synchronous: "OFF"})
	for round := range 2 {
		err := db.writer.write(t.Context(), func(conn *sqlite.Conn) error {
			for n := range maxNextSteps + 10 {
				if err := db.executions.addStep(conn, fmt.Sprint(n), `{}`); err != nil {
					return err
				}
				if len(db.executions.steps.next) > maxNextSteps {
					return fmt.Errorf("%d traces are remembered", len(db.executions.steps.next))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"0", "4000", fmt.Sprint(maxNextSteps + 9)} {
			steps, err := db.Executions().ReadTrace(t.Context(), id)
			if err != nil || len(steps) != round+1 || steps[round].Index != int64(round) {
				t.Errorf("round %d, trace %s: %v, %v", round, id, steps, err)
			}
		}
	}
}

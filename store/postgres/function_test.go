package postgres

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"treering/store"
)

// often is a database whose next commit goes through the function.
func often(t testing.TB, o Options) *DB {
	t.Helper()
	o.ReadWrite = true
	db := openDB(t, o)
	db.executions.function.commits.Store(oftenEnough)
	return db
}

func traceOf(t testing.TB, db *DB, id string) (indexes []int64) {
	t.Helper()
	steps, err := db.Executions().ReadTrace(t.Context(), id)
	must(t, err)
	for _, s := range steps {
		indexes = append(indexes, s.Index)
	}
	return indexes
}

// Who commits a few times leaves nothing behind on the server; who goes on gets the
// function, of its own session.
func TestTheFunctionComesWithUse(t *testing.T) {
	at := server(t).Schema(t)
	db := openDB(t, Options{URL: at, ReadWrite: true, Create: true})
	functions := func() (n int) {
		t.Helper()
		must(t, db.pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_proc WHERE proname = 'treering_commit' AND pronamespace = pg_my_temp_schema()").Scan(&n))
		return n
	}
	exe := &store.Execution{ID: "e", DefinitionID: "d"}
	for range oftenEnough {
		must(t, db.Executions().Save(t.Context(), exe))
	}
	if n := functions(); n != 0 {
		t.Errorf("%d functions after a few commits", n)
	}
	for range 3 {
		must(t, db.Executions().Save(t.Context(), exe))
	}
	if n := functions(); n != 1 || exe.Version != oftenEnough+3 {
		t.Errorf("%d functions, version %d", n, exe.Version)
	}
}

// A role without the right to temporary objects, and columns of other types, get the
// statement.
func TestWhereTheFunctionCannotBeHad(t *testing.T) {
	s := server(t)
	for name, c := range map[string]struct{ before, after string }{
		"dropped in between": {"", "DROP FUNCTION IF EXISTS pg_temp.treering_commit"},
		"columns of JSON":    {"ALTER TABLE harel_outbox ALTER COLUMN event TYPE jsonb USING event::jsonb", ""},
	} {
		t.Run(name, func(t *testing.T) {
			at := s.Schema(t)
			openDB(t, Options{URL: at, ReadWrite: true, Create: true})
			if c.before != "" {
				s.ExecOn(t, at, c.before)
			}
			db := often(t, Options{URL: at})
			exe := &store.Execution{ID: "e", DefinitionID: "d"}
			target := "t"
			settle := func() { // connections are given back behind one's back
				for db.pool.Stat().AcquiredConns() > 0 {
					runtime.Gosched()
				}
			}
			for i := range 3 {
				_, err := db.Executions().Commit(t.Context(), store.Commit{Execution: exe, Emits: []store.Emit{{TargetID: &target, Event: store.NewEvent("Paid", "")}}})
				if c.before != "" && err != nil {
					t.Skipf("such a column is refused whatever the way: %v", err)
				}
				must(t, err)
				if i == 0 && c.after != "" {
					settle()
					for _, conn := range db.pool.AcquireAllIdle(t.Context()) {
						if conn.Conn().PgConn().CustomData()[functionMade] == nil {
							must(t, conn.Conn().Close(t.Context())) // the next commit is to come by the other
						} else {
							_, err := conn.Exec(t.Context(), c.after)
							must(t, err)
						}
						conn.Release()
					}
					settle()
				}
			}
			if exe.Version != 3 {
				t.Errorf("version %d", exe.Version)
			}
			if !db.executions.function.refused.Load() {
				t.Error("the function goes on to be asked for")
			}
		})
	}
}

// A ring that somebody let grow longer, also one with gaps, is cut to its length.
func TestTheFunctionCutsALongRing(t *testing.T) {
	s := server(t)
	at := s.Schema(t)
	openDB(t, Options{URL: at, ReadWrite: true, Create: true})
	s.ExecOn(t, at, `INSERT INTO harel_trace SELECT 'long', n, '{}' FROM generate_series(0, 999) n; INSERT INTO harel_trace SELECT 'gaps', n * 400, '{}' FROM generate_series(0, 9) n`)
	limit := 10
	db := often(t, Options{URL: at, TraceMax: &limit})
	for _, id := range []string{"long", "gaps"} {
		exe := &store.Execution{ID: id, DefinitionID: "d"}
		commit := func() {
			t.Helper()
			_, err := db.Executions().Commit(t.Context(), store.Commit{Execution: exe, Trace: `{"event_kind":"x"}`})
			must(t, err)
		}
		commit()
		if id == "long" {
			if got, want := fmt.Sprint(traceOf(t, db, id)), "[991 992 993 994 995 996 997 998 999 1000]"; got != want {
				t.Errorf("%s: %s, want %s", id, got, want)
			}
			continue
		}
		// Far below the end they go within 64 commits.
		for range 64 {
			commit()
		}
		if got := traceOf(t, db, id); len(got) != limit || !slices.IsSorted(got) || got[0] != 3600+65-int64(limit)+1 {
			t.Errorf("%s: %d steps from %d", id, len(got), got[0])
		}
	}
}

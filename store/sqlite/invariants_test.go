package sqlite

import (
	"fmt"
	"testing"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// checkDatabase reports every violation of what holds in any file that our
// processes wrote, however they ended.
func checkDatabase(t testing.TB, path string, set Set, ring int64) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Errorf("after the test: %v", err)
		return
	}
	defer conn.Close()
	conn.SetBusyTimeout(writerBusyTimeout)
	names := tablesOf(set)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Errorf("after the test: %v", err)
		}
	}
	must(rows(conn, "PRAGMA integrity_check", func(r *sqlite.Stmt) error {
		if got := r.ColumnText(0); got != "ok" {
			return fmt.Errorf("integrity_check: %s", got)
		}
		return nil
	}))
	must(rows(conn, "SELECT id, definition_id, version, data FROM "+names.executions, func(r *sqlite.Stmt) error {
		row := readExecution(listRow{Stmt: r})
		if err := row.fault(); err != nil {
			return fmt.Errorf("execution %s: %w", row.id, err)
		}
		exe, err := row.execution()
		if err != nil {
			return err
		}
		if exe.Version < 1 || len(exe.Drift) > 0 {
			return fmt.Errorf("execution %q: version %d, drift %v", exe.ID, exe.Version, exe.Drift)
		}
		j := store.JSON(row.data.text)
		for _, key := range []string{"history", "context", "deferred", "children", "invoke_seq"} {
			if v := j.Get(key); v != "" && v.IsNull() {
				return fmt.Errorf("execution %q: %s is %q", exe.ID, key, v)
			}
		}
		return nil
	}))
	if names.need(tableTrace) == nil {
		must(rows(conn, "SELECT execution_id, min(idx), max(idx), count(*) FROM "+names.traces+" GROUP BY execution_id", func(r *sqlite.Stmt) error {
			first, last, n := r.ColumnInt64(1), r.ColumnInt64(2), r.ColumnInt64(3)
			if last-first+1 != n || first < 0 {
				return fmt.Errorf("trace of %q: %d steps from %d to %d", r.ColumnText(0), n, first, last)
			}
			if ring > 0 && n > ring {
				return fmt.Errorf("trace of %q: %d steps in a ring of %d", r.ColumnText(0), n, ring)
			}
			return nil
		}))
	}
	for _, text := range []string{names.outbox + " WHERE typeof(event) <> 'text'", names.timers + " WHERE typeof(fire_at) <> 'real'"} {
		must(rows(conn, "SELECT count(*) FROM "+text, func(r *sqlite.Stmt) error {
			if n := r.ColumnInt64(0); n > 0 {
				return fmt.Errorf("%d rows of %s", n, text)
			}
			return nil
		}))
	}
}

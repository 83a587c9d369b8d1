package sqltree_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/store"
	"treering/store/internal/sqltree"
)

func memoryConn(t *testing.T) *sqlite.Conn {
	t.Helper()
	conn, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func exec(t *testing.T, conn *sqlite.Conn, query string, args ...any) {
	t.Helper()
	if err := sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{Args: args}); err != nil {
		t.Fatal(err)
	}
}

// rows returns the rows of a query, their columns joined by a bar.
func rows(t *testing.T, conn *sqlite.Conn, query string, args ...any) []string {
	t.Helper()
	out := []string{}
	err := sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{Args: args, ResultFunc: func(stmt *sqlite.Stmt) error {
		var cols []string
		for i := range stmt.ColumnCount() {
			cols = append(cols, stmt.ColumnText(i))
		}
		out = append(out, strings.Join(cols, "|"))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func schema(t *testing.T, conn *sqlite.Conn) []string {
	t.Helper()
	return rows(t, conn, "SELECT type, name, sql FROM sqlite_schema ORDER BY name")
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	conn := memoryConn(t)
	if err := sqltree.Migrate(conn); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, conn, "SELECT version FROM tree_schema"); !slices.Equal(got, []string{"2"}) {
		t.Errorf("versions %q, want 2", got)
	}
	for table, want := range sqltree.Columns() {
		if got := rows(t, conn, "SELECT name FROM pragma_table_info(?)", table); !slices.Equal(got, want) {
			t.Errorf("%s has the columns %q, want %q", table, got, want)
		}
	}
	before := schema(t, conn)
	exec(t, conn, "PRAGMA query_only = 1") // a second time nothing is written
	if err := sqltree.Migrate(conn); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, schema(t, conn)); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
	if !conn.AutocommitEnabled() {
		t.Error("a transaction was left open")
	}
}

func TestMigrateInsideATransaction(t *testing.T) {
	t.Parallel()
	conn := memoryConn(t)
	exec(t, conn, "BEGIN IMMEDIATE")
	exec(t, conn, "CREATE TABLE theirs (x)")
	if err := sqltree.Migrate(conn); err != nil {
		t.Fatal(err)
	}
	if conn.AutocommitEnabled() {
		t.Fatal("the caller's transaction has ended")
	}
	exec(t, conn, "ROLLBACK")
	if got := schema(t, conn); len(got) != 0 {
		t.Errorf("after the rollback there is %q", got)
	}
}

func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		setup []string
		is    error
		says  string
	}{
		{"a newer schema", []string{"CREATE TABLE tree_schema (version INTEGER)", "INSERT INTO tree_schema VALUES (3)"}, sqltree.ErrNewerSchema, "version 3, this one knows 2"},
		{"an empty version", []string{"CREATE TABLE tree_schema (version INTEGER)"}, nil, "tree_schema is empty"},
		{"somebody else's sessions", []string{"CREATE TABLE tree_sessions (theirs)"}, nil, "tree_sessions already exists"},
		{"somebody else's nodes", []string{"CREATE TABLE tree_nodes (theirs)"}, nil, "tree_nodes already exists"},
		{"UTF-16", []string{"PRAGMA encoding = 'UTF-16le'", "CREATE TABLE theirs (x)"}, nil, "UTF-16le"},
	} {
		for _, inside := range []bool{false, true} {
			conn := memoryConn(t)
			for _, statement := range c.setup {
				exec(t, conn, statement)
			}
			before := schema(t, conn)
			if inside {
				exec(t, conn, "BEGIN")
			}
			err := sqltree.Migrate(conn)
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: error is %v, want one that says %q", c.name, err, c.says)
			}
			if conn.AutocommitEnabled() == inside {
				t.Errorf("%s: the caller's transaction is not as it was", c.name)
			}
			if diff := cmp.Diff(before, schema(t, conn)); diff != "" {
				t.Errorf("%s: schema (-want +got):\n%s", c.name, diff)
			}
		}
	}
}

func TestAtomically(t *testing.T) {
	t.Parallel()
	conn := memoryConn(t)
	exec(t, conn, "CREATE TABLE t (x)")
	refused := errors.New("refused")
	for _, inside := range []bool{false, true} {
		if inside {
			exec(t, conn, "BEGIN")
		}
		if err := sqltree.Atomically(conn, func() error { exec(t, conn, "INSERT INTO t VALUES (1)"); return refused }); !errors.Is(err, refused) {
			t.Errorf("error is %v, want %v", err, refused)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = sqltree.Atomically(conn, func() error { exec(t, conn, "INSERT INTO t VALUES (2)"); panic("in the middle") })
		}()
		if err := sqltree.Atomically(conn, func() error { exec(t, conn, "INSERT INTO t VALUES (3)"); return nil }); err != nil {
			t.Error(err)
		}
		if inside {
			exec(t, conn, "COMMIT")
		}
	}
	if got := rows(t, conn, "SELECT x FROM t"); !slices.Equal(got, []string{"3", "3"}) {
		t.Errorf("rows %q, want those of the two that succeeded", got)
	}
	if !conn.AutocommitEnabled() {
		t.Error("a transaction was left open")
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		&store.NotFoundError{What: "session"}, &store.NodeConflictError{}, &store.KindMismatchError{},
	} {
		if !sqltree.Refusal(err) {
			t.Errorf("%T is a refusal", err)
		}
	}
	if sqltree.Refusal(store.ErrBusy) || sqltree.Refusal(nil) {
		t.Error("a failure is no refusal")
	}
}

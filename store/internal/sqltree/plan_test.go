package sqltree

import (
	"fmt"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
)

// planned are the queries of every read, and how each must find its rows.
var planned = []struct{ query, want string }{
	{nodeByID, "USING INDEX tree_nodes_id (tree=? AND id=?)"},
	{climbByID, "USING INDEX tree_nodes_id (tree=? AND id=?)"},
	{climbByNumber, "USING INTEGER PRIMARY KEY (rowid=?)"},
	{treeByID, "(id=?)"},
	{nodeNumber, "USING COVERING INDEX tree_nodes_id (tree=? AND id=?)"},
	{rootExists, "USING COVERING INDEX tree_nodes_children (tree=? AND parent=?)"},
	{countNodes, "USING COVERING INDEX tree_nodes_id (tree=?)"},
	{deletedTree, "(id=?)"},
	{nodeSizes, "USING INDEX tree_nodes_id (tree=?)"},
	{listExpired, "USING INTEGER PRIMARY KEY (rowid>?)"},
	{listNodes, "USING INDEX tree_nodes_id (tree=? AND id>?)"},
	{listChildren, "tree_nodes_children (tree=? AND parent=? AND id>?)"},
	{listRoots, "tree_nodes_children (tree=? AND parent=? AND id>?)"},
	{listSessions(false, false, false), "(id>?)"},
	{listSessions(false, true, false), "(id>?)"},
	{listSessions(false, false, true), "(id>?)"},
	{listSessions(true, true, false), "tree_sessions_kind (kind=? AND id>?)"},
	{listSessions(true, true, true), "tree_sessions_kind (kind=? AND id>?)"},
}

func migrated(t *testing.T) *sqlite.Conn {
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
	if err := Migrate(conn); err != nil {
		t.Fatal(err)
	}
	return conn
}

// Every list must come out of an index in its order: no scan of a table, no
// sorting.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	conn := migrated(t)
	for _, c := range planned {
		var plan []string
		stmt, _, err := conn.PrepareTransient("EXPLAIN QUERY PLAN " + c.query)
		if err != nil {
			t.Fatal(err)
		}
		for {
			more, err := stmt.Step()
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				break
			}
			if detail := stmt.ColumnText(3); !strings.Contains(detail, "json_each") { // the list of kinds
				plan = append(plan, detail)
			}
		}
		if err := stmt.Finalize(); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(plan, "; ")
		if !strings.Contains(got, c.want) || strings.Contains(got, "SCAN") || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("%s\nplan: %s\nwant: %s", c.query, got, c.want)
		}
	}
}

// A kept statement must be run as it is with other values bound: to plan it anew
// costs as much as to read twenty rows. SQLite does so silently, and asks the
// authorizer when it does.
func TestQueriesArePlannedOnce(t *testing.T) {
	t.Parallel()
	conn := migrated(t)
	asked := 0
	err := conn.SetAuthorizer(sqlite.AuthorizeFunc(func(sqlite.Action) sqlite.AuthResult {
		asked++
		return sqlite.AuthResultOK
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range planned {
		once := 0
		for run := range 3 {
			err := each(conn, c.query, func(q *sqlite.Stmt) {
				for param := 1; param <= q.BindParamCount(); param++ {
					q.BindText(param, fmt.Sprintf("[%d]", run))
				}
			}, func(*sqlite.Stmt) bool { return false })
			if err != nil {
				t.Fatalf("%s: %v", c.query, err)
			}
			if run == 0 {
				if once = asked; once == 0 {
					t.Fatalf("%s was prepared without asking", c.query)
				}
			} else if asked != once {
				t.Errorf("%s was planned anew in run %d", c.query, run+1)
				break
			}
		}
		asked = 0
	}
}

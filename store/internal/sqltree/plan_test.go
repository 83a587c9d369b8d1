package sqltree

import (
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
)

// Every list must come out of an index in its order: no scan of a table, no
// sorting.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	conn, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := Migrate(conn); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ query, want string }{
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
	} {
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

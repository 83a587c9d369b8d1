package sqltree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"

	"treering/store"
)

// planned are the queries of every read, and how each must find its rows.
var planned = []struct{ query, want string }{
	{nodeByID, "USING INDEX tree_nodes_key (<expr>=?)"},
	{climbByID, "USING INDEX tree_nodes_key (<expr>=?)"},
	{climbByNumber, "USING INTEGER PRIMARY KEY (rowid<?)"},
	{treeByID, "(id=?)"},
	{nodeNumber, "INDEX tree_nodes_key (<expr>=?)"},
	{rootExists, "USING COVERING INDEX tree_nodes_children (tree=? AND parent=?)"},
	{countNodes, "USING COVERING INDEX tree_nodes_children (tree=?)"},
	{deletedTree, "(id=?)"},
	{nodeSizes, "USING INDEX tree_nodes_key (<expr>>? AND <expr><?)"},
	{deleteUpTo, "INDEX tree_nodes_key (<expr>>? AND <expr><?)"},
	{listExpired, "USING INTEGER PRIMARY KEY (rowid>?)"},
	{listNodes, "USING INDEX tree_nodes_key (<expr>>?)"},
	{lastNode, "USING INDEX tree_nodes_key (<expr>>? AND <expr><?)"},
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

// A database of an earlier version is read only once it was migrated, and says so; the
// nodes are what they were.
func TestEarlierVersions(t *testing.T) {
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
	run := func(_ context.Context, fn func(*sqlite.Conn) error) error { return fn(conn) }
	s := New(Options{Read: run, Write: run})
	err = execute(conn, migrations[0]+`UPDATE tree_schema SET version = 1;
		INSERT INTO tree_sessions (tree, id, kind) VALUES (1, 'a', 'session'), (10, 'b', 'session'), (2, 'none', 'session');
		INSERT INTO tree_nodes (node, tree, id, parent, parent_id, kind, data) VALUES
			(1, 1, '9', NULL, NULL, 'init', '{}'), (2, 1, '10', 1, '9', 'run', '{}'), (3, 1, '/', 2, '10', 'run', '{}'),
			(4, 10, '0', NULL, NULL, 'init', '{}'), (5, 10, '1/9', 4, '0', 'run', '{"n":1}');`)
	if err != nil {
		t.Fatal(err)
	}
	ids := func(list func(store.PageRequest) (store.Page[store.Node], error)) (found []string, err error) {
		err = store.All(func(p store.PageRequest) (store.Page[store.Node], error) {
			p.Limit = 1
			return list(p)
		}, func(n store.Node) error { found = append(found, n.ID); return nil })
		return found, err
	}
	nodes := func(session string) func(store.PageRequest) (store.Page[store.Node], error) {
		return func(p store.PageRequest) (store.Page[store.Node], error) { return s.ListNodes(t.Context(), session, p) }
	}
	for name, read := range map[string]func() error{
		"list":    func() error { _, err := ids(nodes("a")); return err },
		"node":    func() error { _, err := s.Node(t.Context(), "a", "9"); return err },
		"history": func() error { _, err := s.ListHistory(t.Context(), "a", "10", store.PageRequest{}); return err },
	} {
		if err := read(); !errors.Is(err, ErrOlderSchema) || !strings.Contains(err.Error(), "version 1, this one needs 2; the explorer, or a command that writes, brings a store of treering's own up to it") {
			t.Errorf("%s before: %v", name, err)
		}
	}
	if err := Migrate(conn); err != nil {
		t.Fatal(err)
	}
	for session, want := range map[string][]string{"a": {"/", "10", "9"}, "b": {"0", "1/9"}, "none": nil} {
		if found, err := ids(nodes(session)); err != nil || !slices.Equal(found, want) {
			t.Errorf("%s holds %q, %v, want %q", session, found, err, want)
		}
	}
	for _, c := range []struct{ session, node string }{{"a", "9"}, {"a", "10"}, {"a", "/"}, {"b", "0"}, {"b", "1/9"}} {
		if n, err := s.Node(t.Context(), c.session, c.node); err != nil || n.ID != c.node {
			t.Errorf("%s %s: %v, %v", c.session, c.node, n, err)
		}
	}
	if _, err := s.Node(t.Context(), "a", "0/1/9"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a node of another tree: %v", err)
	}
	if existed, err := s.DeleteSession(t.Context(), "a"); err != nil || !existed {
		t.Errorf("delete: %v, %v", existed, err)
	}
	if found, err := ids(nodes("b")); err != nil || len(found) != 2 {
		t.Errorf("after the other was deleted: %q, %v", found, err)
	}
}

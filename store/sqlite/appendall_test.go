package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"treering/store"
)

// Many nodes at once are all there or none of them, parents before their children.
func TestAppendAll(t *testing.T) {
	ctx := t.Context()
	db, err := Open(ctx, Options{Path: filepath.Join(t.TempDir(), "all.db"), ReadWrite: true, Create: true, Synchronous: "OFF"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ts := db.Trees()
	all, ok := ts.(store.BatchAppender)
	if !ok {
		t.Fatal("it appends one by one only")
	}
	node := func(id, parent string) store.Node {
		n := store.Node{ID: id, Kind: "run", Data: "{}"}
		if parent != "" {
			n.ParentID = &parent
		}
		return n
	}
	count := func(want int64) {
		t.Helper()
		if n, err := ts.CountNodes(ctx, "s"); err != nil || n != want {
			t.Errorf("%d nodes, %v; want %d", n, err, want)
		}
	}
	if err := all.AppendAll(ctx, "s", []store.Node{node("a", "")}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("without a session: %v", err)
	}
	if _, err := ts.CreateSession(ctx, "s", "session", nil); err != nil {
		t.Fatal(err)
	}
	if err := all.AppendAll(ctx, "s", []store.Node{node("a", ""), node("b", "a"), node("c", "b")}); err != nil {
		t.Fatal(err)
	}
	count(3)
	for name, bad := range map[string]store.Node{"a second root": node("r", ""), "another parent": node("c", "a")} {
		if err := all.AppendAll(ctx, "s", []store.Node{node("d", "c"), bad, node("e", "d")}); !errors.Is(err, store.ErrNodeConflict) {
			t.Errorf("%s: %v", name, err)
		}
		count(3)
	}
	if err := all.AppendAll(ctx, "s", []store.Node{node("d", "c"), node("e", "gone")}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a missing parent: %v", err)
	}
	if err := all.AppendAll(ctx, "s", []store.Node{node("d", "c"), {ID: "e", Kind: "", Data: "{}"}}); !errors.Is(err, store.ErrEmptyID) {
		t.Errorf("a refused value: %v", err)
	}
	count(3)
	// What is there already succeeds again, among new ones.
	if err := all.AppendAll(ctx, "s", []store.Node{node("a", ""), node("d", "c"), node("b", "a"), node("e", "d")}); err != nil {
		t.Error(err)
	}
	count(5)
}

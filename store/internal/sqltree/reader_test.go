package sqltree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"

	"treering/store"
)

// Whatever follows whatever, a reader finds in the rows what is in them, whichever columns it is
// given, and a row that is taken back leaves nothing behind.
func TestReader(t *testing.T) {
	t.Parallel()
	conn, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	row, err := conn.Prepare("SELECT ?, ?, ?, ?")
	if err != nil {
		t.Fatal(err)
	}
	below, err := conn.Prepare("SELECT ?, ?, ?")
	if err != nil {
		t.Fatal(err)
	}
	var spare readers
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "b", "a\x00b", "ab"}), rapid.StringN(0, 20, 80), rapid.Just(strings.Repeat("n", portion/3)))
		parents := rapid.OneOf(ids, rapid.SampledFrom([]string{"parent", "before", "NULL"}))
		kinds := rapid.SampledFrom([]string{"run", "run", "init", ""})
		data := rapid.OneOf(rapid.Just("{}"), rapid.StringN(0, 300, -1), rapid.Map(rapid.SampledFrom([]int{portion / 3, portion - 1, portion, portion + 1, 3 * portion}), func(n int) string { return strings.Repeat("x", n) }))
		r := spare.get(rapid.IntRange(1, 50).Draw(t, "limit"))
		defer spare.put(r)
		how := rapid.SampledFrom([]string{"any", "below"}).Draw(t, "how")
		if how == "below" && rapid.Bool().Draw(t, "under one") {
			under := ids.Draw(t, "under")
			r.under = &under
		}
		var want []store.Node
		for i := range rapid.IntRange(0, 60).Draw(t, "rows") {
			n := store.Node{ID: ids.Draw(t, "id"), Kind: kinds.Draw(t, "kind"), Data: store.JSON(data.Draw(t, "data"))}
			parent := parents.Draw(t, "parent")
			switch {
			case how == "below":
				n.ParentID = copied(r.under)
			case parent == "NULL":
			case parent == "before" && i > 0 && len(want) > 0:
				n.ParentID = copied(&want[len(want)-1].ID)
			default:
				n.ParentID = &parent
			}
			row, add := row, (*reader).add
			if how == "below" {
				row, add = below, (*reader).addBelow
			}
			row.BindText(1, n.ID)
			if how == "below" {
				row.BindText(2, n.Kind)
				row.BindText(3, string(n.Data))
			} else {
				row.BindNull(2)
				if n.ParentID != nil {
					row.BindText(2, *n.ParentID)
				}
				row.BindText(3, n.Kind)
				row.BindText(4, string(n.Data))
			}
			if _, err := row.Step(); err != nil {
				t.Fatal(err)
			}
			add(r, row)
			if err := row.Reset(); err != nil {
				t.Fatal(err)
			}
			got, hasParent := r.parentID()
			if how == "below" { // only a walk asks for it
				got, hasParent = nil, false
				if n.ParentID != nil {
					got, hasParent = []byte(*n.ParentID), true
				}
			}
			if string(r.id()) != n.ID || r.size() != len(n.Data) || hasParent != (n.ParentID != nil) || hasParent && string(got) != *n.ParentID {
				t.Fatalf("row %d is %.20q with %d bytes, its parent %.20q (%v)", i, r.id(), r.size(), got, hasParent)
			}
			if how == "any" && rapid.Bool().Draw(t, "dropped") {
				r.drop()
			} else {
				want = append(want, n)
			}
			if r.count() != len(want) {
				t.Fatalf("%d nodes, not %d", r.count(), len(want))
			}
		}
		if diff := cmp.Diff(want, r.all()); diff != "" {
			t.Fatalf("%.2000s", diff)
		}
	})
}

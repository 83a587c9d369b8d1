package memory

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"treering/store"
)

func TestChainsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue[birth](func(r *record) **chain { return &r.spawned })
		owners := make([]record, 3)
		model := make([][]int64, len(owners))
		for range rapid.IntRange(1, 10).Draw(t, "runs") {
			o := rapid.IntRange(0, len(owners)-1).Draw(t, "owner")
			// Runs pass the bound in both directions.
			n := rapid.IntRange(1, 3*many).Draw(t, "n")
			if rapid.Bool().Draw(t, "push") {
				for range n {
					e := q.entry(rapid.IntRange(0, 2*alone).Draw(t, "size"))
					e.owner = &owners[o]
					q.push(e)
					model[o] = append(model[o], e.seq)
				}
			} else {
				for range min(n, len(model[o])) {
					i := rapid.IntRange(0, len(model[o])-1).Draw(t, "place")
					if e := q.take(model[o][i]); e == nil || e.seq != model[o][i] || q.take(model[o][i]) != nil {
						t.Fatalf("take of %d: %v", model[o][i], e)
					}
					model[o] = slices.Delete(model[o], i, i+1)
				}
			}
			c, want := owners[o].spawned, model[o]
			after := rapid.Int64Range(-1, q.last+1).Draw(t, "after")
			for _, after := range []int64{math.MinInt64, after} {
				var got []int64
				for e := range q.of(&owners[o], after) {
					got = append(got, e.seq)
				}
				at, _ := slices.BinarySearch(want, after+1)
				if !slices.Equal(got, want[at:]) {
					t.Fatalf("behind %d: %v, want %v", after, got, want[at:])
				}
			}
			if c.len() != len(want) {
				t.Fatalf("a chain of %d says %d", len(want), c.len())
			}
			if c != nil && (len(c.few) > many || c.index != nil && (c.index.n == 0 || c.few != nil)) {
				t.Fatalf("a chain of %d keeps %d and %+v", len(want), len(c.few), c.index)
			}
			if rapid.IntRange(0, 20).Draw(t, "drop") == 0 && c != nil {
				q.drop(&owners[o])
				model[o] = nil
			}
		}
	})
}

// What one execution has is found at the end of a page as fast as at its
// beginning only while it is kept in an order of its own.
func TestManyTimersOfOneAreInOrder(t *testing.T) {
	s, ctx := newExecutions(0, new(bell)), t.Context()
	exe := &store.Execution{ID: "e"}
	commit := func(ops ...store.TimerOp) {
		t.Helper()
		if _, err := s.Commit(ctx, store.Commit{Execution: exe, Timers: ops}); err != nil {
			t.Fatal(err)
		}
	}
	path := func(i int) string { return fmt.Sprintf("p%05d", i) }
	rec := s.record("e")
	check := func(what string, n int, ordered bool) {
		t.Helper()
		if len(rec.timers) != n || s.timers.n != n || (rec.byTime != nil) != ordered {
			t.Fatalf("%s: %d timers of the execution, %d in all, in order %v; want %d, %v", what, len(rec.timers), s.timers.n, rec.byTime != nil, n, ordered)
		}
		if !ordered {
			return
		}
		if got, want := slices.Collect(rec.byTime.all()), slices.Collect(s.timers.all()); !slices.Equal(got, want) {
			t.Fatalf("%s: the execution's order differs from the store's", what)
		}
	}
	for i := range many {
		commit(store.TimerOp{Action: store.Schedule, Path: path(i), FireAt: float64(i % 7)})
	}
	check("as many as are sorted when asked for", many, false)
	commit(store.TimerOp{Action: store.Schedule, Path: path(0), FireAt: 3})
	check("one re-armed", many, false)
	for i := range 1000 {
		commit(store.TimerOp{Action: store.Schedule, Path: path(i), FireAt: float64(i % 11)})
	}
	check("a thousand", 1000, true)
	if moved, err := s.RearmTimer(ctx, "e", path(500), float64(500%11), -1); !moved || err != nil {
		t.Fatal(moved, err)
	}
	if removed, err := s.DeleteTimer(ctx, "e", path(500), -1); !removed || err != nil {
		t.Fatal(removed, err)
	}
	check("one less", 999, true)
	seen := 0
	behind := func(at *timer) func(*timer) bool {
		return func(t *timer) bool { seen++; return byTime(t, at) > 0 }
	}
	last := slices.Collect(s.timers.all())[998-20]
	if got, more := firstOf(ofRecord(rec, behind(last)), 100); len(got) != 20 || more {
		t.Fatalf("%d behind the cursor, more: %v", len(got), more)
	}
	if seen > 40 {
		t.Errorf("%d timers were looked at for the last page", seen)
	}
	for i := range 1000 {
		commit(store.TimerOp{Action: store.Cancel, Path: path(i)})
	}
	check("none", 0, false)
	commit(store.TimerOp{Action: store.Schedule, Path: "again", FireAt: 1})
	check("one again", 1, false)
}

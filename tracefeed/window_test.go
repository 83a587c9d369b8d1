package tracefeed_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"treering/store"
	"treering/tracefeed"
)

func entries(indexes ...int64) []store.TraceEntry {
	var out []store.TraceEntry
	for _, i := range indexes {
		out = append(out, store.TraceEntry{Index: i, Entry: store.JSON(fmt.Sprintf(`{"event_kind":"E%d"}`, i))})
	}
	return out
}

// looks is a window in a few words.
func looks(w *tracefeed.Window) string {
	s := ""
	for _, r := range w.Rows() {
		switch {
		case r.Gap && r.Dropped:
			s += fmt.Sprintf(" [%d-%d dropped]", r.Index, r.Last)
		case r.Gap:
			s += fmt.Sprintf(" [%d-%d missing]", r.Index, r.Last)
		default:
			s += fmt.Sprintf(" %d", r.Index)
		}
		if r.Evicted {
			s += "e"
		}
		if r.Gone {
			s += "g"
		}
		if r.Late {
			s += "l"
		}
	}
	return s
}

func TestWindowShowsWhatWasMissedAndWhatIsGone(t *testing.T) {
	r, w := tracefeed.NewRingReader("a", nil), &tracefeed.Window{}
	read := func(fresh int64, want string, indexes ...int64) {
		t.Helper()
		if got := w.Apply(r.Read(entries(indexes...))); got != fresh {
			t.Errorf("%v: %d are new, want %d", indexes, got, fresh)
		}
		if got := looks(w); got != want {
			t.Fatalf("%v: %s, want %s", indexes, got, want)
		}
	}
	read(0, " 0 1 2", 0, 1, 2)
	read(2, " 0e 1e 2 3 4", 2, 3, 4)
	read(4, " 0e 1e 2e 3e 4e [5-6 dropped] 7 8", 7, 8)
	read(2, " 0e 1e 2e 3e 4e [5-6 dropped] 7 8 [9-9 missing] 10", 7, 8, 10)
	read(0, " 0e 1e 2e 3e 4e [5-6 dropped] 7 8 9l 10", 7, 8, 9, 10)
	if w.Missed() != 2 {
		t.Errorf("%d missed", w.Missed())
	}
	w.Follow()
	if got := looks(w); got != " [5-6 dropped] 7 8 9l 10" {
		t.Errorf("followed: %s", got)
	}
	read(0, " [5-6 dropped] 7 8g 9gl 10", 7, 10)
	read(2, " 0 1", 0, 1)
	if w.Restarts() != 1 {
		t.Errorf("%d restarts", w.Restarts())
	}
	read(0, " 0g 1g")
}

// Whatever a ring does between two looks, every index from the first to the last is
// one row or in one gap, and what the ring holds is not marked.
func TestWindowCoversEveryIndexOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, w := tracefeed.NewRingReader("a", nil), &tracefeed.Window{}
		length := rapid.Int64Range(1, 40).Draw(t, "ring")
		var next, fresh int64
		for range rapid.IntRange(1, 30).Draw(t, "looks") {
			next += rapid.Int64Range(0, 80).Draw(t, "steps")
			var held []int64
			for i := max(0, next-length); i < next; i++ {
				held = append(held, i)
			}
			fresh += w.Apply(r.Read(entries(held...)))
			if rapid.Bool().Draw(t, "follow") {
				w.Follow()
			} else if len(held) > 0 {
				w.Hold(rapid.Int64Range(0, next-1).Draw(t, "held"))
			}
			rows := w.Rows()
			for i, row := range rows {
				s := row.Span()
				if i > 0 && rows[i-1].Span().Last+1 != s.First {
					t.Fatalf("between %v and %v: %s", rows[i-1].Span(), s, looks(w))
				}
				if !row.Gap && row.Evicted == slices.Contains(held, row.Index) {
					t.Fatalf("%d of %v: %s", row.Index, held, looks(w))
				}
			}
			if len(held) > 0 && rows[len(rows)-1].Span().Last != next-1 {
				t.Fatalf("ends at %v, want %d", rows[len(rows)-1].Span(), next-1)
			}
		}
	})
}

// Somebody who holds on to a step for long keeps it and its neighbours, and memory
// stays within bounds.
func TestWindowIsBounded(t *testing.T) {
	r, w := tracefeed.NewRingReader("a", nil), &tracefeed.Window{}
	const ring, held = 200, 150
	var next int64
	for range 400 {
		next += 150
		var have []int64
		for i := max(0, next-ring); i < next; i++ {
			have = append(have, i)
		}
		w.Apply(r.Read(entries(have...)))
		w.Hold(held)
		rows := w.Rows()
		if len(rows) > tracefeed.MaxKept+2*ring {
			t.Fatalf("%d rows", len(rows))
		}
		if !slices.ContainsFunc(rows, func(r tracefeed.Row) bool { return r.Index == held && !r.Gap }) && next > held {
			t.Fatalf("the held step went at %d", next)
		}
		if last := rows[len(rows)-1].Index; last != next-1 {
			t.Fatalf("ends at %d, want %d", last, next-1)
		}
	}
}

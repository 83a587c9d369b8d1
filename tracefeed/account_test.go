package tracefeed

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"treering/store"
)

// told is a reading in one line.
func told(r Reading) string {
	s := ""
	add := func(what string) {
		if s != "" {
			s += " "
		}
		s += what
	}
	span := func(g Span) string { return fmt.Sprintf("%d-%d", g.First, g.Last) }
	if r.First {
		add("first")
	}
	if r.Restarted {
		add("restarted")
	}
	for _, g := range r.Gone {
		add("gone:" + span(g))
	}
	for _, g := range r.Evicted {
		add("evicted:" + span(g))
	}
	for _, m := range r.Missed {
		if m.Dropped {
			add("dropped:" + span(m.Span))
		} else {
			add("missing:" + span(m.Span))
		}
	}
	for _, a := range r.Arrived {
		mark := ""
		if a.Late {
			mark = "late"
		}
		if a.Filled {
			mark += "+"
		}
		add(fmt.Sprintf("%d%s", a.Index, mark))
	}
	return s
}

func again(life string, indexes ...int64) []store.TraceEntry {
	out := make([]store.TraceEntry, len(indexes))
	for i, n := range indexes {
		out[i] = store.TraceEntry{Index: n, Entry: store.JSON(fmt.Sprintf(`{"life":%q,"n":%d}`, life, n))}
	}
	return out
}

func TestAccountTellsWhatHappened(t *testing.T) {
	a := func(indexes ...int64) []store.TraceEntry { return again("a", indexes...) }
	b := func(indexes ...int64) []store.TraceEntry { return again("b", indexes...) }
	bad := store.TraceEntry{Index: 2, Bad: &store.RowError{Raw: []byte("x")}}
	for _, tt := range []struct {
		what     string
		from     int64 // -1: none
		readings [][]store.TraceEntry
		want     []string
	}{
		{"nothing", -1, [][]store.TraceEntry{nil, nil}, []string{"first", ""}},
		{"from the start", -1, [][]store.TraceEntry{nil, a(0), a(0, 1)}, []string{"first", "0", "1"}},
		{"a ring that wraps", -1, [][]store.TraceEntry{a(5, 6, 7), a(7, 8, 9), a(7, 8, 9)}, []string{"first 5 6 7", "evicted:5-6 8 9", ""}},
		{"away for longer than the ring", -1, [][]store.TraceEntry{a(5, 6), a(10, 11)}, []string{"first 5 6", "evicted:5-6 dropped:7-9 10 11"}},
		{"a hole that fills", -1, [][]store.TraceEntry{a(0, 3), a(0, 2, 3), a(0, 1, 2, 3)}, []string{"first missing:1-2 0 3", "2late+", "1late+"}},
		{"an index that comes again", -1, [][]store.TraceEntry{a(4, 5), append(a(4, 5), again("x", 4)...), a(4, 5)}, []string{"first 4 5", "4late", "gone:4-4"}},
		{"below the ring", -1, [][]store.TraceEntry{a(4, 5), a(3, 4, 5)}, []string{"first 4 5", "3late"}},
		{"rows taken out of the middle", -1, [][]store.TraceEntry{a(0, 1, 2, 3), a(0, 3)}, []string{"first 0 1 2 3", "gone:1-2"}},
		{"rows taken from the end", -1, [][]store.TraceEntry{a(0, 1, 2), a(0), append(a(0), b(1)...)}, []string{"first 0 1 2", "gone:1-2", "1late"}},
		{"a purge", -1, [][]store.TraceEntry{a(0, 1), nil, nil, b(0)}, []string{"first 0 1", "gone:0-1", "", "restarted 0"}},
		{"a purge unseen", -1, [][]store.TraceEntry{a(0, 1, 2), b(0)}, []string{"first 0 1 2", "restarted gone:0-2 0"}},
		{"a purge unseen, shorter", -1, [][]store.TraceEntry{a(7, 8), b(2, 3)}, []string{"first 7 8", "restarted gone:7-8 dropped:0-1 2 3"}},
		{"a purge unseen, longer", -1, [][]store.TraceEntry{a(0, 1), b(0, 1, 2, 3)}, []string{"first 0 1", "restarted gone:0-1 0 1 2 3"}},
		{"rows that go on after all were gone", -1, [][]store.TraceEntry{a(0, 1), nil, a(2)}, []string{"first 0 1", "gone:0-1", "2"}},
		{"resumed", 6, [][]store.TraceEntry{a(4, 5, 6, 7), a(5, 6, 7, 8)}, []string{"first 6 7", "evicted:4-4 8"}},
		{"resumed at the end", 8, [][]store.TraceEntry{a(4, 5, 6, 7), a(5, 6, 7, 8)}, []string{"first", "evicted:4-4 8"}},
		{"resumed too late", 2, [][]store.TraceEntry{a(4, 5)}, []string{"first dropped:2-3 4 5"}},
		{"resumed after a purge", 6, [][]store.TraceEntry{b(0, 1)}, []string{"first restarted 0 1"}},
		{"resumed before there is anything", 6, [][]store.TraceEntry{nil, a(6)}, []string{"first", "6"}},
		{"resumed before it was made again", 6, [][]store.TraceEntry{nil, b(0)}, []string{"first", "restarted 0"}},
		{"a row that cannot be read", -1, [][]store.TraceEntry{append(a(1), bad), append(a(1), bad)}, []string{"first 1 2", ""}},
		{"out of order", -1, [][]store.TraceEntry{a(2, 0, 1)}, []string{"first 0 1 2"}},
	} {
		var from *int64
		if tt.from >= 0 {
			from = &tt.from
		}
		account := NewAccount(from)
		var got []string
		for _, entries := range tt.readings {
			got = append(got, told(account.Read(entries)))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.what, diff)
		}
	}
}

// life is a ring as a store keeps it, with all that was ever written to it.
type life struct {
	no      int
	next    int64
	held    []store.TraceEntry
	written map[int64]store.JSON
}

func (l *life) put(index int64, limit int) {
	e := store.TraceEntry{Index: index, Entry: store.JSON(fmt.Sprintf(`{"life":%d,"n":%d}`, l.no, index))}
	l.written[index] = e.Entry
	l.held = append(l.held, e)
	slices.SortFunc(l.held, func(a, b store.TraceEntry) int { return int(a.Index - b.Index) })
	if len(l.held) > limit {
		l.held = slices.Clone(l.held[len(l.held)-limit:])
	}
}

// Whatever is committed, trimmed, committed late, purged and missed: in each life that
// was seen every index is handed out once or counted, nothing is handed out that was
// not written, and at a reading all that is there has been handed out.
func TestAccountLosesAndInventsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		now := &life{written: map[int64]store.JSON{}}
		var burnt []int64
		account := NewAccount(nil)
		var start int64
		delivered, counted := map[int64]bool{}, map[int64]bool{}
		first := true
		read := func() {
			r := account.Read(slices.Clone(now.held))
			if r.Restarted {
				delivered, counted, start = map[int64]bool{}, map[int64]bool{}, 0
			}
			if first && len(now.held) > 0 {
				start = now.held[0].Index
			}
			first = false
			for _, m := range r.Missed {
				for i := m.First; i <= m.Last; i++ {
					if delivered[i] || counted[i] {
						t.Fatalf("%d is counted and was before, or handed out", i)
					}
					counted[i] = true
				}
			}
			for _, e := range r.Arrived {
				if delivered[e.Index] {
					t.Fatalf("%d is handed out again", e.Index)
				}
				if now.written[e.Index] != e.Entry {
					t.Fatalf("%d was written as %q and is handed out as %q", e.Index, now.written[e.Index], e.Entry)
				}
				if e.Filled != counted[e.Index] {
					t.Fatalf("%d: filled %v, counted %v", e.Index, e.Filled, counted[e.Index])
				}
				delete(counted, e.Index)
				delivered[e.Index] = true
			}
			for i := start; i < account.Next(); i++ {
				if delivered[i] == counted[i] {
					t.Fatalf("%d of %d: handed out %v, counted %v", i, account.Next(), delivered[i], counted[i])
				}
			}
			if n := int64(len(counted)); account.Missed() != n {
				t.Fatalf("%d missed, %d are", account.Missed(), n)
			}
			for _, e := range now.held {
				if !delivered[e.Index] {
					t.Fatalf("%d is there and was not handed out", e.Index)
				}
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "moves") {
			switch rapid.IntRange(0, 9).Draw(t, "move") {
			default:
				for range rapid.IntRange(1, 6).Draw(t, "steps") {
					now.put(now.next, limit)
					now.next++
				}
			case 0: // an index that is taken and comes later, or never
				burnt = append(burnt, now.next)
				now.next++
			case 1:
				if len(burnt) > 0 && len(now.held) > 0 && burnt[0] > now.held[0].Index {
					now.put(burnt[0], limit)
					burnt = burnt[1:]
				}
			case 2: // a purge that is seen at the next reading, as all are but those that no step tells of
				if len(now.held) > 0 {
					read()
					now = &life{no: now.no + 1, written: map[int64]store.JSON{}}
					burnt = nil
					if rapid.Bool().Draw(t, "seen") {
						read()
					} else {
						now.put(0, limit)
						now.next = 1
						if account.Next() > 1 {
							read()
						}
					}
				}
			case 3, 4, 5:
				read()
			}
		}
		read()
	})
}

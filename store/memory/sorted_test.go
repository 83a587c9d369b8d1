package memory

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"treering/store"
)

func TestSortedAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sorted[int]{compare: cmp.Compare[int]}
		model := map[int]bool{}
		// Runs make chunks fill, split, empty and merge; single numbers hit any place.
		for range rapid.IntRange(1, 12).Draw(t, "runs") {
			from := rapid.IntRange(0, 4000).Draw(t, "from")
			n := rapid.IntRange(1, 1500).Draw(t, "n")
			stride := rapid.SampledFrom([]int{1, 3, -1, 7}).Draw(t, "stride")
			insert := rapid.IntRange(0, 2).Draw(t, "insert") > 0
			for i := range n {
				x := from + i*stride
				switch {
				case insert && !model[x]:
					if _, behind := s.find(func(y int) bool { return y > x }); !behind && x%2 == 0 {
						s.push(x)
					} else {
						s.insert(x)
					}
					model[x] = true
				case !insert:
					if s.remove(x) != model[x] {
						t.Fatalf("remove(%d) says otherwise than the model", x)
					}
					delete(model, x)
				}
			}
		}
		want := make([]int, 0, len(model))
		for x := range model {
			want = append(want, x)
		}
		slices.Sort(want)
		if got := slices.Collect(s.all()); !slices.Equal(got, want) || s.n != len(want) {
			t.Fatalf("%d entries (n=%d), want %d", len(got), s.n, len(want))
		}
		for i, c := range s.chunks {
			if len(c) == 0 || len(c) > chunkSize {
				t.Fatalf("chunk %d has %d entries", i, len(c))
			}
		}
		if len(s.chunks) > 2+8*len(want)/chunkSize {
			t.Fatalf("%d chunks for %d entries", len(s.chunks), len(want))
		}
		bound := rapid.IntRange(-10000, 10000).Draw(t, "bound")
		at, _ := slices.BinarySearch(want, bound)
		if got := slices.Collect(s.from(func(x int) bool { return x >= bound })); !slices.Equal(got, want[at:]) {
			t.Fatalf("from(%d): %d entries, want %d", bound, len(got), len(want[at:]))
		}
		if x, ok := s.find(func(x int) bool { return x >= bound }); ok != (at < len(want)) || ok && x != want[at] {
			t.Fatalf("find(%d) = %d, %v", bound, x, ok)
		}
	})
}

func TestMarksAgainstAModel(t *testing.T) {
	seed := maphash.MakeSeed()
	rapid.Check(t, func(t *rapid.T) {
		var m marks
		model := map[string]bool{}
		ids := rapid.SliceOf(rapid.OneOf(rapid.StringN(0, 3, -1), rapid.StringMatching(`event-[0-9]{1,4}`), rapid.SampledFrom([]string{strings.Repeat("long", 100), strings.Repeat("half", bufferSize/8), strings.Repeat("whole", bufferSize/5), strings.Repeat("more", bufferSize)}))).Draw(t, "ids")
		for i, id := range ids {
			if m.has(seed, id) != model[id] {
				t.Fatalf("has(%q) says otherwise than the model before mark %d", id, i)
			}
			m.add(seed, maphash.String(seed, id), id)
			model[id] = true
		}
		for id := range model {
			if other := id + "\x00"; !m.has(seed, id) || m.has(seed, other) != model[other] {
				t.Fatalf("%q was lost, or %q found", id, other)
			}
		}
		if m.n != len(model) {
			t.Fatalf("%d marks, want %d", m.n, len(model))
		}
	})
	var m marks
	for i := range 100_000 {
		m.add(seed, maphash.String(seed, strconv.Itoa(i)), strconv.Itoa(i))
	}
	for i := range 200_000 {
		if m.has(seed, strconv.Itoa(i)) != (i < 100_000) {
			t.Fatalf("mark %d", i)
		}
	}
	if len(m.ids) < 2 {
		t.Fatalf("%d buffers", len(m.ids))
	}
	// As if the slots had less of the hashes than the table needs.
	m.grow(seed, 0xff)
	for i := range 200_000 {
		if m.has(seed, strconv.Itoa(i)) != (i < 100_000) {
			t.Fatalf("mark %d of the larger table", i)
		}
	}
}

// BenchmarkMarks sets the marks of 64 executions beside as many maps: 3000 ids are
// added to each, or one is asked for that is not there.
func BenchmarkMarks(b *testing.B) {
	const owners, each = 64, 3000
	seed := maphash.MakeSeed()
	ids, others := make([]string, owners*each), make([]string, owners*each)
	for i := range ids {
		ids[i], others[i] = fmt.Sprintf("event-%026d", i), fmt.Sprintf("event-%026d", len(ids)+i)
	}
	add := func(id string, m *marks) { m.add(seed, maphash.String(seed, id), id) }
	b.Run("add", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			all := make([]marks, owners)
			for i, id := range ids {
				add(id, &all[i%owners])
			}
		}
	})
	b.Run("add to maps", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			all := make([]map[string]struct{}, owners)
			for i, id := range ids {
				if all[i%owners] == nil {
					all[i%owners] = map[string]struct{}{}
				}
				all[i%owners][id] = struct{}{}
			}
		}
	})
	all, maps := make([]marks, owners), make([]map[string]struct{}, owners)
	for i, id := range ids {
		add(id, &all[i%owners])
		if maps[i%owners] == nil {
			maps[i%owners] = map[string]struct{}{}
		}
		maps[i%owners][id] = struct{}{}
	}
	b.Run("absent", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if all[i%owners].has(seed, others[i%len(others)]) {
				b.Fatal("found")
			}
		}
	})
	b.Run("absent from maps", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, found := maps[i%owners][others[i%len(others)]]; found {
				b.Fatal("found")
			}
		}
	})
}

func TestRingAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 40).Draw(t, "limit")
		var r ring
		var model []store.TraceEntry
		for i := range rapid.IntRange(0, 100).Draw(t, "steps") {
			entry := rapid.SampledFrom([]store.JSON{`{}`, `{"x":"index"}`, `{"index":77}`, `{"a":{"index":1}}`, `{"\u0069ndex":8}`, `{"index":"no"}`}).Draw(t, "entry")
			index := int64(i)
			if n, ok := store.ExplicitIndex(entry); ok {
				index = n
			}
			r.push(entry, limit)
			model = append(model, store.TraceEntry{Index: index, Entry: entry})
			if limit > 0 && len(model) > limit {
				model = model[1:]
			}
		}
		if got := r.read(); !slices.Equal(got, model) {
			t.Fatalf("ring %v\nwant %v", got, model)
		}
		if limit > 0 && cap(r.steps) > limit {
			t.Fatalf("room for %d steps in a ring of %d", cap(r.steps), limit)
		}
	})
}

func TestNegativeTraceMax(t *testing.T) {
	negative := -1
	if _, err := New(Options{TraceMax: &negative}); err == nil {
		t.Error("a negative TraceMax was taken")
	}
}

func TestNothingIsLeftOfAnUnknownTarget(t *testing.T) {
	st, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, ctx := st.Executions(), t.Context()
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	target := "nobody"
	exe := &store.Execution{ID: "e"}
	if _, err := s.Commit(ctx, store.Commit{Execution: exe, Emits: []store.Emit{{TargetID: &target}, {TargetID: &target}}}); err != nil {
		t.Fatal(err)
	}
	for seq, want := range []int{2, 1} {
		if _, err := s.AckOutbox(ctx, int64(seq+1)); err != nil || len(s.byID) != want {
			t.Errorf("%d records after the ack of %d, want %d (%v)", len(s.byID), seq+1, want, err)
		}
	}
	if _, err := s.Purge(ctx, "e", 1); err != nil || len(s.byID) != 0 {
		t.Errorf("%d records after the purge (%v)", len(s.byID), err)
	}
}

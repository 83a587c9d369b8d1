package treeview

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestAncestry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := New(rapid.SampledFrom([]Order{ByID, ByArrival}).Draw(t, "order"))
		given := entries(t)
		for i, e := range given {
			x.Add(e)
			if i%7 != 0 && i != len(given)-1 {
				continue // asked now and then while it grows
			}
			checkAncestry(t, x)
		}
	})
}

func checkAncestry(t *rapid.T, x *Index) {
	up := map[Ref][]Ref{}
	below := map[Ref]int{}
	var last Ref
	s := x.Relations()
	for r, depth := range x.Walk() {
		up[r] = slices.Collect(x.Ancestors(r))
		for _, a := range up[r] {
			below[a]++
		}
		if x.Depth(r) != depth || s.Depth(int32(r)) != depth {
			t.Fatalf("depth of %s is %d, want %d", x.ID(r), x.Depth(r), depth)
		}
		if x.Known(r) && x.Leaf(r) && (last == 0 || x.order == ByID && x.ID(r) > x.ID(last) || x.order == ByArrival && r > last) {
			last = r
		}
		if p, ok := s.Find(x.ID(r)); !ok || p != int32(r) || s.Parent(p) != int32(x.Parent(r)) || s.Known(p) != x.Known(r) {
			t.Fatalf("relations of %s", x.ID(r))
		}
		if got := s.ChildCount(int32(r)); got != len(slices.Collect(x.Children(r))) {
			t.Fatalf("%s has %d children", x.ID(r), got)
		}
	}
	if x.LastHead() != last {
		t.Fatalf("last head %d, want %d", x.LastHead(), last)
	}
	if int(s.Size()) != len(up) {
		t.Fatalf("size %d, want %d", s.Size(), len(up))
	}
	for a := range up {
		if x.Descendants(a) != below[a] {
			t.Fatalf("%s has %d descendants, want %d", x.ID(a), x.Descendants(a), below[a])
		}
		for b := range up {
			want := slices.Contains(up[b], a)
			if x.IsAncestor(a, b) != want || s.IsAncestor(int32(a), int32(b)) != want {
				t.Fatalf("%s is an ancestor of %s: %v", x.ID(a), x.ID(b), !want)
			}
			common := Ref(0)
			ofA := append([]Ref{a}, up[a]...)
			for _, p := range append([]Ref{b}, up[b]...) {
				if slices.Contains(ofA, p) {
					common = p
					break
				}
			}
			if got := x.CommonAncestor(a, b); got != common {
				t.Fatalf("common ancestor of %s and %s is %d, want %d", x.ID(a), x.ID(b), got, common)
			}
		}
	}
}

func TestExtraRootsAndContradictionsAreSaid(t *testing.T) {
	x := grow(t, ByID, "a b<a c<b r s<r b<r b<r b<q b c<b")
	f := NewFlat(x, Runs)
	want := `
○ a
○ b  (has 3 more parents)
● c
○ r  (another root)
● s
`
	if got := "\n" + picture(f, DrawOptions{}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	b, _ := x.Find("b")
	if x.Duplicates() != 3 || x.Contradictions(b) != 3 {
		t.Errorf("%d duplicates, %d of b; want 3 and 3", x.Duplicates(), x.Contradictions(b))
	}
}

func TestScanTitles(t *testing.T) {
	x := grow(t, ByID, "a b<a c<p d<a")
	var got []string
	next := x.ScanTitles(0, 4, func(r Ref, title []byte) bool {
		got = append(got, x.ID(r)+"="+string(title))
		return true
	})
	if want := "a=t-a b=t-b c=t-c"; next != 4 || strings.Join(got, " ") != want {
		t.Errorf("got %v, next %d; want %s, 4", got, next, want)
	}
	got = nil
	next = x.ScanTitles(next, 100, func(r Ref, title []byte) bool {
		got = append(got, string(title))
		return len(got) < 2
	})
	if next != 6 || strings.Join(got, " ") != " t-d" {
		t.Errorf("got %q, next %d; want the missing parent and d, 6", got, next)
	}
	if n := testing.AllocsPerRun(10, func() { x.ScanTitles(0, 100, func(Ref, []byte) bool { return true }) }); n != 0 {
		t.Errorf("a scan takes %v allocations", n)
	}
}

// What was taken stays as it was, whatever comes to the index, and may be read at
// the same time.
func TestTextsStayWhileTheIndexGrows(t *testing.T) {
	x := grow(t, ByID, "a b<a c<p")
	read := func(texts *Texts) string {
		var out []string
		texts.Scan(0, 1000, func(_ Ref, s Span) bool {
			word := string(s.ID) + "=" + string(s.Title) + "/" + s.Kind
			if !s.Known {
				word += "?"
			}
			out = append(out, word)
			return true
		})
		return strings.Join(out, " ")
	}
	const want = "a=t-a/run b=t-b/run c=t-c/run p=/?"
	texts := x.Texts()
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for range 100 {
				if got := read(texts); got != want {
					t.Errorf("read %q, want %q", got, want)
				}
			}
		})
	}
	for i := range 2000 {
		x.Add(numbered(i, i/2))
	}
	x.Add(Entry{ID: "p", Title: "came", Kind: "new"})
	x.Add(Entry{ID: "a", Title: "renamed", Kind: "new"})
	readers.Wait()
	if got := read(x.Texts()); !strings.HasPrefix(got, "a=renamed/new b=t-b/run c=t-c/run p=came/new ") {
		t.Errorf("afterwards: %q", got[:80])
	}
	count := 0
	texts.Scan(2, 3, func(r Ref, s Span) bool { count++; return string(s.ID) == "b" })
	if count != 1 || texts.Size() != 4 {
		t.Errorf("a scan of one node saw %d, size %d", count, texts.Size())
	}
	a, _ := x.Find("a")
	if s := x.Span(a); string(s.Title) != "renamed" || s.Kind != "new" || !s.Known {
		t.Errorf("span of a is %+v", s)
	}
}

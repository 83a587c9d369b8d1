package treeview

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// titled grows a tree where the title of a node is what comes after "=" in its
// word.
func titled(t testing.TB, words ...string) *Index {
	t.Helper()
	x := New(ByID)
	for _, w := range words {
		word, title := w, w
		for i := range w {
			if w[i] == '=' {
				word, title = w[:i], w[i+1:]
			}
		}
		e := entry(word)
		e.Title = title
		x.Add(e)
	}
	return x
}

// steps writes a comparison down: "a b" the same, "a ~ b" changed, "a <", "> b".
func steps(x *Index, c Comparison) []string {
	var out []string
	for _, s := range c.Steps {
		switch s.Change {
		case Same:
			out = append(out, x.ID(s.A)+" "+x.ID(s.B))
		case Changed:
			out = append(out, x.ID(s.A)+" ~ "+x.ID(s.B))
		case OnlyA:
			out = append(out, x.ID(s.A)+" <")
		case OnlyB:
			out = append(out, "> "+x.ID(s.B))
		}
	}
	return out
}

func TestCompare(t *testing.T) {
	x := titled(t, "r", "f<r", "a1<f=x", "a2<a1=y", "a3<a2=z", "b1<f=x", "b2<b1=new", "b3<b2=y", "b4<b3=q", "c<r", "s", "s1<s")
	for _, c := range []struct {
		name, a, b    string
		o             CompareOptions
		ancestor      string
		ahead, behind int
		first         int
		positional    bool
		cut           bool
		steps         []string
	}{
		{name: "from the fork on", a: "a3", b: "b4", ancestor: "f", ahead: 3, behind: 4, first: 1,
			steps: []string{"a1 b1", "> b2", "a2 b3", "a3 ~ b4"}},
		{name: "the other way round", a: "b4", b: "a3", ancestor: "f", ahead: 4, behind: 3, first: 1,
			steps: []string{"b1 a1", "b2 <", "b3 a2", "b4 ~ a3"}},
		{name: "too different to be aligned", a: "a3", b: "b4", o: CompareOptions{MaxEdits: 1}, ancestor: "f", ahead: 3, behind: 4,
			first: 1, positional: true, steps: []string{"a1 b1", "a2 ~ b2", "a3 ~ b3", "> b4"}},
		{name: "an ancestor", a: "f", b: "a2", ancestor: "f", behind: 2, steps: []string{"> a1", "> a2"}},
		{name: "a descendant", a: "a2", b: "r", ancestor: "r", ahead: 3, steps: []string{"f <", "a1 <", "a2 <"}},
		{name: "itself", a: "a2", b: "a2", ancestor: "a2", first: -1},
		{name: "other roots", a: "a3", b: "s1", ahead: 5, behind: 2, first: -1},
		{name: "cut", a: "a3", b: "b4", o: CompareOptions{MaxSteps: 2}, ancestor: "f", ahead: 3, behind: 4, first: 1, cut: true,
			steps: []string{"a1 b1", "a2 ~ b2"}},
		{name: "a key of the caller's", a: "a3", b: "b4", o: CompareOptions{Key: func(Ref) uint64 { return 7 }}, ancestor: "f",
			ahead: 3, behind: 4, first: 3, steps: []string{"a1 b1", "a2 b2", "a3 b3", "> b4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, _ := x.Find(c.a)
			b, _ := x.Find(c.b)
			got := Compare(x, a, b, c.o)
			ancestor := ""
			if got.Ancestor != 0 {
				ancestor = x.ID(got.Ancestor)
			}
			if ancestor != c.ancestor || got.Ahead != c.ahead || got.Behind != c.behind {
				t.Errorf("ancestor %q, ahead %d, behind %d; want %q, %d, %d", ancestor, got.Ahead, got.Behind, c.ancestor, c.ahead, c.behind)
			}
			if got.First != c.first || got.Positional != c.positional || got.Cut != c.cut {
				t.Errorf("first %d, positional %v, cut %v; want %d, %v, %v", got.First, got.Positional, got.Cut, c.first, c.positional, c.cut)
			}
			if diff := cmp.Diff(c.steps, steps(x, got)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// lcs is the length of a longest common subsequence, by the book.
func lcs(a, b []uint64) int {
	row := make([]int, len(b)+1)
	for _, k := range a {
		before := 0
		for j, l := range b {
			here := row[j+1]
			if k == l {
				row[j+1] = before + 1
			} else {
				row[j+1] = max(here, row[j])
			}
			before = here
		}
	}
	return row[len(b)]
}

func TestAlignFindsALongestCommonSubsequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.SliceOfN(rapid.Uint64Range(0, 4), 0, 30)
		a, b := side.Draw(t, "a"), side.Draw(t, "b")
		most := rapid.IntRange(0, 60).Draw(t, "edits")
		same, ok := align(a, b, most)
		n, atA, atB := 0, 0, 0
		for _, m := range same {
			if m.a < atA || m.b < atB || m.n < 1 {
				t.Fatalf("stretches out of order: %v", same)
			}
			for i := range m.n {
				if a[m.a+i] != b[m.b+i] {
					t.Fatalf("%v is no common stretch", m)
				}
			}
			atA, atB, n = m.a+m.n, m.b+m.n, n+m.n
		}
		best := lcs(a, b)
		switch edits := len(a) + len(b) - 2*best; {
		case ok && n != best:
			t.Fatalf("%d in common, want %d", n, best)
		case !ok && edits <= most:
			t.Fatalf("not aligned, but only %d edits of %d", edits, most)
		}
		// Every step of either side is there, once and in order.
		nextA, nextB := 0, 0
		for _, s := range pair(len(a), len(b), same) {
			if s.A >= 0 && s.A != nextA || s.B >= 0 && s.B != nextB {
				t.Fatalf("step %v after %d and %d", s, nextA-1, nextB-1)
			}
			if s.A >= 0 {
				nextA++
			}
			if s.B >= 0 {
				nextB++
			}
			if both := s.A >= 0 && s.B >= 0; both != (s.Change == Same || s.Change == Changed) {
				t.Fatalf("step %v", s)
			}
			if s.Change == Same && a[s.A] != b[s.B] {
				t.Fatalf("step %v is not the same", s)
			}
		}
		if nextA != len(a) || nextB != len(b) {
			t.Fatal("steps are missing")
		}
	})
}

// Two branches of half a million steps each are cut where they are too long, and
// compared by position where they have nothing in common.
func TestCompareLongBranches(t *testing.T) {
	if testing.Short() {
		t.Skip("large trees: not in short runs")
	}
	x := New(ByID)
	root := "root"
	x.Add(Entry{ID: root})
	ends := [2]Ref{}
	for side := range ends {
		parent := root
		for i := range 500_000 {
			id := fmt.Sprintf("%d-%06d", side, i)
			p := parent
			ends[side], _ = x.Add(Entry{ID: id, Parent: &p, Title: "step " + id})
			parent = id
		}
	}
	c := Compare(x, ends[0], ends[1], CompareOptions{})
	if c.Ahead != 500_000 || c.Behind != 500_000 || !c.Cut || !c.Positional || len(c.Steps) != DefaultSteps || c.First != 0 {
		t.Errorf("ahead %d, behind %d, cut %v, positional %v, %d steps, first %d", c.Ahead, c.Behind, c.Cut, c.Positional, len(c.Steps), c.First)
	}
	c = Compare(x, ends[0], ends[1], CompareOptions{Key: func(r Ref) uint64 { return uint64(x.Depth(r)) }, MaxSteps: 1_000_000})
	if c.Cut || c.Positional || len(c.Steps) != 500_000 || c.First != -1 {
		t.Errorf("cut %v, positional %v, %d steps, first %d", c.Cut, c.Positional, len(c.Steps), c.First)
	}
}

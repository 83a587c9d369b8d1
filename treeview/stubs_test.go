package treeview

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawn is a tree of "id<parent", of which a trailing ~ says that it is stored as a
// branch and is none.
func drawn(active string, nodes ...string) []string {
	x := New(ByArrival)
	for _, n := range nodes {
		n, aside := strings.CutSuffix(n, "~")
		id, parent, _ := strings.Cut(n, "<")
		e := Entry{ID: id, Kind: "k", Title: id, Aside: aside}
		if parent != "" {
			e.Parent = &parent
		}
		x.Add(e)
	}
	f := NewFlat(x, Runs)
	if r, ok := x.Find(active); ok {
		f.SetActive(r)
		f.Rebuild()
	}
	var out []string
	for l := range f.Lines(DrawOptions{}) {
		out = append(out, l.Gutter.String()+x.ID(l.Ref))
	}
	return out
}

// What goes on from a node stays in its column, behind those of its children that are
// stored as branches and are none.
func TestStubs(t *testing.T) {
	for _, c := range []struct {
		name, active string
		nodes, want  []string
	}{
		{"answers of tools that ran at once", "d", []string{"a", "b<a", "r<a~", "c<b", "s<b~", "d<c"}, []string{"○ a", "├─● r", "○ b", "├─● s", "○ c", "◉ d"}},
		{"with something below them", "", []string{"a", "r<a~", "b<a", "s<r", "c<b"}, []string{"○ a", "├─○ r", "│ ● s", "○ b", "● c"}},
		{"alone", "", []string{"a", "r<a~", "s<r"}, []string{"○ a", "└─○ r", "  ● s"}},
		{"several and nothing else", "", []string{"a", "r<a~", "s<a~"}, []string{"○ a", "├─● r", "└─● s"}},
		{"beside real branches", "", []string{"a", "b<a", "r<a~", "c<a"}, []string{"○ a", "├─● b", "├─● r", "└─● c"}},
		{"the way leads through one", "s", []string{"a", "b<a", "r<a~", "s<r"}, []string{"○ a", "├─○ r", "│ ◉ s", "└─● b"}},
		{"below a branch", "", []string{"a", "b<a", "c<a", "d<b", "r<b~", "e<d"}, []string{"○ a", "├─○ b", "│ ├─● r", "│ ○ d", "│ ● e", "└─● c"}},
	} {
		if diff := cmp.Diff(c.want, drawn(c.active, c.nodes...)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// Whatever is marked, every node has one row, below its parent's, and neighbours in a
// column are parent and child or siblings.
func TestStubsOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "nodes")
		x := New(ByArrival)
		for i := range n {
			e := Entry{ID: fmt.Sprint(i), Title: "t", Aside: i > 0 && rapid.Bool().Draw(t, "aside")}
			if i > 0 {
				p := fmt.Sprint(rapid.IntRange(max(0, i-4), i-1).Draw(t, "parent"))
				e.Parent = &p
			}
			x.Add(e)
		}
		f := NewFlat(x, Runs)
		f.SetRuns(rapid.IntRange(0, 4).Draw(t, "runs"))
		for range 3 {
			if r, ok := x.Find(fmt.Sprint(rapid.IntRange(0, n-1).Draw(t, "active"))); ok {
				f.SetActive(r)
			}
			if r, ok := x.Find(fmt.Sprint(rapid.IntRange(1, n).Draw(t, "changed"))); ok {
				x.SetAside(r, rapid.Bool().Draw(t, "to"))
			}
			f.Rebuild()
			seen, hidden := map[Ref]bool{}, 0
			for i := range f.Len() {
				r := f.At(i)
				if seen[r] || f.Parent(i) >= i {
					t.Fatalf("row %d of node %s hangs on %d", i, x.ID(r), f.Parent(i))
				}
				seen[r] = true
				hidden += max(f.Steps(i)-1, 0)
				if p := f.Parent(i); p >= 0 && f.Level(i) != f.Level(p) && f.Level(i) != f.Level(p)+1 {
					t.Fatalf("row %d is at level %d below %d", i, f.Level(i), f.Level(p))
				}
			}
			if f.Len()+hidden != n {
				t.Fatalf("%d rows hide %d of %d nodes", f.Len(), hidden, n)
			}
		}
	})
}

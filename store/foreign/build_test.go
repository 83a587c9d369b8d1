package foreign

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// records reads a small notation: "id<parent=payload", the parent and the payload
// optional.
func records(list ...string) (out []Record) {
	for i, s := range list {
		s, payload, _ := strings.Cut(s, "=")
		id, parent, named := strings.Cut(s, "<")
		r := Record{ID: id, Kind: "run", Place: Place{Line: int64(i + 1)}}
		if named {
			r.Parent = &parent
		}
		for _, c := range payload {
			r.Sum = r.Sum*31 + uint64(c)
		}
		out = append(out, r)
	}
	return out
}

// drawn is a tree as "id<parent", the root first, then by storage.
func drawn(t *Tree) (out []string) {
	for i := range t.Len() {
		n := t.At(i)
		s := t.ID(n)
		if p, ok := t.Parent(n); ok {
			s += "<" + t.ID(p)
		}
		for _, f := range t.Facts(n) {
			s += " " + f.Key + ":" + string(f.Value)
		}
		out = append(out, s)
	}
	return out
}

func TestBuild(t *testing.T) {
	for _, c := range []struct {
		name    string
		o       BuildOptions
		records []Record
		want    []string
		report  Report
	}{
		{"a tree", BuildOptions{}, records("a", "b<a", "c<a", "d<c"), []string{"a", "b<a", "c<a", "d<c"}, Report{Records: 4, Roots: 1}},
		{"nothing", BuildOptions{}, nil, []string{`s:root synthetic:true source:"test" roots:0`}, Report{}},
		{"stored twice", BuildOptions{}, records("a", "b<a=x", "b<a=x", "c<b"), []string{"a", "b<a", "c<b"}, Report{Records: 3, Roots: 1, Duplicates: 1}},
		{
			"other contents under one id: a reference means the latest that is earlier", BuildOptions{},
			records("a", "b<a=x", "c<b", "b<c=y", "d<b", "b<a=x", "b#2<a"),
			[]string{"a", "b<a", "c<b", `b#3<c duplicate_of:"b"`, "d<b#3", "b#2<a"}, Report{Records: 6, Roots: 1, Duplicates: 1, Renamed: 1},
		},
		{"the same contents under another parent are another node", BuildOptions{}, records("a", "b<a=x", "c<a", "b<c=x"),
			[]string{"a", "b<a", "c<a", `b#2<c duplicate_of:"b"`}, Report{Records: 4, Roots: 1, Renamed: 1}},
		{"children before their parent", BuildOptions{}, records("c<b", "b<a", "a"), []string{"c<b", "b<a", "a"}, Report{Records: 3, Roots: 1}},
		{"its own parent", BuildOptions{}, records("a<a", "b<a"), []string{"a", "b<a"}, Report{Records: 2, Roots: 1}},
		{
			"its own id, which was stored before", BuildOptions{}, records("a=x", "b<a", "a<a=y", "c<a"),
			[]string{"a", "b<a", `a#2<a duplicate_of:"a"`, "c<a#2"}, Report{Records: 4, Roots: 1, Renamed: 1},
		},
		{
			"orphans", BuildOptions{}, records("a", "b<a", "c<gone"),
			[]string{`s:root synthetic:true source:"test" roots:2`, "a<s:root", "b<a", `c<s:root orphan_parent:"gone"`}, Report{Records: 3, Roots: 2, Orphans: 1},
		},
		{
			"several roots below a header", BuildOptions{Header: &Record{ID: "h", Kind: "session"}}, records("a", "b", "c<a"),
			[]string{"h", "a<h", "b<h", "c<a"}, Report{Records: 3, Roots: 2},
		},
		{"one root below a header", BuildOptions{Header: &Record{ID: "a", Kind: "session"}}, records("a", "b<a"),
			[]string{"a:root", "a<a:root", "b<a"}, Report{Records: 2, Roots: 1}},
		{
			"a cycle beside a root", BuildOptions{}, records("a", "d<c", "b<d", "c<b", "e<b"),
			[]string{`s:root synthetic:true source:"test" roots:2`, "a<s:root", "d<s:root cycle_cut:true", "b<d", "c<b", "e<b"}, Report{Records: 5, Roots: 2, Cycles: 1},
		},
		{
			"a root of the name that would be made up", BuildOptions{}, records("s:root", "b"),
			[]string{`s:root:root synthetic:true source:"test" roots:2`, "s:root<s:root:root", "b<s:root:root"}, Report{Records: 2, Roots: 2},
		},
		{
			"no link at all", BuildOptions{Chain: true}, records("a", "b", "c<gone"),
			[]string{"a linear_assumed:true", "b<a linear_assumed:true", "c<b linear_assumed:true"}, Report{Records: 3, Roots: 1, Chained: 3},
		},
		{"no link at all in a database", BuildOptions{}, records("a", "b"),
			[]string{`s:root synthetic:true source:"test" roots:2`, "a<s:root", "b<s:root"}, Report{Records: 2, Roots: 2}},
		{"one link is enough", BuildOptions{Chain: true}, records("a", "b", "c<b"),
			[]string{`s:root synthetic:true source:"test" roots:2`, "a<s:root", "b<s:root", "c<b"}, Report{Records: 3, Roots: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Session, c.o.Source = "s", "test"
			var r Report
			tree := Build(c.o, c.records, &r)
			if diff := cmp.Diff(c.want, drawn(tree)); diff != "" {
				t.Error(diff)
			}
			r.Warnings = nil
			if diff := cmp.Diff(c.report, r); diff != "" {
				t.Errorf("report: %s", diff)
			}
		})
	}
}

func TestWarningsNameTheirPlace(t *testing.T) {
	var r Report
	Build(BuildOptions{Session: "s"}, records("a", "a=x", "b<gone"), &r)
	want := []Warning{
		{Place: Place{Line: 2}, ID: "a", Text: "other contents under an id that is taken: shown as a#2"},
		{Place: Place{Line: 3}, ID: "b", Text: "its parent gone is not there"},
	}
	if diff := cmp.Diff(want, r.Warnings); diff != "" {
		t.Error(diff)
	}
	for range 300 {
		r.Warn(Warning{})
	}
	if len(r.Warnings) != maxWarnings || r.Dropped != 302-maxWarnings {
		t.Errorf("%d kept, %d dropped", len(r.Warnings), r.Dropped)
	}
}

// Out of anything comes one rooted tree in which everything is that was not stored
// twice, and the same each time.
func TestAnythingBecomesOneTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "a#2", "s:root", ""})
		var recs []Record
		for i := range rapid.IntRange(0, 12).Draw(t, "records") {
			r := Record{ID: id.Draw(t, "id"), Kind: "run", Sum: rapid.Uint64Range(0, 2).Draw(t, "sum"), Place: Place{Line: int64(i)}}
			if rapid.Bool().Draw(t, "named") {
				p := id.Draw(t, "parent")
				r.Parent = &p
			}
			recs = append(recs, r)
		}
		o := BuildOptions{Session: "s", Source: "test", Chain: rapid.Bool().Draw(t, "chain")}
		if rapid.Bool().Draw(t, "header") {
			o.Header = &Record{ID: "a", Kind: "session"}
		}
		var r Report
		tree := Build(o, recs, &r)
		if got := int(r.Records + r.Duplicates); got != len(recs) {
			t.Fatalf("%d of %d records are accounted for", got, len(recs))
		}
		seen := map[string]bool{}
		reached := 0
		for stack := []int32{tree.Root()}; len(stack) > 0; {
			n := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			reached++
			if reached > tree.Len() {
				t.Fatal("a cycle is left")
			}
			if seen[tree.ID(n)] {
				t.Fatalf("%q twice", tree.ID(n))
			}
			seen[tree.ID(n)] = true
			before := int32(-1)
			for c, ok := tree.FirstChild(n); ok; c, ok = tree.NextSibling(c) {
				if p, _ := tree.Parent(c); p != n || c <= before {
					t.Fatalf("child %d of %d, parent %d, after %d", c, n, p, before)
				}
				before = c
				stack = append(stack, c)
			}
		}
		if reached != tree.Len() {
			t.Fatalf("%d of %d nodes hang below the root", reached, tree.Len())
		}
		for i := range tree.Len() {
			n := tree.At(i)
			if tree.Position(n) != i {
				t.Fatalf("node %d is at %d and %d", n, i, tree.Position(n))
			}
			if m, ok := tree.Find(tree.ID(n)); !ok || m != n {
				t.Fatalf("%q finds %d, want %d", tree.ID(n), m, n)
			}
		}
		var again Report
		if diff := cmp.Diff(drawn(tree), drawn(Build(o, recs, &again))); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Depth and size are no matter: a chain of a million, children first, and a million
// records of one id.
func TestLargeTrees(t *testing.T) {
	const n = 1_000_000
	recs := make([]Record, n)
	for i := range recs {
		recs[i] = Record{ID: fmt.Sprint(n - i), Kind: "run"}
		if i+1 < n {
			p := fmt.Sprint(n - i - 1)
			recs[i].Parent = &p
		}
	}
	var r Report
	if tree := Build(BuildOptions{Session: "s"}, recs, &r); tree.Len() != n || tree.ID(tree.Root()) != "1" {
		t.Errorf("%d nodes below %s", tree.Len(), tree.ID(tree.Root()))
	}
	recs = recs[:n/10]
	for i := range recs {
		recs[i] = Record{ID: "same", Kind: "run", Sum: uint64(i)}
	}
	r = Report{}
	Build(BuildOptions{Session: "s"}, recs, &r)
	if r.Renamed != n/10-1 {
		t.Errorf("%+v", r.Renamed)
	}
}

func BenchmarkBuild(b *testing.B) {
	const n = 1_000_000
	recs := make([]Record, n)
	for i := range recs {
		recs[i] = Record{ID: fmt.Sprintf("node-%08x", i), Kind: "run", Title: "make"}
		if i > 0 {
			recs[i].Parent = &recs[i-1-i%7*b2(i > 7)].ID
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		var r Report
		Build(BuildOptions{Session: "s"}, recs, &r)
	}
}

func b2(b bool) int {
	if b {
		return 1
	}
	return 0
}

package treeview

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"treering/store"
)

// grow builds an index from "id<parent" words; "id" alone is a root.
func grow(t testing.TB, order Order, words string) *Index {
	t.Helper()
	x := New(order)
	for _, w := range strings.Fields(words) {
		x.Add(entry(w))
	}
	return x
}

func entry(word string) Entry {
	id, parent, below := strings.Cut(word, "<")
	e := Entry{ID: id, Kind: "run", Title: "t-" + id}
	if below {
		e.Parent = &parent
	}
	return e
}

// outline is the walk as text: a blank a level, "?" where the entry is missing.
func outline(x *Index) []string {
	var out []string
	for r, depth := range x.Walk() {
		s := strings.Repeat(" ", depth) + x.ID(r)
		if !x.Known(r) {
			s += "?"
		}
		if named, ok := x.Cyclic(r); ok {
			s += "@" + x.ID(named)
		}
		out = append(out, s)
	}
	return out
}

func TestIndexTakesEntriesInAnyOrder(t *testing.T) {
	for _, c := range []struct {
		name, words string
		want        []string
		heads, miss int
	}{
		{"nothing", "", nil, 0, 0},
		{"a root", "a", []string{"a"}, 1, 0},
		{"parents first", "a b<a c<a d<b", []string{"a", " b", "  d", " c"}, 2, 0},
		{"children first", "d<b c<a b<a a", []string{"a", " b", "  d", " c"}, 2, 0},
		{"siblings by id, not by arrival", "a z<a m<a b<a", []string{"a", " b", " m", " z"}, 3, 0},
		{"several roots", "b a c<b", []string{"a", "b", " c"}, 2, 0},
		{"a missing parent is drawn, after the roots", "z y<x w<x", []string{"z", "x?", " w", " y"}, 3, 1},
		{"its own parent", "a<a", []string{"a@a"}, 1, 0},
		{"a cycle is cut where it closes", "a<c b<a c<b", []string{"c@b", " a", "  b"}, 1, 0},
		{"a cycle below nothing, beside a tree", "r s<r a<b b<a", []string{"r", " s", "b@a", " a"}, 2, 0},
		{"a cycle with a tail", "a<b b<a t<a u<t", []string{"b@a", " a", "  t", "   u"}, 1, 0},
		{"an empty id is an id", "a< <a", []string{"@a", " a"}, 1, 0},
		{"equal entries again", "a b<a b<a a", []string{"a", " b"}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := grow(t, ByID, c.words)
			if diff := cmp.Diff(c.want, outline(x)); diff != "" {
				t.Errorf("walk (-want +got):\n%s", diff)
			}
			if x.Heads() != c.heads || x.Missing() != c.miss {
				t.Errorf("heads %d, missing %d; want %d, %d", x.Heads(), x.Missing(), c.heads, c.miss)
			}
			if x.Duplicates() != 0 {
				t.Errorf("duplicates %d, want 0", x.Duplicates())
			}
		})
	}
}

func TestIndexKeepsTheFirstParentAndTheLastText(t *testing.T) {
	x := grow(t, ByID, "a b<a c<a")
	other := "c"
	r, added := x.Add(Entry{ID: "b", Parent: &other, Kind: "stage", Title: "renamed"})
	if added {
		t.Error("an id that was there counts as new")
	}
	if got := x.ID(x.Parent(r)); got != "a" {
		t.Errorf("parent of b is %q, want a", got)
	}
	if x.Title(r) != "renamed" || x.Kind(r) != "stage" {
		t.Errorf("text of b is %q %q", x.Kind(r), x.Title(r))
	}
	if x.Duplicates() != 1 || x.Len() != 3 {
		t.Errorf("duplicates %d, len %d; want 1, 3", x.Duplicates(), x.Len())
	}
}

func TestIndexOrderByArrival(t *testing.T) {
	x := grow(t, ByArrival, "r z<r a<r m<r")
	if diff := cmp.Diff([]string{"r", " z", " a", " m"}, outline(x)); diff != "" {
		t.Error(diff)
	}
}

func TestIndexRelations(t *testing.T) {
	x := grow(t, ByID, "a b<a c<b d<b e<d q<p")
	ref := func(id string) Ref {
		r, ok := x.Find(id)
		if !ok {
			t.Fatalf("%s is not found", id)
		}
		return r
	}
	var up []string
	for r := range x.Ancestors(ref("e")) {
		up = append(up, x.ID(r))
	}
	if diff := cmp.Diff([]string{"d", "b", "a"}, up); diff != "" {
		t.Error(diff)
	}
	if got := x.ID(x.Root(ref("e"))); got != "a" {
		t.Errorf("root of e is %s", got)
	}
	if got := x.ID(x.Root(ref("q"))); got != "p" || x.Known(ref("p")) {
		t.Errorf("root of q is %s", got)
	}
	if !x.Forked(ref("b")) || x.Forked(ref("a")) || !x.Leaf(ref("c")) || x.Leaf(ref("b")) {
		t.Error("forks and leaves are mixed up")
	}
	var kids []string
	for r := range x.Children(ref("b")) {
		kids = append(kids, x.ID(r))
	}
	if diff := cmp.Diff([]string{"c", "d"}, kids); diff != "" {
		t.Error(diff)
	}
	if got := x.CountChildren(ref("b"), 10); got != 2 {
		t.Errorf("b has %d children", got)
	}
	if got := x.CountChildren(ref("b"), 1); got != 1 {
		t.Errorf("b has %d children up to 1", got)
	}
	if _, ok := x.Find("nobody"); ok {
		t.Error("an id that never came is found")
	}
}

func TestEntryOfCutsTitles(t *testing.T) {
	long := strings.Repeat("é", 500)
	n := store.Node{ID: "n", Kind: "run", Data: store.ObjectOf(store.Member{Key: "title", Value: store.Quote(long)})}
	x := New(ByID)
	r, _ := x.Add(EntryOf(n))
	if got := x.Title(r); got != strings.Repeat("é", MaxTitle) {
		t.Errorf("title has %d bytes", len(got))
	}
}

func TestArenaTakesTextsLongerThanAChunk(t *testing.T) {
	x := New(ByID)
	long := strings.Repeat("x", 3*chunkSize)
	x.Add(Entry{ID: "a"})
	x.Add(Entry{ID: long})
	x.Add(Entry{ID: "b"})
	for _, id := range []string{"a", "b", long} {
		if r, ok := x.Find(id); !ok || x.ID(r) != id {
			t.Errorf("an id of %d bytes is lost", len(id))
		}
	}
}

// entries generates a forest with every irregularity: several roots, parents
// that are missing, cycles, duplicates, in any order.
func entries(t *rapid.T) []Entry {
	n := rapid.IntRange(0, 60).Draw(t, "n")
	id := rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("n%02d", rapid.IntRange(0, 70).Draw(t, "id")) })
	out := make([]Entry, n)
	for i := range out {
		out[i] = Entry{ID: id.Draw(t, "id"), Kind: "k", Title: "t"}
		if rapid.IntRange(0, 9).Draw(t, "root") > 0 {
			p := id.Draw(t, "parent")
			out[i].Parent = &p
		}
	}
	return out
}

func TestIndexShowsEveryNodeOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkIndex(t, entries(t)) })
}

// FuzzIndex reads lines "id<parent" with any bytes in them.
func FuzzIndex(f *testing.F) {
	for _, words := range []string{"a\nb<a\nc<b", "c<b\nb<a", "a<a", "a<b\nb<a\na<c\n<a\n<", "\x1b[m<\xff\n\xff<\x1b[m\na\x00<a"} {
		f.Add(words)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		var given []Entry
		for line := range strings.Lines(lines) {
			given = append(given, entry(strings.TrimSuffix(line, "\n")))
		}
		checkIndex(t, given)
	})
}

// checkIndex builds an index and looks at all of it.
func checkIndex(t rapid.TB, given []Entry) {
	t.Helper()
	x := New(ByID)
	ids := map[string]bool{}
	named := map[string]bool{}
	for _, e := range given {
		x.Add(e)
		ids[e.ID] = true
		named[e.ID] = true
		if e.Parent != nil {
			named[*e.Parent] = true
		}
	}
	if x.Len() != len(ids) {
		t.Fatalf("len %d, want %d", x.Len(), len(ids))
	}
	seen := map[string]bool{}
	var stack []Ref // the path to the node before
	heads := 0
	for r, depth := range x.Walk() {
		id := x.ID(r)
		if seen[id] {
			t.Fatalf("%s comes twice", id)
		}
		seen[id] = true
		if depth > len(stack) {
			t.Fatalf("%s jumps to depth %d below %d", id, depth, len(stack))
		}
		stack = append(stack[:depth], r)
		var want Ref
		if depth > 0 {
			want = stack[depth-1]
		}
		if x.Parent(r) != want {
			t.Fatalf("%s stands below %d, its parent is %d", id, want, x.Parent(r))
		}
		if x.Root(r) != stack[0] {
			t.Fatalf("root of %s", id)
		}
		if x.Known(r) != ids[id] {
			t.Fatalf("%s known: %v", id, x.Known(r))
		}
		if x.Known(r) && x.Leaf(r) {
			heads++
		}
	}
	// A parent that only a duplicate names is not in the tree.
	for id := range ids {
		if !seen[id] {
			t.Fatalf("%s is not reached", id)
		}
	}
	for id := range seen {
		if !named[id] {
			t.Fatalf("%s was never named", id)
		}
	}
	if heads != x.Heads() {
		t.Fatalf("heads %d, counted %d", x.Heads(), heads)
	}
	for r := range x.Walk() {
		var kids []string
		for k := range x.Children(r) {
			kids = append(kids, x.ID(k))
		}
		if !slices.IsSorted(kids) {
			t.Fatalf("children of %s: %v", x.ID(r), kids)
		}
	}
}

func TestIndexOfATreeDoesNotDependOnTheOrderOfArrival(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 80).Draw(t, "n")
		given := make([]Entry, n)
		for i := range given {
			given[i] = Entry{ID: fmt.Sprintf("n%02d", i)}
			if i > 0 {
				p := fmt.Sprintf("n%02d", rapid.IntRange(0, i-1).Draw(t, "parent"))
				given[i].Parent = &p
			}
		}
		want := New(ByID)
		for _, e := range given {
			want.Add(e)
		}
		got := New(ByID)
		for _, e := range rapid.Permutation(given).Draw(t, "order") {
			got.Add(e)
			if rapid.Bool().Draw(t, "look") {
				got.arrange()
			}
		}
		if diff := cmp.Diff(outline(want), outline(got)); diff != "" {
			t.Fatal(diff)
		}
		if got.Missing() != 0 || got.Heads() != want.Heads() {
			t.Fatalf("missing %d, heads %d want %d", got.Missing(), got.Heads(), want.Heads())
		}
	})
}

func TestIndexOfManyNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("large trees: not in short runs")
	}
	const n = 1_000_000
	for _, c := range []struct {
		name   string
		parent func(int) int
		order  func(n int) iter.Seq[int]
	}{
		{"a chain, children first", func(i int) int { return i - 1 }, downFrom},
		{"a fan in any order", func(int) int { return 0 }, shuffled},
		{"a fork at every other node", func(i int) int { return max((i-1)&^1, 0) }, upTo},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := New(ByID)
			for i := range c.order(n) {
				x.Add(numbered(i, c.parent(i)))
			}
			everything(t, x, n)
		})
	}
}

// everything does to a large tree what can be done to a tree; what takes a stack,
// or more than a pass or two, does not come back.
func everything(t *testing.T, x *Index, n int) {
	w := NewWidget(x, Runs)
	f := w.Flat()
	if f.Len() != n || x.Missing() != 0 {
		t.Fatalf("%d rows, %d missing", f.Len(), x.Missing())
	}
	for r := range x.Walk() {
		if row, ok := f.RowOf(r); !ok || f.At(row) != r {
			t.Fatalf("row of %s is %d", x.ID(r), row)
		}
	}
	w.SetHeight(50)
	w.End()
	last, _ := w.Cursor()
	if x.LastHead() == 0 || !x.IsAncestor(x.Root(last), last) || x.Descendants(x.Root(last)) != n-1 {
		t.Error("the last row is not below the root")
	}
	w.SetActive(x.ID(x.LastHead()))
	w.SetRuns(10)
	w.ToggleRun()
	w.UnfoldAll()
	w.ResetRuns()
	w.FoldTo(1)
	w.FoldSiblings(true)
	w.FoldTo(-1)
	if !w.Select(x.ID(last)) {
		t.Error("the last node cannot be selected")
	}
	w.ToSibling(-1)
	w.ToFork()
	w.NextHead(-1)
	none := func(Ref) bool { return false }
	for _, by := range []int{1, -1} {
		if _, ok := w.Find(by, none); ok {
			t.Error("found nothing")
		}
	}
	var match Set
	match.Add(x.LastHead())
	match.Add(x.Root(last))
	w.SetFilter(match, Elided)
	if f.Len() != 2 || f.Elided(1) != x.Depth(x.LastHead())-1 {
		t.Errorf("%d rows of two matches, %d elided", f.Len(), f.Elided(1))
	}
	w.SetFilter(match, Shown)
	steps := 0
	for i := range f.Len() {
		steps += max(f.Steps(i), 1)
	}
	if want := x.Depth(x.LastHead()) + 1; steps != want {
		t.Errorf("%d nodes are in the rows of a match and its ancestors, want %d", steps, want)
	}
	if c := Compare(x, x.LastHead(), x.Root(last), CompareOptions{}); c.Ahead != x.Depth(x.LastHead()) || c.Behind != 0 {
		t.Errorf("%d ahead, %d behind", c.Ahead, c.Behind)
	}
}

func TestHeapOfAMillionNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("large trees: not in short runs")
	}
	const most = 150e6 // with all that is worked out on demand
	got := heapOf(func() any {
		w := window(1_000_000)
		w.Index().Depth(1)
		w.SetRuns(12)
		w.SetActive(w.Index().ID(w.Index().LastHead()))
		return w
	})
	if got > most {
		t.Errorf("a million nodes take %d MB, at most %d are allowed", got/1e6, int(most/1e6))
	}
}

func upTo(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < n && yield(i); i++ {
		}
	}
}

func downFrom(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := n - 1; i >= 0 && yield(i); i-- {
		}
	}
}

func shuffled(n int) iter.Seq[int] {
	return slices.Values(rand.New(rand.NewPCG(1, 2)).Perm(n))
}

// number is an id as long as a UUID; ids are in the order of their numbers.
func number(i int) string {
	digits := strconv.Itoa(i)
	return "0192f0c4-0000-7000-8000-000000000000"[:36-len(digits)] + digits
}

// numbered is the i-th entry of a tree, below another.
func numbered(i, parent int) Entry {
	e := Entry{ID: number(i), Kind: "run", Title: "step of some length"}
	if i > 0 {
		p := number(parent)
		e.Parent = &p
	}
	return e
}

func TestUntitledNodesSayTheirKindOnce(t *testing.T) {
	for _, tt := range []struct {
		e    Entry
		want string
	}{
		{Entry{ID: "0123456789", Kind: "run", Title: "run 01234567"}, "01234567"},
		{Entry{ID: "n1", Kind: "run", Title: "run n1"}, "n1"},
		{Entry{ID: "n1", Kind: "run", Title: "run the tests"}, "run the tests"},
		{Entry{ID: "n1", Kind: "run", Title: "run"}, "run"},
		{Entry{ID: "n1", Title: "n1"}, "n1"},
		{Entry{ID: "0123456789", Kind: "run", Title: "run 0123456789"}, "run 0123456789"},
	} {
		if got := tt.e.TitleBesideKind(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.e, got, tt.want)
		}
	}
}

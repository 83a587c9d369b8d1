package treeview

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"treering/internal/term"
)

// view is what a tree may be looked at with, by id, as plainly as it can be said.
type view struct {
	shape                Shape
	filtered             bool
	match                map[string]bool
	context              Context
	folded               map[string]bool
	runs                 int
	open, closed, pinned map[string]bool
	active               string
	first                string // whose way comes first

	x      *Index
	parent map[string]string
	kids   map[string][]string // the child on the first way first
	roots  []string
	odd    map[string]bool // nodes of which something is to be said
	onPath map[string]bool
	want   []modelRow
}

// modelRow is one row as it should be.
type modelRow struct {
	id     string
	steps  int
	parent int
	elided int
	level  int
	gutter string
}

// nodes turns ids into nodes.
func (v *view) nodes(ids map[string]bool) Set {
	var s Set
	for id := range ids {
		if r, ok := v.x.Find(id); ok {
			s.Add(r)
		}
	}
	return s
}

// flat sets all of it on a new Flat.
func (v *view) flat() *Flat {
	f := &Flat{x: v.x, shape: v.shape}
	if v.filtered {
		f.SetFilter(v.nodes(v.match), v.context)
	}
	f.SetRuns(v.runs)
	f.folds, f.open, f.closed = v.nodes(v.folded), v.nodes(v.open), v.nodes(v.closed)
	f.Pin(slices.Collect(v.nodes(v.pinned).All())...)
	if r, ok := v.x.Find(v.active); ok {
		f.SetActive(r)
	}
	if r, ok := v.x.Find(v.first); ok {
		f.first = r
	}
	f.Rebuild()
	return f
}

// learn reads the tree off the index.
func (v *view) learn() {
	v.parent, v.kids, v.odd = map[string]string{}, map[string][]string{}, map[string]bool{}
	v.roots = nil
	var stack []string
	for r, depth := range v.x.Walk() {
		id := v.x.ID(r)
		stack = append(stack[:depth], id)
		if depth == 0 {
			v.roots = append(v.roots, id)
		} else {
			v.parent[id] = stack[depth-1]
			v.kids[stack[depth-1]] = append(v.kids[stack[depth-1]], id)
		}
		v.odd[id] = !v.x.Oddity(r, term.Profile{}).Empty()
	}
	v.onPath = map[string]bool{}
	if _, ok := v.x.Find(v.first); ok {
		for id, ok := v.first, true; ok; id, ok = v.parent[id] {
			v.onPath[id] = true
		}
	}
	first := func(ids []string) []string {
		out := slices.Clone(ids)
		slices.SortStableFunc(out, func(a, b string) int {
			switch {
			case v.onPath[a]:
				return -1
			case v.onPath[b]:
				return 1
			}
			return 0
		})
		return out
	}
	v.roots = first(v.roots)
	for id := range v.kids {
		v.kids[id] = first(v.kids[id])
	}
}

func (v *view) seen(id string) bool {
	if !v.filtered || v.match[id] {
		return true
	}
	return v.context == Shown && slices.ContainsFunc(v.kids[id], v.seen)
}

func (v *view) seenKids(id string) []string {
	var out []string
	for _, k := range v.kids[id] {
		if v.seen(k) {
			out = append(out, k)
		}
	}
	return out
}

// foldable reports whether a run may hide the node.
func (v *view) foldable(id string) bool {
	p, below := v.parent[id]
	return v.shape == Runs && below && !v.odd[id] && v.seen(id) && !(v.filtered && (v.match[id] || v.context == Elided)) &&
		len(v.seenKids(id)) == 1 && len(v.seenKids(p)) == 1 && !v.folded[id] && !v.open[id] && !v.pinned[id] && id != v.active
}

// run returns the steps of the folded run that begins with the node; 0 for none.
func (v *view) run(id string) int {
	n, forced := 0, false
	for at := id; v.foldable(at); at = v.seenKids(at)[0] {
		n++
		forced = forced || v.closed[at]
	}
	if n < 2 || !forced && (v.runs == 0 || n < v.runs) {
		return 0
	}
	return n
}

// rows makes the rows.
func (v *view) rows() []modelRow {
	v.want = nil
	v.place(v.roots, -1, 0)
	kids := map[int]int{}
	for _, r := range v.want {
		kids[r.parent]++
	}
	last := map[int]int{}
	for i, r := range v.want {
		last[r.parent] = i
	}
	g := Unicode()
	lanes := make([]string, len(v.want)) // what stands before what hangs on the row
	for i := range v.want {
		r := &v.want[i]
		if r.parent < 0 {
			continue
		}
		up := v.want[r.parent]
		r.level, r.gutter, lanes[i] = up.level, lanes[r.parent], lanes[r.parent]
		if v.shape == Runs && kids[r.parent] == 1 {
			continue
		}
		r.level++
		tee, corner := g.Tee, g.Corner
		if r.elided > 0 {
			tee, corner = g.FarTee, g.FarCorner
		}
		if last[r.parent] == i {
			r.gutter += corner
			lanes[i] += g.Gap
		} else {
			r.gutter += tee
			lanes[i] += g.Lane
		}
	}
	return v.want
}

// place appends the rows of some siblings; skipped counts the nodes left out
// since the row they hang on.
func (v *view) place(ids []string, parent, skipped int) {
	for _, id := range ids {
		if !v.seen(id) {
			v.place(v.kids[id], parent, skipped+1)
			continue
		}
		at := len(v.want)
		if n := v.runAt(id); n > 0 {
			v.want = append(v.want, modelRow{id: id, steps: n, parent: parent, elided: skipped})
			end := id
			for range n - 1 {
				end = v.seenKids(end)[0]
			}
			v.place(v.kids[end], at, 0)
			continue
		}
		v.want = append(v.want, modelRow{id: id, parent: parent, elided: skipped})
		if !v.folded[id] {
			v.place(v.kids[id], at, 0)
		}
	}
}

// runAt is run for the first node of a stretch only.
func (v *view) runAt(id string) int {
	if p, ok := v.parent[id]; ok && v.foldable(p) {
		return 0 // in a stretch that is not folded, or this would not be asked
	}
	return v.run(id)
}

func someOf(t *rapid.T, ids []string, name string) map[string]bool {
	out := map[string]bool{}
	if len(ids) == 0 {
		return out
	}
	for range rapid.IntRange(0, 6).Draw(t, name) {
		out[rapid.SampledFrom(ids).Draw(t, name)] = true
	}
	return out
}

// anyView draws a way to look at a tree.
func anyView(t *rapid.T, x *Index) *view {
	var ids []string
	for r := range x.Walk() {
		ids = append(ids, x.ID(r))
	}
	v := &view{x: x, shape: rapid.SampledFrom([]Shape{Runs, Runs, Nested}).Draw(t, "shape")}
	if v.filtered = rapid.Bool().Draw(t, "filtered"); v.filtered {
		v.context = rapid.SampledFrom([]Context{Elided, Shown}).Draw(t, "context")
		v.match = map[string]bool{}
		few := rapid.IntRange(0, 10).Draw(t, "of ten")
		for _, id := range ids {
			if rapid.IntRange(0, 9).Draw(t, "match") < few {
				v.match[id] = true
			}
		}
	}
	v.folded = someOf(t, ids, "folded")
	for id := range v.folded {
		if r, _ := x.Find(id); x.Leaf(r) {
			delete(v.folded, id)
		}
	}
	v.runs = rapid.SampledFrom([]int{0, 2, 3, 5}).Draw(t, "runs")
	v.open, v.closed, v.pinned = someOf(t, ids, "open"), someOf(t, ids, "closed"), someOf(t, ids, "pinned")
	for id := range v.open {
		delete(v.closed, id)
	}
	if len(ids) > 0 && rapid.Bool().Draw(t, "is one active") {
		v.active = rapid.SampledFrom(ids).Draw(t, "active")
	} else {
		v.active = "nobody"
	}
	v.first = v.active
	v.learn()
	return v
}

// stringy draws trees that have long straight runs, as well as wild ones.
func stringy(t *rapid.T) []Entry {
	if rapid.Bool().Draw(t, "wild") {
		return entries(t)
	}
	n := rapid.IntRange(1, 50).Draw(t, "n")
	out := make([]Entry, n)
	for i := range out {
		out[i] = Entry{ID: fmt.Sprintf("n%02d", i)}
		if i > 0 {
			at := i - 1
			if rapid.IntRange(0, 6).Draw(t, "fork") == 0 {
				at = rapid.IntRange(0, i-1).Draw(t, "parent")
			}
			p := fmt.Sprintf("n%02d", at)
			out[i].Parent = &p
		}
	}
	return out
}

func TestFlatIsWhatTheModelSays(t *testing.T) { rapid.Check(t, flatIsWhatTheModelSays) }

func FuzzFlat(f *testing.F) { f.Fuzz(rapid.MakeFuzz(flatIsWhatTheModelSays)) }

func flatIsWhatTheModelSays(t *rapid.T) {
	x := New(ByID)
	for _, e := range stringy(t) {
		x.Add(e)
	}
	v := anyView(t, x)
	checkFlat(t, v, v.flat())
}

// checkFlat compares rows with the model.
func checkFlat(t rapid.TB, v *view, f *Flat) {
	t.Helper()
	want := v.rows()
	var got []modelRow
	for i := range f.Len() {
		got = append(got, modelRow{
			id: v.x.ID(f.At(i)), steps: f.Steps(i), parent: f.Parent(i), elided: f.Elided(i), level: f.Level(i),
			gutter: strings.TrimSuffix(f.Gutter(i, Unicode(), 32).String(), f.mark(&f.rows[i], Unicode())),
		})
		if got[i].level > 32 {
			got[i].gutter = ""
		}
	}
	for i := range want {
		if want[i].level > 32 {
			want[i].gutter = ""
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(modelRow{})); diff != "" {
		t.Fatalf("rows (-want +got):\n%s", diff)
	}
	checkRowOf(t, v, f)
}

// checkRowOf looks at every node: it leads to its row, or to what hides it, or to
// its nearest ancestor that has a row. And the other way round, a row hangs on the
// nearest ancestor of its node that has one.
func checkRowOf(t rapid.TB, v *view, f *Flat) {
	t.Helper()
	own, inRun := map[string]int{}, map[string]int{}
	for i := range f.Len() {
		if f.Steps(i) == 0 {
			own[v.x.ID(f.At(i))] = i
			continue
		}
		id := v.x.ID(f.At(i))
		for range f.Steps(i) {
			inRun[id] = i
			if ks := v.seenKids(id); len(ks) > 0 {
				id = ks[0]
			}
		}
	}
	hidden := map[int]int{}
	for r := range v.x.Walk() {
		id := v.x.ID(r)
		want, ok := own[id]
		if f.Visible(r) != ok {
			t.Fatalf("%s visible: %v", id, !ok)
		}
		if ok {
			up := f.Parent(want)
			for up >= 0 && f.Steps(up) > 0 {
				up = f.Parent(up)
			}
			near := -1
			for p := range v.x.Ancestors(r) {
				if at, ok := own[v.x.ID(p)]; ok {
					near = at
					break
				}
			}
			if up != near {
				t.Fatalf("%s hangs on row %d, its nearest visible ancestor is row %d", id, up, near)
			}
		}
		for p, has := id, true; !ok && has; p, has = v.parent[p] {
			if want, ok = own[p]; ok {
				if v.folded[p] && v.seen(id) {
					hidden[want]++
				}
				break
			}
			want, ok = inRun[p]
		}
		got, has := f.RowOf(r)
		if has != ok || ok && got != want {
			t.Fatalf("row of %s: %d %v, want %d %v", id, got, has, want, ok)
		}
	}
	for id := range v.folded {
		r, _ := v.x.Find(id)
		n, folded := f.Folded(r)
		want := 0
		if at, ok := own[id]; ok {
			want = hidden[at]
		}
		if !folded || n != want {
			t.Fatalf("fold of %s hides %d, want %d", id, n, want)
		}
	}
}

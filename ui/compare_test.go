package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"treering/store"
	"treering/store/locate"
	"treering/treeview"
)

// sides are the steps of the comparison on the screen.
func (d *driver) sides() string {
	d.t.Helper()
	v, ok := d.m.overlay.(*compareView)
	if !ok {
		d.t.Fatalf("nothing is compared\n%s", d.text())
	}
	var out []string
	for _, s := range v.beside.steps {
		out = append(out, fmt.Sprintf("%s%s%s", s.a, []string{"=", "~", "<", ">"}[s.change], s.b))
	}
	return strings.Join(out, " | ")
}

func TestTwoNodesAreCompared(t *testing.T) {
	d := open(t, forked(t), 120, 40).press("2", "c").says("nothing is marked")
	d.press("G", "m").says("mark A is on node n4").shows("make bench", "<A>")
	d.press("c").says("the same").press("k", "c").shows("Compare", "common ancestor: n3", "A is 1 step ahead of it, B 2 steps", "the first difference is at step 1", `"exit": 0`)
	if got := d.sides(); got != "run make bench<> | >ask make -j2 | >run deploy" && got != "run make bench~ask make -j2 | >run deploy" {
		t.Errorf("steps %s", got)
	}
	d.press("b")
	if d.node() != "n6" {
		t.Errorf("went to %s", d.node())
	}
	d.press("M", "c", "a")
	if d.node() != "n4" {
		t.Errorf("went to %s", d.node())
	}
	d.press("u").hides("<A>", "<B>").press("m", "g", "c").shows("B is an ancestor of A, which is 4 steps further on").press("esc")
}

// Steps with one title and other data are not the same.
func TestEqualTitlesAreNoEqualSteps(t *testing.T) {
	o := openMemory(t)
	_, err := o.Trees.CreateSession(t.Context(), "s", "session", nil)
	must(t, err)
	add := func(id, parent, title string, exit int) {
		n := store.Node{ID: id, Kind: "run", Data: store.JSON(fmt.Sprintf(`{"title":%q,"exit":%d}`, title, exit))}
		if parent != "" {
			n.ParentID = &parent
		}
		must(t, o.Trees.Append(t.Context(), "s", n))
	}
	add("r", "", "root", 0)
	add("a1", "r", "one", 0)
	add("a2", "a1", "two", 0)
	add("a3", "a2", "three", 0)
	add("b1", "r", "one", 0)
	add("b2", "b1", "two", 1)
	add("b3", "b2", "three", 0)
	d := open(t, o, 80, 24).press("2", "j", "j", "j", "m", "G", "c").shows("the first difference is at step 2 of 3")
	if got := d.sides(); got != "run one=run one | run two~run two | run three=run three" {
		t.Errorf("steps %s", got)
	}
}

// Steps without a title are not told apart by their ids.
func TestUntitledStepsAreEqual(t *testing.T) {
	o := forked(t)
	for _, n := range [][2]string{{"a1", "n3"}, {"a2", "a1"}, {"b1", "n3"}, {"b2", "b1"}} {
		must(t, o.Trees.Append(t.Context(), "s", untitled(n[0], n[1])))
	}
	d := open(t, o, 120, 40).press("J").typed("a2").press("enter", "2", "m", "J").typed("b2").press("enter", "2", "c").shows("all steps are equal")
	if got := d.sides(); got != "run a1=run b1 | run a2=run b2" {
		t.Errorf("steps %s", got)
	}
}

func TestExecutionsAndStepsAreCompared(t *testing.T) {
	o := seeded(t)
	d := open(t, o, 120, 40).press("l", "m").press("G", "c").shows("execution order-1", "execution order-3", "A has 3 steps in its trace, B 0 steps")
	d.press("esc").press("g", "5", "m").says("mark A is on step 2 of order-1").press("k").press("c").shows("step 1 of order-1", "context, from A to B", "total")
	d.press("esc", "1", "c").press("esc").press("2", "M").press("c").says("only two of a kind")
}

func TestCompareScreens(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 60}, {40, 12}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			golden.RequireEqual(t, open(t, forked(t), size[0], size[1]).press("2", "G", "m", "k", "c").advance(time.Second).text())
		})
	}
}

func TestHostileNodesAreCompared(t *testing.T) {
	o := openMemory(t)
	_, err := o.Trees.CreateSession(t.Context(), "s", "session", nil)
	must(t, err)
	bad := "\x1b]0;x\x07\u202e\u200d\x1b[31m\r\n"
	for i, parent := range []string{"", "0", "0"} {
		n := store.Node{ID: fmt.Sprint(i), Kind: "k" + bad, Data: store.ObjectOf(store.Member{Key: bad, Value: store.Quote(bad + fmt.Sprint(i))}, store.Member{Key: "title", Value: store.Quote(bad)})}
		if parent != "" {
			n.ParentID = &parent
		}
		must(t, o.Trees.Append(t.Context(), "s", n))
	}
	d := open(t, o, 80, 24).press("2", "j", "m", "j", "c")
	d.screen()
	d.press("tab", "j", "space").screen()
}

func TestNodesOfDifferentRootsHaveNothingInCommon(t *testing.T) {
	x := treeview.New(treeview.ByID)
	for id, parent := range map[string]string{"a": "", "a1": "a", "a2": "a1", "b": "", "b1": "b"} {
		e := treeview.Entry{ID: id}
		if parent != "" {
			e.Parent = &parent
		}
		x.Add(e)
	}
	tree := &treePane{widget: treeview.NewWidget(x, treeview.Runs)}
	w, why := tree.ways(mark{kind: ofNode, session: "s", id: "a2"}, mark{kind: ofNode, session: "s", id: "b1"})
	if why != "" || w.related || w.ahead != 3 || w.behind != 2 {
		t.Errorf("%q %+v", why, w)
	}
	o := openMemory(t)
	seedTree(t, o.Trees, "s")
	w.a.id, w.b.id = "n3", "n4" // which the store knows
	d := open(t, o, 80, 24)
	if got := w.compare(o.Trees, d.m.writer()); got.err != nil || got.said[0] != "different roots: nothing in common" || got.sides != nil || got.doc.Len() == 0 {
		t.Errorf("%+v", got)
	}
	if _, why = tree.ways(mark{kind: ofNode, id: "a2"}, mark{kind: ofNode, id: "zz"}); !strings.Contains(why, "zz is not among") {
		t.Errorf("said %q", why)
	}
}

func TestKeysMoveAlongBranches(t *testing.T) {
	d := open(t, forked(t), 120, 40).press("2", "}")
	for _, step := range []struct{ key, node string }{
		{"j", "n5"}, {"'", "n4"}, {"\"", "n5"}, {"^", "n3"}, {";", "n6"}, {";", "n4"}, {",", "n6"}, {"H", "n6"}, {"^", "n3"}, {"{", "n3"},
	} {
		if got := d.press(step.key).node(); got != step.node {
			t.Errorf("%s went to %s, want %s", step.key, got, step.node)
		}
	}
	d.shows("make all  2 branches").says("no fork above")
	d.press("-").says("folded below level").press("-", "-")
	if n := len(d.rows()); n >= 7 {
		t.Errorf("%d rows are left", n)
	}
	d.press("*").says("everything is unfolded")
	if n := len(d.rows()); n != 7 {
		t.Errorf("%d rows", n)
	}
	d.press("j", "_")
	if got := strings.Join(d.rows(), " "); got != "n0 n1 n2 n3 n5 n4" {
		t.Errorf("rows %s", got)
	}
}

// In the smallest window a comparison says whole sentences, and how to come to the
// data; that an end was marked is not said any more.
func TestACompareInTheSmallestWindow(t *testing.T) {
	d := open(t, forked(t), 40, 12).press("2", "G", "m").says("mark A is on node n4").press("g", "c")
	d.shows("B is an ancestor of A, which is 4", "steps further on", "tab data").hides("mark A is on", "further o…")
	d.press("tab").shows("tab steps", `"title": "make bench" → "root"`).press("esc").asksNothing()
}

// twoBranches is a session with two branches of n steps each behind a root; what a step
// of a side is, is asked.
func twoBranches(t *testing.T, n int, title func(side, i int) string) *locate.Opened {
	t.Helper()
	o := openMemory(t)
	_, err := o.Trees.CreateSession(t.Context(), "s", "session", nil)
	must(t, err)
	root := "r"
	nodes := []store.Node{{ID: root, Kind: "root", Data: "{}"}}
	for side, name := range []string{"a", "b"} {
		above := root
		for i := range n {
			text := title(side, i)
			if text == "" {
				break
			}
			id, parent := fmt.Sprintf("%s%06d", name, i), above
			nodes = append(nodes, store.Node{ID: id, ParentID: &parent, Kind: "run", Data: store.JSON(fmt.Sprintf(`{"title":%q}`, text))})
			above = id
		}
	}
	for _, n := range nodes {
		must(t, o.Trees.Append(t.Context(), "s", n))
	}
	return o
}

// compareEnds compares the ends of both branches.
func compareEnds(t *testing.T, o *locate.Opened, a, b string, w, h int) *driver {
	t.Helper()
	return open(t, o, w, h).press("J").typed(a).press("enter", "m", "J").typed(b).press("enter", "c")
}

// However long branches are, the first step that differs is found, and what is behind
// it is read on with a key.
func TestLongBranchesAreComparedToTheirEnds(t *testing.T) {
	const n, at = 17_000, 12_345
	o := twoBranches(t, n, func(side, i int) string {
		switch {
		case i == at, i == n-1:
			return fmt.Sprint("other ", side)
		case side == 1 && i >= n-100 && i < n-1:
			return fmt.Sprint("step ", i+1) // one is missing
		}
		return fmt.Sprint("step ", i)
	})
	d := compareEnds(t, o, "a016999", "b016999", 120, 40)
	d.shows("A is 17,000 steps ahead of it, B 17,000", "the first difference is at step 12,346", "steps are equal and not listed",
		"not read yet: the last 2,000 steps of A, 2,000 of B; r reads on", "run other 0", "run other 1", "r read on")
	v := d.m.overlay.(*compareView)
	c := &v.beside
	if got := c.steps[v.scroll.Cursor]; got != (sideBySide{treeview.Changed, "run other 0", "run other 1"}) {
		t.Errorf("the cursor is on %+v", got)
	}
	if c.skipped+c.first != at || c.at != [2]int{15_000, 15_000} || len(c.steps) != 5000+keptEqual {
		t.Errorf("%d steps from %d on, first %d, at %v", len(c.steps), c.skipped, c.first, c.at)
	}
	d.press("n").shows("the first difference is at step 12,346 of 17,001").hides("not read yet", "r read on")
	if got := c.steps[v.scroll.Cursor]; got.change != treeview.OnlyA || got.a != "run step 16900" {
		t.Errorf("the next difference is %+v", got)
	}
	d.press("N")
	if got := c.steps[v.scroll.Cursor]; got.a != "run other 0" {
		t.Errorf("the difference before is %+v", got)
	}
	d.press("r").says("all steps are read")
}

// What is read on is read as far as a stretch goes, and all of it is listed.
func TestABranchThatIsMuchLonger(t *testing.T) {
	o := twoBranches(t, 12_000, func(side, i int) string {
		if side == 0 && i == 3 {
			return ""
		}
		return fmt.Sprint("step ", i)
	})
	d := compareEnds(t, o, "a000002", "b011999", 80, 24)
	d.shows("A is 3 steps ahead of it, B 12,000", "the first difference is at step 4", "not read yet: the last 0 steps of A, 7,000 of B")
	d.press("r").shows("2,000 of B").press("r").shows("the first difference is at step 4 of 12,000").hides("not read")
}

func TestTheSmallestWindowSaysWhatIsNotCompared(t *testing.T) {
	o := twoBranches(t, 6000, func(side, i int) string { return fmt.Sprint(side, i) })
	compareEnds(t, o, "a005999", "b005999", 40, 12).shows("not read: 1,000 of A, 1,000 of B; r").press("r").hides("not read")
}

// Equal branches of any length are read through, and said to be equal.
func TestLongEqualBranches(t *testing.T) {
	o := twoBranches(t, 11_000, func(_, i int) string { return fmt.Sprint("step ", i) })
	d := compareEnds(t, o, "a010999", "b010999", 80, 24).shows("all steps are equal").hides("not read")
	if c := d.m.overlay.(*compareView).beside; c.at != [2]int{11_000, 11_000} || c.skipped+len(c.steps) != 11_000 {
		t.Errorf("%d of %v", c.skipped+len(c.steps), c.at)
	}
}

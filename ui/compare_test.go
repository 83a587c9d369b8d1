package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"treering/store"
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
	for _, s := range v.got.steps {
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
	if got := w.compare(o.Trees, d.m.writer()); got.err != nil || got.said[0] != "different roots: nothing in common" || len(got.steps) > 0 || got.doc.Len() == 0 {
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

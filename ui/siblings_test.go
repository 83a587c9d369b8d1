package ui

import (
	"fmt"
	"strings"
	"testing"

	"treering/store"
	"treering/ui/layout"
)

// beside are the rows of the list of siblings, the selected one marked.
func (d *driver) beside() string {
	d.t.Helper()
	d.m.draw()
	s := &d.m.trail.others
	out := make([]string, len(s.list))
	for i, r := range s.list {
		out[i] = d.m.trail.index.ID(r)
		if i == s.scroll.Cursor {
			out[i] = ">" + out[i]
		}
	}
	return strings.Join(out, " ")
}

// The siblings are a list of their own: of the branch that the node is on, in the
// order of the tree, with names and marks, and one steps into them.
func TestSiblingsAreAListOfTheirOwn(t *testing.T) {
	o := forked(t)
	appendNode(t, o.Trees, "s", "n3a", "n3", "run", "third way")
	d := open(t, o, 120, 40).press("2", "G", "m", "3").shows("[Ancestry] Siblings 3", "make bench  <A>")
	d.press("l").shows("Ancestry [Siblings 3]", "root → make all", "ask     make -j2", "run     make bench  <A>", "run     third way")
	if got := d.beside(); got != "n5 n3a >n4" {
		t.Errorf("siblings %s", got)
	}
	d.press("g").press("M").shows("make -j2  <B>").press("enter")
	if got := d.node(); got != "n5" {
		t.Fatalf("stepped into %s", got)
	}
	if got := d.beside(); got != ">n5 n3a n4" {
		t.Errorf("siblings %s", got)
	}
	// Further down a branch they are still those of the branch.
	d.press("2", "j", "3").shows("Ancestry [Siblings 3]")
	if d.node() != "n6" {
		t.Fatalf("on %s", d.node())
	}
	if got := d.beside(); got != ">n5 n3a n4" {
		t.Errorf("siblings %s", got)
	}
	// A new one leaves the cursor on its node.
	d.press("j").hides("fourth way")
	appendNode(t, o.Trees, "s", "n3b", "n3", "run", "fourth way")
	d.changed().shows("Siblings 4", "fourth way")
	if got := d.beside(); got != "n5 >n3a n3b n4" {
		t.Errorf("siblings %s", got)
	}
	d.press("^")
	if d.node() != "n3" {
		t.Errorf("the fork is %s", d.node())
	}
	d.shows("nothing above it is a fork").press("h").shows("[Ancestry] Siblings ")
	// What a filter leaves out is not gone to, and that is said.
	d.press("2", "/").typed("bench").press("enter", "3", "l", "g", "enter").says("node n5 is not among the rows")
}

func TestSiblingsOfRootsAndMembers(t *testing.T) {
	d := open(t, seeded(t), 120, 40).press("l", "g", "3")
	d.press("l").shows("nothing above it is a fork")
	d.press("2", "G", "3").shows("Fulfilment")
	d.press("m").says("mark A is on execution order-1").shows("<A>")
}

// Siblings are found near, and listed where they are looked at.
func TestManySiblings(t *testing.T) {
	o := openMemory(t)
	_, err := o.Trees.CreateSession(t.Context(), "s", "session", nil)
	must(t, err)
	appendNode(t, o.Trees, "s", "r", "", "init", "root")
	for i := range 1500 {
		appendNode(t, o.Trees, "s", fmt.Sprintf("n%04d", i), "r", "run", "step")
	}
	d := open(t, o, 160, 45).press("2", "j", "3").shows("Siblings 1,500")
	if d.m.trail.others.listed {
		t.Error("they are listed before they are shown")
	}
	d.press("l", "G", "enter")
	if d.node() != "n1498" { // n1499 is the newest head, whose way is the first
		t.Errorf("stepped into %s", d.node())
	}
	d.screen()
	if d.m.focus != layout.Ancestry {
		t.Errorf("the focus is on %d", d.m.focus)
	}
}

// A node without a title says its kind once.
func TestAnUntitledNodeSaysItsKindOnce(t *testing.T) {
	o := forked(t)
	d := open(t, o, 120, 40)
	if err := o.Trees.Append(t.Context(), "s", untitled("0123456789ab", "n6")); err != nil {
		t.Fatal(err)
	}
	d.changed().shows("● run     01234567").hides("run     run")
	d.press("2", "G", "k", "3").hides("run     run")
}

func untitled(id, parent string) store.Node {
	return store.Node{ID: id, ParentID: &parent, Kind: "run", Data: "{}"}
}

// Where nothing is listed, a key says that, not what it would not do.
func TestNothingToMarkIsSaid(t *testing.T) {
	d := open(t, openMemory(t), 120, 40).press("m").says("nothing is selected")
	d.press("e").says("nothing is selected").press("y").says("nothing is selected")
}

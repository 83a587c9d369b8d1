package ui

import (
	"context"
	"fmt"
	"testing"
)

// A long run without a branch is one row: it stands for many nodes, so nothing is
// done to it but unfolding it. Branch points show at once.
func TestLongRunsAreOneRowUntilTheyAreUnfolded(t *testing.T) {
	o := openMemory(t)
	_, err := o.Trees.CreateSession(context.Background(), "s", "session", nil)
	must(t, err)
	appendNode(t, o.Trees, "s", "m00", "", "init", "root")
	for i := 1; i < 40; i++ {
		appendNode(t, o.Trees, "s", fmt.Sprintf("m%02d", i), fmt.Sprintf("m%02d", i-1), "run", fmt.Sprintf("step %d.", i))
	}
	appendNode(t, o.Trees, "s", "x00", "m20", "run", "branch")
	d := open(t, o, 120, 60).press("2")
	d.shows("… 19 steps", "step 20.", "step 21.", "branch", "… 17 steps", "step 39.").hides("step 5.", "step 30.")
	d.press("j").shows("›┆ … 19 steps", "nothing is selected")
	d.press("a").says("no node is selected")
	// Nodes that come elsewhere leave the cursor on the run.
	appendNode(t, o.Trees, "s", "x01", "x00", "run", "and on")
	d.changed().shows("and on", "›┆ … 19 steps")
	d.press("space").shows("step 1.", "step 12.").hides("… 19 steps")
	if d.node() != "m01" {
		t.Errorf("unfolding the run leads to %s", d.node())
	}
	// Jumping into a run shows what lies around.
	d.press("G")
	if d.node() != "m39" {
		t.Fatalf("on %s", d.node())
	}
	d.press("3", "j", "j", "j", "j", "enter").shows("… 12 steps", "│   ○ run     step 34.", "│›  ○ run     step 35.", "│   ○ run     step 36.")
	if d.node() != "m35" {
		t.Errorf("jumped to %s", d.node())
	}
}

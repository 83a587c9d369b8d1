package ui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"treering/store"
	"treering/store/locate"
	"treering/ui/layout"
)

// forked is a session with a trunk of four, a fork, and data.
func forked(t testing.TB) *locate.Opened {
	t.Helper()
	o := openMemory(t)
	_, err := o.Trees.CreateSession(t.Context(), "s", "session", nil)
	must(t, err)
	add := func(id, parent, kind, data string) {
		n := store.Node{ID: id, Kind: kind, Data: store.JSON(data)}
		if parent != "" {
			n.ParentID = &parent
		}
		must(t, o.Trees.Append(t.Context(), "s", n))
	}
	add("n0", "", "init", `{"title":"root","ts":"2026-01-01T11:00:00Z"}`)
	add("n1", "n0", "run", `{"title":"apt-get update","ts":"2026-01-01T11:50:00Z","exit":0}`)
	add("n2", "n1", "run", `{"title":"configure","exit":1}`)
	add("n3", "n2", "run", `{"title":"make all","ts":"2026-01-01T11:55:00Z","exit":2}`)
	add("n4", "n3", "run", `{"title":"make bench","exit":0,"user":{"label":"first"}}`)
	add("n5", "n3", "ask", `{"title":"make -j2","exit":0}`)
	add("n6", "n5", "run", `{"title":"deploy","exit":0}`)
	return o
}

func (d *driver) rows() []string {
	d.t.Helper()
	w := d.m.tree.widget
	var out []string
	for i := range w.Flat().Len() {
		out = append(out, w.Index().ID(w.Flat().At(i)))
	}
	return out
}

func TestTheTreeIsFilteredWithItsAncestorsElided(t *testing.T) {
	for text, want := range map[string]string{
		"make":                    "n3 n5 n4",
		"bench":                   "n4",
		"kind:ask or deploy":      "n5 n6",
		"data.exit=2":             "n3",
		"data.user.label=first":   "n4",
		"since:10m":               "n1 n3",
		"heads()":                 "n6 n4",
		"forks()":                 "n3",
		"depth>3 not kind:ask":    "n6 n4",
		"depth>3 data.exit=0":     "n5 n6 n4",
		"descendants(n3) make":    "n3 n5 n4",
		"parent:n3":               "n5 n4",
		"nothing-at-all-like-it1": "",
	} {
		d := open(t, forked(t), 120, 30).press("2", "/").typed(text)
		if got := strings.Join(d.rows(), " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		d.press("enter")
		if n := len(strings.Fields(want)); n > 0 {
			d.shows(fmt.Sprintf("%d of 7", n))
		} else {
			d.shows("nothing here matches", "0 of 7")
		}
		d.press("esc").hides("/" + text)
		if got := len(d.rows()); got != 7 {
			t.Errorf("%s: %d rows once it is cleared", text, got)
		}
	}
	open(t, forked(t), 120, 30).press("2", "/").typed("bench").shows("~ 4 elided")
	open(t, forked(t), 120, 30).press("2", "/").typed("since:10m").press("enter").shows("2 of 7 (4 have no time)")
	open(t, forked(t), 120, 30).press("2", "/").typed("descendants(nowhere)").press("enter").shows("no node nowhere here")
}

// The cursor goes back to its node, and what comes later is sifted too.
func TestAFilteredTreeGrows(t *testing.T) {
	o := forked(t)
	d := open(t, o, 120, 30).press("2", "j", "j", "/").typed("make").press("enter")
	appendNode(t, o.Trees, "s", "n7", "n6", "run", "make install")
	appendNode(t, o.Trees, "s", "n8", "n6", "run", "other")
	d.changed().advance(time.Minute).shows("make install", "4 of 9")
	if got := strings.Join(d.rows(), " "); got != "n3 n5 n7 n4" {
		t.Errorf("rows %s", got)
	}
	d.press("esc")
	if d.node() != "n2" {
		t.Errorf("the cursor is on %s", d.node())
	}
	d.press("/").typed("data.title=other").press("enter").shows("1 of 9")
	appendNode(t, o.Trees, "s", "n9", "n8", "run", "other")
	d.changed().advance(time.Minute).shows("2 of 10")
	d.press("1", "esc").shows("/data.title=other") // it is the tree's
}

func TestMatchesAreGoneThroughInTheWholeTree(t *testing.T) {
	d := open(t, forked(t), 120, 30).press("2", "n").says("nothing was looked for")
	d.press("/").typed("make").press("esc", "g", "space") // all but the root is folded
	if got := len(d.rows()); got != 1 {
		t.Fatalf("%d rows", got)
	}
	var seen []string
	for range 4 {
		seen = append(seen, d.press("n").node())
	}
	if got := strings.Join(seen, " "); got != "n3 n5 n4 n3" {
		t.Errorf("went to %s", got)
	}
	d.says("round the end")
	if got := d.press("N").node(); got != "n4" {
		t.Errorf("back to %s", got)
	}
}

func TestTabCompletesFilters(t *testing.T) {
	d := open(t, forked(t), 120, 30).press("2", "/").typed("ki").shows("tab kind:").press("tab").shows("/kind:", "init", "run", "ask")
	d.press("tab").shows("/kind:init").press("tab").shows("/kind:run").press("shift+tab").shows("/kind:init").press("enter")
	if got := strings.Join(d.rows(), " "); got != "n0" {
		t.Errorf("rows %s", got)
	}
	d.press("/", "backspace").shows("/kind:ini")
	// What is typed leaves no row; the values that were there before are known.
	open(t, seeded(t), 120, 30).press("l", "/").typed("stat").shows("no execution matches").press("tab").shows("/status:")
	open(t, seeded(t), 120, 30).press("l", "/").typed("status:").shows("RUNNING", "SUSPENDED")
}

func TestEveryListHasAFilterOfItsOwn(t *testing.T) {
	d := open(t, seeded(t), 160, 45).press("/").typed("kind:docker-build").press("enter").shows("›web-image").hides("example  ")
	d.press("l", "/").typed("status:failed").press("enter").shows("›order-1:Fulfilment.Billing:0").hides("order-3 ")
	d.press("h").shows("/kind:docker-build").press("l", "esc", "j")
	d.press("l", "/").typed("children>0").press("enter").shows("›order-1 ").hides("order-2 ", "order-3 ")
	d.press("esc", "h", "g", "2", "/").typed("status:failed").press("enter").shows("1 of 3", "~ 2 elided").press("esc")
	d.press("1", "g").press("5", "/").typed("from:Cart").press("enter").shows("1 of 3", "Checkout").hides("Start  ")
	d.shows("step 1 of order-1").press("esc").shows("Start")
	d.press("6", "w", "h", "/").typed("event:Audit").press("enter").shows("1 of 2", "Audit").hides("Lost")
	d.press("l", "l", "/").typed("before:now").press("enter").shows("1 of 3", "overdue by")
	d.press("h", "h").shows("/event:Audit").press("esc").shows("Lost")
}

// A filter that is hostile, and rows that are, stay text.
func TestHostileFilters(t *testing.T) {
	d := open(t, forked(t), 80, 24).press("2", "/").paste("\x1b]0;x\x07\u202e\"make\x1b[31m\nall").press("enter")
	d.screen()
	d.press("esc", "/").paste("kind:\u202e(((").press("enter").screen()
	d.press("esc", "/").paste(strings.Repeat("x", maxFilter+1)).says("too long").screen()
}

// Deep and wide trees, and a filter that is typed on while the one before is looked for.
func TestAFilterThatIsOvertaken(t *testing.T) {
	d := open(t, forked(t), 120, 30).press("2", "/")
	var late []func()
	for _, r := range "make" {
		_, cmd := d.m.Update(keyMsg(string(r)))
		for _, msg := range flatten(cmd) {
			late = append(late, func() { d.send(msg) })
		}
	}
	for i := len(late) - 1; i >= 0; i-- {
		late[i]()
	}
	if got := strings.Join(d.rows(), " "); got != "n3 n5 n4" {
		t.Errorf("rows %s", got)
	}
}

func TestFilterScreens(t *testing.T) {
	for name, keys := range map[string][]string{
		"typing":   {"2", "/", "k"},
		"mistake":  {"2", "/", "d", "e", "p", "t", "h", ">", "x", " "},
		"elided":   {"2", "/", "b", "e", "n", "c", "h", "enter"},
		"no-match": {"2", "/", "q", "q", "enter"},
	} {
		for _, size := range [][2]int{{80, 24}, {200, 60}, {40, 12}} {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				d := open(t, forked(t), size[0], size[1]).press(keys...).advance(time.Second)
				if d.m.focus != layout.Tree {
					t.Fatal("elsewhere")
				}
				golden.RequireEqual(t, d.text())
			})
		}
	}
}

// Data is read page by page where there is much of it, and one by one where the
// filter asks where a node is.
func TestDataOfManyNodesIsFiltered(t *testing.T) {
	o := openMemory(t)
	_, err := o.Trees.CreateSession(t.Context(), "s", "session", nil)
	must(t, err)
	for i := range nodesByID + 2*store.DefaultLimit {
		n := store.Node{ID: fmt.Sprintf("n%05d", i), Kind: "run", Data: store.JSON(fmt.Sprintf(`{"title":"step","i":%d}`, i))}
		if i > 0 {
			n.ParentID = ptr(fmt.Sprintf("n%05d", i-1))
		}
		must(t, o.Trees.Append(t.Context(), "s", n))
	}
	d := open(t, o, 120, 30).press("2", "/").typed("data.i>=6998").press("enter").shows("2 of 7,000")
	d.press("esc", "/").typed("data.i>=6000 depth<6003").press("enter").shows("3 of 7,000")
}

// batches counts how nodes are read by their ids.
type batches struct {
	store.TreeStore
	sizes []int
}

func (b *batches) Nodes(ctx context.Context, session string, ids []string) ([]*store.Node, error) {
	b.sizes = append(b.sizes, len(ids))
	return b.TreeStore.Nodes(ctx, session, ids)
}

// A filter that asks for data and for the shape of the tree reads as many nodes at
// once as a store hands out, and shows the first hits before it has looked at all.
func TestDataAndShapeAreReadInBatches(t *testing.T) {
	o := openMemory(t)
	_, err := o.Trees.CreateSession(t.Context(), "s", "session", nil)
	must(t, err)
	appendNode(t, o.Trees, "s", "r", "", "init", "root")
	for i := range 2600 {
		parent := "r"
		if i%2 == 1 {
			parent = fmt.Sprintf("n%04d", i-1)
		}
		must(t, o.Trees.Append(t.Context(), "s", store.Node{ID: fmt.Sprintf("n%04d", i), ParentID: &parent, Kind: "run", Data: store.JSON(fmt.Sprintf(`{"exit":%d}`, i%10))}))
	}
	d := open(t, o, 120, 30)
	read := &batches{TreeStore: o.Trees}
	d.m.ts = read
	d.press("2", "/").paste("depth>1 data.exit=7").press("enter").shows("260 of 2,601")
	if got := fmt.Sprint(read.sizes); got != "[1000 1000 601]" {
		t.Errorf("read %s", got)
	}
}

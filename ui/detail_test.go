package ui

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"treering/store"
	"treering/store/locate"
	"treering/ui/jsondoc"
	"treering/ui/layout"
)

// nodeWith is an explorer on a session of one node with that data.
func nodeWith(t testing.TB, data store.JSON, w, h int) (*driver, *locate.Opened) {
	t.Helper()
	o := openMemory(t)
	_, err := o.Trees.CreateSession(context.Background(), "s", "session", nil)
	must(t, err)
	must(t, o.Trees.Append(context.Background(), "s", store.Node{ID: "root", Kind: "run", Data: data}))
	return open(t, o, w, h).press("2", "4"), o
}

func TestTheDetailFoldsAndSaysWhereTheCursorIs(t *testing.T) {
	d, _ := nodeWith(t, `{"items":[{"name":"a"},{"name":"b"}],"n":1.50}`, 160, 60)
	d.focusedOn(layout.Detail).shows("id          root", `"n": 1.50`)
	d.press("j", "j", "j", "j", "j", "j").shows("Detail · node root · data.items ").press("enter").shows(`"items": […] 2 items`).hides(`"name"`)
	d.press("l").shows(`"name": "b"`).press("l", "l", "l").shows("· data.items[0].name ")
	d.press("h").shows("· data.items[0] ").press("h").shows("{…} 1 member").press("h").shows("· data.items ")
	d.press("*").hides("1 member").press("-").shows(`"items": […] 2 items`, "level 1").press("+").shows("{…} 1 member", "level 2").press("=", "g")
	d.press("enter").says("fold: nothing folds on this line")
}

func TestTheDetailShowsWhatIsStored(t *testing.T) {
	d, _ := nodeWith(t, "{\"a\"  :  \"\\u0041\",\n\"b\":[1,2]}", 160, 60)
	d.shows(`"a": "A"`).press("v").shows("as stored ━", `{"a"  :  "\u0041",`).press("v").shows(`"a": "A"`).hides("as stored ━")
	long := strings.Repeat("word ", 100)
	d, _ = nodeWith(t, store.ObjectOf(store.Member{Key: "t", Value: store.Quote(long + "END")}), 100, 60)
	d.shows(`END"`).press("W").says("long lines are cut; , and . move sideways").hides("END")
	for range 40 {
		d.press(".")
	}
	d.shows(`END"`)
	for range 40 {
		d.press(",")
	}
	d.hides("END").press("W").shows(`END"`).press(".").says("to the right: lines are wrapped")
}

func TestFindingInTheDetail(t *testing.T) {
	var members []store.Member
	for i := range 300 {
		members = append(members, store.Member{Key: fmt.Sprintf("k%03d", i), Value: store.Quote("Value " + fmt.Sprint(i%100))})
	}
	d, _ := nodeWith(t, store.ObjectOf(members...), 120, 30)
	d.press("n").says("next match: nothing is searched for; / does")
	d.press("-", "/").typed("value 42").shows("/value 42", `"k042": "Value 42"`).press("enter").hides("/value 42")
	d.shows("· data.k042 ").press("n").shows("· data.k142 ").press("n", "n").shows("· data.k042 ").press("N").shows("· data.k242 ")
	if !strings.Contains(d.screen(), string(d.m.theme.Selected)) {
		t.Error("no row is under the cursor")
	}
	d.press("/").typed("nowhere").shows("not here").press("esc").shows("· data.k242 ").hides("nowhere")
	d.press("/").paste("k299").press("enter").shows("· data.k299 ")
	d.press("/").typed("k").press("tab").focusedOn(layout.Detail).press("1").press("/").shows("›")
}

func TestCopyingFromTheDetail(t *testing.T) {
	d, _ := nodeWith(t, `{"a":{"b c":[10,12345678901234567890.0]}}`, 160, 60)
	d.press("Y").says("copy value: the cursor is on no JSON value").press("G", "k", "k", "k")
	copied := func() string {
		t.Helper()
		if len(d.raw) == 0 {
			t.Fatal("nothing was copied")
		}
		last := d.raw[len(d.raw)-1]
		text, err := base64.StdEncoding.DecodeString(strings.TrimRight(last[strings.LastIndex(last, ";")+1:], "\a\x1b\\"))
		must(t, err)
		return string(text)
	}
	d.press("Y").says(`copied the value of data.a["b c"][1]`)
	if got := copied(); got != "12345678901234567890.0" {
		t.Error(got)
	}
	d.press("K")
	if got := copied(); got != `data.a["b c"][1]` {
		t.Error(got)
	}
}

func TestWhatIsShownKeepsItsPlaceWhenItChanges(t *testing.T) {
	ctx := context.Background()
	o := openMemory(t)
	if seen, ok := o.Executions.(store.Observed); ok {
		t.Cleanup(seen.Observe())
	}
	exe := &store.Execution{ID: "e", Status: store.Running, Context: `{"big":{"x":1},"list":[1,2,3],"end":0}`}
	must(t, o.Executions.Save(ctx, exe))
	o.Trees = nil
	d := open(t, o, 120, 40).press("4", "/").typed(`"x"`).press("enter", "h", "h").shows(`"big": {…} 1 member`)
	d.press("/").typed("end").press("enter").shows("· context.end ")
	exe.Context = `{"first":[1,2,3,4],"big":{"x":1,"y":2},"list":[1,2,3],"end":1}`
	must(t, o.Executions.Save(ctx, exe))
	d.changed().shows("· context.end ", `"end": 1`, `"big": {…} 2 members`)
}

func TestAnOperationAndItsCompletionAreShownTogether(t *testing.T) {
	ctx := context.Background()
	o := openMemory(t)
	_, err := o.Trees.CreateSession(ctx, "s", "session", nil)
	must(t, err)
	add := func(id, parent, kind string, data store.JSON) {
		n := store.Node{ID: id, Kind: kind, Data: data}
		if parent != "" {
			n.ParentID = &parent
		}
		must(t, o.Trees.Append(ctx, "s", n))
	}
	add("root", "", "init", `{}`)
	add("op", "root", "operation", `{"title":"fuzz for an hour","operation_uuid":"u1","status":"pending"}`)
	add("run", "op", "run", `{"operation_uuid":"u0"}`)
	add("done", "run", "completion", `{"title":"no crash","operation_uuid":"u1","response":{"exit_code":0}}`)
	add("op2", "done", "operation", `{"operation_uuid":"u2","status":"pending"}`)
	add("stray", "op2", "completion", `{"operation_uuid":"u9"}`)
	add("named", "stray", "note", `{"completes":"op2"}`)
	d := open(t, o, 160, 50).press("2", "g", "j")
	if d.node() != "op" {
		t.Fatal(d.node())
	}
	d.shows("completed by", "done", "no crash", "p goes there").press("p")
	if d.node() != "done" {
		t.Fatalf("p goes to %s", d.node())
	}
	d.shows("completes", "fuzz for an hour").press("p")
	if d.node() != "op" {
		t.Fatalf("p goes back to %s", d.node())
	}
	d.press("j").hides("complete").press("p").says("its pair: the node is no half")
	d.press("j", "j").shows("completed by", "nothing yet: the operation is pending").press("j").shows("an operation that is not among the nodes")
	d.press("j").shows("completes", "op2").press("4", "p")
	if d.node() != "op2" {
		t.Fatalf("p goes to %s", d.node())
	}
}

func TestAStepsDifferencesFold(t *testing.T) {
	ctx := context.Background()
	o := openMemory(t)
	exe := &store.Execution{ID: "e", Status: store.Running}
	for _, c := range []string{`{"a":1,"b":2,"c":{"x":[1,2]},"items":[{"id":1},{"id":2}]}`, `{"a":1,"b":2,"c":{"x":[1,3],"y":null},"items":[{"id":2},{"id":1}]}`} {
		_, err := o.Executions.Commit(ctx, store.Commit{Execution: exe, Trace: store.JSON(`{"event_kind":"E","to_path":"X","context_out":` + c + `}`)})
		must(t, err)
	}
	o.Trees = nil
	d := open(t, o, 200, 60).press("5").shows("context  +1 added, ~1 changed, >1 moved, 4 unchanged",
		"    2 unchanged", `~ "c": {`, "~ [1] 2 → 3", `+ "y": null`)
	d.press("4", "z").shows("> [0] was [1]  {").press("/").typed("2 unchanged").press("enter", "enter").shows(`"a": 1`, `"b": 2`)
}

func TestTwoValuesAreComparedInADocumentOfTheirOwn(t *testing.T) {
	d := open(t, seeded(t), 80, 24)
	view := jsondoc.NewView(d.m.look())
	view.Set(d.m.writer().diff("data", `{"a":1}`, `{"a":2}`), false)
	view.Resize(60, 20)
	if rows := strings.Join(view.Draw(""), "\n"); !strings.Contains(rows, "data  ~1 changed") || !strings.Contains(rows, "1 → 2") {
		t.Error(rows)
	}
	view.Set(d.m.writer().diff("data", `{"a":1}`, `{"a":1.0}`), false)
	if rows := strings.Join(view.Draw(""), "\n"); !strings.Contains(rows, "not changed") {
		t.Error(rows)
	}
}

// However large it is, all of it can be reached, and a key costs what the window
// does.
func TestGiantsAreReachedToTheirEnds(t *testing.T) {
	for name, c := range map[string]struct {
		data store.JSON
		end  string
	}{
		"deep": {store.JSON(`{"d":` + strings.Repeat("[", 12_000) + "7" + strings.Repeat("]", 12_000) + "}"), "}"},
		"word": {store.JSON(`{"w":"` + strings.Repeat("x", 200_000) + `END"}`), `END"`},
		"wide": {store.JSON("{\"l\":[" + strings.Repeat("[1,{}],\n", 60_000) + "0]}"), "]"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := nodeWith(t, c.data, 100, 30)
			d.press("G").shows(c.end)
			for range 4 {
				d.press("ctrl+u", "v", "W", "-", "+")
				d.screen()
			}
			d.press("*", "G").shows(c.end)
			d.send(tea.WindowSizeMsg{Width: 41, Height: 13})
			d.screen()
		})
	}
}

// What is too much for the clipboard is said with its size, in digits one can read.
func TestTooMuchForTheClipboard(t *testing.T) {
	o := openMemory(t)
	seedTree(t, o.Trees, "example")
	root := "n1"
	must(t, o.Trees.Append(context.Background(), "example", store.Node{ID: "long", ParentID: &root, Kind: "run", Data: store.JSON(`{"title":"` + strings.Repeat("x", 100_000) + `"}`)}))
	d := open(t, o, 160, 40).press("J").typed("long").press("enter", "4", "G", "Y")
	d.says("100,012 bytes are too many for the terminal's clipboard, which takes 74,994: export to a file instead")
	if len(d.raw) != 0 {
		t.Error("it went to the terminal all the same")
	}
}

// A match that cannot be scrolled to is shown wrapped, and that is said.
func TestAMatchTooFarAsideIsShownWrapped(t *testing.T) {
	d, _ := nodeWith(t, store.JSON(`{"a":"`+strings.Repeat("x", 1<<20+9)+` needle"}`), 80, 24)
	d.press("4", "W", "/").typed("needle").press("enter").shows("needle").says("too far to the right: long lines are wrapped")
	if !d.m.detail.view.Wrapped() {
		t.Error("lines are cut")
	}
}

package ui

import (
	"fmt"
	"testing"

	"treering/store"
	"treering/store/query"
	settings "treering/ui/config"
)

func TestViews(t *testing.T) {
	c, problems := settings.Parse([]byte(`
[views]
broken = "status:failed or has:row_error"
benches = "bench"

[[view]]
name = "asked \u001b[31m"
subject = "nodes"
filter = "kind:ask"

[[view]]
name = "newest"
subject = "executions"
filter = ""
sort = "-time"
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	o := forked(t)
	seedExecutions(t, o.Executions)
	d := openWith(t, o, config{settings: c}, 100, 40).press("2", "F").shows("Views of the nodes", "asked", "kind:ask", "benches", "heads", "errors")
	d.hides("broken", "newest", "everything").typed("ask").press("enter").says("view asked").shows("/kind:ask", "1 of 7")
	d.press("F").shows("everything").press("enter").hides("/kind:ask")
	d.press("1", "l", "F").shows("broken", "newest", "parked").typed("newest").press("enter").says("view newest").shows("latest first")
	d.press("F").typed("roots").press("enter").shows("/roots()").hides("Picking:0 ")
	for s := range query.Sessions + query.Timers + 1 {
		if len(d.m.views(s)) == 0 {
			t.Errorf("%s have no view", s)
		}
	}
}

func TestListsByTheirLastActivity(t *testing.T) {
	o := openMemory(t)
	for i, e := range []struct {
		id, parent string
		at         store.JSON
	}{{"a", "", "100"}, {"b", "", "300"}, {"c", "", ""}, {"d", "", "200"}, {"a:1", "a", "400"}, {"d:1", "d", ""}} {
		exe := &store.Execution{ID: e.id, DefinitionID: "shop", Status: store.Running, UpdatedAt: e.at}
		if e.parent != "" {
			exe.ParentID = &e.parent
		}
		if err := o.Executions.Save(t.Context(), exe); err != nil {
			t.Fatal(i, err)
		}
	}
	d := open(t, o, 100, 30)
	d.press("1").press("O").shows("latest first").says("by last activity")
	got := ""
	for _, s := range d.m.nav.execs.items {
		got += s.ID + " "
	}
	if got != "a:1 b d a c d:1 " {
		t.Errorf("executions %s", got)
	}
	d.press("l")
	got = ""
	w := d.m.nav.families.widget
	for i := range w.Flat().Len() {
		got += w.Index().ID(w.Flat().At(i)) + " "
	}
	if got != "a a:1 b d d:1 c " {
		t.Errorf("families %s", got)
	}
	if d.press("O").says("by id"); d.m.nav.execs.items[0].ID != "a" {
		t.Errorf("the first is %s", d.m.nav.execs.items[0].ID)
	}
	open(t, seeded(t), 100, 30).press("O").says("sessions do not record")
}

func TestMergedListsAreSorted(t *testing.T) {
	order := func(a, b int) int { return b - a }
	items := merged(nil, []int{3, 9, 1}, true, order)
	items = merged(items, []int{8, 2, 10, 3}, false, order)
	if got := fmt.Sprint(items); got != "[10 9 8 3 3 2 1]" {
		t.Error(got)
	}
}

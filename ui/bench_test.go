package ui

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"treering/internal/testfiles"
	"treering/store"
	"treering/store/locate"
)

// wide is a tree store of one session with n nodes, which it makes up as they
// are asked for: runs of twenty, then a fork.
type wide struct {
	store.TreeStore
	n int
}

func (w wide) id(i int) string {
	digits := strconv.Itoa(i)
	return "0192f0c4-0000-7000-8000-000000000000"[:36-len(digits)] + digits
}

func (w wide) node(i int) store.Node {
	n := store.Node{ID: w.id(i), Kind: "run", Data: store.JSON(`{"title":"python3 tools/port.py ` + strconv.Itoa(i) + `"}`)}
	if i > 0 {
		p := i - 1
		if i%20 == 0 {
			p = i / 3
		}
		id := w.id(p)
		n.ParentID = &id
	}
	return n
}

func (w wide) number(id string) int {
	i, _ := strconv.Atoi(id[24:])
	return i
}

func (w wide) ListSessions(context.Context, store.SessionFilter, store.PageRequest) (store.Page[store.SessionInfo], error) {
	return store.Page[store.SessionInfo]{Items: []store.SessionInfo{{ID: "wide", Kind: "session"}}}, nil
}

func (w wide) Session(_ context.Context, id string) (store.SessionInfo, error) {
	return store.SessionInfo{ID: id, Kind: "session"}, nil
}

func (w wide) CountNodes(context.Context, string) (int64, error) { return int64(w.n), nil }

func (w wide) Node(_ context.Context, _, id string) (store.Node, error) {
	return w.node(w.number(id)), nil
}

func (w wide) ListNodes(_ context.Context, _ string, req store.PageRequest) (store.Page[store.Node], error) {
	from, _ := strconv.Atoi(req.Cursor)
	var page store.Page[store.Node]
	for i := from; i < min(from+store.DefaultLimit, w.n); i++ {
		page.Items = append(page.Items, w.node(i))
	}
	if from+store.DefaultLimit < w.n {
		page.Next = strconv.Itoa(from + store.DefaultLimit)
	}
	return page, nil
}

func openWide(t testing.TB, n int) *driver {
	o := &locate.Opened{Trees: wide{n: n}, Info: locate.Info{Name: "wide", Writable: true}}
	d := open(t, o, 200, 60)
	if got := d.m.tree.widget.Index().Len(); got != n {
		t.Fatalf("%d nodes were read, want %d", got, n)
	}
	return d.press("2")
}

func BenchmarkViewUnchanged(b *testing.B) {
	d := open(b, mustOpen(b, "harel-shop.db"), 200, 60)
	b.ReportAllocs()
	for b.Loop() {
		d.m.View()
	}
}

// One key, one row: what Update and View cost together, commands apart.
func BenchmarkMoveInATree(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := openWide(b, n)
			for range 30 {
				d.press("j")
			}
			keys := [2]tea.Msg{keyMsg("j"), keyMsg("k")}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				d.m.Update(keys[i&1])
				d.m.View()
				i++
			}
		})
	}
}

// The same where every move scrolls.
func BenchmarkScrollATree(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := openWide(b, n)
			key, back := keyMsg("j"), keyMsg("g")
			i := 0
			for b.Loop() {
				if i++; i%900 == 0 {
					d.m.Update(back)
				}
				d.m.Update(key)
				d.m.View()
			}
		})
	}
}

func BenchmarkViewOneRowChanged(b *testing.B) {
	d := openWide(b, 1000)
	for range 30 {
		d.press("j")
	}
	b.ReportAllocs()
	by := 1
	for b.Loop() {
		d.m.tree.widget.Move(by)
		d.m.tree.rev++
		by = -by
		d.m.View()
	}
}

func BenchmarkViewEverythingChanged(b *testing.B) {
	d := open(b, mustOpen(b, "harel-shop.db"), 200, 60)
	for b.Loop() {
		d.m.nav.touch()
		d.m.tree.touch()
		d.m.trail.touch()
		d.m.trace.touch()
		d.m.queues.touch()
		d.m.detail.rev++
		d.m.screen.bars()
		d.m.View()
	}
}

// A whole tree, read page by page in the background of a live screen.
func BenchmarkReadATree(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				openWide(b, n)
			}
		})
	}
}

func mustOpen(t testing.TB, name string) *locate.Opened {
	t.Helper()
	o, err := locate.Open(t.Context(), testfiles.Copy(t, name), locate.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, o.Close()) })
	return o
}

// One key in the middle of a value: what Update and View cost together.
func BenchmarkMoveInADetail(b *testing.B) {
	for name, items := range map[string]int{"16KiB": 140, "16MiB": 140_000} {
		b.Run(name, func(b *testing.B) {
			var j strings.Builder
			j.WriteString(`{"items":[0`)
			for i := range items {
				fmt.Fprintf(&j, `,{"id":"rec-%06d","title":"python3 tools/port.py --module %d","score":%d.25,"tags":["a","b",%d],"note":null}`, i, i, i, i%13)
			}
			j.WriteString("]}")
			d, _ := nodeWith(b, store.JSON(j.String()), 200, 60)
			d.press("z", "/").typed(fmt.Sprintf("rec-%06d", items/2)).press("enter")
			keys := [2]tea.Msg{keyMsg("pgdown"), keyMsg("pgup")}
			i := 0
			for b.Loop() {
				d.m.Update(keys[i&1])
				d.m.View()
				i++
			}
		})
	}
}

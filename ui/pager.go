package ui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"treering/store"
	"treering/store/query"
	"treering/treeview"
)

// pager is the part of a paged list that was read so far, with a cursor that
// stays on its item's id.
type pager[T any] struct {
	what  string // for errors: "the sessions"
	id    func(T) string
	fetch func(context.Context, store.PageRequest) (store.Page[T], error)
	sift  func() decider[T]                   // made anew for a reading from the beginning; nil: everything is kept
	order func(a, b T) int                    // nil: as the store lists it; else the whole list is read
	moved func(m *Model, byUser bool) tea.Cmd // the cursor is on another item
	came  func(m *Model) tea.Cmd              // items were read, or could not be
	items []T                                 // those kept

	next    string
	decide  decider[T]
	looked  int // items read, kept or not
	noTime  int // of them those whose time would have decided
	started bool
	done    bool
	toEnd   bool // the cursor goes to the end once it is there
	err     error

	scroll treeview.Scroll
	at     string // id of the item under the cursor
	held   bool   // somebody moved the cursor
	req    request
	pace   pace
	rev    int
	cache  rowCache
}

// decider decides on the items of a list, one reading at a time.
type decider[T any] func(ctx context.Context, item T) (query.Result, error)

// pagesAtOnce bounds how much of a list one command reads where a filter keeps
// little of it.
const pagesAtOnce = 20

// rowsAtOnce is how many kept items end such a command early.
const rowsAtOnce = 200

// pageRead is the answer of a reading.
type pageRead[T any] struct {
	p      *pager[T]
	gen    int
	fresh  bool // from the beginning: replaces what is there
	items  []T
	next   string
	looked int
	noTime int
	err    error
}

// load reads the list from its beginning, as far as it was read before.
func (p *pager[T]) load(m *Model) tea.Cmd {
	if p.fetch == nil {
		return nil
	}
	ok, wait := p.pace.start(m.now())
	if !ok {
		return m.later(wait, func(m *Model) tea.Cmd {
			p.pace.rested()
			return p.load(m)
		})
	}
	return p.readFrom(m, "", p.looked, true)
}

// restart forgets what was read: the list is another now.
func (p *pager[T]) restart(m *Model) tea.Cmd {
	p.req.stop()
	p.pace = pace{}
	p.items, p.next, p.looked, p.noTime, p.started, p.done, p.err = nil, "", 0, 0, false, false, nil
	p.at, p.held, p.toEnd = "", false, false
	p.scroll = treeview.Scroll{Height: p.scroll.Height}
	p.touch()
	return p.load(m)
}

// more reads on where the rows on the screen come near the end of what was read.
func (p *pager[T]) more(m *Model) tea.Cmd {
	if !p.started || p.done || p.err != nil || p.req.busy() || p.fetch == nil {
		return nil
	}
	if p.order == nil && !p.toEnd && p.scroll.Top+3*max(p.scroll.Height, 20) < len(p.items) {
		return nil
	}
	return p.readFrom(m, p.next, store.DefaultLimit, false)
}

func (p *pager[T]) readFrom(m *Model, cursor string, atLeast int, fresh bool) tea.Cmd {
	ctx, gen := p.req.begin(m.ctx)
	if fresh {
		if p.decide = nil; p.sift != nil {
			p.decide = p.sift()
		}
	}
	fetch, decide, again := p.fetch, p.decide, fresh && p.started
	return func() tea.Msg {
		out := pageRead[T]{p: p, gen: gen, fresh: fresh, next: cursor}
		for n := 0; ; n++ {
			page, err := fetch(ctx, store.PageRequest{Cursor: out.next})
			if err != nil {
				out.err = err
				return out
			}
			for _, item := range page.Items {
				result := query.Yes
				if decide != nil {
					if result, out.err = decide(ctx, item); out.err != nil {
						return out
					}
				}
				switch result {
				case query.Yes:
					out.items = append(out.items, item)
				case query.NoTime:
					out.noTime++
				case query.No:
				}
			}
			out.looked += len(page.Items)
			out.next = page.Next
			// A page may be empty and yet not the last: a store bounds what one looks at.
			enough := out.looked > 0 && out.looked >= atLeast && (decide == nil || len(out.items) >= rowsAtOnce)
			if out.next == "" || enough || !again && n+1 == pagesAtOnce {
				return out
			}
		}
	}
}

func (r pageRead[T]) apply(m *Model) tea.Cmd {
	p := r.p
	if !p.req.ends(r.gen) {
		return nil
	}
	again := p.pace.end(m.now())
	if r.err != nil {
		if abandoned(r.err) {
			return nil
		}
		p.started = true
		p.pace.failed()
		p.touch()
		m.unread("cannot read "+p.what, r.err, &p.err)
		if p.came != nil {
			return p.came(m)
		}
		return nil
	}
	p.err, p.started, p.next, p.done = nil, true, r.next, r.next == ""
	if r.fresh {
		p.items, p.looked, p.noTime = r.items, r.looked, r.noTime
	} else {
		if p.order == nil {
			p.items = append(p.items, r.items...)
		}
		p.looked, p.noTime = p.looked+r.looked, p.noTime+r.noTime
	}
	if p.order != nil {
		p.items = merged(p.items, r.items, r.fresh, p.order)
	}
	cmds := []tea.Cmd{p.settle(m)}
	if p.toEnd && p.done {
		p.toEnd = false
		cmds = append(cmds, p.moveTo(m, len(p.items)-1))
	}
	if p.came != nil {
		cmds = append(cmds, p.came(m))
	}
	if again {
		cmds = append(cmds, p.load(m))
	}
	return tea.Batch(append(cmds, p.more(m))...)
}

// The store told of single items: they are put in their places without reading the
// list. The caller sees to it that no reading is under way, which would bring back what
// was there before, and says when it is done by edited.

// replace puts an item in the place of the one with its id, if that was read.
func (p *pager[T]) replace(item T) {
	if row := p.find(p.id(item)); row >= 0 {
		p.items[row] = item
	}
}

// remove takes an item out.
func (p *pager[T]) remove(id string) {
	if row := p.find(id); row >= 0 {
		p.items = slices.Delete(p.items, row, row+1)
		p.looked--
	}
}

// insert puts an item where it belongs by the order of the store, if the list was read
// to there.
func (p *pager[T]) insert(item T, order func(a, b T) int) {
	row, there := slices.BinarySearchFunc(p.items, item, order)
	switch {
	case there:
		p.items[row] = item
	case row < len(p.items) || p.done:
		p.items = slices.Insert(p.items, row, item)
		p.looked++
	}
}

// edited shows what became of the list.
func (p *pager[T]) edited(m *Model) tea.Cmd {
	cmds := []tea.Cmd{p.settle(m)}
	if p.came != nil {
		cmds = append(cmds, p.came(m))
	}
	return tea.Batch(append(cmds, p.more(m))...)
}

// merged is a sorted list with what came; all of it came where it is fresh.
func merged[T any](items, came []T, fresh bool, order func(a, b T) int) []T {
	came = slices.SortedStableFunc(slices.Values(came), order)
	if fresh {
		return came
	}
	out := make([]T, 0, len(items)+len(came))
	for _, it := range items {
		for len(came) > 0 && order(came[0], it) < 0 {
			out, came = append(out, came[0]), came[1:]
		}
		out = append(out, it)
	}
	return append(out, came...)
}

// settle finds the cursor's item again. Where it is gone, the cursor stays on
// its row, which is another item now.
func (p *pager[T]) settle(m *Model) tea.Cmd {
	p.touch()
	if p.held || p.at != "" {
		if row := p.find(p.at); row >= 0 {
			p.scroll.Hold(row, len(p.items))
			return nil
		}
	}
	p.scroll.Clamp(len(p.items))
	return p.land(m, false)
}

// find returns the row of an item, or -1. The usual case is that little moved.
func (p *pager[T]) find(id string) int {
	near := p.scroll.Cursor
	if near < len(p.items) && p.id(p.items[near]) == id {
		return near
	}
	for i, item := range p.items {
		if p.id(item) == id {
			return i
		}
	}
	return -1
}

// land notes which item the cursor is on.
func (p *pager[T]) land(m *Model, byUser bool) tea.Cmd {
	id := ""
	if item, ok := p.selected(); ok {
		id = p.id(item)
	}
	p.touchCursor()
	if id == p.at {
		return nil
	}
	p.at = id
	if p.moved != nil {
		return p.moved(m, byUser)
	}
	return nil
}

// selected returns the item under the cursor.
func (p *pager[T]) selected() (item T, ok bool) {
	if p.scroll.Cursor < len(p.items) {
		return p.items[p.scroll.Cursor], true
	}
	return item, false
}

func (p *pager[T]) moveTo(m *Model, row int) tea.Cmd {
	if len(p.items) == 0 {
		return nil
	}
	p.held = true
	p.scroll.MoveTo(row, len(p.items))
	return tea.Batch(p.land(m, true), p.more(m))
}

// move moves the cursor by rows, page by windows.
func (p *pager[T]) move(m *Model, rows int) tea.Cmd {
	p.toEnd = false
	return p.moveTo(m, p.scroll.Cursor+rows)
}

// end moves to the last item, reading the list through to there first.
func (p *pager[T]) end(m *Model) tea.Cmd {
	if p.done {
		return p.moveTo(m, len(p.items)-1)
	}
	p.toEnd = true
	p.touchCursor()
	return p.more(m)
}

// selectID moves the cursor to an item if it was read already.
func (p *pager[T]) selectID(m *Model, id string) (tea.Cmd, bool) {
	row := p.find(id)
	if row < 0 {
		return nil, false
	}
	return p.moveTo(m, row), true
}

func (p *pager[T]) setHeight(h int) {
	p.scroll.Height = max(h, 1)
	p.scroll.Clamp(len(p.items))
}

// touch notes that rows show something else, touchCursor that only the cursor
// moved.
func (p *pager[T]) touch() {
	p.cache.drop()
	p.rev++
}

func (p *pager[T]) touchCursor() { p.rev++ }

// draw returns the rows in the window.
func (p *pager[T]) draw(w, h int, focused bool, row func(item T, look look) string) []string {
	p.setHeight(h)
	out := make([]string, 0, h)
	for i := p.scroll.Top; i < min(p.scroll.Top+h, len(p.items)); i++ {
		look := lookOf(i == p.scroll.Cursor, focused)
		line, ok := p.cache.get(i, look, w)
		if !ok {
			line = p.cache.put(i, look, w, row(p.items[i], look))
		}
		out = append(out, line)
	}
	return out
}

// visible returns the items in the window.
func (p *pager[T]) visible() []T {
	from := min(p.scroll.Top, len(p.items))
	return p.items[from:min(from+max(p.scroll.Height, 1), len(p.items))]
}

// length is how many items were read, whether there are more, and whether any
// reading succeeded: with none, 0 says nothing.
func (p *pager[T]) length() (n int, more, read bool) {
	return len(p.items), !p.done, p.done || p.looked > 0 || p.next != ""
}

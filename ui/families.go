package ui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
)

// families lists all executions below their parents. It has to read the whole
// list: a child may be on any page.
type families struct {
	widget   *treeview.Widget
	bad      map[string]bool // rows that drift or could not be read whole
	started  bool
	complete bool
	looked   int
	err      error
	height   int
	req      request
	pace     pace
	rev      int
	cache    rowCache
}

func (f *families) init() {
	f.widget = treeview.NewWidget(treeview.New(treeview.ByID), treeview.Nested)
}

// familyScan is one reading of all executions, page by page. It belongs to the
// command that reads, then to the program.
type familyScan struct {
	filter navFilter
	index  *treeview.Index
	bad    map[string]bool
	all    []treeview.Entry // while filtering: everything, for the ancestors of what matches
	match  []bool
	looked int
	next   string
	done   bool
}

type familyPage struct {
	gen  int
	scan *familyScan
	came []treeview.Entry // to be added to the index
	err  error
}

func (f *families) load(m *Model) tea.Cmd {
	ok, wait := f.pace.start(m.now())
	if !ok {
		return m.later(wait, func(m *Model) tea.Cmd {
			f.pace.rested()
			return f.load(m)
		})
	}
	ctx, gen := f.req.begin(m.ctx)
	f.started = true
	scan := &familyScan{filter: m.nav.filter, index: treeview.New(treeview.ByID), bad: map[string]bool{}}
	scan.index.SetPartial(true)
	return scan.read(ctx, m.es, gen)
}

// restart forgets what was read: the filter is another now.
func (f *families) restart(m *Model) tea.Cmd {
	f.req.stop()
	f.pace = pace{}
	f.complete, f.looked, f.err = false, 0, nil
	f.init()
	f.widget.SetHeight(max(f.height, 1))
	f.touch()
	return f.load(m)
}

// read returns the command that reads the next pages.
func (s *familyScan) read(ctx context.Context, es store.ExecutionStore, gen int) tea.Cmd {
	return func() tea.Msg {
		out := familyPage{gen: gen, scan: s}
		for range 4 {
			page, err := es.ListExecutions(ctx, store.ExecutionFilter{}, store.PageRequest{Cursor: s.next})
			if err != nil {
				out.err = err
				return out
			}
			out.came = append(out.came, s.take(page.Items)...)
			s.next, s.done = page.Next, page.Next == ""
			if s.done || s.looked <= store.DefaultLimit {
				break
			}
		}
		if s.done && s.filter.text != "" {
			s.sift()
		}
		return out
	}
}

// take turns summaries into entries. While filtering it only keeps them: which
// ones are shown is known at the end.
func (s *familyScan) take(items []store.Summary) []treeview.Entry {
	out := make([]treeview.Entry, 0, len(items))
	for _, it := range items {
		e := treeview.Entry{ID: it.ID, Parent: it.ParentID, Kind: statusText(it).String(), Title: execNote(it).String()}
		if it.Bad != nil || len(it.Drift) > 0 {
			s.bad[it.ID] = true
		}
		if s.filter.text != "" {
			s.match = append(s.match, s.filter.executions().Selects(it) && s.filter.selects(it))
		}
		out = append(out, e)
	}
	s.looked += len(items)
	if s.filter.text != "" {
		s.all = append(s.all, out...)
		return nil
	}
	return out
}

// sift puts what matches into the index, with the ancestors it hangs on.
func (s *familyScan) sift() {
	at := make(map[string]int, len(s.all))
	for i, e := range s.all {
		at[e.ID] = i
	}
	wanted := make([]bool, len(s.all))
	for i := range s.all {
		if !s.match[i] {
			continue
		}
		for ok := true; ok && !wanted[i]; {
			wanted[i] = true
			if s.all[i].Parent == nil {
				break
			}
			i, ok = at[*s.all[i].Parent]
		}
	}
	for i, e := range s.all {
		if wanted[i] {
			s.index.Add(e)
		}
	}
	s.all, s.match = nil, nil
}

func (p familyPage) apply(m *Model) tea.Cmd {
	f, s := &m.nav.families, p.scan
	if p.gen != f.req.gen {
		return nil
	}
	if p.err != nil {
		f.req.ends(p.gen)
		f.pace.end(m.now())
		f.err = p.err
		f.touch()
		m.failed("cannot read the families", p.err)
		return nil
	}
	f.err = nil
	for _, e := range p.came {
		s.index.Add(e)
	}
	// The first reading shows as it comes; later ones replace what is there when
	// they are whole.
	if !f.complete {
		f.looked, f.bad = s.looked, s.bad
		if f.widget.Index() == s.index {
			f.widget.Grow()
		} else {
			f.widget.SetIndex(s.index)
		}
	}
	if !s.done {
		f.touch()
		return tea.Batch(s.read(m.ctx, m.es, p.gen), m.nav.follow(m, familiesView, false))
	}
	f.req.ends(p.gen)
	again := f.pace.end(m.now())
	s.index.SetPartial(false)
	f.looked, f.complete, f.bad = s.looked, true, s.bad
	if f.widget.Index() == s.index {
		f.widget.Settle()
	} else {
		f.widget.SetIndex(s.index)
	}
	f.touch()
	cmd := m.nav.follow(m, familiesView, false)
	if again {
		cmd = tea.Batch(cmd, f.load(m))
	}
	return cmd
}

func (f *families) selected() (id string, ok bool) {
	r, ok := f.widget.Cursor()
	if !ok {
		return "", false
	}
	return f.widget.Index().ID(r), true
}

func (f *families) shown() (shown, looked int, done bool) {
	return f.widget.Index().Len(), f.looked, f.complete
}

func (f *families) fold(m *Model) tea.Cmd {
	if !f.widget.ToggleFold() {
		m.refused("nothing is below it")
		return nil
	}
	f.touch()
	return m.nav.follow(m, familiesView, true)
}

func (f *families) touch() {
	f.cache.drop()
	f.rev++
}

func (f *families) draw(m *Model, w, h int, focused bool) []string {
	f.height = h
	f.widget.SetHeight(h)
	var out []string
	cursor, _ := f.widget.Cursor()
	for i, r := range f.widget.Visible() {
		look := lookOf(r == cursor, focused)
		line, ok := f.cache.get(i, look, w)
		if !ok {
			line = f.cache.put(i, look, w, f.row(m, i, r, w, look))
		}
		out = append(out, line)
	}
	return out
}

func (f *families) row(m *Model, i int, r treeview.Ref, w int, look look) string {
	x, flat := f.widget.Index(), f.widget.Flat()
	l := rowStart(m, w, look)
	l.Put(m.theme.Dim, flat.Gutter(i, m.theme.Tree, 6))
	name := term.Sanitise(shortID(x, r))
	if !x.Known(r) {
		return l.Plain(name).Put(m.theme.Warn, flat.Note(r)).String()
	}
	status := term.Sanitise(x.Kind(r))
	room := max(w-l.Used()-1-max(statusWidth, status.Width()), 8)
	l.Plain(name.TruncateMiddle(room, "…"))
	if hidden, folded := flat.Folded(r); folded {
		l.Put(m.theme.Dim, term.Lit(" +"+treeview.Grouped(int64(hidden))))
	}
	l.To(w-max(statusWidth, status.Width())).Put(m.theme.Status(store.Status(x.Kind(r))), status)
	if f.bad[x.ID(r)] {
		l.Put(m.theme.Error, term.Lit("!"))
	}
	return l.String()
}

// shortID is an execution's id without its parent's, which stands above it: the
// engine makes a child's id out of its parent's.
func shortID(x *treeview.Index, r treeview.Ref) string {
	id := x.ID(r)
	if p := x.Parent(r); p != 0 {
		if rest, ok := strings.CutPrefix(id, x.ID(p)+":"); ok && rest != "" {
			return rest
		}
	}
	return id
}

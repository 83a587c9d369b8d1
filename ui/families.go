package ui

import (
	"cmp"
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/store/query"
	"treering/treeview"
)

// families lists all executions below their parents. It has to read the whole
// list: a child may be on any page.
type families struct {
	widget   *treeview.Widget
	bad      map[string]bool // rows that drift or could not be read whole
	started  bool
	stale    bool // the executions are others since
	complete bool
	looked   int
	noTime   int // of them those whose time would have decided the filter
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
// command that reads; pages carry copies of what they tell.
type familyScan struct {
	ctx    context.Context
	sieve  *executionSieve // nil: everything is shown
	latest bool            // by last activity, which is known at the end
	times  []float64       // with all: when they were written last, 0 where that is not recorded
	next   string
	looked int
	noTime int
	all    []treeview.Entry // while filtering: everything, for the ancestors of what matches
	match  []bool
	held   []store.Summary // what is decided on when the shape of the families is known
	bad    []string        // as much of what was read so far as cannot be read whole
}

// familyPage is a piece of such a reading.
type familyPage struct {
	gen    int
	scan   *familyScan
	index  *treeview.Index // that the reading fills; the program's, not the command's
	came   []treeview.Entry
	bad    []string
	looked int
	noTime int
	done   bool
	sifted *treeview.Index // at the end of a filtered reading: what matches
	err    error
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
	f.started, f.stale = true, false
	scan := &familyScan{ctx: ctx, latest: m.nav.latest}
	if q := m.nav.byExec.query; q != nil {
		scan.sieve = siftExecutions(m.es, q, m.queryEnv())
	}
	index := treeview.New(treeview.ByID)
	index.SetPartial(true)
	return scan.read(m.es, familyPage{gen: gen, scan: scan, index: index})
}

// restart forgets what was read: the filter is another now.
func (f *families) restart(m *Model) tea.Cmd {
	f.req.stop()
	f.pace = pace{}
	f.complete, f.looked, f.noTime, f.err = false, 0, 0, nil
	f.init()
	f.widget.SetHeight(max(f.height, 1))
	f.touch()
	return f.load(m)
}

// read returns the command that reads the next pages. out is what every piece of
// the reading has in common.
func (s *familyScan) read(es store.ExecutionStore, out familyPage) tea.Cmd {
	return func() tea.Msg {
		for range pagesAhead {
			page, err := es.ListExecutions(s.ctx, store.ExecutionFilter{}, store.PageRequest{Cursor: s.next})
			if err != nil {
				out.err = err
				return out
			}
			came, err := s.take(page.Items)
			if err != nil {
				out.err = err
				return out
			}
			out.came = append(out.came, came...)
			s.next, out.done = page.Next, page.Next == ""
			if out.done || s.looked <= store.DefaultLimit {
				break
			}
		}
		if out.done && s.whole() {
			if out.sifted, out.err = s.sift(); out.err != nil {
				return out
			}
		}
		out.looked, out.noTime, out.bad = s.looked, s.noTime, slices.Clone(s.bad)
		return out
	}
}

// whole reports whether what is shown, or where, is known at the end only.
func (s *familyScan) whole() bool { return s.sieve != nil || s.latest }

// take turns summaries into entries. While filtering it only keeps them: which
// ones are shown is known at the end.
func (s *familyScan) take(items []store.Summary) ([]treeview.Entry, error) {
	out := make([]treeview.Entry, 0, len(items))
	for _, it := range items {
		e := treeview.Entry{ID: it.ID, Parent: it.ParentID, Kind: statusWord(it), Title: execNote(term.Profile{}, it).String()}
		if it.Bad != nil || len(it.Drift) > 0 {
			s.bad = append(s.bad, it.ID)
		}
		out = append(out, e)
		if s.latest {
			at, _ := activity(it)
			s.times = append(s.times, at)
		}
	}
	s.looked += len(items)
	if !s.whole() {
		return out, nil
	}
	s.all = append(s.all, out...)
	if s.sieve == nil {
		return nil, nil
	}
	if s.sieve.query.Needs().Shape {
		s.held = append(s.held, items...)
		return nil, nil
	}
	return nil, s.decide(items)
}

// decide notes which of them match.
func (s *familyScan) decide(items []store.Summary) error {
	for _, it := range items {
		result, err := s.sieve.decide(s.ctx, it)
		if err != nil {
			return err
		}
		if result == query.NoTime {
			s.noTime++
		}
		s.match = append(s.match, result == query.Yes)
	}
	return nil
}

// sift returns a tree of what matches, with the ancestors it hangs on.
func (s *familyScan) sift() (*treeview.Index, error) {
	if s.held != nil {
		shape := treeview.New(treeview.ByArrival)
		for _, e := range s.all {
			shape.Add(treeview.Entry{ID: e.ID, Parent: e.Parent})
		}
		if err := s.sieve.bind(s.ctx, shape); err != nil {
			return nil, err
		}
		if err := s.decide(s.held); err != nil {
			return nil, err
		}
	}
	at := make(map[string]int, len(s.all))
	for i, e := range s.all {
		at[e.ID] = i
	}
	wanted := make([]bool, len(s.all))
	for i := range s.all {
		for up := i; (s.sieve == nil || s.match[i]) && up >= 0 && !wanted[up]; up = s.above(at, up) {
			wanted[up] = true
		}
	}
	order, rows := treeview.ByID, make([]int, len(s.all))
	for i := range rows {
		rows[i] = i
	}
	if s.latest {
		order = treeview.ByArrival
		s.sort(at, rows)
	}
	x := treeview.New(order)
	for _, i := range rows {
		if wanted[i] {
			x.Add(s.all[i])
		}
	}
	return x, nil
}

// above is the parent of an entry, -1 where it is not among them.
func (s *familyScan) above(at map[string]int, i int) int {
	if p := s.all[i].Parent; p != nil {
		if up, ok := at[*p]; ok {
			return up
		}
	}
	return -1
}

// sort puts the rows in the order of the last activity of what they are or have below
// them, the latest first.
func (s *familyScan) sort(at map[string]int, rows []int) {
	latest := slices.Clone(s.times)
	for i := range s.all {
		// It ends in a cycle too: it goes on only where something became later.
		for up := s.above(at, i); up >= 0 && latest[up] < latest[i]; up = s.above(at, up) {
			latest[up] = latest[i]
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(latest[b], latest[a]) })
}

func (p familyPage) apply(m *Model) tea.Cmd {
	f := &m.nav.families
	if p.gen != f.req.gen || abandoned(p.err) {
		return nil
	}
	f.touch()
	if p.err != nil {
		f.req.ends(p.gen)
		f.pace.end(m.now())
		f.pace.failed()
		m.unread("cannot read the families", p.err, &f.err)
		return nil
	}
	f.err = nil
	for _, e := range p.came {
		p.index.Add(e)
	}
	if p.sifted != nil {
		p.index = p.sifted
	}
	p.index.SetPartial(!p.done)
	// The first reading shows as it comes; later ones replace what is there when
	// they are whole, and so do filtered ones.
	filtering := p.scan.whole() && !p.done
	if p.done || !f.complete {
		f.looked, f.noTime, f.bad = p.looked, p.noTime, map[string]bool{}
		for _, id := range p.bad {
			f.bad[id] = true
		}
		if !filtering {
			f.show(p.index, p.done)
		}
	}
	follow := func() tea.Cmd { return m.nav.follow(m, familiesView, false) }
	if !p.done {
		next := familyPage{gen: p.gen, scan: p.scan, index: p.index}
		return tea.Batch(p.scan.read(m.es, next), follow())
	}
	f.req.ends(p.gen)
	f.complete = true
	if f.pace.end(m.now()) {
		return tea.Batch(follow(), f.load(m))
	}
	return follow()
}

// show puts a tree on the screen, or what came to it.
func (f *families) show(x *treeview.Index, whole bool) {
	if f.widget.Index() != x {
		f.widget.SetIndex(x)
		return
	}
	f.widget.Grow()
	if whole {
		f.widget.Settle()
	}
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
	name := m.term.Sanitise(shortID(x, r))
	if !x.Known(r) {
		return l.Plain(name).Put(m.theme.Warn, flat.Note(i, m.theme.Tree, m.term)).String()
	}
	status := m.term.SanitiseN(x.Kind(r), maxStatus)
	flawed, at := f.bad[x.ID(r)], w-max(statusWidth, status.Width())
	room := max(at-l.Used()-1-flawRoom(flawed), 8)
	hidden, folded := flat.Folded(r)
	if folded { // how much is hidden is not cut
		room = max(room-2-len(treeview.Grouped(int64(hidden))), 4)
	}
	l.Plain(name.TruncateMiddle(room, "…"))
	if folded {
		l.Put(m.theme.Dim, term.Lit(" +"+treeview.Grouped(int64(hidden))))
	}
	if flawed {
		l.To(at-1).Put(m.theme.Error, term.Lit("!"))
	}
	l.To(at).Put(m.theme.Status(store.Status(x.Kind(r))), status)
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

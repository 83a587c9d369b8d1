package ui

import (
	"context"
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/store/query"
	"treering/treeview"
	"treering/ui/when"
)

// treeFilter is the filter of the tree: what it found so far, and what it is doing.
// Titles are searched as the index keeps them; data is read from the store.
type treeFilter struct {
	bar   filterBar
	last  *query.Query // what n and N look for: the last one that counted
	match *query.Matcher
	of    *query.Query // what match and the rest are of
	hits  treeview.Set
	found int
	upto  treeview.Ref // nodes below that were decided on
	// total is how many nodes there are to decide on.
	total  int
	noTime int
	drawn  bool // the rows are those that a filter let through
	first  bool // the first hits of this one are among them
	done   bool
	err    error
	req    request
	pace   pace
}

// First and largest number of nodes that one command decides on. The first hits
// come at once, and a key does not wait behind a long command: it is cancelled.
const (
	firstSift = 16 << 10
	mostSift  = 256 << 10
)

// nodesByID is up to how many nodes have their data read by their ids, where it is not
// worth reading the whole session.
const nodesByID = 5000

func (t *treePane) initFilter() {
	t.filter.bar = filterBar{subject: query.Nodes, changed: t.filtered, drawn: t.touch, seen: t.words}
}

// aimFilter makes the filter that of what is shown: an execution's family is filtered
// as executions are.
func (t *treePane) aimFilter(of subject) {
	f := &t.filter
	f.req.stop()
	subject := query.Nodes
	if of.kind == execution {
		subject = query.Executions
	}
	if of != t.of && (subject != f.bar.subject || of.kind == session) {
		bar := f.bar
		bar.subject, bar.query, bar.mistake, bar.input, bar.offers = subject, nil, nil, nil, offers{}
		*f = treeFilter{bar: bar, req: f.req}
		return
	}
	f.forget()
}

// forget drops what was found.
func (f *treeFilter) forget() {
	f.req.stop()
	f.match, f.of, f.hits, f.found, f.upto, f.noTime, f.drawn, f.done, f.err, f.pace = nil, nil, nil, 0, 0, 0, false, false, nil, pace{}
}

// filtered shows what matches the filter, or everything.
func (t *treePane) filtered(m *Model) tea.Cmd {
	f := &t.filter
	if f.bar.query == nil {
		f.req.stop()
		if f.drawn {
			t.widget.ClearFilter()
		}
		f.drawn = false
		t.touch()
		return t.landed(m)
	}
	f.last = f.bar.query
	if t.of.kind == execution {
		t.pace = pace{}
		return t.readFamily(m)
	}
	was := f.drawn
	f.forget()
	f.drawn = was
	return t.sift(m)
}

// refilter goes on where the tree grew. A filter that asks for the shape of the tree
// is asked again about all of it.
func (t *treePane) refilter(m *Model) tea.Cmd {
	f := &t.filter
	if f.bar.query == nil || t.of.kind != session || f.req.busy() || f.of != nil && int(f.upto) > t.widget.Index().Size() && f.done {
		return nil
	}
	return t.sift(m)
}

// sift decides on the nodes that were not decided on.
func (t *treePane) sift(m *Model) tea.Cmd {
	f := &t.filter
	if t.loading && (f.last.Needs().Shape || f.last.Needs().Data) {
		return nil // once it is read
	}
	ok, wait := f.pace.start(m.now())
	if !ok {
		of := t.of
		return m.later(wait, func(m *Model) tea.Cmd {
			if m.tree.of != of {
				return nil
			}
			m.tree.filter.pace.rested()
			return m.tree.refilter(m)
		})
	}
	x := t.widget.Index()
	if f.of != f.last || f.last.Needs().Shape {
		match, err := f.last.Bind(query.Env{Now: when.Seconds(m.now()), Tree: x.Relations()})
		if err != nil {
			f.pace.end(m.now())
			f.err = err
			t.touch()
			return nil
		}
		f.match, f.of, f.hits, f.found, f.upto, f.noTime = match, f.last, treeview.NewSet(x.Size()+1), 0, 1, 0
	}
	f.err, f.done, f.first, f.total = nil, false, f.of == f.last && f.found > 0, x.Size()
	ctx, gen := f.req.begin(m.ctx)
	t.touch()
	if f.last.Needs().Data {
		// Where a node is in the tree has to be known with it if the filter asks for that:
		// the index belongs to this goroutine, and cannot be asked from another.
		if f.last.Needs().Shape || x.Size()-int(f.upto) < nodesByID {
			return nodesSifted{dataSifted: dataSifted{ctx: ctx, gen: gen}, ts: m.ts, id: t.of.id, match: f.match,
				texts: x.Texts(), from: f.upto, to: treeview.Ref(x.Size() + 1), size: 1}.command()
		}
		return siftPages(m.ts, t.of.id, f.match, dataSifted{ctx: ctx, gen: gen})
	}
	out := titlesSifted{ctx: ctx, gen: gen, from: f.upto, to: treeview.Ref(x.Size() + 1), texts: x.Texts(), match: f.match}
	if strings.Contains(f.last.String(), "parent") {
		out.parents = make([]treeview.Ref, x.Size()+1)
		for r := range out.parents[1:] {
			out.parents[r+1] = x.Parent(treeview.Ref(r + 1))
		}
	}
	return out.command(firstSift)
}

// titlesSifted is what was found among some of the nodes.
type titlesSifted struct {
	ctx      context.Context // of the whole search
	gen      int
	from, to treeview.Ref // what is to be decided on
	size     int          // how much of it at once
	chunk    treeview.Ref // where the part ends that was decided on
	texts    *treeview.Texts
	parents  []treeview.Ref // of all nodes, where the filter asks for them
	match    *query.Matcher
	hits     []treeview.Ref
	noTime   int
	err      error
}

// command decides on the next so many nodes.
func (s titlesSifted) command(size int) tea.Cmd {
	s.size = size
	return func() tea.Msg {
		s.chunk = min(s.from+treeview.Ref(size), s.to)
		s.hits, s.noTime, s.err = s.run()
		return s
	}
}

// run decides on nodes by what the index has of them.
func (s titlesSifted) run() (hits []treeview.Ref, noTime int, err error) {
	worker := func() func(int) query.Result {
		row := query.NodeRow{}
		var parent string
		var result query.Result
		id := func(_ treeview.Ref, p treeview.Span) bool { parent = string(p.ID); return false }
		decide := func(r treeview.Ref, n treeview.Span) bool {
			if !n.Known {
				return false
			}
			if row.Parent = nil; s.parents != nil && s.parents[r] != 0 {
				s.texts.Scan(s.parents[r], s.parents[r]+1, id)
				row.Parent = &parent
			}
			row.ID, row.Kind, row.Title, row.Ref = string(n.ID), n.Kind, string(n.Title), int32(r)
			result = s.match.Match(&row)
			return false
		}
		return func(i int) query.Result {
			result = query.No
			s.texts.Scan(s.from+treeview.Ref(i), s.from+treeview.Ref(i)+1, decide)
			return result
		}
	}
	err = query.Run(s.ctx, int(s.chunk-s.from), 0, worker, func(c query.Chunk) error {
		for _, i := range c.Hits {
			hits = append(hits, s.from+treeview.Ref(i))
		}
		noTime += c.NoTime
		return nil
	})
	return hits, noTime, err
}

func (s titlesSifted) apply(m *Model) tea.Cmd {
	t := &m.tree
	f := &t.filter
	if s.gen != f.req.gen || !f.req.busy() {
		return nil
	}
	if s.err != nil {
		return t.siftFailed(m, s.gen, s.err)
	}
	f.take(s.hits, s.noTime)
	f.upto = s.chunk
	if s.chunk < s.to {
		s.from, s.hits = s.chunk, nil
		t.showSifted(m, false)
		return s.command(min(4*s.size, mostSift))
	}
	return t.siftedAll(m, s.gen)
}

// take adds what was found.
func (f *treeFilter) take(hits []treeview.Ref, noTime int) {
	for _, r := range hits {
		if !f.hits.Has(r) {
			f.hits.Add(r)
			f.found++
		}
	}
	f.noTime += noTime
}

// showSifted shows what was found so far: the first hits at once, and all at the end.
func (t *treePane) showSifted(m *Model, end bool) {
	f := &t.filter
	t.touch()
	if f.bar.query == nil || !end && (f.first || f.found == 0) {
		return
	}
	f.drawn, f.first = true, true
	t.widget.SetFilter(append(treeview.Set(nil), f.hits...), treeview.Elided)
	m.trail.touch()
}

func (t *treePane) siftedAll(m *Model, gen int) tea.Cmd {
	f := &t.filter
	f.req.ends(gen)
	f.done = true
	t.showSifted(m, true)
	f.pace.end(m.now())
	return tea.Batch(t.landed(m), t.refilter(m))
}

func (t *treePane) siftFailed(m *Model, gen int, err error) tea.Cmd {
	f := &t.filter
	f.req.ends(gen)
	f.pace.end(m.now())
	f.pace.failed()
	if abandoned(err) {
		return nil
	}
	t.touch()
	f.err = err
	m.failed("cannot filter the tree", err)
	return nil
}

// dataSifted is what was found in the data of some of the nodes.
type dataSifted struct {
	ctx    context.Context
	gen    int
	next   string // cursor of the page after them
	looked int
	hits   []string
	noTime int
	err    error
}

// siftPages reads the nodes' data page by page.
func siftPages(ts store.TreeStore, id string, match *query.Matcher, out dataSifted) tea.Cmd {
	return func() tea.Msg {
		out.hits, out.noTime = nil, 0
		for range pagesAhead {
			page, err := ts.ListNodes(out.ctx, id, store.PageRequest{Cursor: out.next})
			if err == nil {
				err = out.decide(match, page.Items, nil)
			}
			if out.err = err; err != nil {
				return dataPages{out, ts, id, match}
			}
			if out.next = page.Next; out.next == "" {
				break
			}
		}
		return dataPages{out, ts, id, match}
	}
}

// dataPages is that, with what goes on with the next pages.
type dataPages struct {
	dataSifted
	ts    store.TreeStore
	id    string
	match *query.Matcher
}

func (p dataPages) apply(m *Model) tea.Cmd {
	next := p.next
	if cmd := p.dataSifted.apply(m); next == "" || p.err != nil {
		return cmd
	}
	if p.gen != m.tree.filter.req.gen {
		return nil
	}
	return siftPages(p.ts, p.id, p.match, p.dataSifted)
}

// decide decides on nodes on all processors. refs are their places in the tree, nil
// where they are looked up.
func (s *dataSifted) decide(match *query.Matcher, nodes []store.Node, refs []treeview.Ref) error {
	worker := func() func(int) query.Result {
		var n *store.Node
		row := query.NodeRow{Data: func() store.JSON { return n.Data }}
		return func(i int) query.Result {
			n = &nodes[i]
			row.ID, row.Parent, row.Kind, row.Title = n.ID, n.ParentID, n.Kind, n.Title()
			if refs != nil {
				row.Ref = int32(refs[i])
			}
			return match.Match(&row)
		}
	}
	s.looked += len(nodes)
	return query.Run(s.ctx, len(nodes), 0, worker, func(c query.Chunk) error {
		for _, i := range c.Hits {
			s.hits = append(s.hits, nodes[i].ID)
		}
		s.noTime += c.NoTime
		return nil
	})
}

// nodesSifted is what was found in the data of some of the nodes, which are read by
// their ids in the order in which they came: where one is in the tree is known with it.
type nodesSifted struct {
	dataSifted
	ts       store.TreeStore
	id       string
	match    *query.Matcher
	texts    *treeview.Texts
	from, to treeview.Ref // what is to be decided on
	size     int          // how many batches of ids at once
}

// mostBatches is how many batches of ids one command reads at most; the first reads
// one, so that the first hits come at once.
const mostBatches = 16

// command decides on the next so many batches of nodes.
func (s nodesSifted) command() tea.Cmd {
	return func() tea.Msg {
		s.hits, s.noTime = nil, 0
		for range s.size {
			if s.err = s.batch(); s.err != nil || s.from >= s.to {
				break
			}
		}
		return s
	}
}

// batch reads as many nodes as a store hands out at once, and decides on them.
func (s *nodesSifted) batch() error {
	ids, refs := make([]string, 0, store.MaxNodeIDs), make([]treeview.Ref, 0, store.MaxNodeIDs)
	next := s.to
	s.texts.Scan(s.from, s.to, func(r treeview.Ref, n treeview.Span) bool {
		if len(ids) == store.MaxNodeIDs {
			next = r
			return false
		}
		if n.Known {
			ids, refs = append(ids, string(n.ID)), append(refs, r)
		}
		return true
	})
	s.from = next
	if len(ids) == 0 {
		return nil
	}
	got, err := s.ts.Nodes(s.ctx, s.id, ids)
	if err != nil {
		return err
	}
	nodes, places := make([]store.Node, 0, len(got)), make([]treeview.Ref, 0, len(got))
	for i, node := range got {
		if node != nil {
			nodes, places = append(nodes, *node), append(places, refs[i])
		}
	}
	return s.decide(s.match, nodes, places)
}

func (s nodesSifted) apply(m *Model) tea.Cmd {
	t := &m.tree
	f := &t.filter
	if s.err != nil || s.from >= s.to || s.gen != f.req.gen || !f.req.busy() {
		return s.dataSifted.apply(m)
	}
	f.takeIDs(t.widget.Index(), s.hits, s.noTime)
	f.upto = s.from
	t.showSifted(m, false)
	s.size = min(2*s.size, mostBatches)
	return s.command()
}

// takeIDs adds what was found by its id.
func (f *treeFilter) takeIDs(x *treeview.Index, ids []string, noTime int) {
	var refs []treeview.Ref
	for _, id := range ids {
		if r, ok := x.Find(id); ok {
			refs = append(refs, r)
		}
	}
	f.take(refs, noTime)
}

func (s dataSifted) apply(m *Model) tea.Cmd {
	t := &m.tree
	f := &t.filter
	if s.gen != f.req.gen || !f.req.busy() {
		return nil
	}
	if s.err != nil {
		return t.siftFailed(m, s.gen, s.err)
	}
	x := t.widget.Index()
	f.takeIDs(x, s.hits, s.noTime)
	f.upto = max(f.upto, min(treeview.Ref(s.looked), treeview.Ref(x.Size())))
	if s.next != "" {
		t.showSifted(m, false)
		return nil
	}
	f.upto = treeview.Ref(f.total + 1)
	return t.siftedAll(m, s.gen)
}

// familyHits are the members that match the filter.
type familyHits struct {
	query  *query.Query // nil: everything is shown
	match  *query.Matcher
	ids    []string
	noTime int
}

// sift decides on the members of a family, by the shape of its tree.
func (f *familyRead) sift(ctx context.Context, es store.ExecutionStore, env query.Env) error {
	if f.hits.query == nil || f.index == nil {
		return nil
	}
	sieve := siftExecutions(es, f.hits.query, env)
	if err := sieve.bind(ctx, f.shape()); err != nil {
		return err
	}
	f.hits.match = sieve.match
	for id, mb := range f.members {
		if mb.state {
			continue
		}
		result, err := sieve.decide(ctx, mb.summary)
		if err != nil {
			return err
		}
		switch result {
		case query.Yes:
			f.hits.ids = append(f.hits.ids, id)
		case query.NoTime:
			f.hits.noTime++
		case query.No:
		}
	}
	return nil
}

// shape is the family by its parents, without the rows for states.
func (f *familyRead) shape() *treeview.Index {
	x := treeview.New(treeview.ByArrival)
	for id, mb := range f.members {
		if !mb.state {
			x.Add(treeview.Entry{ID: id, Parent: mb.summary.ParentID})
		}
	}
	return x
}

// showHits shows the members that match; it comes with what was read.
func (t *treePane) showHits(h familyHits) {
	f := &t.filter
	x := t.widget.Index()
	f.req.stop()
	f.of, f.match, f.done, f.err = h.query, h.match, true, nil
	f.hits, f.found, f.noTime, f.total = treeview.NewSet(x.Size()+1), 0, 0, 0
	for _, mb := range t.members {
		if !mb.state {
			f.total++
		}
	}
	for _, id := range h.ids {
		if r, ok := x.Find(id); ok {
			f.take([]treeview.Ref{r}, 0)
		}
	}
	f.noTime = h.noTime
	f.drawn = false
	if h.query != nil && f.bar.query != nil {
		f.drawn = true
		t.widget.SetFilter(append(treeview.Set(nil), f.hits...), treeview.Elided)
	} else {
		t.widget.ClearFilter()
	}
}

// note says what came of the filter.
func (f *treeFilter) note(m *Model, x *treeview.Index) term.Text {
	switch {
	case f.err != nil:
		return term.Lit("not decided: ").Plus(m.term.SanitiseN(f.err.Error(), 60))
	case f.bar.query == nil:
		return term.Text{}
	case f.of != f.bar.query:
		return term.Lit("waits for the tree")
	}
	if missing := f.of.Missing(x.Relations()); len(missing) > 0 {
		return term.Lit("no node ").Plus(m.term.SanitiseN(missing[0], 40), term.Lit(" here"))
	}
	if !f.done {
		return term.Lit("… ").Plus(sifted(f.found, int(f.upto)-1, f.noTime))
	}
	return sifted(f.found, f.total-x.Missing(), f.noTime)
}

func (t *treePane) words(*Model) query.Vocabulary {
	v := vocabulary{}
	x := t.widget.Index()
	if t.of.kind == execution {
		n := 0
		for _, mb := range t.members {
			if n++; n > lookedFor {
				break
			}
			v.summary(mb.summary)
		}
		return v.words()
	}
	for _, k := range x.Kinds() {
		v.add("kind", k)
	}
	for i := range min(t.widget.Height(), lookedFor) {
		if _, r, ok := t.widget.At(i); ok && x.Known(r) {
			v.add("id", x.ID(r))
		}
	}
	if r, ok := t.widget.Cursor(); ok {
		v.add("parent", x.ID(r))
	}
	return v.words()
}

// searchable says why there is nothing to go on to.
func searchable(m *Model) string {
	switch f := &m.tree.filter; {
	case f.last == nil:
		return "nothing was looked for; " + m.keyFor("filter") + " does"
	case errors.Is(f.err, query.ErrNoStructure):
		return f.err.Error()
	}
	return ""
}

// findInTree goes to the next match of the last filter, or the one before, in the tree
// as it is shown: what hides a match is unfolded.
func findInTree(by int) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		t := &m.tree
		f := &t.filter
		m.detail.release()
		if f.of != f.last || !f.done {
			if t.of.kind == session && !f.req.busy() {
				f.forget()
				f.pace = pace{}
				m.say("looking through the tree; " + m.keyFor("next-match") + " goes on")
				return t.sift(m)
			}
			m.say("still looking through the tree")
			return nil
		}
		if f.found == 0 {
			m.refused("nothing here matches " + f.last.Text())
			return nil
		}
		wrapped, ok := t.widget.Find(by, f.hits.Has)
		if !ok {
			m.refused("no other match of " + f.last.Text())
			return nil
		}
		if wrapped {
			m.say("round the end of the tree")
		}
		t.touch()
		return t.landed(m)
	}
}

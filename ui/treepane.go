package ui

import (
	"context"
	"errors"
	"math"

	tea "charm.land/bubbletea/v2"

	"treering/store"
	"treering/treeview"
)

// treePane shows a session's tree, or an execution's family and states.
type treePane struct {
	of      subject
	widget  *treeview.Widget
	levels  int // of indent that are drawn
	level   int // to which everything was folded last, -1 for none
	loading bool
	err     error
	gone    bool // the session is not in the store any more
	info    *store.SessionInfo
	last    string // cursor of the last page that was read
	expect  int64  // nodes the session was seen to have
	want    string // id to select once it is there
	members map[string]member
	more    bool // the family goes on beyond what was read
	unsure  bool // it may have members that are not named by those that were read
	req     request
	look    request // whether the session grew; the search for a family's members
	pace    pace
	search  pace // of the search
	filter  treeFilter
	head    int // lines above the rows, as they were drawn last
	told    outlines
	rev     int
	cache   rowCache
}

// foldedRun is how many steps without a branch are one row until they are
// unfolded: about half a small screen, so that branch points show at once.
const foldedRun = 12

func (t *treePane) init() {
	t.widget = treeview.NewWidget(treeview.New(treeview.ByID), treeview.Runs)
	t.levels, t.level = treeview.DefaultLevels, -1
	t.initFilter()
}

// clear shows nothing.
func (t *treePane) clear(m *Model) {
	t.reset(subject{}, treeview.Runs, treeview.ByID)
	m.trail.touch()
}

func (t *treePane) reset(of subject, shape treeview.Shape, order treeview.Order) {
	t.req.stop()
	t.look.stop()
	t.aimFilter(of)
	h := t.widget
	t.widget = treeview.NewWidget(treeview.New(order), shape)
	t.widget.SetHeight(h.Height())
	t.widget.SetRuns(foldedRun)
	t.of, t.loading, t.err, t.gone, t.info = of, false, nil, false, nil
	t.level = -1
	t.last, t.want, t.members, t.more, t.unsure, t.pace, t.search = "", "", nil, false, true, pace{}, pace{}
	t.told = outlines{}
	t.touch()
}

func (t *treePane) touch() {
	t.cache.drop()
	t.rev++
}

func (t *treePane) version() int { return t.rev }

// openSession shows a session's tree, reading it page by page behind the screen.
func (t *treePane) openSession(m *Model, id string) tea.Cmd {
	t.reset(subject{session, id}, treeview.Runs, orderOf(m.ts))
	t.told.begin(m.ts)
	m.screen.bars()
	t.widget.Index().SetPartial(true)
	t.loading = true
	m.trail.touch()
	m.remarked()
	ctx, gen := t.req.begin(m.ctx)
	return tea.Batch(readNodes(m, id, nodesRead{ctx: ctx, gen: gen}, 1), m.detail.follow(m, target{}))
}

// nodesRead is a piece of a session's tree.
type nodesRead struct {
	ctx     context.Context // of the whole reading
	gen     int
	entries []treeview.Entry
	// outlines are the entries' where the store has outlines, and bad what is wrong
	// with the session.
	outlines []store.Outline
	bad      warnings
	reading  store.Reading // how far the store has read the session
	before   bool          // something was listed before it had read all
	marks    *store.Marks  // with the last page, where the store has them
	from     string        // cursor of the last page in it
	next     string
	tail     bool // the pages behind what was read already
	info     *store.SessionInfo
	err      error
}

// pagesAhead is how many pages one command reads once the first is shown.
const pagesAhead = 4

// readNodes reads pages of nodes from out.next on. What is kept of a node is
// what a row shows.
func readNodes(m *Model, id string, out nodesRead, pages int) tea.Cmd {
	ctx, ts, told, wrong := out.ctx, m.ts, m.tree.told, m.warningsOf()
	return func() tea.Msg {
		out.entries, out.outlines = nil, nil
		if out.info == nil {
			info, err := ts.Session(ctx, id)
			if err != nil {
				out.err = err
				return out
			}
			out.info = &info
		}
		for range pages {
			next, err := told.page(ctx, ts, id, &out)
			if err != nil {
				out.err = err
				return out
			}
			out.from, out.next = out.next, next
			if out.next == "" {
				if out.bad, out.err = wrong(ctx, id); out.err == nil {
					out.marks, out.err = told.marks(ctx, id)
				}
				break
			}
		}
		return out
	}
}

func (r nodesRead) apply(m *Model) tea.Cmd {
	t := &m.tree
	if r.gen != t.req.gen || t.of.kind != session {
		return nil
	}
	if r.err != nil {
		t.req.ends(r.gen)
		t.pace.end(m.now())
		t.pace.failed()
		t.fail(m, r.err)
		return nil
	}
	t.err, t.gone, t.info = nil, false, r.info
	x := t.widget.Index()
	for i, e := range r.entries {
		ref, _ := x.Add(e)
		if len(r.outlines) > 0 {
			t.told.add(ref, r.outlines[i])
		}
	}
	if len(r.entries) > 0 {
		t.widget.Grow()
		t.touch()
		m.trail.touch()
	}
	t.last, t.told.reading = r.from, r.reading
	var next tea.Cmd
	switch {
	case r.next != "":
		next = readNodes(m, t.of.id, r, pagesAhead)
	case t.told.from != nil && (r.tail && int64(x.Len()) < t.expect || r.before && r.reading.Moved || t.told.moved(x, r.bad)),
		r.marks != nil && t.told.tree != "" && t.told.tree != r.marks.Tree:
		return t.reopen(m)
	case r.tail && int64(x.Len()) < t.expect:
		r.tail = false // next is "": from the beginning
		next = readNodes(m, t.of.id, r, pagesAhead)
	default:
		t.req.ends(r.gen)
		x.SetPartial(false)
		t.loading, t.told.bad = false, r.bad
		t.told.mark(x, r.marks)
		m.screen.bars()
		t.aim()
		t.widget.Settle()
		if a := t.told.active; a != 0 && t.want == "" && !t.told.strict && t.widget.Select(x.ID(a)) {
			t.told.strict = true
		}
		t.touch()
		if t.pace.end(m.now()) {
			next = t.reload(m)
		}
	}
	if t.want != "" && t.widget.Select(t.want) {
		t.want = ""
		t.touch()
	}
	return tea.Batch(next, t.refilter(m), t.landed(m))
}

// aim makes the head that the store's program would go on from the active one, or
// else the newest: the way there comes first at every fork. A head that comes later
// elsewhere leaves the rows in their order until the tree is opened again.
func (t *treePane) aim() {
	head := t.told.active
	if head == 0 {
		head = t.widget.Index().LastHead()
	}
	if head != 0 {
		t.widget.MoveActive(head)
	}
}

func (t *treePane) fail(m *Model, err error) {
	if abandoned(err) {
		return
	}
	t.loading = false
	t.touch()
	if errors.Is(err, store.ErrNotFound) {
		t.gone, t.err = true, nil
		return
	}
	m.unread("cannot read the tree", err, &t.err)
}

// landed makes the other panes about the node under the cursor.
func (t *treePane) landed(m *Model) tea.Cmd {
	m.trail.touch()
	switch t.of.kind {
	case session:
		id, ok := t.selectedNode()
		if !ok {
			return m.detail.follow(m, target{})
		}
		return m.detail.follow(m, target{kind: ofNode, session: t.of.id, id: id})
	case execution:
		if id, ok := t.selectedMember(); ok {
			return m.selectMember(id)
		}
	default: // nothing is shown
	}
	return nil
}

// selectedNode is the session's node under the cursor; ok is false on a parent
// that is not in the store, and on a folded run, which is many nodes.
func (t *treePane) selectedNode() (id string, ok bool) {
	r, ok := t.widget.Cursor()
	if !ok || t.of.kind != session || !t.widget.Index().Known(r) || t.widget.OnRun() > 0 {
		return "", false
	}
	return t.widget.Index().ID(r), true
}

// reload looks whether the tree grew, or reads the family again.
func (t *treePane) reload(m *Model) tea.Cmd {
	switch t.of.kind {
	case session:
		if t.loading {
			t.pace.again = true
			return nil
		}
	case execution:
	default:
		return nil
	}
	ok, wait := t.pace.start(m.now())
	if !ok {
		of := t.of
		return m.later(wait, func(m *Model) tea.Cmd {
			if m.tree.of != of {
				return nil
			}
			m.tree.pace.rested()
			return m.tree.reload(m)
		})
	}
	if t.of.kind == execution {
		return t.readFamily(m)
	}
	return t.lookForGrowth(m)
}

// grown is what was seen of a session that is on the screen.
type grown struct {
	gen   int
	info  store.SessionInfo
	nodes int64
	same  bool // the nodes on the screen are still those in the store
	marks *store.Marks
	bad   warnings // where there are marks
	err   error
}

// lookForGrowth counts the session's nodes: they are never changed or removed
// one by one, so a tree of as many nodes with the same root is the same tree.
func (t *treePane) lookForGrowth(m *Model) tea.Cmd {
	ctx, gen := t.look.begin(m.ctx)
	ts, id, told, wrong := m.ts, t.of.id, t.told, m.warningsOf()
	var probe []string
	x := t.widget.Index()
	for _, r := range t.widget.Visible() {
		if x.Known(r) && len(probe) < store.MaxNodeIDs-1 {
			probe = append(probe, x.ID(r))
		}
	}
	if r, ok := t.widget.Cursor(); ok && x.Known(x.Root(r)) {
		probe = append(probe, x.ID(x.Root(r)))
	}
	return func() tea.Msg {
		out := grown{gen: gen, same: true}
		if out.info, out.err = ts.Session(ctx, id); out.err != nil {
			return out
		}
		if out.nodes, out.err = ts.CountNodes(ctx, id); out.err != nil {
			return out
		}
		nodes, err := ts.Nodes(ctx, id, probe)
		if err != nil {
			out.err = err
			return out
		}
		for _, n := range nodes {
			out.same = out.same && n != nil
		}
		if out.marks, out.err = told.marks(ctx, id); out.err == nil && out.marks != nil {
			out.same = out.same && (told.tree == "" || told.tree == out.marks.Tree)
			out.nodes = out.marks.Nodes
			out.bad, out.err = wrong(ctx, id)
		}
		return out
	}
}

func (g grown) apply(m *Model) tea.Cmd {
	t := &m.tree
	if !t.look.ends(g.gen) || t.of.kind != session {
		return nil
	}
	if g.err != nil {
		t.pace.end(m.now())
		t.pace.failed()
		t.fail(m, g.err)
		return nil
	}
	have := int64(t.widget.Index().Len())
	if t.info == nil || !sameExpiry(t.info.ExpiresAt, g.info.ExpiresAt) || t.gone {
		t.touch()
	}
	if t.err != nil {
		t.touch()
	}
	t.info, t.err = &g.info, nil
	switch {
	case t.gone || !g.same || g.nodes < have:
		// The name was deleted and created anew: another tree.
		return t.reopen(m)
	case g.nodes == have:
		if x := t.widget.Index(); x.Partial() { // a reading failed just before its end
			x.SetPartial(false)
			t.widget.Settle()
			t.touch()
		}
		if t.told.mark(t.widget.Index(), g.marks) {
			t.aim()
			t.widget.Grow()
			t.touch()
			m.trail.touch()
		}
		if g.marks != nil && g.bad.count != t.told.bad.count {
			t.told.bad = g.bad
			m.screen.bars()
		}
		if t.pace.end(m.now()) {
			return t.reload(m)
		}
		return nil
	}
	// New nodes are most often the last ones; where they are not, the whole list
	// is read again into the same tree.
	t.loading, t.expect = true, g.nodes
	ctx, gen := t.req.begin(m.ctx)
	return readNodes(m, t.of.id, nodesRead{ctx: ctx, gen: gen, next: t.last, info: &g.info, tail: t.last != ""}, pagesAhead)
}

// reopen reads the session from its beginning, into a new tree.
func (t *treePane) reopen(m *Model) tea.Cmd {
	want, _ := t.selectedNode()
	cmd := t.openSession(m, t.of.id)
	t.want = want
	return cmd
}

func sameExpiry(a, b *float64) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

func (t *treePane) move(m *Model, rows int) tea.Cmd {
	t.want, t.told.strict = "", true // the user goes elsewhere
	if !t.widget.Move(rows) {
		return nil
	}
	t.rev++
	return t.landed(m)
}

func (t *treePane) home(m *Model) tea.Cmd { return t.move(m, -math.MaxInt32) }

func (t *treePane) end(m *Model) tea.Cmd {
	if !t.widget.End() {
		return nil
	}
	t.touch()
	return t.landed(m)
}

// fold folds or unfolds the node under the cursor.
func (t *treePane) fold(m *Model) tea.Cmd {
	if !t.widget.ToggleFold() {
		m.refused("nothing is below it")
		return nil
	}
	t.touch()
	return t.landed(m)
}

// inward folds, or goes to the parent where there is nothing to fold; outward
// unfolds, or goes to the first child.
func (t *treePane) inward(m *Model) tea.Cmd {
	r, ok := t.widget.Cursor()
	if !ok {
		return nil
	}
	// A run is no level: folding it first would hide what a user wants to leave.
	if t.of.kind == execution && t.widget.SetFolded(true) {
		t.touch()
		return t.landed(m)
	}
	if t.widget.Index().Parent(r) == 0 || !t.widget.ToParent() {
		return nil
	}
	t.rev++
	return t.landed(m)
}

func (t *treePane) outward(m *Model) tea.Cmd {
	r, ok := t.widget.Cursor()
	if !ok {
		return nil
	}
	if t.widget.SetFolded(false) {
		t.touch()
		return t.landed(m)
	}
	if t.widget.Index().Leaf(r) {
		return nil
	}
	return t.move(m, 1)
}

// selectNode moves the cursor to a node of the tree.
func (t *treePane) selectNode(m *Model, id string) tea.Cmd {
	t.told.strict = true
	if !t.widget.Select(id) {
		if _, read := t.widget.Index().Find(id); !read && t.want == id {
			return nil // it is selected once it is read
		}
		m.refused("node " + id + " is not among the rows: the filter leaves it out")
		return nil
	}
	t.touch()
	return t.landed(m)
}

func (t *treePane) nextChange(m *Model) float64 {
	in := math.Inf(1)
	for _, r := range t.widget.Visible() {
		if t.members == nil {
			break
		}
		if mb, ok := t.members[t.widget.Index().ID(r)]; ok {
			for _, tm := range mb.timers {
				in = m.sooner(in, tm.FireAt, false)
			}
		}
	}
	if t.info != nil && t.info.ExpiresAt != nil {
		in = m.sooner(in, *t.info.ExpiresAt, false)
	}
	return in
}

// related reports whether one of the executions is a member of the family on the
// screen.
func (t *treePane) related(ids map[string]bool) bool {
	if t.of.kind != execution {
		return false
	}
	if ids[t.of.id] {
		return true
	}
	for id := range ids {
		if _, ok := t.members[id]; ok {
			return true
		}
	}
	return false
}

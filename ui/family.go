package ui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/store/query"
	"treering/treeview"
	"treering/ui/paint"
	"treering/ui/when"
)

// member is one execution of the family on the screen.
type member struct {
	summary store.Summary
	current map[string]store.ChildState // children of the present entry, by id
	timers  []store.Timer
	// state marks a row that stands for the state its execution is in; its children
	// are those of that state.
	state bool
	// stuck are those children that will never report back.
	stuck []string
}

// maxFamily bounds how many members are read, maxFamilyTimers for how many of
// them the timers are looked up.
const (
	maxFamily       = 2000
	maxFamilyTimers = 32
)

// searchAfter is how long an execution has to be looked at before the store is
// searched for its family: a search reads many rows, and a cursor that is held
// down passes many executions.
const searchAfter = 150 * time.Millisecond

// stateID is the row id of the state an execution is in. No execution of a store
// of ours has such an id.
func stateID(execution string) string { return "\x00state\x00" + execution }

// openFamily shows an execution's family. Where it is on the screen already,
// only the cursor moves.
func (t *treePane) openFamily(m *Model, id string) tea.Cmd {
	if t.of.kind == execution && t.members != nil && !t.gone {
		if _, ok := t.members[id]; ok && t.widget.Select(id) {
			t.of.id = id
			t.want = ""
			t.touch()
			m.trail.touch()
			return nil
		}
	}
	t.reset(subject{execution, id}, treeview.Nested, treeview.ByID)
	t.loading, t.want = true, id
	m.trail.touch()
	t.pace.start(m.now())
	t.search.ready = m.now().Add(searchAfter)
	return t.readFamily(m)
}

// familyRead is a family, as far as it was read. The members that others name
// are read by their ids, which is quick whatever the store holds; whole is set
// where the store was also searched for children that nobody names.
type familyRead struct {
	gen     int
	whole   bool
	index   *treeview.Index
	members map[string]member
	hits    familyHits
	more    bool
	err     error
}

// readFamily reads what can be read by id: the execution with its ancestors, the
// members that were found before, and the children they name now.
func (t *treePane) readFamily(m *Model) tea.Cmd {
	ctx, gen := t.req.begin(m.ctx)
	es, of := m.es, t.of.id
	ids := []string{of}
	for id, mb := range t.members {
		if !mb.state && id != of {
			ids = append(ids, id)
		}
	}
	by, env := t.filter.bar.query, m.queryEnv()
	return func() tea.Msg {
		out := familyRead{gen: gen, members: map[string]member{}, hits: familyHits{query: by}}
		out.err = out.byID(ctx, es, ids)
		return out.finish(ctx, es, env)
	}
}

// searchFamily reads the whole family by parent_id, since the children maps
// forget children that returned. A store may have to look at every row for it.
func (t *treePane) searchFamily(m *Model) tea.Cmd {
	ok, wait := t.search.start(m.now())
	if !ok {
		of := t.of
		return m.later(wait, func(m *Model) tea.Cmd {
			if m.tree.of != of {
				return nil
			}
			m.tree.search.rested()
			return m.tree.searchFamily(m)
		})
	}
	ctx, gen := t.look.begin(m.ctx)
	es, top := m.es, t.of.id
	for r, ok := t.widget.Index().Find(top); ok && r != 0; r = t.widget.Index().Parent(r) {
		if id := t.widget.Index().ID(r); t.members[id].summary.ID == id {
			top = id
		}
	}
	by, env := t.filter.bar.query, m.queryEnv()
	return func() tea.Msg {
		out := familyRead{gen: gen, whole: true, members: map[string]member{}, hits: familyHits{query: by}}
		out.err = out.descend(ctx, es, top)
		return out.finish(ctx, es, env)
	}
}

func (f familyRead) finish(ctx context.Context, es store.ExecutionStore, env query.Env) familyRead {
	if f.err == nil {
		f.err = f.annotate(ctx, es)
	}
	if f.err == nil {
		f.build()
		f.err = f.sift(ctx, es, env)
	}
	return f
}

// summaryOf reads what is known of an execution. A row that cannot be read whole
// is a summary too.
func summaryOf(ctx context.Context, es store.ExecutionStore, id string) (store.Summary, error) {
	s, _, err := inspect(ctx, es, id)
	return s, err
}

func inspect(ctx context.Context, es store.ExecutionStore, id string) (store.Summary, *store.Execution, error) {
	s, exe, err := store.Inspect(ctx, es, id)
	var bad *store.RowError
	if errors.As(err, &bad) {
		s = store.SummaryOfRow(id, s.DefinitionID, s.Version, bad.Raw)
		if s.Bad == nil {
			s.Bad = bad
		}
		return s, nil, nil
	}
	return s, exe, err
}

// byID reads those executions, their parents, and the children they name. One of
// them has to be there: a family goes on without a member that was deleted.
func (f *familyRead) byID(ctx context.Context, es store.ExecutionStore, ids []string) error {
	seen := map[string]bool{}
	for n := 0; n < len(ids); n++ {
		id := ids[n]
		if seen[id] {
			continue
		}
		seen[id] = true
		if len(f.members) >= maxFamily {
			f.more = true
			break
		}
		s, exe, err := inspect(ctx, es, id)
		if errors.Is(err, store.ErrNotFound) {
			continue // only named, or purged since
		}
		if err != nil {
			return err
		}
		mb := member{summary: s}
		if s.ParentID != nil {
			ids = append(ids, *s.ParentID)
		}
		if exe != nil {
			mb.current = map[string]store.ChildState{}
			for _, c := range exe.ChildStates() {
				mb.current[c.ID] = c
				ids = append(ids, c.ID)
			}
		}
		f.members[id] = mb
	}
	if len(f.members) == 0 {
		return &store.NotFoundError{What: "execution", ID: ids[0]}
	}
	return nil
}

// descend reads the members from the top down.
func (f *familyRead) descend(ctx context.Context, es store.ExecutionStore, top string) error {
	if s, err := summaryOf(ctx, es, top); err == nil {
		f.members[top] = member{summary: s}
	} else if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	for queue := []string{top}; len(queue) > 0; queue = queue[1:] {
		parent := queue[0]
		err := store.All(func(req store.PageRequest) (store.Page[store.Summary], error) {
			return es.ListExecutions(ctx, store.ExecutionFilter{ParentID: &parent}, req)
		}, func(s store.Summary) error {
			if _, ok := f.members[s.ID]; ok {
				return nil
			}
			if len(f.members) >= maxFamily {
				f.more = true
				return nil
			}
			f.members[s.ID] = member{summary: s}
			queue = append(queue, s.ID)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// annotate reads what a family says besides its summaries: who waits for whom,
// and the timers.
func (f *familyRead) annotate(ctx context.Context, es store.ExecutionStore) error {
	parents := map[string]bool{}
	for _, mb := range f.members {
		if mb.summary.ParentID != nil {
			parents[*mb.summary.ParentID] = true
		}
	}
	for id, mb := range f.members {
		if parents[id] && mb.summary.Bad == nil && mb.current == nil {
			_, exe, err := store.Inspect(ctx, es, id)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			if exe != nil {
				mb.current = map[string]store.ChildState{}
				for _, c := range exe.ChildStates() {
					mb.current[c.ID] = c
				}
			}
		}
		if len(f.members) <= maxFamilyTimers {
			page, err := es.ListTimers(ctx, store.QueueFilter{ExecutionID: &id}, store.PageRequest{})
			if err != nil && !errors.Is(err, store.ErrMissingTable) {
				return err
			}
			mb.timers = page.Items
		}
		f.members[id] = mb
	}
	for id, mb := range f.members {
		if s := mb.summary; s.Status.Is(store.Done) || s.Status.Is(store.Cancelled) || s.Status.Is(store.Failed) {
			continue
		}
		for child, c := range mb.current {
			cm, ok := f.members[child]
			if ok && !c.Finished && (cm.summary.Status.Is(store.Failed) || cm.summary.Status.Is(store.Cancelled)) {
				mb.stuck = append(mb.stuck, child)
			}
		}
		slices.Sort(mb.stuck)
		f.members[id] = mb
	}
	return nil
}

// build makes the tree: children of the state an execution is in hang below a
// row for that state, earlier ones below the execution itself.
func (f *familyRead) build() {
	f.index = treeview.New(treeview.ByID)
	for id, mb := range f.members {
		f.index.Add(treeview.Entry{ID: id, Parent: f.parentRow(id, mb), Title: id})
	}
	states := map[string]member{}
	for id, mb := range f.members {
		if mb.summary.ActivePath == nil {
			continue
		}
		for child := range mb.current {
			if _, ok := f.members[child]; ok {
				states[stateID(id)] = member{summary: mb.summary, current: mb.current, stuck: mb.stuck, state: true}
				f.index.Add(treeview.Entry{ID: stateID(id), Parent: &id, Title: id})
				break
			}
		}
	}
	for id, mb := range states {
		f.members[id] = mb
	}
}

// parentRow is the row that a member hangs on.
func (f *familyRead) parentRow(id string, mb member) *string {
	if mb.summary.ParentID == nil {
		return nil
	}
	parent := *mb.summary.ParentID
	if p, ok := f.members[parent]; ok && p.summary.ActivePath != nil {
		if _, now := p.current[id]; now {
			row := stateID(parent)
			return &row
		}
	}
	return &parent
}

func (f familyRead) apply(m *Model) tea.Cmd {
	t := &m.tree
	req, pace := &t.req, &t.pace
	if f.whole {
		req, pace = &t.look, &t.search
	}
	if t.of.kind != execution || !req.ends(f.gen) {
		return nil
	}
	again := pace.end(m.now())
	var next []tea.Cmd
	switch {
	case !f.whole && again:
		next = append(next, t.reload(m))
	case f.whole && again:
		next = append(next, t.searchFamily(m))
	}
	if f.err != nil {
		pace.failed()
		t.failFamily(m, f.err)
		return tea.Batch(next...)
	}
	t.err, t.gone = nil, false
	if f.whole {
		t.loading = false
		// What was read by id meanwhile is newer.
		for id, mb := range t.members {
			if have, ok := f.members[id]; ok && !mb.state && have.summary.Version < mb.summary.Version {
				f.members[id] = mb
			}
		}
	}
	t.showFamily(f)
	if _, ok := t.members[t.of.id]; !ok {
		// What the family was opened with is not there any more; the others are.
		if id, ok := t.selectedMember(); ok {
			t.of.id = id
		}
	}
	m.trail.touch()
	if !f.whole && t.unsure {
		t.unsure = false
		next = append(next, t.searchFamily(m))
	}
	if id, ok := t.selectedMember(); ok && id != m.member {
		next = append(next, m.selectMember(id))
	}
	return tea.Batch(next...)
}

func (t *treePane) failFamily(m *Model, err error) {
	if abandoned(err) {
		return
	}
	t.loading = false
	t.touch()
	if errors.Is(err, store.ErrNotFound) {
		t.gone = true
		return
	}
	m.unread("cannot read the family", err, &t.err)
}

// showFamily puts the members on the screen; cursor and folds stay.
func (t *treePane) showFamily(f familyRead) {
	// A state that was left has no row any more; its execution still has.
	if at, ok := t.widget.Cursor(); ok && t.want == "" {
		if mb := t.members[t.widget.Index().ID(at)]; mb.state && !f.members[stateID(mb.summary.ID)].state {
			t.want = mb.summary.ID
		}
	}
	t.members, t.more = f.members, f.more
	t.widget.SetIndex(f.index)
	t.showHits(f.hits)
	if t.want != "" {
		t.widget.Select(t.want)
		t.want = ""
	}
	t.touch()
}

// selectedMember is the execution under the cursor: of a state's row the one
// that is in the state.
func (t *treePane) selectedMember() (id string, ok bool) {
	r, ok := t.widget.Cursor()
	if !ok || t.of.kind != execution {
		return "", false
	}
	id = t.widget.Index().ID(r)
	mb, ok := t.members[id]
	if !ok {
		return id, true // named as a parent, and not in the store
	}
	return mb.summary.ID, true
}

func (t *treePane) memberRow(m *Model, i int, r treeview.Ref, w int, look look) string {
	x, flat := t.widget.Index(), t.widget.Flat()
	mb, ok := t.members[x.ID(r)]
	glow := still
	if ok && !mb.state {
		glow = m.glowOf(glowExecution(x.ID(r)))
	}
	l := rowGlow(m, w, look, glow)
	l.Put(m.theme.Dim, flat.Gutter(i, m.theme.Tree, t.levels))
	switch {
	case !ok:
		return l.Plain(m.term.SanitiseN(x.ID(r), w)).Put(m.theme.Warn, flat.Note(i, m.theme.Tree, m.term)).String()
	case mb.state:
		t.stateText(m, l, mb)
	default:
		t.memberText(m, l, mb, shortMember(x, r), x.Leaf(r) || !t.hasState(x, r))
	}
	if ok && !mb.state {
		if at := label(m.marks.on(t.of, x.ID(r))); !at.Empty() {
			l.Gap(2).Put(m.theme.Bold, at)
		}
	}
	return l.Put(m.theme.Dim, flat.Note(i, m.theme.Tree, m.term)).String()
}

// hasState reports whether the state that the execution is in has a row.
func (t *treePane) hasState(x *treeview.Index, r treeview.Ref) bool {
	_, ok := x.Find(stateID(x.ID(r)))
	return ok
}

// shortMember is a member's id without that of the execution above it.
func shortMember(x *treeview.Index, r treeview.Ref) string {
	id := x.ID(r)
	for p := range x.Ancestors(r) {
		if rest, ok := strings.CutPrefix(id, x.ID(p)+":"); ok && rest != "" {
			return rest
		}
	}
	return id
}

func (t *treePane) stateText(m *Model, l *paint.Line, mb member) {
	l.Put(m.theme.Info, m.theme.Here.Plus(term.Spaces(1)))
	l.Put(m.theme.Bold, m.term.SanitiseN(*mb.summary.ActivePath, 60))
	if len(mb.stuck) > 0 {
		child := t.members[mb.stuck[0]].summary
		l.Put(m.theme.Error, term.Lit("  stuck: a child is ").Plus(statusText(m.term, child)))
	}
	open := 0
	for _, c := range mb.current {
		if !c.Finished {
			open++
		}
	}
	if open > 0 {
		l.Plain(term.Lit("  waits for " + treeview.Grouped(int64(open)) + " of " + treeview.Grouped(int64(len(mb.current)))))
	}
}

func (t *treePane) memberText(m *Model, l *paint.Line, mb member, name string, path bool) {
	s := mb.summary
	// At the narrowest the status has to stay on the screen, so the name yields.
	room := max(min(l.Left()-statusWidth-2, 48), 8)
	l.Plain(m.term.Sanitise(name).TruncateMiddle(room, "…")).Gap(2)
	l.Put(m.theme.Status(s.Status), statusText(m.term, s))
	if s.Outcome != nil && *s.Outcome != "" {
		l.Plain(term.Spaces(1).Plus(m.term.SanitiseN(*s.Outcome, 40)))
	}
	if path && s.ActivePath != nil && *s.ActivePath != "" {
		// A region's path begins with the region, which its name says already.
		active := strings.TrimPrefix(*s.ActivePath, s.RootPath+".")
		l.Plain(term.Spaces(2).Plus(m.term.SanitiseN(active, 60)))
	}
	if was, ok := m.trace.past(s.ID); ok {
		l.Put(m.theme.Bold, term.Lit("  step "+treeview.Grouped(was.Index)+": ").Plus(pastState(m.term, was.Step)))
	}
	for _, tm := range mb.timers {
		left := m.until(tm.FireAt)
		if left > 0 {
			l.Put(m.theme.Info, term.Lit("  timer in "+when.Distance(left, false)))
		} else {
			l.Put(m.theme.Warn, term.Lit("  timer overdue by "+when.Distance(left, false)))
		}
	}
	if s.Bad == nil {
		l.Put(m.theme.Dim, term.Lit("  v"+treeview.Grouped(s.Version)))
	}
	if s.DefinitionID != "" && s.ParentID == nil {
		l.Put(m.theme.Dim, term.Spaces(2).Plus(m.term.SanitiseN(s.DefinitionID, 40)))
	}
	if len(s.Drift) > 0 {
		l.Put(m.theme.Error, term.Lit("  drift"))
	}
}

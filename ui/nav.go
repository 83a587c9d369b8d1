package ui

import (
	"context"
	"math"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/store/query"
	"treering/treeview"
	"treering/ui/layout"
)

// navView is one list of the navigator.
type navView uint8

const (
	sessionsView navView = iota
	executionsView
	familiesView
)

var (
	navNames      = [...]string{sessionsView: "Sessions", executionsView: "Executions", familiesView: "Families"}
	navShortNames = [...]string{sessionsView: "Sess", executionsView: "Exec", familiesView: "Fam"}
)

// navigator lists what the store holds.
type navigator struct {
	views    []navView // those the store has
	view     navView
	chosen   bool // the view was decided, by what there is or by a key
	entered  bool // the first list has come
	sessions pager[store.SessionInfo]
	execs    pager[store.Summary]
	families families
	bySess   filterBar // of the sessions
	byExec   filterBar // of the executions and the families
	latest   bool      // executions and families by their last activity
	head     int       // lines above the rows, as it was drawn last
	rev      int
}

func (n *navigator) init(m *Model) {
	n.bySess = filterBar{subject: query.Sessions, changed: n.sieved, drawn: n.touch, seen: n.sessionWords}
	n.byExec = filterBar{subject: query.Executions, changed: n.sieved, drawn: n.touch, seen: n.executionWords}
	if m.ts != nil {
		n.views = append(n.views, sessionsView)
		n.sessions = pager[store.SessionInfo]{
			what:  "the sessions",
			id:    func(s store.SessionInfo) string { return s.ID },
			moved: func(m *Model, byUser bool) tea.Cmd { return n.follow(m, sessionsView, byUser) },
			came:  func(m *Model) tea.Cmd { return n.choose(m) },
		}
	}
	if m.es != nil {
		n.views = append(n.views, executionsView, familiesView)
		n.execs = pager[store.Summary]{
			what:  "the executions",
			id:    func(s store.Summary) string { return s.ID },
			moved: func(m *Model, byUser bool) tea.Cmd { return n.follow(m, executionsView, byUser) },
			came:  func(m *Model) tea.Cmd { return n.choose(m) },
		}
		n.families.init()
	}
	n.aim(m)
	if len(n.views) > 0 {
		n.view = n.views[0]
	}
	n.chosen = m.ts == nil || m.es == nil
}

// bar is the filter of the list on the screen.
func (n *navigator) bar() *filterBar {
	if n.view == sessionsView {
		return &n.bySess
	}
	return &n.byExec
}

// aim makes the lists read what the filters let through. The store selects what it
// can.
func (n *navigator) aim(m *Model) {
	var atStore query.Pushdown
	if q := n.bySess.query; q != nil {
		atStore = q.Pushdown()
	}
	sessions := atStore.Sessions
	if ts := m.ts; ts != nil {
		n.sessions.fetch = func(ctx context.Context, req store.PageRequest) (store.Page[store.SessionInfo], error) {
			return ts.ListSessions(ctx, sessions, req)
		}
	}
	atStore = query.Pushdown{}
	if q := n.byExec.query; q != nil {
		atStore = q.Pushdown()
	}
	executions := atStore.Executions
	if es := m.es; es != nil {
		n.execs.fetch = func(ctx context.Context, req store.PageRequest) (store.Page[store.Summary], error) {
			return es.ListExecutions(ctx, executions, req)
		}
	}
	n.sessions.sift, n.execs.sift = nil, nil
	if q := n.bySess.query; q != nil {
		n.sessions.sift = func() decider[store.SessionInfo] { return siftSessions(q, m.queryEnv(), m.siftedSession()) }
	}
	if q := n.byExec.query; q != nil {
		n.execs.sift = func() decider[store.Summary] { return siftExecutions(m.es, q, m.queryEnv()).decide }
	}
}

// sieved shows what matches the filter of the list on the screen.
func (n *navigator) sieved(m *Model) tea.Cmd {
	n.aim(m)
	n.touch()
	if n.view == sessionsView {
		return n.sessions.restart(m)
	}
	cmds := []tea.Cmd{n.execs.restart(m)}
	if n.families.started {
		cmds = append(cmds, n.families.restart(m))
	}
	return tea.Batch(cmds...)
}

func (n *navigator) sessionWords(*Model) query.Vocabulary {
	v := vocabulary{}
	for _, s := range n.sessions.items[:min(len(n.sessions.items), lookedFor)] {
		v.add("kind", s.Kind)
		v.add("id", s.ID)
	}
	return v.words()
}

func (n *navigator) executionWords(*Model) query.Vocabulary {
	v := vocabulary{}
	for _, s := range n.execs.items[:min(len(n.execs.items), lookedFor)] {
		v.summary(s)
	}
	return v.words()
}

// summary adds what an execution has in its fields.
func (v vocabulary) summary(s store.Summary) {
	v.add("status", string(s.Status))
	v.add("definition", s.DefinitionID)
	v.add("id", s.ID)
	v.add("outcome", deref(s.Outcome))
	v.add("state", deref(s.ActivePath))
	v.add("parent", deref(s.ParentID))
}

// start reads the first page of everything: which list is shown first depends
// on what there is.
func (n *navigator) start(m *Model) tea.Cmd {
	if m.ts == nil && m.es == nil {
		return m.queues.aim(m) // a transport alone: no list comes that would say so
	}
	return tea.Batch(n.sessions.load(m), n.execs.load(m))
}

// choose decides what is shown first: the sessions if there are any.
func (n *navigator) choose(m *Model) tea.Cmd {
	if n.chosen {
		n.enter(m)
		return n.resume(m)
	}
	if !n.sessions.started || !n.execs.started {
		return nil
	}
	n.chosen = true
	if len(n.sessions.items) == 0 && len(n.execs.items) > 0 {
		n.view = executionsView
	}
	n.enter(m)
	if cmd := n.resume(m); cmd != nil {
		return tea.Batch(cmd, m.queues.aim(m))
	}
	return tea.Batch(n.follow(m, n.view, true), m.queues.aim(m)) // which are the whole store's where nothing is listed
}

// enter gives the tree the focus where the first list to come holds one session and there is
// nothing else to choose from: the keys that move then move in what was opened.
func (n *navigator) enter(m *Model) {
	if n.entered || !n.sessions.started || m.es != nil && !n.execs.started {
		return
	}
	n.entered = true
	alone := len(n.sessions.items) == 1 && n.sessions.done && len(n.execs.items) == 0
	if alone && m.focus == layout.Navigator && !n.sessions.held && !n.bySess.on() {
		m.setFocus(layout.Tree)
	}
}

// follow makes the panes about what the cursor of a list is on, if that list is
// the one on the screen. Where the cursor moved because its item went away, a
// user who is at work in another pane is left there.
func (n *navigator) follow(m *Model, of navView, byUser bool) tea.Cmd {
	if !n.chosen || of != n.view || !byUser && m.focus != layout.Navigator && m.subject.kind != nothing {
		return nil
	}
	s := n.selected()
	if m.focus == layout.Navigator || s.kind == nothing {
		m.detail.release()
	}
	return m.show(s)
}

// selected is what the cursor is on.
func (n *navigator) selected() subject {
	switch n.view {
	case sessionsView:
		if s, ok := n.sessions.selected(); ok {
			return subject{session, s.ID}
		}
	case executionsView:
		if s, ok := n.execs.selected(); ok {
			return subject{execution, s.ID}
		}
	case familiesView:
		if id, ok := n.families.selected(); ok {
			return subject{execution, id}
		}
	}
	return subject{}
}

// turn shows the next list, or the one before.
func (n *navigator) turn(m *Model, by int) tea.Cmd {
	for i, v := range n.views {
		if v == n.view {
			return n.setView(m, n.views[(i+by+len(n.views))%len(n.views)])
		}
	}
	return nil
}

func (n *navigator) setView(m *Model, v navView) tea.Cmd {
	if v == n.view {
		return nil
	}
	n.view, n.chosen = v, true
	n.touch()
	var cmd tea.Cmd
	if v == familiesView && (!n.families.started || n.families.stale) {
		cmd = n.families.load(m)
	}
	return tea.Batch(cmd, n.follow(m, v, true))
}

// selectExecution moves the cursor to an execution, if the list on the screen
// has it.
func (n *navigator) selectExecution(m *Model, id string) (tea.Cmd, bool) {
	if n.view == familiesView {
		if !n.families.widget.Select(id) {
			return nil, false
		}
		n.touch()
		return n.follow(m, familiesView, true), true
	}
	turned := n.setView(m, executionsView)
	cmd, found := n.execs.selectID(m, id)
	return tea.Batch(turned, cmd), found
}

// reload reads again what the lists show.
func (n *navigator) reload(m *Model) tea.Cmd {
	return tea.Batch(n.sessions.load(m), n.execs.load(m), n.reloadFamilies(m))
}

// reloadFamilies reads the families again, or when they are looked at: all executions
// are read for it.
func (n *navigator) reloadFamilies(m *Model) tea.Cmd {
	switch {
	case !n.families.started:
		return nil
	case n.view != familiesView:
		n.families.stale = true
		return nil
	}
	return n.families.load(m)
}

// edited shows executions that are others now. With whole there may be more to it.
func (n *navigator) edited(m *Model, execs []store.Summary, whole bool) tea.Cmd {
	p := &n.execs
	if whole || n.byExec.query != nil || p.order != nil || p.req.busy() || !p.started || p.err != nil {
		return tea.Batch(p.load(m), n.reloadFamilies(m))
	}
	for _, s := range execs {
		p.replace(s)
	}
	p.touch()
	return n.reloadFamilies(m)
}

// move moves the cursor; rows may be far beyond either end.
func (n *navigator) move(m *Model, rows int) tea.Cmd {
	n.rev++
	switch n.view {
	case sessionsView:
		return n.sessions.move(m, rows)
	case executionsView:
		return n.execs.move(m, rows)
	default:
		n.families.widget.Move(rows)
		return n.follow(m, familiesView, true)
	}
}

func (n *navigator) home(m *Model) tea.Cmd { return n.move(m, -math.MaxInt32) }

func (n *navigator) end(m *Model) tea.Cmd {
	n.rev++
	switch n.view {
	case sessionsView:
		return n.sessions.end(m)
	case executionsView:
		return n.execs.end(m)
	default:
		n.families.widget.End()
		return n.follow(m, familiesView, true)
	}
}

func (n *navigator) height() int {
	switch n.view {
	case sessionsView:
		return n.sessions.scroll.Height
	case executionsView:
		return n.execs.scroll.Height
	default:
		return n.families.height
	}
}

func (n *navigator) touch() {
	n.sessions.touch()
	n.execs.touch()
	n.families.touch()
	n.rev++
}

func (n *navigator) version() int {
	return n.rev + n.sessions.rev + n.execs.rev + n.families.rev
}

// nextChange is after how many seconds an expiry on the screen reads
// differently.
func (n *navigator) nextChange(m *Model) float64 {
	in := math.Inf(1)
	if n.view == sessionsView {
		for _, s := range n.sessions.visible() {
			if s.ExpiresAt != nil {
				in = m.sooner(in, *s.ExpiresAt, false)
			}
		}
	}
	return in
}

// title shortens the names of the lists until the counts have room, and then the
// counts.
func (n *navigator) title(m *Model) (name, note term.Text) {
	if len(n.views) == 0 {
		return term.Lit("Nothing"), note
	}
	room := m.screen.layout.Rects[layout.Navigator].W - 4
	notes := n.counted(m)
	for _, note := range notes {
		for form := longNames; form <= onlyName; form++ {
			if form == longNames && len(n.views) == 3 && room < 52 {
				continue
			}
			name = n.names(form)
			if note == "" || name.Width()+term.Lit(note).Width()+4 <= room {
				return name, term.Lit(note)
			}
		}
	}
	return name, term.Lit(notes[len(notes)-1])
}

// Forms of the lists' names: all long, the others short, all short, one alone.
const (
	longNames = iota
	shortOthers
	shortNames
	onlyName
)

func (n *navigator) names(form int) (name term.Text) {
	for _, v := range n.views {
		label := navNames[v]
		if form >= shortNames || form == shortOthers && v != n.view {
			label = navShortNames[v]
		}
		switch {
		case v == n.view:
			label = "[" + label + "]"
		case form == onlyName:
			continue
		}
		if !name.Empty() {
			name = name.Plus(term.Spaces(1))
		}
		name = name.Plus(term.Lit(label))
	}
	return name
}

// rows is how many rows the list on the screen has.
func (n *navigator) rows() int {
	switch n.view {
	case sessionsView:
		return len(n.sessions.items)
	case executionsView:
		return len(n.execs.items)
	default:
		shown, _, _ := n.families.shown()
		return shown
	}
}

// atStore reports whether the store does a part of the filtering, so that it is not
// known how much was looked at.
func (n *navigator) atStore() bool {
	if len(n.views) == 0 || n.bar().query == nil {
		return false
	}
	p := n.bar().query.Pushdown()
	switch n.view {
	case sessionsView:
		return len(p.Sessions.Kinds) > 0
	case executionsView:
		return len(p.Executions.Status) > 0 || p.Executions.DefinitionID != nil || p.Executions.ParentID != nil
	default:
		return false
	}
}

// timeless says how many rows the filter could not decide on.
func (n *navigator) timeless() term.Text {
	left := n.execs.noTime
	switch n.view {
	case sessionsView:
		left = n.sessions.noTime
	case familiesView:
		left = n.families.noTime
	}
	switch {
	case left == 1:
		return term.Lit("1 has no time")
	case left > 1:
		return term.Lit(treeview.Grouped(int64(left)) + " have no time")
	}
	return term.Text{}
}

// counted says how many are shown of how many were looked at, of how many there
// are, and that the list is being read: in words, and in as few as possible. It
// is empty where nothing was read.
func (n *navigator) counted(m *Model) []string {
	shown, looked, done, read, busy, total := n.rows(), 0, false, false, false, "?"
	switch n.view {
	case sessionsView:
		p := &n.sessions
		_, _, read = p.length()
		looked, done, busy = p.looked, p.done, p.toEnd && p.req.busy()
		if m.info.Sessions != nil && !done {
			total = treeview.Grouped(*m.info.Sessions)
		}
	case executionsView:
		p := &n.execs
		_, _, read = p.length()
		looked, done, busy = p.looked, p.done, p.toEnd && p.req.busy()
		total = m.counts.total(func(c store.Counts) int64 { return c.Executions })
	case familiesView:
		_, looked, done = n.families.shown()
		read, busy = looked > 0 || done, !done && n.families.req.busy()
		total = m.counts.total(func(c store.Counts) int64 { return c.Executions })
	}
	if !read {
		return []string{""}
	}
	few := treeview.Grouped(int64(shown))
	if !done {
		few += "+"
	}
	s := treeview.Grouped(int64(shown))
	atStore := n.atStore()
	switch {
	case atStore && !done:
		// The store filtered: what was looked at there is not known here.
		s = few
	case looked > shown && !done:
		s += " of " + treeview.Grouped(int64(looked)) + " read"
	case looked > shown && !atStore:
		s += " of " + treeview.Grouped(int64(looked))
	}
	if total != "?" && (!done || atStore) {
		s += " of " + total
	} else if !done && !atStore && looked <= shown {
		s += " of ?"
	}
	if busy {
		return []string{"reading… " + s, "… " + s, "… " + few}
	}
	if n.latest && n.view != sessionsView {
		return []string{s + ", latest first", "latest, " + s, s, few}
	}
	return []string{s, few}
}

func (n *navigator) draw(m *Model, w, h int, focused bool) []string {
	var out []string
	if len(n.views) > 0 {
		out = n.bar().lines(m, w, h, n.timeless())
		h -= len(out)
	}
	n.head = len(out)
	var rows []string
	switch n.view {
	case sessionsView:
		rows = n.sessions.draw(w, h, focused, func(s store.SessionInfo, look look) string {
			return drawSession(m, w, s, look)
		})
		if len(rows) == 0 {
			rows = n.emptyLines(m, w, n.sessions.started, n.sessions.err, "session")
		}
	case executionsView:
		rows = n.execs.draw(w, h, focused, func(s store.Summary, look look) string {
			return drawExecution(m, w, s, look)
		})
		if len(rows) == 0 {
			rows = n.emptyLines(m, w, n.execs.started, n.execs.err, "execution")
		}
	case familiesView:
		rows = n.families.draw(m, w, h, focused)
		if len(rows) == 0 {
			rows = n.emptyLines(m, w, n.families.complete, n.families.err, "execution")
		}
	}
	return append(out, rows...)
}

package ui

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/store/locate"
	"treering/tracefeed"
	settings "treering/ui/config"
	"treering/ui/jsondoc"
	"treering/ui/layout"
	"treering/ui/paint"
	"treering/ui/state"
)

// subjectKind says what the panes are about.
type subjectKind uint8

const (
	nothing subjectKind = iota
	session
	execution
)

// subject is what the navigator's cursor is on, or what was jumped to.
type subject struct {
	kind subjectKind
	id   string
}

// Model is the explorer's whole state. It is one value behind one pointer.
type Model struct {
	ctx       context.Context
	es        store.ExecutionStore // nil: the store has none
	ts        store.TreeStore      // nil: the store has none
	transport store.Transport      // nil: the store holds none
	info      locate.Info
	opened    *locate.Opened // asked only for what it tells without I/O
	env       []string
	clock     func() time.Time
	after     func(time.Duration, func() tea.Msg) tea.Cmd // runs something later
	zone      *time.Location
	theme     *paint.Theme
	scheme    paint.Scheme // the colours of the theme
	asks      bool         // they go by the background
	ascii     bool
	plain     bool            // there is no screen: lines are written
	term      term.Profile    // how foreign text is shown
	feed      *tracefeed.Feed // nil: the store does not tell of changes
	keys      keyState

	width, height int
	focus         layout.Pane
	lower         layout.Pane // what the shared place shows while the focus is elsewhere
	lowerChosen   bool        // by a key; otherwise it is what there is something in
	zoom          bool

	splits splitState
	mouse  bool // taken from the terminal

	system system // that runs on the store

	made     config // what it was made from
	open     func(ctx context.Context, locator string, prefix *string) (arrival, error)
	visiting request  // the opening of another store
	next     *arrival // the store that is to take this one's place
	resuming subject  // what was looked at the last time, until it is found

	memory    *state.State // what is there at the next start
	forgetful bool         // it was said that nothing can be remembered

	subject subject
	member  string // the execution that trace, detail and queues are about
	state   memberState

	nav    navigator
	tree   treePane
	trail  trailPane
	detail detailPane
	trace  tracePane
	queues queuesPane
	panes  [layout.Queues + 1]pane

	marks   marks
	counts  countsState
	live    liveState
	again   retryState
	status  statusLine
	overlay surface  // nil: nothing stands over the panes
	aid     *overlay // the keys of what is open, before it; nil: they are not shown
	going   request  // the search for what an id belongs to
	dialog  *dialog
	slip    slip // of the dialog that was open last
	writes  writesState
	execute func(*exec.Cmd, tea.ExecCallback) tea.Cmd // gives the terminal to a program for a while
	tick    tickState
	glows   glowState
	hud     hudState
	story   storyState
	meter   *meter
	screen  screen
}

// pane is what the window asks of each of the six.
type pane interface {
	// title is what the pane's rule says: its name, and a note at the far end.
	title(m *Model) (name, note term.Text)
	// draw returns at most h lines of exactly w cells.
	draw(m *Model, w, h int, focused bool) []string
	// version changes with anything that title or draw show.
	version() int
}

// config is what a model is made from.
type config struct {
	opened *locate.Opened
	env    []string
	now    func() time.Time
	after  func(time.Duration, func() tea.Msg) tea.Cmd // nil: by the system's clock
	zone   *time.Location
	ascii  bool
	scheme paint.Scheme
	asks   bool // the terminal is asked for its background
	plain  bool // lines are written, there is no screen
	// execute gives the terminal to another program for a while; nil: as Bubble Tea
	// does.
	execute func(*exec.Cmd, tea.ExecCallback) tea.Cmd
	feed    *tracefeed.Feed
	meter   *meter // of the loop; nil: none measures

	settings   settings.Config
	complaints []string     // about settings and keys
	memory     *state.State // nil: nothing outlives the model
	driver     Driver       // runs on the store; nil: none does
	story      Story        // that is told of the store; nil: none
	passing    bool         // the store is gone afterwards, and not remembered
	open       func(ctx context.Context, locator string, prefix *string) (arrival, error)
}

func newModel(ctx context.Context, c config) *Model {
	m := &Model{
		ctx: ctx, es: c.opened.Executions, ts: c.opened.Trees, transport: c.opened.Transport, info: c.opened.Info, opened: c.opened,
		env: c.env, clock: c.now, zone: c.zone, ascii: c.ascii, feed: c.feed,
		theme: paint.New(c.scheme, c.ascii), scheme: c.scheme, asks: c.asks, term: term.Profile{ASCII: c.ascii},
		focus: layout.Navigator, lower: layout.Detail,
	}
	m.after = c.after
	if m.after == nil {
		m.after = func(wait time.Duration, f func() tea.Msg) tea.Cmd {
			return func() tea.Msg {
				t := time.NewTimer(wait)
				defer t.Stop()
				select {
				case <-t.C:
					return f()
				case <-ctx.Done():
					return nil
				}
			}
		}
	}
	if m.memory = c.memory; m.memory == nil {
		m.memory = state.InMemory()
	}
	m.made, m.open, m.meter = c, c.open, c.meter
	m.system.attach(c.driver)
	m.story.of = c.story
	m.splits.recall(m.memory)
	m.mouse = c.settings.Mouse == nil || *c.settings.Mouse
	m.keys = bind(intents(), c.settings.Keys)
	if m.execute = c.execute; m.execute == nil {
		m.execute = tea.ExecProcess
	}
	if m.plain = c.plain; m.plain {
		wordGlyphs(m.theme)
	}
	m.writes.names.init(m, m.memory)
	m.resuming = m.lastSubject()
	m.nav.init(m)
	m.tree.init()
	m.trace.init()
	m.queues.init(m)
	m.detail.init(m)
	m.panes = [...]pane{nil, &m.nav, &m.tree, &m.trail, &m.detail, &m.trace, &m.queues}
	if m.feed == nil {
		m.live.off = true
	}
	for _, note := range m.info.Notes {
		m.say(note)
		break // the others are one key away, with the rest of what is known of the store
	}
	if n := len(c.complaints); n > 0 {
		// Where they all are comes first: the first of them may be too long for the line.
		text := c.complaints[0]
		if n > 1 {
			text = fmt.Sprintf("%d problems with the settings, %s lists them: %s", n, m.keyFor("about"), text)
		}
		m.refused(text)
	}
	return m
}

// Init starts the first readings, and the following of the store.
func (m *Model) Init() tea.Cmd {
	var ask tea.Cmd
	if m.asks {
		ask = tea.RequestBackgroundColor
	}
	return tea.Batch(ask, m.nav.start(m), m.counts.load(m), m.follow(), m.arrived(), m.watchSystem(), m.turnPage())
}

// now is the time by the explorer's clock.
func (m *Model) now() time.Time { return m.clock() }

// later runs an act after a while, on the program's goroutine.
func (m *Model) later(wait time.Duration, act func(*Model) tea.Cmd) tea.Cmd {
	if wait <= 0 {
		return nil
	}
	return m.after(wait, func() tea.Msg { return answerFunc(act) })
}

// show makes the panes about something else.
func (m *Model) show(s subject) tea.Cmd {
	if s == m.subject {
		return nil
	}
	if s.kind != m.subject.kind {
		m.screen.relayout() // sessions have no trace and leave its room to the detail
	}
	m.subject = s
	m.writes.names.show(s)
	switch s.kind {
	case session:
		m.setMember("")
		m.trace.clear()
		m.suggestLower(layout.Detail)
		return tea.Batch(m.tree.openSession(m, s.id), m.queues.aim(m))
	case execution:
		return tea.Batch(m.selectMember(s.id), m.tree.openFamily(m, s.id))
	default:
		m.setMember("")
		m.trace.clear()
		m.tree.clear(m)
		return tea.Batch(m.detail.clear(), m.queues.aim(m))
	}
}

// setMember notes which execution is looked at.
func (m *Model) setMember(id string) bool {
	if m.member == id {
		return false
	}
	m.member = id
	m.state.reset()
	return true
}

// selectMember makes trace, detail and queues about an execution.
func (m *Model) selectMember(id string) tea.Cmd {
	if !m.setMember(id) {
		return m.detail.follow(m, target{kind: ofExecution, id: id})
	}
	m.trail.touch()
	m.trace.clear()
	m.detail.release()
	return tea.Batch(
		m.detail.follow(m, target{kind: ofExecution, id: id}),
		m.readState(), m.trace.load(m), m.queues.aim(m),
	)
}

// jump goes to an execution from elsewhere.
func (m *Model) jump(id string) tea.Cmd {
	cmd, found := m.nav.selectExecution(m, id)
	if !found {
		cmd = tea.Batch(cmd, m.show(subject{execution, id}))
	}
	m.setFocus(layout.Tree)
	return cmd
}

// setFocus moves the focus.
func (m *Model) setFocus(p layout.Pane) {
	m.focus = p
	if p > layout.Tree {
		m.lower, m.lowerChosen = p, true
	}
	m.screen.relayout()
}

// suggestLower shows a pane in the shared place, unless the user chose one.
func (m *Model) suggestLower(p layout.Pane) {
	if !m.lowerChosen && m.lower != p {
		m.lower = p
		m.screen.relayout()
	}
}

// memberState is what was last read of the execution that is looked at.
type memberState struct {
	summary store.Summary
	exe     *store.Execution // nil where only the summary is known
	known   bool
	err     error
	req     request
}

func (s *memberState) reset() {
	s.req.stop()
	*s = memberState{req: s.req}
}

type stateRead struct {
	gen     int
	summary store.Summary
	exe     *store.Execution
	err     error
	doc     *jsondoc.Doc
}

// readState reads the execution that is looked at.
func (m *Model) readState() tea.Cmd {
	if m.member == "" || m.es == nil {
		return nil
	}
	ctx, gen := m.state.req.begin(m.ctx)
	es, id, w := m.es, m.member, m.writer()
	w.ctx = ctx
	return func() tea.Msg {
		out := stateRead{gen: gen}
		out.summary, out.exe, out.err = store.Inspect(ctx, es, id)
		out.doc = w.execution(id, out.summary, out.exe, out.err)
		return out
	}
}

func (r stateRead) apply(m *Model) tea.Cmd {
	if !m.state.req.ends(r.gen) || abandoned(r.err) {
		return nil
	}
	m.state.summary, m.state.exe, m.state.err, m.state.known = r.summary, r.exe, r.err, true
	if m.detail.target == (target{kind: ofExecution, id: m.member}) {
		m.detail.set(r.doc)
	}
	return nil
}

// refresh reads again what the screen shows, after the store changed or when
// asked to.
func (m *Model) refresh() tea.Cmd {
	m.tree.unsure = true
	cmds := []tea.Cmd{m.nav.reload(m), m.tree.reload(m), m.counts.load(m)}
	if m.member != "" {
		cmds = append(cmds, m.readState(), m.trace.load(m))
	}
	if m.dialog != nil {
		cmds = append(cmds, m.dialog.watch(m))
	}
	return tea.Batch(append(cmds, m.detail.reload(m), m.queues.reload(m))...)
}

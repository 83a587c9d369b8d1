package ui

import (
	"errors"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/store"
	"treering/store/locate"
	"treering/tracefeed"
)

// liveState is whether changes by others are noticed.
type liveState struct {
	off      bool // the store does not tell
	lost     time.Time
	err      error
	glancing bool      // a glance is set for later
	behind   time.Time // since when lists are compared that take long; zero: nothing is
	stale    time.Time // since when the store may show what is old; zero: nothing speaks for that
}

// mostCompared is how many rows of a list are compared to find out what changed in it.
// Of a longer one what the screen shows is read again: cost follows the screen.
const mostCompared = 2000

// newFeed returns what follows a store, from here on. The lists that the screen is
// made of have to be read after it.
func newFeed(o *locate.Opened, now func() time.Time) *tracefeed.Feed {
	return tracefeed.NewFeed(tracefeed.FeedOptions{
		Watcher: o.Watcher, Executions: o.Executions, Trees: o.Trees,
		AllExecutions: o.Executions != nil, Queues: o.Executions != nil, Sessions: o.Trees != nil,
		Most: mostCompared, Changes: true, Counts: true, Uncounted: true, Rest: restFactor, Now: now,
	})
}

// follow waits for news of the store. It is asked again after every answer, so
// that there is never more than one, and not more often than there are frames.
func (m *Model) follow() tea.Cmd {
	if m.feed == nil {
		return nil
	}
	ctx, feed := m.ctx, m.feed
	next := func() tea.Msg {
		b, err := feed.Next(ctx)
		if err != nil {
			return nil // the program ends
		}
		return feedNews(b)
	}
	if m.plain {
		return func() tea.Msg { return background{do: next} }
	}
	return next
}

// background is a command that is no work under way: it waits for something that may
// be long in coming, first for some time. A run that wants to know when it is done
// with what was asked for does not wait for it.
type background struct {
	wait time.Duration
	do   tea.Cmd
}

// storeNews says that something changed, and not what.
type storeNews tracefeed.Update

func (u storeNews) apply(m *Model) tea.Cmd {
	switch {
	case u.Err != nil:
		m.lose(u.Since, u.Err)
	case !u.Since.IsZero():
		m.found(u.Since)
	}
	if !u.Changed && u.Since.IsZero() {
		return nil
	}
	return m.refresh()
}

// lose notes that the store cannot be followed since then.
func (m *Model) lose(since time.Time, err error) {
	m.live.err, m.live.lost = err, since
	m.screen.bars()
	if !errors.Is(err, store.ErrBusy) { // who waits for a lock is told of in the header
		m.failed("cannot follow the store since "+since.In(m.zone).Format("15:04:05"), err)
	}
}

// found notes that it can be again.
func (m *Model) found(since time.Time) {
	locked := errors.Is(m.live.err, store.ErrBusy)
	m.live.err, m.live.lost = nil, time.Time{}
	m.screen.bars()
	if !locked {
		m.say("following the store again; it could not be read since " + since.In(m.zone).Format("15:04:05"))
	}
}

// feedNews is what changed in the store. What it tells is put in its place, and what
// follows from it is read; nothing else is.
type feedNews tracefeed.Batch

func (b feedNews) apply(m *Model) tea.Cmd {
	g := gleaned{changed: b.Changed, unexplained: b.Changed && len(b.Facts) == 0, about: map[string]bool{}, kin: map[string]bool{}}
	for _, f := range b.Facts {
		g.add(m, f)
	}
	behind := b.Since
	if b.Behind == 0 {
		behind = time.Time{}
	}
	if behind != m.live.behind {
		m.live.behind = behind
		m.screen.bars()
	}
	m.standing()
	return tea.Batch(g.apply(m), m.follow())
}

// standing notes how a store on a server stands to others, which failovers change.
func (m *Model) standing() {
	if !m.opened.OnServer() {
		return
	}
	since, why := m.opened.Behind()
	if m.live.stale != since {
		m.live.stale = since
		m.screen.bars()
		switch {
		case since.IsZero():
			m.say("what is shown is up to date again")
		default:
			m.warned("what is shown may be old since " + m.clockOf(since, false) + ": " + why)
		}
	}
	if how, why := m.opened.How(); how != m.info.How || why != m.info.Why {
		m.info.How, m.info.Why = how, why
		m.warned(how + ": " + why)
	}
}

// gleaned is what a batch asks for.
type gleaned struct {
	changed bool // something did, whatever it was
	// unexplained: and it is in none of the lists that are compared.
	unexplained bool
	all         bool            // nothing that is known need be right
	about       map[string]bool // executions that are others now
	kin         map[string]bool // whose children are
	came        bool            // executions came or went
	execs       []store.Summary
	long        map[string]bool // lists that may be others
	counts      *store.Counts
	trees       bool // sessions came, went, or have another time to live
	edits       [tabCount][]queueEdit
	lit         bool // something glows
}

// queueEdit is an entry that came, or one that went.
type queueEdit struct {
	outbox *store.OutboxEntry
	spawn  *store.SpawnEntry
	timer  *store.Timer
	gone   tracefeed.Unqueued
}

func (g *gleaned) add(m *Model, f tracefeed.Fact) {
	switch f := f.(type) {
	case tracefeed.Began:
		g.all = g.all || f.Moved
	case tracefeed.Disconnected:
		m.lose(f.Since, f.Err)
	case tracefeed.Connected:
		m.found(f.Since)
		g.all = true
	case tracefeed.Replaced:
		g.all = true
		m.trace.reader = nil // its indexes are another ring's
	case tracefeed.Stirred:
		if g.long == nil {
			g.long = map[string]bool{}
		}
		g.long[f.List] = true
	case tracefeed.Counted:
		g.counts = &f.Counts
	case tracefeed.ExecutionAdded:
		g.came = true
		g.note(f.Summary)
		g.light(m, glowExecution(f.Summary.ID), added)
	case tracefeed.ExecutionChanged:
		g.note(f.Summary)
		g.light(m, glowExecution(f.Summary.ID), altered)
		g.execs = append(g.execs, f.Summary)
	case tracefeed.ExecutionGone:
		g.came = true
		g.about[f.ID] = true
		g.kin[f.ID] = true
	case tracefeed.Queued:
		switch {
		case f.Outbox != nil:
			g.light(m, glowEntry(outboxTab, strconv.FormatInt(f.Outbox.Seq, 10)), added)
			g.edits[outboxTab] = append(g.edits[outboxTab], queueEdit{outbox: f.Outbox})
		case f.Spawn != nil:
			g.light(m, glowEntry(spawnsTab, strconv.FormatInt(f.Spawn.Seq, 10)), added)
			g.edits[spawnsTab] = append(g.edits[spawnsTab], queueEdit{spawn: f.Spawn})
		case f.Timer != nil:
			g.light(m, glowEntry(timersTab, f.Timer.ExecutionID+"\x00"+f.Timer.Path), added)
			g.edits[timersTab] = append(g.edits[timersTab], queueEdit{timer: f.Timer})
			g.about[f.Timer.ExecutionID] = true // the family shows timers
		}
	case tracefeed.Unqueued:
		tab := outboxTab
		switch f.Queue {
		case tracefeed.Spawns:
			tab = spawnsTab
		case tracefeed.Timers:
			tab = timersTab
			g.about[f.Timer.ExecutionID] = true
		}
		g.edits[tab] = append(g.edits[tab], queueEdit{gone: f})
	case tracefeed.SessionAdded, tracefeed.SessionChanged, tracefeed.SessionGone:
		g.trees = true
	}
}

// glanceAfter is how long what is hardly concerned by a change waits for a look at it:
// what changed is known, and in the same moment more may have.
const glanceAfter = 200 * time.Millisecond

// glance looks, after a while, at the tree and the trace that are on the screen.
func (m *Model) glance() tea.Cmd {
	if m.live.glancing {
		return nil
	}
	m.live.glancing = true
	return m.later(glanceAfter, func(m *Model) tea.Cmd {
		m.live.glancing = false
		if m.tree.of.kind == session {
			return tea.Batch(m.tree.reload(m), m.trace.load(m))
		}
		return m.trace.load(m)
	})
}

func (g *gleaned) light(m *Model, key string, kind glow) {
	m.lights(key, kind)
	g.lit = true
}

func (g *gleaned) note(s store.Summary) {
	g.about[s.ID] = true
	if s.ParentID != nil && s.Version <= 1 {
		g.kin[*s.ParentID] = true
	}
}

func (g *gleaned) apply(m *Model) (cmd tea.Cmd) {
	if g.counts != nil {
		m.counts.told(m, *g.counts)
	}
	if g.all {
		return m.refresh()
	}
	if g.lit {
		defer func() { cmd = tea.Batch(cmd, m.glow()) }()
	}
	var cmds []tea.Cmd
	do := func(c tea.Cmd) {
		if c != nil {
			cmds = append(cmds, c)
		}
	}
	long := g.long[tracefeed.Executions]
	if len(g.execs) > 0 || g.came || long {
		do(m.nav.edited(m, g.execs, g.came || long))
		m.queues.doubt(g.about, long)
	}
	for tab := range g.edits {
		do(m.queues.edit(m, queueTab(tab), g.edits[tab]))
	}
	for tab, list := range [tabCount]string{tracefeed.Outbox, tracefeed.Spawns, tracefeed.Timers} {
		if g.long[list] {
			do(m.queues.reloadTab(m, queueTab(tab)))
		}
	}
	if g.changed {
		m.queues.fleet.stirred()
	}
	if g.changed && m.queues.tab == transportTab {
		do(m.queues.transport.load(m)) // no fact tells of it
	}
	if g.counts == nil && len(g.long) > 0 {
		do(m.counts.load(m))
	}
	if g.trees || g.long[tracefeed.Sessions] {
		do(m.nav.sessions.load(m))
		do(m.detail.reload(m))
	}
	switch m.tree.of.kind {
	case session:
		if g.unexplained || g.trees {
			do(m.tree.reload(m))
		} else if g.changed {
			do(m.glance())
		}
	case execution:
		switch {
		case long || m.tree.related(g.kin):
			m.tree.unsure = true
			do(m.tree.reload(m))
		case m.tree.related(g.about):
			do(m.tree.reload(m))
		}
	}
	if m.member != "" {
		if long || g.about[m.member] {
			do(m.readState())
		}
		switch {
		case g.unexplained || long || g.about[m.member]:
			do(m.trace.load(m))
		case g.changed:
			do(m.glance())
		}
	}
	if m.dialog != nil && g.changed {
		do(m.dialog.watch(m))
	}
	return tea.Batch(cmds...)
}

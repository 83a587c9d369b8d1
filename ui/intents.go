package ui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"treering/ui/layout"
)

// intent is something a user can want: one row of the table from which the
// bindings, the footer and the help are made.
type intent struct {
	ID    string
	Keys  []string      // by default, as keymap.Parse reads them; the first is the one shown
	Panes []layout.Pane // where it applies; nil: everywhere
	Short string        // in the footer, and before the reason why it cannot be used
	Long  string        // in the help
	Foot  int           // its place in the footer, lower first; 0: not there
	Group string        // in the footer: what it has in common with those it stands beside
	Write bool          // it changes the store
	// System: a running system does it, where one is attached.
	System bool

	// Repeat keeps the beginning of its chord pressed, so that the last key alone
	// does it again.
	Repeat bool

	needs func(*Model) string // what the store lacks for it, whatever it is open for; nil: nothing
	why   func(*Model) string // why it cannot be used now; nil: it always can
	do    func(m *Model, key string) tea.Cmd
}

// disabled says why the intent cannot be used now, "" where it can.
func (it *intent) disabled(m *Model) string {
	if it.System && m.system.driver == nil {
		return "no running system is attached, as treering demo has one"
	}
	if it.needs != nil {
		if why := it.needs(m); why != "" {
			return why
		}
	}
	if it.Write && !m.info.Writable {
		if m.info.Foreign {
			return "read-only: another program writes it; treering import copies it"
		}
		return "read-only: start with --rw"
	}
	if it.why != nil {
		return it.why(m)
	}
	return ""
}

// intents returns the table.
func intents() []intent {
	return slices.Concat(readIntents(), scrubIntents(), treeIntents(), detailIntents(), windowIntents(), writeIntents(), driverIntents())
}

// readIntents are those that only look.
func readIntents() []intent {
	lists := []layout.Pane{layout.Navigator, layout.Tree, layout.Ancestry, layout.Detail, layout.Trace, layout.Queues}
	return []intent{
		{ID: "up", Keys: []string{"up", "k"}, Panes: lists, Short: "up", Group: "move", Foot: 1, Long: "one row up", why: listed, do: moving(-1)},
		{ID: "down", Keys: []string{"down", "j"}, Panes: lists, Short: "down", Group: "move", Foot: 1, Long: "one row down", why: listed, do: moving(1)},
		{ID: "page-up", Keys: []string{"pgup", "ctrl+u"}, Panes: lists, Short: "page up", Long: "a page up", why: listed, do: paging(-1)},
		{ID: "page-down", Keys: []string{"pgdown", "ctrl+d"}, Panes: lists, Short: "page down", Long: "a page down", why: listed, do: paging(1)},
		{ID: "first", Keys: []string{"g", "home"}, Panes: lists, Short: "first", Long: "to the first row", why: listed, do: first},
		{ID: "last", Keys: []string{"G", "end"}, Panes: lists, Short: "last", Long: "to the last row, reading the list through", why: listed, do: last},

		{ID: "previous-view", Keys: []string{"left", "h"}, Panes: []layout.Pane{layout.Navigator, layout.Ancestry, layout.Queues}, Short: "list before", Group: "other list",
			Long: "the list before: sessions, executions, families; ancestors, siblings; outbox, spawns, timers, transport", Foot: 5, do: turning(-1)},
		{ID: "next-view", Keys: []string{"right", "l"}, Panes: []layout.Pane{layout.Navigator, layout.Ancestry, layout.Queues}, Short: "next list", Group: "other list",
			Long: "the next list", Foot: 5, do: turning(1)},
		{ID: "inward", Keys: []string{"left", "h"}, Panes: []layout.Pane{layout.Tree}, Short: "parent", Long: "to the parent; in a family, fold first",
			do: func(m *Model, _ string) tea.Cmd { m.detail.release(); return m.tree.inward(m) }},
		{ID: "outward", Keys: []string{"right", "l"}, Panes: []layout.Pane{layout.Tree}, Short: "child", Long: "unfold, or to the first child",
			do: func(m *Model, _ string) tea.Cmd { m.detail.release(); return m.tree.outward(m) }},
		{ID: "fold", Keys: []string{"space"}, Panes: []layout.Pane{layout.Tree, layout.Navigator}, Short: "fold", Foot: 6,
			Long: "fold or unfold what is below", why: foldable, do: folding},
		{ID: "follow", Keys: []string{"space"}, Panes: []layout.Pane{layout.Trace}, Short: "follow", Foot: 5,
			Long: "freeze what is shown while the ring fills, or go to the newest step and watch those that come", why: traced, do: func(m *Model, _ string) tea.Cmd { return m.trace.toggleFollow(m) }},
		{ID: "whole-store", Keys: []string{"w"}, Panes: []layout.Pane{layout.Queues}, Short: "whole store", Foot: 6,
			Long: "the selected execution's entries, or the whole store's", why: executionsOnly,
			do: func(m *Model, _ string) tea.Cmd { return m.queues.widen(m) }},
		{ID: "open", Keys: []string{"enter"}, Panes: []layout.Pane{layout.Navigator, layout.Tree, layout.Ancestry, layout.Trace, layout.Queues},
			Short: "open", Foot: 2, Long: "go into what is selected; in the ancestry and the queues, jump to it", do: opening},
		{ID: "back", Keys: []string{"esc"}, Short: "back", Long: "out of the zoom or the filter, then back to the navigator", do: backing},

		{ID: "previous-step", Keys: []string{"["}, Short: "step back", Long: "the step before in the trace, from anywhere", why: traced, do: stepping(-1)},
		{ID: "next-step", Keys: []string{"]"}, Short: "step on", Long: "the next step in the trace, from anywhere", why: traced, do: stepping(1)},

		{ID: "focus-navigator", Keys: []string{"1"}, Short: "navigator", Group: "pane", Foot: 10, Long: "to the navigator", do: focusing(layout.Navigator)},
		{ID: "focus-tree", Keys: []string{"2"}, Short: "tree", Group: "pane", Foot: 10, Long: "to the tree", do: focusing(layout.Tree)},
		{ID: "focus-ancestry", Keys: []string{"3"}, Short: "ancestry", Group: "pane", Foot: 10, Long: "to the ancestry", do: focusing(layout.Ancestry)},
		{ID: "focus-detail", Keys: []string{"4"}, Short: "detail", Group: "pane", Foot: 10, Long: "to the detail", do: focusing(layout.Detail)},
		{ID: "focus-trace", Keys: []string{"5"}, Short: "trace", Group: "pane", Foot: 10, Long: "to the trace", do: focusing(layout.Trace)},
		{ID: "focus-queues", Keys: []string{"6"}, Short: "queues", Group: "pane", Foot: 10, Long: "to the queues", do: focusing(layout.Queues)},
		{ID: "next-pane", Keys: []string{"tab"}, Short: "next pane", Foot: 9, Long: "to the next pane", do: turningFocus(1)},
		{ID: "previous-pane", Keys: []string{"shift+tab", "Z p"}, Short: "pane before", Long: "to the pane before", do: turningFocus(-1)},
		{ID: "zoom", Keys: []string{"z"}, Short: "zoom", Foot: 11, Long: "the focused pane alone, or all again",
			do: func(m *Model, _ string) tea.Cmd { m.zoom = !m.zoom; m.screen.relayout(); return nil }},
		{ID: "filter", Keys: []string{"/"}, Panes: []layout.Pane{layout.Navigator, layout.Tree, layout.Ancestry, layout.Trace, layout.Queues}, Short: "filter", Foot: 7,
			Long: "search and filter the focused list by text: words, fields such as status:running, since:10m, data.user.label=x; tab completes", why: filterable, do: editFilter},
		{ID: "views", Keys: []string{"F"}, Panes: []layout.Pane{layout.Navigator, layout.Tree, layout.Ancestry, layout.Trace, layout.Queues}, Short: "views",
			Long: "saved filters of the focused list: those of the configuration, and some that are always there", why: filterable, do: openViews},
		{ID: "sort", Keys: []string{"O"}, Panes: []layout.Pane{layout.Navigator}, Short: "order", Foot: 8,
			Long: "executions and families by their last activity, or by id", why: sortable, do: sorting},
		{ID: "next-match", Keys: []string{"n"}, Panes: []layout.Pane{layout.Tree, layout.Ancestry}, Short: "next match",
			Long: "to the next match of the last filter in the tree, unfolding what hides it", why: searchable, do: findInTree(1)},
		{ID: "previous-match", Keys: []string{"N"}, Panes: []layout.Pane{layout.Tree, layout.Ancestry}, Short: "match before",
			Long: "to the match before in the tree", why: searchable, do: findInTree(-1)},

		{ID: "copy", Keys: []string{"y"}, Short: "copy id", Foot: 10,
			Long: "copy the id of what is selected; in the queues that of the execution which enter goes to", why: copyable, do: copying},
		{ID: "about", Keys: []string{"i"}, Short: "about", Long: "what this store is, and how and why it is open as it is",
			do: func(m *Model, _ string) tea.Cmd { m.overlay = aboutStore(m); return nil }},
		{ID: "reload", Keys: []string{"R"}, Short: "reload", Long: "read everything on the screen again", do: readAgain},
		{ID: "help", Keys: []string{"?", aidKey}, Short: "help", Foot: 1, Long: "these keys; typing finds one", do: openHelp},
		{ID: "palette", Keys: []string{":"}, Short: "commands", Foot: 8, Long: "every command by its name", do: openPalette},
		{ID: "goto", Keys: []string{"J"}, Short: "go to", Long: "to a session, an execution or a node of this session by its id", do: openGoto},
		{ID: "suspend-program", Keys: []string{"ctrl+z", "Z s"}, Short: "shell", Long: "put the explorer in the background; fg brings it back",
			do: func(*Model, string) tea.Cmd { return tea.Suspend }},
		{ID: "hud", Keys: []string{"f12", "Z t"}, Short: "timings", Long: "show for a second at a time how long updates and drawing took, and how much the terminal was sent; again, hide it", do: toggleHUD},
		{ID: "quit", Keys: []string{"q", "ctrl+c"}, Short: "quit", Foot: 12, Long: "leave", do: func(m *Model, _ string) tea.Cmd { return m.quit() }},
	}
}

// mover is what lists have in common.
type mover interface {
	move(m *Model, rows int) tea.Cmd
	home(m *Model) tea.Cmd
	end(m *Model) tea.Cmd
}

// focused returns the list in the focused pane and the height of its window. The
// detail pane scrolls instead.
func (m *Model) focused() (mover, int) { return m.list(m.focus) }

type detailScroll struct{ d *detailPane }

func (s detailScroll) move(_ *Model, rows int) tea.Cmd { s.d.move(rows); return nil }
func (s detailScroll) home(*Model) tea.Cmd             { s.d.home(); return nil }
func (s detailScroll) end(*Model) tea.Cmd              { s.d.end(); return nil }

func moving(rows int) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		list, _ := m.focused()
		return list.move(m, rows)
	}
}

func paging(windows int) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		list, height := m.focused()
		return list.move(m, windows*max(height-1, 1))
	}
}

func first(m *Model, _ string) tea.Cmd {
	list, _ := m.focused()
	return list.home(m)
}

func last(m *Model, _ string) tea.Cmd {
	list, _ := m.focused()
	return list.end(m)
}

func turning(by int) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		switch m.focus {
		case layout.Queues:
			return m.queues.turn(m, by)
		case layout.Ancestry:
			return m.trail.turn(m)
		default: // the navigator
		}
		m.detail.release()
		return m.nav.turn(m, by)
	}
}

func folding(m *Model, _ string) tea.Cmd {
	m.detail.release()
	if m.focus == layout.Navigator {
		return m.nav.families.fold(m)
	}
	return m.tree.fold(m)
}

func foldable(m *Model) string {
	if m.focus == layout.Navigator && m.nav.view != familiesView {
		return "only families fold; " + m.keyFor("previous-view") + " and " + m.keyFor("next-view") + " change the list"
	}
	return ""
}

func opening(m *Model, _ string) tea.Cmd {
	switch m.focus {
	case layout.Navigator:
		m.setFocus(layout.Tree)
	case layout.Tree:
		m.setFocus(layout.Detail)
		if m.subject.kind == execution && !m.trace.traceless() {
			m.setFocus(layout.Trace)
			return m.trace.describe(m)
		}
	case layout.Ancestry:
		m.detail.release()
		return m.trail.open(m)
	case layout.Trace:
		m.setFocus(layout.Detail)
	case layout.Queues:
		id, ok := m.queues.concerned()
		if !ok {
			m.refused("open: the entry names no execution")
			return nil
		}
		if m.es == nil {
			m.refused("open: " + executionsOnly(m))
			return nil
		}
		m.detail.release()
		return m.jump(id)
	default: // the detail pane leads nowhere
	}
	return nil
}

func backing(m *Model, _ string) tea.Cmd {
	switch {
	case m.zoom:
		m.zoom = false
		m.screen.relayout()
	case m.barOf(m.focus) != nil && m.barOf(m.focus).on():
		return m.barOf(m.focus).clear(m)
	default:
		return m.focusOn(layout.Navigator)
	}
	return nil
}

func stepping(by int) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd { return m.trace.move(m, by) }
}

func focusing(p layout.Pane) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd { return m.focusOn(p) }
}

func turningFocus(by int) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		n := len(layout.Panes())
		return m.focusOn(layout.Pane((int(m.focus)-1+by+n)%n + 1))
	}
}

// focusOn moves the focus; trace and queues show their selection in the detail
// pane as soon as they have it.
func (m *Model) focusOn(p layout.Pane) tea.Cmd {
	m.setFocus(p)
	switch p {
	case layout.Trace:
		return m.trace.describe(m)
	case layout.Queues:
		return m.queues.describe(m)
	case layout.Navigator:
		// The list may have lost the row meanwhile, or be elsewhere after a jump.
		m.detail.release()
		return tea.Batch(m.nav.follow(m, m.nav.view, true), m.tree.landed(m))
	case layout.Tree, layout.Ancestry:
		m.detail.release()
		return m.tree.landed(m)
	default: // the detail pane shows what it showed
	}
	return nil
}

// The reasons why an intent cannot be used.

// listed is why there is nowhere to move to.
func listed(m *Model) string {
	n := 0
	switch m.focus {
	case layout.Navigator:
		n = m.nav.rows()
	case layout.Tree:
		n = m.tree.widget.Flat().Len()
	case layout.Ancestry:
		list, _ := m.trail.shown()
		n = len(list)
	case layout.Detail:
		if !m.detail.view.Empty() {
			n = 1
		}
	case layout.Trace:
		n = len(m.trace.steps)
	case layout.Queues:
		n, _, _ = m.queues.length(m.queues.tab)
	}
	if n == 0 {
		return "nothing is listed here"
	}
	return ""
}

func traced(m *Model) string {
	switch {
	case m.member == "":
		return "no execution is selected"
	case m.trace.traceless():
		return "no steps were recorded"
	}
	return ""
}

func executionsOnly(m *Model) string {
	if m.es == nil {
		return "this store holds no executions"
	}
	return ""
}

func sessionOnly(m *Model) string {
	if m.subject.kind != session {
		return "no session is selected"
	}
	return ""
}

// limitable says why the session's time to live cannot be set; "" where it can.
func limitable(m *Model) string {
	if reason := sessionOnly(m); reason != "" {
		return reason
	}
	return expired(m)
}

func appendable(m *Model) string {
	if reason := sessionOnly(m); reason != "" {
		return reason
	}
	switch {
	case m.tree.gone:
		return "the session is gone"
	case expired(m) != "":
		return expired(m)
	case m.tree.loading:
		return "the tree is still being read"
	}
	if _, ok := m.tree.selectedNode(); !ok && m.tree.widget.Index().Len() > 0 {
		return "no node is selected"
	}
	return ""
}

func copyable(m *Model) string {
	if m.selectedID() == "" {
		return "nothing is selected"
	}
	return ""
}

// selectedID is the id of what is selected in the focused pane.
func (m *Model) selectedID() string {
	switch m.focus {
	case layout.Navigator:
		return m.nav.selected().id
	case layout.Ancestry:
		if r, ok := m.trail.selected(); ok {
			id := m.trail.index.ID(r)
			if mb, ok := m.tree.members[id]; ok {
				return mb.summary.ID
			}
			return id
		}
	case layout.Queues:
		id, _ := m.queues.concerned()
		return id
	default: // what the tree's cursor is on
	}
	if id, ok := m.tree.selectedNode(); ok {
		return id
	}
	return m.member
}

// whose says of what a copied id is, where that is another thing than the one
// selected.
func (m *Model) whose() string {
	if m.focus != layout.Queues {
		return ""
	}
	switch m.queues.tab {
	case outboxTab:
		return ", the execution that the entry is for"
	case spawnsTab:
		return ", the parent that asked for the child"
	case transportTab:
		return ", the execution whose queue it is"
	default:
		return ", the execution whose timer it is"
	}
}

// copyWord is what y copies, for the footer.
func (m *Model) copyWord() string {
	if m.focus == layout.Queues {
		switch m.queues.tab {
		case outboxTab:
			return "copy target's id"
		case spawnsTab:
			return "copy parent's id"
		default:
			return "copy execution's id"
		}
	}
	return "copy id"
}

func copying(m *Model, _ string) tea.Cmd {
	id := m.selectedID()
	return m.toClipboard("copy id", id, "copied "+id+m.whose())
}

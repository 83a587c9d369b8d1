package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/ui/layout"
	"treering/ui/state"
)

// Steps by which a split is moved, in cells.
const columnStep, rowStep = 4, 1

// windowIntents are about the window: how it is divided, and the mouse.
func windowIntents() []intent {
	return []intent{
		{ID: "wider", Keys: []string{">", "Z right", "Z l"}, Short: "wider", Long: "the focused pane wider", Repeat: true, why: divided, do: growing(columnStep, false)},
		{ID: "narrower", Keys: []string{"<", "Z left", "Z h"}, Short: "narrower", Long: "the focused pane narrower", Repeat: true, why: divided, do: growing(-columnStep, false)},
		{ID: "taller", Keys: []string{"Z up", "Z k"}, Short: "taller", Long: "the focused pane taller", Repeat: true, why: divided, do: growing(rowStep, true)},
		{ID: "shorter", Keys: []string{"Z down", "Z j"}, Short: "shorter", Long: "the focused pane shorter", Repeat: true, why: divided, do: growing(-rowStep, true)},
		{ID: "even", Keys: []string{"Z ="}, Short: "as usual", Long: "all panes as large as usual again", why: divided, do: evening},
		{ID: "stores", Keys: []string{"o"}, Short: "open a store", Long: "another store: one that was open before, or by its path or locator", why: openable, do: openStores},
		{ID: "mouse", Keys: []string{"Z m"}, Short: "mouse", Long: "take the mouse, or leave it to the terminal", do: toggleMouse},
	}
}

// want is what the window is divided for.
func (m *Model) want() layout.Want {
	return layout.Want{Width: m.width, Height: m.height, Focus: m.focus, Lower: m.lower, Zoom: m.zoom, Traced: m.subject.kind != session, Unqueued: m.es == nil,
		Splits: m.splits.of[layout.ModeOf(m.width, m.height)]}
}

// divided says why no split can be moved; "" where one can.
func divided(m *Model) string {
	switch mode := layout.ModeOf(m.width, m.height); {
	case mode == layout.Single || mode == layout.TooSmall:
		return "a window of this size shows one pane at a time"
	case m.zoom:
		return "the pane is zoomed; " + m.keyFor("zoom") + " shows the others again"
	}
	return ""
}

func growing(cells int, upright bool) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		splits, moved := layout.Grow(m.want(), cells, upright)
		if !moved {
			m.refused("the " + paneNames[m.focus] + " cannot be made " + map[bool]map[bool]string{
				false: {true: "wider", false: "narrower"}, true: {true: "taller", false: "shorter"},
			}[upright][cells > 0] + " here")
			return nil
		}
		return m.setSplits(splits)
	}
}

func evening(m *Model, _ string) tea.Cmd { return m.setSplits(nil) }

// splitState is how windows are divided, by their size class.
type splitState struct {
	of  map[layout.Mode]layout.Splits
	gen int
}

// classes are the names of the size classes whose splits are remembered.
func classes() map[layout.Mode]string {
	return map[layout.Mode]string{layout.Tabbed: "tabbed", layout.Full: "full"}
}

// recall divides windows as they were the last time.
func (s *splitState) recall(from *state.State) {
	s.of = map[layout.Mode]layout.Splits{}
	for mode, class := range classes() {
		for at, v := range from.Splits(class) {
			if s.of[mode] == nil {
				s.of[mode] = layout.Splits{}
			}
			s.of[mode][layout.Split(at)] = v
		}
	}
}

// settled is how long splits rest before they are remembered: they are moved by
// many presses.
const settled = time.Second

func (m *Model) setSplits(splits layout.Splits) tea.Cmd {
	mode := layout.ModeOf(m.width, m.height)
	m.splits.of[mode] = splits
	m.splits.gen++
	m.screen.relayout()
	gen := m.splits.gen
	return m.later(settled, func(m *Model) tea.Cmd {
		if gen != m.splits.gen {
			return nil
		}
		kept := state.Splits{}
		for at, v := range splits {
			kept[string(at)] = v
		}
		return m.remember(func(s *state.State) error { return s.SetSplits(classes()[mode], kept) })
	})
}

func toggleMouse(m *Model, _ string) tea.Cmd {
	m.mouse = !m.mouse
	if m.mouse {
		m.say("the mouse is taken: it scrolls and selects; hold shift and drag to select text as ever")
	} else {
		m.say("the mouse is the terminal's: drag selects text; " + m.keyFor("mouse") + " takes it again")
	}
	return nil
}

// remember keeps something for the next start, off the program's goroutine. That
// it cannot is said once.
func (m *Model) remember(what func(*state.State) error) tea.Cmd {
	s := m.memory
	return func() tea.Msg {
		err := what(s)
		if err == nil {
			return nil
		}
		return answerFunc(func(m *Model) tea.Cmd {
			if !m.forgetful {
				m.forgetful = true
				m.refused("this is not there at the next start: " + err.Error())
			}
			return nil
		})
	}
}

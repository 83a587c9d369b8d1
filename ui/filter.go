package ui

import (
	tea "charm.land/bubbletea/v2"

	"treering/ui/field"
	"treering/ui/layout"
)

// maxFilter bounds a filter, in bytes.
const maxFilter = 1000

// editFilter opens the filter line.
func (n *navigator) editFilter(m *Model) {
	m.setFocus(layout.Navigator)
	n.before = n.filter.text
	n.input = field.New(n.filter.text, maxFilter)
	n.touch()
	m.screen.bars()
}

// filterKey edits the filter. It counts as it is typed; enter keeps it, esc puts
// back what was there.
func (n *navigator) filterKey(m *Model, name, text string) tea.Cmd {
	switch name {
	case "enter":
		return n.closeFilter(m, n.input.Text())
	case "esc":
		return n.closeFilter(m, n.before)
	case "down", "up", "tab":
		cmd := n.closeFilter(m, n.input.Text())
		if name == "down" {
			return tea.Batch(cmd, n.move(m, 1))
		}
		return cmd
	}
	if !n.input.Key(name) {
		if text == "" {
			return nil
		}
		return n.typed(m, text)
	}
	n.touch()
	return n.setFilter(m, n.input.Text())
}

func (n *navigator) typed(m *Model, text string) tea.Cmd {
	if !n.input.Insert(text) {
		m.refused("the filter is too long")
		return nil
	}
	n.touch()
	return n.setFilter(m, n.input.Text())
}

func (n *navigator) closeFilter(m *Model, text string) tea.Cmd {
	n.input = nil
	n.touch()
	m.screen.bars()
	return n.setFilter(m, text)
}

package ui

import (
	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
)

// toClipboard asks the terminal to put a text on the clipboard and says so, or says
// why not: it may be more than terminals take. Without a screen the text itself is
// what is said.
func (m *Model) toClipboard(what, text, said string) tea.Cmd {
	if m.plain {
		m.say(text)
		return nil
	}
	seq, err := term.OSC52(text, m.env)
	if err != nil {
		m.refused(what + ": " + err.Error())
		return nil
	}
	m.say(said)
	return tea.Raw(seq)
}

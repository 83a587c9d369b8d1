package ui

import (
	"errors"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/treeview"
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
	var large *term.ClipboardTooLargeError
	switch {
	case errors.As(err, &large):
		m.refused(what + ": " + treeview.Grouped(int64(large.Size)) + " bytes are too many for the terminal's clipboard, which takes " +
			treeview.Grouped(int64(large.Max)) + ": export to a file instead")
		return nil
	case err != nil:
		m.refused(what + ": " + err.Error())
		return nil
	}
	m.say(said)
	return tea.Raw(seq)
}

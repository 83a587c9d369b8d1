package ui

import (
	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
)

// Update applies one message. It never waits: what takes time is a command.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case answer:
		cmd = msg.apply(m)
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	case tea.MouseWheelMsg:
		cmd = m.wheel(msg.Mouse())
	case tea.MouseClickMsg:
		cmd = m.click(msg.Mouse())
	case tea.PasteMsg:
		cmd = m.paste(msg.Content)
	case tea.WindowSizeMsg:
		m.width, m.height = max(msg.Width, 0), max(msg.Height, 0)
		m.screen.relayout()
	case tea.BackgroundColorMsg:
		cmd = m.background(!msg.IsDark())
	case tea.ModeReportMsg:
		if term.ConfirmsGraphemes(msg.Mode, msg.Value) {
			cmd = m.graphemes()
		}
	default:
		return m, nil
	}
	if m.dialog != nil {
		m.dialog.recheck(m)
	}
	m.screen.bars() // the keys that can be used depend on nearly everything
	return m, tea.Batch(cmd, m.queues.fleet.keepUp(m), m.queues.ask(m), m.retry(), m.watch(), m.expire(), m.keepTime())
}

// key routes a key press: to a dialog, to an overlay, to the filter being typed,
// else to the intent it is bound to.
func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	if cmd, ok := m.anywhere(msg); ok {
		return cmd
	}
	name := msg.String()
	switch {
	case m.tooSmall():
		// Nobody can see what a key would do.
		if it, _ := m.lookup(name); it != nil && it.ID == "quit" {
			return m.quit()
		}
		return nil
	case m.aid != nil:
		return m.aid.key(m, msg)
	case m.aided(msg):
		return nil
	case m.dialog != nil:
		return m.dialog.key(m, name, msg.Text)
	case m.overlay != nil:
		return m.overlay.key(m, msg)
	}
	if m.slipped(name) {
		return nil
	}
	m.fade()
	if b := m.typing(); b != nil {
		return b.key(m, name, msg.Text)
	}
	if m.finding() {
		return m.detail.findKey(m, name, msg.Text)
	}
	if name == "enter" && m.telling() && len(m.keys.pending) == 0 {
		m.unsay()
		return m.turnPage()
	}
	return m.press(msg)
}

// paste goes where typing goes, and nowhere else.
func (m *Model) paste(text string) tea.Cmd {
	switch {
	case m.aid != nil:
		return nil
	case m.dialog != nil:
		return m.dialog.paste(m, text)
	case m.overlay != nil:
		return m.overlay.paste(m, text)
	case m.typing() != nil:
		return m.typing().typed(m, text)
	case m.finding():
		return m.detail.findTyped(m, text)
	}
	return nil
}

func (m *Model) quit() tea.Cmd { return tea.Quit }

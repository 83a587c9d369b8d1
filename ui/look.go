package ui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/ui/layout"
	"treering/ui/paint"
)

// background is what the terminal says of its background: a theme of sixteen
// colours goes by it.
func (m *Model) background(light bool) tea.Cmd {
	want := paint.Dark16
	if light {
		want = paint.Light16
	}
	if !m.asks || want == m.scheme {
		return nil
	}
	m.scheme = want
	was := m.theme.Styles()
	m.theme = paint.New(want, m.ascii)
	if i := slices.Index(was, m.status.style); i >= 0 && m.status.style != "" {
		m.status.style = m.theme.Styles()[i]
	}
	return m.redraw()
}

// graphemes notes that the terminal counts cells by grapheme clusters: what had to
// be replaced while nobody knew shows as it is from now on.
func (m *Model) graphemes() tea.Cmd {
	if m.term.Rule == term.Grapheme {
		return nil
	}
	m.term.Rule = term.Grapheme
	return m.redraw()
}

// redraw makes everything on the screen anew. Texts that were made before stay
// right until they are: under the earlier rule they have the same width by both.
func (m *Model) redraw() tea.Cmd {
	m.nav.touch()
	m.tree.touch()
	m.trail.touch()
	m.trace.touch()
	m.queues.touch()
	m.detail.rev++
	m.screen.redraw()
	// What is made off this goroutine is made from what is read again.
	cmd := m.refresh()
	switch m.detail.driver {
	case layout.Trace:
		cmd = tea.Batch(cmd, m.trace.describe(m))
	case layout.Queues:
		cmd = tea.Batch(cmd, m.queues.describe(m))
	default: // the tree's selection, which was read again
	}
	return cmd
}

// redraw forgets what was drawn.
func (s *screen) redraw() {
	s.panes = [len(s.panes)]drawnPane{}
	s.fits, s.whole = false, false
	s.bars()
}

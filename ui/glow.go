package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/ui/paint"
)

// glow is how a row shows that it is other than it was a moment ago: by a mark at its
// beginning and by colour. It ends by itself, and what glowed costs nothing then.
type glow uint8

const (
	still glow = iota
	added
	altered
)

// glowFor is how long a row glows, glowEvery how often it is seen to that one ends.
const (
	glowFor   = 900 * time.Millisecond
	glowEvery = 450 * time.Millisecond
)

// maxGlowing bounds the rows that are remembered to glow: more are never on the screen.
const maxGlowing = 4096

// glowState is what glows now.
type glowState struct {
	rows    map[string]ember
	pending bool // the timer is set
}

type ember struct {
	kind  glow
	until time.Time
}

// glowExecution and glowEntry are what rows are known by here.
func glowExecution(id string) string { return "e" + id }
func glowEntry(tab queueTab, id string) string {
	return string(rune('0'+tab)) + id
}

// lights has a row glow from now on.
func (m *Model) lights(key string, kind glow) {
	g := &m.glows
	if g.rows == nil || len(g.rows) >= maxGlowing {
		g.rows = map[string]ember{}
	}
	if was, ok := g.rows[key]; ok && was.kind == added {
		kind = added // it is both
	}
	g.rows[key] = ember{kind, m.now().Add(glowFor)}
}

// glowOf is how a row glows.
func (m *Model) glowOf(key string) glow {
	if e, ok := m.glows.rows[key]; ok {
		return e.kind
	}
	return still
}

// glow sets the timer for the end of what glows, once.
func (m *Model) glow() tea.Cmd {
	g := &m.glows
	if g.pending {
		return nil
	}
	g.pending = true
	return m.later(glowEvery, func(m *Model) tea.Cmd { return m.dim() })
}

// dim ends what has glowed long enough.
func (m *Model) dim() tea.Cmd {
	g, now := &m.glows, m.now()
	g.pending = false
	ended := false
	for key, e := range g.rows {
		if !e.until.After(now) {
			delete(g.rows, key)
			ended = true
		}
	}
	if ended {
		m.nav.touch()
		m.tree.touch()
		m.queues.touch()
	}
	t := &m.trace
	going := t.pulse.dim(t, now)
	if len(g.rows) > 0 || going {
		return m.glow()
	}
	return nil
}

// rowGlow is rowStart for a row that may glow.
func rowGlow(m *Model, w int, look look, glow glow) *paint.Line {
	if glow == still || look != plain || m.plain {
		return rowStart(m, w, look)
	}
	if glow == added {
		return paint.NewLine(w, "").Put(m.theme.Good, term.Lit("+"))
	}
	return paint.NewLine(w, "").Put(m.theme.Info, term.Lit("~"))
}

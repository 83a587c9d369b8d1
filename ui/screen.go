package ui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/treeview"
	"treering/ui/layout"
	"treering/ui/paint"
)

// screen keeps what was drawn last, so that a frame costs what changed in it.
type screen struct {
	layout layout.Layout
	walls  []map[int]layout.Piece
	order  []layout.Pane // those shown, from left to right
	pieces [layout.JoinBoth + 1]string
	joint  string // where two rules meet a wall that begins there
	fits   bool   // layout is that of the present window, focus and zoom
	panes  [layout.Queues + 1]drawnPane
	barRev int // changes with anything that header and footer show
	drawn  int // barRev of barLines
	// barLines are the header, the status and the keys.
	barLines [3]string
	content  string
	whole    bool // content is up to date, overlays apart
}

// drawnPane is a pane's lines, its title first, as they were drawn for a
// version, a size and a focus.
type drawnPane struct {
	rect    layout.Rect
	version int
	focused bool
	shared  bool
	lines   []string
}

// relayout notes that panes have other places now, bars that header or footer
// say something else.
func (s *screen) relayout() { s.fits = false }
func (s *screen) bars()     { s.barRev++ }

// View returns the screen. Where nothing changed it is the same string.
func (m *Model) View() tea.View {
	v := tea.NewView(m.draw())
	v.AltScreen = true
	if m.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	v.WindowTitle = m.term.Title("treering " + m.info.Name)
	if cursor := m.cursor(); cursor != nil {
		v.Cursor = cursor
	}
	return v
}

func (m *Model) draw() string {
	if m.width == 0 || m.height == 0 {
		return ""
	}
	s := &m.screen
	if !s.fits {
		s.place(layout.Compute(m.want()), m.theme)
		s.fits, s.whole = true, false
		s.bars()
	}
	if s.layout.Mode == layout.TooSmall {
		return m.oneWord()
	}
	for _, p := range s.order {
		if m.drawPane(p) {
			s.whole = false
		}
	}
	if s.drawn != s.barRev {
		said, rest := m.statusLines(m.width)
		switch {
		case m.hud.on:
			rest = m.hudLine(m.width)
		case rest == "":
			rest = m.keysLine(m.width)
		}
		bars := [3]string{m.headerLine(m.width), said, rest}
		s.whole = s.whole && bars == s.barLines
		s.drawn, s.barLines = s.barRev, bars
	}
	if !s.whole {
		s.content = m.shown(m.compose())
		s.whole = true
	}
	if box, x, y, w := m.over(); box != nil {
		return m.shown(overlaid(s.content, box, x, y, w, m.width))
	}
	return s.content
}

// shown is what is composed, in the characters that the terminal knows.
func (m *Model) shown(composed string) string {
	if m.ascii {
		return term.StyledASCII(composed)
	}
	return composed
}

// overlaid is a screen with a box over it.
func overlaid(content string, box []string, x, y, w, width int) string {
	lines := strings.Split(content, "\n")
	for i, b := range box {
		if y+i >= len(lines) {
			break
		}
		was := lines[y+i]
		const off = "\x1b[m"
		lines[y+i] = term.StyledCut(was, 0, x) + off + b + off + term.StyledCut(was, x+w, width)
	}
	return strings.Join(lines, "\n")
}

// drawPane brings a pane's lines up to date and reports whether they changed.
func (m *Model) drawPane(p layout.Pane) bool {
	s := &m.screen
	rect, focused := s.layout.Rects[p], m.focus == p
	shared := slices.Contains(s.layout.Tabs, p)
	was := &s.panes[p]
	if version := m.panes[p].version(); was.lines != nil && was.rect == rect && was.version == version && was.focused == focused && was.shared == shared {
		return false
	}
	// The title may tell what drawing finds out, so the rows are drawn first.
	rows := m.panes[p].draw(m, rect.W, rect.H-1, focused)
	lines := append(was.lines[:0], m.titleLine(p, rect.W, focused, shared))
	lines = append(lines, rows[:min(len(rows), rect.H-1)]...)
	for len(lines) < rect.H {
		lines = append(lines, term.Spaces(rect.W).String())
	}
	*was = drawnPane{rect, m.panes[p].version(), focused, shared, lines}
	return true
}

// titleLine is a pane's rule: its number and name, those it shares its place
// with, and its note. The focused one has a mark and a heavier rule.
func (m *Model) titleLine(p layout.Pane, w int, focused, shared bool) string {
	t := m.theme
	rule, border, title := t.Rule, t.Border, t.Title
	mark := t.Rule
	if focused {
		rule, border, title, mark = t.RuleFocus, t.BorderFocus, t.TitleFocus, t.FocusMark
	}
	name, note := m.panes[p].title(m)
	l := paint.NewLine(w, "").Put(border, mark)
	number := term.Lit(string(rune('0'+p)) + " ")
	if shared {
		note = m.neighbours(p)
	}
	room := w - 1 - number.Width() - 1
	if !note.Empty() && name.Width()+note.Width()+4 <= room {
		room -= note.Width() + 4
	} else if shared && name.Width()+note.Width()+4 > room {
		name = name.Truncate(max(room-note.Width()-4, 8), "…")
		room -= note.Width() + 4
	} else {
		note = term.Text{}
	}
	l.Put(title, number.Plus(name).Truncate(max(room+number.Width(), 1), "…")).Gap(1)
	if note.Empty() || l.Left() < note.Width()+3 {
		return l.Fill(border, rule, w).String()
	}
	l.Fill(border, rule, w-note.Width()-3).Gap(1).Put(t.Dim, note).Gap(1)
	return l.Fill(border, rule, w).String()
}

// tabNames are what panes are called in the title of one they share a place with.
var tabNames = [...]string{layout.Navigator: "nav", layout.Tree: "tree", layout.Ancestry: "ancestry", layout.Detail: "detail",
	layout.Trace: "trace", layout.Queues: "queues"}

// neighbours names the panes that share a place, by the keys that show them.
func (m *Model) neighbours(p layout.Pane) term.Text {
	var parts []term.Text
	for _, q := range m.screen.layout.Tabs {
		if q != p {
			parts = append(parts, term.Lit(string(rune('0'+q))+" "+tabNames[q]))
		}
	}
	if len(parts) > 4 && m.width < 60 {
		return term.Lit("1-6")
	}
	return term.Join(term.Spaces(1), parts...)
}

// compose joins the lines of panes and walls. It only concatenates.
func (m *Model) compose() string {
	s := &m.screen
	var b strings.Builder
	b.Grow(len(s.content) + len(s.content)/8 + m.width*m.height)
	b.WriteString(s.barLines[0])
	body := s.layout.Body()
	for y := body.Y; y < body.Y+body.H; y++ {
		b.WriteByte('\n')
		for _, p := range s.order {
			rect := s.layout.Rects[p]
			if y < rect.Y || y >= rect.Y+rect.H {
				continue
			}
			if rect.X > 0 {
				b.WriteString(s.wall(y, rect.X-1))
			}
			b.WriteString(s.panes[p].lines[y-rect.Y])
		}
	}
	b.WriteByte('\n')
	b.WriteString(s.barLines[1])
	b.WriteByte('\n')
	b.WriteString(s.barLines[2])
	return b.String()
}

// wall is the piece of wall at a place; at the top nothing goes on above it.
func (s *screen) wall(y, x int) string {
	piece := s.walls[y][x]
	if piece == layout.JoinBoth && y == s.layout.Body().Y {
		return s.joint
	}
	return s.pieces[piece]
}

// place sets out the panes of a layout.
func (s *screen) place(l layout.Layout, t *paint.Theme) {
	s.layout, s.walls, s.order = l, l.Walls(), nil
	for _, p := range layout.Panes() {
		if l.Shown(p) {
			s.order = append(s.order, p)
		}
	}
	slices.SortFunc(s.order, func(a, b layout.Pane) int { return l.Rects[a].X - l.Rects[b].X })
	draw := func(piece term.Text) string { return paint.NewLine(1, "").Put(t.Border, piece).String() }
	s.pieces = [...]string{layout.Wall: draw(t.Wall), layout.JoinLeft: draw(t.Join.Left), layout.JoinRight: draw(t.Join.Right), layout.JoinBoth: draw(t.Join.Both)}
	s.joint = draw(t.Join.Down)
}

// tooSmall reports whether nothing fits into the window.
func (m *Model) tooSmall() bool { return m.width < layout.MinWidth || m.height < layout.MinHeight }

// oneWord is what such a window shows.
func (m *Model) oneWord() string {
	lines := make([]string, m.height)
	word := term.Lit("treering needs 40x12")
	for i := range lines {
		l := paint.NewLine(m.width, "")
		if i == (m.height-1)/2 {
			l.Gap((m.width - word.Width()) / 2).Plain(word)
		}
		lines[i] = l.String()
	}
	return strings.Join(lines, "\n")
}

// headerLine says what is open, and how.
func (m *Model) headerLine(w int) string {
	t := m.theme
	mode, style := term.Lit("read-only"), t.ReadOnly
	if m.info.Writable {
		mode, style = term.Lit("writable"), t.Writable
	}
	live, liveStyle := m.liveWord(w)
	// How it is open is said whatever the width; what is open as far as there is room.
	room := w - mode.Width() - live.Width() - 5
	l := paint.NewLine(w, "").Gap(1)
	if room >= 40 {
		l.Put(t.Bold, term.Lit("treering")).Gap(2)
	}
	l.Plain(m.term.Sanitise(m.info.Name).TruncateMiddle(max(room-l.Used(), 4), "…"))
	add := func(s string) bool {
		text := m.term.Sanitise(s)
		if l.Used()+2+text.Width() > room {
			return false
		}
		l.Gap(2).Put(t.Dim, text)
		return true
	}
	for _, set := range m.info.Sets {
		if set.Open && set.Prefix != "" {
			add(set.Prefix + "_")
		}
	}
	switch n := m.tree.told.bad.count; {
	case n == 1:
		add("1 warning")
	case n > 1:
		add(treeview.Grouped(n) + " warnings")
	}
	if m.es != nil && m.counts.known && !add(m.counts.summary()) {
		add(m.counts.summed())
	}
	l.To(w-mode.Width()-live.Width()-4).Put(style, mode).Gap(1).Put(t.Dim, t.Dot).Gap(1).Put(liveStyle, live)
	return l.String()
}

// statusLines are the line for what just happened, and where that is too long for it,
// a second one: it takes that of the keys, which come back with the next message or
// when this one goes. What is open over the panes keeps its keys there.
func (m *Model) statusLines(w int) (said, rest string) {
	text, style := m.status.text, m.status.style
	if told := m.narration(w); text.Empty() && !told.Empty() {
		text, style = told, m.theme.Bold
	}
	put := func(text term.Text) string {
		return paint.NewLine(w, "").Gap(1).Put(style, text.Truncate(max(w-2, 1), "…")).String()
	}
	if text.Width() <= w-2 || m.dialog != nil || m.overlay != nil || m.typing() != nil || m.finding() || len(m.keys.pending) > 0 {
		return put(text), ""
	}
	parts := lines(text, max(w-2, 1))
	more := text.Cut(parts[0].Width(), text.Width())
	if strings.HasPrefix(more.String(), " ") {
		more = more.Cut(1, more.Width())
	}
	return put(parts[0]), put(more)
}

// keysLine names the keys that are of most use here.
func (m *Model) keysLine(w int) string {
	l := paint.NewLine(w, "").Gap(1)
	for _, h := range m.hints() {
		need := h.keys.Width() + 1 + h.text.Width()
		if l.Left() < need {
			break
		}
		l.Put(m.theme.Key, h.keys).Gap(1).Put(m.theme.Dim, h.text).Gap(2)
	}
	return l.String()
}

// hint is one key in the footer.
type hint struct{ keys, text term.Text }

package ui

import (
	"slices"
	"strings"

	"treering/internal/term"
	"treering/treeview"
	"treering/ui/layout"
	"treering/ui/paint"
)

// The window that a plain run has instead of one: wide enough that little is cut.
const (
	plainWidth  = 240
	plainHeight = 100
)

// wordGlyphs replaces what only an eye reads: rules and lanes are blank, and the
// marks of a tree are words.
func wordGlyphs(t *paint.Theme) {
	blank := term.Spaces(1)
	t.Rule, t.RuleFocus, t.Wall, t.FocusMark = blank, blank, blank, blank
	t.Corners = [4]term.Text{blank, blank, blank, blank}
	t.Tree = treeview.Glyphs{
		Lane: "  ", Gap: "  ", Tee: "  ", Corner: "  ", FarTee: "  ", FarCorner: "  ",
		Node: "  ", Head: "head  ", Active: "active  ", Fold: "folded  ", Run: "run  ", Missing: "missing  ", Cycle: "cycle  ", More: "and ", Elided: "left out: ",
	}
	t.Here, t.Dot, t.Arrow = term.Lit("at"), term.Lit("-"), term.Lit("to")
}

// mode says whether the store can be written.
func (m *Model) mode() string {
	if m.info.Writable {
		return "writable"
	}
	return "read-only"
}

// tell writes what is different from what was written last.
func (p *plainRun) tell() {
	if s := p.e.m.status; s.gen != p.said {
		p.said = s.gen
		if text := s.text.String(); text != "" {
			if s.stays {
				text = "error: " + text
			}
			p.say(text)
		}
	}
	surface, now := p.describe()
	p.write(surface, now)
	if p.heard { // a line that nothing came of is answered too
		p.say("no change")
	}
	p.ask()
}

// write writes the lines of a description that are news.
func (p *plainRun) write(surface any, now []string) {
	was := p.lines
	if surface != p.surface {
		was = nil
	}
	p.surface, p.lines = surface, now
	left := map[string]int{}
	for _, line := range was {
		left[line]++
	}
	for _, line := range now {
		if left[line] > 0 {
			left[line]--
			continue
		}
		p.say(line)
	}
}

// say writes a line. It may hold foreign text.
func (p *plainRun) say(s string) {
	if p.prompt != "" {
		p.put("\n")
		p.prompt = ""
	}
	p.heard = false
	p.put(p.e.m.shown(p.e.m.term.Sanitise(s).String()) + "\n")
}

// put writes as it is. The writer keeps the first error, and Flush returns it.
func (p *plainRun) put(s string) { _, _ = p.out.WriteString(s) }

// ask writes a prompt where somebody waits for one.
func (p *plainRun) ask() {
	if !p.asks || p.prompt != "" {
		return
	}
	switch {
	case p.e.m.dialog != nil && p.e.m.dialog.editing():
		p.prompt = "text, tab or esc: "
	case p.e.m.dialog != nil:
		p.prompt = p.e.m.dialog.confirm + ", or esc: "
	case p.e.m.cursor() != nil:
		p.prompt = "text, or esc: "
	default:
		p.prompt = paneNames[p.e.m.focus] + "> "
	}
	p.put(p.e.m.shown(p.prompt))
}

// describe is what one would look at, as lines, and which thing that is: the dialog,
// what stands over the panes, or the focused pane with its selected row.
func (p *plainRun) describe() (surface any, lines []string) {
	m := p.e.m
	m.draw()
	switch {
	case m.dialog != nil:
		return m.dialog, boxed(m.dialog.box(m))
	case m.overlay != nil:
		return m.overlay, boxed(m.overlay.box(m, plainWidth/2, 1<<16))
	}
	name, note := m.panes[m.focus].title(m)
	title := name.String()
	if !note.Empty() {
		title += ", " + note.String()
	}
	lines = spoken([]string{title})
	if m.cursor() != nil {
		lines = append(lines, "type a text, or esc")
	}
	rows := p.rows()
	if i := p.selected(rows); i >= 0 {
		return m.focus, append(lines, p.row(rows[i]))
	}
	return m.focus, append(lines, spoken(rows)...)
}

// rows are the lines of the focused pane's window.
func (p *plainRun) rows() []string {
	m := p.e.m
	h := max(m.screen.layout.Rects[m.focus].H-1, 1)
	out := slices.Clone(m.panes[m.focus].draw(m, plainWidth, h, true))
	for i := range out {
		out[i] = term.Unstyled(out[i])
	}
	return out
}

// selected is which of the rows is selected, -1 where they are no list.
func (p *plainRun) selected(rows []string) int {
	if p.e.m.focus == layout.Detail {
		return -1
	}
	return slices.IndexFunc(rows, func(s string) bool { return strings.HasPrefix(s, p.e.m.theme.Mark.String()) })
}

// row is the selected row, and how deep it is in its tree.
func (p *plainRun) row(drawn string) string {
	text := strings.Join(spoken([]string{strings.TrimPrefix(drawn, p.e.m.theme.Mark.String())}), " ")
	if p.e.m.focus == layout.Tree {
		w := p.e.m.tree.widget
		if r, ok := w.Cursor(); ok {
			text += ", level " + treeview.Grouped(int64(w.Index().Depth(r)+1))
		}
	}
	return text
}

// boxed are the lines of a box without its foot, which tells of keys.
func boxed(box []string) []string { return spoken(box[:max(len(box)-1, 0)]) }

// spoken are lines as one would read them out: without styles, blank ends and empty
// lines, and with a comma where columns are.
func spoken(lines []string) []string {
	var out []string
	for _, line := range lines {
		var parts []string
		for part := range strings.SplitSeq(term.Unstyled(line), "  ") {
			if part = strings.TrimSpace(part); part != "" {
				parts = append(parts, part)
			}
		}
		if len(parts) > 0 {
			out = append(out, strings.Join(parts, ", "))
		}
	}
	return out
}

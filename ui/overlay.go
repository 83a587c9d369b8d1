package ui

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/ui/keymap"
	"treering/ui/layout"
	"treering/ui/paint"
)

// surface is what stands over the panes and takes the keys: a text, or a list to
// choose from.
type surface interface {
	key(m *Model, msg tea.KeyPressMsg) tea.Cmd
	paste(m *Model, text string) tea.Cmd
	// wheel scrolls by rows; click is on a cell of the box. Neither ever writes.
	wheel(m *Model, rows int)
	click(m *Model, x, y int)
	// box returns lines of w cells, at most h of them.
	box(m *Model, w, h int) []string
	hints(m *Model) []hint
	// aid are its keys; typed says that letters belong to what is typed.
	aid(m *Model) (title string, keys []keyLine, typed bool)
	// cursor is the cell of the box in which text is typed.
	cursor() (x, y int, ok bool)
}

// close takes away what stands over the panes.
func (m *Model) closeOverlay() {
	m.overlay, m.aid = nil, nil
	m.screen.bars()
}

// overlay is a text over the panes that scrolls and closes.
type overlay struct {
	title term.Text
	lines []overlayLine
	top   int
	rows  int // lines that it had when it was drawn last
	shown int // of them in the window
}

type overlayLine struct {
	key, text, note term.Text
	style           paint.Style
	link            term.Link // where the text leads
}

// key scrolls, by the keys that scroll the detail, or closes; any other key closes
// too, and does nothing else.
func (o *overlay) key(m *Model, msg tea.KeyPressMsg) tea.Cmd {
	id := ""
	for _, name := range namesOf(msg) {
		if id, _ = m.keys.bound.Lookup(keymap.Scope(layout.Detail), name); id != "" {
			break
		}
	}
	page := max(o.shown-1, 1)
	switch {
	case id == "up":
		o.scroll(-1)
	case id == "down":
		o.scroll(1)
	case id == "page-up":
		o.scroll(-page)
	case id == "page-down" || msg.String() == "space":
		o.scroll(page)
	case id == "first":
		o.scroll(-o.rows)
	case id == "last":
		o.scroll(o.rows)
	case o == m.aid:
		m.closeAid()
	default:
		m.closeOverlay()
	}
	return nil
}

func (o *overlay) scroll(rows int)              { o.top = min(max(o.top+rows, 0), max(o.rows-o.shown, 0)) }
func (o *overlay) paste(*Model, string) tea.Cmd { return nil }
func (o *overlay) wheel(_ *Model, rows int)     { o.scroll(rows) }
func (o *overlay) click(*Model, int, int)       {}
func (o *overlay) cursor() (x, y int, ok bool)  { return 0, 0, false }

func (o *overlay) hints(m *Model) []hint {
	return []hint{{m.hintKeys([]*intent{m.keys.byID["up"], m.keys.byID["down"]}), term.Lit("scroll")}, {term.Lit("esc"), term.Lit("close")}}
}

func (o *overlay) box(m *Model, w, h int) []string {
	keyWidth := 0
	for _, l := range o.lines {
		keyWidth = max(keyWidth, l.key.Width())
	}
	keyWidth = min(keyWidth, 16)
	var rows []string
	for _, line := range o.lines {
		rows = append(rows, line.draw(m, w-4, keyWidth)...)
	}
	o.rows, o.shown = len(rows), max(h-2, 1)
	o.scroll(0)
	foot := term.Lit("esc closes")
	if len(rows) > o.shown {
		foot = term.Lit(strconv.Itoa(o.top+1) + "-" + strconv.Itoa(min(o.top+o.shown, len(rows))) + " of " + strconv.Itoa(len(rows)) + ", esc closes")
	}
	return frame(m, w, o.title, foot, rows[o.top:min(o.top+o.shown, len(rows))])
}

// draw returns the line, wrapped, with its note at the end.
func (line overlayLine) draw(m *Model, inner, keyWidth int) []string {
	if line.key.Empty() && line.note.Empty() {
		return []string{paint.NewLine(inner, "").Put(line.style, line.text).String()}
	}
	room := max(inner-keyWidth-2, 1)
	parts := lines(line.text, max(room, 10))
	if !line.note.Empty() {
		last := len(parts) - 1
		if parts[last].Width()+2+line.note.Width() > room {
			parts = append(parts, line.note.Truncate(room, "…"))
			line.note = term.Text{}
		}
	}
	var rows []string
	for i, part := range parts {
		l := paint.NewLine(inner, "")
		if i == 0 {
			l.Put(m.theme.Key, line.key.Truncate(keyWidth, "…"))
		}
		l.To(keyWidth+2).PutLink(line.style, part, line.link)
		if i == len(parts)-1 && !line.note.Empty() {
			l.Gap(2).Put(m.theme.Warn, line.note)
		}
		rows = append(rows, l.String())
	}
	return rows
}

// frame draws a box of w cells around rows of w-4.
func frame(m *Model, w int, title, foot term.Text, rows []string) []string {
	t := m.theme
	edge := paint.NewLine(1, "").Put(t.BorderFocus, t.Wall).String()
	top := paint.NewLine(w, "").Put(t.BorderFocus, t.Corners[0].Plus(t.Rule)).Gap(1).Put(t.TitleFocus, title.Truncate(max(w-6, 1), "…")).Gap(1)
	out := []string{top.Fill(t.BorderFocus, t.Rule, w-1).Put(t.BorderFocus, t.Corners[1]).String()}
	for _, r := range rows {
		out = append(out, edge+" "+r+" "+edge)
	}
	foot = foot.Truncate(max(w-6, 1), "…")
	bottom := paint.NewLine(w, "").Put(t.BorderFocus, t.Corners[2]).Fill(t.BorderFocus, t.Rule, max(w-foot.Width()-4, 0))
	bottom.Gap(1).Put(t.Dim, foot).Gap(1).Fill(t.BorderFocus, t.Rule, w-1)
	return append(out, bottom.Put(t.BorderFocus, t.Corners[3]).String())
}

// over is what stands over the panes, with its place: a dialog, an overlay, or
// the keys that may follow the beginning of a chord.
func (m *Model) over() (box []string, x, y, w int) {
	body := m.screen.layout.Body()
	w = min(m.width, 90)
	switch {
	case m.aid != nil:
		box = m.aid.box(m, w, body.H)
	case m.dialog != nil:
		box = m.dialog.box(m)
	case m.overlay != nil:
		if o, ok := m.overlay.(interface{ wide() bool }); ok && o.wide() {
			w = m.width
		}
		box = m.overlay.box(m, w, body.H)
	case len(m.keys.pending) > 0:
		box = m.whichBox(m.width, min(body.H, 14))
		return box, 0, body.Y + body.H - len(box), m.width
	default:
		return nil, 0, 0, 0
	}
	x, y = m.place(w, len(box))
	return box, x, y, w
}

// place is where a box of that size goes.
func (m *Model) place(w, h int) (x, y int) {
	body := m.screen.layout.Body()
	return (m.width - w) / 2, body.Y + max((body.H-h)/3, 0)
}

// whichBox lists what may follow the presses of a chord, in as many columns as
// there is room for.
func (m *Model) whichBox(w, h int) []string {
	all := m.continuations()
	keyWidth, textWidth := 0, 0
	for _, c := range all {
		keyWidth, textWidth = max(keyWidth, c.keys.Width()), max(textWidth, c.text.Width())
	}
	inner := w - 4
	columns := max(min((inner+3)/(keyWidth+textWidth+4), len(all)), 1)
	rows := (len(all) + columns - 1) / columns
	left := 0
	if most := max(h-2, 1); rows > most {
		left, rows = len(all)-most*columns, most
	}
	width := (inner+3)/columns - 3
	var out []string
	for r := range rows {
		l := paint.NewLine(inner, "")
		for c := range columns {
			if i := c*rows + r; i < len(all) && i < rows*columns {
				l.To(c*(width+3)).Put(m.theme.Key, all[i].keys.Pad(keyWidth)).Gap(1).Plain(all[i].text.Truncate(max(width-keyWidth-1, 1), "…"))
			}
		}
		out = append(out, l.String())
	}
	foot := term.Lit("esc leaves")
	if left > 0 {
		foot = countText(left, "more", "more").Plus(term.Lit(", "), foot)
	}
	return frame(m, w, m.chordName(keymap.Join(m.keys.pending...)).Plus(term.Lit(" and then")), foot, out)
}

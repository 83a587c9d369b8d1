package ui

import (
	"sort"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/ui/layout"
	"treering/ui/paint"
)

// overlay is a text over the panes that scrolls and closes.
type overlay struct {
	title term.Text
	lines []overlayLine
	top   int
	shown int // lines in the window when it was drawn last
}

type overlayLine struct {
	key, text, note term.Text
	style           paint.Style
}

// hints are the footer: what is most useful where the user is.
func (m *Model) hints() []hint {
	switch {
	case m.dialog != nil:
		return m.dialog.hints(m)
	case m.overlay != nil:
		return []hint{{term.Join(term.Spaces(1), m.keyName("up"), m.keyName("down")), term.Lit("scroll")}, {term.Lit("esc"), term.Lit("close")}}
	case m.nav.input != nil && m.focus == layout.Navigator:
		return []hint{{term.Lit("enter"), term.Lit("keep")}, {term.Lit("esc"), term.Lit("as before")},
			{term.Lit("status:"), term.Lit("failed")}, {term.Lit("definition:"), term.Lit("D")}, {term.Lit("kind:"), term.Lit("K")}}
	}
	var shown []*intent
	for i := range m.table {
		it := &m.table[i]
		// What cannot be used is left to the help, which says why; writing keys of a
		// read-only store would only be in the way.
		if it.Foot > 0 && it.appliesIn(m.focus) && it.disabled(m) == "" {
			shown = append(shown, it)
		}
	}
	sort.SliceStable(shown, func(i, j int) bool { return shown[i].Foot < shown[j].Foot })
	out := make([]hint, 0, len(shown))
	for _, it := range shown {
		keys := m.keyName(it.Keys[0])
		if it.ID == "focus" {
			keys = term.Lit("1-6")
		}
		if it.ID == "previous-view" {
			keys = term.Lit("h/l")
		}
		short := it.Short
		if it.ID == "copy" {
			short = m.copyWord()
		}
		out = append(out, hint{keys, term.Lit(short)})
	}
	return out
}

// keyName is how a key is shown.
func (m *Model) keyName(key string) term.Text {
	if !m.ascii {
		switch key {
		case "up":
			return term.Lit("↑")
		case "down":
			return term.Lit("↓")
		case "left":
			return term.Lit("←")
		case "right":
			return term.Lit("→")
		}
	}
	return term.Lit(key)
}

// helpOverlay lists every intent with its keys, those that apply in the focused
// pane first, and why one cannot be used.
func helpOverlay(m *Model) *overlay {
	o := &overlay{title: term.Lit("Keys")}
	names := paneNames
	section := func(title string, want func(*intent) bool) {
		var rows []overlayLine
		for i := range m.table {
			it := &m.table[i]
			if !want(it) {
				continue
			}
			keys := make([]term.Text, len(it.Keys))
			for k, key := range it.Keys {
				keys[k] = m.keyName(key)
			}
			row := overlayLine{key: term.Join(term.Spaces(1), keys...), text: term.Lit(it.Long)}
			if it.ID == "focus" {
				row.key = term.Lit("1 to 6")
			}
			if it.appliesIn(m.focus) {
				if why := it.disabled(m); why != "" {
					row.note = term.Lit(why)
				}
			} else {
				in := make([]string, len(it.Panes))
				for k, p := range it.Panes {
					in[k] = names[p]
				}
				row.note = term.Lit("in " + strings.Join(in, ", "))
			}
			rows = append(rows, row)
		}
		if len(rows) == 0 {
			return
		}
		if len(o.lines) > 0 {
			o.lines = append(o.lines, overlayLine{})
		}
		o.lines = append(append(o.lines, overlayLine{text: term.Lit(title), style: m.theme.Bold}), rows...)
	}
	here := func(it *intent) bool { return it.Panes != nil && len(it.Panes) < 6 && it.appliesIn(m.focus) }
	section("In the "+names[m.focus], here)
	section("Moving", func(it *intent) bool { return len(it.Panes) == 6 })
	section("Everywhere", func(it *intent) bool { return it.Panes == nil })
	section("Elsewhere", func(it *intent) bool { return it.Panes != nil && !it.appliesIn(m.focus) })
	return o
}

// aboutStore says what is known of the store and of how it is open.
func aboutStore(m *Model) *overlay {
	o := &overlay{title: term.Lit("This store")}
	put := func(key, text string) {
		if text != "" {
			o.lines = append(o.lines, overlayLine{key: term.Lit(key), text: m.term.Sanitise(text)})
		}
	}
	in := m.info
	put("locator", in.Locator)
	put("path", in.Path)
	put("backend", in.Backend)
	put("open", in.How)
	put("because", in.Why)
	put("journal", in.JournalMode)
	put("schema", in.SchemaInfo)
	for _, s := range in.Sets {
		text := "tables without a prefix"
		if s.Prefix != "" {
			text = s.Prefix + "_"
		}
		if s.Executions != nil {
			text += ", " + strconv.FormatInt(*s.Executions, 10) + " executions"
		}
		if s.Open {
			text += ", open"
		}
		if len(s.Missing) > 0 {
			text += "; missing: " + strings.Join(s.Missing, ", ")
		}
		put("executions", text)
	}
	if m.counts.known {
		put("counts", m.counts.summary())
	}
	if m.ts != nil {
		put("sessions", "yes")
	} else {
		put("sessions", "none in this store")
	}
	put("transport", strings.Join(in.Transport, ", "))
	for _, n := range in.Notes {
		put("note", n)
	}
	return o
}

// key scrolls or closes; any other key closes too, and does nothing else.
func (o *overlay) key(m *Model, name string) tea.Cmd {
	switch name {
	case "up", "k":
		o.top--
	case "down", "j":
		o.top++
	case "pgup", "ctrl+u":
		o.top -= max(o.shown-1, 1)
	case "pgdown", "ctrl+d", "space":
		o.top += max(o.shown-1, 1)
	case "g", "home":
		o.top = 0
	case "G", "end":
		o.top = len(o.lines)
	default:
		m.overlay = nil
		m.screen.bars()
		return nil
	}
	o.top = min(max(o.top, 0), max(len(o.lines)-o.shown, 0))
	return nil
}

// box returns the overlay as lines of one width, at most h of them.
func (o *overlay) box(m *Model, w, h int) []string {
	keyWidth := 0
	for _, l := range o.lines {
		keyWidth = max(keyWidth, l.key.Width())
	}
	keyWidth = min(keyWidth, 16)
	inner := w - 4
	var rows []string
	for _, line := range o.lines {
		if line.key.Empty() {
			rows = append(rows, paint.NewLine(inner, "").Put(line.style, line.text).String())
			continue
		}
		parts := lines(line.text, max(inner-keyWidth-2, 10))
		if !line.note.Empty() {
			last := len(parts) - 1
			if parts[last].Width()+2+line.note.Width() > inner-keyWidth-2 {
				parts = append(parts, line.note.Truncate(max(inner-keyWidth-2, 1), "…"))
				line.note = term.Text{}
			}
		}
		for i, part := range parts {
			l := paint.NewLine(inner, "")
			if i == 0 {
				l.Put(m.theme.Key, line.key)
			}
			l.To(keyWidth+2).Put(line.style, part)
			if i == len(parts)-1 && !line.note.Empty() {
				l.Gap(2).Put(m.theme.Warn, line.note)
			}
			rows = append(rows, l.String())
		}
	}
	o.shown = max(h-2, 1)
	more := len(rows) > o.shown
	o.top = min(o.top, max(len(rows)-o.shown, 0))
	foot := term.Lit("esc closes")
	if more {
		foot = term.Lit(strconv.Itoa(o.top+1) + "-" + strconv.Itoa(min(o.top+o.shown, len(rows))) + " of " + strconv.Itoa(len(rows)) + ", esc closes")
	}
	return frame(m, w, o.title, foot, rows[o.top:min(o.top+o.shown, len(rows))])
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
	bottom := paint.NewLine(w, "").Put(t.BorderFocus, t.Corners[2]).Fill(t.BorderFocus, t.Rule, max(w-foot.Width()-4, 0))
	bottom.Gap(1).Put(t.Dim, foot).Gap(1).Fill(t.BorderFocus, t.Rule, w-1)
	return append(out, bottom.Put(t.BorderFocus, t.Corners[3]).String())
}

// overlaid is the screen with the dialog or the overlay over it.
func (m *Model) overlaid() string {
	lines := strings.Split(m.screen.content, "\n")
	body := m.screen.layout.Body()
	w := min(m.width, 90)
	var box []string
	if m.dialog != nil {
		box = m.dialog.box(m)
	} else {
		box = m.overlay.box(m, w, body.H)
	}
	x, y := m.place(w, len(box))
	for i, b := range box {
		if y+i >= len(lines) {
			break
		}
		was := lines[y+i]
		const off = "\x1b[m"
		lines[y+i] = term.StyledCut(was, 0, x) + off + b + off + term.StyledCut(was, x+w, m.width)
	}
	return strings.Join(lines, "\n")
}

// place is where a box of that size goes.
func (m *Model) place(w, h int) (x, y int) {
	body := m.screen.layout.Body()
	return (m.width - w) / 2, body.Y + max((body.H-h)/3, 0)
}

package ui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/treeview"
	"treering/ui/jsondoc"
	"treering/ui/keymap"
	"treering/ui/layout"
	"treering/ui/paint"
)

// compareView is a comparison over the panes: how two ends relate, their steps side by
// side, and the differences of the ends.
type compareView struct {
	a, b   mark
	got    compared
	known  bool
	beside alongside
	doc    jsondoc.View
	inDoc  bool // keys go to the differences
	scroll treeview.Scroll
	ctx    context.Context //nolint:containedctx // of what is compared
	cancel context.CancelFunc
}

// besideWidth is from which width on the differences stand beside the steps.
const besideWidth = 140

// set takes over how the ends relate, and begins with the steps.
func (v *compareView) set(got compared) tea.Cmd {
	v.got, v.known = got, true
	if got.doc != nil {
		v.doc.Set(got.doc, false)
	}
	v.beside.begin(got.sides)
	v.inDoc = v.beside.ended()
	return v.readOn()
}

// readOn reads the next stretch of the steps, off the program's goroutine.
func (v *compareView) readOn() tea.Cmd {
	run := v.beside.next(v.ctx)
	if run == nil {
		return nil
	}
	return func() tea.Msg {
		s := run()
		return answerFunc(func(m *Model) tea.Cmd {
			if v.ctx.Err() != nil {
				return nil
			}
			m.screen.bars()
			return v.add(s)
		})
	}
}

// add appends a stretch. It reads on while there is no difference, and while one is
// looked for.
func (v *compareView) add(s stretch) tea.Cmd {
	c := &v.beside
	had, found := len(c.steps), c.first >= 0
	dropped := c.add(s)
	v.scroll.MoveTo(max(v.scroll.Cursor-dropped, 0), len(c.steps))
	if s.err != nil {
		return nil
	}
	if !found {
		v.scroll.MoveTo(max(c.first, 0), len(c.steps))
	}
	if c.seeking {
		if at := c.differs(had-dropped, 1); at >= 0 {
			c.seeking = false
			v.scroll.MoveTo(at, len(c.steps))
		}
	}
	if c.ended() {
		c.seeking = false
	}
	if c.first < 0 || c.seeking {
		return v.readOn()
	}
	return nil
}

// wide reports that it takes the whole body of the window.
func (v *compareView) wide() bool { return true }

func (v *compareView) leave(m *Model) {
	v.cancel()
	m.closeOverlay()
}

// key moves in the steps or in the differences, by the keys that move in the detail;
// a and b go to an end.
func (v *compareView) key(m *Model, msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	switch name {
	case "esc", "q":
		v.leave(m)
		return nil
	case "tab", "shift+tab":
		v.inDoc = !v.inDoc && !v.doc.Empty() || len(v.beside.steps) == 0
		return nil
	case "a":
		return v.jump(m, v.a)
	case "b":
		return v.jump(m, v.b)
	case "n", "N":
		return v.next(m, map[string]int{"n": 1, "N": -1}[name])
	case "r":
		if v.beside.ended() {
			m.refused("all steps are read")
		}
		return v.readOn()
	}
	id := ""
	for _, name := range namesOf(msg) {
		if id, _ = m.keys.bound.Lookup(keymap.Scope(layout.Detail), name); id != "" {
			break
		}
	}
	if v.inDoc {
		v.docKey(id)
		return nil
	}
	page := max(v.scroll.Height-1, 1)
	switch id {
	case "up":
		v.move(-1)
	case "down":
		v.move(1)
	case "page-up":
		v.move(-page)
	case "page-down":
		v.move(page)
	case "first":
		v.move(-len(v.beside.steps))
	case "last":
		v.move(len(v.beside.steps))
	}
	return nil
}

func (v *compareView) move(rows int) { v.scroll.MoveTo(v.scroll.Cursor+rows, len(v.beside.steps)) }

func (v *compareView) docKey(id string) {
	page := max(v.doc.Height()-1, 1)
	switch id {
	case "up":
		v.doc.Move(-1)
	case "down":
		v.doc.Move(1)
	case "page-up":
		v.doc.Move(-page)
	case "page-down":
		v.doc.Move(page)
	case "first":
		v.doc.Home()
	case "last":
		v.doc.End()
	case "detail-fold":
		v.doc.Toggle()
	case "detail-inward":
		v.doc.Inward()
	case "detail-outward":
		v.doc.Outward()
	case "detail-less":
		v.doc.Deeper(-1)
	case "detail-more":
		v.doc.Deeper(1)
	case "detail-unfold-all":
		v.doc.UnfoldAll()
	case "detail-wrap":
		v.doc.Wrap(!v.doc.Wrapped())
	}
}

// next goes to the next step that differs, reading on where there is none yet.
func (v *compareView) next(m *Model, by int) tea.Cmd {
	v.inDoc = false
	c := &v.beside
	if i := c.differs(v.scroll.Cursor+by, by); i >= 0 {
		v.scroll.MoveTo(i, len(c.steps))
		return nil
	}
	if by > 0 && !c.ended() {
		c.seeking = true
		return v.readOn()
	}
	m.refused("no other step differs")
	return nil
}

// jump goes to one of the ends.
func (v *compareView) jump(m *Model, to mark) tea.Cmd {
	v.leave(m)
	if to.kind != ofNode {
		return m.jump(to.id)
	}
	if m.subject != (subject{session, to.session}) {
		m.refused("session " + to.session + " is not the one shown any more")
		return nil
	}
	m.setFocus(layout.Tree)
	m.detail.release()
	if !m.tree.widget.Select(to.id) {
		m.refused(to.name() + " is not among the rows: the filter leaves it out")
		return nil
	}
	m.tree.touch()
	return m.tree.landed(m)
}

func (v *compareView) paste(*Model, string) tea.Cmd { return nil }

func (v *compareView) wheel(_ *Model, rows int) {
	if v.inDoc {
		v.doc.Scroll(rows)
		return
	}
	v.move(rows)
}

func (v *compareView) click(*Model, int, int)      {}
func (v *compareView) cursor() (x, y int, ok bool) { return 0, 0, false }

func (v *compareView) hints(m *Model) []hint {
	out := []hint{{m.hintKeys([]*intent{m.keys.byID["up"], m.keys.byID["down"]}), term.Lit("move")}}
	if len(v.beside.steps) > 0 {
		other := "data"
		if v.inDoc {
			other = "steps"
		}
		// In a short window the one is all that shows the data.
		out = append(out, hint{term.Lit("tab"), term.Lit(other)}, hint{term.Lit("n/N"), term.Lit("difference")})
	}
	if v.known && !v.beside.ended() && !v.beside.reading {
		out = append(out, hint{term.Lit("r"), term.Lit("read on")})
	}
	return append(out, hint{term.Lit("a/b"), term.Lit("go to A, B")}, hint{term.Lit("esc"), term.Lit("close")})
}

func (v *compareView) box(m *Model, w, h int) []string {
	inner, room := w-4, max(h-2, 1)
	v.doc.SetLook(m.look())
	out := v.head(m, inner, h < shortCompare)
	room -= len(out)
	switch {
	case room < 1:
	case len(v.beside.steps) == 0, room < 6 && inner < besideWidth && v.inDoc:
		out = append(out, v.docRows(m, inner, room)...)
	case room < 6 && inner < besideWidth:
		out = append(out, v.stepRows(m, inner, room)...) // tab shows the rest
	case inner >= besideWidth:
		left := (inner - 3) / 2
		a, b := v.stepRows(m, left, room), v.docRows(m, inner-3-left, room)
		for i := range room {
			wall := paint.NewLine(3, "").Gap(1).Put(m.theme.Border, m.theme.Wall).String()
			out = append(out, at(a, i, left)+wall+at(b, i, inner-3-left))
		}
	default:
		top := min(len(v.beside.steps), max(room/2, 1))
		out = append(out, v.stepRows(m, inner, top)...)
		if room > top+1 {
			out = append(out, paint.NewLine(inner, "").Fill(m.theme.Border, m.theme.Rule, inner).String())
			out = append(out, v.docRows(m, inner, room-top-1)...)
		}
	}
	return frame(m, w, term.Lit("Compare"), term.Lit("esc closes"), out[:min(len(out), max(h-2, 1))])
}

// at is a line of several, blank behind the last one.
func at(lines []string, i, w int) string {
	if i < len(lines) {
		return lines[i]
	}
	return term.Spaces(w).String()
}

// shortCompare is below how many rows both ends share a line, and the rows of the
// comparison say the rest.
const shortCompare = 14

// head says what is compared, and how it relates.
func (v *compareView) head(m *Model, w int, short bool) []string {
	var out []string
	if short {
		l := paint.NewLine(w, "")
		for i, end := range []mark{v.a, v.b} {
			l.Put(m.theme.Bold, term.Lit([]string{"A ", "  B "}[i])).Plain(m.term.Sanitise(end.name()).TruncateMiddle(max((w-6)/2, 8), "…"))
		}
		out = append(out, l.String())
	}
	for i, end := range []mark{v.a, v.b} {
		if short {
			break
		}
		l := paint.NewLine(w, "").Put(m.theme.Bold, term.Lit([]string{"A ", "B "}[i]))
		l.Plain(m.term.Sanitise(end.name()).TruncateMiddle(max(w/2, 20), "…"))
		out = append(out, l.Gap(2).Put(m.theme.Dim, m.term.SanitiseN(v.got.titles[i], maxSideText)).String())
	}
	if !v.known && v.got.said == nil {
		return append(out, paint.NewLine(w, "").Put(m.theme.Dim, term.Lit("comparing…")).String())
	}
	if why := v.got.whyNot(); why != "" {
		return append(out, paragraph(w, m.theme.Error, m.term.SanitiseN(why, 400))...)
	}
	for _, s := range v.got.said {
		out = append(out, wrapped(w, m.theme.Info, m.term.SanitiseN(s, 400))...)
	}
	for _, s := range v.got.warned {
		out = append(out, wrapped(w, m.theme.Warn, m.term.SanitiseN(s, 400))...)
	}
	return append(out, v.beside.says(m, w, short)...)
}

// wrapped is a sentence over as many rows as it takes.
func wrapped(w int, s paint.Style, t term.Text) []string {
	var out []string
	for _, part := range lines(t, w) {
		out = append(out, paint.NewLine(w, "").Put(s, part).String())
	}
	return out
}

// stepRows are the steps in the window, side by side.
func (v *compareView) stepRows(m *Model, w, h int) []string {
	v.scroll.Height = max(h, 1)
	v.scroll.Clamp(len(v.beside.steps))
	signs := map[treeview.Change]string{treeview.Same: "=", treeview.Changed: "~", treeview.OnlyA: "<", treeview.OnlyB: ">"}
	styles := map[treeview.Change]paint.Style{treeview.Changed: m.theme.Changed, treeview.OnlyA: m.theme.Removed, treeview.OnlyB: m.theme.Added}
	oneSided := len(v.beside.steps) > 0 && !slices.ContainsFunc(v.beside.steps, func(s sideBySide) bool { return s.change != v.beside.steps[0].change }) &&
		(v.beside.steps[0].change == treeview.OnlyA || v.beside.steps[0].change == treeview.OnlyB)
	var out []string
	for i := v.scroll.Top; i < min(v.scroll.Top+h, len(v.beside.steps)); i++ {
		s := v.beside.steps[i]
		l := rowStart(m, w, lookOf(i == v.scroll.Cursor, !v.inDoc))
		if oneSided { // the other half would be empty
			l.Put(styles[s.change], term.Lit(signs[s.change])).Gap(1).Put(styles[s.change], m.term.SanitiseN(s.a+s.b, w).Truncate(w-4, "…"))
			out = append(out, l.String())
			continue
		}
		half := (w - 4) / 2
		l.Put(styles[s.change], m.term.SanitiseN(s.a, half).Truncate(half, "…").Pad(half))
		l.Gap(1).Put(styles[s.change], term.Lit(signs[s.change])).Gap(1)
		l.Put(styles[s.change], m.term.SanitiseN(s.b, half).Truncate(half, "…"))
		out = append(out, l.String())
	}
	return out
}

func (v *compareView) docRows(m *Model, w, h int) []string {
	if v.doc.Empty() || h < 1 {
		return nil
	}
	v.doc.Resize(w, h)
	if v.inDoc {
		return v.doc.Draw(m.theme.Selected)
	}
	return v.doc.Draw("")
}

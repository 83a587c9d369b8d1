package ui

import (
	"strconv"
	"strings"

	"treering/internal/term"
	"treering/store"
	"treering/tracefeed"
	"treering/treeview"
	"treering/ui/paint"
	"treering/ui/when"
)

// unreadable reports whether there is nothing to show because of an error. What was read
// before stays where the store is away for a while: the header says since when.
func (t *tracePane) unreadable() bool {
	return t.err != nil && !(passing(t.err) && len(t.rows) > 0)
}

func (t *tracePane) title(m *Model) (name, note term.Text) {
	name = term.Lit("Trace")
	if t.known && !t.unreadable() {
		name = name.Plus(term.Spaces(1), m.theme.Dot, term.Spaces(1), term.Lit(t.ring.String()))
	}
	switch {
	case t.traceless():
	case !t.held:
		note = term.Lit("following")
	default:
		word := ", held"
		if t.paused {
			word = ", paused"
		}
		name = name.Plus(term.Lit(word))
		if t.fresh > 0 {
			name = name.Plus(term.Lit(", +" + treeview.Grouped(t.fresh) + " new"))
		}
	}
	if n := t.window.Missed() - t.ring.Missing; n > 0 { // those missing are said
		name = name.Plus(term.Lit(", " + treeview.Grouped(n) + " missed"))
	}
	return name, note
}

func (t *tracePane) draw(m *Model, w, h int, focused bool) []string {
	var out []string
	if m.member != "" {
		out = t.bar.lines(m, w, h, sifted(len(t.steps), len(t.all), t.noTime))
	}
	t.scrub.cells = 0
	if !m.plain && h-len(out) >= scrubbedHeight && t.known && !t.unreadable() && len(t.rows) > 1 {
		out = append(out, t.scrub.line(m, w))
	}
	t.head = len(out)
	h -= len(out)
	t.scroll.Height = max(h, 1)
	t.scroll.Clamp(len(t.steps))
	return append(out, t.listed(m, w, h, focused)...)
}

func (t *tracePane) listed(m *Model, w, h int, focused bool) []string {
	switch {
	case m.member == "":
		return paragraph(w, m.theme.Dim, term.Lit("no execution is selected; session trees have no trace"))
	case !t.known:
		return paragraph(w, m.theme.Dim, term.Lit("reading…"))
	case t.unreadable():
		return m.unreadLines(w, t.err)
	case !t.traceless() && len(t.steps) == 0 && t.bar.on():
		return paragraph(w, m.theme.Dim, term.Lit("no step matches"), term.Lit(m.keyFor("back")+" clears the filter"))
	case len(t.steps) == 0 && m.state.known && m.state.summary.Status.Is(store.Pending):
		return paragraph(w, m.theme.Dim, term.Lit("PENDING: it has not begun, so there is no step yet"))
	case len(t.steps) == 0:
		return paragraph(w, m.theme.Dim, term.Lit("no steps were recorded; engines trace only where they are told to"))
	}
	var out []string
	for i := t.scroll.Top; i < min(t.scroll.Top+h, len(t.steps)); i++ {
		look := lookOf(i == t.scroll.Cursor, focused)
		line, ok := t.cache.get(i, look, w)
		if !ok {
			line = t.cache.put(i, look, w, t.row(m, t.steps[i], w, look))
		}
		out = append(out, line)
	}
	return out
}

// timedWidth is from which width on a row has its time: at less there would be no
// room for what happened.
const timedWidth = 48

// row is: index, time, time since the step before, event, from -> to, actions.
func (t *tracePane) row(m *Model, s tracefeed.Row, w int, look look) string {
	glow := still
	if s.Came >= t.bright {
		glow = added
	}
	l := rowGlow(m, w, look, glow)
	digits := len(strconv.FormatInt(max(t.ring.Last, 0), 10))
	if s.Gap {
		return t.gapRow(m, l, s).String()
	}
	l.Put(m.theme.Dim, term.Lit(strconv.FormatInt(s.Index, 10)).PadLeft(digits)).Gap(1)
	if at := label(m.marks.of(mark{kind: ofStep, id: t.of, step: s.Index})); !at.Empty() {
		l.Put(m.theme.Bold, at).Gap(1)
	}
	if s.Bad != nil {
		return l.Put(m.theme.Error, m.term.SanitiseN("cannot be read: "+s.Bad.Err.Error(), w)).String()
	}
	switch {
	case s.Gone:
		l.Put(m.theme.Warn, term.Lit("gone")).Gap(1)
	case s.Evicted:
		l.Put(m.theme.Warn, term.Lit("evicted")).Gap(1)
	case s.Late:
		l.Put(m.theme.Info, term.Lit("late")).Gap(1)
	}
	if w >= timedWidth {
		at := term.Text{}
		if s.Timed {
			// The date is in the detail; here rows are told apart by the time of day.
			clock := when.Clock(s.At, m.now(), m.zone, 0)
			at = m.term.Sanitise(clock[strings.LastIndexByte(clock, ' ')+1:])
		}
		l.Put(m.theme.Dim, at.Pad(8)).Gap(1)
	}
	took := term.Text{}
	if s.Measured {
		took = term.Lit(tracefeed.Duration(s.Took))
	}
	l.Plain(took.PadLeft(7)).Gap(1)
	// What is left is shared: the event, then the states, then the actions.
	left := l.Left()
	event := stepEvent(m.term, s.Step)
	l.Plain(event.Truncate(min(max(left/3, 10), 24), "…").Pad(min(max(left/3, 10), 24))).Gap(1)
	l.Plain(stepPath(m.term, m.theme, s.Step))
	if len(s.Actions) > 0 {
		l.Put(m.theme.Dim, term.Spaces(2).Plus(joined(m.term, s.Actions)))
	}
	return l.String()
}

// gapRow says how many steps were not seen, and why.
func (t *tracePane) gapRow(m *Model, l *paint.Line, s tracefeed.Row) *paint.Line {
	n := s.Span().Count()
	text := treeview.Grouped(n) + " steps missed"
	if n == 1 {
		text = "1 step missed"
	}
	if s.Dropped {
		text += ": the ring let go of " + spanText(s) + " before anybody looked"
	} else {
		text += ": no " + spanText(s) + " in the ring"
	}
	return l.Put(m.theme.Warn, m.theme.Gap.Plus(term.Spaces(1), term.Lit(text)))
}

// spanText is the indexes of a gap.
func spanText(s tracefeed.Row) string {
	if s.Index == s.Last {
		return strconv.FormatInt(s.Index, 10)
	}
	return strconv.FormatInt(s.Index, 10) + " to " + strconv.FormatInt(s.Last, 10)
}

// stepEvent is a step's event, as far as it is known.
func stepEvent(profile term.Profile, s tracefeed.Step) term.Text {
	switch {
	case s.KindUnknown:
		return term.Lit("kind not recorded")
	case s.EventKind == "":
		return term.Lit("(no kind)")
	}
	return profile.SanitiseN(s.EventKind, 200)
}

// stepPath is from -> to.
func stepPath(profile term.Profile, theme *paint.Theme, s tracefeed.Step) term.Text {
	arrow := term.Spaces(1).Plus(theme.Arrow, term.Spaces(1))
	name := func(p *string) term.Text {
		switch {
		case p == nil:
			return term.Lit("(none)")
		case *p == "":
			return term.Lit("(half-way)")
		}
		return profile.SanitiseN(*p, 400)
	}
	if s.From == nil {
		return theme.Arrow.Plus(term.Spaces(1), name(s.To))
	}
	if s.To != nil && *s.From == *s.To {
		return name(s.To).Plus(term.Lit("  stays"))
	}
	return name(s.From).Plus(arrow, name(s.To))
}

// pastState is the state after a step.
func pastState(profile term.Profile, s tracefeed.Step) term.Text {
	switch {
	case s.Bad != nil:
		return term.Lit("cannot be read")
	case s.To == nil:
		return term.Lit("state not recorded")
	}
	return profile.SanitiseN(*s.To, 60)
}

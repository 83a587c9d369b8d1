package ui

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/tracefeed"
	"treering/treeview"
	"treering/ui/jsondoc"
	"treering/ui/layout"
	"treering/ui/paint"
	"treering/ui/when"
)

// tracePane lists the steps of an execution's trace ring, oldest first.
type tracePane struct {
	of     string
	steps  []tracefeed.Step
	ring   tracefeed.Ring
	known  bool
	err    error
	scroll treeview.Scroll
	at     int64 // index of the step under the cursor
	// held: the cursor stays on its step. Otherwise it is on the newest one.
	held  bool
	fresh int // steps that came while it was held
	req   request
	pace  pace
	rev   int
	cache rowCache
}

func (t *tracePane) touch() {
	t.cache.drop()
	t.rev++
}

func (t *tracePane) version() int { return t.rev }

// clear forgets the steps: another execution is looked at.
func (t *tracePane) clear() {
	t.req.stop()
	*t = tracePane{req: t.req, rev: t.rev, scroll: treeview.Scroll{Height: t.scroll.Height}}
	t.touch()
}

type traceRead struct {
	gen   int
	of    string
	steps []tracefeed.Step
	ring  tracefeed.Ring
	err   error
}

func (t *tracePane) load(m *Model) tea.Cmd {
	if m.member == "" || m.es == nil {
		return nil
	}
	of := m.member
	ok, wait := t.pace.start(m.now())
	if !ok {
		return m.later(wait, func(m *Model) tea.Cmd {
			if m.member != of {
				return nil
			}
			m.trace.pace.rested()
			return m.trace.load(m)
		})
	}
	ctx, gen := t.req.begin(m.ctx)
	es, before := m.es, t.steps
	return func() tea.Msg {
		entries, err := es.ReadTrace(ctx, of)
		out := traceRead{gen: gen, of: of, err: err}
		if err == nil {
			out.ring = tracefeed.Measure(entries)
			out.steps = tracefeed.Steps(entries, before)
		}
		return out
	}
}

func (r traceRead) apply(m *Model) tea.Cmd {
	t := &m.trace
	if !t.req.ends(r.gen) || r.of != m.member {
		return nil
	}
	again := t.pace.end(m.now())
	var next tea.Cmd
	if again {
		next = t.load(m)
	}
	if r.err != nil {
		t.pace.failed()
		if abandoned(r.err) {
			return next
		}
		t.known = true
		t.touch()
		m.unread("cannot read the trace", r.err, &t.err)
		return next
	}
	if t.known && t.err == nil && t.ring == r.ring && sameSteps(t.steps, r.steps) {
		return next
	}
	if t.held {
		for _, s := range r.steps {
			if len(t.steps) > 0 && s.Index > t.steps[len(t.steps)-1].Index {
				t.fresh++
			}
		}
	}
	if len(r.steps) > 0 {
		m.suggestLower(layout.Trace)
	} else {
		m.suggestLower(layout.Detail)
	}
	t.of, t.steps, t.ring, t.err, t.known = r.of, r.steps, r.ring, nil, true
	t.touch()
	if row := t.rowOf(t.at); t.held && row >= 0 {
		t.scroll.Hold(row, len(t.steps))
	} else {
		// The ring dropped the step, or the newest is followed.
		if !t.held {
			t.scroll.MoveTo(len(t.steps)-1, len(t.steps))
		} else {
			t.scroll.MoveTo(0, len(t.steps))
		}
		t.land()
	}
	if m.detail.driver == layout.Trace {
		return tea.Batch(next, t.describe(m))
	}
	return next
}

func sameSteps(a, b []tracefeed.Step) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Index != b[i].Index || a[i].Entry != b[i].Entry || (a[i].Bad == nil) != (b[i].Bad == nil) {
			return false
		}
	}
	return true
}

func (t *tracePane) rowOf(index int64) int {
	for i, s := range t.steps {
		if s.Index == index {
			return i
		}
	}
	return -1
}

func (t *tracePane) land() {
	if t.scroll.Cursor < len(t.steps) {
		t.at = t.steps[t.scroll.Cursor].Index
	}
	t.rev++
}

// move moves the cursor. Upwards it leaves the newest step; on the last one it
// follows again.
func (t *tracePane) move(m *Model, rows int) tea.Cmd {
	if len(t.steps) == 0 {
		return nil
	}
	t.scroll.MoveTo(t.scroll.Cursor+rows, len(t.steps))
	t.hold(t.scroll.Cursor < len(t.steps)-1)
	t.land()
	return t.describe(m)
}

func (t *tracePane) hold(held bool) {
	t.held = held
	if !held {
		t.fresh = 0
	}
}

func (t *tracePane) home(m *Model) tea.Cmd { return t.move(m, -len(t.steps)) }
func (t *tracePane) end(m *Model) tea.Cmd  { return t.move(m, len(t.steps)) }

// toggleFollow stays on the step under the cursor, or goes to the newest one and
// follows it.
func (t *tracePane) toggleFollow(m *Model) tea.Cmd {
	if len(t.steps) == 0 {
		return nil
	}
	t.hold(!t.held)
	if !t.held {
		t.scroll.MoveTo(len(t.steps)-1, len(t.steps))
	}
	t.land()
	return t.describe(m)
}

// describe shows the step under the cursor in the detail pane.
func (t *tracePane) describe(m *Model) tea.Cmd {
	i := t.scroll.Cursor
	if i >= len(t.steps) {
		return nil
	}
	steps := t.steps
	return m.detail.show(m, layout.Trace, target{kind: ofStep, id: t.of, seq: steps[i].Index},
		func(w *docWriter) *jsondoc.Doc { return w.step(steps, i) })
}

func (t *tracePane) title(m *Model) (name, note term.Text) {
	name = term.Lit("Trace")
	if t.known && t.err == nil {
		name = name.Plus(term.Spaces(1), m.theme.Dot, term.Spaces(1), term.Lit(t.ring.String()))
	}
	switch {
	case len(t.steps) == 0:
	case !t.held:
		note = term.Lit("following")
	default:
		name = name.Plus(term.Lit(", held"))
		if t.fresh > 0 {
			name = name.Plus(term.Lit(", +" + treeview.Grouped(int64(t.fresh)) + " new"))
		}
	}
	return name, note
}

func (t *tracePane) draw(m *Model, w, h int, focused bool) []string {
	t.scroll.Height = max(h, 1)
	t.scroll.Clamp(len(t.steps))
	switch {
	case m.member == "":
		return paragraph(w, m.theme.Dim, term.Lit("no execution is selected; session trees have no trace"))
	case !t.known:
		return paragraph(w, m.theme.Dim, term.Lit("reading…"))
	case t.err != nil:
		return m.unreadLines(w, t.err)
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
func (t *tracePane) row(m *Model, s tracefeed.Step, w int, look look) string {
	l := rowStart(m, w, look)
	digits := len(strconv.FormatInt(max(t.ring.Last, 0), 10))
	l.Put(m.theme.Dim, term.Lit(strconv.FormatInt(s.Index, 10)).PadLeft(digits)).Gap(1)
	if s.Bad != nil {
		return l.Put(m.theme.Error, m.term.SanitiseN("cannot be read: "+s.Bad.Err.Error(), w)).String()
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
	event := stepEvent(m.term, s)
	l.Plain(event.Truncate(min(max(left/3, 10), 24), "…").Pad(min(max(left/3, 10), 24))).Gap(1)
	l.Plain(stepPath(m.term, m.theme, s))
	if len(s.Actions) > 0 {
		l.Put(m.theme.Dim, term.Spaces(2).Plus(joined(m.term, s.Actions)))
	}
	return l.String()
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

// traceless reports whether the selected execution has nothing to step through.
func (t *tracePane) traceless() bool { return len(t.steps) == 0 }

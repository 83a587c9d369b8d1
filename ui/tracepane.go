package ui

import (
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store/query"
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
	all    []tracefeed.Step // of the ring
	steps  []tracefeed.Step // those that the filter lets through
	bar    filterBar
	noTime int
	head   int // lines above the rows, as they were drawn last
	sieve  request
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
	t.sieve.stop()
	*t = tracePane{req: t.req, sieve: t.sieve, rev: t.rev, scroll: treeview.Scroll{Height: t.scroll.Height}, bar: t.bar}
	t.touch()
}

type traceRead struct {
	gen   int
	of    string
	steps []tracefeed.Step
	ring  tracefeed.Ring
	err   error

	query  *query.Query // that the steps were sifted by
	shown  []tracefeed.Step
	noTime int
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
	es, before, sieve := m.es, t.all, t.sifting(m)
	return func() tea.Msg {
		entries, err := es.ReadTrace(ctx, of)
		out := traceRead{gen: gen, of: of, err: err}
		if err == nil {
			out.ring = tracefeed.Measure(entries)
			out.steps = tracefeed.Steps(entries, before)
			out.query = sieve.query
			out.shown, out.noTime, out.err = sieve.run(ctx, out.steps)
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
	if t.known && t.err == nil && t.ring == r.ring && sameSteps(t.all, r.steps) {
		return next
	}
	if t.held {
		for _, s := range r.steps {
			if len(t.all) > 0 && s.Index > t.all[len(t.all)-1].Index {
				t.fresh++
			}
		}
	}
	if len(r.steps) > 0 {
		m.suggestLower(layout.Trace)
	} else {
		m.suggestLower(layout.Detail)
	}
	t.of, t.all, t.ring, t.err, t.known = r.of, r.steps, r.ring, nil, true
	if r.query != t.bar.query { // it became another meanwhile
		next = tea.Batch(next, t.sift(m))
	} else {
		t.list(r.shown, r.noTime)
	}
	if m.detail.driver == layout.Trace {
		return tea.Batch(next, t.describe(m))
	}
	return next
}

// list shows steps: those that the filter lets through.
func (t *tracePane) list(shown []tracefeed.Step, noTime int) {
	t.steps, t.noTime = shown, noTime
	t.touch()
	row := t.rowOf(t.at)
	switch {
	case t.held && row >= 0:
		t.scroll.Hold(row, len(t.steps))
		return
	case t.held:
		// The ring dropped the step, or the filter leaves it out: the next one there is.
		at := slices.IndexFunc(t.steps, func(s tracefeed.Step) bool { return s.Index >= t.at })
		if at < 0 {
			at = len(t.steps) - 1
		}
		t.scroll.MoveTo(at, len(t.steps))
	default: // the newest is followed
		t.scroll.MoveTo(len(t.steps)-1, len(t.steps))
	}
	t.land()
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
	all, index := t.all, t.steps[i].Index
	at := slices.IndexFunc(all, func(s tracefeed.Step) bool { return s.Index == index })
	if at < 0 {
		return nil // it is dropped, and what is listed instead comes
	}
	return m.detail.show(m, layout.Trace, target{kind: ofStep, id: t.of, seq: index},
		func(w *docWriter) *jsondoc.Doc { return w.step(all, at) })
}

func (t *tracePane) title(m *Model) (name, note term.Text) {
	name = term.Lit("Trace")
	if t.known && t.err == nil {
		name = name.Plus(term.Spaces(1), m.theme.Dot, term.Spaces(1), term.Lit(t.ring.String()))
	}
	switch {
	case len(t.all) == 0:
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
	var out []string
	if m.member != "" {
		out = t.bar.lines(m, w, h, sifted(len(t.steps), len(t.all), t.noTime))
	}
	t.head = len(out)
	h -= len(out)
	t.scroll.Height = max(h, 1)
	t.scroll.Clamp(len(t.steps))
	return append(out, t.rows(m, w, h, focused)...)
}

func (t *tracePane) rows(m *Model, w, h int, focused bool) []string {
	switch {
	case m.member == "":
		return paragraph(w, m.theme.Dim, term.Lit("no execution is selected; session trees have no trace"))
	case !t.known:
		return paragraph(w, m.theme.Dim, term.Lit("reading…"))
	case t.err != nil:
		return m.unreadLines(w, t.err)
	case len(t.all) > 0 && len(t.steps) == 0 && t.bar.on():
		return paragraph(w, m.theme.Dim, term.Lit("no step matches"), term.Lit(m.keyFor("back")+" clears the filter"))
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
	if at := label(m.marks.of(mark{kind: ofStep, id: t.of, step: s.Index})); !at.Empty() {
		l.Put(m.theme.Bold, at).Gap(1)
	}
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
func (t *tracePane) traceless() bool { return len(t.all) == 0 }

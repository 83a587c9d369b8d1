package ui

import (
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/tracefeed"
	"treering/treeview"
	"treering/ui/layout"
	"treering/ui/paint"
)

// scrubbedHeight is from which height on a trace has a scrubber: below, its line is
// worth more as a step.
const scrubbedHeight = 5

// scrubber is the line above the steps that shows the whole ring at once: where
// something changed, where steps are missing, and where the cursor is.
type scrubber struct {
	key     []string // of the context, whose changes are marked; none: the state's
	changed []bool   // by row
	values  map[int64]store.JSON
	cells   int // how many were drawn last; 0: the line is not there
}

// measure finds out where something changed.
func (s *scrubber) measure(rows []tracefeed.Row) {
	s.changed = make([]bool, len(rows))
	values := make(map[int64]store.JSON, len(rows))
	var was store.JSON
	known := false
	for i := range rows {
		if rows[i].Gap {
			continue
		}
		now, had := s.values[rows[i].Index]
		if !had {
			now = valueAfter(&rows[i].Step, s.key)
		}
		values[rows[i].Index] = now
		if now == unsaid {
			continue
		}
		s.changed[i] = known && now != was && !store.Equal(now, was)
		was, known = now, true
	}
	s.values = values
}

// unsaid is the value of a step that does not tell. It is no JSON.
const unsaid = store.JSON("\x00")

// valueAfter is the state after a step, or what its context has at a key.
func valueAfter(s *tracefeed.Step, key []string) store.JSON {
	switch {
	case s.Bad != nil:
		return unsaid
	case len(key) == 0:
		if s.To == nil {
			return unsaid
		}
		return store.Quote(*s.To)
	case s.Context == "":
		return unsaid
	}
	return s.Context.At(key...)
}

// name is whose changes are marked.
func (s *scrubber) name() string {
	if len(s.key) == 0 {
		return "state"
	}
	return strings.Join(s.key, ".")
}

// line draws it: each cell stands for one step, or for as many as it must.
func (s *scrubber) line(m *Model, w int) string {
	t := &m.trace
	l := paint.NewLine(w, "").Gap(1)
	tail := term.Lit("by ").Plus(m.term.SanitiseN(s.name(), 16))
	if beat := t.pulse.text(m); !beat.Empty() {
		tail = beat.Plus(term.Spaces(2), tail)
	}
	cells := w - 3 - tail.Width()
	if cells < 8 {
		cells, tail = w-2, term.Text{}
	}
	n := len(t.rows)
	cells = min(cells, n)
	s.cells = cells
	at := -1
	for i := range t.rows {
		if sp := t.rows[i].Span(); sp.First <= t.at && t.at <= sp.Last {
			at = i
			break
		}
	}
	for c := range cells {
		from, to := c*n/cells, max((c+1)*n/cells, c*n/cells+1)
		style, glyph := s.cell(m.theme, t.rows[from:to], s.changed[from:to])
		if at >= from && at < to {
			style, glyph = m.theme.Bold, m.theme.Here
		}
		l.Put(style, glyph)
	}
	if !tail.Empty() {
		l.To(w-1-tail.Width()).Put(m.theme.Dim, tail)
	}
	return l.String()
}

// click goes to the step that a column of the line stands for: of several the first at
// which something changed, else the first that is listed.
func (s *scrubber) click(m *Model, x int) tea.Cmd {
	t := &m.trace
	c := x - 1 // behind the gap
	if c < 0 || c >= s.cells {
		return nil
	}
	n, to := len(t.rows), int64(-1)
	for i := c * n / s.cells; i < max((c+1)*n/s.cells, c*n/s.cells+1); i++ {
		if t.rowOf(t.rows[i].Index) < 0 {
			continue // the filter leaves it out
		}
		if s.changed[i] {
			return t.goTo(m, t.rows[i].Index)
		}
		if to < 0 {
			to = t.rows[i].Index
		}
	}
	if to < 0 {
		m.refused("that step is not listed; " + m.keyFor("back") + " clears the filter")
		return nil
	}
	return t.goTo(m, to)
}

// cell is what some rows look like from afar.
func (s *scrubber) cell(t *paint.Theme, rows []tracefeed.Row, changed []bool) (paint.Style, term.Text) {
	steps, changes := 0, 0
	for i := range rows {
		switch {
		case rows[i].Gap:
			return t.Warn, t.Gap
		case rows[i].Bad != nil:
			return t.Error, term.Lit("!")
		case changed[i]:
			changes++
		}
		steps++
	}
	if changes == 0 {
		return t.Dim, t.Dot
	}
	return t.Info, t.Bars[(changes*len(t.Bars)-1)/steps]
}

// turnTo is the change behind the cursor, or before it.
func turnTo(by int) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		t := &m.trace
		at := 0
		for at < len(t.rows) && t.rows[at].Span().Last < t.at {
			at++
		}
		for i := at + by; i >= 0 && i < len(t.rows); i += by {
			if t.scrub.changed[i] && t.rowOf(t.rows[i].Index) >= 0 {
				return t.goTo(m, t.rows[i].Index)
			}
		}
		where := "after"
		if by < 0 {
			where = "before"
		}
		m.refused("no change of the " + t.scrub.what() + " " + where + " this step is listed")
		return nil
	}
}

// what is whose changes are marked, in a sentence.
func (s *scrubber) what() string {
	if len(s.key) == 0 {
		return "state"
	}
	return "context's " + strings.Join(s.key, ".")
}

// openChangeOf lists what the changes can be of: the state, and what is in the context
// of the step under the cursor.
func openChangeOf(m *Model, _ string) tea.Cmd {
	row, ok := m.trace.current()
	if !ok {
		return nil
	}
	keys := [][]string{nil}
	for k, v := range row.Context.Members() {
		keys = append(keys, []string{k})
		for inner := range v.Members() {
			if len(keys) < maxChangeKeys {
				keys = append(keys, []string{k, inner})
			}
		}
		if len(keys) >= maxChangeKeys {
			break
		}
	}
	m.pickFrom(&picker{
		title: term.Lit("Changes of"), prompt: "the state, or a key of the context", empty: "the context has no such key",
		list: func(_ *Model, typed string) []pick {
			var out []pick
			for _, key := range ranked(keys, typed, func(k []string) []string { return []string{(&scrubber{key: k}).name()} }) {
				s := scrubber{key: key}
				out = append(out, pick{id: "k" + strings.Join(key, "\x00"), text: term.Sanitise(s.name()), run: func(m *Model) tea.Cmd {
					t := &m.trace
					t.scrub = s
					t.scrub.measure(t.rows)
					t.touch()
					m.say("changes are those of the " + s.what())
					return nil
				}})
			}
			return out
		},
	}, "")
	return nil
}

// maxChangeKeys bounds the keys that are offered: contexts may be large.
const maxChangeKeys = 1000

// scrubbed notes that other panes may show the past of another step.
func (m *Model) scrubbed() {
	if m.tree.of.kind == execution {
		m.tree.touch()
	}
	m.queues.touch()
}

// scrubIntents are those that go through a trace by what changed.
func scrubIntents() []intent {
	here := []layout.Pane{layout.Trace}
	return []intent{
		{ID: "previous-change", Keys: []string{"{"}, Panes: here, Short: "change before", Long: "to the step before that changed the state, or the key of the context that was chosen", why: traced, do: turnTo(-1)},
		{ID: "next-change", Keys: []string{"}"}, Panes: here, Short: "next change", Foot: 8, Long: "to the next step that changed the state, or the key of the context that was chosen", why: traced, do: turnTo(1)},
		{ID: "change-of", Keys: []string{"K"}, Panes: here, Short: "changes of", Long: "choose what counts as a change: of the state, or of a key of the context", why: traced, do: openChangeOf},
	}
}

// past is the step that the other panes go by: the one under the cursor of the trace,
// while that is not the newest.
func (t *tracePane) past(id string) (s tracefeed.Row, ok bool) {
	if !t.held || t.of != id || id == "" {
		return s, false
	}
	s, ok = t.current()
	return s, ok && !s.Gap && s.Index != t.ring.Last
}

// pulse is how many steps came in the last seconds.
type pulse struct {
	counts [pulseLength]int64 // by second, modulo their number
	last   int64              // the second of the newest
	rate   *tracefeed.Rate
}

// pulseLength is for how many seconds back it shows how many there were.
const pulseLength = 12

func (p *pulse) add(n int64, at time.Time) {
	if p.rate == nil {
		p.rate = tracefeed.NewRate(5 * time.Second)
	}
	p.rate.Add(n, at)
	p.advance(at)
	p.counts[at.Unix()%pulseLength] += n
}

// advance forgets what is too long ago by then.
func (p *pulse) advance(at time.Time) {
	now := at.Unix()
	if now-p.last >= pulseLength {
		p.counts = [pulseLength]int64{}
		p.last = now
	}
	for ; p.last < now; p.last++ {
		p.counts[(p.last+1)%pulseLength] = 0
	}
}

// dim brings it up to date, and reports whether it will look otherwise later: where
// nothing comes for a while it is still.
func (p *pulse) dim(t *tracePane, now time.Time) (going bool) {
	if t.bright <= t.window.Now() {
		t.bright = t.window.Now() + 1
		t.touch()
	}
	if p.last == 0 {
		return false
	}
	before := p.last
	p.advance(now)
	if p.last != before {
		t.rev++
	}
	return p.counts != [pulseLength]int64{}
}

// text is the rate and a line of bars, empty where nothing came for a while.
func (p *pulse) text(m *Model) term.Text {
	var most int64
	for _, n := range p.counts {
		most = max(most, n)
	}
	if most == 0 {
		return term.Text{}
	}
	bars := m.theme.Bars
	var out term.Text
	for i := p.last - pulseLength + 1; i <= p.last; i++ {
		n := p.counts[((i%pulseLength)+pulseLength)%pulseLength]
		if n == 0 {
			out = out.Plus(term.Spaces(1))
			continue
		}
		out = out.Plus(bars[(n*int64(len(bars))-1)/most])
	}
	return term.Lit(perSecond(p.rate.PerSecond(m.now())) + " ").Plus(out)
}

// perSecond is a rate in few cells.
func perSecond(rate float64) string {
	switch {
	case rate >= 10:
		return treeview.Grouped(int64(rate+0.5)) + "/s"
	default:
		return strconv.FormatFloat(rate, 'f', 1, 64) + "/s"
	}
}

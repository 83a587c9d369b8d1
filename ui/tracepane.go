package ui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"treering/store/query"
	"treering/tracefeed"
	"treering/treeview"
	"treering/ui/jsondoc"
	"treering/ui/layout"
)

// tracePane lists the steps of an execution's trace ring, oldest first.
type tracePane struct {
	of     string
	reader *tracefeed.RingReader // of the ring; nil: it was not read yet
	window tracefeed.Window      // what is seen of it
	rows   []tracefeed.Row       // of the window
	all    []tracefeed.Step      // of the rows
	steps  []tracefeed.Row       // those that the filter lets through
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
	held   bool
	paused bool   // nothing that came after frozen is shown
	frozen uint64 // a reading of the window
	fresh  int64  // steps that came while it was held
	told   told
	scrub  scrubber
	pulse  pulse
	bright uint64 // the rows of this reading and of later ones are marked as new
	req    request
	pace   pace
	rev    int
	cache  rowCache
}

// told is what of a step the detail pane was made from.
type told struct {
	of            string
	index         int64
	n             int
	evicted, gone bool
	made          bool
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
	*t = tracePane{req: t.req, sieve: t.sieve, rev: t.rev, scroll: treeview.Scroll{Height: t.scroll.Height}, bar: t.bar, scrub: scrubber{key: t.scrub.key}}
	t.touch()
}

type traceRead struct {
	gen    int
	reader *tracefeed.RingReader
	of     string
	facts  []tracefeed.Fact
	ring   tracefeed.Ring
	err    error
}

// load reads the ring. What it holds that was not there before is worked out off the
// program's goroutine; a reader is at work once at a time.
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
	if t.reader == nil {
		t.reader = tracefeed.NewRingReader(of, nil)
	}
	ctx, gen := t.req.begin(m.ctx)
	es, reader := m.es, t.reader
	return func() tea.Msg {
		out := traceRead{gen: gen, reader: reader, of: of}
		entries, err := es.ReadTrace(ctx, of)
		if out.err = err; err == nil {
			out.facts, out.ring = reader.Read(entries), tracefeed.Measure(entries)
		}
		return out
	}
}

func (r traceRead) apply(m *Model) tea.Cmd {
	t := &m.trace
	if r.reader != t.reader || r.of != m.member {
		return nil
	}
	t.req.ends(r.gen)
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
	if t.known && t.err == nil && t.ring == r.ring && len(r.facts) == 0 {
		return next
	}
	first := !t.known
	fresh := t.window.Apply(r.facts)
	if t.held {
		t.fresh += fresh
		t.window.Hold(t.at)
	} else {
		t.window.Follow()
	}
	t.of, t.ring, t.err, t.known = r.of, r.ring, nil, true
	switch {
	case first:
		t.bright = t.window.Now() + 1
	case fresh > 0:
		t.pulse.add(fresh, m.now())
		next = tea.Batch(next, m.glow())
	}
	next = tea.Batch(next, t.relist(m))
	if t.ring.Held > 0 {
		m.suggestLower(layout.Trace)
	} else {
		m.suggestLower(layout.Detail)
	}
	return next
}

// relist shows what the window holds now.
func (t *tracePane) relist(m *Model) tea.Cmd {
	t.rows = t.window.Rows()
	if t.paused {
		t.rows = slices.DeleteFunc(t.rows, func(r tracefeed.Row) bool { return r.Came > t.frozen })
	}
	t.all = make([]tracefeed.Step, 0, len(t.rows))
	for i := range t.rows {
		if !t.rows[i].Gap {
			t.all = append(t.all, t.rows[i].Step)
		}
	}
	t.scrub.measure(t.rows)
	if t.bar.query != nil {
		return t.sift(m)
	}
	t.list(m, t.rows, 0)
	return t.retell(m)
}

// list shows rows: those that the filter lets through.
func (t *tracePane) list(m *Model, shown []tracefeed.Row, noTime int) {
	t.steps, t.noTime = shown, noTime
	t.touch()
	row := t.rowOf(t.at)
	switch {
	case t.held && row >= 0:
		t.scroll.Hold(row, len(t.steps))
		return
	case t.held:
		// The filter leaves the step out: the next one there is.
		at := slices.IndexFunc(t.steps, func(r tracefeed.Row) bool { return r.Span().Last >= t.at })
		if at < 0 {
			at = len(t.steps) - 1
		}
		t.scroll.MoveTo(at, len(t.steps))
	default: // the newest is followed
		t.scroll.MoveTo(len(t.steps)-1, len(t.steps))
	}
	t.land(m)
}

// rowOf is the row of a step, -1 where it is not listed. A step that came in the middle
// of what was missing takes the place of it.
func (t *tracePane) rowOf(index int64) int {
	return slices.IndexFunc(t.steps, func(r tracefeed.Row) bool { s := r.Span(); return s.First <= index && index <= s.Last })
}

func (t *tracePane) land(m *Model) {
	if t.scroll.Cursor < len(t.steps) {
		t.at = t.steps[t.scroll.Cursor].Index
	}
	t.rev++
	m.scrubbed()
}

// move moves the cursor. Upwards it leaves the newest step; on the last one it
// follows again, unless it is paused.
func (t *tracePane) move(m *Model, rows int) tea.Cmd {
	if len(t.steps) == 0 {
		return nil
	}
	t.scroll.MoveTo(t.scroll.Cursor+rows, len(t.steps))
	t.land(m)
	if !t.paused {
		return tea.Batch(t.hold(m, t.scroll.Cursor < len(t.steps)-1), t.describe(m))
	}
	return t.describe(m)
}

// goTo moves the cursor to the row of a step.
func (t *tracePane) goTo(m *Model, index int64) tea.Cmd {
	if row := t.rowOf(index); row >= 0 {
		return t.move(m, row-t.scroll.Cursor)
	}
	return nil
}

// hold has the cursor stay where it is, or follow the newest step again.
func (t *tracePane) hold(m *Model, held bool) tea.Cmd {
	if t.held == held {
		return nil
	}
	t.held, t.paused = held, false
	if held {
		return nil
	}
	t.fresh = 0
	t.window.Follow()
	return t.relist(m)
}

func (t *tracePane) home(m *Model) tea.Cmd { return t.move(m, -len(t.steps)) }
func (t *tracePane) end(m *Model) tea.Cmd  { return t.move(m, len(t.steps)) }

// toggleFollow freezes what is shown, or goes to the newest step and follows it.
func (t *tracePane) toggleFollow(m *Model) tea.Cmd {
	if len(t.steps) == 0 {
		return nil
	}
	if t.held {
		return tea.Batch(t.hold(m, false), t.describe(m))
	}
	t.held, t.paused, t.frozen = true, true, t.window.Now()
	t.land(m)
	return t.describe(m)
}

// current is the row under the cursor.
func (t *tracePane) current() (row tracefeed.Row, ok bool) {
	if t.scroll.Cursor < len(t.steps) {
		return t.steps[t.scroll.Cursor], true
	}
	return row, false
}

// describe shows the step under the cursor in the detail pane.
func (t *tracePane) describe(m *Model) tea.Cmd {
	row, ok := t.current()
	if !ok {
		return nil
	}
	all, of := t.all, t.of
	at := slices.IndexFunc(all, func(s tracefeed.Step) bool { return s.Index == row.Index })
	if at < 0 && !row.Gap {
		return nil // it is dropped, and what is listed instead comes
	}
	t.told = told{of, row.Index, len(all), row.Evicted, row.Gone, true}
	return m.detail.show(m, layout.Trace, target{kind: ofStep, id: of, seq: row.Index},
		func(w *docWriter) *jsondoc.Doc {
			if row.Gap {
				return w.gap(row)
			}
			return w.step(all, at, row)
		})
}

// retell has the detail pane show the step under the cursor, where that says something
// else now.
func (t *tracePane) retell(m *Model) tea.Cmd {
	if m.detail.driver != layout.Trace {
		return nil
	}
	row, ok := t.current()
	if ok && t.told == (told{t.of, row.Index, len(t.all), row.Evicted, row.Gone, true}) {
		return nil
	}
	return t.describe(m)
}

// traceless reports whether the selected execution has nothing to step through.
func (t *tracePane) traceless() bool { return len(t.all) == 0 && len(t.rows) == 0 }

func (t *tracePane) init() {
	t.bar = filterBar{subject: query.Steps, changed: t.sift, drawn: t.touch, seen: t.words}
}

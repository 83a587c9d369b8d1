package tracefeed

import (
	"cmp"
	"slices"
)

// Row is one row of a [Window]: a step, or a run of indexes of which no step was seen.
type Row struct {
	Step // of a gap the Index alone, its first
	// Gap: Index to Last, both included, were never seen. Dropped: the ring let them go
	// before anybody looked; otherwise they are missing from its middle.
	Gap     bool
	Last    int64
	Dropped bool

	Late    bool // it came below steps that were there before
	Evicted bool // the ring has let it go since
	Gone    bool // it is not in the store any more, without having left at the old end
	// Came numbers the reading that it came with; see [Window.Now].
	Came uint64
}

// Span are the indexes that a row stands for.
func (r *Row) Span() Span {
	if r.Gap {
		return Span{r.Index, r.Last}
	}
	return Span{r.Index, r.Index}
}

// Window is what somebody who looks at a trace sees of it: the steps of the ring by
// index, what is missing between them, and while they are looked at also those that
// the ring let go. It is made of the facts about one ring. The zero value is ready.
type Window struct {
	rows     []Row
	now      uint64
	missed   int64
	restarts int
}

// MaxKept is how many rows that the ring let go a window keeps for somebody who holds
// on to one of them. Beyond, those farthest from it are counted instead of kept.
const MaxKept = 4000

// keptNear is how many of them stay on either side of the one that is held.
const keptNear = MaxKept / 4

// Now numbers the last reading that told something.
func (w *Window) Now() uint64 { return w.now }

// Missed is how many steps were never seen; Restarts how often the trace began anew
// meanwhile.
func (w *Window) Missed() int64 { return w.missed }

// Restarts is how often the indexes began anew.
func (w *Window) Restarts() int { return w.restarts }

// Rows returns a copy of the rows, by index.
func (w *Window) Rows() []Row { return slices.Clone(w.rows) }

// Apply takes in the facts of one reading. It returns how many steps there were that
// came at the new end, seen or missed; the first reading has none.
func (w *Window) Apply(facts []Fact) (fresh int64) {
	if len(facts) == 0 {
		return 0
	}
	w.now++
	first := false
	for _, f := range facts {
		switch f := f.(type) {
		case RingOpened:
			*w = Window{now: w.now, missed: w.missed, restarts: w.restarts}
			first = true
		case RingRestarted:
			w.rows = nil
			w.restarts++
		case StepAdded:
			if f.Filled {
				w.fill(f.Step.Index)
			}
			w.insert(Row{Step: f.Step, Late: f.Late, Came: w.now})
			if !f.Late && !first {
				fresh++
			}
		case StepsMissed:
			w.missed += f.Count()
			w.insert(Row{Step: Step{Index: f.First}, Gap: true, Last: f.Last, Dropped: f.Dropped, Came: w.now})
			if !first {
				fresh += f.Count()
			}
		case StepsEvicted:
			w.mark(f.Span, func(r *Row) { r.Evicted = true })
		case StepsGone:
			w.mark(f.Span, func(r *Row) { r.Gone = true })
		}
	}
	return fresh
}

// at is where a row with that index is, or would be.
func (w *Window) at(index int64) int {
	i, _ := slices.BinarySearchFunc(w.rows, index, func(r Row, index int64) int { return cmp.Compare(r.Index, index) })
	return i
}

// insert puts a row behind those of its index.
func (w *Window) insert(r Row) {
	n := len(w.rows)
	if n == 0 || w.rows[n-1].Index <= r.Index {
		w.rows = append(w.rows, r)
		return
	}
	w.rows = slices.Insert(w.rows, w.at(r.Index+1), r)
}

func (w *Window) mark(s Span, set func(*Row)) {
	for i := w.at(s.First); i < len(w.rows) && w.rows[i].Index <= s.Last; i++ {
		if !w.rows[i].Gap {
			set(&w.rows[i])
		}
	}
}

// fill takes an index out of the gap that it is in.
func (w *Window) fill(index int64) {
	for i := min(w.at(index+1), len(w.rows)) - 1; i >= 0; i-- {
		g := w.rows[i]
		if !g.Gap {
			continue
		}
		if index > g.Last {
			return
		}
		w.missed--
		var rest []Row
		if g.Index < index {
			before := g
			before.Last = index - 1
			rest = append(rest, before)
		}
		if index < g.Last {
			after := g
			after.Index = index + 1
			rest = append(rest, after)
		}
		w.rows = slices.Replace(w.rows, i, i+1, rest...)
		return
	}
}

// Follow forgets what the ring let go: nobody looks at it. The gap before the oldest
// step there is stays.
func (w *Window) Follow() {
	first := slices.IndexFunc(w.rows, func(r Row) bool { return !r.Gap && !r.Evicted })
	if first < 0 {
		first = len(w.rows)
	}
	if first > 0 && first < len(w.rows) && w.rows[first-1].Gap {
		first--
	}
	w.rows = slices.Delete(w.rows, 0, first)
}

// Hold keeps what the ring let go around the step with that index, within [MaxKept]
// rows. What there is more of is counted as let go: first what is older, then what
// came after.
func (w *Window) Hold(index int64) {
	kept := 0
	for i := range w.rows {
		if w.rows[i].Evicted || w.rows[i].Gap {
			kept++
		}
	}
	if kept <= MaxKept {
		return
	}
	at := w.at(index)
	if from := at - keptNear; from > 0 {
		w.rows = slices.Delete(w.rows, 0, from)
		at -= from
	}
	from := min(at+keptNear, len(w.rows))
	to := from
	for to < len(w.rows) && (w.rows[to].Evicted || w.rows[to].Gap) {
		to++
	}
	if to-from < 2 {
		return
	}
	gap := Row{Step: Step{Index: w.rows[from].Index}, Gap: true, Dropped: true, Last: w.rows[to-1].Span().Last, Came: w.rows[from].Came}
	w.rows = slices.Replace(w.rows, from, to, gap)
}

package ui

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"

	tea "charm.land/bubbletea/v2"

	"treering/store"
	"treering/tracefeed"
	"treering/treeview"
	"treering/ui/jsondoc"
)

// Bounds of what is put side by side: steps of either side, and bytes of data that
// they are told apart by.
const (
	maxAligned  = 5000
	maxWeighed  = 64 << 20
	dataAtOnce  = 100
	maxSideText = 200
)

// compared is what came of a comparison.
type compared struct {
	a, b   mark
	titles [2]string
	said   []string // how the two relate
	warned []string
	steps  []sideBySide
	first  int // the first step that differs, -1 for none
	doc    *jsondoc.Doc
	err    error
}

// sideBySide is a step of either side, or of both.
type sideBySide struct {
	change treeview.Change
	a, b   string // texts; "" where a side has none
}

// comparable says why nothing can be compared; "" where something can.
func comparable(m *Model) string {
	_, _, why := m.pair()
	return why
}

// pair is what is compared: the two marks, or one and what is selected.
func (m *Model) pair() (a, b mark, why string) {
	a, b = m.marks.a, m.marks.b
	here, none := m.markable()
	switch {
	case a.kind == ofNothing && b.kind == ofNothing:
		return a, b, "nothing is marked; " + m.keyFor("mark-a") + " marks one end, then select the other"
	case a.kind == ofNothing && none == "":
		a = here
	case b.kind == ofNothing && none == "":
		b = here
	}
	switch {
	case a.kind == ofNothing || b.kind == ofNothing:
		return a, b, none
	case a == b:
		return a, b, "both ends are the same; select another"
	case a.kind != b.kind:
		return a, b, "A is " + a.name() + " and B is " + b.name() + ": only two of a kind are compared"
	case a.kind == ofNode && a.session != b.session:
		return a, b, "A is in session " + a.session + " and B in session " + b.session + ": only nodes of one session are compared"
	case a.kind == ofNode && m.subject != (subject{session, a.session}):
		return a, b, "the marks are in session " + a.session + ", which is not the one shown"
	}
	return a, b, ""
}

// openCompare compares, off the program's goroutine, over the panes.
func openCompare(m *Model, _ string) tea.Cmd {
	a, b, _ := m.pair()
	v := &compareView{a: a, b: b, doc: jsondoc.NewView(m.look())}
	v.ctx, v.cancel = context.WithCancel(m.ctx)
	m.overlay = v
	m.keys.pending = nil
	m.unsay() // that an end was marked is told by what is compared now
	w := m.writer()
	w.ctx, w.was = v.ctx, &jsondoc.Doc{}
	var run func() compared
	switch a.kind {
	case ofNode:
		ways, why := m.tree.ways(a, b)
		if why != "" {
			v.got = compared{a: a, b: b, first: -1, said: []string{why}, doc: &jsondoc.Doc{}}
			return nil
		}
		ts := m.ts
		run = func() compared { return ways.compare(ts, w) }
	default:
		es := m.es
		run = func() compared { return compareExecutions(es, w, a, b) }
	}
	return func() tea.Msg {
		got := run()
		return answerFunc(func(m *Model) tea.Cmd {
			if m.overlay == surface(v) && !abandoned(got.err) {
				v.set(got)
			}
			return nil
		})
	}
}

// ways are the ways from the nearest common ancestor of two nodes to both, as far as
// they are put side by side.
type ways struct {
	a, b          mark
	ancestor      string
	ancestorTitle string
	related       bool
	ahead, behind int
	cut           bool
	sides         [2][]treeview.Entry // from the fork on
}

// ways finds them in the index. Only what is compared is taken out of it, so that the
// rest can be done elsewhere.
func (t *treePane) ways(a, b mark) (w ways, why string) {
	x := t.widget.Index()
	w.a, w.b = a, b
	var ends [2]treeview.Ref
	for i, at := range []mark{a, b} {
		r, ok := x.Find(at.id)
		if !ok {
			return w, at.name() + " is not among the nodes read so far"
		}
		ends[i] = r
	}
	fork := x.CommonAncestor(ends[0], ends[1])
	if w.related = fork != 0; w.related {
		w.ancestor, w.ancestorTitle = x.ID(fork), x.Title(fork)
	}
	for i, end := range ends {
		var path []treeview.Ref
		for r := end; r != fork && r != 0; r = x.Parent(r) {
			path = append(path, r)
		}
		if i == 0 {
			w.ahead = len(path)
		} else {
			w.behind = len(path)
		}
		w.cut = w.cut || len(path) > maxAligned
		slices.Reverse(path)
		for _, r := range path[:min(len(path), maxAligned)] {
			w.sides[i] = append(w.sides[i], treeview.Entry{ID: x.ID(r), Kind: x.Kind(r), Title: x.Title(r)})
		}
	}
	return w, ""
}

// compare reads the data of the steps, and says how the two nodes relate.
func (w ways) compare(ts store.TreeStore, doc *docWriter) compared {
	out := compared{a: w.a, b: w.b, first: -1}
	got, err := ts.Nodes(doc.ctx, w.a.session, []string{w.a.id, w.b.id})
	if err != nil {
		out.err = err
		return out
	}
	for i, n := range got {
		if n == nil {
			out.err = &store.NotFoundError{What: "node", ID: []string{w.a.id, w.b.id}[i], In: w.a.session}
			return out
		}
		out.titles[i] = n.Title()
	}
	switch {
	case !w.related:
		out.said = append(out.said, "different roots: nothing in common")
	case w.ahead == 0:
		out.said = append(out.said, "A is an ancestor of B, which is "+steps(w.behind)+" further on")
	case w.behind == 0:
		out.said = append(out.said, "B is an ancestor of A, which is "+steps(w.ahead)+" further on")
	default:
		out.said = append(out.said, "common ancestor: "+w.ancestor+"  "+w.ancestorTitle,
			"A is "+steps(w.ahead)+" ahead of it, B "+steps(w.behind))
	}
	if w.cut {
		out.warned = append(out.warned, "only the first "+treeview.Grouped(maxAligned)+" steps from the fork on are compared")
	}
	if w.related {
		weights, whole, err := w.weigh(doc.ctx, ts)
		if err != nil {
			out.err = err
			return out
		}
		if !whole {
			out.warned = append(out.warned, "the data is too large to be compared in every step: the later ones go by kind and title")
		}
		out.align(w.sides, weights)
	}
	out.doc = doc.diff("data, from A to B", got[0].Data, got[1].Data)
	return out
}

func steps(n int) string { return countText(n, "step", "steps").String() }

// weigh makes a number of what every step is: equal steps have equal ones. whole is
// false where the data of some was left out.
func (w ways) weigh(ctx context.Context, ts store.TreeStore) (weights [2][]uint64, whole bool, err error) {
	seed, left := maphash.MakeSeed(), maxWeighed
	whole = true
	// The sides take turns, so that what is left out is left out of both.
	for from := 0; from < max(len(w.sides[0]), len(w.sides[1])); from += dataAtOnce {
		read := left > 0
		whole = whole && read
		for i, side := range w.sides {
			part := side[min(from, len(side)):min(from+dataAtOnce, len(side))]
			var nodes []*store.Node
			if read && len(part) > 0 {
				ids := make([]string, len(part))
				for k, e := range part {
					ids[k] = e.ID
				}
				if nodes, err = ts.Nodes(ctx, w.a.session, ids); err != nil {
					return weights, false, err
				}
			}
			for k, e := range part {
				var h maphash.Hash
				h.SetSeed(seed)
				h.WriteString(e.Kind) //nolint:errcheck // it never fails
				h.WriteByte(0)        //nolint:errcheck // it never fails
				if !e.Untitled() {    // its title would be its id
					h.WriteString(e.Title) //nolint:errcheck // it never fails
				}
				if nodes != nil && nodes[k] != nil {
					data := store.Compact(nodes[k].Data)
					left -= len(data)
					h.WriteByte(0)              //nolint:errcheck // it never fails
					h.WriteString(string(data)) //nolint:errcheck // it never fails
				}
				weights[i] = append(weights[i], h.Sum64())
			}
		}
	}
	return weights, whole, nil
}

// align puts the steps of two sides side by side, by what they weigh.
func (c *compared) align(sides [2][]treeview.Entry, weights [2][]uint64) {
	x := treeview.New(treeview.ByArrival)
	top, _ := x.Add(treeview.Entry{ID: "fork"})
	ends := [2]treeview.Ref{top, top}
	weight := map[treeview.Ref]uint64{}
	entry := map[treeview.Ref]treeview.Entry{}
	for i, side := range sides {
		for k, e := range side {
			parent := x.ID(ends[i])
			// Ids of both sides may be equal, where they are steps of traces.
			ends[i], _ = x.Add(treeview.Entry{ID: string(rune('a'+i)) + e.ID, Parent: &parent, Kind: e.Kind, Title: e.Title})
			weight[ends[i]], entry[ends[i]] = weights[i][k], e
		}
	}
	r := treeview.Compare(x, ends[0], ends[1], treeview.CompareOptions{Key: func(r treeview.Ref) uint64 { return weight[r] }, MaxSteps: maxAligned + 1})
	text := func(r treeview.Ref) string {
		if r == 0 {
			return ""
		}
		e := entry[r]
		if e.Title == "" {
			return e.Kind + " " + e.ID
		}
		return e.Kind + " " + e.TitleBesideKind()
	}
	c.first = r.First
	for _, s := range r.Steps {
		c.steps = append(c.steps, sideBySide{s.Change, text(s.A), text(s.B)})
	}
	if r.Positional {
		c.warned = append(c.warned, "the sides differ too much to be aligned: steps stand side by side by their number")
	}
}

// compareExecutions compares two executions by their traces and contexts, or two steps
// by the contexts after them.
func compareExecutions(es store.ExecutionStore, w *docWriter, a, b mark) compared {
	out := compared{a: a, b: b, first: -1}
	var contexts [2]store.JSON
	var sides [2][]treeview.Entry
	var weights [2][]uint64
	seed := maphash.MakeSeed()
	for i, at := range []mark{a, b} {
		entries, err := es.ReadTrace(w.ctx, at.id)
		if err != nil {
			out.err = err
			return out
		}
		trace := tracefeed.Steps(entries, nil)
		if at.kind == ofStep {
			n := slices.IndexFunc(trace, func(s tracefeed.Step) bool { return s.Index == at.step })
			if n < 0 {
				out.err = &store.NotFoundError{What: "step", ID: at.name()}
				return out
			}
			contexts[i], out.titles[i] = trace[n].Context, trace[n].EventKind
			continue
		}
		s, exe, err := store.Inspect(w.ctx, es, at.id)
		if err != nil {
			out.err = err
			return out
		}
		out.titles[i] = statusWord(s)
		if exe != nil {
			contexts[i] = exe.Context
		}
		if len(trace) > maxAligned {
			trace = trace[:maxAligned]
			out.warned = append(out.warned, "only the first "+treeview.Grouped(maxAligned)+" steps are compared")
		}
		for _, s := range trace {
			path := deref(s.To)
			if s.From != nil && *s.From != path {
				path = *s.From + " -> " + path
			}
			sides[i] = append(sides[i], treeview.Entry{ID: at.name() + treeview.Grouped(s.Index), Kind: s.EventKind, Title: path})
			weights[i] = append(weights[i], maphash.String(seed, s.EventKind+"\x00"+path+"\x00"+string(store.Compact(s.Context))))
		}
	}
	if a.kind == ofExecution {
		out.said = append(out.said, "A has "+steps(len(sides[0]))+" in its trace, B "+steps(len(sides[1])))
		if len(sides[0])+len(sides[1]) > 0 {
			out.align(sides, weights)
		}
	}
	if contexts[0] == "" || contexts[1] == "" {
		out.warned = append(out.warned, "the context of one of them is not known")
		out.doc = &jsondoc.Doc{}
		return out
	}
	out.doc = w.diff("context, from A to B", contexts[0], contexts[1])
	return out
}

// whyNot is why nothing could be compared.
func (c *compared) whyNot() string {
	switch {
	case c.err == nil:
		return ""
	case errors.Is(c.err, store.ErrNotFound):
		return c.err.Error() + ": deleted or expired since it was marked"
	}
	return c.err.Error()
}

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

// maxSideText bounds what is shown of a title, in cells.
const maxSideText = 200

// compared is what came of a comparison, but for the steps.
type compared struct {
	a, b   mark
	titles [2]string
	said   []string // how the two relate
	warned []string
	sides  sides // what is put side by side; nil: nothing is
	doc    *jsondoc.Doc
	err    error
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
			v.got = compared{a: a, b: b, said: []string{why}, doc: &jsondoc.Doc{}}
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
			if v.ctx.Err() != nil || abandoned(got.err) {
				return nil
			}
			m.screen.bars()
			return v.set(got)
		})
	}
}

// ways are the ways from the nearest common ancestor of two nodes to both.
type ways struct {
	a, b          mark
	ancestor      string
	ancestorTitle string
	related       bool
	ahead, behind int
	index         *treeview.Index
	sides         [2][]treeview.Ref // from the fork on
}

// ways finds them in the index.
func (t *treePane) ways(a, b mark) (w ways, why string) {
	x := t.widget.Index()
	w.a, w.b, w.index = a, b, x
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
		slices.Reverse(path)
		w.sides[i] = path
	}
	return w, ""
}

// compare says how the two nodes relate, and how their data differs.
func (w ways) compare(ts store.TreeStore, doc *docWriter) compared {
	out := compared{a: w.a, b: w.b}
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
	if w.related {
		out.sides = newNodeSides(ts, w)
	}
	out.doc = doc.diff("data, from A to B", got[0].Data, got[1].Data)
	return out
}

func steps(n int) string { return countText(n, "step", "steps").String() }

// compareExecutions compares two executions by their traces and contexts, or two steps
// by the contexts after them.
func compareExecutions(es store.ExecutionStore, w *docWriter, a, b mark) compared {
	out := compared{a: a, b: b}
	var contexts [2]store.JSON
	var sides traceSides
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
		for _, s := range trace {
			path := deref(s.To)
			if s.From != nil && *s.From != path {
				path = *s.From + " -> " + path
			}
			sides[i] = append(sides[i], sideStep{
				treeview.Entry{ID: at.name() + treeview.Grouped(s.Index), Kind: s.EventKind, Title: path},
				maphash.String(seed, s.EventKind+"\x00"+path+"\x00"+string(store.Compact(s.Context))),
			})
		}
	}
	if a.kind == ofExecution {
		out.said = append(out.said, "A has "+steps(len(sides[0]))+" in its trace, B "+steps(len(sides[1])))
		out.sides = sides
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

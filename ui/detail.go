package ui

import (
	"errors"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
	"treering/ui/jsondoc"
	"treering/ui/layout"
)

// targetKind says what the detail pane shows.
type targetKind uint8

const (
	ofNothing targetKind = iota
	ofNode
	ofExecution
	ofStep
	ofOutbox
	ofSpawn
	ofTimer
	ofQueue
)

// target is what the detail pane shows, by id.
type target struct {
	kind    targetKind
	session string
	id      string
	path    string // of a timer
	seq     int64  // of a step or a queue entry
}

// detailPane shows the thing that was selected last: a node, an execution's
// state, a step, a queue entry.
type detailPane struct {
	target target
	// driver is the pane whose selection is shown. Until the user moves elsewhere
	// what comes in for others does not replace it.
	driver layout.Pane
	view   jsondoc.View
	known  bool
	err    error // why the node could not be read
	pair   string
	find   detailFind
	req    request
	rev    int
}

func (d *detailPane) init(m *Model) { d.view = jsondoc.NewView(m.look()) }

// look is how documents are drawn now.
func (m *Model) look() jsondoc.Look { return jsondoc.Look{Theme: m.theme, Term: m.term} }

func (d *detailPane) version() int { return d.rev }

// release lets the tree's selection be shown again.
func (d *detailPane) release() { d.driver = layout.Tree }

// clear shows nothing.
func (d *detailPane) clear() tea.Cmd {
	d.release()
	d.aim(target{})
	return nil
}

// aim changes what is shown, and reports whether that is something else.
func (d *detailPane) aim(t target) bool {
	if t == d.target {
		return false
	}
	d.req.stop()
	d.find.close()
	d.target, d.known, d.err, d.pair = t, t.kind == ofNothing, nil, ""
	d.view.Set(&jsondoc.Doc{}, false)
	d.rev++
	return true
}

// follow shows what the tree's cursor is on, unless another pane's selection is
// being looked at.
func (d *detailPane) follow(m *Model, t target) tea.Cmd {
	if d.driver != layout.Tree && d.driver != layout.None {
		return nil
	}
	if !d.aim(t) {
		return nil
	}
	switch t.kind {
	case ofNode:
		return d.readNode(m)
	case ofExecution:
		if m.state.known && m.member == t.id {
			return m.readState()
		}
	default: // steps and entries come with what is shown of them
	}
	return nil
}

// show shows the selection of a pane that the user is in.
func (d *detailPane) show(m *Model, by layout.Pane, t target, write func(*docWriter) *jsondoc.Doc) tea.Cmd {
	d.driver = by
	d.aim(t)
	ctx, gen := d.req.begin(m.ctx)
	w := m.writer()
	w.ctx = ctx
	return func() tea.Msg { return docMade{gen: gen, doc: write(w)} }
}

type docMade struct {
	gen  int
	doc  *jsondoc.Doc
	pair string
	err  error
}

func (r docMade) apply(m *Model) tea.Cmd {
	if m.detail.req.ends(r.gen) && !abandoned(r.err) {
		m.detail.err, m.detail.pair = r.err, r.pair
		m.detail.set(r.doc)
	}
	return nil
}

func (d *detailPane) readNode(m *Model) tea.Cmd {
	ctx, gen := d.req.begin(m.ctx)
	ts, t, w := m.ts, d.target, m.writer()
	w.ctx = ctx
	return func() tea.Msg {
		out := docMade{gen: gen}
		out.doc, out.pair, out.err = nodeDoc(ts, t, w)
		return out
	}
}

func nodeDoc(ts store.TreeStore, t target, w *docWriter) (doc *jsondoc.Doc, pairID string, err error) {
	n, err := ts.Node(w.ctx, t.session, t.id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		w.foreign("id", t.id)
		w.note(w.theme.Warn, "not in the store any more: its session was deleted or expired")
		return w.doc, "", err
	case err != nil:
		w.foreign("id", t.id)
		w.unread(err)
		return w.doc, "", err
	}
	other, err := pairOf(w.ctx, ts, t.session, n)
	if err != nil {
		w.unread(err)
	}
	return w.node(n, other), other.id(), err
}

// reload reads again what is shown, where that is not another pane's to do.
func (d *detailPane) reload(m *Model) tea.Cmd {
	if d.target.kind == ofNode {
		return d.readNode(m)
	}
	return nil
}

// set shows a document; the same one changes nothing.
func (d *detailPane) set(doc *jsondoc.Doc) {
	if d.known && d.view.Doc().Equal(doc) {
		return
	}
	d.find.req.stop() // it was about the document before
	d.view.Set(doc, d.known)
	d.known = true
	d.rev++
}

func (d *detailPane) move(rows int) {
	d.view.Move(rows)
	d.rev++
}

func (d *detailPane) home() {
	d.view.Home()
	d.rev++
}

func (d *detailPane) end() {
	d.view.End()
	d.rev++
}

func (d *detailPane) title(m *Model) (name, note term.Text) {
	name = term.Lit("Detail")
	if d.target.kind != ofNothing {
		name = name.Plus(term.Spaces(1), m.theme.Dot, term.Spaces(1), d.what(m))
	}
	if m.focus == layout.Detail {
		if _, path, ok := d.view.Value(); ok && path != "" {
			name = name.Plus(term.Spaces(1), m.theme.Dot, term.Spaces(1), m.term.Sanitise(path).TruncateLeft(40, "…"))
		}
	}
	var notes []string
	if d.view.Raw() {
		notes = append(notes, "as stored")
	}
	if !d.view.Wrapped() {
		notes = append(notes, "not wrapped")
	}
	if n := d.view.Level(); n >= 0 {
		notes = append(notes, "level "+strconv.Itoa(n))
	}
	if !d.view.Fits() {
		_, of := d.view.Place()
		notes = append(notes, treeview.Grouped(int64(d.view.Bottom()))+" of "+treeview.Grouped(int64(of)))
	}
	return name, term.Lit(strings.Join(notes, ", "))
}

// what names the thing shown.
func (d *detailPane) what(m *Model) term.Text {
	t := d.target
	switch t.kind {
	case ofNode:
		return term.Lit("node ").Plus(m.term.Sanitise(t.id).TruncateMiddle(24, "…"))
	case ofExecution:
		return term.Lit("execution ").Plus(m.term.Sanitise(t.id).TruncateMiddle(30, "…"))
	case ofStep:
		return term.Lit("step " + treeview.Grouped(t.seq) + " of ").Plus(m.term.Sanitise(t.id).TruncateMiddle(24, "…"))
	case ofOutbox:
		return term.Lit("outbox " + treeview.Grouped(t.seq))
	case ofSpawn:
		return term.Lit("spawn " + treeview.Grouped(t.seq))
	case ofTimer:
		return term.Lit("timer ").Plus(m.term.Sanitise(t.path).TruncateMiddle(30, "…"))
	case ofQueue:
		return term.Lit("queue of ").Plus(m.term.Sanitise(t.id).TruncateMiddle(30, "…"))
	default:
		return term.Text{}
	}
}

func (d *detailPane) draw(m *Model, w, h int, focused bool) []string {
	d.view.SetLook(m.look())
	rows := h
	if d.find.input != nil {
		rows = h - 1
	}
	d.view.Resize(w, rows)
	var out []string
	switch {
	case d.target.kind == ofNothing:
		out = paragraph(w, m.theme.Dim, term.Lit("nothing is selected"))
	case !d.known:
		out = paragraph(w, m.theme.Dim, term.Lit("reading…"))
	case focused && d.find.input == nil:
		out = d.view.Draw(m.theme.Selected)
	default:
		out = d.view.Draw("")
	}
	if d.find.input == nil || h < 1 {
		return out
	}
	for len(out) < rows {
		out = append(out, term.Spaces(w).String())
	}
	return append(out[:max(rows, 0)], d.find.line(m, w))
}

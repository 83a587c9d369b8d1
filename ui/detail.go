package ui

import (
	"context"
	"errors"
	"math"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
	"treering/ui/layout"
	"treering/ui/paint"
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
	driver  layout.Pane
	doc     doc
	known   bool
	err     error // why the node could not be read
	wrapped []wrappedLine
	width   int
	top     int
	height  int
	req     request
	rev     int
}

// wrappedLine is one line on the screen.
type wrappedLine struct {
	line  int
	part  term.Text
	first bool
}

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
	d.target, d.known, d.top, d.err = t, t.kind == ofNothing, 0, nil
	d.setLines(nil)
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
func (d *detailPane) show(m *Model, by layout.Pane, t target, write func(*docWriter) doc) tea.Cmd {
	d.driver = by
	d.aim(t)
	ctx, gen := d.req.begin(m.ctx)
	w := m.writer()
	w.ctx = ctx
	return func() tea.Msg { return docMade{gen: gen, doc: write(w)} }
}

type docMade struct {
	gen int
	doc doc
	err error
}

func (r docMade) apply(m *Model) tea.Cmd {
	if m.detail.req.ends(r.gen) && !abandoned(r.err) {
		m.detail.err = r.err
		m.detail.set(r.doc)
	}
	return nil
}

func (d *detailPane) readNode(m *Model) tea.Cmd {
	ctx, gen := d.req.begin(m.ctx)
	ts, t, w := m.ts, d.target, m.writer()
	return func() tea.Msg {
		doc, err := nodeDoc(ctx, ts, t, w)
		return docMade{gen, doc, err}
	}
}

func nodeDoc(ctx context.Context, ts store.TreeStore, t target, w *docWriter) (doc, error) {
	n, err := ts.Node(ctx, t.session, t.id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		w.field("id", term.Sanitise(t.id))
		w.note(w.theme.Warn, "not in the store any more: its session was deleted or expired")
	case err != nil:
		w.field("id", term.Sanitise(t.id))
		w.unread(err)
	default:
		return w.node(n), nil
	}
	return w.lines, err
}

// reload reads again what is shown, where that is not another pane's to do.
func (d *detailPane) reload(m *Model) tea.Cmd {
	if d.target.kind == ofNode {
		return d.readNode(m)
	}
	return nil
}

// set shows a document; the same one changes nothing.
func (d *detailPane) set(doc doc) {
	if d.known && d.doc.equal(doc) {
		return
	}
	d.known = true
	d.setLines(doc)
}

func (d *detailPane) setLines(doc doc) {
	d.doc, d.wrapped = doc, nil
	d.rev++
}

func (d *detailPane) move(rows int) {
	top := min(max(d.top+rows, 0), max(len(d.wrapped)-d.height, 0))
	if top != d.top {
		d.top = top
		d.rev++
	}
}

func (d *detailPane) home() { d.move(-math.MaxInt32) }
func (d *detailPane) end()  { d.move(math.MaxInt32) }

func (d *detailPane) title(m *Model) (name, note term.Text) {
	name = term.Lit("Detail")
	if d.target.kind != ofNothing {
		name = name.Plus(term.Spaces(1), m.theme.Dot, term.Spaces(1), d.what())
	}
	if len(d.wrapped) > d.height && d.height > 0 {
		last := min(d.top+d.height, len(d.wrapped))
		note = term.Lit(treeview.Grouped(int64(last)) + " of " + treeview.Grouped(int64(len(d.wrapped))))
	}
	return name, note
}

// what names the thing shown.
func (d *detailPane) what() term.Text {
	t := d.target
	switch t.kind {
	case ofNode:
		return term.Lit("node ").Plus(term.Sanitise(t.id).TruncateMiddle(24, "…"))
	case ofExecution:
		return term.Lit("execution ").Plus(term.Sanitise(t.id).TruncateMiddle(30, "…"))
	case ofStep:
		return term.Lit("step " + treeview.Grouped(t.seq) + " of ").Plus(term.Sanitise(t.id).TruncateMiddle(24, "…"))
	case ofOutbox:
		return term.Lit("outbox " + treeview.Grouped(t.seq))
	case ofSpawn:
		return term.Lit("spawn " + treeview.Grouped(t.seq))
	case ofTimer:
		return term.Lit("timer ").Plus(term.Sanitise(t.path).TruncateMiddle(30, "…"))
	default:
		return term.Text{}
	}
}

func (d *detailPane) draw(m *Model, w, h int, _ bool) []string {
	d.wrap(w)
	d.height = h
	d.top = min(d.top, max(len(d.wrapped)-h, 0))
	switch {
	case d.target.kind == ofNothing:
		return paragraph(w, m.theme.Dim, term.Lit("nothing is selected"))
	case !d.known:
		return paragraph(w, m.theme.Dim, term.Lit("reading…"))
	}
	var out []string
	for _, wl := range d.wrapped[d.top:min(d.top+h, len(d.wrapped))] {
		line := d.doc[wl.line]
		l := paint.NewLine(w, "").Gap(1)
		if wl.first {
			if line.bold {
				l.Put(m.theme.Bold, line.label)
			} else {
				l.Put(m.theme.Dim, line.label)
			}
		} else {
			l.Gap(line.label.Width())
		}
		out = append(out, l.Put(line.style, wl.part).String())
	}
	return out
}

// wrap breaks the document to the width, keeping the first line on the screen
// where it is.
func (d *detailPane) wrap(w int) {
	if d.wrapped != nil && d.width == w {
		return
	}
	place := 0
	if d.top < len(d.wrapped) {
		place = d.wrapped[d.top].line
	}
	moved := d.wrapped != nil
	d.wrapped, d.width = make([]wrappedLine, 0, len(d.doc)), w
	for i, line := range d.doc {
		if moved && i == place {
			d.top = len(d.wrapped)
		}
		for n, part := range line.text.Wrap(max(w-2-line.label.Width(), 8)) {
			d.wrapped = append(d.wrapped, wrappedLine{i, part, n == 0})
		}
	}
}

package ui

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"treering/internal/term"
	"treering/store"
	"treering/store/query"
	"treering/treeview"
)

// outlines is what is kept of a tree whose store tells titles without reading data:
// what a row says besides.
type outlines struct {
	from   store.Outliner  // nil: the store reads whole nodes
	early  store.Previewer // nil: the store lists nothing before it has read all
	flags  []uint8         // by treeview.Ref
	labels map[treeview.Ref][]string
	active treeview.Ref // the head that its program would go on from; 0 none
	strict bool         // the cursor is where somebody put it
	bad    warnings

	reading store.Reading // how far the store has read the session
	tree    string        // the Tree of the last marks
	upto    int           // and their Upto
}

const (
	outlineFailed uint8 = 1 << iota
	outlineQuiet
)

// warnings are what is wrong with a session in the format of another program.
type warnings struct {
	count int64
	lines []string
}

// orderOf is how siblings are arranged: as their program does, or by their ids.
func orderOf(ts store.TreeStore) treeview.Order {
	if _, ok := ts.(store.Outliner); ok {
		return treeview.ByArrival
	}
	return treeview.ByID
}

// begin forgets the session before.
func (o *outlines) begin(ts store.TreeStore) {
	*o = outlines{}
	o.from, _ = ts.(store.Outliner)
	o.early, _ = ts.(store.Previewer)
}

// page reads one page of a tree: its outline where the store has one.
func (o outlines) page(ctx context.Context, ts store.TreeStore, id string, out *nodesRead) (next string, err error) {
	req := store.PageRequest{Cursor: out.next}
	if o.from == nil {
		page, err := ts.ListNodes(ctx, id, req)
		for _, n := range page.Items {
			out.entries = append(out.entries, treeview.EntryOf(n))
		}
		return page.Next, err
	}
	page, err := store.Page[store.Outline]{}, error(nil)
	if o.early != nil {
		page, out.reading, err = o.early.PreviewOutline(ctx, id, req)
		out.before = out.before || !out.reading.Whole && err == nil
	} else {
		page, err = o.from.ListOutline(ctx, id, req)
	}
	for _, n := range page.Items {
		out.entries = append(out.entries, treeview.EntryOfOutline(n))
		out.outlines = append(out.outlines, n)
	}
	return page.Next, err
}

// add keeps what a row says of a node.
func (o *outlines) add(r treeview.Ref, n store.Outline) {
	if grow := int(r) + 1 - len(o.flags); grow > 0 {
		o.flags = append(o.flags, make([]uint8, grow)...)
	}
	o.flags[r] = 0
	if n.Failed {
		o.flags[r] |= outlineFailed
	}
	if n.Quiet {
		o.flags[r] |= outlineQuiet
	}
	if n.Active {
		o.active = r
	}
	switch {
	case len(n.Labels) > 0 && o.labels == nil:
		o.labels = map[treeview.Ref][]string{r: n.Labels}
	case len(n.Labels) > 0:
		o.labels[r] = n.Labels
	default:
		delete(o.labels, r)
	}
}

func (o *outlines) flag(r treeview.Ref, f uint8) bool {
	return int(r) < len(o.flags) && o.flags[r]&f != 0
}

// mark takes over what may change without a new node. It reports whether anything did.
func (o *outlines) mark(x *treeview.Index, m *store.Marks) (changed bool) {
	if m == nil {
		return false
	}
	active, _ := x.Find(m.Active)
	if m.Active == "" {
		active = 0
	}
	changed = active != o.active || len(m.Forks) > 0 || !maps.EqualFunc(o.labels, o.labelled(x, m), slices.Equal[[]string])
	o.active, o.labels, o.tree, o.upto = active, o.labelled(x, m), m.Tree, m.Upto
	for _, f := range m.Forks {
		if r, ok := x.Find(f.ID); ok {
			x.SetAside(r, f.False)
		}
	}
	if r, ok := x.Find(m.Root.ID); ok && x.Title(r) != m.Root.Title && m.Root.ParentID == nil {
		x.Add(treeview.EntryOfOutline(m.Root))
		changed = true
	}
	return changed
}

func (o *outlines) labelled(x *treeview.Index, m *store.Marks) map[treeview.Ref][]string {
	labels := make(map[treeview.Ref][]string, len(m.Labels))
	for id, names := range m.Labels {
		if r, ok := x.Find(id); ok {
			labels[r] = names
		}
	}
	return labels
}

// marks reads them; nil where the store has none.
func (o outlines) marks(ctx context.Context, id string) (*store.Marks, error) {
	if o.early == nil {
		return nil, nil
	}
	m, err := o.early.Marks(ctx, id, o.upto)
	return &m, err
}

// names are the labels that are stored with a node, the active head first, and then
// the explorer's own names.
func (o *outlines) names(m *Model, r treeview.Ref) term.Text {
	own := m.writes.names.label(m, m.tree.widget.Index().ID(r))
	if o.from == nil {
		return own
	}
	var parts []term.Text
	if o.active == r && r != 0 {
		parts = append(parts, term.Lit("[head]"))
	}
	for _, label := range o.labels[r] {
		parts = append(parts, term.Lit("[").Plus(m.term.SanitiseN(label, 24), term.Lit("]")))
	}
	if !own.Empty() {
		parts = append(parts, own)
	}
	return term.Join(term.Spaces(1), parts...)
}

// warningsOf reads what is wrong with a session, once it was read.
func (m *Model) warningsOf() func(ctx context.Context, id string) (warnings, error) {
	o := m.made.opened
	return func(ctx context.Context, id string) (w warnings, err error) {
		w.count, w.lines, err = o.Warnings(ctx, id)
		return w, err
	}
}

// moved reports whether nodes that were read before hang elsewhere now: a parent has
// come that was not there, or the first link of a file without any.
func (o *outlines) moved(x *treeview.Index, bad warnings) bool {
	if o.early != nil {
		return false // the marks say it
	}
	if x.Duplicates() > 0 {
		return true
	}
	left := map[string]bool{}
	for _, w := range bad.lines {
		left[w] = true
	}
	return slices.ContainsFunc(o.bad.lines, func(w string) bool { return !left[w] })
}

// sessionTitle is what a session of another program is called, and the folder that it
// is about; both are empty for others.
func (m *Model) sessionTitle(id string) (title, project term.Text) {
	f := m.made.opened.Foreign
	if f == nil {
		return title, project
	}
	h, _ := f.Known(id)
	if h.Title != "" {
		title = m.term.SanitiseN(h.Title, treeview.MaxTitle)
	}
	return title, m.term.Sanitise(h.Project)
}

// siftedSession fills in what a filter of sessions wants to know of one of another
// program.
func (m *Model) siftedSession() func(row *query.SessionRow) {
	f := m.made.opened.Foreign
	return func(row *query.SessionRow) {
		if f == nil {
			return
		}
		h, _ := f.Known(row.Session.ID)
		row.Title, row.Project, row.Updated = h.Title, h.Project, h.Updated
	}
}

// progress says how far a session was read.
func (o *outlines) progress() string {
	if r := o.reading; !r.Whole && r.Size > 0 {
		return fmt.Sprintf("reading %d%%… ", min(100*r.Done/r.Size, 99))
	}
	return "reading… "
}

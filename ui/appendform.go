package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
	"treering/ui/field"
)

// Bounds of the form: how much data is part of a command, since a system takes no
// longer arguments; how far down a branch its head is looked for.
const (
	maxCommandData = 100_000
	maxBranch      = 5_000_000
)

// appendForm is a node to be appended, as it is typed.
type appendForm struct {
	m        *Model
	d        *dialog
	session  string
	node     store.Node // prepared once: another try must be the same node
	selected string     // the node that was selected; "" in an empty tree
	head     string     // the only leaf below it, where that is another node; "" for none
	headFar  int        // how many steps it is down
	atHead   bool       // the head is the parent, not the node that was selected
	kept     bool       // it holds what was typed before
	found    sessionDialog
	missing  bool // the parent is not in the session any more

	data     *field.Area
	kind, id *field.Field
	check    dataCheck
	checking bool
}

// siblingKind is the kind that a new child most likely has: that of all children
// looked at, or run.
func siblingKind(x *treeview.Index, parent treeview.Ref) string {
	const enough = 100
	kind, n := "", 0
	for r := range x.Children(parent) {
		k := x.Kind(r)
		if n++; k == "" || n > 1 && k != kind {
			return "run"
		}
		if kind = k; n == enough {
			break
		}
	}
	if kind == "" {
		return "run"
	}
	return kind
}

// openAppend asks for a node to append under the selected one.
func openAppend(m *Model, _ string) tea.Cmd {
	t := &m.tree
	f := &appendForm{
		m: m, session: t.of.id, node: store.Node{ID: store.NewID()},
		data: field.NewArea("", store.MaxDataBytes), kind: field.New("init", store.MaxIDBytes), id: field.New("", store.MaxIDBytes),
	}
	if parent, ok := t.selectedNode(); ok {
		r, _ := t.widget.Cursor()
		f.selected, f.node.ParentID = parent, &parent
		f.kind.Set(siblingKind(t.widget.Index(), r))
		f.findHead(t.widget.Index(), r)
	}
	if texts := m.writes.drafts[appendDraft]; len(texts) == 4 {
		f.kept = true
		f.data.Set(texts[1])
		f.kind.Set(texts[2])
		f.id.Set(texts[3])
	}
	d := &dialog{
		title: term.Lit("Append a node"), verb: "append it",
		fields: []*formField{
			{label: "data", input: f.data, empty: string(store.EmptyObject), fault: f.fault},
			{label: "kind", input: f.kind, offered: f.kind.Text(), suggest: f.suggestKind},
			{label: "id", input: f.id, empty: f.node.ID, optional: true},
		},
		effect: f.effect, command: f.command, invalid: f.invalid, look: f.look(), guard: f.guard, write: f.write,
		keys: f.keys, more: f.hints, changed: f.changed, left: f.keep,
	}
	f.d = d
	f.aim()
	return tea.Batch(m.ask(d), f.changed(m))
}

const appendDraft = "append"

// keep holds on to what was typed, for the next form.
func (f *appendForm) keep(m *Model) {
	if f.data.Empty() && f.id.Empty() {
		return
	}
	m.writes.keep(appendDraft, []string{f.session, f.data.Text(), f.kind.Text(), f.id.Text()})
}

// keep holds on to what was typed into a form.
func (w *writesState) keep(form string, texts []string) {
	if w.drafts == nil {
		w.drafts = map[string][]string{}
	}
	w.drafts[form] = texts
}

// findHead looks for the end of the branch that a node is on, where that is one.
func (f *appendForm) findHead(x *treeview.Index, r treeview.Ref) {
	steps := 0
	for !x.Leaf(r) && steps < maxBranch {
		if x.Forked(r) {
			return
		}
		for c := range x.Children(r) {
			r = c
		}
		steps++
	}
	if steps > 0 && x.Leaf(r) && x.Known(r) {
		f.head, f.headFar = x.ID(r), steps
	}
}

// aim says in the dialog which node is the parent.
func (f *appendForm) aim() {
	rows := []dialogRow{row("session", f.session)}
	switch {
	case f.node.ParentID == nil:
		rows = append(rows, row("parent", "none: it becomes the root"))
	default:
		rows = append(rows, row("parent", *f.node.ParentID))
		x := f.m.tree.widget.Index()
		if r, ok := x.Find(*f.node.ParentID); ok && f.m.tree.of.id == f.session {
			title := row("", x.Kind(r)+"  "+x.TitleBesideKind(r))
			title.style, title.short = f.m.theme.Dim, true
			rows = append(rows, title)
		}
	}
	if f.kept {
		from := "what was typed before and not written"
		if of := f.m.writes.drafts[appendDraft][0]; of != f.session {
			from += ", for session " + of
		}
		kept := row("kept", from+"; ctrl+x empties the form")
		kept.style = f.m.theme.Info
		rows = append(rows, kept)
	}
	f.d.target = rows
}

// children is how many the parent has.
func (f *appendForm) children() int {
	t := &f.m.tree
	if f.node.ParentID == nil || t.of != (subject{session, f.session}) {
		return 0
	}
	r, ok := t.widget.Index().Find(*f.node.ParentID)
	if !ok {
		return 0
	}
	return t.widget.Index().CountChildren(r, maxCounted)
}

func (f *appendForm) effect() []dialogRow {
	said := "one node is added; nothing that is there changes"
	switch n := f.children(); {
	case f.atHead:
		said = fmt.Sprintf("it goes on at the head of this branch, %s below the node selected", countText(f.headFar, "step", "steps"))
	case n > 0:
		said = fmt.Sprintf("this node has %s; yours becomes a %s branch", countText(n, "child", "children"), ordinal(n+1))
	}
	rows := []dialogRow{row("effect", said)}
	switch {
	case f.atHead:
		rows = append(rows, row("or", "ctrl+t: a branch of the node selected, "+f.selected))
	case f.head != "":
		rows = append(rows, row("or", "ctrl+t: at the head of this branch, "+f.head))
	}
	if name := f.follows(); name != "" {
		rows = append(rows, row("name", "the branch "+name+" goes on to it"))
	}
	if f.d.at == 1 {
		if kinds := f.m.tree.widget.Index().Kinds(); len(kinds) > 0 && f.m.tree.of.id == f.session {
			rows = append(rows, dialogRow{label: term.Lit("kinds"), text: f.m.term.SanitiseN(strings.Join(kinds, ", "), 300), style: f.m.theme.Dim})
		}
	}
	if f.d.editing() || !f.id.Empty() {
		return rows // the field says the id
	}
	return append(rows, row("new id", f.node.ID))
}

// ordinal is 2nd, 3rd, 4th.
func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return treeview.Grouped(int64(n)) + suffix
}

// follows is the name that goes on to the new node: the only one that its parent has,
// where the parent is the end of a branch.
func (f *appendForm) follows() string {
	if f.node.ParentID == nil || f.children() > 0 {
		return ""
	}
	if names := f.m.writes.names.of(*f.node.ParentID); len(names) == 1 && f.m.writes.names.session == f.session {
		return names[0]
	}
	return ""
}

// prepared is the node as the form says it.
func (f *appendForm) prepared() store.Node {
	n := f.node
	n.Kind, n.Data = f.kind.Text(), f.check.data
	if !f.id.Empty() {
		n.ID = f.id.Text()
	}
	return n
}

func (f *appendForm) command() string {
	if f.invalid() != "" {
		return "" // there is none that would do it
	}
	n := f.prepared()
	where := []string{"--root"}
	if n.ParentID != nil {
		where = []string{"--parent", *n.ParentID}
	}
	return f.m.command("append", append([]string{"--kind", n.Kind, "--data", argumentOf(n.Data), "--id", n.ID}, where...), f.session)
}

func (f *appendForm) invalid() string {
	switch {
	case f.check.rev != f.data.Rev():
		return "checking the data…"
	case f.check.err != nil:
		return "data: " + f.check.err.Error()
	}
	n := f.prepared()
	for _, of := range []struct{ what, text string }{{"kind", n.Kind}, {"node id", n.ID}} {
		if err := store.CheckID(of.what, of.text); err != nil {
			return err.Error()
		}
	}
	return ""
}

func (f *appendForm) fault() (at int, wrong bool) {
	return f.check.at, f.check.at >= 0 && f.check.rev == f.data.Rev()
}

// changed checks the data. Where that would hold up the screen it is done behind
// it, one check at a time.
func (f *appendForm) changed(*Model) tea.Cmd {
	return checkArea(f.data, &f.check, &f.checking)
}

// suggestKind is a kind of this session that begins like what was typed.
func (f *appendForm) suggestKind(typed string) string {
	if f.m.tree.of != (subject{session, f.session}) {
		return ""
	}
	for _, k := range f.m.tree.widget.Index().Kinds() {
		if strings.HasPrefix(k, typed) {
			return k
		}
	}
	return ""
}

func (f *appendForm) hints() []hint {
	if f.d.lost {
		return nil
	}
	out := []hint{{term.Lit("ctrl+o"), term.Lit("editor")}}
	if f.head != "" {
		out = append(out, hint{term.Lit("ctrl+t"), term.Lit("branch or head")})
	}
	return out
}

func (f *appendForm) keys(m *Model, name string) (tea.Cmd, bool) {
	if f.d.lost {
		return nil, false // another try must be the same
	}
	switch name {
	case "ctrl+t":
		if f.head == "" {
			f.d.complaint = "there is no one head below the parent"
			return nil, true
		}
		f.atHead = !f.atHead
		parent := f.selected
		if f.atHead {
			parent = f.head
		}
		f.node.ParentID = &parent
		f.missing = false
		f.aim()
		if !f.d.editing() {
			f.d.open(m.now()) // it is another question now
		}
		f.d.look = f.look()
		return f.d.watch(m), true
	case "ctrl+x":
		if f.d.editing() {
			delete(m.writes.drafts, appendDraft)
			f.kept = false
			f.data.Set("")
			f.id.Set("")
			f.aim()
			return f.changed(m), true
		}
	case "ctrl+o":
		return m.editText(f.data.Text(), "{\n}\n", func(m *Model, e edited) tea.Cmd { return f.taken(m, e) }), true
	}
	return nil, false
}

// taken takes what an editor made of the data.
func (f *appendForm) taken(m *Model, e edited) tea.Cmd {
	f.d.complaint = e.why
	m.screen.bars()
	if !e.changed {
		return nil
	}
	f.data.Set(e.text)
	if m.dialog != f.d {
		f.keep(m)
		return nil
	}
	f.d.at = 0
	cmd := f.changed(m)
	if f.check.at >= 0 && f.check.rev == f.data.Rev() {
		f.data.MoveTo(f.check.at)
	}
	return cmd
}

// look reads again whether the session and the parent are there.
func (f *appendForm) look() func(context.Context) func() {
	ts, session := f.m.ts, f.session
	look := f.found.look(ts, session)
	if f.node.ParentID == nil {
		return look
	}
	parent := *f.node.ParentID
	return func(ctx context.Context) func() {
		found := look(ctx)
		got, err := ts.Nodes(ctx, session, []string{parent})
		return func() {
			found()
			if err == nil && len(got) == 1 && f.node.ParentID != nil && *f.node.ParentID == parent {
				f.missing = got[0] == nil
			}
		}
	}
}

func (f *appendForm) guard(m *Model) string {
	why := f.found.moved(m)
	switch {
	case why != "":
	case f.missing:
		why = "the parent is not in the session any more, which was deleted and made anew"
	case f.atHead && f.children() > 0:
		why = "the branch went on: its head is another node now"
	default:
		return ""
	}
	if !f.data.Empty() || !f.id.Empty() {
		why += "; what you typed is kept for the next form"
	}
	return why
}

func (f *appendForm) write() func(context.Context) outcome {
	ts, session, n, follow := f.m.ts, f.session, f.prepared(), f.follows()
	return func(ctx context.Context) outcome {
		err := ts.Append(ctx, session, n)
		var missing *store.NotFoundError
		switch {
		case errors.As(err, &missing) && missing.What != "session":
			return outcome{moot: "the parent is gone: the session was deleted and made anew; what you typed is kept for the next form"}
		case errors.Is(err, store.ErrNotFound):
			return outcome{moot: "the session is gone: deleted or expired; what you typed is kept for the next form"}
		case err != nil:
			return outcome{err: err}
		}
		return outcome{done: "appended " + n.ID, after: func(m *Model) tea.Cmd { return f.appended(m, n, follow) }}
	}
}

// appended shows the new node, and forgets what was typed for it.
func (f *appendForm) appended(m *Model, n store.Node, follow string) tea.Cmd {
	if texts := m.writes.drafts[appendDraft]; len(texts) == 4 && slices.Equal(texts[1:], []string{f.data.Text(), f.kind.Text(), f.id.Text()}) {
		delete(m.writes.drafts, appendDraft)
	}
	cmd := m.tree.appended(m, f.session, n, f.selected)
	if follow != "" {
		cmd = tea.Batch(cmd, m.writes.names.set(f.session, follow, n.ID))
	}
	return cmd
}

// appended adds a node that was just written, without waiting for the store to be
// read again. The cursor goes there if it is where it was when the form opened.
func (t *treePane) appended(m *Model, of string, n store.Node, from string) tea.Cmd {
	if t.of != (subject{kind: session, id: of}) {
		return nil
	}
	t.widget.Index().Add(treeview.EntryOf(n))
	t.widget.Grow()
	t.touch()
	m.trail.touch()
	if at, _ := t.selectedNode(); at != from && (from != "" || t.widget.Index().Len() > 1) {
		return nil
	}
	m.detail.release()
	return t.selectNode(m, n.ID)
}

package export

import (
	"context"
	"errors"
	"strings"

	"treering/store"
	"treering/treeview"
)

// Selection says which nodes of a session are written, by one of its members. The
// zero value takes all.
// What is drawn below a node that is left out hangs on its nearest ancestor that is
// not.
type Selection struct {
	// Below takes a node and everything under it.
	Below string
	// Path takes a node and its ancestors.
	Path string
	// Only takes the nodes of these ids.
	Only map[string]bool
}

func (s Selection) all() bool { return s.Below == "" && s.Path == "" && s.Only == nil }

// ReadSession reads a session's nodes. An unknown or expired session, and a node of
// the selection that is not in it, match store.ErrNotFound.
func ReadSession(ctx context.Context, ts store.TreeStore, session string, sel Selection, labels map[string][]string) (*Doc, error) {
	info, err := ts.Session(ctx, session)
	if err != nil {
		return nil, err
	}
	var nodes []store.Node
	add := func(n store.Node) error {
		nodes = append(nodes, n)
		return nil
	}
	if sel.Path != "" {
		err = store.All(func(p store.PageRequest) (store.Page[store.Node], error) {
			return ts.ListHistory(ctx, session, sel.Path, p)
		}, add)
	} else {
		err = store.All(func(p store.PageRequest) (store.Page[store.Node], error) { return ts.ListNodes(ctx, session, p) }, add)
	}
	if err != nil {
		return nil, err
	}
	if _, ok := ts.(store.Outliner); ok {
		return ofNodes(info, nodes, sel, labels, treeview.ByArrival) // as their program does
	}
	return OfNodes(info, nodes, sel, labels)
}

// OfNodes makes the document of nodes in hand. labels are names by node id.
func OfNodes(info store.SessionInfo, nodes []store.Node, sel Selection, labels map[string][]string) (*Doc, error) {
	return ofNodes(info, nodes, sel, labels, treeview.ByID)
}

func ofNodes(info store.SessionInfo, nodes []store.Node, sel Selection, labels map[string][]string, order treeview.Order) (*Doc, error) {
	x := treeview.New(order)
	byRef := make([]*store.Node, len(nodes)+1)
	for i := range nodes {
		r, _ := x.Add(treeview.EntryOf(nodes[i]))
		for int(r) >= len(byRef) {
			byRef = append(byRef, make([]*store.Node, len(byRef))...)
		}
		byRef[r] = &nodes[i]
	}
	keep, err := sel.of(info.ID, x)
	if err != nil {
		return nil, err
	}
	d := &Doc{Subject: Session, Name: info.ID, Session: info}
	at := map[treeview.Ref]int{} // items by node
	for r := range x.Walk() {
		if !keep(r) {
			if x.Known(r) {
				d.LeftOut++
			}
			continue
		}
		it := Item{ID: x.ID(r), Parent: -1, Kind: x.Kind(r), Labels: labels[x.ID(r)]}
		if int(r) < len(byRef) {
			it.Node = byRef[r]
		}
		if it.Node != nil {
			it.Title = treeview.EntryOf(*it.Node).TitleBesideKind()
		} else {
			it.Title, it.Note = it.ID, "named as a parent, but not there"
		}
		if named, cyclic := x.Cyclic(r); cyclic {
			it.Note = "a cycle: it names " + x.ID(named) + ", which hangs below it"
		}
		for p := range x.Ancestors(r) {
			if i, ok := at[p]; ok {
				it.Parent = i
				break
			}
			it.Elided++
		}
		if it.Parent < 0 && sel.Below != "" {
			it.Elided = 0 // it was asked for as the root
		}
		at[r] = len(d.Items)
		d.Items = append(d.Items, it)
	}
	d.indent(false)
	return d, nil
}

// of returns the nodes selected.
func (s Selection) of(session string, x *treeview.Index) (func(treeview.Ref) bool, error) {
	if s.all() {
		return func(treeview.Ref) bool { return true }, nil
	}
	chosen := map[treeview.Ref]bool{}
	find := func(id string) (treeview.Ref, error) {
		r, ok := x.Find(id)
		if !ok || !x.Known(r) {
			return 0, &store.NotFoundError{What: "node", ID: id, In: session}
		}
		return r, nil
	}
	if s.Path != "" {
		r, err := find(s.Path)
		if err != nil {
			return nil, err
		}
		chosen[r] = true
		for p := range x.Ancestors(r) {
			chosen[p] = true
		}
	}
	if s.Below != "" {
		top, err := find(s.Below)
		if err != nil {
			return nil, err
		}
		chosen[top] = true
		for r := range x.Walk() { // parents come first
			chosen[r] = chosen[r] || chosen[x.Parent(r)]
		}
	}
	for id := range s.Only {
		if r, ok := x.Find(id); ok {
			chosen[r] = true
		}
	}
	return func(r treeview.Ref) bool { return chosen[r] }, nil
}

// indent sets the levels: of every generation, or at branch points only.
func (d *Doc) indent(generations bool) {
	children := make([]int, len(d.Items))
	for i := range d.Items {
		if p := d.Items[i].Parent; p >= 0 {
			children[p]++
		}
	}
	for i := range d.Items {
		it := &d.Items[i]
		it.Leaf = children[i] == 0
		if it.Parent < 0 {
			continue
		}
		it.Level = d.Items[it.Parent].Level
		if generations || children[it.Parent] > 1 {
			it.Level++
		}
	}
}

// maxFamily bounds how many executions one document holds.
const maxFamily = 10_000

// ErrTooMany is a family too large for one document.
var ErrTooMany = errors.New("too many executions for one export")

// ReadFamily reads an execution and its descendants, each with its trace, its
// timers and what waits for it in the queues. An unknown id matches
// store.ErrNotFound.
func ReadFamily(ctx context.Context, es store.ExecutionStore, id string) (*Doc, error) {
	d := &Doc{Subject: Executions, Name: id}
	top, err := readMember(ctx, es, id)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{id: true}
	// A stack keeps the order of a walk: parents first, and below each its own.
	type todo struct {
		m      *Member
		parent int
	}
	for stack := []todo{{top, -1}}; len(stack) > 0; {
		next := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		d.Items = append(d.Items, next.m.item(next.parent))
		if len(d.Items) > maxFamily {
			return nil, ErrTooMany
		}
		var found []todo
		parent := next.m.Summary.ID
		err := store.All(func(p store.PageRequest) (store.Page[store.Summary], error) {
			return es.ListExecutions(ctx, store.ExecutionFilter{ParentID: &parent}, p)
		}, func(s store.Summary) error {
			if seen[s.ID] {
				return nil // a family that bites its own tail
			}
			seen[s.ID] = true
			m, err := readMember(ctx, es, s.ID)
			if errors.Is(err, store.ErrNotFound) {
				return nil // purged meanwhile
			}
			if err == nil {
				found = append(found, todo{m, len(d.Items) - 1})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		for i := len(found) - 1; i >= 0; i-- {
			stack = append(stack, found[i])
		}
	}
	d.indent(true)
	return d, nil
}

func readMember(ctx context.Context, es store.ExecutionStore, id string) (*Member, error) {
	m := &Member{}
	var err error
	m.Summary, m.Exe, err = store.Inspect(ctx, es, id)
	var bad *store.RowError
	if err != nil && !errors.As(err, &bad) {
		return nil, err
	}
	if bad != nil && m.Summary.ID == "" {
		m.Summary = store.Summary{ID: id, Bad: bad}
		if bad.Summary != nil {
			m.Summary = *bad.Summary
		}
	}
	if m.Trace, err = es.ReadTrace(ctx, id); err != nil {
		return nil, err
	}
	f := store.QueueFilter{ExecutionID: &id}
	if m.Outbox, err = all(func(p store.PageRequest) (store.Page[store.OutboxEntry], error) { return es.ListOutbox(ctx, f, p) }); err != nil {
		return nil, err
	}
	if m.Spawns, err = all(func(p store.PageRequest) (store.Page[store.SpawnEntry], error) { return es.ListSpawns(ctx, f, p) }); err != nil {
		return nil, err
	}
	m.Timers, err = all(func(p store.PageRequest) (store.Page[store.Timer], error) { return es.ListTimers(ctx, f, p) })
	return m, err
}

func all[T any](list func(store.PageRequest) (store.Page[T], error)) (out []T, err error) {
	err = store.All(list, func(item T) error {
		out = append(out, item)
		return nil
	})
	return out, err
}

// item draws an execution.
func (m *Member) item(parent int) Item {
	s := m.Summary
	status := string(s.Status)
	if status == "" {
		status = "?"
	}
	title := s.ID + "  " + status
	if s.ActivePath != nil && *s.ActivePath != "" {
		title += "  " + *s.ActivePath
	}
	it := Item{ID: s.ID, Parent: parent, Kind: s.DefinitionID, Title: title, Member: m}
	var wrong []string
	if s.Bad != nil {
		wrong = append(wrong, s.Bad.Err.Error())
	}
	for _, d := range s.Drift {
		wrong = append(wrong, d.String())
	}
	if s.Error != nil {
		wrong = append(wrong, *s.Error)
	}
	it.Note = strings.Join(wrong, "; ")
	return it
}

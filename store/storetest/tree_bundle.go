package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"treering/store"
)

// treeBundle is what a case works with: a fresh store on a clock that stands
// still, and short forms of the calls that must succeed.
type treeBundle struct {
	t      *testing.T
	ctx    context.Context
	s      store.TreeStore
	f      TreeFactory
	clock  *clock
	closed bool // by the case
}

func newTreeBundle(t *testing.T, f TreeFactory) *treeBundle {
	c := &clock{at: time.Unix(1_750_000_000, 250_000_000)}
	return &treeBundle{t: t, ctx: t.Context(), s: f.Open(t, c.now), f: f, clock: c}
}

// clock moves when it is told to.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// clients are two clients of the store where it has such, else the one.
func (b *treeBundle) clients() []store.TreeStore {
	b.t.Helper()
	if b.f.Share == nil {
		return []store.TreeStore{b.s}
	}
	return []store.TreeStore{b.s, b.f.Share(b.t, b.s, b.clock.now)}
}

func (b *treeBundle) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// is demands an error that matches target; what says of which call.
func (b *treeBundle) is(what string, err, target error) {
	b.t.Helper()
	if !errors.Is(err, target) {
		b.t.Fatalf("%s: error is %v, want %v", what, err, target)
	}
}

func (b *treeBundle) equal(what string, got, want any) {
	b.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// missing demands a *NotFoundError of what, with its id and session.
func (b *treeBundle) missing(err error, want store.NotFoundError) {
	b.t.Helper()
	var e *store.NotFoundError
	if !errors.As(err, &e) || !errors.Is(err, store.ErrNotFound) {
		b.t.Fatalf("error is %v, want a *NotFoundError of %s %q", err, want.What, want.ID)
	}
	b.equal("what is not found", *e, want)
}

func (b *treeBundle) noSession(err error, id string) {
	b.t.Helper()
	b.missing(err, store.NotFoundError{What: "session", ID: id})
}

// conflict demands a *NodeConflictError with these fields.
func (b *treeBundle) conflict(err error, session, node, reason string) {
	b.t.Helper()
	var e *store.NodeConflictError
	if !errors.As(err, &e) || !errors.Is(err, store.ErrNodeConflict) {
		b.t.Fatalf("error is %v, want a *NodeConflictError of %q", err, node)
	}
	b.equal("the conflict", *e, store.NodeConflictError{Session: session, Node: node, Reason: reason})
}

// refused demands a *ValueError of the field that matches sentinel.
func (b *treeBundle) refused(what string, err error, field string, sentinel error) {
	b.t.Helper()
	var e *store.ValueError
	if !errors.As(err, &e) || e.Field != field || sentinel != nil && !errors.Is(err, sentinel) {
		b.t.Fatalf("%s: error is %v (%T), want a *ValueError of %q matching %v", what, err, err, field, sentinel)
	}
}

// create makes an empty tree that stays.
func (b *treeBundle) create(session string) {
	b.t.Helper()
	b.createFor(session, nil)
}

func (b *treeBundle) createFor(session string, ttl *float64) store.SessionInfo {
	b.t.Helper()
	info, err := b.s.CreateSession(b.ctx, session, "session", ttl)
	b.ok(err)
	return info
}

func (b *treeBundle) append(session string, nodes ...store.Node) {
	b.t.Helper()
	for _, n := range nodes {
		if err := b.s.Append(b.ctx, session, n); err != nil {
			b.t.Fatalf("append %q: %v", n.ID, err)
		}
	}
}

// seed makes a tree of a root and one node below it for each of children.
func (b *treeBundle) seed(session, root string, children ...string) {
	b.t.Helper()
	b.create(session)
	b.append(session, rootNode(root))
	for _, id := range children {
		b.append(session, childNode(id, root))
	}
}

func rootNode(id string) store.Node {
	return store.Node{ID: id, Kind: "init", Data: `{"image_uuid":"base-image"}`}
}

func childNode(id, parent string) store.Node {
	return store.Node{ID: id, ParentID: &parent, Kind: "run", Data: `{"user":{"label":"first"}}`}
}

func (b *treeBundle) node(session, id string) store.Node {
	b.t.Helper()
	n, err := b.s.Node(b.ctx, session, id)
	b.ok(err)
	return n
}

// sameNode compares a stored node with the one that was appended, text and all.
func (b *treeBundle) sameNode(session string, want store.Node) {
	b.t.Helper()
	b.equal("stored node", b.node(session, want.ID), want)
}

func (b *treeBundle) count(session string) int64 {
	b.t.Helper()
	n, err := b.s.CountNodes(b.ctx, session)
	b.ok(err)
	return n
}

// nodeIDs pages a list of nodes to its end.
func (b *treeBundle) nodeIDs(list func(store.PageRequest) (store.Page[store.Node], error)) []string {
	b.t.Helper()
	return treePages(b, list, func(n store.Node) string { return n.ID })
}

func (b *treeBundle) all(session string) []string {
	b.t.Helper()
	return b.nodeIDs(func(p store.PageRequest) (store.Page[store.Node], error) { return b.s.ListNodes(b.ctx, session, p) })
}

func (b *treeBundle) children(session, node string) []string {
	b.t.Helper()
	return b.nodeIDs(func(p store.PageRequest) (store.Page[store.Node], error) {
		return b.s.ListChildren(b.ctx, session, node, p)
	})
}

func (b *treeBundle) history(session, node string) []string {
	b.t.Helper()
	return b.nodeIDs(func(p store.PageRequest) (store.Page[store.Node], error) {
		return b.s.ListHistory(b.ctx, session, node, p)
	})
}

func (b *treeBundle) sessions(f store.SessionFilter) []string {
	b.t.Helper()
	return treePages(b, func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
		return b.s.ListSessions(b.ctx, f, p)
	}, func(i store.SessionInfo) string { return i.ID })
}

func treePages[T any](b *treeBundle, list func(store.PageRequest) (store.Page[T], error), id func(T) string) []string {
	b.t.Helper()
	out := []string{}
	b.ok(treeAll(list, func(item T) error {
		out = append(out, id(item))
		return nil
	}))
	return out
}

// treeAll is store.All, but for a list that turns in a circle.
func treeAll[T any](list func(store.PageRequest) (store.Page[T], error), visit func(T) error) error {
	seen := map[string]bool{}
	return store.All(func(p store.PageRequest) (store.Page[T], error) {
		if seen[p.Cursor] {
			return store.Page[T]{}, fmt.Errorf("the cursor %q came twice: paging does not end", p.Cursor)
		}
		seen[p.Cursor] = true
		return list(p)
	}, visit)
}

// inOrder compares ids: in their order where lists are in identity order, else as
// sets.
func (b *treeBundle) inOrder(what string, got, want []string) {
	b.t.Helper()
	want = sorted(want)
	if !b.f.Caps.IdentityOrder {
		got = sorted(got)
	}
	b.equal(what, got, append([]string{}, want...))
}

// dump is the whole store as text, for "nothing was written".
func (b *treeBundle) dump() []string {
	b.t.Helper()
	var out []string
	b.ok(treeAll(func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
		return b.s.ListSessions(b.ctx, store.SessionFilter{}, p)
	}, func(i store.SessionInfo) error {
		expires := "never"
		if i.ExpiresAt != nil {
			expires = fmt.Sprint(*i.ExpiresAt)
		}
		out = append(out, fmt.Sprintf("session %q %q %s", i.ID, i.Kind, expires))
		return treeAll(func(p store.PageRequest) (store.Page[store.Node], error) { return b.s.ListNodes(b.ctx, i.ID, p) },
			func(n store.Node) error {
				out = append(out, fmt.Sprintf("  node %q of %s %q %s", n.ID, orNull(n.ParentID), n.Kind, n.Data))
				return nil
			})
	}))
	return out
}

// reads are all calls that read one tree.
func (b *treeBundle) reads(session, node string) map[string]func() error {
	ctx, s := b.ctx, b.s
	page := store.PageRequest{}
	return map[string]func() error{
		"Session":      func() error { _, err := s.Session(ctx, session); return err },
		"Node":         func() error { _, err := s.Node(ctx, session, node); return err },
		"Nodes":        func() error { _, err := s.Nodes(ctx, session, []string{node}); return err },
		"Nodes, none":  func() error { _, err := s.Nodes(ctx, session, nil); return err },
		"ListNodes":    func() error { _, err := s.ListNodes(ctx, session, page); return err },
		"ListChildren": func() error { _, err := s.ListChildren(ctx, session, node, page); return err },
		"roots":        func() error { _, err := s.ListChildren(ctx, session, "", page); return err },
		"ListHistory":  func() error { _, err := s.ListHistory(ctx, session, node, page); return err },
		"CountNodes":   func() error { _, err := s.CountNodes(ctx, session); return err },
	}
}

// absent demands that no call finds the tree.
func (b *treeBundle) absent(session, node string) {
	b.t.Helper()
	calls := b.reads(session, node)
	calls["Append"] = func() error { return b.s.Append(b.ctx, session, childNode("late", node)) }
	calls["Append, root"] = func() error { return b.s.Append(b.ctx, session, rootNode("late")) }
	calls["SetSessionTTL"] = func() error { _, err := b.s.SetSessionTTL(b.ctx, session, nil); return err }
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		err := calls[name]()
		if !errors.Is(err, store.ErrNotFound) {
			b.t.Fatalf("%s of an absent tree: error is %v, want %v", name, err, store.ErrNotFound)
		}
		b.noSession(err, session)
	}
	if ids := b.sessions(store.SessionFilter{}); slices.Contains(ids, session) {
		b.t.Fatalf("absent tree %q is listed", session)
	}
}

// checkInvariants holds for every store after every case.
func (b *treeBundle) checkInvariants() {
	b.ctx = context.Background() // the case's own has ended
	if b.closed || b.t.Failed() {
		return
	}
	ids := b.sessions(store.SessionFilter{})
	b.equal("sessions listed once each", len(slices.Compact(sorted(ids))), len(ids))
	for _, id := range ids {
		b.checkTree(id)
	}
}

// checkTree demands that the nodes are a tree and that all lists agree about it.
func (b *treeBundle) checkTree(session string) {
	b.t.Helper()
	nodes := map[string]store.Node{}
	below := map[string][]string{} // "" holds the roots
	order := []string{}
	b.ok(treeAll(func(p store.PageRequest) (store.Page[store.Node], error) { return b.s.ListNodes(b.ctx, session, p) },
		func(n store.Node) error {
			if _, twice := nodes[n.ID]; twice {
				return fmt.Errorf("node %q is listed twice", n.ID)
			}
			nodes[n.ID] = n
			order = append(order, n.ID)
			parent := ""
			if n.ParentID != nil {
				parent = *n.ParentID
			}
			below[parent] = append(below[parent], n.ID)
			return nil
		}))
	b.inOrder("ListNodes", order, order)
	b.equal("CountNodes", b.count(session), int64(len(nodes)))
	b.equal("ListChildren of none: the roots", b.children(session, ""), append([]string{}, below[""]...))
	if len(below[""]) > 1 {
		b.t.Fatalf("session %q has the roots %q", session, below[""])
	}
	for parent := range below {
		if _, there := nodes[parent]; parent != "" && !there {
			b.t.Fatalf("parent %q of %q is not in session %q", parent, below[parent], session)
		}
	}
	if len(nodes) > 500 {
		return // the cases about many nodes look for themselves
	}
	for id, n := range nodes {
		b.equal("Node", b.node(session, id), n)
		b.inOrder("ListChildren of "+id, b.children(session, id), below[id])
		path := b.history(session, id)
		at := id
		for _, step := range path {
			b.equal("ListHistory of "+id, step, at)
			if at = ""; nodes[step].ParentID != nil {
				at = *nodes[step].ParentID
			}
		}
		b.equal("end of ListHistory of "+id, at, "")
	}
}

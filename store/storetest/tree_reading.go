package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treering/store"
)

// TestTreeReading checks the reading half of the tree contract on a store that holds
// trees already, such as one over the files of another program: every rule that can
// be told without writing. The store must hold at least one session, must not change
// meanwhile, and must refuse to be written. It is closed in the end.
func TestTreeReading(t *testing.T, ts store.TreeStore) {
	ctx := t.Context()
	sessions := paged(t, 2, func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
		return ts.ListSessions(ctx, store.SessionFilter{}, p)
	})
	if len(sessions) == 0 {
		t.Fatal("the store holds no session to read")
	}
	r := reading{ts, sessions}
	t.Run("sessions", r.list)
	for _, s := range sessions {
		t.Run(s.ID, func(t *testing.T) { r.tree(t, s.ID) })
	}
	t.Run("missing", r.missing)
	t.Run("cursors", r.cursors)
	t.Run("writes", r.writes)
	if err := ts.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := ts.Session(ctx, sessions[0].ID); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a call after Close: %v", err)
	}
	if err := ts.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// paged reads a list to its end by pages of a size, and by pages of one more, and
// checks that they are the same.
func paged[T any](t *testing.T, size int, list func(store.PageRequest) (store.Page[T], error)) []T {
	t.Helper()
	read := func(size int) (all []T) {
		req := store.PageRequest{Limit: size}
		for {
			page, err := list(req)
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Items) > size {
				t.Fatalf("%d items on a page of %d", len(page.Items), size)
			}
			all = append(all, page.Items...)
			if page.Next == "" {
				return all
			}
			req.Cursor = page.Next
		}
	}
	all := read(size)
	if diff := cmp.Diff(all, read(store.DefaultLimit)); diff != "" {
		t.Fatalf("pages of %d and of %d differ: %s", size, store.DefaultLimit, diff)
	}
	return all
}

type reading struct {
	ts       store.TreeStore
	sessions []store.SessionInfo
}

// list checks the list of sessions. Contract, list_sessions: kinds are selected or
// excluded before paging.
func (r reading) list(t *testing.T) {
	ctx := t.Context()
	kinds := map[string]int{}
	for _, s := range r.sessions {
		kinds[s.Kind]++
		info, err := r.ts.Session(ctx, s.ID)
		if err != nil || !cmp.Equal(info, s) {
			t.Errorf("session %q: %+v, %v; listed as %+v", s.ID, info, err, s)
		}
	}
	for kind, n := range kinds {
		got := paged(t, 1, func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
			return r.ts.ListSessions(ctx, store.SessionFilter{Kinds: []string{kind}}, p)
		})
		rest := paged(t, 3, func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
			return r.ts.ListSessions(ctx, store.SessionFilter{NotKinds: []string{kind}}, p)
		})
		if len(got) != n || len(rest) != len(r.sessions)-n {
			t.Errorf("kind %q: %d with it and %d without, want %d and %d", kind, len(got), len(rest), n, len(r.sessions)-n)
		}
	}
	page, err := r.ts.ListSessions(ctx, store.SessionFilter{Kinds: []string{}}, store.PageRequest{})
	if err != nil || len(page.Items) != 0 {
		t.Errorf("no kind at all selects %d sessions, %v", len(page.Items), err)
	}
	if _, err := r.ts.ListSessions(ctx, store.SessionFilter{}, store.PageRequest{Limit: -1}); !errors.Is(err, store.ErrBadLimit) {
		t.Errorf("a negative limit: %v", err)
	}
}

// tree checks one tree: every list of it tells of the same nodes.
func (r reading) tree(t *testing.T, session string) {
	ctx := t.Context()
	nodes := paged(t, 7, func(p store.PageRequest) (store.Page[store.Node], error) { return r.ts.ListNodes(ctx, session, p) })
	if n, err := r.ts.CountNodes(ctx, session); err != nil || n != int64(len(nodes)) {
		t.Errorf("%d nodes are counted, %v; %d are listed", n, err, len(nodes))
	}
	byID := map[string]store.Node{}
	children := map[string][]string{}
	var roots []string
	for _, n := range nodes {
		if _, twice := byID[n.ID]; twice {
			t.Errorf("node %q is listed twice", n.ID)
		}
		byID[n.ID] = n
		if n.Data.Kind() != store.Object {
			t.Errorf("node %q: its data is no object but %s", n.ID, n.Data.Kind())
		}
		if _, err := store.ParseJSON(string(n.Data)); err != nil {
			t.Errorf("node %q: %v", n.ID, err)
		}
		if n.ParentID == nil {
			roots = append(roots, n.ID)
			continue
		}
		children[*n.ParentID] = append(children[*n.ParentID], n.ID)
	}
	if len(nodes) > 0 && len(roots) != 1 {
		t.Errorf("roots %q, want one", roots)
	}
	ids := func(list []store.Node) (out []string) {
		for _, n := range list {
			out = append(out, n.ID)
		}
		return out
	}
	for _, n := range nodes {
		got := paged(t, 2, func(p store.PageRequest) (store.Page[store.Node], error) {
			return r.ts.ListChildren(ctx, session, n.ID, p)
		})
		if diff := cmp.Diff(children[n.ID], ids(got)); diff != "" {
			t.Errorf("children of %q: %s", n.ID, diff)
		}
		var path []string
		for at := n; ; at = byID[*at.ParentID] {
			if path = append(path, at.ID); at.ParentID == nil || len(path) > len(nodes) {
				break
			}
			if _, there := byID[*at.ParentID]; !there {
				t.Fatalf("the parent %q of %q is not listed", *at.ParentID, at.ID)
			}
		}
		got = paged(t, 3, func(p store.PageRequest) (store.Page[store.Node], error) {
			return r.ts.ListHistory(ctx, session, n.ID, p)
		})
		if diff := cmp.Diff(path, ids(got)); diff != "" {
			t.Errorf("history of %q: %s", n.ID, diff)
		}
		one, err := r.ts.Node(ctx, session, n.ID)
		if err != nil || !cmp.Equal(one, n) {
			t.Errorf("node %q: %v, %s", n.ID, err, cmp.Diff(n, one))
		}
	}
	top, err := r.ts.ListChildren(ctx, session, "", store.PageRequest{})
	if err != nil || !slices.Equal(ids(top.Items), roots) {
		t.Errorf("the roots are %q, %v; want %q", ids(top.Items), err, roots)
	}
	r.batch(t, session, nodes)
	if o, ok := r.ts.(store.Outliner); ok {
		outline := paged(t, 5, func(p store.PageRequest) (store.Page[store.Outline], error) { return o.ListOutline(ctx, session, p) })
		if len(outline) != len(nodes) {
			t.Fatalf("the outline has %d nodes, the list %d", len(outline), len(nodes))
		}
		for i, l := range outline {
			n := nodes[i]
			if l.ID != n.ID || !cmp.Equal(l.ParentID, n.ParentID) || l.Kind != n.Kind {
				t.Errorf("the outline has %+v where the list has %q, kind %q", l, n.ID, n.Kind)
			}
		}
		r.preview(t, session, outline)
	}
}

// preview checks that a session that is whole is listed early as it is, and that what
// may change in it without a new node is as the outline has it.
func (r reading) preview(t *testing.T, session string, outline []store.Outline) {
	p, ok := r.ts.(store.Previewer)
	if !ok {
		return
	}
	early := paged(t, 5, func(req store.PageRequest) (store.Page[store.Outline], error) {
		page, reading, err := p.PreviewOutline(t.Context(), session, req)
		if err == nil && !reading.Whole {
			t.Errorf("the outline was listed, and is not whole: %+v", reading)
		}
		return page, err
	})
	if diff := cmp.Diff(outline, early); diff != "" {
		t.Errorf("listed early: %s", diff)
	}
	m, err := p.Marks(t.Context(), session, 0)
	if err != nil {
		t.Fatal(err)
	}
	if m.Nodes != int64(len(outline)) {
		t.Errorf("marks of %d nodes, %d are listed", m.Nodes, len(outline))
	}
	forks := map[string]bool{}
	for _, f := range m.Forks {
		forks[f.ID] = f.False
	}
	for i, o := range outline {
		if o.Active != (o.ID == m.Active) || len(o.Labels)+len(m.Labels[o.ID]) > 0 && !slices.Equal(o.Labels, m.Labels[o.ID]) || o.FalseFork != forks[o.ID] {
			t.Errorf("%+v; the marks say active %q, labels %q, false fork %t", o, m.Active, m.Labels[o.ID], forks[o.ID])
		}
		if i == 0 && o.ParentID == nil && m.Root.Title != o.Title {
			t.Errorf("the root is called %q, and %q in the marks", o.Title, m.Root.Title)
		}
	}
	again, err := p.Marks(t.Context(), session, m.Upto)
	if err != nil || len(again.Forks) != 0 || again.Tree != m.Tree {
		t.Errorf("marks that were told are told again: %+v, %v", again, err)
	}
}

// batch checks Nodes. Contract, nodes: slots in input order, duplicates kept, empty
// where missing.
func (r reading) batch(t *testing.T, session string, nodes []store.Node) {
	if len(nodes) == 0 {
		return
	}
	var ids []string
	for i := range 100 {
		ids = append(ids, nodes[(i*7)%len(nodes)].ID)
		if i%3 == 0 {
			ids = append(ids, fmt.Sprintf("missing-%d", i), "", "\xff")
		}
	}
	got, err := r.ts.Nodes(t.Context(), session, ids)
	if err != nil || len(got) != len(ids) {
		t.Fatalf("%d slots for %d ids, %v", len(got), len(ids), err)
	}
	for i, id := range ids {
		if at := slices.IndexFunc(nodes, func(n store.Node) bool { return n.ID == id }); at < 0 {
			if got[i] != nil {
				t.Errorf("slot %d holds %q, which is not there", i, id)
			}
		} else if got[i] == nil || !cmp.Equal(*got[i], nodes[at]) {
			t.Errorf("slot %d holds not %q", i, id)
		}
	}
	if _, err := r.ts.Nodes(t.Context(), session, make([]string, store.MaxNodeIDs+1)); !errors.Is(err, store.ErrTooManyIDs) {
		t.Errorf("too many ids: %v", err)
	}
}

// missing checks that what is not there is said to be so, and which it is.
func (r reading) missing(t *testing.T) {
	ctx, id := t.Context(), r.sessions[0].ID
	first := func(_ any, err error) error { return err }
	for what, err := range map[string]error{
		"session": first(r.ts.Session(ctx, "no such session")), "nodes of no session": first(r.ts.ListNodes(ctx, "no such session", store.PageRequest{})),
		"an empty batch of no session": first(r.ts.Nodes(ctx, "no such session", nil)), "count of no session": first(r.ts.CountNodes(ctx, "no such session")),
		"node": first(r.ts.Node(ctx, id, "no such node")), "children of no node": first(r.ts.ListChildren(ctx, id, "no such node", store.PageRequest{})),
		"history of no node": first(r.ts.ListHistory(ctx, id, "no such node", store.PageRequest{})),
	} {
		var missing *store.NotFoundError
		if !errors.Is(err, store.ErrNotFound) || !errors.As(err, &missing) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// cursors checks that a cursor which is not of this list is never taken for its first
// page.
func (r reading) cursors(t *testing.T) {
	ctx := t.Context()
	for _, s := range r.sessions {
		page, err := r.ts.ListNodes(ctx, s.ID, store.PageRequest{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if page.Next == "" {
			continue
		}
		flipped := []byte(page.Next)
		flipped[len(flipped)/2] ^= 1
		for what, cursor := range map[string]string{
			"cut": page.Next[:len(page.Next)-1], "flipped": string(flipped), "foreign": store.EncodeCursor("elsewhere", "0", "x"),
			"long": strings.Repeat("A", 1<<20), "text": "next", "doubled": page.Next + page.Next,
		} {
			if _, err := r.ts.ListNodes(ctx, s.ID, store.PageRequest{Cursor: cursor}); !errors.Is(err, store.ErrBadCursor) {
				t.Errorf("a cursor that is %s: %v", what, err)
			}
		}
		if _, err := r.ts.ListSessions(ctx, store.SessionFilter{}, store.PageRequest{Cursor: page.Next}); !errors.Is(err, store.ErrBadCursor) {
			t.Errorf("a cursor of nodes in the list of sessions: %v", err)
		}
		if _, err := r.ts.ListChildren(ctx, s.ID, page.Items[0].ID, store.PageRequest{Cursor: page.Next}); !errors.Is(err, store.ErrBadCursor) {
			t.Errorf("a cursor of nodes in the list of children: %v", err)
		}
		done, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := r.ts.ListNodes(done, s.ID, store.PageRequest{}); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("a context that is done: %v", err)
		}
		return
	}
	t.Log("no session has a second page: its cursors were not tried")
}

// writes checks that nothing can be written.
func (r reading) writes(t *testing.T) {
	ctx, id := t.Context(), r.sessions[0].ID
	first := func(_ any, err error) error { return err }
	for what, err := range map[string]error{
		"create": first(r.ts.CreateSession(ctx, "new", "session", nil)), "ttl": first(r.ts.SetSessionTTL(ctx, id, nil)),
		"delete": first(r.ts.DeleteSession(ctx, id)), "purge": first(r.ts.PurgeExpired(ctx)),
		"append": r.ts.Append(ctx, id, store.Node{ID: "new", Kind: "run", Data: "{}"}),
	} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n, err := r.ts.CountExpired(ctx); err != nil || n != 0 {
		t.Errorf("%d are expired, %v", n, err)
	}
}

package foreign

import (
	"context"
	"fmt"
	"strconv"

	"treering/store"
)

// ListSessions implements [store.TreeStore], in the reader's order.
func (s *Store) ListSessions(ctx context.Context, f store.SessionFilter, page store.PageRequest) (store.Page[store.SessionInfo], error) {
	var out store.Page[store.SessionInfo]
	limit, err := page.Size()
	if err != nil {
		return out, err
	}
	scope := fmt.Sprintf("%s\x00sessions\x00%q\x00%q\x00%t", s.scope, f.Kinds, f.NotKinds, f.Kinds == nil)
	after, err := afterCursor(scope, page.Cursor)
	if err != nil {
		return out, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.list(ctx); err != nil {
		return out, err
	}
	from := 0
	if after != nil {
		from = after.next(func(id string) (int, bool) { i, ok := s.byID[id]; return i, ok })
	}
	for i := from; i < len(s.heads); i++ {
		h := s.heads[i]
		if s.byID[h.ID] != i || !f.Selects(h.Kind) {
			continue
		}
		if len(out.Items) == limit {
			out.Next = cursor(scope, i, out.Items[limit-1].ID)
			break
		}
		out.Items = append(out.Items, h.Info())
	}
	return out, nil
}

// place is where a page goes on: behind an item, or where it was if that is gone.
type place struct {
	index int
	id    string
}

func cursor(scope string, index int, id string) string {
	return store.EncodeCursor(scope, strconv.Itoa(index), id)
}

func afterCursor(scope, text string) (*place, error) {
	if text == "" {
		return nil, nil
	}
	key, err := store.DecodeCursor(scope, text)
	if err != nil {
		return nil, err
	}
	if len(key) != 2 {
		return nil, store.ErrBadCursor
	}
	index, err := strconv.Atoi(key[0])
	if err != nil || index < 0 {
		return nil, store.ErrBadCursor
	}
	return &place{index, key[1]}, nil
}

func (p *place) next(find func(id string) (int, bool)) int {
	if i, ok := find(p.id); ok {
		return i + 1
	}
	return p.index
}

// Node implements [store.TreeStore]. It does not wait for the rest of a session that is
// still read.
func (s *Store) Node(ctx context.Context, id, node string) (store.Node, error) {
	nodes, err := s.Nodes(ctx, id, []string{node})
	switch {
	case err != nil:
		return store.Node{}, err
	case nodes[0] == nil:
		return store.Node{}, &store.NotFoundError{What: "node", ID: node, In: id}
	}
	return *nodes[0], nil
}

// Nodes implements [store.TreeStore]. It does not wait for the rest of a session that is
// still read, unless a node was not read yet.
func (s *Store) Nodes(ctx context.Context, id string, ids []string) ([]*store.Node, error) {
	if err := store.CheckNodeIDs(ids); err != nil {
		return nil, err
	}
	o, err := s.begin(ctx, id)
	if err != nil {
		return nil, err
	}
	taken, slots, all := o.find(ids)
	if !all {
		if err := o.round.wait(ctx); err != nil {
			return nil, err
		}
		taken, slots, _ = o.find(ids)
	}
	nodes, err := s.nodes(ctx, o, taken)
	if err != nil {
		return nil, err
	}
	out := make([]*store.Node, len(ids))
	for i := range nodes {
		out[slots[i]] = &nodes[i]
	}
	return out, nil
}

// find takes the nodes of ids, and says where in the ids they are; all is false where
// some may come yet.
func (o *opened) find(ids []string) (taken []item, slots []int, all bool) {
	o.g.mu.RLock()
	defer o.g.mu.RUnlock()
	all = true
	for i, id := range ids {
		n, ok := o.g.tree.Find(id)
		// Without a header, whether anything stands before the records shows at the end.
		if !ok || n == planted && o.g.tree.header == nil && !o.g.whole {
			all = false
			continue
		}
		taken, slots = append(taken, o.g.take(n, true)), append(slots, i)
	}
	return taken, slots, all
}

// ListNodes implements [store.TreeStore], in the order of storage, a root that
// stands before the records first.
func (s *Store) ListNodes(ctx context.Context, id string, page store.PageRequest) (out store.Page[store.Node], err error) {
	o, err := s.session(ctx, id)
	if err != nil {
		return out, err
	}
	p, err := s.slice(o, id, page, true)
	if err != nil {
		return out, err
	}
	out.Next = p.Next
	out.Items, err = s.nodes(ctx, o, p.Items)
	return out, err
}

// ListOutline implements [store.Outliner].
func (s *Store) ListOutline(ctx context.Context, id string, page store.PageRequest) (out store.Page[store.Outline], err error) {
	o, err := s.session(ctx, id)
	if err != nil {
		return out, err
	}
	p, err := s.slice(o, id, page, false)
	if err != nil {
		return out, err
	}
	out.Next = p.Next
	out.Items, err = s.outlines(ctx, o, p.Items)
	return out, err
}

// slice is a page of a session's nodes as far as it was read.
func (s *Store) slice(o *opened, id string, page store.PageRequest, facts bool) (out store.Page[item], err error) {
	limit, err := page.Size()
	if err != nil {
		return out, err
	}
	scope := s.scope + "\x00nodes\x00" + id
	after, err := afterCursor(scope, page.Cursor)
	if err != nil {
		return out, err
	}
	o.g.mu.RLock()
	defer o.g.mu.RUnlock()
	t := o.g.tree
	from := 0
	if after != nil {
		from = after.next(func(id string) (int, bool) {
			n, ok := t.Find(id)
			if !ok {
				return 0, false
			}
			return t.Position(n), true
		})
	}
	for i := from; i < t.Len(); i++ {
		if len(out.Items) == limit {
			out.Next = cursor(scope, i, t.ID(t.At(i-1)))
			break
		}
		out.Items = append(out.Items, o.g.take(t.At(i), facts))
	}
	return out, nil
}

// ListChildren implements [store.TreeStore], in the order of storage.
func (s *Store) ListChildren(ctx context.Context, id, node string, page store.PageRequest) (out store.Page[store.Node], err error) {
	limit, err := page.Size()
	if err != nil {
		return out, err
	}
	scope := s.scope + "\x00children\x00" + id + "\x00" + node
	after, err := afterCursor(scope, page.Cursor)
	if err != nil {
		return out, err
	}
	o, err := s.session(ctx, id)
	if err != nil {
		return out, err
	}
	items, next, err := o.children(id, node, after, limit)
	if err != nil {
		return out, err
	}
	if next != "" {
		out.Next = cursor(scope, 0, next)
	}
	out.Items, err = s.nodes(ctx, o, items)
	return out, err
}

// children are the next children of a node; next is the last of them if there are more.
func (o *opened) children(id, node string, after *place, limit int) (items []item, next string, err error) {
	o.g.mu.RLock()
	defer o.g.mu.RUnlock()
	t := o.g.tree
	var c int32
	var ok bool
	switch parent, found := t.Find(node); {
	case node == "" && !found:
		c, ok = t.Root(), true
		if after != nil {
			return nil, "", nil
		}
	case !found:
		return nil, "", &store.NotFoundError{What: "node", ID: node, In: id}
	default:
		c, ok = t.FirstChild(parent)
		if after != nil {
			at, found := t.Find(after.id)
			if p, has := t.Parent(at); !found || !has || p != parent {
				return nil, "", store.ErrBadCursor // the source was replaced: what came before is gone as well
			}
			c, ok = t.NextSibling(at)
		}
	}
	for ; ok; c, ok = t.NextSibling(c) {
		if len(items) == limit {
			return items, items[limit-1].out.ID, nil
		}
		items = append(items, o.g.take(c, true))
	}
	return items, "", nil
}

// ListHistory implements [store.TreeStore].
func (s *Store) ListHistory(ctx context.Context, id, node string, page store.PageRequest) (out store.Page[store.Node], err error) {
	limit, err := page.Size()
	if err != nil {
		return out, err
	}
	scope := s.scope + "\x00history\x00" + id + "\x00" + node
	after, err := afterCursor(scope, page.Cursor)
	if err != nil {
		return out, err
	}
	o, err := s.session(ctx, id)
	if err != nil {
		return out, err
	}
	items, next, err := o.history(id, node, after, limit)
	if err != nil {
		return out, err
	}
	if next != "" {
		out.Next = cursor(scope, 0, next)
	}
	out.Items, err = s.nodes(ctx, o, items)
	return out, err
}

// history are the next ancestors of a node; next is the last of them if there are more.
func (o *opened) history(id, node string, after *place, limit int) (items []item, next string, err error) {
	o.g.mu.RLock()
	defer o.g.mu.RUnlock()
	t := o.g.tree
	n, ok := t.Find(node)
	if !ok {
		return nil, "", &store.NotFoundError{What: "node", ID: node, In: id}
	}
	if after != nil {
		at, found := t.Find(after.id)
		if !found {
			return nil, "", store.ErrBadCursor // the source was replaced: what came before is gone as well
		}
		n, ok = t.Parent(at)
	}
	for ; ok; n, ok = t.Parent(n) {
		if len(items) == limit {
			return items, items[limit-1].out.ID, nil
		}
		items = append(items, o.g.take(n, true))
	}
	return items, "", nil
}

// CountNodes implements [store.TreeStore].
func (s *Store) CountNodes(ctx context.Context, id string) (int64, error) {
	o, err := s.session(ctx, id)
	if err != nil {
		return 0, err
	}
	o.g.mu.RLock()
	defer o.g.mu.RUnlock()
	return int64(o.g.tree.Len()), nil
}

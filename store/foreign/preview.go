package foreign

import (
	"context"
	"fmt"

	"treering/store"
)

// PreviewOutline implements [store.Previewer].
func (s *Store) PreviewOutline(ctx context.Context, id string, page store.PageRequest) (out store.Page[store.Outline], r store.Reading, err error) {
	o, err := s.begin(ctx, id)
	if err != nil {
		return out, r, err
	}
	limit, err := page.Size()
	if err != nil {
		return out, r, err
	}
	scope := s.scope + "\x00nodes\x00" + id
	after, err := afterCursor(scope, page.Cursor)
	if err != nil {
		return out, r, err
	}
	have := 0
	if after != nil {
		have = after.index
	}
	if err := o.g.ahead(ctx, have, o.round); err != nil {
		return out, r, err
	}
	items, next, r, whole := o.g.early(after, limit)
	if whole {
		// Nothing is still to come, as of the last reading; what came since is waited for.
		if err := o.round.wait(ctx); err != nil {
			return out, r, err
		}
		out, err = s.ListOutline(ctx, id, page)
		return out, r, err
	}
	out.Next = cursor(scope, next, items[len(items)-1].out.ID)
	out.Items, err = s.outlines(ctx, o, items)
	return out, r, err
}

// early takes the next nodes of a session that is still read; whole says that it is not.
func (g *Growth) early(after *place, limit int) (items []item, next int, r store.Reading, whole bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	t := g.tree
	r = store.Reading{Whole: g.whole, Done: g.done, Size: g.size, Moved: g.whole && !t.foreseen()}
	if g.whole || t.Count() == 0 {
		return nil, 0, r, true
	}
	n := int32(1)
	if t.header != nil {
		n = planted
	}
	if after != nil {
		if at, ok := t.Find(after.id); ok {
			n = at + 1
		}
	}
	for ; int(n) < len(t.recs) && len(items) < limit; n++ {
		it := item{out: store.Outline{ID: t.ID(n), ParentID: t.early(n)}}
		it.rec, it.stored = t.Record(n)
		items = append(items, it)
	}
	if len(items) == 0 {
		return nil, 0, r, true
	}
	return items, int(n) - 1, r, false
}

// Marks implements [store.Previewer].
func (s *Store) Marks(ctx context.Context, id string, since int) (m store.Marks, err error) {
	o, err := s.session(ctx, id)
	if err != nil {
		return m, err
	}
	items := []item{o.g.marked(&m, since)}
	roots, err := s.outlines(ctx, o, items)
	if err != nil {
		return m, err
	}
	m.Root = roots[0]
	return m, nil
}

// marked fills in all but the root, and takes that.
func (g *Growth) marked(m *store.Marks, since int) item {
	g.mu.RLock()
	defer g.mu.RUnlock()
	t := g.tree
	m.Tree, m.Nodes = fmt.Sprintf("%d.%d", g.born, t.Shape()), int64(t.Len())
	if g.about.Active >= 0 {
		m.Active = t.ID(g.about.Active)
	}
	m.Labels = make(map[string][]string, len(g.about.Labels))
	for n, names := range g.about.Labels {
		m.Labels[t.ID(n)] = names
	}
	m.Upto = len(t.remarked)
	for _, n := range t.remarked[min(max(since, 0), len(t.remarked)):] {
		m.Forks = append(m.Forks, store.ForkMark{ID: t.ID(n), False: t.flags[n]&FalseFork != 0})
	}
	return g.take(t.Root(), false)
}

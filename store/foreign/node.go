package foreign

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"treering/store"
)

// item is a node as it was taken from a tree while its lock was held. What lists show
// of it may be still to read.
type item struct {
	out    store.Outline
	rec    Record
	stored bool // there is a record
	facts  []store.Member
}

// take takes a node. The lock is held.
func (g *Growth) take(n int32, facts bool) item {
	it := item{out: store.Outline{ID: g.tree.ID(n), ParentID: g.parentID(n), Labels: g.about.Labels[n], Active: n == g.about.Active}}
	if it.rec, it.stored = g.tree.Record(n); !it.stored {
		it.out.Kind, it.out.Title = "root", cmp.Or(g.title(), Title(g.tree.o.Session))
	} else if n == planted {
		it.rec.Title = cmp.Or(Title(g.title()), it.rec.Title)
	}
	if facts {
		it.facts = g.tree.Facts(n)
		if n == g.tree.Root() {
			it.facts = append(it.facts, g.about.Facts...)
			if others, any := g.about.Report.others(); any {
				it.facts = append(it.facts, others)
			}
		}
	}
	return it
}

func (g *Growth) parentID(n int32) *string {
	p, ok := g.tree.Parent(n)
	if !ok {
		return nil
	}
	id := g.tree.ID(p)
	return &id
}

// show fills in what a list shows of a record.
func (it *item) show() {
	if !it.stored {
		return
	}
	o, rec := &it.out, &it.rec
	o.Kind, o.Title, o.Role, o.Time = rec.Kind, rec.Title, rec.Role, rec.Time
	o.Failed, o.Quiet, o.FalseFork = rec.Flags&Failed != 0, rec.Flags&Quiet != 0, rec.Flags&FalseFork != 0
}

// described reports whether what lists show of a record is known. Headers and lines
// that were not loaded are described as they are found.
func (it *item) described() bool { return !it.stored || it.rec.Kind != "" }

// tooLong describes a record that was not loaded.
func (it *item) tooLong() {
	if it.rec.Flags&TooLong != 0 && it.rec.Kind == "" {
		it.rec.Kind, it.rec.Title = "line", fmt.Sprintf("%d MB, not loaded", it.rec.Place.Length>>20)
	}
}

// changedTitle is the title of a record that is not where it was read.
const changedTitle = "changed while it was read"

// outlines describes items for a list.
func (s *Store) outlines(ctx context.Context, o *opened, items []item) ([]store.Outline, error) {
	if err := s.bodies(ctx, o, items, false, nil); err != nil {
		return nil, err
	}
	var out []store.Outline
	for i := range items {
		items[i].show()
		out = append(out, items[i].out)
	}
	return out, nil
}

// bodies describes items, and calls visit with the bodies of those that have one, in
// their order. Without whole, what is described already is not read.
func (s *Store) bodies(ctx context.Context, o *opened, items []item, whole bool, visit func(i int, body store.JSON)) error {
	d, many := s.r.(Describer)
	var recs []*Record
	var at []int
	for i := range items {
		it := &items[i]
		it.tooLong()
		if !it.stored || it.rec.Flags&TooLong != 0 || !whole && (it.described() || !many) {
			continue
		}
		recs, at = append(recs, &it.rec), append(at, i)
	}
	one := func(i int, body store.JSON) error {
		it := &items[at[i]]
		switch {
		case body == "" && whole:
			return fmt.Errorf("session %q, %s: %w", o.head.ID, it.rec.Place, store.ErrSourceChanged)
		case body == "":
			it.rec.Kind, it.rec.Title = "?", changedTitle
		case many && !it.described():
			if d.Describe(o.head, &it.rec, body); it.rec.Kind == "" {
				it.rec.Kind = "node"
			}
		}
		if visit != nil {
			visit(at[i], body)
		}
		return nil
	}
	if many {
		return d.Bodies(ctx, o.head, recs, one)
	}
	for i, rec := range recs {
		body, err := s.r.Body(ctx, o.head, rec)
		if err != nil {
			return fmt.Errorf("session %q, %s: %w", o.head.ID, rec.Place, err)
		}
		if err := one(i, body); err != nil {
			return err
		}
	}
	return nil
}

// nodes reads items with their bodies.
func (s *Store) nodes(ctx context.Context, o *opened, items []item) ([]store.Node, error) {
	raw := make([]store.JSON, len(items))
	if err := s.bodies(ctx, o, items, true, func(i int, body store.JSON) { raw[i] = body }); err != nil {
		return nil, err
	}
	var out []store.Node
	for i := range items {
		out = append(out, items[i].node(raw[i]))
	}
	return out, nil
}

// node is an item with its body as a node.
func (it *item) node(body store.JSON) store.Node {
	it.show()
	line := it.out
	var members []store.Member
	add := func(key string, v store.JSON) { members = append(members, store.Member{Key: key, Value: v}) }
	if line.Title != "" {
		add("title", store.Quote(line.Title))
	}
	if line.Time != 0 && math.Abs(line.Time) < 1e12 {
		add("ts", store.Quote(stamp(line.Time)))
	}
	if line.Role != "" {
		add("role", store.Quote(line.Role))
	}
	if line.Active {
		add("head", "true")
	}
	if len(line.Labels) > 0 {
		var names []store.JSON
		for _, l := range line.Labels {
			names = append(names, store.Quote(l))
		}
		add("labels", store.ArrayOf(names...))
	}
	if line.Failed {
		add("failed", "true")
	}
	if it.rec.Flags&Seam != 0 {
		add("compact_boundary", "true")
	}
	members = append(members, it.facts...)
	if it.stored {
		if it.rec.Flags&TooLong != 0 {
			body = store.ObjectOf(store.Member{Key: "not_loaded", Value: "true"}, store.Member{Key: "bytes", Value: store.JSON(strconv.FormatInt(it.rec.Place.Length, 10))})
		}
		add("raw", body)
	}
	return store.Node{ID: line.ID, ParentID: line.ParentID, Kind: line.Kind, Data: store.ObjectOf(members...)}
}

func stamp(seconds float64) string {
	whole := math.Floor(seconds)
	return time.Unix(int64(whole), int64((seconds-whole)*1e9)).UTC().Format("2006-01-02T15:04:05.999Z07:00")
}

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"treering/internal/term"
	"treering/store"
	"treering/store/query"
	"treering/treeview"
)

func (a *app) treeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tree SESSION",
		Short: "Draw the tree of a session",
		Long: "Draw the tree of a session. Straight runs do not indent; indent grows where it branches. --json lists the nodes in the " +
			"same order, parents first and children by id (as they are stored where another program keeps them), depth counting the edges from the root. " +
			"Where another program keeps it, labels and the head that it would go on from stand in brackets behind a node, and ! where it failed. With a filter a node hangs on its " +
			"nearest ancestor that is shown, and says how many lie between; its parent and depth remain what they are.",
		Example: `treering tree example
treering tree example --json
treering tree example --filter 'forks() or heads()'`,
		Args: exactly("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			q, err := a.filter(query.Nodes)
			if err != nil {
				return err
			}
			return a.withTrees(ctx, reading, func(ts store.TreeStore) error {
				t, err := readTree(ctx, ts, args[0], q.Needs().Data)
				if err != nil {
					return err
				}
				if err := a.siftTree(t, q, args[0]); err != nil {
					return err
				}
				if a.json {
					return a.treeLines(t)
				}
				return a.drawTree(t)
			})
		},
	}
	return a.filterFlag(cmd, query.Nodes)
}

// tree is a whole session in memory: its shape, and the titles that the shape
// keeps only the beginnings of.
type tree struct {
	index  *treeview.Index
	titles []string // by treeview.Ref
	data   []store.JSON
	marks  map[treeview.Ref]mark // where another program's store has any
	marked bool                  // it has marks

	sifted bool
	match  treeview.Set // what a filter selects, where sifted
}

// mark is what the store of another program says of a node besides its relations.
type mark struct {
	labels       []string
	head, failed bool
}

func (t *tree) add(e treeview.Entry, data store.JSON, m mark) {
	ref, _ := t.index.Add(e)
	if m.head || m.failed || m.labels != nil {
		if t.marks == nil {
			t.marks = map[treeview.Ref]mark{}
		}
		t.marks[ref] = m
	}
	if grow := int(ref) + 1 - len(t.titles); grow > 0 {
		t.titles = append(t.titles, make([]string, grow)...)
	}
	t.titles[ref] = strings.Clone(e.Title) // it may be a part of the data, which is not to be kept
	if t.data == nil {
		return
	}
	if grow := int(ref) + 1 - len(t.data); grow > 0 {
		t.data = append(t.data, make([]store.JSON, grow)...)
	}
	t.data[ref] = data
}

// text shows a mark behind a node's title, as the explorer does: where its program
// would go on from, the labels, and whether it failed.
func (m mark) text() (parts []term.Text) {
	if m.head {
		parts = append(parts, term.Lit(" [head]"))
	}
	for _, l := range m.labels {
		parts = append(parts, term.Lit(" ["), term.SanitiseN(l, maxLabel), term.Lit("]"))
	}
	if m.failed {
		parts = append(parts, term.Lit(" !"))
	}
	return parts
}

// maxLabel is how much of a label is shown, in code points.
const maxLabel = 60

// readTree reads a session, and the data of its nodes where that is asked for.
func readTree(ctx context.Context, ts store.TreeStore, session string, withData bool) (*tree, error) {
	t := &tree{index: treeview.New(siblings(ts))}
	_, t.marked = ts.(store.Outliner)
	if withData {
		t.data = []store.JSON{""}
	}
	if err := readIndex(ctx, ts, session, t.index, withData, t.add); err != nil {
		return nil, err
	}
	return t, nil
}

// siftTree finds out which nodes a query selects.
func (a *app) siftTree(t *tree, q *query.Query, session string) error {
	if q.Empty() {
		return nil
	}
	m, err := a.bindTree(q, t.index, missingNode(session))
	if err != nil {
		return err
	}
	t.sifted = true
	var at treeview.Ref
	row := query.NodeRow{Data: func() store.JSON { return t.data[at] }}
	looked, noTime := 0, 0
	for ref := range t.index.Walk() {
		if !t.index.Known(ref) {
			continue
		}
		at = ref
		row.ID, row.Kind, row.Title, row.Ref, row.Parent = t.index.ID(ref), t.index.Kind(ref), t.titles[ref], int32(ref), t.parent(ref)
		looked++
		switch m.Match(&row) {
		case query.Yes:
			t.match.Add(ref)
		case query.NoTime:
			noTime++
		case query.No:
		}
	}
	a.sayCounts(t.match.Len(), looked, noTime)
	return nil
}

// parent is the id that a node names as its parent's.
func (t *tree) parent(ref treeview.Ref) *string {
	above := t.index.Parent(ref)
	if named, cyclic := t.index.Cyclic(ref); cyclic {
		above = named
	}
	if above == 0 {
		return nil
	}
	id := t.index.ID(above)
	return &id
}

// siblings is the order in which siblings are drawn: by id, or where another program
// keeps them as it stores them.
func siblings(ts store.TreeStore) treeview.Order {
	if _, ok := ts.(store.Outliner); ok {
		return treeview.ByArrival
	}
	return treeview.ByID
}

// readIndex reads the nodes of a session; add puts each into the index. Without
// withData the data may be empty.
func readIndex(ctx context.Context, ts store.TreeStore, session string, index *treeview.Index, withData bool, add func(e treeview.Entry, data store.JSON, m mark)) error {
	o, outlined := ts.(store.Outliner)
	known := map[string]store.Outline{} // those that are more than their data says
	if outlined {
		err := store.All(func(p store.PageRequest) (store.Page[store.Outline], error) {
			return o.ListOutline(ctx, session, p)
		}, func(n store.Outline) error {
			m := mark{n.Labels, n.Active, n.Failed}
			if !withData {
				add(treeview.EntryOfOutline(n), "", m)
			} else if n.FalseFork || n.Active || n.Failed || n.Labels != nil {
				known[n.ID] = n
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	addNode := func(n store.Node) error {
		e, also := treeview.EntryOf(n), known[n.ID]
		e.Aside = also.FalseFork
		add(e, n.Data, mark{also.Labels, also.Active, also.Failed})
		return nil
	}
	if !outlined || withData {
		err := store.All(func(p store.PageRequest) (store.Page[store.Node], error) {
			return ts.ListNodes(ctx, session, p)
		}, addNode)
		if err != nil {
			return err
		}
	}
	// Pages are live reads: a node may have come whose parent came too, behind the
	// cursor. Each round reaches one generation up and ends with the root.
	for asked := map[string]bool{}; ; {
		var ids []string
		for ref := range index.Walk() {
			if id := index.ID(ref); !index.Known(ref) && !asked[id] {
				asked[id] = true
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			return nil
		}
		for batch := range slices.Chunk(ids, store.MaxNodeIDs) {
			nodes, err := ts.Nodes(ctx, session, batch)
			if err != nil {
				return err
			}
			for _, n := range nodes {
				if n == nil {
					continue
				}
				if err := addNode(*n); err != nil {
					return err
				}
			}
		}
	}
}

func (a *app) treeLines(t *tree) error {
	shown := 0
	var l line
	for ref, depth := range t.index.Walk() {
		if a.limit > 0 && shown == a.limit {
			break
		}
		if !t.index.Known(ref) || t.sifted && !t.match.Has(ref) {
			continue // a parent that is missing is no node of the session
		}
		shown++
		l.b = l.b[:0]
		l.text("id", t.index.ID(ref)).optional("parent_id", t.parent(ref))
		l.text("kind", t.index.Kind(ref)).integer("depth", int64(depth)).text("title", t.titles[ref])
		if m := t.marks[ref]; t.marked {
			l.texts("labels", m.labels).boolean("head", m.head).boolean("failed", m.failed).boolean("branch", !t.index.Aside(ref))
		}
		if err := a.out.jsonLine(&l); err != nil {
			return err
		}
	}
	return a.out.flush()
}

func (a *app) drawTree(t *tree) error {
	if t.index.Len() == 0 {
		if a.out.terminal {
			return a.out.raw("no nodes\n")
		}
		return nil
	}
	flat := treeview.NewFlat(t.index, treeview.Runs)
	if t.sifted {
		if t.match.Len() == 0 && a.out.terminal {
			return a.out.raw("nothing matches\n")
		}
		flat.SetFilter(t.match, treeview.Elided)
		flat.Rebuild()
	}
	// Every line ends with the id: it is what the other commands want to hear.
	label := func(ref treeview.Ref) term.Text {
		marks := t.marks[ref].text()
		if marks == nil {
			return t.index.LabelWithID(ref, term.Profile{})
		}
		return t.index.Label(ref, term.Profile{}).Plus(marks...).Plus(term.Spaces(2), term.Sanitise(t.index.ID(ref)))
	}
	shown, more := 0, 0
	for l := range flat.Lines(treeview.DrawOptions{ASCII: !a.unicode(), Label: label}) {
		if a.limit > 0 && shown == a.limit {
			more++
			continue
		}
		shown++
		if err := a.out.raw(fmt.Sprintf("%s%s\n", l.Gutter, l.Text)); err != nil {
			return err
		}
	}
	if more > 0 {
		nodes := "nodes"
		if more == 1 {
			nodes = "node"
		}
		if err := a.out.raw(fmt.Sprintf("... %d more %s\n", more, nodes)); err != nil {
			return err
		}
	}
	return a.out.flush()
}

// unicode reports whether the locale says that more than ASCII can be shown. Where
// it says nothing, as on Windows, it can.
func (a *app) unicode() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := a.env.Get(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
)

func (a *app) treeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tree SESSION",
		Short: "Draw the tree of a session",
		Long: "Draw the tree of a session. Straight runs do not indent; indent grows where it branches. --json lists the nodes in the " +
			"same order, parents first and children by id, depth counting the edges from the root.",
		Example: `treering tree example
treering tree example --json`,
		Args: exactly("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.withTrees(ctx, reading, func(ts store.TreeStore) error {
				t, err := readTree(ctx, ts, args[0])
				if err != nil {
					return err
				}
				if a.json {
					return a.treeLines(t)
				}
				return a.drawTree(t)
			})
		},
	}
}

// tree is a whole session in memory: its shape, and the titles that the shape
// keeps only the beginnings of.
type tree struct {
	index  *treeview.Index
	titles []string // by treeview.Ref
}

func (t *tree) add(n store.Node) error {
	ref, _ := t.index.Add(treeview.EntryOf(n))
	if grow := int(ref) + 1 - len(t.titles); grow > 0 {
		t.titles = append(t.titles, make([]string, grow)...)
	}
	t.titles[ref] = n.Title()
	return nil
}

func readTree(ctx context.Context, ts store.TreeStore, session string) (*tree, error) {
	t := &tree{index: treeview.New(treeview.ByID)}
	err := store.All(func(p store.PageRequest) (store.Page[store.Node], error) {
		return ts.ListNodes(ctx, session, p)
	}, t.add)
	if err != nil {
		return nil, err
	}
	// Pages are live reads: a node may have come whose parent came too, behind the
	// cursor. Each round reaches one generation up and ends with the root.
	for asked := map[string]bool{}; ; {
		var ids []string
		for ref := range t.index.Walk() {
			if id := t.index.ID(ref); !t.index.Known(ref) && !asked[id] {
				asked[id] = true
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			return t, nil
		}
		for batch := range slices.Chunk(ids, store.MaxNodeIDs) {
			nodes, err := ts.Nodes(ctx, session, batch)
			if err != nil {
				return nil, err
			}
			for _, n := range nodes {
				if n == nil {
					continue
				}
				if err := t.add(*n); err != nil {
					return nil, err
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
		if !t.index.Known(ref) {
			continue // a parent that is missing is no node of the session
		}
		shown++
		l.b = l.b[:0]
		l.text("id", t.index.ID(ref))
		if named, cyclic := t.index.Cyclic(ref); cyclic {
			l.text("parent_id", t.index.ID(named))
		} else if parent := t.index.Parent(ref); parent != 0 {
			l.text("parent_id", t.index.ID(parent))
		} else {
			l.null("parent_id")
		}
		l.text("kind", t.index.Kind(ref)).integer("depth", int64(depth)).text("title", t.titles[ref])
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
	// Every line ends with the id: it is what the other commands want to hear.
	label := func(ref treeview.Ref) term.Text {
		if !t.index.Known(ref) {
			return t.index.Label(ref, term.Profile{})
		}
		return t.index.Label(ref, term.Profile{}).Plus(term.Lit("  "), term.Sanitise(t.index.ID(ref)))
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

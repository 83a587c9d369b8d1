package cli

import (
	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/query"
)

func (a *app) childrenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "children SESSION [NODE]",
		Short: "List the children of a node, or without one the roots",
		Example: `treering children example
treering children example 019a2e4b-9cf9-78d6-988e-666864c47a46`,
		Args: between(1, 2, "SESSION", "NODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			q, err := a.filter(query.Nodes)
			if err != nil {
				return err
			}
			parent, empty := "", "no root"
			if len(args) == 2 {
				parent, empty = args[1], "no children"
				if parent == "" {
					return &store.ValueError{Field: "node id", Reason: "must not be empty", Err: store.ErrEmptyID}
				}
			}
			return a.withTrees(ctx, reading, func(ts store.TreeStore) error {
				match, err := a.matchNodes(ctx, ts, args[0], q)
				if err != nil {
					return err
				}
				return siftedList(a, q, nodePrinter(empty), match, func(p store.PageRequest) (store.Page[store.Node], error) {
					return ts.ListChildren(ctx, args[0], parent, p)
				})
			})
		},
	}
	return a.rawFlag(a.filterFlag(cmd, query.Nodes), "each node's data")
}

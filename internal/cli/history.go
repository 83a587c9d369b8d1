package cli

import (
	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/query"
)

func (a *app) historyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "history SESSION NODE",
		Short:   "List a node and its ancestors, nearest first",
		Example: `treering history example 019a2e4b-9cf9-78d6-988e-666864c47a46`,
		Args:    exactly("SESSION", "NODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			q, err := a.filter(query.Nodes)
			if err != nil {
				return err
			}
			return a.withTrees(ctx, reading, func(ts store.TreeStore) error {
				match, err := a.matchNodes(ctx, ts, args[0], q)
				if err != nil {
					return err
				}
				return siftedList(a, q, nodePrinter(""), match, func(p store.PageRequest) (store.Page[store.Node], error) {
					return ts.ListHistory(ctx, args[0], args[1], p)
				})
			})
		},
	}
	return a.rawFlag(a.filterFlag(cmd, query.Nodes), "each node's data")
}

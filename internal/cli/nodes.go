package cli

import (
	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/query"
)

func (a *app) nodesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "nodes SESSION",
		Short: "List the nodes of a session in the order of their ids",
		Example: `treering nodes example --json
treering nodes example --filter 'kind:run since:1h not has:data.error'`,
		Args: exactly("SESSION"),
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
				return siftedList(a, q, nodePrinter("no nodes"), match, func(p store.PageRequest) (store.Page[store.Node], error) {
					return ts.ListNodes(ctx, args[0], p)
				})
			})
		},
	}
	return a.rawFlag(a.filterFlag(cmd, query.Nodes), "each node's data")
}

// nodePrinter prints nodes in a list.
func nodePrinter(empty string) printer[store.Node] {
	return printer[store.Node]{
		empty: empty,
		head:  []string{"NODE", "PARENT", "KIND", "TITLE"},
		json: func(l *line, n store.Node) {
			l.text("id", n.ID).optional("parent_id", n.ParentID).text("kind", n.Kind).json("data", n.Data)
		},
		row: func(n store.Node) []string {
			return []string{n.ID, deref(n.ParentID), n.Kind, n.Title()}
		},
		raw: func(n store.Node) (string, error) { return string(n.Data), nil },
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

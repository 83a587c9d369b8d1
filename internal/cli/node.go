package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"treering/store"
)

// Indented JSON for people stops to grow to the right at this depth.
const maxIndent = 20

func (a *app) nodeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "node SESSION NODE...",
		Short: "Show nodes, in the order asked",
		Long: fmt.Sprintf("Show up to %d nodes, in the order asked and as often as asked. Those that are there are shown even if others are missing; "+
			"the exit code is then %d.", store.MaxNodeIDs, exitNotFound),
		Example: `treering node example 019a2e4b-9cf9-78d6-988e-666864c47a46
treering node example 019a2e4b-9cf9-78d6-988e-666864c47a46 --raw`,
		Args: between(2, -1, "SESSION", "NODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			session, ids := args[0], args[1:]
			return a.withTrees(ctx, reading, func(ts store.TreeStore) error {
				slots, err := ts.Nodes(ctx, session, ids)
				if err != nil {
					return err
				}
				var found []store.Node
				var missing []string
				for i, n := range slots {
					if n == nil {
						missing = append(missing, fmt.Sprintf("%q", ids[i]))
					} else {
						found = append(found, *n)
					}
				}
				if a.json || a.raw {
					err = list(a, nodePrinter(""), items(found...))
				} else {
					err = a.showNodes(found)
				}
				if err != nil || missing == nil {
					return err
				}
				if err := a.out.flush(); err != nil {
					return err
				}
				text := strings.Join(missing[:min(len(missing), namedMissing)], ", ")
				if rest := len(missing) - namedMissing; rest > 0 {
					text += fmt.Sprintf(", and %d more of the %d asked for", rest, len(ids))
				}
				return notFoundf("session %q has no node %s", session, text)
			})
		},
	}
	return a.rawFlag(cmd, "each node's data")
}

// namedMissing is how many nodes that are not there an error names.
const namedMissing = 10

// showNodes prints nodes for people, one after the other.
func (a *app) showNodes(nodes []store.Node) error {
	if a.limit > 0 && len(nodes) > a.limit {
		nodes = nodes[:a.limit]
	}
	for i, n := range nodes {
		if i > 0 {
			if err := a.out.raw("\n"); err != nil {
				return err
			}
		}
		fields := []field{{"node", n.ID}, {"parent", or(n.ParentID, "none: the root")}, {"kind", n.Kind}, {"title", n.Title()}}
		if err := a.showFields(fields); err != nil {
			return err
		}
		if err := a.showJSON(n.Data); err != nil {
			return err
		}
	}
	return nil
}

// field is one line of a description.
type field struct{ name, value string }

// showFields prints names and values in two columns.
func (a *app) showFields(fields []field) error {
	width := 0
	for _, f := range fields {
		width = max(width, len(f.name))
	}
	for _, f := range fields {
		if err := a.out.raw(fmt.Sprintf("%-*s  %s\n", width, f.name, a.out.show(f.value))); err != nil {
			return err
		}
	}
	return nil
}

// showJSON prints JSON indented. What stands between the tokens is ours, and what
// stands in a string has its controls escaped, so only invisible characters are
// left to be made visible.
func (a *app) showJSON(j store.JSON) error {
	var b strings.Builder
	if _, err := store.Indent(&b, store.EscapeControls(j), maxIndent, 0); err != nil {
		return err
	}
	return a.out.stored(b.String())
}

func or(s *string, absent string) string {
	if s == nil {
		return absent
	}
	return *s
}

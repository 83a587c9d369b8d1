package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"treering/store"
)

func (a *app) appendCommand() *cobra.Command {
	var parent, kind, data, id string
	var root bool
	cmd := &cobra.Command{
		Use:   "append SESSION",
		Short: "Append one node and print its id",
		Long: "Append one node below --parent, or as the --root, and print its id. Appending the same node again changes nothing and succeeds; " +
			"with --id, an append whose answer was lost can be repeated.",
		Example: `treering append example --root --kind init --data '{"image_uuid":"base-image"}'
treering append example --parent 019a2e4b-9cf9-78d6-988e-666864c47a46 --kind run --data @step.json`,
		Args: exactly("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			text, err := a.readArgument(ctx, "--data", data)
			if err != nil {
				return err
			}
			node := store.Node{ID: id, Kind: kind}
			if !root {
				node.ParentID = &parent
			}
			if node.Data, err = nodeData(text); err != nil {
				return err
			}
			if !cmd.Flags().Changed("id") {
				node.ID = store.NewID()
			}
			return a.withTrees(ctx, changing, func(ts store.TreeStore) error {
				err := ts.Append(ctx, args[0], node)
				if errors.Is(err, store.ErrOutcomeUnknown) {
					return fmt.Errorf("%w; it is safe to repeat with --id %s", err, node.ID)
				}
				if err != nil {
					return err
				}
				if a.json {
					return list(a, nodePrinter(""), items(node))
				}
				return a.out.stored(node.ID)
			})
		},
	}
	cmd.Flags().StringVar(&parent, "parent", "", "append below this node")
	cmd.Flags().BoolVar(&root, "root", false, "append the root of the session")
	cmd.Flags().StringVar(&kind, "kind", "", "the kind of the node: run, stage, config")
	cmd.Flags().StringVar(&data, "data", "", "a JSON object, @FILE, or - for standard input")
	cmd.Flags().StringVar(&id, "id", "", "the id of the node, instead of a fresh one")
	cmd.MarkFlagsOneRequired("parent", "root")
	cmd.MarkFlagsMutuallyExclusive("parent", "root")
	required(cmd, "kind", "data")
	return cmd
}

// nodeData takes what can be read as JSON at all; whether a store takes it is for
// the store to say.
func nodeData(text string) (store.JSON, error) {
	text = strings.TrimSpace(text)
	if len(text) > store.MaxDataBytes {
		return "", tooLong("data", store.MaxDataBytes)
	}
	j, err := store.ParseJSON(text)
	if err != nil {
		return "", usagef("--data is %w", err)
	}
	return j, nil
}

// required marks flags as required; they exist, so it cannot fail.
func required(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}

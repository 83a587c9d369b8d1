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
		Example: `treering append example --root --kind init \
--data '{"image_uuid":"base-image"}'
treering append example --kind run --data @step.json \
--parent 019a2e4b-9cf9-78d6-988e-666864c47a46`,
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
	cmd.Flags().StringVar(&parent, "parent", "", "append below the node `ID`")
	cmd.Flags().BoolVar(&root, "root", false, "append the root of the session")
	cmd.Flags().StringVar(&kind, "kind", "", "the `KIND` of the node, such as run, stage, config, init")
	cmd.Flags().StringVar(&data, "data", "", "a `JSON` object, @FILE, or - for standard input")
	cmd.Flags().StringVar(&id, "id", "", "the `ID` of the node, instead of a fresh one")
	oneOf(cmd, "parent", "root")
	required(cmd, "kind", "data")
	completeWith(cmd, "data", filesAfterAt)
	return cmd
}

// nodeData takes what a strict reader of JSON takes; whether a store takes it, as it
// does no key twice and nothing but objects, is for the store to say.
func nodeData(text string) (store.JSON, error) {
	text = strings.TrimSpace(text)
	if len(text) > store.MaxDataBytes {
		return "", tooLong("data", store.MaxDataBytes)
	}
	j, err := store.ParseJSON(text)
	if err != nil {
		return "", usagef("--data is %w", err)
	}
	if _, nonFinite := store.Strict(j); nonFinite {
		return "", usagef("--data is not JSON: NaN and the infinities are no JSON numbers")
	}
	return j, nil
}

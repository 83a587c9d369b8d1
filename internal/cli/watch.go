package cli

import (
	"github.com/spf13/cobra"

	"treering/store/locate"
	"treering/tracefeed"
)

func (a *app) watchCommand() *cobra.Command {
	var executions []string
	var all, sessions, queues bool
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Tell what changes in the store as it happens, whoever changes it",
		Long: "Tell what changes in the store as it happens, whoever changes it. Without --execution, --queues and --sessions these are the states " +
			"of all executions, or where the store holds none, its session trees. What is there at the beginning is not listed.\n\n" +
			"Of an execution that is committed to faster than can be shown the last state is told; its version tells how many commits there were. " +
			"With --execution every step is, or that it was missed.\n\n" + factsHelp,
		Example: `treering watch
treering watch --queues --json
treering watch --execution order-1 --execution order-2`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			a.watching = true
			return a.withStore(ctx, reading, func(o *locate.Opened) error {
				opts := tracefeed.FeedOptions{AllExecutions: all, Queues: queues, Sessions: sessions}
				for _, id := range executions {
					opts.Rings = append(opts.Rings, tracefeed.Follow{Execution: id})
				}
				if len(executions) == 0 && !all && !queues && !sessions {
					opts.AllExecutions, opts.Sessions = o.Executions != nil, o.Executions == nil
				}
				switch {
				case o.Executions == nil && (len(executions) > 0 || opts.AllExecutions || queues):
					return lacks(o, reading, "executions")
				case o.Trees == nil && opts.Sessions:
					return lacks(o, reading, "session trees")
				}
				return a.follow(ctx, o, opts, &following{})
			})
		},
	}
	cmd.Flags().StringArrayVar(&executions, "execution", nil, "every step of this execution `ID`; may be repeated")
	cmd.Flags().BoolVar(&all, "executions", false, "the states of all executions")
	cmd.Flags().BoolVar(&queues, "queues", false, "outbox, spawns and timers")
	cmd.Flags().BoolVar(&sessions, "sessions", false, "session trees, and how many nodes they have")
	return cmd
}

package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"treering/store"
)

func (a *app) ackCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ack outbox|spawn SEQ",
		Short: "Acknowledge one queue entry: remove it without delivering it",
		Long: "Acknowledge one entry of the outbox or of the spawns: remove it without delivering it. A parent whose spawn is removed " +
			"waits for a child that nobody will make.",
		Example: `treering ack outbox 7
treering ack spawn 2`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := exactly("outbox or spawn", "SEQ")(cmd, args); err != nil {
				return err
			}
			if args[0] != "outbox" && args[0] != "spawn" {
				return usagef("ack takes outbox or spawn, not %q", args[0])
			}
			return nil
		},
		ValidArgs: []string{"outbox", "spawn"},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if looksNegative.MatchString(args[1]) {
				return negativeSeq(args[1])
			}
			seq, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return usagef("%q is no SEQ: a whole number, as treering %s lists it", args[1], map[string]string{"outbox": "outbox", "spawn": "spawns"}[args[0]])
			}
			return a.withExecutions(ctx, changing, func(es store.ExecutionStore) error {
				ack, what := es.AckOutbox, "outbox entry"
				if args[0] == "spawn" {
					ack, what = es.AckSpawn, "spawn"
				}
				removed, err := ack(ctx, seq)
				if err != nil {
					return err
				}
				if !removed {
					return notFoundf("%s %d is already gone", what, seq)
				}
				if a.json {
					var l line
					return a.out.jsonLine(l.text("queue", args[0]).integer("seq", seq).boolean("acknowledged", true))
				}
				return a.out.raw(fmt.Sprintf("acknowledged %s %d\n", what, seq))
			})
		},
	}
	cmd.SetFlagErrorFunc(negativeNumber(negativeSeq))
	return cmd
}

// negativeSeq refuses what no queue ever numbers an entry with.
func negativeSeq(text string) error {
	return &store.ValueError{Field: "SEQ", Reason: text + " is negative", Err: store.ErrBadLimit}
}

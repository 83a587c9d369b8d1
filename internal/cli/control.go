package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"treering/store"
)

// controlCommand is suspend, resume or terminate.
func (a *app) controlCommand(command store.Command) *cobra.Command {
	name := string(command)
	what := map[store.Command]string{
		store.Suspend:   "RUNNING becomes SUSPENDED",
		store.Resume:    "SUSPENDED becomes RUNNING",
		store.Terminate: "anything but DONE and CANCELLED becomes CANCELLED",
	}[command]
	return &cobra.Command{
		Use:   name + " EXECUTION",
		Short: strings.ToUpper(name[:1]) + name[1:] + " an execution and its live descendants",
		Long: strings.ToUpper(name[:1]) + name[1:] + " an execution and then its live descendants: " + what + ". Each is one write of its own, " +
			"reported on a line; timers and queues stay. From another state nothing is written.",
		Example: "treering " + name + " order-0004",
		Args:    exactly("EXECUTION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.withExecutions(ctx, changing, func(es store.ExecutionStore) error {
				report, err := store.Control(ctx, es, command, args[0], nil, a.now())
				if err != nil {
					return err
				}
				return a.showControlled(command, report)
			})
		},
	}
}

func (a *app) showControlled(command store.Command, report []store.Controlled) error {
	var first error
	failed := 0
	for _, c := range report {
		if c.Err != nil {
			failed++
			if first == nil {
				first = c.Err
			}
		}
		if a.json {
			var l line
			l.text("id", c.ID)
			if c.From == "" {
				l.null("from")
			} else {
				l.text("from", string(c.From))
			}
			if c.Err != nil {
				l.null("to").null("version").text("error", c.Err.Error())
			} else {
				l.text("to", string(c.To)).integer("version", c.Version)
			}
			if err := a.out.jsonLine(&l); err != nil {
				return err
			}
			continue
		}
		did := fmt.Sprintf("%s -> %s, version %d", c.From, c.To, c.Version)
		if c.Err != nil {
			did = "failed: " + c.Err.Error()
		}
		if err := a.out.linef("%s  %s", c.ID, did); err != nil {
			return err
		}
	}
	if first == nil {
		return nil
	}
	return fmt.Errorf("%s: %d of %d executions failed, the first: %w", command, failed, len(report), first)
}

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"treering/store"
)

// controlCommand is suspend, resume, terminate or cancel.
func (a *app) controlCommand(command store.Command) *cobra.Command {
	name := string(command)
	title := strings.ToUpper(name[:1]) + name[1:]
	what := map[store.Command]string{
		store.Suspend:   "RUNNING becomes SUSPENDED",
		store.Resume:    "SUSPENDED becomes RUNNING",
		store.Terminate: "anything but DONE and CANCELLED becomes CANCELLED",
	}[command]
	short := title + " an execution and its live descendants"
	long := title + " an execution and then its live descendants: " + what + ". Each is one write of its own, " +
		"reported on a line; timers and queues stay. From another state nothing is written."
	if command == store.CancelGently {
		short = "Ask an execution to cancel itself, and terminate its live descendants"
		long = "Ask an execution that is RUNNING or SUSPENDED to cancel itself: it becomes CANCELLING, and in the same commit a Cancel event to it " +
			"goes to the outbox. Then its live descendants become CANCELLED, each by a write of its own. " +
			"The execution ends once that entry is delivered, and takes no other event until then: an engine inside a program drains the outbox at " +
			"its next step, but a worker of harel's relays entries only after an event that itself emitted something. " +
			"Where nobody delivers, terminate ends it. From another state nothing is written."
	}
	var version int64
	cmd := &cobra.Command{
		Use:     name + " EXECUTION",
		Short:   short,
		Long:    long,
		Example: "treering " + name + " order-0004\ntreering " + name + " order-0004 --version 12",
		Args:    exactly("EXECUTION"),
	}
	cmd.Flags().Int64Var(&version, "version", 0, "the version `N` that the execution must still have, instead of any")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		var expected *int64
		if cmd.Flags().Changed("version") {
			expected = &version
		}
		return a.withExecutions(ctx, changing, func(es store.ExecutionStore) error {
			report, err := store.Control(ctx, es, command, args[0], expected, a.now())
			if err != nil {
				return err
			}
			return a.showControlled(command, report)
		})
	}
	return cmd
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

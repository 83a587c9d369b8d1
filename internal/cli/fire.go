package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"treering/store"
)

func (a *app) fireCommand() *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use:   "fire EXECUTION PATH",
		Short: "Make a timer due now",
		Long: "Make a timer due now, so that the worker that owns the store sweeps it. --at is the time it is armed for, exactly as " +
			"treering timers lists it: a timer that was armed again meanwhile is left alone. So is one that is due already, for a sweeper may hold it, " +
			"and one that is its execution's time to live.",
		Example: `treering fire order-0004 Checkout.Payment --at 1784733612.482913`,
		Args:    exactly("EXECUTION", "PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			expected, err := store.ParseDecimal(at)
			if err != nil {
				return usagef("--at %q is no time: epoch seconds as treering timers lists them", at)
			}
			if store.CheckFireAt(expected) != nil {
				return &store.ValueError{Field: "--at", Reason: at + " is not a time", Err: store.ErrBadTime}
			}
			return a.withExecutions(ctx, changing, func(es store.ExecutionStore) error {
				return a.fire(ctx, es, args[0], args[1], expected)
			})
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "the `TIME` the timer is armed for, in epoch seconds")
	required(cmd, "at")
	return cmd
}

func (a *app) fire(ctx context.Context, es store.ExecutionStore, id, path string, expected float64) error {
	timer, err := findTimer(ctx, es, id, path)
	if err != nil {
		return err
	}
	now := epoch(a.now())
	switch {
	case timer.FireAt != expected:
		return conflictf("timer %q of execution %q is armed for %s now, not %s; nothing was fired",
			path, id, store.FormatFireAt(timer.FireAt), store.FormatFireAt(expected))
	case timer.FireAt <= now:
		return conflictf("timer %q of execution %q is due already, since %s, and waits for a worker; nothing was changed",
			path, id, stamp(timer.FireAt))
	}
	exe, err := es.Load(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if exe != nil {
		if expires, ok := exe.ExpiresAt.Float64(); ok && expires == timer.FireAt {
			return conflictf("timer %q of execution %q is its time to live, which is not to be fired; nothing was changed", path, id)
		}
	}
	moved, err := es.RearmTimer(ctx, id, path, expected, now)
	if err != nil {
		return err
	}
	if !moved {
		return conflictf("timer %q of execution %q was armed again or cancelled meanwhile; nothing was fired", path, id)
	}
	if a.json {
		var l line
		return a.out.jsonLine(l.text("execution_id", id).text("path", path).seconds("fire_at", now).seconds("was", expected))
	}
	return a.out.linef("due now: %s of %s, armed for %s before; its worker's next sweep fires it", path, id, stamp(expected))
}

func findTimer(ctx context.Context, es store.ExecutionStore, id, path string) (store.Timer, error) {
	var found *store.Timer
	filter := store.QueueFilter{ExecutionID: &id}
	err := store.All(func(p store.PageRequest) (store.Page[store.Timer], error) {
		return es.ListTimers(ctx, filter, p)
	}, func(t store.Timer) error {
		if t.Path == path {
			found = &t
		}
		return nil
	})
	switch {
	case err != nil:
		return store.Timer{}, err
	case found == nil:
		return store.Timer{}, notFoundf("execution %q has no timer %q", id, path)
	case found.Bad != nil:
		return store.Timer{}, found.Bad
	}
	return *found, nil
}

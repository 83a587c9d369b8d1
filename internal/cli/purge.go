package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"treering/store"
)

func (a *app) purgeCommand() *cobra.Command {
	var expired, dryRun bool
	var version int64
	cmd := &cobra.Command{
		Use:   "purge [EXECUTION]",
		Short: "Remove expired sessions, or one execution with all that is its own",
		Long: "With --expired, remove all expired sessions; with --dry-run too, only say how many there are. With an execution, remove it if it still has that --version, with its marks, trace, " +
			"timers, the outbox entries to it and the spawns by it.",
		Example: `treering purge --expired --dry-run
treering purge --expired
treering purge order-0004 --version 12`,
		Args: func(cmd *cobra.Command, args []string) error {
			versioned := cmd.Flags().Changed("version")
			switch {
			case dryRun && !expired:
				return usagef("--dry-run is for --expired")
			case len(args) > 1:
				return usagef("purge does not take %q", args[1])
			case expired && (len(args) == 1 || versioned):
				return usagef("purge takes --expired or an EXECUTION with its --version, not both")
			case expired:
				return nil
			case len(args) == 0:
				return usagef("purge needs --expired, or an EXECUTION with its --version")
			case !versioned:
				return usagef("purge %q needs --version, the one that treering execution shows", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if dryRun {
				return a.withTrees(ctx, reading, func(ts store.TreeStore) error { return a.countExpired(ctx, ts) })
			}
			if expired {
				return a.withTrees(ctx, changing, func(ts store.TreeStore) error { return a.purgeExpired(ctx, ts) })
			}
			return a.withExecutions(ctx, changing, func(es store.ExecutionStore) error {
				return a.purgeExecution(ctx, es, args[0], version)
			})
		},
	}
	cmd.Flags().BoolVar(&expired, "expired", false, "remove all expired sessions")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "with --expired, count them and remove none")
	cmd.Flags().Int64Var(&version, "version", 0, "the version `N` that the execution must still have")
	return cmd
}

func (a *app) purgeExpired(ctx context.Context, ts store.TreeStore) error {
	n, err := ts.PurgeExpired(ctx)
	if err != nil {
		return err
	}
	if a.json {
		var l line
		return a.out.jsonLine(l.integer("purged", int64(n)))
	}
	return a.out.raw("removed " + expiredSessions(n) + "\n")
}

func (a *app) countExpired(ctx context.Context, ts store.TreeStore) error {
	n, err := ts.CountExpired(ctx)
	if err != nil {
		return err
	}
	if a.json {
		var l line
		return a.out.jsonLine(l.integer("expired", int64(n)))
	}
	return a.out.raw("would remove " + expiredSessions(n) + "\n")
}

func expiredSessions(n int) string {
	if n == 1 {
		return "1 expired session"
	}
	return fmt.Sprintf("%d expired sessions", n)
}

func (a *app) purgeExecution(ctx context.Context, es store.ExecutionStore, id string, version int64) error {
	purged, err := es.Purge(ctx, id, version)
	if err != nil {
		return err
	}
	if !purged {
		found, err := versionOf(ctx, es, id)
		if err != nil {
			return err // not there; leftovers of it are swept
		}
		return &store.ConflictError{ID: id, Expected: version, Found: &found}
	}
	if a.json {
		var l line
		return a.out.jsonLine(l.text("id", id).integer("version", version).boolean("purged", true))
	}
	return a.out.linef("removed %s with all that was its own", id)
}

func versionOf(ctx context.Context, es store.ExecutionStore, id string) (int64, error) {
	exe, err := es.Load(ctx, id)
	if err != nil {
		return 0, err
	}
	return exe.Version, nil
}

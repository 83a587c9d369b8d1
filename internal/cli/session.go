package cli

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"treering/store"
)

func (a *app) sessionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Create, expire or delete a session",
		Args:  onlyBelow,
		RunE:  onlyBelow,
	}
	cmd.AddCommand(a.sessionCreateCommand(), a.sessionDeleteCommand(), a.sessionTTLCommand())
	return cmd
}

func (a *app) sessionCreateCommand() *cobra.Command {
	var kind, ttl string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an empty session",
		Long: "Create an empty session. One that is there with the same kind is left as it is, its time to live too; " +
			"an expired one is replaced by an empty one.",
		Example: `treering session create example
treering session create build-7 --kind docker-build --ttl 36h`,
		Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			seconds, err := parseTTL(ttl)
			if err != nil {
				return err
			}
			// A refused value makes no store.
			if err := errors.Join(store.CheckID("session id", args[0]), store.CheckID("kind", kind)); err != nil {
				return err
			}
			return a.withTrees(ctx, writing, func(ts store.TreeStore) error {
				info, err := ts.CreateSession(ctx, args[0], kind, seconds)
				if err != nil {
					return err
				}
				return list(a, a.sessionPrinter(), items(info))
			})
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "session", "the `KIND` of the session")
	cmd.Flags().StringVar(&ttl, "ttl", "none", "time to live: `TTL` is SECONDS, a DURATION like 90m or 7d, or none")
	return cmd
}

func (a *app) sessionDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME",
		Short:   "Delete a session with all its nodes, live or expired",
		Example: `treering session delete example`,
		Args:    exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.withTrees(ctx, changing, func(ts store.TreeStore) error {
				existed, err := ts.DeleteSession(ctx, args[0])
				if err != nil {
					return err
				}
				if !existed {
					return &store.NotFoundError{What: "session", ID: args[0]}
				}
				if a.json {
					var l line
					return a.out.jsonLine(l.text("session_id", args[0]).boolean("deleted", true))
				}
				return a.out.linef("deleted %s", args[0])
			})
		},
	}
}

func (a *app) sessionTTLCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ttl NAME SECONDS|DURATION|none",
		Short: "Set the time to live of a session, from now",
		Long:  "Set the time to live of a session, from now. 0 expires it at once, none keeps it until it is deleted.",
		Example: `treering session ttl example 3600
treering session ttl example 7d
treering session ttl example none`,
		Args: exactly("NAME", "SECONDS, a DURATION or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			seconds, err := parseTTL(args[1])
			if err != nil {
				return err
			}
			return a.withTrees(ctx, changing, func(ts store.TreeStore) error {
				info, err := ts.SetSessionTTL(ctx, args[0], seconds)
				if err != nil {
					return err
				}
				return list(a, a.sessionPrinter(), items(info))
			})
		},
	}
	cmd.SetFlagErrorFunc(negativeNumber(func(text string) error {
		if _, err := parseTTL(text); errors.Is(err, store.ErrBadTTL) {
			return err
		}
		return nil
	}))
	return cmd
}

// parseTTL reads a time to live. What is no such thing at all is an error of usage.
func parseTTL(text string) (*float64, error) {
	ttl, err := store.ParseTTL(text)
	if errors.Is(err, store.ErrNotTTL) {
		err = usagef("%w", err)
	}
	return ttl, err
}

// span shows a number of seconds in its two largest units. From a minute up it
// rounds, so that what was given a moment ago is shown as it was given.
func span(seconds float64) string {
	const day = 24 * 60 * 60
	s := math.Floor(seconds)
	if s >= 60 {
		s = math.Round(seconds)
	}
	switch {
	case s < 60:
		return fmt.Sprintf("%.0fs", s)
	case s < 60*60:
		return fmt.Sprintf("%dm%02ds", int(s)/60, int(s)%60)
	case s < day:
		return fmt.Sprintf("%dh%02dm", int(s)/3600, int(s)/60%60)
	case s < 100*365*day:
		return fmt.Sprintf("%dd%02dh", int(s)/day, int(s)/3600%24)
	default:
		return "over a century"
	}
}

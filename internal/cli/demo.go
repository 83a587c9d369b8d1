package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"treering/internal/demo"
	"treering/store"
	"treering/store/locate"
)

// demoSeed makes every demo the same one.
const demoSeed = 1

func (a *app) demoCommand() *cobra.Command {
	var into string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Open the explorer on a seeded temporary store",
		Long: "Open the explorer on a seeded temporary store, which is gone when the explorer ends. With --into, seed that store and end. " +
			"Without a terminal, seed, print the lists and end.",
		Example: `treering demo
treering demo --into demo.db --create`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if err := a.checkScreen(); err != nil {
				return err
			}
			if cmd.Flags().Changed("into") {
				if a.storeGiven {
					return usagef("demo takes --into or -s, not both")
				}
				a.store, a.storeGiven = into, true
				return a.withStore(ctx, writing, func(o *locate.Opened) error { return a.seed(ctx, o, true) })
			}
			if a.storeGiven {
				return usagef("demo opens a store of its own; to seed one write: treering demo --into %q", a.store)
			}
			if a.prefixGiven {
				return usagef("demo opens a store of its own, which has one set of tables; --prefix goes with --into")
			}
			return a.temporaryStore(ctx, func(o *locate.Opened) error {
				if err := a.seed(ctx, o, false); err != nil {
					return err
				}
				if a.screen.plain || a.interactive() {
					opts := a.explorerOptions(o)
					opts.Passing = true
					return a.runExplorer(ctx, opts)
				}
				return a.printLists(ctx, o)
			})
		},
	}
	a.explorerFlags(cmd)
	cmd.Flags().StringVar(&into, "into", "", "seed this `STORE` and end")
	return cmd
}

// temporaryStore runs fn on a new store in a folder that is removed afterwards. It
// is a file, so that another terminal can work on it meanwhile.
func (a *app) temporaryStore(ctx context.Context, fn func(*locate.Opened) error) (err error) {
	dir, err := os.MkdirTemp("", "treering-demo-")
	if err != nil {
		return fmt.Errorf("make a place for the demo: %w", err)
	}
	defer func() {
		if rerr := os.RemoveAll(dir); rerr != nil {
			err = errors.Join(err, fmt.Errorf("remove the demo: %w", rerr))
		}
	}()
	o, err := a.openAt(ctx, filepath.Join(dir, "demo.db"), locate.Options{ReadWrite: true, Create: true})
	if err != nil {
		return err
	}
	err = fn(o)
	return errors.Join(err, o.Close())
}

func (a *app) seed(ctx context.Context, o *locate.Opened, say bool) error {
	err := demo.Seed(ctx, o.Executions, o.Trees, demo.Options{Now: a.now, Seed: demoSeed})
	if errors.Is(err, demo.ErrPresent) {
		return &codedError{exitConflict, err}
	}
	if err != nil || !say {
		return err
	}
	if a.json {
		l := new(line)
		l.text("seeded", o.Info.Locator).boolean("sessions", o.Trees != nil).boolean("executions", o.Executions != nil)
		return a.out.jsonLine(l)
	}
	switch {
	case o.Trees == nil:
		return a.out.linef("seeded %s with executions; it has no tables for sessions", o.Info.Locator)
	case o.Executions == nil:
		return a.out.linef("seeded %s with sessions; it has no tables for executions", o.Info.Locator)
	}
	return a.out.linef("seeded %s", o.Info.Locator)
}

// printLists prints everything that the lists show.
func (a *app) printLists(ctx context.Context, o *locate.Opened) error {
	sections := []struct {
		title string
		print func() error
	}{
		{"Sessions", func() error {
			return list(a, a.sessionPrinter(), func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
				return o.Trees.ListSessions(ctx, store.SessionFilter{}, p)
			})
		}},
		{"Executions", func() error {
			return list(a, a.summaryPrinter(ctx, o.Executions), func(p store.PageRequest) (store.Page[store.Summary], error) {
				return o.Executions.ListExecutions(ctx, store.ExecutionFilter{}, p)
			})
		}},
		{"Outbox", func() error {
			return list(a, outboxPrinter(), func(p store.PageRequest) (store.Page[store.OutboxEntry], error) {
				return o.Executions.ListOutbox(ctx, store.QueueFilter{}, p)
			})
		}},
		{"Spawns", func() error {
			return list(a, spawnPrinter(), func(p store.PageRequest) (store.Page[store.SpawnEntry], error) {
				return o.Executions.ListSpawns(ctx, store.QueueFilter{}, p)
			})
		}},
		{"Timers", func() error {
			return list(a, a.timerPrinter(), func(p store.PageRequest) (store.Page[store.Timer], error) {
				return o.Executions.ListTimers(ctx, store.QueueFilter{}, p)
			})
		}},
	}
	for i, s := range sections {
		if !a.json {
			title := s.title + "\n"
			if i > 0 {
				title = "\n" + title
			}
			if err := a.out.raw(title); err != nil {
				return err
			}
		}
		if err := s.print(); err != nil {
			return err
		}
	}
	return nil
}

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

// demoSeed makes every demo the same one, where none other is asked for.
const demoSeed = 1

func (a *app) demoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Open the explorer on a store where a system runs",
		Long: "Open the explorer on a seeded temporary store, a file that is gone when the explorer ends, where a system runs: orders and builds that are " +
			"stepped through the relay, and actors who branch in session trees. With -s it runs on that store, which is not seeded. " +
			"With --headless it runs without the explorer, as a second process beside any explorer; an interrupt ends it. " +
			"With --story, a story of branches and executions is told scene by scene, in which one can join; the system is paused then. With --into, seed that store and end. Without a terminal, seed, print the lists and end.\n\n" +
			"Only executions and sessions whose ids begin with demo- are moved by it; seeded ones move when they are acted on by hand. " +
			"The same --seed draws the same things.",
		Example: `treering demo
treering demo --rate 5
treering demo --story
treering demo --still
treering demo --into demo.db --create
treering -s demo.db demo --headless`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if err := errors.Join(a.checkScreen(), f.check(cmd)); err != nil {
				return err
			}
			watched := a.screen.plain || a.interactive()
			if f.story && !watched {
				return usagef("demo --story needs a terminal, or --plain")
			}
			switch {
			case cmd.Flags().Changed("into"):
				if a.storeGiven {
					return usagef("demo takes --into or -s, not both")
				}
				a.store, a.storeGiven = f.into, true
				return a.withStore(ctx, writing, func(o *locate.Opened) error { return a.seed(ctx, o, f.seed, true) })
			case a.storeGiven && f.headless:
				return a.withStore(ctx, writing, func(o *locate.Opened) error { return a.runHeadless(ctx, o, &f) })
			case a.storeGiven && f.story:
				return a.withStore(ctx, writing, func(o *locate.Opened) error {
					switch {
					case o.Executions == nil:
						return lacks(o, writing, "executions")
					case o.Trees == nil:
						return lacks(o, writing, "session trees")
					}
					return a.exploreRunning(ctx, o, &f, false)
				})
			case a.storeGiven && watched && !f.still:
				return a.withStore(ctx, writing, func(o *locate.Opened) error { return a.exploreRunning(ctx, o, &f, false) })
			case a.storeGiven:
				return usagef("demo runs on a store with a terminal, or with --headless; to seed one write: treering demo --into %q", locate.Redact(a.store))
			case a.prefixGiven:
				return usagef("demo opens a store of its own, which has one set of tables; --prefix goes with -s or --into")
			}
			return a.temporaryStore(ctx, func(o *locate.Opened) error {
				if f.headless {
					return a.runHeadless(ctx, o, &f)
				}
				if err := a.seed(ctx, o, f.seed, false); err != nil {
					return err
				}
				switch {
				case !watched:
					return a.printLists(ctx, o)
				case f.still:
					opts := a.explorerOptions(o)
					opts.Passing = true
					return a.runExplorer(ctx, opts)
				}
				o.Info.Notes = append([]string{"a temporary file; another terminal can watch it: treering " + o.Info.Path}, o.Info.Notes...)
				return a.exploreRunning(ctx, o, &f, true)
			})
		},
	}
	a.explorerFlags(cmd)
	f.add(cmd)
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

func (a *app) seed(ctx context.Context, o *locate.Opened, seed int64, say bool) error {
	err := demo.Seed(ctx, o.Executions, o.Trees, demo.Options{Now: a.now, Seed: seed})
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

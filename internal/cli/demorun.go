package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"treering/internal/demo"
	"treering/store"
	"treering/store/locate"
	"treering/ui"
)

// demoFlags say what kind of demo, and how it runs.
type demoFlags struct {
	into            string
	still, headless bool
	story           bool
	seed            int64
	rate            float64
	executions      int
}

func (f *demoFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.into, "into", "", "seed this `STORE` and end")
	fl.BoolVar(&f.still, "still", false, "nothing runs: the seeded store alone")
	fl.BoolVar(&f.story, "story", false, "tell a story of branches and executions, scene by scene; the system is paused")
	fl.BoolVar(&f.headless, "headless", false, "run the system without the explorer until it is interrupted, on the store of -s or on a temporary one")
	fl.Int64Var(&f.seed, "seed", demoSeed, "what is left to chance follows from this `NUMBER`")
	fl.Float64Var(&f.rate, "rate", demo.DefaultRate, "how many commits there are in a second, a `NUMBER`; 0: as many as can be")
	fl.IntVar(&f.executions, "executions", demo.DefaultExecutions, "keep this `NUMBER` of orders and builds going")
}

func (f *demoFlags) check(cmd *cobra.Command) error {
	switch {
	case f.rate < 0 || math.IsNaN(f.rate) || math.IsInf(f.rate, 0):
		return usagef("--rate takes a number of commits a second, 0 for as many as can be, not %v", f.rate)
	case f.executions < 1:
		return usagef("--executions takes a number from 1 up, not %d", f.executions)
	case f.story && (f.still || f.headless || f.into != ""):
		return usagef("demo takes --story or one of --still, --headless and --into, not both")
	case f.still && f.headless:
		return usagef("demo takes --still or --headless, not both")
	case cmd.Flags().Changed("into") && f.headless:
		return usagef("--into seeds a store and ends; --headless runs on the store of -s")
	}
	return nil
}

func (f *demoFlags) system(o *locate.Opened) *demo.System {
	return demo.NewSystem(o.Executions, o.Trees, demo.SystemOptions{Seed: f.seed, Rate: f.rate, Executions: f.executions})
}

// exploreRunning shows a store in the explorer while the demo's system runs on it.
func (a *app) exploreRunning(ctx context.Context, o *locate.Opened, f *demoFlags, passing bool) error {
	s := f.system(o)
	defer s.Close()
	if f.story {
		s.Pause()
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	opts := a.explorerOptions(o)
	opts.Passing, opts.Driver = passing, s
	if f.story {
		opts.Story = told{demo.NewStory(o.Executions, o.Trees, s)}
	}
	err := a.runExplorer(ctx, opts)
	stop()
	rerr := <-ended
	if errors.Is(rerr, store.ErrClosed) {
		rerr = nil // another store was opened in its place
	}
	if rerr != nil {
		rerr = fmt.Errorf("the demo's system: %w", rerr)
	}
	return errors.Join(err, rerr)
}

// told is the demo's story for the explorer.
type told struct{ of *demo.Story }

// Next implements [ui.Story].
func (t told) Next(ctx context.Context) (ui.Scene, error) {
	scene, err := t.of.Next(ctx)
	if errors.Is(err, demo.ErrStoryOver) {
		err = ui.ErrStoryOver
	}
	return ui.Scene(scene), err
}

// runHeadless runs the system until it is interrupted. On a terminal it says how far
// it is once a second, and everywhere at the end.
func (a *app) runHeadless(ctx context.Context, o *locate.Opened, f *demoFlags) error {
	s := f.system(o)
	defer s.Close()
	ended := make(chan error, 1)
	began := a.now()
	go func() { ended <- s.Run(ctx) }()
	if a.out.terminal && !a.json {
		if err := a.out.linef("the demo runs on %s; ctrl+c ends it", o.Info.Locator); err != nil {
			return err
		}
	}
	every := time.NewTicker(time.Second)
	defer every.Stop()
	last := s.Stats()
	for {
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("the demo's system: %w", err)
			}
			return a.demoCounts(s.Stats(), demo.Stats{}, a.now().Sub(began))
		case <-every.C:
			if !a.out.terminal {
				continue
			}
			now := s.Stats()
			if err := errors.Join(a.demoCounts(now, last, time.Second), a.out.flush()); err != nil {
				return err
			}
			last = now
		}
	}
}

// demoCounts is one line of what a system did, with its speed since then.
func (a *app) demoCounts(now, since demo.Stats, took time.Duration) error {
	perSecond := float64(now.Steps+now.Trees-since.Steps-since.Trees) / max(took.Seconds(), 1e-3)
	if a.json {
		l := new(line)
		for _, c := range []struct {
			name string
			n    int64
		}{
			{"steps", now.Steps}, {"trees", now.Trees}, {"made", now.Made}, {"living", int64(now.Living)}, {"spawned", now.Relay.Spawned},
			{"fired", now.Relay.Fired}, {"conflicts", now.Relay.Conflicts}, {"problems", now.Problems},
		} {
			l.integer(c.name, c.n)
		}
		return a.out.jsonLine(l)
	}
	return a.out.linef("%d steps, %d in trees, %.0f/s; %d executions made, %d under way; %d regions, %d timers, %d conflicts, %d problems",
		now.Steps, now.Trees, perSecond, now.Made, now.Living, now.Relay.Spawned, now.Relay.Fired, now.Relay.Conflicts, now.Problems)
}

//go:build linux

// Live measures the explorer in a terminal of its own while another process, which is
// this one, writes to its store. It prints one line a measurement.
//
//	go run ./bench/live commit   a commit by another process, to its row on the screen
//	go run ./bench/live idle     CPU and bytes over a minute on 200,000 executions
//	go run ./bench/live wal      the writer's log with and without the explorer
//	go run ./bench/live many     what ten explorers cost a server
//
// commit and many measure on a server, too: -store postgres://... or redis://..., of
// which nothing else is expected than that it may be filled.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"
)

// settings are how much is measured.
type settings struct {
	commits    int // that are looked for on the screen
	perMinute  int
	executions int // of the idle store
	idle       time.Duration
	written    int // by the writer whose log is measured
	watch      time.Duration
	store      string // "" is a file of its own
}

func main() {
	var s settings
	flag.IntVar(&s.commits, "commits", 1000, "commits that are looked for on the screen")
	flag.IntVar(&s.perMinute, "per-minute", 1000, "commits a minute")
	flag.IntVar(&s.executions, "executions", 200_000, "executions in the idle store")
	flag.DurationVar(&s.idle, "idle", time.Minute, "how long it is left alone")
	flag.IntVar(&s.written, "written", 100_000, "commits of the writer whose log is measured")
	flag.DurationVar(&s.watch, "watch", 10*time.Second, "how long each part of many takes")
	flag.StringVar(&s.store, "store", "", "the `LOCATOR` of a store for commit and many, instead of a file of their own")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, names []string) error {
	all := []string{"commit", "idle", "wal", "many"}
	if len(names) == 0 {
		names = all
	}
	dir, err := os.MkdirTemp("", "treering-live-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "treering")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, "treering").CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("no measurement is called %q; there are %v", name, all)
		}
		w := &work{dir: filepath.Join(dir, name), bin: bin, settings: s}
		if err := os.Mkdir(w.dir, 0o700); err != nil {
			return err
		}
		measure := map[string]func(context.Context) error{"commit": w.commit, "idle": w.quiet, "wal": w.log, "many": w.many}[name]
		if err := measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// explorers is how many look on at once, and manyPerSecond how much is written meanwhile.
const (
	explorers     = 10
	manyPerSecond = 100
)

// many is what ten explorers on one store cost: the server, which is all of the machine's
// work but theirs and the writer's, and each of them. On a machine that does something
// else besides, it means nothing.
func (w *work) many(ctx context.Context) (err error) {
	o, locator, err := w.make(ctx, "shop.db")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	exe := execution(fmt.Sprintf("many-%d", time.Now().UnixNano()))
	if err := step(ctx, o.Executions, exe, "begins"); err != nil {
		return err
	}
	var screens []*screen
	defer func() {
		for _, s := range screens {
			err = errors.Join(err, s.quit())
		}
	}()
	// busy is how much of a core the rest of the machine and each explorer used while do
	// was done.
	busy := func(do func() error) (rest, each float64, err error) {
		begun := time.Now()
		all, theirs, mine, err := usage(screens)
		if err != nil {
			return 0, 0, err
		}
		if err := do(); err != nil {
			return 0, 0, err
		}
		all2, theirs2, mine2, err := usage(screens)
		took := time.Since(begun).Seconds()
		theirs2 -= theirs
		return 100 * (all2 - all - theirs2 - (mine2 - mine)).Seconds() / took, 100 * theirs2.Seconds() / took / max(float64(len(screens)), 1), err
	}
	writes := func() error {
		tick := time.NewTicker(time.Second / manyPerSecond)
		defer tick.Stop()
		for end := time.Now().Add(w.watch); time.Now().Before(end); <-tick.C {
			if err := step(ctx, o.Executions, exe, "Goes"); err != nil {
				return err
			}
		}
		return nil
	}
	rests := func() error { time.Sleep(w.watch); return nil }

	alone, _, err := busy(writes)
	if err != nil {
		return err
	}
	for range explorers {
		s, err := w.open(ctx, locator)
		if err != nil {
			return err
		}
		screens = append(screens, s)
		if _, err := s.waits(ctx, "many-"); err != nil {
			return err
		}
	}
	watched, busyEach, err := busy(writes)
	if err != nil {
		return err
	}
	time.Sleep(5 * time.Second) // what belongs to the commits is over
	idle, idleEach, err := busy(rests)
	if err != nil {
		return err
	}
	fmt.Printf("many    %d commits a second: the server uses %.1f %% of a core alone, %.1f %% with %d explorers, which use %.1f %% each; nothing happens: %.1f %%, and %.1f %% each\n",
		manyPerSecond, alone, watched, explorers, busyEach, idle, idleEach)
	return nil
}

// usage is what the machine, the explorers and this process have used so far.
func usage(screens []*screen) (all, theirs, mine time.Duration, err error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, 0, err
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, f := range strings.Fields(line)[1:] {
		ticks, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, 0, 0, err
		}
		if i != 3 && i != 4 && i < 8 { // idle, and waiting for a disk; guests are counted as user
			all += time.Duration(ticks) * time.Second / 100
		}
	}
	for _, s := range screens {
		used, _, err := s.used()
		if err != nil {
			return 0, 0, 0, err
		}
		theirs += used
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0, 0, err
	}
	return all, theirs, time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

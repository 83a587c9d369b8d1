package ui

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"treering/store"
	"treering/store/memory"
	"treering/tracefeed"
)

// TestFlood presses keys while 50,000 steps a second are committed, for as long as
// TREERING_FLOOD says. It fails where a step is neither told nor counted as missed, and
// reports how long a key took to show, and the heap.
func TestFlood(t *testing.T) {
	span, err := time.ParseDuration(os.Getenv("TREERING_FLOOD"))
	if err != nil {
		t.Skip("a measurement: TREERING_FLOOD=10s")
	}
	const executions, perSecond, workers = 100, 50_000, 2
	s, err := memory.New(memory.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	o := openMemory(t)
	o.Executions, o.Trees, o.Watcher = s.Executions(), nil, s
	exes := make([]*store.Execution, executions)
	options := tracefeed.FeedOptions{Watcher: s, Executions: o.Executions}
	for i := range exes {
		exes[i] = &store.Execution{ID: fmt.Sprintf("order-%03d", i), DefinitionID: "order", Status: store.Running, Context: "{}"}
		options.Rings = append(options.Rings, tracefeed.Follow{Execution: exes[i].ID, From: new(int64)})
		step(t, o.Executions, exes[i], "Begins", "A", "B", "{}")
	}

	p := openPTY(t, 160, 50, 0, false)
	ended := make(chan error, 1)
	go func() {
		ended <- Run(context.Background(), Options{Opened: o, Input: p.tty, Output: p.tty, Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"}})
	}()
	p.waits("order-000")
	p.types("5")
	p.waits("▸5 Trace")

	var committed, told, missed atomic.Int64
	committed.Store(executions)
	ctx, stop := context.WithCancel(t.Context())
	feed := tracefeed.NewFeed(options)
	var all sync.WaitGroup
	take := func(b tracefeed.Batch) {
		for _, f := range b.Facts {
			switch f := f.(type) {
			case tracefeed.StepAdded:
				if !f.Late {
					told.Add(1)
				}
			case tracefeed.StepsMissed:
				missed.Add(f.Count())
			}
		}
	}
	all.Go(func() {
		for {
			b, err := feed.Next(ctx)
			if err != nil {
				return
			}
			take(b)
		}
	})
	began := time.Now()
	var writers sync.WaitGroup
	for w := range workers {
		writers.Go(func() {
			for n := 0; time.Since(began) < span; n++ {
				exe := exes[(n*workers+w)%executions]
				to := "A"
				exe.ActivePath = &to
				if _, err := o.Executions.Commit(ctx, store.Commit{Execution: exe, Trace: `{"event_kind":"Goes","from_path":"A","to_path":"B","timestamp":1,"context_out":{"n":1}}`}); err != nil {
					t.Error(err)
					return
				}
				committed.Add(1)
				if ahead := time.Duration(n)*time.Second*workers/perSecond - time.Since(began); ahead > time.Millisecond {
					time.Sleep(ahead)
				}
			}
		})
	}
	var took []time.Duration
	for i := 0; time.Since(began) < span; i++ {
		key, shows := "6", "▸6 Queues"
		if i%2 == 1 {
			key, shows = "5", "▸5 Trace"
		}
		p.wire.clear()
		pressed := time.Now()
		p.types(key)
		p.waits(shows)
		took = append(took, time.Since(pressed))
		time.Sleep(time.Duration(40+i%13) * time.Millisecond) // in step with nothing
	}
	writers.Wait()
	lasted := time.Since(began)
	deadline := time.Now().Add(20 * time.Second)
	for told.Load()+missed.Load() < committed.Load() && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	all.Wait()
	if told.Load()+missed.Load() != committed.Load() {
		t.Errorf("%d steps were told and %d counted as missed of %d", told.Load(), missed.Load(), committed.Load())
	}
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	slices.Sort(took)
	at := func(percent int) time.Duration {
		return took[min(len(took)*percent/100, len(took)-1)].Round(100 * time.Microsecond)
	}
	t.Logf("%.0f steps a second for %v: %d keys to the screen p50 %v, p99 %v; %d steps told, %d counted as missed, 0 otherwise; heap %.1f MB",
		float64(committed.Load())/lasted.Seconds(), lasted.Round(time.Second), len(took), at(50), at(99), told.Load(), missed.Load(), float64(mem.HeapAlloc)/1e6)
	p.types("q")
	must(t, <-ended)
}

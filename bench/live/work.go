//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"treering/store"
	"treering/store/locate"
)

// work is one measurement's.
type work struct {
	settings
	dir, bin string
}

// make makes a store.
func (w *work) make(ctx context.Context, name string) (*locate.Opened, string, error) {
	path := filepath.Join(w.dir, name)
	if w.store != "" {
		path = w.store
	}
	o, err := locate.Open(ctx, path, locate.Options{ReadWrite: true, Create: true})
	return o, path, err
}

// step commits a step of an execution.
func step(ctx context.Context, es store.ExecutionStore, exe *store.Execution, kind string) error {
	from, to := "A", "B"
	if exe.Version%2 == 1 {
		from, to = to, from
	}
	exe.ActivePath = &to
	_, err := es.Commit(ctx, store.Commit{Execution: exe, Trace: store.JSON(fmt.Sprintf(
		`{"event_kind":%q,"from_path":%q,"to_path":%q,"timestamp":%.3f,"actions":[],"context_out":{"n":%d}}`,
		kind, from, to, float64(time.Now().UnixMilli())/1e3, exe.Version))})
	return err
}

func execution(id string) *store.Execution {
	return &store.Execution{ID: id, DefinitionID: "order", Status: store.Running, Context: `{"order":1004,"customer":"Ana Ruiz","total":455.3}`}
}

// word is a text that nothing else on the screen has.
func word(r *rand.Rand) string {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

// commit is from the return of a commit to its step being read from the terminal.
func (w *work) commit(ctx context.Context) (err error) {
	o, path, err := w.make(ctx, "shop.db")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	exe := execution(fmt.Sprintf("order-%d", time.Now().UnixNano()))
	if w.store == "" {
		exe.ID = "order-1"
	}
	if err := step(ctx, o.Executions, exe, "begins"); err != nil {
		return err
	}
	s, err := w.open(ctx, path)
	if err != nil {
		return err
	}
	if _, err := s.waits(ctx, "begins"); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 1))
	gap := time.Minute / time.Duration(w.perMinute)
	var took []time.Duration
	for range w.commits {
		time.Sleep(gap/2 + time.Duration(r.Int64N(int64(gap)))) // in step with nothing
		kind := word(r)
		if err := step(ctx, o.Executions, exe, kind); err != nil {
			return err
		}
		done := time.Now()
		at, err := s.waits(ctx, kind)
		if err != nil {
			return err
		}
		took = append(took, max(at.Sub(done), 0))
	}
	slices.Sort(took)
	at := func(percent int) time.Duration {
		return took[min(len(took)*percent/100, len(took)-1)].Round(10 * time.Microsecond)
	}
	fmt.Printf("commit  %d commits by another process, %d a minute, to their rows on the screen: p50 %v, p99 %v, longest %v\n",
		len(took), w.perMinute, at(50), at(99), at(100))
	return s.quit()
}

// quiet is what the explorer costs while nothing happens.
func (w *work) quiet(ctx context.Context) (err error) {
	o, path, err := w.make(ctx, "large.db")
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	var next, failed atomic.Int64
	for range 64 {
		all.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(w.executions) || failed.Load() > 0 {
					return
				}
				exe := execution(fmt.Sprintf("order-%08d", n))
				if err := o.Executions.Save(ctx, exe); err != nil {
					failed.Add(1)
					return
				}
			}
		})
	}
	all.Wait()
	if err := o.Close(); err != nil || failed.Load() > 0 {
		return errors.Join(err, fmt.Errorf("%d executions could not be written", failed.Load()))
	}
	s, err := w.open(ctx, path)
	if err != nil {
		return err
	}
	if _, err := s.waits(ctx, "order-00000001"); err != nil {
		return err
	}
	time.Sleep(10 * time.Second) // what belongs to the start is over, messages too
	cpu, bytes, err := s.used()
	if err != nil {
		return err
	}
	time.Sleep(w.idle)
	after, written, err := s.used()
	if err != nil {
		return err
	}
	fmt.Printf("idle    %d executions, %v: %.2f %% of a core, %d bytes to the terminal\n",
		w.executions, w.idle, 100*(after-cpu).Seconds()/w.idle.Seconds(), written-bytes)
	return s.quit()
}

// log is how large a writer's log becomes, with an explorer that is paused half-way
// through a trace and without one.
func (w *work) log(ctx context.Context) error {
	without, err := w.writes(ctx, "alone.db", false)
	if err != nil {
		return err
	}
	with, err := w.writes(ctx, "watched.db", true)
	if err != nil {
		return err
	}
	fmt.Printf("wal     %d commits: %.1f MB with the explorer paused half-way, %.1f MB without it: %.2f times\n",
		w.written, float64(with)/1e6, float64(without)/1e6, float64(with)/float64(without))
	return nil
}

// writes returns the largest size of the log while so many commits were written.
func (w *work) writes(ctx context.Context, name string, watched bool) (largest int64, err error) {
	o, path, err := w.make(ctx, name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	const together = 16
	exes := make([]*store.Execution, together)
	for i := range exes {
		exes[i] = execution(fmt.Sprintf("order-%02d", i))
		for range 60 {
			if err := step(ctx, o.Executions, exes[i], "Begins"); err != nil {
				return 0, err
			}
		}
	}
	if watched {
		s, err := w.open(ctx, path)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, s.quit()) }()
		if _, err := s.waits(ctx, "Begins"); err != nil {
			return 0, err
		}
		// Half-way up the trace, and paused there.
		if err := s.keys("5", "\x1b[5~", "\x1b[5~", " ", " "); err != nil {
			return 0, err
		}
		if _, err := s.waits(ctx, "paused"); err != nil {
			return 0, err
		}
	}
	over := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			if info, err := os.Stat(path + "-wal"); err == nil {
				largest = max(largest, info.Size())
			}
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	var all sync.WaitGroup
	errs := make([]error, together)
	for i, exe := range exes {
		all.Go(func() {
			for range w.written / together {
				if errs[i] = step(ctx, o.Executions, exe, "Goes"); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	close(over)
	looking.Wait()
	return largest, errors.Join(errs...)
}

package memory_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"treering/store"
	"treering/store/memory"
)

// Every change of any kind ends a wait, and nothing else does.
func TestWaitEndsWithEachKindOfChange(t *testing.T) {
	s := open(t, memory.Options{})
	es, ts := s.Executions(), s.Trees()
	exe := &store.Execution{ID: "e", Status: store.Running}
	target := "e"
	token, err := s.Wait(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		do   func() error
	}{
		{"commit", func() error {
			_, err := es.Commit(t.Context(), store.Commit{
				Execution: exe, Emits: []store.Emit{{TargetID: &target, Event: store.Event{ID: "m", Kind: "K"}}},
				Timers: []store.TimerOp{{Action: store.Schedule, Path: "p", FireAt: 1}}, Spawns: []store.Spawn{{ChildID: "c"}},
			})
			return err
		}},
		{"save", func() error { return es.Save(t.Context(), exe) }},
		{"step", func() error { return es.AppendTrace(t.Context(), "e", `{}`) }},
		{"outbox", func() error { _, err := es.AckOutbox(t.Context(), 1); return err }},
		{"spawn", func() error { _, err := es.AckSpawn(t.Context(), 1); return err }},
		{"re-arm", func() error { _, err := es.RearmTimer(t.Context(), "e", "p", 1, 2); return err }},
		{"timer", func() error { _, err := es.DeleteTimer(t.Context(), "e", "p", 2); return err }},
		{"session", func() error { _, err := ts.CreateSession(t.Context(), "s", "session", nil); return err }},
		{"append", func() error { return ts.Append(t.Context(), "s", store.Node{ID: "n", Kind: "run", Data: "{}"}) }},
		{"purge", func() error { _, err := es.Purge(t.Context(), "e", exe.Version); return err }},
	} {
		type answer struct {
			token string
			err   error
		}
		got := make(chan answer, 1)
		go func() {
			now, err := s.Wait(t.Context(), token)
			got <- answer{now, err}
		}()
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		select {
		case a := <-got:
			if a.err != nil || a.token == token {
				t.Errorf("%s: token %q after %q, %v", c.what, a.token, token, a.err)
			}
			token = a.token
		case <-time.After(10 * time.Second):
			t.Fatalf("%s wakes nobody", c.what)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Wait(ctx, token); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that nobody waits for: %v", err)
	}
	var all sync.WaitGroup
	for _, w := range []store.Waiter{s, es, ts} {
		all.Go(func() {
			at, err := w.ChangeToken(t.Context())
			if err == nil {
				_, err = w.Wait(t.Context(), at)
			}
			if !errors.Is(err, store.ErrClosed) {
				t.Errorf("%T of a closed store: %v", w, err)
			}
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
}

// Whoever commits and waits by turns misses no commit, however many do.
func TestWaitMissesNothing(t *testing.T) {
	s := open(t, memory.Options{})
	const writers, commits = 4, 300
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			exe := &store.Execution{ID: string(rune('a' + w))}
			for range commits {
				if err := s.Executions().Save(t.Context(), exe); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 3 {
		all.Go(func() {
			token := ""
			for {
				now, err := s.Wait(t.Context(), token)
				if err != nil {
					t.Error(err)
					return
				}
				if token = now; token == "1200.0" {
					return
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkCommitWithAWaiter(b *testing.B) {
	s := open(b, memory.Options{})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	go func() {
		token := ""
		for ctx.Err() == nil {
			token, _ = s.Wait(ctx, token)
		}
	}()
	exe := &store.Execution{ID: "e"}
	for b.Loop() {
		if err := s.Executions().Save(ctx, exe); err != nil {
			b.Fatal(err)
		}
	}
}

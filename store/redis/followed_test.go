package redis

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"treering/store/storetest"
	"treering/tracefeed"
)

// Who follows the store while its server is killed and started again is told since when
// it is away and that it is back, and of every step and entry once.
func TestFollowedThroughACrash(t *testing.T) {
	s := startServer(t, "--appendfsync", "always")
	p := storetest.NewProxy(t, s.addr)
	d := openNew(t, s.url(0))
	ctx, exe := t.Context(), newExecution("e")
	const commits = 190 // as many as the ring holds
	_, err := settle(ctx, d.Executions(), numberedCommit(exe))
	ok(t, err)
	watcher := open(t, Options{URL: "redis://" + p.Addr()})
	feed := tracefeed.NewFeed(tracefeed.FeedOptions{
		Watcher: watcher, Executions: watcher.Executions(), Queues: true, Rings: []tracefeed.Follow{{Execution: "e", From: new(int64(1))}},
	})
	bounded, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	began, followed := make(chan struct{}), make(chan error, 1)
	steps, entries, away, back := map[int64]int{}, map[string]int{}, 0, 0
	follow := func() error {
		for len(steps) < commits-1 || len(entries) < commits-1 || back == 0 {
			b, err := feed.Next(bounded)
			if err != nil {
				return fmt.Errorf("%d steps and %d entries of %d, away %d times, back %d times: %w", len(steps), len(entries), commits-1, away, back, err)
			}
			for _, f := range b.Facts {
				switch f := f.(type) {
				case tracefeed.Began:
					close(began)
				case tracefeed.StepAdded:
					steps[f.Step.Index]++
				case tracefeed.Queued:
					if f.Outbox != nil {
						entries[f.Outbox.Event.ID]++
					}
				case tracefeed.StepsMissed, tracefeed.StepsGone, tracefeed.Replaced, tracefeed.RingRestarted:
					t.Errorf("%#v", f)
				case tracefeed.Disconnected:
					away++
					if f.Since.IsZero() || !errors.Is(f.Err, ErrUnreachable) {
						t.Errorf("away since %v: %v", f.Since, f.Err)
					}
				case tracefeed.Connected:
					back++
				}
			}
		}
		return nil
	}
	go func() { followed <- follow() }()
	select {
	case <-began:
	case err := <-followed:
		t.Fatal(err)
	}
	for n := 1; n < commits; n++ {
		switch n {
		case commits / 3:
			s.kill()
			time.Sleep(time.Second) // away for long enough to be noticed
			s.start(t)
		case 2 * commits / 3:
			p.Cut() // who follows loses the connection, who writes goes on
		}
		_, err := settle(ctx, d.Executions(), numberedCommit(exe))
		ok(t, err)
		time.Sleep(time.Millisecond) // so that there is something between two looks
	}
	ok(t, <-followed)
	for i := int64(1); i < commits; i++ {
		if mark := fmt.Sprintf("e-%d", i+1); steps[i] != 1 || entries[mark] != 1 {
			t.Fatalf("commit %d was told of %d and %d times", i+1, steps[i], entries[mark])
		}
	}
	if away == 0 {
		t.Error("that it was away was not told")
	}
}

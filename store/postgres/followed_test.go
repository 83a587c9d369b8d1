package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"treering/store"
	"treering/store/postgres/pgserver"
	"treering/tracefeed"
)

// Who follows the store through a crash of the server is told since when it is away and
// that it is back, and of every step and entry once, those made meanwhile included.
func TestFollowedThroughACrash(t *testing.T) {
	s := pgserver.Start(t)
	at, ctx := s.Schema(t), t.Context()
	db := openDB(t, Options{URL: at, ReadWrite: true, Create: true, TraceMax: ptr(0)})
	must(t, db.Executions().Save(ctx, &store.Execution{ID: "other", DefinitionID: "d"}))
	const commits = 600
	watcher := openDB(t, Options{URL: at})
	from := int64(0)
	feed := tracefeed.NewFeed(tracefeed.FeedOptions{
		Watcher: watcher, Executions: watcher.Executions(), Queues: true, Rings: []tracefeed.Follow{{Execution: "e", From: &from}},
	})
	bounded, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	third := make(chan struct{})
	written := make(chan error, 1)
	began := make(chan struct{})
	go func() {
		<-began
		told := false
		written <- countUp(ctx, db.Executions(), "e", commits, func(v int64) {
			if v >= commits/3 && !told {
				told = true
				close(third)
			}
		})
	}()
	crashed := make(chan error, 1)
	go func() {
		<-third
		err := s.Kill()
		time.Sleep(time.Second) // away for long enough to be noticed
		crashed <- errors.Join(err, s.Up())
	}()
	steps, entries, away, back := map[int64]int{}, map[string]int{}, 0, 0
	for len(steps) < commits || len(entries) < commits || back == 0 {
		b, err := feed.Next(bounded)
		if err != nil {
			t.Fatalf("%d steps and %d entries of %d, away %d times, back %d times: %v", len(steps), len(entries), commits, away, back, err)
		}
		for _, f := range b.Facts {
			switch f := f.(type) {
			case tracefeed.Began:
				close(began)
			case tracefeed.StepAdded:
				steps[f.Step.Index]++
			case tracefeed.Queued:
				entries[f.Outbox.Event.ID]++
			case tracefeed.StepsMissed, tracefeed.StepsGone, tracefeed.Unqueued, tracefeed.Replaced, tracefeed.RingRestarted:
				t.Errorf("%#v", f)
			case tracefeed.Disconnected:
				away++
				var gone *ConnectionError
				if f.Since.IsZero() || !errors.As(f.Err, &gone) {
					t.Errorf("away since %v: %v", f.Since, f.Err)
				}
			case tracefeed.Connected:
				back++
			}
		}
	}
	must(t, <-written)
	must(t, <-crashed)
	for i := range int64(commits) {
		if steps[i] != 1 || entries[fmt.Sprintf("e-%d", i+1)] != 1 {
			t.Fatalf("commit %d was told of %d and %d times", i+1, steps[i], entries[fmt.Sprintf("e-%d", i+1)])
		}
	}
	if away == 0 {
		t.Error("that it was away was not told")
	}
}

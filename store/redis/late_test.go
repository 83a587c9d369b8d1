package redis

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"treering/store"
	"treering/tracefeed"
)

// queuedUntil follows the outbox until this entry is told, and returns those that were;
// until all was read for the first time where it is 0.
func queuedUntil(t *testing.T, feed *tracefeed.Feed, seq int64) (told []int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !slices.Contains(told, seq) {
		b, err := feed.Next(ctx)
		ok(t, err)
		for _, f := range b.Facts {
			switch f := f.(type) {
			case tracefeed.Began:
				if seq == 0 {
					return told
				}
			case tracefeed.Queued:
				if f.Outbox != nil {
					told = append(told, f.Outbox.Seq)
				}
			}
		}
	}
	return told
}

// harel takes the seq of an entry first and commits it later: it appears in its place,
// and is told once.
func TestLateCommit(t *testing.T) {
	s := startServer(t)
	d, c, ctx := openNew(t, s.url(0)), s.client(t, 0), t.Context()
	es, exe := d.Executions(), newExecution("e")
	_, err := es.Commit(ctx, numberedCommit(exe))
	ok(t, err)
	feed := tracefeed.NewFeed(tracefeed.FeedOptions{Watcher: d, Executions: es, Queues: true})
	queuedUntil(t, feed, 0)
	late := c.Incr(ctx, "harel:outbox:seq").Val()
	_, err = es.Commit(ctx, numberedCommit(exe))
	ok(t, err)
	equal(t, "told", queuedUntil(t, feed, late+1), []int64{late + 1})
	ok(t, c.HSet(ctx, "harel:outbox", strconv.FormatInt(late, 10), `{"t": "e", "e": "{\"id\":\"late\",\"kind\":\"E\"}"}`).Err())
	equal(t, "told late", queuedUntil(t, feed, late), []int64{late})
	var got []int64
	ok(t, store.All(func(p store.PageRequest) (store.Page[store.OutboxEntry], error) {
		p.Limit = 1
		return es.ListOutbox(ctx, store.QueueFilter{}, p)
	}, func(e store.OutboxEntry) error {
		got = append(got, e.Seq)
		return nil
	}))
	equal(t, "in their places", got, []int64{1, late, late + 1})
}

package postgres

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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
		must(t, err)
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

// A transaction that took its seq before others and commits after them appears in its
// place, and is told once; so does one that is rolled back never.
func TestLateCommit(t *testing.T) {
	ctx := t.Context()
	at := server(t).Schema(t)
	db := openDB(t, Options{URL: at, ReadWrite: true, Create: true})
	es, exe, target := db.Executions(), &store.Execution{ID: "e", DefinitionID: "d"}, "e"
	commit := func(event string) int64 {
		t.Helper()
		seqs, err := es.Commit(ctx, store.Commit{Execution: exe, Emits: []store.Emit{{TargetID: &target, Event: store.Event{ID: event, Kind: "E"}}}})
		must(t, err)
		return seqs[0]
	}
	commit("first")
	feed := tracefeed.NewFeed(tracefeed.FeedOptions{Watcher: db, Executions: es, Queues: true})
	queuedUntil(t, feed, 0)
	insert := func() (pgx.Tx, int64) {
		t.Helper()
		conn, err := pgx.Connect(ctx, at)
		must(t, err)
		t.Cleanup(func() { conn.Close(context.Background()) }) //nolint:errcheck // it is over either way
		tx, err := conn.Begin(ctx)
		must(t, err)
		var seq int64
		must(t, tx.QueryRow(ctx, `INSERT INTO harel_outbox (target_id, event) VALUES ('e', '{"id":"late","kind":"E"}') RETURNING seq`).Scan(&seq))
		return tx, seq
	}
	late, lateSeq := insert()
	never, neverSeq := insert()
	last := commit("last")
	if lateSeq >= last || neverSeq >= last {
		t.Fatalf("seqs %d and %d are not before %d", lateSeq, neverSeq, last)
	}
	same(t, "told", queuedUntil(t, feed, last), []int64{last})
	must(t, never.Rollback(ctx))
	must(t, late.Commit(ctx))
	same(t, "told late", queuedUntil(t, feed, lateSeq), []int64{lateSeq})
	var got []int64
	must(t, store.All(func(p store.PageRequest) (store.Page[store.OutboxEntry], error) {
		p.Limit = 1
		return es.ListOutbox(ctx, store.QueueFilter{}, p)
	}, func(e store.OutboxEntry) error {
		got = append(got, e.Seq)
		return nil
	}))
	same(t, "in their places", got, []int64{1, lateSeq, last})
}

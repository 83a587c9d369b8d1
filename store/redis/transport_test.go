package redis

import (
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

// What a producer publishes is where harel's workers look for it, and what they do with
// it shows.
func TestTransport(t *testing.T) {
	s := startServer(t)
	c, ctx := s.client(t, 0), t.Context()
	ok(t, c.Set(ctx, "harel:exe:e", `{"id":"e","version":1}`, 0).Err())
	d := open(t, Options{URL: s.url(0), ReadWrite: true})
	tr, found, err := d.Transport(ctx)
	if err != nil || tr == nil || len(found) != 0 {
		t.Fatalf("%v, %v, %v", tr, found, err)
	}
	ev := store.Event{ID: "x-1", Kind: "Paid", Data: `{"auth":1.50}`}
	ok(t, tr.Publish(ctx, "e", ev, 3))
	ok(t, tr.Publish(ctx, "e", store.Event{ID: "x-2", Kind: "Sent"}, 0))
	ok(t, tr.Publish(ctx, "low", ev, -7))
	equal(t, "stored", c.LRange(ctx, "harel:q:e", 0, -1).Val()[0], `{"id":"x-1","kind":"Paid","created_time":null,"received_time":null,"data":{"auth":1.50}}`)
	equal(t, "priority", c.HGetAll(ctx, "harel:prio").Val(), map[string]string{"e": "3", "low": "0"})
	equal(t, "tier 3", c.ZRangeWithScores(ctx, "harel:ready:3", 0, -1).Val(), []goredis.Z{{Score: 0, Member: "e"}})
	// A worker takes one; another queue was left without a record, one has no event in it.
	now := c.Time(ctx).Val()
	ok(t, c.Set(ctx, "harel:lock:e", "worker:1", 30_000_000_000).Err())
	ok(t, c.ZAdd(ctx, "harel:ready:3", goredis.Z{Score: float64(now.UnixMilli() + 30_000), Member: "e"}).Err())
	ok(t, c.RPush(ctx, "harel:q:lost", `{"id":"y","kind":"K"}`).Err())
	ok(t, c.RPush(ctx, "harel:q:spoilt", `nothing`).Err())
	ok(t, c.ZAdd(ctx, "harel:ready:0", goredis.Z{Score: 0, Member: "spoilt"}, goredis.Z{Score: 0, Member: "empty"}).Err())
	var got []string
	ok(t, store.All(func(p store.PageRequest) (store.Page[store.TransportQueue], error) {
		p.Limit = 2
		return tr.Queues(ctx, store.TransportFilter{}, p)
	}, func(q store.TransportQueue) error {
		got = append(got, fmt.Sprintf("%s %d %s %q", q.ID, q.Depth, q.State(float64(now.Unix())), q.LockedBy))
		return nil
	}))
	equal(t, "queues", got, []string{`e 2 leased "worker:1"`, `empty 0 empty ""`, `lost 1 hidden ""`, `low 1 ready ""`, `spoilt 1 poison ""`})
	one := "low"
	page, err := tr.Queues(ctx, store.TransportFilter{Queue: &one}, store.PageRequest{})
	ok(t, err)
	if len(page.Items) != 1 || page.Items[0].Head.Event.Kind != "Paid" || *page.Items[0].Priority != 0 {
		t.Errorf("one queue: %+v", page.Items)
	}
	got = nil
	ok(t, store.All(func(p store.PageRequest) (store.Page[store.TransportMessage], error) {
		p.Limit = 1
		return tr.Messages(ctx, "e", p)
	}, func(m store.TransportMessage) error {
		got = append(got, fmt.Sprint(m.Seq, m.Event.ID))
		return nil
	}))
	equal(t, "messages", got, []string{"0x-1", "1x-2"})
	counts, err := tr.TransportCounts(ctx)
	ok(t, err)
	equal(t, "counts", counts, store.TransportCounts{Queues: 4, Messages: 5, Leased: 1, Hidden: 1})
	reader := open(t, Options{URL: s.url(0)})
	tr, found, err = reader.Transport(ctx)
	ok(t, err)
	equal(t, "keys", found, []string{"harel:prio", "harel:ready:0", "harel:ready:3"})
	is(t, tr.Publish(ctx, "e", ev, 0), store.ErrReadOnly)
}

package rqlite

import (
	"errors"
	"testing"

	"treering/store"
)

func TestTransport(t *testing.T) {
	c := newStandIn(t, 1)
	db := openNew(t, c, Options{})
	if db.Transport() != nil {
		t.Error("a transport where there is none")
	}
	for _, s := range []string{
		`CREATE TABLE harel_transport_messages (seq INTEGER PRIMARY KEY AUTOINCREMENT, group_id TEXT NOT NULL, event TEXT NOT NULL, locked_by TEXT, lock_expiry REAL)`,
		`CREATE TABLE harel_transport_groups (group_id TEXT PRIMARY KEY, last_claimed_at REAL NOT NULL DEFAULT 0, priority INTEGER NOT NULL DEFAULT 0)`,
		`INSERT INTO harel_transport_groups VALUES ('empty', 0, 1), ('expired', 5.5, 0), ('leased', 6, 4), ('parked', 0, 0), ('poison', 0, 0), ('ready', 0, 2)`,
		`INSERT INTO harel_transport_messages (group_id, event, locked_by, lock_expiry) VALUES
			('leased', '{"id":"1","kind":"Paid"}', 'w:1', 2e10), ('leased', '{"id":"2","kind":"Sent"}', NULL, NULL), ('parked', '{"id":"3","kind":"A"}', '__parked__', 9e999),
			('expired', '{"id":"4","kind":"B"}', 'w:2', 10), ('hidden', '{"id":"5","kind":"C"}', NULL, NULL), ('poison', 'nonsense', NULL, NULL), ('ready', '{"id":"7","kind":"D"}', NULL, NULL)`,
	} {
		if _, err := db.client.execute(t.Context(), sql(s)); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	tr := openAt(t, c.addressOf(t), Options{Browse: true}).Transport()
	got := map[string]store.TransportQueue{}
	err := store.All(func(p store.PageRequest) (store.Page[store.TransportQueue], error) {
		p.Limit = 2
		return tr.Queues(ctx, store.TransportFilter{}, p)
	}, func(q store.TransportQueue) error {
		got[q.ID] = q
		return nil
	})
	if err != nil || len(got) != 7 {
		t.Fatalf("%d queues, %v", len(got), err)
	}
	for id, want := range map[string]store.TransportState{
		"empty": store.TransportEmpty, "expired": store.TransportExpired, "hidden": store.TransportHidden, "leased": store.TransportLeased,
		"parked": store.TransportParked, "poison": store.TransportPoison, "ready": store.TransportReady,
	} {
		if q := got[id]; q.State(1e9) != want {
			t.Errorf("%s is %s", id, q.State(1e9))
		}
	}
	counts, err := tr.TransportCounts(ctx)
	if want := (store.TransportCounts{Queues: 6, Messages: 7, Leased: 1, Parked: 1, Expired: 1, Hidden: 1}); err != nil || counts != want {
		t.Errorf("counts %+v, %v", counts, err)
	}
	event := store.Event{ID: "x'61'", Kind: "Go"}
	if err := tr.Publish(ctx, "leased", event, 0); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}
	rw := openAt(t, c.addressOf(t), Options{ReadWrite: true}).Transport()
	if err := rw.Publish(ctx, "leased", event, 9); err != nil {
		t.Fatal(err)
	}
	c.faults <- loseAnswer
	if err := rw.Publish(ctx, "new", event, 9); !errors.Is(err, store.ErrOutcomeUnknown) {
		t.Errorf("a lost answer: %v", err)
	}
	page, err := rw.Messages(ctx, "leased", store.PageRequest{})
	if err != nil || len(page.Items) != 3 || page.Items[2].Event.ID != event.ID {
		t.Errorf("messages %+v, %v", page, err)
	}
	name := "new"
	queues, err := rw.Queues(ctx, store.TransportFilter{Queue: &name}, store.PageRequest{})
	if err != nil || len(queues.Items) != 1 || *queues.Items[0].Priority != 4 || queues.Items[0].Depth != 1 {
		t.Errorf("the new queue: %+v, %v", queues, err)
	}
}

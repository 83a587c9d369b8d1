package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// transportRows is a transport in which every state occurs; 2e9 is a time to come.
var transportRows = []string{
	`CREATE TABLE shop_transport_messages (seq INTEGER PRIMARY KEY AUTOINCREMENT, group_id TEXT NOT NULL, event TEXT NOT NULL, locked_by TEXT, lock_expiry REAL)`,
	`CREATE TABLE shop_transport_groups (group_id TEXT PRIMARY KEY, last_claimed_at REAL NOT NULL DEFAULT 0, priority INTEGER NOT NULL DEFAULT 0)`,
	`INSERT INTO shop_transport_groups VALUES ('empty', 0, 1), ('expired', 5.5, 0), ('leased', 6, 4), ('parked', 0, 0), ('poison', 0, 0), ('ready', 0, 2)`,
	`INSERT INTO shop_transport_messages (group_id, event, locked_by, lock_expiry) VALUES
		('leased', '{"id":"1","kind":"Paid"}', 'w-1', 2e10), ('leased', '{"id":"2","kind":"Sent"}', NULL, NULL), ('parked', '{"id":"3","kind":"A"}', '__parked__', 2e10),
		('expired', '{"id":"4","kind":"B"}', 'w-2', 10), ('hidden', '{"id":"5","kind":"C"}', NULL, NULL), ('poison', 'nonsense', NULL, NULL), ('ready', '{"id":"7","kind":"D"}', NULL, NULL)`,
}

func TestTransport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queues.db")
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range transportRows {
		if err := run(conn, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	db := openDB(t, Options{Path: path})
	tr := db.Transport()
	if tr == nil || db.Executions() != nil {
		t.Fatal("a file with a transport alone does not open as that")
	}
	got := map[string]store.TransportQueue{}
	err = store.All(func(p store.PageRequest) (store.Page[store.TransportQueue], error) {
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
	if q := got["leased"]; q.Depth != 2 || q.LockedBy != "w-1" || *q.Priority != 4 || *q.LastClaimed != 6 || q.Head.Event.Kind != "Paid" {
		t.Errorf("leased: %+v", q)
	}
	if q := got["hidden"]; q.Priority != nil || q.LastClaimed != nil {
		t.Errorf("hidden: %+v", q)
	}
	counts, err := tr.TransportCounts(ctx)
	if want := (store.TransportCounts{Queues: 6, Messages: 7, Leased: 1, Parked: 1, Expired: 1, Hidden: 1}); err != nil || counts != want {
		t.Errorf("counts %+v, %v", counts, err)
	}
	event := store.Event{ID: "fresh", Kind: "Go"}
	if err := tr.Publish(ctx, "leased", event, 0); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}

	rw := openDB(t, Options{Path: path, ReadWrite: true}).Transport()
	for _, queue := range []string{"leased", "new"} {
		if err := rw.Publish(ctx, queue, event, 9); err != nil {
			t.Fatal(err)
		}
	}
	if err := rw.Publish(ctx, "leased", store.Event{Kind: "Go"}, 0); !errors.Is(err, store.ErrEmptyID) {
		t.Errorf("without an id: %v", err)
	}
	var kinds []string
	err = store.All(func(p store.PageRequest) (store.Page[store.TransportMessage], error) {
		p.Limit = 1
		return rw.Messages(ctx, "leased", p)
	}, func(m store.TransportMessage) error {
		kinds = append(kinds, m.Event.Kind)
		return nil
	})
	if err != nil || len(kinds) != 3 || kinds[2] != "Go" {
		t.Errorf("messages %v, %v", kinds, err)
	}
	name := "new"
	page, err := rw.Queues(ctx, store.TransportFilter{Queue: &name}, store.PageRequest{})
	if err != nil || len(page.Items) != 1 || *page.Items[0].Priority != 4 || page.Items[0].Head.Raw != `{"id":"fresh","kind":"Go","created_time":null,"received_time":null,"data":{}}` {
		t.Errorf("the new queue: %+v, %v", page, err)
	}
	if _, err := rw.Queues(ctx, store.TransportFilter{}, store.PageRequest{Cursor: "x"}); !errors.Is(err, store.ErrBadCursor) {
		t.Errorf("a bad cursor: %v", err)
	}
}

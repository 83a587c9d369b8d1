package ui

import (
	"context"
	"fmt"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/internal/testfiles"
	"treering/store"
	"treering/store/locate"
)

// fleet is a copy of the shop in which workers hand messages to each other, as of noon.
func fleet(t testing.TB, o locate.Options) (*locate.Opened, func(query string)) {
	t.Helper()
	path := testfiles.Copy(t, "harel-shop.db")
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must(t, err)
	exec := func(query string) {
		t.Helper()
		must(t, sqlitex.ExecuteTransient(db, query, nil))
	}
	at := func(d time.Duration) string { return fmt.Sprintf("%d", noon.Add(d).Unix()) }
	event := func(id, kind string) string {
		return `'{"id":"` + id + `","kind":"` + kind + `","data":{"auth":"A-19"}}'`
	}
	exec(`CREATE TABLE transport_messages (seq INTEGER PRIMARY KEY AUTOINCREMENT, group_id TEXT NOT NULL, event TEXT NOT NULL, locked_by TEXT, lock_expiry REAL)`)
	exec(`CREATE TABLE transport_groups (group_id TEXT PRIMARY KEY, last_claimed_at REAL NOT NULL DEFAULT 0, priority INTEGER NOT NULL DEFAULT 0)`)
	exec(`INSERT INTO transport_groups VALUES ('order-0000', ` + at(-time.Minute) + `, 1), ('order-0001', 0, 1), ('order-0002', 0, 1), ('order-0003', 0, 1),
		('order-0004', 0, 1), ('order-0005', 0, 1)`)
	exec(`INSERT INTO transport_messages (group_id, event, locked_by, lock_expiry) VALUES
		('order-0000', ` + event("e1", "Paid") + `, 'worker-1', ` + at(25*time.Second) + `), ('order-0000', ` + event("e2", "Packed") + `, NULL, NULL),
		('order-0001', ` + event("e3", "Cancel") + `, '__parked__', ` + at(time.Hour) + `),
		('order-0002', ` + event("e4", "Timeout") + `, 'worker-2', ` + at(-5*time.Minute) + `),
		('order-0003', 'nonsense', NULL, NULL), ('order-0004', ` + event("e5", "Shipped") + `, NULL, NULL),
		('order-0006', ` + event("e6", "Lost") + `, NULL, NULL)`)
	opened, err := locate.Open(t.Context(), path, o)
	must(t, err)
	t.Cleanup(func() {
		must(t, opened.Close())
		must(t, db.Close())
	})
	return opened, exec
}

func TestTheTransportIsAQueueToo(t *testing.T) {
	o, exec := fleet(t, locate.Options{})
	d := open(t, o, 120, 40).press("6", "w", "h", "h", "h", "l", "l", "l")
	if d.m.queues.tab != transportTab {
		t.Fatalf("queue %d", d.m.queues.tab)
	}
	d.shows("[Transport 7]", "3 stuck", "leased   order-0000", "parked   order-0001", "expired  order-0002", "poison   order-0003", "ready    order-0004",
		"empty    order-0005", "hidden   order-0006", "for 25s", "since 5m", "by worker-1")
	d.press("z", "4", "z").shows("queue of order-0000", "leased: a worker has the oldest message", "12:00:25", "11:59:00", `"auth": "A-19"`).press("6")
	d.press("/").says("the transport has no filter")
	d.press("x").says("read-only: start with --rw")

	// A lease runs out by itself, and a worker that goes on is seen.
	d.advance(26*time.Second).shows("4 stuck", "expired  order-0000")
	exec("DELETE FROM transport_messages WHERE group_id = 'order-0002'")
	d.changed().shows("3 stuck", "empty    order-0002")

	// Of one execution, and from a queue to its execution.
	d.press("j", "j", "j", "enter")
	if d.m.member != "order-0003" {
		t.Errorf("enter went to %q", d.m.member)
	}
	d.press("6", "w").shows("[Transport 1]", "poison   order-0003")
}

func TestAStoreWithoutTransportHasNoSuchQueue(t *testing.T) {
	d := open(t, seeded(t), 120, 40).asFile().press("l", "6").hides("Transport")
	for range tabCount {
		if d.press("l"); d.m.queues.tab == transportTab {
			t.Fatal("there is one")
		}
	}
	d.press("x").says("no running system is attached").says("the store holds no transport")
}

// unsure loses the first answer, having published.
type unsure struct {
	store.Transport
	sent []store.Event
}

func (u *unsure) Publish(ctx context.Context, queue string, ev store.Event, priority int64) error {
	u.sent = append(u.sent, ev)
	if err := u.Transport.Publish(ctx, queue, ev, priority); err != nil {
		return err
	}
	if len(u.sent) == 1 {
		return store.OutcomeUnknown(context.DeadlineExceeded)
	}
	return nil
}

func TestSendingAnEventToAFleet(t *testing.T) {
	o, exec := fleet(t, locate.Options{ReadWrite: true})
	u := &unsure{Transport: o.Transport}
	o.Transport = u
	d := open(t, o, 120, 40).press("6", "w", "h", "h", "h", "l", "l", "l", "x").asks("Send an event").settled()
	d.press("enter", "enter").asks("the event needs a kind").press("shift+tab")
	d.typed("Pai").press("tab").shows("kind     Paid") // as one that is on its way
	d.press("enter").typed(`{"auth"`).press("enter").asks("not JSON").typed(`:"B-2"}`).shows("--rw send --data", "order-0000 Paid")
	d.press("enter").settled().press("y").asks("outcome unknown").press("y").asksNothing().says("sent Paid to order-0000")
	if len(u.sent) != 2 || u.sent[0].ID != u.sent[1].ID || u.sent[1].Data != `{"auth":"B-2"}` {
		t.Fatalf("sent %+v", u.sent)
	}
	d.shows("   4  leased   order-0000") // handled once all the same
	d.press("A").says("are its workers'").press("f").says("only timers fire")
	d.press("L").shows("Send an event", "done: sent Paid to order-0000").press("esc")

	// An event for one that has gone is not sent.
	d.press("x").asks("Send an event").settled().typed("Paid").press("enter")
	exec("DELETE FROM executions WHERE id = 'order-0000'")
	d.changed().shows("disarmed: the execution is not there")
	d.press("esc")
	if len(u.sent) != 2 {
		t.Errorf("sent %+v", u.sent)
	}
}

// What a running worker would have taken long ago says that there is none.
func TestNeglectedQueuesSaySo(t *testing.T) {
	o := seeded(t)
	d := open(t, o, 120, 40).press("l", "6", "w").hides("nobody drains").shows("1 overdue, nobody sweeps") // due two minutes ago
	d.advance(neglect).hides("nobody drains").advance(time.Second).shows("nobody drains since 12:00:00")
	d.advance(10*time.Minute).shows("overdue, nobody sweeps", "nobody drains since 12:00:00")
	for _, e := range d.m.queues.outbox.items {
		_, err := o.Executions.AckOutbox(t.Context(), e.Seq)
		must(t, err)
	}
	for _, e := range d.m.queues.spawns.items {
		_, err := o.Executions.AckSpawn(t.Context(), e.Seq)
		must(t, err)
	}
	d.changed().hides("nobody drains")
}

package ui

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/store"
	"treering/store/locate"
	"treering/ui/layout"
)

// cable is a transport that may be cut, and counts as if it were noon.
type cable struct {
	store.Transport
	cut    error
	counts int
	reads  int
}

func (w *cable) Queues(ctx context.Context, f store.TransportFilter, p store.PageRequest) (store.Page[store.TransportQueue], error) {
	w.reads++
	if w.cut != nil {
		return store.Page[store.TransportQueue]{}, w.cut
	}
	return w.Transport.Queues(ctx, f, p)
}

func (w *cable) TransportCounts(context.Context) (store.TransportCounts, error) {
	w.counts++
	return store.TransportCounts{Queues: 6, Messages: 7, Leased: 1, Parked: 1, Expired: 1, Hidden: 1}, w.cut
}

// toTransport goes through the queues to the transport.
func (d *driver) toTransport() *driver {
	d.t.Helper()
	for range tabCount + 1 {
		if d.m.queues.tab == transportTab {
			return d
		}
		d.press("l")
	}
	d.t.Fatalf("there is no transport\n%s", d.text())
	return d
}

// An empty transport is no list; it comes with the first message, and stays.
func TestAnEmptyTransportIsNoList(t *testing.T) {
	o, exec := fleet(t, locate.Options{})
	exec("DELETE FROM transport_messages")
	exec("DELETE FROM transport_groups")
	d := open(t, o, 120, 40).press("6").hides("Transport")
	exec(`INSERT INTO transport_messages (group_id, event) VALUES ('order-0000', '{"id":"1","kind":"Paid"}')`)
	d.changed().shows("Transport").toTransport().shows("[Transport 1]", "hidden   order-0000", "1 stuck")
	exec("DELETE FROM transport_messages")
	d.changed().shows("[Transport 0]", "no message is on its way to this execution")
}

// All messages of a queue are in the detail pane, as they are stored and harmless.
func TestTheMessagesOfAQueue(t *testing.T) {
	o, exec := fleet(t, locate.Options{})
	exec(`INSERT INTO transport_messages (group_id, event) VALUES ('order-0000', 'no' || char(27) || '[31mne')`)
	exec(`UPDATE transport_messages SET event = '{"id":"e5","kind":"Ship\u001b[31mped"}' WHERE group_id = 'order-0004'`)
	d := open(t, o, 200, 60).press("6", "w").toTransport().press("g").shows("message 1", `"kind": "Paid"`, "message 2", `"kind": "Packed"`, "RUNNING")
	d.press("4", "z").shows("message 8", "stored text").press("z", "6")
	d.shows("Ship", "[31mped").screen() // which checks what gets through
	d.press("y").says("copied order-0000, the execution whose queue it is")
	// An old number would be untrue once nobody looks.
	d.press("l").shows("[Outbox", "Transport").hides("Transport 7").press("h").shows("[Transport 7]")
}

func TestTheTotalsOfATransport(t *testing.T) {
	o, _ := fleet(t, locate.Options{})
	w := &cable{Transport: o.Transport}
	o.Transport = w
	d := open(t, o, 200, 60)
	d.press("6").toTransport().press("h").changed()
	w.counts = 0
	d.changed()
	if w.counts != 0 {
		t.Fatal("it is counted while nobody looks")
	}
	d.toTransport().shows("whole store: 7 messages in 6 queues, 1 leased, 1 parked, 1 expired, 1 hidden")
	if w.counts != 1 {
		t.Errorf("counted %d times", w.counts)
	}
	// Once a lease on the screen has run out they are other ones.
	d.advance(24 * time.Second)
	if w.counts != 1 {
		t.Errorf("counted %d times, and nothing changed", w.counts)
	}
	// So is the list: Redis forgets a lease and tells nobody.
	reads := w.reads
	if d.advance(2 * time.Second).shows("expired  order-0000"); w.counts != 2 || w.reads != reads+1 {
		t.Errorf("counted %d times, listed %d after a lease ran out", w.counts, w.reads-reads)
	}
	w.cut = errors.New("the wire is cut")
	d.changed().says("the wire is cut")
	w.cut = nil
	d.advance(2 * time.Second).hides("the wire is cut")
}

func TestAnUnreadableTransport(t *testing.T) {
	o, _ := fleet(t, locate.Options{})
	w := &cable{Transport: o.Transport, cut: errors.New("the wire is cut")}
	o.Transport = w
	d := open(t, o, 120, 40).press("6").toTransport().shows("[Transport ?]", "cannot read: the wire is cut")
	w.cut = nil
	d.advance(2*time.Second).shows("[Transport 1]", "leased").hides("wire")
}

// A transport may be alone in a store: the executions are kept elsewhere.
func TestATransportAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queues.db")
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	must(t, err)
	must(t, sqlitex.ExecuteScript(db, `CREATE TABLE messages (seq INTEGER PRIMARY KEY AUTOINCREMENT, group_id TEXT NOT NULL, event TEXT NOT NULL, locked_by TEXT, lock_expiry REAL);
		CREATE TABLE groups (group_id TEXT PRIMARY KEY, last_claimed_at REAL NOT NULL DEFAULT 0, priority INTEGER NOT NULL DEFAULT 0);
		INSERT INTO messages (group_id, event) VALUES ('order-1', '{"id":"1","kind":"Paid"}')`, nil))
	must(t, db.Close())
	o, err := locate.Open(t.Context(), path, locate.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, o.Close()) })
	d := open(t, o, 120, 40).press("6").shows("[Transport 1]", "hidden   order-1").hides("Outbox")
	d.press("enter").says("open: this store holds no executions").focusedOn(layout.Queues)
	d.press("x").asksNothing().says("send event: this store holds no executions")
}

// What a store lacks is said before how it would have to be opened.
func TestNoTransportIsNoMatterOfWriting(t *testing.T) {
	openFile(t, "harel-shop.db", locate.Options{}, 120, 40).press("x").asksNothing().says("the store holds no transport of a fleet")
}

// An event whose answer was lost is the same one in the next form, until another is
// typed.
func TestALostEventIsKept(t *testing.T) {
	o, _ := fleet(t, locate.Options{ReadWrite: true})
	u := &unsure{Transport: o.Transport}
	o.Transport = u
	d := open(t, o, 120, 40).press("x").asks("Send an event").settled().typed("Paid").press("enter", "enter").settled().press("y").asks("outcome unknown")
	d.press("esc").says("it is not known whether it was written")
	d.press("x").asks("Send an event").shows("the answer of the first try was lost", u.sent[0].ID).settled()
	d.typed("X").hides("the answer of the first try", u.sent[0].ID).press("backspace").shows(u.sent[0].ID)
	d.press("enter", "enter").settled().press("y").asksNothing().says("sent Paid to order-0000, event " + u.sent[0].ID)
	if len(u.sent) != 2 || u.sent[0].ID != u.sent[1].ID {
		t.Errorf("sent %+v", u.sent)
	}
	d.press("x").asks("Send an event").hides("the answer of the first try", u.sent[0].ID)
}

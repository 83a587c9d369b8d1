package rqlite

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"treering/store"
	"treering/store/internal/sqltransport"
)

// transport is the view of harel's transport tables beside the executions.
type transport struct {
	db    *DB
	sql   sqltransport.SQL
	scope string
}

var _ store.Transport = (*transport)(nil)

// Transport is the queues between harel's workers, nil where there are none or none
// of several belongs to the executions that are open.
func (db *DB) Transport() store.Transport {
	if db.transport == nil {
		return nil
	}
	return db.transport
}

var _ store.TransportLimits = (*transport)(nil)

// Limits implements [store.TransportLimits]. What a node that does not lead tells of a
// lease may be over at the leader.
func (t *transport) Limits() string {
	db := t.db
	db.watch.mu.Lock()
	leads := db.watch.known && db.watch.status.leader
	db.watch.mu.Unlock()
	if !db.opts.Browse || leads {
		return ""
	}
	return "messages and leases are those of one node, and may be others at the leader: " + db.Staleness()
}

func (db *DB) newTransport() *transport {
	prefix := ""
	if db.set != nil {
		prefix = db.set.Prefix
	}
	pair, ok := sqltransport.Pick(sqltransport.Pairs(db.layout.Transport), prefix)
	if !ok {
		return nil
	}
	return &transport{db, sqltransport.For(pair), fmt.Sprintf("%s transport %q", db.scope, pair.Messages)}
}

// Queues implements [store.Transport].
func (t *transport) Queues(ctx context.Context, f store.TransportFilter, req store.PageRequest) (store.Page[store.TransportQueue], error) {
	var out store.Page[store.TransportQueue]
	limit, err := req.Size()
	if err != nil {
		return out, err
	}
	scope := t.scope + " queues " + f.Scope()
	key, err := position(scope, req.Cursor, 1)
	if err != nil {
		return out, err
	}
	after := ""
	if key != nil {
		after = key[0]
	}
	s := sql(t.sql.Queues, after, int64(limit)+1)
	if f.Queue != nil {
		s = sql(t.sql.QueuesOf, after, int64(limit)+1, *f.Queue)
	}
	results, err := t.db.query(ctx, t.db.browse(), s)
	if err != nil {
		return out, err
	}
	for _, row := range results[0].Values {
		if len(row) != sqltransport.Columns {
			return store.Page[store.TransportQueue]{}, errCounted
		}
		if len(out.Items) == limit {
			out.Next = store.EncodeCursor(scope, out.Items[limit-1].ID)
			break
		}
		r := sqltransport.Row{
			ID: row[0].text, Known: row[2].text == "1", Priority: row[3].intPointer(), Claimed: row[4].floatPointer(), LockedBy: row[5].pointer(),
			Until: row[6].floatPointer(), HeadSeq: row[7].intPointer(), Head: row[8].text, Odd: row[9].text, HeadOdd: row[10].text,
		}
		r.Depth, _ = row[1].int()
		out.Items = append(out.Items, r.Queue())
	}
	return out, nil
}

// Messages implements [store.Transport].
func (t *transport) Messages(ctx context.Context, queue string, req store.PageRequest) (store.Page[store.TransportMessage], error) {
	var out store.Page[store.TransportMessage]
	limit, err := req.Size()
	if err != nil {
		return out, err
	}
	scope := fmt.Sprintf("%s messages %q", t.scope, queue)
	key, err := position(scope, req.Cursor, 1)
	if err != nil {
		return out, err
	}
	after := int64(-1 << 63)
	if key != nil {
		if after, err = strconv.ParseInt(key[0], 10, 64); err != nil {
			return out, store.ErrBadCursor
		}
	}
	results, err := t.db.query(ctx, t.db.browse(), sql(t.sql.Messages, queue, after, int64(limit)+1))
	if err != nil {
		return out, err
	}
	for _, row := range results[0].Values {
		if len(row) != 3 {
			return store.Page[store.TransportMessage]{}, errCounted
		}
		if len(out.Items) == limit {
			out.Next = store.EncodeCursor(scope, strconv.FormatInt(out.Items[limit-1].Seq, 10))
			break
		}
		seq, _ := row[0].int()
		out.Items = append(out.Items, sqltransport.Message(seq, row[1].text, row[2].text))
	}
	return out, nil
}

// TransportCounts implements [store.Transport].
func (t *transport) TransportCounts(ctx context.Context) (store.TransportCounts, error) {
	results, err := t.db.query(ctx, t.db.browse(), sql(t.sql.Counts, seconds(time.Now())))
	if err != nil {
		return store.TransportCounts{}, err
	}
	row, err := results[0].one(6)
	if err != nil || row == nil {
		return store.TransportCounts{}, firstOf(err, errCounted)
	}
	var c store.TransportCounts
	for i, n := range []*int64{&c.Queues, &c.Messages, &c.Leased, &c.Parked, &c.Expired, &c.Hidden} {
		var ok bool
		if *n, ok = row[i].int(); !ok {
			return store.TransportCounts{}, errors.New("rqlite: a count is no number")
		}
	}
	return c, nil
}

// Publish implements [store.Transport], in one transaction.
func (t *transport) Publish(ctx context.Context, queue string, event store.Event, priority int64) error {
	if err := t.db.writable(ctx); err != nil {
		return err
	}
	text, err := store.CheckPublish(queue, event)
	if err != nil {
		return err
	}
	_, err = t.db.execute(ctx, sql(t.sql.Insert, queue, string(text)), sql(t.sql.Enter, queue, store.ClampTransportPriority(priority)))
	return err
}

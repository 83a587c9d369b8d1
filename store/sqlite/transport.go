package sqlite

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"treering/store"
	"treering/store/internal/sqltransport"
	"zombiezen.com/go/sqlite"
)

// transport is the view of harel's transport tables in a file.
type transport struct {
	db    *DB
	sql   sqltransport.SQL
	scope string
}

var _ store.Transport = (*transport)(nil)

// Transport is the queues between harel's workers, nil where the file has none, or
// none of several that belongs to the executions that are open.
func (db *DB) Transport() store.Transport {
	if db.transport == nil {
		return nil
	}
	return db.transport
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
	return &transport{db, sqltransport.For(pair), fmt.Sprintf("sqlite %q transport %q", db.file.named, pair.Messages)}
}

// transportKey is the one key of a cursor, "" for the first page.
func transportKey(scope, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	key, err := store.DecodeCursor(scope, cursor)
	if err == nil && len(key) != 1 {
		err = store.ErrBadCursor
	}
	return strings.Join(key, ""), err
}

// Queues implements [store.Transport].
func (t *transport) Queues(ctx context.Context, f store.TransportFilter, req store.PageRequest) (store.Page[store.TransportQueue], error) {
	limit, err := req.Size()
	if err != nil {
		return store.Page[store.TransportQueue]{}, err
	}
	scope := t.scope + " queues " + f.Scope()
	after, err := transportKey(scope, req.Cursor)
	if err != nil {
		return store.Page[store.TransportQueue]{}, err
	}
	text := t.sql.Queues
	if f.Queue != nil {
		text = t.sql.QueuesOf
	}
	var out store.Page[store.TransportQueue]
	err = t.read(ctx, func(conn *sqlite.Conn) error {
		out = store.Page[store.TransportQueue]{}
		return query(conn, text, func(q *sqlite.Stmt) {
			q.BindText(1, after)
			q.BindInt64(2, int64(limit)+1)
			if f.Queue != nil {
				q.BindText(3, *f.Queue)
			}
		}, func(row *sqlite.Stmt) bool {
			if len(out.Items) == limit {
				out.Next = store.EncodeCursor(scope, out.Items[limit-1].ID)
				return false
			}
			r := sqltransport.Row{
				ID: column(row, 0).String(), Depth: row.ColumnInt64(1), Known: row.ColumnInt64(2) != 0, Priority: optionalInt(row, 3), Claimed: optionalFloat(row, 4),
				Until: optionalFloat(row, 6), HeadSeq: optionalInt(row, 7), Head: column(row, 8).String(), Odd: column(row, 9).String(), HeadOdd: column(row, 10).String(),
			}
			if by := column(row, 5); by.class != sqlite.TypeNull {
				locked := by.String()
				r.LockedBy = &locked
			}
			out.Items = append(out.Items, r.Queue())
			return true
		})
	})
	if err != nil {
		return store.Page[store.TransportQueue]{}, err
	}
	return out, nil
}

// Messages implements [store.Transport].
func (t *transport) Messages(ctx context.Context, queue string, req store.PageRequest) (store.Page[store.TransportMessage], error) {
	limit, err := req.Size()
	if err != nil {
		return store.Page[store.TransportMessage]{}, err
	}
	scope := fmt.Sprintf("%s messages %q", t.scope, queue)
	key, err := transportKey(scope, req.Cursor)
	if err != nil {
		return store.Page[store.TransportMessage]{}, err
	}
	after := int64(-1 << 63)
	if key != "" {
		if after, err = strconv.ParseInt(key, 10, 64); err != nil {
			return store.Page[store.TransportMessage]{}, store.ErrBadCursor
		}
	}
	var out store.Page[store.TransportMessage]
	err = t.read(ctx, func(conn *sqlite.Conn) error {
		out = store.Page[store.TransportMessage]{}
		return query(conn, t.sql.Messages, func(q *sqlite.Stmt) {
			q.BindText(1, queue)
			q.BindInt64(2, after)
			q.BindInt64(3, int64(limit)+1)
		}, func(row *sqlite.Stmt) bool {
			if len(out.Items) == limit {
				out.Next = store.EncodeCursor(scope, strconv.FormatInt(out.Items[limit-1].Seq, 10))
				return false
			}
			out.Items = append(out.Items, sqltransport.Message(row.ColumnInt64(0), column(row, 1).String(), column(row, 2).String()))
			return true
		})
	})
	if err != nil {
		return store.Page[store.TransportMessage]{}, err
	}
	return out, nil
}

// TransportCounts implements [store.Transport].
func (t *transport) TransportCounts(ctx context.Context) (store.TransportCounts, error) {
	var c store.TransportCounts
	now := float64(time.Now().UnixMicro()) / 1e6
	err := t.read(ctx, func(conn *sqlite.Conn) error {
		return query(conn, t.sql.Counts, func(q *sqlite.Stmt) { q.BindFloat(1, now) }, func(row *sqlite.Stmt) bool {
			c = store.TransportCounts{
				Queues: row.ColumnInt64(0), Messages: row.ColumnInt64(1), Leased: row.ColumnInt64(2),
				Parked: row.ColumnInt64(3), Expired: row.ColumnInt64(4), Hidden: row.ColumnInt64(5),
			}
			return false
		})
	})
	return c, err
}

// Publish implements [store.Transport], in one transaction.
func (t *transport) Publish(ctx context.Context, queue string, event store.Event, priority int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.db.writer == nil {
		return readOnlyError(t.db.file)
	}
	text, err := store.CheckPublish(queue, event)
	if err != nil {
		return err
	}
	priority = store.ClampTransportPriority(priority)
	return missingTable(t.db.writer.write(ctx, func(conn *sqlite.Conn) error {
		n, err := change(conn, t.sql.Insert, func(q *sqlite.Stmt) {
			q.BindText(1, queue)
			q.BindText(2, string(text))
		})
		if err := one(n, err, "the transport", "an event", ""); err != nil {
			return err
		}
		_, err = change(conn, t.sql.Enter, func(q *sqlite.Stmt) {
			q.BindText(1, queue)
			q.BindInt64(2, priority)
		})
		return err
	}))
}

func (t *transport) read(ctx context.Context, fn func(*sqlite.Conn) error) error {
	return missingTable(t.db.file.Read(ctx, fn))
}

func optionalInt(row *sqlite.Stmt, col int) *int64 {
	if row.ColumnType(col) != sqlite.TypeInteger {
		return nil
	}
	n := row.ColumnInt64(col)
	return &n
}

func optionalFloat(row *sqlite.Stmt, col int) *float64 {
	if c := row.ColumnType(col); c != sqlite.TypeFloat && c != sqlite.TypeInteger {
		return nil
	}
	f := row.ColumnFloat(col)
	return &f
}

package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"treering/store"
)

// parkedBy is whom harel names as the holder of a queue that was put aside.
const parkedBy = "__parked__"

// transportTables are the tables of harel's transport, quoted.
type transportTables struct {
	prefix, schema   string
	messages, groups string
	priority         bool // groups has the column; those made before July 2026 have not
}

// findTransport looks for the tables of a transport behind every prefix.
func (l *Layout) findTransport(all map[string]relation) {
	var found []transportTables
	for name, groups := range all {
		prefix, ok := prefixOf(name, "transport_groups")
		if !ok || lacks(all, name, []string{"group_id", "locked_by", "lock_expiry"}) != "" {
			continue
		}
		messages := tableName(prefix, "transport_messages")
		if lacks(all, messages, []string{"seq", "group_id", "event"}) != "" || all[messages].schema != groups.schema {
			continue
		}
		found = append(found, transportTables{prefix, groups.schema, all[messages].quoted(), groups.quoted(), slices.Contains(groups.columns, "priority")})
		l.Transport = append(l.Transport, messages, name)
	}
	slices.Sort(l.Transport)
	l.transports = found
}

// transportOf is the transport that belongs to a set: the one with its prefix, or the
// only one.
func (l *Layout) transportOf(set *Set) *transportTables {
	for i, t := range l.transports {
		if set != nil && t.prefix == set.Prefix && t.schema == set.Schema || len(l.transports) == 1 && (set == nil || len(l.Sets) == 1) {
			return &l.transports[i]
		}
	}
	return nil
}

// transport is the [store.Transport] on harel's tables.
type transport struct {
	db    *DB
	t     transportTables
	scope string
}

var _ store.Transport = (*transport)(nil)

func newTransport(db *DB, t transportTables) *transport {
	return &transport{db: db, t: t, scope: store.EncodeCursor("", db.server.Identity, t.groups)}
}

// Queues implements [store.Transport].
func (t *transport) Queues(ctx context.Context, f store.TransportFilter, req store.PageRequest) (store.Page[store.TransportQueue], error) {
	priority := "NULL::bigint"
	if t.t.priority {
		priority = "g.priority::bigint"
	}
	// Messages may lack the row of their group, and a group may have no message.
	queues := "(SELECT coalesce(g.group_id, m.group_id) AS id, coalesce(m.depth, 0) AS depth, m.head, g.group_id IS NULL AS hidden, g.locked_by, g.lock_expiry::float8 AS lock_expiry, " + priority + " AS priority" +
		" FROM " + t.t.groups + " g FULL JOIN (SELECT group_id, count(*) AS depth, min(seq) AS head FROM " + t.t.messages + " GROUP BY group_id) m ON m.group_id = g.group_id)"
	l := pageList[store.TransportQueue]{
		table:   "(SELECT q.*, h.event FROM " + queues + " AS q LEFT JOIN " + t.t.messages + " h ON h.seq = q.head) AS q",
		columns: []string{"id", "depth", "head", "hidden", "locked_by", "lock_expiry", "priority"}, big: "event", order: []string{"id"}, casts: []string{""},
		scope: fmt.Sprintf("%q queues %s", t.scope, f.Scope()),
	}
	l.where, l.args = only("id", f.Queue)
	l.read = func(rows pgx.Rows, over *bool) (q store.TransportQueue, key []string, selected bool, err error) {
		var head *int64
		var holder, event *string
		if err := rows.Scan(&q.ID, &q.Depth, &head, &q.Hidden, &holder, &q.LockedUntil, &q.Priority, &event, over); err != nil || *over {
			return q, nil, false, err
		}
		switch by := deref(holder); {
		case q.LockedUntil == nil || *q.LockedUntil == 0 && by == "": // never taken, or given back
			q.LockedUntil = nil
		case by == "" || by == parkedBy:
			q.Parked = true
		default:
			q.LockedBy = by
		}
		if head != nil {
			q.Head = message(*head, event)
		}
		return q, []string{q.ID}, true, nil
	}
	return l.page(ctx, t.db, req)
}

func message(seq int64, event *string) *store.TransportMessage {
	m := &store.TransportMessage{Seq: seq}
	m.Event, m.Raw, m.Bad = readEvent("transport_messages", strconv.FormatInt(seq, 10), event)
	return m
}

// Messages implements [store.Transport].
func (t *transport) Messages(ctx context.Context, queue string, req store.PageRequest) (store.Page[store.TransportMessage], error) {
	l := pageList[store.TransportMessage]{
		table: t.t.messages, columns: []string{"seq"}, big: "event", order: []string{"seq"}, casts: []string{"::bigint"},
		scope: fmt.Sprintf("%q messages %q", t.scope, queue),
		read: func(rows pgx.Rows, over *bool) (m store.TransportMessage, key []string, selected bool, err error) {
			var seq int64
			var event *string
			if err := rows.Scan(&seq, &event, over); err != nil || *over {
				return m, nil, false, err
			}
			return *message(seq, event), []string{strconv.FormatInt(seq, 10)}, true, nil
		},
	}
	l.where, l.args = only("group_id", &queue)
	return l.page(ctx, t.db, req)
}

// TransportCounts implements [store.Transport].
func (t *transport) TransportCounts(ctx context.Context) (c store.TransportCounts, err error) {
	err = t.db.readOne(ctx, func(q querier) error {
		// The workers' clocks are taken for the server's: they lease by their own.
		return q.QueryRow(ctx, "SELECT count(*) FILTER (WHERE depth > 0), coalesce(sum(depth), 0)::bigint,"+
			" count(*) FILTER (WHERE depth > 0 AND until > now AND NOT idle), count(*) FILTER (WHERE depth > 0 AND until > now AND idle),"+
			" count(*) FILTER (WHERE depth > 0 AND until <= now AND NOT idle), count(*) FILTER (WHERE hidden)"+
			" FROM (SELECT coalesce(m.depth, 0) AS depth, g.group_id IS NULL AS hidden, g.lock_expiry AS until, coalesce(g.locked_by, '') IN ('', '"+parkedBy+"') AS idle,"+
			" date_part('epoch', clock_timestamp()) AS now FROM "+t.t.groups+" g FULL JOIN (SELECT group_id, count(*) AS depth FROM "+t.t.messages+
			" GROUP BY group_id) m ON m.group_id = g.group_id) AS q").Scan(&c.Queues, &c.Messages, &c.Leased, &c.Parked, &c.Expired, &c.Hidden)
	})
	return c, err
}

// Publish implements [store.Transport] in one transaction. The row of the group is
// locked first, by an update that changes nothing: a publish that met the ack which
// empties the group would lose its message otherwise.
func (t *transport) Publish(ctx context.Context, queue string, event store.Event, priority int64) error {
	if err := t.db.writable(ctx); err != nil {
		return err
	}
	text, err := store.CheckPublish(queue, event)
	if err != nil {
		return err
	}
	columns, values, args := "group_id, locked_by, lock_expiry", "$1, NULL, NULL", []any{queue}
	if t.t.priority {
		columns, values, args = columns+", priority", values+", $2", append(args, store.ClampTransportPriority(priority))
	}
	return t.db.write(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO "+t.t.groups+" ("+columns+") VALUES ("+values+") ON CONFLICT (group_id) DO UPDATE SET group_id = excluded.group_id", args...)
			if err == nil {
				_, err = tx.Exec(ctx, "INSERT INTO "+t.t.messages+" (group_id, event) VALUES ($1, $2)", queue, string(text))
			}
			return err
		})
	})
}

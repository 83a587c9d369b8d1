// Package sqltransport is the SQL of harel's transport in SQLite's dialect, for files
// and for rqlite, and what its rows mean.
package sqltransport

import (
	"errors"
	"strconv"
	"strings"

	"treering/store"
)

// parked is what harel locks a message with that it has put aside.
const parked = "__parked__"

// Pair names the two tables of a transport.
type Pair struct {
	Prefix           string // in lower case, without the underscore; "" for the names without one
	Messages, Groups string // as they are in the database
}

// Pairs finds the transports among tables that have the columns of one. Names are
// compared as SQLite does; harel's older names have no prefix and no "transport".
func Pairs(tables []string) []Pair {
	byKey := map[string]string{}
	for _, name := range tables {
		byKey[fold(name)] = name
	}
	var pairs []Pair
	for _, name := range tables {
		key := fold(name)
		prefix, ok := strings.CutSuffix(key, "messages")
		groups, found := byKey[prefix+"groups"]
		if !ok || !found {
			continue
		}
		prefix = strings.TrimSuffix(strings.TrimSuffix(prefix, "transport_"), "_")
		pairs = append(pairs, Pair{prefix, name, groups})
	}
	return pairs
}

// Pick chooses the transport that belongs to execution tables with that prefix: the
// one of the same prefix, else the only one.
func Pick(pairs []Pair, prefix string) (Pair, bool) {
	for _, p := range pairs {
		if p.Prefix == fold(prefix) {
			return p, true
		}
	}
	if len(pairs) == 1 {
		return pairs[0], true
	}
	return Pair{}, false
}

func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// SQL is the text of the statements on one transport. Parameters are numbered.
type SQL struct {
	// Queues lists what [Queue] reads after the id ?1, at most ?2 of them; QueuesOf the
	// queue ?3 alone.
	Queues, QueuesOf string
	// Messages lists seq, event and what is wrong with their classes, of queue ?1 after
	// seq ?2, at most ?3.
	Messages string
	// Counts is the totals at the time ?1, in the order of [store.TransportCounts].
	Counts string
	// Insert adds the event ?2 to the queue ?1, and Enter the queue ?1 with priority ?2
	// where it has no record yet: both in one transaction.
	Insert, Enter string
}

// Columns is how many columns Queues has.
const Columns = 11

// For returns the statements on a pair.
func For(p Pair) SQL {
	messages, groups := quote(p.Messages), quote(p.Groups)
	// There may be no index by queue, so the messages are read once, not for each queue.
	with := "WITH m AS (SELECT group_id, count(*) AS depth, min(seq) AS head FROM " + messages + " WHERE group_id IS NOT NULL GROUP BY group_id)," +
		// Beside max, locked_by is that of the row with the largest value.
		" l AS (SELECT group_id, locked_by, max(coalesce(max(min(lock_expiry, 1e300), -1e300), 0)) AS until FROM " + messages + " WHERE locked_by IS NOT NULL GROUP BY group_id)," +
		" ids AS (SELECT group_id AS id FROM m UNION SELECT group_id FROM " + groups + " WHERE group_id IS NOT NULL)"
	queues := with + " SELECT ids.id, coalesce(m.depth, 0), g.group_id IS NOT NULL, g.priority, max(min(g.last_claimed_at, 1e300), -1e300), l.locked_by, l.until," +
		" h.seq, h.event, " + classes("ids.id", "text", "g.priority", "integer", "g.last_claimed_at", "real", "l.locked_by", "text", "l.until", "real") + ", " + classes("h.event", "text") +
		" FROM ids LEFT JOIN m ON m.group_id = ids.id LEFT JOIN l ON l.group_id = ids.id LEFT JOIN " + groups + " AS g ON g.group_id = ids.id LEFT JOIN " + messages + " AS h ON h.seq = m.head WHERE ids.id > ?1"
	live := "max(CASE WHEN locked_by IS NOT NULL AND locked_by <> '" + parked + "' AND lock_expiry > ?1 THEN 1 ELSE 0 END)"
	return SQL{
		Queues:   queues + " ORDER BY ids.id LIMIT ?2",
		QueuesOf: queues + " AND ids.id = ?3 ORDER BY ids.id LIMIT ?2",
		Messages: "SELECT seq, event, " + classes("event", "text") + " FROM " + messages + " WHERE group_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
		Counts: "SELECT count(*), coalesce(sum(depth), 0), coalesce(sum(live), 0), coalesce(sum(NOT live AND aside), 0), coalesce(sum(NOT live AND NOT aside AND held), 0), coalesce(sum(NOT EXISTS (SELECT 1 FROM " + groups + " AS g WHERE g.group_id = q.group_id)), 0)" +
			" FROM (SELECT group_id, count(*) AS depth, " + live + " AS live," +
			" max(CASE WHEN locked_by = '" + parked + "' AND lock_expiry > ?1 THEN 1 ELSE 0 END) AS aside," +
			" max(CASE WHEN locked_by IS NOT NULL AND locked_by <> '" + parked + "' THEN 1 ELSE 0 END) AS held" +
			" FROM " + messages + " WHERE group_id IS NOT NULL GROUP BY group_id) AS q",
		Insert: "INSERT INTO " + messages + " (group_id, event) VALUES (?1, ?2)",
		Enter:  "INSERT OR IGNORE INTO " + groups + " (group_id, priority) VALUES (?1, ?2)",
	}
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// classes is an expression that is NULL where each column holds the class behind it or
// NULL, and otherwise says what is wrong. A whole number is a time, too; a blob may be
// an event.
func classes(pairs ...string) string {
	var said []string
	for i := 0; i < len(pairs); i += 2 {
		column, class := pairs[i], pairs[i+1]
		fine := "'" + class + "', 'null'"
		if class == "real" {
			fine += ", 'integer'"
		}
		name := column[strings.LastIndexByte(column, '.')+1:]
		said = append(said, "CASE WHEN typeof("+column+") IN ("+fine+") THEN '' ELSE '"+name+" is '||typeof("+column+")||'; ' END")
	}
	return "nullif(" + strings.Join(said, "||") + ", '')"
}

// Row is one row of SQL.Queues, in the order of its columns.
type Row struct {
	ID       string
	Depth    int64
	Known    bool // there is a record of the queue
	Priority *int64
	Claimed  *float64
	LockedBy *string
	Until    *float64
	HeadSeq  *int64
	Head     string
	Odd      string // what is wrong with the classes of the columns
	HeadOdd  string
}

// Queue says what a row means.
func (r Row) Queue() store.TransportQueue {
	q := store.TransportQueue{ID: r.ID, Depth: r.Depth, Priority: r.Priority, Hidden: !r.Known && r.Depth > 0}
	if r.Claimed != nil && *r.Claimed > 0 {
		q.LastClaimed = r.Claimed
	}
	if r.LockedBy != nil {
		q.LockedUntil = r.Until
		if q.Parked = *r.LockedBy == parked; !q.Parked {
			q.LockedBy = *r.LockedBy
		}
	}
	if r.HeadSeq != nil {
		head := Message(*r.HeadSeq, r.Head, r.HeadOdd)
		q.Head = &head
	}
	if r.Odd != "" {
		q.Bad = &store.RowError{Table: "transport_groups", Key: r.ID, Err: errors.New(strings.TrimSuffix(r.Odd, "; "))}
	}
	return q
}

// Message says what a row of SQL.Messages means.
func Message(seq int64, event, odd string) store.TransportMessage {
	m := store.TransportMessage{Seq: seq}
	ev, err := store.DecodeEvent(event)
	if odd != "" && err == nil {
		err = errors.New(strings.TrimSuffix(odd, "; "))
	}
	if err != nil {
		m.Bad = &store.RowError{Table: "transport_messages", Key: strconv.FormatInt(seq, 10), Err: err, Raw: []byte(event)}
		return m
	}
	m.Event, m.Raw = ev, store.JSON(strings.TrimSpace(event))
	return m
}

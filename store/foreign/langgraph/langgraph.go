// Package langgraph reads the checkpoints that LangGraph's SQLite savers keep, those of
// Python and those of JavaScript. The tree is in plain columns; the states are decoded
// when they are shown, without running anything they name.
package langgraph

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"zombiezen.com/go/sqlite"

	"treering/store"
	"treering/store/foreign"
)

// Kind is the kind of these sessions: a thread each.
const Kind = "langgraph"

// Detect reports whether the tables are a checkpointer's.
func Detect(c foreign.Columns) bool {
	return c.Has("checkpoints", "thread_id", "checkpoint_ns", "checkpoint_id", "parent_checkpoint_id", "checkpoint", "metadata") &&
		c.Has("writes", "thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx", "channel")
}

// Reader reads one database.
type Reader struct {
	db foreign.Database

	mu     sync.Mutex
	titles map[string]string // by thread; what it began with does not change
}

var _ foreign.Reader = (*Reader)(nil)

// New returns a reader of a database in which Detect found the tables. Close closes
// the database.
func New(db foreign.Database) *Reader { return &Reader{db: db, titles: map[string]string{}} }

// Database is what is read: it tells when it changed.
func (r *Reader) Database() foreign.Database { return r.db }

// Token implements foreign.Reader.
func (r *Reader) Token(ctx context.Context) (string, error) { return r.db.ChangeToken(ctx) }

// Close implements foreign.Reader.
func (r *Reader) Close() error { return r.db.Close() }

// Sessions implements foreign.Reader. Ids of checkpoints climb with time, so the
// threads with the latest come first. A thread is titled by what it was asked first.
func (r *Reader) Sessions(ctx context.Context) (heads []foreign.Head, err error) {
	err = r.db.Read(ctx, func(conn *sqlite.Conn) error {
		heads = nil
		there := map[string]bool{} // names that differ in what is no text are shown alike
		err := foreign.Each(conn, "SELECT thread_id, max(checkpoint_id) FROM checkpoints GROUP BY 1 ORDER BY 2 DESC, 1", nil, func(row *sqlite.Stmt) error {
			if id := foreign.Text(row, 0); !there[id] {
				there[id] = true
				heads = append(heads, foreign.Head{ID: id, Kind: Kind, Size: -1, Updated: idTime(foreign.Text(row, 1))})
			}
			return nil
		})
		if err != nil {
			return err
		}
		return r.entitle(ctx, conn, heads[:min(len(heads), maxEntitled)])
	})
	return heads, err
}

// Bounds of what is read for the titles of threads.
const (
	maxEntitled = 1000 // the latest threads
	maxBegin    = 3    // checkpoints of one: the input is in the first or in the next
)

// entitle gives threads their titles.
func (r *Reader) entitle(ctx context.Context, conn *sqlite.Conn, heads []foreign.Head) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range heads {
		h := &heads[i]
		if h.Title = r.titles[h.ID]; h.Title != "" || strings.Contains(h.ID, "\uFFFD") {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		err := foreign.Each(conn, `SELECT type, CASE WHEN length(checkpoint) <= ?2 THEN checkpoint END FROM checkpoints
			WHERE `+thread(h.ID)+` AND checkpoint_ns = '' ORDER BY checkpoint_id LIMIT ?3`, func(s *sqlite.Stmt) {
			s.BindText(1, h.ID)
			s.BindInt64(2, maxTitled)
			s.BindInt64(3, maxBegin)
		}, func(row *sqlite.Stmt) error {
			if body := foreign.Bytes(row, 1); body != nil && h.Title == "" {
				state, _ := value(foreign.Text(row, 0), body) // what cannot be read is said where it is shown
				h.Title = asked(state.Get("channel_values"))
			}
			return nil
		})
		if err != nil {
			return err
		}
		if h.Title != "" {
			r.titles[h.ID] = h.Title
		}
	}
	return nil
}

// asked is what a thread began with: the message that it was given, or else the first thing.
func asked(values store.JSON) string {
	input := values.Get("__start__")
	for _, messages := range []store.JSON{input.Get("messages"), values.Get("messages")} {
		if said := lastMessage(messages); said != "" {
			return foreign.Title(said)
		}
	}
	for name, v := range input.Members() {
		shown, ok := v.Text()
		if !ok {
			shown = string(v)
		}
		return foreign.Title(name + "=" + shown)
	}
	return ""
}

// idTime is the time in a UUID of version 6, in epoch seconds; 0 where it is none.
func idTime(id string) float64 {
	hex := strings.ReplaceAll(id, "-", "")
	if len(hex) != 32 || hex[12] != '6' {
		return 0
	}
	var ticks uint64
	for _, c := range hex[:12] + hex[13:16] {
		d := strings.IndexRune("0123456789abcdef", c)
		if d < 0 {
			return 0
		}
		ticks = ticks<<4 | uint64(d)
	}
	const toUnix = 122192928000000000 // in steps of 100 ns since 1582
	if ticks < toUnix {
		return 0
	}
	return float64((ticks-toUnix)/10000) / 1000
}

// nodeID is a checkpoint's id in the tree of its thread.
func nodeID(ns, id string) string {
	if ns == "" {
		return id
	}
	return ns + "/" + id
}

// graph names the sub-graph of a namespace: the node that it is behind, without the task.
func graph(ns string) string {
	name, _, _ := strings.Cut(ns[strings.LastIndexByte(ns, '|')+1:], ":")
	if _, err := strconv.Atoi(name); err == nil && outer(ns) != "" {
		return graph(outer(ns)) // one that the task has called again
	}
	return name
}

// outer is the namespace that a namespace is in.
func outer(ns string) string {
	if i := strings.LastIndexByte(ns, '|'); i >= 0 {
		return ns[:i]
	}
	return ""
}

// Bounds of what is decoded for titles: every checkpoint repeats the whole state.
const (
	maxTitled = 32 << 10
	maxTitles = 16 << 20
)

// thread finds the rows of a thread, the first parameter. A name may be stored as bytes;
// what is no text in one is shown as U+FFFD, so any row may be meant by that, and is
// compared as it is shown.
func thread(id string) string {
	if strings.Contains(id, "\uFFFD") {
		return "?1 IS NOT NULL"
	}
	return "thread_id IN (?1, CAST(?1 AS BLOB))"
}

// Read implements foreign.Reader.
func (r *Reader) Read(ctx context.Context, h foreign.Head, g *foreign.Growth) error {
	var t *foreign.Tree
	var a foreign.About
	err := r.db.Read(ctx, func(conn *sqlite.Conn) error {
		t = foreign.NewTree(foreign.BuildOptions{Session: h.ID, Source: Kind, Table: "checkpoints"})
		a = foreign.About{Active: -1, Labels: map[int32][]string{}}
		failed, err := errorsOf(conn, h.ID)
		if err != nil {
			return err
		}
		states := map[string]versions{} // by node
		spent, rowid := 0, int64(0)
		return foreign.Each(conn, `SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, metadata, length(checkpoint), CASE WHEN length(checkpoint) <= ?2 THEN checkpoint END, rowid, thread_id
			FROM checkpoints WHERE `+thread(h.ID)+` ORDER BY checkpoint_id, checkpoint_ns`, func(s *sqlite.Stmt) {
			s.BindText(1, h.ID)
			s.BindInt64(2, maxTitled)
		}, func(row *sqlite.Stmt) error {
			if foreign.Text(row, 8) != h.ID {
				return nil
			}
			ns, id := foreign.Text(row, 0), foreign.Text(row, 1)
			rowid = row.ColumnInt64(7)
			rec := foreign.Record{ID: nodeID(ns, id), Place: foreign.Place{Offset: rowid}, Sum: uint64(rowid), Time: idTime(id)}
			meta, err := value("", foreign.Bytes(row, 4))
			if err != nil {
				a.Report.Unreadable++
				a.Report.Warn(foreign.Warning{Place: rec.Place, Table: "checkpoints", ID: rec.ID, Text: "its metadata cannot be read: " + err.Error()})
			}
			if parent := foreign.Text(row, 2); row.ColumnType(2) != sqlite.TypeNull && parent != "" {
				p := nodeID(ns, parent)
				rec.Parent = &p
			} else if ns != "" {
				// The first of a sub-graph hangs on the checkpoint that its task ran from.
				rec.Flags |= foreign.FalseFork
				rec.Parent = ranFrom(ns, meta.Get("parents"))
			}
			if ns != "" {
				rec.Flags |= foreign.Side
			}
			rec.Kind = foreign.TextAt(meta, "source")
			if rec.Kind == "" {
				rec.Kind = "checkpoint"
			}
			var state store.JSON
			if body := foreign.Bytes(row, 6); body != nil && spent < maxTitles {
				spent += len(body)
				state, _ = value(foreign.Text(row, 3), body) // what cannot be read is said where it is shown
			}
			now, before := versionsOf(state), versions{}
			if rec.Parent != nil && row.ColumnType(2) != sqlite.TypeNull {
				before = states[*rec.Parent]
			}
			states[rec.ID] = now
			rec.Title = title(meta, state, rec.Kind, now.ran(before, rec.Kind, meta), now.changed(before))
			if failed[rec.ID] {
				rec.Flags |= foreign.Failed
			}
			switch n := t.Add(rec); {
			case ns == "":
				a.Active = n
			case rec.Flags&foreign.FalseFork != 0:
				a.Labels[n] = []string{"sub-graph " + graph(ns)}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	g.Replace(t, a)
	return nil
}

// ranFrom is the checkpoint of an enclosing namespace from which the task ran whose
// sub-graph a namespace is; nil where none is named. One called several times within a
// task has a namespace in one that holds nothing.
func ranFrom(ns string, parents store.JSON) *string {
	for ns != "" {
		ns = outer(ns)
		if from, ok := parents.Get(ns).Text(); ok && from != "" {
			id := nodeID(ns, from)
			return &id
		}
	}
	return nil
}

// errorsOf are the checkpoints of a thread from which a task ran that failed.
func errorsOf(conn *sqlite.Conn, id string) (failed map[string]bool, err error) {
	failed = map[string]bool{}
	err = foreign.Each(conn, "SELECT DISTINCT checkpoint_ns, checkpoint_id, thread_id FROM writes WHERE channel = '__error__' AND "+thread(id), func(s *sqlite.Stmt) {
		s.BindText(1, id)
	}, func(row *sqlite.Stmt) error {
		if foreign.Text(row, 2) == id {
			failed[nodeID(foreign.Text(row, 0), foreign.Text(row, 1))] = true
		}
		return nil
	})
	return failed, err
}

// versions are what tells one state from the one before.
type versions struct{ seen, channels store.JSON }

func versionsOf(state store.JSON) versions {
	return versions{state.Get("versions_seen"), state.Get("channel_versions")}
}

// ran are the nodes of the graph that produced a checkpoint: those whose versions
// differ from the parent's. Older releases wrote them down.
func (v versions) ran(before versions, kind string, meta store.JSON) (names []string) {
	for node, versions := range v.seen.Members() {
		if node != "__input__" && node != "__interrupt__" && !store.Equal(versions, before.seen.Get(node)) && len(versions) > 2 {
			names = append(names, node)
		}
	}
	if names == nil && kind != "input" && kind != "fork" {
		for node := range meta.Get("writes").Members() {
			names = append(names, node)
		}
	}
	return names
}

// changed are the channels that differ from the parent's, apart from those that only
// say what runs next.
func (v versions) changed(before versions) (names []string) {
	for name, version := range v.channels.Members() {
		if strings.HasPrefix(name, "__") || strings.HasPrefix(name, "branch:") || strings.HasPrefix(name, "start:") || store.Equal(version, before.channels.Get(name)) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// title says which step it is, what ran, and what was said last, or else the first of
// the channels that changed.
func title(meta, state store.JSON, kind string, ran, changed []string) string {
	what := kind
	if len(ran) > 0 {
		what = strings.Join(ran, ", ")
	}
	step := "?"
	if n, ok := meta.Get("step").Int64(); ok {
		step = fmt.Sprint(n)
	}
	t := "step " + step + " " + what
	values := state.Get("channel_values")
	if said := lastMessage(values.Get("messages")); said != "" {
		return foreign.Title(t + " · " + foreign.Title(said))
	}
	for _, name := range changed {
		v := values.Get(name)
		if v == "" || name == "messages" {
			continue
		}
		shown, ok := v.Text()
		if !ok {
			shown = string(v)
		}
		return foreign.Title(t + " · " + name + "=" + foreign.Title(shown))
	}
	return foreign.Title(t)
}

// lastMessage is the text of the last of the messages, in any of the forms in which
// they are stored.
func lastMessage(messages store.JSON) string {
	var last store.JSON
	if messages.Kind() != store.Array {
		return ""
	}
	for m := range messages.Elements() {
		last = m
	}
	for _, m := range []store.JSON{last.Get("kwargs"), last.Get("value"), last} {
		if said := foreign.Content(m.Get("content")); said != "" {
			return said
		}
	}
	return ""
}

// value decodes what is stored under a type. Pickles are never read, and what is
// encrypted is said to be so.
func value(kind string, b []byte) (store.JSON, error) {
	switch {
	case b == nil, kind == "null":
		return store.Null, nil
	case strings.Contains(kind, "+"):
		return withheld("encrypted", kind, b), nil
	case kind == "pickle":
		return withheld("not read", "a pickle could run anything", b), nil
	case kind == "bytes", kind == "bytearray":
		return foreign.BlobValue(b), nil
	case kind == "msgpack":
		return decode(b)
	}
	// JSON, under its name or as metadata, which has none.
	if utf8.Valid(b) {
		if j, err := store.ParseJSON(string(b)); err == nil {
			return j, nil
		} else if kind == "json" {
			return "", err
		}
	}
	return decode(b)
}

func withheld(why, what string, b []byte) store.JSON {
	return store.ObjectOf(store.Member{Key: why, Value: store.Quote(what)}, store.Member{Key: "bytes", Value: store.JSON(fmt.Sprint(len(b)))})
}

// Body implements foreign.Reader: the checkpoint decoded, and what the tasks that ran
// from it wrote.
func (r *Reader) Body(ctx context.Context, h foreign.Head, rec *foreign.Record) (body store.JSON, err error) {
	err = r.db.Read(ctx, func(conn *sqlite.Conn) error {
		var members []store.Member
		var ns, id string
		add := func(key string, v store.JSON) { members = append(members, store.Member{Key: key, Value: v}) }
		err := foreign.Each(conn, `SELECT c.checkpoint_ns, c.checkpoint_id, c.type, c.metadata, c.checkpoint, c.thread_id, p.type, p.checkpoint FROM checkpoints AS c
			LEFT JOIN checkpoints AS p ON (p.thread_id, p.checkpoint_ns, p.checkpoint_id) = (c.thread_id, c.checkpoint_ns, c.parent_checkpoint_id) WHERE c.rowid = ?1`,
			func(s *sqlite.Stmt) { s.BindInt64(1, rec.Place.Offset) },
			func(row *sqlite.Stmt) error {
				if members = nil; foreign.Text(row, 5) != h.ID {
					return nil
				}
				ns, id = foreign.Text(row, 0), foreign.Text(row, 1)
				meta := shown("", foreign.Bytes(row, 3))
				state := shown(foreign.Text(row, 2), foreign.Bytes(row, 4))
				add("ns", store.Quote(ns))
				add("step", meta.Get("step"))
				add("source", meta.Get("source"))
				if ns != "" {
					add("subgraph", "true")
				}
				var ran, next []store.JSON
				before, _ := value(foreign.Text(row, 6), foreign.Bytes(row, 7)) // what cannot be read is said at that one
				for _, node := range versionsOf(state).ran(versionsOf(before), foreign.TextAt(meta, "source"), meta) {
					ran = append(ran, store.Quote(node))
				}
				if ran != nil {
					add("ran", store.ArrayOf(ran...))
				}
				for channel := range state.Get("channel_values").Members() {
					if node, ok := strings.CutPrefix(channel, "branch:to:"); ok {
						next = append(next, store.Quote(node))
					}
				}
				if next != nil {
					add("next", store.ArrayOf(next...))
				}
				add("metadata", meta)
				add("checkpoint", state)
				return nil
			})
		if err != nil {
			return err
		}
		if members == nil || nodeID(ns, id) != rec.ID {
			return fmt.Errorf("%w: the checkpoint is gone", store.ErrSourceChanged)
		}
		var writes []store.JSON
		err = foreign.Each(conn, "SELECT task_id, idx, channel, type, value FROM writes WHERE (thread_id, checkpoint_ns, checkpoint_id) = (SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE rowid = ?1) ORDER BY task_id, idx",
			func(s *sqlite.Stmt) { s.BindInt64(1, rec.Place.Offset) }, func(row *sqlite.Stmt) error {
				writes = append(writes, store.ObjectOf(
					store.Member{Key: "task", Value: store.Quote(foreign.Text(row, 0))}, store.Member{Key: "channel", Value: store.Quote(foreign.Text(row, 2))},
					store.Member{Key: "value", Value: shown(foreign.Text(row, 3), foreign.Bytes(row, 4))}))
				return nil
			})
		if err != nil {
			return err
		}
		if writes != nil {
			add("writes", store.ArrayOf(writes...))
		}
		body = store.ObjectOf(members...)
		return nil
	})
	return body, err
}

// shown is a value, or what keeps it from being read.
func shown(kind string, b []byte) store.JSON {
	v, err := value(kind, b)
	if err != nil {
		return store.ObjectOf(store.Member{Key: "unreadable", Value: store.Quote(err.Error())}, store.Member{Key: "type", Value: store.Quote(kind)},
			store.Member{Key: "stored", Value: foreign.BlobValue(b)})
	}
	return v
}

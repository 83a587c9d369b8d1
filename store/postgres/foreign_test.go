package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"treering/store"
)

// foreignSet is a set as harel makes it: columns of 32 bits, the database's collation.
func foreignSet(prefix string) string {
	n := func(table string) string { return tableName(prefix, table) }
	return fmt.Sprintf(`CREATE TABLE %s (id text PRIMARY KEY, definition_id text NOT NULL, data text NOT NULL, version integer NOT NULL);
CREATE TABLE %s (seq bigserial PRIMARY KEY, target_id text, event text NOT NULL);
CREATE TABLE %s (execution_id text, event_id text, PRIMARY KEY (execution_id, event_id));
CREATE TABLE %s (execution_id text, path text, fire_at double precision NOT NULL, PRIMARY KEY (execution_id, path));
CREATE TABLE %s (seq bigserial PRIMARY KEY, parent_id text NOT NULL, child_id text NOT NULL, root_path text NOT NULL, context text NOT NULL);
CREATE TABLE %s (execution_id text, idx integer, entry text NOT NULL, PRIMARY KEY (execution_id, idx));`,
		n(tableExecutions), n(tableOutbox), n(tableProcessed), n(tableTimers), n(tableSpawns), n(tableTrace))
}

func foreignTransport(prefix string) string {
	return fmt.Sprintf(`CREATE TABLE %[1]s (seq bigserial PRIMARY KEY, group_id text NOT NULL, event text NOT NULL);
CREATE TABLE %[2]s (group_id text PRIMARY KEY, locked_by text, lock_expiry double precision, priority integer NOT NULL DEFAULT 0);`,
		tableName(prefix, "transport_messages"), tableName(prefix, "transport_groups"))
}

// Both layouts of names are found by their columns, and neither is changed by looking.
func TestLayouts(t *testing.T) {
	s, ctx := server(t), t.Context()
	at := s.Schema(t)
	s.ExecOn(t, at, foreignSet("")+foreignSet("shop")+"CREATE TABLE other_executions (id text)")
	_, err := Open(ctx, Options{URL: at})
	var several *AmbiguousSetError
	if !errors.As(err, &several) || len(several.Sets) != 2 {
		t.Fatalf("two empty sets: %v", err)
	}
	s.ExecOn(t, at, `INSERT INTO executions VALUES ('x', 'd', '{"id":"x","definition_id":"d","version":1}', 1)`)
	db := openDB(t, Options{URL: at})
	set, note := db.Set()
	if set.Prefix != "" || note == "" || set.Ours {
		t.Errorf("the set with rows: %+v, %q", set, note)
	}
	same(t, "noticing", db.Noticing(), "within 250ms, by looking: its writers tell nobody")
	shop := openDB(t, Options{URL: at, Prefix: ptr("shop_"), ReadWrite: true})
	page, err := shop.Executions().ListExecutions(ctx, store.ExecutionFilter{}, store.PageRequest{})
	must(t, err)
	same(t, "shop", len(page.Items), 0)
	if err := shop.Executions().Save(ctx, &store.Execution{ID: "big", DefinitionID: "d", Version: 1 << 31}); !errors.Is(err, store.ErrBadVersion) {
		t.Errorf("a version of more than 32 bits: %v", err)
	}
	if _, err := Open(ctx, Options{URL: at, Prefix: ptr("none")}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown prefix: %v", err)
	}
}

// Tables of other programs that have harel's names and columns of other types are none of
// harel's, and do not keep a set from being chosen; what holds the same counts as the same.
func TestTablesOfOthers(t *testing.T) {
	s, ctx := server(t), t.Context()
	at := s.Schema(t)
	s.ExecOn(t, at, foreignSet("harel")+`CREATE DOMAIN name_of AS text;
CREATE TABLE job_executions (id bigserial PRIMARY KEY, definition_id int, data jsonb, version bigint); INSERT INTO job_executions VALUES (1, 1, '{}', 1);
CREATE TABLE a_executions (id uuid PRIMARY KEY, definition_id text, data text, version int); INSERT INTO a_executions VALUES ('00000000-0000-0000-0000-000000000000', 'd', '{}', 1);
CREATE TABLE b_executions (id text PRIMARY KEY, definition_id text, data text, version numeric); INSERT INTO b_executions VALUES ('x', 'd', '{}', 1.5);
ALTER TABLE harel_executions ALTER COLUMN id TYPE varchar(60), ALTER COLUMN definition_id TYPE name_of, ALTER COLUMN version TYPE smallint;
ALTER TABLE harel_timers ALTER COLUMN fire_at TYPE timestamptz USING to_timestamp(fire_at);
CREATE VIEW c_executions AS SELECT * FROM harel_executions;
INSERT INTO harel_executions VALUES ('x', 'd', '{"id":"x","definition_id":"d","version":1,"status":"RUNNING"}', 1)`)
	db := openDB(t, Options{URL: at, ReadWrite: true})
	same(t, "sets", len(db.Layout().Sets), 1)
	set, _ := db.Set()
	same(t, "lacking", fmt.Sprint(set.Missing), "[{harel_timers its column fire_at is of type timestamp with time zone, and not double precision or real}]")
	exe, err := db.Executions().Load(ctx, "x")
	must(t, err)
	must(t, db.Executions().Save(ctx, exe))
	page, err := db.Executions().ListExecutions(ctx, store.ExecutionFilter{Status: []store.Status{"running"}}, store.PageRequest{})
	must(t, err)
	same(t, "listed", fmt.Sprint(len(page.Items), page.Items[0].Version), "1 2")
	if _, err := Open(ctx, Options{URL: at, Prefix: ptr("job")}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another program's: %v", err)
	}
}

// One bad row is one bad row, whatever is in it.
func TestBadRows(t *testing.T) {
	s, ctx := server(t), t.Context()
	at := s.Schema(t)
	s.ExecOn(t, at, foreignSet("harel")+`
INSERT INTO harel_executions VALUES
 ('a', 'd', '{"id":"a","definition_id":"d","version":1,"status":"RUNNING","context":{"s":"\u0000"}}', 1),
 ('b', 'd', 'not json', 1),
 ('c', 'd', '{"id":"c","definition_id":"d","version":7,"status":"FAILED"}', 3),
 ('d', 'd', '{"id":"d","definition_id":"d","version":1,"status":"r\u0075nning"}', 1),
 ('e', 'd', '{"id":"e","definition_id":"d","version":1}', 1),
 ('f', 'd', '{"id":"f","definition_id":"d","version":1,"status":"Running","parent_id":"a"}', 1);
INSERT INTO harel_outbox (target_id, event) VALUES ('a', '{"id":"1","kind":"K"}'), ('a', '['), (NULL, '{"id":"2","kind":"K","data":{"x":"\u0000"}}');
INSERT INTO harel_spawns (parent_id, child_id, root_path, context) VALUES ('a', 'c', '', '{"x": NaN}'), ('a', 'd', '', 'x');
INSERT INTO harel_trace VALUES ('a', 4, '{"n": Infinity, "index": 9}'), ('a', 5, '');
INSERT INTO harel_timers VALUES ('a', 'p', 'NaN'), ('a', 'q', 'Infinity'), ('a', 'r', 5)`)
	db := openDB(t, Options{URL: at})
	es := db.Executions()
	ids := func(f store.ExecutionFilter) (out []string) {
		t.Helper()
		must(t, store.All(func(p store.PageRequest) (store.Page[store.Summary], error) {
			p.Limit = 2
			return es.ListExecutions(ctx, f, p)
		}, func(s store.Summary) error {
			out = append(out, s.ID)
			return nil
		}))
		return out
	}
	same(t, "all", ids(store.ExecutionFilter{}), []string{"a", "b", "c", "d", "e", "f"})
	same(t, "running", ids(store.ExecutionFilter{Status: []store.Status{"running"}}), []string{"a", "d", "f"})
	same(t, "pending", ids(store.ExecutionFilter{Status: []store.Status{store.Pending}}), []string{"e"})
	same(t, "children", ids(store.ExecutionFilter{ParentID: ptr("a")}), []string{"f"})
	same(t, "roots", ids(store.ExecutionFilter{RootsOnly: true}), []string{"a", "b", "c", "d", "e"})
	counts, err := es.Counts(ctx)
	must(t, err)
	same(t, "counts", counts, store.Counts{Executions: 6, Outbox: 3, Spawns: 2, Timers: 3, Unreadable: 1,
		ByStatus: map[store.Status]int64{"RUNNING": 3, "FAILED": 1, "PENDING": 1}})
	var bad *store.RowError
	if _, err := es.Load(ctx, "b"); !errors.As(err, &bad) || string(bad.Raw) != "not json" || bad.Summary == nil {
		t.Errorf("the bad row: %v", err)
	}
	exe, err := es.Load(ctx, "c")
	must(t, err)
	same(t, "the column counts", fmt.Sprint(exe.Version, len(exe.Drift)), "3 1")
	outbox, err := es.PendingOutbox(ctx)
	must(t, err)
	same(t, "outbox", fmt.Sprint(len(outbox), outbox[1].Bad != nil, outbox[2].Bad == nil), "3 true true")
	spawns, err := es.PendingSpawns(ctx)
	must(t, err)
	same(t, "spawns", fmt.Sprint(spawns[0].Context, spawns[1].Bad != nil), `{"x": NaN}true`)
	steps, err := es.ReadTrace(ctx, "a")
	must(t, err)
	same(t, "trace", fmt.Sprint(steps[0].Index, steps[0].Bad == nil, steps[1].Bad != nil), "4 true true")
	timers, err := es.ListTimers(ctx, store.QueueFilter{}, store.PageRequest{})
	must(t, err)
	same(t, "timers", fmt.Sprint(len(timers.Items), timers.Items[0].Path, timers.Items[2].Bad != nil), "3rtrue")
	due, err := es.DueTimers(ctx, 10)
	must(t, err)
	same(t, "due", len(due), 1)
}

// Under another collation the order is the column's own, so that its key serves a page,
// and every row is listed once.
func TestForeignCollation(t *testing.T) {
	s, ctx := server(t), t.Context()
	at := s.Schema(t)
	s.ExecOn(t, at, foreignSet("harel")+`CREATE COLLATION odd (provider = icu, locale = 'en-u-kn-true'); ALTER TABLE harel_executions ALTER COLUMN id TYPE text COLLATE odd`)
	db := openDB(t, Options{URL: at, ReadWrite: true})
	var want []string
	for _, id := range []string{"a10", "a9", "B", "b", "ä", "A", "_", "-", "a-9", "z", "Z 1"} {
		must(t, db.Executions().Save(ctx, &store.Execution{ID: id, DefinitionID: "d"}))
		want = append(want, id)
	}
	var got []string
	must(t, store.All(func(p store.PageRequest) (store.Page[store.Summary], error) {
		p.Limit = 3
		return db.Executions().ListExecutions(ctx, store.ExecutionFilter{}, p)
	}, func(s store.Summary) error {
		got = append(got, s.ID)
		return nil
	}))
	if at, after := slices.Index(got, "a9"), slices.Index(got, "a10"); at > after {
		t.Errorf("not in the collation's order: %q", got)
	}
	slices.Sort(got)
	slices.Sort(want)
	same(t, "listed", got, want)
}

// The queues of a fleet, and a message put into one as harel does.
func TestTransport(t *testing.T) {
	s, ctx := server(t), t.Context()
	at := s.Schema(t)
	s.ExecOn(t, at, foreignSet("harel")+foreignTransport("harel")+foreignTransport("other")+`
INSERT INTO harel_transport_groups VALUES ('leased', 'w1', 9e9, 2), ('parked', '__parked__', 9e9, 0), ('dead', 'w2', 5, 0), ('empty', NULL, NULL, 1), ('poison', NULL, NULL, 0);
INSERT INTO harel_transport_messages (group_id, event) VALUES ('leased', '{"id":"1","kind":"Go"}'), ('leased', '{"id":"2","kind":"Go"}'),
 ('parked', '{"id":"3","kind":"Go"}'), ('dead', '{"id":"4","kind":"Go"}'), ('hidden', '{"id":"5","kind":"Go"}'), ('poison', '{')`)
	db := openDB(t, Options{URL: at, ReadWrite: true})
	q := db.Transport()
	states := func() (out []string) {
		t.Helper()
		must(t, store.All(func(p store.PageRequest) (store.Page[store.TransportQueue], error) {
			p.Limit = 2
			return q.Queues(ctx, store.TransportFilter{}, p)
		}, func(q store.TransportQueue) error {
			out = append(out, fmt.Sprintf("%s %d %s", q.ID, q.Depth, q.State(1e9)))
			return nil
		}))
		slices.Sort(out)
		return out
	}
	same(t, "queues", states(), []string{"dead 1 expired", "empty 0 empty", "hidden 1 hidden", "leased 2 leased", "parked 1 parked", "poison 1 poison"})
	counts, err := q.TransportCounts(ctx)
	must(t, err)
	same(t, "counts", counts, store.TransportCounts{Queues: 5, Messages: 6, Leased: 1, Parked: 1, Expired: 1, Hidden: 1})
	must(t, q.Publish(ctx, "new", store.Event{ID: "e", Kind: "Go", Data: `{"a":1}`}, 9))
	must(t, q.Publish(ctx, "leased", store.Event{ID: "f", Kind: "Go"}, 4)) // neither the lease nor the priority is touched
	page, err := q.Queues(ctx, store.TransportFilter{Queue: ptr("new")}, store.PageRequest{})
	must(t, err)
	same(t, "new", fmt.Sprint(len(page.Items), page.Items[0].Depth, *page.Items[0].Priority, page.Items[0].Head.Raw), `1 1 4{"id":"e","kind":"Go","created_time":null,"received_time":null,"data":{"a":1}}`)
	page, err = q.Queues(ctx, store.TransportFilter{Queue: ptr("leased")}, store.PageRequest{})
	must(t, err)
	same(t, "leased", fmt.Sprint(page.Items[0].Depth, page.Items[0].LockedBy, *page.Items[0].Priority), "3w12")
	messages, err := q.Messages(ctx, "leased", store.PageRequest{Limit: 2})
	must(t, err)
	same(t, "messages", fmt.Sprint(len(messages.Items), messages.Items[1].Event.ID, messages.Next != ""), "22true")
	if err := openDB(t, Options{URL: at}).Transport().Publish(ctx, "new", store.NewEvent("Go", ""), 0); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a message without --rw: %v", err)
	}
}

// A password is told by no error, wherever it came from.
func TestPasswords(t *testing.T) {
	s := server(t)
	t.Setenv("PGPASSWORD", "hunter2")
	for _, at := range []string{
		"postgres://ana:hunter2@127.0.0.1:1/x?connect_timeout=1", "postgres://ana:hunter2@127.0.0.1:x/x", "postgres://ana:hunter2%zz@127.0.0.1/x",
		"postgres://ana@127.0.0.1:1/x?connect_timeout=1", s.URLOf("nobody-hunter2x", url.Values{"password": {"hunter2x"}}),
		"postgres://127.0.0.1/x?password=hunter2&sslmode=hunter2",
	} {
		_, err := Open(t.Context(), Options{URL: at})
		if err == nil {
			t.Fatalf("%s was opened", at)
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if text := e.Error(); len(text) > 0 && containsPassword(text) {
				t.Errorf("%s: the error says %s", at, text)
			}
		}
	}
	db := openDB(t, Options{URL: s.SocketURL(), ReadWrite: true, Create: true, Prefix: ptr("socket")})
	same(t, "by the socket", db.Writable(), true)
}

func containsPassword(text string) bool { return strings.Contains(text, "hunter2") }

package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"treering/store"
)

// connect is a session of its own, in the schema of a URL.
func connect(t *testing.T, at string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), at)
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) }) //nolint:errcheck // it is over either way
	return conn
}

func with(t *testing.T, at string, params map[string]string) string {
	t.Helper()
	u, err := url.Parse(at)
	must(t, err)
	q := u.Query()
	for name, value := range params {
		q.Set(name, value)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// Setting up waits for harel's lock, so that several may do it at once; looking does not.
func TestSetUpTakesHarelsLock(t *testing.T) {
	s, ctx := server(t), t.Context()
	at := s.Schema(t)
	harel := connect(t, at)
	_, err := harel.Exec(ctx, "SELECT pg_advisory_lock(7723019)")
	must(t, err)
	_, err = Open(ctx, Options{URL: at})
	if !errors.Is(err, store.ErrStoreNotFound) {
		t.Errorf("looking while harel sets up: %v", err)
	}
	const setters = 4
	opened := make(chan error, setters)
	for range setters {
		go func() {
			db, err := Open(ctx, Options{URL: with(t, at, map[string]string{"application_name": "setter " + at}), ReadWrite: true, Create: true})
			if err == nil {
				err = db.Close()
			}
			opened <- err
		}()
	}
	for waiting := 0; waiting < setters; {
		must(t, harel.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'setter%' AND wait_event = 'advisory'").Scan(&waiting))
	}
	var tables int
	must(t, harel.QueryRow(ctx, "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace").Scan(&tables))
	same(t, "made while the lock is harel's", tables, 0)
	_, err = harel.Exec(ctx, "SELECT pg_advisory_unlock(7723019)")
	must(t, err)
	for range setters {
		must(t, <-opened)
	}
	openDB(t, Options{URL: at})
}

// Writers tell of their commits less often than they commit, and whoever listens hears of
// the last.
func TestNotificationsAreCoalesced(t *testing.T) {
	at := server(t).Schema(t)
	db := openDB(t, Options{URL: at, ReadWrite: true, Create: true})
	listener, ctx := connect(t, at), t.Context()
	_, err := listener.Exec(ctx, "LISTEN "+channel)
	must(t, err)
	exe := &store.Execution{ID: "e", DefinitionID: "d"}
	const commits = 300
	began := time.Now()
	for range commits {
		must(t, db.Executions().Save(ctx, exe))
	}
	took := time.Since(began)
	must(t, db.Close()) // it tells what is still to be told
	heard := 0
	for ; ; heard++ {
		wait, cancel := context.WithTimeout(ctx, time.Second)
		_, err := listener.WaitForNotification(wait)
		cancel()
		if err != nil {
			break
		}
	}
	if most := int(took/tellEvery) + 3; heard < 1 || heard > most || heard >= commits {
		t.Errorf("%d commits in %v were told of %d times, want 1 to %d", commits, took, heard, most)
	}
}

// What the URL says of timeouts holds, and is no unknown outcome: the server ended it.
func TestTimeouts(t *testing.T) {
	at, ctx := server(t).Schema(t), t.Context()
	openDB(t, Options{URL: at, ReadWrite: true, Create: true})
	db := openDB(t, Options{URL: with(t, at, map[string]string{"statement_timeout": "150", "lock_timeout": "50"}), ReadWrite: true})
	exe := &store.Execution{ID: "e", DefinitionID: "d"}
	must(t, db.Executions().Save(ctx, exe))
	err := db.read(ctx, func(q querier) error { return q.QueryRow(ctx, "SELECT pg_sleep(60)::text").Scan(new(string)) })
	if !errors.Is(err, store.ErrBusy) || !strings.Contains(err.Error(), "statement_timeout=MILLISECONDS") {
		t.Errorf("a statement that takes long: %v", err)
	}
	holder := connect(t, at)
	_, err = holder.Exec(ctx, "BEGIN; SELECT * FROM harel_executions FOR UPDATE", pgx.QueryExecModeSimpleProtocol)
	must(t, err)
	err = db.Executions().Save(ctx, exe)
	if !errors.Is(err, store.ErrBusy) || errors.Is(err, store.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "longer than lock_timeout") {
		t.Errorf("a row that somebody holds: %v", err)
	}
	_, err = holder.Exec(ctx, "ROLLBACK")
	must(t, err)
	must(t, db.Executions().Save(ctx, exe))
	// What the server is told at first is what is said in docs/servers.md.
	plain := openDB(t, Options{URL: at})
	must(t, plain.read(ctx, func(q querier) error {
		var statement, lock, readOnly string
		err := q.QueryRow(ctx, "SELECT current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('transaction_read_only')").Scan(&statement, &lock, &readOnly)
		same(t, "settings", statement+" "+lock+" "+readOnly, "30s 10s on")
		return err
	}))
}

// On a table of harel's, under whatever collation, the primary key serves every page.
func TestKeyServesForeignPages(t *testing.T) {
	s, ctx := server(t), t.Context()
	for _, collation := range []string{`"C"`, `"en-x-icu"`, `"default"`} {
		at := s.Schema(t)
		s.ExecOn(t, at, foreignSet("harel")+"ALTER TABLE harel_executions ALTER COLUMN id TYPE text COLLATE "+collation+`;
INSERT INTO harel_executions SELECT 'x' || n, 'd', '{"id":"x' || n || '","definition_id":"d","version":1,"context":{"s":"' || repeat('y', 300) || '"}}', 1 FROM generate_series(1, 20000) n; ANALYZE harel_executions`)
		looker := connect(t, at)
		stats := func() (rows, index int64) {
			t.Helper()
			_, err := looker.Exec(ctx, "SELECT pg_stat_clear_snapshot()")
			must(t, err)
			must(t, looker.QueryRow(ctx, "SELECT seq_tup_read, idx_scan FROM pg_stat_user_tables WHERE relid = 'harel_executions'::regclass").Scan(&rows, &index))
			return rows, index
		}
		var before, used int64
		for last := int64(-1); before != last; time.Sleep(50 * time.Millisecond) { // sessions tell when they end
			last = before
			before, used = stats()
		}
		db, err := Open(ctx, Options{URL: at})
		must(t, err)
		var page store.Page[store.Summary]
		for range 5 {
			page, err = db.Executions().ListExecutions(ctx, store.ExecutionFilter{}, store.PageRequest{Limit: 100, Cursor: page.Next})
			must(t, err)
			same(t, "rows", len(page.Items), 100)
		}
		must(t, db.Close())
		sequential, index := stats()
		for deadline := time.Now().Add(20 * time.Second); index < used+5 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			sequential, index = stats()
		}
		same(t, collation, fmt.Sprint(sequential-before <= 1, index >= used+5), "true true") // opening asks whether there is a row
	}
}

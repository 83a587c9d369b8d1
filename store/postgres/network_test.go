package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"treering/store"
	"treering/store/postgres/pgserver"
	"treering/store/storetest"
)

// throughProxy opens a new schema by way of a network that fails.
func throughProxy(t *testing.T, params url.Values) (*storetest.Proxy, *DB) {
	t.Helper()
	s := server(t)
	u, err := url.Parse(s.Schema(t))
	must(t, err)
	q := u.Query()
	for name, values := range params {
		q[name] = values
	}
	p := storetest.NewProxy(t, s.Addr())
	return p, openDB(t, Options{URL: pgserver.URLAt(p.Addr(), "postgres", q), ReadWrite: true, Create: true})
}

// isCommit recognises the statement of a commit, or its being bound again.
func isCommit(request []byte) bool {
	return bytes.Contains(request, []byte("lost-"))
}

// A connection that is cut after the commit was sent: the outcome is not known, and the
// same prepared value gives a conflict that says it was done; one that is cut before
// was not done, and succeeds.
func TestLostAnswer(t *testing.T) {
	p, db := throughProxy(t, nil)
	ctx, es := t.Context(), db.Executions()
	exe := &store.Execution{ID: "e", DefinitionID: "d"}
	must(t, es.Save(ctx, exe))
	for i := range 20 { // by the statement first, by the function later
		mark := fmt.Sprintf("lost-%d", i)
		c := store.Commit{Execution: exe, ProcessedEventID: &mark, Emits: []store.Emit{{Event: store.Event{ID: mark, Kind: "E"}}}}
		before := exe.Version
		p.LoseAnswer(isCommit)
		_, err := es.Commit(ctx, c)
		if !errors.Is(err, store.ErrOutcomeUnknown) || exe.Version != before {
			t.Fatalf("commit %d: %v, version in hand %d", i, err, exe.Version)
		}
		if !strings.Contains(err.Error(), "reload before trying again") {
			t.Errorf("it does not say what to do: %v", err)
		}
		_, err = es.Commit(ctx, c)
		var lost *store.ConflictError
		if !errors.As(err, &lost) || lost.Found == nil || *lost.Found != before+1 {
			t.Fatalf("commit %d again: %v", i, err)
		}
		exe.Version = *lost.Found
	}
	entries, err := es.PendingOutbox(ctx)
	must(t, err)
	same(t, "entries", len(entries), 20)

	root := store.Node{ID: "lost-root", Kind: "init", Data: `{"a":1}`}
	_, err = db.Trees().CreateSession(ctx, "s", "session", nil)
	must(t, err)
	p.LoseAnswer(isCommit)
	if err := db.Trees().Append(ctx, "s", root); !errors.Is(err, store.ErrOutcomeUnknown) {
		t.Errorf("an append: %v", err)
	}
	must(t, db.Trees().Append(ctx, "s", root))
	n, err := db.Trees().CountNodes(ctx, "s")
	must(t, err)
	same(t, "nodes", n, int64(1))

	// Nothing can be sent: that was certainly not done, and the same value is good.
	p.Refuse(true)
	p.Cut()
	var gone *ConnectionError
	if err := es.Save(ctx, exe); errors.Is(err, store.ErrOutcomeUnknown) || !errors.As(err, &gone) {
		t.Errorf("a server that takes no connection: %v", err)
	}
	p.Refuse(false)
	must(t, es.Save(ctx, exe))
	same(t, "version", exe.Version, int64(22))
}

// A server that is slow is waited for; one that keeps the connection and says nothing
// keeps nobody longer than it may take, and is found again.
func TestSilentServer(t *testing.T) {
	p, db := throughProxy(t, url.Values{"statement_timeout": {"400"}, "connect_timeout": {"1"}})
	same(t, "patience", db.patience, graceTimeout+400*time.Millisecond)
	db.patience = 400 * time.Millisecond
	ctx, es := t.Context(), db.Executions()
	exe := &store.Execution{ID: "e", DefinitionID: "d"}
	must(t, es.Save(ctx, exe))
	p.Delay(100 * time.Millisecond)
	must(t, es.Save(ctx, exe))
	if _, err := es.Load(ctx, "e"); err != nil {
		t.Errorf("a slow server: %v", err)
	}
	p.Delay(0)
	p.Stall(true)
	_, err := es.Load(ctx, "e")
	var gone *ConnectionError
	if !errors.As(err, &gone) || gone.Since.IsZero() || !strings.Contains(err.Error(), "has not answered for 400ms") {
		t.Errorf("a read: %v", err)
	}
	if err := es.Save(ctx, exe); !errors.Is(err, store.ErrOutcomeUnknown) && !errors.As(err, &gone) {
		t.Errorf("a write: %v", err)
	}
	impatient, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if _, err := es.Load(impatient, "e"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an impatient caller: %v", err)
	}
	p.Stall(false)
	p.Cut()
	for deadline := time.Now().Add(20 * time.Second); ; {
		if _, err = es.Load(ctx, "e"); err == nil || time.Now().After(deadline) {
			break
		}
	}
	must(t, err)
	if err := es.Save(ctx, exe); errors.Is(err, store.ErrConflict) {
		exe, err = es.Load(ctx, "e") // the write before was done
		must(t, err)
		must(t, es.Save(ctx, exe))
	}
}

// Leaving a server that is silent takes no longer than a moment.
func TestSilentServerIsLeft(t *testing.T) {
	p, db := throughProxy(t, nil)
	must(t, db.Executions().Save(t.Context(), &store.Execution{ID: "e", DefinitionID: "d"}))
	p.Stall(true)
	var given sync.WaitGroup
	for range 3 {
		given.Go(func() { // up: their connections are told that nobody waits any more
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if _, err := db.Executions().Load(ctx, "e"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a read of a silent server: %v", err)
			}
		})
	}
	given.Wait()
	began := time.Now()
	must(t, db.Close())
	if took := time.Since(began); took > closeTimeout+3*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestPatience(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": statementTimeout + graceTimeout, "0": 0, "1000": time.Second + graceTimeout, "2min": 2*time.Minute + graceTimeout, "500ms": 500*time.Millisecond + graceTimeout, "x": 0,
	} {
		same(t, text, patienceOf(text), want)
	}
}

// Rights that are taken away from a writer in the middle refuse a commit whole.
func TestRevokedWriting(t *testing.T) {
	s, ctx := server(t), t.Context()
	at := s.Schema(t)
	openDB(t, Options{URL: at, ReadWrite: true, Create: true})
	u, err := url.Parse(at)
	must(t, err)
	schema := u.Query().Get("search_path")
	s.Exec(t, fmt.Sprintf("CREATE ROLE writer_%[1]s LOGIN; GRANT USAGE ON SCHEMA %[1]s TO writer_%[1]s; GRANT ALL ON ALL TABLES IN SCHEMA %[1]s TO writer_%[1]s; GRANT ALL ON ALL SEQUENCES IN SCHEMA %[1]s TO writer_%[1]s", schema))
	u.User = url.User("writer_" + schema)
	db := openDB(t, Options{URL: u.String(), ReadWrite: true})
	es, exe, target := db.Executions(), &store.Execution{ID: "e", DefinitionID: "d"}, "e"
	commit := func() error {
		mark := fmt.Sprintf("m-%d", exe.Version+1)
		_, err := es.Commit(ctx, store.Commit{
			Execution: exe, ProcessedEventID: &mark, Emits: []store.Emit{{TargetID: &target, Event: store.Event{ID: mark, Kind: "E"}}},
			Timers: []store.TimerOp{{Action: store.Schedule, Path: "p", FireAt: 1}}, Spawns: []store.Spawn{{ChildID: mark}}, Trace: "{}",
		})
		return err
	}
	for range 20 { // by the statement and by the function
		must(t, commit())
	}
	want := exe.Version
	for _, table := range []string{"executions", "outbox", "processed_events", "timers", "spawns", "trace"} {
		s.Exec(t, fmt.Sprintf("REVOKE INSERT, UPDATE ON %[1]s.harel_%[2]s FROM writer_%[1]s", schema, table))
		err := commit()
		if err == nil || errors.Is(err, store.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "harel_"+table) || !strings.Contains(err.Error(), "lacks the right") {
			t.Errorf("without the right to %s: %v", table, err)
		}
		got, err := es.Load(ctx, "e")
		must(t, err)
		entries, err := es.PendingOutbox(ctx)
		must(t, err)
		same(t, "left behind by the refused commit", fmt.Sprint(got.Version-want, len(entries)-int(want)), "0 0")
		s.Exec(t, fmt.Sprintf("GRANT INSERT, UPDATE ON %[1]s.harel_%[2]s TO writer_%[1]s", schema, table))
	}
	must(t, commit())
}

// Who cannot connect is told to what and why, once, in one line.
func TestConnectingCause(t *testing.T) {
	for text, want := range map[string]string{
		"failed to connect to `user=ana database=shop`:\n\t127.0.0.1:1 (localhost): dial error: dial tcp 127.0.0.1:1: connect: connection refused\n\t127.0.0.1:1 (localhost): dial error: dial tcp 127.0.0.1:1: connect: connection refused\n\t[::1]:1 (localhost): server error: FATAL: no (53300)": "127.0.0.1:1: connection refused; [::1]:1: server error: FATAL: no (53300)",
		"failed to connect to `user=ana database=shop`: hostname resolving error: lookup db.example: no such host": "failed to connect to `user=ana database=shop`: hostname resolving error: lookup db.example: no such host",
	} {
		same(t, "cause", connectingCause(text), want)
	}
	_, err := Open(t.Context(), Options{URL: "postgres://ana:hunter2@127.0.0.1:1/shop"})
	var gone *ConnectionError
	if !errors.As(err, &gone) || !strings.HasSuffix(err.Error(), ": 127.0.0.1:1: connection refused") {
		t.Errorf("nobody listens: %v", err)
	}
}

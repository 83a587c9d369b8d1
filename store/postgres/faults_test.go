package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"treering/store"
	"treering/store/postgres/pgserver"
)

// counted is the retry rule of a caller: the same prepared commit again after an
// unknown outcome, where a conflict with the next version says that it was done.
func countUp(ctx context.Context, es store.ExecutionStore, id string, n int, acknowledged func(v int64)) error {
	exe := &store.Execution{ID: id, DefinitionID: "d", Status: store.Running}
	deadline := time.Now().Add(2 * time.Minute)
	for exe.Version < int64(n) {
		next := exe.Version + 1
		mark := fmt.Sprintf("%s-%d", id, next)
		c := store.Commit{
			Execution: exe, ProcessedEventID: &mark, Emits: []store.Emit{{TargetID: &id, Event: store.Event{ID: mark, Kind: "E"}}},
			Trace: store.JSON(fmt.Sprintf(`{"n":%d}`, next)),
		}
		_, err := es.Commit(ctx, c)
		var lost *store.ConflictError
		switch {
		case err == nil:
			acknowledged(exe.Version)
		case errors.As(err, &lost) && lost.Found != nil && *lost.Found == next:
			done, err := es.IsProcessed(ctx, id, mark)
			if err == nil && !done {
				return fmt.Errorf("version %d of %s is somebody else's", next, id)
			}
			if err == nil {
				exe.Version = next
			}
		case errors.As(err, &lost):
			return err
		default:
			if time.Now().After(deadline) {
				return err
			}
			time.Sleep(20 * time.Millisecond) // the server is away
		}
	}
	return nil
}

// What was acknowledged is there after a crash of the server, and nothing is twice.
func TestServerIsKilled(t *testing.T) {
	s := pgserver.Start(t)
	db := openDB(t, Options{URL: s.Schema(t), ReadWrite: true, Create: true, TraceMax: ptr(0)})
	const writers = 8
	each := 1250
	if testing.Short() {
		each = 60
	}
	ctx := t.Context()
	var wg sync.WaitGroup
	var mu sync.Mutex
	high := make([]int64, writers)
	fails := make([]error, writers)
	half := make(chan struct{})
	var once sync.Once
	for w := range writers {
		wg.Go(func() {
			fails[w] = countUp(ctx, db.Executions(), fmt.Sprintf("e%d", w), each, func(v int64) {
				mu.Lock()
				defer mu.Unlock()
				high[w] = v
				total := int64(0)
				for _, h := range high {
					total += h
				}
				if total >= int64(writers*each/3) {
					once.Do(func() { close(half) })
				}
			})
		})
	}
	<-half
	must(t, s.Kill())
	mu.Lock()
	before := append([]int64(nil), high...)
	mu.Unlock()
	_, err := db.ChangeToken(ctx)
	var gone *ConnectionError
	if !errors.As(err, &gone) || gone.Since.IsZero() || !strings.Contains(err.Error(), "cannot be reached since") {
		t.Errorf("while the server is gone: %v", err)
	}
	must(t, s.Up())
	for w := range writers {
		exe, err := db.Executions().Load(ctx, fmt.Sprintf("e%d", w))
		if before[w] > 0 && (err != nil || exe.Version < before[w]) {
			t.Errorf("e%d was acknowledged at version %d, and is %v, %v", w, before[w], exe, err)
		}
	}
	wg.Wait()
	must(t, errors.Join(fails...))
	seen := map[string]int{}
	pending, err := db.Executions().PendingOutbox(ctx)
	must(t, err)
	for _, e := range pending {
		seen[e.Event.ID]++
	}
	for w := range writers {
		id := fmt.Sprintf("e%d", w)
		steps, err := db.Executions().ReadTrace(ctx, id)
		must(t, err)
		same(t, "steps of "+id, len(steps), each)
		for i := range each {
			if n := seen[fmt.Sprintf("%s-%d", id, i+1)]; n != 1 {
				t.Fatalf("commit %d of %s is in the outbox %d times", i+1, id, n)
			}
		}
	}
	same(t, "outbox", len(pending), writers*each)
}

// A session that an administrator ends is an answer that may have been lost; the next
// call has a new one.
func TestKilledBackends(t *testing.T) {
	s := server(t)
	at := s.URLOf("postgres", url.Values{"search_path": {"killed"}, "application_name": {"victim"}})
	s.Exec(t, "CREATE SCHEMA killed")
	db := openDB(t, Options{URL: at, ReadWrite: true, Create: true})
	ctx := t.Context()
	exe := &store.Execution{ID: "e", DefinitionID: "d"}
	must(t, db.Executions().Save(ctx, exe))
	for range 5 {
		s.Exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'")
		if _, err := db.Executions().Load(ctx, "e"); err != nil {
			t.Errorf("read: %v", err)
		}
		s.Exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'")
		err := db.Executions().Save(ctx, exe)
		if errors.Is(err, store.ErrOutcomeUnknown) {
			// The same again: done, or a conflict that says it was.
			err = db.Executions().Save(ctx, exe)
		}
		if err != nil {
			t.Errorf("write: %v", err)
		}
	}
	// While it waits for a lock the answer is lost for sure.
	conn, err := pgx.Connect(ctx, at)
	must(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // it is over either way
	_, err = conn.Exec(ctx, "SET application_name = 'holder'; BEGIN; LOCK TABLE harel_executions IN EXCLUSIVE MODE", pgx.QueryExecModeSimpleProtocol)
	must(t, err)
	before := exe.Version
	result := make(chan error, 1)
	go func() { result <- db.Executions().Save(ctx, exe) }()
	for waiting := 0; waiting == 0; {
		_, err = conn.Exec(ctx, "SELECT pg_stat_clear_snapshot()") // a transaction sees one state
		must(t, err)
		must(t, conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'victim' AND wait_event_type = 'Lock'").Scan(&waiting))
	}
	_, err = conn.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim' AND wait_event_type = 'Lock'")
	must(t, err)
	if err := <-result; !errors.Is(err, store.ErrOutcomeUnknown) {
		t.Errorf("a write whose session was ended: %v, want an unknown outcome", err)
	}
	same(t, "version in hand", exe.Version, before)
	_, err = conn.Exec(ctx, "ROLLBACK")
	must(t, err)
	must(t, db.Executions().Save(ctx, exe)) // the same prepared value
}

// A caller that goes away leaves no transaction behind, and knows that it does not know.
func TestAbandonedWrite(t *testing.T) {
	db := openNew(t)
	ctx := t.Context()
	exe := &store.Execution{ID: "e", DefinitionID: "d"}
	must(t, db.Executions().Save(ctx, exe))
	conn, err := pgx.ConnectConfig(ctx, db.config.Copy())
	must(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // it is over either way
	_, err = conn.Exec(ctx, "BEGIN; LOCK TABLE harel_executions IN EXCLUSIVE MODE", pgx.QueryExecModeSimpleProtocol)
	must(t, err)
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	err = db.Executions().Save(short, exe)
	if !errors.Is(err, store.ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an abandoned write: %v", err)
	}
	_, err = conn.Exec(ctx, "ROLLBACK")
	must(t, err)
	must(t, db.Close()) // it waits for the write
	_, err = db.Executions().Load(ctx, "e")
	if !errors.Is(err, store.ErrClosed) {
		t.Errorf("after closing: %v", err)
	}
}

// Rights that are taken away are said, table by table, and given back they work again.
func TestRevokedRights(t *testing.T) {
	s := server(t)
	s.Exec(t, "CREATE ROLE reader LOGIN; CREATE SCHEMA rights; GRANT USAGE ON SCHEMA rights TO reader")
	owner := openDB(t, Options{URL: s.URLOf("postgres", url.Values{"search_path": {"rights"}}), ReadWrite: true, Create: true})
	ctx := t.Context()
	must(t, owner.Executions().Save(ctx, &store.Execution{ID: "e", DefinitionID: "d"}))
	s.Exec(t, "GRANT SELECT ON rights.harel_executions TO reader")
	at := s.URLOf("reader", url.Values{"search_path": {"rights"}})
	db := openDB(t, Options{URL: at})
	page, err := db.Executions().ListExecutions(ctx, store.ExecutionFilter{}, store.PageRequest{})
	must(t, err)
	same(t, "listed", len(page.Items), 1)
	_, err = db.Executions().PendingOutbox(ctx)
	if err == nil || !strings.Contains(err.Error(), "permission denied") || !strings.Contains(err.Error(), "lacks the right") {
		t.Errorf("a table without rights: %v", err)
	}
	set, _ := db.Set()
	if len(set.Missing) == 0 || !strings.Contains(set.Missing[0].Reason, "rights") {
		t.Errorf("missing: %v", set.Missing)
	}
	if err := db.Executions().Save(ctx, &store.Execution{ID: "f"}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a write without --rw: %v", err)
	}
	s.Exec(t, "REVOKE SELECT ON rights.harel_executions FROM reader")
	if _, err := db.Executions().Load(ctx, "e"); err == nil || errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("after the revocation: %v", err)
	}
	s.Exec(t, "GRANT SELECT ON rights.harel_executions TO reader")
	if _, err := db.Executions().Load(ctx, "e"); err != nil {
		t.Errorf("after the grant: %v", err)
	}
}

// A server that takes no writes is opened for reading, and says why.
func TestServerTakesNoWrites(t *testing.T) {
	s := server(t)
	s.Exec(t, "CREATE ROLE frozen LOGIN SUPERUSER; ALTER ROLE frozen SET default_transaction_read_only = on; CREATE SCHEMA cold")
	params := url.Values{"search_path": {"cold"}}
	openDB(t, Options{URL: s.URLOf("postgres", params), ReadWrite: true, Create: true})
	db := openDB(t, Options{URL: s.URLOf("frozen", params), ReadWrite: true, Create: true})
	how, why := db.How()
	if db.Writable() || how != "read-only transactions" || !strings.Contains(why, "default_transaction_read_only") {
		t.Errorf("writable %t, %s: %s", db.Writable(), how, why)
	}
	if err := db.Executions().Save(t.Context(), &store.Execution{ID: "e"}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a write: %v", err)
	}
}

// Without --rw the server itself refuses every write, and nothing is made.
func TestReadOnlyTransactions(t *testing.T) {
	s := server(t)
	at := s.Schema(t)
	_, err := Open(t.Context(), Options{URL: at, Create: true})
	var nothing *NothingError
	if !errors.As(err, &nothing) || !errors.Is(err, store.ErrStoreNotFound) {
		t.Fatalf("an empty schema: %v", err)
	}
	openDB(t, Options{URL: at, ReadWrite: true, Create: true})
	db := openDB(t, Options{URL: at})
	err = db.read(t.Context(), func(q querier) error {
		rows, err := q.Query(t.Context(), "DELETE FROM harel_executions")
		if err != nil {
			return err
		}
		rows.Close()
		return rows.Err()
	})
	if !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("the server takes a write in a read-only session: %v", err)
	}
}

// Two processes: what one commits the other sees, and is told of at once.
func TestNotification(t *testing.T) {
	s := server(t)
	at := s.Schema(t)
	one := openDB(t, Options{URL: at, ReadWrite: true, Create: true})
	other := openDB(t, Options{URL: at})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	token, err := other.ChangeToken(ctx)
	must(t, err)
	exe := &store.Execution{ID: "e", DefinitionID: "d"}
	for i := range 5 {
		result := make(chan error, 1)
		go func() {
			now, err := other.Wait(ctx, token)
			if err == nil && now == token {
				err = errors.New("the token did not move")
			}
			token = now
			result <- err
		}()
		must(t, one.Executions().Save(ctx, exe))
		must(t, <-result)
		got, err := other.Executions().Load(ctx, "e")
		must(t, err)
		same(t, "version", got.Version, int64(i+1))
	}
	a, err := one.Identity(ctx)
	must(t, err)
	b, err := other.Identity(ctx)
	must(t, err)
	same(t, "identity", a, b)
	if !strings.Contains(other.Noticing(), "at once") {
		t.Errorf("noticing: %s", other.Noticing())
	}
}

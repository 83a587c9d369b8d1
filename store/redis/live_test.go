package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"treering/store"
)

// fill writes n executions as harel does, past our own bookkeeping.
func fill(t testing.TB, s *testServer, db, from, n int) {
	t.Helper()
	c := s.client(t, db)
	pipe := c.Pipeline()
	for i := from; i < from+n; i++ {
		id := fmt.Sprintf("x%07d", i)
		blob, err := newExecution(id).Encode(1)
		ok(t, err)
		pipe.Set(t.Context(), "harel:exe:"+id, blob, 0)
		if pipe.Len() == 1000 || i == from+n-1 {
			_, err := pipe.Exec(t.Context())
			ok(t, err)
		}
	}
}

func listed(t testing.TB, es store.ExecutionStore, limit int) []string {
	t.Helper()
	var ids []string
	ok(t, store.All(func(p store.PageRequest) (store.Page[store.Summary], error) {
		p.Limit = limit
		return es.ListExecutions(context.Background(), store.ExecutionFilter{}, p)
	}, func(s store.Summary) error {
		ids = append(ids, s.ID)
		return nil
	}))
	return ids
}

// In a database too large to be scanned for every list, each row still appears once and
// in order while keys come and go; what treering inserts is there at once, what others
// do soon, and the change token moves when it was found.
func TestLargeDatabase(t *testing.T) {
	s := startServer(t)
	const n = syncKeys + 3000
	fill(t, s, 0, 0, n)
	d := open(t, Options{URL: s.url(0), ReadWrite: true})
	es, ctx := d.Executions(), t.Context()
	ids := listed(t, es, 700)
	if len(ids) != n || !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != n {
		t.Fatalf("%d rows of %d, sorted %v", len(ids), n, slices.IsSorted(ids))
	}
	for _, id := range []string{"a-first", "x0000007b", "z-last"} {
		ok(t, es.Save(ctx, newExecution(id)))
	}
	ids = listed(t, es, 1000)
	if len(ids) != n+3 || ids[0] != "a-first" || ids[n+2] != "z-last" || ids[9] != "x0000007b" {
		t.Errorf("%d rows after three were inserted", len(ids))
	}
	purged, err := es.Purge(ctx, "a-first", 1)
	ok(t, err)
	equal(t, "purged", purged, true)
	if ids = listed(t, es, 1000); len(ids) != n+2 || ids[0] != "x0000000" {
		t.Errorf("%d rows after one was purged", len(ids))
	}
	// Others insert while the table of keys grows.
	var others sync.WaitGroup
	others.Go(func() { fill(t, s, 0, n, 20_000) })
	for range 5 {
		ids := listed(t, es, 1000)
		seen := slices.Compact(slices.Clone(ids))
		if len(seen) != len(ids) || !slices.IsSorted(ids) || len(ids) < n+2 {
			t.Errorf("%d rows, %d different ones, at least %d are there", len(ids), len(seen), n+2)
		}
	}
	others.Wait()
	wait, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for token := ""; ; {
		if token, err = d.Wait(wait, token); err != nil {
			t.Fatalf("what others inserted is not found: %v", err)
		}
		if len(listed(t, es, 1000)) == n+2+20_000 {
			break
		}
	}
}

// A key of an execution that holds no text is a bad row, as is one whose text is none.
func TestBadRows(t *testing.T) {
	s := startServer(t)
	c, ctx := s.client(t, 0), t.Context()
	fill(t, s, 0, 0, 3)
	ok(t, c.HSet(ctx, "harel:exe:hash", "a", 1).Err())
	ok(t, c.RPush(ctx, "harel:exe:list", "a").Err())
	ok(t, c.Set(ctx, "harel:exe:junk", "{{{", 0).Err())
	ok(t, c.Set(ctx, "harel:exe:nul", `{"id":"nul","definition_id":"d","version":1,"status":"DONE","context":{"s":"\u0000"}}`, 0).Err())
	es := open(t, Options{URL: s.url(0)}).Executions()
	var rows []string
	ok(t, store.All(func(p store.PageRequest) (store.Page[store.Summary], error) {
		p.Limit = 2
		return es.ListExecutions(ctx, store.ExecutionFilter{}, p)
	}, func(s store.Summary) error {
		rows = append(rows, fmt.Sprint(s.ID, " ", s.Bad != nil))
		return nil
	}))
	equal(t, "rows", rows, []string{"hash true", "junk true", "list true", "nul false", "x0000000 false", "x0000001 false", "x0000002 false"})
	counts, err := es.Counts(ctx)
	ok(t, err)
	equal(t, "counts", fmt.Sprint(counts.Executions, counts.Unreadable), "7 3")
	_, err = es.Load(ctx, "hash")
	var bad *store.RowError
	if !errors.As(err, &bad) || bad.Summary == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("a hash: %v", err)
	}
}

// The change token moves with every write, whoever does it, and stays where it is while
// nobody writes; whoever waits is woken.
func TestWatching(t *testing.T) {
	s := startServer(t)
	d := openNew(t, s.url(0))
	ctx, c := t.Context(), s.client(t, 0)
	last, err := d.ChangeToken(ctx)
	ok(t, err)
	moved := func(what string, change func() error) {
		t.Helper()
		woken := make(chan error, 1)
		var now string
		go func() {
			var err error
			now, err = d.Wait(ctx, last)
			woken <- err
		}()
		ok(t, change())
		select {
		case err := <-woken:
			ok(t, err)
		case <-time.After(5 * time.Second):
			t.Fatalf("%s: nobody was woken", what)
		}
		last = now
	}
	moved("a commit", func() error { return d.Executions().Save(ctx, newExecution("e")) })
	moved("harel's commit", func() error { return c.Set(ctx, "harel:exe:e", `{"id":"e","version":2}`, 0).Err() })
	moved("a queue", func() error { return c.HSet(ctx, "harel:outbox", "1", "{}").Err() })
	moved("a tree", func() error { _, err := d.Trees().CreateSession(ctx, "s", "session", nil); return err })
	moved("an ack", func() error { _, err := d.Executions().AckOutbox(ctx, 1); return err })
	_ = listed(t, d.Executions(), 0)
	for range 3 {
		now, err := d.ChangeToken(ctx)
		ok(t, err)
		equal(t, "token while nothing happens", now, last)
	}
	if !strings.HasPrefix(d.Noticing(), "within 100ms, by asking") {
		t.Error(d.Noticing())
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = d.Wait(gone, last)
	is(t, err, context.Canceled)
	s.kill()
	_, err = d.Wait(ctx, last)
	is(t, err, ErrUnreachable)
	s.start(t)
	if now, err := d.Wait(ctx, ""); err != nil || now == "" {
		t.Errorf("after the restart: %q, %v", now, err)
	}
}

// Prefixes are found, and told apart, by what is there.
func TestPrefixes(t *testing.T) {
	s := startServer(t)
	ctx := t.Context()
	_, err := Open(ctx, Options{URL: s.url(0)})
	is(t, err, store.ErrNotAStore)
	equal(t, "keys", s.client(t, 0).DBSize(ctx).Val(), 0)
	empty := open(t, Options{URL: s.url(0), Prefix: new("fleet")})
	equal(t, "rows of an empty one", len(listed(t, empty.Executions(), 0)), 0)
	c := s.client(t, 1)
	ok(t, c.Set(ctx, "stm:exe:a:exe:b", `{"version":1}`, 0).Err())
	ok(t, c.Set(ctx, "strange name:exe:a", `x`, 0).Err())
	d := open(t, Options{URL: s.url(1)})
	equal(t, "prefix", d.Prefix(), LegacyPrefix)
	equal(t, "ids", listed(t, d.Executions(), 0), []string{"a:exe:b"})
	ok(t, c.Set(ctx, "fleet_2:exe:z", `{"version":1}`, 0).Err())
	_, err = Open(ctx, Options{URL: s.url(1)})
	var several *AmbiguousSetError
	if !errors.As(err, &several) || len(several.Sets) != 2 || several.Sets[0] != (Set{"fleet_2", 1}) {
		t.Errorf("two prefixes: %v", err)
	}
	d = open(t, Options{URL: s.url(1), Prefix: new("fleet_2")})
	equal(t, "ids", listed(t, d.Executions(), 0), []string{"z"})
	// Characters of patterns are characters like any other.
	odd := open(t, Options{URL: s.url(2), Prefix: new(`a*[b]?\^-`), ReadWrite: true, Create: true})
	ok(t, s.client(t, 2).Set(ctx, `axb:exe:other`, `{}`, 0).Err())
	ok(t, odd.Executions().Save(ctx, newExecution(`*`)))
	equal(t, "ids", listed(t, odd.Executions(), 0), []string{"*"})
	for _, bad := range []string{"", "a{", "a{}", "a\x00"} {
		if _, err := Open(ctx, Options{URL: s.url(3), Prefix: &bad}); err == nil {
			t.Errorf("prefix %q was taken", bad)
		}
	}
	// A server is written to where that was asked for, whoever made the store.
	openNew(t, s.url(4))
	for at, ours := range map[int]bool{4: true, 1: false} {
		prefix := DefaultPrefix
		if !ours {
			prefix = LegacyPrefix
		}
		d := open(t, Options{URL: s.url(at), Prefix: &prefix})
		if d.Ours() != ours || d.Writable() {
			t.Errorf("database %d: ours %t, writable %t", at, d.Ours(), d.Writable())
		}
	}
}

package rqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"treering/store"
)

func exeOf(id string) *store.Execution {
	return &store.Execution{ID: id, DefinitionID: "shop", Status: store.Running, Context: store.EmptyObject}
}

func fullCommit(exe *store.Execution, tag string) store.Commit {
	target, event := "target", "event-"+tag
	return store.Commit{
		Execution: exe, ProcessedEventID: &event,
		Emits:  []store.Emit{{TargetID: &target, Event: store.Event{ID: "one-" + tag, Kind: "E"}}, {Event: store.Event{ID: "two-" + tag, Kind: "E"}}},
		Timers: []store.TimerOp{{Action: store.Schedule, Path: "p-" + tag, FireAt: 1.5}},
		Spawns: []store.Spawn{{ChildID: "child-" + tag}},
		Trace:  store.ObjectOf(store.Member{Key: "tag", Value: store.Quote(tag)}),
	}
}

// Two writers that send the very same bytes: harel's guard by the text lets the loser's
// companions through; here nothing of them remains.
func TestLoserWithEqualBytesLeavesNothing(t *testing.T) {
	es := openNew(t, newStandIn(t, 1), Options{}).Executions()
	first, second := exeOf("e"), exeOf("e")
	if _, err := es.Commit(t.Context(), fullCommit(first, "a")); err != nil {
		t.Fatal(err)
	}
	_, err := es.Commit(t.Context(), fullCommit(second, "a"))
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) || conflict.Found == nil || *conflict.Found != 1 || second.Version != 0 {
		t.Fatalf("the second commit: %v, version in hand %d", err, second.Version)
	}
	outbox, err := es.PendingOutbox(t.Context())
	if err != nil || len(outbox) != 2 {
		t.Errorf("outbox %d, %v; want the winner's 2", len(outbox), err)
	}
	steps, err := es.ReadTrace(t.Context(), "e")
	if err != nil || len(steps) != 1 {
		t.Errorf("trace %d, %v; want 1", len(steps), err)
	}
}

func TestLostAnswers(t *testing.T) {
	for fault, done := range map[standInFault]bool{loseAnswer: true, loseRequest: false, loseOffice: true, failAfter: true, slowAnswer: true} {
		t.Run(fmt.Sprint(fault), func(t *testing.T) {
			c := newStandIn(t, 1)
			a := c.addressOf(t)
			db := openNew(t, c, Options{})
			a.Timeout = 300 * time.Millisecond
			hasty := openAt(t, a, Options{ReadWrite: true})
			es := hasty.Executions()
			exe := exeOf("e")
			c.faults <- fault
			_, err := es.Commit(t.Context(), fullCommit(exe, "a"))
			if !errors.Is(err, store.ErrOutcomeUnknown) || exe.Version != 0 {
				t.Fatalf("%v, version in hand %d; want an unknown outcome", err, exe.Version)
			}
			// The same prepared value again: done now, or seen to be done.
			_, err = es.Commit(t.Context(), fullCommit(exe, "a"))
			var conflict *store.ConflictError
			switch {
			case done && (!errors.As(err, &conflict) || *conflict.Found != 1):
				t.Fatalf("again: %v; want a conflict with its own version", err)
			case !done && err != nil:
				t.Fatalf("again: %v", err)
			}
			outbox, err := db.Executions().PendingOutbox(t.Context())
			if err != nil || len(outbox) != 2 || outbox[0].Seq != 1 || outbox[1].Seq != 2 {
				t.Errorf("outbox %v, %v; want it once", outbox, err)
			}

			c.faults <- fault
			node := store.Node{ID: "r", Kind: "run", Data: store.EmptyObject}
			if _, err := db.Trees().CreateSession(t.Context(), "s", "session", nil); fault != slowAnswer && !errors.Is(err, store.ErrOutcomeUnknown) {
				t.Errorf("a session: %v", err)
			}
			for range 2 {
				if _, err := hasty.Trees().CreateSession(t.Context(), "s", "session", nil); err != nil {
					t.Fatal(err)
				}
			}
			c.faults <- fault
			if err := hasty.Trees().Append(t.Context(), "s", node); !errors.Is(err, store.ErrOutcomeUnknown) {
				t.Fatalf("an append: %v", err)
			}
			for range 2 {
				if err := hasty.Trees().Append(t.Context(), "s", node); err != nil {
					t.Fatal(err)
				}
			}
			if n, err := hasty.Trees().CountNodes(t.Context(), "s"); err != nil || n != 1 {
				t.Errorf("%d nodes, %v; want 1", n, err)
			}
		})
	}
}

func TestOneNodeDown(t *testing.T) {
	c := newStandIn(t, 3)
	db := openNew(t, c, Options{Browse: true})
	es := db.Executions()
	exe := exeOf("e")
	for i, what := range []func(){
		func() {}, func() { c.nodes[1].kill() }, func() { c.nodes[1].restart(t); c.nodes[0].kill() },
		func() { c.nodes[0].restart(t) }, func() { c.stepDown(2) },
	} {
		what()
		err := es.Save(t.Context(), exe)
		if errors.Is(err, store.ErrOutcomeUnknown) { // through a connection that broke with the node
			err = es.Save(t.Context(), exe)
			var conflict *store.ConflictError
			if errors.As(err, &conflict) && *conflict.Found == exe.Version+1 {
				exe.Version, err = exe.Version+1, nil
			}
		}
		if err != nil {
			t.Fatalf("save %d: %v", i, err)
		}
		got, err := es.Load(t.Context(), "e")
		if err != nil || got.Version != exe.Version {
			t.Fatalf("load %d: %v, %v", i, got, err)
		}
		page, err := es.ListExecutions(t.Context(), store.ExecutionFilter{}, store.PageRequest{})
		if err != nil || len(page.Items) != 1 || page.Items[0].Version != exe.Version {
			t.Fatalf("list %d after an own write: %v, %v", i, page, err)
		}
	}
}

func TestNoNode(t *testing.T) {
	c := newStandIn(t, 3)
	a := c.addressOf(t)
	a.Timeout = 200 * time.Millisecond
	openNew(t, c, Options{})
	db := openAt(t, a, Options{ReadWrite: true})
	c.nodes[0].kill()
	c.nodes[1].kill()
	exe := exeOf("e")
	err := db.Executions().Save(t.Context(), exe)
	if errors.Is(err, store.ErrOutcomeUnknown) { // through a connection that broke with the node
		err = db.Executions().Save(t.Context(), exe)
	}
	if !errors.Is(err, ErrUnavailable) || errors.Is(err, store.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "leader not found") {
		t.Errorf("without a majority: %v", err)
	}
	c.nodes[2].kill()
	if _, err = db.Executions().Load(t.Context(), "e"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without any node: %v", err)
	}
	for _, n := range c.nodes {
		n.restart(t)
	}
	if err := db.Executions().Save(t.Context(), exe); err != nil {
		t.Errorf("after they are back: %v", err)
	}
}

func TestStalledNode(t *testing.T) {
	c := newStandIn(t, 1)
	a := c.addressOf(t)
	a.Timeout = 200 * time.Millisecond
	openNew(t, c, Options{})
	db := openAt(t, a, Options{ReadWrite: true})
	c.nodes[0].stalled.Store(true)
	if _, err := db.Executions().Load(t.Context(), "e"); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "in time") {
		t.Errorf("a read: %v", err)
	}
	if err := db.Executions().Save(t.Context(), exeOf("e")); !errors.Is(err, store.ErrOutcomeUnknown) {
		t.Errorf("a write: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.Executions().Load(ctx, "e"); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
}

// What is only looked at costs the cluster's log nothing.
func TestReadingWritesNoLog(t *testing.T) {
	c := newStandIn(t, 2)
	es := openNew(t, c, Options{}).Executions()
	if _, err := es.Commit(t.Context(), fullCommit(exeOf("e"), "a")); err != nil {
		t.Fatal(err)
	}
	writes, strongs := c.writes.Load(), c.strong.Load()
	db := openAt(t, c.addressOf(t), Options{Browse: true})
	ctx, s := t.Context(), db.Executions()
	_, err1 := s.Load(ctx, "e")
	_, err2 := s.ListExecutions(ctx, store.ExecutionFilter{Status: []store.Status{store.Running}}, store.PageRequest{})
	_, err3 := s.Counts(ctx)
	_, err4 := s.PendingOutbox(ctx)
	_, err5 := db.ChangeToken(ctx)
	_, err6 := db.Trees().ListSessions(ctx, store.SessionFilter{}, store.PageRequest{})
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"save": s.Save(ctx, exeOf("f")), "append": db.Trees().Append(ctx, "s", store.Node{ID: "r", Kind: "run", Data: store.EmptyObject}),
		"purge": func() error { _, err := s.Purge(ctx, "e", 1); return err }(),
	} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: %v; want that it is read-only", what, err)
		}
	}
	if w, r := c.writes.Load(), c.strong.Load(); w != writes || r != strongs {
		t.Errorf("reading made %d writes and %d strong reads", w-writes, r-strongs)
	}
	if said := db.Staleness(); !strings.Contains(said, "leader") {
		t.Errorf("staleness: %q", said)
	}
	if said := db.Noticing(); !strings.Contains(said, "250ms") {
		t.Errorf("noticing: %q", said)
	}
}

func TestNothingIsMadeByLooking(t *testing.T) {
	c := newStandIn(t, 1)
	if _, err := Open(t.Context(), Options{Address: c.addressOf(t), Browse: true}); !errors.Is(err, store.ErrNotAStore) {
		t.Errorf("an empty database: %v", err)
	}
	if _, err := Open(t.Context(), Options{Address: c.addressOf(t), ReadWrite: true}); !errors.Is(err, store.ErrNotAStore) {
		t.Errorf("an empty database with writing: %v", err)
	}
	if n := c.writes.Load(); n != 0 {
		t.Errorf("looking made %d writes", n)
	}
}

func TestCredentials(t *testing.T) {
	c := newStandIn(t, 1)
	c.user, c.password = "ana", "se:cr@t"
	openNew(t, c, Options{})
	for _, password := range []string{"", "wrong-hunter2"} {
		a := c.addressOf(t)
		a.Password = password
		a.HasUser = password != ""
		_, err := Open(t.Context(), Options{Address: a})
		if !errors.Is(err, ErrDenied) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("password %q: %v", password, err)
		}
	}
	if said := c.addressOf(t).String(); strings.Contains(said, "se") || strings.Contains(said, "ana") {
		t.Errorf("the address says %q", said)
	}
}

// A user who may not see the status is told changes by the clock.
func TestWithoutStatus(t *testing.T) {
	c := newStandIn(t, 1)
	db := openNew(t, c, Options{})
	c.noStatus = true
	token, err := db.ChangeToken(t.Context())
	if err != nil || !strings.HasPrefix(token, "t") {
		t.Errorf("token %q, %v", token, err)
	}
	if said := db.Noticing(); !strings.Contains(said, "may not see") {
		t.Errorf("noticing: %q", said)
	}
}

func TestWait(t *testing.T) {
	c := newStandIn(t, 2)
	db := openNew(t, c, Options{Poll: 5 * time.Millisecond})
	token, err := db.ChangeToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		now, err := db.Wait(t.Context(), token)
		if err == nil && now == token {
			err = errors.New("nothing changed")
		}
		done <- err
	}()
	if err := db.Executions().Save(t.Context(), exeOf("e")); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	token, err = db.ChangeToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := db.Wait(t.Context(), token)
		done <- err
	}()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed while waiting: %v", err)
	}
}

// The leader's clock decides, not that of the process.
func TestClockOfTheServer(t *testing.T) {
	c := newStandIn(t, 1)
	c.skew = time.Hour
	own := time.Now()
	ahead, behind := openNew(t, c, Options{}), openNew(t, c, Options{})
	info, err := ahead.Trees().CreateSession(t.Context(), "s", "session", store.Seconds(60))
	if err != nil {
		t.Fatal(err)
	}
	if left := *info.ExpiresAt - seconds(own); left < 3650 || left > 3700 {
		t.Errorf("expires %.0f s from now by the process's clock, want an hour more than 60", left)
	}
	if _, err := behind.Trees().Session(t.Context(), "s"); err != nil {
		t.Errorf("the other one: %v", err)
	}
}

func TestOffset(t *testing.T) {
	for _, tt := range []struct{ said, before, after, want, unsure float64 }{
		{10, 9.9, 10.1, 0, 0}, {9.9995, 10, 10.1, 0, 0}, {13, 10, 11, 3.001, 1.002}, {5, 10, 11, -4.999, 1.002},
	} {
		got, unsure := offsetOf(tt.said, tt.before, tt.after)
		if math.Abs(got-tt.want) > 1e-9 || math.Abs(unsure-tt.unsure) > 1e-9 {
			t.Errorf("offsetOf(%v, %v, %v) = %v less %v, want %v less %v", tt.said, tt.before, tt.after, got, unsure, tt.want, tt.unsure)
		}
	}
}

// Text that the server would take for a blob, that no JSON holds or that looks like a
// parameter is found under its own name.
func TestOddTexts(t *testing.T) {
	es := openNew(t, newStandIn(t, 1), Options{}).Executions()
	ids := []string{"x'6162'", " X'00' ", "x''", "?1", `'"`, "ab", "<&>\u2028", "a\tb"}
	for _, id := range ids {
		event := id
		if _, err := es.Commit(t.Context(), store.Commit{Execution: exeOf(id), ProcessedEventID: &event}); err != nil {
			t.Fatalf("%q: %v", id, err)
		}
	}
	for _, id := range ids {
		exe, processed, err := es.LoadForEvent(t.Context(), id, id)
		if err != nil || exe.ID != id || !processed || exe.Drift != nil {
			t.Errorf("%q: %+v, %t, %v", id, exe, processed, err)
		}
	}
	if _, err := es.Load(t.Context(), "\xff"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("bytes that are no UTF-8: %v", err)
	}
}

// Foreign rows that cannot be read are listed as what they are.
func TestBadRows(t *testing.T) {
	c := newStandIn(t, 1)
	db := openNew(t, c, Options{})
	es := db.Executions()
	if err := es.Save(t.Context(), exeOf("good")); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		`INSERT INTO harel_executions VALUES ('blob', 'd', CAST('{"status":"DONE"}' AS BLOB), 1)`,
		`INSERT INTO harel_executions VALUES ('broken', 'd', '{', 1)`,
		`INSERT INTO harel_executions VALUES ('bytes', 'd', CAST(X'7b2261223a22ff227d' AS TEXT), 1)`,
		`INSERT INTO harel_executions VALUES (X'6964', 'd', '{"status":"DONE"}', 1)`,
		`INSERT INTO harel_executions VALUES ('nan', 'd', '{"status":"DONE","context":{"a":NaN}}', 1)`,
		`INSERT INTO harel_executions VALUES ('twice', 'd', '{"status":"DONE","status":"FAILED"}', 1)`,
		`INSERT INTO harel_executions VALUES ('none', 'd', '{}', 1)`,
		`INSERT INTO harel_timers VALUES ('good', 'late', 9e999)`,
	} {
		if _, err := db.client.execute(t.Context(), sql(s)); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	err := store.All(func(p store.PageRequest) (store.Page[store.Summary], error) {
		p.Limit = 1
		return es.ListExecutions(t.Context(), store.ExecutionFilter{}, p)
	}, func(s store.Summary) error {
		got[s.ID] = string(s.Status)
		if s.Bad != nil {
			got[s.ID] = "bad"
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"good": "RUNNING", "blob": "DONE", "broken": "bad", "bytes": "bad", "id": "bad", "nan": "DONE", "twice": "FAILED", "none": "PENDING"}
	for id, status := range want {
		if got[id] != status {
			t.Errorf("%s is %q, want %q", id, got[id], status)
		}
	}
	if len(got) != len(want) {
		t.Errorf("listed: %v", got)
	}
	counts, err := es.Counts(t.Context())
	if err != nil || counts.Executions != 8 || counts.Unreadable != 3 || counts.ByStatus[store.Done] != 2 || counts.ByStatus[store.Failed] != 1 || counts.ByStatus[store.Pending] != 1 {
		t.Errorf("counts %+v, %v", counts, err)
	}
	for status, n := range map[store.Status]int{"done": 3, "Failed": 1, "PENDING": 1, "RUNNING": 1} {
		page, err := es.ListExecutions(t.Context(), store.ExecutionFilter{Status: []store.Status{status}}, store.PageRequest{})
		if err != nil || len(page.Items) != n {
			t.Errorf("status %s: %d, %v; want %d", status, len(page.Items), err, n)
		}
	}
	timers, err := es.DueTimers(t.Context(), 1e308)
	if err != nil || len(timers) != 0 {
		t.Errorf("due: %v, %v", timers, err)
	}
	page, err := es.ListTimers(t.Context(), store.QueueFilter{}, store.PageRequest{})
	if err != nil || len(page.Items) != 1 || store.FormatFireAt(page.Items[0].FireAt) != "inf" {
		t.Errorf("timers: %v, %v", page, err)
	}
	if removed, err := es.DeleteTimer(t.Context(), "good", "late", page.Items[0].FireAt); err != nil || !removed {
		t.Errorf("an infinite timer: %t, %v", removed, err)
	}
	var bad *store.RowError
	if _, err := es.Load(t.Context(), "id"); !errors.As(err, &bad) || bad.Summary == nil {
		t.Errorf("an id that is a blob: %v", err)
	}
}

// TestKillAmidCommits kills leaders while several clients, each as another process
// would be, write thousands of commits: nothing that was acknowledged is lost, and
// nothing is there twice.
func TestKillAmidCommits(t *testing.T) {
	c := newStandIn(t, 3)
	c.lag = time.Millisecond
	commits, writers := 3000, 6
	if testing.Short() {
		commits = 300
	}
	openNew(t, c, Options{})
	stop := make(chan struct{})
	var chaos sync.WaitGroup
	chaos.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(20+rand.IntN(60)) * time.Millisecond):
			}
			c.mu.Lock()
			leader := c.leader
			c.mu.Unlock()
			if leader < 0 {
				continue
			}
			n := c.nodes[leader]
			n.kill()
			time.Sleep(time.Duration(rand.IntN(80)) * time.Millisecond) // how long it is away
			n.restart(t)
		}
	})
	commitAmid(t, c.addressOf(t), commits, writers, func() {
		close(stop)
		chaos.Wait()
		c.elect()
	})
}

// commitAmid writes commits by several clients while nodes come and go, calms what
// makes them, and demands that every acknowledged commit is there once and in order.
func commitAmid(t *testing.T, a Address, commits, writers int, calm func()) {
	t.Helper()
	var mu sync.Mutex
	events := map[string]bool{} // emitted by a commit that is known to be done
	unknowns := 0
	var all sync.WaitGroup
	for w := range writers {
		db := openAt(t, a, Options{ReadWrite: true})
		all.Go(func() {
			es, exe := db.Executions(), exeOf(fmt.Sprintf("e%d", w))
			for i := range commits / writers {
				id := fmt.Sprintf("%d-%d", w, i)
				commit := store.Commit{Execution: exe, ProcessedEventID: &id, Emits: []store.Emit{{Event: store.Event{ID: id, Kind: "E"}}}, Trace: store.ObjectOf(store.Member{Key: "n", Value: store.Quote(id)})}
				for {
					_, err := es.Commit(t.Context(), commit)
					var conflict *store.ConflictError
					if errors.As(err, &conflict) && conflict.Found != nil && *conflict.Found == exe.Version+1 {
						exe.Version++ // an earlier try was done after all
						err = nil
					}
					if err == nil {
						break
					}
					if !errors.Is(err, store.ErrOutcomeUnknown) && !errors.Is(err, ErrUnavailable) {
						t.Errorf("commit %s: %v", id, err)
						return
					}
					mu.Lock()
					unknowns++
					mu.Unlock()
				}
				mu.Lock()
				events[id] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	calm()
	if t.Failed() {
		return
	}
	outbox, err := openAt(t, a, Options{ReadWrite: true}).Executions().PendingOutbox(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]int{}
	for _, o := range outbox {
		if !events[o.Event.ID] {
			t.Errorf("event %s is there twice, or nobody's", o.Event.ID)
		}
		delete(events, o.Event.ID)
		var w string
		var n int
		if _, err := fmt.Sscanf(strings.Replace(o.Event.ID, "-", " ", 1), "%s %d", &w, &n); err != nil || n != last[w] {
			t.Errorf("event %s comes where number %d of its execution should, %v", o.Event.ID, last[w], err)
		}
		last[w]++
	}
	if len(events) > 0 {
		t.Errorf("%d acknowledged commits are lost", len(events))
	}
	t.Logf("%d commits, %d tries with an unknown outcome or no leader", len(outbox), unknowns)
}

func TestAddresses(t *testing.T) {
	prefix := "shop"
	for text, want := range map[string]Address{
		"rqlite://one":                                   {Nodes: []string{"one:4001"}},
		"rqlite://one:1,[::1]:2,[::1]/":                  {Nodes: []string{"one:1", "[::1]:2", "[::1]:4001"}},
		"RQLITE://ana:s%40c@one":                         {Nodes: []string{"one:4001"}, User: "ana", Password: "s@c", HasUser: true, HasPassword: true},
		"rqlite://ana@one":                               {Nodes: []string{"one:4001"}, User: "ana", HasUser: true},
		"rqlite://one?tls=true&insecure=true&timeout=3s": {Nodes: []string{"one:4001"}, TLS: true, Insecure: true, Timeout: 3 * time.Second},
		"rqlite://one/?prefix=shop":                      {Nodes: []string{"one:4001"}, Prefix: &prefix},
	} {
		got, err := ParseAddress(text)
		if err != nil || fmt.Sprintf("%+v", got.Nodes) != fmt.Sprintf("%+v", want.Nodes) || got.User != want.User || got.Password != want.Password ||
			got.HasUser != want.HasUser || got.HasPassword != want.HasPassword || got.TLS != want.TLS || got.Insecure != want.Insecure || got.Timeout != want.Timeout ||
			(got.Prefix == nil) != (want.Prefix == nil) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"rqlite://", "rqlite://one,,two", "rqlite://one:x", "rqlite://one/db", "rqlite://one?nope=1", "rqlite://one?timeout=-1s", "rqlite://a:hunter2@one,a:hunter2@two",
		"http://one", "rqlite://ana:hunter2%@one", "rqlite://one:1:2",
	} {
		if _, err := ParseAddress(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A leader that is known by an address that leads nowhere from here is reached through
// the node that knows it.
func TestForwarding(t *testing.T) {
	c := newStandIn(t, 2)
	openNew(t, c, Options{})
	c.stepDown(1)
	real := c.nodes[1].address
	c.mu.Lock()
	c.nodes[1].address = "127.0.0.1:1"
	c.mu.Unlock()
	a := Address{Nodes: []string{c.nodes[0].address}}
	if err := openAt(t, a, Options{ReadWrite: true}).Executions().Save(t.Context(), exeOf("e")); err != nil {
		t.Error(err)
	}
	c.nodes[1].address = real
}

// No server of another kind is written to.
func TestNotRqlite(t *testing.T) {
	c := newStandIn(t, 1)
	other := &http.Server{Handler: http.NotFoundHandler()}
	c.nodes[0].server.Handler = other.Handler
	_, err := Open(t.Context(), Options{Address: c.addressOf(t)})
	if !errors.Is(err, store.ErrNotAStore) {
		t.Error(err)
	}
}

// What is read from a node that hears of no leader, or that lags, is said to be old since
// then, and the token moves with that.
func TestBehind(t *testing.T) {
	c := newStandIn(t, 3)
	openNew(t, c, Options{})
	a := c.addressOf(t)
	a.Nodes = a.Nodes[2:] // lists come from one that does not lead
	db := openAt(t, a, Options{Browse: true, Poll: 5 * time.Millisecond})
	first, err := db.ChangeToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if since, why := db.Behind(); !since.IsZero() || !strings.Contains(db.Noticing(), "which heard from the leader 12ms ago") {
		t.Errorf("behind since %v: %s; %s", since, why, db.Noticing())
	}
	before := time.Now()
	c.nodes[0].kill()
	c.nodes[1].kill()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	token, err := db.Wait(ctx, first)
	if err != nil || token != first+" behind" {
		t.Fatalf("token %q after %q, %v", token, first, err)
	}
	since, why := db.Behind()
	if since.Before(before) || time.Since(since) < behindMost || !strings.Contains(why, "hears of no leader") {
		t.Errorf("behind since %v: %s", since, why)
	}
	c.nodes[0].restart(t)
	if token, err = db.Wait(ctx, token); err != nil || strings.Contains(token, "behind") {
		t.Errorf("with a leader again: %q, %v", token, err)
	}
	if since, why := db.Behind(); !since.IsZero() {
		t.Errorf("behind since %v: %s", since, why)
	}
}

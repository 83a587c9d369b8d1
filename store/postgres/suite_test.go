package postgres

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"treering/store"
	"treering/store/postgres/pgserver"
	"treering/store/storetest"
)

// shared is one server for all tests of the package that do not end it.
var shared struct { //nolint:gochecknoglobals // starting one takes seconds
	once   sync.Once
	server *pgserver.Server
	err    error
}

func TestMain(m *testing.M) {
	storetest.HostMain(openHost)
	code := m.Run()
	if shared.server != nil {
		shared.server.Close()
	}
	os.Exit(code)
}

func server(t testing.TB) *pgserver.Server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = pgserver.New() })
	switch {
	case shared.err != nil && os.Getenv("CI") != "true":
		t.Skip(shared.err)
	case shared.err != nil:
		t.Fatal(shared.err)
	}
	return shared.server
}

// openDB opens a database for the length of the test.
func openDB(t testing.TB, o Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// openNew makes both contracts in a schema of their own.
func openNew(t testing.TB) *DB {
	t.Helper()
	return openDB(t, Options{URL: server(t).Schema(t), ReadWrite: true, Create: true})
}

// handles are the databases that one case has open. They are closed together at the end
// of the case, after the suite has looked at the last one.
type handles struct {
	t   testing.TB
	url string
	all []*DB
}

func newHandles(t testing.TB) *handles { t.Helper(); return &handles{t: t, url: server(t).Schema(t)} }

func (h *handles) open(o Options) *DB {
	h.t.Helper()
	o.URL, o.ReadWrite, o.Create = h.url, true, true
	db, err := Open(h.t.Context(), o)
	if err != nil {
		h.t.Fatal(err)
	}
	if h.all = append(h.all, db); len(h.all) == 1 {
		h.t.Cleanup(func() {
			for _, db := range h.all {
				if err := db.Close(); err != nil {
					h.t.Error(err)
				}
			}
		})
	}
	return db
}

// suiteExecutions remember the handles of their case.
type suiteExecutions struct {
	*executions
	*handles
}

// The suite runs through the statement of every commit, and through the function that
// those get who commit often.
func TestExecutionStore(t *testing.T) {
	server(t)
	t.Run("statement", func(t *testing.T) { testExecutionStore(t, false) })
	t.Run("function", func(t *testing.T) { testExecutionStore(t, true) })
}

func testExecutionStore(t *testing.T, often bool) {
	open := func(h *handles, o storetest.ExecOptions) store.ExecutionStore {
		h.t.Helper()
		es := h.open(Options{TraceMax: o.TraceMax}).executions
		if often {
			es.function.commits.Store(oftenEnough)
		}
		return suiteExecutions{es, h}
	}
	storetest.TestExecutionStore(t, storetest.ExecutionFactory{
		Caps: storetest.ExecutionCaps{Durable: true},
		Open: func(t testing.TB, o storetest.ExecOptions) store.ExecutionStore {
			t.Helper()
			return open(newHandles(t), o)
		},
		OpenError: func(t testing.TB, o storetest.ExecOptions) error {
			db, err := Open(t.Context(), Options{URL: server(t).URL(), ReadWrite: true, TraceMax: o.TraceMax})
			if err == nil {
				t.Error(db.Close())
			}
			return err
		},
		Reopen: func(t testing.TB, s store.ExecutionStore, o storetest.ExecOptions) store.ExecutionStore {
			t.Helper()
			was := s.(suiteExecutions)
			if err := was.Close(); err != nil {
				t.Fatal(err)
			}
			return open(was.handles, o)
		},
		Share: func(t testing.TB, s store.ExecutionStore) store.ExecutionStore {
			t.Helper()
			return open(s.(suiteExecutions).handles, storetest.ExecOptions{})
		},
	})
}

// suiteTrees remember the handles of their case.
type suiteTrees struct {
	*trees
	*handles
}

func TestTreeStore(t *testing.T) {
	server(t)
	open := func(h *handles, now func() time.Time) store.TreeStore {
		h.t.Helper()
		return suiteTrees{h.open(Options{Now: now}).trees, h}
	}
	storetest.TestTreeStore(t, storetest.TreeFactory{
		Caps: storetest.TreeCaps{IdentityOrder: true, Durable: true},
		Open: func(t testing.TB, now func() time.Time) store.TreeStore {
			t.Helper()
			return open(newHandles(t), now)
		},
		Reopen: func(t testing.TB, s store.TreeStore, now func() time.Time) store.TreeStore {
			t.Helper()
			was := s.(suiteTrees)
			if err := was.Close(); err != nil {
				t.Fatal(err)
			}
			return open(was.handles, now)
		},
		Share: func(t testing.TB, s store.TreeStore, now func() time.Time) store.TreeStore {
			t.Helper()
			return open(s.(suiteTrees).handles, now)
		},
	})
}

func ptr[T any](v T) *T { return &v }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

package rqlite

import (
	"testing"
	"time"

	"treering/store"
	"treering/store/storetest"
)

// openAt opens a cluster, and closes it when the test ends.
func openAt(t testing.TB, a Address, o Options) *DB {
	t.Helper()
	o.Address = a
	db, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// openNew makes the tables of both contracts in a new cluster.
func openNew(t testing.TB, c *standIn, o Options) *DB {
	t.Helper()
	o.ReadWrite, o.Create = true, true
	return openAt(t, c.addressOf(t), o)
}

// handles are the databases that one case has open. They are closed together at the
// end of the case, after the suite has looked at the last one.
type handles struct {
	t       testing.TB
	address Address
	all     []*DB
}

func (h *handles) open(o Options) *DB {
	h.t.Helper()
	o.Address, o.ReadWrite, o.Create = h.address, true, true
	db, err := Open(h.t.Context(), o)
	if err != nil {
		h.t.Fatal(err)
	}
	if h.all = append(h.all, db); len(h.all) == 1 {
		h.t.Cleanup(func() {
			for _, db := range h.all {
				_ = db.Close()
			}
		})
	}
	return db
}

// suiteStore remembers the handles of its case.
type suiteStore struct {
	store.ExecutionStore
	*handles
}

func TestExecutionStore(t *testing.T) {
	open := func(h *handles, o storetest.ExecOptions) store.ExecutionStore {
		h.t.Helper()
		return suiteStore{h.open(Options{TraceMax: o.TraceMax}).Executions(), h}
	}
	storetest.TestExecutionStore(t, storetest.ExecutionFactory{
		Caps: storetest.ExecutionCaps{Durable: true},
		Open: func(t testing.TB, o storetest.ExecOptions) store.ExecutionStore {
			t.Helper()
			return open(&handles{t: t, address: newCluster(t)}, o)
		},
		OpenError: func(t testing.TB, o storetest.ExecOptions) error {
			_, err := Open(t.Context(), Options{Address: Address{Nodes: []string{"127.0.0.1:1"}}, TraceMax: o.TraceMax})
			return err
		},
		Reopen: func(t testing.TB, s store.ExecutionStore, o storetest.ExecOptions) store.ExecutionStore {
			t.Helper()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return open(s.(suiteStore).handles, o)
		},
		Share: func(t testing.TB, s store.ExecutionStore) store.ExecutionStore {
			t.Helper()
			return open(s.(suiteStore).handles, storetest.ExecOptions{})
		},
	})
}

// suiteTrees remembers the handles of its case.
type suiteTrees struct {
	store.TreeStore
	*handles
}

func TestTreeStore(t *testing.T) {
	open := func(h *handles, now func() time.Time) store.TreeStore {
		h.t.Helper()
		return suiteTrees{h.open(Options{Now: now}).Trees(), h}
	}
	storetest.TestTreeStore(t, storetest.TreeFactory{
		Caps: storetest.TreeCaps{IdentityOrder: true, Durable: true},
		Open: func(t testing.TB, now func() time.Time) store.TreeStore {
			t.Helper()
			return open(&handles{t: t, address: newCluster(t)}, now)
		},
		Reopen: func(t testing.TB, s store.TreeStore, now func() time.Time) store.TreeStore {
			t.Helper()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return open(s.(suiteTrees).handles, now)
		},
		Share: func(t testing.TB, s store.TreeStore, now func() time.Time) store.TreeStore {
			t.Helper()
			return open(s.(suiteTrees).handles, now)
		},
	})
}

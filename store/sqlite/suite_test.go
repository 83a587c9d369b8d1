package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"treering/store"
	"treering/store/internal/sqltree"
	"treering/store/storetest"
)

// openDB opens a database for the length of the test, and checks at its end what
// must hold in any file that we write.
func openDB(t testing.TB, o Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeDB(t, db) })
	return db
}

func closeDB(t testing.TB, db *DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if db.writer != nil {
		checkFile(t, db)
	}
}

// openNew makes a new store in a file of its own.
func openNew(t testing.TB, o Options) *DB {
	t.Helper()
	o.Path, o.Create = filepath.Join(t.TempDir(), "test.db"), true
	return openDB(t, o)
}

// handles are the databases that one case has open. They are closed together at the
// end of the case, after the suite has looked at the last one.
type handles struct {
	t   testing.TB
	all []*DB
}

func (h *handles) open(o Options) *DB {
	h.t.Helper()
	db, err := Open(h.t.Context(), o)
	if err != nil {
		h.t.Fatal(err)
	}
	if h.all = append(h.all, db); len(h.all) == 1 {
		h.t.Cleanup(func() {
			for _, db := range h.all {
				closeDB(h.t, db)
			}
		})
	}
	return db
}

// suiteStore remembers the handles of its case.
type suiteStore struct {
	*executions
	*handles
}

func TestExecutionStore(t *testing.T) {
	open := func(h *handles, path string, o storetest.ExecOptions) store.ExecutionStore {
		h.t.Helper()
		db := h.open(Options{Path: path, Create: true, TraceMax: o.TraceMax})
		return suiteStore{db.executions, h}
	}
	storetest.TestExecutionStore(t, storetest.ExecutionFactory{
		Caps: storetest.ExecutionCaps{Durable: true},
		Open: func(t testing.TB, o storetest.ExecOptions) store.ExecutionStore {
			t.Helper()
			return open(&handles{t: t}, filepath.Join(t.TempDir(), "test.db"), o)
		},
		OpenError: func(t testing.TB, o storetest.ExecOptions) error {
			db, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "test.db"), Create: true, TraceMax: o.TraceMax})
			if err == nil {
				t.Error(db.Close())
			}
			return err
		},
		Reopen: func(t testing.TB, s store.ExecutionStore, o storetest.ExecOptions) store.ExecutionStore {
			t.Helper()
			was := s.(suiteStore)
			if err := was.Close(); err != nil {
				t.Fatal(err)
			}
			return open(was.handles, was.file.Path(), o)
		},
		Share: func(t testing.TB, s store.ExecutionStore) store.ExecutionStore {
			t.Helper()
			return open(s.(suiteStore).handles, s.(suiteStore).file.Path(), storetest.ExecOptions{})
		},
	})
}

// suiteTrees remembers the handles of its case.
type suiteTrees struct {
	*sqltree.Store
	*handles
	path string
}

func TestTreeStore(t *testing.T) {
	open := func(h *handles, path string, now func() time.Time) store.TreeStore {
		h.t.Helper()
		db := h.open(Options{Path: path, Create: true, Now: now})
		return suiteTrees{db.trees, h, path}
	}
	storetest.TestTreeStore(t, storetest.TreeFactory{
		Caps: storetest.TreeCaps{IdentityOrder: true, Durable: true},
		Open: func(t testing.TB, now func() time.Time) store.TreeStore {
			t.Helper()
			return open(&handles{t: t}, filepath.Join(t.TempDir(), "test.db"), now)
		},
		Reopen: func(t testing.TB, s store.TreeStore, now func() time.Time) store.TreeStore {
			t.Helper()
			was := s.(suiteTrees)
			if err := was.Close(); err != nil {
				t.Fatal(err)
			}
			return open(was.handles, was.path, now)
		},
		Share: func(t testing.TB, s store.TreeStore, now func() time.Time) store.TreeStore {
			t.Helper()
			return open(s.(suiteTrees).handles, s.(suiteTrees).path, now)
		},
	})
}

// checkFile checks a closed file of a DB: the version column and the JSON agree,
// maps and lists are never null, traces are contiguous and within the ring, and
// SQLite finds nothing wrong.
func checkFile(t testing.TB, db *DB) {
	t.Helper()
	if db.set == nil || t.Failed() {
		return
	}
	ring := int64(0)
	if db.executions != nil {
		ring = db.executions.traceMax
	}
	checkDatabase(t, db.Path(), *db.set, ring)
}

package redis

import (
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"treering/store"
	"treering/store/storetest"
)

// handles are the stores that one case has open. They are closed together at the end of
// the case, after the suite has looked at the last one.
type handles struct {
	t   testing.TB
	url string
	all []*DB

	mu   sync.Mutex
	at   time.Time // what the case's clock said last
	ran  time.Duration
	skew time.Duration
}

// aWhile is more than the server's clock goes on before a case moves its own, and less
// than a case allows.
const aWhile = 100 * time.Millisecond

// move is how far the server's clock is to be moved so that it says what now does. As
// long as that stands still, the server's goes on, and it keeps what it is ahead: a tree
// made in the meantime would else outlive the moment that the case goes to.
func (h *handles) move(now func() time.Time) func() time.Duration {
	return func() time.Duration {
		h.mu.Lock()
		defer h.mu.Unlock()
		if at := now(); at != h.at {
			h.at, h.skew = at, time.Until(at)+h.ran
			h.ran += aWhile
		}
		return h.skew
	}
}

func (h *handles) open(o Options) *DB {
	h.t.Helper()
	o.URL, o.ReadWrite, o.Create = h.url, true, true
	d, err := Open(h.t.Context(), o)
	ok(h.t, err)
	if h.all = append(h.all, d); len(h.all) == 1 {
		h.t.Cleanup(func() {
			for _, d := range h.all {
				if err := d.Close(); err != nil {
					h.t.Error(err)
				}
			}
		})
	}
	return d
}

// suiteStore and suiteTrees remember the handles of their case.
type suiteStore struct {
	*executions
	*handles
}

type suiteTrees struct {
	*trees
	*handles
}

// runSuites runs both suites on databases that fresh gives the locators of.
func runSuites(t *testing.T, fresh func(t testing.TB) string) {
	t.Run("executions", func(t *testing.T) {
		open := func(h *handles, o storetest.ExecOptions) store.ExecutionStore {
			h.t.Helper()
			return suiteStore{h.open(Options{TraceMax: o.TraceMax}).executions, h}
		}
		storetest.TestExecutionStore(t, storetest.ExecutionFactory{
			Caps: storetest.ExecutionCaps{Durable: true},
			Open: func(t testing.TB, o storetest.ExecOptions) store.ExecutionStore {
				return open(&handles{t: t, url: fresh(t)}, o)
			},
			OpenError: func(t testing.TB, o storetest.ExecOptions) error {
				d, err := Open(t.Context(), Options{URL: fresh(t), ReadWrite: true, Create: true, TraceMax: o.TraceMax})
				if err == nil {
					t.Error(d.Close())
				}
				return err
			},
			Reopen: func(t testing.TB, s store.ExecutionStore, o storetest.ExecOptions) store.ExecutionStore {
				t.Helper()
				ok(t, s.Close())
				return open(s.(suiteStore).handles, o)
			},
			Share: func(t testing.TB, s store.ExecutionStore) store.ExecutionStore {
				t.Helper()
				return open(s.(suiteStore).handles, storetest.ExecOptions{})
			},
		})
	})
	t.Run("trees", func(t *testing.T) {
		open := func(h *handles, now func() time.Time) store.TreeStore {
			h.t.Helper()
			return suiteTrees{h.open(Options{Skew: h.move(now)}).trees, h}
		}
		storetest.TestTreeStore(t, storetest.TreeFactory{
			Caps: storetest.TreeCaps{IdentityOrder: true, Durable: true},
			Open: func(t testing.TB, now func() time.Time) store.TreeStore {
				return open(&handles{t: t, url: fresh(t)}, now)
			},
			Reopen: func(t testing.TB, s store.TreeStore, now func() time.Time) store.TreeStore {
				t.Helper()
				ok(t, s.Close())
				return open(s.(suiteTrees).handles, now)
			},
			Share: func(t testing.TB, s store.TreeStore, now func() time.Time) store.TreeStore {
				t.Helper()
				return open(s.(suiteTrees).handles, now)
			},
		})
	})
}

func TestSuitesOnServer(t *testing.T) {
	s := startServer(t)
	var h shared
	runSuites(t, func(testing.TB) string {
		if n := h.db(); n%2 == 0 {
			return s.url(n)
		} else {
			return s.socketURL(n)
		}
	})
}

func TestSuitesInProcess(t *testing.T) {
	runSuites(t, func(t testing.TB) string {
		return "redis://" + miniredis.RunT(t).Addr()
	})
}

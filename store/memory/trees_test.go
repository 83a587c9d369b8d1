package memory_test

import (
	"testing"
	"time"

	"treering/store"
	"treering/store/memory"
	"treering/store/storetest"
)

func TestTreeStore(t *testing.T) {
	storetest.TestTreeStore(t, storetest.TreeFactory{
		Caps: storetest.TreeCaps{IdentityOrder: true},
		Open: func(t testing.TB, now func() time.Time) store.TreeStore {
			return open(t, memory.Options{Now: now}).Trees()
		},
		// Whoever holds the store is a client of it.
		Share: func(_ testing.TB, s store.TreeStore, _ func() time.Time) store.TreeStore { return s },
	})
}

package storetest

import (
	"testing"
	"time"

	"treering/store"
)

// TreeCaps says where a backend differs from the others, as the contract allows.
// A rule that a backend's flags rule out is skipped by name.
type TreeCaps struct {
	// IdentityOrder: lists are in the byte order of ids. Otherwise they only have a
	// total order that stays.
	IdentityOrder bool
	// Durable: what was written is there after Reopen.
	Durable bool
}

// TreeFactory makes the stores that the suite runs on. The factory sees to it
// that they are closed when t ends; a case may have closed them already.
type TreeFactory struct {
	Caps TreeCaps
	// Open makes a new empty store that goes by the clock now. Where the clock is a
	// server's, the store adds now's distance from the real time to it.
	Open func(t testing.TB, now func() time.Time) store.TreeStore
	// Reopen closes s and opens the same data again. Needed where Caps.Durable.
	Reopen func(t testing.TB, s store.TreeStore, now func() time.Time) store.TreeStore
	// Share opens a second client of the data of s, as another process would. The
	// rules about several clients run on one without it.
	Share func(t testing.TB, s store.TreeStore, now func() time.Time) store.TreeStore
}

// treeCase is one rule of the contract.
type treeCase struct {
	name  string
	rule  string // what is guarded and why; printed when the case fails
	needs func(TreeCaps) bool
	run   func(b *treeBundle)
}

// TestTreeStore runs every rule of the tree contract on stores of the factory.
// Each case has a store of its own, runs in parallel with the others, and ends
// with a check of what must hold in any store at any time.
func TestTreeStore(t *testing.T, f TreeFactory) {
	t.Helper()
	for _, topic := range []struct {
		name  string
		cases []treeCase
	}{
		{"session", treeSessionCases()}, {"ttl", treeTTLCases()}, {"delete", treeDeleteCases()},
		{"append", treeAppendCases()}, {"data", treeDataCases()}, {"refused", treeRefusedCases()},
		{"read", treeReadCases()}, {"paging", treePagingCases()}, {"cursor", treeCursorCases()},
		{"concurrency", treeConcurrencyCases()}, {"lifecycle", treeLifecycleCases()},
	} {
		t.Run(topic.name, func(t *testing.T) {
			for _, c := range topic.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					if c.needs != nil && !c.needs(f.Caps) {
						t.Skip("not a rule for this backend: " + c.rule)
					}
					// Registered first, so that it runs after every other cleanup had its say.
					t.Cleanup(func() {
						if t.Failed() {
							t.Log("rule: " + c.rule)
						}
					})
					b := newTreeBundle(t, f)
					t.Cleanup(b.checkInvariants)
					c.run(b)
				})
			}
		})
	}
}

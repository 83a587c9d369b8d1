package storetest

import (
	"testing"

	"treering/store"
)

// ExecOptions are what a case asks of the store it runs on.
type ExecOptions struct {
	// TraceMax is the length of the trace rings: nil the default, 0 unbounded.
	TraceMax *int
}

// ExecutionCaps says where a backend differs from the others, as the contract
// allows. A rule that a backend's flags rule out is skipped by name.
type ExecutionCaps struct {
	// Identity: Load returns the very object that was saved, the same object always
	// wins, and state is not encoded.
	Identity bool
	// FirstWriteAnyVersion: an id that is absent and was never purged is accepted at
	// any version, not only at 0.
	FirstWriteAnyVersion bool
	// ExplicitTraceIndex: an index in a trace entry is honoured; otherwise the
	// store's own counts.
	ExplicitTraceIndex bool
	// Durable: what was committed is there after Reopen.
	Durable bool
}

// ExecutionFactory makes the stores that the suite runs on. The factory sees to
// it that they are closed when t ends; a case may have closed them already.
type ExecutionFactory struct {
	Caps ExecutionCaps
	// Open makes a new empty store.
	Open func(t testing.TB, o ExecOptions) store.ExecutionStore
	// OpenError tries to make a store with options that must be refused, and returns
	// the error. The rules about refused options are skipped without it.
	OpenError func(t testing.TB, o ExecOptions) error
	// Reopen closes s and opens the same data again. Needed where Caps.Durable.
	Reopen func(t testing.TB, s store.ExecutionStore, o ExecOptions) store.ExecutionStore
	// Share opens a second store on the same data beside s, as another process would.
	// The rules about several handles are skipped without it.
	Share func(t testing.TB, s store.ExecutionStore) store.ExecutionStore
}

// execCase is one rule of the contract.
type execCase struct {
	name    string
	rule    string // what is guarded and why; printed when the case fails
	needs   func(ExecutionCaps) bool
	options ExecOptions
	run     func(b *execBundle)
}

// TestExecutionStore runs every rule of the execution contract on stores of the
// factory. Each case has a store of its own, runs in parallel with the others,
// and ends with a check of what must hold in any store at any time.
func TestExecutionStore(t *testing.T, f ExecutionFactory) {
	t.Helper()
	for _, topic := range []struct {
		name  string
		cases []execCase
	}{
		{"cas", casCases()}, {"identity", identityCases()}, {"commit", commitCases()}, {"snapshots", snapshotCases()},
		{"queues", queueCases()}, {"timers", timerCases()}, {"trace", traceCases()},
		{"list", listCases()}, {"paging", pagingCases()}, {"purge", purgeCases()}, {"control", controlCases()},
		{"json", jsonCases()}, {"concurrency", concurrencyCases()}, {"lifecycle", lifecycleCases()},
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
					b := newExecBundle(t, f, c.options)
					t.Cleanup(b.checkInvariants)
					c.run(b)
				})
			}
		})
	}
}

func identity(c ExecutionCaps) bool { return c.Identity }
func copies(c ExecutionCaps) bool   { return !c.Identity }
func durable(c ExecutionCaps) bool  { return c.Durable }

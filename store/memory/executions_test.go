package memory_test

import (
	"testing"

	"treering/store"
	"treering/store/memory"
	"treering/store/storetest"
)

func open(t testing.TB, o memory.Options) *memory.Store {
	t.Helper()
	s, err := memory.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestExecutionStore(t *testing.T) {
	storetest.TestExecutionStore(t, storetest.ExecutionFactory{
		Caps: storetest.ExecutionCaps{Identity: true, FirstWriteAnyVersion: true, ExplicitTraceIndex: true},
		Open: func(t testing.TB, o storetest.ExecOptions) store.ExecutionStore {
			return open(t, memory.Options{TraceMax: o.TraceMax}).Executions()
		},
		OpenError: func(_ testing.TB, o storetest.ExecOptions) error {
			_, err := memory.New(memory.Options{TraceMax: o.TraceMax})
			return err
		},
	})
}

package relay_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"treering/store"
	"treering/store/memory"
	"treering/store/relay"
)

// One event from the outbox of one execution to another, which sends the next: the
// figure is steps, each with its commit and its acknowledgement.
func BenchmarkDrain(b *testing.B) {
	for _, c := range []struct {
		name string
		open func(b *testing.B) store.ExecutionStore
	}{
		{"memory", func(b *testing.B) store.ExecutionStore {
			m, err := memory.New(memory.Options{})
			must(b, err)
			b.Cleanup(func() { must(b, m.Close()) })
			return m.Executions()
		}},
		{"sqlite", func(b *testing.B) store.ExecutionStore { return openFile(b, filepath.Join(b.TempDir(), "b.db")) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			es := c.open(b)
			r := relay.New(es, &counter{}, relay.Options{Workers: 16})
			defer r.Close()
			const lives = 64
			ids := make([]string, lives)
			for i := range ids {
				ids[i] = fmt.Sprint("e", i)
			}
			for i := range ids {
				emits := []store.Emit{{TargetID: &ids[i], Event: hop(ids[i], int64(b.N))}}
				_, err := es.Commit(b.Context(), store.Commit{Execution: &store.Execution{ID: ids[i], DefinitionID: "d", Status: store.Running, Context: "{}"}, Emits: emits})
				must(b, err)
			}
			b.ResetTimer()
			for r.Stats().Delivered < int64(b.N) {
				_, err := r.Drain(b.Context())
				must(b, err)
			}
			b.ReportMetric(float64(r.Stats().Delivered)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}

// Package bench measures the backends through the public contracts, with the same
// work and the same sizes as reference.py does in Python. The program in compare
// runs both and sets them side by side.
package bench

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	zombiezen "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/store"
	"treering/store/memory"
	"treering/store/sqlite"
)

var small = flag.Bool("small", false, "a tenth of the rows or less, to see that it runs")

// pick returns the full size, or the small one.
func pick(full, few int) int {
	if *small {
		return few
	}
	return full
}

const (
	ring       = store.DefaultTraceMax
	executions = 64 // 1, 8 and 64 committers share them evenly
	traceStep  = `{"event_kind": "Paid", "event_data": {"auth": "A-19"}, "from_path": "Payment.Awaiting", "to_path": "Fulfilment", ` +
		`"actions": ["shop.pay.capture", "shop.mail.receipt"], "context_out": {"order": 1004, "total": 455.3}, "timestamp": 1784730012.482913}`
)

func executionID(n int) string { return fmt.Sprintf("order-%04d", n) }

// execution is one of about 600 bytes as it is stored.
func execution(id string) *store.Execution {
	at := "Payment.Awaiting"
	return &store.Execution{
		ID: id, DefinitionID: "order", Status: store.Running, ActivePath: &at, ProcessedEvents: 2,
		History: `{"":"Payment","Payment":"Payment.Awaiting"}`,
		Context: store.JSON(`{"order":1004,"customer":"Ana Ruiz","total":455.3,"note":"` + strings.Repeat("x", 180) + `"}`),
	}
}

// boundary is one whole event boundary for the n-th event of an execution.
func boundary(exe *store.Execution, n int) store.Commit {
	event := fmt.Sprintf("%s-%026d", exe.ID, n)
	return boundaryFor(exe, &event, n)
}

func boundaryFor(exe *store.Execution, event *string, n int) store.Commit {
	return store.Commit{
		Execution:        exe,
		Emits:            []store.Emit{{TargetID: &exe.ID, Event: store.Event{ID: *event, Kind: "Paid", Data: `{"auth":"A-19"}`}}},
		ProcessedEventID: event,
		Timers:           []store.TimerOp{{Action: store.Schedule, Path: "Payment.Awaiting", FireAt: 1784730912.25 + float64(n)}},
		Trace:            traceStep,
	}
}

// create makes a file of ours with one writer at that level.
func create(b *testing.B, synchronous string) (db *sqlite.DB, path string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "bench.db")
	db, err := sqlite.Open(b.Context(), sqlite.Options{Path: path, ReadWrite: true, Create: true, Synchronous: synchronous})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	return db, path
}

// fill inserts rows on a connection of its own, all in one transaction.
func fill(b *testing.B, path, insert string, count int, bind func(n int, q *zombiezen.Stmt)) {
	b.Helper()
	conn, err := zombiezen.OpenConn(path, zombiezen.OpenReadWrite)
	if err != nil {
		b.Fatal(err)
	}
	err = func() (err error) {
		end, err := sqlitex.ImmediateTransaction(conn)
		if err != nil {
			return err
		}
		defer end(&err)
		q, err := conn.Prepare(insert)
		if err != nil {
			return err
		}
		for n := range count {
			bind(n, q)
			if _, err := q.Step(); err != nil {
				return err
			}
			if err := q.Reset(); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil {
		b.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCommit commits with full trace rings; b.N is the total of all committers.
func BenchmarkCommit(b *testing.B) {
	for _, synchronous := range []string{"FULL", "NORMAL"} {
		for _, committers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/%d", strings.ToLower(synchronous), committers), func(b *testing.B) {
				db, path := create(b, synchronous)
				es := db.Executions()
				mine := make([][]*store.Execution, committers)
				for n := range executions {
					exe := execution(executionID(n))
					if err := es.Save(b.Context(), exe); err != nil {
						b.Fatal(err)
					}
					mine[n%committers] = append(mine[n%committers], exe)
				}
				fill(b, path, "INSERT INTO harel_trace (execution_id, idx, entry) VALUES (?, ?, ?)", executions*ring, func(n int, q *zombiezen.Stmt) {
					q.BindText(1, executionID(n/ring))
					q.BindInt64(2, int64(n%ring))
					q.BindText(3, traceStep)
				})
				each := max(1, b.N/committers)
				took := make([][]time.Duration, committers)
				failed := make(chan error, committers)
				b.ResetTimer()
				for k := range committers {
					took[k] = make([]time.Duration, 0, each)
					go func() {
						failed <- func() error {
							for n := range each {
								start := time.Now()
								if _, err := es.Commit(b.Context(), boundary(mine[k][n%len(mine[k])], n)); err != nil {
									return err
								}
								took[k] = append(took[k], time.Since(start))
							}
							return nil
						}()
					}()
				}
				for range committers {
					if err := <-failed; err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				all := slices.Sorted(slices.Values(slices.Concat(took...)))
				b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "commits/s")
				b.ReportMetric(percentile(all, 50), "p50-us")
				b.ReportMetric(percentile(all, 99), "p99-us")
			})
		}
	}
}

// percentile of sorted times in microseconds.
func percentile(sorted []time.Duration, p int) float64 {
	return float64(sorted[min(len(sorted)-1, len(sorted)*p/100)].Nanoseconds()) / 1e3
}

func openMemory(b *testing.B) *memory.Store {
	b.Helper()
	m, err := memory.New(memory.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := m.Close(); err != nil {
			b.Error(err)
		}
	})
	return m
}

func BenchmarkMemoryCommit(b *testing.B) {
	es := openMemory(b).Executions()
	var all []*store.Execution
	for n := range executions {
		exe := execution(executionID(n))
		for range ring {
			if _, err := es.Commit(b.Context(), store.Commit{Execution: exe, Trace: traceStep}); err != nil {
				b.Fatal(err)
			}
		}
		all = append(all, exe)
	}
	// Only the events' ids are prepared, as in the reference.
	ids := make([]string, b.N)
	for n := range ids {
		ids[n] = fmt.Sprintf("event-%026d", n)
	}
	// As in the reference the event is made before; so is what a driver of many
	// executions uses again and again.
	emits, timers := make([]store.Emit, 1), []store.TimerOp{{Action: store.Schedule, Path: "Payment.Awaiting"}}
	ctx := b.Context()
	b.ReportAllocs()
	b.ResetTimer()
	for n := range b.N {
		exe := all[n%executions]
		emits[0] = store.Emit{TargetID: &exe.ID, Event: store.Event{ID: ids[n], Kind: "Paid", Data: `{"auth":"A-19"}`}}
		timers[0].FireAt = 1784730912.25 + float64(n)
		if _, err := es.Commit(ctx, store.Commit{Execution: exe, Emits: emits, ProcessedEventID: &ids[n], Timers: timers, Trace: traceStep}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMemoryLoad(b *testing.B) {
	es := openMemory(b).Executions()
	ids := make([]string, executions)
	for n := range ids {
		ids[n] = executionID(n)
		if err := es.Save(b.Context(), execution(ids[n])); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := range b.N {
		if _, err := es.Load(b.Context(), ids[n%executions]); err != nil {
			b.Fatal(err)
		}
	}
}

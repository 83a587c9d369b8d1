package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// harelDDL are the tables as harel makes them: all with rowids.
func harelDDL(prefix string) []string {
	ddl := ExecutionDDL(prefix)
	for i := range ddl {
		ddl[i] = strings.TrimSuffix(ddl[i], " WITHOUT ROWID")
	}
	return ddl
}

// makeHarel makes a file as harel leaves it, and fills it.
func makeHarel(t testing.TB, path, prefix string, fill func(*sqlite.Conn) error) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenWAL)
	if err != nil {
		t.Fatal(err)
	}
	for _, ddl := range append(harelDDL(prefix), "BEGIN") {
		if err := run(conn, ddl); err != nil {
			t.Fatal(err)
		}
	}
	if err := fill(conn); err != nil {
		t.Fatal(err)
	}
	if err := run(conn, "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}

const benchStep = `{"event_kind": "Paid", "event_data": {"auth": "A-19"}, "from_path": "Payment.Awaiting", "to_path": "Fulfilment", ` +
	`"actions": ["shop.pay.capture", "shop.mail.receipt"], "context_out": {"order": 1004, "total": 455.3}, "timestamp": 1784730012.482913}`

// benchExecution is one of about 600 bytes as it is stored.
func benchExecution(id string, status store.Status, pad int) *store.Execution {
	at := "Payment.Awaiting"
	return &store.Execution{
		ID: id, DefinitionID: "order", Status: status, ActivePath: &at, ProcessedEvents: 2,
		History: `{"":"Payment","Payment":"Payment.Awaiting"}`,
		Context: store.JSON(`{"order":1004,"customer":"Ana Ruiz","total":455.3,"note":"` + strings.Repeat("x", pad) + `"}`),
	}
}

// boundary is the n-th whole event boundary of an execution.
func boundary(exe *store.Execution, n int) store.Commit {
	event := fmt.Sprintf("%s-%026d", exe.ID, n)
	return store.Commit{
		Execution:        exe,
		Emits:            []store.Emit{{TargetID: &exe.ID, Event: store.Event{ID: event, Kind: "Paid", Data: `{"auth":"A-19"}`}}},
		ProcessedEventID: &event,
		Timers:           []store.TimerOp{{Action: store.Schedule, Path: "Payment.Awaiting", FireAt: 1784730912.25 + float64(n)}},
		Trace:            benchStep,
	}
}

// BenchmarkCommit commits on 64 executions with full trace rings; b.N is the total
// of all committers.
func BenchmarkCommit(b *testing.B) {
	const executions = 64
	for _, layout := range []string{"ours", "harel"} {
		for _, synchronous := range []string{"FULL", "NORMAL", "OFF"} {
			for _, committers := range []int{1, 8, 64} {
				b.Run(fmt.Sprintf("%s/%s/%d", layout, synchronous, committers), func(b *testing.B) {
					path := filepath.Join(b.TempDir(), "bench.db")
					if layout == "harel" {
						makeHarel(b, path, DefaultPrefix, func(*sqlite.Conn) error { return nil })
					}
					db, err := Open(b.Context(), Options{Path: path, Create: true, Synchronous: synchronous})
					if err != nil {
						b.Fatal(err)
					}
					defer db.Close()
					es := db.Executions()
					mine := make([][]*store.Execution, committers)
					fillErr := db.writer.write(context.Background(), func(conn *sqlite.Conn) error {
						for n := range executions * store.DefaultTraceMax {
							id := fmt.Sprintf("order-%04d", n/store.DefaultTraceMax)
							if err := db.executions.addStep(conn, id, benchStep); err != nil {
								return err
							}
						}
						return nil
					})
					if fillErr != nil {
						b.Fatal(fillErr)
					}
					for n := range executions {
						exe := benchExecution(fmt.Sprintf("order-%04d", n), store.Running, 180)
						if err := es.Save(b.Context(), exe); err != nil {
							b.Fatal(err)
						}
						mine[n%committers] = append(mine[n%committers], exe)
					}
					each := max(1, b.N/committers)
					took := make([][]time.Duration, committers)
					var wg sync.WaitGroup
					b.ResetTimer()
					for k := range committers {
						took[k] = make([]time.Duration, 0, each)
						wg.Go(func() {
							for n := range each {
								start := time.Now()
								if _, err := es.Commit(b.Context(), boundary(mine[k][n%len(mine[k])], n)); err != nil {
									b.Error(err)
									return
								}
								took[k] = append(took[k], time.Since(start))
							}
						})
					}
					wg.Wait()
					b.StopTimer()
					all := slices.Sorted(slices.Values(slices.Concat(took...)))
					b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "commits/s")
					b.ReportMetric(float64(all[len(all)/2].Nanoseconds())/1e3, "p50-us")
					b.ReportMetric(float64(all[len(all)*99/100].Nanoseconds())/1e3, "p99-us")
				})
			}
		}
	}
}

// fillExecutions inserts executions in four statuses and returns how many are FAILED.
func fillExecutions(conn *sqlite.Conn, insert string, count int) (failed int, err error) {
	statuses := []store.Status{store.Running, store.Done, store.Suspended, store.Failed}
	random := rand.New(rand.NewPCG(1, 1))
	for n := range count {
		exe := benchExecution(fmt.Sprintf("order-%08d", n), statuses[random.IntN(len(statuses))], 120)
		if exe.Status == store.Failed {
			failed++
		}
		data, err := exe.Encode(3)
		if err != nil {
			return 0, err
		}
		_, err = change(conn, insert, func(q *sqlite.Stmt) {
			q.BindText(1, exe.ID)
			q.BindText(2, exe.DefinitionID)
			q.BindText(3, data)
			q.BindInt64(4, 3)
		})
		if err != nil {
			return 0, err
		}
	}
	return failed, nil
}

// BenchmarkExecutions lists 100,000 executions in a file of ours and in one of
// harel's, which is open for reading.
func BenchmarkExecutions(b *testing.B) {
	const count = 100_000
	insert := executionSQLOf(tablesOf(NewSet(DefaultPrefix))).insert
	b.Run("ours", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "bench.db")
		db, err := Open(b.Context(), Options{Path: path, Create: true, Synchronous: "OFF"})
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		failed := 0
		err = db.writer.write(b.Context(), func(conn *sqlite.Conn) (err error) {
			failed, err = fillExecutions(conn, insert, count)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		benchLists(b, db.Executions(), count, failed)
	})
	b.Run("harel", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "bench.db")
		failed := 0
		makeHarel(b, path, DefaultPrefix, func(conn *sqlite.Conn) (err error) {
			failed, err = fillExecutions(conn, insert, count)
			return err
		})
		db, err := Open(b.Context(), Options{Path: path})
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		benchLists(b, db.Executions(), count, failed)
	})
}

func benchLists(b *testing.B, es store.ExecutionStore, count, failed int) {
	ctx := b.Context()
	through := func(f store.ExecutionFilter, want int) func(*testing.B) {
		return func(b *testing.B) {
			for range b.N {
				got := 0
				err := store.All(func(p store.PageRequest) (store.Page[store.Summary], error) {
					return es.ListExecutions(ctx, f, p)
				}, func(store.Summary) error { got++; return nil })
				if err != nil || got != want {
					b.Fatalf("%d rows, want %d: %v", got, want, err)
				}
			}
		}
	}
	page := func(req store.PageRequest) func(*testing.B) {
		return func(b *testing.B) {
			for range b.N {
				p, err := es.ListExecutions(ctx, store.ExecutionFilter{}, req)
				if err != nil || len(p.Items) != min(req.Limit, store.DefaultLimit) {
					b.Fatalf("%d rows: %v", len(p.Items), err)
				}
			}
		}
	}
	var middle store.PageRequest
	for seen := 0; seen < count/2; seen += store.DefaultLimit {
		p, err := es.ListExecutions(ctx, store.ExecutionFilter{}, middle)
		if err != nil {
			b.Fatal(err)
		}
		middle.Cursor = p.Next
	}
	b.Run("screen", page(store.PageRequest{Limit: 60}))
	b.Run("page_first", page(store.PageRequest{Limit: 1000}))
	b.Run("page_middle", page(store.PageRequest{Limit: 1000, Cursor: middle.Cursor}))
	b.Run("all", through(store.ExecutionFilter{}, count))
	b.Run("filtered", through(store.ExecutionFilter{Status: []store.Status{store.Failed}}, failed))
	none := "nobody"
	b.Run("children", through(store.ExecutionFilter{ParentID: &none}, 0))
	b.Run("pending", through(store.ExecutionFilter{Status: []store.Status{store.Pending}}, 0))
	b.Run("counted", func(b *testing.B) {
		for range b.N {
			c, err := es.Counts(ctx)
			if err != nil || c.Executions != int64(count) || c.ByStatus[store.Failed] != int64(failed) {
				b.Fatalf("%+v: %v", c, err)
			}
		}
	})
}

package rqlite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"treering/store"
)

// benchCluster is a server where RQLITED names one, else a stand-in, of which only the
// proportions mean anything.
func benchCluster(b *testing.B) *DB {
	b.Helper()
	return openAt(b, newCluster(b), Options{ReadWrite: true, Create: true})
}

// BenchmarkCommit compares commits with plain requests that do the same work: the same
// statements, encoded with encoding/json and posted, with nothing looked at but the
// status.
func BenchmarkCommit(b *testing.B) {
	for _, committers := range []int{1, 8, 64} {
		for _, way := range []string{"plain", "ours"} {
			b.Run(fmt.Sprintf("%s/%d", way, committers), func(b *testing.B) {
				db := benchCluster(b)
				url := "http://" + db.opts.Address.Nodes[0] + "/db/execute?transaction"
				plain := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
				took := make([][]time.Duration, committers)
				var all sync.WaitGroup
				b.ResetTimer()
				for w := range committers {
					all.Go(func() {
						exe := exeOf(fmt.Sprintf("e%d", w))
						exe.Context = store.JSON(`{"pad":"` + strings.Repeat("x", 400) + `"}`)
						for i := w; i < b.N; i += committers {
							began := time.Now()
							commit := fullCommit(exe, fmt.Sprintf("%d-%d", w, i))
							commit.Timers[0].Path = "p"
							var err error
							if way == "ours" {
								_, err = db.executions.Commit(b.Context(), commit)
							} else if err = plainCommit(plain, url, db.executions, commit); err == nil {
								exe.Version++
							}
							if err != nil {
								b.Error(err)
								return
							}
							took[w] = append(took[w], time.Since(began))
						}
					})
				}
				all.Wait()
				b.StopTimer()
				times := slices.Concat(took...)
				slices.Sort(times)
				if len(times) > 0 {
					b.ReportMetric(float64(len(times))/b.Elapsed().Seconds(), "commits/s")
					b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-us")
				}
			})
		}
	}
}

func plainCommit(c *http.Client, url string, e *executions, commit store.Commit) error {
	checked, err := commit.Check()
	if err != nil {
		return err
	}
	statements, _ := e.statements(checked)
	var all [][]any
	for _, s := range statements {
		all = append(all, append([]any{s.sql}, s.params...))
	}
	body, err := json.Marshal(all)
	if err != nil {
		return err
	}
	resp, err := c.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d, %v", resp.StatusCode, err)
	}
	return nil
}

// BenchmarkList compares the first page of 200,000 executions with one in the middle.
func BenchmarkList(b *testing.B) {
	db := benchCluster(b)
	_, err := db.client.execute(b.Context(), sql(`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199999)
INSERT INTO harel_executions SELECT printf('e%06d', i), 'shop', '{"id":"'||printf('e%06d', i)||'","definition_id":"shop","status":"'||CASE i % 100 WHEN 0 THEN 'FAILED' ELSE 'RUNNING' END||'","context":{"pad":"'||printf('%.400c', 'x')||'"},"version":1}', 1 FROM n`))
	if err != nil {
		b.Fatal(err)
	}
	es := db.executions
	middle := store.EncodeCursor(es.scopeOf("executions", store.ExecutionFilter{}.Scope()), "te100000")
	failed := store.ExecutionFilter{Status: []store.Status{store.Failed}}
	db.opts.Browse = true
	db.wrote.Store(0)
	for _, way := range []struct {
		name   string
		filter store.ExecutionFilter
		cursor string
	}{{"first", store.ExecutionFilter{}, ""}, {"middle", store.ExecutionFilter{}, middle}, {"failed", failed, ""}} {
		b.Run(way.name, func(b *testing.B) {
			for range b.N {
				page, err := es.ListExecutions(b.Context(), way.filter, store.PageRequest{Cursor: way.cursor, Limit: 100})
				if err != nil || len(page.Items) != 100 {
					b.Fatal(len(page.Items), err)
				}
			}
		})
	}
	b.Run("counts", func(b *testing.B) {
		for range b.N {
			counts, err := es.Counts(b.Context())
			if err != nil || counts.ByStatus[store.Failed] != 2000 || counts.Executions != 200000 {
				b.Fatal(counts, err)
			}
		}
	})
}

// BenchmarkNotice measures from another client's commit until it is noticed, which is by
// looking.
func BenchmarkNotice(b *testing.B) {
	at := newCluster(b)
	db := openAt(b, at, Options{ReadWrite: true, Create: true})
	other := openAt(b, at, Options{})
	exe := exeOf("e")
	var took []time.Duration
	for b.Loop() {
		token, err := other.ChangeToken(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { _, err := other.Wait(b.Context(), token); done <- err }()
		time.Sleep(time.Duration(rand.Int64N(int64(500 * time.Millisecond)))) // at any time between two looks
		begun := time.Now()
		if err := db.executions.Save(b.Context(), exe); err != nil {
			b.Fatal(err)
		}
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "p99-ms")
}

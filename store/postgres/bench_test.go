package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"treering/store"
)

// plainCommit is what a commit of ours does, as one function of the server.
const plainCommit = `CREATE FUNCTION plain_commit(p_id text, p_data text, p_old bigint, p_event text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE s bigint; i bigint;
BEGIN
  IF p_old = 0 THEN INSERT INTO harel_executions VALUES (p_id, 'd', p_data, 1);
  ELSE
    UPDATE harel_executions SET definition_id = 'd', data = p_data, version = p_old + 1 WHERE id = p_id AND version = p_old;
    IF NOT FOUND THEN RETURN -1; END IF;
  END IF;
  INSERT INTO harel_outbox (target_id, event) VALUES ('t', p_event) RETURNING seq INTO s;
  INSERT INTO harel_processed_events VALUES (p_id, p_id || p_old) ON CONFLICT DO NOTHING;
  INSERT INTO harel_timers VALUES (p_id, 'A.B', p_old) ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at;
  INSERT INTO harel_trace SELECT p_id, coalesce(max(idx), -1) + 1, p_event FROM harel_trace WHERE execution_id = p_id RETURNING idx INTO i;
  DELETE FROM harel_trace WHERE execution_id = p_id AND idx <= i - 200;
  RETURN s;
END $$`

// statements is the same as plain SQL from a client, in as few round trips as that can be:
// the transaction goes on when the answer has said that the race was not lost.
func statements(ctx context.Context, pool *pgxpool.Pool, id, data string, version int64, event string) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var first, rest pgx.Batch
	first.Queue("BEGIN")
	if version == 0 {
		first.Queue("INSERT INTO harel_executions VALUES ($1, 'd', $2, 1)", id, data)
	} else {
		first.Queue("UPDATE harel_executions SET definition_id = 'd', data = $2, version = $3::bigint + 1 WHERE id = $1 AND version = $3", id, data, version)
	}
	answers := conn.SendBatch(ctx, &first)
	_, berr := answers.Exec()
	tag, err := answers.Exec()
	if err = errors.Join(berr, err, answers.Close()); err == nil && tag.RowsAffected() != 1 {
		err = errors.New("lost")
	}
	if err != nil {
		_, rerr := conn.Exec(ctx, "ROLLBACK")
		return errors.Join(err, rerr)
	}
	rest.Queue("INSERT INTO harel_outbox (target_id, event) VALUES ('t', $1) RETURNING seq", event)
	rest.Queue("INSERT INTO harel_processed_events VALUES ($1, $1 || $2) ON CONFLICT DO NOTHING", id, fmt.Sprint(version))
	rest.Queue("INSERT INTO harel_timers VALUES ($1, 'A.B', $2) ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at", id, float64(version))
	rest.Queue("INSERT INTO harel_trace SELECT $1, coalesce(max(idx), -1) + 1, $2 FROM harel_trace WHERE execution_id = $1", id, event)
	rest.Queue("DELETE FROM harel_trace WHERE execution_id = $1 AND idx <= (SELECT max(idx) FROM harel_trace WHERE execution_id = $1) - 200", id)
	rest.Queue("COMMIT")
	return conn.SendBatch(ctx, &rest).Close()
}

func BenchmarkCommit(b *testing.B) {
	s := server(b)
	for _, committers := range []int{1, 8, 64} {
		at := s.Schema(b)
		db := openDB(b, Options{URL: at, ReadWrite: true, Create: true})
		s.ExecOn(b, at, plainCommit)
		pool, err := pgxpool.NewWithConfig(b.Context(), db.pool.Config())
		must(b, err)
		b.Cleanup(pool.Close)
		exe := &store.Execution{ID: "x", DefinitionID: "d", Context: `{"user":"ana","total":455.3,"items":["a","b","c"],"note":"some hundred bytes of what a system keeps of an order while it is under way, such as this"}`}
		data, err := exe.Encode(1)
		must(b, err)
		event, err := store.Event{ID: "e", Kind: "Paid", Data: `{"auth":"A-19"}`}.Encode()
		must(b, err)
		for _, kind := range []struct {
			name   string
			commit func(ctx context.Context, e *store.Execution) error
		}{
			{"function", func(ctx context.Context, e *store.Execution) error {
				var seq int64
				err := pool.QueryRow(ctx, "SELECT plain_commit($1, $2, $3, $4)", e.ID, data, e.Version, string(event)).Scan(&seq)
				if err == nil && seq < 0 {
					err = errors.New("lost")
				}
				e.Version++
				return err
			}},
			{"statements", func(ctx context.Context, e *store.Execution) error {
				err := statements(ctx, pool, e.ID, string(data), e.Version, string(event))
				e.Version++
				return err
			}},
			{"ours", func(ctx context.Context, e *store.Execution) error {
				mark, target := fmt.Sprint(e.ID, e.Version), "t"
				_, err := db.Executions().Commit(ctx, store.Commit{
					Execution: e, ProcessedEventID: &mark, Emits: []store.Emit{{TargetID: &target, Event: store.Event{ID: "e", Kind: "Paid", Data: `{"auth":"A-19"}`}}},
					Timers: []store.TimerOp{{Action: store.Schedule, Path: "A.B", FireAt: float64(e.Version)}}, Trace: store.JSON(event),
				})
				return err
			}},
		} {
			b.Run(fmt.Sprintf("%s/committers=%d", kind.name, committers), func(b *testing.B) {
				var left atomic.Int64
				left.Store(int64(b.N))
				var mu sync.Mutex
				var took []time.Duration
				var wg sync.WaitGroup
				run := time.Now().UnixNano()
				b.ResetTimer()
				for w := range committers {
					wg.Go(func() {
						e := exe.Clone()
						e.ID = fmt.Sprintf("%s-%d-%d", kind.name, run, w)
						var mine []time.Duration
						for left.Add(-1) >= 0 {
							begun := time.Now()
							if err := kind.commit(b.Context(), e); err != nil {
								b.Error(err)
								return
							}
							mine = append(mine, time.Since(begun))
						}
						mu.Lock()
						took = append(took, mine...)
						mu.Unlock()
					})
				}
				wg.Wait()
				b.StopTimer()
				slices.Sort(took)
				b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "commits/s")
				if len(took) > 0 {
					b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
				}
			})
		}
	}
}

func BenchmarkList(b *testing.B) {
	s := server(b)
	at := s.Schema(b)
	db := openDB(b, Options{URL: at, ReadWrite: true, Create: true})
	s.ExecOn(b, at, `INSERT INTO harel_executions SELECT 'order-' || lpad(n::text, 6, '0'), 'shop',
 '{"id":"order-' || lpad(n::text, 6, '0') || '","definition_id":"shop","definition_fqn":null,"root_path":"","status":"' || CASE WHEN n % 4 = 0 THEN 'FAILED' ELSE 'RUNNING' END ||
 '","context":{"note":"' || repeat('x', 300) || '"},"version":1}', 1 FROM generate_series(0, 199999) n; ANALYZE harel_executions`)
	middle := store.EncodeCursor(db.executions.scopeOf("executions", store.ExecutionFilter{}.Scope()), "order-100000")
	for _, c := range []struct {
		name   string
		filter store.ExecutionFilter
		cursor string
	}{{"first", store.ExecutionFilter{}, ""}, {"middle", store.ExecutionFilter{}, middle}, {"failed", store.ExecutionFilter{Status: []store.Status{store.Failed}}, ""}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				page, err := db.Executions().ListExecutions(b.Context(), c.filter, store.PageRequest{Cursor: c.cursor})
				if err != nil || len(page.Items) != 1000 {
					b.Fatal(len(page.Items), err)
				}
			}
		})
	}
}

// BenchmarkNotice is the time from the begin of a commit until another process knows.
func BenchmarkNotice(b *testing.B) {
	at := server(b).Schema(b)
	db := openDB(b, Options{URL: at, ReadWrite: true, Create: true})
	other := openDB(b, Options{URL: at})
	exe := &store.Execution{ID: "e", DefinitionID: "d"}
	var took []time.Duration
	for b.Loop() {
		time.Sleep(2 * tellEvery) // a commit that nobody waited with
		token, err := other.ChangeToken(b.Context())
		must(b, err)
		done := make(chan error, 1)
		go func() { _, err := other.Wait(b.Context(), token); done <- err }()
		time.Sleep(2 * time.Millisecond)
		begun := time.Now()
		must(b, db.Executions().Save(b.Context(), exe))
		must(b, <-done)
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
}

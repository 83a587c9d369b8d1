package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

const benchStep = `{"event_kind": "Paid", "event_data": {"auth": "A-19"}, "from_path": "Payment.Awaiting", "to_path": "Fulfilment", ` +
	`"actions": ["shop.pay.capture", "shop.mail.receipt"], "context_out": {"order": 1004, "total": 455.3}, "timestamp": 1784730012.482913}`

// benchExecution is one of about 600 bytes as it is stored.
func benchExecution(id string) *store.Execution {
	at := "Payment.Awaiting"
	return &store.Execution{
		ID: id, DefinitionID: "order", Status: store.Running, ActivePath: &at, ProcessedEvents: 2,
		History: `{"":"Payment","Payment":"Payment.Awaiting"}`,
		Context: store.JSON(`{"order":1004,"customer":"Ana Ruiz","total":455.3,"note":"` + strings.Repeat("x", 150) + `"}`),
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

// plainScript does what a commit does, and nothing else: no other kinds of keys are
// thought of, no number of entries but one.
var plainScript = goredis.NewScript(`
local old = redis.call('GET', KEYS[1])
if old and cjson.decode(old).version ~= tonumber(ARGV[1]) then return redis.error_reply('CONFLICT') end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('HSET', KEYS[2], redis.call('INCR', KEYS[3]), ARGV[3])
redis.call('SADD', KEYS[4], ARGV[4])
redis.call('ZADD', KEYS[5], ARGV[5], ARGV[6])
redis.call('RPUSH', KEYS[6], ARGV[7] .. (redis.call('INCR', KEYS[7]) - 1) .. '}')
redis.call('LTRIM', KEYS[6], -200, -1)
return 1
`)

// BenchmarkCommit commits on 64 executions with full trace rings; b.N is the total of
// all committers. Beside it the same work is done without this package: in a script with
// all its arguments ready, and by harel's WATCH and MULTI.
func BenchmarkCommit(b *testing.B) {
	s := startServer(b, "--appendfsync", "everysec")
	var h shared
	for _, committers := range []int{1, 8, 64} {
		for _, way := range []string{"ours", "script", "watch"} {
			b.Run(fmt.Sprintf("%s/%d", way, committers), func(b *testing.B) { benchCommit(b, s, h.db(), way, committers) })
		}
	}
}

func benchCommit(b *testing.B, s *testServer, db int, way string, committers int) {
	const executions = 64
	d := openNew(b, s.url(db))
	es, ctx := d.executions, b.Context()
	c := d.client.(*goredis.Client)
	all := make([]*store.Execution, executions)
	ring := make([]any, store.DefaultTraceMax)
	for i := range ring {
		ring[i] = string(store.WithIndex(benchStep, int64(i)))
	}
	for i := range all {
		all[i] = benchExecution(fmt.Sprintf("order-%04d", i))
		_, err := es.Commit(ctx, boundary(all[i], 0))
		ok(b, err)
		ok(b, c.RPush(ctx, es.keys.trace(all[i].ID), ring...).Err())
	}
	watch := harel{c, DefaultPrefix}
	commit := map[string]func(exe *store.Execution, n int) error{
		"ours": func(exe *store.Execution, n int) error { _, err := es.Commit(ctx, boundary(exe, n)); return err },
		"script": func(exe *store.Execution, n int) error {
			version := strconv.FormatInt(exe.Version, 10)
			next := strconv.FormatInt(exe.Version+1, 10)
			event := exe.ID + "-" + next
			k := es.keys
			err := plainScript.Run(ctx, c, []string{k.exe(exe.ID), k.outbox, k.outboxSeq, k.processed(exe.ID), k.timers, k.trace(exe.ID), k.traceSeq(exe.ID)},
				version, readyBlob[0]+exe.ID+readyBlob[1]+next+readyBlob[2], `{"t": "`+exe.ID+`", "e": "{\"id\":\"`+event+`\",\"kind\":\"Paid\",\"created_time\":null,\"received_time\":null,\"data\":{\"auth\":\"A-19\"}}"}`,
				event, 1784730912.25+float64(n), exe.ID+"\x00Payment.Awaiting", benchStep[:len(benchStep)-1]+`, "index": `).Err()
			exe.Version++
			return err
		},
		"watch": func(exe *store.Execution, n int) error {
			c := boundary(exe, n)
			c.Spawns = []store.Spawn{{ChildID: "c"}}
			checked, err := c.Check()
			exe.Version++
			return errors.Join(err, watch.slow(ctx, checked))
		},
	}[way]
	took := make([][]time.Duration, committers)
	var next atomic.Int64
	var done sync.WaitGroup
	b.ResetTimer()
	began := time.Now()
	for w := range committers {
		done.Go(func() {
			for n := w; next.Add(1) <= int64(b.N); n += committers {
				at := time.Now()
				if err := commit(all[(w+(n/committers)*committers)%executions], n); err != nil {
					b.Error(err)
					return
				}
				took[w] = append(took[w], time.Since(at))
			}
		})
	}
	done.Wait()
	elapsed := time.Since(began)
	b.StopTimer()
	lasted := slices.Concat(took...)
	slices.Sort(lasted)
	b.ReportMetric(float64(len(lasted))/elapsed.Seconds(), "commits/s")
	b.ReportMetric(float64(lasted[len(lasted)*99/100].Microseconds()), "p99-us")
}

// readyBlob is an execution's blob around its id and version.
var readyBlob = func() [3]string {
	text, err := benchExecution("@id").Encode(424242)
	if err != nil {
		panic(err)
	}
	before, after, _ := strings.Cut(text, "@id")
	between, after, _ := strings.Cut(after, "424242")
	return [3]string{before, between, after}
}()

// BenchmarkBrowse reads the first page of 60 and one in the middle of 200,000
// executions.
func BenchmarkBrowse(b *testing.B) {
	const n = 200_000
	s := startServer(b)
	fill(b, s, 0, 0, n)
	d := open(b, Options{URL: s.url(0)})
	es, ctx := d.Executions(), b.Context()
	began := time.Now()
	first, err := es.ListExecutions(ctx, store.ExecutionFilter{}, store.PageRequest{Limit: 60})
	ok(b, err)
	b.Logf("the first look at %d keys took %v", n, time.Since(began))
	middle := store.EncodeCursor(d.executions.scopeOf("executions", store.ExecutionFilter{}.Scope()), fmt.Sprintf("x%07d", n/2))
	for name, cursor := range map[string]string{"first": "", "second": first.Next, "middle": middle} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				page, err := es.ListExecutions(ctx, store.ExecutionFilter{}, store.PageRequest{Limit: 60, Cursor: cursor})
				if err != nil || len(page.Items) != 60 {
					b.Fatal(len(page.Items), err)
				}
			}
		})
	}
}

// BenchmarkNoticed is the time from a commit's answer until somebody else who waits is
// woken.
func BenchmarkNoticed(b *testing.B) {
	s := startServer(b)
	d, other := openNew(b, s.url(0)), open(b, Options{URL: s.url(0)})
	exe := newExecution("e")
	token, err := other.ChangeToken(b.Context())
	ok(b, err)
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		woken := make(chan string, 1)
		go func() {
			now, err := other.Wait(context.Background(), token)
			if err != nil {
				b.Error(err)
			}
			woken <- now
		}()
		time.Sleep(time.Duration(i%23) * time.Millisecond) // not in step with the polls
		ok(b, d.Executions().Save(b.Context(), exe))
		at := time.Now()
		token = <-woken
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
}

package memory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"

	"treering/store"
	"treering/store/memory"
)

// benchExecutions is over how many executions the commits go round.
const benchExecutions = 1000

// benchTrace is a step as an engine writes it; only the number in it changes.
const benchTrace = `{"event_kind": "PaymentAuthorized", "event_data": {"auth": "A-19"}, "from_path": "Checkout.Payment", "to_path": "Checkout.Confirm", "actions": ["shop.pay.capture", "shop.mail.receipt"], "context_out": {"user": "ana", "total": 49.9, "auth": "A-19"}, "timestamp": 1784730012.482913}`

// BenchmarkCommit is one event boundary with one of each: state, an emit, a mark,
// a re-armed timer and a step into a full ring. The emit is acked, as a relay
// would, so that the outbox does not grow without end.
func BenchmarkCommit(b *testing.B) {
	for _, timers := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("other timers=%d", timers), func(b *testing.B) {
			s := open(b, memory.Options{}).Executions()
			ctx := context.Background()
			for i := range timers {
				c := store.Commit{Execution: &store.Execution{ID: "t" + strconv.Itoa(i)}, Timers: []store.TimerOp{{Action: store.Schedule, Path: "p", FireAt: float64(i)}}}
				if _, err := s.Commit(ctx, c); err != nil {
					b.Fatal(err)
				}
			}
			exes := make([]*store.Execution, benchExecutions)
			for i := range exes {
				active := "Checkout.Payment"
				exes[i] = &store.Execution{ID: fmt.Sprintf("order-%06d", i), DefinitionID: "shop", Status: store.Running, ActivePath: &active, Context: `{"user":"ana","total":49.9}`}
				for range store.DefaultTraceMax {
					if err := s.AppendTrace(ctx, exes[i].ID, benchTrace); err != nil {
						b.Fatal(err)
					}
				}
			}
			ids := make([]string, b.N)
			for i := range ids {
				ids[i] = "event-" + strconv.Itoa(i)
			}
			paths := [2]string{"Checkout.Payment", "Checkout.Confirm"}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				exe := exes[i%benchExecutions]
				exe.ActivePath = &paths[i&1]
				_, err := s.Commit(ctx, store.Commit{
					Execution:        exe,
					Emits:            []store.Emit{{TargetID: &exes[(i+1)%benchExecutions].ID, Event: store.Event{ID: ids[i], Kind: "Paid", Data: `{"amount":49.9}`}}},
					ProcessedEventID: &ids[i],
					Timers:           []store.TimerOp{{Action: store.Schedule, Path: "Checkout.Payment", FireAt: float64(i)}},
					Trace:            benchTrace,
				})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.AckOutbox(ctx, int64(i+1)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSave(b *testing.B) {
	s := open(b, memory.Options{}).Executions()
	exe := &store.Execution{ID: "e", DefinitionID: "shop", Status: store.Running}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Save(context.Background(), exe); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSaveObserved is Save with its snapshot, alone and by as many goroutines
// as run at once, each with an execution of its own: the snapshot is taken under
// the store's lock.
func BenchmarkSaveObserved(b *testing.B) {
	exe := func(id string) *store.Execution {
		text := "Checkout.Payment"
		return &store.Execution{ID: id, DefinitionID: "shop", Status: store.Running, ActivePath: &text, ParentID: &text, ChildID: &text, Context: `{"user":"ana","total":49.9}`}
	}
	b.Run("one", func(b *testing.B) {
		s := open(b, memory.Options{}).Executions()
		defer s.Observe()()
		e := exe("e")
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Save(context.Background(), e); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("several", func(b *testing.B) {
		s := open(b, memory.Options{}).Executions()
		defer s.Observe()()
		var n atomic.Int64
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			e := exe("e" + strconv.FormatInt(n.Add(1), 10))
			for pb.Next() {
				if err := s.Save(context.Background(), e); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

// BenchmarkPageOfOne is the last page of what one execution has 100,000 of.
func BenchmarkPageOfOne(b *testing.B) {
	const n = 100_000
	ctx := context.Background()
	s := open(b, memory.Options{}).Executions()
	id := "e"
	c := store.Commit{Execution: &store.Execution{ID: id}}
	for i := range n {
		c.Emits = append(c.Emits, store.Emit{TargetID: &id, Event: store.Event{ID: strconv.Itoa(i), Kind: "K"}})
		c.Spawns = append(c.Spawns, store.Spawn{ChildID: strconv.Itoa(i)})
		c.Timers = append(c.Timers, store.TimerOp{Action: store.Schedule, Path: strconv.Itoa(i), FireAt: float64(i % 7919)})
	}
	if _, err := s.Commit(ctx, c); err != nil {
		b.Fatal(err)
	}
	f := store.QueueFilter{ExecutionID: &id}
	pageOfOne(b, "outbox", n, func(p store.PageRequest) (store.Page[store.OutboxEntry], error) { return s.ListOutbox(ctx, f, p) })
	pageOfOne(b, "spawns", n, func(p store.PageRequest) (store.Page[store.SpawnEntry], error) { return s.ListSpawns(ctx, f, p) })
	pageOfOne(b, "timers", n, func(p store.PageRequest) (store.Page[store.Timer], error) { return s.ListTimers(ctx, f, p) })
}

// pageOfOne measures the page of the last 60 of n.
func pageOfOne[T any](b *testing.B, name string, n int, list func(store.PageRequest) (store.Page[T], error)) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		var p store.PageRequest
		for left := n - 60; left > 0; left -= p.Limit {
			p.Limit = min(left, store.DefaultLimit)
			page, err := list(p)
			if err != nil {
				b.Fatal(err)
			}
			p.Cursor = page.Next
		}
		p.Limit = 60
		b.ReportAllocs()
		for b.Loop() {
			if page, err := list(p); err != nil || len(page.Items) != p.Limit || page.Next != "" {
				b.Fatal(len(page.Items), page.Next, err)
			}
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	s := open(b, memory.Options{}).Executions()
	exe := &store.Execution{ID: "e", DefinitionID: "shop", Status: store.Running}
	if err := s.Save(context.Background(), exe); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Load(context.Background(), "e"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList is about 100,000 executions: made in random order, listed to the
// end, a rare status found, a page in the middle.
func BenchmarkList(b *testing.B) {
	const n = 100_000
	ctx := context.Background()
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	fill := func() *memory.Executions {
		s := open(b, memory.Options{}).Executions()
		for _, i := range order {
			exe := &store.Execution{ID: fmt.Sprintf("order-%06d", i), DefinitionID: "shop", Status: store.Running}
			if i%5000 == 0 {
				exe.Status = store.Failed
			}
			c := store.Commit{Execution: exe, Timers: []store.TimerOp{{Action: store.Schedule, Path: "p", FireAt: float64(i % 7919)}}, Emits: []store.Emit{{Event: store.Event{ID: "e", Kind: "K"}}}}
			if _, err := s.Commit(ctx, c); err != nil {
				b.Fatal(err)
			}
		}
		return s
	}
	b.Run("insert 100k in random order", func(b *testing.B) {
		for b.Loop() {
			fill()
		}
	})
	s := fill()
	list := func(b *testing.B, f store.ExecutionFilter, want int) {
		b.Helper()
		for b.Loop() {
			got := 0
			err := store.All(func(p store.PageRequest) (store.Page[store.Summary], error) {
				return s.ListExecutions(ctx, f, p)
			}, func(store.Summary) error { got++; return nil })
			if err != nil || got != want {
				b.Fatal(got, err)
			}
		}
	}
	b.Run("all by pages of 1000", func(b *testing.B) { list(b, store.ExecutionFilter{}, n) })
	b.Run("rare status", func(b *testing.B) { list(b, store.ExecutionFilter{Status: []store.Status{store.Failed}}, n/5000) })
	b.Run("60 in the middle", func(b *testing.B) {
		page, err := s.ListExecutions(ctx, store.ExecutionFilter{}, store.PageRequest{Limit: 1000})
		for range n / 2000 {
			if err == nil {
				page, err = s.ListExecutions(ctx, store.ExecutionFilter{}, store.PageRequest{Cursor: page.Next})
			}
		}
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := s.ListExecutions(ctx, store.ExecutionFilter{}, store.PageRequest{Cursor: page.Next, Limit: 60}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("due timers, 13 of 100k", func(b *testing.B) {
		for b.Loop() {
			if due, err := s.DueTimers(ctx, 0); err != nil || len(due) != 13 {
				b.Fatal(len(due), err)
			}
		}
	})
	b.Run("pending outbox of 100k", func(b *testing.B) {
		for b.Loop() {
			if out, err := s.PendingOutbox(ctx); err != nil || len(out) != n {
				b.Fatal(len(out), err)
			}
		}
	})
	b.Run("ack anywhere in 100k", func(b *testing.B) {
		i := 0
		for b.Loop() {
			if _, err := s.AckOutbox(ctx, int64(order[i%n]+1)); err != nil {
				b.Fatal(err)
			}
			i++
		}
	})
}

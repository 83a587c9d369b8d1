package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"treering/store"
)

// version reads the committed version as any observer may: Load's object is the
// engine's own where the backend has identity.
func version(b *execBundle, s store.ExecutionStore, id string) (int64, error) {
	page, err := s.ListExecutions(b.ctx, store.ExecutionFilter{}, store.PageRequest{})
	if err != nil {
		return 0, err
	}
	for _, sum := range page.Items {
		if sum.ID == id {
			return sum.Version, nil
		}
	}
	return 0, nil
}

// failures collects errors of goroutines, in which a test must not end itself.
type failures struct {
	mu   sync.Mutex
	errs []error
}

func (f *failures) add(err error) {
	if err != nil {
		f.mu.Lock()
		f.errs = append(f.errs, err)
		f.mu.Unlock()
	}
}

// handles are the store and, where the backend can, a second one on the same data.
func handles(b *execBundle) []store.ExecutionStore {
	if b.f.Share == nil {
		return []store.ExecutionStore{b.s}
	}
	return []store.ExecutionStore{b.s, b.f.Share(b.t, b.s)}
}

func concurrencyCases() []execCase {
	return []execCase{
		{
			name: "one winner per version",
			rule: "of N writers that hold the same version, the first insert included, exactly one wins; each loser gets a ConflictError, keeps its Version and leaves nothing in outbox, marks, spawns, timers and trace",
			run: func(b *execBundle) {
				const writers = 8
				stores := handles(b)
				rounds := size(12, 4)
				var want []string
				for v := range rounds {
					var fails failures
					won := make([]bool, writers)
					together(writers, func(w int) {
						exe := fresh("hot")
						exe.Version = int64(v)
						_, err := stores[w%len(stores)].Commit(b.ctx, full(exe, tag(v, w)))
						var lost *store.ConflictError
						switch {
						case err == nil:
							won[w] = true
							if exe.Version != int64(v)+1 {
								fails.add(fmt.Errorf("the winner's version is %d", exe.Version))
							}
						case !errors.As(err, &lost):
							fails.add(fmt.Errorf("loser: %w", err))
						case exe.Version != int64(v) || lost.Expected != int64(v):
							fails.add(fmt.Errorf("the loser's version is %d, the conflict %v", exe.Version, lost))
						}
					})
					b.ok(errors.Join(fails.errs...))
					winners := 0
					for w, ok := range won {
						b.equal("mark of "+tag(v, w), b.processed("hot", "processed-"+tag(v, w)), ok)
						if ok {
							winners++
							want = append(want, tag(v, w))
						}
					}
					b.equal(fmt.Sprintf("winners of version %d", v), winners, 1)
				}
				var outbox, spawns, timers, trace []string
				for i, tag := range want {
					outbox = append(outbox, fmt.Sprintf(`"target-%s": emit-%s Paid {}`, tag, tag))
					spawns = append(spawns, fmt.Sprintf(`by "hot": "child-%s" at "Fork.A" {"a":1}`, tag))
					timers = append(timers, fmt.Sprintf(`10.0 "hot" "timer-%s"`, tag))
					trace = append(trace, fmt.Sprintf(`%d {"event_kind":"step-%s"}`, i, tag))
				}
				b.equal("outbox", lines(b.outbox(), func(l string) string { _, l, _ = strings.Cut(l, " to "); return l }), outbox)
				b.equal("spawns", lines(b.spawns(), func(l string) string { _, l, _ = strings.Cut(l, " "); return l }), spawns)
				b.equal("timers", b.due(10), sorted(timers))
				b.equal("trace", b.trace("hot"), trace)
				b.equal("version", b.load("hot").Version, int64(rounds))
			},
		},
		{
			name: "retry until done",
			rule: "writers that reload after each conflict all get through, and the version counts their successes: no update is lost",
			run: func(b *execBundle) {
				b.save(fresh("hot"))
				const writers = 6
				stores := handles(b)
				each := size(10, 3)
				var fails failures
				together(writers, func(w int) {
					s := stores[w%len(stores)]
					for n := 0; n < each; {
						v, err := version(b, s, "hot")
						if err != nil {
							fails.add(err)
							return
						}
						exe := fresh("hot")
						exe.Version = v
						_, err = s.Commit(b.ctx, store.Commit{Execution: exe, Emits: []store.Emit{emit("t", event(fmt.Sprint(w), n))}, Trace: step(n)})
						switch {
						case err == nil:
							n++
						case !errors.Is(err, store.ErrConflict):
							fails.add(err)
							return
						}
					}
				})
				b.ok(errors.Join(fails.errs...))
				b.equal("version", b.load("hot").Version, int64(1+writers*each))
				b.equal("outbox", len(b.outbox()), writers*each)
				b.equal("trace", len(b.trace("hot")), writers*each)
			},
		},
		{
			name: "different executions",
			rule: "commits on different executions never conflict; seqs are unique, each commit's own ones ascend, and the queue holds all of them in order",
			run: func(b *execBundle) {
				const writers = 8
				stores := handles(b)
				each := size(15, 4)
				var fails failures
				var mu sync.Mutex
				var all []int64
				together(writers, func(w int) {
					exe := fresh(fmt.Sprint("e", w))
					for n := range each {
						c := full(exe, tag(n, w))
						c.Emits = append(c.Emits, emit("t", event("second", n)))
						seqs, err := stores[w%len(stores)].Commit(b.ctx, c)
						if err != nil {
							fails.add(err)
							return
						}
						mu.Lock()
						all = append(all, seqs...)
						mu.Unlock()
						if len(seqs) != 2 || seqs[0] >= seqs[1] {
							fails.add(fmt.Errorf("seqs %v", seqs))
						}
					}
				})
				b.ok(errors.Join(fails.errs...))
				slices.Sort(all)
				b.equal("unique seqs", len(slices.Compact(slices.Clone(all))), writers*each*2)
				entries, err := b.s.PendingOutbox(b.ctx)
				b.ok(err)
				got := make([]int64, len(entries))
				for i, e := range entries {
					got[i] = e.Seq
				}
				b.equal("pending", got, all)
				for w := range writers {
					b.equal("version", b.load(fmt.Sprint("e", w)).Version, int64(each))
					b.equal("trace", len(b.trace(fmt.Sprint("e", w))), each)
				}
			},
		},
		{
			name: "one ack each",
			rule: "of several relays that ack the same entry exactly one is told that it removed it; the same for timers",
			run: func(b *execBundle) {
				const relays = 4
				n := size(20, 6)
				fillQueues(b, n)
				exe := fresh("timers")
				for i := range n {
					b.commit(store.Commit{Execution: exe, Timers: []store.TimerOp{schedule(fmt.Sprint(i), float64(i))}})
				}
				var fails failures
				var acked, fired atomic.Int64
				together(relays, func(int) {
					for i := range n {
						for _, ack := range b.acks() {
							removed, err := ack(b.ctx, int64(i+1))
							fails.add(err)
							if removed {
								acked.Add(1)
							}
						}
						removed, err := b.s.DeleteTimer(b.ctx, "timers", fmt.Sprint(i), float64(i))
						fails.add(err)
						if removed {
							fired.Add(1)
						}
					}
				})
				b.ok(errors.Join(fails.errs...))
				b.equal("acked", acked.Load(), int64(2*n))
				b.equal("fired", fired.Load(), int64(n))
			},
		},
		{
			name: "cancelled before the call",
			rule: "a context that is done already fails the call: nothing is written and the Version is untouched",
			run: func(b *execBundle) {
				b.commit(full(fresh("e"), "kept"))
				mark := [2]string{"e", "processed-late"}
				before := b.dump(mark)
				ctx, cancel := context.WithCancel(b.ctx)
				cancel()
				for _, exe := range []*store.Execution{b.copyOf("e"), fresh("new")} {
					was := exe.Version
					_, err := b.s.Commit(ctx, full(exe, "late"))
					b.is(err, context.Canceled)
					if errors.Is(err, store.ErrOutcomeUnknown) {
						b.t.Fatalf("the outcome is known: %v", err)
					}
					b.equal("version in hand", exe.Version, was)
				}
				for what, call := range map[string]func() error{
					"Load":          func() error { _, err := b.s.Load(ctx, "e"); return err },
					"LoadForEvent":  func() error { _, _, err := b.s.LoadForEvent(ctx, "e", "x"); return err },
					"IsProcessed":   func() error { _, err := b.s.IsProcessed(ctx, "e", "x"); return err },
					"PendingOutbox": func() error { _, err := b.s.PendingOutbox(ctx); return err },
					"PendingSpawns": func() error { _, err := b.s.PendingSpawns(ctx); return err },
					"AckOutbox":     func() error { _, err := b.s.AckOutbox(ctx, 1); return err },
					"AckSpawn":      func() error { _, err := b.s.AckSpawn(ctx, 1); return err },
					"DueTimers":     func() error { _, err := b.s.DueTimers(ctx, 99); return err },
					"DeleteTimer":   func() error { _, err := b.s.DeleteTimer(ctx, "e", "timer-kept", 10); return err },
					"RearmTimer":    func() error { _, err := b.s.RearmTimer(ctx, "e", "timer-kept", 10, 1); return err },
					"AppendTrace":   func() error { return b.s.AppendTrace(ctx, "e", step(1)) },
					"ReadTrace":     func() error { _, err := b.s.ReadTrace(ctx, "e"); return err },
					"ListExecutions": func() error {
						_, err := b.s.ListExecutions(ctx, store.ExecutionFilter{}, store.PageRequest{})
						return err
					},
					"ListOutbox": func() error { _, err := b.s.ListOutbox(ctx, store.QueueFilter{}, store.PageRequest{}); return err },
					"ListSpawns": func() error { _, err := b.s.ListSpawns(ctx, store.QueueFilter{}, store.PageRequest{}); return err },
					"ListTimers": func() error { _, err := b.s.ListTimers(ctx, store.QueueFilter{}, store.PageRequest{}); return err },
					"Counts":     func() error { _, err := b.s.Counts(ctx); return err },
					"Purge":      func() error { _, err := b.s.Purge(ctx, "e", 1); return err },
				} {
					if err := call(); !errors.Is(err, context.Canceled) {
						b.t.Errorf("%s: %v, want the context's error", what, err)
					}
				}
				b.unchanged(before, mark)
			},
		},
		{
			name: "cancelled in the crowd",
			rule: "a wait that is abandoned leaves a commit whole or not done at all: not done says so, else the outcome is unknown until a reload; the store goes on working",
			run: func(b *execBundle) {
				const writers = 8
				each := size(25, 6)
				var fails failures
				type outcome struct {
					id  string
					err error
				}
				results := make([][]outcome, writers)
				together(writers, func(w int) {
					rnd := rand.New(rand.NewPCG(7, uint64(w)))
					for n := range each {
						ctx, cancel := context.WithCancel(b.ctx)
						// Somewhere between before the call and after its end, by the scheduler's leave.
						timer := time.AfterFunc(time.Duration(rnd.IntN(800))*time.Microsecond, cancel)
						exe := fresh(fmt.Sprintf("e-%d-%d", w, n))
						_, err := b.s.Commit(ctx, full(exe, exe.ID))
						timer.Stop()
						cancel()
						results[w] = append(results[w], outcome{exe.ID, err})
						switch {
						case err == nil && exe.Version != 1:
							fails.add(fmt.Errorf("committed, but the version in hand is %d", exe.Version))
						case err != nil && exe.Version != 0:
							fails.add(fmt.Errorf("%w, but the version in hand is %d", err, exe.Version))
						case err != nil && !errors.Is(err, context.Canceled):
							fails.add(err)
						}
					}
				})
				b.ok(errors.Join(fails.errs...))
				// What is unknown is settled by the same commit once more: it is done now, or was, and
				// nothing is still on its way to a server.
				for _, o := range slices.Concat(results...) {
					if errors.Is(o.err, store.ErrOutcomeUnknown) {
						if _, err := b.s.Commit(b.ctx, full(fresh(o.id), o.id)); err != nil {
							b.is(err, store.ErrConflict)
						}
					}
				}
				b.save(fresh("last"))
				sent := map[string]int{}
				for _, line := range b.outbox() {
					_, line, _ = strings.Cut(line, "emit-")
					id, _, _ := strings.Cut(line, " ")
					sent[id]++
				}
				for _, o := range slices.Concat(results...) {
					_, err := b.s.Load(b.ctx, o.id)
					stored, want := err == nil, 0
					if stored {
						want = 1
					} else {
						b.is(err, store.ErrNotFound)
					}
					if sent[o.id] != want || stored != b.processed(o.id, "processed-"+o.id) || len(b.trace(o.id)) != want {
						b.t.Errorf("%s is half there: stored %v, sent %d times", o.id, stored, sent[o.id])
					}
					if o.err == nil && !stored {
						b.t.Errorf("%s was committed and is not there", o.id)
					}
					if o.err != nil && !errors.Is(o.err, store.ErrOutcomeUnknown) && stored {
						b.t.Errorf("%s was not done (%v) and is there", o.id, o.err)
					}
				}
			},
		},
		{
			name: "readers among writers",
			rule: "every read is of one moment: a commit's parts are seen together or not at all, a list is sorted, and no reader fails",
			run: func(b *execBundle) {
				exe := b.save(fresh("e"))
				rounds := size(60, 10)
				stop := make(chan struct{})
				var readers sync.WaitGroup
				var fails failures
				for range 3 {
					readers.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
							}
							fails.add(oneMoment(b))
						}
					})
				}
				for n := range rounds {
					b.commit(store.Commit{Execution: exe, Emits: []store.Emit{emit("x", event("a", n)), emit("y", event("b", n))}, Trace: step(n)})
				}
				close(stop)
				readers.Wait()
				b.ok(errors.Join(fails.errs...))
			},
		},
	}
}

// oneMoment reads what the writer of "readers among writers" keeps in pairs.
func oneMoment(b *execBundle) error {
	entries, err := b.s.PendingOutbox(b.ctx)
	if err != nil {
		return err
	}
	if len(entries)%2 != 0 {
		return fmt.Errorf("%d entries of commits with two each", len(entries))
	}
	if _, err := b.s.Counts(b.ctx); err != nil {
		return err
	}
	steps, err := b.s.ReadTrace(b.ctx, "e")
	if err != nil {
		return err
	}
	for i, s := range steps {
		if s.Index != int64(i) {
			return fmt.Errorf("step %d has index %d", i, s.Index)
		}
	}
	later, err := b.s.PendingOutbox(b.ctx)
	if err == nil && len(later) < 2*len(steps) {
		err = fmt.Errorf("%d entries after %d steps were seen", len(later), len(steps))
	}
	return err
}

func tag(round, writer int) string { return fmt.Sprintf("%d-%d", round, writer) }

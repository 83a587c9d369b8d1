package storetest

import (
	"fmt"
	"math"
	"slices"

	"treering/store"
)

func timerCases() []execCase {
	return []execCase{
		{
			name: "due is inclusive",
			rule: "a timer is due at exactly its fire_at and not an instant before",
			run: func(b *execBundle) {
				const at = 1784730012.482913
				b.commit(store.Commit{Execution: fresh("e"), Timers: []store.TimerOp{schedule("Checkout.Payment", at)}})
				want := []string{`1784730012.482913 "e" "Checkout.Payment"`}
				b.equal("before", b.due(math.Nextafter(at, 0)), []string{})
				b.equal("at", b.due(at), want)
				b.equal("after", b.due(at+1), want)
				b.equal("never", b.due(math.Inf(-1)), []string{})
				b.equal("NaN", b.due(math.NaN()), []string{})
			},
		},
		{
			name: "due order",
			rule: "due timers come by (fire_at, execution id, path), ids and paths in byte order, so that a sweep is the same everywhere",
			run: func(b *execBundle) {
				b.commit(store.Commit{Execution: fresh("b"), Timers: []store.TimerOp{schedule("p", 2), schedule("a", 2), schedule("", 1)}})
				b.commit(store.Commit{Execution: fresh("a"), Timers: []store.TimerOp{schedule("z", 2), schedule("Z", 2), schedule("é", -1.5)}})
				b.commit(store.Commit{Execution: fresh("a:1"), Timers: []store.TimerOp{schedule("z", 2), schedule("n", 0), schedule("late", 3)}})
				b.equal("due", b.due(2), []string{
					`-1.5 "a" "é"`, `0.0 "a:1" "n"`, `1.0 "b" ""`, `2.0 "a" "Z"`, `2.0 "a" "z"`, `2.0 "a:1" "z"`, `2.0 "b" "a"`, `2.0 "b" "p"`,
				})
			},
		},
		{
			name: "re-entry replaces",
			rule: "one state path has one timer: scheduling it again moves it, never stacks it, and the same path of another execution is another timer",
			run: func(b *execBundle) {
				exe := fresh("e")
				b.commit(store.Commit{Execution: exe, Timers: []store.TimerOp{schedule("p", 10)}})
				b.commit(store.Commit{Execution: fresh("f"), Timers: []store.TimerOp{schedule("p", 11)}})
				b.commit(store.Commit{Execution: exe, Timers: []store.TimerOp{schedule("p", 20)}})
				b.equal("at 15", b.due(15), []string{`11.0 "f" "p"`})
				b.equal("at 20", b.due(20), []string{`11.0 "f" "p"`, `20.0 "e" "p"`})
				b.commit(store.Commit{Execution: exe, Timers: []store.TimerOp{{Action: store.Cancel, Path: "p"}}})
				b.equal("cancelled", b.due(99), []string{`11.0 "f" "p"`})
			},
		},
		{
			name: "delete guards on fire_at",
			rule: "Contract, delete_timer: only a timer that still holds the exact fire_at goes, so that one re-armed meanwhile survives a stale sweep",
			run: func(b *execBundle) {
				at := math.Nextafter(0.3, 1) // what 0.1 and 0.2 make at run time
				exe := fresh("e")
				b.commit(store.Commit{Execution: exe, Timers: []store.TimerOp{schedule("p", at), schedule("q", at)}})
				for what, tc := range map[string]struct {
					id, path string
					at       float64
				}{"near": {"e", "p", math.Nextafter(at, 1)}, "wrong": {"e", "p", 9}, "path": {"e", "x", at}, "id": {"x", "p", at}, "NaN": {"e", "p", math.NaN()}, "inf": {"e", "p", math.Inf(1)}} {
					removed, err := b.s.DeleteTimer(b.ctx, tc.id, tc.path, tc.at)
					b.ok(err)
					b.equal(what, removed, false)
				}
				removed, err := b.s.DeleteTimer(b.ctx, "e", "p", at)
				b.ok(err)
				b.equal("exact", removed, true)
				removed, err = b.s.DeleteTimer(b.ctx, "e", "p", at)
				b.ok(err)
				b.equal("again", removed, false)
				b.equal("left", b.due(9), []string{`0.30000000000000004 "e" "q"`})
			},
		},
		{
			name: "a stale sweep",
			rule: "a timer that the model re-armed between the sweep's read and its delete stays armed at the new time",
			run: func(b *execBundle) {
				exe := fresh("e")
				b.commit(store.Commit{Execution: exe, Timers: []store.TimerOp{schedule("p", 10)}})
				due, err := b.s.DueTimers(b.ctx, 10)
				b.ok(err)
				b.commit(store.Commit{Execution: exe, Timers: []store.TimerOp{schedule("p", 30)}})
				removed, err := b.s.DeleteTimer(b.ctx, due[0].ExecutionID, due[0].Path, due[0].FireAt)
				b.ok(err)
				b.equal("removed", removed, false)
				b.equal("timers", b.due(99), []string{`30.0 "e" "p"`})
			},
		},
		{
			name: "rearm guards on fire_at",
			rule: "RearmTimer moves a timer only while it still holds the time that was seen, refuses a time that is none, and arms nothing that is not armed",
			run: func(b *execBundle) {
				b.commit(store.Commit{Execution: fresh("e"), Timers: []store.TimerOp{schedule("p", 10), schedule("q", 20)}})
				for what, tc := range map[string]struct {
					id, path string
					from     float64
				}{"time": {"e", "p", 11}, "path": {"e", "x", 10}, "id": {"x", "p", 10}, "NaN": {"e", "p", math.NaN()}} {
					moved, err := b.s.RearmTimer(b.ctx, tc.id, tc.path, tc.from, 1)
					b.ok(err)
					b.equal(what, moved, false)
				}
				for _, to := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					moved, err := b.s.RearmTimer(b.ctx, "e", "p", 10, to)
					b.is(err, store.ErrBadTime)
					b.equal("moved", moved, false)
				}
				b.equal("untouched", b.due(99), []string{`10.0 "e" "p"`, `20.0 "e" "q"`})
				moved, err := b.s.RearmTimer(b.ctx, "e", "q", 20, 0.5)
				b.ok(err)
				b.equal("moved", moved, true)
				moved, err = b.s.RearmTimer(b.ctx, "e", "q", 20, 0.25)
				b.ok(err)
				b.equal("moved from the old time", moved, false)
				moved, err = b.s.RearmTimer(b.ctx, "e", "p", 10, 10)
				b.ok(err)
				b.equal("moved to where it is", moved, true)
				b.equal("timers", b.due(99), []string{`0.5 "e" "q"`, `10.0 "e" "p"`})
				b.equal("version", b.load("e").Version, int64(1))
			},
		},
		{
			name: "listed timers",
			rule: "all armed timers can be listed, not only due ones; DueBy is inclusive and combines with the execution",
			run: func(b *execBundle) {
				b.commit(store.Commit{Execution: fresh("e"), Timers: []store.TimerOp{schedule("p", 1), schedule("q", 2), schedule("r", 3)}})
				b.commit(store.Commit{Execution: fresh("f"), Timers: []store.TimerOp{schedule("p", 2)}})
				list := func(f store.QueueFilter) []string {
					return collect(b, func(p store.PageRequest) (store.Page[store.Timer], error) { return b.s.ListTimers(b.ctx, f, p) }, timerLine)
				}
				b.equal("all", list(store.QueueFilter{}), []string{`1.0 "e" "p"`, `2.0 "e" "q"`, `2.0 "f" "p"`, `3.0 "e" "r"`})
				b.equal("due", list(store.QueueFilter{DueBy: ptr(2.0)}), []string{`1.0 "e" "p"`, `2.0 "e" "q"`, `2.0 "f" "p"`})
				b.equal("due of e", list(store.QueueFilter{DueBy: ptr(2.0), ExecutionID: ptr("e")}), []string{`1.0 "e" "p"`, `2.0 "e" "q"`})
				b.equal("none due", list(store.QueueFilter{DueBy: ptr(0.5)}), []string{})
			},
		},
		{
			name: "ties across pages",
			rule: "timers of one moment and one execution are told apart by their paths at the end of a page as well: none is left out",
			run: func(b *execBundle) {
				b.commit(store.Commit{Execution: fresh("e"), Timers: []store.TimerOp{schedule("p", 1), schedule("a", 1), schedule("", 1), schedule("z", 0)}})
				b.commit(store.Commit{Execution: fresh("f"), Timers: []store.TimerOp{schedule("a", 1), schedule("b", 1)}})
				ofE := []string{`0.0 "e" "z"`, `1.0 "e" ""`, `1.0 "e" "a"`, `1.0 "e" "p"`}
				all := append(slices.Clone(ofE), `1.0 "f" "a"`, `1.0 "f" "b"`)
				for limit := 1; limit <= len(all); limit++ {
					for want, f := range map[*[]string]store.QueueFilter{&all: {}, &ofE: {ExecutionID: ptr("e")}} {
						got := collect(b, func(p store.PageRequest) (store.Page[store.Timer], error) {
							p.Limit = limit
							return b.s.ListTimers(b.ctx, f, p)
						}, timerLine)
						b.equal(fmt.Sprint("pages of ", limit), got, *want)
					}
				}
			},
		},
		{
			name: "extreme times",
			rule: "any finite float64 is a time and is compared exactly as stored",
			run: func(b *execBundle) {
				times := []float64{-math.MaxFloat64, -1, math.SmallestNonzeroFloat64, 1 << 53, 1<<53 + 2, math.MaxFloat64}
				exe := fresh("e")
				for i, at := range times {
					b.commit(store.Commit{Execution: exe, Timers: []store.TimerOp{schedule(string(rune('f'-i)), at)}})
				}
				got, err := b.s.DueTimers(b.ctx, math.Inf(1))
				b.ok(err)
				b.equal("timers", len(got), len(times))
				for i, at := range times {
					b.equal("fire_at", got[i].FireAt, at)
					removed, err := b.s.DeleteTimer(b.ctx, "e", got[i].Path, at)
					b.ok(err)
					b.equal("removed", removed, true)
				}
			},
		},
	}
}

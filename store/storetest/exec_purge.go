package storetest

import (
	"math"

	"treering/store"
)

// purgeMarks are what the purge cases ask IsProcessed about.
var purgeMarks = [][2]string{{"doomed", "processed-d"}, {"bystander", "processed-b"}}

// seedPurge makes an execution with every kind of companion beside a bystander
// that has as many, each pointing at the other where it can.
func seedPurge(b *execBundle) {
	b.t.Helper()
	for _, id := range []string{"doomed", "bystander"} {
		exe, tag := fresh(id), id[:1]
		c := full(exe, tag)
		c.Emits = []store.Emit{emit("doomed", event("to-doomed-"+tag, 1)), emit("bystander", event("to-bystander-"+tag, 1)), {Event: event("to-nobody-"+tag, 1)}}
		b.commit(c)
		b.commit(store.Commit{Execution: exe, Trace: step(1), Timers: []store.TimerOp{schedule("second", 20)}, Spawns: []store.Spawn{{ChildID: "doomed"}}})
	}
}

func (b *execBundle) purge(id string, version int64) bool {
	b.t.Helper()
	purged, err := b.s.Purge(b.ctx, id, version)
	b.ok(err)
	return purged
}

func purgeCases() []execCase {
	return []execCase{
		{
			name: "wrong version",
			rule: "an execution that moved on is not purged, and nothing of it or its companions is touched",
			run: func(b *execBundle) {
				seedPurge(b)
				before := b.dump(purgeMarks...)
				for _, version := range []int64{0, 1, 3, -1, 99} {
					b.equal("purged", b.purge("doomed", version), false)
				}
				b.unchanged(before, purgeMarks...)
			},
		},
		{
			name: "with all companions",
			rule: "a purge takes the execution, its marks, trace, timers, the outbox entries to it and the spawns by it; what others have stays, also what it sent and what names it as a child",
			run: func(b *execBundle) {
				seedPurge(b)
				b.equal("purged", b.purge("doomed", 2), true)
				b.absent("doomed")
				b.equal("listed", b.ids(store.ExecutionFilter{}), []string{"bystander"})
				b.equal("mark", b.processed("doomed", "processed-d"), false)
				b.equal("bystander's mark", b.processed("bystander", "processed-b"), true)
				b.equal("trace", b.trace("doomed"), []string{})
				b.equal("bystander's trace", b.trace("bystander"), []string{`0 {"event_kind":"step-b"}`, `1 {"n":1}`})
				b.equal("timers", b.due(math.Inf(1)), []string{`10.0 "bystander" "timer-b"`, `20.0 "bystander" "second"`})
				b.equal("outbox", b.outbox(), []string{
					`2 to "bystander": to-bystander-d-1 to-bystander-d {"n":1}`, `3 to -: to-nobody-d-1 to-nobody-d {"n":1}`,
					`5 to "bystander": to-bystander-b-1 to-bystander-b {"n":1}`, `6 to -: to-nobody-b-1 to-nobody-b {"n":1}`,
				})
				b.equal("spawns", b.spawns(), []string{`3 by "bystander": "child-b" at "Fork.A" {"a":1}`, `4 by "bystander": "doomed" at "" {}`})
				got, err := b.load("bystander").Encode(0)
				b.ok(err)
				want, err := fresh("bystander").Encode(0)
				b.ok(err)
				b.equal("bystander", got, want)
			},
		},
		{
			name: "again",
			rule: "purging what is gone is false and harmless",
			run: func(b *execBundle) {
				seedPurge(b)
				b.equal("purged", b.purge("doomed", 2), true)
				before := b.dump(purgeMarks...)
				b.equal("again", b.purge("doomed", 2), false)
				b.equal("never there", b.purge("nobody", 0), false)
				b.unchanged(before, purgeMarks...)
			},
		},
		{
			name: "a stale copy does not revive it",
			rule: "the commit of an object loaded before the purge conflicts with no row found, and leaves nothing",
			run: func(b *execBundle) {
				seedPurge(b)
				stale, copied := b.load("doomed"), b.copyOf("doomed")
				b.equal("purged", b.purge("doomed", 2), true)
				before := b.dump([2]string{"doomed", "processed-x"})
				for _, exe := range []*store.Execution{stale, copied} {
					_, err := b.s.Commit(b.ctx, full(exe, "x"))
					b.conflict(err, "doomed", 2, -1)
					b.equal("version in hand", exe.Version, int64(2))
				}
				b.absent("doomed")
				b.unchanged(before, [2]string{"doomed", "processed-x"})
			},
		},
		{
			name: "the id may be used again",
			rule: "a new execution under the id starts at version 1 with an empty past: no mark, no trace, and a trace index from 0",
			run: func(b *execBundle) {
				seedPurge(b)
				stale := b.copyOf("doomed")
				b.equal("purged", b.purge("doomed", 2), true)
				b.commit(store.Commit{Execution: fresh("doomed"), Trace: step(7)})
				b.equal("version", b.load("doomed").Version, int64(1))
				b.equal("mark", b.processed("doomed", "processed-d"), false)
				b.equal("trace", b.trace("doomed"), []string{`0 {"n":7}`})
				b.conflict(b.s.Save(b.ctx, stale), "doomed", 2, 1)
				b.equal("purged", b.purge("doomed", 1), true)
				again := fresh("doomed")
				b.save(again)
				b.equal("version", again.Version, int64(1))
			},
		},
		{
			name: "leftovers",
			rule: "with no such execution a purge sweeps what is left under its id, at any version, and is false",
			run: func(b *execBundle) {
				b.ok(b.s.AppendTrace(b.ctx, "ghost", step(0)))
				b.commit(store.Commit{Execution: fresh("e"), Emits: []store.Emit{emit("ghost", event("E", 1)), emit("other", event("E", 2))}})
				b.equal("purged", b.purge("ghost", 5), false)
				b.equal("trace", b.trace("ghost"), []string{})
				b.equal("outbox", b.outbox(), []string{`2 to "other": E-2 E {"n":2}`})
				b.ok(b.s.AppendTrace(b.ctx, "ghost", step(1)))
				b.equal("trace", b.trace("ghost"), []string{`0 {"n":1}`})
				b.save(fresh("ghost"))
			},
		},
		{
			name: "seqs after a purge",
			rule: "entries that a purge took do not give their seqs back",
			run: func(b *execBundle) {
				b.commit(store.Commit{Execution: fresh("e"), Emits: []store.Emit{emit("e", event("E", 1))}, Spawns: []store.Spawn{{ChildID: "c"}}})
				b.equal("purged", b.purge("e", 1), true)
				b.equal("seqs", b.commit(store.Commit{Execution: fresh("f"), Emits: []store.Emit{emit("e", event("E", 2))}, Spawns: []store.Spawn{{ChildID: "c"}}}), []int64{2})
				b.equal("spawns", b.spawns(), []string{`2 by "f": "c" at "" {}`})
			},
		},
		{
			name: "ids are literal",
			rule: "characters that mean something to a query language mean nothing in an id",
			run: func(b *execBundle) {
				ids := []string{"a%", "a_", "a*", "a[b]", "ab", "ax"}
				for _, id := range ids {
					b.commit(full(fresh(id), "t"))
				}
				for i, id := range ids[:4] {
					b.equal("purged "+id, b.purge(id, 1), true)
					b.equal("left", b.ids(store.ExecutionFilter{}), sorted(ids[i+1:]))
				}
				b.equal("timers", b.due(99), []string{`10.0 "ab" "timer-t"`, `10.0 "ax" "timer-t"`})
			},
		},
	}
}

package storetest

import (
	"fmt"

	"treering/store"
)

func queueCases() []execCase {
	return []execCase{
		{
			name: "pending order across executions",
			rule: "the outbox is one queue: entries of all executions by seq, oldest first",
			run: func(b *execBundle) {
				a, z := fresh("a"), fresh("z")
				b.commit(store.Commit{Execution: z, Emits: []store.Emit{emit("t", event("E", 1))}})
				b.commit(store.Commit{Execution: a, Emits: []store.Emit{{Event: event("E", 2)}}})
				b.commit(store.Commit{Execution: z, Emits: []store.Emit{emit("a", event("E", 3))}})
				b.equal("outbox", b.outbox(), []string{`1 to "t": E-1 E {"n":1}`, `2 to -: E-2 E {"n":2}`, `3 to "a": E-3 E {"n":3}`})
			},
		},
		{
			name: "ack removes one",
			rule: "an ack removes exactly the entry of that seq, wherever it is in the queue, and says that it did",
			run: func(b *execBundle) {
				fillQueues(b, 5)
				for _, seq := range []int64{3, 1, 5} {
					for _, ack := range b.acks() {
						removed, err := ack(b.ctx, seq)
						b.ok(err)
						b.equal(fmt.Sprintf("removed %d", seq), removed, true)
					}
				}
				b.equal("outbox", b.outbox(), []string{`2 to "t": E-1 E {"n":1}`, `4 to "t": E-3 E {"n":3}`})
				b.equal("spawns", b.spawns(), []string{`2 by "e": "c1" at "r" {}`, `4 by "e": "c3" at "r" {}`})
			},
		},
		{
			name: "unknown acks",
			rule: "acking what is not there, or twice, changes nothing and says so: another relay was faster",
			run: func(b *execBundle) {
				for _, ack := range b.acks() {
					removed, err := ack(b.ctx, 1)
					b.ok(err)
					b.equal("removed from an empty queue", removed, false)
				}
				fillQueues(b, 2)
				for _, ack := range b.acks() {
					removed, err := ack(b.ctx, 1)
					b.ok(err)
					b.equal("removed", removed, true)
				}
				before := b.dump()
				for _, seq := range []int64{1, 0, -1, 3, 1 << 62, -1 << 63} {
					for _, ack := range b.acks() {
						removed, err := ack(b.ctx, seq)
						b.ok(err)
						b.equal(fmt.Sprintf("removed %d", seq), removed, false)
					}
				}
				b.unchanged(before)
			},
		},
		{
			name: "the two queues are apart",
			rule: "outbox and spawns have seqs of their own: an ack of one never touches the other",
			run: func(b *execBundle) {
				fillQueues(b, 2)
				removed, err := b.s.AckOutbox(b.ctx, 1)
				b.ok(err)
				b.equal("removed", removed, true)
				b.equal("spawns", len(b.spawns()), 2)
				removed, err = b.s.AckSpawn(b.ctx, 2)
				b.ok(err)
				b.equal("removed", removed, true)
				b.equal("outbox", b.outbox(), []string{`2 to "t": E-1 E {"n":1}`})
				b.equal("spawns", b.spawns(), []string{`1 by "e": "c0" at "r" {}`})
			},
		},
		{
			name: "seqs are never used again",
			rule: "a seq is an ack token: after the newest entry was acked the next one is still higher, or a late ack would remove a stranger",
			run: func(b *execBundle) {
				fillQueues(b, 3)
				for seq := range int64(3) {
					for _, ack := range b.acks() {
						_, err := ack(b.ctx, seq+1)
						b.ok(err)
					}
				}
				b.equal("outbox", b.outbox(), []string{})
				got := b.commit(store.Commit{Execution: fresh("f"), Emits: []store.Emit{emit("t", event("E", 9))}, Spawns: []store.Spawn{{ChildID: "c"}}})
				b.equal("seqs", got, []int64{4})
				b.equal("spawns", b.spawns(), []string{`4 by "f": "c" at "" {}`})
			},
		},
		{
			name: "queue filters",
			rule: "outbox entries are selected by their target, spawns by their parent, timers by their execution; an id nobody has selects nothing",
			run: func(b *execBundle) {
				a, z := fresh("a"), fresh("z")
				b.commit(store.Commit{Execution: a, Emits: []store.Emit{emit("z", event("E", 1)), {Event: event("E", 2)}, emit("a", event("E", 3)), emit("", event("E", 4))},
					Spawns: []store.Spawn{{ChildID: "a1"}}, Timers: []store.TimerOp{schedule("x", 2), schedule("y", 1)}})
				b.commit(store.Commit{Execution: z, Emits: []store.Emit{emit("z", event("E", 5))},
					Spawns: []store.Spawn{{ChildID: "z1"}, {ChildID: "z2"}}, Timers: []store.TimerOp{schedule("x", 1)}})
				for id, want := range map[string][3][]string{
					"z":  {{"1", "5"}, {"2", "3"}, {`1.0 "z" "x"`}},
					"a":  {{"3"}, {"1"}, {`1.0 "a" "y"`, `2.0 "a" "x"`}},
					"":   {{"4"}, {}, {}},
					"no": {{}, {}, {}},
				} {
					f := store.QueueFilter{ExecutionID: &id}
					got := [3][]string{
						collect(b, func(p store.PageRequest) (store.Page[store.OutboxEntry], error) { return b.s.ListOutbox(b.ctx, f, p) },
							func(e store.OutboxEntry) string { return fmt.Sprint(e.Seq) }),
						collect(b, func(p store.PageRequest) (store.Page[store.SpawnEntry], error) { return b.s.ListSpawns(b.ctx, f, p) },
							func(e store.SpawnEntry) string { return fmt.Sprint(e.Seq) }),
						collect(b, func(p store.PageRequest) (store.Page[store.Timer], error) { return b.s.ListTimers(b.ctx, f, p) }, timerLine),
					}
					b.equal("selected by "+id, got, want)
				}
			},
		},
		{
			name: "targets survive an ack elsewhere",
			rule: "the entries of one target stay in order and whole while others, before, between and after, are acked",
			run: func(b *execBundle) {
				exe := fresh("e")
				for i := range 9 {
					b.commit(store.Commit{Execution: exe, Emits: []store.Emit{emit([]string{"x", "y", "z"}[i%3], event("E", i))}})
				}
				for _, seq := range []int64{4, 1, 9, 6} {
					_, err := b.s.AckOutbox(b.ctx, seq)
					b.ok(err)
				}
				for target, want := range map[string][]string{"x": {"7"}, "y": {"2", "5", "8"}, "z": {"3"}} {
					f := store.QueueFilter{ExecutionID: &target}
					b.equal("to "+target, collect(b, func(p store.PageRequest) (store.Page[store.OutboxEntry], error) {
						p.Limit = 1
						return b.s.ListOutbox(b.ctx, f, p)
					}, func(e store.OutboxEntry) string { return fmt.Sprint(e.Seq) }), want)
				}
				b.equal("outbox", len(b.outbox()), 5)
			},
		},
	}
}

// fillQueues puts n entries into the outbox (to "t") and n into the spawns (by "e").
func fillQueues(b *execBundle, n int) {
	b.t.Helper()
	c := store.Commit{Execution: fresh("e")}
	for i := range n {
		c.Emits = append(c.Emits, emit("t", event("E", i)))
		c.Spawns = append(c.Spawns, store.Spawn{ChildID: fmt.Sprintf("c%d", i), RootPath: "r"})
	}
	b.commit(c)
}

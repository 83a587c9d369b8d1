package storetest

import (
	"context"
	"math"

	"treering/store"
)

func commitCases() []execCase {
	return []execCase{
		{
			name: "everything together",
			rule: "one commit writes state, outbox, mark, timers, spawns and trace, also when it inserts the execution",
			run: func(b *execBundle) {
				exe := fresh("e")
				b.equal("seqs", b.commit(full(exe, "a")), []int64{1})
				b.equal("version", b.load("e").Version, int64(1))
				b.equal("outbox", b.outbox(), []string{`1 to "target-a": emit-a Paid {}`})
				b.equal("mark", b.processed("e", "processed-a"), true)
				b.equal("timers", b.due(10), []string{`10.0 "e" "timer-a"`})
				b.equal("spawns", b.spawns(), []string{`1 by "e": "child-a" at "Fork.A" {"a":1}`})
				b.equal("trace", b.trace("e"), []string{`0 {"event_kind":"step-a"}`})
				b.commit(full(exe, "b"))
				b.equal("version", b.load("e").Version, int64(2))
				b.equal("outbox", b.outbox(), []string{`1 to "target-a": emit-a Paid {}`, `2 to "target-b": emit-b Paid {}`})
				b.equal("trace", b.trace("e"), []string{`0 {"event_kind":"step-a"}`, `1 {"event_kind":"step-b"}`})
			},
		},
		{
			name: "save is the execution alone",
			rule: "Save writes the state and touches no queue, mark, timer or trace",
			run: func(b *execBundle) {
				exe := fresh("e")
				b.commit(full(exe, "a"))
				exe.Context = `{"saved":true}`
				b.save(exe)
				b.equal("outbox", b.outbox(), []string{`1 to "target-a": emit-a Paid {}`})
				b.equal("spawns", len(b.spawns()), 1)
				b.equal("timers", b.due(math.Inf(1)), []string{`10.0 "e" "timer-a"`})
				b.equal("trace", b.trace("e"), []string{`0 {"event_kind":"step-a"}`})
				b.equal("context", b.load("e").Context, store.JSON(`{"saved":true}`))
			},
		},
		{
			name: "a lost commit leaves nothing",
			rule: "the compare-and-swap guards the whole boundary: a loser leaves no emit, mark, timer, spawn or step, and burns no trace index",
			run: func(b *execBundle) {
				b.save(fresh("e"))
				stale := b.copyOf("e")
				b.commit(full(b.copyOf("e"), "won"))
				mark := [2]string{"e", "processed-lost"}
				before := b.dump(mark)
				lost := full(stale, "lost")
				lost.Timers = append(lost.Timers, store.TimerOp{Action: store.Cancel, Path: "timer-won"})
				seqs, err := b.s.Commit(b.ctx, lost)
				b.conflict(err, "e", 1, 2)
				b.equal("seqs", len(seqs), 0)
				b.unchanged(before, mark)
				b.commit(full(b.copyOf("e"), "next"))
				b.equal("trace", b.trace("e"), []string{`0 {"event_kind":"step-won"}`, `1 {"event_kind":"step-next"}`})
			},
		},
		{
			name: "a lost first insert leaves nothing",
			rule: "the loser of two inserts of one id leaves nothing of its commit",
			run: func(b *execBundle) {
				b.commit(full(fresh("e"), "won"))
				mark := [2]string{"e", "processed-lost"}
				before := b.dump(mark)
				_, err := b.s.Commit(b.ctx, full(fresh("e"), "lost"))
				b.conflict(err, "e", 0, 1)
				b.unchanged(before, mark)
			},
		},
		{
			name: "a refused value leaves nothing",
			rule: "a value that no store takes refuses the whole commit: non-finite timers, steps and contexts and data that are no objects or no JSON",
			run: func(b *execBundle) {
				b.commit(full(fresh("e"), "kept"))
				marks := [][2]string{{"e", "processed-bad"}, {"new", "processed-bad"}}
				before := b.dump(marks...)
				for what, tc := range map[string]struct {
					want  error // nil: any error
					spoil func(*store.Commit)
				}{
					"NaN timer":       {store.ErrBadTime, func(c *store.Commit) { c.Timers = append(c.Timers, schedule("t", math.NaN())) }},
					"infinite timer":  {store.ErrBadTime, func(c *store.Commit) { c.Timers = append(c.Timers, schedule("t", math.Inf(1))) }},
					"-infinite timer": {store.ErrBadTime, func(c *store.Commit) { c.Timers = append(c.Timers, schedule("t", math.Inf(-1))) }},
					"trace a list":    {store.ErrNotObject, func(c *store.Commit) { c.Trace = `[1]` }},
					"trace not JSON":  {nil, func(c *store.Commit) { c.Trace = `{"a":` }},
					"spawn a string":  {store.ErrNotObject, func(c *store.Commit) { c.Spawns[0].Context = `"x"` }},
					"spawn not JSON":  {nil, func(c *store.Commit) { c.Spawns[0].Context = `{,}` }},
					"data a number":   {store.ErrNotObject, func(c *store.Commit) { c.Emits[0].Event.Data = `7` }},
					"data not JSON":   {nil, func(c *store.Commit) { c.Emits[0].Event.Data = "{\"a\":\"\x00\"}" }},
				} {
					for _, id := range []string{"e", "new"} {
						exe := fresh(id)
						if id == "e" {
							exe = b.copyOf("e")
						}
						version := exe.Version
						c := full(exe, "bad")
						tc.spoil(&c)
						_, err := b.s.Commit(b.ctx, c)
						if err == nil {
							b.t.Fatalf("%s was taken", what)
						}
						if tc.want != nil {
							b.is(err, tc.want)
						}
						b.equal("version after "+what, exe.Version, version)
					}
				}
				b.unchanged(before, marks...)
			},
		},
		{
			name:  "refused state leaves nothing",
			rule:  "state that would make the row unreadable is refused: no JSON, or another kind of value than the field has",
			needs: copies,
			run: func(b *execBundle) {
				b.commit(full(fresh("e"), "kept"))
				before := b.dump([2]string{"e", "processed-bad"})
				for what, spoil := range map[string]func(*store.Execution){
					"context not JSON":   func(e *store.Execution) { e.Context = `{"a":}` },
					"context a list":     func(e *store.Execution) { e.Context = `[]` },
					"deferred an object": func(e *store.Execution) { e.Deferred = `{}` },
					"children a string":  func(e *store.Execution) { e.Children = `"x"` },
					"stamp not JSON":     func(e *store.Execution) { e.UpdatedAt = `now` },
				} {
					exe := b.copyOf("e")
					spoil(exe)
					if _, err := b.s.Commit(b.ctx, full(exe, "bad")); err == nil {
						b.t.Fatalf("%s was taken", what)
					}
					b.equal("version after "+what, exe.Version, int64(1))
				}
				b.unchanged(before, [2]string{"e", "processed-bad"})
			},
		},
		{
			name: "seqs in emit order",
			rule: "Commit returns the seqs in the order of its emits, and the outbox lists them so; without emits there are none",
			run: func(b *execBundle) {
				exe := fresh("e")
				b.equal("no emits", len(b.commit(store.Commit{Execution: exe})), 0)
				got := b.commit(store.Commit{Execution: exe, Emits: []store.Emit{
					emit("c", event("C", 1)), emit("a", event("A", 2)), emit("b", event("B", 3)), emit("a", event("A", 4)),
				}})
				b.equal("seqs", got, []int64{1, 2, 3, 4})
				b.equal("outbox", b.outbox(), []string{
					`1 to "c": C-1 C {"n":1}`, `2 to "a": A-2 A {"n":2}`, `3 to "b": B-3 B {"n":3}`, `4 to "a": A-4 A {"n":4}`,
				})
			},
		},
		{
			name: "the caller's slices",
			rule: "a store keeps nothing of a commit's slices and pointers: the next boundary may be made in the same ones, also after a cancelled commit",
			run: func(b *execBundle) {
				c := full(fresh("e"), "a")
				target, processed := c.Emits[0].TargetID, c.ProcessedEventID
				overwrite := func(tag string) {
					*target, *processed = "target-"+tag, "processed-"+tag
					c.Emits[0].Event = store.Event{ID: "emit-" + tag, Kind: "Paid"}
					c.Timers[0].Path = "timer-" + tag
					c.Spawns[0].ChildID = "child-" + tag
				}
				b.commit(c)
				overwrite("b")
				b.commit(c)
				overwrite("c")
				b.equal("outbox", b.outbox(), []string{`1 to "target-a": emit-a Paid {}`, `2 to "target-b": emit-b Paid {}`})
				b.equal("timers", b.due(10), []string{`10.0 "e" "timer-a"`, `10.0 "e" "timer-b"`})
				b.equal("spawns", b.spawns(), []string{`1 by "e": "child-a" at "Fork.A" {"a":1}`, `2 by "e": "child-b" at "Fork.A" {"a":1}`})
				b.equal("marks", []bool{b.processed("e", "processed-a"), b.processed("e", "processed-b"), b.processed("e", "processed-c")}, []bool{true, true, false})

				// The race detector sees whoever still reads them.
				c.Execution = b.copyOf("e")
				ctx, cancel := context.WithCancel(b.ctx)
				done := make(chan struct{})
				go func() {
					defer close(done)
					cancel()
				}()
				_, err := b.s.Commit(ctx, c)
				overwrite("d")
				<-done
				if err != nil {
					b.is(err, context.Canceled)
				}
				b.settle("e")
			},
		},
		{
			name: "targets",
			rule: "a null target, an unknown one and an empty one are stored as they are",
			run: func(b *execBundle) {
				b.commit(store.Commit{Execution: fresh("e"), Emits: []store.Emit{
					{Event: event("N", 1)}, emit("nobody", event("U", 2)), emit("", event("E", 3)),
				}})
				b.equal("outbox", b.outbox(), []string{
					`1 to -: N-1 N {"n":1}`, `2 to "nobody": U-2 U {"n":2}`, `3 to "": E-3 E {"n":3}`,
				})
			},
		},
		{
			name: "event members",
			rule: "an event keeps its times, its unknown members and the digits of its numbers; what is listed raw is the event as stored",
			run: func(b *execBundle) {
				const text = `{"id":"x","kind":"K","created_time":"2026-06-04T11:02:00.500000Z","received_time":null,"data":{"big":12345678901234567890,"n":1.50},"trace_parent":"00-ab"}`
				ev, err := store.DecodeEvent(text)
				b.ok(err)
				b.commit(store.Commit{Execution: fresh("e"), Emits: []store.Emit{{Event: ev}, {Event: store.Event{ID: "y", Kind: "Bare"}}}})
				entries, err := b.s.PendingOutbox(b.ctx)
				b.ok(err)
				got, err := entries[0].Event.Encode()
				b.ok(err)
				b.equal("event", string(got), text)
				b.equal("raw", string(entries[0].Raw), text)
				b.equal("bare members", []store.JSON{entries[1].Event.CreatedTime, entries[1].Event.ReceivedTime, entries[1].Event.Data}, []store.JSON{"null", "null", "{}"})
				b.equal("bare", string(entries[1].Raw), `{"id":"y","kind":"Bare","created_time":null,"received_time":null,"data":{}}`)
			},
		},
		{
			name: "marks",
			rule: "a mark holds for exactly that execution and that event; marking again is harmless, and an empty event id is an id",
			run: func(b *execBundle) {
				exe, other := fresh("e"), fresh("other")
				b.commit(store.Commit{Execution: exe, ProcessedEventID: ptr("one")})
				b.commit(store.Commit{Execution: exe, ProcessedEventID: ptr("one")})
				b.commit(store.Commit{Execution: exe})
				b.equal("empty id before", b.processed("e", ""), false)
				b.commit(store.Commit{Execution: other, ProcessedEventID: ptr("")})
				for _, tc := range []struct {
					id, event string
					want      bool
				}{{"e", "one", true}, {"e", "", false}, {"e", "On", false}, {"other", "one", false}, {"other", "", true}, {"", "one", false}, {"nobody", "one", false}} {
					b.equal("mark "+tc.id+"/"+tc.event, b.processed(tc.id, tc.event), tc.want)
				}
			},
		},
		{
			name: "timer ops in order",
			rule: "timer ops are applied in order, so later ones win; every action but schedule cancels; cancelling what is not armed changes nothing",
			run: func(b *execBundle) {
				exe := fresh("e")
				b.commit(store.Commit{Execution: exe, Timers: []store.TimerOp{
					schedule("kept", 1), schedule("gone", 2), {Action: store.Cancel, Path: "gone"},
					{Action: store.Cancel, Path: "back"}, schedule("back", 3), schedule("back", 4), {Action: store.Cancel, Path: "never"},
				}})
				b.equal("timers", b.due(math.Inf(1)), []string{`1.0 "e" "kept"`, `4.0 "e" "back"`})
				b.commit(store.Commit{Execution: exe, Timers: []store.TimerOp{
					{Action: "SCHEDULE", Path: "kept", FireAt: 9}, schedule("back", 0.5), {Action: "", Path: "x", FireAt: math.NaN()},
				}})
				b.equal("timers", b.due(math.Inf(1)), []string{`0.5 "e" "back"`})
				b.commit(store.Commit{Execution: fresh("other"), Timers: []store.TimerOp{{Action: store.Cancel, Path: "back"}}})
				b.equal("timers", b.due(math.Inf(1)), []string{`0.5 "e" "back"`})
			},
		},
		{
			name: "spawns",
			rule: "spawns keep their order across executions with seqs of their own; an absent context is an empty object",
			run: func(b *execBundle) {
				b.commit(store.Commit{Execution: fresh("p"), Emits: []store.Emit{{Event: event("E", 1)}}, Spawns: []store.Spawn{
					{ChildID: "p:F.B:0", RootPath: "F.B", Context: `{"x": {"y": [1.0, NaN]}}`}, {ChildID: "p:F.A:0", RootPath: "F.A"},
				}})
				b.commit(store.Commit{Execution: fresh("a"), Spawns: []store.Spawn{{ChildID: "", RootPath: ""}}})
				b.equal("spawns", b.spawns(), []string{
					`1 by "p": "p:F.B:0" at "F.B" {"x":{"y":[1.0,NaN]}}`, `2 by "p": "p:F.A:0" at "F.A" {}`, `3 by "a": "" at "" {}`,
				})
			},
		},
	}
}

func snapshotCases() []execCase {
	return []execCase{
		{
			name: "a commit is a snapshot",
			rule: "what was committed does not change with the caller's values afterwards, however deep",
			run: func(b *execBundle) {
				target, mark := "t", "m"
				c := store.Commit{
					Execution: fresh("e"), ProcessedEventID: &mark, Trace: `{"a":{"b":[1]}}`,
					Emits:  []store.Emit{{TargetID: &target, Event: event("E", 1)}},
					Timers: []store.TimerOp{schedule("p", 5)},
					Spawns: []store.Spawn{{ChildID: "c", RootPath: "r", Context: `{"a":{"b":[1]}}`}},
				}
				b.commit(c)
				marks := [][2]string{{"e", "m"}, {"e", "changed"}}
				before := b.dump(marks...)
				target, mark = "changed", "changed"
				c.Emits[0] = store.Emit{Event: event("X", 9)}
				c.Timers[0] = schedule("changed", 6)
				c.Spawns[0] = store.Spawn{ChildID: "changed"}
				c.Trace = `{}`
				b.unchanged(before, marks...)
			},
		},
		{
			name: "summaries are of the last commit",
			rule: "what the caller changes in its execution after a commit shows in no list, also where it changes a text in place",
			run: func(b *execBundle) {
				exe := fresh("e")
				exe.Outcome, exe.ParentID, exe.Error = ptr("ok"), ptr("p"), ptr("none")
				b.save(exe)
				want := store.SummaryOf(exe)
				*exe.Outcome, *exe.ParentID, *exe.Error, *exe.ActivePath = "changed", "changed", "changed", "changed"
				exe.DefinitionID, exe.Status, exe.RootPath = "changed", "changed", "changed"
				page, err := b.s.ListExecutions(b.ctx, store.ExecutionFilter{}, store.PageRequest{})
				b.ok(err)
				b.equal("summary", page.Items, []store.Summary{want})
				b.equal("children of p", b.ids(store.ExecutionFilter{ParentID: ptr("p")}), []string{"e"})
			},
		},
		{
			name: "lists are copies",
			rule: "changing what a list returned changes nothing in the store",
			run: func(b *execBundle) {
				exe := fresh("e")
				exe.Outcome, exe.ParentID = ptr("ok"), ptr("p")
				b.commit(full(exe, "a"))
				before := b.dump()
				out, err := b.s.PendingOutbox(b.ctx)
				b.ok(err)
				*out[0].TargetID, out[0].Event.ID = "changed", "changed"
				spawns, err := b.s.PendingSpawns(b.ctx)
				b.ok(err)
				spawns[0].ChildID = "changed"
				timers, err := b.s.DueTimers(b.ctx, 10)
				b.ok(err)
				timers[0].Path = "changed"
				steps, err := b.s.ReadTrace(b.ctx, "e")
				b.ok(err)
				steps[0] = store.TraceEntry{Index: 9}
				page, err := b.s.ListExecutions(b.ctx, store.ExecutionFilter{}, store.PageRequest{})
				b.ok(err)
				*page.Items[0].Outcome, *page.Items[0].ParentID, page.Items[0].ID = "changed", "changed", "changed"
				again, err := b.s.ListExecutions(b.ctx, store.ExecutionFilter{}, store.PageRequest{})
				b.ok(err)
				b.equal("outcome", *again.Items[0].Outcome, "ok")
				b.equal("parent", *again.Items[0].ParentID, "p")
				b.unchanged(before)
			},
		},
	}
}

func schedule(path string, at float64) store.TimerOp {
	return store.TimerOp{Action: store.Schedule, Path: path, FireAt: at}
}

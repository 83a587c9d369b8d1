package storetest

import (
	"errors"
	"fmt"
	"strings"

	"treering/store"
)

func traceCases() []execCase {
	return []execCase{
		{
			name: "steps in order",
			rule: "steps come oldest first with an index that climbs from 0 for each execution",
			run: func(b *execBundle) {
				a, z := fresh("a"), fresh("z")
				for i := range 3 {
					b.commit(store.Commit{Execution: a, Trace: step(i)})
					b.commit(store.Commit{Execution: z, Trace: step(10 + i)})
				}
				b.equal("a", b.trace("a"), []string{`0 {"n":0}`, `1 {"n":1}`, `2 {"n":2}`})
				b.equal("z", b.trace("z"), []string{`0 {"n":10}`, `1 {"n":11}`, `2 {"n":12}`})
			},
		},
		{
			name: "off by default",
			rule: "a commit without a step writes none and uses up no index",
			run: func(b *execBundle) {
				exe := fresh("e")
				b.commit(store.Commit{Execution: exe})
				b.save(exe)
				b.equal("trace", b.trace("e"), []string{})
				b.commit(store.Commit{Execution: exe, Trace: step(0)})
				b.commit(store.Commit{Execution: exe})
				b.commit(store.Commit{Execution: exe, Trace: step(1)})
				b.equal("trace", b.trace("e"), []string{`0 {"n":0}`, `1 {"n":1}`})
			},
		},
		{
			name:    "the ring keeps the last",
			rule:    "a ring of 3 holds the last 3 steps, and the index goes on climbing past what was dropped",
			options: ExecOptions{TraceMax: ptr(3)},
			run: func(b *execBundle) {
				exe := fresh("e")
				for i := range 8 {
					b.commit(store.Commit{Execution: exe, Trace: step(i)})
					want := []string{}
					for k := max(0, i-2); k <= i; k++ {
						want = append(want, fmt.Sprintf(`%d {"n":%d}`, k, k))
					}
					b.equal("trace", b.trace("e"), want)
				}
				b.ok(b.s.AppendTrace(b.ctx, "e", step(8)))
				b.equal("trace", b.trace("e"), []string{`6 {"n":6}`, `7 {"n":7}`, `8 {"n":8}`})
			},
		},
		{
			name:    "a ring of one",
			rule:    "the smallest ring holds the newest step",
			options: ExecOptions{TraceMax: ptr(1)},
			run: func(b *execBundle) {
				for i := range 3 {
					b.ok(b.s.AppendTrace(b.ctx, "e", step(i)))
				}
				b.equal("trace", b.trace("e"), []string{`2 {"n":2}`})
			},
		},
		{
			name: "200 by default",
			rule: "Contract, trace_max: the ring holds 200 steps where nothing else is asked for",
			run: func(b *execBundle) {
				appendSteps(b, "e", store.DefaultTraceMax+5)
				got := b.trace("e")
				b.equal("steps", len(got), store.DefaultTraceMax)
				b.equal("first", got[0], `5 {"n":5}`)
				b.equal("last", got[len(got)-1], `204 {"n":204}`)
			},
		},
		{
			name:    "0 is unbounded",
			rule:    "Contract, trace_max: 0 disables trimming",
			options: ExecOptions{TraceMax: ptr(0)},
			run: func(b *execBundle) {
				appendSteps(b, "e", store.DefaultTraceMax+5)
				got := b.trace("e")
				b.equal("steps", len(got), store.DefaultTraceMax+5)
				b.equal("first", got[0], `0 {"n":0}`)
			},
		},
		{
			name: "negative is refused",
			rule: "a negative ring length is refused when the store is opened: it would wipe every trace",
			run: func(b *execBundle) {
				if b.f.OpenError == nil {
					b.t.Skip("the factory has no OpenError")
				}
				if err := b.f.OpenError(b.t, ExecOptions{TraceMax: ptr(-1)}); err == nil {
					b.t.Fatal("a store with TraceMax -1 was opened")
				}
			},
		},
		{
			name:  "an explicit index is honoured",
			rule:  "Contract, _record_trace: an index in the entry is the step's index, and the counter advances by one all the same",
			needs: func(c ExecutionCaps) bool { return c.ExplicitTraceIndex },
			run: func(b *execBundle) {
				b.ok(b.s.AppendTrace(b.ctx, "e", step(0)))
				b.ok(b.s.AppendTrace(b.ctx, "e", `{"index":40,"n":1}`))
				b.commit(store.Commit{Execution: fresh("e"), Trace: `{"n":2,"\u0069ndex":7.0}`})
				b.ok(b.s.AppendTrace(b.ctx, "e", `{"n":3,"indexes":1,"at":{"index":99}}`))
				b.equal("trace", b.trace("e"), []string{`0 {"n":0}`, `40 {"n":1}`, `7 {"n":2}`, `3 {"n":3,"indexes":1,"at":{"index":99}}`})
			},
		},
		{
			name:  "an explicit index is ignored",
			rule:  "the store's own index counts, whatever index an entry has in it: two steps never share one",
			needs: func(c ExecutionCaps) bool { return !c.ExplicitTraceIndex },
			run: func(b *execBundle) {
				b.ok(b.s.AppendTrace(b.ctx, "e", `{"index":40,"n":0}`))
				b.commit(store.Commit{Execution: fresh("e"), Trace: `{"n":1,"index":0}`})
				b.equal("trace", b.trace("e"), []string{`0 {"n":0}`, `1 {"n":1}`})
			},
		},
		{
			name: "append needs no execution",
			rule: "AppendTrace does not check that the execution exists; the trace of an unknown id is empty, and no execution comes of it",
			run: func(b *execBundle) {
				b.equal("unknown", b.trace("ghost"), []string{})
				b.ok(b.s.AppendTrace(b.ctx, "ghost", step(0)))
				b.equal("trace", b.trace("ghost"), []string{`0 {"n":0}`})
				b.absent("ghost")
				_, _, err := b.s.LoadForEvent(b.ctx, "ghost", "x")
				b.is(err, store.ErrNotFound)
				b.equal("listed", b.ids(store.ExecutionFilter{}), []string{})
				b.commit(store.Commit{Execution: fresh("ghost"), Trace: step(1)})
				b.equal("trace", b.trace("ghost"), []string{`0 {"n":0}`, `1 {"n":1}`})
				b.equal("version", b.load("ghost").Version, int64(1))
			},
		},
		{
			name: "only objects are steps",
			rule: "a step that is no JSON object is refused and leaves the ring and its counter as they were",
			run: func(b *execBundle) {
				b.ok(b.s.AppendTrace(b.ctx, "e", step(0)))
				for _, bad := range []store.JSON{``, `null`, `[]`, `"x"`, `1`, `{`, `{"a":1}}`} {
					if err := b.s.AppendTrace(b.ctx, "e", bad); err == nil {
						b.t.Fatalf("step %q was taken", bad)
					}
				}
				b.is(b.s.AppendTrace(b.ctx, "e", `[]`), store.ErrNotObject)
				b.ok(b.s.AppendTrace(b.ctx, "e", step(1)))
				b.equal("trace", b.trace("e"), []string{`0 {"n":0}`, `1 {"n":1}`})
			},
		},
		{
			name: "ids of steps",
			rule: "a step needs an id to be found by: an empty one is ErrEmptyID, one that is not UTF-8 ErrNotText, and neither leaves a step",
			run: func(b *execBundle) {
				for id, want := range map[string]error{"": store.ErrEmptyID, "a\xff": store.ErrNotText, "a\xed\xa0\x80": store.ErrNotText} {
					err := b.s.AppendTrace(b.ctx, id, step(0))
					var v *store.ValueError
					if !errors.Is(err, want) || !errors.As(err, &v) {
						b.t.Errorf("a step of %q: %v, want a *ValueError of %v", id, err, want)
					}
					b.equal("trace", b.trace(id), []string{})
				}
			},
		},
		{
			name: "load ignores the trace",
			rule: "the trace is a side channel: neither the state nor the version of an execution depends on it",
			run: func(b *execBundle) {
				exe := fresh("e")
				b.commit(store.Commit{Execution: exe, Trace: step(0)})
				before, err := b.load("e").Encode(1)
				b.ok(err)
				appendSteps(b, "e", 3)
				after, err := b.load("e").Encode(1)
				b.ok(err)
				b.equal("state", after, before)
				b.equal("version", b.load("e").Version, int64(1))
			},
		},
		{
			name: "the engine's step",
			rule: "an entry comes back member by member as written, numbers by their digits and NaN as NaN",
			run: func(b *execBundle) {
				const text = `{"event_kind": "Paid", "event_data": {"auth": "A-19"}, "from_path": "Cart", "to_path": null, "actions": ["shop.pay", "mail"], "context_out": {"total": 49.90, "rate": NaN, "big": 12345678901234567890, "name": "\u00e9\ud83d\ude00"}, "timestamp": 1784730012.482913}`
				b.commit(store.Commit{Execution: fresh("e"), Trace: text})
				steps, err := b.s.ReadTrace(b.ctx, "e")
				b.ok(err)
				b.equal("entry", traceLine(steps[0]), traceLine(store.TraceEntry{Entry: text}))
				got := steps[0].Step()
				b.equal("kind", got.EventKind, "Paid")
				b.equal("from", orNull(got.From), `"Cart"`)
				b.equal("to", orNull(got.To), "-")
				b.equal("actions", strings.Join(got.Actions, "|"), "shop.pay|mail")
				b.equal("timestamp", got.Timestamp, store.JSON("1784730012.482913"))
			},
		},
	}
}

func step(n int) store.JSON { return store.JSON(fmt.Sprintf(`{"n":%d}`, n)) }

func appendSteps(b *execBundle, id string, n int) {
	b.t.Helper()
	for i := range n {
		b.ok(b.s.AppendTrace(b.ctx, id, step(i)))
	}
}

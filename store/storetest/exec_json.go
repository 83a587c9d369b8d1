package storetest

import (
	"math"
	"strings"

	"treering/store"
)

// roundTrip saves an execution decoded from text and returns how it comes back,
// encoded with the version 1 it then has.
func roundTrip(b *execBundle, text string) string {
	b.t.Helper()
	exe, err := store.DecodeExecution(text)
	b.ok(err)
	b.save(exe)
	got, err := b.load(exe.ID).Encode(1)
	b.ok(err)
	return got
}

func jsonCases() []execCase {
	return []execCase{
		{
			name: "exact numbers",
			rule: "numbers keep their digits: no float64 on the way, no 1 for 1.0",
			run: func(b *execBundle) {
				exe := fresh("e")
				exe.Context = `{"big":123456789012345678901234567890,"f":1.0,"e":1e-7,"E":1E+400,"z":-0.0,"t":49.90}`
				exe.History, exe.InvokeSeq = `{"":"Done"}`, `{"C":3}`
				b.commit(store.Commit{Execution: exe, Trace: exe.Context, Emits: []store.Emit{{Event: store.Event{ID: "x", Data: exe.Context}}}, Spawns: []store.Spawn{{Context: exe.Context}}})
				got := b.load("e")
				b.equal("context", got.Context, exe.Context)
				steps, err := b.s.ReadTrace(b.ctx, "e")
				b.ok(err)
				b.equal("trace", traceLine(steps[0]), "0 "+string(exe.Context))
				b.equal("outbox", b.outbox(), []string{`1 to -: x  ` + string(exe.Context)})
				b.equal("spawns", b.spawns(), []string{`1 by "e": "" at "" ` + string(exe.Context)})
			},
		},
		{
			name: "unknown members",
			rule: "members that this version does not know stay, in their place, across load and save",
			run: func(b *execBundle) {
				const text = `{"zeta":{"a":1.50},"id":"e","definition_id":"d","definition_fqn":null,"root_path":"","status":"RUNNING","later":[null],"outcome":null,"error":null,"active_path":null,"history":{},"context":{},"processed_events":0,"version":1,"priority":0,"parent_id":null,"child_id":null,"deferred":[],"children":{},"invoke_seq":{},"created_at":1.5}`
				b.equal("blob", roundTrip(b, strings.Replace(text, `"version":1`, `"version":0`, 1)), text)
				exe := b.load("e")
				exe.Status = store.Done
				b.save(exe)
				got, err := b.load("e").Encode(1)
				b.ok(err)
				b.equal("after a change", got, strings.Replace(text, "RUNNING", "DONE", 1))
			},
		},
		{
			name: "no null collections",
			rule: "maps and lists that are null are stored empty, and so are absent ones of a fresh execution: a null there makes the row unreadable to harel",
			run: func(b *execBundle) {
				got := roundTrip(b, `{"id":"e","history":null,"context":null,"deferred":null,"children":null,"invoke_seq":null}`)
				for _, want := range []string{`"history":{}`, `"context":{}`, `"deferred":[]`, `"children":{}`, `"invoke_seq":{}`} {
					if !strings.Contains(got, want) {
						b.t.Errorf("%s is not in %s", want, got)
					}
				}
				b.save(&store.Execution{ID: "bare"})
				bare, err := b.load("bare").Encode(1)
				b.ok(err)
				const harel = `{"id":"bare","definition_id":"","definition_fqn":null,"root_path":"","status":"","outcome":null,"error":null,"active_path":null,"history":{},"context":{},"processed_events":0,"version":1,"priority":0,"parent_id":null,"child_id":null,"deferred":[],"children":{},"invoke_seq":{}}`
				b.equal("fresh", bare, harel)
				b.commit(store.Commit{Execution: fresh("f"), Emits: []store.Emit{{Event: store.Event{ID: "x", Kind: "K"}}}})
				entries, err := b.s.PendingOutbox(b.ctx)
				b.ok(err)
				b.equal("event", string(entries[0].Raw), `{"id":"x","kind":"K","created_time":null,"received_time":null,"data":{}}`)
			},
		},
		{
			name: "bare NaN",
			rule: "NaN and infinities, as Python writes them, are kept as they are",
			run: func(b *execBundle) {
				got := roundTrip(b, `{"id":"e","context":{"a":NaN,"b":[-Infinity,Infinity]}}`)
				if !strings.Contains(got, `"context":{"a":NaN,"b":[-Infinity,Infinity]}`) {
					b.t.Errorf("context in %s", got)
				}
			},
		},
		{
			name: "no HTML escaping",
			rule: "text is stored raw: no escapes for <, >, & or line separators, and half surrogates stay as they were written",
			run: func(b *execBundle) {
				const context = "{\"h\":\"<a href='x'>&</a>\",\"s\":\"\u2028\u2029\",\"half\":\"\\ud800\",\"c\":\"\\u0000\x7f\"}"
				exe := fresh("e")
				exe.Context, exe.Outcome = context, ptr("<&>\u2028")
				b.save(exe)
				got := b.load("e")
				b.equal("context", string(got.Context), context)
				b.equal("outcome", *got.Outcome, "<&>\u2028")
			},
		},
		{
			name: "odd ids",
			rule: "ids, paths and event ids are any UTF-8 text without NUL: they are found again by every character, and none is special",
			run: func(b *execBundle) {
				odd := []string{"a b", "a'b", `a"b`, `a\b`, "a%b", "a_b", "a/b", "a:b:c", "\u00e9", "e\u0301", "\U0001F600", "line\nbreak", "tab\t", "<>&", "[x]", "NULL", "0", "1.0", "-1", "{}", strings.Repeat("long", 75), "\u202ertl", " ", "\x7f\x1b[31m"}
				for _, id := range odd {
					b.commit(store.Commit{
						Execution: fresh(id), ProcessedEventID: &id, Trace: step(1), Emits: []store.Emit{{TargetID: &id, Event: store.Event{ID: id, Kind: id}}},
						Timers: []store.TimerOp{schedule(id, 1)}, Spawns: []store.Spawn{{ChildID: id, RootPath: id}},
					})
				}
				b.equal("ids", b.ids(store.ExecutionFilter{}), sorted(odd))
				b.equal("timers", len(b.due(1)), len(odd))
				entries, err := b.s.PendingOutbox(b.ctx)
				b.ok(err)
				for i, id := range odd {
					b.equal("id", b.load(id).ID, id)
					b.equal("mark", b.processed(id, id), true)
					b.equal("trace", len(b.trace(id)), 1)
					b.equal("outbox", []string{*entries[i].TargetID, entries[i].Event.ID, entries[i].Event.Kind}, []string{id, id, id})
					f := store.QueueFilter{ExecutionID: &id}
					b.equal("entries to "+id, len(collect(b, func(p store.PageRequest) (store.Page[store.OutboxEntry], error) { return b.s.ListOutbox(b.ctx, f, p) }, outboxLine)), 1)
					removed, err := b.s.DeleteTimer(b.ctx, id, id, 1)
					b.ok(err)
					b.equal("timer removed", removed, true)
				}
				for _, id := range odd {
					b.equal("purged", b.purge(id, 1), true)
				}
				b.equal("left", b.outbox(), []string{})
				b.equal("timers", b.due(math.Inf(1)), []string{})
			},
		},
		{
			name: "ids no JSON can hold",
			rule: "ids, paths and event ids that are not valid UTF-8, and new ids with a NUL, are refused before anything is written: the blob would name another id than its row",
			run: func(b *execBundle) {
				b.commit(store.Commit{Execution: fresh("a")})
				for _, bad := range []string{"a\xff", "\xed\xa0\x80", "a\x00b", "\x00"} {
					nul := bad[len(bad)-1] == 'b' || bad == "\x00"
					for _, c := range []store.Commit{
						{Execution: fresh(bad)},
						{Execution: fresh("b"), Timers: []store.TimerOp{schedule(bad, 1)}},
						{Execution: fresh("b"), Spawns: []store.Spawn{{ChildID: bad}}},
						{Execution: &store.Execution{ID: "b", DefinitionID: bad}},
					} {
						_, err := b.s.Commit(b.ctx, c)
						b.is(err, store.ErrNotText)
						b.equal("version", c.Execution.Version, int64(0))
					}
					if nul {
						continue // a dedupe mark or target may name a foreign id that has one
					}
					for _, c := range []store.Commit{
						{Execution: fresh("b"), ProcessedEventID: &bad},
						{Execution: fresh("b"), Emits: []store.Emit{{TargetID: &bad, Event: store.NewEvent("K", "")}}},
						{Execution: fresh("b"), Emits: []store.Emit{{Event: store.Event{ID: bad, Kind: "K"}}}},
					} {
						_, err := b.s.Commit(b.ctx, c)
						b.is(err, store.ErrNotText)
					}
				}
				b.equal("ids", b.ids(store.ExecutionFilter{}), []string{"a"})
				b.equal("outbox", b.outbox(), []string{})
			},
		},
		{
			name: "large values",
			rule: "values of hundreds of kilobytes pass whole through every part of a commit",
			run: func(b *execBundle) {
				large := store.ObjectOf(store.Member{Key: "v", Value: store.Quote(strings.Repeat("0123456789abcdéf", 12_500))})
				exe := fresh("e")
				exe.Context = large
				b.commit(store.Commit{Execution: exe, Trace: large, Emits: []store.Emit{{Event: store.Event{ID: "x", Data: large}}}, Spawns: []store.Spawn{{Context: large}}})
				b.equal("context", len(b.load("e").Context), len(large))
				if b.load("e").Context != large {
					b.t.Error("the context changed")
				}
				entries, err := b.s.PendingOutbox(b.ctx)
				b.ok(err)
				spawns, err := b.s.PendingSpawns(b.ctx)
				b.ok(err)
				steps, err := b.s.ReadTrace(b.ctx, "e")
				b.ok(err)
				if entries[0].Event.Data != large || spawns[0].Context != large || steps[0].Entry.Get("v") != large.Get("v") {
					b.t.Error("a large value changed")
				}
			},
		},
		{
			name: "deep values",
			rule: "12,000 levels are a value like any other",
			run: func(b *execBundle) {
				const depth = 12_000
				deep := store.JSON(`{"d":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`)
				exe := fresh("e")
				exe.Context = deep
				b.commit(store.Commit{Execution: exe, Trace: deep, Emits: []store.Emit{{Event: store.Event{ID: "x", Data: deep}}}, Spawns: []store.Spawn{{Context: deep}}})
				if b.load("e").Context != deep {
					b.t.Error("the context changed")
				}
				b.equal("trace", b.trace("e"), []string{"0 " + string(deep)})
				b.equal("spawns", b.spawns(), []string{`1 by "e": "" at "" ` + string(deep)})
				b.equal("outbox", b.outbox(), []string{`1 to -: x  ` + string(deep)})
			},
		},
	}
}

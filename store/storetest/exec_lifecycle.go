package storetest

import (
	"errors"

	"treering/store"
)

func lifecycleCases() []execCase {
	return []execCase{
		{
			name: "closed",
			rule: "after Close every call fails with ErrClosed, the caller's version is untouched, and closing again is harmless",
			run: func(b *execBundle) {
				exe := b.save(fresh("e"))
				b.ok(b.s.Close())
				b.closed = true
				s, ctx := b.s, b.ctx
				for what, call := range map[string]func() error{
					"Load":          func() error { _, err := s.Load(ctx, "e"); return err },
					"LoadForEvent":  func() error { _, _, err := s.LoadForEvent(ctx, "e", "x"); return err },
					"Save":          func() error { return s.Save(ctx, exe) },
					"Commit":        func() error { _, err := s.Commit(ctx, full(exe, "x")); return err },
					"IsProcessed":   func() error { _, err := s.IsProcessed(ctx, "e", "x"); return err },
					"PendingOutbox": func() error { _, err := s.PendingOutbox(ctx); return err },
					"AckOutbox":     func() error { _, err := s.AckOutbox(ctx, 1); return err },
					"PendingSpawns": func() error { _, err := s.PendingSpawns(ctx); return err },
					"AckSpawn":      func() error { _, err := s.AckSpawn(ctx, 1); return err },
					"DueTimers":     func() error { _, err := s.DueTimers(ctx, 1); return err },
					"DeleteTimer":   func() error { _, err := s.DeleteTimer(ctx, "e", "p", 1); return err },
					"RearmTimer":    func() error { _, err := s.RearmTimer(ctx, "e", "p", 1, 2); return err },
					"AppendTrace":   func() error { return s.AppendTrace(ctx, "e", step(1)) },
					"ReadTrace":     func() error { _, err := s.ReadTrace(ctx, "e"); return err },
					"ListExecutions": func() error {
						_, err := s.ListExecutions(ctx, store.ExecutionFilter{}, store.PageRequest{})
						return err
					},
					"ListOutbox": func() error { _, err := s.ListOutbox(ctx, store.QueueFilter{}, store.PageRequest{}); return err },
					"ListSpawns": func() error { _, err := s.ListSpawns(ctx, store.QueueFilter{}, store.PageRequest{}); return err },
					"ListTimers": func() error { _, err := s.ListTimers(ctx, store.QueueFilter{}, store.PageRequest{}); return err },
					"Counts":     func() error { _, err := s.Counts(ctx); return err },
					"Purge":      func() error { _, err := s.Purge(ctx, "e", 1); return err },
				} {
					if err := call(); !errors.Is(err, store.ErrClosed) {
						b.t.Errorf("%s after Close: %v", what, err)
					}
				}
				b.equal("version in hand", exe.Version, int64(1))
				if err := b.s.Close(); err != nil && !errors.Is(err, store.ErrClosed) {
					b.t.Errorf("closing again: %v", err)
				}
			},
		},
		{
			name: "close under way",
			rule: "a call that meets Close is either done or fails with ErrClosed, never otherwise",
			run: func(b *execBundle) {
				b.closed = true
				var fails failures
				together(6, func(w int) {
					if w == 0 {
						fails.add(b.s.Close())
						return
					}
					for n := range 20 {
						exe := fresh(tag(n, w))
						_, err := b.s.Commit(b.ctx, full(exe, "x"))
						switch {
						case errors.Is(err, store.ErrClosed):
							if exe.Version != 0 {
								fails.add(errors.New("closed, but the version in hand changed"))
							}
							return
						case err != nil:
							fails.add(err)
							return
						}
					}
				})
				b.ok(errors.Join(fails.errs...))
			},
		},
		{
			name:    "everything persists",
			rule:    "what was committed is there after the store was closed and opened again, and counting goes on: versions, seqs and trace indexes",
			needs:   durable,
			options: ExecOptions{TraceMax: ptr(3)},
			run: func(b *execBundle) {
				exe, other := fresh("e"), fresh("other")
				for i := range 5 {
					b.commit(store.Commit{Execution: exe, Trace: step(i)})
				}
				b.commit(full(other, "o"))
				b.commit(full(exe, "a"))
				_, err := b.s.AckOutbox(b.ctx, 2)
				b.ok(err)
				_, err = b.s.AckSpawn(b.ctx, 2)
				b.ok(err)
				marks := [][2]string{{"e", "processed-a"}, {"other", "processed-o"}, {"e", "processed-o"}}
				before := b.dump(marks...)
				stale := b.copyOf("e")
				b.s = b.f.Reopen(b.t, b.s, ExecOptions{TraceMax: ptr(3)})
				b.unchanged(before, marks...)
				seqs := b.commit(store.Commit{Execution: b.copyOf("e"), Emits: []store.Emit{emit("t", event("E", 1))}, Spawns: []store.Spawn{{ChildID: "c"}}, Trace: step(6)})
				b.equal("seqs go on", seqs, []int64{3})
				b.equal("trace goes on", b.trace("e"), []string{`4 {"n":4}`, `5 {"event_kind":"step-a"}`, `6 {"n":6}`})
				b.equal("spawns go on", b.spawns()[1], `3 by "e": "c" at "" {}`)
				b.conflict(b.s.Save(b.ctx, stale), "e", 6, 7)
			},
		},
		{
			name:    "a shorter ring",
			rule:    "a ring that is opened with a smaller length is trimmed by its next step, not by being opened",
			needs:   durable,
			options: ExecOptions{TraceMax: ptr(5)},
			run: func(b *execBundle) {
				appendSteps(b, "e", 5)
				b.s = b.f.Reopen(b.t, b.s, ExecOptions{TraceMax: ptr(2)})
				b.equal("opened", len(b.trace("e")), 5)
				b.ok(b.s.AppendTrace(b.ctx, "e", step(5)))
				b.equal("after a step", b.trace("e"), []string{`4 {"n":4}`, `5 {"n":5}`})
			},
		},
		{
			name:  "seqs persist when the queues are empty",
			rule:  "a seq is not used again after a restart either, though no entry is left to count from",
			needs: durable,
			run: func(b *execBundle) {
				fillQueues(b, 2)
				for _, ack := range b.acks() {
					for seq := range int64(2) {
						_, err := ack(b.ctx, seq+1)
						b.ok(err)
					}
				}
				b.s = b.f.Reopen(b.t, b.s, ExecOptions{})
				b.equal("seqs", b.commit(store.Commit{Execution: fresh("f"), Emits: []store.Emit{{Event: event("E", 1)}}, Spawns: []store.Spawn{{ChildID: "c"}}}), []int64{3})
				b.equal("spawns", b.spawns(), []string{`3 by "f": "c" at "" {}`})
			},
		},
		{
			name: "a second handle",
			rule: "a commit through one handle is seen by every later read of another, and a stale copy of the other conflicts",
			run: func(b *execBundle) {
				stores := handles(b)
				if len(stores) < 2 {
					b.t.Skip("the backend has one handle")
				}
				b.commit(full(fresh("e"), "a"))
				second := &execBundle{t: b.t, ctx: b.ctx, s: stores[1], f: b.f}
				b.equal("dump", second.dump(), b.dump())
				stale := second.copyOf("e")
				b.save(b.copyOf("e"))
				before := second.dump([2]string{"e", "processed-b"})
				_, err := second.s.Commit(b.ctx, full(stale, "b"))
				b.conflict(err, "e", 1, 2)
				second.unchanged(before, [2]string{"e", "processed-b"})
				b.equal("seqs", second.commit(store.Commit{Execution: second.copyOf("e"), Emits: []store.Emit{emit("t", event("E", 1))}}), []int64{2})
				b.equal("outbox", b.outbox(), second.outbox())
			},
		},
	}
}

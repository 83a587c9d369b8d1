package storetest

import (
	"errors"
	"math"

	"treering/store"
)

func casCases() []execCase {
	return []execCase{
		{
			name: "first save is version 1",
			rule: "a new execution (version 0) is inserted at version 1, in the caller's hands and in the store alike",
			run: func(b *execBundle) {
				exe := b.save(fresh("e"))
				b.equal("version in hand", exe.Version, int64(1))
				b.equal("version loaded", b.load("e").Version, int64(1))
			},
		},
		{
			name: "each save counts one up",
			rule: "the version rises by exactly one with every successful write",
			run: func(b *execBundle) {
				exe := fresh("e")
				for want := range int64(3) {
					b.save(exe)
					b.equal("version in hand", exe.Version, want+1)
				}
				b.equal("version loaded", b.load("e").Version, int64(3))
			},
		},
		{
			name: "absent",
			rule: "loading an unknown id is a *NotFoundError that names the execution",
			run: func(b *execBundle) {
				b.absent("nobody")
				b.save(fresh("nobody2"))
				b.absent("nobody")
				b.absent("")
			},
		},
		{
			name: "stale write",
			rule: "a write from a stale copy is a ConflictError with both versions; the caller's Version is as it was, and the winner's state stays",
			run: func(b *execBundle) {
				b.save(fresh("e"))
				mine, theirs := b.copyOf("e"), b.copyOf("e")
				theirs.Context = `{"winner":true}`
				b.save(theirs)
				mine.Context, mine.Status = `{"winner":false}`, store.Failed
				b.conflict(b.s.Save(b.ctx, mine), "e", 1, 2)
				b.equal("version in hand", mine.Version, int64(1))
				b.equal("status in hand", mine.Status, store.Failed)
				got := b.load("e")
				b.equal("version", got.Version, int64(2))
				b.equal("context", got.Context, store.JSON(`{"winner":true}`))
			},
		},
		{
			name: "reload after a conflict",
			rule: "a caller that lost reloads and wins with the state it then has",
			run: func(b *execBundle) {
				b.save(fresh("e"))
				mine := b.copyOf("e")
				b.save(b.copyOf("e"))
				b.conflict(b.s.Save(b.ctx, mine), "e", 1, 2)
				again := b.copyOf("e")
				b.save(again)
				b.equal("version", again.Version, int64(3))
			},
		},
		{
			name:  "first write at another version is refused",
			rule:  "an absent row takes version 0 only, so that a stale copy cannot bring back an execution that was removed",
			needs: func(c ExecutionCaps) bool { return !c.FirstWriteAnyVersion },
			run: func(b *execBundle) {
				exe := fresh("e")
				exe.Version = 7
				b.conflict(b.s.Save(b.ctx, exe), "e", 7, -1)
				b.equal("version in hand", exe.Version, int64(7))
				b.absent("e")
			},
		},
		{
			name:  "first write at any version is taken",
			rule:  "Contract, save: without a stored object there is nothing to conflict with",
			needs: func(c ExecutionCaps) bool { return c.FirstWriteAnyVersion },
			run: func(b *execBundle) {
				exe := fresh("e")
				exe.Version = 7
				b.save(exe)
				b.equal("version in hand", exe.Version, int64(8))
				b.conflict(b.s.Save(b.ctx, fresh("e")), "e", 0, 8)
			},
		},
		{
			name: "insert over an existing row",
			rule: "a second new execution under a stored id conflicts and does not replace it",
			run: func(b *execBundle) {
				b.save(fresh("e"))
				other := fresh("e")
				other.DefinitionID = "other"
				b.conflict(b.s.Save(b.ctx, other), "e", 0, 1)
				b.equal("version in hand", other.Version, int64(0))
				b.equal("definition", b.load("e").DefinitionID, "shop")
			},
		},
		{
			name: "another object at the right version replaces",
			rule: "Contract, save: a different object at the stored version is a legitimate replacement",
			run: func(b *execBundle) {
				b.save(fresh("e"))
				other := fresh("e")
				other.Version, other.DefinitionID = 1, "other"
				b.save(other)
				got := b.load("e")
				b.equal("definition", got.DefinitionID, "other")
				b.equal("version", got.Version, int64(2))
			},
		},
		{
			name:  "identity",
			rule:  "Contract, load: the caller gets the very object that was saved, and sees every change made to it",
			needs: identity,
			run: func(b *execBundle) {
				exe := b.save(fresh("e"))
				if b.load("e") != exe {
					b.t.Fatal("Load returned another object")
				}
				exe.Context = `{"changed":"in place"}`
				b.equal("context", b.load("e").Context, exe.Context)
				got, _, err := b.s.LoadForEvent(b.ctx, "e", "x")
				b.ok(err)
				if got != exe {
					b.t.Fatal("LoadForEvent returned another object")
				}
				other := exe.Clone()
				b.save(other)
				if b.load("e") != other {
					b.t.Fatal("Load does not return the object that replaced the first")
				}
			},
		},
		{
			name:  "the same object always wins",
			rule:  "Contract, save: where the caller holds the stored object there is no other writer, whatever its version says",
			needs: identity,
			run: func(b *execBundle) {
				exe := b.save(fresh("e"))
				exe.Version = 40
				b.save(exe)
				b.equal("version", exe.Version, int64(41))
				b.conflict(b.s.Save(b.ctx, fresh("e")), "e", 0, 41)
				for _, none := range []int64{-1, math.MaxInt64} {
					exe.Version = none
					b.is(b.s.Save(b.ctx, exe), store.ErrBadVersion)
					b.equal("version in hand", exe.Version, none)
				}
				exe.Version = 41
				b.save(exe)
			},
		},
		{
			name:  "loads are independent",
			rule:  "a loaded execution is the caller's own: changing it changes nothing in the store before it is saved",
			needs: copies,
			run: func(b *execBundle) {
				exe := b.save(fresh("e"))
				exe.Context = `{"changed":true}`
				got := b.load("e")
				b.equal("context", got.Context, fresh("e").Context)
				*got.ActivePath = "Elsewhere"
				b.equal("active path", *b.load("e").ActivePath, "Checkout.Payment")
			},
		},
		{
			name: "load for event",
			rule: "LoadForEvent is Load and IsProcessed in one: known with and without the mark, and not found even where a mark of that id could be",
			run: func(b *execBundle) {
				b.commit(store.Commit{Execution: fresh("e"), ProcessedEventID: ptr("seen")})
				for eventID, want := range map[string]bool{"seen": true, "new": false, "": false} {
					exe, processed, err := b.s.LoadForEvent(b.ctx, "e", eventID)
					b.ok(err)
					b.equal("id", exe.ID, "e")
					b.equal("processed "+eventID, processed, want)
					b.equal("as IsProcessed says", processed, b.processed("e", eventID))
				}
				exe, processed, err := b.s.LoadForEvent(b.ctx, "unknown", "seen")
				b.is(err, store.ErrNotFound)
				if exe != nil || processed {
					b.t.Fatalf("unknown id: %v, %v", exe, processed)
				}
			},
		},
		{
			name: "refused executions",
			rule: "what cannot be an execution is a *ValueError: none at all, an empty id, a version that is negative or that no other can follow",
			run: func(b *execBundle) {
				before := b.dump()
				negative, last := fresh("e"), fresh("e")
				negative.Version, last.Version = -1, math.MaxInt64
				for what, tc := range map[string]struct {
					exe  *store.Execution
					want error
				}{
					"none": {nil, store.ErrEmptyID}, "empty id": {fresh(""), store.ErrEmptyID},
					"negative version": {negative, store.ErrBadVersion}, "last version": {last, store.ErrBadVersion},
				} {
					err := b.s.Save(b.ctx, tc.exe)
					var v *store.ValueError
					if !errors.As(err, &v) || !errors.Is(err, tc.want) {
						b.t.Fatalf("%s: %v, want a *ValueError of %v", what, err, tc.want)
					}
				}
				b.equal("negative version in hand", negative.Version, int64(-1))
				b.equal("last version in hand", last.Version, int64(math.MaxInt64))
				b.unchanged(before)
			},
		},
		{
			name: "fields",
			rule: "every field of an execution comes back as it was saved",
			run: func(b *execBundle) {
				exe := &store.Execution{
					ID: "all", DefinitionID: "shop#Checkout", DefinitionFQN: ptr("models.shop"), RootPath: "Fork.A", Status: "Parked",
					Outcome: ptr(""), Error: ptr("ValueError: x"), ActivePath: ptr(""), History: `{"":"Done"}`, Context: `{"a":[1,2.50]}`,
					ProcessedEvents: 9, Priority: 4, ParentID: ptr("p"), ChildID: ptr("c"),
					Deferred: `[{"id":"d1","kind":"Late","created_time":null,"received_time":null,"data":{}}]`, InvokeSeq: `{"Fork":2}`,
					CreatedAt: "1700000000.25", UpdatedAt: "1700000001.5", FinishedAt: "null", ExpiresAt: "1800000000",
				}
				exe.SetChildStates([]store.ChildState{{ID: "all:Fork.A:0", RootPath: "Fork.A", Finished: true, Outcome: ptr("ok"), Result: `{"r":1}`, Key: "Fork.A"}})
				b.save(exe)
				want, err := exe.Encode(1)
				b.ok(err)
				got, err := b.load("all").Encode(1)
				b.ok(err)
				b.equal("blob", got, want)
				page, err := b.s.ListExecutions(b.ctx, store.ExecutionFilter{}, store.PageRequest{})
				b.ok(err)
				b.equal("summary", page.Items, []store.Summary{store.SummaryOf(exe)})
			},
		},
	}
}

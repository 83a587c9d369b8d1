package storetest

import (
	"fmt"

	"treering/store"
)

// seedListing makes twelve executions: two definitions, four statuses, two
// children, one that has finished. They are saved in an order that is not the
// list's.
func seedListing(b *execBundle) []string {
	b.t.Helper()
	statuses := []store.Status{store.Running, store.Done, store.Failed, store.Suspended}
	ids := numbered("x-", 12)
	for i := range ids {
		n := (i * 5) % 12
		exe := fresh(ids[n])
		exe.Status = statuses[n%4]
		if n%2 == 1 {
			exe.DefinitionID = "billing"
		}
		if n == 4 || n == 9 {
			exe.ParentID, exe.ChildID = ptr(ids[n-1]), &ids[n]
		}
		if n == 1 {
			exe.Outcome, exe.FinishedAt = ptr("success"), "1700000000.5"
		}
		b.save(exe)
	}
	return ids
}

func listCases() []execCase {
	return []execCase{
		{
			name: "all by id",
			rule: "the zero filter lists everything by id",
			run: func(b *execBundle) {
				b.equal("empty store", b.ids(store.ExecutionFilter{}), []string{})
				ids := seedListing(b)
				b.equal("ids", b.ids(store.ExecutionFilter{}), ids)
			},
		},
		{
			name: "byte order",
			rule: "ids sort by their bytes: capitals before small letters, a prefix before what it begins, no locale",
			run: func(b *execBundle) {
				want := []string{"A", "B", "Z", "a", "a:1", "aa", "b", "~", "É", "é", "\U0001F600"}
				for i := range want {
					b.save(fresh(want[(i*7)%len(want)]))
				}
				b.equal("ids", b.ids(store.ExecutionFilter{}), want)
			},
		},
		{
			name: "summary",
			rule: "a summary has the listed fields as committed last, with the committed version; finished_at is as written",
			run: func(b *execBundle) {
				seedListing(b)
				page, err := b.s.ListExecutions(b.ctx, store.ExecutionFilter{}, store.PageRequest{Limit: 2})
				b.ok(err)
				b.equal("second", page.Items[1], store.Summary{
					ID: "x-00001", DefinitionID: "billing", Status: store.Done, Outcome: ptr("success"), ActivePath: ptr("Checkout.Payment"),
					Version: 1, FinishedAt: "1700000000.5",
				})
			},
		},
		{
			name: "status is any of",
			rule: "a status filter takes any of its words without regard to case; nil is no filter and an empty set matches nothing",
			run: func(b *execBundle) {
				ids := seedListing(b)
				for _, tc := range []struct {
					status []store.Status
					want   []string
				}{
					{nil, ids},
					{[]store.Status{}, []string{}},
					{[]store.Status{store.Done}, pick(ids, 1, 5, 9)},
					{[]store.Status{"done"}, pick(ids, 1, 5, 9)},
					{[]store.Status{store.Failed, "Running", store.Failed}, pick(ids, 0, 2, 4, 6, 8, 10)},
					{[]store.Status{store.Pending}, []string{}},
					{[]store.Status{"DON"}, []string{}},
					{[]store.Status{""}, []string{}},
				} {
					b.equal(fmt.Sprint(tc.status), b.ids(store.ExecutionFilter{Status: tc.status}), tc.want)
				}
				page, err := b.s.ListExecutions(b.ctx, store.ExecutionFilter{Status: []store.Status{}}, store.PageRequest{})
				b.ok(err)
				b.equal("cursor of the empty set", page.Next, "")
			},
		},
		{
			name: "unknown words",
			rule: "any status word is stored, listed and found as it is: the seven of the engine are not the only ones",
			run: func(b *execBundle) {
				for i, word := range []store.Status{"Parked", "wartend \"x\" é", "running"} {
					exe := fresh(numbered("e", 3)[i])
					exe.Status = word
					b.save(exe)
				}
				b.equal("parked", b.ids(store.ExecutionFilter{Status: []store.Status{"PARKED"}}), []string{"e00000"})
				b.equal("odd", b.ids(store.ExecutionFilter{Status: []store.Status{"wartend \"x\" é"}}), []string{"e00001"})
				b.equal("running", b.ids(store.ExecutionFilter{Status: []store.Status{store.Running}}), []string{"e00002"})
				b.equal("as written", b.load("e00000").Status, store.Status("Parked"))
			},
		},
		{
			name: "a word elsewhere",
			rule: "the status filter is decided on the status: a status word in the context, the id or the outcome is none",
			run: func(b *execBundle) {
				exe := fresh("FAILED")
				exe.Context, exe.Outcome = `{"status":"FAILED"}`, ptr("FAILED")
				b.save(exe)
				b.equal("failed", b.ids(store.ExecutionFilter{Status: []store.Status{store.Failed}}), []string{})
			},
		},
		{
			name: "definition is exact",
			rule: "the definition filter is exact: no prefix, no case folding, no pattern",
			run: func(b *execBundle) {
				ids := seedListing(b)
				b.equal("billing", b.ids(store.ExecutionFilter{DefinitionID: ptr("billing")}), pick(ids, 1, 3, 5, 7, 9, 11))
				for _, other := range []string{"bill", "BILLING", "%", "billin_", ""} {
					b.equal(other, b.ids(store.ExecutionFilter{DefinitionID: &other}), []string{})
				}
			},
		},
		{
			name: "roots only",
			rule: "RootsOnly leaves out whatever has a parent, also one that is not in the store",
			run: func(b *execBundle) {
				ids := seedListing(b)
				orphan := fresh("orphan")
				orphan.ParentID = ptr("gone")
				b.save(orphan)
				b.equal("roots", b.ids(store.ExecutionFilter{RootsOnly: true}), pick(ids, 0, 1, 2, 3, 5, 6, 7, 8, 10, 11))
			},
		},
		{
			name: "children",
			rule: "children are found by their own parent_id, whatever the parent's children map says",
			run: func(b *execBundle) {
				parent := fresh("p")
				parent.SetChildStates([]store.ChildState{{ID: "stranger"}})
				b.save(parent)
				b.save(fresh("stranger"))
				for _, id := range []string{"p:B:0", "p:A:0"} {
					child := fresh(id)
					child.ParentID = ptr("p")
					b.save(child)
				}
				grandchild := fresh("p:A:0:C:0")
				grandchild.ParentID = ptr("p:A:0")
				b.save(grandchild)
				b.equal("of p", b.ids(store.ExecutionFilter{ParentID: ptr("p")}), []string{"p:A:0", "p:B:0"})
				b.equal("of the empty id", b.ids(store.ExecutionFilter{ParentID: ptr("")}), []string{})
			},
		},
		{
			name: "filters combine",
			rule: "an execution must pass every part of the filter",
			run: func(b *execBundle) {
				ids := seedListing(b)
				b.equal("done billing roots", b.ids(store.ExecutionFilter{Status: []store.Status{store.Done}, DefinitionID: ptr("billing"), RootsOnly: true}), pick(ids, 1, 5))
				b.equal("done child of 8", b.ids(store.ExecutionFilter{Status: []store.Status{store.Done}, ParentID: &ids[8]}), pick(ids, 9))
				b.equal("root child", b.ids(store.ExecutionFilter{RootsOnly: true, ParentID: &ids[8]}), []string{})
				b.equal("done shop", b.ids(store.ExecutionFilter{Status: []store.Status{store.Done}, DefinitionID: ptr("shop")}), []string{})
			},
		},
		{
			name: "lists follow commits",
			rule: "filters and summaries go by the last commit: status, definition, outcome and parent may all change",
			run: func(b *execBundle) {
				exe := b.save(fresh("e"))
				exe.Status, exe.Outcome, exe.ActivePath, exe.ParentID, exe.DefinitionID = store.Done, ptr("ok"), nil, ptr("p"), "other"
				b.equal("before the commit", b.ids(store.ExecutionFilter{Status: []store.Status{store.Running}, RootsOnly: true}), []string{"e"})
				b.save(exe)
				b.equal("running", b.ids(store.ExecutionFilter{Status: []store.Status{store.Running}}), []string{})
				page, err := b.s.ListExecutions(b.ctx, store.ExecutionFilter{Status: []store.Status{store.Done}, DefinitionID: ptr("other"), ParentID: ptr("p")}, store.PageRequest{})
				b.ok(err)
				b.equal("done", page.Items, []store.Summary{{ID: "e", DefinitionID: "other", Status: store.Done, Outcome: ptr("ok"), Version: 2, ParentID: ptr("p")}})
				exe.Outcome, exe.ActivePath = ptr("better"), ptr("")
				b.save(exe)
				page, err = b.s.ListExecutions(b.ctx, store.ExecutionFilter{}, store.PageRequest{})
				b.ok(err)
				b.equal("other texts", page.Items, []store.Summary{{ID: "e", DefinitionID: "other", Status: store.Done, Outcome: ptr("better"), ActivePath: ptr(""), Version: 3, ParentID: ptr("p")}})
				exe.Outcome, exe.ParentID = nil, nil
				b.save(exe)
				b.equal("roots", b.ids(store.ExecutionFilter{RootsOnly: true}), []string{"e"})
			},
		},
		{
			name: "counts",
			rule: "counts are the totals of the store, statuses by their upper-case word",
			run: func(b *execBundle) {
				got, err := b.s.Counts(b.ctx)
				b.ok(err)
				b.equal("empty", got, store.Counts{ByStatus: map[store.Status]int64{}})
				seedListing(b)
				odd := fresh("odd")
				odd.Status = "parked"
				b.commit(store.Commit{Execution: odd, Emits: []store.Emit{{}, {}, {}}, Spawns: []store.Spawn{{}, {}}, Timers: []store.TimerOp{schedule("p", 1)}})
				want := store.Counts{Executions: 13, Outbox: 3, Spawns: 2, Timers: 1, ByStatus: map[store.Status]int64{
					store.Running: 3, store.Done: 3, store.Failed: 3, store.Suspended: 3, "PARKED": 1,
				}}
				got, err = b.s.Counts(b.ctx)
				b.ok(err)
				b.equal("counts", got, want)
				odd.Status = "Done"
				b.save(odd)
				_, err = b.s.AckOutbox(b.ctx, 2)
				b.ok(err)
				delete(want.ByStatus, "PARKED")
				want.ByStatus[store.Done]++
				want.Outbox--
				got, err = b.s.Counts(b.ctx)
				b.ok(err)
				b.equal("after a change", got, want)
			},
		},
	}
}

func pick(ids []string, at ...int) []string {
	out := []string{}
	for _, i := range at {
		out = append(out, ids[i])
	}
	return out
}

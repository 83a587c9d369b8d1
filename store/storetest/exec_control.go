package storetest

import (
	"context"
	"errors"
	"time"

	"treering/store"
)

var controlTime = time.Unix(1800000000, 250_000_000)

func (b *execBundle) control(s store.ExecutionStore, cmd store.Command, id string) ([]store.Controlled, error) {
	return store.Control(b.ctx, s, cmd, id, nil, controlTime)
}

// family saves executions of the statuses given, each the child of the one before.
func family(b *execBundle, statuses ...store.Status) {
	b.t.Helper()
	for i, status := range statuses {
		exe := fresh(familyID(i))
		exe.Status = status
		if i > 0 {
			exe.ParentID = ptr(familyID(i - 1))
		}
		if i+1 < len(statuses) {
			exe.SetChildStates([]store.ChildState{{ID: familyID(i + 1), RootPath: "r"}})
		}
		b.save(exe)
	}
}

func familyID(i int) string { return numbered("f", i+1)[i] }

func controlCases() []execCase {
	return []execCase{
		{
			name: "the table of states",
			rule: "suspend takes RUNNING, resume SUSPENDED, terminate all but DONE and CANCELLED; elsewhere nothing is written and the error names the state",
			run: func(b *execBundle) {
				target := map[store.Command]store.Status{store.Suspend: store.Suspended, store.Resume: store.Running, store.Terminate: store.Cancelled}
				for cmd, to := range target {
					for _, from := range append(store.Statuses(), "Parked", "running") {
						id := string(cmd) + " " + string(from)
						exe := fresh(id)
						exe.Status = from
						b.commit(full(exe, "kept"))
						before := b.dump()
						applies := cmd == store.Suspend && from.Is(store.Running) || cmd == store.Resume && from.Is(store.Suspended) ||
							cmd == store.Terminate && !from.Is(store.Done) && !from.Is(store.Cancelled)
						report, err := b.control(b.s, cmd, id)
						if applies {
							b.ok(err)
							b.equal(id, report, []store.Controlled{{ID: id, From: from, To: to, Version: 2}})
							b.equal(id, b.load(id).Status, to)
							continue
						}
						var state *store.StateError
						if !errors.As(err, &state) || state.Status != from || state.ID != id || state.Command != string(cmd) {
							b.t.Fatalf("%s: %v, want a *StateError", id, err)
						}
						b.is(err, store.ErrWrongState)
						b.unchanged(before)
					}
				}
			},
		},
		{
			name: "only the status",
			rule: "a command changes status and version: queues, timers, marks, trace and every other member stay, and stamps that the blob has not are not added",
			run: func(b *execBundle) {
				exe := fresh("e")
				exe.Outcome, exe.Error = ptr("kept"), ptr("kept")
				b.commit(full(exe, "a"))
				want := exe.Clone()
				want.Status = store.Suspended
				rest := b.outbox()
				_, err := b.control(b.s, store.Suspend, "e")
				b.ok(err)
				got := b.load("e")
				gotText, err := got.Encode(got.Version)
				b.ok(err)
				wantText, err := want.Encode(2)
				b.ok(err)
				b.equal("state", gotText, wantText)
				b.equal("outbox", b.outbox(), rest)
				b.equal("spawns", len(b.spawns()), 1)
				b.equal("timers", b.due(99), []string{`10.0 "e" "timer-a"`})
				b.equal("trace", b.trace("e"), []string{`0 {"event_kind":"step-a"}`})
				b.equal("mark", b.processed("e", "processed-a"), true)
			},
		},
		{
			name: "a cooperative cancel",
			rule: "cancel takes RUNNING and SUSPENDED to CANCELLING and emits one Cancel event to the execution itself in the same commit; " +
				"live descendants become CANCELLED, and from any other state nothing is written",
			run: func(b *execBundle) {
				family(b, store.Running, store.Failed, store.Done, store.Suspended)
				report, err := b.control(b.s, store.CancelGently, familyID(0))
				b.ok(err)
				b.equal("report", report, []store.Controlled{
					{ID: familyID(0), From: store.Running, To: store.Cancelling, Version: 2}, {ID: familyID(1), From: store.Failed, To: store.Cancelled, Version: 2},
					{ID: familyID(3), From: store.Suspended, To: store.Cancelled, Version: 2},
				})
				pending, err := b.s.PendingOutbox(b.ctx)
				b.ok(err)
				if len(pending) != 1 || pending[0].TargetID == nil || *pending[0].TargetID != familyID(0) ||
					pending[0].Event.Kind != store.CancelEvent || pending[0].Event.ID == "" || pending[0].Event.Data != store.EmptyObject {
					b.t.Fatalf("outbox %+v, want one Cancel to itself", pending)
				}
				for _, from := range []store.Status{store.Pending, store.Failed, store.Cancelling, store.Done, store.Cancelled, "Parked"} {
					exe := fresh("cancel " + string(from))
					exe.Status = from
					b.save(exe)
					before := b.dump()
					_, err := b.control(b.s, store.CancelGently, exe.ID)
					b.is(err, store.ErrWrongState)
					b.unchanged(before)
				}
			},
		},
		{
			name: "a cancel that lost its race",
			rule: "a cancel that finds another version than the one expected writes neither the status nor the event",
			run: func(b *execBundle) {
				family(b, store.Running, store.Running)
				before := b.dump()
				stale := int64(7)
				_, err := store.Control(b.ctx, b.s, store.CancelGently, familyID(0), &stale, controlTime)
				b.is(err, store.ErrConflict)
				b.unchanged(before)
			},
		},
		{
			name: "a sparse blob",
			rule: "members that a blob has not are not added by a command, and what it has keeps its text",
			run: func(b *execBundle) {
				const sparse = `{"later":[1.0],"status":"RUNNING","priority":"2","id":"e","context":{"n":1.50}}`
				exe, err := store.DecodeExecution(sparse)
				b.ok(err)
				b.save(exe)
				_, err = b.control(b.s, store.Suspend, "e")
				b.ok(err)
				got := b.load("e")
				text, err := got.Encode(got.Version)
				b.ok(err)
				b.equal("blob", text, `{"later":[1.0],"status":"SUSPENDED","priority":"2","id":"e","context":{"n":1.50},"version":2}`)
			},
		},
		{
			name: "stamps",
			rule: "stamps that the blob has are kept true: updated_at at each command, finished_at when it ends, cleared when it lives again",
			run: func(b *execBundle) {
				exe := fresh("e")
				exe.CreatedAt, exe.UpdatedAt, exe.FinishedAt, exe.ExpiresAt = "1", "1", "null", "5"
				b.save(exe)
				_, err := b.control(b.s, store.Suspend, "e")
				b.ok(err)
				got := b.load("e")
				b.equal("suspended", []store.JSON{got.CreatedAt, got.UpdatedAt, got.FinishedAt, got.ExpiresAt}, []store.JSON{"1", "1800000000.25", "null", "5"})
				_, err = b.control(b.s, store.Terminate, "e")
				b.ok(err)
				got = b.load("e")
				b.equal("terminated", []store.JSON{got.CreatedAt, got.UpdatedAt, got.FinishedAt, got.ExpiresAt}, []store.JSON{"1", "1800000000.25", "1800000000.25", "5"})
			},
		},
		{
			name: "stamps that are not there",
			rule: "a stamp that the blob has not is not added: older engines would drop it again",
			run: func(b *execBundle) {
				exe := fresh("e")
				exe.UpdatedAt = "1"
				b.save(exe)
				b.save(fresh("bare"))
				for id, want := range map[string][]store.JSON{"e": {"", "1800000000.25", "", ""}, "bare": {"", "", "", ""}} {
					_, err := b.control(b.s, store.Terminate, id)
					b.ok(err)
					got := b.load(id)
					b.equal(id, []store.JSON{got.CreatedAt, got.UpdatedAt, got.FinishedAt, got.ExpiresAt}, want)
				}
			},
		},
		{
			name: "descendants parent first",
			rule: "live descendants follow, parent first, each by the same rule; those at rest are passed over but what lies below them is not",
			run: func(b *execBundle) {
				family(b, store.Running, store.Running, store.Done, store.Running, store.Failed)
				report, err := b.control(b.s, store.Suspend, familyID(0))
				b.ok(err)
				b.equal("report", report, []store.Controlled{
					{ID: familyID(0), From: store.Running, To: store.Suspended, Version: 2},
					{ID: familyID(1), From: store.Running, To: store.Suspended, Version: 2},
					{ID: familyID(3), From: store.Running, To: store.Suspended, Version: 2},
				})
				b.equal("done", b.load(familyID(2)).Status, store.Done)
				b.equal("failed", b.load(familyID(4)).Status, store.Failed)
				report, err = b.control(b.s, store.Terminate, familyID(0))
				b.ok(err)
				b.equal("terminated", len(report), 4)
				b.equal("done stays", b.load(familyID(2)).Status, store.Done)
				b.equal("failed ends", b.load(familyID(4)).Status, store.Cancelled)
			},
		},
		{
			name: "the plan",
			rule: "the plan of a command names what it would write, in its order, and writes nothing",
			run: func(b *execBundle) {
				family(b, store.Running, store.Running, store.Done, store.Running, store.Failed)
				before := b.dump()
				plan, more, err := store.Plan(b.ctx, b.s, store.Suspend, familyID(0), 5)
				b.ok(err)
				b.equal("plan", plan, []store.Controlled{
					{ID: familyID(0), From: store.Running, To: store.Suspended, Version: 1},
					{ID: familyID(1), From: store.Running, To: store.Suspended, Version: 1},
					{ID: familyID(3), From: store.Running, To: store.Suspended, Version: 1},
				})
				b.equal("more", more, false)
				plan, more, err = store.Plan(b.ctx, b.s, store.Suspend, familyID(0), 3)
				b.ok(err)
				b.equal("bounded", len(plan), 2)
				b.equal("more", more, true)
				plan, _, err = store.Plan(b.ctx, b.s, store.Resume, familyID(0), 5)
				b.ok(err)
				b.equal("does not apply", plan, []store.Controlled{{ID: familyID(0), From: store.Running, Version: 1}})
				_, _, err = store.Plan(b.ctx, b.s, store.Suspend, "nobody", 5)
				b.is(err, store.ErrNotFound)
				b.unchanged(before)
			},
		},
		{
			name: "planned children",
			rule: "a child that is listed but was never made is no failure",
			run: func(b *execBundle) {
				exe := fresh("p")
				exe.SetChildStates([]store.ChildState{{ID: "never", RootPath: "r"}})
				b.save(exe)
				report, err := b.control(b.s, store.Suspend, "p")
				b.ok(err)
				b.equal("report", report, []store.Controlled{{ID: "p", From: store.Running, To: store.Suspended, Version: 2}})
			},
		},
		{
			name: "cycles",
			rule: "children that name each other, or themselves, are each visited once",
			run: func(b *execBundle) {
				for id, children := range map[string][]store.ChildState{"a": {{ID: "b"}, {ID: "a"}}, "b": {{ID: "c"}}, "c": {{ID: "a"}, {ID: "b"}}} {
					exe := fresh(id)
					exe.SetChildStates(children)
					b.save(exe)
				}
				report, err := b.control(b.s, store.Suspend, "a")
				b.ok(err)
				b.equal("report", lines(report, func(c store.Controlled) string { return c.ID }), []string{"a", "b", "c"})
				for _, id := range []string{"a", "b", "c"} {
					b.equal("version of "+id, b.load(id).Version, int64(2))
				}
			},
		},
		{
			name: "unknown",
			rule: "a command on an unknown id is not found",
			run: func(b *execBundle) {
				_, err := b.control(b.s, store.Suspend, "nobody")
				b.is(err, store.ErrNotFound)
			},
		},
		{
			name: "expected version",
			rule: "a command bound to the version on the screen writes nothing once the execution has another",
			run: func(b *execBundle) {
				b.save(b.save(fresh("e")))
				before := b.dump()
				_, err := store.Control(b.ctx, b.s, store.Suspend, "e", ptr(int64(1)), controlTime)
				b.conflict(err, "e", 1, 2)
				b.unchanged(before)
				report, err := store.Control(b.ctx, b.s, store.Suspend, "e", ptr(int64(2)), controlTime)
				b.ok(err)
				b.equal("version", report[0].Version, int64(3))
			},
		},
		{
			name: "five tries",
			rule: "a command that loses a race looks again, up to five times, and then says so",
			run: func(b *execBundle) {
				b.save(fresh("e"))
				report, err := b.control(&rival{ExecutionStore: b.s, races: 4}, store.Suspend, "e")
				b.ok(err)
				b.equal("report", report, []store.Controlled{{ID: "e", From: store.Running, To: store.Suspended, Version: 6}})
				r := &rival{ExecutionStore: b.s, races: 100}
				_, err = b.control(r, store.Resume, "e")
				b.is(err, store.ErrConflict)
				b.equal("tries", 100-r.races, 5)
				b.equal("status", b.load("e").Status, store.Suspended)
			},
		},
		{
			name: "state is looked at again",
			rule: "the rule is checked on the state of each try: an execution that ended meanwhile is not brought back",
			run: func(b *execBundle) {
				b.save(fresh("e"))
				_, err := b.control(&rival{ExecutionStore: b.s, races: 1, ends: true}, store.Suspend, "e")
				b.is(err, store.ErrWrongState)
				b.equal("status", b.load("e").Status, store.Done)
				b.equal("version", b.load("e").Version, int64(2))
			},
		},
		{
			name: "partial failure",
			rule: "a descendant that cannot be written is reported under its id; the others go on",
			run: func(b *execBundle) {
				top := fresh("top")
				top.SetChildStates([]store.ChildState{{ID: "hot"}, {ID: "calm"}})
				b.save(top)
				b.save(fresh("hot"))
				b.save(fresh("calm"))
				report, err := b.control(&rival{ExecutionStore: b.s, races: 100, only: "hot"}, store.Suspend, "top")
				b.ok(err)
				b.equal("ids", lines(report, func(c store.Controlled) string { return c.ID }), []string{"top", "hot", "calm"})
				b.is(report[1].Err, store.ErrConflict)
				b.equal("hot", b.load("hot").Status, store.Running)
				b.equal("calm", b.load("calm").Status, store.Suspended)
			},
		},
	}
}

// rival is a store in which, before each of the next saves, somebody else saves
// the same execution first.
type rival struct {
	store.ExecutionStore
	races int
	ends  bool   // the rival's write finishes the execution
	only  string // "" is every execution
}

func (r *rival) Save(ctx context.Context, exe *store.Execution) error {
	if r.races > 0 && (r.only == "" || r.only == exe.ID) {
		r.races--
		theirs, err := r.Load(ctx, exe.ID)
		if err != nil {
			return err
		}
		theirs = theirs.Clone()
		if r.ends {
			theirs.Status = store.Done
		}
		if err := r.ExecutionStore.Save(ctx, theirs); err != nil {
			return err
		}
	}
	return r.ExecutionStore.Save(ctx, exe)
}

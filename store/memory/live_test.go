package memory_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"treering/store"
	"treering/store/memory"
)

func TestLoadIsTheObjectItself(t *testing.T) {
	s := open(t, memory.Options{}).Executions()
	ctx := t.Context()
	exe := &store.Execution{ID: "e", Status: store.Running}
	if err := s.Save(ctx, exe); err != nil {
		t.Fatal(err)
	}
	var got *store.Execution
	allocs := testing.AllocsPerRun(100, func() {
		var err error
		if got, err = s.Load(ctx, "e"); err != nil {
			t.Fatal(err)
		}
	})
	if got != exe {
		t.Error("Load returned a copy")
	}
	if allocs != 0 {
		t.Errorf("Load allocates %v times", allocs)
	}
	allocs = testing.AllocsPerRun(100, func() {
		if _, _, err := s.LoadForEvent(ctx, "e", "x"); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("LoadForEvent allocates %v times", allocs)
	}
	if allocs = testing.AllocsPerRun(100, func() { exe.ProcessedEvents++; _ = s.Save(ctx, exe) }); allocs != 0 {
		t.Errorf("Save of an execution whose summary stays allocates %v times", allocs)
	}
}

func TestSnapshotsOnlyWhileObserved(t *testing.T) {
	s := open(t, memory.Options{}).Executions()
	ctx := t.Context()
	exe := &store.Execution{ID: "e", Status: store.Running, Context: `{"n":1}`}
	save := func(context store.JSON) {
		t.Helper()
		exe.Context = context
		if err := s.Save(ctx, exe); err != nil {
			t.Fatal(err)
		}
	}
	see := func() (int64, store.JSON) {
		t.Helper()
		sum, snapshot, err := s.Snapshot(ctx, "e")
		if err != nil {
			t.Fatal(err)
		}
		if snapshot == nil {
			return sum.Version, "not seen"
		}
		if snapshot == exe {
			t.Fatal("a snapshot is the live object")
		}
		if snapshot.Version != sum.Version {
			t.Fatalf("snapshot of version %d beside a summary of %d", snapshot.Version, sum.Version)
		}
		return sum.Version, snapshot.Context
	}
	want := func(version int64, context store.JSON) {
		t.Helper()
		if v, c := see(); v != version || c != context {
			t.Errorf("seen version %d, context %s; want %d, %s", v, c, version, context)
		}
	}
	save(`{"n":1}`)
	want(1, "not seen")
	release := s.Observe()
	want(1, "not seen") // of what was committed before, only the summary is known
	second := s.Observe()
	save(`{"n":2}`)
	want(2, `{"n":2}`)
	exe.Context = `{"n":"between commits"}`
	want(2, `{"n":2}`)
	release()
	release() // once counts
	save(`{"n":3}`)
	want(3, `{"n":3}`)
	second()
	want(3, `{"n":3}`) // still the state of the last commit
	save(`{"n":4}`)
	want(4, "not seen")

	if _, _, err := s.Snapshot(ctx, "nobody"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("snapshot of an unknown id: %v", err)
	}
	if err := s.AppendTrace(ctx, "ghost", `{}`); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Snapshot(ctx, "ghost"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("snapshot of an id with a trace alone: %v", err)
	}
}

func TestSnapshotIsTheCallersOwn(t *testing.T) {
	s := open(t, memory.Options{}).Executions()
	defer s.Observe()()
	outcome := "ok"
	exe := &store.Execution{ID: "e", Outcome: &outcome}
	if err := s.Save(t.Context(), exe); err != nil {
		t.Fatal(err)
	}
	sum, snapshot, err := s.Snapshot(t.Context(), "e")
	if err != nil {
		t.Fatal(err)
	}
	snapshot.Status, *snapshot.Outcome, *sum.Outcome = store.Failed, "changed", "changed"
	sum, snapshot, err = s.Snapshot(t.Context(), "e")
	if err != nil || snapshot.Status == store.Failed || *snapshot.Outcome != "ok" || *sum.Outcome != "ok" {
		t.Errorf("a snapshot changed with a copy of it: %+v, %v", snapshot, err)
	}
}

// Whatever an execution points to is the engine's to change between commits.
func TestSnapshotSharesNothingThatChanges(t *testing.T) {
	s := open(t, memory.Options{}).Executions()
	defer s.Observe()()
	exe := &store.Execution{ID: "e", Drift: []store.Drift{{Column: "id"}}}
	live := reflect.ValueOf(exe).Elem()
	texts := 0
	for round := range 3 {
		for i := range live.NumField() {
			f := live.Field(i)
			if !f.CanSet() || f.Kind() != reflect.Pointer {
				continue
			}
			texts++
			if f.IsNil() {
				f.Set(reflect.New(f.Type().Elem()))
			}
			if round != 1 { // once nothing changes
				f.Elem().SetString(fmt.Sprint(live.Type().Field(i).Name, " of round ", round))
			}
		}
		want := exe.Clone()
		want.Version, want.Drift = exe.Version+1, nil
		if err := s.Save(t.Context(), exe); err != nil {
			t.Fatal(err)
		}
		for i := range live.NumField() {
			if f := live.Field(i); f.CanSet() && f.Kind() == reflect.Pointer {
				f.Elem().SetString("changed in place")
			}
		}
		_, got, err := s.Snapshot(t.Context(), "e")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("round %d: %v\n%+v\nwant\n%+v", round, err, got, want)
		}
	}
	if texts < 18 {
		t.Errorf("%d texts were looked at", texts)
	}
}

// An engine changes its live objects between commits while observers read all
// that they may. The race detector says whether the store ever reads a live
// object elsewhere than in its owner's call.
func TestObserversBesideALiveEngine(t *testing.T) {
	s := open(t, memory.Options{}).Executions()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const engines = 4
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	var running, observers sync.WaitGroup
	errs := make(chan error, 2*engines)
	for n := range engines {
		running.Go(func() {
			id := fmt.Sprint("e", n)
			exe := &store.Execution{ID: id, DefinitionID: "d", Status: store.Running}
			for i := range rounds {
				path := fmt.Sprint("S", i)
				exe.ActivePath, exe.Context = &path, store.JSON(fmt.Sprintf(`{"i":%d}`, i))
				if i%10 == 9 {
					exe.Status = store.Suspended
				} else {
					exe.Status = store.Running
				}
				_, err := s.Commit(ctx, store.Commit{
					Execution: exe, ProcessedEventID: &path, Trace: exe.Context,
					Emits:  []store.Emit{{TargetID: &id, Event: store.Event{ID: path, Kind: "K"}}},
					Timers: []store.TimerOp{{Action: store.Schedule, Path: "p", FireAt: float64(i)}},
					Spawns: []store.Spawn{{ChildID: path}},
				})
				if err != nil {
					errs <- err
					return
				}
				// Between commits the object is the engine's alone: the pointer is changed in place.
				*exe.ActivePath = "changed in place"
				live, err := s.Load(ctx, id)
				if err != nil || live != exe {
					errs <- fmt.Errorf("load: %p of %p, %w", live, exe, err)
					return
				}
			}
		})
	}
	look := func() error {
		release := s.Observe()
		defer release()
		page, err := s.ListExecutions(ctx, store.ExecutionFilter{Status: []store.Status{store.Running}}, store.PageRequest{Limit: 3})
		if err != nil {
			return err
		}
		for _, sum := range page.Items {
			if *sum.ActivePath == "changed in place" {
				return errors.New("a summary shows what was never committed")
			}
			of, snapshot, err := s.Snapshot(ctx, sum.ID)
			if err != nil {
				return err
			}
			if snapshot != nil && (snapshot.Version != of.Version || *snapshot.ActivePath != *of.ActivePath) {
				return fmt.Errorf("snapshot %d in %q, summary %d in %q", snapshot.Version, *snapshot.ActivePath, of.Version, *of.ActivePath)
			}
			if _, err := s.ReadTrace(ctx, sum.ID); err != nil {
				return err
			}
		}
		if _, err := s.Counts(ctx); err != nil {
			return err
		}
		if _, err := s.ChangeToken(ctx); err != nil {
			return err
		}
		out, err := s.ListOutbox(ctx, store.QueueFilter{}, store.PageRequest{Limit: 50})
		if err != nil {
			return err
		}
		for _, e := range out.Items {
			if _, err := s.AckOutbox(ctx, e.Seq); err != nil {
				return err
			}
		}
		_, err = s.ListTimers(ctx, store.QueueFilter{}, store.PageRequest{})
		return err
	}
	for range 2 {
		observers.Go(func() {
			for ctx.Err() == nil {
				if err := look(); err != nil && !errors.Is(err, context.Canceled) {
					errs <- err
					return
				}
			}
		})
	}
	running.Wait()
	cancel()
	observers.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

func TestChangeToken(t *testing.T) {
	st := open(t, memory.Options{})
	s, ctx := st.Executions(), t.Context()
	token := func() string {
		t.Helper()
		both, err := st.ChangeToken(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return both
	}
	last := token()
	step := func(what string, changes bool, call func() error) {
		t.Helper()
		if err := call(); err != nil && changes {
			t.Fatal(err)
		}
		now := token()
		if (now != last) != changes {
			t.Errorf("%s: token %s after %s", what, now, last)
		}
		last = now
	}
	exe := &store.Execution{ID: "e"}
	step("commit", true, func() error {
		_, err := s.Commit(ctx, store.Commit{Execution: exe, Emits: []store.Emit{{}}, Spawns: []store.Spawn{{}}, Timers: []store.TimerOp{{Action: store.Schedule, Path: "p", FireAt: 1}}})
		return err
	})
	step("conflict", false, func() error { return s.Save(ctx, &store.Execution{ID: "e"}) })
	step("load", false, func() error { _, err := s.Load(ctx, "e"); return err })
	step("trace", true, func() error { return s.AppendTrace(ctx, "e", `{}`) })
	step("ack", true, func() error { _, err := s.AckOutbox(ctx, 1); return err })
	step("ack again", false, func() error { _, err := s.AckOutbox(ctx, 1); return err })
	step("ack spawn", true, func() error { _, err := s.AckSpawn(ctx, 1); return err })
	step("rearm", true, func() error { _, err := s.RearmTimer(ctx, "e", "p", 1, 2); return err })
	step("stale delete", false, func() error { _, err := s.DeleteTimer(ctx, "e", "p", 1); return err })
	step("delete", true, func() error { _, err := s.DeleteTimer(ctx, "e", "p", 2); return err })
	step("stale purge", false, func() error { _, err := s.Purge(ctx, "e", 9); return err })
	step("purge", true, func() error { _, err := s.Purge(ctx, "e", 1); return err })
	step("tree", true, func() error { _, err := st.Trees().CreateSession(ctx, "s", "session", nil); return err })
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := st.ChangeToken(ctx); !errors.Is(err, store.ErrClosed) {
		t.Errorf("token of a closed store: %v", err)
	}
}

package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"treering/store"
	"treering/store/memory"
)

func TestTarget(t *testing.T) {
	for _, tc := range []struct {
		cmd  store.Command
		from store.Status
		to   store.Status
		ok   bool
	}{
		{store.Suspend, store.Running, store.Suspended, true}, {store.Suspend, "running", store.Suspended, true}, {store.Suspend, store.Suspended, "", false},
		{store.Suspend, store.Pending, "", false}, {store.Resume, store.Suspended, store.Running, true}, {store.Resume, store.Failed, "", false},
		{store.Terminate, store.Failed, store.Cancelled, true}, {store.Terminate, store.Pending, store.Cancelled, true}, {store.Terminate, "weird", store.Cancelled, true},
		{store.Terminate, store.Done, "", false}, {store.Terminate, "done", "", false}, {store.Terminate, store.Cancelled, "", false},
		{store.CancelGently, store.Running, store.Cancelling, true}, {store.CancelGently, store.Suspended, store.Cancelling, true}, {store.CancelGently, "running", store.Cancelling, true},
		{store.CancelGently, store.Pending, "", false}, {store.CancelGently, store.Failed, "", false}, {store.CancelGently, store.Cancelling, "", false}, {"dance", store.Running, "", false},
	} {
		to, ok := tc.cmd.Target(tc.from)
		if ok != tc.ok || ok && to != tc.to {
			t.Errorf("%s from %s: %s, %v", tc.cmd, tc.from, to, ok)
		}
	}
}

// While somebody observes, a command works on the snapshot and never reads the
// engine's live object, which the engine may be changing.
func TestControlBesideALiveEngine(t *testing.T) {
	st, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	s, ctx := st.Executions(), t.Context()
	defer s.Observe()()
	exe := &store.Execution{ID: "e", Status: store.Running, Context: `{"committed":true}`}
	if err := s.Save(ctx, exe); err != nil {
		t.Fatal(err)
	}
	exe.Context = `{"committed":false}`
	if _, err := store.Control(ctx, s, store.Suspend, "e", nil, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	_, got, err := store.Inspect(ctx, s, "e")
	if err != nil || got.Status != store.Suspended || got.Context != `{"committed":true}` || got.Version != 2 {
		t.Errorf("after the command: %+v, %v", got, err)
	}
	var lost *store.ConflictError
	if err := s.Save(ctx, exe); !errors.As(err, &lost) || *lost.Found != 2 {
		t.Errorf("the engine's next save: %v, want a conflict", err)
	}
}

func TestInspectOfASummaryAlone(t *testing.T) {
	st, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := st.Executions()
	if err := s.Save(t.Context(), &store.Execution{ID: "e", Status: store.Done}); err != nil {
		t.Fatal(err)
	}
	sum, exe, err := store.Inspect(t.Context(), s, "e")
	if err != nil || exe != nil || sum.Status != store.Done {
		t.Errorf("unobserved: %+v, %v, %v", sum, exe, err)
	}
	// A store without live objects shows the execution itself.
	sum, exe, err = store.Inspect(t.Context(), plainStore{s}, "e")
	if err != nil || exe == nil || sum.Version != 1 || exe.Version != 1 {
		t.Errorf("loaded: %+v, %v, %v", sum, exe, err)
	}
	if _, _, err := store.Inspect(t.Context(), plainStore{s}, "nobody"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}

// plainStore hides what the memory backend offers besides the contract.
type plainStore struct{ store.ExecutionStore }

// A write that fails otherwise than by a conflict is not tried again.
func TestControlStopsAtAnError(t *testing.T) {
	st, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := st.Executions()
	top := &store.Execution{ID: "top", Status: store.Running}
	top.SetChildStates([]store.ChildState{{ID: "broken"}, {ID: "fine"}})
	for _, exe := range []*store.Execution{top, {ID: "broken", Status: store.Running}, {ID: "fine", Status: store.Running}} {
		if err := s.Save(t.Context(), exe); err != nil {
			t.Fatal(err)
		}
	}
	f := &failing{plainStore{s}, "broken", 0}
	report, err := store.Control(t.Context(), f, store.Terminate, "top", nil, time.Unix(0, 0))
	if err != nil || len(report) != 3 || !errors.Is(report[1].Err, store.ErrReadOnly) || report[2].To != store.Cancelled || f.saves != 1 {
		t.Errorf("report %+v, %v after %d saves", report, err, f.saves)
	}
	f.only, f.saves = "fine", 0
	if report, err := store.Control(t.Context(), f, store.Terminate, "broken", nil, time.Unix(0, 0)); err != nil || report[0].From != store.Running {
		t.Errorf("the child is as it was: %+v, %v", report, err)
	}
	f.only = "top"
	if _, err := store.Control(t.Context(), f, store.Resume, "top", nil, time.Unix(0, 0)); !errors.Is(err, store.ErrWrongState) {
		t.Errorf("resume of a cancelled execution: %v", err)
	}
}

// failing refuses to save one execution.
type failing struct {
	plainStore
	only  string
	saves int
}

func (f *failing) Save(ctx context.Context, exe *store.Execution) error {
	if exe.ID == f.only {
		f.saves++
		return store.ErrReadOnly
	}
	return f.plainStore.Save(ctx, exe)
}

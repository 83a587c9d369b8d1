package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treering/store"
	"treering/store/memory"
	"treering/store/session"
)

// grow makes a tree "example" of nodes given as "id" or "id<parent".
func grow(t *testing.T, nodes ...string) store.TreeStore {
	t.Helper()
	s, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	ts := s.Trees()
	if _, err := ts.CreateSession(t.Context(), "example", "session", nil); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		add(t, ts, n)
	}
	return ts
}

func add(t *testing.T, ts store.TreeStore, node string) {
	t.Helper()
	id, parent, below := strings.Cut(node, "<")
	n := store.Node{ID: id, Kind: "run", Data: `{}`}
	if below {
		n.ParentID = &parent
	}
	if err := ts.Append(t.Context(), "example", n); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, ts store.TreeStore, node string) *session.Session {
	t.Helper()
	s, err := session.Open(t.Context(), ts, "example", node)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
}

func stands(t *testing.T, s *session.Session, want string) {
	t.Helper()
	if got := s.Position(); got != want {
		t.Fatalf("stands on %q, want %q", got, want)
	}
}

func ambiguous(t *testing.T, err error, want session.AmbiguousError) {
	t.Helper()
	is(t, err, session.ErrAmbiguous)
	var e *session.AmbiguousError
	if !errors.As(err, &e) {
		t.Fatalf("error is %T, want *AmbiguousError", err)
	}
	if diff := cmp.Diff(want, *e); diff != "" {
		t.Fatalf("ambiguity (-want +got):\n%s", diff)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	t.Run("an empty tree", func(t *testing.T) {
		stands(t, open(t, grow(t), ""), "")
	})
	t.Run("the only leaf", func(t *testing.T) {
		stands(t, open(t, grow(t, "r", "b<r", "a<b"), ""), "a")
	})
	t.Run("several leaves", func(t *testing.T) {
		ts := grow(t, "r", "b<r", "a<b", "c<r", "d<r")
		_, err := session.Open(t.Context(), ts, "example", "")
		ambiguous(t, err, session.AmbiguousError{Session: "example", Choices: []string{"a", "c", "d"}})
		if want := `session "example" has 3 leaves: choose one of "a", "c", "d"`; err.Error() != want {
			t.Errorf("says %q, want %q", err, want)
		}
	})
	t.Run("a node that is no leaf", func(t *testing.T) {
		stands(t, open(t, grow(t, "r", "a<r", "b<r"), "r"), "r")
	})
	t.Run("what is not there", func(t *testing.T) {
		ts := grow(t, "r")
		_, err := session.Open(t.Context(), ts, "example", "a")
		is(t, err, store.ErrNotFound)
		for _, node := range []string{"", "r"} {
			_, err = session.Open(t.Context(), ts, "nobody", node)
			is(t, err, store.ErrNotFound)
		}
	})
	t.Run("more than a page", func(t *testing.T) {
		ts := grow(t, "r")
		for i := range store.DefaultLimit + 200 {
			add(t, ts, fmt.Sprintf("n%04d<r", i))
		}
		_, err := session.Open(t.Context(), ts, "example", "")
		var e *session.AmbiguousError
		if !errors.As(err, &e) || len(e.Choices) != store.DefaultLimit+200 {
			t.Fatalf("error is %v", err)
		}
		if !strings.HasSuffix(err.Error(), `"n0004", and 1195 more`) {
			t.Errorf("says %q", err)
		}
	})
}

func TestAppendMovesOnSuccessOnly(t *testing.T) {
	t.Parallel()
	ts := grow(t)
	s := open(t, ts, "")
	root, err := s.Add(t.Context(), "init", `{"image_uuid":"base-image"}`)
	ok(t, err)
	if root.ParentID != nil {
		t.Fatalf("the root has the parent %q", *root.ParentID)
	}
	stands(t, s, root.ID)

	refused, err := s.Add(t.Context(), "run", `[]`)
	is(t, err, store.ErrNotObject)
	if refused.ParentID == nil || *refused.ParentID != root.ID {
		t.Errorf("the refused node comes back as %+v", refused)
	}
	stands(t, s, root.ID)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	lost, err := s.Add(ctx, "run", `{"user":{"label":"first"}}`)
	is(t, err, context.Canceled)
	stands(t, s, root.ID)
	ok(t, s.Append(t.Context(), lost))
	stands(t, s, lost.ID)
	ok(t, s.Append(t.Context(), lost)) // once more: no step
	stands(t, s, lost.ID)

	if _, err := ts.DeleteSession(t.Context(), "example"); err != nil {
		t.Fatal(err)
	}
	_, err = s.Add(t.Context(), "run", `{}`)
	is(t, err, store.ErrNotFound)
	stands(t, s, lost.ID)
}

func TestLateResultKeepsItsParent(t *testing.T) {
	t.Parallel()
	ts := grow(t, "r", "a<r", "b<r")
	s := open(t, ts, "a")
	late := s.Prepare("run", `{}`)
	ok(t, s.Checkout(t.Context(), "b"))
	ok(t, s.Append(t.Context(), late))
	stands(t, s, "b")
	got, err := ts.Node(t.Context(), "example", late.ID)
	ok(t, err)
	if *got.ParentID != "a" {
		t.Errorf("the late node is below %q, want a", *got.ParentID)
	}
}

func TestSessionsDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	ts := grow(t, "r")
	a, b := open(t, ts, "r"), open(t, ts, "r")
	ok(t, a.SetBranch("mine"))
	nodeA, err := a.Add(t.Context(), "run", `{"actor":"a"}`)
	ok(t, err)
	stands(t, b, "r")
	if len(b.Branches()) != 0 {
		t.Errorf("b has the branches %v", b.Branches())
	}
	nodeB, err := b.Add(t.Context(), "run", `{"actor":"b"}`)
	ok(t, err)
	stands(t, a, nodeA.ID)
	stands(t, b, nodeB.ID)
	children, err := ts.ListChildren(t.Context(), "example", "r", store.PageRequest{})
	ok(t, err)
	if len(children.Items) != 2 {
		t.Errorf("%d children, want both", len(children.Items))
	}
	ok(t, b.Checkout(t.Context(), nodeA.ID)) // each may go on from the other's node
	stands(t, b, nodeA.ID)
}

func TestBackAndForward(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ts := grow(t, "r", "a<r", "b<a", "c<b", "b2<a", "d<c")
	s := open(t, ts, "d")
	ok(t, s.Back(ctx, 0))
	stands(t, s, "d")
	ok(t, s.Back(ctx, 1))
	stands(t, s, "c")
	ok(t, s.Back(ctx, 2))
	stands(t, s, "a")
	ok(t, s.Forward(ctx)) // the last Back as a whole, though a has two children
	stands(t, s, "c")
	ok(t, s.Forward(ctx))
	stands(t, s, "d")
	is(t, s.Forward(ctx), session.ErrNowhere)

	ok(t, s.Back(ctx, 4))
	stands(t, s, "r")
	is(t, s.Back(ctx, 1), session.ErrNowhere)
	stands(t, s, "r")
	ok(t, s.Forward(ctx))
	stands(t, s, "d")
	is(t, s.Back(ctx, 5), session.ErrNowhere)
	is(t, s.Back(ctx, -1), store.ErrBadLimit)
	stands(t, s, "d")

	// After anything else than a Back there is nothing to retrace.
	ok(t, s.Back(ctx, 4))
	ok(t, s.Checkout(ctx, "r"))
	ok(t, s.Forward(ctx)) // the only child
	stands(t, s, "a")
	ambiguous(t, s.Forward(ctx), session.AmbiguousError{Session: "example", Node: "a", Choices: []string{"b", "b2"}})
	stands(t, s, "a")

	ok(t, s.Checkout(ctx, "c"))
	ok(t, s.Back(ctx, 1))
	n, err := s.Add(ctx, "run", `{}`)
	ok(t, err)
	is(t, s.Forward(ctx), session.ErrNowhere)
	stands(t, s, n.ID)

	is(t, s.Checkout(ctx, "nobody"), store.ErrNotFound)
	stands(t, s, n.ID)
}

func TestFromTheEmptyTree(t *testing.T) {
	t.Parallel()
	ts := grow(t)
	s := open(t, ts, "")
	is(t, s.Back(t.Context(), 1), session.ErrNowhere)
	is(t, s.Forward(t.Context()), session.ErrNowhere)
	is(t, s.SetBranch("main"), session.ErrNowhere)
	add(t, ts, "r") // by another actor
	ok(t, s.Forward(t.Context()))
	stands(t, s, "r")
}

func TestDeepBack(t *testing.T) {
	t.Parallel()
	const depth = 2*store.DefaultLimit + 10
	ts := grow(t, "n00000")
	for i := 1; i <= depth; i++ {
		add(t, ts, fmt.Sprintf("n%05d<n%05d", i, i-1))
	}
	s := open(t, ts, "")
	for _, n := range []int{store.DefaultLimit - 1, store.DefaultLimit, store.DefaultLimit + 1, depth} {
		ok(t, s.Back(t.Context(), n))
		stands(t, s, fmt.Sprintf("n%05d", depth-n))
		ok(t, s.Forward(t.Context()))
	}
	is(t, s.Back(t.Context(), depth+1), session.ErrNowhere)
}

func TestBranches(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ts := grow(t, "r")
	s := open(t, ts, "")
	ok(t, s.SetBranch("main"))
	first, err := s.Add(ctx, "run", `{}`)
	ok(t, err)
	names := func(want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, s.Branches()); diff != "" {
			t.Fatalf("branches (-want +got):\n%s", diff)
		}
	}
	names(map[string]string{"main": first.ID}) // it follows what is appended

	ok(t, s.Back(ctx, 1))
	if s.Branch() != "" {
		t.Fatalf("after Back %q is active", s.Branch())
	}
	ok(t, s.SetBranch("experiment"))
	second, err := s.Add(ctx, "run", `{}`)
	ok(t, err)
	names(map[string]string{"main": first.ID, "experiment": second.ID})

	ok(t, s.CheckoutBranch(ctx, "main"))
	stands(t, s, first.ID)
	if s.Branch() != "main" {
		t.Fatalf("%q is active, want main", s.Branch())
	}
	third, err := s.Add(ctx, "run", `{}`)
	ok(t, err)
	names(map[string]string{"main": third.ID, "experiment": second.ID})

	is(t, s.CheckoutBranch(ctx, "nobody"), session.ErrNowhere)
	is(t, s.SetBranch(""), store.ErrEmptyID)
	stands(t, s, third.ID)

	kept := s.Branches()
	kept["main"] = "changed by the caller"
	names(map[string]string{"main": third.ID, "experiment": second.ID})
	if !s.RemoveBranch("main") || s.RemoveBranch("main") {
		t.Error("a name is removed once")
	}
	if _, err := s.Add(ctx, "run", `{}`); err != nil {
		t.Fatal(err)
	}
	names(map[string]string{"experiment": second.ID})

	other := open(t, ts, "r")
	other.RestoreBranches(map[string]string{"experiment": second.ID, "gone": "nobody"})
	ok(t, other.CheckoutBranch(ctx, "experiment"))
	stands(t, other, second.ID)
	is(t, other.CheckoutBranch(ctx, "gone"), store.ErrNotFound)
	stands(t, other, second.ID)
}

// A session that goroutines share stays whole: every append lands below the parent
// that was captured for it, and the position is on one of the nodes.
func TestSharedByGoroutines(t *testing.T) {
	t.Parallel()
	ts := grow(t, "r")
	s := open(t, ts, "r")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			for range 20 {
				_, err := s.Add(t.Context(), "run", `{}`)
				errs[i] = errors.Join(errs[i], err)
				if err := s.Back(t.Context(), 1); err != nil && !errors.Is(err, session.ErrMoved) && !errors.Is(err, session.ErrNowhere) {
					errs[i] = errors.Join(errs[i], err)
				}
			}
		})
	}
	wg.Wait()
	ok(t, errors.Join(errs...))
	count, err := ts.CountNodes(t.Context(), "example")
	ok(t, err)
	if count != 161 {
		t.Errorf("%d nodes, want 161", count)
	}
	if _, err := ts.Node(t.Context(), "example", s.Position()); err != nil {
		t.Error(err)
	}
}

package demo

import (
	"errors"
	"testing"
	"unicode/utf8"

	"treering/store"
	"treering/store/memory"
)

func openStory(t *testing.T) (*Story, *memory.Store) {
	t.Helper()
	s, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ts := s.Trees()
	sys := NewSystem(s.Executions(), ts, SystemOptions{Seed: 1})
	sys.Pause()
	t.Cleanup(func() {
		sys.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return NewStory(s.Executions(), ts, sys), s
}

// plays plays scenes up to a number, and returns the last.
func plays(t *testing.T, s *Story, to int) (scene Scene) {
	t.Helper()
	for scene.Number < to {
		var err error
		if scene, err = s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := utf8.RuneCountInString(scene.Caption); n > MaxCaption {
			t.Errorf("scene %d has a caption of %d characters: %s", scene.Number, n, scene.Caption)
		}
	}
	return scene
}

func says(t *testing.T, s Scene, caption string) {
	t.Helper()
	if s.Caption != caption {
		t.Errorf("scene %d says %q, want %q", s.Number, s.Caption, caption)
	}
}

func TestTheStoryIsTheSameEveryTime(t *testing.T) {
	var before []string
	for range 2 {
		s, _ := openStory(t)
		var told []string
		for n := 1; ; n++ {
			scene, err := s.Next(t.Context())
			if errors.Is(err, ErrStoryOver) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, scene.Caption+scene.Session+scene.Node+scene.Execution)
		}
		if len(told) != len(s.scenes()) {
			t.Errorf("%d scenes were played of %d", len(told), len(s.scenes()))
		}
		for i := range before {
			if before[i] != told[i] {
				t.Errorf("%q, and then %q", before[i], told[i])
			}
		}
		before = told
		exe, err := s.sys.read(t.Context(), s.order)
		if err != nil {
			t.Fatal(err)
		}
		if got := deref(exe.ActivePath); got != "Fulfilment" || len(exe.ChildStates()) != 2 {
			t.Errorf("the order ended at %q with %d children", got, len(exe.ChildStates()))
		}
	}
}

// What the viewer writes is a part of it.
func TestTheStoryWelcomesItsViewer(t *testing.T) {
	s, m := openStory(t)
	ctx := t.Context()
	plays(t, s, 7)
	parent := "agent-a"
	if err := s.ts.Append(ctx, "story", store.Node{ID: "mine", ParentID: &parent, Kind: "run", Data: "{}"}); err != nil {
		t.Fatal(err)
	}
	scene := plays(t, s, 8)
	says(t, scene, "The story goes on from your node, as anybody could.")
	if n, err := s.ts.Node(ctx, "story", scene.Node); err != nil || n.ParentID == nil || *n.ParentID != "mine" {
		t.Errorf("%+v, %v", n, err)
	}
	plays(t, s, 10)
	dropped := s.order
	outbox, err := m.Executions().PendingOutbox(ctx)
	if err != nil || len(outbox) != 1 {
		t.Fatalf("%d entries, %v", len(outbox), err)
	}
	if _, err := m.Executions().AckOutbox(ctx, outbox[0].Seq); err != nil {
		t.Fatal(err)
	}
	says(t, plays(t, s, 11), "You dropped its Start, so it waits for ever. Here is another order.")
	if s.order == dropped {
		t.Error("there is no other order")
	}
	if err := s.sys.Send(ctx, s.order, "Checkout"); err != nil {
		t.Fatal(err)
	}
	scene = plays(t, s, 12)
	if scene.Caption[:19] != "You moved the order" {
		t.Errorf("it says %q", scene.Caption)
	}
	plays(t, s, len(s.scenes()))

	s, m = openStory(t)
	plays(t, s, 10)
	if outbox, err = m.Executions().PendingOutbox(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.sys.Deliver(ctx, outbox[0].Seq); err != nil {
		t.Fatal(err)
	}
	says(t, plays(t, s, 11), "You delivered Start yourself: the order has begun.")
}

// A store may hold a story already.
func TestTheStoryFindsRoom(t *testing.T) {
	s, _ := openStory(t)
	plays(t, s, 2)
	again := NewStory(s.es, s.ts, s.sys)
	if scene := plays(t, again, 1); scene.Session != "story-2" {
		t.Errorf("it plays in %q", scene.Session)
	}
}

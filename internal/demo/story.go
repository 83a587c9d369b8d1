package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"treering/store"
	"treering/store/relay"
)

// Scene is one scene of a story, after it was played: what there is to say, and where
// it was.
type Scene struct {
	Number, Of int
	Caption    string // one line of at most [MaxCaption] characters
	Session    string // with Node, or Execution; none where nothing is to be looked at
	Node       string
	Execution  string
}

// MaxCaption is how long a caption is at most, so that it has room on a line of 80
// with its number.
const MaxCaption = 70

// Story is a tour through branching and executions, scene by scene. What whoever
// watches writes meanwhile belongs to it: nodes are answered, and who acknowledged or
// delivered an entry is told so. It belongs to one goroutine at a time.
type Story struct {
	ts      store.TreeStore
	es      store.ExecutionStore
	sys     *System
	next    int
	session string
	order   string
	own     map[string]bool // nodes of the story
	root    string
}

// ErrStoryOver is the next scene behind the last one.
var ErrStoryOver = errors.New("the story is over")

// NewStory returns a story on a store with both contracts. The system is to be paused;
// the story's executions are moved by it.
func NewStory(es store.ExecutionStore, ts store.TreeStore, sys *System) *Story {
	return &Story{es: es, ts: ts, sys: sys, own: map[string]bool{}}
}

// scenes are played in this order.
func (s *Story) scenes() []func(context.Context) (Scene, error) {
	return []func(context.Context) (Scene, error){
		s.begins, s.grows, s.branches, s.races, s.retries, s.conflicts, s.invites, s.answers, s.expires,
		s.orders, s.starts, s.checksOut, s.pays, s.splits, s.ends,
	}
}

// Next plays the next scene. After an error the same one is played again: all that it
// writes may be written twice.
func (s *Story) Next(ctx context.Context) (Scene, error) {
	all := s.scenes()
	if s.next >= len(all) {
		return Scene{}, ErrStoryOver
	}
	scene, err := all[s.next](ctx)
	if err != nil {
		return Scene{}, fmt.Errorf("scene %d of the story: %w", s.next+1, err)
	}
	s.next++
	scene.Number, scene.Of = s.next, len(all)
	return scene, nil
}

func (s *Story) at(node, caption string) Scene {
	return Scene{Caption: caption, Session: s.session, Node: node}
}

// add appends a node of the story.
func (s *Story) add(ctx context.Context, id, parent, kind, title string) error {
	n := store.Node{ID: id, Kind: kind, Data: object(fields{{Key: "title", Value: text(title)}})}
	if parent != "" {
		n.ParentID = &parent
	}
	s.own[id] = true
	return s.ts.Append(ctx, s.session, n)
}

func (s *Story) begins(ctx context.Context) (Scene, error) {
	for n := 1; s.session == ""; n++ {
		id := "story"
		if n > 1 {
			id = fmt.Sprintf("story-%d", n)
		}
		if _, err := s.ts.Session(ctx, id); errors.Is(err, store.ErrNotFound) {
			s.session = id
		} else if err != nil {
			return Scene{}, err
		}
	}
	if _, err := s.ts.CreateSession(ctx, s.session, "session", nil); err != nil {
		return Scene{}, err
	}
	err := s.add(ctx, "base", "", "init", "a clean image")
	return s.at("base", "A session is a tree of nodes that never change. This is its root."), err
}

func (s *Story) grows(ctx context.Context) (Scene, error) {
	err := errors.Join(
		s.add(ctx, "deps", "base", "run", "apt-get install the tools"),
		s.add(ctx, "clone", "deps", "run", "git clone the project"),
		s.add(ctx, "build", "clone", "run", "make: 3 tests fail"),
	)
	return s.at("build", "Each step is a new node below the one before it."), err
}

func (s *Story) branches(ctx context.Context) (Scene, error) {
	err := errors.Join(
		s.add(ctx, "fix-parser", "build", "run", "try: fix the parser"),
		s.add(ctx, "fix-tests", "build", "run", "try: fix the tests"),
	)
	return s.at("fix-tests", "Two ideas from one parent: a branch is just another child."), err
}

func (s *Story) races(ctx context.Context) (Scene, error) {
	var all sync.WaitGroup
	errs := make([]error, 2)
	for i, id := range []string{"agent-a", "agent-b"} {
		s.own[id] = true
		parent := "fix-parser"
		n := store.Node{ID: id, ParentID: &parent, Kind: "run", Data: object(fields{{Key: "title", Value: text(id + " was here")}})}
		all.Go(func() { errs[i] = s.ts.Append(ctx, s.session, n) })
	}
	all.Wait()
	return s.at("agent-b", "Two agents append at the same moment. Both win: they are siblings."), errors.Join(errs...)
}

func (s *Story) retries(ctx context.Context) (Scene, error) {
	err := s.add(ctx, "agent-a", "fix-parser", "run", "agent-a was here")
	return s.at("agent-a", "agent-a lost the answer and appends again: there is no second node."), err
}

func (s *Story) conflicts(ctx context.Context) (Scene, error) {
	err := s.add(ctx, "agent-a", "fix-parser", "run", "something else")
	var conflict *store.NodeConflictError
	if !errors.As(err, &conflict) {
		return Scene{}, fmt.Errorf("another node of the same id was not refused: %w", err)
	}
	return s.at("agent-a", "The same id with other data is refused; nothing is overwritten."), nil
}

func (s *Story) invites(context.Context) (Scene, error) {
	return s.at("agent-b", "Your turn: a appends below any node. m, M and c compare two."), nil
}

// answers replies to what the viewer appended.
func (s *Story) answers(ctx context.Context) (Scene, error) {
	var yours []string
	err := store.All(func(p store.PageRequest) (store.Page[store.Node], error) {
		return s.ts.ListNodes(ctx, s.session, p)
	}, func(n store.Node) error {
		if !s.own[n.ID] {
			yours = append(yours, n.ID)
		}
		return nil
	})
	if err != nil {
		return Scene{}, err
	}
	if len(yours) == 0 {
		err := s.add(ctx, "merge", "agent-b", "run", "nobody else was here")
		return s.at("merge", "Nobody else appended, so the story goes on where agent-b was."), err
	}
	last := yours[len(yours)-1]
	reply := "reply-to-" + last
	err = s.add(ctx, reply, last, "run", "the story goes on from your node")
	what := "your node"
	if len(yours) > 1 {
		what = fmt.Sprintf("the last of your %d nodes", len(yours))
	}
	return s.at(reply, "The story goes on from "+what+", as anybody could."), err
}

// storyLives is how long the tree lives that expires.
const storyLives = 20.0

func (s *Story) expires(ctx context.Context) (Scene, error) {
	id, lives := s.session+"-preview", storyLives
	if _, err := s.ts.CreateSession(ctx, id, "preview", &lives); err != nil {
		return Scene{}, err
	}
	err := s.ts.Append(ctx, id, store.Node{ID: "base", Kind: "init", Data: object(fields{{Key: "title", Value: text("a preview")}})})
	return Scene{Session: id, Node: "base", Caption: "A tree may have a time to live: this one goes by itself in 20 s."}, err
}

func (s *Story) orders(ctx context.Context) (Scene, error) {
	if s.order == "" {
		id, err := s.sys.NewExecution(ctx, OrderKind)
		if err != nil {
			return Scene{}, err
		}
		s.order = id
	}
	return s.on("An order, PENDING: its Start waits in the outbox. d delivers, A drops."), nil
}

func (s *Story) on(caption string) Scene { return Scene{Caption: caption, Execution: s.order} }

// starts delivers the order's Start, if nobody did.
func (s *Story) starts(ctx context.Context) (Scene, error) {
	effect, err := s.drain(ctx)
	if err != nil {
		return Scene{}, err
	}
	exe, err := s.sys.read(ctx, s.order)
	switch {
	case err != nil:
		return Scene{}, err
	case effect:
		return s.on("The relay delivered Start: the order took its first step."), nil
	case exe.Status.Is(store.Pending):
		// It was dropped: nobody will ever tell this one to begin.
		dropped := s.order
		if s.order, err = s.sys.NewExecution(ctx, OrderKind); err != nil {
			s.order = dropped
			return Scene{}, err
		}
		_, err = s.drain(ctx)
		return s.on("You dropped its Start, so it waits for ever. Here is another order."), err
	}
	return s.on("You delivered Start yourself: the order has begun."), nil
}

func (s *Story) checksOut(ctx context.Context) (Scene, error) {
	return s.sends(ctx, "Checkout", "Checkout: the step says from where to where, and what changed.")
}

func (s *Story) pays(ctx context.Context) (Scene, error) {
	return s.sends(ctx, "Paid", "Paid: the order asks for two children, which wait among the spawns.")
}

// sends sends the order an event, unless it has gone elsewhere by the viewer's hand.
func (s *Story) sends(ctx context.Context, kind, caption string) (Scene, error) {
	err := s.sys.Send(ctx, s.order, kind)
	if errors.Is(err, ErrNotAccepted) {
		exe, rerr := s.sys.read(ctx, s.order)
		if rerr != nil {
			return Scene{}, rerr
		}
		where := deref(exe.ActivePath)
		if len(where) > 20 {
			where = where[:20]
		}
		return s.on("You moved the order: it takes no " + kind + " in " + where + " now."), nil
	}
	return s.on(caption), err
}

func (s *Story) splits(ctx context.Context) (Scene, error) {
	effect, err := s.drain(ctx)
	if err != nil {
		return Scene{}, err
	}
	if !effect {
		return s.on("Nothing was left for the relay to do: it has all been done."), nil
	}
	return s.on("The relay made the children: the order waits until both have ended."), nil
}

func (s *Story) ends(context.Context) (Scene, error) {
	return s.on("[ and ] go through its steps. S lets the system run. That was it."), nil
}

// drain delivers what waits for the order's family, spawns first.
func (s *Story) drain(ctx context.Context) (effect bool, err error) {
	ours := func(id string) bool { return id == s.order || strings.HasPrefix(id, s.order+":") }
	for range 16 { // what is delivered may ask for more
		spawns, err := s.es.PendingSpawns(ctx)
		if err != nil {
			return effect, err
		}
		outbox, err := s.es.PendingOutbox(ctx)
		if err != nil {
			return effect, err
		}
		spawns = slices.DeleteFunc(spawns, func(e store.SpawnEntry) bool { return e.Bad != nil || !ours(e.ParentID) })
		outbox = slices.DeleteFunc(outbox, func(e store.OutboxEntry) bool { return e.Bad != nil || e.TargetID == nil || !ours(*e.TargetID) })
		moved := false
		hand := func(done bool, err error) error {
			moved = moved || done
			if errors.Is(err, relay.ErrGone) || errors.Is(err, relay.ErrWaits) {
				return nil // the viewer was first, or its time has not come
			}
			return err
		}
		for _, e := range spawns {
			if err := hand(s.sys.DeliverSpawn(ctx, e.Seq)); err != nil {
				return effect, err
			}
		}
		for _, e := range outbox {
			if err := hand(s.sys.Deliver(ctx, e.Seq)); err != nil {
				return effect, err
			}
		}
		if effect = effect || moved; !moved {
			return effect, nil
		}
	}
	return effect, nil
}

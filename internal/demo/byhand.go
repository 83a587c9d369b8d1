package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"treering/store"
)

// Kinds lists what NewExecution can begin.
func (s *System) Kinds() []string { return []string{OrderKind, BuildKind} }

// NewExecution commits a new execution of a kind: PENDING, its Start in the outbox.
func (s *System) NewExecution(ctx context.Context, kind string) (id string, err error) {
	if !slices.Contains(s.Kinds(), kind) {
		return "", fmt.Errorf("the demo runs no %q; it runs %s", kind, strings.Join(s.Kinds(), " and "))
	}
	if s.es == nil {
		return "", errNoExecutions
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	if err := s.begin(ctx); err != nil {
		return "", err
	}
	return s.create(ctx, kind)
}

var errNoExecutions = errors.New("this store holds no executions")

// Accepts lists the kinds of events that an execution takes in its active state. An
// execution that the demo does not run is [ErrNotOurs].
func (s *System) Accepts(ctx context.Context, id string) ([]string, error) {
	if s.es == nil {
		return nil, errNoExecutions
	}
	exe, err := s.read(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.engine.accepts(ctx, exe)
}

// read returns a copy.
func (s *System) read(ctx context.Context, id string) (*store.Execution, error) {
	_, exe, err := store.Inspect(ctx, s.es, id)
	if err == nil && exe == nil {
		// It was committed before the system observed: nobody has changed it since.
		if exe, err = s.es.Load(ctx, id); err == nil {
			exe = exe.Clone()
		}
	}
	return exe, err
}

// ErrNotAccepted is an event that an execution does not take in its active state.
var ErrNotAccepted = errors.New("not taken in that state")

// Send sends an execution an event of a kind, with the data that the simulated world
// would send. One that the chart does not take is [ErrNotAccepted].
func (s *System) Send(ctx context.Context, id, kind string) error {
	if s.es == nil {
		return errNoExecutions
	}
	exe, err := s.read(ctx, id)
	if err != nil {
		return err
	}
	kinds, err := s.engine.accepts(ctx, exe)
	if err != nil {
		return err
	}
	if !slices.Contains(kinds, kind) {
		return fmt.Errorf("%s by %s, which is %s at %q: %w", kind, id, exe.Status, deref(exe.ActivePath), ErrNotAccepted)
	}
	ev := s.world.eventOf(exe.DefinitionID, deref(exe.ActivePath), kind)
	ev.ID, ev.CreatedTime = store.NewEvent(kind, "").ID, iso(s.now())
	_, err = s.byHand.Send(ctx, id, ev)
	return err
}

// Deliver delivers one outbox entry now. It is [relay.ErrGone] where somebody else
// was first, and [relay.ErrWaits] where the target does not take it now.
func (s *System) Deliver(ctx context.Context, seq int64) (effect bool, err error) {
	if s.es == nil {
		return false, errNoExecutions
	}
	return s.byHand.Deliver(ctx, seq)
}

// DeliverSpawn makes the child of one spawn entry now.
func (s *System) DeliverSpawn(ctx context.Context, seq int64) (effect bool, err error) {
	if s.es == nil {
		return false, errNoExecutions
	}
	return s.byHand.DeliverSpawn(ctx, seq)
}

// Fire delivers the event of a timer now, whenever it is due.
func (s *System) Fire(ctx context.Context, t store.Timer) (effect bool, err error) {
	if s.es == nil {
		return false, errNoExecutions
	}
	return s.byHand.Fire(ctx, t)
}

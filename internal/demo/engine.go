package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"treering/store"
	"treering/store/relay"
)

// The kinds of executions that the system runs.
const (
	OrderKind = "order"
	BuildKind = "sandbox-build"
)

// ErrNotOurs is an execution of which the demo knows no chart, or which is not one
// of its own: it is left alone.
var ErrNotOurs = errors.New("not an execution of the demo")

// engine says what events do to the demo's executions. It holds nothing of them.
type engine struct {
	es       store.ExecutionStore
	now      func() time.Time
	programs map[string]*program
}

func newEngine(es store.ExecutionStore, now func() time.Time) *engine {
	return &engine{es: es, now: now, programs: map[string]*program{OrderKind: runningOrder(), BuildKind: runningBuild()}}
}

// ours reports whether an id is one that the demo gives: in its running system, or
// in its seed. A store may hold other people's executions of the same name.
func ours(id string) bool {
	if running(id) {
		return true
	}
	root, _, _ := strings.Cut(id, ":")
	return slices.Contains(executionIDs(), root)
}

func (e *engine) turn(exe *store.Execution, ev store.Event) (*turn, error) {
	p, ok := e.programs[exe.DefinitionID]
	if !ok || !ours(exe.ID) {
		return nil, fmt.Errorf("%q of %s: %w", exe.ID, exe.DefinitionID, ErrNotOurs)
	}
	return &turn{p: p, now: e.now().UTC().Truncate(time.Microsecond), exe: exe, ev: ev}, nil
}

// Start begins a region.
func (e *engine) Start(_ context.Context, child *store.Execution) (store.Commit, error) {
	t, err := e.turn(child, store.Event{ID: child.ID})
	if err != nil {
		return store.Commit{}, err
	}
	if err := t.start(); err != nil {
		return store.Commit{}, err
	}
	return t.done(startKind, nil), nil
}

const startKind = "Start"

// Step says what an event does.
func (e *engine) Step(ctx context.Context, exe *store.Execution, ev store.Event) (store.Commit, error) {
	t, err := e.turn(exe, ev)
	if err != nil {
		return store.Commit{}, err
	}
	nothing := store.Commit{Execution: exe}
	before, from := *exe, exe.ActivePath // no text of it is changed in its place
	took := false
	switch {
	case exe.Status.Is(store.Pending) && ev.Kind == startKind:
		took, err = true, t.start()
	case ev.Kind == store.CancelEvent && (exe.Status.Is(store.Pending) || exe.Status.Is(store.Running) || exe.Status.Is(store.Cancelling)):
		t.cancel()
		took = true
		exe.ProcessedEvents++
	case !exe.Status.Is(store.Running) || ev.Kind == startKind:
	case ev.Kind == relay.FinishedKind:
		took, err = t.join(ctx)
	case ev.Kind == relay.TimeoutKind:
		took, err = e.timeout(ctx, t)
	case slices.Contains(t.p.state(deref(from)).defers, ev.Kind):
		var encoded store.JSON
		if encoded, err = ev.Encode(); err == nil {
			exe.Deferred = list(append(slices.Collect(exe.Deferred.Elements()), encoded)...)
			exe.ProcessedEvents++
			took = true
		}
	default:
		if took, err = t.fire(ctx, ev.Kind); took {
			exe.ProcessedEvents++
		}
	}
	switch {
	case err != nil:
		return store.Commit{}, err
	case t.failed != nil:
		return t.fail(&before), nil
	case !took:
		*exe = before
		return nothing, nil
	}
	return t.done(ev.Kind, from), nil
}

// fail drops what a step did but for the context, which keeps what the actions
// wrote before one of them failed. The timers stay, as the engine leaves them.
func (t *turn) fail(before *store.Execution) store.Commit {
	kept, message := t.exe.Context, t.failed.Error()
	*t.exe = *before
	t.exe.Context, t.exe.Status, t.exe.Error = kept, store.Failed, &message
	t.exe.ProcessedEvents++
	t.commit, t.actions = store.Commit{}, nil
	return t.done(t.ev.Kind, before.ActivePath)
}

// timeout takes the edge of a timer, from its own path or the nearest one around
// it. One that was cancelled or armed anew since its event was made does nothing.
func (e *engine) timeout(ctx context.Context, t *turn) (bool, error) {
	path, _ := t.ev.Data.Get("path").Text()
	if t.exe.ActivePath == nil || path == "" || !within(*t.exe.ActivePath, path) {
		return false, nil
	}
	armed := false
	err := store.All(func(p store.PageRequest) (store.Page[store.Timer], error) {
		return e.es.ListTimers(ctx, store.QueueFilter{ExecutionID: &t.exe.ID}, p)
	}, func(o store.Timer) error {
		armed = armed || o.Path == path && store.TimeoutEventID(o.ExecutionID, o.Path, o.FireAt) == t.ev.ID
		return nil
	})
	if err != nil || !armed {
		return false, err
	}
	for p := path; p != t.exe.RootPath; p = parentPath(p) {
		if !slices.ContainsFunc(t.p.edges, func(e edge) bool { return e.from == p && e.event == relay.TimeoutKind }) {
			continue
		}
		took, err := t.fire(ctx, timeoutAt(p))
		if took {
			t.exe.ProcessedEvents++
		}
		return took, err
	}
	return false, nil
}

// accepts lists the kinds of events that an execution takes in its active state.
func (e *engine) accepts(ctx context.Context, exe *store.Execution) ([]string, error) {
	t, err := e.turn(exe, store.Event{})
	switch {
	case err != nil:
		return nil, err
	case exe.Status.Is(store.Pending):
		return []string{startKind, store.CancelEvent}, nil
	case !exe.Status.Is(store.Running) || exe.ActivePath == nil || t.p.known[*exe.ActivePath] == nil:
		return nil, nil
	}
	sm, ok := t.p.machines[exe.RootPath]
	if !ok {
		return nil, nil
	}
	triggers, err := sm.PermittedTriggersCtx(context.WithValue(ctx, turnKey{}, t))
	if err != nil {
		return nil, err
	}
	kinds := append([]string{store.CancelEvent}, t.p.state(*exe.ActivePath).defers...)
	for _, tr := range triggers {
		if kind, _ := tr.(string); kind != automatic && !strings.HasPrefix(kind, relay.TimeoutKind+" ") {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds), nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

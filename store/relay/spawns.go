package relay

import (
	"context"
	"errors"
	"fmt"

	"treering/store"
)

// ChildID is the id of the child that a region or a single invoke of a state makes:
// deterministic, so that making it twice makes it once. seq counts how often the
// parent has left that state.
func ChildID(parent, path string, seq int64) string {
	return fmt.Sprintf("%s:%s:%d", parent, path, seq)
}

// FanOutChildID is the id of the i-th child of a state that invokes several.
func FanOutChildID(parent, path string, seq int64, i int) string {
	return fmt.Sprintf("%s:%s:%d:%d", parent, path, seq, i)
}

// FinishedKind is the kind of the event by which a child tells its parent that it is
// done.
const FinishedKind = "Finished"

// Finished is the event of a child that has reached its end, with what it carries
// home. It belongs into the commit of that end, which happens once.
func Finished(childID string, outcome *string, carry ...store.Member) store.Event {
	members := []store.Member{{Key: "child_id", Value: store.Quote(childID)}, {Key: "outcome", Value: store.Null}}
	if outcome != nil {
		members[1].Value = store.Quote(*outcome)
	}
	return store.NewEvent(FinishedKind, store.ObjectOf(append(members, carry...)...))
}

// drainSpawns makes the children that are asked for. One that does not come about
// holds up no other.
func (r *Relay) drainSpawns(ctx context.Context) (moved bool, err error) {
	var req store.PageRequest
	for {
		page, err := r.es.ListSpawns(ctx, store.QueueFilter{}, req)
		if err != nil {
			return moved, err
		}
		var g groups
		for _, s := range page.Items {
			if s.Bad != nil {
				r.unreadable(Problem{"spawns", s.Seq, s.ChildID, s.Bad}, "")
				continue
			}
			if r.rests(s.ChildID) {
				continue
			}
			g.add(s.ChildID, func(ctx context.Context) (bool, error) {
				done, err := r.spawn(ctx, s)
				return r.settle(ctx, Problem{"spawns", s.Seq, s.ChildID, err}, done, &r.spawned)
			})
		}
		m, err := r.each(ctx, g.works)
		moved = moved || m
		if err != nil || ctx.Err() != nil || page.Next == "" {
			return moved, err
		}
		req.Cursor = page.Next
	}
}

// spawn makes one child, unless it is there, and removes the entry.
func (r *Relay) spawn(ctx context.Context, s store.SpawnEntry) (outcome, error) {
	done, err := r.bear(ctx, s)
	if err != nil || done == waits {
		return waits, err
	}
	err = finish(ctx, func(ctx context.Context) error {
		_, err := r.es.AckSpawn(ctx, s.Seq)
		return err
	})
	if err != nil {
		return waits, err
	}
	return done, nil
}

// invokedMachine is the reserved key of a spawn's context that names the machine to
// run. It is not part of the child's context.
const invokedMachine = "__invoke_fqn__"

// bear makes the child.
func (r *Relay) bear(ctx context.Context, s store.SpawnEntry) (outcome, error) {
	defer r.turn(s.ChildID).Unlock()
	_, err := r.load(ctx, s.ChildID)
	var bad *store.RowError
	if err == nil || errors.As(err, &bad) {
		return nothing, nil // there, whatever is in it
	}
	if !errors.Is(err, store.ErrNotFound) {
		return waits, err
	}
	parentID := s.ParentID
	childID := s.ChildID
	child := &store.Execution{
		ID: s.ChildID, ParentID: &parentID, ChildID: &childID, RootPath: s.RootPath, Status: store.Pending,
		CreatedAt: store.Null, UpdatedAt: store.Null, FinishedAt: store.Null, ExpiresAt: store.Null,
	}
	child.Context, child.DefinitionFQN = contextOf(s.Context)
	switch parent, err := r.load(ctx, s.ParentID); {
	case errors.Is(err, store.ErrNotFound):
		return nothing, nil // nobody is left who waits for it
	case err != nil:
		return waits, err
	default:
		child.DefinitionID, child.Priority = parent.DefinitionID, parent.Priority
	}
	c, err := r.driver.Start(ctx, child)
	if err != nil {
		return waits, err
	}
	if c.Execution != child {
		return waits, fmt.Errorf("the driver started another execution than %q", s.ChildID)
	}
	switch _, err := r.es.Commit(ctx, c); {
	case errors.Is(err, store.ErrConflict):
		r.conflicts.Add(1)
		return nothing, nil // somebody else made it
	case err != nil:
		return waits, err
	}
	return took, nil
}

// contextOf splits a spawn's context into the child's and the machine to run.
func contextOf(j store.JSON) (context store.JSON, machine *string) {
	if j.Kind() != store.Object {
		return store.EmptyObject, nil
	}
	name, ok := j.Get(invokedMachine).Text()
	if !ok {
		return j, nil
	}
	var rest []store.Member
	for k, v := range j.Members() {
		if k != invokedMachine {
			rest = append(rest, store.Member{Key: k, Value: v})
		}
	}
	return store.ObjectOf(rest...), &name
}

// DeliverSpawn makes the child of one entry now, out of turn. It is ErrGone where
// somebody else was first.
func (r *Relay) DeliverSpawn(ctx context.Context, seq int64) (effect bool, err error) {
	s, err := find(ctx, func(p store.PageRequest) (store.Page[store.SpawnEntry], error) {
		return r.es.ListSpawns(ctx, store.QueueFilter{}, p)
	}, func(s store.SpawnEntry) bool { return s.Seq == seq })
	if err != nil {
		return false, fmt.Errorf("spawn %d: %w", seq, err)
	}
	if s.Bad != nil {
		return false, s.Bad
	}
	done, err := r.spawn(ctx, *s)
	return r.loud(done, err, &r.spawned)
}

package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"treering/store"
)

// TimeoutKind is the kind of the event that a timer becomes.
const TimeoutKind = "Timeout"

// Timeout is the event of a timer. Its id follows from what it is of, so that two
// sweeps of one timer deliver it once.
func Timeout(t store.Timer) store.Event {
	ev := store.NewEvent(TimeoutKind, store.ObjectOf(store.Member{Key: "path", Value: store.Quote(t.Path)}))
	ev.ID = store.TimeoutEventID(t.ExecutionID, t.Path, t.FireAt)
	return ev
}

// sweep fires the timers that are due, oldest first.
func (r *Relay) sweep(ctx context.Context) (moved bool, err error) {
	due, err := r.es.DueTimers(ctx, epoch(r.o.Now()))
	if err != nil {
		return false, err
	}
	var g groups
	for _, t := range due {
		if t.Bad != nil {
			r.unreadable(Problem{"timers", 0, t.ExecutionID, t.Bad}, t.Path)
			continue
		}
		if r.rests(t.ExecutionID) {
			continue
		}
		g.add(t.ExecutionID, func(ctx context.Context) (bool, error) {
			done, err := r.fire(ctx, t)
			return r.settle(ctx, Problem{"timers", 0, t.ExecutionID, err}, done, &r.fired)
		})
	}
	return r.each(ctx, g.works)
}

// fire delivers a timer's event and then removes the timer, unless it was armed for
// another time meanwhile.
func (r *Relay) fire(ctx context.Context, t store.Timer) (outcome, error) {
	done, err := r.step(ctx, t.ExecutionID, Timeout(t))
	if err != nil || done == waits {
		return waits, err
	}
	err = finish(ctx, func(ctx context.Context) error {
		_, err := r.es.DeleteTimer(ctx, t.ExecutionID, t.Path, t.FireAt)
		return err
	})
	if err != nil {
		return waits, err
	}
	return done, nil
}

// Fire delivers a timer's event now, whenever it is due. It is ErrGone where the
// timer was fired, cancelled or armed for another time.
func (r *Relay) Fire(ctx context.Context, t store.Timer) (effect bool, err error) {
	_, err = find(ctx, func(p store.PageRequest) (store.Page[store.Timer], error) {
		return r.es.ListTimers(ctx, store.QueueFilter{ExecutionID: &t.ExecutionID}, p)
	}, func(o store.Timer) bool { return o.Path == t.Path && o.FireAt == t.FireAt })
	if err != nil {
		return false, fmt.Errorf("timer %s of %q: %w", t.Path, t.ExecutionID, err)
	}
	done, err := r.fire(ctx, t)
	return r.loud(done, err, &r.fired)
}

// One does the next single thing that there is to do, of all queues: one child, one
// event or one timer. It reports whether there was any, so that a system can be
// stepped by hand.
func (r *Relay) One(ctx context.Context) (moved bool, err error) {
	steps := []func(context.Context) (bool, error){r.oneSpawn, r.oneEvent, r.oneTimer}
	for _, step := range steps {
		if moved, err = step(ctx); moved || err != nil {
			return moved, err
		}
	}
	return false, nil
}

func (r *Relay) oneSpawn(ctx context.Context) (moved bool, err error) {
	var fatal error
	_, err = find(ctx, func(p store.PageRequest) (store.Page[store.SpawnEntry], error) {
		return r.es.ListSpawns(ctx, store.QueueFilter{}, p)
	}, func(s store.SpawnEntry) bool {
		if s.Bad != nil || r.rests(s.ChildID) {
			return false
		}
		done, err := r.spawn(ctx, s)
		moved, fatal = r.settle(ctx, Problem{"spawns", s.Seq, s.ChildID, err}, done, &r.spawned)
		return moved || fatal != nil
	})
	return found(moved, fatal, err)
}

func (r *Relay) oneEvent(ctx context.Context) (moved bool, err error) {
	var fatal error
	held := map[string]bool{}
	_, err = find(ctx, func(p store.PageRequest) (store.Page[store.OutboxEntry], error) {
		return r.es.ListOutbox(ctx, store.QueueFilter{}, p)
	}, func(e store.OutboxEntry) bool {
		if e.Bad != nil || e.TargetID != nil && (held[*e.TargetID] || r.rests(*e.TargetID)) {
			return false
		}
		moved, fatal = r.deliver(ctx, e)
		if !moved && e.TargetID != nil {
			held[*e.TargetID] = true
		}
		return moved || fatal != nil
	})
	return found(moved, fatal, err)
}

func (r *Relay) oneTimer(ctx context.Context) (bool, error) {
	due, err := r.es.DueTimers(ctx, epoch(r.o.Now()))
	if err != nil {
		return false, err
	}
	for _, t := range due {
		if t.Bad != nil || r.rests(t.ExecutionID) {
			continue
		}
		done, err := r.fire(ctx, t)
		if gone, err := r.settle(ctx, Problem{"timers", 0, t.ExecutionID, err}, done, &r.fired); gone || err != nil {
			return gone, err
		}
	}
	return false, nil
}

// found tells an end of the list from errors.
func found(moved bool, fatal, err error) (bool, error) {
	if errors.Is(err, ErrGone) {
		err = nil
	}
	return moved, errors.Join(fatal, err)
}

// epoch is a time as timers hold it.
func epoch(t time.Time) float64 {
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9
}

package memory

import (
	"context"
	"hash/maphash"

	"treering/store"
)

// Save implements [store.ExecutionStore].
func (s *Executions) Save(ctx context.Context, exe *store.Execution) error {
	_, err := s.Commit(ctx, store.Commit{Execution: exe})
	return err
}

// Commit implements [store.ExecutionStore]. Contract, save: it conflicts only
// where another object is stored under the id at another version; the same
// object always wins, and another one at the same version replaces it.
//
// The store touches Version, and copies the state, only under its lock: commits
// of one object by several goroutines at once are taken one after the other, each
// as a version of its own. Whoever changes another field of a live object sees to
// it that nobody commits the object meanwhile.
func (s *Executions) Commit(ctx context.Context, c store.Commit) ([]int64, error) {
	if err := c.ValidateExceptVersion(); err != nil {
		return nil, err
	}
	exe := c.Execution
	// All that allocates and does not depend on what is stored is made before the
	// lock; the object itself may be others' too and is read only under it.
	var snapshot *store.Execution
	if s.observers.Load() > 0 {
		snapshot = new(store.Execution)
	}
	var hash uint64
	if c.ProcessedEventID != nil {
		hash = maphash.String(s.seed, *c.ProcessedEventID)
	}
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := store.CheckVersion(exe.Version); err != nil {
		return nil, err
	}
	rec, err := s.admit(exe)
	if err != nil {
		return nil, err
	}
	s.changed()
	exe.Version++
	s.summarise(rec, exe)
	if snapshot != nil {
		rec.copyInto(snapshot, exe)
	}
	rec.exe, rec.snapshot = exe, snapshot
	seqs := s.seqs.take(len(c.Emits))
	for i := range c.Emits {
		emit := &c.Emits[i]
		e := s.outbox.entry(len(emit.Event.Data))
		e.value.set(&emit.Event)
		if target := emit.TargetID; target != nil {
			if *target == rec.id {
				e.owner = rec
			} else {
				e.owner = s.record(*target)
			}
		}
		s.outbox.push(e)
		seqs[i] = e.seq
	}
	if c.ProcessedEventID != nil {
		rec.processed.add(s.seed, hash, *c.ProcessedEventID)
	}
	for i := range c.Timers {
		s.applyTimer(rec, &c.Timers[i])
	}
	for _, spawn := range c.Spawns {
		if spawn.Context == "" {
			spawn.Context = store.EmptyObject
		}
		e := s.spawns.entry(len(spawn.Context))
		e.owner, e.value = rec, birth{spawn}
		s.spawns.push(e)
	}
	if c.Trace != "" {
		rec.trace.push(c.Trace, s.traceMax)
	}
	return seqs, nil
}

// admit is the compare-and-swap: the record to write, new or not, or the conflict.
func (s *Executions) admit(exe *store.Execution) (*record, error) {
	rec := s.byID[exe.ID]
	if rec != nil && rec.exe != nil {
		if rec.exe != exe && rec.summary.Version != exe.Version {
			found := rec.summary.Version
			return nil, &store.ConflictError{ID: exe.ID, Expected: exe.Version, Found: &found}
		}
		return rec, nil
	}
	if exe.Version != 0 {
		if _, gone := s.purged[exe.ID]; gone {
			return nil, &store.ConflictError{ID: exe.ID, Expected: exe.Version}
		}
	}
	if rec == nil {
		rec = s.record(exe.ID)
	}
	s.byOrder.insert(rec)
	return rec, nil
}

// summarise copies what lists know of the execution. Text that did not change
// is not copied again: nobody changes the copies.
func (s *Executions) summarise(rec *record, exe *store.Execution) {
	if isNew := rec.exe == nil; isNew || rec.status != exe.Status {
		if !isNew {
			s.count(rec.status, -1)
		}
		rec.status = exe.Status
		s.count(rec.status, 1)
	}
	sum := &rec.summary
	sum.ID, sum.DefinitionID, sum.Status, sum.RootPath, sum.Version = rec.id, exe.DefinitionID, exe.Status, exe.RootPath, exe.Version
	keepText(&sum.Outcome, exe.Outcome)
	keepText(&sum.Error, exe.Error)
	keepText(&sum.ActivePath, exe.ActivePath)
	keepText(&sum.ParentID, exe.ParentID)
	sum.CreatedAt, sum.UpdatedAt, sum.FinishedAt, sum.ExpiresAt = exe.CreatedAt, exe.UpdatedAt, exe.FinishedAt, exe.ExpiresAt
}

// copyInto makes snapshot the state of exe, of which the summary was made already.
// Texts that were copied before are shared: nobody changes the copies.
func (rec *record) copyInto(snapshot, exe *store.Execution) {
	var fqn, childID *string
	if last := rec.snapshot; last != nil {
		fqn, childID = last.DefinitionFQN, last.ChildID
	}
	keepText(&fqn, exe.DefinitionFQN)
	keepText(&childID, exe.ChildID)
	*snapshot = *exe
	snapshot.Drift = nil
	snapshot.DefinitionFQN, snapshot.ChildID = fqn, childID
	snapshot.Outcome, snapshot.Error = rec.summary.Outcome, rec.summary.Error
	snapshot.ActivePath, snapshot.ParentID = rec.summary.ActivePath, rec.summary.ParentID
}

func keepText(kept **string, now *string) {
	switch {
	case now == nil:
		*kept = nil
	case *kept == nil || **kept != *now:
		text := *now
		*kept = &text
	}
}

// applyTimer arms or cancels. Contract, commit: whatever is not "schedule" cancels.
func (s *Executions) applyTimer(rec *record, op *store.TimerOp) {
	t := rec.recent
	if t == nil || t.path != op.Path {
		t = rec.timers[op.Path]
	}
	switch {
	case op.Action == store.Schedule && t == nil:
		t = &timer{op.FireAt, rec, op.Path}
		if rec.timers == nil {
			rec.timers = map[string]*timer{}
		}
		rec.timers[op.Path] = t
		rec.recent = t
		s.arm(t)
	case op.Action == store.Schedule:
		rec.recent = t
		s.rearm(t, op.FireAt)
	case t != nil:
		s.disarm(t)
	}
}

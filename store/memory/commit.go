package memory

import (
	"context"

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
// The version is set on the caller's object by the calling goroutine, before any
// other can load it at that version.
func (s *Executions) Commit(ctx context.Context, c store.Commit) ([]int64, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	exe := c.Execution
	// All that allocates and does not depend on what is stored is done before the lock.
	var snapshot *store.Execution
	if s.observers.Load() > 0 {
		snapshot = exe.Clone()
		snapshot.Version, snapshot.Drift = exe.Version+1, nil
	}
	var seqs []int64
	var mails []entry[mail]
	if n := len(c.Emits); n > 0 {
		seqs, mails = make([]int64, n), make([]entry[mail], n)
	}
	if err := s.write(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	rec, err := s.admit(exe)
	if err != nil {
		return nil, err
	}
	s.changes++
	exe.Version++
	s.summarise(rec, exe)
	rec.exe, rec.snapshot = exe, snapshot
	for i := range c.Emits {
		e := &mails[i]
		e.value.event = plain(c.Emits[i].Event)
		var inbox *chain[mail]
		if target := c.Emits[i].TargetID; target != nil {
			if *target == rec.id {
				e.owner = rec
			} else {
				e.owner = s.record(*target)
			}
			inbox = &e.owner.inbox
		}
		s.outbox.push(e, inbox)
		seqs[i] = e.seq
	}
	if c.ProcessedEventID != nil {
		rec.processed.add(s.seed, *c.ProcessedEventID)
	}
	for i := range c.Timers {
		s.applyTimer(rec, &c.Timers[i])
	}
	for _, spawn := range c.Spawns {
		if spawn.Context == "" {
			spawn.Context = store.EmptyObject
		}
		s.spawns.push(&entry[birth]{owner: rec, value: birth{spawn}}, &rec.spawned)
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
	t := rec.timers[op.Path]
	switch {
	case op.Action == store.Schedule && t == nil:
		t = &timer{op.FireAt, rec, op.Path}
		if rec.timers == nil {
			rec.timers = map[string]*timer{}
		}
		rec.timers[op.Path] = t
		s.timers.insert(t)
	case op.Action == store.Schedule:
		s.rearm(t, op.FireAt)
	case t != nil:
		s.disarm(t)
	}
}

func (s *Executions) rearm(t *timer, at float64) {
	s.timers.remove(t)
	t.at = at
	s.timers.insert(t)
}

func (s *Executions) disarm(t *timer) {
	s.timers.remove(t)
	delete(t.rec.timers, t.path)
}

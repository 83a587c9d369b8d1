package memory

import (
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"

	"treering/store"
)

// DueTimers implements [store.ExecutionStore].
func (s *Executions) DueTimers(ctx context.Context, now float64) ([]store.Timer, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var out []store.Timer
	for t := range s.timers.all() {
		if !(t.at <= now) { // not >, so that nothing is due at NaN
			break
		}
		out = append(out, t.public())
	}
	return out, nil
}

func (t *timer) public() store.Timer {
	return store.Timer{ExecutionID: t.rec.id, Path: t.path, FireAt: t.at}
}

// armed is the timer of a path if it holds exactly that time.
func (s *Executions) armed(id, path string, at float64) *timer {
	rec := s.byID[id]
	if rec == nil {
		return nil
	}
	if t := rec.timers[path]; t != nil && t.at == at {
		return t
	}
	return nil
}

// arm puts a timer, which its record has by path already, into its place in time.
func (s *Executions) arm(t *timer) {
	s.timers.insert(t)
	rec := t.rec
	switch {
	case rec.byTime != nil:
		rec.byTime.insert(t)
	case len(rec.timers) > many:
		rec.byTime = &sorted[*timer]{compare: byTime}
		for _, t := range rec.timers {
			rec.byTime.insert(t)
		}
	}
}

// lift takes a timer out of its place in time.
func (s *Executions) lift(t *timer) {
	s.timers.remove(t)
	if t.rec.byTime != nil {
		t.rec.byTime.remove(t)
	}
}

func (s *Executions) rearm(t *timer, at float64) {
	s.lift(t)
	t.at = at
	s.arm(t)
}

func (s *Executions) disarm(t *timer) {
	s.lift(t)
	delete(t.rec.timers, t.path)
	if t.rec.recent == t {
		t.rec.recent = nil
	}
	if len(t.rec.timers) == 0 {
		t.rec.byTime = nil
	}
}

// DeleteTimer implements [store.ExecutionStore].
func (s *Executions) DeleteTimer(ctx context.Context, id, path string, fireAt float64) (bool, error) {
	if err := s.lock(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	t := s.armed(id, path, fireAt)
	if t == nil {
		return false, nil
	}
	s.changed()
	s.disarm(t)
	return true, nil
}

// RearmTimer implements [store.ExecutionStore].
func (s *Executions) RearmTimer(ctx context.Context, id, path string, from, to float64) (bool, error) {
	if err := store.CheckFireAt(to); err != nil {
		return false, err
	}
	if err := s.lock(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	t := s.armed(id, path, from)
	if t == nil {
		return false, nil
	}
	s.changed()
	s.rearm(t, to)
	return true, nil
}

// ListTimers implements [store.ExecutionStore].
func (s *Executions) ListTimers(ctx context.Context, f store.QueueFilter, p store.PageRequest) (store.Page[store.Timer], error) {
	var page store.Page[store.Timer]
	limit, err := p.Size()
	if err != nil {
		return page, err
	}
	scope := s.scope + " timers " + f.Scope()
	after := func(*timer) bool { return true }
	if p.Cursor != "" {
		last, err := timerOfCursor(scope, p.Cursor)
		if err != nil {
			return page, err
		}
		after = func(t *timer) bool { return byTime(t, last) > 0 }
	}
	if err := s.lock(ctx); err != nil {
		return page, err
	}
	source := s.timers.from(after)
	if f.ExecutionID != nil {
		source = ofRecord(s.byID[*f.ExecutionID], after)
	}
	if f.DueBy != nil {
		source = dueBy(source, *f.DueBy)
	}
	timers, more := firstOf(source, limit)
	for _, t := range timers {
		page.Items = append(page.Items, t.public())
	}
	s.mu.Unlock()
	if more {
		last := page.Items[limit-1]
		page.Next = store.EncodeCursor(scope, strconv.FormatUint(math.Float64bits(last.FireAt), 16), last.ExecutionID, last.Path)
	}
	return page, nil
}

// timerOfCursor is a stand-in for the timer that a cursor names, which may be gone.
func timerOfCursor(scope, cursor string) (*timer, error) {
	key, err := store.DecodeCursor(scope, cursor)
	if err != nil || len(key) != 3 {
		return nil, store.ErrBadCursor
	}
	bits, err := strconv.ParseUint(key[0], 16, 64)
	if err != nil {
		return nil, store.ErrBadCursor
	}
	return &timer{math.Float64frombits(bits), &record{id: key[1]}, key[2]}, nil
}

// ofRecord yields one execution's timers by time.
func ofRecord(rec *record, after func(*timer) bool) iter.Seq[*timer] {
	if rec != nil && rec.byTime != nil {
		return rec.byTime.from(after)
	}
	return func(yield func(*timer) bool) {
		if rec == nil {
			return
		}
		for _, t := range slices.SortedFunc(maps.Values(rec.timers), byTime) {
			if after(t) && !yield(t) {
				return
			}
		}
	}
}

func dueBy(source iter.Seq[*timer], now float64) iter.Seq[*timer] {
	return func(yield func(*timer) bool) {
		for t := range source {
			if !(t.at <= now) || !yield(t) {
				return
			}
		}
	}
}

package ui

import (
	"context"
	"errors"

	"treering/store"
	"treering/store/query"
	"treering/treeview"
)

// Deciders of the lists: each decides on the rows of one reading, on the command's
// goroutine.

func siftSessions(q *query.Query, env query.Env, also func(row *query.SessionRow)) decider[store.SessionInfo] {
	match, err := q.Bind(env)
	row := query.SessionRow{}
	return func(_ context.Context, s store.SessionInfo) (query.Result, error) {
		if err != nil {
			return query.No, err
		}
		row.Session = &s
		also(&row)
		return match.Match(&row), nil
	}
}

func siftOutbox(q *query.Query, env query.Env) decider[store.OutboxEntry] {
	match, err := q.Bind(env)
	return func(_ context.Context, e store.OutboxEntry) (query.Result, error) {
		if err != nil {
			return query.No, err
		}
		return match.Match(&query.OutboxRow{Entry: &e}), nil
	}
}

func siftSpawns(q *query.Query, env query.Env) decider[store.SpawnEntry] {
	match, err := q.Bind(env)
	return func(_ context.Context, e store.SpawnEntry) (query.Result, error) {
		if err != nil {
			return query.No, err
		}
		return match.Match(&query.SpawnRow{Entry: &e}), nil
	}
}

func siftTimers(q *query.Query, env query.Env) decider[store.Timer] {
	match, err := q.Bind(env)
	return func(_ context.Context, t store.Timer) (query.Result, error) {
		if err != nil {
			return query.No, err
		}
		return match.Match(&query.TimerRow{Timer: &t}), nil
	}
}

// executionSieve decides on executions. What summaries lack is read one by one, where
// the query asks for it; the shape of the families before the first.
type executionSieve struct {
	es    store.ExecutionStore
	query *query.Query
	env   query.Env

	match *query.Matcher
	ctx   context.Context //nolint:containedctx // of the row that is decided on: its functions have no other way to get it
	row   query.ExecutionRow
	id    string
	read  bool
	held  store.JSON // the context of id, where read
	err   error
}

func siftExecutions(es store.ExecutionStore, q *query.Query, env query.Env) *executionSieve {
	s := &executionSieve{es: es, query: q, env: env}
	s.row.Context, s.row.LastStep = s.context, s.lastStep
	return s
}

// bind makes the matcher. Where the query asks for the shape of the families, that
// is what tree says, or is read.
func (s *executionSieve) bind(ctx context.Context, tree *treeview.Index) (err error) {
	if s.match != nil {
		return nil
	}
	if s.query.Needs().Shape && tree == nil {
		tree = treeview.New(treeview.ByArrival)
		err = store.All(func(p store.PageRequest) (store.Page[store.Summary], error) {
			return s.es.ListExecutions(ctx, store.ExecutionFilter{}, p)
		}, func(it store.Summary) error {
			tree.Add(treeview.Entry{ID: it.ID, Parent: it.ParentID})
			return nil
		})
		if err != nil {
			return err
		}
	}
	if tree != nil {
		s.env.Tree = tree.Relations()
	}
	s.match, err = s.query.Bind(s.env)
	return err
}

func (s *executionSieve) decide(ctx context.Context, it store.Summary) (query.Result, error) {
	if err := s.bind(ctx, nil); err != nil {
		return query.No, err
	}
	s.ctx, s.id, s.read, s.err = ctx, it.ID, false, nil
	s.row.Summary = &it
	result := s.match.Match(&s.row)
	return result, s.err
}

func (s *executionSieve) context() store.JSON {
	if s.read {
		return s.held
	}
	s.read, s.held = true, ""
	_, exe, err := store.Inspect(s.ctx, s.es, s.id)
	if err == nil && exe != nil {
		s.held = exe.Context
	}
	s.fail(err)
	return s.held
}

func (s *executionSieve) lastStep() (float64, bool) {
	steps, err := s.es.ReadTrace(s.ctx, s.id)
	if s.fail(err); err != nil || len(steps) == 0 {
		return 0, false
	}
	last := steps[len(steps)-1]
	if last.Bad != nil {
		return 0, false
	}
	return query.TimeOf(last.Step().Timestamp)
}

// fail keeps an error, unless it is one of this row alone: it is bad, and the list
// says so, or it has gone since.
func (s *executionSieve) fail(err error) {
	var bad *store.RowError
	if err != nil && s.err == nil && !errors.As(err, &bad) && !errors.Is(err, store.ErrNotFound) {
		s.err = err
	}
}

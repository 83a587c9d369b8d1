package tracefeed

import (
	"context"
	"math"

	"treering/store"
)

// Rows a page of the lists that a feed compares. A page takes about a millisecond.
const (
	executionPage = 500
	queuePage     = 500
	sessionPage   = 50 // each with a count of its nodes
)

func surveyExecutions(es store.ExecutionStore, most int) survey {
	return &ledger[store.Summary, string, ExecutionState]{
		name: Executions, size: executionPage, most: most,
		key: func(s store.Summary) string { return s.ID }, value: StateOf,
		list: func(ctx context.Context, p store.PageRequest) (store.Page[store.Summary], error) {
			return es.ListExecutions(ctx, store.ExecutionFilter{}, p)
		},
		added:   func(s store.Summary) Fact { return ExecutionAdded{s} },
		changed: func(before ExecutionState, s store.Summary) Fact { return ExecutionChanged{before, s} },
		gone:    func(id string, before ExecutionState) Fact { return ExecutionGone{id, before} },
	}
}

// none is what is remembered of rows that do not change.
type none struct{}

func surveyOutbox(es store.ExecutionStore, most int) survey {
	var last int64
	return &ledger[store.OutboxEntry, int64, none]{
		name: Outbox, size: queuePage, most: most,
		key: func(e store.OutboxEntry) int64 { return e.Seq },
		value: func(e store.OutboxEntry) none {
			last = max(last, e.Seq)
			return none{}
		},
		list: func(ctx context.Context, p store.PageRequest) (store.Page[store.OutboxEntry], error) {
			return es.ListOutbox(ctx, store.QueueFilter{}, p)
		},
		added: func(e store.OutboxEntry) Fact { return Queued{Outbox: &e, Late: e.Seq < last} },
		gone:  func(seq int64, _ none) Fact { return Unqueued{Queue: Outbox, Seq: seq} },
	}
}

func surveySpawns(es store.ExecutionStore, most int) survey {
	var last int64
	return &ledger[store.SpawnEntry, int64, none]{
		name: Spawns, size: queuePage, most: most,
		key: func(e store.SpawnEntry) int64 { return e.Seq },
		value: func(e store.SpawnEntry) none {
			last = max(last, e.Seq)
			return none{}
		},
		list: func(ctx context.Context, p store.PageRequest) (store.Page[store.SpawnEntry], error) {
			return es.ListSpawns(ctx, store.QueueFilter{}, p)
		},
		added: func(e store.SpawnEntry) Fact { return Queued{Spawn: &e, Late: e.Seq < last} },
		gone:  func(seq int64, _ none) Fact { return Unqueued{Queue: Spawns, Seq: seq} },
	}
}

func surveyTimers(es store.ExecutionStore, most int) survey {
	return &ledger[store.Timer, TimerKey, none]{
		name: Timers, size: queuePage, most: most,
		key:   func(t store.Timer) TimerKey { return TimerKey{t.ExecutionID, t.Path, math.Float64bits(t.FireAt)} },
		value: func(store.Timer) none { return none{} },
		list: func(ctx context.Context, p store.PageRequest) (store.Page[store.Timer], error) {
			return es.ListTimers(ctx, store.QueueFilter{}, p)
		},
		added: func(t store.Timer) Fact { return Queued{Timer: &t} },
		gone:  func(k TimerKey, _ none) Fact { return Unqueued{Queue: Timers, Timer: k} },
	}
}

// countedSession is a session tree with the number of its nodes.
type countedSession struct {
	store.SessionInfo
	nodes int64
}

type sessionState struct {
	kind    string
	expires float64 // infinite: kept until deleted
	nodes   int64
}

// sessionSurvey is the ledger of the session trees; a tree whose time has come is
// gone although nothing was written.
type sessionSurvey struct {
	ledger[countedSession, string, sessionState]
	next float64 // the first to end, as of the pass
	of   uint64
}

func surveySessions(ts store.TreeStore, most int, counted bool) *sessionSurvey {
	return &sessionSurvey{ledger: ledger[countedSession, string, sessionState]{
		name: Sessions, size: pick(counted, sessionPage, executionPage), most: most,
		key: func(s countedSession) string { return s.ID },
		value: func(s countedSession) sessionState {
			state := sessionState{s.Kind, math.Inf(1), s.nodes}
			if s.ExpiresAt != nil {
				state.expires = *s.ExpiresAt
			}
			return state
		},
		list: func(ctx context.Context, p store.PageRequest) (store.Page[countedSession], error) {
			page, err := ts.ListSessions(ctx, store.SessionFilter{}, p)
			out := store.Page[countedSession]{Next: page.Next}
			if err != nil {
				return out, err
			}
			for _, s := range page.Items {
				if !counted {
					out.Items = append(out.Items, countedSession{s, 0})
					continue
				}
				n, err := ts.CountNodes(ctx, s.ID)
				if isNotFound(err) {
					continue // it went between the two questions
				}
				if err != nil {
					return out, err
				}
				out.Items = append(out.Items, countedSession{s, n})
			}
			return out, nil
		},
		added: func(s countedSession) Fact { return SessionAdded{s.SessionInfo, s.nodes} },
		changed: func(before sessionState, s countedSession) Fact {
			return SessionChanged{s.SessionInfo, before.nodes, s.nodes}
		},
		gone: func(id string, _ sessionState) Fact { return SessionGone{id} },
	}}
}

// expiry is when the next tree that is known comes to its end, in epoch seconds.
func (s *sessionSurvey) expiry() float64 {
	if s.of != s.pass || s.going {
		s.of, s.next = s.pass, math.Inf(1)
		for _, e := range s.known {
			s.next = min(s.next, e.value.expires)
		}
	}
	return s.next
}

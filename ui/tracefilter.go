package ui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"treering/store/query"
	"treering/tracefeed"
)

// stepSieve decides which steps are shown.
type stepSieve struct {
	query *query.Query // nil: all are
	env   query.Env
}

func (t *tracePane) sifting(m *Model) stepSieve { return stepSieve{t.bar.query, m.queryEnv()} }

// run returns the steps that match, which gaps never do, and how many have no time where that would have
// decided. Contexts may be large, so it is for a command.
func (s stepSieve) run(ctx context.Context, all []tracefeed.Row) (shown []tracefeed.Row, noTime int, err error) {
	if s.query == nil {
		return all, 0, nil
	}
	match, err := s.query.Bind(s.env)
	if err != nil {
		return nil, 0, err
	}
	worker := func() func(int) query.Result {
		var row query.StepRow
		return func(i int) query.Result {
			if all[i].Gap {
				return query.No
			}
			row.Index, row.Step, row.Bad = all[i].Index, &all[i].Step.Step, all[i].Bad
			return match.Match(&row)
		}
	}
	err = query.Run(ctx, len(all), 0, worker, func(c query.Chunk) error {
		for _, i := range c.Hits {
			shown = append(shown, all[i])
		}
		noTime += c.NoTime
		return nil
	})
	return shown, noTime, err
}

// sift shows the steps that match the filter.
func (t *tracePane) sift(m *Model) tea.Cmd {
	ctx, gen := t.sieve.begin(m.ctx)
	all, sieve := t.rows, t.sifting(m)
	return func() tea.Msg {
		shown, noTime, err := sieve.run(ctx, all)
		return answerFunc(func(m *Model) tea.Cmd {
			t := &m.trace
			if !t.sieve.ends(gen) || abandoned(err) {
				return nil
			}
			if err != nil {
				m.failed("cannot filter the trace", err)
				return nil
			}
			if len(t.rows) != len(all) || len(all) > 0 && &t.rows[0] != &all[0] {
				return t.sift(m) // the steps are others now
			}
			t.list(m, shown, noTime)
			return t.retell(m)
		})
	}
}

func (t *tracePane) words(*Model) query.Vocabulary {
	v := vocabulary{}
	for i := range t.all[:min(len(t.all), lookedFor)] {
		s := &t.all[i]
		v.add("event", s.EventKind)
		v.add("from", deref(s.From))
		v.add("to", deref(s.To))
		for _, a := range s.Actions {
			v.add("action", a)
		}
	}
	return v.words()
}

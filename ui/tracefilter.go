package ui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"treering/store/query"
	"treering/tracefeed"
	"treering/ui/layout"
)

func (t *tracePane) init() {
	t.bar = filterBar{subject: query.Steps, changed: t.sift, drawn: t.touch, seen: t.words}
}

// stepSieve decides which steps are shown.
type stepSieve struct {
	query *query.Query // nil: all are
	env   query.Env
}

func (t *tracePane) sifting(m *Model) stepSieve { return stepSieve{t.bar.query, m.queryEnv()} }

// run returns the steps that match, and how many have no time where that would have
// decided. Contexts may be large, so it is for a command.
func (s stepSieve) run(ctx context.Context, all []tracefeed.Step) (shown []tracefeed.Step, noTime int, err error) {
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
			row.Index, row.Step, row.Bad = all[i].Index, &all[i].Step, all[i].Bad
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
	all, sieve := t.all, t.sifting(m)
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
			if len(t.all) != len(all) || len(all) > 0 && &t.all[0] != &all[0] {
				return t.sift(m) // the steps are others now
			}
			t.list(shown, noTime)
			if m.detail.driver == layout.Trace {
				return t.describe(m)
			}
			return nil
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

package cli

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/query"
)

func (a *app) traceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace ID",
		Short: "List the steps in an execution's trace ring, oldest first",
		Long: "List the steps in an execution's trace ring, oldest first. The index climbs from 0 and survives trimming, so it tells " +
			"how many older steps are gone. A ring can outlive its execution, and the other way round.",
		Example: `treering trace order-long
treering trace order-long --json
treering trace order-long --filter 'event:Timeout to:Payment'`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			q, err := a.filter(query.Steps)
			if err != nil {
				return err
			}
			m, err := a.matching(q)
			if err != nil {
				return err
			}
			match := func(t store.TraceEntry) (query.Result, error) {
				step := store.Step{}
				if t.Bad == nil {
					step = t.Step()
				}
				return m.Match(&query.StepRow{Index: t.Index, Step: &step, Bad: t.Bad}), nil
			}
			return a.withExecutions(ctx, reading, func(es store.ExecutionStore) error {
				steps, err := es.ReadTrace(ctx, args[0])
				if err != nil {
					return err
				}
				if len(steps) == 0 {
					// An empty ring is an answer only for an execution that is there.
					var bad *store.RowError
					if _, err := es.Load(ctx, args[0]); err != nil && !errors.As(err, &bad) {
						return err
					}
				}
				return siftedList(a, q, tracePrinter(), match, items(steps...))
			})
		},
	}
	return a.rawFlag(a.filterFlag(cmd, query.Steps), "each step")
}

func tracePrinter() printer[store.TraceEntry] {
	return printer[store.TraceEntry]{
		empty: "no steps",
		head:  []string{"STEP", "TIME", "EVENT", "FROM", "TO", "ACTIONS"},
		json:  traceLine,
		row: func(t store.TraceEntry) []string {
			index := strconv.FormatInt(t.Index, 10)
			if t.Bad != nil {
				return []string{index, "?", "?", "?", "?", "! " + t.Bad.Err.Error()}
			}
			step := t.Step()
			when := ""
			if at, ok := step.Timestamp.Float64(); ok {
				when = stamp(at)
			} else if !step.Timestamp.IsNull() {
				when = string(step.Timestamp)
			}
			event := step.EventKind
			if step.KindUnknown {
				event = "(not recorded)"
			}
			return []string{index, when, event, deref(step.From), deref(step.To), strings.Join(step.Actions, ", ")}
		},
		raw: func(t store.TraceEntry) (string, error) {
			if t.Bad != nil {
				return string(t.Bad.Raw), nil
			}
			return string(t.Entry), nil
		},
	}
}

// traceLine puts the index and the step's own members. Of a repeated one the last
// counts, as everywhere.
func traceLine(l *line, t store.TraceEntry) {
	l.integer("index", t.Index)
	if t.Bad != nil {
		l.bad(t.Bad)
		return
	}
	var keys []string
	values := map[string]store.JSON{}
	for k, v := range t.Entry.Members() {
		if _, again := values[k]; !again {
			keys = append(keys, k)
		}
		values[k] = v
	}
	for _, k := range keys {
		if k != "index" {
			l.json(k, values[k])
		}
	}
}

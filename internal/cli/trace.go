package cli

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/locate"
	"treering/store/query"
	"treering/tracefeed"
)

func (a *app) traceCommand() *cobra.Command {
	var following bool
	var from int64
	cmd := &cobra.Command{
		Use:   "trace ID",
		Short: "List the steps in an execution's trace ring, oldest first, or follow them",
		Long: "List the steps in an execution's trace ring, oldest first. The index climbs from 0 and survives trimming, so it tells " +
			"how many older steps are gone. A ring can outlive its execution, and the other way round.\n\n" +
			"With --follow the steps are told as they are committed, by whomever, until the command is interrupted. To go on where it ended, " +
			"give --from the index after the last one that was told.\n\n" + factsHelp,
		Example: `treering trace order-long
treering trace order-long --json
treering trace order-long --filter 'event:Timeout to:Payment'
treering trace order-long --follow --from 250 --json`,
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
			if given := cmd.Flags().Changed("from"); following || given {
				switch {
				case from < 0:
					return usagef("--from takes an index, which is 0 or more")
				case following && a.raw:
					return usagef("trace takes --follow or --raw, not both; --json tells the steps as stored")
				case following:
					if !given {
						return a.followTrace(ctx, args[0], nil, q, match)
					}
					return a.followTrace(ctx, args[0], &from, q, match)
				}
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
				steps = slices.DeleteFunc(steps, func(t store.TraceEntry) bool { return t.Index < from })
				return siftedList(a, q, tracePrinter(), match, items(steps...))
			})
		},
	}
	cmd.Flags().BoolVar(&following, "follow", false, "go on with the steps that come, until interrupted")
	cmd.Flags().Int64Var(&from, "from", 0, "only from the step with this `INDEX` on")
	return a.rawFlag(a.filterFlag(cmd, query.Steps), "each step")
}

// followTrace tells the steps of a trace as they come. The execution need not be there
// yet.
func (a *app) followTrace(ctx context.Context, id string, from *int64, q *query.Query, match func(store.TraceEntry) (query.Result, error)) error {
	f := &following{}
	if !q.Empty() {
		f.match = match
	}
	return a.withStore(ctx, reading, func(o *locate.Opened) error {
		if o.Executions == nil {
			return lacks(o, reading, "executions")
		}
		return a.follow(ctx, o, tracefeed.FeedOptions{Rings: []tracefeed.Follow{{Execution: id, From: from}}}, f)
	})
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

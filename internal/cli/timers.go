package cli

import (
	"math"

	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/query"
)

func (a *app) timersCommand() *cobra.Command {
	var due bool
	cmd := &cobra.Command{
		Use:   "timers",
		Short: "List the armed timers, the next one first",
		Long: "List the armed timers, the next one first. FIRE_AT is in epoch seconds and exact: it is what " +
			"treering fire wants to hear.",
		Example: `treering timers --due
treering timers --filter 'before:+1h not path:@ttl'
treering timers --json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			q, err := a.filter(query.Timers)
			if err != nil {
				return err
			}
			m, err := a.matching(q)
			if err != nil {
				return err
			}
			var row query.TimerRow
			match := func(t store.Timer) (query.Result, error) {
				row.Timer = &t
				return m.Match(&row), nil
			}
			filter := q.Pushdown().Queue
			if due {
				now := epoch(a.now())
				filter.DueBy = &now
			}
			return a.withExecutions(ctx, reading, func(es store.ExecutionStore) error {
				return siftedList(a, q, a.timerPrinter(), match, func(p store.PageRequest) (store.Page[store.Timer], error) {
					return es.ListTimers(ctx, filter, p)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&due, "due", false, "only those that are due")
	return a.filterFlag(cmd, query.Timers)
}

func (a *app) timerPrinter() printer[store.Timer] {
	return printer[store.Timer]{
		empty: "no timers",
		head:  []string{"FIRE_AT", "WHEN", "EXECUTION", "PATH", ""},
		json:  timerLine,
		row: func(t store.Timer) []string {
			if t.Bad != nil {
				return []string{"?", "?", t.ExecutionID, t.Path, "! " + t.Bad.Err.Error()}
			}
			return []string{store.FormatFireAt(t.FireAt), dueIn(t.FireAt, epoch(a.now())), t.ExecutionID, t.Path, ""}
		},
	}
}

func timerLine(l *line, t store.Timer) {
	l.text("execution_id", t.ExecutionID).text("path", t.Path)
	if t.Bad != nil {
		l.null("fire_at").bad(t.Bad)
		return
	}
	l.seconds("fire_at", t.FireAt)
}

// dueIn says how far from due a timer is.
func dueIn(fireAt, now float64) string {
	switch {
	case math.IsNaN(fireAt), math.IsInf(fireAt, 1):
		return "never"
	case fireAt > now:
		return "due in " + span(fireAt-now)
	}
	return "overdue by " + span(now-fireAt)
}

// secondsJSON is epoch seconds as a JSON number, exactly as stored; a non-finite
// one is the token that Python writes.
func secondsJSON(t float64) store.JSON {
	switch {
	case math.IsNaN(t):
		return "NaN"
	case math.IsInf(t, 1):
		return "Infinity"
	case math.IsInf(t, -1):
		return "-Infinity"
	}
	return store.JSON(store.FormatFireAt(t))
}

package cli

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/query"
)

func (a *app) executionsCommand() *cobra.Command {
	var filter store.ExecutionFilter
	var statuses, definitions []string
	cmd := &cobra.Command{
		Use:   "executions",
		Short: "List the executions",
		Long: "List the executions in the order of their ids. A row that cannot be read is listed with its error. " +
			"Status words compare without regard to case, and any word is allowed. A column that differs from the JSON beside it is noted at the " +
			"end of its row; with --json, treering execution tells it.",
		Example: `treering executions --status RUNNING --status FAILED
treering executions --definition shop --roots --json
treering executions --filter 'status:failed since:1d'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			for _, s := range statuses {
				filter.Status = append(filter.Status, store.Status(s))
			}
			switch len(definitions) {
			case 0:
			case 1:
				filter.DefinitionID = &definitions[0]
			default:
				return usagef("executions takes one --definition, not %d", len(definitions))
			}
			q, err := a.filter(query.Executions)
			if err != nil {
				return err
			}
			preselect(&filter, q.Pushdown().Executions)
			return a.withExecutions(ctx, reading, func(es store.ExecutionStore) error {
				match, err := a.matchExecutions(ctx, es, q)
				if err != nil {
					return err
				}
				return siftedList(a, q, a.summaryPrinter(ctx, es), match, func(p store.PageRequest) (store.Page[store.Summary], error) {
					return es.ListExecutions(ctx, filter, p)
				})
			})
		},
	}
	cmd.Flags().StringArrayVar(&statuses, "status", nil, "only with this `STATUS`; may be repeated")
	cmd.Flags().StringArrayVar(&definitions, "definition", nil, "only of this `DEFINITION`")
	cmd.Flags().BoolVar(&filter.RootsOnly, "roots", false, "only those without a parent")
	var words []string
	for _, s := range store.Statuses() {
		words = append(words, string(s))
	}
	complete(cmd, "status", words...)
	return a.rawFlag(a.filterFlag(cmd, query.Executions), "each execution's JSON")
}

// preselect adds what a query lets a store select to what flags ask for.
func preselect(f *store.ExecutionFilter, pre store.ExecutionFilter) {
	if f.Status == nil {
		f.Status = pre.Status
	}
	if f.DefinitionID == nil {
		f.DefinitionID = pre.DefinitionID
	}
	f.RootsOnly = f.RootsOnly || pre.RootsOnly
	f.ParentID = pre.ParentID
}

func (a *app) summaryPrinter(ctx context.Context, es store.ExecutionStore) printer[store.Summary] {
	return printer[store.Summary]{
		empty: "no executions",
		head:  []string{"EXECUTION", "DEFINITION", "STATUS", "OUTCOME", "STATE", "VERSION", "PARENT", "FINISHED", ""},
		json:  summaryLine,
		row: func(s store.Summary) []string {
			status, version, note, finished := string(s.Status), strconv.FormatInt(s.Version, 10), "", ""
			if t, ok := s.FinishedAt.Float64(); ok {
				finished = stamp(t)
			} else if !s.FinishedAt.IsNull() {
				finished = string(s.FinishedAt)
			}
			if len(s.Drift) > 0 {
				note = "! " + s.Drift[0].String()
			}
			if s.Bad != nil {
				// Nothing is known here, which is not the same as nothing being there.
				if status == "" {
					status = "?"
				}
				if versionUnknown(s) {
					version = "?"
				}
				note = "! " + s.Bad.Err.Error()
			}
			return []string{s.ID, s.DefinitionID, status, deref(s.Outcome), deref(s.ActivePath), version, deref(s.ParentID), finished, note}
		},
		raw: func(s store.Summary) (string, error) {
			if s.Bad != nil {
				return string(s.Bad.Raw), nil
			}
			exe, err := es.Load(ctx, s.ID)
			var bad *store.RowError
			switch {
			case errors.As(err, &bad):
				return string(bad.Raw), nil
			case err != nil:
				return "", err
			}
			return storedExecution(exe)
		},
	}
}

func summaryLine(l *line, s store.Summary) {
	l.text("id", s.ID).text("definition_id", s.DefinitionID)
	if s.Status == "" {
		l.null("status")
	} else {
		l.text("status", string(s.Status))
	}
	l.optional("outcome", s.Outcome).optional("active_path", s.ActivePath)
	if versionUnknown(s) {
		l.null("version")
	} else {
		l.integer("version", s.Version)
	}
	l.optional("parent_id", s.ParentID).json("finished_at", s.FinishedAt).bad(s.Bad)
}

// versionUnknown: 0 is never stored, so in a bad row it is what could not be read.
func versionUnknown(s store.Summary) bool { return s.Bad != nil && s.Version == 0 }

// storedExecution is the blob of an execution as it is stored.
func storedExecution(exe *store.Execution) (string, error) {
	if text := exe.Stored(); text != "" {
		return text, nil
	}
	return exe.Encode(exe.Version)
}

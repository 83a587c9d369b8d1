package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"treering/store"
)

func (a *app) executionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "execution ID",
		Short: "Show one execution with its context",
		Long: "Show one execution with its context. --json prints all its members, the columns of its row counting where they " +
			"differ from the JSON beside them; such a difference is listed under \"drift\".",
		Example: `treering execution order-0004
treering execution order-0004 --json`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.withExecutions(ctx, reading, func(es store.ExecutionStore) error {
				exe, err := es.Load(ctx, args[0])
				var bad *store.RowError
				switch {
				case errors.As(err, &bad):
					return a.showBadExecution(args[0], bad)
				case err != nil:
					return err
				case a.raw:
					text, err := storedExecution(exe)
					if err != nil {
						return err
					}
					return a.out.stored(text)
				case a.json:
					return a.executionJSON(exe)
				}
				return a.showExecution(exe)
			})
		},
	}
	return a.rawFlag(cmd, "its JSON")
}

// executionJSON prints the members of the stored JSON, its unknown ones too.
func (a *app) executionJSON(exe *store.Execution) error {
	blob, err := exe.Encode(exe.Version)
	if err != nil {
		return err
	}
	var l line
	for k, v := range store.JSON(blob).Members() {
		l.json(k, v)
	}
	if len(exe.Drift) > 0 {
		var drifts []store.JSON
		for _, d := range exe.Drift {
			drifts = append(drifts, store.ObjectOf(store.Member{Key: "column", Value: store.Quote(d.Column)},
				store.Member{Key: "stored", Value: store.Quote(d.Stored)}, store.Member{Key: "json", Value: store.Quote(d.JSON)}))
		}
		l.json("drift", store.ArrayOf(drifts...))
	}
	return a.out.jsonLine(&l)
}

// showExecution prints an execution for people.
func (a *app) showExecution(exe *store.Execution) error {
	fields := []field{
		{"execution", exe.ID},
		{"definition", exe.DefinitionID},
		{"status", string(exe.Status)},
		{"outcome", or(exe.Outcome, "none")},
		{"state", or(exe.ActivePath, "none")},
		{"version", fmt.Sprint(exe.Version)},
		{"parent", or(exe.ParentID, "none: a root")},
	}
	if exe.Error != nil {
		fields = append(fields, field{"error", *exe.Error})
	}
	for _, s := range []struct {
		name string
		at   store.JSON
	}{{"created", exe.CreatedAt}, {"updated", exe.UpdatedAt}, {"finished", exe.FinishedAt}, {"expires", exe.ExpiresAt}} {
		if t, ok := s.at.Float64(); ok {
			fields = append(fields, field{s.name, stamp(t)})
		} else if !s.at.IsNull() {
			fields = append(fields, field{s.name, string(s.at)})
		}
	}
	for _, c := range exe.ChildStates() {
		is := "not finished"
		if c.Finished {
			is = strings.TrimSpace("finished " + deref(c.Outcome))
		}
		fields = append(fields, field{"child", c.ID + "  " + is})
	}
	for _, d := range exe.Drift {
		fields = append(fields, field{"drift", d.String()})
	}
	if err := a.showFields(fields); err != nil {
		return err
	}
	if err := a.out.raw("context\n"); err != nil {
		return err
	}
	return a.showJSON(exe.Context)
}

// showBadExecution prints what could be read of an execution that cannot be read
// whole.
func (a *app) showBadExecution(id string, bad *store.RowError) error {
	if a.raw {
		return a.out.stored(string(bad.Raw))
	}
	s := store.Summary{ID: id, Bad: bad}
	if bad.Summary != nil {
		s = *bad.Summary
	}
	if a.json {
		var l line
		summaryLine(&l, s)
		return a.out.jsonLine(&l)
	}
	version := "?"
	if !versionUnknown(s) {
		version = fmt.Sprint(s.Version)
	}
	fields := []field{{"execution", id}, {"definition", s.DefinitionID}, {"status", string(s.Status)}, {"version", version}, {"error", bad.Err.Error()}}
	if s.Status == "" {
		fields[2].value = "?"
	}
	if err := a.showFields(fields); err != nil {
		return err
	}
	if err := a.out.raw("stored\n"); err != nil {
		return err
	}
	return a.out.stored(string(bad.Raw))
}

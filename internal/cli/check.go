package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/check"
	"treering/store/foreign"
	"treering/store/locate"
)

func (a *app) checkCommand() *cobra.Command {
	var quick bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Look a store through for what is wrong in it",
		Long: "Look a store through for what is wrong in it: rows that cannot be read, columns that differ from their JSON, lost parents, " +
			"orphans, second roots and cycles, lines of other programs' sessions that are no records, parents stuck on a child that failed, timers that nobody sweeps, entries that nobody will take, " +
			"and damage to the file itself. Nothing is changed or repaired.\n\n" +
			"An error is wrong whatever happens next; a warning may be right, such as a timer that is due for more than a minute while a " +
			"worker is down. Exit code 5 says that something was found.",
		Example: `treering -s shop.db check
treering check --quick --json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return a.withStore(ctx, reading, func(o *locate.Opened) error { return a.check(ctx, o, quick) })
		},
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "leave out the trace rings and the damage to the file, which take longest")
	return cmd
}

func (a *app) check(ctx context.Context, o *locate.Opened, quick bool) error {
	var r check.Report
	t := a.out.table("", "SEVERITY", "KIND", "TABLE", "ID", "IN", "WHAT")
	shown := 0
	var l line
	visit := func(f check.Finding) error {
		if shown++; a.limit > 0 && shown > a.limit {
			return nil // counted, and the exit code says so
		}
		if a.json {
			l.b = l.b[:0]
			l.text("severity", string(f.Severity)).text("kind", string(f.Kind)).text("table", f.Table).text("id", f.ID)
			if f.In == "" {
				l.null("in")
			} else {
				l.text("in", f.In)
			}
			l.text("message", f.Message)
			return a.out.jsonLine(&l)
		}
		return t.row(string(f.Severity), string(f.Kind), f.Table, f.ID, f.In, f.Message)
	}
	said := map[string]bool{}
	damaged := func(text string) error {
		if said[text] {
			return nil
		}
		said[text] = true
		r.Errors++
		return visit(check.Finding{Kind: check.Integrity, Severity: check.Error, Table: "file", Message: text})
	}
	if !quick {
		damage, _, err := o.CheckIntegrity(ctx)
		if err != nil {
			return err
		}
		for _, d := range damage {
			if err := damaged(d); err != nil {
				return err
			}
		}
	}
	// Where damage ends the reading of one part, the others are looked at all the same.
	part := func(err error) error {
		if errors.Is(err, store.ErrNotAStore) {
			return damaged(err.Error())
		}
		return err
	}
	if o.Executions != nil {
		if err := part(check.Executions(ctx, o.Executions, check.Options{Now: a.now(), Quick: quick}, &r, visit)); err != nil {
			return err
		}
	}
	if o.Trees != nil {
		if err := part(check.Trees(ctx, o.Trees, &r, visit)); err != nil {
			return err
		}
	}
	if err := a.checkSources(ctx, o, &r, visit); err != nil {
		return err
	}
	if !a.json {
		if err := t.end(); err != nil {
			return err
		}
	}
	if a.out.terminal {
		if err := a.out.raw(checked(r) + "\n"); err != nil {
			return err
		}
	}
	if err := a.out.flush(); err != nil {
		return err
	}
	if r.Errors+r.Warnings > 0 {
		return errFound
	}
	return nil
}

// checkSources hands on what the readers of other programs' sessions had to say: a line
// that is no record makes no node, so the tree does not tell of it.
func (a *app) checkSources(ctx context.Context, o *locate.Opened, r *check.Report, visit func(check.Finding) error) error {
	if o.Foreign == nil {
		return nil
	}
	heads, err := o.Foreign.Heads(ctx)
	if err != nil {
		return err
	}
	for _, h := range heads {
		report, _, err := o.Foreign.Report(ctx, h.ID)
		if errors.Is(err, store.ErrNotFound) {
			continue // it went away meanwhile
		}
		if err != nil {
			return fmt.Errorf("session %q: %w", h.ID, err)
		}
		said := report.Warnings
		if report.Dropped > 0 {
			said = append(slices.Clone(said), foreign.Warning{Text: fmt.Sprintf("and %d more", report.Dropped)})
		}
		for _, w := range said {
			table := "lines"
			if w.Place.Line == 0 {
				table = "rows"
			}
			f := check.Finding{Kind: check.Source, Severity: check.Warning, Table: cmp.Or(w.Table, table), ID: w.ID, In: h.ID, Message: w.Text}
			if w.Place != (foreign.Place{}) {
				f.Message = w.Place.String() + ": " + w.Text
			}
			r.Warnings++
			if err := visit(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// checked says what was looked at and what came of it.
func checked(r check.Report) string {
	found := "nothing is wrong"
	if r.Errors+r.Warnings > 0 {
		found = fmt.Sprintf("errors %d, warnings %d", r.Errors, r.Warnings)
	}
	return fmt.Sprintf("%s; looked at: executions %d, steps %d, queue entries %d, timers %d, sessions %d, nodes %d",
		found, r.Executions, r.Steps, r.Entries, r.Timers, r.Sessions, r.Nodes)
}

// errFound ends check where something was found, which its output has said.
var errFound = foundError{}

type foundError struct{}

func (foundError) Error() string { return "something was found" }

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"treering/internal/term"
	"treering/store"
	"treering/treeview/export"
)

func (a *app) exportCommand() *cobra.Command {
	var execution, format, below, path, file string
	var o export.Options
	var force bool
	names := make([]string, 0, len(export.Formats()))
	for _, f := range export.Formats() {
		names = append(names, string(f))
	}
	cmd := &cobra.Command{
		Use:   "export [SESSION]",
		Short: "Write a session tree or an execution for other programs",
		Long: "Write a session tree, or an execution with its descendants, for other programs: json holds everything, markdown is to be read, " +
			"mermaid, dot (Graphviz) and svg are drawings, and pi is a session file that the pi coding agent opens: entries that came from one as they " +
			"were, others as custom entries. Without --format the name of the --output file decides, and else it is json.\n\n" +
			"json, markdown and pi hold the data of the nodes and the contexts of the executions, whatever is in them, unless --no-data is given; " +
			"drawings hold titles only. With --output a line on standard error says what was written.",
		Example: `treering export example --format markdown
treering export example -o example.svg
treering export --execution order-0004 --format mermaid --states`,
		Args: between(0, 1, "SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			ofExecution := cmd.Flags().Changed("execution")
			switch {
			case ofExecution && len(args) > 0, !ofExecution && len(args) == 0:
				return usagef("export needs a session or --execution, and not both")
			case ofExecution && (cmd.Flags().Changed("below") || cmd.Flags().Changed("path")):
				return usagef("--below and --path choose nodes of a session; an execution is exported with its descendants")
			case cmd.Flags().Changed("below") && cmd.Flags().Changed("path"):
				return usagef("--below and --path exclude each other")
			case force && file == "":
				return usagef("--force is about the file that --output names")
			}
			f := export.JSON
			var err error
			switch ext := strings.TrimPrefix(filepath.Ext(file), "."); {
			case format != "":
				f, err = export.ParseFormat(format)
			case ext != "":
				f, err = export.ParseFormat(ext)
			}
			if err != nil {
				return usagef("--format: %w", err)
			}
			var d *export.Doc
			if ofExecution {
				err = a.withExecutions(ctx, reading, func(es store.ExecutionStore) error {
					d, err = export.ReadFamily(ctx, es, execution)
					return err
				})
			} else {
				err = a.withTrees(ctx, reading, func(ts store.TreeStore) error {
					d, err = export.ReadSession(ctx, ts, args[0], export.Selection{Below: below, Path: path}, nil)
					return err
				})
			}
			if err != nil {
				return err
			}
			return a.export(ctx, d, f, o, file, force)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&execution, "execution", "", "write this execution `ID` and its descendants")
	fl.StringVar(&format, "format", "", "write this `FORMAT`: "+strings.Join(names, ", "))
	fl.StringVar(&below, "below", "", "only this `NODE` and what is below it")
	fl.StringVar(&path, "path", "", "only this `NODE` and its ancestors")
	fl.BoolVar(&o.WithoutData, "no-data", false, "leave out the data of nodes and the contexts of executions")
	fl.BoolVar(&o.States, "states", false, "draw the transitions that the traces hold (mermaid and dot)")
	fl.StringVarP(&file, "output", "o", "", "write to this `FILE`, which must not be there yet")
	fl.BoolVar(&force, "force", false, "replace the file if it is there")
	complete(cmd, "format", names...)
	completeWith(cmd, "output", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
	return cmd
}

// export writes to standard output, or to a file as a whole or not at all.
func (a *app) export(ctx context.Context, d *export.Doc, f export.Format, o export.Options, file string, force bool) error {
	var report export.Report
	var err error
	if file == "" {
		report, err = export.Write(a.out, f, d, o)
		if err == nil {
			err = a.out.flush()
		}
	} else {
		err = export.WriteFile(file, force, func(w io.Writer) (err error) {
			report, err = export.Write(w, f, d, o)
			return errors.Join(err, ctx.Err())
		})
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w; --force replaces it", err)
	}
	if errors.Is(err, export.ErrNotDrawn) {
		return &codedError{exitUsage, err}
	}
	if err != nil {
		return err
	}
	for _, w := range report.Warnings {
		a.tell(w)
	}
	if file != "" {
		what, data := "nodes", "without their data"
		if d.Subject == export.Executions {
			what, data = "executions", "without their contexts"
		}
		if report.WithData {
			data = "with their data"
			if d.Subject == export.Executions {
				data = "with their contexts and traces"
			}
		}
		a.tell(fmt.Sprintf("%d %s %s, as %s, to %s", report.Items, what, data, f, file))
	}
	return nil
}

// tell writes a line about a command that succeeds. Where standard error cannot be
// written there is nobody to tell.
func (a *app) tell(s string) {
	fmt.Fprintf(a.stderr, "treering: %s\n", term.SanitiseN(s, maxErrorCells)) //nolint:errcheck // see above
}

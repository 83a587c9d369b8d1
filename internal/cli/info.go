package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/locate"
)

func (a *app) infoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "info [STORE]",
		Short: "Say what the store is, what it holds, and how and why it is open",
		Example: `treering info
treering info talk.jsonl
treering -s shop.db info --json`,
		Args: between(0, 1, "STORE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if len(args) > 0 {
				if a.storeGiven {
					return usagef("info takes a store or -s, not both")
				}
				a.store, a.storeGiven = args[0], true
			}
			return a.withStore(ctx, surveying, func(o *locate.Opened) error {
				if o.Info.Backend != noBackend {
					if err := o.Count(ctx); err != nil {
						return err
					}
				}
				noticing := ""
				if f, ok := o.Watcher.(store.Follower); ok {
					if _, err := o.Watcher.ChangeToken(ctx); err != nil {
						return err
					}
					if since, why := f.Behind(); !since.IsZero() {
						o.Info.Notes = append(o.Info.Notes, "it may show what is old since "+since.Format(time.TimeOnly)+": "+why)
					}
					o.Info.How, o.Info.Why = o.How()
				}
				if w, ok := o.Watcher.(store.Waiter); ok && o.Info.Backend != noBackend {
					noticing = w.Noticing()
				}
				reports, left, err := readReports(ctx, o)
				if err != nil {
					return err
				}
				if left > 0 {
					o.Info.Notes = append(o.Info.Notes, fmt.Sprintf("the first %d sessions were read for their reports; name a file of the others for theirs", len(reports)))
				}
				if a.json {
					return a.infoLine(o.Info, noticing, reports)
				}
				return a.showInfo(o.Info, noticing, reports)
			})
		},
	}
}

func (a *app) infoLine(info locate.Info, noticing string, reports []sessionReport) error {
	var sets []store.JSON
	for _, s := range info.Sets {
		var l line
		l.text("prefix", s.Prefix)
		putCount(&l, "executions", s.Executions)
		l.boolean("open", s.Open).texts("missing", s.Missing)
		sets = append(sets, store.JSON(l.end()))
	}
	var l line
	l.text("locator", info.Locator).text("backend", info.Backend).text("name", info.Name)
	for _, f := range []struct{ key, value string }{{"path", info.Path}, {"journal_mode", info.JournalMode}, {"schema", info.SchemaInfo}, {"changes", noticing}} {
		if f.value == "" {
			l.null(f.key)
		} else {
			l.text(f.key, f.value)
		}
	}
	l.boolean("ours", info.Ours).boolean("writable", info.Writable).text("how", info.How).text("why", info.Why).
		json("sets", store.ArrayOf(sets...)).boolean("trees", info.TreeTables)
	putCount(&l, "sessions", info.Sessions)
	l.texts("transport", info.Transport).texts("notes", info.Notes)
	if info.Foreign {
		var all []store.JSON
		for _, r := range reports {
			all = append(all, r.json())
		}
		l.json("reports", store.ArrayOf(all...))
	}
	return a.out.jsonLine(&l)
}

func putCount(l *line, key string, n *int64) {
	if n == nil {
		l.null(key)
	} else {
		l.integer(key, *n)
	}
}

func (a *app) showInfo(info locate.Info, noticing string, reports []sessionReport) error {
	fields := []field{{"store", info.Locator}}
	if info.Path != "" && info.Path != info.Locator {
		fields = append(fields, field{"path", info.Path})
	}
	fields = append(fields, field{"backend", info.Backend}, field{"open", info.How + ": " + info.Why})
	if info.JournalMode != "" {
		fields = append(fields, field{"journal", info.JournalMode})
	}
	if info.SchemaInfo != "" {
		fields = append(fields, field{"schema", info.SchemaInfo})
	}
	if noticing != "" {
		fields = append(fields, field{"changes", "noticed " + noticing})
	}
	if len(info.Sets) == 0 && !info.Foreign {
		fields = append(fields, field{"executions", "none: there are no tables for them"})
	}
	for _, s := range info.Sets {
		fields = append(fields, field{"executions", describeSet(s)})
	}
	switch {
	case info.OtherTrees:
		fields = append(fields, field{"sessions", "none that this version reads"})
	case !info.TreeTables:
		fields = append(fields, field{"sessions", "none: there are no tables for them"})
	case info.Sessions == nil:
		fields = append(fields, field{"sessions", "?"})
	default:
		fields = append(fields, field{"sessions", fmt.Sprint(*info.Sessions)})
	}
	if len(info.Transport) > 0 {
		fields = append(fields, field{"transport", strings.Join(info.Transport, ", ")})
	}
	for _, n := range info.Notes {
		fields = append(fields, field{"note", n})
	}
	for _, r := range reports {
		fields = append(fields, r.fields()...)
	}
	return a.showFields(fields)
}

func describeSet(s locate.Set) string {
	count := "?"
	if s.Executions != nil {
		count = fmt.Sprint(*s.Executions)
	}
	prefix := "without a prefix"
	if s.Prefix != "" {
		prefix = "prefix " + s.Prefix
	}
	text := count + ", " + prefix
	if s.Open {
		text += ", open"
	}
	if len(s.Missing) > 0 {
		text += ", lacking " + strings.Join(s.Missing, ", ")
	}
	return text
}

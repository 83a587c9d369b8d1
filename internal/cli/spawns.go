package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"treering/store"
)

func (a *app) spawnsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "spawns",
		Short:   "List the child executions that await their creation",
		Example: `treering spawns --json`,
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return a.withExecutions(ctx, reading, func(es store.ExecutionStore) error {
				return list(a, spawnPrinter(), func(p store.PageRequest) (store.Page[store.SpawnEntry], error) {
					return es.ListSpawns(ctx, store.QueueFilter{}, p)
				})
			})
		},
	}
	return a.rawFlag(cmd, "each context")
}

func spawnPrinter() printer[store.SpawnEntry] {
	return printer[store.SpawnEntry]{
		empty: "no spawns",
		head:  []string{"SEQ", "PARENT", "CHILD", "ROOT", "CONTEXT"},
		json: func(l *line, s store.SpawnEntry) {
			l.integer("seq", s.Seq).text("parent_id", s.ParentID).text("child_id", s.ChildID).text("root_path", s.RootPath)
			if s.Bad != nil {
				l.null("context").bad(s.Bad)
				return
			}
			l.json("context", s.Context)
		},
		row: func(s store.SpawnEntry) []string {
			context := inline(s.Context)
			if s.Bad != nil {
				context = "! " + s.Bad.Err.Error()
			}
			return []string{strconv.FormatInt(s.Seq, 10), s.ParentID, s.ChildID, s.RootPath, context}
		},
		raw: func(s store.SpawnEntry) (string, error) {
			if s.Bad != nil {
				return string(s.Bad.Raw), nil
			}
			return string(s.Context), nil
		},
	}
}

package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/query"
)

func (a *app) spawnsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "spawns",
		Short: "List the child executions that await their creation",
		Example: `treering spawns --json
treering spawns --filter 'parent:order-4 or context.limit>100'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			q, err := a.filter(query.Spawns)
			if err != nil {
				return err
			}
			m, err := a.matching(q)
			if err != nil {
				return err
			}
			var row query.SpawnRow
			match := func(e store.SpawnEntry) (query.Result, error) {
				row.Entry = &e
				return m.Match(&row), nil
			}
			return a.withExecutions(ctx, reading, func(es store.ExecutionStore) error {
				return siftedList(a, q, spawnPrinter(), match, func(p store.PageRequest) (store.Page[store.SpawnEntry], error) {
					return es.ListSpawns(ctx, q.Pushdown().Queue, p)
				})
			})
		},
	}
	return a.rawFlag(a.filterFlag(cmd, query.Spawns), "each context")
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

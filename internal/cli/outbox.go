package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/query"
)

func (a *app) outboxCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "outbox",
		Short: "List the events that await delivery",
		Example: `treering outbox --json
treering outbox --filter 'target:order-4 event:Cancel'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			q, err := a.filter(query.Outbox)
			if err != nil {
				return err
			}
			m, err := a.matching(q)
			if err != nil {
				return err
			}
			var row query.OutboxRow
			match := func(e store.OutboxEntry) (query.Result, error) {
				row.Entry = &e
				return m.Match(&row), nil
			}
			return a.withExecutions(ctx, reading, func(es store.ExecutionStore) error {
				return siftedList(a, q, outboxPrinter(), match, func(p store.PageRequest) (store.Page[store.OutboxEntry], error) {
					return es.ListOutbox(ctx, q.Pushdown().Queue, p)
				})
			})
		},
	}
	return a.rawFlag(a.filterFlag(cmd, query.Outbox), "each event")
}

func outboxPrinter() printer[store.OutboxEntry] {
	event := func(e store.OutboxEntry) (store.JSON, error) {
		if e.Raw != "" {
			return e.Raw, nil
		}
		return e.Event.Encode()
	}
	return printer[store.OutboxEntry]{
		empty: "the outbox is empty",
		head:  []string{"SEQ", "TARGET", "EVENT", "ID", "DATA"},
		json: func(l *line, e store.OutboxEntry) {
			l.integer("seq", e.Seq).optional("target_id", e.TargetID)
			if e.Bad != nil {
				l.null("event").bad(e.Bad)
				return
			}
			text, err := event(e)
			if err != nil {
				l.null("event").text("row_error", err.Error())
				return
			}
			l.json("event", text)
		},
		row: func(e store.OutboxEntry) []string {
			seq := strconv.FormatInt(e.Seq, 10)
			if e.Bad != nil {
				return []string{seq, deref(e.TargetID), "?", "?", "! " + e.Bad.Err.Error()}
			}
			return []string{seq, deref(e.TargetID), e.Event.Kind, e.Event.ID, inline(e.Event.Data)}
		},
		raw: func(e store.OutboxEntry) (string, error) {
			if e.Bad != nil {
				return string(e.Bad.Raw), nil
			}
			text, err := event(e)
			return string(text), err
		},
	}
}

// maxInline bounds JSON in a cell, in characters.
const maxInline = 120

// inline is JSON in a cell of a table.
func inline(j store.JSON) string {
	if j.IsNull() {
		return ""
	}
	text := string(store.EscapeControls(store.Compact(j)))
	if runes := []rune(text); len(runes) > maxInline {
		return string(runes[:maxInline]) + "..."
	}
	return text
}

package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/locate"
	"treering/store/query"
)

func (a *app) sessionsCommand() *cobra.Command {
	var filter store.SessionFilter
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List the sessions",
		Long: "List the live sessions in the order of their ids; those of other programs the newest first, with their projects and titles. " +
			"Expired ones are not shown.",
		Example: `treering sessions
treering sessions --not-kind upload-cache --json
treering sessions --filter 'before:+1h'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if !cmd.Flags().Changed("kind") {
				filter.Kinds = nil
			}
			q, err := a.filter(query.Sessions)
			if err != nil {
				return err
			}
			m, err := a.matching(q)
			if err != nil {
				return err
			}
			pre := q.Pushdown().Sessions
			if filter.Kinds == nil {
				filter.Kinds = pre.Kinds
			}
			filter.NotKinds = slices.Concat(filter.NotKinds, pre.NotKinds)
			return a.withStore(ctx, reading, func(o *locate.Opened) error {
				var row query.SessionRow
				match := func(s store.SessionInfo) (query.Result, error) {
					row.Session = &s
					if o.Foreign != nil {
						h, _ := o.Foreign.Known(s.ID)
						row.Title, row.Project, row.Updated = h.Title, h.Project, h.Updated
					}
					return m.Match(&row), nil
				}
				ts, printer := o.Trees, a.sessionPrinter()
				switch {
				case ts == nil:
					return lacks(o, reading, "session trees")
				case o.Foreign != nil:
					printer = a.foreignPrinter(o)
				}
				return siftedList(a, q, printer, match, func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
					return ts.ListSessions(ctx, filter, p)
				})
			})
		},
	}
	cmd.Flags().StringArrayVar(&filter.Kinds, "kind", nil, "only sessions of this `KIND`; may be repeated")
	cmd.Flags().StringArrayVar(&filter.NotKinds, "not-kind", nil, "no sessions of this `KIND`; may be repeated")
	return a.filterFlag(cmd, query.Sessions)
}

func (a *app) sessionPrinter() printer[store.SessionInfo] {
	return printer[store.SessionInfo]{
		empty: "no sessions",
		head:  []string{"SESSION", "KIND", "EXPIRES"},
		json: func(l *line, s store.SessionInfo) {
			l.text("session_id", s.ID).text("kind", s.Kind)
			if s.ExpiresAt == nil {
				l.null("expires_at")
			} else {
				l.seconds("expires_at", *s.ExpiresAt)
			}
		},
		row: func(s store.SessionInfo) []string {
			expires := "never"
			if s.ExpiresAt != nil {
				expires = stamp(*s.ExpiresAt) + "  " + relative(*s.ExpiresAt, a.now())
			}
			return []string{s.ID, s.Kind, expires}
		},
	}
}

// stamp shows epoch seconds as a time, or as the number where no calendar holds it.
func stamp(seconds float64) string {
	const first, last = -62135596800, 253402300800 // the years 1 to 9999
	if !(seconds >= first && seconds < last) {
		return store.FormatFireAt(seconds)
	}
	return at(seconds).UTC().Format("2006-01-02 15:04:05Z")
}

// at is the time of epoch seconds that a calendar holds.
func at(seconds float64) time.Time {
	whole := int64(seconds)
	return time.Unix(whole, int64((seconds-float64(whole))*1e9))
}

// epoch is a time in seconds, to the microsecond.
func epoch(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// relative says how far away a time is.
func relative(seconds float64, now time.Time) string {
	away := seconds - epoch(now)
	switch {
	case away != away: // NaN
		return ""
	case away < 0:
		return span(-away) + " ago"
	}
	return "in " + span(away)
}

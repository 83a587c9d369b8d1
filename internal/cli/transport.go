package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/locate"
)

// withTransport is withStore for the queues between harel's workers in it.
func (a *app) withTransport(ctx context.Context, p purpose, fn func(*locate.Opened, store.Transport) error) error {
	return a.withStore(ctx, p, func(o *locate.Opened) error {
		if o.Transport == nil {
			return &openError{fmt.Errorf("%q holds no transport of harel's, the queues between its workers: they may be kept in another store", o.Info.Locator)}
		}
		return fn(o, o.Transport)
	})
}

func (a *app) transportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "transport [EXECUTION]",
		Short: "List the queues between harel's workers, or the messages for one execution",
		Long: "List the queues between harel's workers: how many messages wait for each execution, which worker holds a lease on it and until when. " +
			"With EXECUTION, list the messages for it, the oldest first. Nothing is taken from a queue by looking.\n\n" +
			"A queue is ready, leased (with a worker), parked (put aside for a time), expired (the lease ran out with the message still there: its worker " +
			"died or fails on it, and there is no limit to how often it comes back), hidden (it lacks the record by which workers find it), " +
			"poison (its oldest message is no event) or empty.",
		Example: `treering -s postgres://db/shop transport --json
treering -s postgres://db/shop transport order-4`,
		Args: between(0, 1, "EXECUTION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.withTransport(ctx, reading, func(o *locate.Opened, t store.Transport) error {
				if len(args) == 1 {
					return list(a, messagePrinter(), func(p store.PageRequest) (store.Page[store.TransportMessage], error) {
						return t.Messages(ctx, args[0], p)
					})
				}
				if _, ok := o.Watcher.(store.Follower); ok { // for what is said of the place of reading
					if _, err := o.Watcher.ChangeToken(ctx); err != nil {
						return err
					}
				}
				err := list(a, a.queuePrinter(), func(p store.PageRequest) (store.Page[store.TransportQueue], error) {
					return t.Queues(ctx, store.TransportFilter{}, p)
				})
				limits, ok := t.(store.TransportLimits)
				if err != nil || !ok || limits.Limits() == "" || a.json || a.raw {
					return err
				}
				if err := a.out.linef("note: %s", limits.Limits()); err != nil {
					return err
				}
				return a.out.flush()
			})
		},
	}
	return a.rawFlag(cmd, "each message, of one execution")
}

func (a *app) queuePrinter() printer[store.TransportQueue] {
	now := epoch(a.now())
	return printer[store.TransportQueue]{
		empty: "no queues",
		head:  []string{"EXECUTION", "MESSAGES", "STATE", "PRIORITY", "LOCKED_BY", "UNTIL", "NEXT"},
		json: func(l *line, q store.TransportQueue) {
			state := q.State(now)
			l.text("execution_id", q.ID).integer("messages", q.Depth).text("state", string(state)).boolean("stuck", state.Stuck())
			putCount(l, "priority", q.Priority)
			if q.LockedBy == "" {
				l.null("locked_by")
			} else {
				l.text("locked_by", q.LockedBy)
			}
			putSeconds(l, "locked_until", q.LockedUntil)
			l.boolean("parked", q.Parked)
			putSeconds(l, "last_claimed", q.LastClaimed)
			if q.Head == nil {
				l.null("next")
			} else {
				var m line
				messageLine(&m, *q.Head)
				l.json("next", store.JSON(m.end()))
			}
			if q.Bad != nil {
				l.bad(q.Bad)
			}
		},
		row: func(q store.TransportQueue) []string {
			priority, until, next := "?", "", ""
			if q.Priority != nil {
				priority = strconv.FormatInt(*q.Priority, 10)
			}
			if q.LockedUntil != nil {
				until = dueIn(*q.LockedUntil, now)
			}
			switch {
			case q.Bad != nil:
				next = "! " + q.Bad.Err.Error()
			case q.Head != nil && q.Head.Bad != nil:
				next = "! " + q.Head.Bad.Err.Error()
			case q.Head != nil:
				next = q.Head.Event.Kind
			}
			return []string{q.ID, strconv.FormatInt(q.Depth, 10), string(q.State(now)), priority, q.LockedBy, until, next}
		},
		raw: func(store.TransportQueue) (string, error) {
			return "", usagef("--raw prints the messages for one execution: name it")
		},
	}
}

func messagePrinter() printer[store.TransportMessage] {
	return printer[store.TransportMessage]{
		empty: "no messages",
		head:  []string{"SEQ", "KIND", "ID", "DATA"},
		json:  messageLine,
		row: func(m store.TransportMessage) []string {
			if m.Bad != nil {
				return []string{strconv.FormatInt(m.Seq, 10), "?", "?", "! " + m.Bad.Err.Error()}
			}
			return []string{strconv.FormatInt(m.Seq, 10), m.Event.Kind, m.Event.ID, string(store.EscapeControls(m.Event.Data))}
		},
		raw: func(m store.TransportMessage) (string, error) {
			if m.Bad != nil {
				return string(m.Bad.Raw), nil
			}
			return string(m.Raw), nil
		},
	}
}

func messageLine(l *line, m store.TransportMessage) {
	l.integer("seq", m.Seq)
	if m.Bad != nil {
		l.null("event").bad(m.Bad)
		return
	}
	l.json("event", m.Raw)
}

// putSeconds writes a time in epoch seconds, null where there is none.
func putSeconds(l *line, key string, at *float64) {
	if at == nil {
		l.null(key)
	} else {
		l.seconds(key, *at)
	}
}

func (a *app) sendCommand() *cobra.Command {
	var data, id string
	cmd := &cobra.Command{
		Use:   "send EXECUTION KIND",
		Short: "Send an event to an execution through harel's transport",
		Long: "Send an event to an execution as a producer of harel does: into the queue that its workers take from, at the execution's own priority. " +
			"The execution must be there. An event id is handled once only: after a lost answer the same --id sends it again safely, and one that was " +
			"used before is refused, since workers would ignore it.",
		Example: `treering -s postgres://db/shop --rw send order-4 Paid \
--data '{"auth":"A-19"}'`,
		Args: exactly("EXECUTION", "KIND"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			text, err := a.readArgument(ctx, "--data", data)
			if err != nil {
				return err
			}
			object, err := nodeData(text)
			if err != nil {
				return err
			}
			event := store.NewEvent(args[1], object)
			if cmd.Flags().Changed("id") {
				event.ID = id
			}
			return a.withTransport(ctx, changing, func(o *locate.Opened, t store.Transport) error {
				return a.send(ctx, o, t, args[0], event)
			})
		},
	}
	cmd.Flags().StringVar(&data, "data", "{}", "the event's data: a `JSON` object, @FILE, or - for standard input")
	cmd.Flags().StringVar(&id, "id", "", "the event's `ID`, by which it is handled once; a fresh one where it is not given")
	completeWith(cmd, "data", filesAfterAt)
	return cmd
}

func (a *app) send(ctx context.Context, o *locate.Opened, t store.Transport, id string, event store.Event) error {
	if o.Executions == nil {
		return lacks(o, changing, "executions")
	}
	switch err := store.Send(ctx, o.Executions, t, id, event); {
	case errors.Is(err, store.ErrHandled):
		return conflictf("%w; nothing was sent", err)
	case errors.Is(err, store.ErrOutcomeUnknown):
		return fmt.Errorf("%w; --id %s sends the same event again, which is handled once", err, event.ID)
	case err != nil:
		return err
	}
	if a.json {
		l := new(line)
		return a.out.jsonLine(l.text("execution_id", id).text("event_id", event.ID).text("kind", event.Kind).boolean("sent", true))
	}
	return a.out.linef("sent %s to %s, event %s", event.Kind, id, event.ID)
}

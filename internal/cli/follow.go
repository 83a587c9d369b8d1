package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"treering/store"
	"treering/store/locate"
	"treering/store/query"
	"treering/tracefeed"
)

// factsHelp is what commands that follow say of their output.
const factsHelp = `With --json each fact is one object. Its "fact" is one of those below, "at" the time at which it was noticed, in epoch seconds; other times are epoch seconds too. Indexes of steps climb from 0 in each life of an execution.

  began             executions, outbox, spawns, timers, sessions: their
                    numbers; what changes from here on is told
  trace             execution, from, held, total, dropped, missing: its
                    trace is followed from the index "from" on
  step              execution, index, took, late, filled, step: a step
                    that was not there before. "took" is the time since
                    the one before it, null where that is not known. It
                    is "late" below steps told earlier, and "filled" where
                    it was told as missed. "step" is what treering trace
                    --json prints
  missed            execution, first, last, count, dropped: steps never
                    seen, because the ring had dropped them or (dropped
                    false) they are missing between others
  evicted           execution, first, last, count: they left the ring
  gone              execution, first, last, count: they were removed
  restarted         execution: it was purged and made again, and the
                    indexes begin anew
  execution_added   what treering executions --json prints
  execution_changed the same, and before: version, status, active_path;
                    a lower version than before is another execution
  execution_gone    id, before
  queued            queue, late, entry: "outbox", "spawns" or "timers",
                    and what that command prints with --json
  unqueued          queue, and seq, or execution_id, path and fire_at
  session_added     session_id, kind, expires_at, nodes
  session_changed   the same, and before_nodes
  session_gone      session_id
  behind            rows, since: so many rows may have changed and were
                    not compared yet; said once a second
  disconnected      since, reason, error: the store cannot be read
  connected         since: it can again; what was missed follows
  replaced          it is another store now; all is told anew

The command ends with exit code 0 on an interrupt, on SIGTERM, and when nobody reads its output any more.`

// following writes the facts of a feed.
type following struct {
	a     *app
	steps *table // of plain text
	match func(store.TraceEntry) (query.Result, error)
	seen  int // steps written
	said  time.Time
}

// errEnough: as many steps as were asked for were written.
var errEnough = errors.New("enough")

// follow writes what a feed tells until the command is told to end.
func (a *app) follow(ctx context.Context, o *locate.Opened, opts tracefeed.FeedOptions, f *following) error {
	if o.Info.Backend == noBackend {
		return &openError{fmt.Errorf("there is no store at %q yet", o.Info.Locator)}
	}
	if o.Watcher == nil {
		return &openError{fmt.Errorf("%q does not tell of changes, so it cannot be followed", o.Info.Locator)}
	}
	a.endless = true
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer whenUnread(a.stdout, cancel)()
	if seen, ok := o.Executions.(store.Observed); ok {
		defer seen.Observe()()
	}
	opts.Watcher, opts.Executions, opts.Trees = o.Watcher, o.Executions, o.Trees
	feed := tracefeed.NewFeed(opts)
	f.a = a
	f.steps = a.out.table("", tracePrinter().head...)
	for {
		b, err := feed.Next(ctx)
		if err != nil {
			return err
		}
		for _, fact := range b.Facts {
			if err := f.write(b.At, fact); err != nil {
				if errors.Is(err, errEnough) {
					return nil
				}
				return err
			}
		}
		if err := f.behind(b); err != nil {
			return err
		}
	}
}

// write writes one fact and sends it off.
func (f *following) write(at time.Time, fact tracefeed.Fact) error {
	step, isStep := fact.(tracefeed.StepAdded)
	if isStep && f.match != nil {
		result, err := f.match(entryOf(step.Step))
		if err != nil || result != query.Yes {
			return err
		}
	}
	var err error
	if f.a.json {
		var l line
		name := factName(fact)
		l.text("fact", name).seconds("at", epoch(at))
		putFact(&l, fact)
		err = f.a.out.jsonLine(&l)
	} else {
		err = f.tell(at, fact)
	}
	if err == nil {
		err = f.a.out.flush()
	}
	if f.seen++; err == nil && isStep && f.seen == f.a.limit {
		err = errEnough
	}
	if !isStep {
		f.seen--
	}
	return err
}

// behind says once a second how much is not looked at yet.
func (f *following) behind(b tracefeed.Batch) error {
	if b.Behind == 0 || b.At.Sub(b.Since) < time.Second || b.At.Sub(f.said) < time.Second {
		return nil
	}
	f.said = b.At
	if f.a.json {
		var l line
		l.text("fact", "behind").seconds("at", epoch(b.At)).integer("rows", int64(b.Behind)).seconds("since", epoch(b.Since))
		if err := f.a.out.jsonLine(&l); err != nil {
			return err
		}
	} else if err := f.note(b.At, "behind by %s rows since %s", fmt.Sprint(b.Behind), clock(b.Since)); err != nil {
		return err
	}
	return f.a.out.flush()
}

// entryOf is the step as the store has it.
func entryOf(s tracefeed.Step) store.TraceEntry {
	return store.TraceEntry{Index: s.Index, Entry: s.Entry, Bad: s.Bad}
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05Z") }

// reasonOf is a word for why a store cannot be read.
func reasonOf(err error) string {
	for _, r := range []struct {
		is   error
		word string
	}{
		{store.ErrStoreNotFound, "gone"}, {store.ErrMissingTable, "schema"}, {store.ErrSourceChanged, "replaced"},
		{store.ErrBusy, "busy"}, {store.ErrNotAStore, "damaged"},
	} {
		if errors.Is(err, r.is) {
			return r.word
		}
	}
	return "other"
}

// factName is the name of a fact in JSON.
func factName(fact tracefeed.Fact) string {
	switch fact.(type) {
	case tracefeed.Began:
		return "began"
	case tracefeed.Disconnected:
		return "disconnected"
	case tracefeed.Connected:
		return "connected"
	case tracefeed.Replaced:
		return "replaced"
	case tracefeed.RingOpened:
		return "trace"
	case tracefeed.RingRestarted:
		return "restarted"
	case tracefeed.StepAdded:
		return "step"
	case tracefeed.StepsMissed:
		return "missed"
	case tracefeed.StepsEvicted:
		return "evicted"
	case tracefeed.StepsGone:
		return "gone"
	case tracefeed.ExecutionAdded:
		return "execution_added"
	case tracefeed.ExecutionChanged:
		return "execution_changed"
	case tracefeed.ExecutionGone:
		return "execution_gone"
	case tracefeed.Queued:
		return "queued"
	case tracefeed.Unqueued:
		return "unqueued"
	case tracefeed.SessionAdded:
		return "session_added"
	case tracefeed.SessionChanged:
		return "session_changed"
	case tracefeed.SessionGone:
		return "session_gone"
	}
	return "unknown"
}

// putFact puts what a fact says.
func putFact(l *line, fact tracefeed.Fact) {
	span := func(id string, s tracefeed.Span) {
		l.text("execution", id).integer("first", s.First).integer("last", s.Last).integer("count", s.Count())
	}
	switch f := fact.(type) {
	case tracefeed.Began:
		l.integer("executions", int64(f.Executions)).integer("outbox", int64(f.Outbox)).integer("spawns", int64(f.Spawns)).
			integer("timers", int64(f.Timers)).integer("sessions", int64(f.Sessions))
	case tracefeed.Disconnected:
		l.seconds("since", epoch(f.Since)).text("reason", reasonOf(f.Err)).text("error", f.Err.Error())
	case tracefeed.Connected:
		l.seconds("since", epoch(f.Since))
	case tracefeed.RingOpened:
		l.text("execution", f.Execution).integer("from", f.From).integer("held", int64(f.Ring.Held)).
			integer("total", f.Ring.Total).integer("dropped", f.Ring.Dropped).integer("missing", f.Ring.Missing)
	case tracefeed.RingRestarted:
		l.text("execution", f.Execution)
	case tracefeed.StepAdded:
		l.text("execution", f.Execution).integer("index", f.Step.Index)
		if f.Step.Measured {
			l.seconds("took", f.Step.Took)
		} else {
			l.null("took")
		}
		l.boolean("late", f.Late).boolean("filled", f.Filled)
		putObject(l, "step", func(l *line) { traceLine(l, entryOf(f.Step)) })
	case tracefeed.StepsMissed:
		span(f.Execution, f.Span)
		l.boolean("dropped", f.Dropped)
	case tracefeed.StepsEvicted:
		span(f.Execution, f.Span)
	case tracefeed.StepsGone:
		span(f.Execution, f.Span)
	case tracefeed.ExecutionAdded:
		summaryLine(l, f.Summary)
	case tracefeed.ExecutionChanged:
		summaryLine(l, f.Summary)
		putBefore(l, f.Before)
	case tracefeed.ExecutionGone:
		l.text("id", f.ID)
		putBefore(l, f.Before)
	case tracefeed.Queued:
		putQueued(l, f)
	case tracefeed.Unqueued:
		l.text("queue", f.Queue)
		if f.Queue == "timers" {
			l.text("execution_id", f.Timer.ExecutionID).text("path", f.Timer.Path).seconds("fire_at", f.Timer.At())
		} else {
			l.integer("seq", f.Seq)
		}
	case tracefeed.SessionAdded:
		putSession(l, f.Session, f.Nodes)
	case tracefeed.SessionChanged:
		putSession(l, f.Session, f.Nodes)
		l.integer("before_nodes", f.Before)
	case tracefeed.SessionGone:
		l.text("session_id", f.ID)
	}
}

func putObject(l *line, key string, put func(*line)) {
	var inner line
	put(&inner)
	l.json(key, store.JSON(inner.end()))
}

func putBefore(l *line, s tracefeed.ExecutionState) {
	putObject(l, "before", func(l *line) {
		l.integer("version", s.Version).text("status", string(s.Status))
		if s.ActivePath == "" {
			l.null("active_path")
		} else {
			l.text("active_path", s.ActivePath)
		}
	})
}

func putQueued(l *line, f tracefeed.Queued) {
	queue, put := queueOf(f)
	l.text("queue", queue).boolean("late", f.Late)
	putObject(l, "entry", put)
}

func queueOf(f tracefeed.Queued) (queue string, put func(*line)) {
	switch {
	case f.Outbox != nil:
		return "outbox", func(l *line) { outboxPrinter().json(l, *f.Outbox) }
	case f.Spawn != nil:
		return "spawns", func(l *line) { spawnPrinter().json(l, *f.Spawn) }
	}
	return "timers", func(l *line) { timerLine(l, *f.Timer) }
}

func putSession(l *line, s store.SessionInfo, nodes int64) {
	l.text("session_id", s.ID).text("kind", s.Kind)
	if s.ExpiresAt == nil {
		l.null("expires_at")
	} else {
		l.seconds("expires_at", *s.ExpiresAt)
	}
	l.integer("nodes", nodes)
}

// note writes one line of plain text. Texts among the arguments are foreign.
func (f *following) note(at time.Time, format string, args ...any) error {
	return f.a.out.linef("-- "+clock(at)+"  "+format, args...)
}

// tell writes a fact as plain text: steps as rows, everything else as a note. That
// steps leave a full ring, one with each that comes, goes without saying.
func (f *following) tell(at time.Time, fact tracefeed.Fact) error {
	span := func(s tracefeed.Span) string {
		if s.Count() == 1 {
			return fmt.Sprintf("step %d", s.First)
		}
		return fmt.Sprintf("steps %d to %d", s.First, s.Last)
	}
	state := func(s tracefeed.ExecutionState) string {
		text := fmt.Sprintf("version %d, %s", s.Version, s.Status)
		if s.ActivePath != "" {
			text += " in " + s.ActivePath
		}
		if s.Bad {
			text = "cannot be read"
		}
		return text
	}
	switch fact := fact.(type) {
	case tracefeed.Began:
		return f.note(at, "watching from here on: %d executions, %d outbox entries, %d spawns, %d timers, %d sessions",
			fact.Executions, fact.Outbox, fact.Spawns, fact.Timers, fact.Sessions)
	case tracefeed.Disconnected:
		return f.note(at, "cannot be read since %s: %s", clock(fact.Since), fact.Err.Error())
	case tracefeed.Connected:
		return f.note(at, "can be read again; it could not since %s", clock(fact.Since))
	case tracefeed.Replaced:
		return f.note(at, "it is another store now")
	case tracefeed.RingOpened:
		return f.note(at, "trace of %s from step %d on: %s", fact.Execution, fact.From, fact.Ring.String())
	case tracefeed.RingRestarted:
		return f.note(at, "%s was made again, and its steps begin anew", fact.Execution)
	case tracefeed.StepAdded:
		return f.step(at, fact)
	case tracefeed.StepsMissed:
		why := "missing between others"
		if fact.Dropped {
			why = "dropped before they were seen"
		}
		return f.note(at, "%s: %d missed, %s: %s", fact.Execution, fact.Count(), span(fact.Span), why)
	case tracefeed.StepsEvicted:
		return nil
	case tracefeed.StepsGone:
		return f.note(at, "%s: %s gone", fact.Execution, span(fact.Span))
	case tracefeed.ExecutionAdded:
		return f.note(at, "%s is new: %s", fact.Summary.ID, state(tracefeed.StateOf(fact.Summary)))
	case tracefeed.ExecutionChanged:
		made := ""
		if fact.Summary.Version < fact.Before.Version {
			made = ", made again"
		}
		return f.note(at, "%s: %s, was %s%s", fact.Summary.ID, state(tracefeed.StateOf(fact.Summary)), state(fact.Before), made)
	case tracefeed.ExecutionGone:
		return f.note(at, "%s is gone: was %s", fact.ID, state(fact.Before))
	case tracefeed.Queued:
		return f.queued(at, fact)
	case tracefeed.Unqueued:
		if fact.Queue == "timers" {
			return f.note(at, "timers - %s %s at %s", fact.Timer.ExecutionID, fact.Timer.Path, stamp(fact.Timer.At()))
		}
		return f.note(at, "%s - %d", fact.Queue, fact.Seq)
	case tracefeed.SessionAdded:
		return f.note(at, "session %s is new: %s, %d nodes", fact.Session.ID, fact.Session.Kind, fact.Nodes)
	case tracefeed.SessionChanged:
		return f.note(at, "session %s: %d nodes, were %d", fact.Session.ID, fact.Nodes, fact.Before)
	case tracefeed.SessionGone:
		return f.note(at, "session %s is gone", fact.ID)
	}
	return f.note(at, "%s", factName(fact))
}

func (f *following) step(at time.Time, fact tracefeed.StepAdded) error {
	if fact.Late {
		if err := f.note(at, "late, %s:", fact.Execution); err != nil {
			return err
		}
	}
	row := tracePrinter().row(entryOf(fact.Step))
	if f.a.watching {
		row = append([]string{fact.Execution}, row...)
		if len(f.steps.widths) < len(row) {
			f.steps = f.a.out.table("", append([]string{"EXECUTION"}, tracePrinter().head...)...)
		}
	}
	if err := f.steps.row(row...); err != nil {
		return err
	}
	return f.steps.flush()
}

func (f *following) queued(at time.Time, fact tracefeed.Queued) error {
	late := ""
	if fact.Late {
		late = " (late)"
	}
	switch {
	case fact.Outbox != nil:
		return f.note(at, "outbox + %d: %s to %s%s", fact.Outbox.Seq, fact.Outbox.Event.Kind, deref(fact.Outbox.TargetID), late)
	case fact.Spawn != nil:
		return f.note(at, "spawns + %d: %s by %s%s", fact.Spawn.Seq, fact.Spawn.ChildID, fact.Spawn.ParentID, late)
	}
	return f.note(at, "timers + %s %s at %s", fact.Timer.ExecutionID, fact.Timer.Path, stamp(fact.Timer.FireAt))
}

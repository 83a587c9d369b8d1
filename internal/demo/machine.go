package demo

import (
	"fmt"
	"math"
	"slices"
	"time"

	"treering/store"
)

// machine is one execution of a chart. Each of its steps is one commit: state,
// emitted events, dedupe mark, timers, spawns and trace step together, as an
// engine would write them. After the first error, which the seeder keeps, it does
// nothing more, so that a life reads as a list of steps.
type machine struct {
	*seeder
	chart *chart
	exe   *store.Execution
	at    time.Time // of its last commit
}

// step is one event and what it does beyond what the chart says.
type step struct {
	after time.Duration // since the last commit, give or take an eighth
	kind  string
	data  fields
	set   fields            // changes of the context, at dotted paths
	delay time.Duration     // of the timer of the leaf that is entered, instead of the chart's
	emit  []store.Emit      // besides what the chart emits
	spawn map[string]fields // the context of each region that is entered
}

// create makes a PENDING execution and, in the outbox, the Start that will run it.
func (s *seeder) create(c *chart, id string, at time.Time, priority int64, context fields) *machine {
	m := &machine{seeder: s, chart: c, at: at, exe: &store.Execution{
		ID: id, DefinitionID: c.id, Status: store.Pending, Priority: priority, Context: object(context),
	}}
	m.commit(store.Commit{Emits: []store.Emit{{TargetID: &id, Event: s.event("Start", at, nil)}}})
	return m
}

// start relays the Start that create left in the outbox.
func (m *machine) start(after time.Duration) {
	for _, entry := range m.waitingFor(m.exe.ID) {
		m.wait(after)
		m.run(store.Commit{ProcessedEventID: &entry.event.ID})
		m.ack(entry.seq)
	}
}

// run enters the initial state.
func (m *machine) run(commit store.Commit) {
	initial := m.chart.initialOf(m.exe.RootPath)
	m.exe.Status = store.Running
	commit.Timers = m.enter(m.exe.RootPath, initial, step{}).Timers
	commit.Trace = m.trace("Start", store.EmptyObject, nil, initial, nil)
	m.commit(commit)
}

// do delivers events from outside, one after the other.
func (m *machine) do(steps ...step) {
	for _, st := range steps {
		m.wait(st.after)
		m.handle(m.event(st.kind, m.at, st.data), st)
	}
}

// timeout lets the timer of a path fire, a moment after it was due.
func (m *machine) timeout(path string, set fields) {
	if m.err != nil {
		return
	}
	page, err := m.es.ListTimers(m.ctx, store.QueueFilter{ExecutionID: &m.exe.ID}, store.PageRequest{})
	if err != nil {
		m.fail(err)
		return
	}
	i := slices.IndexFunc(page.Items, func(t store.Timer) bool { return t.Path == path })
	if i < 0 {
		m.fail(fmt.Errorf("%s has no timer at %s", m.exe.ID, path))
		return
	}
	due := page.Items[i].FireAt
	m.at = time.UnixMicro(int64(math.Round(due * 1e6))).UTC().Add(m.dice.about(300 * time.Millisecond))
	m.handle(store.Event{
		ID: store.TimeoutEventID(m.exe.ID, path, due), Kind: "Timeout", CreatedTime: iso(m.at),
		Data: object(fields{{Key: "path", Value: text(path)}}),
	}, step{kind: "Timeout", set: set})
}

// handle takes the edge of an event, or keeps the event where the chart defers it.
func (m *machine) handle(ev store.Event, st step) {
	if m.err != nil {
		return
	}
	from := *m.exe.ActivePath
	m.exe.ProcessedEvents++
	if slices.Contains(m.chart.state(from).defers, ev.Kind) {
		encoded, err := ev.Encode()
		if err != nil {
			m.fail(err)
			return
		}
		m.exe.Deferred = list(append(slices.Collect(m.exe.Deferred.Elements()), encoded)...)
		m.commit(store.Commit{ProcessedEventID: &ev.ID, Trace: m.trace(ev.Kind, ev.Data, &from, from, nil)})
		return
	}
	e, err := m.chart.edge(m.exe.RootPath, from, ev.Kind)
	if err != nil {
		m.fail(err)
		return
	}
	m.change(st.set)
	commit := m.enter(from, e.to, st)
	commit.ProcessedEventID = &ev.ID
	commit.Trace = m.trace(ev.Kind, ev.Data, &from, e.to, e.actions)
	m.commit(commit)
}

// ignore notes an event of which nothing comes.
func (m *machine) ignore(ev store.Event) {
	if m.err != nil {
		return
	}
	at := *m.exe.ActivePath
	m.exe.ProcessedEvents++
	m.commit(store.Commit{ProcessedEventID: &ev.ID, Trace: m.trace(ev.Kind, ev.Data, &at, at, nil)})
}

// crash lets an action of an event fail: the effects of the step are dropped, so
// the timers stay, but what the actions had put into the context is kept.
func (m *machine) crash(st step, left, message string) {
	m.wait(st.after)
	if m.err != nil {
		return
	}
	ev := m.event(st.kind, m.at, st.data)
	from := *m.exe.ActivePath
	m.exe.ProcessedEvents++
	m.change(st.set)
	m.exe.Status, m.exe.Error, m.exe.ActivePath = store.Failed, &message, &left
	m.commit(store.Commit{ProcessedEventID: &ev.ID, Trace: m.trace(ev.Kind, ev.Data, &from, left, nil)})
}

// control suspends or terminates the execution. It ends the machine's life here:
// the state in hand is not the stored one any more.
func (m *machine) control(after time.Duration, cmd store.Command) {
	m.wait(after)
	if m.err != nil {
		return
	}
	if _, err := store.Control(m.ctx, m.es, cmd, m.exe.ID, &m.exe.Version, m.at); err != nil {
		m.fail(err)
	}
}

func (m *machine) change(set fields) {
	for _, f := range set {
		m.exe.Context = with(m.exe.Context, f.Key, f.Value)
	}
}

// enter moves the execution and says which timers, spawns and events come of it.
func (m *machine) enter(from, to string, st step) store.Commit {
	commit := store.Commit{Emits: st.emit}
	for _, path := range entered(to, from) {
		left := m.chart.state(path)
		if left.timeout > 0 {
			commit.Timers = append(commit.Timers, store.TimerOp{Action: store.Cancel, Path: path})
		}
		if left.regions != nil {
			commit.Emits = append(commit.Emits, m.leaveRegions(left)...)
		}
	}
	for _, path := range entered(from, to) {
		now := m.chart.state(path)
		if m.exe.ActivePath != nil {
			m.exe.History = put(m.exe.History, parentPath(path), text(path))
		}
		if d := now.timeout; d > 0 {
			if path == to && st.delay > 0 {
				d = st.delay
			}
			commit.Timers = append(commit.Timers, store.TimerOp{Action: store.Schedule, Path: path, FireAt: seconds(m.at.Add(d))})
		}
		if now.regions != nil {
			commit.Spawns = m.enterRegions(now, st.spawn)
		}
		if now.outcome != "" {
			outcome := now.outcome
			m.exe.Status, m.exe.Outcome = store.Done, &outcome
			commit.Emits = append(commit.Emits, m.finish()...)
		}
	}
	m.exe.ActivePath = &to
	return commit
}

// trace is one step with the engine's seven keys.
func (m *machine) trace(kind string, data store.JSON, from *string, to string, actions []string) store.JSON {
	fromPath := store.Null
	if from != nil {
		fromPath = text(*from)
	}
	if data == "" {
		data = store.EmptyObject
	}
	return object(fields{
		{Key: "event_kind", Value: text(kind)}, {Key: "event_data", Value: data},
		{Key: "from_path", Value: fromPath}, {Key: "to_path", Value: text(to)}, {Key: "actions", Value: texts(actions...)},
		{Key: "context_out", Value: m.exe.Context}, {Key: "timestamp", Value: epoch(m.at)},
	})
}

func (m *machine) wait(after time.Duration) { m.at = m.at.Add(m.dice.about(after)) }

// commit stamps the execution and stores one event boundary.
func (m *machine) commit(c store.Commit) {
	if m.err != nil {
		return
	}
	if m.at.After(m.now) {
		m.fail(fmt.Errorf("the life of %s runs %v into the future", m.exe.ID, m.at.Sub(m.now)))
		return
	}
	if m.exe.CreatedAt == "" {
		m.exe.CreatedAt, m.exe.FinishedAt, m.exe.ExpiresAt = epoch(m.at), store.Null, store.Null
	}
	m.exe.UpdatedAt = epoch(m.at)
	if m.exe.Status == store.Done {
		m.exe.FinishedAt = epoch(m.at)
	}
	c.Execution = m.exe
	seqs, err := m.es.Commit(m.ctx, c)
	if err != nil {
		m.fail(fmt.Errorf("commit of %s: %w", m.exe.ID, err))
		return
	}
	for i, seq := range seqs {
		m.outbox = append(m.outbox, sent{seq, c.Emits[i].TargetID, c.Emits[i].Event})
	}
}

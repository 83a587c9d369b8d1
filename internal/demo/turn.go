package demo

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"treering/store"
	"treering/store/relay"
)

// turn is one event of one execution: what the chart does is gathered here, and
// becomes one commit.
type turn struct {
	p      *program
	now    time.Time
	exe    *store.Execution
	ev     store.Event
	commit store.Commit

	actions []string
	sent    int
	failed  error // of an action: the step is dropped, and the execution has FAILED
}

// fire has the machine take an event. It reports whether it did.
func (t *turn) fire(ctx context.Context, trigger string) (bool, error) {
	sm, ok := t.p.machines[t.exe.RootPath]
	if !ok {
		return false, fmt.Errorf("chart %s has no region %q, which %q runs", t.p.id, t.exe.RootPath, t.exe.ID)
	}
	if t.exe.ActivePath == nil || t.p.known[*t.exe.ActivePath] == nil {
		return false, fmt.Errorf("execution %q is nowhere in chart %s", t.exe.ID, t.p.id)
	}
	err := sm.FireCtx(context.WithValue(ctx, turnKey{}, t), trigger)
	if errors.Is(err, errNotTaken) {
		return false, nil
	}
	return err == nil, err
}

// act runs the actions of the edge that is taken.
func (t *turn) act(from, by, to string) {
	for p := from; ; p = parentPath(p) {
		for _, e := range t.p.edges {
			if e.from != p || e.to != to || trigger(e) != by {
				continue
			}
			for _, name := range e.actions {
				t.actions = append(t.actions, name)
				if t.failed = t.perform(name); t.failed != nil {
					return
				}
			}
			return
		}
		if p == "" {
			return
		}
	}
}

// enter arms what a state needs when it becomes active.
func (t *turn) enter(path string) {
	s := t.p.state(path)
	t.exe.History = put(t.exe.History, parentPath(path), t.p.word(path))
	if s.timeout > 0 {
		after := s.timeout
		if rests := t.p.rests[path]; rests != nil {
			after = rests(t.exe.Context)
		}
		t.commit.Timers = append(t.commit.Timers, store.TimerOp{Action: store.Schedule, Path: path, FireAt: seconds(t.now.Add(after))})
	}
	if s.regions != nil {
		t.fork(s)
	}
	if s.outcome != "" {
		outcome := s.outcome
		t.exe.Status, t.exe.Outcome = store.Done, &outcome
		t.report()
	}
}

// leave disarms it.
func (t *turn) leave(path string) {
	s := t.p.state(path)
	if s.timeout > 0 {
		t.commit.Timers = append(t.commit.Timers, store.TimerOp{Action: store.Cancel, Path: path})
	}
	if s.regions != nil {
		seq, _ := t.exe.InvokeSeq.Get(path).Int64()
		t.exe.InvokeSeq = put(t.exe.InvokeSeq, path, number(int(seq)+1))
		t.cancelRegions(path + " was left")
	}
}

// fork plans a child for each region; the relay makes them.
func (t *turn) fork(s *state) {
	seq, _ := t.exe.InvokeSeq.Get(s.path).Int64()
	var children []store.ChildState
	for _, r := range s.regions {
		id := relay.ChildID(t.exe.ID, r.path, seq)
		children = append(children, store.ChildState{ID: id, RootPath: r.path, Key: r.path})
		t.commit.Spawns = append(t.commit.Spawns, store.Spawn{ChildID: id, RootPath: r.path, Context: t.regionContext(r.path)})
	}
	t.exe.SetChildStates(children)
}

func (t *turn) cancelRegions(reason string) {
	for _, c := range t.exe.ChildStates() {
		if !c.Finished {
			t.send(c.ID, store.Event{Kind: store.CancelEvent, Data: object(fields{{Key: "reason", Value: text(reason)}})})
		}
	}
}

// send puts an event into the outbox. Its id follows from what sends it, so that a
// commit that is tried again sends the same.
func (t *turn) send(target string, ev store.Event) {
	h := sha256.New()
	h.Write([]byte(t.exe.ID))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(t.exe.Version)))
	h.Write([]byte(t.ev.ID))
	h.Write([]byte{0, byte(t.sent)})
	t.sent++
	ev.ID, ev.CreatedTime = hex.EncodeToString(h.Sum(nil)[:16]), iso(t.now)
	t.commit.Emits = append(t.commit.Emits, store.Emit{TargetID: &target, Event: ev})
}

// report tells the parent that this region is done, with what it carries home.
func (t *turn) report() {
	if t.exe.ParentID == nil {
		return
	}
	var carry []store.Member
	for _, r := range t.p.state(parentPath(t.exe.RootPath)).regions {
		if r.path == t.exe.RootPath {
			for _, key := range r.carry {
				carry = append(carry, store.Member{Key: key, Value: t.exe.Context.Get(key)})
			}
		}
	}
	t.send(*t.exe.ParentID, relay.Finished(t.exe.ID, t.exe.Outcome, carry...))
}

// join notes that a child is done, and goes on when all are. It reports whether
// there was anything to note.
func (t *turn) join(ctx context.Context) (bool, error) {
	id, _ := t.ev.Data.Get("child_id").Text()
	states := t.exe.ChildStates()
	i := slices.IndexFunc(states, func(c store.ChildState) bool { return c.ID == id })
	if i < 0 || states[i].Finished {
		return false, nil // of an entry that is over
	}
	var result fields
	for k, v := range t.ev.Data.Members() {
		if k != "child_id" && k != "outcome" {
			result = append(result, store.Member{Key: k, Value: v})
		}
	}
	states[i].Finished, states[i].Outcome, states[i].Result = true, textOf(t.ev.Data.Get("outcome")), object(result)
	t.exe.SetChildStates(states)
	var results fields
	for _, c := range states {
		if !c.Finished {
			return true, nil
		}
		outcome := store.Null
		if c.Outcome != nil {
			outcome = text(*c.Outcome)
		}
		of := fields{{Key: "outcome", Value: outcome}}
		for k, v := range c.Result.Members() {
			of = append(of, store.Member{Key: k, Value: v})
		}
		results = append(results, store.Member{Key: c.Key, Value: object(of)})
	}
	t.exe.Context = put(t.exe.Context, "region_results", object(results))
	_, err := t.fire(ctx, automatic)
	return true, err
}

// cancel ends the execution without ceremony.
func (t *turn) cancel() {
	at := ""
	if t.exe.ActivePath != nil {
		at = *t.exe.ActivePath
	}
	for p := at; p != "" && p != t.exe.RootPath; p = parentPath(p) {
		if t.p.state(p).timeout > 0 {
			t.commit.Timers = append(t.commit.Timers, store.TimerOp{Action: store.Cancel, Path: p})
		}
	}
	if t.p.state(at).regions != nil {
		t.cancelRegions("the parent was cancelled")
	}
	outcome := "cancelled"
	t.exe.Status, t.exe.Outcome = store.Cancelled, &outcome
}

// start enters the initial state.
func (t *turn) start() error {
	if t.p.machines[t.exe.RootPath] == nil {
		return fmt.Errorf("chart %s has no region %q", t.p.id, t.exe.RootPath)
	}
	initial := t.p.initialOf(t.exe.RootPath)
	t.exe.Status = store.Running
	for _, path := range entered(t.exe.RootPath, initial) {
		t.enter(path)
	}
	t.exe.ActivePath = &initial
	t.exe.History = store.EmptyObject // nothing was left yet
	return nil
}

// done is the commit, stamped and traced.
func (t *turn) done(kind string, from *string) store.Commit {
	at := epoch(t.now)
	e := t.exe
	if e.CreatedAt.IsNull() {
		e.CreatedAt, e.FinishedAt, e.ExpiresAt = at, store.Null, store.Null
	}
	e.UpdatedAt = at
	if e.Status.Is(store.Done) || e.Status.Is(store.Cancelled) {
		e.FinishedAt = at
	}
	data, fromPath, to := t.ev.Data, store.Null, ""
	if data == "" {
		data = store.EmptyObject
	}
	if from != nil {
		fromPath = t.p.word(*from)
	}
	if e.ActivePath != nil {
		to = *e.ActivePath
	}
	t.commit.Execution = e
	var room [8]store.JSON
	actions := room[:0]
	for _, name := range t.actions {
		actions = append(actions, t.p.word(name))
	}
	t.commit.Trace = object(fields{
		{Key: "event_kind", Value: t.p.word(kind)}, {Key: "event_data", Value: data}, {Key: "from_path", Value: fromPath},
		{Key: "to_path", Value: t.p.word(to)}, {Key: "actions", Value: list(actions...)},
		{Key: "context_out", Value: e.Context}, {Key: "timestamp", Value: at},
	})
	return t.commit
}

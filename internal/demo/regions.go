package demo

import (
	"fmt"
	"slices"
	"time"

	"treering/store"
)

// enterRegions plans one child for each region of an AND-state: the join is
// bookkept in the parent, the creation is left to the relay.
func (m *machine) enterRegions(s *state, contexts map[string]fields) []store.Spawn {
	seq, _ := m.exe.InvokeSeq.Get(s.path).Int64()
	var children []store.ChildState
	var spawns []store.Spawn
	for _, r := range s.regions {
		id := fmt.Sprintf("%s:%s:%d", m.exe.ID, r.path, seq)
		children = append(children, store.ChildState{ID: id, RootPath: r.path, Key: r.path})
		spawns = append(spawns, store.Spawn{ChildID: id, RootPath: r.path, Context: object(contexts[r.path])})
	}
	m.exe.SetChildStates(children)
	return spawns
}

// leaveRegions counts the entry as over and cancels the regions that still run.
func (m *machine) leaveRegions(s *state) []store.Emit {
	seq, _ := m.exe.InvokeSeq.Get(s.path).Int64()
	m.exe.InvokeSeq = put(m.exe.InvokeSeq, s.path, number(int(seq)+1))
	var cancels []store.Emit
	for _, c := range m.exe.ChildStates() {
		if !c.Finished {
			cancels = append(cancels, store.Emit{TargetID: &c.ID, Event: m.event("Cancel", m.at, fields{{Key: "reason", Value: text(s.path + " was left")}})})
		}
	}
	return cancels
}

// fork relays the pending spawns of a parent: it creates each child and removes
// the intent.
func (m *machine) fork(after time.Duration) []*machine {
	if m.err != nil {
		return nil
	}
	var children []*machine
	list := func(p store.PageRequest) (store.Page[store.SpawnEntry], error) {
		return m.es.ListSpawns(m.ctx, store.QueueFilter{ExecutionID: &m.exe.ID}, p)
	}
	expected := m.exe.ChildStates()
	var waiting []store.SpawnEntry
	err := store.All(list, func(s store.SpawnEntry) error {
		if slices.ContainsFunc(expected, func(c store.ChildState) bool { return c.ID == s.ChildID }) {
			waiting = append(waiting, s)
		}
		return nil
	})
	if err != nil {
		m.fail(err)
		return nil
	}
	for _, s := range waiting {
		child := &machine{seeder: m.seeder, chart: m.chart, at: m.at, exe: &store.Execution{
			ID: s.ChildID, ChildID: &s.ChildID, ParentID: &m.exe.ID, DefinitionID: m.chart.id,
			RootPath: s.RootPath, Priority: m.exe.Priority, Context: s.Context,
		}}
		child.wait(after)
		child.run(store.Commit{})
		if m.err == nil {
			if _, err := m.es.AckSpawn(m.ctx, s.Seq); err != nil {
				m.fail(err)
			}
		}
		children = append(children, child)
	}
	return children
}

// finish tells the parent of an execution that reached a final state, with what
// the region carries over.
func (m *machine) finish() []store.Emit {
	if m.exe.ParentID == nil {
		return nil
	}
	data := fields{{Key: "child_id", Value: text(m.exe.ID)}, {Key: "outcome", Value: text(*m.exe.Outcome)}}
	for _, r := range m.chart.state(parentPath(m.exe.RootPath)).regions {
		if r.path != m.exe.RootPath {
			continue
		}
		for _, key := range r.carry {
			data = append(data, store.Member{Key: key, Value: m.exe.Context.Get(key)})
		}
	}
	return []store.Emit{{TargetID: m.exe.ParentID, Event: m.event("Finished", m.at, data)}}
}

// join relays the Finished events that wait for a parent. With acked unset the
// relay died between the delivery and the acknowledgement, so the entries stay.
func (m *machine) join(after time.Duration, acked bool) {
	for _, entry := range m.waitingFor(m.exe.ID) {
		m.wait(after)
		if m.err != nil {
			return
		}
		ev := entry.event
		childID, _ := ev.Data.Get("child_id").Text()
		states := m.exe.ChildStates()
		i := slices.IndexFunc(states, func(c store.ChildState) bool { return c.ID == childID })
		if ev.Kind != "Finished" || i < 0 {
			m.fail(fmt.Errorf("%s waits for %s, which %s cannot join", ev.Kind, m.exe.ID, childID))
			return
		}
		states[i].Finished, states[i].Outcome = true, textOf(ev.Data.Get("outcome"))
		var result fields
		for k, v := range ev.Data.Members() {
			if k != "child_id" && k != "outcome" {
				result = append(result, store.Member{Key: k, Value: v})
			}
		}
		states[i].Result = object(result)
		m.exe.SetChildStates(states)
		at := *m.exe.ActivePath
		m.commit(store.Commit{ProcessedEventID: &ev.ID, Trace: m.trace(ev.Kind, ev.Data, &at, at, nil)})
		if acked {
			m.ack(entry.seq)
		}
	}
}

// broadcast delivers one event to a parent in an AND-state: each live region gets
// it under the same id, and the parent only notes that it was there.
func (m *machine) broadcast(children []*machine, st step) {
	m.wait(st.after)
	ev := m.event(st.kind, m.at, st.data)
	for _, c := range children {
		c.at = m.at
		if m.err != nil || c.exe.Status != store.Running {
			continue
		}
		if _, err := m.chart.edge(c.exe.RootPath, *c.exe.ActivePath, ev.Kind); err == nil {
			c.handle(ev, st)
		} else {
			c.ignore(ev)
		}
	}
	m.commit(store.Commit{ProcessedEventID: &ev.ID})
}

func textOf(v store.JSON) *string {
	if s, ok := v.Text(); ok {
		return &s
	}
	return nil
}

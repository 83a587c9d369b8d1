package check

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"treering/store"
)

// Options say what to look at.
type Options struct {
	// Now is the time that timers are compared with; the zero time means the present.
	Now time.Time
	// Grace is how long an outbox entry may wait to be taken, and how long a timer may
	// be due, before nobody seems to care. 0 means a minute: workers come round every
	// few seconds.
	Grace time.Duration
	// Quick leaves out the trace rings, which are the most of a store.
	Quick bool
}

// relation is what is kept of every execution.
type relation struct {
	status store.Status
	parent *string
	bad    bool
}

// Executions looks through the executions and their queues. It stops at the first
// error of visit or of the store.
func Executions(ctx context.Context, es store.ExecutionStore, o Options, r *Report, visit func(Finding) error) error {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if o.Grace == 0 {
		o.Grace = time.Minute
	}
	c := &executions{checker: checker{visit, r}, es: es, o: o, all: map[string]relation{}, due: map[string]bool{}}
	for _, step := range []func(context.Context) error{c.rows, c.families, c.stuck, c.traces, c.spawns, c.outbox, c.timers} {
		// A foreign set may lack a table: what is not there holds nothing wrong.
		if err := step(ctx); err != nil && !errors.Is(err, store.ErrMissingTable) {
			return err
		}
	}
	return nil
}

type executions struct {
	checker
	es  store.ExecutionStore
	o   Options
	all map[string]relation
	ids []string        // in the store's order
	due map[string]bool // children that a spawn is waiting to make
}

func (c *executions) rows(ctx context.Context) error {
	return store.All(func(p store.PageRequest) (store.Page[store.Summary], error) {
		return c.es.ListExecutions(ctx, store.ExecutionFilter{}, p)
	}, func(s store.Summary) error {
		c.r.Executions++
		c.all[s.ID] = relation{s.Status, s.ParentID, s.Bad != nil}
		c.ids = append(c.ids, s.ID)
		if s.Bad != nil {
			if err := c.bad("executions", s.ID, "", s.Bad); err != nil {
				return err
			}
		}
		for _, d := range s.Drift {
			if err := c.found(Finding{Drifted, Error, "executions", s.ID, "", d.String()}); err != nil {
				return err
			}
		}
		return nil
	})
}

// families follows every execution to its root. What was walked is remembered, so
// that a long line costs no more than its length.
func (c *executions) families(ctx context.Context) error {
	const walking, done = 1, 2
	state := map[string]uint8{}
	var path []string
	for _, id := range c.ids {
		path = path[:0]
		at, cyclic := id, false
		for state[at] == 0 {
			state[at] = walking
			path = append(path, at)
			parent := c.all[at].parent
			if parent == nil {
				break
			}
			if _, known := c.all[*parent]; !known {
				there, err := c.look(ctx, *parent)
				if err != nil {
					return err
				}
				if !there {
					text := fmt.Sprintf("its parent %q is not there", *parent)
					if err := c.found(Finding{LostParent, Warning, "executions", at, "", text}); err != nil {
						return err
					}
					break
				}
			}
			at = *parent
			cyclic = state[at] == walking
		}
		if cyclic {
			text := fmt.Sprintf("is its own ancestor, through %d executions", len(path)-slices.Index(path, at))
			if err := c.found(Finding{FamilyCycle, Error, "executions", at, "", text}); err != nil {
				return err
			}
		}
		for _, p := range path {
			state[p] = done
		}
	}
	return nil
}

// look reads whether an execution that the list did not show is there now: it may
// have come behind the cursor.
func (c *executions) look(ctx context.Context, id string) (there bool, err error) {
	s, _, err := store.Inspect(ctx, c.es, id)
	var bad *store.RowError
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	case errors.As(err, &bad):
		c.all[id] = relation{bad: true}
		return true, nil
	case err != nil:
		return false, err
	}
	c.all[id] = relation{s.Status, s.ParentID, false}
	return true, nil
}

// stuck finds parents that wait for a child that ended without a word: only a child
// that is done sends Finished.
func (c *executions) stuck(ctx context.Context) error {
	waited := map[string][]string{}
	for _, id := range c.ids {
		rel := c.all[id]
		if rel.parent != nil && (rel.status.Is(store.Failed) || rel.status.Is(store.Cancelled)) {
			waited[*rel.parent] = append(waited[*rel.parent], id)
		}
	}
	for _, parent := range c.ids {
		children := waited[parent]
		if len(children) == 0 || ended(c.all[parent].status) {
			continue
		}
		s, exe, err := store.Inspect(ctx, c.es, parent)
		var bad *store.RowError
		switch {
		case errors.Is(err, store.ErrNotFound), errors.As(err, &bad):
			continue // gone meanwhile, or reported as a bad row
		case err != nil:
			return err
		case exe == nil || ended(s.Status):
			continue
		}
		for _, child := range exe.ChildStates() {
			if child.Finished || !slices.Contains(children, child.ID) {
				continue
			}
			text := fmt.Sprintf("waits for %q, which is %s and will not report back", child.ID, c.all[child.ID].status)
			if err := c.found(Finding{Stuck, Error, "executions", parent, "", text}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *executions) traces(ctx context.Context) error {
	if c.o.Quick {
		return nil
	}
	for _, id := range c.ids {
		steps, err := c.es.ReadTrace(ctx, id)
		if err != nil {
			return err
		}
		for _, t := range steps {
			c.r.Steps++
			if t.Bad != nil {
				if err := c.bad("trace", fmt.Sprintf("%d", t.Index), id, t.Bad); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// target says what is wrong with an execution that something is for, or "".
func (c *executions) target(ctx context.Context, id string) (wrong string, err error) {
	if _, known := c.all[id]; !known {
		there, err := c.look(ctx, id)
		if err != nil {
			return "", err
		}
		if !there && c.due[id] {
			return "", nil
		}
		if !there {
			return fmt.Sprintf("%q is not there", id), nil
		}
	}
	if rel := c.all[id]; !rel.bad && ended(rel.status) {
		return fmt.Sprintf("%q is %s", id, rel.status), nil
	}
	return "", nil
}

func (c *executions) outbox(ctx context.Context) error {
	return store.All(func(p store.PageRequest) (store.Page[store.OutboxEntry], error) {
		return c.es.ListOutbox(ctx, store.QueueFilter{}, p)
	}, func(e store.OutboxEntry) error {
		c.r.Entries++
		seq := seqText(e.Seq)
		if e.Bad != nil {
			return c.bad("outbox", seq, "", e.Bad)
		}
		if e.TargetID == nil {
			return c.undrained(e)
		}
		wrong, err := c.target(ctx, *e.TargetID)
		if err != nil {
			return err
		}
		if wrong != "" {
			return c.found(Finding{Undeliverable, Warning, "outbox", seq, "", fmt.Sprintf("%s is for an execution that will not take it: %s", e.Event.Kind, wrong)})
		}
		handled, err := c.es.IsProcessed(ctx, *e.TargetID, e.Event.ID)
		if err != nil {
			return err
		}
		if handled && e.Event.ID != "" {
			return c.found(Finding{AlreadyHandled, Warning, "outbox", seq, "", fmt.Sprintf("%s was handled by %q already: it waits only to be acknowledged", e.Event.Kind, *e.TargetID)})
		}
		if c.all[*e.TargetID].status.Is(store.Suspended) {
			return nil // it has to wait
		}
		return c.undrained(e)
	})
}

// undrained finds entries that could have been taken for long, where they say when they
// were made.
func (c *executions) undrained(e store.OutboxEntry) error {
	at, known := e.Event.Created()
	if by := c.o.Now.Sub(at); known && by > c.o.Grace {
		return c.found(Finding{Undrained, Warning, "outbox", seqText(e.Seq), "", fmt.Sprintf("%s was made %s ago: nobody drains", e.Event.Kind, span(by.Seconds()))})
	}
	return nil
}

func (c *executions) spawns(ctx context.Context) error {
	return store.All(func(p store.PageRequest) (store.Page[store.SpawnEntry], error) {
		return c.es.ListSpawns(ctx, store.QueueFilter{}, p)
	}, func(e store.SpawnEntry) error {
		c.r.Entries++
		seq := seqText(e.Seq)
		if e.Bad != nil {
			return c.bad("spawns", seq, "", e.Bad)
		}
		if _, known := c.all[e.ParentID]; !known {
			there, err := c.look(ctx, e.ParentID)
			if err != nil {
				return err
			}
			if !there {
				return c.found(Finding{LostSpawn, Warning, "spawns", seq, "", fmt.Sprintf("%q, which asked for %q, is not there", e.ParentID, e.ChildID)})
			}
		}
		c.due[e.ChildID] = true
		if _, there := c.all[e.ChildID]; there {
			return c.found(Finding{AlreadySpawned, Warning, "spawns", seq, "", fmt.Sprintf("%q is there already: it waits only to be acknowledged", e.ChildID)})
		}
		return nil
	})
}

func (c *executions) timers(ctx context.Context) error {
	now := float64(c.o.Now.UnixMilli()) / 1000
	return store.All(func(p store.PageRequest) (store.Page[store.Timer], error) {
		return c.es.ListTimers(ctx, store.QueueFilter{}, p)
	}, func(t store.Timer) error {
		c.r.Timers++
		if t.Bad != nil {
			return c.bad("timers", t.ExecutionID, t.Path, t.Bad)
		}
		wrong, err := c.target(ctx, t.ExecutionID)
		if err != nil {
			return err
		}
		if wrong != "" {
			return c.found(Finding{LostTimer, Warning, "timers", t.ExecutionID, t.Path, "its execution takes no more events: " + wrong})
		}
		if by := now - t.FireAt; by > c.o.Grace.Seconds() && !math.IsInf(t.FireAt, 0) {
			return c.found(Finding{Overdue, Warning, "timers", t.ExecutionID, t.Path, "is overdue by " + span(by) + ": nobody sweeps"})
		}
		return nil
	})
}

// span writes a time in its two largest units.
func span(seconds float64) string {
	const day = 24 * 60 * 60
	s := int64(min(seconds, 1e12))
	switch {
	case s >= day:
		return fmt.Sprintf("%dd%dh", s/day, s%day/3600)
	case s >= 3600:
		return fmt.Sprintf("%dh%dm", s/3600, s%3600/60)
	case s >= 60:
		return fmt.Sprintf("%dm%ds", s/60, s%60)
	}
	return fmt.Sprintf("%ds", s)
}

package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/qmuntal/stateless"

	"treering/store"
	"treering/store/relay"
)

// What an execution of the running system gives up after: short enough for somebody
// who watches.
const (
	cartIdles       = 60 * time.Second
	paymentLasts    = 45 * time.Second
	declinedRests   = 2 * time.Second // doubles with every attempt
	fulfilmentLasts = 3 * time.Minute
	invoiceReminds  = 30 * time.Second
	parcelLost      = 60 * time.Second
	queueLasts      = 60 * time.Second
	fetchLasts      = 20 * time.Second
	compileStalls   = 20 * time.Second
	buildLasts      = 10 * time.Minute
	buildRests      = time.Second // doubles with every attempt
	testsHang       = 30 * time.Second
	maxRests        = 16 * time.Second
	compileTries    = 4
)

// program is a chart with what it takes to run it. The state machines hold nothing
// of an execution: what they are to work on comes with the context, so that one
// machine serves all executions of a root.
type program struct {
	*chart
	rests    map[string]func(store.JSON) time.Duration // of a timer, by the context
	guards   map[edgeKey]func(store.JSON) bool
	machines map[string]*stateless.StateMachine // by root
	known    map[string]stateless.State         // the paths, each as the machines want it
	words    map[string]store.JSON              // the chart's own names as JSON
}

type edgeKey struct{ from, event, to string }

// retimed sets the timeouts of states, and adds those that had nothing to be said of.
func (c *chart) retimed(path string, after time.Duration) {
	for i := range c.states {
		if c.states[i].path == path {
			c.states[i].timeout = after
			return
		}
	}
	c.states = append(c.states, state{path: path, timeout: after})
}

// runningOrder is the order's chart with the ends that only time brings.
func runningOrder() *program {
	c := orderChart()
	for path, after := range map[string]time.Duration{
		"Cart": cartIdles, "Payment": paymentLasts, "Payment.Retrying": declinedRests, "Fulfilment": fulfilmentLasts,
		"Fulfilment.Billing.Invoicing": invoiceReminds, "Shipped": parcelLost,
	} {
		c.retimed(path, after)
	}
	c.states = append(c.states, state{path: "Returned", outcome: "returned"})
	c.edges = append(c.edges,
		edge{"Cart", relay.TimeoutKind, "Abandoned", []string{"shop.stock.release"}},
		edge{"Shipped", relay.TimeoutKind, "Returned", []string{"shop.pay.refund"}},
		edge{"Fulfilment.Billing.Invoicing", relay.TimeoutKind, "Fulfilment.Billing.Invoicing", []string{"shop.bill.remind"}},
	)
	p := &program{chart: c, rests: map[string]func(store.JSON) time.Duration{
		"Payment.Retrying": func(j store.JSON) time.Duration { return doubling(declinedRests, j.At("payment", "attempts")) },
	}}
	return p.built()
}

// runningBuild is the build's chart with a watchdog on the compilation, and an end
// to its attempts.
func runningBuild() *program {
	c := buildChart()
	for path, after := range map[string]time.Duration{
		"Queued": queueLasts, "Fetching": fetchLasts, "Building": buildLasts, "Building.Compiling": compileStalls, "Building.Backoff": buildRests, "Testing": testsHang,
	} {
		c.retimed(path, after)
	}
	c.edges = append(c.edges,
		edge{"Queued", relay.TimeoutKind, "Failed", []string{"ci.notify.red"}},
		edge{"Building.Compiling", "CompileFailed", "Failed", []string{"ci.sandbox.discard", "ci.notify.red"}},
		edge{"Building.Compiling", relay.TimeoutKind, "Building.Backoff", []string{"ci.retry.plan"}},
		edge{"Building.Compiling", relay.TimeoutKind, "Failed", []string{"ci.sandbox.discard", "ci.notify.red"}},
	)
	more := func(j store.JSON) bool { n, _ := j.Get("attempt").Int64(); return n < compileTries }
	enough := func(j store.JSON) bool { return !more(j) }
	p := &program{chart: c,
		rests: map[string]func(store.JSON) time.Duration{
			"Building.Backoff": func(j store.JSON) time.Duration { return doubling(buildRests, j.Get("attempt")) },
		},
		guards: map[edgeKey]func(store.JSON) bool{
			{"Building.Compiling", "CompileFailed", "Building.Backoff"}:   more,
			{"Building.Compiling", "CompileFailed", "Failed"}:             enough,
			{"Building.Compiling", relay.TimeoutKind, "Building.Backoff"}: more,
			{"Building.Compiling", relay.TimeoutKind, "Failed"}:           enough,
		},
	}
	return p.built()
}

// doubling is a backoff that doubles with every attempt after the first.
func doubling(first time.Duration, attempts store.JSON) time.Duration {
	n, _ := attempts.Int64()
	return min(first<<min(max(n-1, 0), 6), maxRests)
}

// trigger is what an edge is known by in a machine. A timer belongs to one path, and
// must not take the edge of a state further in.
func trigger(e edge) string {
	if e.event == relay.TimeoutKind {
		return timeoutAt(e.from)
	}
	return e.event
}

func timeoutAt(path string) string { return relay.TimeoutKind + " " + path }

// built makes the machines: one for the whole, and one for each region.
func (p *program) built() *program {
	p.known, p.machines = map[string]stateless.State{}, map[string]*stateless.StateMachine{}
	for _, path := range p.paths() {
		p.known[path] = path
	}
	p.words = map[string]store.JSON{}
	for path := range p.known {
		p.words[path] = text(path)
	}
	for _, e := range p.edges {
		p.words[e.event] = text(e.event)
		for _, name := range e.actions {
			p.words[name] = text(name)
		}
	}
	roots := []string{""}
	for _, s := range p.states {
		for _, r := range s.regions {
			roots = append(roots, r.path)
		}
	}
	for _, root := range roots {
		p.machines[root] = p.machine(root)
	}
	return p
}

// word is text for what is mostly one of the chart's names.
func (p *program) word(s string) store.JSON {
	if w := p.words[s]; w != "" {
		return w
	}
	return text(s)
}

// paths lists every state of the chart, regions among them.
func (p *program) paths() []string {
	var out []string
	add := func(path string) {
		for ; path != "" && !slices.Contains(out, path); path = parentPath(path) {
			out = append(out, path)
		}
	}
	for _, s := range p.states {
		add(s.path)
		for _, r := range s.regions {
			add(r.initial)
		}
	}
	for _, e := range p.edges {
		add(e.from)
		add(e.to)
	}
	slices.Sort(out)
	return out
}

// of reports whether a path belongs to the machine of a root: what lies in a region
// belongs to the region's own.
func (p *program) of(root, path string) bool {
	if path == root || !within(path, root) {
		return false
	}
	for _, s := range p.states {
		for _, r := range s.regions {
			if within(path, r.path) && r.path != root && within(r.path, root) {
				return false
			}
		}
	}
	return true
}

// machine configures the states below a root.
func (p *program) machine(root string) *stateless.StateMachine {
	sm := stateless.NewStateMachineWithExternalStorage(
		func(ctx context.Context) (stateless.State, error) {
			t, err := turnOf(ctx)
			if err != nil {
				return nil, err
			}
			if t.exe.ActivePath == nil {
				return nil, fmt.Errorf("execution %q was never started", t.exe.ID)
			}
			if known := p.known[*t.exe.ActivePath]; known != nil {
				return known, nil
			}
			return *t.exe.ActivePath, nil
		},
		func(ctx context.Context, to stateless.State) error {
			t, err := turnOf(ctx)
			if err != nil {
				return err
			}
			path, ok := to.(string)
			if !ok {
				return fmt.Errorf("state %v is no path", to)
			}
			t.exe.ActivePath = &path
			return nil
		}, stateless.FiringImmediate)
	sm.OnUnhandledTrigger(func(context.Context, stateless.State, stateless.Trigger, []string) error { return errNotTaken })
	sm.OnTransitioning(func(ctx context.Context, tr stateless.Transition) {
		if t, err := turnOf(ctx); err == nil {
			t.act(tr.Source.(string), tr.Trigger.(string), tr.Destination.(string))
		}
	})
	for _, path := range p.paths() {
		if !p.of(root, path) {
			continue
		}
		cfg := sm.Configure(path)
		if up := parentPath(path); p.of(root, up) && up != "" {
			cfg.SubstateOf(up)
		}
		cfg.OnEntry(func(ctx context.Context, _ ...any) error {
			t, err := turnOf(ctx)
			if err == nil {
				t.enter(path)
			}
			return err
		})
		cfg.OnExit(func(ctx context.Context, _ ...any) error {
			t, err := turnOf(ctx)
			if err == nil {
				t.leave(path)
			}
			return err
		})
		for _, e := range p.edges {
			if e.from != path {
				continue
			}
			var guards []stateless.GuardFunc
			if g := p.guards[edgeKey{e.from, e.event, e.to}]; g != nil {
				guards = append(guards, func(ctx context.Context, _ ...any) bool {
					t, err := turnOf(ctx)
					return err == nil && g(t.exe.Context)
				})
			}
			if e.to == e.from {
				cfg.PermitReentry(trigger(e), guards...)
			} else {
				cfg.Permit(trigger(e), e.to, guards...)
			}
		}
	}
	return sm
}

// errNotTaken: the chart does nothing with the event here.
var errNotTaken = errors.New("the active state does not take it")

type turnKey struct{}

func turnOf(ctx context.Context) (*turn, error) {
	t, ok := ctx.Value(turnKey{}).(*turn)
	if !ok {
		return nil, errors.New("a chart was fired without an execution")
	}
	return t, nil
}

package ui

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/store"
	"treering/store/locate"
	"treering/tracefeed"
)

// explorer is the model of the store that is open, until another store is opened:
// then a new model takes its place, and the old one's store is closed as soon as
// no command works on it any more. What commands of an old model bring back is
// dropped.
type explorer struct {
	*stay
	ctx     context.Context
	open    Opener
	arrive  func(context.Context, *locate.Opened) arrival
	closing sync.WaitGroup

	mu     sync.Mutex
	guests []*locate.Opened // opened here, to be closed here
}

// Opener opens another store, by its locator and, where a file holds several sets
// of execution tables, the prefix of one.
type Opener func(ctx context.Context, locator string, prefix *string) (*locate.Opened, error)

// stay is one store's time on the screen.
type stay struct {
	m         *Model
	cancel    context.CancelFunc
	crew      *crew
	opened    *locate.Opened
	unobserve func()
}

// arrival is another store, ready to be looked at.
type arrival struct {
	opened    *locate.Opened
	feed      *tracefeed.Feed
	unobserve func()
}

// arrive makes a store that was opened ready: it is followed from here on.
func arrive(ctx context.Context, o *locate.Opened, now func() time.Time) arrival {
	a := arrival{opened: o, unobserve: func() {}}
	if seen, ok := o.Executions.(store.Observed); ok {
		a.unobserve = seen.Observe()
	}
	if o.Watcher != nil {
		a.feed = newFeed(o, now)
		a.feed.Prime(ctx)
	}
	return a
}

func newExplorer(ctx context.Context, c config, open Opener, a arrival) *explorer {
	e := &explorer{ctx: ctx, open: open, arrive: func(ctx context.Context, o *locate.Opened) arrival { return arrive(ctx, o, c.now) }}
	e.stay = e.begin(c, a)
	return e
}

// begin makes the model of a store.
func (e *explorer) begin(c config, a arrival) *stay {
	s := &stay{opened: a.opened, unobserve: a.unobserve, crew: newCrew()}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(e.ctx)
	c.opened, c.feed, c.open = a.opened, a.feed, nil
	if e.stay != nil {
		c.story = nil
		c.driver = nil // it runs on the store that was open before
	}
	if e.open != nil {
		c.open = e.visit
	}
	s.m = newModel(ctx, c)
	return s
}

// visit opens a store. Whatever becomes of what it returns, the store is closed at
// the end.
func (e *explorer) visit(ctx context.Context, locator string, prefix *string) (arrival, error) {
	o, err := e.open(ctx, locator, prefix)
	if err != nil {
		return arrival{}, err
	}
	e.mu.Lock()
	e.guests = append(e.guests, o)
	e.mu.Unlock()
	if err := ctx.Err(); err != nil { // nobody waits for it any more
		return arrival{}, errors.Join(err, e.dismiss(o))
	}
	return e.arrive(ctx, o), nil
}

// dismiss closes a store.
func (e *explorer) dismiss(o *locate.Opened) error {
	e.mu.Lock()
	for i, g := range e.guests {
		if g == o {
			e.guests = append(e.guests[:i], e.guests[i+1:]...)
			break
		}
	}
	e.mu.Unlock()
	return o.Close()
}

// end gives up what is open, but for a store that was not opened here.
func (e *explorer) end() error {
	e.cancel()
	e.crew.end(closeAfter)
	e.closing.Wait()
	e.unobserve()
	err := e.m.memorise()
	e.mu.Lock()
	guests := e.guests
	e.guests = nil
	e.mu.Unlock()
	for _, g := range guests {
		err = errors.Join(err, g.Close())
	}
	return err
}

func (e *explorer) Init() tea.Cmd { return e.own(e.stay, e.m.Init()) }

func (e *explorer) View() tea.View { return e.m.View() }

func (e *explorer) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if o, ok := msg.(owned); ok {
		if o.by != e.stay {
			return e, nil
		}
		msg = o.answer
	}
	_, cmd := e.m.Update(msg)
	if e.m.next == nil {
		return e, e.own(e.stay, cmd)
	}
	// What the old model wants now is of no use to anybody.
	old := e.stay
	e.stay = e.begin(old.m.made, *old.m.next)
	e.m.inherit(old.m)
	return e, tea.Batch(e.own(e.stay, e.m.Init()), e.own(e.stay, e.leave(old)))
}

// closeAfter is how long the commands of an old model have to end once they were
// cancelled. What does not end by then meets a closed store.
const closeAfter = 5 * time.Second

// leave ends a stay.
func (e *explorer) leave(old *stay) tea.Cmd {
	old.cancel()
	e.closing.Add(1)
	return func() tea.Msg {
		defer e.closing.Done()
		old.crew.end(closeAfter)
		old.unobserve()
		err := errors.Join(old.m.memorise(), e.dismiss(old.opened))
		if err == nil {
			return nil
		}
		name := old.m.info.Name
		return answerFunc(func(m *Model) tea.Cmd {
			m.sayStyled(m.theme.Error, fmt.Sprintf("close %s: %v", name, err))
			return nil
		})
	}
}

// owned is an answer to the model of one stay.
type owned struct {
	by     *stay
	answer answer
}

// own makes a command one of a stay's: it counts as long as it runs, and what it
// brings back is for that stay's model.
func (e *explorer) own(by *stay, cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		if !by.crew.enter() {
			return nil
		}
		defer by.crew.leave()
		msg := cmd()
		if a, ok := msg.(answer); ok {
			return owned{by, a}
		}
		if b, ok := msg.(background); ok {
			return background{b.wait, e.own(by, b.do)}
		}
		// Batches, and sequences, whose type is not exported, are lists of commands.
		v := reflect.ValueOf(msg)
		if !v.IsValid() || v.Kind() != reflect.Slice || v.Type().Elem() != reflect.TypeFor[tea.Cmd]() {
			return msg
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			if inner, ok := v.Index(i).Interface().(tea.Cmd); ok && inner != nil {
				out.Index(i).Set(reflect.ValueOf(e.own(by, inner)))
			}
		}
		return out.Interface()
	}
}

// crew counts the commands that are at work.
type crew struct {
	mu    sync.Mutex
	n     int
	ended bool
	idle  chan struct{} // closed when it ended and nobody is at work
}

func newCrew() *crew { return &crew{idle: make(chan struct{})} }

// enter reports whether a command may begin.
func (c *crew) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.n++
	return true
}

func (c *crew) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 && c.ended {
		close(c.idle)
	}
}

// end lets no command begin any more, and waits for those at work.
func (c *crew) end(atMost time.Duration) {
	c.mu.Lock()
	if !c.ended {
		c.ended = true
		if c.n == 0 {
			close(c.idle)
		}
	}
	c.mu.Unlock()
	t := time.NewTimer(atMost)
	defer t.Stop()
	select {
	case <-c.idle:
	case <-t.C:
	}
}

package tracefeed

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"treering/store"
)

// DefaultBudget is how long a feed reads lists within one frame, at most one page
// more.
const DefaultBudget = 8 * time.Millisecond

// FeedOptions say what to follow. Only Watcher is needed, and what is followed in it.
type FeedOptions struct {
	Watcher    store.Watcher
	Executions store.ExecutionStore
	Trees      store.TreeStore

	Rings         []Follow // traces of single executions, each with the state of its execution
	AllExecutions bool     // the summaries of all
	Queues        bool     // outbox, spawns, timers
	Sessions      bool     // session trees, and the numbers of their nodes

	// Most is how many rows of a list are compared; of a longer one only [Stirred] is
	// told. 0: lists are compared whatever their length.
	Most int
	// Counts: [Counted] is told beside the changes of executions and queues.
	Counts bool
	// Changes: a batch comes with every change of the store, whether it has facts or not.
	Changes bool
	// Uncounted: the nodes of session trees are not counted, and are 0. Somebody else's
	// store may have to read all of a tree for that.
	Uncounted bool
	// Rest is how many times as long as a list took to compare it is left alone
	// afterwards, so that a store that is written to all the time does not use up a core;
	// 0: not at all.
	Rest int

	Frame  time.Duration // between two batches at least; 0 means [DefaultFrame]
	Budget time.Duration // of one frame for lists; 0 means [DefaultBudget]
	Now    func() time.Time
	// Sleep waits, or returns the context's error once it is done.
	Sleep func(context.Context, time.Duration) error
}

// Follow names a trace to follow.
type Follow struct {
	Execution string
	From      *int64 // see [NewAccount]
}

// Batch is what became known at one time.
type Batch struct {
	At    time.Time
	Facts []Fact // at least one, but with [FeedOptions.Changes]
	// Changed: the store may hold something else than at the batch before.
	Changed bool
	// Behind is how many rows of long lists have changed or may have, and were not
	// compared yet; Since is when the store told so. 0: nothing is known that was not
	// looked at.
	Behind int
	Since  time.Time
}

// Feed follows a store: it waits for changes, reads what it was asked to follow, and
// tells what is different. Steps are accounted for one by one (see [Account]). Lists
// are compared with what they were, as far as the budget of a frame allows and in the
// next frame from there on; of an execution that was committed to several times
// between two looks the last state is told, and by the versions how many there were.
//
// It holds no transaction and no cursor between two readings. It belongs to one
// goroutine at a time.
type Feed struct {
	o        FeedOptions
	poll     *Poll
	waiter   store.Waiter // nil: the store does not tell its identity
	identity string
	rings    []*followed
	surveys  []survey
	sessions *sessionSurvey // nil: not followed; one of surveys
	turn     int            // the survey whose page is next
	began    bool
	primed   bool      // [Feed.Prime] was called
	behind   bool      // the last batch said so
	stirred  bool      // something changed before all lists were read
	moved    time.Time // of the change that is not looked at whole; zero: none
	read     time.Time // the last reading
	failed   failure
}

// failure is a store that tells of changes and cannot be read, such as one whose tables
// have other names by now.
type failure struct {
	since time.Time // zero: none
	text  string
	wait  time.Duration
}

// NewFeed returns a feed. Its first batches tell what the traces hold, and once all
// lists were read Began.
func NewFeed(o FeedOptions) *Feed {
	if o.Frame <= 0 {
		o.Frame = DefaultFrame
	}
	if o.Budget <= 0 {
		o.Budget = DefaultBudget
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	f := &Feed{o: o, poll: NewPoll(o.Watcher, PollOptions{Frame: o.Frame, Now: o.Now, Sleep: o.Sleep})}
	f.waiter, _ = o.Watcher.(store.Waiter)
	for _, r := range o.Rings {
		f.rings = append(f.rings, &followed{id: r.Execution, ring: NewRingReader(r.Execution, r.From)})
	}
	if o.AllExecutions {
		f.surveys = append(f.surveys, surveyExecutions(o.Executions, o.Most))
	}
	if o.Queues {
		f.surveys = append(f.surveys, surveyOutbox(o.Executions, o.Most), surveySpawns(o.Executions, o.Most), surveyTimers(o.Executions, o.Most))
	}
	if o.Sessions {
		f.sessions = surveySessions(o.Trees, o.Most, !o.Uncounted)
		f.surveys = append(f.surveys, f.sessions)
	}
	return f
}

// Prime takes the present state as known, for somebody who reads the store from here
// on: [Began] says whether something changed before the feed had read it too.
func (f *Feed) Prime(ctx context.Context) {
	f.poll.Prime(ctx)
	f.primed = true
	f.ask()
	f.moved = time.Time{}
}

// Next waits for the next batch. It returns the context's error once that is done, and
// [store.ErrClosed] once the store was closed; every other error is a fact, and the
// feed goes on.
func (f *Feed) Next(ctx context.Context) (Batch, error) {
	for {
		u, err := f.await(ctx)
		if err != nil {
			return Batch{}, err
		}
		facts, err := f.news(ctx, u)
		if err != nil {
			return Batch{}, err
		}
		behind := 0
		for _, s := range f.surveys {
			behind += s.rest()
		}
		caught := f.behind && behind == 0
		if len(facts) > 0 || f.o.Changes && (u.Changed || caught) {
			b := Batch{At: f.o.Now(), Facts: facts, Changed: u.Changed, Behind: behind}
			if f.behind = behind > 0; f.behind {
				b.Since = f.moved
			}
			return b, nil
		}
	}
}

// await waits until there is something to read. Between two readings is one frame.
func (f *Feed) await(ctx context.Context) (Update, error) {
	if wait := min(f.read.Add(f.o.Frame).Sub(f.o.Now()), f.o.Frame); wait > 0 {
		if err := f.o.Sleep(ctx, wait); err != nil {
			return Update{}, err
		}
	}
	switch {
	case !f.poll.lost.IsZero():
		return f.poll.Next(ctx) // backs off
	case !f.failed.since.IsZero():
		u, _, err := f.within(ctx, f.failed.wait)
		return u, err
	case f.pending():
		return f.poll.Check(ctx)
	}
	rest, resting := f.rests()
	// A tree whose time has come goes without a word.
	at := math.Inf(1)
	if f.sessions != nil {
		at = f.sessions.expiry()
	}
	if math.IsInf(at, 1) {
		if !resting {
			return f.poll.Next(ctx)
		}
		u, _, err := f.within(ctx, rest)
		return u, err
	}
	left := at - float64(f.o.Now().UnixNano())/1e9
	if left <= 0 {
		left = 1 // the store has another clock
	}
	wait := time.Duration(min(left, 3600)*float64(time.Second)) + time.Millisecond
	if resting && rest < wait {
		u, _, err := f.within(ctx, rest)
		return u, err
	}
	u, over, err := f.within(ctx, wait)
	if over {
		f.sessions.ask()
	}
	return u, err
}

// rests is how long it is until a list that may have changed is looked at again, and
// whether there is one.
func (f *Feed) rests() (left time.Duration, resting bool) {
	now := f.o.Now()
	for _, s := range f.surveys {
		if !s.active() {
			continue
		}
		if wait := max(s.ready().Sub(now), time.Millisecond); !resting || wait < left {
			left, resting = wait, true
		}
	}
	return left, resting
}

// due reports whether a list is to be looked at now.
func (f *Feed) due(s survey) bool { return s.active() && !s.ready().After(f.o.Now()) }

// within waits for news for so long, and says whether there was none.
func (f *Feed) within(ctx context.Context, d time.Duration) (u Update, over bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	u, err = f.poll.Next(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return Update{}, true, nil
	}
	return u, false, err
}

// pending reports whether there is something to read that is known to have changed.
func (f *Feed) pending() bool {
	for _, r := range f.rings {
		if r.dirty {
			return true
		}
	}
	return slices.ContainsFunc(f.surveys, f.due)
}

// busy reports whether there is anything that may have changed and was not looked at.
func (f *Feed) busy() bool {
	return slices.ContainsFunc(f.rings, func(r *followed) bool { return r.dirty }) ||
		slices.ContainsFunc(f.surveys, func(s survey) bool { return s.active() })
}

// news makes facts of what the store told, and of what is read because of it.
func (f *Feed) news(ctx context.Context, u Update) ([]Fact, error) {
	var facts []Fact
	switch {
	case errors.Is(u.Err, store.ErrClosed):
		return nil, u.Err
	case u.Err != nil:
		return []Fact{Disconnected{u.Since, u.Err}}, nil
	case !u.Since.IsZero():
		facts = append(facts, Connected{u.Since})
	}
	if u.Changed || !u.Since.IsZero() {
		f.stirred = f.stirred || f.primed && !f.began
		f.ask()
	}
	if !f.pending() || !f.poll.lost.IsZero() {
		return facts, nil
	}
	f.read = f.o.Now()
	more, err := f.reading(ctx)
	facts = append(facts, more...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, store.ErrClosed) {
			return nil, err
		}
		return append(facts, f.fail(err)...), nil
	}
	if since := f.failed.since; !since.IsZero() {
		f.failed = failure{}
		facts = append([]Fact{Connected{since}}, facts...)
	}
	if !f.busy() {
		f.moved = time.Time{}
	}
	return facts, nil
}

// ask notes that everything may have changed.
func (f *Feed) ask() {
	if f.moved.IsZero() {
		f.moved = f.o.Now()
	}
	for _, r := range f.rings {
		r.dirty = true
	}
	for _, s := range f.surveys {
		s.ask()
	}
}

// fail notes that what changed cannot be read, and tells it once.
func (f *Feed) fail(err error) []Fact {
	if f.failed.since.IsZero() {
		f.failed = failure{since: f.o.Now(), wait: DefaultInterval}
	} else {
		f.failed.wait = min(2*f.failed.wait, maxBackOff)
	}
	if f.failed.text == err.Error() {
		return nil
	}
	f.failed.text = err.Error()
	return []Fact{Disconnected{f.failed.since, err}}
}

// reading reads what changed, within the budget, between two looks at whose store it
// is.
func (f *Feed) reading(ctx context.Context) ([]Fact, error) {
	facts, err := f.sameStore(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range f.rings {
		if !r.dirty {
			continue
		}
		more, err := r.read(ctx, f.o.Executions)
		if err != nil {
			return facts, err
		}
		facts = append(facts, more...)
	}
	begun := f.o.Now()
	for more := len(f.surveys) > 0; more; more = more && f.o.Now().Sub(begun) < f.o.Budget {
		more = false
		for range f.surveys {
			s := f.surveys[f.turn]
			f.turn = (f.turn + 1) % len(f.surveys)
			if !f.due(s) {
				continue
			}
			asked := f.o.Now()
			told, err := s.page(ctx)
			s.spent(f.o.Now().Sub(asked), f.o.Now(), f.o.Rest)
			switch {
			case errors.Is(err, store.ErrBadCursor):
				s.again() // it is another store, or read in another way
				continue
			case err != nil:
				return facts, err
			}
			facts = append(facts, told...)
			more = true
			break
		}
	}
	replaced, err := f.sameStore(ctx)
	if err != nil {
		return facts, err
	}
	if len(replaced) > 0 {
		return replaced, nil // what was read may be of either
	}
	facts = append(facts, f.begin()...)
	return append(facts, f.count(facts)...), nil
}

// count tells how much there is, where that changed and every list is compared.
func (f *Feed) count(told []Fact) []Fact {
	if !f.began || !f.o.Counts || !f.o.AllExecutions || !f.o.Queues || len(told) == 0 {
		return nil
	}
	for _, s := range f.surveys[:4] {
		if s.under() || s.isLong() {
			return nil
		}
	}
	c := store.Counts{ByStatus: map[store.Status]int64{}}
	f.surveys[0].(*ledger[store.Summary, string, ExecutionState]).each(func(e ExecutionState) {
		c.Executions++
		if e.Bad && e.Status == "" {
			c.Unreadable++
		} else {
			c.ByStatus[store.Status(strings.ToUpper(string(e.Status)))]++
		}
	})
	c.Outbox, c.Spawns, c.Timers = int64(f.surveys[1].rows()), int64(f.surveys[2].rows()), int64(f.surveys[3].rows())
	return []Fact{Counted{c}}
}

// sameStore finds out whether it is the store of the last reading, and forgets
// everything where it is not.
func (f *Feed) sameStore(ctx context.Context) ([]Fact, error) {
	if f.waiter == nil {
		return nil, nil
	}
	now, err := f.waiter.Identity(ctx)
	if err != nil || now == f.identity {
		return nil, err
	}
	was := f.identity
	if f.identity = now; was == "" {
		return nil, nil
	}
	f.began, f.stirred = false, true
	for _, r := range f.rings {
		*r = followed{id: r.id, ring: NewRingReader(r.id, nil), dirty: true}
	}
	for _, s := range f.surveys {
		s.reset()
	}
	return []Fact{Replaced{}}, nil
}

// begin tells once that all lists were read.
func (f *Feed) begin() []Fact {
	if f.began || len(f.surveys) == 0 {
		return nil
	}
	for _, s := range f.surveys {
		if !s.whole() {
			return nil
		}
	}
	f.began = true
	b := Began{Moved: f.stirred}
	f.stirred = false
	rest := f.surveys
	next := func() (n int) {
		n, rest = rest[0].rows(), rest[1:]
		return n
	}
	if f.o.AllExecutions {
		b.Executions = next()
	}
	if f.o.Queues {
		b.Outbox, b.Spawns, b.Timers = next(), next(), next()
	}
	if f.o.Sessions {
		b.Sessions = next()
	}
	return []Fact{b}
}

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }

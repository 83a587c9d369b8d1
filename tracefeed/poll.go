package tracefeed

import (
	"context"
	"time"

	"treering/store"
)

// DefaultInterval is how often a store is asked whether it changed that cannot be
// waited for. Asking costs microseconds; a tenth of it would cost a percent of a core.
const DefaultInterval = 250 * time.Millisecond

// DefaultFrame is the time between two pieces of news at least, so that whoever shows
// them is not told more often than can be seen.
const DefaultFrame = time.Second / 60

// maxBackOff is the longest wait between two tries on a store that cannot be
// read.
const maxBackOff = 8 * time.Second

// Poll follows a store by its change token: it waits for a [store.Waiter], and asks any
// other store again and again. It belongs to one goroutine at a time.
type Poll struct {
	watcher  store.Watcher
	waiter   store.Waiter // nil: it can only be asked
	interval time.Duration
	frame    time.Duration
	now      func() time.Time
	sleep    func(context.Context, time.Duration) error

	token    string
	primed   bool
	lost     time.Time // zero while the store can be read
	lostText string
	wait     time.Duration
	told     time.Time // the last news
}

// PollOptions adjust a [Poll]. The zero value is right outside tests.
type PollOptions struct {
	Interval time.Duration // between two questions; 0 means [DefaultInterval]
	Frame    time.Duration // between two pieces of news; 0 means [DefaultFrame]
	Now      func() time.Time
	// Sleep waits, or returns the context's error once it is done.
	Sleep func(context.Context, time.Duration) error
}

// NewPoll returns a follower.
func NewPoll(w store.Watcher, o PollOptions) *Poll {
	p := &Poll{watcher: w, interval: o.Interval, frame: o.Frame, now: o.Now, sleep: o.Sleep}
	p.waiter, _ = w.(store.Waiter)
	if p.frame <= 0 {
		p.frame = DefaultFrame
	}
	if p.interval <= 0 {
		p.interval = DefaultInterval
	}
	if p.now == nil {
		p.now = time.Now
	}
	if p.sleep == nil {
		p.sleep = sleep
	}
	p.wait = p.interval
	return p
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Update is one piece of news.
type Update struct {
	// Changed: the store may hold something else than before.
	Changed bool
	// Err is why the store cannot be followed; nil while it can.
	Err error
	// Since is when following stopped; with a nil Err, when it had stopped until
	// now. The zero time: it had not.
	Since time.Time
}

// Prime takes the present state as known. Call it before reading the store for
// the first time: what changes after it will be reported.
func (p *Poll) Prime(ctx context.Context) {
	if token, err := p.watcher.ChangeToken(ctx); err == nil {
		p.token, p.primed = token, true
	}
}

// Next waits until there is news: a change, a failure to read the store (once,
// and again when its reason changes), or the end of one. It returns the
// context's error once that is done.
func (p *Poll) Next(ctx context.Context) (Update, error) {
	for {
		// A store that cannot be read is asked, for a wait would end at once.
		ask, wait := p.waiter == nil || !p.lost.IsZero(), p.wait
		if !ask {
			wait = min(p.told.Add(p.frame).Sub(p.now()), p.frame)
		}
		if wait > 0 {
			if err := p.sleep(ctx, wait); err != nil {
				return Update{}, err
			}
		}
		token, err := "", error(nil)
		if ask || !p.primed {
			token, err = p.watcher.ChangeToken(ctx)
		} else {
			token, err = p.waiter.Wait(ctx, p.token)
		}
		if ctx.Err() != nil {
			return Update{}, ctx.Err()
		}
		if u, news := p.account(token, err); news {
			return u, nil
		}
	}
}

// Check is Next without a wait: the zero Update where there is no news. While a store
// cannot be read it asks each time it is called.
func (p *Poll) Check(ctx context.Context) (Update, error) {
	token, err := p.watcher.ChangeToken(ctx)
	if ctx.Err() != nil {
		return Update{}, ctx.Err()
	}
	u, _ := p.account(token, err)
	return u, nil
}

// account makes news of an answer, if it is any.
func (p *Poll) account(token string, err error) (u Update, news bool) {
	if err != nil {
		if p.lost.IsZero() {
			p.lost = p.now()
		}
		p.wait = min(2*p.wait, maxBackOff)
		if p.lostText == err.Error() {
			return Update{}, false
		}
		p.lostText = err.Error()
		return Update{Err: err, Since: p.lost}, true
	}
	since := p.lost
	p.lost, p.lostText, p.wait = time.Time{}, "", p.interval
	changed := !p.primed || token != p.token
	p.token, p.primed = token, true
	if !changed && since.IsZero() {
		return Update{}, false
	}
	p.told = p.now()
	return Update{Changed: changed, Since: since}, true
}

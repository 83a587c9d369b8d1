package tracefeed

import (
	"context"
	"time"

	"treering/store"
)

// DefaultInterval is how often a store is asked whether it changed. Asking costs
// microseconds; a tenth of it would cost a percent of a core.
const DefaultInterval = 250 * time.Millisecond

// maxBackOff is the longest wait between two tries on a store that cannot be
// read.
const maxBackOff = 8 * time.Second

// Poll follows a store by its change token. It belongs to one goroutine at a
// time.
type Poll struct {
	watcher  store.Watcher
	interval time.Duration
	now      func() time.Time
	sleep    func(context.Context, time.Duration) error

	token    string
	primed   bool
	lost     time.Time // zero while the store can be read
	lostText string
	wait     time.Duration
}

// PollOptions adjust a [Poll]. The zero value is right outside tests.
type PollOptions struct {
	Interval time.Duration // 0 means [DefaultInterval]
	Now      func() time.Time
	// Sleep waits, or returns the context's error once it is done.
	Sleep func(context.Context, time.Duration) error
}

// NewPoll returns a follower.
func NewPoll(w store.Watcher, o PollOptions) *Poll {
	p := &Poll{watcher: w, interval: o.Interval, now: o.Now, sleep: o.Sleep}
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
		if err := p.sleep(ctx, p.wait); err != nil {
			return Update{}, err
		}
		token, err := p.watcher.ChangeToken(ctx)
		if ctx.Err() != nil {
			return Update{}, ctx.Err()
		}
		if err != nil {
			p.wait = min(2*p.wait, maxBackOff)
			if p.lost.IsZero() {
				p.lost = p.now()
			} else if p.lostText == err.Error() {
				continue
			}
			p.lostText = err.Error()
			return Update{Err: err, Since: p.lost}, nil
		}
		since := p.lost
		p.lost, p.lostText, p.wait = time.Time{}, "", p.interval
		changed := !p.primed || token != p.token
		p.token, p.primed = token, true
		if changed || !since.IsZero() {
			return Update{Changed: changed, Since: since}, nil
		}
	}
}

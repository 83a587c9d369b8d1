package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

var _ store.Waiter = (*DB)(nil)

// How often the server is asked: while something happens, and while nothing does.
const (
	pollBusy = 20 * time.Millisecond
	pollIdle = 100 * time.Millisecond
	busyFor  = 5 * time.Second // after a change
	// Where the server does not tell its count of changes, what no other counter shows is
	// looked for every so often.
	blindFor = 2 * time.Second
)

// ChangeToken implements [store.Watcher]. It is the server's own count of changes,
// which moves with every write of anybody, in other databases of the server too. A user
// who may not run INFO has the counters of the queues, the number of keys, and the time
// in steps of two seconds.
func (d *DB) ChangeToken(ctx context.Context) (string, error) {
	return read(ctx, d, func(ctx context.Context) (string, error) {
		node, err := d.node(ctx)
		if err != nil {
			return "", err
		}
		role, err := d.role(ctx, node)
		if err != nil {
			return "", err
		}
		if d.server.counts {
			info, err := node.Info(ctx, "persistence").Result()
			if err != nil {
				return "", err
			}
			if token := changeCount(info); token != "" {
				return d.grown(token) + role, nil
			}
		}
		token, err := d.counters(ctx, node)
		return token + role, err
	})
}

// grown marks a token of which no scan in the background has seen the state yet, and has
// one begin in its turn: what that finds moves the token again.
func (d *DB) grown(token string) string {
	d.ids.mu.Lock()
	defer d.ids.mu.Unlock()
	if !d.ids.large || d.ids.token == token {
		return token
	}
	if d.ids.rested() {
		d.ids.run(d.executions)
	}
	return token + "." + strconv.Itoa(d.ids.completed)
}

// counters is the token where the server does not tell its count of changes.
func (d *DB) counters(ctx context.Context, node *goredis.Client) (string, error) {
	k := d.executions.keys
	pipe := node.Pipeline()
	cmds := []goredis.Cmder{
		pipe.DBSize(ctx), pipe.Get(ctx, k.born), pipe.Get(ctx, k.outboxSeq), pipe.Get(ctx, k.spawnsSeq),
		pipe.HLen(ctx, k.outbox), pipe.HLen(ctx, k.spawns), pipe.ZCard(ctx, k.timers),
		pipe.ZCard(ctx, d.treeKeys.ids), pipe.Get(ctx, d.treeKeys.number),
	}
	if _, err := pipe.Exec(ctx); err != nil && err != goredis.Nil && redisAnswer(err) == "" { //nolint:errorlint // the library returns it as it is
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d", time.Now().UnixNano()/int64(blindFor))
	for _, cmd := range cmds {
		switch c := cmd.(type) {
		case *goredis.IntCmd:
			fmt.Fprintf(&b, ".%d", c.Val())
		case *goredis.StringCmd:
			b.WriteString("." + c.Val())
		}
	}
	return b.String(), nil
}

// pulse remembers when something changed last.
type pulse struct {
	mu sync.Mutex
	at time.Time
}

func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = time.Now()
}

func (p *pulse) every() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.at) < busyFor {
		return pollBusy
	}
	return pollIdle
}

// Wait implements [store.Waiter], by asking again and again.
func (d *DB) Wait(ctx context.Context, token string) (string, error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now, err := d.ChangeToken(ctx)
		if err != nil {
			return "", err
		}
		if now != token {
			d.pulse.beat()
			return now, nil
		}
		timer.Reset(d.pulse.every())
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-timer.C:
		}
	}
}

// Noticing implements [store.Waiter].
func (d *DB) Noticing() string {
	text := fmt.Sprintf("within %v, by asking the server for its count of changes", pollIdle)
	if !d.server.counts {
		text = fmt.Sprintf("queues within %v, anything within %v, by asking: %s", pollIdle, blindFor, d.server.why)
	}
	if seen, total := d.Progress(); total > syncKeys {
		text += fmt.Sprintf("; looking through the keys, %d of about %d", seen, total)
	}
	return text
}

// Identity implements [store.Waiter].
func (d *DB) Identity(context.Context) (string, error) {
	if err := d.gate.open(); err != nil {
		return "", err
	}
	return d.executions.scope, nil
}

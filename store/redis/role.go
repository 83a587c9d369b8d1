package redis

import (
	"context"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

// roleEvery is how often a server is asked whom it follows. Nobody writes to a replica
// by accident, and what it lacks is no matter of milliseconds.
const roleEvery = time.Second

// role is how a server stands to others.
type role struct {
	replica bool // it follows a master, and takes no writes
	cut     bool // that does not reach it
}

// roles remembers the role of a server, as far as it was seen.
type roles struct {
	mu   sync.Mutex
	now  role
	cut  time.Time // since when now.cut
	next time.Time // of the next look; zero: at once
	mute bool      // it does not tell this user
}

// note remembers what INFO replication says.
func (r *roles) note(info string, at time.Time) role {
	fields := infoFields(info)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = role{replica: fields["role"] == "slave"}
	r.now.cut = r.now.replica && fields["master_link_status"] != "up"
	switch {
	case !r.now.cut:
		r.cut = time.Time{}
	case r.cut.IsZero():
		r.cut = at
	}
	r.next = at.Add(roleEvery)
	return r.now
}

func (r *roles) replica() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now.replica
}

// role is what the server's role adds to the token of changes.
func (d *DB) role(ctx context.Context, node *goredis.Client) (string, error) {
	r := &d.roles
	r.mu.Lock()
	now, ask := r.now, !r.mute && !time.Now().Before(r.next)
	r.mu.Unlock()
	if ask {
		info, err := node.Info(ctx, "replication").Result()
		switch {
		case err == nil:
			now = r.note(info, time.Now())
		case passes(redisAnswer(err)):
			return "", err
		default:
			r.mu.Lock()
			r.mute = true
			r.mu.Unlock()
		}
	}
	switch {
	case now.cut:
		return " cut off", nil
	case now.replica:
		return " replica", nil
	}
	return "", nil
}

// passes reports whether an answer in the place of a role, or none, is one of the moment:
// any other means that this user or this server will never tell.
func passes(answer string) bool {
	word, _, _ := strings.Cut(answer, " ")
	switch word {
	case "", "LOADING", "NOAUTH", "MASTERDOWN", "BUSY":
		return true
	}
	return false
}

var _ store.Follower = (*DB)(nil)

// Behind implements [store.Follower]: a replica that its master does not reach shows
// what was.
func (d *DB) Behind() (since time.Time, why string) {
	d.roles.mu.Lock()
	defer d.roles.mu.Unlock()
	if d.roles.cut.IsZero() {
		return time.Time{}, ""
	}
	return d.roles.cut, "the server is a replica that its master does not reach"
}

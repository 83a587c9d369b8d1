package store

import (
	"context"
	"time"
)

// Waiter is what a [Watcher] offers besides that need not be asked again and again.
// Several goroutines may wait at once.
type Waiter interface {
	Watcher
	// Wait returns the change token as soon as it differs from the one given, at once
	// where it does already or where the one given is "". Between two calls nothing is
	// lost: what changes meanwhile shows in the token. It returns ctx's error once that
	// is done, and the store's as soon as it cannot be read; to wait until it can be
	// again is the caller's business.
	//
	// While it waits it holds no transaction, lock or cursor in the store.
	Wait(ctx context.Context, token string) (now string, err error)
	// Noticing says for people how and how soon changes by others are noticed: one
	// phrase, such as "at once, the file system tells". It does not wait for the store.
	Noticing() string
	// Identity tells the store that is read now from any other that was or will be at
	// the same locator.
	Identity(ctx context.Context) (string, error)
}

// Follower is what a [Watcher] offers besides where it may read a copy that others keep
// up to date.
type Follower interface {
	// Behind says since when what is read is known to be, or may be, older than what was
	// written, and why, in one phrase for people. The zero time: nothing speaks for that.
	// It tells what the last look at the store has shown, and does not wait for the store;
	// the change token moves when it becomes another.
	Behind() (since time.Time, why string)
}

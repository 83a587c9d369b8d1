package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"treering/store"
)

var _ store.Waiter = (*DB)(nil)

// Wait implements [store.Waiter].
func (db *DB) Wait(ctx context.Context, token string) (string, error) {
	return db.file.Wait(ctx, token)
}

// Noticing implements [store.Waiter].
func (db *DB) Noticing() string { return db.file.Noticing() }

// Identity implements [store.Waiter].
func (db *DB) Identity(ctx context.Context) (string, error) { return db.file.Identity(ctx) }

// pollEvery is how often a file is looked at of which nobody tells anything: on a file
// system of another machine, or where the system has no more watches to give.
const pollEvery = 250 * time.Millisecond

// looks are the times after an event at which the file is looked at. The event comes
// with the first bytes that are written, and what was committed can be read only when
// the last ones are on the disk.
var looks = [...]time.Duration{0, 300 * time.Microsecond, time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond}

// lookGap is the time between two looks, however many events there are.
const lookGap = 250 * time.Microsecond

// Wait returns the change token as soon as it differs from token; see
// [store.Waiter].
func (f *File) Wait(ctx context.Context, token string) (string, error) {
	now, err := f.ChangeToken(ctx)
	if err != nil || now != token {
		return now, err
	}
	ear := f.bell.listen()
	defer f.bell.leave(ear)
	timer := time.NewTimer(0)
	defer timer.Stop()
	// Something may have happened a moment ago, of which the event was told to somebody
	// else, and may not show yet.
	event, next := time.Now(), 1
	for {
		// The look comes after the watch is set, so that nothing is lost between them.
		f.bell.watch(f.folders())
		if now, err = f.ChangeToken(ctx); err != nil || now != token {
			return now, err
		}
		looked := time.Now()
		wait := pollEvery
		if next < len(looks) {
			wait = max(looks[next]-looked.Sub(event), lookGap)
			next++
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-timer.C:
		case <-ear:
			event, next = time.Now(), 1
			if rest := lookGap - event.Sub(looked); rest > 0 {
				if err := pause(ctx, rest); err != nil {
					return "", err
				}
			}
		}
	}
}

// Identity tells the file that is read now from any other that was or will be at the
// path.
func (f *File) Identity(ctx context.Context) (string, error) {
	if err := f.lock(ctx); err != nil {
		return "", err
	}
	defer f.free()
	if err := f.fresh(ctx); err != nil {
		return "", err
	}
	return f.src.file.identity, nil
}

// Noticing says how and how soon changes by others are noticed; see [store.Waiter].
func (f *File) Noticing() string {
	if why := f.bell.watch(f.folders()); why != "" {
		return fmt.Sprintf("within %v, by looking: %s", pollEvery, why)
	}
	return "at once, the file system tells"
}

// folders are where something happens when the database is written or replaced: where
// the file lies with what is beside it, and where the path to it was named.
func (f *File) folders() (folders []string, base [2]string) {
	f.mu.Lock()
	target := f.target
	f.mu.Unlock()
	folders, base = []string{filepath.Dir(target)}, [2]string{filepath.Base(target), filepath.Base(f.named)}
	if dir := filepath.Dir(f.named); dir != folders[0] {
		folders = append(folders, dir)
	}
	return folders, base
}

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"treering/store"
)

// waiting is a Wait under way.
type waiting struct {
	t     testing.TB
	token string
	done  chan struct{}
	got   string
	err   error
}

func waitFor(t testing.TB, f *File, token string) *waiting {
	w := &waiting{t: t, token: token, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.got, w.err = f.Wait(t.Context(), token)
	}()
	return w
}

// moved waits for the end of the wait, and returns the token that it came to.
func (w *waiting) moved() string {
	w.t.Helper()
	select {
	case <-w.done:
	case <-time.After(20 * time.Second):
		w.t.Fatal("it waits on")
	}
	if w.err != nil || w.got == w.token {
		w.t.Fatalf("token %q after %q, %v", w.got, w.token, w.err)
	}
	return w.got
}

// A wait ends with the first commit of another process, in whatever state the file is
// and however it is opened, and not before.
func TestWaitEndsWithACommit(t *testing.T) {
	for _, mode := range []string{"wal", "delete", "truncate", "persist"} {
		for _, rw := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s rw=%v", mode, rw), func(t *testing.T) {
				path := database(t, mode)
				f := open(t, Options{Path: path, ReadWrite: rw})
				first, err := f.Wait(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
				defer cancel()
				if got, err := f.Wait(ctx, first); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("nothing was written: %q after %q, %v", got, first, err)
				}
				w := writerProcess(t, path)
				token := first
				for n := 2; n < 6; n++ {
					wait := waitFor(t, f, token)
					w.do(insert)
					token = wait.moved()
					// What moved it may have been the writer's coming; then the next one is
					// the commit.
					for number(t, f, countSQL) != int64(n) {
						token = waitFor(t, f, token).moved()
					}
				}
				wait := waitFor(t, f, token)
				w.close()
				w = writerProcess(t, path)
				w.do(insert)
				wait.moved()
			})
		}
	}
}

// Another file in its place, none, and the end of the store end a wait.
func TestWaitEndsWithTheFile(t *testing.T) {
	path, other := database(t, "wal"), database(t, "wal")
	f := open(t, Options{Path: path})
	was, err := f.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := f.Wait(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	wait := waitFor(t, f, token)
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	token = wait.moved()
	if now, err := f.Identity(t.Context()); err != nil || now == was {
		t.Errorf("identity %q after %q, %v", now, was, err)
	}
	wait = waitFor(t, f, token)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	<-wait.done
	if !errors.Is(wait.err, store.ErrStoreNotFound) {
		t.Errorf("a file that is gone: %v", wait.err)
	}
	if err := os.Rename(database(t, "wal"), path); err != nil {
		t.Fatal(err)
	}
	if token, err = f.Wait(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	wait = waitFor(t, f, token)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	<-wait.done
	if !errors.Is(wait.err, store.ErrClosed) {
		t.Errorf("a closed store: %v", wait.err)
	}
	if _, err := f.Wait(t.Context(), token); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a closed store: %v", err)
	}
}

// Without the system's help the file is looked at, and that is said.
func TestWaitWithoutEvents(t *testing.T) {
	path := database(t, "wal")
	f := open(t, Options{Path: path})
	if runtime.GOOS == "linux" {
		if got := f.Noticing(); got != "at once, the file system tells" {
			t.Errorf("noticing %q", got)
		}
	}
	f.bell.close()
	f.bell = newBell()
	f.bell.why = "the system has no more watches to give"
	if got := f.Noticing(); got != "within 250ms, by looking: the system has no more watches to give" {
		t.Errorf("noticing %q", got)
	}
	token, err := f.Wait(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	wait := waitFor(t, f, token)
	writerProcess(t, path, insert)
	wait.moved()
}

// A wait changes nothing of the file and leaves nothing beside it.
func TestWaitLeavesNoTrace(t *testing.T) {
	path := database(t, "wal")
	before := picture(t, filepath.Dir(path))
	f := open(t, Options{Path: path})
	token, err := f.Wait(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := f.Wait(ctx, token); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if after := picture(t, filepath.Dir(path)); !maps.Equal(before, after) {
		t.Errorf("%v became %v", before, after)
	}
}

// Waiting holds nothing in the database: the writer's log is reset as if nobody were
// there.
func TestWaitPinsNoLog(t *testing.T) {
	path := database(t, "wal")
	w := writerProcess(t, path, "PRAGMA wal_autocheckpoint=20", insert)
	f := open(t, Options{Path: path})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		token := ""
		for ctx.Err() == nil {
			now, err := f.Wait(ctx, token)
			if err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return
			}
			token = now
		}
	})
	for range 1000 {
		w.do(insert)
	}
	cancel()
	all.Wait()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if limit := int64(30 * (4096 + 24)); info.Size() > limit {
		t.Errorf("the log has %d bytes, want %d at most", info.Size(), limit)
	}
}

// Following for long leaves nothing behind: no goroutine, no descriptor.
func TestWaitLeaksNothing(t *testing.T) {
	if _, err := os.ReadDir("/proc/self/fd"); err != nil {
		t.Skip("descriptors cannot be counted here")
	}
	changes := 10_000
	if testing.Short() {
		changes = 500
	}
	path := database(t, "wal")
	w := writerProcess(t, path, insert)
	f := open(t, Options{Path: path})
	token, err := f.Wait(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	descriptors := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	step := func() {
		w.do(insert)
		if token, err = f.Wait(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		step()
	}
	goroutines, files := runtime.NumGoroutine(), descriptors()
	for range changes {
		step()
	}
	if n := runtime.NumGoroutine(); n > goroutines+2 {
		t.Errorf("%d goroutines after %d changes, %d before", n, changes, goroutines)
	}
	if n := descriptors(); n > files {
		t.Errorf("%d descriptors after %d changes, %d before", n, changes, files)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var stacks [1 << 16]byte
	deadline := time.Now().Add(5 * time.Second)
	for strings.Contains(string(stacks[:runtime.Stack(stacks[:], true)]), "fsnotify") {
		if time.Now().After(deadline) {
			t.Fatal("the events are still read after the store was closed")
		}
		runtime.Gosched()
	}
}

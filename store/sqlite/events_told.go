//go:build linux || windows

package sqlite

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// fileEvents are what the system tells of folders.
type fileEvents struct{ w *fsnotify.Watcher }

// openEvents returns the events of no folder yet, or says why there are none.
func openEvents() (*fileEvents, string) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, noWatch(err)
	}
	return &fileEvents{w}, ""
}

func noWatch(err error) string {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOSPC) {
		return "the system has no more watches to give"
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	return "the system does not tell what happens to files: " + err.Error()
}

// add watches a folder, and says why it is no use.
func (e *fileEvents) add(folder string) string {
	if err := e.w.Add(folder); err != nil {
		return noWatch(err)
	}
	return remoteFolder(folder)
}

// forget ends the watching of folders. One that is gone is not watched any more.
func (e *fileEvents) forget(folders []string) {
	for _, folder := range folders {
		// The only error is that it was not watched.
		_ = e.w.Remove(folder)
	}
}

// covers reports whether the folders are watched: the system ends the watch of one
// that is removed.
func (e *fileEvents) covers(folders []string) bool {
	watched := e.w.WatchList()
	for _, folder := range folders {
		if !slices.Contains(watched, folder) {
			return false
		}
	}
	return true
}

// next waits for an event and returns the path that it is about, "" where that is not
// known. It is false at the end.
func (e *fileEvents) next() (name string, more bool) {
	for {
		select {
		case event, ok := <-e.w.Events:
			if !ok {
				return "", false
			}
			if event.Op == fsnotify.Chmod {
				continue // what may be read then is found out by looking
			}
			return event.Name, true
		case _, ok := <-e.w.Errors:
			// Mostly there were more than the system keeps: anything may have happened.
			return "", ok
		}
	}
}

func (e *fileEvents) close() {
	// It gives up a descriptor through which nothing was written.
	_ = e.w.Close()
}

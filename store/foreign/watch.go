package foreign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// maxWatched is how many folders are watched; a source in more is looked at.
const maxWatched = 256

// sureEvery is how often a source is looked at though its folders are watched: below one
// of them another may have been made, with files in it, before it was watched.
const sureEvery = 2 * time.Second

// eventGap is the time between two looks, however many events there are.
const eventGap = time.Millisecond

// watch tells when something happens in the folders of a source.
type watch struct {
	mu      sync.Mutex
	w       *fsnotify.Watcher
	folders map[string]bool
	bell    chan struct{} // closed when something happened
	why     string        // why nothing is told, "" where it is
	closed  bool
}

// listen watches the folders and returns what is closed at the next event. It is nil
// where nothing is told.
func (w *watch) listen(folders []string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	if len(folders) > maxWatched {
		w.why = fmt.Sprintf("its files are in more than %d folders", maxWatched)
		return nil
	}
	if w.w == nil {
		made, err := fsnotify.NewWatcher()
		if err != nil {
			w.why = err.Error()
			return nil
		}
		w.w, w.folders, w.bell = made, map[string]bool{}, make(chan struct{})
		go w.hear(made)
	}
	w.why = ""
	for _, f := range folders {
		if w.folders[f] {
			continue
		}
		if err := w.w.Add(f); err != nil {
			w.why = err.Error()
			return nil
		}
		w.folders[f] = true
	}
	return w.bell
}

// hear rings the bell until the watcher is closed.
func (w *watch) hear(from *fsnotify.Watcher) {
	for {
		select {
		case e, ok := <-from.Events:
			if !ok {
				return
			}
			w.ring(e)
		case _, ok := <-from.Errors:
			if !ok {
				return
			}
			w.ring(fsnotify.Event{}) // events were lost: whoever waits looks
		}
	}
}

func (w *watch) ring(e fsnotify.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		delete(w.folders, e.Name) // if it was one; it is watched again when it is back
	}
	close(w.bell)
	w.bell = make(chan struct{})
}

func (w *watch) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.w == nil {
		return nil
	}
	return w.w.Close()
}

// folders are where the files of a source are, and the one that it was named by.
func (r *LineReader) folders(ctx context.Context) ([]string, error) {
	paths, err := r.find(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []string
	add := func(dir string) {
		if !seen[dir] {
			seen[dir] = true
			out = append(out, dir)
		}
	}
	if r.root != "" {
		add(r.root)
	}
	for _, p := range paths {
		add(folderOf(p))
	}
	return out, nil
}

func folderOf(path string) string { return filepath.Dir(path) }

// wait returns the token as soon as it differs from the one given.
func (w *watch) wait(ctx context.Context, token string, folders func(context.Context) ([]string, error), now func(context.Context) (string, error)) (string, error) {
	for {
		in, err := folders(ctx)
		if err != nil {
			return "", err
		}
		// The look comes after the watch is set, so that nothing is lost between them.
		bell, every := w.listen(in), lookEvery
		if bell != nil {
			every = sureEvery
		}
		if now, err := now(ctx); err != nil || now != token {
			return now, err
		}
		timer := time.NewTimer(every)
		select {
		case <-ctx.Done():
			timer.Stop()
			return "", ctx.Err()
		case <-timer.C:
		case <-bell:
			timer.Stop()
			gap := time.NewTimer(eventGap)
			select {
			case <-ctx.Done():
				gap.Stop()
				return "", ctx.Err()
			case <-gap.C:
			}
		}
	}
}

// noticing says how and how soon changes are noticed.
func (w *watch) noticing(folders func(context.Context) ([]string, error)) string {
	in, err := folders(context.Background())
	if err != nil {
		return fmt.Sprintf("within %v, by looking", lookEvery)
	}
	if w.listen(in) == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		return fmt.Sprintf("within %v, by looking: %s", lookEvery, w.why)
	}
	return "at once, the file system tells"
}

// Wait implements [Waiter].
func (r *LineReader) Wait(ctx context.Context, token string) (string, error) {
	return r.watch.wait(ctx, token, r.folders, r.Token)
}

// Noticing implements [Waiter].
func (r *LineReader) Noticing() string { return r.watch.noticing(r.folders) }

// Identity implements [Waiter]: which files there are, whatever is in them.
func (r *LineReader) Identity(ctx context.Context) (string, error) {
	if r.root != "" {
		return r.root, nil // files come and go in a folder
	}
	paths, err := r.find(ctx)
	if err != nil {
		return "", err
	}
	h := newSum()
	for _, p := range paths {
		name, err := identityOf(p)
		if err != nil {
			return "", err
		}
		h.add(p, name)
	}
	return h.String(), nil
}

// Close implements [Reader].
func (r *LineReader) Close() error {
	if err := r.watch.close(); err != nil && !errors.Is(err, fsnotify.ErrClosed) {
		return err
	}
	return nil
}

package sqlite

import (
	"fmt"
	"os"
	"sync"
)

// registry knows every database file that this process has open.
//
// It is package state because what it guards belongs to the process: a POSIX
// record lock is dropped by any close of any descriptor of the file, so closing a
// file that was opened by hand to look at its header takes away the locks under
// which one of SQLite's connections elsewhere in the process is writing. So a
// descriptor opened by hand is kept here and closed only when the last connection
// of the process to that file is gone. SQLite takes no record locks on -wal and
// -journal files; a -shm file, which it does lock, is never opened by hand.
type registry struct {
	mu      sync.Mutex
	files   []*openFile
	orphans []*os.File
}

var files registry

// openFile is one file, whatever its names, while anybody in this process looks at
// it. The counts are guarded by the registry's mutex.
type openFile struct {
	info os.FileInfo // of the open descriptor
	fd   *os.File    // for reading
	// identity differs for a file that was made anew under the same path.
	identity string

	parked []*os.File // opened by hand, to be closed with fd
	refs   int        // holders of this openFile
	locks  int        // connections that take SQLite's locks: all but immutable ones
	quiet  int        // of them, those with a read-only -shm

	opening chan struct{} // one token: held while a first connection is made under the guard lock
}

// acquire opens the regular file at target for reading, or finds it open already.
// The holder calls release after its last connection to it is closed.
func (r *registry) acquire(target string) (*openFile, error) {
	info, err := os.Stat(target)
	if err != nil {
		return nil, err
	}
	if f := r.find(info); f != nil {
		return f, nil
	}
	fd, err := os.OpenFile(target, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	return r.adopt(fd)
}

// find takes a reference to the file that is open already, if it is.
func (r *registry) find(info os.FileInfo) *openFile {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.files {
		if os.SameFile(f.info, info) {
			f.refs++
			return f
		}
	}
	return nil
}

// adopt takes over a descriptor that was opened by hand.
func (r *registry) adopt(fd *os.File) (*openFile, error) {
	info, err := fd.Stat()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		// Whose file this is cannot be told now, so it cannot be closed either.
		r.orphans = append(r.orphans, fd)
		return nil, err
	}
	for _, f := range r.files {
		if os.SameFile(f.info, info) {
			f.refs++
			f.parked = append(f.parked, fd)
			return f, nil
		}
	}
	identity := fmt.Sprintf("%d@%d", inode(info), birth(fd))
	f := &openFile{info: info, fd: fd, identity: identity, refs: 1, opening: make(chan struct{}, 1)}
	r.files = append(r.files, f)
	return f, nil
}

// park keeps a descriptor open until nobody in this process uses the file.
func (r *registry) park(f *openFile, fd *os.File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.parked = append(f.parked, fd)
}

// release gives up one reference. The descriptors are closed with the last one.
func (r *registry) release(f *openFile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.refs--; f.refs > 0 {
		return
	}
	for i := range r.files {
		if r.files[i] == f {
			r.files = append(r.files[:i], r.files[i+1:]...)
			break
		}
	}
	// A failed close of a file that was only read loses nothing.
	for _, fd := range append(f.parked, f.fd) {
		fd.Close()
	}
}

// connected notes that a connection that takes locks was made (+1) or closed (-1).
func (r *registry) connected(f *openFile, quiet bool, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.locks += n
	if quiet {
		f.quiet += n
	}
}

// counts returns the connections that take locks and those of them that read the
// -shm only.
func (r *registry) counts(f *openFile) (locks, quiet int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return f.locks, f.quiet
}

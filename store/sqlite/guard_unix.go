//go:build darwin || freebsd || linux || netbsd || openbsd

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// openNonblock keeps an open by hand from waiting, should the path have become a
// FIFO since it was looked at.
const openNonblock = syscall.O_NONBLOCK

// holdsLogs: an open -wal can be deleted, so it may be held.
const holdsLogs = true

// SQLite's shared lock is a read lock on these bytes.
const (
	sharedFirst = 0x40000000 + 2
	sharedSize  = 510
)

// shareLock takes SQLite's shared lock on a file by hand. While it is held nobody
// can switch the journal mode, and the last writer of a WAL database cannot take
// the log away. Held reports whether it was obtained; where the file system has no
// locks it is not, without an error.
//
// It must only be called while no connection of this process takes locks on the
// file, for locks belong to the process: a connection that holds an exclusive lock
// would have it reduced to a shared one.
func shareLock(fd *os.File) (held bool, err error) {
	err = setLock(fd, syscall.F_RDLCK)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EOPNOTSUPP):
		return false, nil
	}
	return false, err
}

// lockedByOther reports whether shareLock failed because another process holds the
// exclusive lock.
func lockedByOther(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES)
}

// shareUnlock gives the lock back, under the same condition.
func shareUnlock(fd *os.File) error { return setLock(fd, syscall.F_UNLCK) }

// sharedByOthers reports whether another process has the file open as a WAL database
// at this moment: a connection to one keeps SQLite's shared lock as long as it lasts.
// Locks of this process do not count, and asking changes none.
func sharedByOthers(fd *os.File) (bool, error) {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: 0, Start: sharedFirst, Len: sharedSize}
	for {
		err := syscall.FcntlFlock(fd.Fd(), syscall.F_GETLK, &lock)
		switch {
		case err == nil:
			return lock.Type != syscall.F_UNLCK, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EOPNOTSUPP):
			return true, nil // the file system cannot tell
		default:
			return false, err
		}
	}
}

// hardLinks is the number of names that a file has.
func hardLinks(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

func inode(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

func setLock(fd *os.File, kind int16) error {
	lock := syscall.Flock_t{Type: kind, Whence: 0, Start: sharedFirst, Len: sharedSize}
	for {
		err := syscall.FcntlFlock(fd.Fd(), syscall.F_SETLK, &lock)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

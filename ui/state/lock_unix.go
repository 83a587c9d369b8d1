//go:build unix

package state

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lock takes the lock of an open file, which its closing gives back, as does the
// end of the process.
func lock(f *os.File) error {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return err
		case time.Now().After(end):
			return errLocked
		}
	}
}

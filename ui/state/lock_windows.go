package state

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// lock takes the lock of an open file, which its closing gives back, as does the
// end of the process.
func lock(f *os.File) error {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, new(windows.Overlapped))
		switch {
		case !errors.Is(err, windows.ERROR_LOCK_VIOLATION):
			return err
		case time.Now().After(end):
			return errLocked
		}
	}
}

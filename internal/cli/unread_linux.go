package cli

import (
	"errors"
	"io"
	"os"
	"syscall"
	"unsafe"
)

// whenUnread calls gone once nobody reads a pipe any more: a command that has nothing
// to write would not learn of it. The function that it returns is to be called when
// the command ends.
func whenUnread(w io.Writer, gone func()) (stop func()) {
	f, ok := w.(*os.File)
	if !ok {
		return func() {}
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return func() {}
	}
	var ended syscall.FdSet
	const bits = 8 * int(unsafe.Sizeof(ended.Bits[0]))
	fd, over := int(f.Fd()), make(chan struct{})
	if fd/bits >= len(ended.Bits) {
		return func() {}
	}
	go func() {
		for {
			set := syscall.FdSet{}
			set.Bits[fd/bits] |= 1 << (fd % bits)
			// Of the end of a pipe that is written only an error can be read. It is waited
			// for in pieces, so that this goroutine ends with the command.
			n, err := syscall.Select(fd+1, &set, nil, nil, &syscall.Timeval{Sec: 1})
			select {
			case <-over:
				return
			default:
			}
			switch {
			case errors.Is(err, syscall.EINTR), err == nil && n == 0:
			case err == nil:
				gone()
				return
			default:
				return // the next write will tell
			}
		}
	}()
	return func() { close(over) }
}

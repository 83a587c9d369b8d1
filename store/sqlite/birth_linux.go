package sqlite

import (
	"os"

	"golang.org/x/sys/unix"
)

// birth is when a file was made, in nanoseconds; 0 where its file system does not
// say.
func birth(fd *os.File) int64 {
	var st unix.Statx_t
	if err := unix.Statx(int(fd.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st); err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
}

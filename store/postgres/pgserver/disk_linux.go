package pgserver

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// SmallDisk makes a tablespace on a disk of its own that holds no more than so many
// bytes, for the length of the test. It is an error where this process may not mount
// one.
func (s *Server) SmallDisk(t tb, tablespace string, bytes int64) error {
	t.Helper()
	dir := filepath.Join(s.dir, "disk-"+tablespace)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", bytes)); err != nil {
		return fmt.Errorf("mount a small disk: %w", err)
	}
	t.Cleanup(func() {
		// The server may still have files of it open.
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
	})
	if err := give(dir); err != nil {
		t.Fatal(err)
	}
	s.Exec(t, fmt.Sprintf("CREATE TABLESPACE %s LOCATION '%s'", tablespace, dir))
	return nil
}

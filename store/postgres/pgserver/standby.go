package pgserver

import (
	"fmt"
	"os"
	"strconv"
)

// Standby makes a hot standby that follows the server by streaming, for the length of
// the test.
func (s *Server) Standby(t tb) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	r := &Server{dir: dir, bin: s.bin}
	t.Cleanup(r.Close)
	if err := r.copyOf(s); err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *Server) copyOf(primary *Server) error {
	if err := give(s.dir); err != nil {
		return err
	}
	base := s.command("pg_basebackup", "-h", "127.0.0.1", "-p", strconv.Itoa(primary.port), "-U", "postgres", "-D", s.data(),
		"--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync")
	if out, err := base.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w: %s", err, out)
	}
	var err error
	if s.port, err = freePort(); err != nil {
		return err
	}
	return s.Up()
}

// Promote ends a standby's following: from here on it is a server of its own.
func (s *Server) Promote(t tb) {
	t.Helper()
	s.Exec(t, "SELECT pg_promote(true, 60)")
}

// Addr is the host and port that the server listens at.
func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

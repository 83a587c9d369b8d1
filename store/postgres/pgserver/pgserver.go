// Package pgserver starts private PostgreSQL servers for tests: on the loopback and a
// socket in a temporary folder, as another user where PostgreSQL refuses to run as this
// one, and gone with the test.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrNoServer: the programs of PostgreSQL are not installed.
var ErrNoServer = errors.New("PostgreSQL is not installed: neither is initdb in the path nor in /usr/lib/postgresql/*/bin")

// Server is one private server.
type Server struct {
	dir     string
	bin     string
	port    int
	cmd     *exec.Cmd
	exited  chan struct{}
	schemas atomic.Int64
}

// tb is what is used of [testing.TB].
type tb interface {
	Helper()
	Skip(args ...any)
	Fatal(args ...any)
	Cleanup(fn func())
	Context() context.Context
}

// Start makes and starts a server for the length of the test. Without PostgreSQL the
// test is skipped, or fails where CI is true.
func Start(t tb) *Server {
	t.Helper()
	s, err := New()
	switch {
	case errors.Is(err, ErrNoServer) && os.Getenv("CI") != "true":
		t.Skip(err.Error())
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// New makes and starts a server. Its owner closes it.
func New() (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin}
	if err := s.make(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// programs is the folder of the newest PostgreSQL here.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		// It may be a link of one program only.
		if whole, err := filepath.EvalSymlinks(path); err == nil {
			path = whole
		}
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", ErrNoServer
	}
	slices.SortFunc(found, func(a, b string) int { return majorOf(a) - majorOf(b) })
	return filepath.Dir(found[len(found)-1]), nil
}

func majorOf(path string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	if err != nil {
		return 0
	}
	return n
}

func (s *Server) make() error {
	if err := give(s.dir); err != nil {
		return err
	}
	init := s.command("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	if out, err := init.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	var err error
	if s.port, err = freePort(); err != nil {
		return err
	}
	return s.Up()
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command is one of PostgreSQL's programs, as a user that it runs as.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	runAs(cmd)
	return cmd
}

// Up starts the server, again after [Server.Kill], and waits until it takes
// connections.
func (s *Server) Up() error {
	s.cmd = s.command("postgres", "-D", s.data(), "-k", s.dir, "-p", strconv.Itoa(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200", "-c", "shared_buffers=64MB", "-c", "max_wal_size=2GB",
		// The machine is not going to fail, only the server.
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "autovacuum_naptime=5")
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	err = s.cmd.Start()
	if cerr := log.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	cmd, exited := s.cmd, make(chan struct{})
	s.exited = exited
	go func() {
		_ = cmd.Wait() //nolint:errcheck // how it ended is of no interest
		close(exited)
	}()
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := s.ping()
		if err == nil {
			return nil
		}
		select {
		case <-exited:
			said, _ := os.ReadFile(filepath.Join(s.dir, "log")) //nolint:errcheck // it is for the error only
			return fmt.Errorf("the server ended: %s", said)
		default:
		}
		if time.Since(begun) > 2*time.Minute {
			return fmt.Errorf("the server does not start: %w", err)
		}
	}
}

func (s *Server) ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// Kill ends the server and all of its processes as a failure of the machine would,
// and waits until nothing of it is left.
func (s *Server) Kill() error {
	// Its processes end when their parent is gone.
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	<-s.exited
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+strconv.Itoa(s.port), time.Second)
		if err != nil {
			break
		}
		if err := conn.Close(); err != nil {
			return err
		}
		if time.Since(begun) > time.Minute {
			return errors.New("the server still listens after it was killed")
		}
	}
	return os.RemoveAll(filepath.Join(s.data(), "postmaster.pid"))
}

// Close ends the server and removes everything.
func (s *Server) Close() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) //nolint:errcheck // it may have ended
		select {
		case <-s.exited:
		case <-time.After(20 * time.Second):
			_ = s.cmd.Process.Kill() //nolint:errcheck // see above
			<-s.exited
		}
	}
	_ = os.RemoveAll(s.dir) //nolint:errcheck // of a temporary folder
}

// URL is the database "postgres" by the loopback, as its superuser.
func (s *Server) URL() string { return s.URLOf("postgres", nil) }

// URLOf is a URL with a user and parameters.
func (s *Server) URLOf(user string, params url.Values) string {
	return URLAt(s.Addr(), user, params)
}

// URLAt is the same by another address, such as that of a proxy.
func URLAt(addr, user string, params url.Values) string {
	u := url.URL{Scheme: "postgres", User: url.User(user), Host: addr, Path: "/postgres", RawQuery: params.Encode()}
	return u.String()
}

// SocketURL is the database by its Unix socket.
func (s *Server) SocketURL() string {
	return "postgres:///postgres?user=postgres&host=" + url.QueryEscape(s.dir) + "&port=" + strconv.Itoa(s.port)
}

// Schema makes a new empty schema and returns a URL that leads to it.
func (s *Server) Schema(t tb) string {
	t.Helper()
	name := fmt.Sprintf("s%d", s.schemas.Add(1))
	s.Exec(t, "CREATE SCHEMA "+name)
	return s.URLOf("postgres", url.Values{"search_path": {name}})
}

// Exec runs statements as the superuser.
func (s *Server) Exec(t tb, sql string) { s.ExecOn(t, s.URL(), sql) }

// ExecOn runs statements in the schema of a URL.
func (s *Server) ExecOn(t tb, at, sql string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx) //nolint:errcheck // it is over either way
	if _, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
}

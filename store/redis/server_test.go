package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"
)

// server is a private redis-server on a loopback port and a Unix socket, with its files
// in a temporary directory.
type testServer struct {
	dir, addr, socket string
	args              []string
	cmd               *exec.Cmd
	exited            chan struct{}
}

// databases is how many a test server has: most tests take one each.
const databases = 2048

// needServer skips the test where there is no redis-server, and fails it where nothing
// may be skipped.
func needServer(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("redis-server is not installed, and nothing may be skipped here: ", err)
		}
		t.Skip("redis-server is not installed (Debian: apt-get install redis-server)")
	}
	return path
}

// startServer starts a server that ends with the test.
func startServer(t testing.TB, args ...string) *testServer {
	t.Helper()
	needServer(t)
	// Not below t.TempDir, whose path may be too long for a socket.
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{dir: dir, addr: freeAddr(t), socket: filepath.Join(dir, "s"), args: args}
	t.Cleanup(func() {
		s.kill()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s.start(t)
	return s
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start starts it, again after a kill, and waits until it answers.
func (s *testServer) start(t testing.TB) {
	t.Helper()
	host, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{
		"--bind", host, "--port", port, "--unixsocket", s.socket, "--dir", s.dir, "--databases", strconv.Itoa(databases),
		"--appendonly", "yes", "--appendfsync", "no", "--save", "", "--repl-diskless-sync-delay", "0", "--loglevel", "warning", "--logfile", filepath.Join(s.dir, "log"),
	}, s.args...)
	s.cmd = exec.Command(needServer(t), args...)
	// No file: what it forks to save and to feed replicas holds it too, so that Wait
	// returns when nothing writes into the folder any more.
	s.cmd.Stdout = io.Discard
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait() // it is killed
		close(exited)
	}(s.cmd, s.exited)
	c := goredis.NewClient(&goredis.Options{Network: "unix", Addr: s.socket, Protocol: 2, DisableIdentity: true, MaxRetries: -1})
	defer c.Close()
	for deadline := time.Now().Add(20 * time.Second); ; {
		_, err := c.Ping(context.Background()).Result()
		if answer := redisAnswer(err); err == nil || answer != "" && answer[:2] == "NO" {
			return
		}
		select {
		case <-s.exited:
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			t.Fatalf("redis-server ended: %s", log)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("redis-server does not answer: ", err)
		}
	}
}

// kill ends it as a crash does.
func (s *testServer) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.exited
	s.cmd = nil
}

// url is the locator of one of its databases.
func (s *testServer) url(db int) string { return fmt.Sprintf("redis://%s/%d", s.addr, db) }

// socketURL is the same by its socket.
func (s *testServer) socketURL(db int) string { return fmt.Sprintf("redis://%s?db=%d", s.socket, db) }

// client speaks to a database by itself.
func (s *testServer) client(t testing.TB, db int) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: s.addr, DB: db, Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { c.Close() })
	return c
}

// shared is a server that tests of one binary share, each with databases of its own.
type shared struct {
	once sync.Once
	s    *testServer
	next atomic.Int64
}

func (h *shared) db() int { return int(h.next.Add(1)) }

func open(t testing.TB, o Options) *DB {
	t.Helper()
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// openNew makes a store of both contracts.
func openNew(t testing.TB, url string) *DB {
	t.Helper()
	return open(t, Options{URL: url, ReadWrite: true, Create: true})
}

func is(t testing.TB, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Fatalf("error is %v, want %v", err, target)
		}
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

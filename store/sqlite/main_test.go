package sqlite

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
)

// childRole in the environment makes the test binary a child process: its value is
// the name of one of childRoles.
const childRole = "TREERING_TEST_CHILD"

// childRoles are what child processes do. Files of tests add to it in init.
var childRoles = map[string]func(args []string) error{"sql": childSQL}

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		if err := childRoles[role](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "child", role+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childSQL opens the file of its argument as any program would and executes the
// statements that it reads from its input, one a line; after each it answers "ok"
// or the error.
func childSQL(args []string) error {
	conn, err := sqlite.OpenConn(args[0], sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return err
	}
	conn.SetBusyTimeout(5 * time.Second)
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if in.Text() == "close" {
			return conn.Close()
		}
		if err := run(conn, in.Text()); err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		fmt.Println("ok")
	}
	return nil
}

// childEnv is the environment of a child. Under the race detector a process would
// sleep for a second before it ends.
func childEnv(role string) []string {
	return append(os.Environ(), childRole+"="+role, "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
}

// process is a child under the test's control.
type process struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// child starts the test binary as a child process.
func child(t testing.TB, role string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = childEnv(role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t, cmd, in, bufio.NewScanner(out)}
	t.Cleanup(p.kill)
	return p
}

// writer starts a child that writes to path as any program would.
func writerProcess(t testing.TB, path string, statements ...string) *process {
	t.Helper()
	p := child(t, "sql", path)
	if got := p.line(); got != "ready" {
		t.Fatalf("child said %q, want ready", got)
	}
	p.do(statements...)
	return p
}

func (p *process) line() string {
	p.t.Helper()
	if !p.out.Scan() {
		p.t.Fatalf("the child said nothing: %v", p.out.Err())
	}
	return p.out.Text()
}

// do has the child execute statements.
func (p *process) do(statements ...string) {
	p.t.Helper()
	for _, s := range statements {
		fmt.Fprintln(p.in, s)
		if got := p.line(); got != "ok" {
			p.t.Fatalf("child, %s: %s", s, got)
		}
	}
}

// close ends the child as a program that closes its database.
func (p *process) close() {
	p.t.Helper()
	fmt.Fprintln(p.in, "close")
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatal(err)
	}
}

// kill ends the child as a crash does. Killing twice is harmless.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

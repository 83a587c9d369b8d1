package rqlite

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// newCluster is where a case of the suites has its data: a stand-in, or a server of
// its own where RQLITED names the binary of one.
func newCluster(t testing.TB) Address {
	t.Helper()
	if os.Getenv("RQLITED") == "" {
		a := newStandIn(t, 1).addressOf(t)
		a.Timeout = 2 * time.Minute // its engine is slow under the race detector
		return a
	}
	return startReal(t).address
}

// realNode is a node of a real server.
type realNode struct {
	address Address
	dir     string
	args    []string
	cmd     *exec.Cmd
}

// realTurns bounds the servers that run at a time.
var realTurns = make(chan struct{}, 4)

// startReal starts a server on loopback.
func startReal(t testing.TB) *realNode {
	t.Helper()
	realTurns <- struct{}{}
	t.Cleanup(func() { <-realTurns })
	n := newRealNode(t, "1", freePort(t))
	n.start(t)
	return n
}

func newRealNode(t testing.TB, id, raft string, more ...string) *realNode {
	t.Helper()
	http := freePort(t)
	n := &realNode{address: Address{Nodes: []string{http}}, dir: filepath.Join(t.TempDir(), "data")}
	n.args = append([]string{"-node-id", id, "-http-addr", http, "-raft-addr", raft, "-raft-log-level", "ERROR"}, more...)
	n.args = append(n.args, n.dir)
	t.Cleanup(func() { n.kill() })
	return n
}

// TestRealCluster kills each of three real nodes in turn, as kill -9 does, amid
// thousands of commits of clients that know all three.
func TestRealCluster(t *testing.T) {
	if os.Getenv("RQLITED") == "" {
		t.Skip("RQLITED names no rqlited")
	}
	first := freePort(t)
	nodes := []*realNode{newRealNode(t, "1", first)}
	for _, id := range []string{"2", "3"} {
		nodes = append(nodes, newRealNode(t, id, freePort(t), "-join", first))
	}
	var all Address
	for _, n := range nodes {
		n.start(t)
		all.Nodes = append(all.Nodes, n.address.Nodes...)
	}
	openAt(t, all, Options{ReadWrite: true, Create: true})
	commits := 3000
	if testing.Short() {
		commits = 300
	}
	stop := make(chan struct{})
	var chaos sync.WaitGroup
	chaos.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(1500 * time.Millisecond):
			}
			n := nodes[i%len(nodes)]
			n.kill()
			time.Sleep(700 * time.Millisecond) // how long it is away
			n.start(t)
		}
	})
	commitAmid(t, all, commits, 6, func() {
		close(stop)
		chaos.Wait()
	})
}

func (n *realNode) start(t testing.TB) {
	t.Helper()
	n.cmd = exec.Command(os.Getenv("RQLITED"), n.args...)
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		resp, err := http.Get("http://" + n.address.Nodes[0] + "/readyz")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not become ready: ", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// kill ends the server as kill -9 does.
func (n *realNode) kill() {
	if n.cmd == nil || n.cmd.Process == nil {
		return
	}
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

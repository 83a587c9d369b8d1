package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"treering/store"
)

// What the server answers is an error that says what to do, and matches what it is.
func TestAnswers(t *testing.T) {
	for answer, want := range map[string]struct {
		kind error
		text string
	}{
		"LOADING Redis is loading the dataset in memory":                                                     {store.ErrBusy, "still loading its data"},
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL":                                 {store.ErrBusy, "SCRIPT KILL"},
		"READONLY You can't write against a read only replica.":                                              {store.ErrReadOnly, "name the master"},
		"MASTERDOWN Link with MASTER is down":                                                                {store.ErrBusy, "lost its master"},
		"OOM command not allowed when used memory > 'maxmemory'.":                                            {ErrFull, "maxmemory"},
		"MISCONF Redis is configured to save RDB snapshots":                                                  {ErrFull, "its log says why"},
		"NOAUTH Authentication required.":                                                                    {ErrDenied, "REDISCLI_AUTH"},
		"WRONGPASS invalid username-password pair or user is disabled.":                                      {ErrDenied, "password is wrong"},
		"NOPERM this user has no permissions to run the 'get' command":                                       {ErrDenied, "'get'"},
		"DENIED Redis is running in protected mode":                                                          {ErrDenied, "protected mode"},
		"MOVED 3999 127.0.0.1:6381":                                                                          {ErrCluster, "hash tag"},
		"CROSSSLOT Keys in request don't hash to the same slot":                                              {ErrCluster, "hash tag"},
		"CLUSTERDOWN Hash slot not served":                                                                   {store.ErrBusy, "down"},
		"ERR max number of clients reached":                                                                  {store.ErrBusy, "as many clients"},
		"ERR Error running script (call to f_1): @user_script:3: -OOM command not a":                         {ErrFull, "maxmemory"},
		"ERR Error running script (call to f_1): @user_script:3: @user_script: 3: -READONLY You can't write": {store.ErrReadOnly, "name the master"},
		"ERR something new": {nil, "ERR something new"},
	} {
		m := miniredis.RunT(t)
		d := openNew(t, "redis://"+m.Addr())
		m.SetError(answer)
		_, err := d.Executions().Load(t.Context(), "e")
		var told *ServerError
		if !errors.As(err, &told) || !strings.Contains(err.Error(), want.text) || want.kind != nil && !errors.Is(err, want.kind) {
			t.Errorf("%s: %v", answer, err)
		}
		exe := newExecution("e")
		if err := d.Executions().Save(t.Context(), exe); errors.Is(err, store.ErrOutcomeUnknown) || !errors.As(err, &told) || exe.Version != 0 {
			t.Errorf("%s: a write that was refused: %v, version %d", answer, err, exe.Version)
		}
		m.SetError("")
		ok(t, d.Executions().Save(t.Context(), exe))
	}
}

// A server that forgot its scripts gets them again.
func TestForgottenScripts(t *testing.T) {
	s := startServer(t)
	d := openNew(t, s.url(0))
	exe := newExecution("e")
	for range 3 {
		ok(t, d.Executions().Save(t.Context(), exe))
		ok(t, s.client(t, 0).ScriptFlush(t.Context()).Err())
	}
	equal(t, "version", exe.Version, 3)
}

// A replica is read and never written; a master that becomes one in the middle refuses
// a commit whole.
func TestReplica(t *testing.T) {
	master := startServer(t)
	d := openNew(t, master.url(0))
	exe := newExecution("e")
	ok(t, d.Executions().Save(t.Context(), exe))
	host, port, err := net.SplitHostPort(master.addr)
	ok(t, err)
	replica := startServer(t, "--replicaof", host, port)
	rc := replica.client(t, 0)
	for rc.Exists(t.Context(), "harel:exe:e").Val() == 0 {
		time.Sleep(5 * time.Millisecond) // it tells nobody when it has caught up
	}
	r := open(t, Options{URL: replica.url(0), ReadWrite: true, Create: true})
	if _, err := r.Executions().Load(t.Context(), "e"); err != nil || !r.Replica() || r.Writable() {
		t.Errorf("a replica: %v, %s", err, r.Server())
	}
	err = r.Executions().Save(t.Context(), newExecution("f"))
	is(t, err, store.ErrReadOnly)
	if !strings.Contains(err.Error(), "the server is a replica, which takes no writes; the locator of its master") {
		t.Errorf("a write to a replica: %v", err)
	}

	host, port, err = net.SplitHostPort(replica.addr)
	ok(t, err)
	ok(t, rc.SlaveOf(t.Context(), "NO", "ONE").Err())
	ok(t, master.client(t, 0).SlaveOf(t.Context(), host, port).Err())
	_, err = d.Executions().Commit(t.Context(), numberedCommit(exe))
	is(t, err, store.ErrReadOnly)
	equal(t, "version in hand", exe.Version, 1)
	equal(t, "entries", rc.HLen(t.Context(), "harel:outbox").Val(), 0)
}

// A full server refuses a commit whole, and answers reads.
func TestFullServer(t *testing.T) {
	s := startServer(t)
	d := openNew(t, s.url(0))
	exe := newExecution("e")
	_, err := d.Executions().Commit(t.Context(), numberedCommit(exe))
	ok(t, err)
	_, err = d.Trees().CreateSession(t.Context(), "kept", "session", nil)
	ok(t, err)
	ok(t, d.Trees().Append(t.Context(), "kept", store.Node{ID: "r", Kind: "init", Data: "{}"}))
	c := s.client(t, 0)
	ok(t, c.ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, err = d.Executions().Commit(t.Context(), numberedCommit(exe))
	is(t, err, ErrFull)
	equal(t, "version in hand", exe.Version, 1)
	_, err = d.Trees().CreateSession(t.Context(), "s", "session", nil)
	is(t, err, ErrFull)
	whole(t, d.Executions(), map[string]int64{"e": 1})
	_, processed, err := d.Executions().LoadForEvent(t.Context(), "e", "e-1")
	ok(t, err)
	equal(t, "processed", processed, true)
	history, err := d.Trees().ListHistory(t.Context(), "kept", "r", store.PageRequest{})
	ok(t, err)
	equal(t, "history", len(history.Items), 1)
	ok(t, c.ConfigSet(t.Context(), "maxmemory", "0").Err())
	_, err = d.Executions().Commit(t.Context(), numberedCommit(exe))
	ok(t, err)
	whole(t, d.Executions(), map[string]int64{"e": 2})
}

// Passwords come from the locator or the environment, and are in no error.
func TestPasswords(t *testing.T) {
	s := startServer(t, "--requirepass", "s3cret/#")
	for url, want := range map[string]error{
		s.url(0): ErrDenied, "redis://:wr0ng@" + s.addr: ErrDenied, "redis://nobody:wr0ng@" + s.addr: ErrDenied,
		"redis://:s3cret%2F%23@" + s.addr: nil, "redis://default:s3cret%2F%23@" + s.addr: nil,
	} {
		d, err := Open(t.Context(), Options{URL: url, ReadWrite: true, Create: true})
		switch {
		case want == nil && err != nil || want != nil && !errors.Is(err, want):
			t.Errorf("%s: %v, want %v", url, err, want)
		case err != nil && (strings.Contains(err.Error(), "wr0ng") || strings.Contains(err.Error(), "s3cret")):
			t.Errorf("a password in an error: %v", err)
		}
		if err == nil {
			ok(t, d.Close())
		}
	}
	t.Setenv(PasswordVariable, "s3cret/#")
	openNew(t, s.url(0))
}

// A user who may only read is enough to look, and is never refused anything that a
// reader would miss.
func TestUserWhoMayOnlyRead(t *testing.T) {
	s := startServer(t)
	d := openNew(t, s.url(0))
	ctx := t.Context()
	_, err := d.Executions().Commit(ctx, numberedCommit(newExecution("e")))
	ok(t, err)
	_, err = d.Trees().CreateSession(ctx, "s", "session", nil)
	ok(t, err)
	root := "r"
	ok(t, d.Trees().Append(ctx, "s", store.Node{ID: root, Kind: "init", Data: "{}"}))
	ok(t, d.Trees().Append(ctx, "s", store.Node{ID: "a", ParentID: &root, Kind: "run", Data: "{}"}))
	c := s.client(t, 0)
	ok(t, c.Do(ctx, "ACL", "SETUSER", "reader", "on", ">pw", "~*", "-@all", "+@read", "+@connection", "+@transaction", "+time", "-@dangerous").Err())
	r := open(t, Options{URL: "redis://reader:pw@" + s.addr})
	es, ts := r.Executions(), r.Trees()
	for what, read := range map[string]func() error{
		"load": func() error { _, _, err := es.LoadForEvent(ctx, "e", "x"); return err },
		"list": func() error {
			_, err := es.ListExecutions(ctx, store.ExecutionFilter{}, store.PageRequest{})
			return err
		},
		"counts":   func() error { _, err := es.Counts(ctx); return err },
		"outbox":   func() error { _, err := es.ListOutbox(ctx, store.QueueFilter{}, store.PageRequest{}); return err },
		"timers":   func() error { _, err := es.ListTimers(ctx, store.QueueFilter{}, store.PageRequest{}); return err },
		"trace":    func() error { _, err := es.ReadTrace(ctx, "e"); return err },
		"sessions": func() error { _, err := ts.ListSessions(ctx, store.SessionFilter{}, store.PageRequest{}); return err },
		"nodes":    func() error { _, err := ts.ListNodes(ctx, "s", store.PageRequest{}); return err },
		"children": func() error { _, err := ts.ListChildren(ctx, "s", "r", store.PageRequest{}); return err },
		"history": func() error {
			page, err := ts.ListHistory(ctx, "s", "a", store.PageRequest{})
			if err == nil && len(page.Items) != 2 {
				err = fmt.Errorf("%d nodes", len(page.Items))
			}
			return err
		},
		"watch": func() error { _, err := r.ChangeToken(ctx); return err },
	} {
		if err := read(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if !strings.Contains(r.Noticing(), "does not tell") {
		t.Errorf("it may not run INFO: %s", r.Noticing())
	}
	before, err := r.ChangeToken(ctx)
	ok(t, err)
	_, err = d.Executions().AckOutbox(ctx, 1)
	ok(t, err)
	if after, err := r.ChangeToken(ctx); err != nil || after == before {
		t.Errorf("a change was not noticed: %q, %v", after, err)
	}
	w := open(t, Options{URL: "redis://reader:pw@" + s.addr, ReadWrite: true})
	is(t, w.Executions().Save(ctx, newExecution("f")), ErrDenied)
}

// A right that is taken away from one part of a commit refuses it whole.
func TestRevokedRights(t *testing.T) {
	s := startServer(t)
	openNew(t, s.url(0))
	c, ctx := s.client(t, 0), t.Context()
	ok(t, c.Do(ctx, "ACL", "SETUSER", "writer", "on", ">pw", "~*", "+@all").Err())
	d := open(t, Options{URL: "redis://writer:pw@" + s.addr, ReadWrite: true})
	exe := newExecution("e")
	_, err := d.Executions().Commit(ctx, numberedCommit(exe))
	ok(t, err)
	for _, command := range []string{"set", "hset", "sadd", "zadd", "rpush", "ltrim", "incrby"} {
		ok(t, c.Do(ctx, "ACL", "SETUSER", "writer", "-"+command).Err())
		_, err := d.Executions().Commit(ctx, numberedCommit(exe))
		is(t, err, ErrDenied)
		if !strings.Contains(err.Error(), strings.ToUpper(command)) {
			t.Errorf("the error does not say which: %v", err)
		}
		ok(t, c.Do(ctx, "ACL", "SETUSER", "writer", "+"+command).Err())
		whole(t, d.Executions(), map[string]int64{"e": 1})
	}
	_, err = d.Executions().Commit(ctx, numberedCommit(exe))
	ok(t, err)
	whole(t, d.Executions(), map[string]int64{"e": 2})
}

// proxy hands connections on to a server, until it is told to lose the answers.
type proxy struct {
	l    net.Listener
	lose atomic.Bool // the next request that is a script is handed on, its answer is not
}

func startProxy(t testing.TB, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	p := &proxy{l: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			var losing atomic.Bool
			go func() {
				defer out.Close()
				buf := make([]byte, 64<<10)
				for {
					n, err := in.Read(buf)
					if n > 0 {
						if strings.Contains(strings.ToLower(string(buf[:n])), "evalsha") && p.lose.CompareAndSwap(true, false) {
							losing.Store(true)
						}
						if _, err := out.Write(buf[:n]); err != nil {
							return
						}
					}
					if err != nil {
						return
					}
				}
			}()
			go func() {
				defer in.Close()
				buf := make([]byte, 64<<10)
				for {
					n, err := out.Read(buf)
					if n > 0 && losing.Load() {
						return // the server has answered, and nobody hears it
					}
					if n > 0 {
						if _, err := in.Write(buf[:n]); err != nil {
							return
						}
					}
					if err != nil {
						if !errors.Is(err, io.EOF) {
							return
						}
						return
					}
				}
			}()
		}
	}()
	return p
}

// A write whose answer was lost says that its outcome is unknown, and the same prepared
// value can be tried again.
func TestLostAnswers(t *testing.T) {
	s := startServer(t)
	p := startProxy(t, s.addr)
	d := openNew(t, "redis://"+p.l.Addr().String())
	ctx := t.Context()
	exe := newExecution("e")
	_, err := d.Executions().Commit(ctx, numberedCommit(exe))
	ok(t, err)
	c := numberedCommit(exe)
	p.lose.Store(true)
	_, err = d.Executions().Commit(ctx, c)
	is(t, err, store.ErrOutcomeUnknown)
	equal(t, "version in hand", exe.Version, 1)
	_, err = d.Executions().Commit(ctx, c)
	var lost *store.ConflictError
	if !errors.As(err, &lost) || lost.Found == nil || *lost.Found != 2 {
		t.Fatalf("the same commit again: %v", err)
	}
	whole(t, d.Executions(), map[string]int64{"e": 2})

	_, err = d.Trees().CreateSession(ctx, "s", "session", nil)
	ok(t, err)
	root := store.Node{ID: "r", Kind: "init", Data: `{"a":1}`}
	p.lose.Store(true)
	is(t, d.Trees().Append(ctx, "s", root), store.ErrOutcomeUnknown)
	ok(t, d.Trees().Append(ctx, "s", root))
	n, err := d.Trees().CountNodes(ctx, "s")
	ok(t, err)
	equal(t, "nodes", n, 1)
}

// A server that is slow, or stands still, keeps nobody longer than the timeout or the
// caller's patience, and answers again afterwards.
func TestSlowServer(t *testing.T) {
	s := startServer(t)
	d := openNew(t, s.url(0)+"?timeout=100ms")
	ctx := t.Context()
	ok(t, d.Executions().Save(ctx, newExecution("e")))
	c := s.client(t, 0)
	ok(t, c.Do(ctx, "CLIENT", "PAUSE", "400", "ALL").Err())
	is(t, d.Executions().Save(ctx, newExecution("f")), store.ErrOutcomeUnknown)
	_, err := d.Executions().Load(ctx, "e")
	is(t, err, ErrUnreachable)
	if since := d.Down(); since.IsZero() || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("down since %v: %v", since, err)
	}
	impatient, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if _, err := d.Executions().Load(impatient, "e"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an impatient caller: %v", err)
	}
	for deadline := time.Now().Add(5 * time.Second); ; {
		if _, err = d.Executions().Load(ctx, "e"); err == nil || time.Now().After(deadline) {
			break
		}
	}
	ok(t, err)
	if !d.Down().IsZero() {
		t.Error("it answers, and counts as down")
	}
}

// In a cluster a commit needs all keys in one slot, which a hash tag in the prefix does.
func TestCluster(t *testing.T) {
	s := startServer(t, "--databases", "1", "--cluster-enabled", "yes")
	c, ctx := s.client(t, 0), t.Context()
	ok(t, c.ClusterAddSlotsRange(ctx, 0, 16383).Err())
	for !strings.Contains(c.ClusterInfo(ctx).Val(), "cluster_state:ok") {
		time.Sleep(5 * time.Millisecond) // it tells nobody
	}
	for _, prefix := range []*string{nil, new(DefaultPrefix)} {
		_, err := Open(ctx, Options{URL: s.url(0), Prefix: prefix})
		is(t, err, ErrCluster)
		if !strings.Contains(err.Error(), "--prefix '{harel}'") {
			t.Errorf("no next step: %v", err)
		}
	}
	d := open(t, Options{URL: s.url(0), Prefix: new("{harel}"), ReadWrite: true, Create: true})
	exe := newExecution("e")
	for range 2 {
		_, err := d.Executions().Commit(ctx, numberedCommit(exe))
		ok(t, err)
	}
	whole(t, d.Executions(), map[string]int64{"e": 2})
	page, err := d.Executions().ListExecutions(ctx, store.ExecutionFilter{}, store.PageRequest{})
	ok(t, err)
	equal(t, "listed", len(page.Items), 1)
	_, err = d.Trees().CreateSession(ctx, "s", "session", store.Seconds(100))
	ok(t, err)
	ok(t, d.Trees().Append(ctx, "s", store.Node{ID: "r", Kind: "init", Data: "{}"}))
	nodes, err := d.Trees().ListNodes(ctx, "s", store.PageRequest{})
	ok(t, err)
	equal(t, "nodes", len(nodes.Items), 1)
	for _, key := range c.Keys(ctx, "*").Val() {
		if !strings.HasPrefix(key, "{harel}:") {
			t.Errorf("the key %q may lie in another slot", key)
		}
	}
	if _, err := d.ChangeToken(ctx); err != nil {
		t.Error(err)
	}
}

// The server's clock decides what has expired, whatever the clients' say.
func TestClocksOfHosts(t *testing.T) {
	m := miniredis.RunT(t)
	server := time.Now().Add(-3 * time.Hour) // or the clients are ahead
	m.SetTime(server)
	d, other := openNew(t, "redis://"+m.Addr()), openNew(t, "redis://"+m.Addr())
	ctx := t.Context()
	info, err := d.Trees().CreateSession(ctx, "s", "session", store.Seconds(60))
	ok(t, err)
	if at := float64(server.Unix()) + 60; *info.ExpiresAt < at || *info.ExpiresAt > at+1 {
		t.Errorf("expires at %v, the server's time is %v", *info.ExpiresAt, server.Unix())
	}
	if _, err := other.Trees().Session(ctx, "s"); err != nil {
		t.Error(err)
	}
	m.SetTime(server.Add(61 * time.Second))
	for _, d := range []*DB{d, other} {
		_, err := d.Trees().Session(ctx, "s")
		is(t, err, store.ErrNotFound)
	}
	// It is expired, and still there until somebody deletes it.
	n, err := other.Trees().CountExpired(ctx)
	ok(t, err)
	equal(t, "expired", n, 1)
	for _, key := range m.Keys() {
		if ttl := m.TTL(key); ttl != 0 {
			t.Errorf("%q expires by itself in %v", key, ttl)
		}
	}
	existed, err := d.Trees().DeleteSession(ctx, "s")
	ok(t, err)
	equal(t, "existed", existed, true)
}

func TestAddresses(t *testing.T) {
	none := func(string) string { return "" }
	for url, want := range map[string]string{
		"redis://":                         "tcp localhost:6379 0",
		"redis://db":                       "tcp db:6379 0",
		"redis://[::1]:7000/3":             "tcp [::1]:7000 3",
		"redis://u:p%40@db/?db=2":          "tcp db:6379 2",
		"rediss://db:1/":                   "tcp db:1 0",
		"redis:///var/run/redis.sock":      "unix /var/run/redis.sock 0",
		"redis:///var/run/redis.sock?db=4": "unix /var/run/redis.sock 4",
		"redis:///5":                       "tcp localhost:6379 5",
		"REDIS://db/1?timeout=2s":          "tcp db:6379 1",
	} {
		a, err := parseAddress(url, none)
		if got := fmt.Sprint(a.network, " ", a.addr, " ", a.db); err != nil || got != want || (a.tls != nil) != strings.HasPrefix(url, "rediss") {
			t.Errorf("%s: %s, %v", url, got, err)
		}
	}
	for _, url := range []string{
		"redis://u:p#a@db", "redis://u:hush/@db", "redis://db/x", "redis://db/1/2", "redis://db?db=-1", "redis://db?timeout=soon", "redis://db?password=hush",
		"redis://db?insecure=1", "rediss://db?cacert=/nowhere", "redis://db:port", "rediss:///s.sock", "http://db", "redis://u:%zzhush@db",
	} {
		_, err := parseAddress(url, none)
		var wrong *AddressError
		if !errors.As(err, &wrong) || !errors.Is(err, store.ErrStoreNotFound) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A replica that its master does not reach is behind, and one that was promoted is
// noticed; so is a master that became a replica.
func TestRoles(t *testing.T) {
	master := startServer(t)
	d := openNew(t, master.url(0))
	ctx, exe := t.Context(), newExecution("e")
	ok(t, d.Executions().Save(ctx, exe))
	host, port, err := net.SplitHostPort(master.addr)
	ok(t, err)
	replica := startServer(t, "--replicaof", host, port)
	rc := replica.client(t, 0)
	for rc.Exists(ctx, "harel:exe:e").Val() == 0 {
		time.Sleep(5 * time.Millisecond) // it tells nobody when it has caught up
	}
	r := open(t, Options{URL: replica.url(0), ReadWrite: true})
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	until := func(d *DB, what string, so func() bool) {
		t.Helper()
		for token := ""; !so(); {
			var err error
			if token, err = d.Wait(wait, token); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	if since, why := r.Behind(); !since.IsZero() {
		t.Errorf("it follows, and is behind since %v: %s", since, why)
	}
	master.kill()
	until(r, "behind", func() bool { since, _ := r.Behind(); return !since.IsZero() })
	ok(t, rc.SlaveOf(ctx, "NO", "ONE").Err())
	until(r, "promoted", func() bool { _, why := r.How(); return strings.Contains(why, "takes writes now: open it again") })
	if since, _ := r.Behind(); !since.IsZero() {
		t.Error("it follows nobody, and is behind")
	}
	is(t, r.Executions().Save(ctx, exe), store.ErrReadOnly)
	w := open(t, Options{URL: replica.url(0), ReadWrite: true})
	ok(t, w.Executions().Save(ctx, exe))
	master.start(t)
	ok(t, rc.SlaveOf(ctx, host, port).Err())
	until(w, "demoted", func() bool { _, why := w.How(); return strings.Contains(why, "is a replica now") })
}

// A server that cannot save to its disk refuses a commit whole, can be read, and takes
// writes again once it can.
func TestServerCannotSave(t *testing.T) {
	s := startServer(t, "--appendonly", "no", "--dbfilename", "taken")
	d := openNew(t, s.url(0))
	c, ctx, exe := s.client(t, 0), t.Context(), newExecution("e")
	_, err := d.Executions().Commit(ctx, numberedCommit(exe))
	ok(t, err)
	taken := filepath.Join(s.dir, "taken")
	ok(t, os.Mkdir(taken, 0o700)) // nothing can be renamed to that
	ok(t, c.ConfigSet(ctx, "save", "3600 1").Err())
	save := func(status string) {
		t.Helper()
		ok(t, c.BgSave(ctx).Err())
		for !strings.Contains(c.Info(ctx, "persistence").Val(), "rdb_last_bgsave_status:"+status) {
			time.Sleep(5 * time.Millisecond) // it tells nobody
		}
	}
	save("err")
	_, err = d.Executions().Commit(ctx, numberedCommit(exe))
	is(t, err, ErrFull)
	if !strings.Contains(err.Error(), "cannot save to its disk") || errors.Is(err, store.ErrOutcomeUnknown) {
		t.Errorf("a commit: %v", err)
	}
	is(t, d.Executions().Save(ctx, newExecution("f")), ErrFull)
	whole(t, d.Executions(), map[string]int64{"e": 1})
	ok(t, os.Remove(taken))
	save("ok")
	_, err = d.Executions().Commit(ctx, numberedCommit(exe))
	ok(t, err)
	whole(t, d.Executions(), map[string]int64{"e": 2})
}

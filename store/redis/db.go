package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

// Options say what to open and how.
type Options struct {
	// URL is redis://[user[:password]@]host[:port][/db] or, with TLS, rediss://; without
	// a host its path is that of a Unix socket. A password that is not in it is taken
	// from [PasswordVariable].
	URL string
	// Prefix names the execution keys; nil looks for them.
	Prefix *string
	// ReadWrite arms writing. Nothing is ever written without it.
	ReadWrite bool
	// Create, with ReadWrite, makes what is there a store of both contracts.
	Create bool
	// TraceMax is the length of trace rings: nil the default, 0 unbounded.
	TraceMax *int
	// Skew is added to the server's time, by which trees expire. nil adds nothing.
	Skew func() time.Duration
}

// Set is one set of execution keys.
type Set struct {
	Prefix     string
	Executions int64 // -1: not counted
}

// AmbiguousSetError: there are executions under several prefixes, of which none can be
// preferred. Options.Prefix chooses.
type AmbiguousSetError struct {
	Sets []Set
}

func (e *AmbiguousSetError) Error() string {
	var names []string
	for _, s := range e.Sets {
		names = append(names, fmt.Sprintf("%s (%d)", s.Prefix, s.Executions))
	}
	return "there are executions under several prefixes, " + strings.Join(names, ", ") + ": choose one with --prefix"
}

// DB is a connected server with the stores that it holds.
type DB struct {
	opts   Options
	asked  bool // writing was asked for, whether or not it can be had
	at     address
	addr   string // for people, without credentials
	client goredis.UniversalClient
	health health
	gate   gate
	pulse  pulse
	roles  roles
	server server

	ours       bool
	hasTrees   bool
	sets       []Set
	note       string
	executions *executions
	trees      *trees
	treeKeys   treeKeys
	ids        index

	life    context.Context // ends with Close
	end     context.CancelFunc
	closing sync.Once
	err     error
}

// server is what the server says of itself.
type server struct {
	version string // "" where it does not tell
	replica bool
	counts  bool // it tells its count of changes
	why     string
}

// Open connects and finds out what is there. Without ReadWrite nothing is written, and
// only commands are sent that read. A replica is opened for reading whatever was asked
// for.
//
// The errors are an *[AddressError], a *[ServerError], an *[AmbiguousSetError],
// [store.ErrNotAStore] where neither executions nor session trees are there, and a
// *[store.ValueError] for a negative TraceMax or a bad prefix.
func Open(ctx context.Context, o Options) (*DB, error) {
	traceMax := store.DefaultTraceMax
	if o.TraceMax != nil {
		if traceMax = *o.TraceMax; traceMax < 0 {
			return nil, &store.ValueError{Field: "trace max", Reason: "must not be negative; 0 keeps every step", Err: store.ErrBadLimit}
		}
	}
	if o.Prefix != nil {
		if err := CheckPrefix(*o.Prefix); err != nil {
			return nil, err
		}
	}
	at, err := parseAddress(o.URL, os.Getenv)
	if err != nil {
		return nil, err
	}
	o.URL = "" // it may hold a password, and nothing asks for it again
	d := &DB{opts: o, at: at, addr: at.shown(), client: at.client()}
	d.life, d.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := d.open(ctx, traceMax); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *DB) open(ctx context.Context, traceMax int) error {
	clustered, err := read(ctx, d, d.meet)
	if err != nil {
		return err
	}
	if clustered {
		if err := d.joinCluster(ctx); err != nil {
			return err
		}
	}
	d.asked = d.opts.ReadWrite
	if d.server.replica {
		d.opts.ReadWrite = false
	}
	prefix, err := d.detect(ctx)
	if err != nil {
		return err
	}
	scope := fmt.Sprintf("redis %s %d", at(d.at), d.at.db)
	d.executions = &executions{db: d, keys: keysOf(prefix), traceMax: traceMax, scope: scope + " " + prefix}
	d.ids.executions = d.executions
	d.trees = &trees{db: d, keys: d.treeKeys, scope: scope + " trees"}
	return nil
}

// at is an address as part of a scope.
func at(a address) string { return a.network + " " + a.addr }

// meet asks the server who it is. A user who may not ask is told no more than whether
// the server answers.
func (d *DB) meet(ctx context.Context) (clustered bool, err error) {
	info, err := d.client.Info(ctx, "server").Result()
	switch answer := redisAnswer(err); {
	case err == nil:
		fields := infoFields(info)
		d.server.version = fields["redis_version"]
		clustered = fields["redis_mode"] == "cluster"
	case answer == "" || strings.HasPrefix(answer, "NOAUTH") || strings.HasPrefix(answer, "LOADING") || strings.HasPrefix(answer, "MASTERDOWN"):
		return false, err
	default:
		// Not granted, or not known there. A password that is wrong shows in the next one.
		if err := d.client.Exists(ctx, "treering:store").Err(); err != nil {
			if answer := redisAnswer(err); strings.HasPrefix(answer, "MOVED ") || strings.HasPrefix(answer, "CLUSTERDOWN") {
				return true, nil
			}
			return false, err
		}
	}
	if info, err := d.client.Info(ctx, "replication").Result(); err == nil {
		d.server.replica = d.roles.note(info, time.Now()).replica
	}
	if info, err := d.client.Info(ctx, "persistence").Result(); err == nil {
		_, d.server.counts = infoFields(info)["rdb_changes_since_last_save"]
		if !d.server.counts {
			d.server.why = "the server does not tell how much it has changed"
		}
	} else {
		d.server.why = "the server does not tell how much it has changed: " + redisAnswer(err)
	}
	return clustered, nil
}

// joinCluster has all keys in one slot, or says why that cannot be.
func (d *DB) joinCluster(ctx context.Context) error {
	if d.opts.Prefix == nil || hashTag(*d.opts.Prefix) == "" {
		return &ServerError{Addr: d.addr, Kind: ErrCluster, Err: ErrCluster, Reason: "it is a node of a Redis Cluster, and a commit changes keys that a cluster keeps apart: harel's own keys cannot be there; for a store of treering's own choose a prefix with a hash tag, such as --prefix '{harel}'"}
	}
	if d.at.db != 0 {
		return &ServerError{Addr: d.addr, Kind: ErrCluster, Err: ErrCluster, Reason: "a Redis Cluster has database 0 only"}
	}
	if err := d.client.Close(); err != nil {
		return d.serverError(err)
	}
	d.client = d.at.cluster()
	_, err := read(ctx, d, func(ctx context.Context) (int64, error) {
		return d.client.Exists(ctx, *d.opts.Prefix+":treering:store").Result()
	})
	return err
}

// node is the server that has the keys: what is asked of a server and not of a key
// goes there.
func (d *DB) node(ctx context.Context) (*goredis.Client, error) {
	switch c := d.client.(type) {
	case *goredis.Client:
		return c, nil
	case *goredis.ClusterClient:
		return c.MasterForKey(ctx, *d.opts.Prefix+":outbox")
	}
	return nil, fmt.Errorf("redis %s: no such kind of client: %T", d.addr, d.client)
}

// writable says whether a write may begin.
func (d *DB) writable(ctx context.Context) error {
	if err := d.gate.open(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !d.opts.ReadWrite {
		_, why := d.How()
		if !d.asked {
			why = "it is open for reading only; open it with --rw to write"
		}
		return &ServerError{Addr: d.addr, Reason: why, Kind: store.ErrReadOnly, Err: store.ErrReadOnly}
	}
	return nil
}

// How says how and why it is open as it is. It asks the server nothing.
func (d *DB) How() (how, why string) {
	replica := d.roles.replica()
	switch {
	case d.opts.ReadWrite:
		how, why = "read-write", "writing was asked for"
		if replica {
			why = "the server is a replica now, which takes no writes"
		}
	case d.server.replica:
		how, why = "read-only", "the server is a replica, which takes no writes; the locator of its master opens it for writing"
		if d.asked && !replica {
			why = "the server was a replica when it was opened, and takes writes now: open it again to write"
		}
	default:
		how, why = "read-only", "no writing was asked for"
	}
	return how, why
}

// open says whether the gate is.
func (g *gate) open() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return store.ErrClosed
	}
	return nil
}

// Executions is the execution store. Closing it closes the connection.
func (d *DB) Executions() store.ExecutionStore { return d.executions }

// Trees is the tree store. Closing it closes the connection.
func (d *DB) Trees() store.TreeStore { return d.trees }

// Prefix is what the execution keys are named after.
func (d *DB) Prefix() string { return d.executions.keys.prefix }

// Sets are the sets of execution keys that were found when the store was opened, and
// note says why one of several is open. With a prefix given no others are looked for.
func (d *DB) Sets() (sets []Set, note string) { return d.sets, d.note }

// Ours reports whether treering made the store.
func (d *DB) Ours() bool { return d.ours }

// HasTrees reports whether there were session trees when the store was opened.
func (d *DB) HasTrees() bool { return d.hasTrees }

// Writable reports whether it is open for writing.
func (d *DB) Writable() bool { return d.opts.ReadWrite }

// Replica reports whether the server follows another one, and takes no writes.
func (d *DB) Replica() bool { return d.server.replica }

// Down says since when the server does not answer; zero: it did, last time.
func (d *DB) Down() time.Time {
	d.health.mu.Lock()
	defer d.health.mu.Unlock()
	return d.health.since
}

// Server says what the server is: "Redis 7.0.15", with ", a replica" behind it.
func (d *DB) Server() string {
	text := strings.TrimSpace("Redis " + d.server.version)
	if _, ok := d.client.(*goredis.ClusterClient); ok {
		text += ", a cluster"
	}
	if d.server.replica {
		text += ", a replica"
	}
	return text
}

// Close finishes the calls that are under way and ends the connections. Closing again
// does nothing.
func (d *DB) Close() error {
	d.closing.Do(func() {
		d.end()
		d.gate.shut()
		d.ids.wait()
		if err := d.client.Close(); err != nil && !errors.Is(err, goredis.ErrClosed) {
			d.err = err
		}
	})
	return d.err
}

// infoFields reads the lines of INFO.
func infoFields(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); found {
			fields[name] = value
		}
	}
	return fields
}

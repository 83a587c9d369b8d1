package rqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"treering/store"
)

// Options say how to open a cluster.
type Options struct {
	Address Address
	// ReadWrite arms writing.
	ReadWrite bool
	// Create makes, with ReadWrite, the tables of the contracts that the database
	// lacks.
	Create bool
	// Adding is told what Create is about to make, such as "session trees"; an error from
	// it ends the opening with nothing made.
	Adding func(what []string) error
	// Survey opens a database with several sets of execution tables, of which none can be
	// preferred, without any of them.
	Survey bool
	// Prefix names the set of execution tables; nil picks the only one, or that of
	// Address.
	Prefix *string
	// TraceMax is the length of the trace rings: nil the default, 0 unbounded.
	TraceMax *int
	// Browse lets lists, counts and traces, and in a store that is open for reading all
	// reads, come from any node as it is, which costs the cluster nothing and may be
	// behind. For some seconds after a write of its own the store browses at the leader,
	// so that what was written is seen. Otherwise every read is a strong one.
	Browse bool
	// Now is added to the server's clock by its distance from the real time; nil is
	// time.Now.
	Now func() time.Time
	// Poll is the time between two looks of Wait; 0 is a quarter of a second.
	Poll time.Duration
}

// DB is an open database with the stores that it holds.
type DB struct {
	client     *client
	opts       Options
	layout     Layout
	set        *Set
	note       string
	executions *executions
	trees      *trees
	transport  *transport
	traceMax   int64
	scope      string
	wrote      atomic.Int64 // Unix milliseconds of the last own write
	watch      watch
	ended      chan struct{}
	closing    sync.Once
}

// Open opens the database of a cluster. Without ReadWrite nothing is ever written.
//
// Errors: an *[UnavailableError] where no node can be used, [ErrDenied], an
// *[AmbiguousSetError], an *[UnknownPrefixError], and [store.ErrNotAStore] where the
// database holds neither contract.
func Open(ctx context.Context, o Options) (*DB, error) {
	traceMax := int64(store.DefaultTraceMax)
	if o.TraceMax != nil {
		if traceMax = int64(*o.TraceMax); traceMax < 0 {
			return nil, &store.ValueError{Field: "trace max", Reason: "must not be negative; 0 keeps every step", Err: store.ErrBadLimit}
		}
	}
	if o.Prefix == nil {
		o.Prefix = o.Address.Prefix
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	nodes := slices.Clone(o.Address.Nodes)
	slices.Sort(nodes)
	db := &DB{client: newClient(o.Address), opts: o, traceMax: traceMax, scope: "rqlite " + strings.Join(nodes, ","), ended: make(chan struct{})}
	if err := db.open(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func (db *DB) open(ctx context.Context) (err error) {
	at := strong
	if !db.opts.ReadWrite {
		at = none
	}
	if db.layout, err = db.client.detect(ctx, at); err != nil {
		return err
	}
	if db.opts.Create && db.opts.ReadWrite {
		if err := db.complete(ctx); err != nil {
			return err
		}
	}
	if db.layout.Trees {
		db.trees = &trees{db: db}
	}
	if len(db.layout.Sets) > 0 || db.opts.Prefix != nil {
		var several *AmbiguousSetError
		switch db.set, db.note, err = db.layout.pick(db.opts.Prefix); {
		case db.opts.Survey && errors.As(err, &several):
			db.note = "it holds several sets of execution tables, and none is open: choose one with its prefix"
			return nil
		case err != nil:
			return err
		}
	}
	if db.set != nil {
		db.executions = newExecutions(db)
	}
	db.transport = db.newTransport()
	if db.executions == nil && db.trees == nil && db.transport == nil {
		return fmt.Errorf("%s: it holds neither execution tables nor session trees; --rw --create makes them: %w", db.opts.Address, store.ErrNotAStore)
	}
	return nil
}

// complete makes the tables of the contracts that the database lacks, each in one
// transaction that leaves alone what is there.
func (db *DB) complete(ctx context.Context) error {
	prefix := DefaultPrefix
	if db.opts.Prefix != nil {
		prefix = strings.TrimSuffix(*db.opts.Prefix, "_")
	}
	var ddl []statement
	var lacking []string
	if len(db.layout.Sets) == 0 {
		if err := checkPrefix(prefix); err != nil {
			return err
		}
		ddl, lacking = append(ddl, executionDDL(prefix)...), append(lacking, "executions")
	}
	if !db.layout.Trees && !db.layout.OtherTrees {
		ddl, lacking = append(ddl, treeDDL()...), append(lacking, "session trees")
	}
	if ddl == nil {
		return nil
	}
	if db.opts.Adding != nil {
		if err := db.opts.Adding(lacking); err != nil {
			return err
		}
	}
	if _, err := db.client.execute(ctx, ddl...); err != nil {
		return err
	}
	var err error
	db.layout, err = db.client.detect(ctx, strong)
	return err
}

// Executions is the execution store, nil where the database has none. Closing it
// closes the DB.
func (db *DB) Executions() store.ExecutionStore {
	if db.executions == nil {
		return nil
	}
	return db.executions
}

// Trees is the tree store, nil where the database has none. Closing it closes the DB.
func (db *DB) Trees() store.TreeStore {
	if db.trees == nil {
		return nil
	}
	return db.trees
}

// Layout is what the database held when it was opened.
func (db *DB) Layout() Layout { return db.layout }

// Set is the set of execution tables that is open, nil where there is none, with a
// note where it was chosen among several.
func (db *DB) Set() (set *Set, note string) { return db.set, db.note }

// CountSets counts the executions of every set.
func (db *DB) CountSets(ctx context.Context) ([]Set, error) {
	sets := slices.Clone(db.layout.Sets)
	return sets, db.client.count(ctx, db.browse(), sets)
}

// Close ends the use of the cluster. Closing again does nothing.
func (db *DB) Close() error {
	db.closing.Do(func() {
		db.client.close()
		close(db.ended)
	})
	return nil
}

// seen is how long after an own write browsing goes to the leader: other nodes follow
// within milliseconds, or are so far behind that their staleness is shown.
const seen = 5 * time.Second

// browse is the level for reads that nothing is decided on.
func (db *DB) browse() level {
	switch {
	case !db.opts.Browse:
		return strong
	case db.wrote.Load() != 0 && time.Since(time.UnixMilli(db.wrote.Load())) < seen:
		return weak
	}
	return none
}

// decide is the level for reads that decisions are made on: in a store that is open
// for reading there are none, and a strong read is an entry in the cluster's log.
func (db *DB) decide() level {
	if db.opts.ReadWrite {
		return strong
	}
	return db.browse()
}

// writable refuses writing.
func (db *DB) writable(ctx context.Context) error {
	if err := db.usable(ctx); err != nil {
		return err
	}
	if !db.opts.ReadWrite {
		return fmt.Errorf("%s: it is open for reading only; open it with --rw to write: %w", db.opts.Address, store.ErrReadOnly)
	}
	return nil
}

func (db *DB) usable(ctx context.Context) error {
	if db.client.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

// execute is a write of the contracts'.
func (db *DB) execute(ctx context.Context, statements ...statement) ([]result, error) {
	if err := db.writable(ctx); err != nil {
		return nil, err
	}
	results, err := db.client.execute(ctx, statements...)
	db.wrote.Store(time.Now().UnixMilli())
	return results, missingTable(err)
}

func (db *DB) request(ctx context.Context, statements ...statement) ([]result, error) {
	if err := db.writable(ctx); err != nil {
		return nil, err
	}
	results, err := db.client.request(ctx, statements...)
	db.wrote.Store(time.Now().UnixMilli())
	return results, missingTable(err)
}

func (db *DB) query(ctx context.Context, at level, statements ...statement) ([]result, error) {
	if err := db.usable(ctx); err != nil {
		return nil, err
	}
	results, err := db.client.query(ctx, at, statements...)
	return results, missingTable(err)
}

// missingTable makes SQLite's "no such table" a [store.ErrMissingTable].
func missingTable(err error) error {
	var said *SQLError
	if errors.As(err, &said) {
		if _, name, ok := strings.Cut(said.Text, "no such table: "); ok {
			return fmt.Errorf("%w: the database has no table %q: %w", store.ErrMissingTable, strings.TrimPrefix(name, "main."), err)
		}
	}
	return err
}

// clock is the cluster's clock, as far as it can be told from here: the leader's. It
// is asked once in a while and never inside a write, where each node would have its
// own.
type clock struct {
	mu     sync.Mutex
	asked  time.Time
	offset float64 // seconds that the leader is ahead of this process, at most
	unsure float64 // seconds that it may be less
}

// clockFor is how long an answer about the clock is good.
const clockFor = 30 * time.Second

const (
	unixEpoch  = 2440587.5 // in Julian days
	daySeconds = 86400.0
	clockStep  = 0.001 // seconds: what the server's answer is cut to
)

// now is the time by which trees expire, in epoch seconds.
func (db *DB) now(ctx context.Context, c *clock) (float64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked.IsZero() || time.Since(c.asked) > clockFor {
		before := time.Now()
		at := weak
		if !db.opts.ReadWrite && db.opts.Browse {
			at = none
		}
		results, err := db.query(ctx, at, sql("SELECT julianday('now')"))
		if err != nil {
			return 0, err
		}
		after := time.Now()
		row, err := results[0].one(1)
		if err != nil {
			return 0, err
		}
		if row == nil {
			return 0, errors.New("rqlite: the server does not tell the time")
		}
		day, ok := row[0].float()
		if !ok {
			return 0, errors.New("rqlite: the server does not tell the time")
		}
		c.offset, c.unsure = offsetOf((day-unixEpoch)*daySeconds, seconds(before), seconds(after))
		c.asked = after
	}
	return seconds(db.opts.Now()) + c.offset, nil
}

// ends is when a time to live from now is over. Of none at all that is before the
// earliest moment that it can be by the leader's clock, so that the tree has ended for
// every process, whatever it took that to be.
func (c *clock) ends(now float64, ttl *float64) *float64 {
	if ttl != nil && *ttl == 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		now -= c.unsure
	}
	return deadline(now, ttl)
}

// offsetOf is the largest difference between two clocks that explains what the other
// one said between two moments of this one, and how much smaller it may be. Clocks that
// may agree do.
func offsetOf(said, before, after float64) (offset, unsure float64) {
	earliest, latest := said-clockStep-after, said+clockStep-before
	if earliest <= 0 && latest >= 0 {
		return 0, 0
	}
	return latest, latest - earliest
}

// seconds is a time in epoch seconds. Not by UnixNano, which ends in 2262.
func seconds(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

// deadline is the moment a time to live from now ends: never sooner than asked for,
// and always finite.
func deadline(now float64, ttl *float64) *float64 {
	if ttl == nil {
		return nil
	}
	at := now + *ttl
	if at-now < *ttl {
		at = math.Nextafter(at, math.Inf(1))
	}
	at = min(at, math.MaxFloat64)
	return &at
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"treering/store"
)

// Options say how to open a database.
type Options struct {
	// URL is a postgres:// URL as libpq reads it. What it leaves out comes from the PG
	// environment variables, PGPASSFILE and service files.
	URL string
	// ReadWrite arms writing; without it every transaction is read-only on the server.
	ReadWrite bool
	// Create makes the contracts that are missing, with ReadWrite only.
	Create bool
	// Announce is told what Create is about to make; an error from it ends the opening.
	Announce func(what []string) error
	// Survey opens a database with several sets of which none can be preferred, without
	// its executions.
	Survey bool
	// Prefix names the execution set, as harel writes it; nil picks the only one.
	Prefix *string
	// TraceMax is the length of the trace rings: nil is [store.DefaultTraceMax], 0
	// unbounded.
	TraceMax *int
	// Now is the clock that time to live is decided by; nil: the server's, by which all
	// clients agree whatever their own say.
	Now func() time.Time
}

// Bounds of what is waited for, where the URL does not say otherwise.
const (
	connectTimeout   = 10 * time.Second
	statementTimeout = 30 * time.Second // as the server keeps it
	lockTimeout      = 10 * time.Second
	graceTimeout     = 15 * time.Second // for a server that does not even say no, after that
	closeTimeout     = 2 * time.Second  // for connections to end, once no write is under way
	maxConnections   = 16
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	pool     *pgxpool.Pool
	config   *pgx.ConnConfig // of connections beside the pool
	patience time.Duration   // for one answer; 0: without end
	readOnly string          // why writes are refused, "" where they are not
	stands   stands
	layout   Layout
	set      *Set // nil: no executions are open
	note     string
	how, why string
	asked    bool // writing was asked for, whether or not it can be had
	server   serverInfo
	now      func() time.Time
	link     link
	notifier *notifier // nil: nobody is told
	ear      ear
	traceMax int64

	executions *executions
	trees      *trees
	transport  *transport

	writes  sync.WaitGroup // that are under way
	left    abandoned      // those of them that nobody waits for
	mu      sync.Mutex     // of closing
	closed  atomic.Bool
	closing chan struct{}
}

// serverInfo is what a server says of itself.
type serverInfo struct {
	Version  string // "15.6"
	Database string
	User     string
	Identity string // of this database, the same on its replicas
	Replica  bool
	ReadOnly bool // transactions are read-only whatever is asked for
}

// querier is what reads are done with.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Open connects and looks at what is there. The errors match [store.ErrStoreNotFound]
// where there is neither contract, several sets are an *[AmbiguousSetError]. Nothing is
// ever made unless Create and ReadWrite are set.
func Open(ctx context.Context, o Options) (*DB, error) {
	traceMax := int64(store.DefaultTraceMax)
	if o.TraceMax != nil {
		if traceMax = int64(*o.TraceMax); traceMax < 0 {
			return nil, &store.ValueError{Field: "trace max", Reason: "must not be negative", Err: store.ErrBadLimit}
		}
	}
	config, err := configOf(o)
	if err != nil {
		return nil, err
	}
	db := &DB{
		patience: patienceOf(config.ConnConfig.RuntimeParams["statement_timeout"]),
		config:   config.ConnConfig.Copy(), now: o.Now, traceMax: traceMax, closing: make(chan struct{}),
		link: link{secret: config.ConnConfig.Password},
	}
	// The listening connection is written to by nobody else.
	if db.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, db.link.failed(err)
	}
	if err := db.within(ctx, func(ctx context.Context) error { return db.begin(ctx, o) }); err != nil {
		db.pool.Close()
		return nil, db.link.failed(err)
	}
	return db, nil
}

// configOf reads the URL and what stands behind it.
func configOf(o Options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, &ConfigError{Err: errors.New(reasonOf(err))}
	}
	config.PingTimeout = lookTimeout // of a connection that was not used for a while
	c := config.ConnConfig
	if !strings.Contains(o.URL, "pool_max_conns=") {
		config.MaxConns = maxConnections
	}
	if c.ConnectTimeout == 0 || !strings.Contains(o.URL, "connect_timeout") && os.Getenv("PGCONNECT_TIMEOUT") == "" {
		c.ConnectTimeout = connectTimeout
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "treering"
	}
	given := map[string]bool{}
	for name := range c.RuntimeParams {
		given[name] = true
	}
	// An abandoned read ends on the server, too, and its connection lives on.
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, CancelRequestDelay: 0, DeadlineDelay: 2 * time.Second}
	}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error { return prepare(ctx, conn, o.ReadWrite, given) }
	return config, nil
}

// patienceOf is how long an answer is waited for where statements have this time, as a
// URL says it; 0: without end, as statements go on then.
func patienceOf(text string) time.Duration {
	if text == "" {
		return statementTimeout + graceTimeout
	}
	limit, err := time.ParseDuration(strings.ReplaceAll(text, "min", "m"))
	if ms, merr := strconv.ParseInt(text, 10, 64); merr == nil {
		limit, err = time.Duration(ms)*time.Millisecond, nil
	}
	if err != nil || limit <= 0 {
		return 0
	}
	return limit + graceTimeout
}

// ConfigError is a URL that cannot be read, or what it refers to. It does not quote it.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return "the PostgreSQL URL cannot be used: " + e.Err.Error() }

// Unwrap returns [store.ErrStoreNotFound].
func (e *ConfigError) Unwrap() error { return store.ErrStoreNotFound }

// reasonOf is a parse error without the URL in it.
func reasonOf(err error) string {
	text := err.Error()
	if _, after, ok := strings.Cut(text, "`: "); ok {
		text = after
	}
	// What is not printed by a driver that quotes parts of a URL cannot leak.
	if at := strings.Index(text, "parse \""); at >= 0 {
		if _, after, ok := strings.Cut(text[at+len("parse \""):], "\": "); ok {
			text = text[:at] + after
		}
	}
	for _, quoting := range []string{"invalid port", "invalid URL escape", "invalid character", "invalid userinfo"} {
		if at := strings.Index(text, quoting); at >= 0 {
			return text[:at] + quoting
		}
	}
	return text
}

// prepare sets up a session by one round trip. What the URL sets stays.
func prepare(ctx context.Context, conn *pgx.Conn, readWrite bool, given map[string]bool) error {
	var sets []string
	set := func(name, value string) {
		if !given[name] {
			sets = append(sets, "SET "+name+" = "+value)
		}
	}
	if !readWrite {
		sets = append(sets, "SET default_transaction_read_only = on")
	}
	set("statement_timeout", strconv.FormatInt(statementTimeout.Milliseconds(), 10))
	set("lock_timeout", strconv.FormatInt(lockTimeout.Milliseconds(), 10))
	set("idle_in_transaction_session_timeout", "60000")
	set("default_transaction_isolation", "'read committed'")
	set("extra_float_digits", "1") // the shortest that is exact
	// The plans do not depend on the values; to make one anew costs more than a commit.
	if version := serverMajor(conn); version >= 12 {
		set("plan_cache_mode", "force_generic_plan")
		set("jit", "off")
	}
	_, err := conn.Exec(ctx, strings.Join(sets, "; "), pgx.QueryExecModeSimpleProtocol)
	return err
}

func serverMajor(conn *pgx.Conn) int {
	text := conn.PgConn().ParameterStatus("server_version")
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// identify asks who the server is.
const identify = `SELECT current_setting('server_version'), current_database()::text, current_user::text,
  d.oid::text, pg_is_in_recovery(), current_setting('transaction_read_only') = 'on',
  CASE WHEN has_function_privilege('pg_control_system()', 'EXECUTE') THEN (SELECT system_identifier::text FROM pg_control_system()) ELSE '' END
FROM pg_database d WHERE d.datname = current_database()`

// begin looks at the database and opens the stores in it.
func (db *DB) begin(ctx context.Context, o Options) error {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	s := &db.server
	var database, system string
	if err := conn.QueryRow(ctx, identify).Scan(&s.Version, &s.Database, &s.User, &database, &s.Replica, &s.ReadOnly, &system); err != nil {
		return err
	}
	s.Version, _, _ = strings.Cut(s.Version, " ")
	s.Identity = system + "/" + database
	db.stands.now.replica = s.Replica
	db.settleWriting(o)
	if o.Create && o.ReadWrite && db.readOnly == "" {
		if err := create(ctx, conn.Conn(), o.Prefix, o.Announce); err != nil {
			return err
		}
	}
	if db.layout, err = detect(ctx, conn); err != nil {
		return err
	}
	set, note, err := db.layout.pick(o.Prefix)
	var several *AmbiguousSetError
	switch {
	case errors.As(err, &several):
		if err := db.layout.count(ctx, conn); err != nil {
			return err
		}
		if !o.Survey {
			return &AmbiguousSetError{db.layout.Sets}
		}
	case err != nil:
		return err
	case set == nil && !db.layout.Trees && len(db.layout.Sets) == 0:
		return &NothingError{Database: s.Database, OtherTree: db.layout.OtherTree}
	}
	db.set, db.note = set, note
	db.openStores()
	return nil
}

// settleWriting says how and why the database is open as it is.
func (db *DB) settleWriting(o Options) {
	db.asked = o.ReadWrite
	switch {
	case !o.ReadWrite:
		db.readOnly = "open it with --rw to write"
		db.how, db.why = "read-only transactions", "no writing was asked for"
	case db.server.Replica:
		db.readOnly = isReplica
		db.how, db.why = "read-only transactions", db.readOnly
	case db.server.ReadOnly:
		db.readOnly = "the server has default_transaction_read_only on for this user, database or connection"
		db.how, db.why = "read-only transactions", db.readOnly
	default:
		db.how, db.why = "read-write", "writing was asked for"
	}
}

// NothingError: neither contract is in the search path. It matches
// [store.ErrStoreNotFound].
type NothingError struct {
	Database  string
	OtherTree bool
}

func (e *NothingError) Error() string {
	if e.OtherTree {
		return fmt.Sprintf("database %q has tables of the session trees' names, but not with the columns or the version that this treering knows, and no executions", e.Database)
	}
	return fmt.Sprintf("database %q holds neither executions nor session trees in its search path; --rw --create makes their tables", e.Database)
}

// Unwrap returns [store.ErrStoreNotFound].
func (e *NothingError) Unwrap() error { return store.ErrStoreNotFound }

// openStores opens what was found.
func (db *DB) openStores() {
	ours := db.layout.Trees || db.set != nil && db.set.Ours
	if ours && db.readOnly == "" {
		db.notifier = newNotifier(db)
	}
	if db.set != nil {
		db.executions = newExecutions(db, db.set, db.traceMax)
	}
	if db.layout.Trees {
		db.trees = newTrees(db, db.layout.trees)
	}
	if t := db.layout.transportOf(db.set); t != nil {
		db.transport = newTransport(db, *t)
	}
}

// Executions is the open execution set, nil where there is none.
func (db *DB) Executions() store.ExecutionStore {
	if db.executions == nil {
		return nil
	}
	return db.executions
}

// Trees is the store of session trees, nil where there is none.
func (db *DB) Trees() store.TreeStore {
	if db.trees == nil {
		return nil
	}
	return db.trees
}

// Transport is the queues between harel's workers, nil where they are not kept here.
func (db *DB) Transport() store.Transport {
	if db.transport == nil {
		return nil
	}
	return db.transport
}

// Layout says what the database holds, as of when it was opened.
func (db *DB) Layout() Layout { return db.layout }

// Set is the open execution set, nil where none is, with a note about the choice.
func (db *DB) Set() (*Set, string) { return db.set, db.note }

// Writable reports whether writes are taken.
func (db *DB) Writable() bool { return db.readOnly == "" }

// Server says which server, database and user this is.
func (db *DB) Server() string {
	return fmt.Sprintf("PostgreSQL %s, database %s, user %s", db.server.Version, db.server.Database, db.server.User)
}

// Name is the database's name.
func (db *DB) Name() string { return db.server.Database }

// Ours reports whether what is open was made by this package, all of it.
func (db *DB) Ours() bool {
	return (db.set != nil || db.layout.Trees) && (db.set == nil || db.set.Ours) && (db.set != nil || len(db.layout.Sets) == 0)
}

// CountSessions counts the live trees.
func (db *DB) CountSessions(ctx context.Context) (n int64, err error) {
	if db.trees == nil {
		return 0, nil
	}
	err = db.read(ctx, func(q querier) error {
		return q.QueryRow(ctx, "SELECT count(*) FROM "+db.trees.t.sessions+" WHERE id IS NOT NULL AND (expires_at IS NULL OR expires_at > "+clock("$1")+")", db.trees.now()).Scan(&n)
	})
	return n, err
}

// CountSets counts the executions of every set; -1 where that is not possible.
func (db *DB) CountSets(ctx context.Context) ([]Set, error) {
	l := db.layout
	l.Sets = append([]Set(nil), l.Sets...)
	err := db.read(ctx, func(q querier) error { return l.count(ctx, q) })
	return l.Sets, err
}

// Close waits for the writes that are under way, tells what is still to be told, and
// closes every connection; those to a silent server may take some seconds more to end
// than it does. It may be called more than once.
func (db *DB) Close() error {
	db.mu.Lock()
	if db.closed.Swap(true) {
		db.mu.Unlock()
		return nil
	}
	db.mu.Unlock()
	db.writes.Wait()
	close(db.closing)
	over := make(chan struct{})
	go func() {
		defer close(over)
		if db.notifier != nil {
			db.notifier.stop()
		}
		db.ear.close()
		db.pool.Close()
	}()
	select {
	case <-over:
	case <-time.After(closeTimeout):
		// The driver goes on to say goodbye to a server that is silent, and gives up by itself.
	}
	return nil
}

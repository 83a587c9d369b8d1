package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"treering/store"
)

// The states of PostgreSQL's errors that are told apart.
const (
	uniqueViolation       = "23505"
	serializationFailure  = "40001"
	deadlockDetected      = "40P01"
	insufficientPrivilege = "42501"
	undefinedTable        = "42P01"
	readOnlyTransaction   = "25006"
	queryCanceled         = "57014"
	lockNotAvailable      = "55P03"
	tooManyConnections    = "53300"
	diskFull              = "53100"
	cannotConnectNow      = "57P03"
	badText               = "22021"
	undefinedFunction     = "42883"
	undefinedColumn       = "42703"
	undefinedSchema       = "3F000"
	datatypeMismatch      = "42804"
	indeterminateType     = "42P18"
	outOfRange            = "22003"
)

// sqlState is the state of a server's error, "" for any other.
func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// ConnectionError is a server that cannot be reached, or that ended the connection.
type ConnectionError struct {
	Since time.Time // of the first failure in a row
	Err   error
}

func (e *ConnectionError) Error() string {
	return fmt.Sprintf("the server cannot be reached since %s: %v", e.Since.Format(time.TimeOnly), e.Err)
}

// Unwrap returns Err.
func (e *ConnectionError) Unwrap() error { return e.Err }

// link remembers since when the server cannot be reached.
type link struct {
	mu     sync.Mutex
	since  time.Time
	secret string // never to be told
}

// ok notes that the server answered.
func (l *link) ok() {
	l.mu.Lock()
	l.since = time.Time{}
	l.mu.Unlock()
}

// failed words an error for people: without the password, and with the time since when
// the server is gone where that is what it says.
func (l *link) failed(err error) error {
	if err == nil {
		return nil
	}
	if !isLoss(err) {
		if sqlState(err) != "" {
			l.ok()
		}
		return l.worded(err)
	}
	l.mu.Lock()
	if l.since.IsZero() {
		l.since = time.Now()
	}
	since := l.since
	l.mu.Unlock()
	return &ConnectionError{since, l.worded(err)}
}

// worded maps the states that mean something to the contracts, and hides the password.
func (l *link) worded(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		said := &serverError{state: pg.Code, text: pg.Message, err: err}
		switch pg.Code {
		case readOnlyTransaction:
			said.text += "; the server takes no writes now"
			said.is = store.ErrReadOnly
		case undefinedTable:
			said.is = store.ErrMissingTable
		case queryCanceled:
			if strings.Contains(pg.Message, "statement timeout") {
				said.text = "the server ended the statement after its statement_timeout; a URL with statement_timeout=MILLISECONDS allows more"
			}
			said.is = store.ErrBusy
		case lockNotAvailable:
			said.text = "another session holds the rows locked, longer than lock_timeout"
			said.is = store.ErrBusy
		case diskFull:
			said.text += "; the server's disk is full, nothing was written"
			said.is = ErrFull
		case insufficientPrivilege:
			said.text += "; the user of the URL lacks the right"
		}
		err = said
	}
	var connecting *pgconn.ConnectError
	if pg == nil && errors.As(err, &connecting) {
		err = &wordedError{connectingCause(connecting.Error()), err}
	}
	if l.secret != "" && strings.Contains(err.Error(), l.secret) {
		return errors.New(strings.ReplaceAll(err.Error(), l.secret, "..."))
	}
	return err
}

// ErrFull: the server's disk is full, and nothing can be added.
var ErrFull = errors.New("the server's disk is full")

// wordedError says in other words what a driver said.
type wordedError struct {
	text string
	err  error
}

func (e *wordedError) Error() string { return e.text }

// Unwrap returns the driver's error.
func (e *wordedError) Unwrap() error { return e.err }

// connectingCause is what the driver says of every address that it tried, each cause
// once: with and without TLS it is mostly the same.
func connectingCause(text string) string {
	lines := strings.Split(text, "\n\t")
	if len(lines) == 1 {
		return text
	}
	var said []string
	for _, line := range lines[1:] {
		address, cause, found := strings.Cut(line, " (")
		if _, after, ok := strings.Cut(cause, "): "); found && ok {
			for _, front := range []string{"dial error: ", "dial tcp " + address + ": ", "dial unix " + address + ": ", "connect: "} {
				after = strings.TrimPrefix(after, front)
			}
			line = address + ": " + after
		}
		if !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	return strings.Join(said, "; ")
}

// serverError is what a server said.
type serverError struct {
	state, text string
	is          error
	err         error
}

func (e *serverError) Error() string { return fmt.Sprintf("PostgreSQL: %s (%s)", e.text, e.state) }

func (e *serverError) Is(target error) bool { return e.is != nil && target == e.is }

// Unwrap returns the driver's error.
func (e *serverError) Unwrap() error { return e.err }

// isLoss reports whether an error means that the server is gone, or not there.
func isLoss(err error) bool {
	switch state := sqlState(err); {
	case state == tooManyConnections, state == cannotConnectNow:
		return true
	case strings.HasPrefix(state, "57P"), strings.HasPrefix(state, "08"):
		return true
	case state != "":
		return false
	}
	var connecting *pgconn.ConnectError
	var network net.Error
	var config *pgconn.ParseConfigError
	var silent *silentError
	switch {
	case errors.As(err, &silent):
		return true
	case errors.As(err, &config):
		return false
	case errors.As(err, &connecting):
		return true
	case errors.Is(err, context.Canceled):
		return false
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return true
	}
	return strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(), "closed pool")
}

// certainlyNot reports whether a write that failed with err left nothing behind.
func certainlyNot(err error) bool {
	if state := sqlState(err); state != "" {
		// A session that was ended by its administrator may have been about to answer.
		return !strings.HasPrefix(state, "57P") && !strings.HasPrefix(state, "08")
	}
	var connecting *pgconn.ConnectError
	return errors.As(err, &connecting) || pgconn.SafeToRetry(err)
}

// usable says why no call is taken.
func (db *DB) usable(ctx context.Context) error {
	if db.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

func (db *DB) writable(ctx context.Context) error {
	if err := db.usable(ctx); err != nil {
		return err
	}
	if db.readOnly != "" {
		return fmt.Errorf("%w: %s", store.ErrReadOnly, db.readOnly)
	}
	return nil
}

// readTries is how often a read is made where its connection turns out to be dead: all
// of the pool may be after the server was started again.
const readTries = 3

// read runs fn on a connection. It may run more than once.
func (db *DB) read(ctx context.Context, fn func(querier) error) error {
	return db.reading(ctx, db.patience, func(ctx context.Context, conn *pgxpool.Conn) error { return fn(bounded{ctx, conn}) })
}

// readOne runs fn in one transaction that sees one state of the database.
func (db *DB) readOne(ctx context.Context, fn func(querier) error) error {
	if err := db.left.settled(ctx); err != nil {
		return err
	}
	return db.reading(ctx, db.patience, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error { return fn(bounded{ctx, tx}) })
	})
}

// bounded is a querier whose every query ends with one context, whichever is given to it.
type bounded struct {
	ctx context.Context //nolint:containedctx // it lives as long as the call that made it
	querier
}

func (b bounded) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	return b.querier.Query(b.ctx, sql, args...)
}

func (b bounded) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	return b.querier.QueryRow(b.ctx, sql, args...)
}

// silentError is a server that keeps the connection and says nothing.
type silentError struct{ waited time.Duration }

func (e *silentError) Error() string { return fmt.Sprintf("it has not answered for %v", e.waited) }

// within runs what opens a database, or a connection to it, as long as an answer is
// waited for.
func (db *DB) within(ctx context.Context, fn func(context.Context) error) error {
	if db.patience <= 0 {
		return fn(ctx)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, db.patience, &silentError{db.patience})
	defer cancel()
	err := fn(bounded)
	if cause := context.Cause(bounded); err != nil && ctx.Err() == nil && cause != nil {
		return cause
	}
	return err
}

// reading runs fn with a context that ends with ctx, and after patience where that is
// not 0: a server that is there and does not answer keeps nobody for ever.
func (db *DB) reading(ctx context.Context, patience time.Duration, fn func(context.Context, *pgxpool.Conn) error) error {
	within := ctx
	if patience > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeoutCause(ctx, patience, &silentError{patience})
		defer cancel()
	}
	for try := 1; ; try++ {
		if err := db.usable(ctx); err != nil {
			return err
		}
		err := db.once(within, fn)
		var silent *silentError
		if err != nil && ctx.Err() == nil && errors.As(context.Cause(within), &silent) {
			return db.link.failed(silent)
		}
		if db.closed.Load() && err != nil && isLoss(err) {
			return store.ErrClosed
		}
		var connecting *pgconn.ConnectError
		if err == nil || ctx.Err() != nil || try == readTries || !isLoss(err) || errors.As(err, &connecting) {
			return db.answered(ctx, err)
		}
		db.pool.Reset() // the others are most probably dead, too
	}
}

func (db *DB) once(ctx context.Context, fn func(context.Context, *pgxpool.Conn) error) error {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return fn(ctx, conn)
}

// answered words what became of a call.
func (db *DB) answered(ctx context.Context, err error) error {
	switch {
	case err == nil:
		db.link.ok()
		return nil
	case ctx.Err() != nil:
		return ctx.Err() // whatever the driver makes of it
	case isContract(err):
		db.link.ok()
		return err
	}
	return db.link.failed(err)
}

// isContract reports whether an error is a contract's own answer.
func isContract(err error) bool {
	var row *store.RowError
	var value *store.ValueError
	for _, target := range []error{store.ErrNotFound, store.ErrConflict, store.ErrNodeConflict, store.ErrKindMismatch, store.ErrBadCursor, store.ErrMissingTable, store.ErrNotAStore} {
		if errors.Is(err, target) {
			return true
		}
	}
	return errors.As(err, &row) || errors.As(err, &value)
}

// writeTries bounds how often a write is made again that certainly was not done.
const writeTries = 20

// errAgain makes a write run again: what it saw has changed under it.
var errAgain = errors.New("the rows changed meanwhile")

// write runs fn on a connection, on a context of its own: when the caller goes away
// the write is finished, and its outcome is not known to the caller. fn may run more
// than once, so it must set nothing that the caller reads but through done, which is
// called once, by the caller's own goroutine. ours: somebody is to be told.
func (db *DB) write(ctx context.Context, ours bool, fn func(context.Context, *pgxpool.Conn) error) error {
	db.mu.Lock()
	if err := db.writable(ctx); err != nil {
		db.mu.Unlock()
		return err
	}
	db.writes.Add(1)
	db.mu.Unlock()
	err := db.left.settled(ctx)
	var conn *pgxpool.Conn
	if err == nil {
		err = db.within(ctx, func(ctx context.Context) (err error) {
			conn, err = db.pool.Acquire(ctx)
			return err
		})
	}
	if err != nil {
		db.writes.Done()
		return db.answered(ctx, err) // nothing was sent
	}
	result := make(chan error, 1)
	go func() {
		defer db.writes.Done()
		err := db.writeOn(context.WithoutCancel(ctx), conn, fn)
		if err != nil && isLoss(err) {
			db.pool.Reset() // the other sessions most probably ended, too
		}
		if ours && (err == nil || !certainlyNot(err)) && db.notifier != nil {
			db.notifier.tell()
		}
		result <- err
	}()
	select {
	case err := <-result:
		return db.written(err)
	case <-ctx.Done():
		select {
		case err := <-result:
			return db.written(err)
		default:
			over := db.left.add()
			go func() {
				<-result
				over()
			}()
			return store.OutcomeUnknown(ctx.Err())
		}
	}
}

// abandoned are the writes that their callers no longer wait for. Whoever reloads to
// learn of such a one, or writes again, does so after it has ended one way or the other.
type abandoned struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when there are none any more
}

func (a *abandoned) add() (over func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n++; a.n == 1 {
		a.none = make(chan struct{})
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.n--; a.n == 0 {
			close(a.none)
		}
	}
}

// settled waits until those that were abandoned before it have ended.
func (a *abandoned) settled(ctx context.Context) error {
	a.mu.Lock()
	n, none := a.n, a.none
	a.mu.Unlock()
	if n == 0 {
		return nil
	}
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readSettled is read for what decisions are made on.
func (db *DB) readSettled(ctx context.Context, fn func(querier) error) error {
	if err := db.left.settled(ctx); err != nil {
		return err
	}
	return db.read(ctx, fn)
}

// written words what became of a write.
func (db *DB) written(err error) error {
	switch {
	case err == nil:
		db.link.ok()
		return nil
	case isContract(err):
		db.link.ok()
		return err
	case certainlyNot(err):
		return db.link.failed(err)
	}
	return &lostAnswerError{db.link.failed(err)}
}

// lostAnswerError is a write of which the server's answer was lost.
type lostAnswerError struct{ err error }

func (e *lostAnswerError) Error() string {
	return fmt.Sprintf("%v: the answer of the server was lost (%v); reload before trying again", store.ErrOutcomeUnknown, e.err)
}

func (e *lostAnswerError) Is(target error) bool { return target == store.ErrOutcomeUnknown }

// Unwrap returns what happened to the connection.
func (e *lostAnswerError) Unwrap() error { return e.err }

// writeOn runs fn until it was done or cannot be.
func (db *DB) writeOn(ctx context.Context, conn *pgxpool.Conn, fn func(context.Context, *pgxpool.Conn) error) error {
	defer func() { conn.Release() }()
	if db.patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, db.patience, &silentError{db.patience})
		defer cancel()
	}
	for try := 1; ; try++ {
		err := fn(ctx, conn)
		if err == nil || try == writeTries {
			return err
		}
		state := sqlState(err)
		switch {
		case errors.Is(err, errAgain), state == serializationFailure, state == deadlockDetected:
		case state == "" && certainlyNot(err) && conn.Conn().IsClosed():
			// A connection that died while nobody used it.
			conn.Release()
			db.pool.Reset()
			next, aerr := db.pool.Acquire(ctx)
			if aerr != nil {
				conn = &pgxpool.Conn{}
				return aerr
			}
			conn = next
		default:
			return err
		}
	}
}

// sayable reports whether PostgreSQL can hold these texts: without a NUL, and UTF-8.
// What it cannot hold it does not have.
func sayable(texts ...string) bool {
	for _, t := range texts {
		if strings.IndexByte(t, 0) >= 0 || !utf8.ValidString(t) {
			return false
		}
	}
	return true
}

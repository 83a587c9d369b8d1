package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

// ErrUnreachable: the server cannot be reached, or the connection broke.
var ErrUnreachable = errors.New("the Redis server cannot be reached")

// ErrDenied: the server wants a password, another one, or does not grant the right.
var ErrDenied = errors.New("Redis denies it")

// ErrFull: the server's memory is full, or it cannot write to its disk, and it
// refuses all that would add to what it holds.
var ErrFull = errors.New("Redis takes no more")

// ErrCluster: the server is part of a cluster that this store cannot be in.
var ErrCluster = errors.New("not in a Redis Cluster")

// ServerError is what a server, or the way to it, did not let be done. It matches Kind,
// one of [ErrUnreachable], [ErrDenied], [ErrFull], [ErrCluster], [store.ErrReadOnly],
// [store.ErrBusy] and [store.ErrNotAStore], or none, and the cause.
type ServerError struct {
	Addr   string
	Reason string    // what is wrong, with the next step
	Since  time.Time // of the first failure in a row; zero: it is no matter of the connection
	Kind   error     // nil for an answer that is not known
	Err    error     // as it came
}

func (e *ServerError) Error() string {
	return fmt.Sprintf("redis %s: %s", e.Addr, e.Reason)
}

// Unwrap returns Kind and Err.
func (e *ServerError) Unwrap() []error {
	if e.Kind == nil {
		return []error{e.Err}
	}
	return []error{e.Kind, e.Err}
}

// answers are the error codes of Redis that people meet, by the first word.
var answers = []struct {
	code, reason string
	kind         error
}{
	{"LOADING", "it is still loading its data; wait until it has", store.ErrBusy},
	{"BUSY", "a script runs there and it answers nothing else; wait, or end the script with SCRIPT KILL", store.ErrBusy},
	{"TRYAGAIN", "it is moving keys; try again", store.ErrBusy},
	{"READONLY", "it is a replica, which takes no writes; name the master in the locator", store.ErrReadOnly},
	{"MASTERDOWN", "it is a replica that has lost its master and answers nothing", store.ErrBusy},
	{"NOREPLICAS", "it takes no writes while too few replicas follow it", store.ErrBusy},
	{"OOM", "its memory is full (maxmemory) and it takes no writes", ErrFull},
	{"MISCONF", "it cannot save to its disk and takes no writes; its log says why", ErrFull},
	{"NOAUTH", "it wants a password; put it into the locator or into REDISCLI_AUTH", ErrDenied},
	{"WRONGPASS", "the user or the password is wrong, or the user is off", ErrDenied},
	{"NOPERM", "the user has no right to that", ErrDenied},
	{"DENIED", "it is in protected mode and takes no connection from here", ErrDenied},
	{"MOVED", "it is a node of a Redis Cluster, and the keys of a commit must be together: choose a prefix with a hash tag, such as --prefix '{harel}'", ErrCluster},
	{"ASK", "it is a node of a Redis Cluster that is moving keys; try again", store.ErrBusy},
	{"CROSSSLOT", "it is a node of a Redis Cluster, and the keys of a commit must be together: choose a prefix with a hash tag, such as --prefix '{harel}'", ErrCluster},
	{"CLUSTERDOWN", "its cluster is down", store.ErrBusy},
	{"WRONGTYPE", "a key under the prefix is of another type than harel's, such as a string in the place of the outbox; redis-cli TYPE tells which", store.ErrNotAStore},
	{"ERR max number of clients", "it has as many clients as it takes", store.ErrBusy},
	{"ERR DB index is out of range", "it has no database of that number", store.ErrNotAStore},
	{"ERR invalid DB index", "it has no database of that number", store.ErrNotAStore},
	{"ERR invalid password", "the password is wrong", ErrDenied},
	{"ERR AUTH", "it does not take that user or password", ErrDenied},
}

// serverError words an error of the client library. Errors of ours and of contexts
// pass.
func (d *DB) serverError(err error) error {
	var known *ServerError
	if err == nil || errors.As(err, &known) || ours(err) || errors.Is(err, context.Canceled) {
		return err
	}
	if answer := redisAnswer(err); answer != "" {
		return d.answered(answer, err)
	}
	if errors.Is(err, goredis.ErrClosed) {
		return store.ErrClosed
	}
	return &ServerError{Addr: d.addr, Reason: "it cannot be reached: " + plainCause(err), Since: d.health.failed(), Kind: ErrUnreachable, Err: err}
}

// answered words an error that the server itself has given.
func (d *DB) answered(answer string, err error) error {
	for _, a := range answers {
		if rest, ok := strings.CutPrefix(answer, a.code); ok && (rest == "" || rest[0] == ' ' || strings.Contains(a.code, " ")) {
			reason := a.reason
			if a.code == "NOPERM" {
				reason += ": " + strings.TrimSpace(rest)
			}
			return &ServerError{Addr: d.addr, Reason: reason, Kind: a.kind, Err: err}
		}
	}
	return &ServerError{Addr: d.addr, Reason: answer, Err: err}
}

// denied is a right that a script found missing before it wrote.
func (d *DB) denied(command string) error {
	return &ServerError{Addr: d.addr, Reason: "the user has no right to " + command + "; nothing was written", Kind: ErrDenied, Err: ErrDenied}
}

// redisAnswer is the text of an error that the server gave, "" for any other.
func redisAnswer(err error) string {
	var answer goredis.Error
	if !errors.As(err, &answer) || errors.Is(err, goredis.Nil) {
		return ""
	}
	text := answer.Error()
	// A script's error has the cause in front or, before Redis 7, in the middle.
	if strings.HasPrefix(text, "ERR Error running script") {
		if _, cause, found := strings.Cut(text, "@user_script:"); found {
			if _, cause, found = strings.Cut(cause, ": "); found {
				text = strings.TrimPrefix(cause, "-")
				if _, after, found := strings.Cut(text, ": -"); found {
					text = after
				}
			}
		}
	}
	return strings.TrimPrefix(text, "-")
}

// plainCause is the innermost cause that says something to people.
func plainCause(err error) string {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return "no answer in time"
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	return err.Error()
}

// unsent reports whether a request that failed with err never left: there was no
// connection to send it on.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || errors.Is(err, goredis.ErrPoolTimeout) || errors.Is(err, goredis.ErrPoolExhausted) || errors.As(err, new(*net.DNSError))
}

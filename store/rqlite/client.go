package rqlite

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"treering/store"
)

// level is the consistency of a read.
type level string

const (
	// none reads what the node has, however old that is.
	none level = "none"
	// weak reads what the node has that takes itself for the leader.
	weak level = "weak"
	// strong reads through the log: what was acknowledged before is seen.
	strong level = "strong"
)

// Times of a client.
const (
	defaultTimeout = 10 * time.Second      // of a call, with all its tries
	readPatience   = 4 * time.Second       // of a read while no node can be used: an election takes one or two
	readTry        = 5 * time.Second       // of a read on one node, before the next one is asked
	firstPause     = 20 * time.Millisecond // before all nodes are asked again
	lastPause      = 500 * time.Millisecond
	maxRedirects   = 4
	maxAnswer      = 512 << 20 // bytes
)

// client speaks to the nodes of a cluster. It is safe for concurrent use.
type client struct {
	address Address
	http    *http.Client
	timeout time.Duration
	closed  atomic.Bool

	mu      sync.Mutex
	leader  string // host:port of the last node that answered as one, "" unknown
	reading string // host:port of the last node that answered a read at none
	behind  bool   // the leader's own address leads nowhere: nodes have to forward
}

func newClient(a Address) *client {
	timeout := a.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 3 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 5 * time.Second,
		// Answers are compressed for nobody: they come from near, and are written by the server anew each time.
		DisableCompression: true,
	}
	if a.Insecure {
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // asked for by the locator
	}
	return &client{
		address: a, timeout: timeout,
		http: &http.Client{
			Transport: transport,
			// A redirect would be followed with another method, and with credentials to anywhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

func (c *client) close() {
	c.closed.Store(true)
	c.http.CloseIdleConnections()
}

// verdict says what is known after a try.
type verdict int

const (
	done    verdict = iota
	notDone         // certainly not done, and another node or moment may do
	refused         // certainly not done, and asking again does not help
	unknown         // it may have been done
)

// execute runs statements in one transaction, on the leader.
//
// A *[SQLError] means that all of it was rolled back; other errors that do not match
// [store.ErrOutcomeUnknown] that nothing was done.
func (c *client) execute(ctx context.Context, statements ...statement) ([]result, error) {
	path := "/db/execute"
	if len(statements) > 1 {
		path += "?transaction"
	}
	return c.write(ctx, path, statements)
}

// request is execute for statements of which some are reads.
func (c *client) request(ctx context.Context, statements ...statement) ([]result, error) {
	return c.write(ctx, "/db/request?transaction&blob_array", statements)
}

func (c *client) write(ctx context.Context, path string, statements []statement) ([]result, error) {
	body, err := encode(statements)
	if err != nil {
		return nil, err
	}
	if c.closed.Load() {
		return nil, store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeoutCause(ctx, c.timeout, errTimeout)
	defer cancel()
	results, err := c.send(wait, path, body, true, c.timeout)
	if err != nil {
		return nil, c.callers(ctx, err)
	}
	return results, check(results, len(statements), true)
}

// query runs reads in one transaction at a level.
func (c *client) query(ctx context.Context, at level, statements ...statement) ([]result, error) {
	body, err := encode(statements)
	if err != nil {
		return nil, err
	}
	if c.closed.Load() {
		return nil, store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path := "/db/query?blob_array&level=" + string(at)
	if len(statements) > 1 {
		path += "&transaction"
	}
	wait, cancel := context.WithTimeoutCause(ctx, c.timeout, errTimeout)
	defer cancel()
	results, err := c.send(wait, path, body, false, min(readPatience, c.timeout))
	if err != nil {
		return nil, c.callers(ctx, err)
	}
	return results, check(results, len(statements), false)
}

var errTimeout = errors.New("timed out")

// callers makes of a wait that ended with the caller's the caller's error.
func (c *client) callers(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil && !errors.Is(err, store.ErrOutcomeUnknown) {
		return cause
	}
	return err
}

// check looks at each result: a failed statement is an answer with status 200 too.
func check(results []result, want int, write bool) error {
	for i, r := range results {
		if r.Error != "" {
			return &SQLError{i, r.Error}
		}
	}
	if len(results) == want {
		return nil
	}
	err := fmt.Errorf("rqlite: %d statements were sent and %d answered", want, len(results))
	if write {
		return store.OutcomeUnknown(err)
	}
	return err
}

// send asks node after node, and all of them again for as long as patience lasts,
// until one of them has done it or the outcome is unknown.
func (c *client) send(ctx context.Context, path string, body []byte, write bool, patience time.Duration) ([]result, error) {
	toLeader := !strings.Contains(path, "level="+string(none))
	started := time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		said := map[string]error{}
		var order []string
		for _, node := range c.order(toLeader) {
			results, at, v, err := c.follow(ctx, node, path, body, toLeader, write)
			if !slices.Contains(order, at) {
				order = append(order, at)
			}
			said[at] = err
			switch v {
			case done:
				c.note(at, toLeader)
				return results, nil
			case refused:
				return nil, err
			case unknown:
				if write {
					return nil, store.OutcomeUnknown(lost(at, err))
				}
			}
			if ctx.Err() != nil {
				break
			}
		}
		c.forget(toLeader)
		unavailable := &UnavailableError{}
		for _, node := range order {
			unavailable.Nodes = append(unavailable.Nodes, said[node])
		}
		wait := pause/2 + rand.N(pause/2)
		if time.Since(started)+wait > patience {
			return nil, unavailable
		}
		select {
		case <-ctx.Done():
			return nil, unavailable
		case <-time.After(wait):
		}
		if c.closed.Load() {
			return nil, store.ErrClosed
		}
	}
}

// order is the nodes in the order in which they are asked.
func (c *client) order(toLeader bool) []string {
	c.mu.Lock()
	first := c.reading
	if toLeader {
		first = c.leader
	}
	c.mu.Unlock()
	if first == "" {
		return c.address.Nodes
	}
	return append([]string{first}, slices.DeleteFunc(slices.Clone(c.address.Nodes), func(n string) bool { return n == first })...)
}

func (c *client) note(node string, toLeader bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if toLeader {
		c.leader = node
	} else {
		c.reading = node
	}
}

func (c *client) forget(toLeader bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if toLeader {
		c.leader, c.behind = "", false
	} else {
		c.reading = ""
	}
}

// follow asks a node, and where that sends to another one, that one.
func (c *client) follow(ctx context.Context, node, path string, body []byte, toLeader, write bool) (results []result, at string, v verdict, err error) {
	c.mu.Lock()
	forward := c.behind
	c.mu.Unlock()
	at = node
	for range maxRedirects {
		asked := path
		if toLeader && !forward {
			asked += "&redirect"
			if !strings.Contains(path, "?") {
				asked = path + "?redirect"
			}
		}
		var next string
		results, next, v, err = c.try(ctx, at, asked, body, write)
		if next == "" {
			if v == notDone && at != node && !forward && isDial(err) {
				// The leader is known by an address that is good inside the cluster only: the node
				// that named it can forward.
				forward, at = true, node
				c.mu.Lock()
				c.behind = true
				c.mu.Unlock()
				continue
			}
			return results, at, v, err
		}
		at = next
	}
	return nil, at, notDone, &NodeError{at, "the nodes send from one to another", nil}
}

func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// try asks one node once. next is the node that it sends to.
func (c *client) try(ctx context.Context, node, path string, body []byte, write bool) (results []result, next string, v verdict, err error) {
	if !write {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, max(readTry, c.timeout/2), errTimeout)
		defer cancel()
	}
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	status, header, text, err := c.post(ctx, http.MethodPost, node, path, body)
	if err != nil {
		v = notDone
		if sent.Load() {
			v = unknown
		}
		return nil, "", v, c.unreached(ctx, node, err)
	}
	said := strings.TrimSpace(string(text))
	switch status {
	case http.StatusOK:
		var a answer
		if err := json.Unmarshal(text, &a); err != nil {
			// A server that fails on writing the answer says so in its place.
			return nil, "", unknown, &NodeError{node, "it answers with no JSON: " + short(said), errors.Join(store.ErrNotAStore, err)}
		}
		if a.Error != "" {
			return nil, "", verdictOf(a.Error), &NodeError{node, a.Error, nil}
		}
		return a.Results, "", done, nil
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		next, err := c.redirected(node, header.Get("Location"))
		return nil, next, notDone, err
	case http.StatusUnauthorized, http.StatusForbidden:
		text := "it refuses the user"
		if !c.address.HasUser {
			text = "it asks for a user and a password; write them into the locator, or put the password into RQLITE_PASSWORD"
		}
		return nil, "", refused, &NodeError{node, text, ErrDenied}
	case http.StatusServiceUnavailable:
		return nil, "", notDone, &NodeError{node, orStatus(said, status), nil}
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return nil, "", refused, &NodeError{node, "it does not take the request: " + orStatus(said, status), nil}
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return nil, "", refused, &NodeError{node, "it is no rqlite node: " + orStatus(short(said), status), store.ErrNotAStore}
	case http.StatusInternalServerError:
		if v := verdictOf(said); v == notDone {
			return nil, "", v, &NodeError{node, said, nil}
		}
	}
	return nil, "", unknown, &NodeError{node, orStatus(short(said), status), nil}
}

// verdictOf reads what a node says of itself or of the log. What is not known to come
// before anything was done may come after it: a leader that loses its office while a
// write is on its way does not know either.
func verdictOf(said string) verdict {
	switch strings.TrimSpace(said) {
	case "not leader", "leader not found", "store not ready", "store not open", "stale read", "node is not the leader":
		return notDone
	}
	return unknown
}

func (c *client) unreached(ctx context.Context, node string, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the URL
	}
	text := err.Error()
	if errors.Is(context.Cause(ctx), errTimeout) {
		text = "it does not answer in time"
	}
	return &NodeError{node, text, err}
}

// redirected reads where a node sends to. Credentials go to no other kind of address
// than the one that was given.
func (c *client) redirected(node, location string) (string, error) {
	u, err := url.Parse(location)
	if err != nil || u.Host == "" {
		return "", &NodeError{node, "it sends to the leader, but not to an address", nil}
	}
	if c.address.TLS != (u.Scheme == "https") {
		return "", &NodeError{node, "it sends to a leader that is spoken to with " + u.Scheme, nil}
	}
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), DefaultPort), nil
	}
	return u.Host, nil
}

func (c *client) post(ctx context.Context, method, node, path string, body []byte) (status int, header http.Header, text []byte, err error) {
	scheme := "http://"
	if c.address.TLS {
		scheme = "https://"
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, scheme+node+path, reader)
	if err != nil {
		return 0, nil, nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.address.HasUser {
		req.SetBasicAuth(c.address.User, c.address.Password)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	text, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	if err == nil && len(text) > maxAnswer {
		err = fmt.Errorf("the answer is longer than %d MB", maxAnswer>>20)
	}
	return resp.StatusCode, resp.Header, text, err
}

func short(text string) string {
	const most = 200 // bytes
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

func orStatus(said string, status int) string {
	if said == "" {
		return fmt.Sprintf("status %d %s", status, http.StatusText(status))
	}
	return said
}

package rqlite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
)

// standIn stands in for an rqlite cluster: nodes that follow its documented HTTP API,
// each with a SQLite database of its own, behind one log in memory. The leader applies
// an entry before it answers, the others after a while. It has no consensus and no
// durability of its own: a node that was killed keeps its database and catches up.
type standIn struct {
	t        testing.TB
	mu       sync.Mutex // the log and who leads; held while an entry is applied
	logging  sync.Mutex // log; taken last
	log      []standInEntry
	nodes    []*standInNode
	leader   int // -1: there is none
	election time.Duration
	lag      time.Duration // of those that do not lead
	user     string        // "": everybody may do everything
	password string
	skew     time.Duration // of the nodes' clocks
	noStatus bool          // nobody may see the status

	// What goes wrong with the next writes, one value of each channel a write.
	faults chan standInFault
	writes atomic.Int64 // entries of the log that were applied by the leader
	strong atomic.Int64 // reads that went through the log
	asked  atomic.Int64 // requests
}

// standInFault is what becomes of one write.
type standInFault int

const (
	loseAnswer  standInFault = iota // it is done, and the connection is closed without an answer
	loseRequest                     // it is not done, and the connection is closed
	loseOffice                      // it is done, and the answer is that leadership was lost
	failAfter                       // it is done, and the answer is a status of 500
	slowAnswer                      // it is done, and the answer comes too late
)

// standInEntry is one entry of the log.
type standInEntry struct {
	statements []standInStatement
	kind       string // "execute" or "request", and the options
}

func (c *standIn) entries() []standInEntry {
	c.logging.Lock()
	defer c.logging.Unlock()
	return c.log
}

type standInNode struct {
	c       *standIn
	number  int
	address string // host:port, the same for all its lives

	mu      sync.Mutex // the connections
	write   *sqlite.Conn
	read    *sqlite.Conn
	applied int
	changed int // the last entry that changed the database
	server  *http.Server
	up      atomic.Bool
	stalled atomic.Bool // it takes requests and answers none
	wake    chan struct{}
}

// newStandIn starts a cluster of so many nodes; the first one leads.
func newStandIn(t testing.TB, nodes int) *standIn {
	t.Helper()
	c := &standIn{t: t, election: 50 * time.Millisecond, faults: make(chan standInFault, 64)}
	dir := t.TempDir()
	for i := range nodes {
		n := &standInNode{c: c, number: i, wake: make(chan struct{}, 1)}
		path := filepath.Join(dir, fmt.Sprintf("node%d.db", i))
		n.write = openStandIn(t, path)
		n.read = openStandIn(t, path)
		if err := execStandIn(n.read, "PRAGMA query_only = 1"); err != nil {
			t.Fatal(err)
		}
		c.nodes = append(c.nodes, n)
	}
	stop := make(chan struct{})
	var followers sync.WaitGroup
	for _, n := range c.nodes {
		n.serve(t)
		followers.Go(func() { n.follow(stop) })
	}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			n.kill()
		}
		close(stop)
		followers.Wait()
		for _, n := range c.nodes {
			n.mu.Lock()
			if err := errors.Join(n.read.Close(), n.write.Close()); err != nil {
				t.Error(err)
			}
			n.mu.Unlock()
		}
	})
	return c
}

func openStandIn(t testing.TB, path string) *sqlite.Conn {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenWAL)
	if err == nil {
		err = execStandIn(conn, "PRAGMA synchronous = OFF")
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func execStandIn(conn *sqlite.Conn, text string) error {
	stmt, _, err := conn.PrepareTransient(text)
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		more, err = stmt.Step()
	}
	return errors.Join(err, stmt.Finalize())
}

// locator names all nodes.
func (c *standIn) locator() string {
	user := ""
	if c.user != "" {
		user = url.UserPassword(c.user, c.password).String() + "@"
	}
	var nodes []string
	for _, n := range c.nodes {
		nodes = append(nodes, n.address)
	}
	return "rqlite://" + user + strings.Join(nodes, ",")
}

func (c *standIn) addressOf(t testing.TB) Address {
	t.Helper()
	a, err := ParseAddress(c.locator())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// serve begins to answer, at the address that the node had before.
func (n *standInNode) serve(t testing.TB) {
	t.Helper()
	address := n.address
	if address == "" {
		address = "127.0.0.1:0"
	}
	var l net.Listener
	var err error
	for range 100 {
		if l, err = net.Listen("tcp", address); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond) // the system may hold the address for a moment
	}
	if err != nil {
		t.Fatal(err)
	}
	n.address = l.Addr().String()
	n.server = &http.Server{Handler: n}
	n.up.Store(true)
	go func(s *http.Server) { _ = s.Serve(l) }(n.server)
}

// kill ends the node as a crash does: connections break, what is under way may or may
// not be done. Another one leads after the time of an election, if most are there.
func (n *standInNode) kill() {
	if !n.up.Swap(false) {
		return
	}
	_ = n.server.Close()
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if n.c.leader == n.number {
		n.c.leader = -1
		time.AfterFunc(n.c.election, n.c.elect)
	}
}

// restart brings a killed node back.
func (n *standInNode) restart(t testing.TB) {
	t.Helper()
	n.serve(t)
	n.c.elect()
	n.nudge()
}

// elect finds a leader where there is none.
func (c *standIn) elect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leader >= 0 {
		return
	}
	up, first := 0, -1
	for _, n := range c.nodes {
		if n.up.Load() {
			if up++; first < 0 {
				first = n.number
			}
		}
	}
	if 2*up > len(c.nodes) {
		c.nodes[first].catchUp(len(c.entries()))
		c.leader = first
	}
}

// stepDown makes another node lead.
func (c *standIn) stepDown(to int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[to].catchUp(len(c.entries()))
	c.leader = to
}

func (n *standInNode) nudge() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// follow applies what others have written.
func (n *standInNode) follow(stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-n.wake:
		}
		n.c.mu.Lock()
		lag, end := n.c.lag, len(n.c.entries())
		n.c.mu.Unlock()
		if lag > 0 {
			select {
			case <-stop:
				return
			case <-time.After(lag):
			}
		}
		if n.up.Load() {
			n.catchUp(end)
		}
	}
}

// catchUp applies the log up to an end.
func (n *standInNode) catchUp(end int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.applied < end {
		n.apply(n.applied)
	}
}

// apply runs one entry. It is called with the node's connections in hand.
func (n *standInNode) apply(entry int) (any, error) {
	e := n.c.entries()[entry]
	n.applied, n.changed = entry+1, entry+1
	return runStandIn(n.write, e.statements, strings.Contains(e.kind, "transaction"), e.kind)
}

type standInStatement struct {
	text   string
	params []any
}

var hexLiteral = regexp.MustCompile(`^[xX]'([0-9a-fA-F]*)'$`)

// parseStandIn reads a body as the server does: a text that looks like a blob literal
// is a blob, an array of numbers too.
func parseStandIn(body []byte) ([]standInStatement, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var raw []any
	if err := dec.Decode(&raw); err != nil {
		return nil, errors.New("invalid JSON body")
	}
	if len(raw) == 0 {
		return nil, errors.New("no statements")
	}
	var out []standInStatement
	for _, r := range raw {
		items, ok := r.([]any)
		if text, plain := r.(string); plain {
			items, ok = []any{text}, true
		}
		if !ok || len(items) == 0 {
			return nil, errors.New("invalid request")
		}
		text, ok := items[0].(string)
		if !ok {
			return nil, errors.New("invalid request")
		}
		s := standInStatement{text: text}
		for _, item := range items[1:] {
			p, err := paramStandIn(item)
			if err != nil {
				return nil, err
			}
			s.params = append(s.params, p)
		}
		out = append(out, s)
	}
	return out, nil
}

func paramStandIn(item any) (any, error) {
	switch v := item.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("invalid number %s", v)
		}
		return f, nil
	case string:
		if m := hexLiteral.FindStringSubmatch(strings.TrimSpace(v)); m != nil && len(m[1])%2 == 0 {
			b := make([]byte, len(m[1])/2)
			_, err := fmt.Sscanf(m[1], "%x", &b)
			if len(b) == 0 {
				err = nil
			}
			return b, err
		}
		return v, nil
	case []any:
		b := make([]byte, len(v))
		for i, e := range v {
			n, ok := e.(json.Number)
			if !ok {
				return nil, fmt.Errorf("unsupported type %T", e)
			}
			k, err := n.Int64()
			if err != nil || uint64(k) > 255 {
				return nil, fmt.Errorf("unsupported type %s", n)
			}
			b[i] = byte(k)
		}
		return b, nil
	case bool, nil:
		return v, nil
	}
	return nil, fmt.Errorf("unsupported type %T", item)
}

type standInResult struct {
	LastInsertID int64  `json:"last_insert_id,omitempty"`
	RowsAffected int64  `json:"rows_affected,omitempty"`
	Error        string `json:"error,omitempty"`
}

type standInRows struct {
	Columns []string `json:"columns,omitempty"`
	Types   []string `json:"types,omitempty"`
	Values  [][]any  `json:"values,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// runStandIn runs statements. In a transaction the first error ends and undoes it, and
// what follows has no result; without one all are run.
func runStandIn(conn *sqlite.Conn, statements []standInStatement, transaction bool, kind string) ([]any, error) {
	if transaction {
		if err := execStandIn(conn, "BEGIN"); err != nil {
			return nil, err
		}
	}
	results := []any{}
	for _, s := range statements {
		r, err := oneStandIn(conn, s, kind)
		results = append(results, r)
		if err != nil && transaction && !strings.Contains(kind, "query") {
			return results, execStandIn(conn, "ROLLBACK")
		}
	}
	if transaction {
		return results, execStandIn(conn, "COMMIT")
	}
	return results, nil
}

func oneStandIn(conn *sqlite.Conn, s standInStatement, kind string) (any, error) {
	failed := func(err error) (any, error) {
		// The text is SQLite's own, without what the binding adds.
		text := err.Error()
		if at := strings.LastIndex(text, ": "); at >= 0 && !strings.Contains(text, "no such") && !strings.Contains(text, "UNIQUE") {
			text = text[at+2:]
		}
		return standInResult{Error: text}, err
	}
	stmt, _, err := conn.PrepareTransient(s.text)
	if err != nil {
		return failed(err)
	}
	defer stmt.Finalize()
	if stmt.BindParamCount() > len(s.params) {
		return failed(errors.New("not enough args to execute query"))
	}
	for i, p := range s.params[:stmt.BindParamCount()] {
		switch v := p.(type) {
		case nil:
			stmt.BindNull(i + 1)
		case int64:
			stmt.BindInt64(i+1, v)
		case float64:
			stmt.BindFloat(i+1, v)
		case bool:
			stmt.BindBool(i+1, v)
		case string:
			stmt.BindText(i+1, v)
		case []byte:
			stmt.BindBytes(i+1, v)
		}
	}
	rows := standInRows{}
	for c := range stmt.ColumnCount() {
		rows.Columns = append(rows.Columns, stmt.ColumnName(c))
		rows.Types = append(rows.Types, "")
	}
	for {
		more, err := stmt.Step()
		if err != nil {
			return failed(err)
		}
		if !more {
			break
		}
		row := make([]any, stmt.ColumnCount())
		for c := range row {
			row[c] = valueStandIn(conn, stmt, c, strings.Contains(kind, "blob_array"))
		}
		rows.Values = append(rows.Values, row)
	}
	asRows := strings.HasPrefix(kind, "query") || stmt.ColumnCount() > 0 && (strings.HasPrefix(kind, "request") || strings.Contains(strings.ToLower(s.text), "returning "))
	if asRows {
		return rows, nil
	}
	return standInResult{LastInsertID: conn.LastInsertRowID(), RowsAffected: int64(conn.Changes())}, nil
}

// bytesAsArray is a blob under blob_array.
type bytesAsArray []byte

func (b bytesAsArray) MarshalJSON() ([]byte, error) {
	numbers := make([]int, len(b))
	for i, v := range b {
		numbers[i] = int(v)
	}
	return json.Marshal(numbers)
}

func valueStandIn(conn *sqlite.Conn, stmt *sqlite.Stmt, c int, array bool) any {
	switch stmt.ColumnType(c) {
	case sqlite.TypeInteger:
		return stmt.ColumnInt64(c)
	case sqlite.TypeFloat:
		return stmt.ColumnFloat(c)
	case sqlite.TypeText:
		return stmt.ColumnText(c)
	case sqlite.TypeBlob:
		b := make([]byte, stmt.ColumnLen(c))
		stmt.ColumnBytes(c, b)
		if table := stmt.ColumnTableName(c); table != "" && declaredText(conn, table, stmt.ColumnName(c)) {
			return string(b)
		}
		if array {
			return bytesAsArray(b)
		}
		return b
	}
	return nil
}

func declaredText(conn *sqlite.Conn, table, column string) bool {
	stmt, _, err := conn.PrepareTransient("SELECT 1 FROM pragma_table_info(?) WHERE name = ? AND lower(type) = 'text'")
	if err != nil {
		return false
	}
	defer stmt.Finalize()
	stmt.BindText(1, table)
	stmt.BindText(2, column)
	found, err := stmt.Step()
	return found && err == nil
}

// ServeHTTP implements [http.Handler].
func (n *standInNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.c.asked.Add(1)
	if n.stalled.Load() {
		<-r.Context().Done()
		return
	}
	if user, password, _ := r.BasicAuth(); n.c.user != "" && (user != n.c.user || password != n.c.password) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	q := r.URL.Query()
	if q.Has("queue") {
		n.c.t.Error("a write was queued")
	}
	switch r.URL.Path {
	case "/db/execute", "/db/request":
		n.handleWrite(w, r, q)
	case "/db/query":
		n.handleQuery(w, r, q)
	case "/status":
		n.handleStatus(w)
	case "/readyz":
		n.c.mu.Lock()
		defer n.c.mu.Unlock()
		if n.c.leader < 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	default:
		http.NotFound(w, r)
	}
}

// elsewhere answers where the node does not lead, and says whether it did.
func (n *standInNode) elsewhere(w http.ResponseWriter, r *http.Request, q url.Values) bool {
	switch c := n.c; {
	case c.leader < 0:
		http.Error(w, "leader not found", http.StatusServiceUnavailable)
	case c.leader != n.number && q.Has("redirect"):
		http.Redirect(w, r, "http://"+c.nodes[c.leader].address+r.URL.Path+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
	default:
		return false
	}
	return true
}

func (n *standInNode) handleWrite(w http.ResponseWriter, r *http.Request, q url.Values) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	statements, err := parseStandIn(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c := n.c
	c.mu.Lock()
	if n.elsewhere(w, r, q) || !n.up.Load() {
		c.mu.Unlock()
		return
	}
	leader := c.nodes[c.leader] // a node that does not lead forwards
	fault := standInFault(-1)
	select {
	case fault = <-c.faults:
	default:
	}
	if fault == loseRequest {
		c.mu.Unlock()
		breakConnection(w)
		return
	}
	c.logging.Lock()
	c.log = append(c.log, standInEntry{statements, strings.TrimPrefix(r.URL.Path, "/db/") + " " + r.URL.RawQuery})
	end := len(c.log)
	c.logging.Unlock()
	leader.mu.Lock()
	for leader.applied < end-1 {
		leader.apply(leader.applied)
	}
	results, err := leader.apply(end - 1)
	leader.mu.Unlock()
	c.writes.Add(1)
	for _, other := range c.nodes {
		if other != leader {
			other.nudge()
		}
	}
	c.mu.Unlock()
	switch fault {
	case loseAnswer:
		breakConnection(w)
	case loseOffice:
		writeStandIn(w, map[string]any{"results": []any{}, "error": "leadership lost while committing log"})
	case failAfter:
		http.Error(w, "json: unsupported value: +Inf", http.StatusInternalServerError)
	case slowAnswer:
		<-r.Context().Done()
	default:
		answerStandIn(w, results, err)
	}
}

func breakConnection(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func (n *standInNode) handleQuery(w http.ResponseWriter, r *http.Request, q url.Values) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	statements, err := parseStandIn(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for i := range statements {
		statements[i].text = strings.ReplaceAll(statements[i].text, "julianday('now')", fmt.Sprintf("julianday('now', '%+.3f seconds')", n.c.skew.Seconds()))
	}
	at := q.Get("level")
	node := n
	if at != "none" {
		n.c.mu.Lock()
		if n.elsewhere(w, r, q) {
			n.c.mu.Unlock()
			return
		}
		node = n.c.nodes[n.c.leader]
		if at == "strong" {
			n.c.strong.Add(1)
		}
		node.catchUp(len(n.c.entries()))
		n.c.mu.Unlock()
	}
	node.mu.Lock()
	results, err := runStandIn(node.read, statements, q.Has("transaction"), "query "+r.URL.RawQuery)
	node.mu.Unlock()
	answerStandIn(w, results, err)
}

func answerStandIn(w http.ResponseWriter, results any, err error) {
	said := map[string]any{"results": results}
	if err != nil {
		said = map[string]any{"results": []any{}, "error": err.Error()}
	}
	writeStandIn(w, said)
}

func writeStandIn(w http.ResponseWriter, said any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(said); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(bytes.TrimRight(b.Bytes(), "\n"))
}

func (n *standInNode) handleStatus(w http.ResponseWriter) {
	if n.c.noStatus {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	n.c.mu.Lock()
	leads, there, end := n.c.leader == n.number, n.c.leader >= 0, len(n.c.entries())
	n.c.mu.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	raft := map[string]any{"state": "Follower", "last_contact": "never", "commit_index": end, "applied_index": n.applied}
	switch {
	case leads:
		raft["state"], raft["last_contact"] = "Leader", 0
	case there:
		raft["last_contact"] = "12.3456ms"
	}
	writeStandIn(w, map[string]any{"open": true, "fsm_index": n.applied, "db_applied_index": n.changed, "raft": raft})
}

func TestStandInNumbers(t *testing.T) {
	for in, want := range map[string]any{"9007199254740993": int64(9007199254740993), "1.0": 1.0, "1e3": 1000.0} {
		got, err := paramStandIn(json.Number(in))
		if err != nil || got != want {
			t.Errorf("%s: %v (%T), %v", in, got, got, err)
		}
	}
	if got, err := paramStandIn("x'6162'"); err != nil || string(got.([]byte)) != "ab" {
		t.Errorf("a blob literal: %v, %v", got, err)
	}
}

package foreign

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"treering/store"
)

// Reader reads the sessions of one source. Its methods are called by several
// goroutines, but Read by one at a time.
type Reader interface {
	// Token differs whenever the source may have changed.
	Token(ctx context.Context) (string, error)
	// Sessions lists what there is without reading it, in an order that lasts.
	Sessions(ctx context.Context) ([]Head, error)
	// Read reads one session. prior is what it returned last for that session, from
	// which it may go on, or nil. It must not change prior.
	Read(ctx context.Context, h Head, prior *Scan) (*Scan, error)
	// Body reads all of a record: a JSON object.
	Body(ctx context.Context, h Head, rec *Record) (store.JSON, error)
	// Close releases the source.
	Close() error
}

// Stamper is what a [Reader] offers that can tell whether one session has changed
// without a look at all the others: in a folder of a thousand sessions a [Reader.Token]
// costs thousands of system calls.
type Stamper interface {
	// Stamp differs whenever the session may have changed since. Its error means that
	// the list has to be read again.
	Stamp(ctx context.Context, h Head) (string, error)
}

// Scan is what a reader found in one session. It is not changed once it is returned.
type Scan struct {
	Records []Record
	Header  *Record // the root, where the format keeps one
	Source  string  // the format
	Chain   bool    // see BuildOptions.Chain
	Title   string  // of the session, "" where it has none
	Active  int     // the record that the program would go on from; -1: none
	Labels  map[int][]string
	Report  Report
	// Facts are added to the data of the root.
	Facts []store.Member
	// Mark, where it is not nil, may set the flags of the built tree's records, and
	// returns the active node, or -1.
	Mark func(*Tree) int32
}

// Store serves the sessions of a reader as a read-only store.TreeStore. Nodes come
// in the order of storage; data is {title, ts, role, head, labels, ..., raw}.
type Store struct {
	r     Reader
	scope string

	known atomic.Pointer[map[string]Head] // the list as it was read last

	mu     sync.Mutex
	closed bool
	token  string
	heads  []Head
	byID   map[string]int
	loaded map[string]*session
	recent []string // loaded, the latest last
}

// session is one tree in memory. It is not changed.
type session struct {
	head  Head
	scan  *Scan
	tree  *Tree
	token string
	stamp string // see Stamper; "" where there is none
	marks map[int32][]string
	at    int32 // the active node, or none
}

// keptSessions is how many trees stay in memory.
const keptSessions = 8

var (
	_ store.TreeStore = (*Store)(nil)
	_ store.Outliner  = (*Store)(nil)
	_ store.Watcher   = (*Store)(nil)
)

// NewStore returns the store of a reader. scope tells its cursors from those of
// other stores: the source's path. Close closes the reader.
func NewStore(r Reader, scope string) *Store {
	return &Store{r: r, scope: scope, loaded: map[string]*session{}}
}

// ChangeToken implements [store.Watcher].
func (s *Store) ChangeToken(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", store.ErrClosed
	}
	return s.r.Token(ctx)
}

// list brings the list of sessions up to date. The lock is held.
func (s *Store) list(ctx context.Context) (token string, err error) {
	if s.closed {
		return "", store.ErrClosed
	}
	if token, err = s.r.Token(ctx); err != nil {
		return "", err
	}
	if s.byID != nil && token == s.token {
		return token, nil
	}
	heads, err := s.r.Sessions(ctx)
	if err != nil {
		return "", err
	}
	s.heads, s.byID, s.token = heads, make(map[string]int, len(heads)), token
	for i, h := range heads {
		if _, twice := s.byID[h.ID]; !twice {
			s.byID[h.ID] = i
		}
	}
	known := make(map[string]Head, len(heads))
	for id, i := range s.byID {
		known[id] = heads[i]
	}
	s.known.Store(&known)
	return token, nil
}

// Known is what was known of a session when the list was read last. It waits for
// nothing.
func (s *Store) Known(id string) (h Head, ok bool) {
	if known := s.known.Load(); known != nil {
		h, ok = (*known)[id]
	}
	return h, ok
}

// open returns a session's tree, as of now.
func (s *Store) open(ctx context.Context, id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was := s.unchanged(ctx, id); was != nil {
		s.keep(id, was)
		return was, nil
	}
	token, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	i, ok := s.byID[id]
	if !ok {
		return nil, &store.NotFoundError{What: "session", ID: id}
	}
	stamp := s.stampOf(ctx, s.heads[i]) // before it is read: what comes meanwhile is seen the next time
	was := s.loaded[id]
	if was != nil && was.token == token {
		return was, nil
	}
	var prior *Scan
	if was != nil {
		prior = was.scan
	}
	scan, err := s.r.Read(ctx, s.heads[i], prior)
	if err != nil {
		return nil, err
	}
	now := &session{head: s.heads[i], scan: scan, token: token, stamp: stamp, at: none}
	if scan == prior { // nothing new
		now.tree, now.marks, now.at = was.tree, was.marks, was.at
	} else {
		report := scan.Report.Clone()
		now.tree = Build(BuildOptions{Session: id, Source: scan.Source, Header: scan.Header, Chain: scan.Chain}, scan.Records, &report)
		now.tree.report = &report
		now.marks = map[int32][]string{}
		for i, names := range scan.Labels {
			n := now.tree.Of(i)
			now.marks[n] = append(now.marks[n], names...)
		}
		if scan.Active >= 0 && scan.Active < len(scan.Records) {
			now.at = now.tree.Of(scan.Active)
		}
		if scan.Mark != nil {
			now.at = scan.Mark(now.tree)
		}
	}
	s.keep(id, now)
	return now, nil
}

// unchanged returns a session that is in memory and still as it was read, where that
// can be told without the list. The lock is held.
func (s *Store) unchanged(ctx context.Context, id string) *session {
	was := s.loaded[id]
	if s.closed || was == nil || was.stamp == "" {
		return nil
	}
	// The list may have been read since, and the name be another file's.
	if i, ok := s.byID[id]; !ok || s.heads[i].Path != was.head.Path || s.stampOf(ctx, was.head) != was.stamp {
		return nil
	}
	return was
}

func (s *Store) stampOf(ctx context.Context, h Head) string {
	if r, ok := s.r.(Stamper); ok {
		if stamp, err := r.Stamp(ctx, h); err == nil {
			return stamp
		}
	}
	return ""
}

// keep notes a session that was read, and forgets the one not asked for for longest.
func (s *Store) keep(id string, now *session) {
	s.loaded[id] = now
	s.recent = slices.DeleteFunc(s.recent, func(r string) bool { return r == id })
	s.recent = append(s.recent, id)
	if len(s.recent) > keptSessions {
		delete(s.loaded, s.recent[0])
		s.recent = s.recent[1:]
	}
}

// Heads lists the sessions with what is known of them.
func (s *Store) Heads(ctx context.Context) ([]Head, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.list(ctx); err != nil {
		return nil, err
	}
	return slices.Clone(s.heads), nil
}

// Report tells what was found in a session besides its nodes, and its title.
func (s *Store) Report(ctx context.Context, id string) (Report, string, error) {
	o, err := s.open(ctx, id)
	if err != nil {
		return Report{}, "", err
	}
	return *o.tree.report, o.scan.Title, nil
}

// Planted reports whether the root of a session stands before its records: it is the
// header of the file, or was made up. Otherwise it is the only record without a parent,
// which may be so until another one comes.
func (s *Store) Planted(ctx context.Context, id string) (bool, error) {
	o, err := s.open(ctx, id)
	if err != nil {
		return false, err
	}
	return o.tree.Len() > len(o.tree.Records), nil
}

// Session implements [store.TreeStore].
func (s *Store) Session(ctx context.Context, id string) (store.SessionInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.list(ctx); err != nil {
		return store.SessionInfo{}, err
	}
	i, ok := s.byID[id]
	if !ok {
		return store.SessionInfo{}, &store.NotFoundError{What: "session", ID: id}
	}
	return s.heads[i].Info(), nil
}

// ListSessions implements [store.TreeStore], in the reader's order.
func (s *Store) ListSessions(ctx context.Context, f store.SessionFilter, page store.PageRequest) (store.Page[store.SessionInfo], error) {
	var out store.Page[store.SessionInfo]
	limit, err := page.Size()
	if err != nil {
		return out, err
	}
	scope := fmt.Sprintf("%s\x00sessions\x00%q\x00%q\x00%t", s.scope, f.Kinds, f.NotKinds, f.Kinds == nil)
	after, err := s.after(scope, page.Cursor)
	if err != nil {
		return out, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.list(ctx); err != nil {
		return out, err
	}
	from := 0
	if after != nil {
		from = after.next(func(id string) (int, bool) { i, ok := s.byID[id]; return i, ok })
	}
	for i := from; i < len(s.heads); i++ {
		h := s.heads[i]
		if s.byID[h.ID] != i || !f.Selects(h.Kind) {
			continue
		}
		if len(out.Items) == limit {
			out.Next = cursor(scope, i, out.Items[limit-1].ID)
			break
		}
		out.Items = append(out.Items, h.Info())
	}
	return out, nil
}

// place is where a page goes on: behind an item, or where it was if that is gone.
type place struct {
	index int
	id    string
}

func cursor(scope string, index int, id string) string {
	return store.EncodeCursor(scope, strconv.Itoa(index), id)
}

func (s *Store) after(scope, text string) (*place, error) {
	if text == "" {
		return nil, nil
	}
	key, err := store.DecodeCursor(scope, text)
	if err != nil {
		return nil, err
	}
	if len(key) != 2 {
		return nil, store.ErrBadCursor
	}
	index, err := strconv.Atoi(key[0])
	if err != nil || index < 0 {
		return nil, store.ErrBadCursor
	}
	return &place{index, key[1]}, nil
}

func (p *place) next(find func(id string) (int, bool)) int {
	if i, ok := find(p.id); ok {
		return i + 1
	}
	return p.index
}

// Node implements [store.TreeStore].
func (s *Store) Node(ctx context.Context, id, node string) (store.Node, error) {
	o, err := s.open(ctx, id)
	if err != nil {
		return store.Node{}, err
	}
	n, ok := o.tree.Find(node)
	if !ok {
		return store.Node{}, &store.NotFoundError{What: "node", ID: node, In: id}
	}
	return s.node(ctx, o, n)
}

// Nodes implements [store.TreeStore].
func (s *Store) Nodes(ctx context.Context, id string, ids []string) ([]*store.Node, error) {
	if err := store.CheckNodeIDs(ids); err != nil {
		return nil, err
	}
	o, err := s.open(ctx, id)
	if err != nil {
		return nil, err
	}
	out := make([]*store.Node, len(ids))
	for i, node := range ids {
		n, ok := o.tree.Find(node)
		if !ok {
			continue
		}
		read, err := s.node(ctx, o, n)
		if err != nil {
			return nil, err
		}
		out[i] = &read
	}
	return out, nil
}

// ListNodes implements [store.TreeStore], in the order of storage, a root that
// stands before the records first.
func (s *Store) ListNodes(ctx context.Context, id string, page store.PageRequest) (store.Page[store.Node], error) {
	return listed(ctx, s, id, "nodes", page, s.node)
}

// ListOutline implements [store.Outliner].
func (s *Store) ListOutline(ctx context.Context, id string, page store.PageRequest) (store.Page[store.Outline], error) {
	return listed(ctx, s, id, "nodes", page, func(_ context.Context, o *session, n int32) (store.Outline, error) { return o.outline(n), nil })
}

func listed[T any](ctx context.Context, s *Store, id, what string, page store.PageRequest, read func(context.Context, *session, int32) (T, error)) (out store.Page[T], err error) {
	limit, err := page.Size()
	if err != nil {
		return out, err
	}
	scope := s.scope + "\x00" + what + "\x00" + id
	after, err := s.after(scope, page.Cursor)
	if err != nil {
		return out, err
	}
	o, err := s.open(ctx, id)
	if err != nil {
		return out, err
	}
	t := o.tree
	from := 0
	if after != nil {
		from = after.next(func(id string) (int, bool) {
			n, ok := t.Find(id)
			if !ok {
				return 0, false
			}
			return t.Position(n), true
		})
	}
	for i := from; i < t.Len(); i++ {
		if len(out.Items) == limit {
			out.Next = cursor(scope, i, t.ID(t.At(i-1)))
			break
		}
		item, err := read(ctx, o, t.At(i))
		if err != nil {
			return store.Page[T]{}, err
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}

// ListChildren implements [store.TreeStore], in the order of storage.
func (s *Store) ListChildren(ctx context.Context, id, node string, page store.PageRequest) (out store.Page[store.Node], err error) {
	limit, err := page.Size()
	if err != nil {
		return out, err
	}
	scope := s.scope + "\x00children\x00" + id + "\x00" + node
	after, err := s.after(scope, page.Cursor)
	if err != nil {
		return out, err
	}
	o, err := s.open(ctx, id)
	if err != nil {
		return out, err
	}
	t := o.tree
	var c int32
	var ok bool
	switch parent, found := t.Find(node); {
	case node == "" && !found:
		c, ok = t.Root(), true
		if after != nil {
			return out, nil
		}
	case !found:
		return out, &store.NotFoundError{What: "node", ID: node, In: id}
	default:
		c, ok = t.FirstChild(parent)
		if after != nil {
			at, found := t.Find(after.id)
			if p, has := t.Parent(at); !found || !has || p != parent {
				return out, store.ErrBadCursor // the source was replaced: what came before is gone as well
			}
			c, ok = t.NextSibling(at)
		}
	}
	last := ""
	for ; ok; c, ok = t.NextSibling(c) {
		if len(out.Items) == limit {
			out.Next = cursor(scope, 0, last)
			break
		}
		read, err := s.node(ctx, o, c)
		if err != nil {
			return store.Page[store.Node]{}, err
		}
		last = t.ID(c)
		out.Items = append(out.Items, read)
	}
	return out, nil
}

// ListHistory implements [store.TreeStore].
func (s *Store) ListHistory(ctx context.Context, id, node string, page store.PageRequest) (out store.Page[store.Node], err error) {
	limit, err := page.Size()
	if err != nil {
		return out, err
	}
	scope := s.scope + "\x00history\x00" + id + "\x00" + node
	after, err := s.after(scope, page.Cursor)
	if err != nil {
		return out, err
	}
	o, err := s.open(ctx, id)
	if err != nil {
		return out, err
	}
	t := o.tree
	n, ok := t.Find(node)
	if !ok {
		return out, &store.NotFoundError{What: "node", ID: node, In: id}
	}
	if after != nil {
		at, found := t.Find(after.id)
		if !found {
			return out, store.ErrBadCursor // the source was replaced: what came before is gone as well
		}
		n, ok = t.Parent(at)
	}
	for ; ok; n, ok = t.Parent(n) {
		if len(out.Items) == limit {
			out.Next = cursor(scope, 0, out.Items[limit-1].ID)
			break
		}
		read, err := s.node(ctx, o, n)
		if err != nil {
			return store.Page[store.Node]{}, err
		}
		out.Items = append(out.Items, read)
	}
	return out, nil
}

// CountNodes implements [store.TreeStore].
func (s *Store) CountNodes(ctx context.Context, id string) (int64, error) {
	o, err := s.open(ctx, id)
	if err != nil {
		return 0, err
	}
	return int64(o.tree.Len()), nil
}

func (o *session) outline(n int32) store.Outline {
	out := store.Outline{ID: o.tree.ID(n), ParentID: o.parentID(n), Labels: o.marks[n], Active: n == o.at}
	rec, ok := o.tree.Record(n)
	if !ok {
		out.Kind, out.Title = "root", o.scan.Title
		return out
	}
	out.Kind, out.Title, out.Role, out.Time = rec.Kind, rec.Title, rec.Role, rec.Time
	out.Failed, out.Quiet, out.FalseFork = rec.Flags&Failed != 0, rec.Flags&Quiet != 0, rec.Flags&FalseFork != 0
	return out
}

func (o *session) parentID(n int32) *string {
	p, ok := o.tree.Parent(n)
	if !ok {
		return nil
	}
	id := o.tree.ID(p)
	return &id
}

// node reads one node with its body.
func (s *Store) node(ctx context.Context, o *session, n int32) (store.Node, error) {
	line := o.outline(n)
	var members []store.Member
	add := func(key string, v store.JSON) { members = append(members, store.Member{Key: key, Value: v}) }
	if line.Title != "" {
		add("title", store.Quote(line.Title))
	}
	if line.Time != 0 && math.Abs(line.Time) < 1e12 {
		add("ts", store.Quote(stamp(line.Time)))
	}
	if line.Role != "" {
		add("role", store.Quote(line.Role))
	}
	if line.Active {
		add("head", "true")
	}
	if len(line.Labels) > 0 {
		var names []store.JSON
		for _, l := range line.Labels {
			names = append(names, store.Quote(l))
		}
		add("labels", store.ArrayOf(names...))
	}
	if line.Failed {
		add("failed", "true")
	}
	members = append(members, o.tree.Facts(n)...)
	if n == o.tree.Root() {
		members = append(members, o.scan.Facts...)
	}
	if rec, ok := o.tree.Record(n); ok {
		body := store.ObjectOf(store.Member{Key: "not_loaded", Value: "true"}, store.Member{Key: "bytes", Value: store.JSON(strconv.FormatInt(rec.Place.Length, 10))})
		if rec.Flags&TooLong == 0 {
			var err error
			if body, err = s.r.Body(ctx, o.head, rec); err != nil {
				return store.Node{}, fmt.Errorf("session %q, %s: %w", o.head.ID, rec.Place, err)
			}
		}
		add("raw", body)
	}
	return store.Node{ID: line.ID, ParentID: line.ParentID, Kind: line.Kind, Data: store.ObjectOf(members...)}, nil
}

func stamp(seconds float64) string {
	whole := math.Floor(seconds)
	return time.Unix(int64(whole), int64((seconds-whole)*1e9)).UTC().Format("2006-01-02T15:04:05.999Z07:00")
}

// Close implements [store.TreeStore]. Closing again does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed, s.loaded = true, nil
	return s.r.Close()
}

// refuse answers everything that would write.
func (s *Store) refuse() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	return errReadOnly
}

// errReadOnly says why, and what can be done instead.
var errReadOnly = fmt.Errorf("%w: another program writes it; import it into a store of its own to change it", store.ErrReadOnly)

// CreateSession is refused with [store.ErrReadOnly], as all that writes is.
func (s *Store) CreateSession(context.Context, string, string, *float64) (store.SessionInfo, error) {
	return store.SessionInfo{}, s.refuse()
}

// SetSessionTTL is refused.
func (s *Store) SetSessionTTL(context.Context, string, *float64) (store.SessionInfo, error) {
	return store.SessionInfo{}, s.refuse()
}

// DeleteSession is refused.
func (s *Store) DeleteSession(context.Context, string) (bool, error) { return false, s.refuse() }

// PurgeExpired is refused.
func (s *Store) PurgeExpired(context.Context) (int, error) { return 0, s.refuse() }

// Append is refused.
func (s *Store) Append(context.Context, string, store.Node) error { return s.refuse() }

// CountExpired is 0: nothing in a source of another program expires.
func (s *Store) CountExpired(context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, store.ErrClosed
	}
	return 0, nil
}

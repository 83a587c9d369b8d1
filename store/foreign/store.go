package foreign

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"treering/store"
)

// Reader reads the sessions of one source. Its methods are called by several
// goroutines, but Read by one at a time for each session.
type Reader interface {
	// Token differs whenever the source may have changed.
	Token(ctx context.Context) (string, error)
	// Sessions lists what there is without reading it, in an order that lasts.
	Sessions(ctx context.Context) ([]Head, error)
	// Read reads what is new in a session: all of it the first time.
	Read(ctx context.Context, h Head, g *Growth) error
	// Body reads all of a record: a JSON object.
	Body(ctx context.Context, h Head, rec *Record) (store.JSON, error)
	// Close releases the source.
	Close() error
}

// Describer is what a [Reader] offers whose records are described from their bodies
// when they are shown: their kind, title, role and time.
type Describer interface {
	// Bodies calls visit with the bodies of records, in their order; "" stands for one
	// that is not where it was.
	Bodies(ctx context.Context, h Head, recs []*Record, visit func(i int, body store.JSON) error) error
	// Describe sets what lists show of a record.
	Describe(h Head, rec *Record, body store.JSON)
}

// Stamper is what a [Reader] offers that can tell whether one session has changed
// without a look at all the others: in a folder of a thousand sessions a [Reader.Token]
// costs thousands of system calls.
type Stamper interface {
	// Stamp differs whenever the session may have changed since. Its error means that
	// the list has to be read again.
	Stamp(ctx context.Context, h Head) (string, error)
}

// Waiter is what a [Reader] offers whose source tells that it changed.
type Waiter interface {
	// Wait returns the token as soon as it differs from the one given.
	Wait(ctx context.Context, token string) (string, error)
	// Noticing says how and how soon changes are noticed.
	Noticing() string
	// Identity tells the source from any other that is at the same place later.
	Identity(ctx context.Context) (string, error)
}

// Store serves the sessions of a reader as a read-only store.TreeStore. Nodes come
// in the order of storage; data is {title, ts, role, head, labels, ..., raw}.
type Store struct {
	r     Reader
	scope string
	// Readings outlive the calls that begin them, until the store is closed.
	life context.Context
	end  context.CancelFunc
	busy sync.WaitGroup

	known atomic.Pointer[map[string]Head] // the list as it was read last

	mu     sync.Mutex
	closed bool
	token  string
	heads  []Head
	byID   map[string]int
	loaded map[string]*session
	recent []string // loaded, the latest last
}

// session is one session in memory. The store's lock guards all but g.
type session struct {
	head  Head
	g     *Growth
	token string
	stamp string // see Stamper; "" where there is none
	round *round // the last reading, which may be under way
}

// keptSessions is how many trees stay in memory.
const keptSessions = 8

var (
	_ store.TreeStore = (*Store)(nil)
	_ store.Previewer = (*Store)(nil)
	_ store.Waiter    = (*Store)(nil)
)

// NewStore returns the store of a reader. scope tells its cursors from those of
// other stores: the source's path. Close closes the reader.
func NewStore(r Reader, scope string) *Store {
	s := &Store{r: r, scope: scope, loaded: map[string]*session{}}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// ChangeToken implements [store.Watcher].
func (s *Store) ChangeToken(ctx context.Context) (string, error) {
	if err := s.open(); err != nil {
		return "", err
	}
	return s.r.Token(ctx)
}

func (s *Store) open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	return nil
}

// lookEvery is how often a source is looked at that tells nothing.
const lookEvery = 250 * time.Millisecond

// Wait implements [store.Waiter].
func (s *Store) Wait(ctx context.Context, token string) (string, error) {
	if err := s.open(); err != nil {
		return "", err
	}
	if w := s.waiter(); w != nil {
		return w.Wait(ctx, token)
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if now, err := s.ChangeToken(ctx); err != nil || now != token {
			return now, err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-tick.C:
		}
	}
}

// waiter is what tells of changes: the reader, or the database that it reads.
func (s *Store) waiter() Waiter {
	if w, ok := s.r.(Waiter); ok {
		return w
	}
	if d, ok := s.r.(interface{ Database() Database }); ok {
		w, _ := d.Database().(Waiter)
		return w
	}
	return nil
}

// Noticing implements [store.Waiter].
func (s *Store) Noticing() string {
	if w := s.waiter(); w != nil {
		return w.Noticing()
	}
	return "within " + lookEvery.String() + ", by looking"
}

// Identity implements [store.Waiter].
func (s *Store) Identity(ctx context.Context) (string, error) {
	if err := s.open(); err != nil {
		return "", err
	}
	if w := s.waiter(); w != nil {
		return w.Identity(ctx)
	}
	return s.scope, nil
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

// session returns a session as of now.
func (s *Store) session(ctx context.Context, id string) (*opened, error) {
	o, err := s.begin(ctx, id)
	if err != nil {
		return nil, err
	}
	return o, o.round.wait(ctx)
}

// opened is a session that somebody asked for, and the reading that brings it up to
// date.
type opened struct {
	head  Head
	g     *Growth
	round *round
}

// begin has a session read, if anything is new in it, and does not wait for that.
func (s *Store) begin(ctx context.Context, id string) (*opened, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.loaded[id]
	if s.unchanged(ctx, was) {
		s.keep(id, was)
		return &opened{was.head, was.g, was.round}, nil
	}
	token, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	i, ok := s.byID[id]
	if !ok {
		return nil, &store.NotFoundError{What: "session", ID: id}
	}
	head := s.heads[i]
	switch {
	case was == nil || was.head.Path != head.Path:
		was = &session{g: newGrowth(id)}
	case was.token == token && !was.failed():
		return &opened{was.head, was.g, was.round}, nil
	}
	// The stamp is taken before the session is read: what comes meanwhile is seen the
	// next time.
	was.head, was.token, was.stamp = head, token, s.stampOf(ctx, head)
	was.round = s.read(head, was.g, was.round)
	s.keep(id, was)
	return &opened{was.head, was.g, was.round}, nil
}

// read begins a reading, behind the one before.
func (s *Store) read(head Head, g *Growth, before *round) *round {
	now := &round{done: make(chan struct{})}
	s.busy.Add(1)
	go func() {
		defer s.busy.Done()
		defer close(now.done)
		if before != nil {
			<-before.done
		}
		if now.err = s.r.Read(s.life, head, g); errors.Is(now.err, context.Canceled) {
			now.err = store.ErrClosed
		}
	}()
	return now
}

// failed reports whether the last reading ended with an error. The next begins anew.
func (o *session) failed() bool {
	select {
	case <-o.round.done:
		return o.round.err != nil
	default:
		return false
	}
}

// unchanged reports whether a session is in memory and still as it was read, where that
// can be told without the list. The lock is held.
func (s *Store) unchanged(ctx context.Context, was *session) bool {
	if s.closed || was == nil || was.stamp == "" || was.failed() {
		return false
	}
	// The list may have been read since, and the name be another file's.
	i, ok := s.byID[was.head.ID]
	return ok && s.heads[i].Path == was.head.Path && s.stampOf(ctx, was.head) == was.stamp
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
	o, err := s.session(ctx, id)
	if err != nil {
		return Report{}, "", err
	}
	o.g.mu.RLock()
	defer o.g.mu.RUnlock()
	r := o.g.about.Report.Clone()
	o.g.tree.addTo(&r)
	return r, o.g.title(), nil
}

// Planted reports whether the root of a session stands before its records: it is the
// header of the file, or was made up. Otherwise it is the only record without a parent,
// which may be so until another one comes.
func (s *Store) Planted(ctx context.Context, id string) (bool, error) {
	o, err := s.session(ctx, id)
	if err != nil {
		return false, err
	}
	o.g.mu.RLock()
	defer o.g.mu.RUnlock()
	return o.g.tree.Planted(), nil
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

// Close implements [store.TreeStore]. Closing again does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	was := s.closed
	s.closed, s.loaded = true, nil
	s.mu.Unlock()
	if was {
		return nil
	}
	s.end()
	s.busy.Wait()
	return s.r.Close()
}

package foreign

import (
	"context"
	"sync"

	"treering/store"
)

// About is what is known of a session besides its nodes. It is not changed once it was
// given away.
type About struct {
	Title  string // of the session, "" where it has none
	Prompt bool   // nobody gave it that title: it is what was asked first
	Active int32  // the node that the program would go on from; -1: none
	Labels map[int32][]string
	Report Report // without what the tree counts
	// Facts are added to the data of the root.
	Facts []store.Member
}

// Growth is a session that a reader has read up to somewhere, and goes on with. Any
// number of goroutines read it meanwhile.
type Growth struct {
	// State is the reader's own.
	State any
	// Elsewhere are the titles that other sessions hold, by the id of a node of the session that
	// each is for; nil where there are none. It is set before the first update.
	Elsewhere func() map[string]string

	mu    sync.RWMutex
	tree  *Tree
	about About
	whole bool // it was read to its end once
	born  uint64
	marks uint64
	done  int64 // of size, in the reader's own measure
	size  int64
	news  chan struct{} // closed when something was read
}

func newGrowth(session string) *Growth {
	return &Growth{tree: NewTree(BuildOptions{Session: session}), about: About{Active: none}, news: make(chan struct{})}
}

// Tree is the tree as it was read. Only the reader uses it without a lock, and changes
// it within [Growth.Update] only.
func (g *Growth) Tree() *Tree { return g.tree }

// Restart forgets everything: what is read next is another session, or the same one
// written anew.
func (g *Growth) Restart(o BuildOptions) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o.Session = g.tree.o.Session
	g.tree, g.about, g.whole = NewTree(o), About{Active: none}, false
	g.born++
}

// Replace puts a whole tree in the place of the one that was read.
func (g *Growth) Replace(t *Tree, a About) {
	t.settle()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tree, g.about, g.whole = t, a, true
	g.born++
	g.told()
}

// Update runs fn, which adds to the tree, while nobody reads it. done is how much of
// size was read.
func (g *Growth) Update(done, size int64, fn func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fn()
	g.tree.settle()
	g.done, g.size = done, size
	g.told()
}

// Finish says that the end was reached, and what is known of the session then.
func (g *Growth) Finish(a About) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.about, g.whole = a, true
	g.marks++
	g.told()
}

// title is the session's. A title that another session holds goes before a prompt. The lock is
// held.
func (g *Growth) title() string {
	if g.about.Title != "" && !g.about.Prompt || g.Elsewhere == nil {
		return g.about.Title
	}
	latest, title := int32(none), g.about.Title
	for id, t := range g.Elsewhere() {
		if n, here := g.tree.Latest(id); here && n > latest {
			latest, title = n, t
		}
	}
	return title
}

// told wakes those who wait. The lock is held.
func (g *Growth) told() {
	close(g.news)
	g.news = make(chan struct{})
}

// ahead waits until there are more than so many records, or all of them.
func (g *Growth) ahead(ctx context.Context, records int, round *round) error {
	for {
		g.mu.RLock()
		enough, news := g.whole || g.tree.Count() > records, g.news
		g.mu.RUnlock()
		if enough {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-round.done:
			return round.err
		case <-news:
		}
	}
}

// round is one reading of what is new. err is set before done is closed.
type round struct {
	done chan struct{}
	err  error
}

func (r *round) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.done:
		return r.err
	}
}

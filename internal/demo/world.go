package demo

import (
	"slices"
	"strings"
	"sync"

	"treering/store"
)

// idPrefix begins the ids of everything that the running system makes, so that it
// can work beside other people's executions in one store.
const idPrefix = "demo-"

// running reports whether an id is one of the running system's.
func running(id string) bool { return strings.HasPrefix(id, idPrefix) }

// life is an execution as the world outside sees it: what it waits for.
type life struct {
	id, root string
	at       place
	ready    int      // its place among those that can be stimulated, -1 for none
	children []string // of a root: every execution below it
	counted  bool     // a root that was seen, not only its children
	over     bool     // a root that has ended
}

// place is where an execution is, as far as the world can tell.
type place struct{ kind, path string }

// world is everything outside: those who pay, pick and build. It knows only what was
// committed, and sends only events. It is safe for concurrent use.
type world struct {
	mu    sync.Mutex
	dice  dice
	moves map[place][]move
	lives map[string]*life // those that have not ended
	kin   map[string]*life // roots, until they are purged
	ready []*life
	ended []string // roots that have, oldest first
	roots int      // that have not
}

func newWorld(d dice) *world {
	return &world{dice: d, moves: moves(), lives: map[string]*life{}, kin: map[string]*life{}}
}

// saw notes a state that is in the store, and the children that it has planned.
func (w *world) saw(c store.Summary, planned ...string) {
	if !running(c.ID) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	root, _, nested := strings.Cut(c.ID, ":")
	family := w.kin[root]
	if family == nil {
		family = &life{id: root, root: root, ready: -1}
		w.kin[root] = family
	}
	if !nested && !family.counted {
		family.counted = true
		w.roots++
	}
	if nested {
		family.has(c.ID)
	} else {
		for _, id := range planned {
			family.has(id)
		}
	}
	l := w.lives[c.ID]
	if over(c.Status) {
		if l != nil {
			w.rest(l)
			delete(w.lives, c.ID)
		}
		if !nested && !family.over {
			family.over = true
			w.roots--
			w.ended = append(w.ended, c.ID)
		}
		return
	}
	if l == nil {
		if l = family; nested {
			l = &life{id: c.ID, root: root, ready: -1}
		}
		w.lives[c.ID] = l
	}
	l.at = place{c.DefinitionID, deref(c.ActivePath)}
	if c.Status.Is(store.Running) && w.moves[l.at] != nil {
		w.wake(l)
	} else {
		w.rest(l)
	}
}

func over(s store.Status) bool {
	return s.Is(store.Done) || s.Is(store.Cancelled) || s.Is(store.Failed)
}

// has notes one of a root's children.
func (l *life) has(child string) {
	if !slices.Contains(l.children, child) {
		l.children = append(l.children, child)
	}
}

func (w *world) wake(l *life) {
	if l.ready < 0 {
		l.ready = len(w.ready)
		w.ready = append(w.ready, l)
	}
}

func (w *world) rest(l *life) {
	if l.ready < 0 {
		return
	}
	last := w.ready[len(w.ready)-1]
	w.ready[l.ready], last.ready = last, l.ready
	w.ready = w.ready[:len(w.ready)-1]
	l.ready = -1
}

// stimulus picks what happens next. The execution is left alone until something of
// it is committed, or again says that nothing was. In a hurry nothing hangs.
func (w *world) stimulus(hurry bool) (id string, ev store.Event, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.ready) > 0 {
		l := w.ready[w.dice.between(0, len(w.ready)-1)]
		w.rest(l)
		m := choose(w.dice, w.moves[l.at])
		for hurry && m.kind == hangs {
			m = choose(w.dice, w.moves[l.at])
		}
		if m.kind != hangs && m.kind != waiting {
			return l.id, w.event(m), true
		}
	}
	return "", store.Event{}, false
}

// again takes an execution back whose event did not come through.
func (w *world) again(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.lives[id]; l != nil && w.moves[l.at] != nil {
		w.wake(l)
	}
}

func choose(d dice, from []move) move {
	sum := 0
	for _, m := range from {
		sum += m.weight
	}
	n := d.between(1, max(sum, 1))
	for _, m := range from {
		if n -= m.weight; n <= 0 {
			return m
		}
	}
	return move{}
}

func (w *world) event(m move) store.Event {
	ev := store.Event{ID: w.dice.hex(), Kind: m.kind, Data: store.EmptyObject}
	if m.data != nil {
		ev.Data = object(m.data(w.dice))
	}
	return ev
}

// eventOf makes an event of a kind for an execution in a state, with the data that
// the world sends with it where it goes well.
func (w *world) eventOf(definition, path, kind string) store.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	best := move{kind: kind}
	for _, m := range w.moves[place{definition, path}] {
		if m.kind == kind && m.weight > best.weight {
			best = m
		}
	}
	return w.event(best)
}

// living counts the roots that have not ended.
func (w *world) living() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.roots
}

// idle reports whether fewer than n executions can be sent anything.
func (w *world) idle(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ready) < n
}

// roll is true once in n times.
func (w *world) roll(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dice.between(1, n) == 1
}

// birth picks the kind of the next execution, its context and the event that starts
// it.
func (w *world) birth(kind string, n int) (string, store.JSON, store.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if kind == "" {
		if kind = OrderKind; w.dice.between(1, 5) < 3 {
			kind = BuildKind
		}
	}
	start := w.event(move{kind: startKind})
	if kind == BuildKind {
		return kind, buildStart(w.dice), start
	}
	return kind, orderStart(w.dice, n), start
}

// oldest takes the oldest family that has ended, where there are more than keep.
func (w *world) oldest(keep int) (ids []string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ended) <= keep {
		return nil, false
	}
	root := w.ended[0]
	w.ended = w.ended[1:]
	ids = append(ids, w.kin[root].children...)
	delete(w.kin, root)
	for _, id := range ids {
		if l := w.lives[id]; l != nil {
			w.rest(l)
			delete(w.lives, id)
		}
	}
	return append(ids, root), true
}

// some lists executions that are believed to live, at most n.
func (w *world) some(n int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ids []string
	for id := range w.lives {
		if len(ids) == n {
			break
		}
		ids = append(ids, id)
	}
	return ids
}

// lost notes that an execution is not in the store any more.
func (w *world) lost(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lives[id]
	if l == nil {
		return
	}
	w.rest(l)
	delete(w.lives, id)
	if f := w.kin[id]; f != nil {
		delete(w.kin, id)
		if f.counted && !f.over {
			w.roots--
		}
	}
}

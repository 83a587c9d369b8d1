package tracefeed

import (
	"context"

	"treering/store"
)

// ledger compares a list with what it was, page by page. A pass goes through the whole
// list once; what is not in it any more is told at its end.
type ledger[T any, K comparable, V comparable] struct {
	key   func(T) K
	value func(T) V
	list  func(context.Context, store.PageRequest) (store.Page[T], error)
	size  int // rows a page

	added   func(T) Fact
	changed func(before V, now T) Fact
	gone    func(K, V) Fact

	known  map[K]entry[V]
	primed bool // a pass has come to its end, so what is not known is new
	pass   uint64
	cursor string
	under  bool // a pass is under way
	asked  bool // another is to follow
	seen   int  // rows of this pass
}

type entry[V any] struct {
	value V
	pass  uint64
}

// survey is a ledger of whatever kind.
type survey interface {
	ask()         // the list may have changed
	active() bool // a pass is under way or asked for
	rest() int    // rows that the passes under way have to look at yet, as far as is known
	page(ctx context.Context) ([]Fact, error)
	ready() bool // a pass has come to its end
	rows() int
	again() // begins the pass anew
	reset()
}

func (l *ledger[T, K, V]) ask()         { l.asked = true }
func (l *ledger[T, K, V]) active() bool { return l.under || l.asked }
func (l *ledger[T, K, V]) ready() bool  { return l.primed }
func (l *ledger[T, K, V]) rows() int    { return len(l.known) }

func (l *ledger[T, K, V]) rest() int {
	n := 0
	if l.under {
		n = max(len(l.known)-l.seen, 0)
	}
	if l.asked {
		n += len(l.known)
	}
	return n
}

func (l *ledger[T, K, V]) again() { l.cursor, l.under, l.asked = "", false, true }

// reset forgets everything: it is another list.
func (l *ledger[T, K, V]) reset() {
	l.known, l.primed, l.cursor, l.under, l.asked, l.seen = nil, false, "", false, true, 0
}

// page looks at the next page. After an error the pass goes on where it was.
func (l *ledger[T, K, V]) page(ctx context.Context) ([]Fact, error) {
	if !l.under {
		l.under, l.asked, l.cursor, l.seen = true, false, "", 0
		l.pass++
	}
	page, err := l.list(ctx, store.PageRequest{Limit: l.size, Cursor: l.cursor})
	if err != nil {
		return nil, err
	}
	if l.known == nil {
		l.known = map[K]entry[V]{}
	}
	var facts []Fact
	for _, row := range page.Items {
		key, now := l.key(row), l.value(row)
		was, had := l.known[key]
		l.known[key] = entry[V]{now, l.pass}
		switch {
		case !had && l.primed:
			facts = append(facts, l.added(row))
		case had && was.value != now:
			facts = append(facts, l.changed(was.value, row))
		}
	}
	l.seen += len(page.Items)
	if l.cursor = page.Next; l.cursor != "" {
		return facts, nil
	}
	for key, was := range l.known {
		if was.pass != l.pass {
			delete(l.known, key)
			facts = append(facts, l.gone(key, was.value))
		}
	}
	l.under, l.primed = false, true
	return facts, nil
}

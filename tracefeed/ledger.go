package tracefeed

import (
	"context"
	"time"

	"treering/store"
)

// ledger compares a list with what it was, page by page. A pass goes through the whole
// list once; what is not in it any more is told at its end.
type ledger[T any, K comparable, V comparable] struct {
	key   func(T) K
	value func(T) V
	list  func(context.Context, store.PageRequest) (store.Page[T], error)
	name  string
	size  int // rows a page
	most  int // rows that are compared; 0: all

	added   func(T) Fact
	changed func(before V, now T) Fact
	gone    func(K, V) Fact

	known  map[K]entry[V]
	primed bool // a pass has come to its end, so what is not known is new
	pass   uint64
	cursor string
	going  bool // a pass is under way
	asked  bool // another is to follow
	seen   int  // rows of this pass
	long   bool // it is too long to be compared
	took   time.Duration
	cost   Cost
	rested time.Time
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
	// spent notes what a page took; at the end of a pass the list is left alone for rest
	// times of what all of it did.
	spent(took time.Duration, now time.Time, rest int)
	ready() time.Time // until when it is left alone
	whole() bool      // a pass has come to its end
	under() bool      // one is under way or asked for
	isLong() bool
	rows() int
	again() // begins the pass anew
	reset()
}

func (l *ledger[T, K, V]) ask()         { l.asked = true }
func (l *ledger[T, K, V]) active() bool { return l.going || l.asked }
func (l *ledger[T, K, V]) under() bool  { return l.active() }
func (l *ledger[T, K, V]) whole() bool  { return l.primed }
func (l *ledger[T, K, V]) isLong() bool { return l.long }
func (l *ledger[T, K, V]) rows() int    { return len(l.known) }

func (l *ledger[T, K, V]) ready() time.Time { return l.rested }

func (l *ledger[T, K, V]) spent(took time.Duration, now time.Time, rest int) {
	l.took += took
	if !l.going {
		l.rested = now.Add(time.Duration(rest) * l.cost.Add(l.took))
		l.took = 0
	}
}

// each visits what is known of the rows.
func (l *ledger[T, K, V]) each(visit func(V)) {
	for _, e := range l.known {
		visit(e.value)
	}
}

func (l *ledger[T, K, V]) rest() int {
	n := 0
	if l.long {
		return 0
	}
	if l.going {
		n = max(len(l.known)-l.seen, 0)
	}
	if l.asked {
		n += len(l.known)
	}
	return n
}

func (l *ledger[T, K, V]) again() { l.cursor, l.going, l.asked = "", false, true }

// reset forgets everything: it is another list.
func (l *ledger[T, K, V]) reset() {
	l.known, l.primed, l.cursor, l.going, l.asked, l.seen = nil, false, "", false, true, 0
	l.long, l.took, l.rested = false, 0, time.Time{}
}

// page looks at the next page. After an error the pass goes on where it was.
func (l *ledger[T, K, V]) page(ctx context.Context) ([]Fact, error) {
	if l.long {
		l.asked = false
		return []Fact{Stirred{l.name}}, nil
	}
	if !l.going {
		l.going, l.asked, l.cursor, l.seen = true, false, "", 0
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
	l.cursor = page.Next
	if l.most > 0 && l.cursor != "" && l.seen >= l.most {
		// It stays that way until it is another store: a list that shrinks again is read
		// in pages as before.
		l.long, l.going, l.primed, l.known, l.cursor = true, false, true, nil, ""
		return append(facts, Stirred{l.name}), nil
	}
	if l.cursor != "" {
		return facts, nil
	}
	for key, was := range l.known {
		if was.pass != l.pass {
			delete(l.known, key)
			facts = append(facts, l.gone(key, was.value))
		}
	}
	l.going, l.primed = false, true
	return facts, nil
}

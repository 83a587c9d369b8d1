package tracefeed

import (
	"strconv"
	"strings"

	"treering/store"
)

// Op says what happened to a value.
type Op byte

// The three things that can happen to a value, as a diff marks them.
const (
	Added   Op = '+'
	Removed Op = '-'
	Changed Op = '~'
)

// Change is one difference between two JSON values. Before and After are the
// exact texts, "" where there is none.
type Change struct {
	Op            Op
	Path          string // a.b[3]["odd key"]; "" is the whole value
	Before, After store.JSON
}

// MaxChanges is how many changes a diff lists at most.
const MaxChanges = 2000

// Diff lists how before became after: members of objects by key in the order of
// after, those removed last; elements of arrays by position. Numbers are equal
// by exact value, and the order of keys does not matter. more is set where there
// are further changes than [MaxChanges]. Text that is not JSON is compared as
// text.
func Diff(before, after store.JSON) (changes []Change, more bool) {
	if before == after {
		return nil, false
	}
	a, errA := store.ParseDoc(before)
	b, errB := store.ParseDoc(after)
	if errA != nil || errB != nil {
		op := Changed
		switch {
		case before == "":
			op = Added
		case after == "":
			op = Removed
		}
		return []Change{{Op: op, Before: before, After: after}}, false
	}
	// Without recursion: values may be nested deeper than a stack allows.
	todo := []pair{{a: 0, b: 0}}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var c Change
		switch {
		case p.a < 0:
			c = Change{Op: Added, After: b.JSON(p.b)}
		case p.b < 0:
			c = Change{Op: Removed, Before: a.JSON(p.a)}
		case a.Kind(p.a) == b.Kind(p.b) && a.Kind(p.a) >= store.Array:
			if a.JSON(p.a) != b.JSON(p.b) {
				todo = append(todo, inside(a, b, p)...)
			}
			continue
		case store.Equal(a.JSON(p.a), b.JSON(p.b)):
			continue
		default:
			c = Change{Op: Changed, Before: a.JSON(p.a), After: b.JSON(p.b)}
		}
		if len(changes) == MaxChanges {
			return changes, true
		}
		c.Path = p.path.String()
		changes = append(changes, c)
	}
	return changes, false
}

// pair is a value to compare, by token in each document; -1 where one has none.
type pair struct {
	a, b int
	path *path
}

// inside returns the pairs of two objects or two arrays, the last one first, as
// a stack wants them.
func inside(a, b *store.Doc, p pair) []pair {
	var out []pair
	if a.Kind(p.a) == store.Array {
		i, j := p.a+1, p.b+1
		endA, endB := a.Next(p.a), b.Next(p.b)
		for n := 0; i < endA || j < endB; n++ {
			at := pair{-1, -1, &path{up: p.path, index: n}}
			if i < endA {
				at.a, i = i, a.Next(i)
			}
			if j < endB {
				at.b, j = j, b.Next(j)
			}
			out = append(out, at)
		}
	} else {
		was, wasOrder := members(a, p.a)
		now, nowOrder := members(b, p.b)
		for _, key := range nowOrder {
			at := pair{-1, now[key], &path{up: p.path, key: key, keyed: true}}
			if i, ok := was[key]; ok {
				at.a = i
			}
			out = append(out, at)
		}
		for _, key := range wasOrder {
			if _, ok := now[key]; !ok {
				out = append(out, pair{was[key], -1, &path{up: p.path, key: key, keyed: true}})
			}
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// members maps an object's keys to the tokens of their values, the last of equal
// keys, and lists the keys in order.
func members(d *store.Doc, obj int) (map[string]int, []string) {
	at := map[string]int{}
	var order []string
	for i := obj + 1; i < d.Next(obj); i = d.Next(i + 1) {
		key, _ := d.JSON(i).Text()
		if _, ok := at[key]; !ok {
			order = append(order, key)
		}
		at[key] = i + 1
	}
	return at, order
}

// path is where a value lies, innermost step first.
type path struct {
	up    *path
	key   string
	index int
	keyed bool
}

func (p *path) String() string {
	var steps []*path
	for ; p != nil; p = p.up {
		steps = append(steps, p)
	}
	var b strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		switch s := steps[i]; {
		case !s.keyed:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case !bare(s.key):
			b.WriteString("[" + string(store.Quote(s.key)) + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.key)
		}
	}
	return b.String()
}

// bare reports whether a key reads unambiguously without quotes.
func bare(key string) bool {
	for i := range len(key) {
		c := key[i]
		if c != '_' && c != '-' && c < 0x80 && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return key != ""
}

// Before says what a step's context is compared with.
type Before uint8

const (
	// Held: the context after the step before, which is in the ring.
	Held Before = iota
	// Given: the context before, which the step itself records.
	Given
	// Start: nothing; this is the first step there was.
	Start
	// Evicted: unknown, the ring dropped the step before.
	Evicted
	// Lost: unknown, the step before is missing from the middle of the ring, or
	// cannot be read or has no context.
	Lost
	// Unrecorded: the step itself has no context.
	Unrecorded
)

var beforeTexts = [...]string{
	Held: "", Given: "", Start: "before: nothing, the first step", Evicted: "before: evicted",
	Lost: "before: missing", Unrecorded: "context not recorded",
}

// String is what a screen says, "" where the comparison speaks for itself.
func (b Before) String() string { return beforeTexts[b] }

// Known reports whether there is something to compare with.
func (b Before) Known() bool { return b <= Start }

// StepDiff is what one step did to the context.
type StepDiff struct {
	Before  Before
	Changes []Change // none unless Before.Known
	More    bool     // there are further ones
}

// DiffStep compares the context after step i with that before it.
func DiffStep(steps []Step, i int) StepDiff {
	s := steps[i]
	d := StepDiff{Before: Held}
	var before store.JSON
	switch {
	case s.Context == "":
		d.Before = Unrecorded
	case s.ContextIn != "":
		d.Before, before = Given, s.ContextIn
	case s.Index == 0:
		d.Before, before = Start, store.EmptyObject
	case i == 0:
		d.Before = Evicted
	case steps[i-1].Index != s.Index-1 || steps[i-1].Context == "":
		d.Before = Lost
	default:
		before = steps[i-1].Context
	}
	if d.Before.Known() {
		d.Changes, d.More = Diff(before, s.Context)
	}
	return d
}

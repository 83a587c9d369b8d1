package query

import (
	"math"

	"treering/store"
)

// Result is what a filter says of a row.
type Result uint8

const (
	No Result = iota
	Yes
	// NoTime: whether the row matches hangs on its time, and it has none. It does not
	// match, under not neither, and is counted so that it can be said.
	NoTime
)

func result(yes bool) Result {
	if yes {
		return Yes
	}
	return No
}

// not is a negation of three values: what is not known stays so.
func (r Result) not() Result {
	switch r {
	case No:
		return Yes
	case Yes:
		return No
	default:
	}
	return NoTime
}

// Needs is what a query wants to know of its rows beyond what lists show.
type Needs struct {
	Data  bool // a node's data, an execution's context
	Time  bool // a time; of nodes that is in their data
	Shape bool // a [Structure]
}

// Needs tells what has to be at hand for the query.
func (q *Query) Needs() Needs {
	var n Needs
	visit(q.root, func(e expr) {
		switch e := e.(type) {
		case *comparison:
			switch e.field {
			case fieldSince, fieldBefore:
				n.Time = true
			case fieldDepth, fieldChildren:
				n.Shape = true
			default:
				n.Data = n.Data || e.field.info().form == document || e.field == fieldText
			}
		case *has:
			n.Time = n.Time || e.field == fieldTime
			n.Data = n.Data || e.field.info().form == document || e.field == fieldText
			n.Shape = n.Shape || e.field == fieldDepth || e.field == fieldChildren
		case *call:
			n.Shape = n.Shape || e.function != roots
		}
	})
	if q.subject == Nodes && n.Time {
		n.Data = true
	}
	return n
}

// visit calls fn for every part of an expression.
func visit(e expr, fn func(expr)) {
	if e == nil {
		return
	}
	fn(e)
	switch e := e.(type) {
	case *allOf:
		for _, p := range e.parts {
			visit(p, fn)
		}
	case *anyOf:
		for _, p := range e.parts {
			visit(p, fn)
		}
	case *negation:
		visit(e.of, fn)
	}
}

// Env is what a query is bound to.
type Env struct {
	Now  float64   // epoch seconds, for spans
	Tree Structure // may be nil where [Query.Needs] does not ask for it
}

// Matcher decides on rows. It is immutable and safe for concurrent use.
type Matcher struct {
	test   predicate // nil: everything matches
	words  []ranked
	fields []field
}

type predicate func(Row) Result

// ranked is a word that counts in a score, and is shown.
type ranked struct {
	pattern *Pattern
	phrase  string
}

// Bind makes a matcher. It takes time in the size of the tree where the query asks
// for its shape. The error is [ErrNoStructure].
func (q *Query) Bind(env Env) (*Matcher, error) {
	m := &Matcher{fields: q.subject.wordFields()}
	if q.root == nil {
		return m, nil
	}
	b := binder{env: env, words: m.fields}
	if q.Needs().Shape {
		if env.Tree == nil {
			return nil, ErrNoStructure
		}
		b.shape.find = env.Tree.Find
	}
	m.test = b.bind(q.root)
	m.words = shownWords(q.root, nil)
	return m, nil
}

// Missing lists the ids that ancestors() and descendants() name and that are not in
// the tree, in their order.
func (q *Query) Missing(t Structure) []string {
	var ids []string
	visit(q.root, func(e expr) {
		c, ok := e.(*call)
		if !ok || !c.function.info().takesID {
			return
		}
		if ref, ok := t.Find(c.id); !ok || !t.Known(ref) {
			ids = append(ids, c.id)
		}
	})
	return ids
}

// Match decides on a row, which is one of the query's subject.
func (m *Matcher) Match(r Row) Result {
	if m.test == nil {
		return Yes
	}
	return m.test(r)
}

// Score tells how well a row fits the words of the query: more is better, 0 where it
// has none.
func (m *Matcher) Score(r Row) int {
	total := 0
	for _, w := range m.words {
		best := 0
		for _, f := range m.fields {
			for i := 0; ; i++ {
				text, ok := r.text(f, i)
				if !ok {
					break
				}
				best = max(best, w.score(text))
			}
		}
		total += best
	}
	return total
}

// timeOf is a row's time, which is never NaN.
func timeOf(r Row) (float64, bool) {
	at, ok := r.time()
	return at, ok && !math.IsNaN(at)
}

// binder compiles expressions.
type binder struct {
	env   Env
	words []field
	shape shape
}

func (b *binder) bind(e expr) predicate {
	switch e := e.(type) {
	case *allOf:
		parts := b.bindAll(e.parts)
		return func(r Row) Result {
			sum := Yes
			for _, p := range parts {
				switch p(r) {
				case No:
					return No
				case NoTime:
					sum = NoTime
				case Yes:
				}
			}
			return sum
		}
	case *anyOf:
		parts := b.bindAll(e.parts)
		return func(r Row) Result {
			sum := No
			for _, p := range parts {
				switch p(r) {
				case Yes:
					return Yes
				case NoTime:
					sum = NoTime
				case No:
				}
			}
			return sum
		}
	case *negation:
		of := b.bind(e.of)
		return func(r Row) Result { return of(r).not() }
	case *word:
		return b.word(e)
	case *comparison:
		return b.comparison(e)
	case *call:
		return b.call(e)
	case *has:
		return b.has(e)
	}
	return func(Row) Result { return No }
}

func (b *binder) bindAll(parts []expr) []predicate {
	ps := make([]predicate, len(parts))
	for i, p := range parts {
		ps[i] = b.bind(p)
	}
	return ps
}

func (b *binder) word(e *word) predicate {
	fields := b.words
	match := newRanked(e).matches
	return func(r Row) Result {
		for _, f := range fields {
			for i := 0; ; i++ {
				text, ok := r.text(f, i)
				if !ok {
					break
				}
				if match(text) {
					return Yes
				}
			}
		}
		return No
	}
}

func (b *binder) comparison(e *comparison) predicate {
	switch f := e.field; f.info().form {
	case number:
		return b.number(e)
	case document:
		return b.document(e)
	case moment:
		w, err := parseWhen(e.value.text)
		if err != nil { // was checked
			return func(Row) Result { return No }
		}
		limit, since := w.at(b.env.Now), f == fieldSince
		return func(r Row) Result {
			at, ok := timeOf(r)
			if !ok {
				return NoTime
			}
			return result(since == (at >= limit))
		}
	default:
		match := textTest(f.info().form, e.op, e.value.text)
		differs := e.op == opDiffers
		return func(r Row) Result {
			found := false
			for i := 0; ; i++ {
				text, ok := r.text(f, i)
				if !ok {
					return result(found && differs)
				}
				found = true
				if match(text) {
					return result(!differs)
				}
			}
		}
	}
}

func (b *binder) number(e *comparison) predicate {
	op, limit := e.op, boundOf(e.value.text)
	switch e.field {
	case fieldDepth:
		if b.shape.depth == nil {
			b.shape.depth = depths(b.env.Tree)
		}
		return b.counted(op, limit, b.shape.depth)
	case fieldChildren:
		return b.counted(op, limit, b.childCounts())
	case fieldVersion:
		return func(r Row) Result {
			n := r.number(fieldVersion)
			// 0 is never stored: it is what could not be read.
			return result(n != 0 && op.holds(limit.compare(n)))
		}
	default:
	}
	f := e.field
	return func(r Row) Result { return result(op.holds(limit.compare(r.number(f)))) }
}

// counted tests a count of the shape. A row that is not in the tree has none.
func (b *binder) counted(op operator, limit bound, counts []int32) predicate {
	s := shape{find: b.shape.find}
	return func(r Row) Result {
		ref := s.ref(r)
		return result(ref > 0 && int(ref) < len(counts) && op.holds(limit.compare(int64(counts[ref]))))
	}
}

func (b *binder) childCounts() []int32 {
	if b.shape.children == nil {
		b.shape.children = childCounts(b.env.Tree)
	}
	return b.shape.children
}

func (b *binder) call(e *call) predicate {
	s := shape{find: b.shape.find}
	switch e.function {
	case heads:
		return b.counted(opEqual, boundOf("0"), b.childCounts())
	case forks:
		return b.counted(opMore, boundOf("1"), branchCounts(b.env.Tree))
	case roots:
		return func(r Row) Result {
			_, has := r.text(fieldParent, 0)
			return result(!has)
		}
	default:
	}
	ref, ok := b.env.Tree.Find(e.id)
	if !ok {
		return func(Row) Result { return No }
	}
	var members set
	if e.function == ancestors {
		members = ancestorSet(b.env.Tree, ref)
	} else {
		members = descendantSet(b.env.Tree, ref)
	}
	return func(r Row) Result { return result(members.has(s.ref(r))) }
}

func (b *binder) has(e *has) predicate {
	f, p := e.field, e.path
	switch f.info().form {
	case document:
		return func(r Row) Result { return result(!p.in(r.document(f)).IsNull()) }
	case number:
		switch f {
		case fieldVersion:
			return func(r Row) Result { return result(r.number(f) != 0) }
		case fieldChildren:
			return b.counted(opMore, boundOf("0"), b.childCounts())
		case fieldDepth: // it has one where it is in the tree
			return b.counted(opAtLeast, boundOf("0"), b.childCounts())
		default:
		}
		return func(Row) Result { return Yes }
	case moment:
		return func(r Row) Result {
			_, ok := timeOf(r)
			return result(ok)
		}
	default:
	}
	return func(r Row) Result {
		_, ok := r.text(f, 0)
		return result(ok)
	}
}

// in follows the path from a value, "" where it leads nowhere.
func (p path) in(v store.JSON) store.JSON {
	for _, s := range p {
		if v.Kind() == store.Array {
			v = s.element(v)
			continue
		}
		v = v.Get(s.key)
	}
	return v
}

func (s step) element(list store.JSON) store.JSON {
	i := 0
	for v := range list.Elements() {
		if i == s.index {
			return v
		}
		i++
	}
	return ""
}

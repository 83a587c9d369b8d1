package foreign

import (
	"fmt"
	"hash/maphash"

	"treering/store"
)

// none stands for no node.
const none = int32(-1)

// Tree is one rooted tree. Nodes are numbered in the order of storage; the root is
// one of them, or stands before them.
type Tree struct {
	Session string
	Records []Record // as given to Build, those that were duplicates left out
	// Header is the record that the format keeps for the session as a whole, and that
	// is the root then.
	Header *Record

	ids    []string // by node
	parent []int32
	first  []int32
	next   []int32
	byID   map[string]int32
	facts  map[int32]fact
	root   int32
	source string
	roots  int64
	report *Report
	nodeOf []int32 // by the place among the records given to Build
}

// fact is what is to be said of a node besides what was stored.
type fact struct {
	duplicateOf string
	orphanOf    string
	cycleCut    bool
	linear      bool
}

// BuildOptions say how records become a tree.
type BuildOptions struct {
	Session string
	// Source names the format, for the data of a root that had to be made up.
	Source string
	// Header becomes the root, whatever else is one.
	Header *Record
	// Chain links the records in the order of storage where not one of their links
	// resolves: files that were written before there were links.
	Chain bool
}

// builder is a tree under construction.
type builder struct {
	*Tree
	r      *Report
	seed   maphash.Seed
	last   map[string]int32           // the latest occurrence of an id as stored
	again  map[string]map[uint64]bool // of ids that occur more than once: what they held
	number map[string]int             // how often an id was given out anew
	taken  map[string]bool            // ids as stored: none of them is given to another record
	ahead  []pending                  // children that came before their parent
}

// pending is a node whose parent has not come yet.
type pending struct {
	node   int32
	parent string
}

// Build makes one rooted tree out of any records, and counts in r what had to be
// done. Nothing is dropped but what is stored twice without a change. Nothing here
// recurses: a chain of a million records is an ordinary session.
func Build(o BuildOptions, records []Record, r *Report) *Tree {
	b := &builder{
		Tree: &Tree{Session: o.Session, Header: o.Header, byID: make(map[string]int32, len(records)), facts: map[int32]fact{}, root: none, source: o.Source},
		r:    r, seed: maphash.MakeSeed(), last: make(map[string]int32, len(records)), again: map[string]map[uint64]bool{},
		number: map[string]int{}, taken: map[string]bool{},
	}
	b.Records = make([]Record, 0, len(records))
	b.parent = make([]int32, 0, len(records)+1)
	seen := make(map[string]struct{}, len(records))
	for i := range records {
		if _, twice := seen[records[i].ID]; twice {
			b.taken[records[i].ID] = true
		}
		seen[records[i].ID] = struct{}{}
	}
	if len(b.taken) > 0 { // then new ids are given out, which nobody may have
		for id := range seen {
			b.taken[id] = true
		}
	}
	linked := false
	for i := range records {
		if b.add(records[i]) {
			linked = true
		}
	}
	for _, w := range b.ahead {
		// Only a later occurrence is left: the first of them.
		if p, ok := b.byID[w.parent]; ok {
			b.parent[w.node] = p
			linked = true
			continue
		}
		b.orphan(w.node, w.parent)
	}
	b.cutCycles()
	if o.Chain && !linked && len(b.Records) > 1 {
		b.chain()
	}
	b.plant()
	r.Records += int64(len(b.Records))
	return b.Tree
}

// add takes one record and reports whether its parent is there.
func (b *builder) add(rec Record) (linked bool) {
	id := rec.ID
	if _, known := b.last[id]; known {
		sum := b.payload(rec)
		if b.again[id] == nil {
			first := b.Records[b.last[id]]
			b.again[id] = map[uint64]bool{b.payload(first): true}
		}
		if b.again[id][sum] {
			b.r.Duplicates++
			b.nodeOf = append(b.nodeOf, b.byID[id])
			return false
		}
		b.again[id][sum] = true
		id = b.rename(rec)
	}
	n := int32(len(b.Records))
	b.nodeOf = append(b.nodeOf, n)
	b.Records = append(b.Records, rec)
	b.ids = append(b.ids, id)
	b.parent = append(b.parent, none)
	b.byID[id] = n
	if id != rec.ID {
		b.facts[n] = fact{duplicateOf: rec.ID}
	}
	switch {
	case rec.Parent == nil, *rec.Parent == rec.ID:
	default:
		if p, ok := b.last[*rec.Parent]; ok {
			b.parent[n] = p
			linked = true
		} else {
			b.ahead = append(b.ahead, pending{n, *rec.Parent})
		}
	}
	b.last[rec.ID] = n
	return linked
}

// payload is a sum over all that makes two records of one id the same.
func (b *builder) payload(rec Record) uint64 {
	if rec.Parent == nil {
		return rec.Sum
	}
	return rec.Sum ^ (maphash.String(b.seed, *rec.Parent)*2 + 1)
}

// rename finds an id for a record whose own is taken.
func (b *builder) rename(rec Record) string {
	for {
		if b.number[rec.ID] == 0 {
			b.number[rec.ID] = 1
		}
		b.number[rec.ID]++
		id := fmt.Sprintf("%s#%d", rec.ID, b.number[rec.ID])
		if !b.taken[id] {
			b.taken[id] = true
			b.r.Renamed++
			b.r.Warn(Warning{Place: rec.Place, ID: rec.ID, Text: "other contents under an id that is taken: shown as " + id})
			return id
		}
	}
}

func (b *builder) orphan(n int32, missing string) {
	f := b.facts[n]
	f.orphanOf = missing
	b.facts[n] = f
	b.r.Orphans++
	b.r.Warn(Warning{Place: b.Records[n].Place, ID: b.ids[n], Text: "its parent " + missing + " is not there"})
}

// cutCycles makes the member that was stored first of each cycle a root.
func (b *builder) cutCycles() {
	const unseen, walking, done = 0, 1, 2
	state := make([]uint8, len(b.parent))
	var path []int32
	for i := range b.parent {
		path = path[:0]
		n := int32(i)
		for n != none && state[n] == unseen {
			state[n] = walking
			path = append(path, n)
			n = b.parent[n]
		}
		if n != none && state[n] == walking {
			least := n
			for m := b.parent[n]; m != n; m = b.parent[m] {
				least = min(least, m)
			}
			b.parent[least] = none
			f := b.facts[least]
			f.cycleCut = true
			b.facts[least] = f
			b.r.Cycles++
			b.r.Warn(Warning{Place: b.Records[least].Place, ID: b.ids[least], Text: "is its own ancestor: the cycle is cut here"})
		}
		for _, n := range path {
			state[n] = done
		}
	}
}

// chain links everything in the order of storage.
func (b *builder) chain() {
	for n := range b.parent {
		f := b.facts[int32(n)]
		if f.orphanOf != "" {
			f.orphanOf = ""
			b.r.Orphans--
		}
		f.linear = true
		b.facts[int32(n)] = f
		b.parent[n] = int32(n) - 1
		b.r.Chained++
	}
}

// plant gives the tree its root, and links children in the order of storage.
func (b *builder) plant() {
	var candidates []int32
	for n, p := range b.parent {
		if p == none {
			candidates = append(candidates, int32(n))
		}
	}
	b.roots = int64(len(candidates))
	b.r.Roots += b.roots
	nodes := len(b.Records)
	switch {
	case b.Header == nil && len(candidates) == 1:
		b.root = candidates[0]
	default:
		// One that stands before all others: the header, or one that is made up.
		b.root = int32(nodes)
		id := b.Session + ":root"
		if b.Header != nil {
			id = b.Header.ID
		}
		for _, taken := b.byID[id]; taken; _, taken = b.byID[id] {
			id += ":root"
		}
		b.ids = append(b.ids, id)
		b.byID[id] = b.root
		b.parent = append(b.parent, none)
		for _, c := range candidates {
			b.parent[c] = b.root
		}
	}
	b.first = make([]int32, len(b.parent))
	b.next = make([]int32, len(b.parent))
	for n := range b.first {
		b.first[n], b.next[n] = none, none
	}
	for n := len(b.parent) - 1; n >= 0; n-- { // backwards, so that the first comes first
		if p := b.parent[n]; p != none {
			b.next[n] = b.first[p]
			b.first[p] = int32(n)
		}
	}
}

// Len is the number of nodes, the root that stands before the records counted.
func (t *Tree) Len() int { return len(t.parent) }

// Root is the node without a parent.
func (t *Tree) Root() int32 { return t.root }

// Find returns the node of an id.
func (t *Tree) Find(id string) (int32, bool) {
	n, ok := t.byID[id]
	return n, ok
}

// ID returns a node's id, unique in the tree.
func (t *Tree) ID(n int32) string { return t.ids[n] }

// Parent returns the parent; ok is false for the root.
func (t *Tree) Parent(n int32) (parent int32, ok bool) {
	p := t.parent[n]
	return p, p != none
}

// Of returns the node of the i-th record that was given to [Build].
func (t *Tree) Of(i int) int32 { return t.nodeOf[i] }

// FirstChild and NextSibling walk the children of a node in the order of storage;
// ok is false at the end.
func (t *Tree) FirstChild(n int32) (child int32, ok bool) {
	c := t.first[n]
	return c, c != none
}

// NextSibling is the next child of a node's parent.
func (t *Tree) NextSibling(n int32) (sibling int32, ok bool) {
	s := t.next[n]
	return s, s != none
}

// Record returns what was stored of a node; ok is false for a root that was made up.
func (t *Tree) Record(n int32) (rec *Record, ok bool) {
	if int(n) < len(t.Records) {
		return &t.Records[n], true
	}
	return t.Header, t.Header != nil
}

// At is the i-th node: the root first where it stands before the records, then in
// the order of storage.
func (t *Tree) At(i int) int32 {
	if len(t.parent) > len(t.Records) {
		if i == 0 {
			return t.root
		}
		return int32(i) - 1
	}
	return int32(i)
}

// Position is the inverse of At.
func (t *Tree) Position(n int32) int {
	if len(t.parent) > len(t.Records) {
		if int(n) == len(t.Records) {
			return 0
		}
		return int(n) + 1
	}
	return int(n)
}

// Facts are the members that the tree adds to a node's data.
func (t *Tree) Facts(n int32) []store.Member {
	var out []store.Member
	add := func(key string, v store.JSON) { out = append(out, store.Member{Key: key, Value: v}) }
	f := t.facts[n]
	if f.duplicateOf != "" {
		add("duplicate_of", store.Quote(f.duplicateOf))
	}
	if f.orphanOf != "" {
		add("orphan_parent", store.Quote(f.orphanOf))
	}
	if f.cycleCut {
		add("cycle_cut", "true")
	}
	if f.linear {
		add("linear_assumed", "true")
	}
	if _, stored := t.Record(n); !stored {
		add("synthetic", "true")
		add("source", store.Quote(t.source))
		add("roots", store.JSON(fmt.Sprint(t.roots)))
	}
	return out
}

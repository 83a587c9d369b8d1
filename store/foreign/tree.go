package foreign

import (
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"sort"

	"treering/store"
)

// none stands for no node.
const none = int32(-1)

// planted is the number of the root that stands before all records: the header, or one
// that is made up. Records have numbers from 1 on, in the order of storage.
const planted = int32(0)

// Tree is one rooted tree that grows with its records. It belongs to whoever holds the
// lock of its session: nothing here is safe while [Tree.Add] runs.
//
// A node is 60 bytes and its id. What lists show is kept only where it cannot be read
// again; see [Describer].
type Tree struct {
	o      BuildOptions
	seed   maphash.Seed
	texts  arena
	recs   []stored
	flags  []Flags
	links  []link
	table  []int32 // nodes by id: open addressing, 0 is free
	shown  []shown // by node, where records are not described when they are shown
	odd    map[int32]Place
	header *Record
	rootID string

	roots []int32 // nodes without a parent, in the order of storage
	stale bool    // some of them have one now

	copyOf   map[int32]string          // by node that has another id than was stored: that
	latest   map[int32]int32           // by node whose id was stored again: the latest of those
	held     map[int32]map[uint32]bool // by the same: what they held
	number   map[string]int            // how often an id was given out anew
	waiting  map[string][]int32        // by an id that did not come yet: those that name it as their parent
	parentOf map[int32]string          // by those: it
	cut      map[int32]bool            // made roots, because they were their own ancestors
	joined   []int32                   // towards the root of the part that a node is in; nil while nobody waited

	linked  bool  // a link resolved
	assumed int64 // links that no record names
	// How often a node that was there came elsewhere, or was called otherwise; and of
	// that what cannot be foreseen while records are still to come.
	shape, moves uint64
	report       Report // of what Add had to do

	remarked []int32 // nodes of which it changed whether they are a branch, as it did
}

// stored is where a record is, and its id.
type stored struct {
	text   uint64 // in the arena
	offset int64
	length uint32
	line   uint32
	sum    uint32
	idLen  uint32
}

// link are the relations of a node. Children are a ring: the last one's next is the
// first.
type link struct{ parent, last, next int32 }

// shown is what lists show of a record.
type shown struct {
	kind, title, role string
	time              float64
}

// oddPlace marks a node whose place does not fit into stored.
const oddPlace Flags = 1 << 15

// BuildOptions say how records become a tree.
type BuildOptions struct {
	Session string
	// Source names the format, for the data of a root that had to be made up.
	Source string
	// Table is where the records are rows, for warnings; "" for lines.
	Table string
	// Path is the source's, for the same; "" leaves it out.
	Path string
	// Header becomes the root, whatever else is one.
	Header *Record
	// Chain links the records in the order of storage where not one of their links
	// resolves: files that were written before there were links.
	Chain bool
	// Described says that what lists show of a record is read when it is shown, and not
	// to be kept.
	Described bool
}

// NewTree returns a tree without records.
func NewTree(o BuildOptions) *Tree {
	t := &Tree{o: o, seed: maphash.MakeSeed(), table: make([]int32, 16), header: o.Header}
	t.recs, t.flags, t.links = make([]stored, 1), make([]Flags, 1), []link{{none, none, none}}
	if !o.Described {
		t.shown = make([]shown, 1)
	}
	t.nameRoot()
	return t
}

// Expect makes room for so many records.
func (t *Tree) Expect(records int) {
	if more := records + 1 - len(t.recs); more > 0 {
		t.recs, t.flags, t.links = slices.Grow(t.recs, more), slices.Grow(t.flags, more), slices.Grow(t.links, more)
	}
	size := len(t.table)
	for size < 2*records {
		size *= 2
	}
	if size > len(t.table) {
		t.rehash(size)
	}
}

// SetHeader makes a record the root, whatever else is one.
func (t *Tree) SetHeader(rec Record) {
	t.header = &rec
	if t.nameRoot(); t.Count() > 0 {
		t.moves++
	}
}

// Len is the number of nodes, the root that stands before the records counted.
func (t *Tree) Len() int {
	n := len(t.recs) - 1
	if t.Planted() {
		n++
	}
	return n
}

// Count is the number of records.
func (t *Tree) Count() int { return len(t.recs) - 1 }

// Shape changes whenever a node that was there is elsewhere, or is called otherwise.
func (t *Tree) Shape() uint64 { return t.shape + t.moves }

// chained reports whether the records follow each other because no link resolves.
func (t *Tree) chained() bool { return t.o.Chain && !t.linked && t.Count() > 1 }

// countRoots is the number of records without a parent.
func (t *Tree) countRoots() int {
	if t.chained() {
		return 1
	}
	t.settle()
	return len(t.roots)
}

// Planted reports whether the root stands before the records.
func (t *Tree) Planted() bool { return t.header != nil || t.countRoots() != 1 }

// settle leaves those that have found their parent out of the roots. [Tree.Add] leaves
// that to whoever holds the lock, so that those who read need none for writing.
func (t *Tree) settle() {
	if t.stale {
		t.roots = slices.DeleteFunc(t.roots, func(n int32) bool { return t.links[n].parent != none })
		t.stale = false
	}
}

// Root is the node without a parent.
func (t *Tree) Root() int32 {
	switch {
	case t.Planted():
		return planted
	case t.chained():
		return 1
	}
	return t.roots[0]
}

// nameRoot finds an id for the root that stands before the records.
func (t *Tree) nameRoot() {
	id := t.o.Session + ":root"
	if t.header != nil {
		id = t.header.ID
	}
	for n := t.probe(id); n != 0; n = t.probe(id) {
		id += ":root"
	}
	t.rootID = id
}

// Find returns the node of an id.
func (t *Tree) Find(id string) (int32, bool) {
	if n := t.probe(id); n != 0 {
		return n, true
	}
	return planted, id == t.rootID && t.Planted()
}

// Latest returns the last record that was stored with an id.
func (t *Tree) Latest(id string) (int32, bool) {
	n := t.probe(id)
	if n == 0 {
		return none, false
	}
	if _, another := t.copyOf[n]; another {
		return none, false
	}
	if l, ok := t.latest[n]; ok {
		return l, true
	}
	return n, true
}

// ID returns a node's id, unique in the tree.
func (t *Tree) ID(n int32) string {
	if n == planted {
		return t.rootID
	}
	return string(t.id(n))
}

func (t *Tree) id(n int32) []byte { return t.texts.get(t.recs[n].text, t.recs[n].idLen) }

// Parent returns the parent; ok is false for the root.
func (t *Tree) Parent(n int32) (parent int32, ok bool) {
	switch {
	case n == planted:
		return none, false
	case t.chained() && n > 1:
		return n - 1, true
	case !t.chained() && t.links[n].parent != none:
		return t.links[n].parent, true
	case t.Planted():
		return planted, true
	}
	return none, false
}

// FirstChild and NextSibling walk the children of a node in the order of storage;
// ok is false at the end.
func (t *Tree) FirstChild(n int32) (child int32, ok bool) {
	switch {
	case t.chained():
		return n + 1, int(n)+1 < len(t.recs)
	case n == planted:
		if t.settle(); len(t.roots) > 0 {
			return t.roots[0], true
		}
		return none, false
	case t.links[n].last == none:
		return none, false
	}
	return t.links[t.links[n].last].next, true
}

// NextSibling is the next child of a node's parent.
func (t *Tree) NextSibling(n int32) (sibling int32, ok bool) {
	switch p := t.links[n].parent; {
	case n == planted, t.chained():
		return none, false
	case p == none:
		t.settle()
		i := sort.Search(len(t.roots), func(i int) bool { return t.roots[i] > n })
		if i == len(t.roots) || !t.Planted() {
			return none, false
		}
		return t.roots[i], true
	case t.links[p].last == n:
		return none, false
	}
	return t.links[n].next, true
}

// Record returns what was stored of a node; ok is false for a root that was made up.
// Where records are described when they are shown, it is without what lists show.
func (t *Tree) Record(n int32) (rec Record, ok bool) {
	if n == planted {
		if t.header == nil {
			return Record{}, false
		}
		return *t.header, true
	}
	s := t.recs[n]
	rec = Record{ID: t.ID(n), Flags: t.flags[n] &^ oddPlace, Sum: uint64(s.sum), Place: Place{Offset: s.offset, Length: int64(s.length), Line: int64(s.line)}}
	if t.flags[n]&oddPlace != 0 {
		rec.Place = t.odd[n]
	}
	if id, another := t.copyOf[n]; another {
		rec.ID = id
	}
	if t.shown != nil {
		s := t.shown[n]
		rec.Kind, rec.Title, rec.Role, rec.Time = s.kind, s.title, s.role, s.time
	}
	return rec, true
}

// Flags are a node's.
func (t *Tree) Flags(n int32) Flags { return t.flags[n] &^ oddPlace }

// Mark sets some of a node's flags and clears others.
func (t *Tree) Mark(n int32, set, clear Flags) {
	now := t.flags[n]&^clear | set
	if (now^t.flags[n])&FalseFork != 0 {
		t.remarked = append(t.remarked, n)
	}
	t.flags[n] = now
}

// At is the i-th node: the root first where it stands before the records, then in
// the order of storage.
func (t *Tree) At(i int) int32 {
	if t.Planted() {
		return int32(i)
	}
	return int32(i) + 1
}

// Position is the inverse of At.
func (t *Tree) Position(n int32) int {
	if t.Planted() {
		return int(n)
	}
	return int(n) - 1
}

// Facts are the members that the tree adds to a node's data.
func (t *Tree) Facts(n int32) []store.Member {
	var out []store.Member
	add := func(key string, v store.JSON) { out = append(out, store.Member{Key: key, Value: v}) }
	if id, another := t.copyOf[n]; another {
		add("duplicate_of", store.Quote(id))
	}
	if p, orphan := t.parentOf[n]; orphan && !t.chained() {
		add("orphan_parent", store.Quote(p))
	}
	if t.cut[n] {
		add("cycle_cut", "true")
	}
	if n != planted && (t.chained() || t.flags[n]&Assumed != 0) {
		add("linear_assumed", "true")
	}
	if _, stored := t.Record(n); !stored {
		add("synthetic", "true")
		add("source", store.Quote(t.o.Source))
		if t.o.Path != "" {
			add("path", store.Quote(t.o.Path))
		}
		add("roots", store.JSON(fmt.Sprint(t.countRoots())))
	}
	return out
}

// foreseen reports whether what [Tree.early] told of nodes while records were still to
// come holds now that all came.
func (t *Tree) foreseen() bool {
	return t.moves == 0 && len(t.parentOf) == 0 && !t.chained() && (t.header != nil || t.countRoots() == 1)
}

// early is the id of the parent that a node will have if nothing unusual comes.
func (t *Tree) early(n int32) *string {
	id := ""
	switch p := t.links[n].parent; {
	case p != none:
		id = t.ID(p)
	case t.parentOf[n] != "":
		id = t.parentOf[n]
	case t.header != nil && n != planted:
		id = t.rootID
	default:
		return nil
	}
	return &id
}

// addTo adds what the tree had to do to a report.
func (t *Tree) addTo(r *Report) {
	r.Records += int64(t.Count())
	r.Duplicates += t.report.Duplicates
	r.Renamed += t.report.Renamed
	r.Cycles += t.report.Cycles
	r.Roots += int64(t.countRoots())
	for _, w := range t.report.Warnings {
		r.Warn(w)
	}
	r.Dropped += t.report.Dropped
	r.Chained += t.assumed
	if t.chained() {
		r.Chained += int64(t.Count()) - t.assumed
		return
	}
	orphans := make([]int32, 0, len(t.parentOf))
	for n := range t.parentOf {
		orphans = append(orphans, n)
	}
	slices.Sort(orphans)
	r.Orphans += int64(len(orphans))
	for i, n := range orphans {
		if len(r.Warnings) >= maxWarnings {
			r.Dropped += int64(len(orphans) - i)
			break
		}
		rec, _ := t.Record(n)
		r.Warn(Warning{Table: t.o.Table, Place: rec.Place, ID: t.ID(n), Text: "its parent " + t.parentOf[n] + " is not there"})
	}
}

// place keeps where a record is.
func (t *Tree) place(s *stored, n int32, p Place) (odd bool) {
	if p.File != 0 || p.Part != 0 || p.Length > math.MaxUint32 || p.Line > math.MaxUint32 || p.Length < 0 || p.Line < 0 {
		if t.odd == nil {
			t.odd = map[int32]Place{}
		}
		t.odd[n] = p
		return true
	}
	s.offset, s.length, s.line = p.Offset, uint32(p.Length), uint32(p.Line)
	return false
}

// arena keeps ids in few large pieces, which the garbage collector need not walk.
type arena struct{ chunks [][]byte }

const arenaChunk = 1 << 18

func (a *arena) put(text string) uint64 {
	last := len(a.chunks) - 1
	if last < 0 || cap(a.chunks[last])-len(a.chunks[last]) < len(text) {
		size := 1 << 10
		if last >= 0 {
			size = min(2*cap(a.chunks[last]), arenaChunk)
		}
		a.chunks = append(a.chunks, make([]byte, 0, max(size, len(text))))
		last++
	}
	at := uint64(last)<<32 | uint64(len(a.chunks[last]))
	a.chunks[last] = append(a.chunks[last], text...)
	return at
}

func (a *arena) get(at uint64, n uint32) []byte {
	if n == 0 {
		return nil
	}
	from := uint32(at)
	return a.chunks[at>>32][from : from+n]
}

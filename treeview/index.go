package treeview

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strings"

	"treering/store"
)

// MaxTitle is how much of a title an index keeps, in code points.
const MaxTitle = 120

// Ref names a node within one index. The zero Ref names none. Refs are stable:
// an index never forgets a node.
type Ref int32

// Entry is what an index takes of one node. Its texts may be foreign.
type Entry struct {
	ID     string
	Parent *string // nil: a root
	Kind   string
	Title  string // the first [MaxTitle] code points are kept
	Aside  bool   // see [Index.SetAside]
}

// Untitled reports whether the title is only the kind and the beginning of the id,
// as [store.Node.Title] makes it for a node that has none.
func (e Entry) Untitled() bool {
	return strings.HasPrefix(e.Title, e.Kind) && e.Title == store.Node{ID: e.ID, Kind: e.Kind}.Title()
}

// TitleBesideKind is the title for a line that shows the kind too: a node without
// one of its own goes by the beginning of its id alone.
func (e Entry) TitleBesideKind() string {
	if e.Untitled() {
		return strings.TrimPrefix(e.Title, e.Kind+" ")
	}
	return e.Title
}

// EntryOf is the entry of a session tree's node.
func EntryOf(n store.Node) Entry {
	return Entry{ID: n.ID, Parent: n.ParentID, Kind: n.Kind, Title: n.Title()}
}

// EntryOfOutline is the entry of a node whose data was not read.
func EntryOfOutline(o store.Outline) Entry {
	title := o.Title
	if title == "" {
		title = store.Node{ID: o.ID, Kind: o.Kind}.Title()
	}
	return Entry{ID: o.ID, Parent: o.ParentID, Kind: o.Kind, Title: title, Aside: o.FalseFork}
}

// Order says how siblings are arranged.
type Order uint8

const (
	// ByID arranges siblings by id in byte order, whenever they came.
	ByID Order = iota
	// ByArrival leaves them as they came.
	ByArrival
)

const (
	known    uint8 = 1 << iota // an entry came; otherwise only a child has named it
	cyclic                     // the parent it names is its own descendant; drawn as a root
	unsorted                   // its children are not in order yet
	disputed                   // further entries of its id named other parents
)

// record is where a node's texts lie: its id, followed by its title.
type record struct {
	at     place
	idLen  uint32
	kindNo uint32
}

// unknownKind is the kind of a node that no entry came for.
const unknownKind = 1<<32 - 1

// links are a node's relations: one cache line holds four nodes' worth, and a
// walk needs most of them at every step.
type links struct {
	parent      int32 // as drawn; 0 for roots
	first, last int32 // child
	next        int32 // sibling
}

// Index is a tree under construction. Slot 0 stands above all roots.
type Index struct {
	order Order
	texts arena
	recs  []record
	flags []uint8

	links  []links
	joined []int32 // union-find towards the root of the fragment a node is in

	kinds  []string
	kindNo map[string]uint32

	// table finds nodes by id: open addressing, 0 is free.
	table []int32
	seed  maphash.Seed

	dirty      []int32         // parents whose children are unsorted
	rootsStale bool            // the children of slot 0 are not linked yet
	names      map[int32]int32 // of cyclic nodes: the parent they name

	// disputes are the other parents that entries of one id named, and how many
	// those are for each node that has any.
	disputes map[dispute]struct{}
	others   map[int32]int

	aside  Set // stored as branches, and none
	asides int

	count, heads int
	version      uint64 // changes with every entry
	partial      bool
	lent         int // so many records are read by others: they are not changed in place

	// What is worked out once for a version.
	spans   []span
	spansOf uint64
	last    Ref
	lastOf  uint64
}

// dispute is a parent that a second entry named; root where it named none.
type dispute struct {
	node   int32
	root   bool
	parent string
}

// New returns an empty index.
func New(order Order) *Index {
	x := &Index{order: order, kindNo: map[string]uint32{}, seed: maphash.MakeSeed(), table: make([]int32, 64)}
	x.slot(record{kindNo: unknownKind})
	return x
}

// Add takes one entry. It returns the node and whether the entry was new. An id
// that came before keeps its place; its kind and title are replaced, and a
// different parent is counted in [Index.Duplicates].
func (x *Index) Add(e Entry) (r Ref, added bool) {
	x.version++
	n := x.intern(e.ID, firstRunes(e.Title, MaxTitle))
	if e.Aside {
		x.SetAside(Ref(n), true)
	}
	if x.flags[n]&known != 0 {
		if !x.namesParent(n, e.Parent) {
			x.dispute(n, e.Parent)
		}
		x.describe(n, e)
		return Ref(n), false
	}
	x.flags[n] |= known
	x.describe(n, e)
	x.count++
	if x.links[n].first == 0 {
		x.heads++
	}
	if e.Parent == nil {
		x.rootsStale = true
		return Ref(n), true
	}
	p := x.intern(*e.Parent, "")
	if x.fragment(p) == n {
		// The parent hangs below n already. Drawn as given, both would be
		// reachable from nowhere.
		x.flags[n] |= cyclic
		if x.names == nil {
			x.names = map[int32]int32{}
		}
		x.names[n] = p
		x.rootsStale = true
		return Ref(n), true
	}
	x.link(n, p)
	return Ref(n), true
}

// intern returns the node of that id, making a place for one that no entry
// came for yet, with that title.
func (x *Index) intern(id, title string) int32 {
	at, n := x.probe(id)
	if n != 0 {
		return n
	}
	n = x.slot(record{at: x.texts.put(id, title), idLen: uint32(len(id)), kindNo: unknownKind})
	x.rootsStale = true
	x.table[at] = n
	if len(x.recs)*2 > len(x.table) {
		x.rehash()
	}
	return n
}

// slot appends a node without relations.
func (x *Index) slot(rec record) int32 {
	n := int32(len(x.recs))
	x.recs = append(x.recs, rec)
	x.flags = append(x.flags, 0)
	x.links = append(x.links, links{})
	x.joined = append(x.joined, n)
	return n
}

// probe returns the node of that id, or 0 and the free place for it.
func (x *Index) probe(id string) (at int, n int32) {
	mask := len(x.table) - 1
	for at = int(maphash.String(x.seed, id)) & mask; ; at = (at + 1) & mask {
		n = x.table[at]
		if n == 0 || string(x.id(n)) == id {
			return at, n
		}
	}
}

func (x *Index) rehash() {
	x.table = make([]int32, 2*len(x.table))
	mask := len(x.table) - 1
	for n := 1; n < len(x.recs); n++ {
		at := int(maphash.Bytes(x.seed, x.id(int32(n)))) & mask
		for x.table[at] != 0 {
			at = (at + 1) & mask
		}
		x.table[at] = int32(n)
	}
}

// describe stores an entry's kind and title, if they are not there yet.
func (x *Index) describe(n int32, e Entry) {
	title := firstRunes(e.Title, MaxTitle)
	no, ok := x.kindNo[e.Kind]
	if !ok {
		no = uint32(len(x.kinds))
		x.kinds = append(x.kinds, e.Kind)
		x.kindNo[e.Kind] = no
	}
	same := string(x.title(n)) == title
	if same && x.recs[n].kindNo == no {
		return
	}
	if int(n) < x.lent {
		x.recs, x.lent = slices.Clone(x.recs), 0
	}
	rec := &x.recs[n]
	rec.kindNo = no
	if !same {
		rec.at = x.texts.put(e.ID, title)
	}
}

// firstRunes returns at most n code points of s.
func firstRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// link hangs n, until now the root of its fragment, below p.
func (x *Index) link(n, p int32) {
	x.links[n].parent, x.joined[n] = p, p
	x.rootsStale = true
	above := &x.links[p]
	if above.first == 0 {
		above.first = n
		if x.flags[p]&known != 0 {
			x.heads--
		}
	} else {
		if x.order == ByID && x.flags[p]&unsorted == 0 && string(x.id(above.last)) > string(x.id(n)) {
			x.flags[p] |= unsorted
			x.dirty = append(x.dirty, p)
		}
		x.links[above.last].next = n
	}
	above.last = n
	x.links[n].next = 0
}

// fragment returns the root of the fragment that n is in.
func (x *Index) fragment(n int32) int32 {
	for x.joined[n] != n {
		x.joined[n] = x.joined[x.joined[n]]
		n = x.joined[n]
	}
	return n
}

func (x *Index) namesParent(n int32, parent *string) bool {
	p := x.links[n].parent
	if x.flags[n]&cyclic != 0 {
		p = x.names[n]
	}
	if parent == nil || p == 0 {
		return parent == nil && p == 0
	}
	return string(x.id(p)) == *parent
}

// dispute notes that an entry of n named another parent than the first one did.
func (x *Index) dispute(n int32, parent *string) {
	d := dispute{node: n, root: parent == nil}
	if parent != nil {
		d.parent = strings.Clone(*parent)
	}
	if x.disputes == nil {
		x.disputes, x.others = map[dispute]struct{}{}, map[int32]int{}
	}
	if _, ok := x.disputes[d]; !ok {
		x.disputes[d] = struct{}{}
		x.others[n]++
	}
	x.flags[n] |= disputed
}

// arrange brings all children into their order and links the roots.
func (x *Index) arrange() {
	var kids []int32
	for _, p := range x.dirty {
		kids = kids[:0]
		for n := x.links[p].first; n != 0; n = x.links[n].next {
			kids = append(kids, n)
		}
		x.sortByID(kids)
		x.chain(p, kids)
		x.flags[p] &^= unsorted
	}
	x.dirty = x.dirty[:0]
	if !x.rootsStale {
		return
	}
	x.rootsStale = false
	// True roots first, then those that a cycle or a missing parent made.
	var roots, cut, missing []int32
	for n := int32(1); int(n) < len(x.links); n++ {
		switch {
		case x.links[n].parent != 0:
		case x.flags[n]&known == 0:
			missing = append(missing, n)
		case x.flags[n]&cyclic != 0:
			cut = append(cut, n)
		default:
			roots = append(roots, n)
		}
	}
	if x.order == ByID {
		x.sortByID(roots)
		x.sortByID(cut)
		x.sortByID(missing)
	}
	x.chain(0, slices.Concat(roots, cut, missing))
}

func (x *Index) sortByID(nodes []int32) {
	slices.SortFunc(nodes, func(a, b int32) int {
		return bytes.Compare(x.id(a), x.id(b))
	})
}

// chain makes the nodes the children of p in that order.
func (x *Index) chain(p int32, nodes []int32) {
	x.links[p].first, x.links[p].last = 0, 0
	for i, n := range nodes {
		x.links[n].next = 0
		if i == 0 {
			x.links[p].first = n
		} else {
			x.links[nodes[i-1]].next = n
		}
		x.links[p].last = n
	}
}

func (x *Index) id(n int32) []byte {
	p := x.recs[n].at
	p.n = x.recs[n].idLen
	return x.texts.get(p)
}

func (x *Index) title(n int32) []byte {
	rec := x.recs[n]
	return x.texts.get(rec.at)[rec.idLen:]
}

// Len is the number of entries, equal ids counted once.
func (x *Index) Len() int { return x.count }

// Heads is the number of entries without children.
func (x *Index) Heads() int { return x.heads }

// Missing is the number of parents that were named but did not come.
func (x *Index) Missing() int { return len(x.recs) - 1 - x.count }

// SetPartial says whether entries are still to come, so that a parent that is
// not there may yet arrive.
func (x *Index) SetPartial(partial bool) { x.partial = partial }

// Partial reports what SetPartial said last.
func (x *Index) Partial() bool { return x.partial }

// Duplicates counts the entries that named another parent than the first of
// their id did. Equal ones count once: a tree may be read twice.
func (x *Index) Duplicates() int { return len(x.disputes) }

// Contradictions counts the other parents that further entries of the node's id
// named. The first one holds.
func (x *Index) Contradictions(r Ref) int { return x.others[int32(r)] }

// ExtraRoot reports whether the node is a root, by its own account, beside an
// earlier one. It tells of the tree as it was last walked.
func (x *Index) ExtraRoot(r Ref) bool {
	return x.links[r].parent == 0 && x.flags[r]&(known|cyclic) == known && x.links[0].first != int32(r)
}

// Version changes with every entry.
func (x *Index) Version() uint64 { return x.version }

// Find returns the node of an id. One that was only named as a parent is found
// too; see [Index.Known].
func (x *Index) Find(id string) (Ref, bool) {
	_, n := x.probe(id)
	return Ref(n), n != 0
}

// ID returns a node's id.
func (x *Index) ID(r Ref) string { return string(x.id(int32(r))) }

// Title returns a node's title, at most [MaxTitle] code points.
func (x *Index) Title(r Ref) string { return string(x.title(int32(r))) }

// TitleBesideKind is [Entry.TitleBesideKind] of a node.
func (x *Index) TitleBesideKind(r Ref) string {
	return Entry{ID: x.ID(r), Kind: x.Kind(r), Title: x.Title(r)}.TitleBesideKind()
}

// Kind returns a node's kind, "" for one that no entry came for.
func (x *Index) Kind(r Ref) string {
	if !x.Known(r) {
		return ""
	}
	return x.kinds[x.recs[r].kindNo]
}

// Known reports whether an entry came for the node. Otherwise it is a parent
// that is missing, or has not come yet.
func (x *Index) Known(r Ref) bool { return x.flags[r]&known != 0 }

// Cyclic reports whether the node names one of its own descendants as its
// parent. It is drawn as a root, and named is that descendant.
func (x *Index) Cyclic(r Ref) (named Ref, cyclic bool) {
	p, ok := x.names[int32(r)]
	return Ref(p), ok
}

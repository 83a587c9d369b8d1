package foreign

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// Build makes one rooted tree out of any records, and adds to r what had to be done.
// Nothing is dropped but what is stored twice without a change. Nothing here recurses:
// a chain of a million records is an ordinary session.
func Build(o BuildOptions, records []Record, r *Report) *Tree {
	t := NewTree(o)
	t.Expect(len(records))
	for i := range records {
		t.Add(records[i])
	}
	t.addTo(r)
	return t
}

// Add takes the next record, and returns its node: the one that is there where the same
// was stored before. A parent is the latest record of its id that was stored earlier,
// or else the first later one.
func (t *Tree) Add(rec Record) int32 {
	id := rec.ID
	sum := t.payload(&rec)
	first := t.probe(id)
	if first != 0 {
		if _, another := t.copyOf[first]; another {
			// A copy of something else was given the id that this one was stored with.
			t.renameAgain(first)
			first = 0
		}
	}
	if first != 0 {
		held := t.held[first]
		switch {
		case held == nil && t.recs[first].sum == sum, held[sum]:
			t.report.Duplicates++
			return first
		case held == nil:
			if t.held == nil {
				t.held, t.latest, t.copyOf, t.number = map[int32]map[uint32]bool{}, map[int32]int32{}, map[int32]string{}, map[string]int{}
			}
			held = map[uint32]bool{t.recs[first].sum: true}
			t.held[first] = held
		}
		held[sum] = true
		id = t.copyName(rec.ID)
		t.report.Renamed++
		t.report.Warn(Warning{Table: t.o.Table, Place: rec.Place, ID: strings.Clone(rec.ID), Text: "other contents under an id that is taken: shown as " + id})
	}
	n := t.slot(id, &rec, sum)
	if first != 0 {
		t.copyOf[n] = strings.Clone(rec.ID)
	}
	if t.rootID == id {
		t.nameRoot()
		t.moves++
	}
	// One that names its own id means one that was stored earlier, if there is one.
	if rec.Parent == nil || *rec.Parent == rec.ID && first == 0 {
		t.root(n)
	} else if p, ok := t.Latest(*rec.Parent); ok && p != n {
		t.join(n, p)
	} else {
		t.wait(n, *rec.Parent)
	}
	if first != 0 {
		t.latest[first] = n
		return n
	}
	if children, ok := t.waiting[rec.ID]; ok {
		delete(t.waiting, rec.ID)
		for _, c := range children {
			t.found(c, n)
		}
	}
	return n
}

// payload is a sum over all that makes two records of one id the same.
func (t *Tree) payload(rec *Record) uint32 {
	sum := rec.Sum
	if rec.Parent != nil {
		sum ^= maphash.String(t.seed, *rec.Parent)*2 + 1
	}
	return uint32(sum ^ sum>>32)
}

// slot appends a node without relations.
func (t *Tree) slot(id string, rec *Record, sum uint32) int32 {
	n := int32(len(t.recs))
	s := stored{text: t.texts.put(id), idLen: uint32(len(id)), sum: sum}
	flags := rec.Flags &^ oddPlace
	if t.place(&s, n, rec.Place) {
		flags |= oddPlace
	}
	if flags&FalseFork != 0 {
		t.remarked = append(t.remarked, n)
	}
	if flags&Assumed != 0 {
		t.assumed++
	}
	t.recs, t.flags, t.links = append(t.recs, s), append(t.flags, flags), append(t.links, link{none, none, none})
	if t.shown != nil {
		t.shown = append(t.shown, shown{rec.Kind, rec.Title, rec.Role, rec.Time})
	}
	if t.joined != nil {
		t.joined = append(t.joined, n)
	}
	t.insert(n)
	if 2*len(t.recs) > len(t.table) {
		t.rehash(2 * len(t.table))
	}
	return n
}

// copyName finds an id for a record whose own is taken.
func (t *Tree) copyName(id string) string {
	for {
		t.number[id] = max(t.number[id], 1) + 1
		if name := fmt.Sprintf("%s#%d", id, t.number[id]); t.probe(name) == 0 {
			return name
		}
	}
}

// renameAgain gives a copy another id.
func (t *Tree) renameAgain(n int32) {
	was := t.ID(n)
	t.remove(n)
	name := t.copyName(t.copyOf[n])
	for i := range t.report.Warnings {
		if w := &t.report.Warnings[i]; w.ID == t.copyOf[n] {
			w.Text = strings.Replace(w.Text, "shown as "+was, "shown as "+name, 1)
		}
	}
	t.recs[n].text, t.recs[n].idLen = t.texts.put(name), uint32(len(name))
	t.insert(n)
	t.moves++
}

// root makes a node one without a parent.
func (t *Tree) root(n int32) {
	t.shape++ // where there was one, and no header, another stands before both now
	if len(t.roots) > 0 && t.roots[len(t.roots)-1] >= n {
		if i, there := slices.BinarySearch(t.roots, n); !there {
			t.roots = slices.Insert(t.roots, i, n)
		}
		return
	}
	t.roots = append(t.roots, n)
}

// wait makes a node a root until its parent comes.
func (t *Tree) wait(n int32, parent string) {
	if t.waiting == nil {
		t.waiting, t.parentOf = map[string][]int32{}, map[int32]string{}
	}
	parent = strings.Clone(parent)
	t.waiting[parent] = append(t.waiting[parent], n)
	t.parentOf[n] = parent
	t.root(n)
	if t.joined != nil {
		return
	}
	// From now on it is asked who hangs below whom.
	t.joined = make([]int32, len(t.links))
	for i, l := range t.links {
		if t.joined[i] = l.parent; l.parent == none {
			t.joined[i] = int32(i)
		}
	}
}

// join hangs a node that has no parent below another.
func (t *Tree) join(n, p int32) {
	if !t.linked {
		if t.linked = true; t.o.Chain && t.Count() > 2 {
			t.shape++ // they followed each other until now
		}
	}
	at := &t.links[p]
	t.links[n].parent = p
	if at.last == none {
		t.links[n].next = n
	} else {
		t.links[n].next = t.links[at.last].next
		t.links[at.last].next = n
	}
	at.last = n
	if t.joined != nil {
		t.joined[n] = p
	}
}

// found hangs a node below the parent that it waited for. Where that closes a cycle the
// member that was stored first becomes a root.
func (t *Tree) found(c, p int32) {
	delete(t.parentOf, c)
	t.shape++
	least := none
	if t.fragment(p) == c {
		least = c
		for m := p; m != c; m = t.links[m].parent {
			least = min(least, m)
		}
	}
	if least == none {
		t.stale = true
		t.join(c, p)
		return
	}
	t.linked = true
	if t.cut == nil {
		t.cut = map[int32]bool{}
	}
	t.cut[least] = true
	t.report.Cycles++
	rec, _ := t.Record(least)
	t.report.Warn(Warning{Table: t.o.Table, Place: rec.Place, ID: t.ID(least), Text: "is its own ancestor: the cycle is cut here"})
	t.moves++
	if least == c {
		return
	}
	t.leave(least)
	t.root(least)
	t.stale = true
	t.join(c, p)
	t.joined[c], t.joined[least] = least, least
}

// leave takes a node from its parent.
func (t *Tree) leave(n int32) {
	p := t.links[n].parent
	before := t.links[p].last
	for t.links[before].next != n {
		before = t.links[before].next
	}
	switch {
	case before == n:
		t.links[p].last = none
	default:
		t.links[before].next = t.links[n].next
		if t.links[p].last == n {
			t.links[p].last = before
		}
	}
	t.links[n].parent, t.links[n].next = none, none
}

// fragment returns the root of the part that a node is in.
func (t *Tree) fragment(n int32) int32 {
	for t.joined[n] != n {
		t.joined[n] = t.joined[t.joined[n]]
		n = t.joined[n]
	}
	return n
}

// probe returns the node of an id, or 0.
func (t *Tree) probe(id string) int32 {
	mask := len(t.table) - 1
	for at := int(maphash.String(t.seed, id)) & mask; ; at = (at + 1) & mask {
		if n := t.table[at]; n == 0 || string(t.id(n)) == id {
			return n
		}
	}
}

func (t *Tree) insert(n int32) {
	mask := len(t.table) - 1
	at := int(maphash.Bytes(t.seed, t.id(n))) & mask
	for t.table[at] != 0 {
		at = (at + 1) & mask
	}
	t.table[at] = n
}

// remove takes a node out of the table, and closes the gap.
func (t *Tree) remove(n int32) {
	mask := len(t.table) - 1
	at := int(maphash.Bytes(t.seed, t.id(n))) & mask
	for t.table[at] != n {
		at = (at + 1) & mask
	}
	t.table[at] = 0
	for at = (at + 1) & mask; t.table[at] != 0; at = (at + 1) & mask {
		m := t.table[at]
		t.table[at] = 0
		t.insert(m)
	}
}

func (t *Tree) rehash(size int) {
	t.table = make([]int32, size)
	for n := 1; n < len(t.recs); n++ {
		t.insert(int32(n))
	}
}

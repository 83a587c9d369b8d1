package memory

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// marks is the set of event ids that one execution has handled. It only grows,
// by one with every event, so it is made for that: the ids lie end to end in a few
// buffers, and a table of numbers finds them. There is next to nothing in it for the
// garbage collector to follow, and growing reads memory in order, where a map of
// strings would visit every string again.
//
// Nearly every id that is asked for is new. The table is one of groups of eight slots,
// each group with a word that has a byte of the hash of each: that word alone tells
// that an id is not there, and the words of all groups are small enough to stay near
// the processor, where each of the slots would have to be fetched from far away.
type marks struct {
	ids    [][]byte // each id behind its length, in buffers that are filled one after the other
	groups []uint64 // a byte for each slot: 0x80 and seven high bits of the hash; 0 is free
	slots  []uint64 // eight to a group: the low bits of the hash, and place+1
	n      int
}

// place says where an id is: the number of its buffer, and the offset in it.
type place uint64

const (
	firstBuffer = 64 // bytes: most executions have few ids
	bufferBits  = 15 // a buffer has at most 32 KiB, or one id that is longer
	bufferSize  = 1 << bufferBits
	placeBits   = 40 // a terabyte of ids
	placeMask   = 1<<placeBits - 1
	tagMask     = 1<<(64-placeBits) - 1
	minGroups   = 1
	perGroup    = 8

	ones, highs = 0x0101010101010101, 0x8080808080808080
)

// has reports whether id was added.
func (m *marks) has(seed maphash.Seed, id string) bool {
	if m.n == 0 {
		return false
	}
	_, found := m.slot(maphash.String(seed, id), id)
	return found
}

// add marks an id, of which that is the hash.
func (m *marks) add(seed maphash.Seed, hash uint64, id string) {
	if 4*(m.n+1) > 3*len(m.slots) {
		m.grow(seed, tagMask)
	}
	at, found := m.slot(hash, id)
	if found {
		return
	}
	m.put(at, hash, entryOf(hash, m.keep(id)))
	m.n++
}

// put fills a free slot.
func (m *marks) put(at int, hash, slot uint64) {
	m.slots[at] = slot
	m.groups[at/perGroup] |= byteOf(hash) << (8 * (at % perGroup))
}

// byteOf is what a group knows of a hash. The low bits say which group it is, so it
// is made of others.
func byteOf(hash uint64) uint64 { return 0x80 | hash>>57 }

// keep puts id behind the others. What was kept is never moved: a full buffer is
// followed by one of twice its size, up to a bound.
func (m *marks) keep(id string) place {
	size := len(id) + binary.MaxVarintLen64
	last := len(m.ids) - 1
	if last < 0 || len(m.ids[last])+size > cap(m.ids[last]) {
		room := firstBuffer
		if last >= 0 {
			room = min(2*cap(m.ids[last]), bufferSize)
		}
		m.ids = append(m.ids, make([]byte, 0, max(room, size)))
		last++
	}
	buffer := m.ids[last]
	at := place(last)<<bufferBits | place(len(buffer))
	buffer = binary.AppendUvarint(buffer, uint64(len(id)))
	m.ids[last] = append(buffer, id...)
	return at
}

func entryOf(hash uint64, at place) uint64 { return hash<<placeBits | uint64(at+1) }

// slot is where id is, or the free slot where it belongs.
func (m *marks) slot(hash uint64, id string) (at int, found bool) {
	mask := len(m.groups) - 1
	wanted := ones * byteOf(hash)
	for g := int(hash) & mask; ; g = (g + 1) & mask {
		// Equal bytes are zero in the difference. A borrow may mark one too many above
		// an equal byte, of a slot that is taken: the slot itself tells.
		diff := m.groups[g] ^ wanted
		for same := (diff - ones) &^ diff & highs; same != 0; same &= same - 1 {
			at := g*perGroup + bits.TrailingZeros64(same)/8
			if s := m.slots[at]; (s>>placeBits^hash)&tagMask == 0 && string(m.at(s)) == id {
				return at, true
			}
		}
		if free := ^m.groups[g] & highs; free != 0 {
			return g*perGroup + bits.TrailingZeros64(free)/8, false
		}
	}
}

// at is the id that a slot stands for.
func (m *marks) at(slot uint64) []byte {
	at := place(slot&placeMask) - 1
	b := m.ids[at>>bufferBits][at&(bufferSize-1):]
	n, used := binary.Uvarint(b)
	return b[used : used+int(n)]
}

// grow doubles the table. known are the bits of the hashes that the old slots have;
// only a table that needs more of them has to look at the ids.
func (m *marks) grow(seed maphash.Seed, known uint64) {
	old, tags := m.slots, m.groups
	n := max(minGroups, 2*len(tags))
	all := make([]uint64, n+n*perGroup)
	m.groups, m.slots = all[:n:n], all[n:]
	mask := n - 1
	for i, s := range old {
		tag := tags[i/perGroup] >> (8 * (i % perGroup)) & 0xff
		if tag == 0 {
			continue
		}
		low := s >> placeBits
		if uint64(mask) > known {
			low = maphash.Bytes(seed, m.at(s))
		}
		g := int(low) & mask
		for ^m.groups[g]&highs == 0 {
			g = (g + 1) & mask
		}
		free := bits.TrailingZeros64(^m.groups[g]&highs) / 8
		m.slots[g*perGroup+free] = s
		m.groups[g] |= tag << (8 * free)
	}
}

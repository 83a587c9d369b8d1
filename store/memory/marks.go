package memory

import (
	"encoding/binary"
	"hash/maphash"
)

// marks is the set of event ids that one execution has handled. It only grows,
// by one with every event, so it is made for that: the ids lie end to end in a few
// buffers, and a table of numbers finds them. There is next to nothing in it for the
// garbage collector to follow, and growing reads memory in order, where a map of
// strings would visit every string again.
type marks struct {
	ids   [][]byte // each id behind its length, in buffers that are filled one after the other
	slots []uint64 // open addressing: the low bits of the hash, and place+1; 0 is free
	n     int
}

// place says where an id is: the number of its buffer, and the offset in it.
type place uint64

const (
	bufferBits = 15 // a buffer has 32 KiB, or one id that is longer
	bufferSize = 1 << bufferBits
	placeBits  = 40 // a terabyte of ids
	placeMask  = 1<<placeBits - 1
	tagMask    = 1<<(64-placeBits) - 1
	minSlots   = 8
)

// has reports whether id was added.
func (m *marks) has(seed maphash.Seed, id string) bool {
	if m.n == 0 {
		return false
	}
	_, found := m.slot(maphash.String(seed, id), id)
	return found
}

// add marks an id.
func (m *marks) add(seed maphash.Seed, id string) {
	if 4*(m.n+1) > 3*len(m.slots) {
		m.grow(seed, tagMask)
	}
	hash := maphash.String(seed, id)
	at, found := m.slot(hash, id)
	if found {
		return
	}
	m.slots[at] = entryOf(hash, m.keep(id))
	m.n++
}

// keep puts id behind the others. What was kept is not moved again once it fills a
// buffer.
func (m *marks) keep(id string) place {
	size := len(id) + binary.MaxVarintLen64
	last := len(m.ids) - 1
	switch {
	case last < 0:
		m.ids = append(m.ids, nil) // grows with its ids: most executions have few
		last = 0
	case len(m.ids[last])+size > bufferSize:
		m.ids = append(m.ids, make([]byte, 0, max(bufferSize, size)))
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
func (m *marks) slot(hash uint64, id string) (at uint64, found bool) {
	mask := uint64(len(m.slots) - 1)
	for at = hash & mask; ; at = (at + 1) & mask {
		s := m.slots[at]
		if s == 0 {
			return at, false
		}
		if (s>>placeBits^hash)&tagMask == 0 && string(m.at(s)) == id {
			return at, true
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
	old := m.slots
	m.slots = make([]uint64, max(minSlots, 2*len(old)))
	mask := uint64(len(m.slots) - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		at := s >> placeBits
		if mask > known {
			at = maphash.Bytes(seed, m.at(s))
		}
		for at &= mask; m.slots[at] != 0; {
			at = (at + 1) & mask
		}
		m.slots[at] = s
	}
}

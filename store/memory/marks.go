package memory

import (
	"encoding/binary"
	"hash/maphash"
)

// marks is the set of event ids that one execution has handled. It only grows,
// by one with every event, so it is made for that: the ids lie end to end in one
// buffer, and a table of numbers finds them. There is nothing in it for the
// garbage collector to follow, and growing reads memory in order, where a map of
// strings would visit every string again.
type marks struct {
	ids   []byte   // each id behind its length
	slots []uint64 // open addressing: tag and offset+1; 0 is free
	n     int
}

const (
	offsetBits = 40 // a terabyte of ids
	offsetMask = 1<<offsetBits - 1
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
		m.grow(seed)
	}
	hash := maphash.String(seed, id)
	at, found := m.slot(hash, id)
	if found {
		return
	}
	m.slots[at] = entryOf(hash, len(m.ids))
	m.ids = binary.AppendUvarint(m.ids, uint64(len(id)))
	m.ids = append(m.ids, id...)
	m.n++
}

func entryOf(hash uint64, offset int) uint64 { return hash&^offsetMask | uint64(offset+1) }

// slot is where id is, or the free slot where it belongs.
func (m *marks) slot(hash uint64, id string) (at uint64, found bool) {
	mask := uint64(len(m.slots) - 1)
	for at = hash & mask; ; at = (at + 1) & mask {
		s := m.slots[at]
		if s == 0 {
			return at, false
		}
		if (s^hash)&^offsetMask == 0 {
			if got, _ := m.at(int(s&offsetMask) - 1); string(got) == id {
				return at, true
			}
		}
	}
}

// at is the id at an offset and the offset of the next.
func (m *marks) at(offset int) (id []byte, next int) {
	n, used := binary.Uvarint(m.ids[offset:])
	offset += used
	next = offset + int(n)
	return m.ids[offset:next], next
}

func (m *marks) grow(seed maphash.Seed) {
	m.slots = make([]uint64, max(minSlots, 2*len(m.slots)))
	mask := uint64(len(m.slots) - 1)
	for offset := 0; offset < len(m.ids); {
		id, next := m.at(offset)
		hash := maphash.Bytes(seed, id)
		at := hash & mask
		for m.slots[at] != 0 {
			at = (at + 1) & mask
		}
		m.slots[at] = entryOf(hash, offset)
		offset = next
	}
}

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
	slots []uint64 // open addressing: tag and place+1; 0 is free
	n     int
}

// place says where an id is: the number of its buffer, and the offset in it.
type place uint64

const (
	bufferBits = 15 // a buffer has 32 KiB, or one id that is longer
	bufferSize = 1 << bufferBits
	placeBits  = 40 // a terabyte of ids
	placeMask  = 1<<placeBits - 1
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

func entryOf(hash uint64, at place) uint64 { return hash&^placeMask | uint64(at+1) }

// slot is where id is, or the free slot where it belongs.
func (m *marks) slot(hash uint64, id string) (at uint64, found bool) {
	mask := uint64(len(m.slots) - 1)
	for at = hash & mask; ; at = (at + 1) & mask {
		s := m.slots[at]
		if s == 0 {
			return at, false
		}
		if (s^hash)&^placeMask == 0 {
			where := place(s&placeMask) - 1
			if got, _ := next(m.ids[where>>bufferBits][where&(bufferSize-1):]); string(got) == id {
				return at, true
			}
		}
	}
}

// next is the id at the start of b, and its size with the length before it.
func next(b []byte) (id []byte, size int) {
	n, used := binary.Uvarint(b)
	size = used + int(n)
	return b[used:size], size
}

func (m *marks) grow(seed maphash.Seed) {
	m.slots = make([]uint64, max(minSlots, 2*len(m.slots)))
	mask := uint64(len(m.slots) - 1)
	for k, buffer := range m.ids {
		for offset := 0; offset < len(buffer); {
			id, size := next(buffer[offset:])
			hash := maphash.Bytes(seed, id)
			at := hash & mask
			for m.slots[at] != 0 {
				at = (at + 1) & mask
			}
			m.slots[at] = entryOf(hash, place(k)<<bufferBits|place(offset))
			offset += size
		}
	}
}

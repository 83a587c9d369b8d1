package treeview

// chunkSize is how many bytes of text the arena takes at a time. Growing by
// chunks keeps what is there in place: a slice would be copied again and again,
// and hold up to a quarter more than it needs.
const chunkSize = 1 << 18

// arena keeps the texts of all nodes in few large pieces, so that a million of
// them are nothing the garbage collector has to walk.
type arena struct {
	chunks [][]byte
}

// place is where a text lies.
type place struct {
	chunk, off, n uint32
}

// put copies the parts, one after the other, and says where they lie.
func (a *arena) put(parts ...string) place {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	last := len(a.chunks) - 1
	if last < 0 || cap(a.chunks[last])-len(a.chunks[last]) < n {
		a.chunks = append(a.chunks, make([]byte, 0, max(chunkSize, n)))
		last++
	}
	at := place{uint32(last), uint32(len(a.chunks[last])), uint32(n)}
	for _, p := range parts {
		a.chunks[last] = append(a.chunks[last], p...)
	}
	return at
}

// get returns the bytes at a place. They are never changed.
func (a *arena) get(p place) []byte {
	return a.chunks[p.chunk][p.off : p.off+p.n]
}

package treeview

// The arena takes its text in chunks, each twice as large as the one before up
// to chunkSize bytes. What is there stays in place: a slice would be copied again
// and again, and hold up to a quarter more than it needs.
const (
	firstChunk = 1 << 10
	chunkSize  = 1 << 18
)

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
		size := firstChunk
		if last >= 0 {
			size = min(2*cap(a.chunks[last]), chunkSize)
		}
		a.chunks = append(a.chunks, make([]byte, 0, max(size, n)))
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

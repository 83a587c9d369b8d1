package treeview

// Span is what is known of a node's texts, as bytes that must not be changed. It
// is valid as long as anybody holds it.
type Span struct {
	ID, Title []byte
	Kind      string
	Known     bool // an entry came for it; otherwise only its id is there
}

// Span returns the texts of a node without copying them.
func (x *Index) Span(r Ref) Span {
	s := Span{ID: x.id(int32(r)), Title: x.title(int32(r)), Known: x.Known(r)}
	if s.Known {
		s.Kind = x.kinds[x.recs[r].kindNo]
	}
	return s
}

// ScanTitles calls yield with the titles of the nodes from one to another, that
// one excluded, until it returns false. Refs begin at 1 and end with
// [Index.Size]; both ends are cut to that. It returns where it stopped, so that a
// long scan can be done in pieces. The bytes must not be changed; nothing is
// allocated.
func (x *Index) ScanTitles(from, to Ref, yield func(r Ref, title []byte) bool) (next Ref) {
	from, to = max(from, 1), min(to, Ref(len(x.recs)))
	for r := from; r < to; r++ {
		if !yield(r, x.title(int32(r))) {
			return r + 1
		}
	}
	return max(from, to)
}

// Texts are the texts of an index as it was when they were taken. Any number of
// goroutines may read them while the index goes on growing.
type Texts struct {
	recs   []record
	chunks [][]byte
	kinds  []string
}

// Texts returns all texts as they are now. It costs a small part of a walk; the
// first change of a text that is there already costs a copy of the records, 20
// bytes a node.
func (x *Index) Texts() *Texts {
	x.lent = len(x.recs)
	return &Texts{recs: x.recs, chunks: append([][]byte(nil), x.texts.chunks...), kinds: x.kinds}
}

// Size is the number of nodes: refs go from 1 to Size.
func (t *Texts) Size() int { return len(t.recs) - 1 }

// Scan calls yield with the texts of the nodes from one to another, that one
// excluded, until it returns false. Both ends are cut to what there is.
func (t *Texts) Scan(from, to Ref, yield func(Ref, Span) bool) {
	for r := max(from, 1); r < min(to, Ref(len(t.recs))); r++ {
		rec := &t.recs[r]
		text := t.chunks[rec.at.chunk][rec.at.off : rec.at.off+rec.at.n]
		s := Span{ID: text[:rec.idLen], Title: text[rec.idLen:]}
		if s.Known = rec.kindNo != unknownKind; s.Known {
			s.Kind = t.kinds[rec.kindNo]
		}
		if !yield(r, s) {
			return
		}
	}
}

package foreign

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"treering/store"
)

// Bounds of the look at a file that finds its format. Where its first lines are longer
// than sniffBytes more of it is read, but never more than longBytes.
const (
	sniffLines = 20
	sniffBytes = 256 << 10
	longBytes  = 2*MaxLine + sniffBytes
)

// splitter is ReadLines or readElements.
type splitter func(ctx context.Context, f io.ReaderAt, file int32, from Position, visit func(Line) error) (Position, error)

// sniff finds the format of a file and what can be told of it. A file that is in
// another format than before is read anew.
func (r *LineReader) sniff(f *lineFile) error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	head := make([]byte, sniffBytes)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	text := bytes.TrimPrefix(head[:n], []byte(byteOrderMark))
	list, before := listIn(text)
	if line, _, ended := bytes.Cut(text, []byte("\n")); list > 0 && ended && !whole(string(line)) {
		before = true
	}
	from := list + int64(n-len(text))
	if before { // its elements may be on lines of their own, but these are none
		if known, err := r.recognise(f, file, readElements, from); known || err != nil {
			return err
		}
	}
	if known, err := r.recognise(f, file, ReadLines, 0); known || err != nil || before || list == 0 {
		return err
	}
	_, err = r.recognise(f, file, readElements, from)
	return err
}

// recognise finds the format of a file by the objects that it begins with, behind an
// offset.
func (r *LineReader) recognise(f *lineFile, file io.ReaderAt, split splitter, from int64) (known bool, err error) {
	f.format, f.list = nil, 0
	for _, bound := range []int64{sniffBytes, longBytes} {
		first, err := r.firstObjects(io.NewSectionReader(file, 0, bound), split, from)
		if err != nil {
			return false, err
		}
		for _, format := range r.formats {
			if format.Sniff(first) {
				f.format, f.list, f.head = format, from, format.Head(f.path, first)
				if f.begins = (Links{}); format.Linked != nil {
					f.begins = format.Linked(first)
				}
				return true, nil
			}
		}
		if n, _ := file.ReadAt(make([]byte, 1), bound); n == 0 || len(first) >= sniffLines {
			break // there is no more of it, or it would say no more
		}
	}
	return false, nil
}

// firstObjects reads the objects that a file begins with, behind an offset; those that
// any format takes for records in lines that are damaged.
func (r *LineReader) firstObjects(f io.ReaderAt, split splitter, from int64) ([]store.JSON, error) {
	record := func(j store.JSON) bool {
		return slices.ContainsFunc(r.formats, func(f *LineFormat) bool { return f.Record(j) })
	}
	var first []store.JSON
	enough := errors.New("enough")
	_, err := split(context.Background(), f, 0, Position{Offset: from}, func(l Line) error {
		found, _ := Objects(string(l.Text), record)
		for _, o := range found {
			first = append(first, o.JSON)
		}
		if len(first) >= sniffLines {
			return enough
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		return nil, err
	}
	return first[:min(len(first), sniffLines)], nil
}

// lastBytes is how much of the end of a file is looked at for the name of its session.
const lastBytes = 16 << 10

// lastObjects reads the objects in the whole lines that a file ends with.
func (r *LineReader) lastObjects(path string, size int64) (last []store.JSON, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	text := make([]byte, min(size, lastBytes))
	n, err := f.ReadAt(text, size-int64(len(text)))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for line := range bytes.SplitSeq(text[:n], []byte("\n")) {
		if !bytes.HasPrefix(line, []byte("{")) {
			continue // the end of one, or what is no object
		}
		if j, err := store.ParseJSON(string(line)); err == nil && j.Kind() == store.Object {
			last = append(last, j)
		}
	}
	return last, nil
}

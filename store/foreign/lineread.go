package foreign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"treering/store"
)

// lineState is how far a file was read, and what reads it.
type lineState struct {
	path    string
	format  *LineFormat
	list    int64 // where the list is that the records are the elements of; 0: they are lines
	scanner LineScanner
	seed    maphash.Seed
	at      Position
	seen    os.FileInfo // which file it was
	tail    string      // what stood before at, see tailOf
	unread  Report      // lines that are no records
	held    string      // what was said of the rest behind at
}

// Read implements [Reader]. It goes on where it stopped, unless the file is another
// now, or shorter.
func (r *LineReader) Read(ctx context.Context, h Head, g *Growth) error {
	format, list := r.formatOf(h.Path)
	if format == nil {
		return &store.NotFoundError{What: "session", ID: h.ID}
	}
	file, err := os.Open(h.Path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	s, _ := g.State.(*lineState)
	if s != nil && (s.path != h.Path || s.format != format || s.list != list || !os.SameFile(s.seen, info)) {
		s = nil
	}
	if s != nil {
		tail, err := tailOf(file, s.at.Offset)
		if err != nil {
			return err
		}
		if tail != s.tail {
			s = nil
		}
	}
	begins := s == nil
	if begins {
		g.Restart(BuildOptions{Source: format.Name, Path: h.Path, Chain: format.Chain, Described: true})
		s = &lineState{path: h.Path, format: format, list: list, at: Position{Offset: list}, scanner: format.New(h.Path, g.Tree()), seed: maphash.MakeSeed()}
		g.State, g.Elsewhere = s, r.titlesElsewhere
	}
	s.seen = info
	before := s.at
	err = s.read(ctx, file, info.Size(), g)
	tail, terr := tailOf(file, s.at.Offset)
	if terr != nil {
		g.State = nil // it begins anew
		return errors.Join(err, terr)
	}
	s.tail = tail
	rest, rerr := s.rest(file, info.Size())
	if !begins && time.Since(info.ModTime()) < writing {
		rest = "" // its writer is at work, and done soon
	}
	if err = errors.Join(err, rerr); err != nil {
		// What was taken in is taken in: the next reading goes on behind it.
		return err
	}
	if !begins && s.at == before && g.whole && rest == s.held {
		return nil
	}
	s.held = rest
	// To know what is a branch and what is none it marks records that others read.
	var about About
	g.Update(s.at.Offset, info.Size(), func() { about = s.scanner.About() })
	about.Report = about.Report.Clone()
	about.Report.Unreadable += s.unread.Unreadable
	for _, w := range s.unread.Warnings {
		about.Report.Warn(w)
	}
	about.Report.Dropped += s.unread.Dropped
	if rest != "" {
		about.Report.Unreadable++
		about.Report.Warn(Warning{Place: Place{Offset: s.at.Offset, Length: info.Size() - s.at.Offset, Line: s.at.Line + 1}, Text: rest})
	}
	g.Finish(about)
	return nil
}

// writing is how long after it was written last a file that grew may end with half a
// line, and nothing is said of that.
const writing = 10 * time.Second

// rest says what a file ends with that is no whole line, "" where there is nothing. It
// may be one soon.
func (s *lineState) rest(f io.ReaderAt, size int64) (string, error) {
	n := size - s.at.Offset
	if n <= 0 || s.list > 0 && s.at.Open {
		return "", nil
	}
	begin := make([]byte, min(n, tailBytes))
	if _, err := f.ReadAt(begin, s.at.Offset); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	switch {
	case len(bytes.Trim(begin, blanks)) == 0:
		return "", nil
	case len(bytes.Trim(begin, blanks+"\x00")) == 0:
		return fmt.Sprintf("%d bytes at the end, zero as far as was looked", n), nil
	}
	return fmt.Sprintf("the %d bytes at the end are no whole line: cut off, or still written", n), nil
}

// A file is read in pieces: one is read while others are parsed and the one before is
// taken in. The first is small, so that something can be shown at once.
const (
	firstPiece = 32 << 10
	pieceBytes = 512 << 10
	pieceLines = 1024

	// headStart is how long a long file waits after its first piece. Reading takes all
	// processors there are, and whoever shows that piece needs one.
	headStart = 30 * time.Millisecond
	longFile  = 16 << 20
)

// piece is some whole lines of a file.
type piece struct {
	text   strings.Builder
	lines  []Line // without their texts
	ends   []int  // of those, in text
	at     Position
	parsed chan struct{}
	found  [][]Object
	sums   []uint64 // by object
	bad    []bool
}

// read takes in what the file has behind the place to which it was read.
func (s *lineState) read(ctx context.Context, f io.ReaderAt, size int64, g *Growth) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	pieces := make(chan *piece, runtime.GOMAXPROCS(0))
	failed := make(chan error, 1)
	go func() {
		defer close(pieces)
		failed <- s.split(ctx, f, size, pieces)
	}()
	begun := s.at.Offset == 0
	for p := range pieces {
		<-p.parsed
		g.Update(p.at.Offset, size, func() {
			s.take(p)
			if done := p.at.Offset; begun && done >= pieceBytes {
				// Growing by and by would copy it all again and again.
				begun = false
				each := max(done/max(p.at.Line, 1), 32)
				g.Tree().Expect(int(min(size/each+size/each/16, 1<<26)))
			}
		})
		s.at = p.at
	}
	return <-failed
}

// split cuts the file into pieces and has them parsed.
func (s *lineState) split(ctx context.Context, f io.ReaderAt, size int64, to chan<- *piece) error {
	var p *piece
	bound := firstPiece
	var rest *time.Timer
	if size-s.at.Offset >= longFile {
		rest = time.NewTimer(headStart)
		defer rest.Stop()
	}
	send := func(at Position) error {
		p.at, p.parsed = at, make(chan struct{})
		go p.parse(s.format, s.seed)
		select {
		case to <- p:
			p, bound = nil, pieceBytes
		case <-ctx.Done():
			return ctx.Err()
		}
		if rest == nil {
			return nil
		}
		select {
		case <-rest.C:
			rest = nil
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	lines := ReadLines
	if s.list > 0 {
		lines = readElements
	}
	at, err := lines(ctx, f, 0, s.at, func(l Line) error {
		if p == nil {
			p = &piece{}
		}
		p.text.Write(l.Text)
		l.Text, l.Begin, l.End = nil, bytes.Clone(l.Begin), bytes.Clone(l.End)
		p.lines, p.ends = append(p.lines, l), append(p.ends, p.text.Len())
		if p.text.Len() < bound && len(p.lines) < pieceLines {
			return nil
		}
		return send(l.After)
	})
	if err != nil {
		return err
	}
	if p == nil {
		p = &piece{}
	}
	return send(at)
}

// parse finds the objects in the lines.
func (p *piece) parse(format *LineFormat, seed maphash.Seed) {
	defer close(p.parsed)
	text := p.text.String()
	p.found, p.bad = make([][]Object, len(p.lines)), make([]bool, len(p.lines))
	from := 0
	for i, end := range p.ends {
		p.found[i], p.bad[i] = Objects(text[from:end], format.Record)
		for _, o := range p.found[i] {
			p.sums = append(p.sums, maphash.String(seed, string(o.JSON)))
		}
		from = end
	}
}

// take hands the records of a piece on.
func (s *lineState) take(p *piece) {
	sums := p.sums
	for i, l := range p.lines {
		if l.TooLong {
			s.scanner.Add(Entry{Known: edges(l.Begin, l.End), Place: l.Place, Sum: uint64(l.Place.Offset)})
			s.unread.Warn(Warning{Place: l.Place, Text: fmt.Sprintf("a line of %d MB is not loaded", l.Place.Length>>20)})
			continue
		}
		if l.Zeros {
			s.unread.Unreadable++
			s.unread.Warn(Warning{Place: l.Place, Text: fmt.Sprintf("%d bytes, all of them zero", l.Place.Length)})
			continue
		}
		if l.Mended {
			s.unread.Warn(Warning{Place: l.Place, Text: "bytes that are no UTF-8 are shown as U+FFFD"})
		}
		for part, o := range p.found[i] {
			at := l.Place
			at.Part = int32(part)
			s.scanner.Add(Entry{JSON: o.JSON, Place: at, Sum: sums[0]})
			sums = sums[1:]
		}
		if p.bad[i] {
			s.unread.Unreadable++
			what := "not a JSON object"
			switch n := len(p.found[i]); n {
			case 0:
			case 1:
				what = "damaged: one record was found in it"
			default:
				what = fmt.Sprintf("damaged: %d records were found in it", n)
			}
			s.unread.Warn(Warning{Place: l.Place, Text: what})
		}
	}
}

// Body implements [Reader].
func (r *LineReader) Body(ctx context.Context, h Head, rec *Record) (body store.JSON, err error) {
	err = r.Bodies(ctx, h, []*Record{rec}, func(_ int, j store.JSON) error {
		if body = j; j == "" {
			return store.ErrSourceChanged
		}
		return nil
	})
	return body, err
}

// Records whose lines are not further apart than gapBytes are read at once, as long as
// that is no more than spanBytes.
const (
	gapBytes  = 16 << 10
	spanBytes = 1 << 20
)

// Bodies implements [Describer].
func (r *LineReader) Bodies(ctx context.Context, h Head, recs []*Record, visit func(i int, body store.JSON) error) error {
	if len(recs) == 0 {
		return nil
	}
	format, _ := r.formatOf(h.Path)
	if format == nil {
		return &store.NotFoundError{What: "session", ID: h.ID}
	}
	file, err := os.Open(h.Path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	for i := 0; i < len(recs); {
		if err := ctx.Err(); err != nil {
			return err
		}
		from, end := recs[i].Place.Offset, recs[i].Place.Offset+recs[i].Place.Length
		n := 1
		for ; i+n < len(recs); n++ {
			p := recs[i+n].Place
			if p.Offset < from || p.Offset > end+gapBytes || max(end, p.Offset+p.Length)-from > spanBytes {
				break
			}
			end = max(end, p.Offset+p.Length)
		}
		text := make([]byte, end-from)
		got, err := file.ReadAt(text, from)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		text = text[:got]
		var found []Object // in the line at offset
		offset := int64(-1)
		for ; n > 0; n-- {
			p := recs[i].Place
			if p.Offset != offset {
				offset, found = p.Offset, nil
				if p.Offset-from+p.Length <= int64(len(text)) {
					clean, _ := Clean(text[p.Offset-from:][:p.Length], p.Offset == 0)
					found, _ = Objects(string(clean), format.Record)
				}
			}
			body := objectAt(found, p, format)
			if err := visit(i, body); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

// objectAt is the object at a place among those of its line, "" where there is none.
func objectAt(found []Object, p Place, format *LineFormat) store.JSON {
	switch {
	case int(p.Part) >= len(found):
		return ""
	case format.Withhold != nil:
		return format.Withhold(found[p.Part].JSON)
	}
	return found[p.Part].JSON
}

// Describe implements [Describer].
func (r *LineReader) Describe(h Head, rec *Record, body store.JSON) {
	if format, _ := r.formatOf(h.Path); format != nil {
		format.Describe(rec, body)
	}
}

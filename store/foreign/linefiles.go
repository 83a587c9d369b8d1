package foreign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"treering/store"
)

// LineFormat is a format of which every line is a JSON object and every file a
// session.
type LineFormat struct {
	Name string
	// Sniff says whether a file that begins with these objects is of the format.
	Sniff func(first []store.JSON) bool
	// Head tells what can be told of a session from its name and its first objects:
	// ID, Kind, Title and Project.
	Head func(path string, first []store.JSON) Head
	// Called is what the last objects of a file name the session, "" where they do not;
	// nil where such a name stands nowhere else than Head looks.
	Called func(last []store.JSON) string
	// Linked takes from the first or the last objects of a file what joins it to others; nil
	// where files stand alone.
	Linked func(objects []store.JSON) Links
	// New makes a scanner for one file, which adds its records to a tree.
	New func(path string, t *Tree) LineScanner
	// Record says whether an object that was found in a damaged line is a record.
	Record func(store.JSON) bool
	// Describe sets what lists show of a record: its kind, title, role, time, and the
	// flags that go with them. Nothing of it was kept.
	Describe func(rec *Record, body store.JSON)
	// Withhold takes what is secret out of a record; nil where no record holds any.
	Withhold func(body store.JSON) store.JSON
	// Chain is [BuildOptions.Chain].
	Chain bool
}

// LineScanner takes the objects of one file in their order.
type LineScanner interface {
	// Add takes one object. It keeps nothing of it that it does not need: bodies are
	// read again when they are shown.
	Add(Entry)
	// About is what is known of the session now. The scanner goes on afterwards and must
	// not change what it has returned. Unreadable lines are counted by the caller. Like Add it is
	// called while nobody reads the tree, and may mark what is in it.
	About() About
}

// Links join files: one may hold the title of the session in another.
type Links struct {
	IDs    []string          // of records, as they are in the file
	Titles map[string]string // of sessions, by the id of a record that each has
}

// Entry is an object in a file.
type Entry struct {
	JSON  store.JSON // "" for a line that is too long to be loaded
	Known store.JSON // of such a line, the members that it begins and ends with
	Place Place
	Sum   uint64 // tells two objects apart
}

// Record is the node for an entry.
func (e Entry) Record(id string) Record {
	rec := Record{ID: id, Place: e.Place, Sum: e.Sum}
	if e.JSON == "" {
		rec.Flags = TooLong
	}
	return rec
}

// LineID is the id of a record that has none: the number of its line.
func LineID(p Place) string {
	id := "line-" + strconv.FormatInt(p.Line, 10)
	if p.Part > 0 {
		id += "." + strconv.Itoa(int(p.Part))
	}
	return id
}

// LineReader reads files of lines.
type LineReader struct {
	find    func(ctx context.Context) ([]string, error) // the files, as of now
	formats []*LineFormat
	root    string // the folder that find looks into, "" where it looks into none
	watch   watch

	mu    sync.Mutex
	files map[string]*lineFile
	left  Left
	// titles are those of [Links], of all files.
	titles atomic.Pointer[map[string]string]
}

// Left is what a look at a source left out.
type Left struct {
	Unknown []string // files of no known format
	Shut    []error  // files and folders that cannot be read, each named by its error
}

// lineFile is what is known of one file.
type lineFile struct {
	path   string
	size   int64
	stamp  string // changes with the file
	inode  string
	format *LineFormat // nil: none knows it
	list   int64       // behind the bracket of the list that its records are in; 0: they are lines
	head   Head
	named  string // what it was called last by what it ended with, see LineFormat.Called
	begins Links  // of its first objects
	ends   Links  // of its last ones
	begin  string // what the file began with, see tailOf
	begun  int64  // so many bytes of it
}

var (
	_ Reader    = (*LineReader)(nil)
	_ Stamper   = (*LineReader)(nil)
	_ Describer = (*LineReader)(nil)
	_ Waiter    = (*LineReader)(nil)
)

// ErrFormat is a file of lines that no format knows.
var ErrFormat = errors.New("not in a format of session files that is known here")

// NewLineReader reads the files that find names, each in the format of formats that
// it begins like; others are left out. find is called often.
func NewLineReader(find func(ctx context.Context) ([]string, error), formats []*LineFormat) *LineReader {
	return &LineReader{find: find, formats: formats, files: map[string]*lineFile{}}
}

// NewFolderReader reads the files below a folder whose names end so, as NewLineReader
// does.
func NewFolderReader(dir, suffix string, formats []*LineFormat) *LineReader {
	r := NewLineReader(FilesBelow(dir, suffix), formats)
	r.root = dir
	return r
}

// OneFile finds one file, whether it is there or not.
func OneFile(path string) func(context.Context) ([]string, error) {
	return func(context.Context) ([]string, error) { return []string{path}, nil }
}

// stampOf tells one state of a file from another.
func stampOf(info os.FileInfo) string {
	return fmt.Sprintf("%d.%d.%s", info.Size(), info.ModTime().UnixNano(), identity(info))
}

// Token implements [Reader].
func (r *LineReader) Token(ctx context.Context) (string, error) {
	paths, err := r.find(ctx)
	if err != nil {
		return "", err
	}
	h := newSum()
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			h.add(p, err.Error())
			continue
		}
		h.add(p, stampOf(info))
	}
	return h.String(), nil
}

// Stamp implements [Stamper].
func (r *LineReader) Stamp(ctx context.Context, h Head) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	info, err := os.Stat(h.Path)
	if err != nil {
		return "", err
	}
	return stampOf(info), nil
}

// Sessions implements [Reader]: the sessions that were written last come first.
func (r *LineReader) Sessions(ctx context.Context) ([]Head, error) {
	paths, err := r.find(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	there := make(map[string]bool, len(paths))
	var heads []Head
	var failed error
	r.left = Left{}
	for _, p := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := r.look(p)
		if errors.Is(err, fs.ErrNotExist) {
			if !isLink(p) {
				continue // it went away meanwhile
			}
			err = fmt.Errorf("%q: the link leads nowhere", p)
		}
		there[p] = true
		if err != nil {
			if errors.Is(err, ErrFormat) {
				r.left.Unknown = append(r.left.Unknown, p)
			} else {
				r.left.Shut = append(r.left.Shut, err)
			}
			failed = err
			continue
		}
		heads = append(heads, f.head)
	}
	for p := range r.files {
		if !there[p] {
			delete(r.files, p)
		}
	}
	if len(heads) == 0 && failed != nil {
		return nil, failed
	}
	r.entitle(heads)
	taken := make(map[string]bool, len(heads))
	for i := range heads {
		id := heads[i].ID
		for n := 2; taken[heads[i].ID]; n++ {
			heads[i].ID = fmt.Sprintf("%s#%d", id, n) // a copy of a session is a session, and keeps its name whichever was written last
		}
		taken[heads[i].ID] = true
	}
	slices.SortStableFunc(heads, func(a, b Head) int {
		switch {
		case a.Updated > b.Updated:
			return -1
		case a.Updated < b.Updated:
			return 1
		}
		return strings.Compare(a.Path, b.Path)
	})
	return heads, nil
}

// entitle gives sessions the titles that other files hold for them, where they have none of their
// own: a prompt is none. Only the ends of files are looked at, as for every other title of a list.
// The lock is held.
func (r *LineReader) entitle(heads []Head) {
	titles := map[string]string{}
	for i := len(heads) - 1; i >= 0; i-- { // the order of find, as far as titles contradict each other
		f := r.files[heads[i].Path]
		maps.Copy(titles, f.begins.Titles)
		maps.Copy(titles, f.ends.Titles)
	}
	r.titles.Store(&titles) // and not changed any more
	if len(titles) == 0 {
		return
	}
	for i := range heads {
		f := r.files[heads[i].Path]
		if f.named != "" || heads[i].Named {
			continue
		}
		for _, ids := range [][]string{f.begins.IDs, f.ends.IDs} { // the last one wins
			for _, id := range ids {
				if title, ok := titles[id]; ok {
					heads[i].Title = title
				}
			}
		}
	}
}

// titlesElsewhere are the titles that files hold for others.
func (r *LineReader) titlesElsewhere() map[string]string {
	if titles := r.titles.Load(); titles != nil {
		return *titles
	}
	return nil
}

// Left is what was left out at the last look. It is not changed afterwards.
func (r *LineReader) Left() Left {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left
}

// look brings what is known of a file up to date, reading no more than its beginning.
// The lock is held.
func (r *LineReader) look(path string) (*lineFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() { // it could not be read a moment ago
		if _, err := os.ReadDir(path); err != nil {
			return nil, err
		}
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q: %w", path, ErrFormat)
	}
	f := r.files[path]
	if f == nil {
		f = &lineFile{path: path}
		r.files[path] = f
	}
	stamp := stampOf(info)
	if f.stamp == stamp {
		if f.format == nil {
			return nil, fmt.Errorf("%q: %w", path, ErrFormat)
		}
		return f, nil
	}
	if f.format == nil && f.size > longBytes && info.Size() >= f.size && f.inode == identity(info) {
		// It was looked at as far as it ever will be.
		f.stamp, f.size = stamp, info.Size()
		return nil, fmt.Errorf("%q: %w", path, ErrFormat)
	}
	// What is told of a session may come after the first prompt; and the file may be
	// another now, or have been written anew under its name.
	same := f.format != nil && info.Size() >= f.size && f.inode == identity(info)
	if same {
		if same, err = f.beginsAsBefore(); err != nil {
			return nil, err
		}
	}
	if !same || f.size < sniffBytes {
		if err := r.sniff(f); err != nil {
			return nil, err
		}
	}
	if !same {
		f.begun = min(info.Size(), tailBytes)
		if f.begin, err = tailOfPath(path, f.begun); err != nil {
			return nil, err
		}
	}
	if !same {
		f.named, f.ends = "", Links{}
	}
	if f.format != nil && f.format.Called != nil && !f.head.Named {
		last, err := r.lastObjects(path, info.Size())
		if err != nil {
			return nil, err
		}
		f.named = cmp.Or(f.format.Called(last), f.named)
		if f.format.Linked != nil {
			f.ends = f.format.Linked(last)
		}
		f.head.Title = cmp.Or(f.named, f.head.Title)
	}
	f.stamp, f.size, f.inode = stamp, info.Size(), identity(info)
	if f.format == nil {
		return nil, fmt.Errorf("%q: %w", path, ErrFormat)
	}
	f.head.Path, f.head.Size = path, info.Size()
	f.head.Updated = float64(info.ModTime().UnixMilli()) / 1000
	return f, nil
}

// tailBytes is how much of a file is compared to know whether it is still the same one.
// Programs that write a session anew do it under the same name, and often in the same
// file, which may have grown as well.
const tailBytes = 4 << 10

// tailOf is a sum of what stands before an offset. Where the file is shorter it is
// empty.
func tailOf(f io.ReaderAt, offset int64) (string, error) {
	b := make([]byte, min(offset, tailBytes))
	switch _, err := f.ReadAt(b, offset-int64(len(b))); {
	case errors.Is(err, io.EOF):
		return "", nil
	case err != nil:
		return "", err
	}
	s := newSum()
	s.add(string(b))
	return s.String(), nil
}

func tailOfPath(path string, offset int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return tailOf(f, offset)
}

// beginsAsBefore reports whether the file still begins with what it began with when it
// was looked at.
func (f *lineFile) beginsAsBefore() (bool, error) {
	begin, err := tailOfPath(f.path, f.begun)
	return begin == f.begin, err
}

// FormatOf is the name of the format that the file of a session is in, "" for one that
// is not known.
func (r *LineReader) FormatOf(h Head) string {
	if f, _ := r.formatOf(h.Path); f != nil {
		return f.Name
	}
	return ""
}

func (r *LineReader) formatOf(path string) (format *LineFormat, list int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.files[path]; f != nil {
		return f.format, f.list
	}
	return nil, 0
}

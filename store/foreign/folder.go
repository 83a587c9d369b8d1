package foreign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"treering/store"
)

// maxTables is how many databases of a folder are open at once; others are told to be
// left out.
const maxTables = 64

// Folder reads all sessions below a folder: those in files of lines and those in
// databases.
type Folder struct {
	lines *LineReader
	find  func(ctx context.Context) ([]string, error)
	open  func(ctx context.Context, path string) (Reader, error)

	mu     sync.Mutex
	tables map[string]*tables
	left   Left
}

// tables is one database.
type tables struct {
	r     Reader // nil: it is none of a known format
	stamp string // when it was found to be none, of the file
	err   error
}

var (
	_ Reader    = (*Folder)(nil)
	_ Stamper   = (*Folder)(nil)
	_ Describer = (*Folder)(nil)
	_ Waiter    = (*Folder)(nil)
)

// NewFolder returns a reader of the sessions that lines reads and of those in the
// databases that find names. open opens one of them; it returns nil for one of no known
// format. Closing closes them all.
func NewFolder(lines *LineReader, find func(ctx context.Context) ([]string, error), open func(ctx context.Context, path string) (Reader, error)) *Folder {
	return &Folder{lines: lines, find: find, open: open, tables: map[string]*tables{}}
}

// look brings the databases up to date. The lock is held.
func (f *Folder) look(ctx context.Context) (paths []string, err error) {
	found, err := f.find(ctx)
	if err != nil {
		return nil, err
	}
	there := make(map[string]bool, len(found))
	f.left = Left{}
	open := 0
	for _, p := range found {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if info, err := os.Stat(p); err == nil && info.IsDir() {
			continue // it could not be read, which the reader of lines tells
		}
		there[p] = true
		t, known := f.tables[p]
		if !known || t.r == nil {
			if t, err = f.tableOf(ctx, p, t, open < maxTables); err != nil {
				return nil, err
			}
			f.tables[p] = t
		}
		switch {
		case t.err != nil:
			f.left.Shut = append(f.left.Shut, t.err)
		case t.r == nil:
			f.left.Unknown = append(f.left.Unknown, p)
		default:
			open++
			paths = append(paths, p)
		}
	}
	for p, t := range f.tables {
		if there[p] {
			continue
		}
		delete(f.tables, p)
		if t.r != nil {
			err = errors.Join(err, t.r.Close())
		}
	}
	return paths, err
}

// tableOf looks at a file that is not open, if it is not as it was. Its error is the
// context's.
func (f *Folder) tableOf(ctx context.Context, path string, was *tables, more bool) (*tables, error) {
	info, err := os.Stat(path)
	if err != nil {
		return &tables{err: err}, nil
	}
	stamp := stampOf(info)
	if was != nil && was.err == nil && was.stamp == stamp {
		return was, nil
	}
	if !more {
		return &tables{err: fmt.Errorf("%q: no more than %d databases are open at once; open it by itself", path, maxTables)}, nil
	}
	r, err := f.open(ctx, path)
	if ctx.Err() != nil {
		if r != nil {
			err = errors.Join(err, r.Close())
		}
		return nil, errors.Join(ctx.Err(), err)
	}
	return &tables{r: r, stamp: stamp, err: err}, nil
}

// Token implements [Reader].
func (f *Folder) Token(ctx context.Context) (string, error) {
	token, err := f.lines.Token(ctx)
	if err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	paths, err := f.look(ctx)
	if err != nil {
		return "", err
	}
	h := newSum()
	h.add(token)
	for _, p := range paths {
		token, err := f.tables[p].r.Token(ctx)
		if err != nil {
			token = err.Error()
		}
		h.add(p, token)
	}
	return h.String(), ctx.Err()
}

// Sessions implements [Reader]: the sessions that were written last come first.
func (f *Folder) Sessions(ctx context.Context) ([]Head, error) {
	heads, lerr := f.lines.Sessions(ctx)
	if lerr != nil && ctx.Err() != nil {
		return nil, lerr
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	paths, err := f.look(ctx)
	if err != nil {
		return nil, err
	}
	taken := make(map[string]bool, len(heads))
	for _, h := range heads {
		taken[h.ID] = true
	}
	for _, p := range paths {
		some, err := f.tables[p].r.Sessions(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			f.left.Shut = append(f.left.Shut, fmt.Errorf("%q: %w", p, err))
			continue
		}
		for _, h := range some {
			h.Part = h.ID + "\x00" + h.Part // what the reader calls it
			for id, n := h.ID, 2; taken[h.ID]; n++ {
				h.ID = fmt.Sprintf("%s#%d", id, n)
			}
			taken[h.ID] = true
			h.Path = p
			heads = append(heads, h)
		}
	}
	if len(heads) == 0 && lerr != nil {
		return nil, lerr
	}
	slices.SortStableFunc(heads, func(a, b Head) int {
		switch {
		case a.Updated > b.Updated:
			return -1
		case a.Updated < b.Updated:
			return 1
		}
		return 0
	})
	return heads, nil
}

// Left is what was left out at the last look.
func (f *Folder) Left() Left {
	l := f.lines.Left()
	f.mu.Lock()
	defer f.mu.Unlock()
	return Left{slices.Concat(l.Unknown, f.left.Unknown), slices.Concat(l.Shut, f.left.Shut)}
}

// of is the reader of a session, and what that calls it.
func (f *Folder) of(h Head) (Reader, Head, error) {
	id, part, ok := strings.Cut(h.Part, "\x00")
	if !ok {
		return f.lines, h, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tables[h.Path]
	if t == nil || t.r == nil {
		return nil, h, &store.NotFoundError{What: "session", ID: h.ID}
	}
	h.ID, h.Part = id, part
	return t.r, h, nil
}

// Stamp implements [Stamper].
func (f *Folder) Stamp(ctx context.Context, h Head) (string, error) {
	r, own, err := f.of(h)
	if err != nil {
		return "", err
	}
	if s, ok := r.(Stamper); ok {
		return s.Stamp(ctx, own)
	}
	return r.Token(ctx)
}

// Read implements [Reader].
func (f *Folder) Read(ctx context.Context, h Head, g *Growth) error {
	r, h, err := f.of(h)
	if err != nil {
		return err
	}
	return r.Read(ctx, h, g)
}

// Body implements [Reader].
func (f *Folder) Body(ctx context.Context, h Head, rec *Record) (store.JSON, error) {
	r, h, err := f.of(h)
	if err != nil {
		return "", err
	}
	return r.Body(ctx, h, rec)
}

// Bodies implements [Describer].
func (f *Folder) Bodies(ctx context.Context, h Head, recs []*Record, visit func(i int, body store.JSON) error) error {
	r, h, err := f.of(h)
	if err != nil {
		return err
	}
	if d, ok := r.(Describer); ok {
		return d.Bodies(ctx, h, recs, visit)
	}
	for i, rec := range recs {
		body, err := r.Body(ctx, h, rec)
		if err == nil {
			err = visit(i, body)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Describe implements [Describer].
func (f *Folder) Describe(h Head, rec *Record, body store.JSON) {
	if r, h, err := f.of(h); err == nil {
		if d, ok := r.(Describer); ok {
			d.Describe(h, rec, body)
		}
	}
}

// folders are those in which something may happen.
func (f *Folder) folders(ctx context.Context) ([]string, error) {
	folders, err := f.lines.folders(ctx)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for p := range f.tables {
		folders = append(folders, folderOf(p))
	}
	slices.Sort(folders)
	return slices.Compact(folders), nil
}

// Wait implements [Waiter].
func (f *Folder) Wait(ctx context.Context, token string) (string, error) {
	return f.lines.watch.wait(ctx, token, f.folders, f.Token)
}

// Noticing implements [Waiter].
func (f *Folder) Noticing() string { return f.lines.watch.noticing(f.folders) }

// Identity implements [Waiter].
func (f *Folder) Identity(ctx context.Context) (string, error) { return f.lines.Identity(ctx) }

// Close implements [Reader].
func (f *Folder) Close() error {
	err := f.lines.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for p, t := range f.tables {
		if t.r != nil {
			err = errors.Join(err, t.r.Close())
		}
		delete(f.tables, p)
	}
	return err
}

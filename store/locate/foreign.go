package locate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	zombie "zombiezen.com/go/sqlite"

	"treering/store"
	"treering/store/foreign"
	"treering/store/foreign/claude"
	"treering/store/foreign/codex"
	"treering/store/foreign/contree"
	"treering/store/foreign/langgraph"
	"treering/store/foreign/pi"
	"treering/store/foreign/shape"
	"treering/store/sqlite"
)

// whyForeign is why a store that another program writes is open as it is.
const whyForeign = "another program writes it; treering import copies it into a store of its own"

// lineFormats are the formats of files of lines that are read. Programs share no
// format, so their order means nothing.
func lineFormats() []*foreign.LineFormat {
	return []*foreign.LineFormat{pi.Format(), claude.Format(), codex.Format()}
}

// fileFormats are those and, last, what is recognised by what is left of it or by its
// shape alone. In a folder that would take in files that are no sessions.
func fileFormats() []*foreign.LineFormat {
	guess := shape.Format()
	sniff := guess.Sniff
	guess.Sniff = func(first []store.JSON) bool {
		for _, j := range first {
			if foreignLine(j) != "" {
				return false // it is known, and not read
			}
		}
		return sniff(first)
	}
	return append(lineFormats(), pi.Headerless(), guess)
}

// tableFormats are the databases that are read. The first that knows the tables wins.
func tableFormats() []tableFormat {
	return []tableFormat{
		{"contree", contree.Detect, func(db foreign.Database) foreign.Reader { return contree.New(db) }},
		{"langgraph", langgraph.Detect, func(db foreign.Database) foreign.Reader { return langgraph.New(db) }},
	}
}

type tableFormat struct {
	name   string
	detect func(foreign.Columns) bool
	open   func(foreign.Database) foreign.Reader
}

// foreignStore is the opened store of a reader. The reader is closed with it.
func foreignStore(t target, backend, how string, r foreign.Reader) (*Opened, error) {
	path, err := filepath.Abs(t.path)
	if err != nil {
		path = t.path
	}
	s := foreign.NewStore(r, path)
	return &Opened{
		Trees: s, Watcher: s, Foreign: s, close: s.Close,
		Info: Info{Locator: t.shown, Backend: backend, Name: filepath.Base(path), Path: path, Foreign: true, How: how, Why: whyForeign, TreeTables: true},
	}, nil
}

// refuseWriting refuses what would arm writing.
func refuseWriting(t target, what string, o Options) error {
	if !o.ReadWrite || o.ReadOnly {
		return nil
	}
	return &LocatorError{t.shown, fmt.Sprintf("it is %s, which is open read-only whatever is asked: %s", what, whyForeign), store.ErrReadOnly}
}

// openLines opens a file of lines. Its error is foreign.ErrFormat for one that no
// format knows.
func openLines(ctx context.Context, t target, o Options) (*Opened, error) {
	path, err := filepath.Abs(t.path)
	if err != nil {
		return nil, err
	}
	r := foreign.NewLineReader(foreign.OneFile(path), fileFormats())
	heads, err := r.Sessions(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(heads) == 0:
		return nil, &LocatorError{t.shown, "it went away meanwhile", store.ErrStoreNotFound}
	}
	name := r.FormatOf(heads[0])
	if err := refuseWriting(t, "a session file of another program", o); err != nil {
		return nil, err
	}
	opened, err := foreignStore(t, name, "read-only (following)", r)
	if err == nil && name == shape.Name {
		opened.Info.Notes = append(opened.Info.Notes, shape.Note)
	}
	return opened, err
}

// openFolder opens all session files and databases below a folder.
func openFolder(ctx context.Context, t target, o Options) (opened *Opened, err error) {
	path, err := filepath.Abs(t.path)
	if err != nil {
		return nil, err
	}
	r := foreign.NewFolder(foreign.NewFolderReader(path, ".jsonl", lineFormats()), foreign.FilesBelow(path, ".db", ".sqlite", ".sqlite3"), tablesIn)
	defer func() {
		if opened == nil {
			err = errors.Join(err, r.Close())
		}
	}()
	heads, err := r.Sessions(ctx)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, &LocatorError{t.shown, "it cannot be read: permission denied; ask its owner", err}
	case err != nil && !errors.Is(err, foreign.ErrFormat):
		return nil, fmt.Errorf("look into %q: %w", t.shown, err)
	}
	left := r.Left()
	if len(heads) == 0 {
		problem := "it is a directory, and there are no session files in it that this version reads"
		if len(left.Shut) > 0 {
			problem += "; what cannot be read: " + naming(left.Shut, error.Error)
		}
		return nil, &LocatorError{t.shown, problem, store.ErrNotAStore}
	}
	if err := refuseWriting(t, "a folder of session files of other programs", o); err != nil {
		return nil, err
	}
	opened, err = foreignStore(t, folderBackend, "read-only (following)", r)
	if err != nil {
		return nil, err
	}
	if n := len(left.Unknown); n > 0 {
		below := func(file string) string {
			if way, err := filepath.Rel(path, file); err == nil {
				return way
			}
			return file
		}
		opened.Info.Notes = append(opened.Info.Notes, fmt.Sprintf("%s not shown, in no format that is known here: %s", countFiles(n), naming(left.Unknown, below)))
	}
	if len(left.Shut) > 0 {
		opened.Info.Notes = append(opened.Info.Notes, "not shown, because it cannot be read: "+naming(left.Shut, error.Error))
	}
	return opened, nil
}

// maxNamed is how many of several things a note names.
const maxNamed = 5

// naming names the first of several things, and says how many more there are.
func naming[T any](all []T, name func(T) string) string {
	var names []string
	for _, one := range all[:min(len(all), maxNamed)] {
		names = append(names, name(one))
	}
	text := strings.Join(names, ", ")
	if n := len(all) - len(names); n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}

// tablesIn opens a database in a folder; nil is one that is none of a program's that is
// known here.
func tablesIn(ctx context.Context, path string) (foreign.Reader, error) {
	f, format, err := openFormat(ctx, path, tableFormats())
	if errors.Is(err, store.ErrNotAStore) {
		return nil, nil //nolint:nilerr,nilnil // whatever else is called so
	}
	if err != nil || f == nil {
		return nil, err
	}
	return format.open(f), nil
}

// folderBackend is the Backend of a folder of session files.
const folderBackend = "session files"

func countFiles(n int) string {
	if n == 1 {
		return "1 file is"
	}
	return fmt.Sprintf("%d files are", n)
}

// openFormat opens a database in the first of the formats that knows its tables; nil
// where none does.
func openFormat(ctx context.Context, path string, formats []tableFormat) (f *sqlite.File, format tableFormat, err error) {
	f, err = sqlite.OpenFile(ctx, sqlite.Options{Path: path})
	if err != nil {
		return nil, format, err
	}
	var tables foreign.Columns
	var layout sqlite.Layout
	err = f.Read(ctx, func(conn *zombie.Conn) (err error) {
		if layout, err = sqlite.Detect(conn); err == nil {
			tables, err = foreign.ColumnsOf(conn)
		}
		return err
	})
	if err == nil {
		for _, format := range formats {
			// One that is known and not read is not guessed at.
			if format.detect(tables) && (format.name != shape.Name || layout.Foreign == "") {
				return f, format, nil
			}
		}
	}
	return nil, format, errors.Join(err, f.Close())
}

// openTables opens a database of another program. It returns nil where no reader
// knows the tables.
func openTables(ctx context.Context, t target, o Options) (opened *Opened, err error) {
	formats := append(tableFormats(), tableFormat{shape.Name, shape.Detect, func(db foreign.Database) foreign.Reader { return shape.New(db) }})
	f, format, err := openFormat(ctx, t.path, formats)
	if err != nil || f == nil {
		return nil, err
	}
	if err := refuseWriting(t, "a session database of another program", o); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	how := f.How()
	if opened, err = foreignStore(t, format.name, how.Mode, format.open(f)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	opened.Info.JournalMode = how.JournalMode
	opened.how = func() string { return f.How().Mode }
	if format.name == shape.Name {
		opened.Info.Notes = append(opened.Info.Notes, shape.Note)
	}
	return opened, nil
}

// Of a file that is no database this much is looked at, and so many of its lines.
const (
	headBytes = 1 << 20
	headLines = 20
)

// foreignText names the program whose session a file of JSON lines holds, judged by
// its first lines, or returns "". The path leads to a regular file that is no
// SQLite database.
func foreignText(path string) (kind string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("look at %q: %w", path, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head, err := io.ReadAll(io.LimitReader(f, headBytes))
	if err != nil {
		return "", fmt.Errorf("look at %q: %w", path, err)
	}
	head = bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))
	objects := 0
	// A line feed is all that ends a line: U+2028 may stand inside a string.
	for line := range bytes.SplitSeq(head, []byte{'\n'}) {
		j, err := store.ParseJSON(string(line))
		if err != nil || j.Kind() != store.Object {
			continue // torn or foreign lines are usual in such files
		}
		objects++
		if kind := foreignLine(j); kind != "" {
			return kind, nil
		}
		if objects == headLines {
			break
		}
	}
	return "", nil
}

// foreignLine names the program that wrote a line of a format that is known, but not
// read.
func foreignLine(j store.JSON) string {
	has := func(keys ...string) bool {
		for _, k := range keys {
			if j.Get(k) == "" {
				return false
			}
		}
		return true
	}
	kind, _ := j.Get("type").Text()
	switch {
	case kind == "title" && has("pad"):
		return "an oh-my-pi session that has only a title"
	case j.Get("kind") == `"header"` && has("v"):
		return "a pi session of version " + strings.TrimSpace(foreign.Title(string(j.Get("v"))))
	case has("sessionId", "projectHash"):
		return "a Gemini CLI session"
	}
	return ""
}

// unreadError is a file of a kind that is recognised, but not read.
func unreadError(shown, kind string) error {
	return &LocatorError{shown, kind + ": this version does not read it", store.ErrNotAStore}
}

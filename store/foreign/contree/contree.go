// Package contree reads the session databases of contree-cli and of earlier releases
// of contree-sdk. Entries are rows with the row number of their parent; branches are
// names for entries. The tables that can hold secrets are never read.
package contree

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"treering/store"
	"treering/store/foreign"
)

// The kinds of these sessions.
const (
	SessionKind = "session"
	BuildKind   = "docker-build"
)

// layout is one generation of the tables: what they are called, and the column that
// names the session.
type layout struct {
	suffix   string
	key      string // session_key or session_id
	exitCode bool
	branches bool
	state    bool
	stateCWD bool
	metadata bool
	files    bool // with their modes
	sdkFiles bool
}

func (l layout) table(name string) string { return foreign.Quote(name + l.suffix) }

var versioned = regexp.MustCompile(`^session_history(_v\d+)?$`)

// detect finds the tables by their columns, the newest generation first. A program
// that has a new one leaves the old where they are.
func detect(c foreign.Columns) (all []layout) {
	var suffixes []string
	for table := range c {
		if m := versioned.FindStringSubmatch(table); m != nil {
			suffixes = append(suffixes, m[1])
		}
	}
	sort.Slice(suffixes, func(i, j int) bool { return number(suffixes[i]) > number(suffixes[j]) })
	for _, suffix := range suffixes {
		for _, key := range []string{"session_key", "session_id"} {
			table := "session_history" + suffix
			if !c.Has(table, "id", key, "image_uuid", "parent_id", "kind", "title", "created_at") {
				continue
			}
			all = append(all, layout{
				suffix: suffix, key: key, exitCode: c.Has(table, "exit_code"),
				branches: c.Has("session_branches"+suffix, key, "branch_name", "history_id"),
				state:    c.Has("session_state"+suffix, key, "active_branch"),
				stateCWD: c.Has("session_state"+suffix, "cwd", "updated_at"),
				metadata: c.Has("session_metadata"+suffix, key, "cwd"),
				files:    c.Has("session_files"+suffix, "history_id", "instance_path", "mode"),
				sdkFiles: c.Has("session_history_files"+suffix, "history_id", "file_path"),
			})
			break
		}
	}
	return all
}

// isKey finds the rows of a session, the first parameter, in the column that names it,
// which may be stored as bytes. What is no text in a name is shown as U+FFFD, so any row
// may be meant by that: the name is compared once more as it is shown.
func (l layout) isKey(key string) string {
	column := foreign.Quote(l.key)
	found := column + " IN (?1, CAST(?1 AS BLOB))"
	switch {
	case key == "":
		return "(" + found + " OR " + column + " IS NULL)"
	case strings.Contains(key, "\uFFFD"):
		return "?1 IS NOT NULL"
	}
	return found
}

func number(suffix string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(suffix, "_v"))
	if err != nil {
		return 0 // without a suffix: the oldest
	}
	return n
}

// Detect reports whether the tables are those of a session database of this kind.
func Detect(c foreign.Columns) bool {
	return len(detect(c)) > 0
}

// Reader reads one database.
type Reader struct{ db foreign.Database }

var _ foreign.Reader = (*Reader)(nil)

// New returns a reader of a database in which Detect found the tables. Close closes
// the database.
func New(db foreign.Database) *Reader { return &Reader{db} }

// Database is what is read: it tells when it changed.
func (r *Reader) Database() foreign.Database { return r.db }

// Token implements foreign.Reader.
func (r *Reader) Token(ctx context.Context) (string, error) { return r.db.ChangeToken(ctx) }

// Close implements foreign.Reader.
func (r *Reader) Close() error { return r.db.Close() }

// read finds the tables again: they may have changed with the program.
func (r *Reader) read(ctx context.Context, fn func(conn *sqlite.Conn, all []layout) error) error {
	return r.db.Read(ctx, func(conn *sqlite.Conn) error {
		c, err := foreign.ColumnsOf(conn)
		if err != nil {
			return err
		}
		all := detect(c)
		if len(all) == 0 {
			return errGone
		}
		return fn(conn, all)
	})
}

var errGone = fmt.Errorf("%w: the tables of the sessions are gone", store.ErrMissingTable)

// readOf reads in the tables that hold a session.
func (r *Reader) readOf(ctx context.Context, h foreign.Head, fn func(conn *sqlite.Conn, l layout, key string) error) error {
	suffix, key, ok := strings.Cut(h.Part, " ")
	if !ok {
		return &store.NotFoundError{What: "session", ID: h.ID}
	}
	return r.read(ctx, func(conn *sqlite.Conn, all []layout) error {
		i := slices.IndexFunc(all, func(l layout) bool { return l.suffix == suffix })
		if i < 0 {
			return errGone
		}
		return fn(conn, all[i], key)
	})
}

// Sessions implements foreign.Reader: what changed last comes first, those in tables of
// an earlier release last.
func (r *Reader) Sessions(ctx context.Context) (heads []foreign.Head, err error) {
	err = r.read(ctx, func(conn *sqlite.Conn, all []layout) error {
		heads = nil
		taken := map[string]bool{}
		for _, l := range all {
			some, err := l.sessions(conn)
			if err != nil {
				return foreign.Within("session_history"+l.suffix, err)
			}
			for _, h := range some {
				for id, n := h.ID, 2; taken[h.ID]; n++ {
					h.ID = fmt.Sprintf("%s#%d", id, n)
				}
				taken[h.ID] = true
				heads = append(heads, h)
			}
		}
		return nil
	})
	return heads, err
}

// sessions lists those of one generation.
func (l layout) sessions(conn *sqlite.Conn) (heads []foreign.Head, err error) {
	at := map[string]int{}
	query := fmt.Sprintf("SELECT %s, max(id), max(created_at) FROM %s GROUP BY 1 ORDER BY 2 DESC", foreign.Quote(l.key), l.table("session_history"))
	err = foreign.Each(conn, query, nil, func(row *sqlite.Stmt) error {
		id := foreign.Text(row, 0)
		if i, twice := at[id]; twice { // once as text and once as bytes
			heads[i].Updated = max(heads[i].Updated, when(foreign.Text(row, 2)))
			return nil
		}
		h := foreign.Head{ID: id, Kind: SessionKind, Size: -1, Updated: when(foreign.Text(row, 2)), Part: l.suffix + " " + id}
		if strings.HasPrefix(id, "build:") {
			h.Kind = BuildKind
		}
		at[id] = len(heads)
		heads = append(heads, h)
		return nil
	})
	if err != nil {
		return nil, err
	}
	state := func(table string, updated bool) error {
		columns := "cwd, ''"
		if updated {
			columns = "cwd, updated_at"
		}
		return foreign.Each(conn, fmt.Sprintf("SELECT %s, %s FROM %s", foreign.Quote(l.key), columns, l.table(table)), nil, func(row *sqlite.Stmt) error {
			if i, ok := at[foreign.Text(row, 0)]; ok {
				heads[i].Project = foreign.Text(row, 1)
				heads[i].Updated = max(heads[i].Updated, when(foreign.Text(row, 2)))
			}
			return nil
		})
	}
	if l.stateCWD {
		err = state("session_state", true)
	}
	if l.metadata && err == nil {
		err = state("session_metadata", false)
	}
	return heads, err
}

// when reads a time of these tables: UTC without a zone.
func when(s string) float64 { return foreign.Time(store.Quote(s)) }

// Read implements foreign.Reader.
func (r *Reader) Read(ctx context.Context, h foreign.Head, g *foreign.Growth) error {
	var t *foreign.Tree
	var a foreign.About
	err := r.readOf(ctx, h, func(conn *sqlite.Conn, l layout, key string) error {
		t = foreign.NewTree(foreign.BuildOptions{Session: h.ID, Source: "contree", Table: "session_history" + l.suffix})
		a = foreign.About{Active: -1, Labels: map[int32][]string{}}
		at := map[int64]int32{}
		exit := "NULL"
		if l.exitCode {
			exit = "exit_code"
		}
		query := fmt.Sprintf("SELECT id, parent_id, kind, title, image_uuid, created_at, %s, %s FROM %s WHERE %s ORDER BY id", exit, foreign.Quote(l.key), l.table("session_history"), l.isKey(key))
		err := foreign.Each(conn, query, func(s *sqlite.Stmt) { s.BindText(1, key) }, func(row *sqlite.Stmt) error {
			if foreign.Text(row, 7) != key {
				return nil
			}
			rec := foreign.Record{
				ID: strconv.FormatInt(row.ColumnInt64(0), 10), Kind: foreign.Text(row, 2), Time: when(foreign.Text(row, 5)),
				Place: foreign.Place{Offset: row.ColumnInt64(0)}, Sum: uint64(row.ColumnInt64(0)),
			}
			if row.ColumnType(1) != sqlite.TypeNull {
				p := foreign.Text(row, 1)
				rec.Parent = &p
			}
			if rec.Kind == "" {
				rec.Kind = "step"
			}
			describe(&rec, foreign.Text(row, 3), foreign.Text(row, 4))
			if code := row.ColumnInt64(6); row.ColumnType(6) == sqlite.TypeInteger && code != 0 {
				rec.Title += fmt.Sprintf(" (exit %d)", code)
				rec.Flags |= foreign.Failed
			}
			at[row.ColumnInt64(0)] = t.Add(rec)
			return nil
		})
		if err != nil {
			return err
		}
		return l.names(conn, key, at, &a)
	})
	if err != nil {
		return err
	}
	g.Replace(t, a)
	return nil
}

// names puts the branches on the entries that they point to, the active one first.
func (l layout) names(conn *sqlite.Conn, session string, at map[int64]int32, a *foreign.About) error {
	bind := func(s *sqlite.Stmt) { s.BindText(1, session) }
	key := foreign.Quote(l.key)
	active := ""
	if l.state {
		query := fmt.Sprintf("SELECT active_branch, %s FROM %s WHERE %s", key, l.table("session_state"), l.isKey(session))
		err := foreign.Each(conn, query, bind, func(row *sqlite.Stmt) error {
			if foreign.Text(row, 1) == session {
				active = foreign.Text(row, 0)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if !l.branches {
		return nil
	}
	query := fmt.Sprintf("SELECT branch_name, history_id, %s FROM %s WHERE %s ORDER BY branch_name", key, l.table("session_branches"), l.isKey(session))
	err := foreign.Each(conn, query, bind, func(row *sqlite.Stmt) error {
		if foreign.Text(row, 2) != session {
			return nil
		}
		name := foreign.Text(row, 0)
		i, ok := at[row.ColumnInt64(1)]
		if !ok {
			a.Report.Warn(foreign.Warning{Table: "session_branches" + l.suffix, ID: name, Text: fmt.Sprintf("branch %s points to entry %d, which is not in this session", name, row.ColumnInt64(1))})
			return nil
		}
		a.Labels[i] = append(a.Labels[i], name)
		if name == active {
			a.Active = i
		}
		return nil
	})
	for i, names := range a.Labels {
		slices.SortStableFunc(names, func(x, y string) int {
			switch {
			case x == active && y != active:
				return -1
			case y == active && x != active:
				return 1
			}
			return 0
		})
		a.Labels[i] = names
	}
	return err
}

// describe sets the title of an entry.
func describe(rec *foreign.Record, title, image string) {
	switch {
	case title == "":
		if r := []rune(image); len(r) > 8 {
			image = string(r[:8])
		}
		title = strings.TrimSpace(rec.Kind + " " + image)
	case rec.Kind == "cd":
		title = "cd " + title
	case rec.Kind == "file":
		title = "edit " + title
	}
	rec.Title = foreign.Title(title)
}

// Body implements foreign.Reader: the row's columns, and the files that wait for the
// next run.
func (r *Reader) Body(ctx context.Context, h foreign.Head, rec *foreign.Record) (body store.JSON, err error) {
	err = r.readOf(ctx, h, func(conn *sqlite.Conn, l layout, key string) error {
		var members []store.Member
		query := fmt.Sprintf("SELECT * FROM %s WHERE id = ?2 AND %s", l.table("session_history"), l.isKey(key))
		err := foreign.Each(conn, query, func(s *sqlite.Stmt) {
			s.BindText(1, key)
			s.BindInt64(2, rec.Place.Offset)
		}, func(row *sqlite.Stmt) error {
			members = nil
			for i := range row.ColumnCount() {
				members = append(members, store.Member{Key: row.ColumnName(i), Value: foreign.Value(row, i)})
			}
			return nil
		})
		if err != nil {
			return err
		}
		if members == nil {
			return fmt.Errorf("%w: the entry is gone", store.ErrSourceChanged)
		}
		files, err := l.filesOf(conn, rec.Place.Offset)
		if err != nil {
			return err
		}
		if len(files) > 0 {
			members = append(members, store.Member{Key: "files", Value: store.ArrayOf(files...)})
		}
		body = store.ObjectOf(members...)
		return nil
	})
	return body, err
}

// filesOf are the files that wait for the next run of an entry, or came with it.
func (l layout) filesOf(conn *sqlite.Conn, entry int64) (files []store.JSON, err error) {
	list := func(table string, columns ...string) error {
		query := fmt.Sprintf("SELECT %s FROM %s WHERE history_id = ?1 ORDER BY 1", strings.Join(columns, ", "), l.table(table))
		return foreign.Each(conn, query, func(s *sqlite.Stmt) { s.BindInt64(1, entry) }, func(row *sqlite.Stmt) error {
			members := []store.Member{{Key: "path", Value: store.Quote(foreign.Text(row, 0))}}
			if len(columns) > 1 {
				members = append(members, store.Member{Key: "mode", Value: store.Quote(foreign.Text(row, 1))})
			}
			files = append(files, store.ObjectOf(members...))
			return nil
		})
	}
	if l.files {
		err = list("session_files", "instance_path", "mode")
	}
	if l.sdkFiles && err == nil {
		err = list("session_history_files", "file_path")
	}
	return files, err
}

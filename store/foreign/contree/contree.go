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
	files    bool
}

func (l layout) table(name string) string { return foreign.Quote(name + l.suffix) }

var versioned = regexp.MustCompile(`^session_history(_v\d+)?$`)

// detect finds the tables by their columns. Of several generations in one file the
// one with the highest number is used by the program.
func detect(c foreign.Columns) (layout, bool) {
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
			if !c.Has(table, "id", key, "image_uuid", "parent_id", "kind", "title") {
				continue
			}
			return layout{
				suffix: suffix, key: key, exitCode: c.Has(table, "exit_code"),
				branches: c.Has("session_branches"+suffix, key, "branch_name", "history_id"),
				state:    c.Has("session_state"+suffix, key, "active_branch"),
				stateCWD: c.Has("session_state"+suffix, "cwd"),
				metadata: c.Has("session_metadata"+suffix, key, "cwd"),
				files:    c.Has("session_files"+suffix, "history_id", "instance_path", "mode"),
			}, true
		}
	}
	return layout{}, false
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
	_, ok := detect(c)
	return ok
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
func (r *Reader) read(ctx context.Context, fn func(conn *sqlite.Conn, l layout) error) error {
	return r.db.Read(ctx, func(conn *sqlite.Conn) error {
		c, err := foreign.ColumnsOf(conn)
		if err != nil {
			return err
		}
		l, ok := detect(c)
		if !ok {
			return fmt.Errorf("%w: the tables of the sessions are gone", store.ErrMissingTable)
		}
		return fn(conn, l)
	})
}

// Sessions implements foreign.Reader: what changed last comes first.
func (r *Reader) Sessions(ctx context.Context) (heads []foreign.Head, err error) {
	err = r.read(ctx, func(conn *sqlite.Conn, l layout) error {
		heads = nil
		at := map[string]int{}
		query := fmt.Sprintf("SELECT %s, count(*), max(id), max(created_at) FROM %s GROUP BY 1 ORDER BY 3 DESC", foreign.Quote(l.key), l.table("session_history"))
		err := foreign.Each(conn, query, nil, func(row *sqlite.Stmt) error {
			id := foreign.Text(row, 0)
			h := foreign.Head{ID: id, Kind: SessionKind, Size: -1, Updated: when(foreign.Text(row, 3))}
			if strings.HasPrefix(id, "build:") {
				h.Kind = BuildKind
			}
			at[id] = len(heads)
			heads = append(heads, h)
			return nil
		})
		if err != nil {
			return err
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
			if err := state("session_state", true); err != nil {
				return err
			}
		}
		if l.metadata {
			return state("session_metadata", false)
		}
		return nil
	})
	return heads, err
}

// when reads a time of these tables: UTC without a zone.
func when(s string) float64 { return foreign.Time(store.Quote(s)) }

// Read implements foreign.Reader.
func (r *Reader) Read(ctx context.Context, h foreign.Head, g *foreign.Growth) error {
	var t *foreign.Tree
	var a foreign.About
	err := r.read(ctx, func(conn *sqlite.Conn, l layout) error {
		t = foreign.NewTree(foreign.BuildOptions{Session: h.ID, Source: "contree"})
		a = foreign.About{Active: -1, Labels: map[int32][]string{}}
		at := map[int64]int32{}
		exit := "NULL"
		if l.exitCode {
			exit = "exit_code"
		}
		query := fmt.Sprintf("SELECT id, parent_id, kind, title, image_uuid, created_at, %s FROM %s WHERE %s = +?1 ORDER BY id", exit, l.table("session_history"), foreign.Quote(l.key))
		err := foreign.Each(conn, query, func(s *sqlite.Stmt) { s.BindText(1, h.ID) }, func(row *sqlite.Stmt) error {
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
		return l.names(conn, h.ID, at, &a)
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
	active := ""
	if l.state {
		query := fmt.Sprintf("SELECT active_branch FROM %s WHERE %s = +?1", l.table("session_state"), foreign.Quote(l.key))
		err := foreign.Each(conn, query, bind, func(row *sqlite.Stmt) error { active = foreign.Text(row, 0); return nil })
		if err != nil {
			return err
		}
	}
	if !l.branches {
		return nil
	}
	query := fmt.Sprintf("SELECT branch_name, history_id FROM %s WHERE %s = +?1 ORDER BY branch_name", l.table("session_branches"), foreign.Quote(l.key))
	err := foreign.Each(conn, query, bind, func(row *sqlite.Stmt) error {
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
	err = r.read(ctx, func(conn *sqlite.Conn, l layout) error {
		var members []store.Member
		query := fmt.Sprintf("SELECT * FROM %s WHERE id = +?1 AND %s = +?2", l.table("session_history"), foreign.Quote(l.key))
		err := foreign.Each(conn, query, func(s *sqlite.Stmt) {
			s.BindInt64(1, rec.Place.Offset)
			s.BindText(2, h.ID)
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
		if l.files {
			var files []store.JSON
			query := fmt.Sprintf("SELECT instance_path, mode FROM %s WHERE history_id = +?1 ORDER BY instance_path", l.table("session_files"))
			err := foreign.Each(conn, query, func(s *sqlite.Stmt) { s.BindInt64(1, rec.Place.Offset) }, func(row *sqlite.Stmt) error {
				files = append(files, store.ObjectOf(store.Member{Key: "path", Value: store.Quote(foreign.Text(row, 0))}, store.Member{Key: "mode", Value: store.Quote(foreign.Text(row, 1))}))
				return nil
			})
			if err != nil {
				return err
			}
			if len(files) > 0 {
				members = append(members, store.Member{Key: "files", Value: store.ArrayOf(files...)})
			}
		}
		body = store.ObjectOf(members...)
		return nil
	})
	return body, err
}

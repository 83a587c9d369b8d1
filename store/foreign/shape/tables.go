package shape

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"zombiezen.com/go/sqlite"

	"treering/store"
	"treering/store/foreign"
)

// maxTitled is the longest data, in bytes, that is read for a title.
const maxTitled = 1 << 20

// tables are the tables of one database and the columns that were recognised, quoted
// for SQL.
type tables struct {
	nodes, id, parent, kind, data, session string
	kinds, kindsSession, kindsKind         string // the table of the sessions; "" where there is none
	rowid                                  bool   // the number of a row can be asked for
}

// where finds a text of ours, the parameter with that number, in a column. The column
// may hold numbers and have no type that says so; where rows have no number the key
// itself has to find them. What is found may be more: bytes that are no text, and NULL,
// are shown as a text that is not theirs, so it is compared once more as it is shown.
func (t tables) where(column string, parameter int, text string) string {
	p := fmt.Sprintf("?%d", parameter)
	found := column + " = " + p
	if t.rowid {
		found = "CAST(" + column + " AS TEXT) = " + p
	}
	switch {
	case text == "":
		return "(" + found + " OR " + column + " IS NULL)"
	case strings.Contains(text, "\uFFFD"):
		return p + " IS NOT NULL" // any
	}
	return found
}

// sessionColumns are what a column is called that names the session of a row.
func sessionColumns() []string {
	return []string{"session_id", "session_key", "session", "tree_id", "tree", "conversation_id", "thread_id"}
}

// detect finds the one table that has the shape. Where there are two, which of them
// is meant cannot be told.
func detect(c foreign.Columns) (t tables, ok bool) {
	names := make([]string, 0, len(c))
	for name := range c {
		if !strings.HasPrefix(strings.ToLower(name), "sqlite_") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	found := 0
	for _, name := range names {
		session := column(c, name, sessionColumns()...)
		id := column(c, name, "node_id", "id")
		if session == "" || id == "" || !c.Has(name, "parent_id", "kind", "data") {
			continue
		}
		found++
		t = tables{nodes: foreign.Quote(name), id: id, parent: column(c, name, "parent_id"), kind: column(c, name, "kind"), data: column(c, name, "data"), session: session,
			rowid: !c.Has(name, "rowid")}
	}
	if found != 1 {
		return tables{}, false
	}
	found = 0
	for _, name := range names {
		quoted := foreign.Quote(name)
		session := column(c, name, append(sessionColumns(), "id")...)
		if quoted == t.nodes || session == "" || !c.Has(name, "kind") || c.Has(name, "parent_id") {
			continue
		}
		found++
		t.kinds, t.kindsSession, t.kindsKind = quoted, session, column(c, name, "kind")
	}
	if found != 1 {
		t.kinds = ""
	}
	return t, true
}

// column is the first of the columns that a table has, quoted, or "".
func column(c foreign.Columns, table string, columns ...string) string {
	for _, column := range columns {
		if i := slices.IndexFunc(c[table], func(have string) bool { return strings.EqualFold(have, column) }); i >= 0 {
			return foreign.Quote(c[table][i])
		}
	}
	return ""
}

// Detect reports whether one table has the shape.
func Detect(c foreign.Columns) bool {
	_, ok := detect(c)
	return ok
}

// Reader reads one database.
type Reader struct{ db foreign.Database }

var _ foreign.Reader = (*Reader)(nil)

// New returns a reader of a database in which Detect found the shape. Close closes
// the database.
func New(db foreign.Database) *Reader { return &Reader{db} }

// Database is what is read: it tells when it changed.
func (r *Reader) Database() foreign.Database { return r.db }

// Token implements foreign.Reader.
func (r *Reader) Token(ctx context.Context) (string, error) { return r.db.ChangeToken(ctx) }

// Close implements foreign.Reader.
func (r *Reader) Close() error { return r.db.Close() }

func (r *Reader) read(ctx context.Context, fn func(conn *sqlite.Conn, t tables) error) error {
	return r.db.Read(ctx, func(conn *sqlite.Conn) error {
		c, err := foreign.ColumnsOf(conn)
		if err != nil {
			return err
		}
		t, ok := detect(c)
		if !ok {
			return fmt.Errorf("%w: the table of the nodes is gone", store.ErrMissingTable)
		}
		if t.rowid {
			// A table may have been made without row numbers.
			stmt, _, err := conn.PrepareTransient("SELECT rowid FROM " + t.nodes + " LIMIT 0")
			if err != nil {
				t.rowid = false
			} else if err := stmt.Finalize(); err != nil {
				return err
			}
		}
		return fn(conn, t)
	})
}

// Sessions implements foreign.Reader, in the order of their ids.
func (r *Reader) Sessions(ctx context.Context) (heads []foreign.Head, err error) {
	err = r.read(ctx, func(conn *sqlite.Conn, t tables) error {
		heads = nil
		at := map[string]int{}
		add := func(id, kind string) {
			if _, ok := at[id]; !ok {
				at[id] = len(heads)
				heads = append(heads, foreign.Head{ID: id, Kind: kind, Size: -1})
			}
		}
		if t.kinds != "" {
			query := fmt.Sprintf("SELECT %s, %s FROM %s ORDER BY 1", t.kindsSession, t.kindsKind, t.kinds)
			err := foreign.Each(conn, query, nil, func(row *sqlite.Stmt) error {
				add(foreign.Text(row, 0), foreign.Title(foreign.Text(row, 1)))
				return nil
			})
			if err != nil {
				return foreign.Within(t.kinds, err)
			}
		}
		query := fmt.Sprintf("SELECT DISTINCT %s FROM %s ORDER BY 1", t.session, t.nodes)
		err := foreign.Each(conn, query, nil, func(row *sqlite.Stmt) error {
			add(foreign.Text(row, 0), "session")
			return nil
		})
		return foreign.Within(t.nodes, err)
	})
	return heads, err
}

// Read implements foreign.Reader.
func (r *Reader) Read(ctx context.Context, h foreign.Head, g *foreign.Growth) error {
	var tree *foreign.Tree
	var a foreign.About
	err := r.read(ctx, func(conn *sqlite.Conn, t tables) error {
		tree = foreign.NewTree(foreign.BuildOptions{Session: h.ID, Source: Name, Table: t.nodes})
		a = foreign.About{Active: -1}
		number, order := "0", t.id
		if t.rowid {
			number, order = "rowid", "rowid"
		}
		query := fmt.Sprintf("SELECT %s, %s, %s, length(%s), CASE WHEN length(%s) <= %d THEN %s END, %s, %s FROM %s WHERE %s ORDER BY %s",
			t.id, t.parent, t.kind, t.data, t.data, maxTitled, t.data, number, t.session, t.nodes, t.where(t.session, 1, h.ID), order)
		err := foreign.Each(conn, query, func(s *sqlite.Stmt) { s.BindText(1, h.ID) }, func(row *sqlite.Stmt) error {
			if foreign.Text(row, 6) != h.ID {
				return nil
			}
			text := foreign.Bytes(row, 4)
			rec := foreign.Record{ID: foreign.Text(row, 0), Kind: foreign.Title(foreign.Text(row, 2)), Place: foreign.Place{Offset: row.ColumnInt64(5), Length: row.ColumnInt64(3)}}
			rec.Sum = foreign.SumOf(rec.Kind + "\x00" + string(text))
			if row.ColumnType(1) != sqlite.TypeNull {
				p := foreign.Text(row, 1)
				rec.Parent = &p
			}
			if row.ColumnType(0) == sqlite.TypeNull {
				a.Report.Unreadable++
				a.Report.Warn(foreign.Warning{Place: rec.Place, Table: t.nodes, Text: "a row without an id"})
				return nil
			}
			if data, err := store.ParseJSON(string(text)); err == nil {
				rec.Title, rec.Role = title(data), role(data)
				if failed(data) {
					rec.Flags |= foreign.Failed
				}
			} else if text != nil {
				rec.Title = foreign.Title(strings.ToValidUTF8(string(text), "\uFFFD"))
				a.Report.Warn(foreign.Warning{Place: rec.Place, Table: t.nodes, ID: rec.ID, Text: "its data is not JSON"})
			}
			describe(&rec)
			tree.Add(rec)
			return nil
		})
		return foreign.Within(t.nodes, err)
	})
	if err != nil {
		return err
	}
	g.Replace(tree, a)
	return nil
}

// Body implements foreign.Reader: the columns that were recognised.
func (r *Reader) Body(ctx context.Context, h foreign.Head, rec *foreign.Record) (body store.JSON, err error) {
	err = r.read(ctx, func(conn *sqlite.Conn, t tables) error {
		which := t.where(t.session, 1, h.ID) + " AND " + t.where(t.id, 2, rec.ID)
		if t.rowid {
			which = "rowid = ?3"
		}
		body = ""
		query := fmt.Sprintf("SELECT %s, %s, %s, %s, %s FROM %s WHERE %s", t.id, t.parent, t.kind, t.data, t.session, t.nodes, which)
		err := foreign.Each(conn, query, func(s *sqlite.Stmt) {
			s.BindText(1, h.ID)
			s.BindText(2, rec.ID)
			if t.rowid {
				s.BindInt64(3, rec.Place.Offset)
			}
		}, func(row *sqlite.Stmt) error {
			if body != "" || foreign.Text(row, 0) != rec.ID || foreign.Text(row, 4) != h.ID {
				return nil
			}
			data := foreign.Value(row, 3)
			if j, err := store.ParseJSON(string(foreign.Bytes(row, 3))); err == nil {
				data = j
			}
			body = store.ObjectOf(store.Member{Key: "id", Value: foreign.Value(row, 0)}, store.Member{Key: "parent_id", Value: foreign.Value(row, 1)},
				store.Member{Key: "kind", Value: foreign.Value(row, 2)}, store.Member{Key: "data", Value: data})
			return nil
		})
		if err != nil {
			return foreign.Within(t.nodes, err)
		}
		if body == "" {
			return fmt.Errorf("%w: the row is gone", store.ErrSourceChanged)
		}
		return nil
	})
	return body, err
}

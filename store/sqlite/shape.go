package sqlite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// shape is what lists and writes must know about a table beyond the names of its
// columns. Tables of foreign files may be declared in any way.
type shape struct {
	// tie are columns, written for SQL, that no two rows have in common: the name under
	// which the rowid can be reached, or the primary key of a table without one. Empty
	// where columns of the table's own hide every name of its rowid.
	tie []string
	// alias is the column (in lower case) that is the rowid, "" for none.
	alias string
	// utf16: the database keeps text as UTF-16, bigEndian or not.
	utf16, bigEndian bool
}

// shapes remembers the shapes of tables, for one opening of the file.
type shapes struct {
	mu    sync.Mutex
	epoch uint64
	known map[string]shape
}

// of returns the shape of table, a quoted name.
func (s *shapes) of(conn *sqlite.Conn, epoch uint64, table string) (shape, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || s.epoch != epoch {
		s.known, s.epoch = make(map[string]shape), epoch
	}
	if found, ok := s.known[table]; ok {
		return found, nil
	}
	found, err := shapeOf(conn, table)
	if err == nil {
		s.known[table] = found
	}
	return found, err
}

func shapeOf(conn *sqlite.Conn, table string) (shape, error) {
	type part struct {
		name string
		at   int64 // in the primary key
		kind string
	}
	var own []string // names of columns, in lower case
	var primary []part
	err := rows(conn, "PRAGMA main.table_xinfo("+table+")", func(row *sqlite.Stmt) error {
		own = append(own, fold(row.ColumnText(1)))
		if at := row.ColumnInt64(5); at > 0 {
			primary = append(primary, part{row.ColumnText(1), at, row.ColumnText(2)})
		}
		return nil
	})
	if err != nil {
		return shape{}, err
	}
	slices.SortFunc(primary, func(a, b part) int { return cmp.Compare(a.at, b.at) })
	withoutRowid, indexed := false, false
	err = rows(conn, "PRAGMA main.table_list("+table+")", func(row *sqlite.Stmt) error {
		withoutRowid = row.ColumnInt64(4) != 0
		return nil
	})
	if err != nil {
		return shape{}, err
	}
	err = rows(conn, "PRAGMA main.index_list("+table+")", func(row *sqlite.Stmt) error {
		indexed = indexed || row.ColumnText(3) == "pk"
		return nil
	})
	if err != nil {
		return shape{}, err
	}
	encoding, err := text(conn, "PRAGMA encoding")
	if err != nil {
		return shape{}, err
	}
	found := shape{utf16: encoding != "UTF-8", bigEndian: encoding == "UTF-16be"}
	if withoutRowid {
		for _, p := range primary {
			found.tie = append(found.tie, Quote(p.name))
		}
		return found, nil
	}
	// INTEGER PRIMARY KEY is the rowid, except that INTEGER PRIMARY KEY DESC is not: it
	// has an index.
	if len(primary) == 1 && strings.EqualFold(primary[0].kind, "INTEGER") && !indexed {
		found.alias = fold(primary[0].name)
		found.tie = []string{Quote(primary[0].name)}
	}
	for _, name := range []string{"_rowid_", "oid", "rowid"} {
		if !slices.Contains(own, name) {
			found.tie = []string{name}
			break
		}
	}
	return found, nil
}

// shapeOf returns the shape of one of the set's tables.
func (e *executions) shapeOf(conn *sqlite.Conn, table string) (shape, error) {
	return e.shapes.of(conn, e.file.Epoch(conn), table)
}

// numbered refuses to write entries to a queue whose seq is not the number of the
// row: SQLite would leave it empty, and nobody could ever acknowledge the entry.
func (e *executions) numbered(conn *sqlite.Conn, table string) error {
	s, err := e.shapeOf(conn, table)
	if err != nil || s.alias == "seq" {
		return err
	}
	return refusedError{&OpenError{e.file.Path(), fmt.Sprintf("table %s does not number its entries: its seq is no INTEGER PRIMARY KEY", table),
		"let the program that made the table mend it", store.ErrReadOnly}}
}

// sayable reports whether texts mean to the database what they are. In one that keeps
// text as UTF-16, SQLite makes U+FFFD of what is no UTF-8 and of U+FFFE and U+FFFF,
// and would find rows of that name.
func (e *executions) sayable(conn *sqlite.Conn, texts ...string) (bool, error) {
	s, err := e.shapeOf(conn, e.sql.executions)
	if err != nil || !s.utf16 {
		return err == nil, err
	}
	for _, text := range texts {
		if !survivesUTF16(text) {
			return false, nil
		}
	}
	return true, nil
}

// allSayable refuses a commit whose texts a UTF-16 database would keep as others.
func (e *executions) allSayable(conn *sqlite.Conn, c store.Checked) error {
	s, err := e.shapeOf(conn, e.sql.executions)
	if err != nil || !s.utf16 {
		return err
	}
	texts := []string{c.ID, c.DefinitionID, c.Data, string(c.Trace)}
	if c.ProcessedEventID != nil {
		texts = append(texts, *c.ProcessedEventID)
	}
	for _, emit := range c.Emits {
		texts = append(texts, emit.Event)
		if emit.TargetID != nil {
			texts = append(texts, *emit.TargetID)
		}
	}
	for _, t := range c.Timers {
		texts = append(texts, t.Path)
	}
	for _, spawn := range c.Spawns {
		texts = append(texts, spawn.ChildID, spawn.RootPath, string(spawn.Context))
	}
	for _, text := range texts {
		if !survivesUTF16(text) {
			return refusedError{errUnsayable()}
		}
	}
	return nil
}

func errUnsayable() error {
	return &store.ValueError{Field: "text", Reason: "holds U+FFFE, U+FFFF or what is no UTF-8, which a database that keeps text as UTF-16 would change", Err: store.ErrNotText}
}

// survivesUTF16 reports whether SQLite turns text into UTF-16 without changing it.
func survivesUTF16(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsAny(text, "\uFFFE\uFFFF")
}

// isUTF16 reports whether raw is text as a UTF-16 database keeps it, so that the
// database finds the row by text.
func isUTF16(text, raw string, bigEndian bool) bool {
	if !survivesUTF16(text) {
		return false
	}
	units := utf16.Encode([]rune(text))
	if len(raw) != 2*len(units) {
		return false
	}
	for i, u := range units {
		low, high := raw[2*i], raw[2*i+1]
		if bigEndian {
			low, high = high, low
		}
		if uint16(high)<<8|uint16(low) != u {
			return false
		}
	}
	return true
}

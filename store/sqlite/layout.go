package sqlite

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"treering/store"
	"treering/store/internal/sqltree"
	"zombiezen.com/go/sqlite"
)

// Layout is what a database holds, told by columns: names alone mean nothing.
type Layout struct {
	Sets      []Set    // in byte order of the prefix
	Trees     bool     // the tree tables are there
	Transport []string // tables of harel's transport
	// Foreign describes a session tree of another program, such as "a LangGraph
	// checkpoint database"; "" where none was recognised.
	Foreign string
	Tables  []string // all tables and views, by name
}

// Set is one set of execution tables. A set is there when its executions table is,
// with its columns; the other five may be missing.
type Set struct {
	Prefix string // without the underscore; "" for the names without a prefix

	// The tables' names as they are in the database, "" where they are missing. In SQL
	// they go through [Quote].
	Executions, Outbox, Processed, Timers, Spawns, Trace string

	Missing []MissingTable
	HasRows bool  // there is an execution
	Rows    int64 // executions; -1 where they were not counted, see [Layout.Count]

	collates bool // a column of one of the tables compares text in a way of its own
}

// MissingTable is a table that a set lacks.
type MissingTable struct {
	Table  string // its name in the database
	Reason string // "there is no such table", "it is a view", "it has no column fire_at"
}

// table returns the place of one of the six names.
func (s *Set) table(name string) *string {
	switch name {
	case tableExecutions:
		return &s.Executions
	case tableOutbox:
		return &s.Outbox
	case tableProcessed:
		return &s.Processed
	case tableTimers:
		return &s.Timers
	case tableSpawns:
		return &s.Spawns
	default:
		return &s.Trace
	}
}

// Need returns one of the six tables (by its name without a prefix) quoted for use
// in SQL. For one that the set lacks the error says why and matches
// [store.ErrMissingTable].
func (s *Set) Need(table string) (string, error) {
	if name := *s.table(table); name != "" {
		return Quote(name), nil
	}
	m := MissingTable{tableName(s.Prefix, table), "it was not looked for"}
	for _, missing := range s.Missing {
		if missing.Table == m.Table {
			m = missing
		}
	}
	return "", fmt.Errorf("%w: %s: %s", store.ErrMissingTable, Quote(m.Table), m.Reason)
}

// NewSet names the six tables of a set that [ExecutionDDL] made.
func NewSet(prefix string) Set {
	s := Set{Prefix: prefix, Rows: -1}
	for _, t := range executionTables() {
		*s.table(t.name) = tableName(prefix, t.name)
	}
	return s
}

// schema is the tables of one database. Names are looked up as SQLite does, without
// regard to the case of ASCII letters.
type schema struct {
	conn    *sqlite.Conn
	kinds   map[string]string // lower-case name to "table" or "view"
	names   map[string]string // lower-case name to the name
	columns map[string][]string
}

// Detect tells what the database holds. It reads the schema and, where there are
// several execution sets, counts them.
func Detect(conn *sqlite.Conn) (Layout, error) {
	s := schema{conn, map[string]string{}, map[string]string{}, map[string][]string{}}
	var l Layout
	err := rows(conn, `SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name`, func(stmt *sqlite.Stmt) error {
		name := stmt.ColumnText(0)
		key := fold(name)
		s.names[key], s.kinds[key] = name, stmt.ColumnText(1)
		if !strings.HasPrefix(key, "sqlite_") {
			l.Tables = append(l.Tables, name)
		}
		return nil
	})
	if err != nil {
		return Layout{}, err
	}
	for _, name := range l.Tables {
		key := fold(name)
		if prefix, ok := prefixOf(key, tableExecutions); ok {
			if why, err := s.lacks(key, executionTables()[0].columns); err != nil {
				return Layout{}, err
			} else if why == "" {
				set, err := s.set(name[:len(prefix)])
				if err != nil {
					return Layout{}, err
				}
				l.Sets = append(l.Sets, set)
			}
		}
		if err := s.transport(&l, name); err != nil {
			return Layout{}, err
		}
	}
	slices.SortFunc(l.Sets, func(a, b Set) int { return cmp.Compare(a.Prefix, b.Prefix) })
	l.Trees = true
	for table, columns := range sqltree.Columns() {
		if err := s.need(&l.Trees, table, columns...); err != nil {
			return Layout{}, err
		}
	}
	if l.Foreign, err = s.foreign(); err != nil {
		return Layout{}, err
	}
	if len(l.Sets) > 1 {
		return l, l.Count(conn)
	}
	return l, nil
}

// Count fills in the Rows of the sets. It reads an index of each executions table:
// some 30 ms for a million rows.
func (l *Layout) Count(conn *sqlite.Conn) error {
	for i := range l.Sets {
		set := &l.Sets[i]
		err := rows(conn, "SELECT count(*) FROM "+Quote(set.Executions), func(stmt *sqlite.Stmt) error {
			set.Rows = stmt.ColumnInt64(0)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fold is SQLite's own rule for comparing names.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// prefixOf splits a folded name into a prefix and the given table.
func prefixOf(key, table string) (prefix string, ok bool) {
	if key == table {
		return "", true
	}
	prefix, ok = strings.CutSuffix(key, "_"+table)
	return prefix, ok && prefix != ""
}

// set collects the six tables behind a prefix.
func (s *schema) set(prefix string) (Set, error) {
	set := Set{Prefix: prefix, Rows: -1}
	for _, t := range executionTables() {
		name := tableName(prefix, t.name)
		why, err := s.lacks(fold(name), t.columns)
		if err != nil {
			return Set{}, err
		}
		if why != "" {
			set.Missing = append(set.Missing, MissingTable{name, why})
			continue
		}
		*set.table(t.name) = s.names[fold(name)]
		// Only its own definition can give a column a collation.
		collates, err := text(s.conn, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '"+strings.ReplaceAll(s.names[fold(name)], "'", "''")+"' AND sql LIKE '%collate%'")
		if err != nil {
			return Set{}, err
		}
		set.collates = set.collates || collates != ""
	}
	err := rows(s.conn, "SELECT EXISTS (SELECT 1 FROM "+Quote(set.Executions)+")", func(stmt *sqlite.Stmt) error {
		set.HasRows = stmt.ColumnInt64(0) != 0
		return nil
	})
	return set, err
}

// lacks says why a table is not the one that has these columns, "" if it is.
func (s *schema) lacks(key string, columns []string) (why string, err error) {
	switch s.kinds[key] {
	case "":
		return "there is no such table", nil
	case "view":
		return "it is a view", nil
	}
	have, err := s.columnsOf(key)
	if err != nil {
		return "", err
	}
	for _, c := range columns {
		if !slices.Contains(have, c) {
			return "it has no column " + c, nil
		}
	}
	return "", nil
}

// need clears ok unless the table is there with the columns.
func (s *schema) need(ok *bool, table string, columns ...string) error {
	if !*ok {
		return nil
	}
	why, err := s.lacks(table, columns)
	*ok = why == ""
	return err
}

// columnsOf reads the columns of a table. A virtual table whose module is not there
// has none.
func (s *schema) columnsOf(key string) ([]string, error) {
	if have, ok := s.columns[key]; ok {
		return have, nil
	}
	var have []string
	err := rows(s.conn, "PRAGMA table_xinfo("+Quote(s.names[key])+")", func(stmt *sqlite.Stmt) error {
		have = append(have, fold(stmt.ColumnText(1)))
		return nil
	})
	if err != nil && sqlite.ErrCode(err) != sqlite.ResultError {
		return nil, err
	}
	s.columns[key] = have
	return have, nil
}

// transport notes a table of harel's transport.
func (s *schema) transport(l *Layout, name string) error {
	key := fold(name)
	for table, columns := range map[string][]string{
		"messages": {"seq", "group_id", "event", "locked_by", "lock_expiry"},
		"groups":   {"group_id", "last_claimed_at", "priority"},
	} {
		if _, ok := prefixOf(key, "transport_"+table); !ok && key != table {
			continue
		}
		why, err := s.lacks(key, columns)
		if err != nil {
			return err
		}
		if why == "" {
			l.Transport = append(l.Transport, name)
		}
	}
	return nil
}

// foreign recognises the session trees of other programs.
func (s *schema) foreign() (string, error) {
	type part struct {
		table   string
		columns []string
	}
	shapes := []struct {
		what  string
		parts []part
	}{
		{"a LangGraph checkpoint database", []part{
			{"checkpoints", []string{"thread_id", "checkpoint_ns", "checkpoint_id", "parent_checkpoint_id"}},
			{"writes", []string{"thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "channel"}}}},
		{"a session database of contree-cli", []part{
			{"session_history", []string{"id", "session_key", "image_uuid", "parent_id", "kind"}},
			{"session_branches", []string{"session_key", "branch_name", "history_id"}}}},
		{"a session database of contree-sdk", []part{
			{"session_history", []string{"id", "session_id", "image_uuid", "parent_id", "kind"}},
			{"session_branches", []string{"session_id", "branch_name", "history_id"}}}},
		{"a session database of OpenClaw", []part{
			{"transcript_events", []string{"session_id", "seq"}},
			{"session_nodes", []string{"session_key", "current_session_id", "parent_session_key"}}}},
		{"a session database of the OpenAI Agents SDK", []part{
			{"message_structure", []string{"session_id", "message_id", "branch_id", "sequence_number"}}}},
		{"an opencode database", []part{
			{"session", []string{"id", "project_id", "parent_id"}},
			{"message", []string{"id", "session_id"}},
			{"part", []string{"id", "message_id", "session_id"}}}},
	}
	// The SDK numbers its schema in the tables' names.
	numbered := regexp.MustCompile(`^session_history(_v[0-9]+)$`)
	for key := range s.names {
		if m := numbered.FindStringSubmatch(key); m != nil {
			shapes = append(shapes, struct {
				what  string
				parts []part
			}{"a session database of contree-sdk", []part{
				{key, []string{"id", "session_id", "image_uuid", "parent_id", "kind"}},
				{"session_branches" + m[1], []string{"session_id", "branch_name", "history_id"}}}})
		}
	}
	for _, shape := range shapes {
		ok := true
		for _, p := range shape.parts {
			if err := s.need(&ok, p.table, p.columns...); err != nil {
				return "", err
			}
		}
		if ok {
			return shape.what, nil
		}
	}
	return "", nil
}

// rows executes a statement and calls fn for each row.
func rows(conn *sqlite.Conn, sql string, fn func(*sqlite.Stmt) error) error {
	stmt, _, err := conn.PrepareTransient(sql)
	if err != nil {
		return err
	}
	defer stmt.Finalize()
	for {
		row, err := stmt.Step()
		if err != nil || !row {
			return err
		}
		if err := fn(stmt); err != nil {
			return err
		}
	}
}

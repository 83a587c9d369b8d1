package rqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"treering/store"
)

// DefaultPrefix is the prefix of the execution tables that [Options.Create] makes.
const DefaultPrefix = "harel"

// The tables of an execution set, as they are called without a prefix.
const (
	tableExecutions = "executions"
	tableOutbox     = "outbox"
	tableProcessed  = "processed_events"
	tableTimers     = "timers"
	tableSpawns     = "spawns"
	tableTrace      = "trace"
)

type tableShape struct {
	name    string
	columns []string // that reads and writes need
	body    string   // of CREATE TABLE
}

// executionTables are the six tables in harel's order, with exactly its columns. The
// three that are only ever found by their whole key carry no rowid.
func executionTables() [6]tableShape {
	return [6]tableShape{
		{tableExecutions, []string{"id", "definition_id", "data", "version"},
			"(id TEXT PRIMARY KEY, definition_id TEXT NOT NULL, data TEXT NOT NULL, version INTEGER NOT NULL)"},
		{tableOutbox, []string{"seq", "target_id", "event"},
			"(seq INTEGER PRIMARY KEY AUTOINCREMENT, target_id TEXT, event TEXT NOT NULL)"},
		{tableProcessed, []string{"execution_id", "event_id"},
			"(execution_id TEXT NOT NULL, event_id TEXT NOT NULL, PRIMARY KEY (execution_id, event_id)) WITHOUT ROWID"},
		{tableTimers, []string{"execution_id", "path", "fire_at"},
			"(execution_id TEXT NOT NULL, path TEXT NOT NULL, fire_at REAL NOT NULL, PRIMARY KEY (execution_id, path)) WITHOUT ROWID"},
		{tableSpawns, []string{"seq", "parent_id", "child_id", "root_path", "context"},
			"(seq INTEGER PRIMARY KEY AUTOINCREMENT, parent_id TEXT NOT NULL, child_id TEXT NOT NULL, root_path TEXT NOT NULL, context TEXT NOT NULL)"},
		{tableTrace, []string{"execution_id", "idx", "entry"},
			"(execution_id TEXT NOT NULL, idx INTEGER NOT NULL, entry TEXT NOT NULL, PRIMARY KEY (execution_id, idx)) WITHOUT ROWID"},
	}
}

// executionDDL makes the six tables of a set. Each statement leaves a table of that
// name as it is.
func executionDDL(prefix string) []statement {
	var ddl []statement
	for _, t := range executionTables() {
		ddl = append(ddl, sql("CREATE TABLE IF NOT EXISTS "+quote(tableName(prefix, t.name))+" "+t.body))
	}
	return ddl
}

// tableName puts a prefix before the name of a table, as harel does.
func tableName(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "_" + name
}

// maxPrefix is harel's bound, in bytes.
const maxPrefix = 30

// checkPrefix refuses a prefix that harel would refuse, before tables are made with it.
func checkPrefix(prefix string) error {
	if len(prefix) > maxPrefix {
		return fmt.Errorf("prefix %q is longer than %d characters", prefix, maxPrefix)
	}
	for i, c := range prefix {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return fmt.Errorf("prefix %q: use a letter or underscore, then letters, digits and underscores", prefix)
		}
	}
	return nil
}

// Layout is what the database holds, told by columns: names alone mean nothing.
type Layout struct {
	Sets       []Set // in byte order of the prefix
	Trees      bool  // the tree tables are there, as this version has them
	OtherTrees bool  // there are tables of the trees' names, but with other columns
	Transport  []string

	tables map[string]foundTable // by the name in lower case
}

type foundTable struct {
	name    string
	view    bool
	columns []string // in lower case
}

// Set is one set of execution tables. It is there when its executions table is, with
// its columns; the other five may be missing.
type Set struct {
	Prefix  string   // without the underscore; "" for the names without a prefix
	Missing []string // tables that are not there or are not as they should be
	Rows    int64    // executions; -1 where they were not counted

	names map[string]string // by the name without prefix; the name in the database
}

// table returns the name of one of the six, quoted.
func (s *Set) table(name string) string {
	if found, ok := s.names[name]; ok {
		return quote(found)
	}
	return quote(tableName(s.Prefix, name))
}

// need returns the error of the first of these tables that the set lacks.
func (s *Set) need(tables ...string) error {
	for _, t := range tables {
		if _, ok := s.names[t]; !ok {
			return fmt.Errorf("%w: %s", store.ErrMissingTable, quote(tableName(s.Prefix, t)))
		}
	}
	return nil
}

// AmbiguousSetError: several sets of execution tables, of which none can be preferred.
// Options.Prefix chooses.
type AmbiguousSetError struct{ Sets []Set }

func (e *AmbiguousSetError) Error() string {
	var said []string
	for _, s := range e.Sets {
		said = append(said, fmt.Sprintf("%q with %d executions", s.Prefix, s.Rows))
	}
	return "the database holds several sets of execution tables: " + strings.Join(said, ", ") + "; choose one with --prefix"
}

// UnknownPrefixError: no set has the prefix that was asked for. It matches
// [store.ErrNotFound].
type UnknownPrefixError struct {
	Prefix string
	Sets   []Set
}

func (e *UnknownPrefixError) Error() string {
	var there []string
	for _, s := range e.Sets {
		there = append(there, fmt.Sprintf("%q", s.Prefix))
	}
	if there == nil {
		return fmt.Sprintf("the database holds no execution tables, so none with the prefix %q", e.Prefix)
	}
	return fmt.Sprintf("the database holds no execution tables with the prefix %q; there are %s", e.Prefix, strings.Join(there, ", "))
}

// Unwrap returns [store.ErrNotFound].
func (e *UnknownPrefixError) Unwrap() error { return store.ErrNotFound }

const schemaQuery = `SELECT m.name, m.type, (SELECT group_concat(lower(x.name), char(10)) FROM pragma_table_xinfo(m.name) AS x) FROM sqlite_schema AS m WHERE m.type IN ('table', 'view') ORDER BY m.name`

// detect tells what the database holds.
func (c *client) detect(ctx context.Context, at level) (Layout, error) {
	results, err := c.query(ctx, at, sql(schemaQuery))
	if err != nil {
		return Layout{}, err
	}
	l := Layout{tables: map[string]foundTable{}}
	for _, row := range results[0].Values {
		if len(row) != 3 {
			return Layout{}, errors.New("rqlite: the schema has another number of columns than was asked for")
		}
		l.tables[fold(row[0].text)] = foundTable{row[0].text, row[1].text == "view", strings.Split(row[2].text, "\n")}
	}
	for key := range l.tables {
		if prefix, ok := prefixOf(key, tableExecutions); ok && l.has(key, executionTables()[0].columns...) {
			l.Sets = append(l.Sets, l.set(l.tables[key].name[:len(prefix)]))
		}
		if l.isTransport(key) {
			l.Transport = append(l.Transport, l.tables[key].name)
		}
	}
	slices.Sort(l.Transport)
	slices.SortFunc(l.Sets, func(a, b Set) int { return cmp.Compare(a.Prefix, b.Prefix) })
	l.Trees = true
	for table, columns := range treeColumns() {
		_, there := l.tables[table]
		l.OtherTrees = l.OtherTrees || there
		l.Trees = l.Trees && l.has(table, columns...)
	}
	l.OtherTrees = l.OtherTrees && !l.Trees
	if len(l.Sets) > 1 {
		return l, c.count(ctx, at, l.Sets)
	}
	return l, nil
}

// count fills in the Rows of the sets.
func (c *client) count(ctx context.Context, at level, sets []Set) error {
	for i := range sets {
		results, err := c.query(ctx, at, sql("SELECT count(*) FROM "+sets[i].table(tableExecutions)))
		if err != nil {
			return err
		}
		row, err := results[0].one(1)
		if err != nil {
			return err
		}
		if row != nil {
			sets[i].Rows, _ = row[0].int()
		}
	}
	return nil
}

func (l *Layout) set(prefix string) Set {
	s := Set{Prefix: prefix, Rows: -1, names: map[string]string{}}
	for _, t := range executionTables() {
		name := tableName(prefix, t.name)
		if l.has(fold(name), t.columns...) {
			s.names[t.name] = l.tables[fold(name)].name
		} else {
			s.Missing = append(s.Missing, name)
		}
	}
	return s
}

func (l *Layout) has(key string, columns ...string) bool {
	t, ok := l.tables[key]
	if !ok || t.view {
		return false
	}
	for _, c := range columns {
		if !slices.Contains(t.columns, c) {
			return false
		}
	}
	return true
}

func (l *Layout) isTransport(key string) bool {
	for table, columns := range map[string][]string{
		"messages": {"seq", "group_id", "event", "locked_by", "lock_expiry"},
		"groups":   {"group_id", "last_claimed_at", "priority"},
	} {
		if _, ok := prefixOf(key, "transport_"+table); (ok || key == table) && l.has(key, columns...) {
			return true
		}
	}
	return false
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

// pick chooses the set to open: the one named, the only one, or the only one that has
// rows, with a note.
func (l *Layout) pick(prefix *string) (set *Set, note string, err error) {
	if prefix != nil {
		for i := range l.Sets {
			if p := l.Sets[i].Prefix; p == *prefix || p+"_" == *prefix {
				return &l.Sets[i], "", nil
			}
		}
		return nil, "", &UnknownPrefixError{*prefix, l.Sets}
	}
	if len(l.Sets) == 0 {
		return nil, "", nil
	}
	var filled []*Set
	for i := range l.Sets {
		if len(l.Sets) == 1 {
			return &l.Sets[i], "", nil
		}
		if l.Sets[i].Rows > 0 {
			filled = append(filled, &l.Sets[i])
		}
	}
	if len(filled) != 1 {
		return nil, "", &AmbiguousSetError{l.Sets}
	}
	return filled[0], fmt.Sprintf("it holds %d sets of execution tables; this is the only one with executions", len(l.Sets)), nil
}

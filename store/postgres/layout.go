package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"treering/store"
)

// DefaultPrefix is the prefix of new execution tables, as harel names them.
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

// executionTables are the six tables with the columns that reads and writes need.
func executionTables() []tableShape {
	return []tableShape{
		{tableExecutions, []string{"id", "definition_id", "data", "version"}},
		{tableOutbox, []string{"seq", "target_id", "event"}},
		{tableProcessed, []string{"execution_id", "event_id"}},
		{tableTimers, []string{"execution_id", "path", "fire_at"}},
		{tableSpawns, []string{"seq", "parent_id", "child_id", "root_path", "context"}},
		{tableTrace, []string{"execution_id", "idx", "entry"}},
	}
}

type tableShape struct {
	name    string
	columns []string
}

// Layout is what the schemas of the search path hold, told by columns: names alone
// mean nothing.
type Layout struct {
	Sets      []Set // in byte order of the prefix
	Trees     bool  // our tree tables are there
	OtherTree bool  // tables of their names are there, but with other columns
	Transport []string

	trees      treeTables
	transports []transportTables
}

// Set is one set of execution tables. A set is there when its executions table is,
// with its columns; the other five may be missing.
type Set struct {
	Prefix  string
	Schema  string
	Ours    bool // made by this package: bytewise order, and its writers notify
	HasRows bool
	Rows    int64 // -1 where they were not counted
	Missing []MissingTable

	names   map[string]string // by the name without a prefix, quoted with the schema
	oid     uint32
	ordered bool // the ids compare by their bytes
	comment string
}

// MissingTable is a table that a set lacks.
type MissingTable struct {
	Table  string // its name in the database
	Reason string
}

// relation is one table or view as the catalogue has it.
type relation struct {
	oid          uint32
	schema, name string
	kind         string // r, p, v, m, f
	readable     bool
	comment      string
	columns      []string
	collations   []string
	types        []string
}

// Types that hold what a column of harel's or of ours does. Domains count as what they
// are of.
const (
	textType  = "text, character varying"
	wholeType = "bigint, integer, smallint"
	floatType = "double precision, real"
)

// typesOf are the types that a column of that name may have. Any other belongs to another
// program's table, however that calls it.
func typesOf(column string) string {
	switch column {
	case "version", "seq", "idx", "tree":
		return wholeType
	case "fire_at", "expires_at", "lock_expiry":
		return floatType
	}
	return textType
}

func (r relation) quoted() string { return pgx.Identifier{r.schema, r.name}.Sanitize() }

// catalogue reads the tables that may be ours or harel's, of those that the search path
// makes visible. It touches none of them.
const catalogue = `SELECT c.oid, n.nspname, c.relname, c.relkind::text, has_table_privilege(c.oid, 'SELECT'),
  coalesce(obj_description(c.oid, 'pg_class'), ''), array_agg(a.attname::text ORDER BY a.attnum), array_agg(coalesce(k.collname, '')::text ORDER BY a.attnum),
  array_agg(pg_catalog.format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END, NULL) ORDER BY a.attnum)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_collation k ON k.oid = a.attcollation
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_catalog.pg_table_is_visible(c.oid)
  AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND c.relname ~ '(executions|outbox|processed_events|timers|spawns|trace|transport_messages|transport_groups|tree_sessions|tree_nodes)$'
GROUP BY c.oid, n.nspname, c.relname, c.relkind ORDER BY c.relname`

// detect tells what is there.
func detect(ctx context.Context, q querier) (Layout, error) {
	rows, err := q.Query(ctx, catalogue)
	if err != nil {
		return Layout{}, err
	}
	all := map[string]relation{}
	for rows.Next() {
		var r relation
		if err := rows.Scan(&r.oid, &r.schema, &r.name, &r.kind, &r.readable, &r.comment, &r.columns, &r.collations, &r.types); err != nil {
			return Layout{}, err
		}
		all[r.name] = r
	}
	if err := rows.Err(); err != nil {
		return Layout{}, err
	}
	var l Layout
	for name := range all {
		prefix, ok := prefixOf(name, tableExecutions)
		if !ok || lacks(all, name, executionTables()[0].columns) != "" {
			continue
		}
		set := setOf(all, prefix)
		if err := set.look(ctx, q); err != nil {
			return Layout{}, err
		}
		l.Sets = append(l.Sets, set)
	}
	slices.SortFunc(l.Sets, func(a, b Set) int { return cmp.Compare(a.Prefix, b.Prefix) })
	l.findTrees(all)
	l.findTransport(all)
	return l, nil
}

// look finds out whether the set has rows.
func (s *Set) look(ctx context.Context, q querier) error {
	err := q.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+s.names[tableExecutions]+")").Scan(&s.HasRows)
	if sqlState(err) == insufficientPrivilege || sqlState(err) == queryCanceled {
		return nil // it is seen again when it is read
	}
	return err
}

// prefixOf splits the name of a table into a prefix and what it is called without one.
func prefixOf(name, table string) (prefix string, ok bool) {
	if name == table {
		return "", true
	}
	prefix, ok = strings.CutSuffix(name, "_"+table)
	return prefix, ok && prefix != ""
}

// tableName puts a prefix before the name of a table, as harel does.
func tableName(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "_" + name
}

// lacks says why a table is not the one that has these columns, "" if it is.
func lacks(all map[string]relation, name string, columns []string) string {
	r, ok := all[name]
	switch {
	case !ok:
		return "there is no such table"
	case r.kind == "v" || r.kind == "m":
		return "it is a view"
	}
	for _, c := range columns {
		at := slices.Index(r.columns, c)
		if at < 0 {
			return "it has no column " + c
		}
		if want := typesOf(c); !slices.Contains(strings.Split(want, ", "), r.types[at]) {
			return fmt.Sprintf("its column %s is of type %s, and not %s", c, r.types[at], strings.Join(strings.Split(want, ", "), " or "))
		}
	}
	return ""
}

func setOf(all map[string]relation, prefix string) Set {
	executions := all[tableName(prefix, tableExecutions)]
	s := Set{
		Prefix: prefix, Schema: executions.schema, Rows: -1, names: map[string]string{}, oid: executions.oid,
		comment: executions.comment, Ours: strings.HasPrefix(executions.comment, commentPrefix),
	}
	for i, c := range executions.columns {
		s.ordered = s.ordered || c == "id" && executions.collations[i] == "C"
	}
	for _, t := range executionTables() {
		name := tableName(prefix, t.name)
		why := lacks(all, name, t.columns)
		r := all[name]
		if why == "" && r.schema != executions.schema {
			why = "it is in another schema, " + r.schema
		}
		if why == "" && !r.readable {
			// It is named all the same: the server's own refusal says the most.
			s.Missing = append(s.Missing, MissingTable{name, "the rights to read it are not granted"})
		}
		if why != "" {
			s.Missing = append(s.Missing, MissingTable{name, why})
			continue
		}
		s.names[t.name] = r.quoted()
	}
	return s
}

// table is the quoted name of one of the six. Of one that the set lacks the error says
// why and matches [store.ErrMissingTable].
func (s *Set) table(name string) (string, error) {
	if quoted, ok := s.names[name]; ok {
		return quoted, nil
	}
	m := MissingTable{tableName(s.Prefix, name), "it was not looked for"}
	for _, missing := range s.Missing {
		if missing.Table == m.Table {
			m = missing
		}
	}
	return "", fmt.Errorf("%w: %q: %s", store.ErrMissingTable, m.Table, m.Reason)
}

// count fills in the Rows of the sets, as far as their owner and the time allow.
func (l *Layout) count(ctx context.Context, q querier) error {
	for i := range l.Sets {
		s := &l.Sets[i]
		err := q.QueryRow(ctx, "SELECT count(*) FROM "+s.names[tableExecutions]).Scan(&s.Rows)
		switch {
		case sqlState(err) == insufficientPrivilege || sqlState(err) == queryCanceled:
			s.Rows = -1
		case err != nil:
			return err
		}
	}
	return nil
}

// AmbiguousSetError: there are several execution sets and none can be preferred. Their
// Rows are counted.
type AmbiguousSetError struct{ Sets []Set }

func (e *AmbiguousSetError) Error() string {
	return "several sets of execution tables: " + listSets(e.Sets) + "; choose one with --prefix"
}

// UnknownPrefixError: there is no execution set with the prefix asked for. It matches
// [store.ErrNotFound].
type UnknownPrefixError struct {
	Prefix string
	Sets   []Set // that there are
}

func (e *UnknownPrefixError) Error() string {
	s := fmt.Sprintf("no execution tables with prefix %q in the search path", e.Prefix)
	if e.Prefix == "" {
		s = "no execution tables without a prefix in the search path"
	}
	if len(e.Sets) == 0 {
		return s + ", nor with any other"
	}
	return s + "; there are " + listSets(e.Sets)
}

// Unwrap returns [store.ErrNotFound].
func (e *UnknownPrefixError) Unwrap() error { return store.ErrNotFound }

func listSets(sets []Set) string {
	var parts []string
	for _, s := range sets {
		name, rows := strconv.Quote(s.Prefix), "empty"
		if s.Prefix == "" {
			name = "no prefix"
		}
		switch {
		case s.Rows == 1:
			rows = "1 execution"
		case s.Rows > 1:
			rows = strconv.FormatInt(s.Rows, 10) + " executions"
		case s.HasRows:
			rows = "with executions"
		}
		parts = append(parts, name+" ("+rows+")")
	}
	return strings.Join(parts, ", ")
}

// pick chooses an execution set: the one with the prefix, or without one (nil) the only
// set, or of several the only one with rows, with a note that says so.
func (l Layout) pick(prefix *string) (set *Set, note string, err error) {
	if prefix != nil {
		for _, name := range []string{*prefix, strings.TrimSuffix(*prefix, "_")} {
			for i := range l.Sets {
				if l.Sets[i].Prefix == name {
					return &l.Sets[i], "", nil
				}
			}
		}
		return nil, "", &UnknownPrefixError{*prefix, l.Sets}
	}
	switch len(l.Sets) {
	case 0:
		return nil, "", nil
	case 1:
		return &l.Sets[0], "", nil
	}
	var full []*Set
	for i := range l.Sets {
		if l.Sets[i].HasRows {
			full = append(full, &l.Sets[i])
		}
	}
	if len(full) != 1 {
		return nil, "", &AmbiguousSetError{l.Sets}
	}
	return full[0], "of several sets of execution tables the one with rows is shown: " + listSets(l.Sets), nil
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

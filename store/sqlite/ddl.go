package sqlite

import (
	"fmt"
	"strings"
)

// DefaultPrefix is the prefix of the execution tables of new files, as harel names
// them.
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

// executionTable is one of the six tables.
type executionTable struct {
	name    string
	columns []string // that reads and writes need
	body    string   // of CREATE TABLE
}

// executionTables are the six tables in harel's order, with exactly its columns.
// The three that are only ever found by their whole key carry no rowid: harel does
// not notice, and a commit writes a third less.
func executionTables() [6]executionTable {
	return [6]executionTable{
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

// ExecutionDDL returns the statements that make the six tables of an execution set.
// Each leaves a table of that name as it is.
func ExecutionDDL(prefix string) []string {
	var ddl []string
	for _, t := range executionTables() {
		ddl = append(ddl, "CREATE TABLE IF NOT EXISTS "+Quote(tableName(prefix, t.name))+" "+t.body)
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

// Quote writes a name for use in SQL, whatever characters it has.
func Quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// maxPrefix is harel's bound, in bytes.
const maxPrefix = 30

// CheckPrefix refuses a prefix that harel would refuse, before tables are made with
// it: a letter or underscore, then letters, digits and underscores, 30 at most.
// Empty stands for the names without a prefix. Sets that exist may have any.
func CheckPrefix(prefix string) error {
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

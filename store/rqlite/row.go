package rqlite

import (
	"errors"
	"fmt"
	"strings"

	"treering/store"
)

// check is one column that a row is read from, with the storage classes that it may
// have. A column's declared type binds nobody, and what comes over the wire does not
// tell a blob from text.
type column struct{ name, classes string }

// oddity is a result column that is NULL where every column has the class that it
// should have, and otherwise says what is wrong. Text that is no UTF-8 arrives changed;
// its length tells.
func oddity(columns ...column) string {
	var fine, said []string
	for _, c := range columns {
		fine = append(fine, "typeof("+c.name+") IN ("+c.classes+")")
		said = append(said, "CASE WHEN typeof("+c.name+") IN ("+c.classes+") THEN '' ELSE '"+c.name+" is '||typeof("+c.name+")||', ' END")
	}
	return "CASE WHEN " + strings.Join(fine, " AND ") + " THEN NULL ELSE " + strings.Join(said, "||") + " END"
}

// The classes that columns may have. JSON may be a blob: harel reads it all the same.
const (
	classText     = "'text'"
	classJSON     = "'text', 'blob'"
	classOptional = "'text', 'null'"
	classInt      = "'integer'"
	classNumber   = "'real', 'integer'"
)

// bytesOf tells the size of a text without reading it. SQLite has it since 3.43, rqlite
// since 8.
func bytesOf(column string) string { return "octet_length(" + column + ")" }

// fault is what is wrong with a row by its oddity, and by the number of bytes that a
// text has on the server.
func fault(odd cell, checks ...any) error {
	if odd.kind != isNull {
		return errors.New(strings.TrimSuffix(odd.text, ", "))
	}
	for i := 0; i+2 < len(checks); i += 3 {
		name, got, size := checks[i].(string), checks[i+1].(cell), checks[i+2].(cell)
		if n, ok := size.int(); ok && n != int64(len(got.text)) {
			return fmt.Errorf("%s is not UTF-8", name)
		}
	}
	return nil
}

// executionColumns are what an execution is read from; see [readExecution].
var executionColumns = strings.Join([]string{
	"id", "definition_id", "version", "data",
	oddity(column{"id", classText}, column{"definition_id", classText}, column{"version", classInt}, column{"data", classJSON}),
	bytesOf("id"), bytesOf("definition_id"), bytesOf("data"),
}, ", ")

// executionRow is a row as it is stored.
type executionRow struct {
	id, definitionID, data string
	version                int64
	fault                  error
	changed                bool // data is not what is stored
}

const executionRowColumns = 8

func readExecution(row []cell) (executionRow, error) {
	if len(row) < executionRowColumns {
		return executionRow{}, errors.New("rqlite: a row of executions has too few columns")
	}
	r := executionRow{id: row[0].text, definitionID: row[1].text, data: row[3].text}
	r.version, _ = row[2].int()
	if n, ok := row[7].int(); ok {
		r.changed = n != int64(len(r.data))
	}
	r.fault = fault(row[4], "id", row[0], row[5], "definition_id", row[1], row[6], "data", row[3], row[7])
	return r, nil
}

func (r executionRow) bad(err error) *store.RowError {
	return &store.RowError{Table: tableExecutions, Key: r.id, Err: err, Raw: []byte(r.data)}
}

// execution is the whole of the row. The error of one that cannot be read has with it
// what could be.
func (r executionRow) execution() (*store.Execution, error) {
	err := r.fault
	if err == nil {
		var exe *store.Execution
		if exe, err = store.DecodeExecutionRow(r.id, r.definitionID, r.version, r.data); err == nil {
			return exe, nil
		}
	}
	s := r.summary()
	if s.Bad == nil {
		s.Bad = r.bad(err)
	}
	s.Bad.Summary = &s
	return nil, s.Bad
}

func (r executionRow) summary() store.Summary {
	s := store.SummaryOfRow(r.id, r.definitionID, r.version, []byte(r.data))
	if r.fault != nil {
		s.Bad = r.bad(r.fault)
		s.Drift = nil // what differs is in the error
		if r.changed {
			s = store.Summary{ID: r.id, DefinitionID: r.definitionID, Version: r.version, Bad: s.Bad}
		}
	}
	return s
}

var outboxColumns = strings.Join([]string{
	"seq", "target_id", "event",
	oddity(column{"seq", classInt}, column{"target_id", classOptional}, column{"event", classJSON}), bytesOf("event"),
}, ", ")

func readOutbox(row []cell) (store.OutboxEntry, int, error) {
	if len(row) < 5 {
		return store.OutboxEntry{}, 0, errors.New("rqlite: a row of the outbox has too few columns")
	}
	o := store.OutboxEntry{TargetID: row[1].pointer()}
	o.Seq, _ = row[0].int()
	err := fault(row[3], "event", row[2], row[4])
	event, derr := store.DecodeEvent(row[2].text)
	if derr == nil {
		o.Event = event
	}
	if err = firstOf(err, derr); err != nil {
		o.Bad = &store.RowError{Table: tableOutbox, Key: row[0].text, Err: err, Raw: []byte(row[2].text)}
	} else {
		o.Raw = store.JSON(strings.TrimSpace(row[2].text))
	}
	return o, len(row[2].text), nil
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

var spawnColumns = strings.Join([]string{
	"seq", "parent_id", "child_id", "root_path", "context",
	oddity(column{"seq", classInt}, column{"parent_id", classText}, column{"child_id", classText}, column{"root_path", classText}, column{"context", classJSON}), bytesOf("context"),
}, ", ")

func readSpawn(row []cell) (store.SpawnEntry, int, error) {
	if len(row) < 7 {
		return store.SpawnEntry{}, 0, errors.New("rqlite: a row of spawns has too few columns")
	}
	s := store.SpawnEntry{ParentID: row[1].text, ChildID: row[2].text, RootPath: row[3].text}
	s.Seq, _ = row[0].int()
	err := fault(row[5], "context", row[4], row[6])
	context, cerr := object(row[4].text)
	if cerr == nil {
		s.Context = context
	}
	if err = firstOf(err, cerr); err != nil {
		s.Bad = &store.RowError{Table: tableSpawns, Key: row[0].text, Err: err, Raw: []byte(row[4].text)}
	}
	return s, len(row[4].text), nil
}

// object parses what harel's json.dumps wrote for a mapping.
func object(text string) (store.JSON, error) {
	j, err := store.ParseJSON(text)
	if err != nil {
		return "", err
	}
	if k := j.Kind(); k != store.Object {
		return "", fmt.Errorf("%w but %s", store.ErrNotObject, k)
	}
	return j, nil
}

// finite is a column of times in a form that JSON has.
func finite(column string) string {
	return "CASE WHEN " + column + " IN (9e999, -9e999) THEN CAST(" + column + " AS TEXT) ELSE " + column + " END"
}

var timerColumns = strings.Join([]string{
	"execution_id", "path", finite("fire_at"),
	oddity(column{"execution_id", classText}, column{"path", classText}, column{"fire_at", classNumber}),
}, ", ")

func readTimer(row []cell) (store.Timer, int, error) {
	if len(row) < 4 {
		return store.Timer{}, 0, errors.New("rqlite: a row of timers has too few columns")
	}
	t := store.Timer{ExecutionID: row[0].text, Path: row[1].text}
	t.FireAt, _ = row[2].float()
	if err := fault(row[3]); err != nil {
		t.Bad = &store.RowError{Table: tableTimers, Key: row[0].text + " " + row[1].text, Err: err, Raw: []byte(row[2].text)}
	}
	return t, len(row[0].text) + len(row[1].text), nil
}

var traceColumns = strings.Join([]string{"idx", "entry", oddity(column{"idx", classInt}, column{"entry", classJSON}), bytesOf("entry")}, ", ")

// unknownIndex stands for an index that could not be read; real ones begin at 0.
const unknownIndex = -1

// readStep reads one step. The column is its index: what the JSON calls index is left
// out.
func readStep(id string, row []cell) (store.TraceEntry, error) {
	if len(row) < 4 {
		return store.TraceEntry{}, errors.New("rqlite: a row of the trace has too few columns")
	}
	var t store.TraceEntry
	var whole bool
	if t.Index, whole = row[0].int(); !whole {
		t.Index = unknownIndex
	}
	err := fault(row[2], "entry", row[1], row[3])
	step, serr := object(row[1].text)
	if serr == nil {
		if t.Entry = step; step.Get("index") != "" {
			var members []store.Member
			for k, v := range step.Members() {
				if k != "index" {
					members = append(members, store.Member{Key: k, Value: v})
				}
			}
			t.Entry = store.ObjectOf(members...)
		}
	}
	if err = firstOf(err, serr); err != nil {
		t.Bad = &store.RowError{Table: tableTrace, Key: id + " " + row[0].text, Err: err, Raw: []byte(row[1].text)}
	}
	return t, nil
}

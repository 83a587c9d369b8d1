package sqlite

import "zombiezen.com/go/sqlite"

// nextSteps remembers which index the next step of a trace gets, so that a commit
// need not look for the last one. It holds for as long as nobody but the writer, in
// transactions that were kept, has changed the database. It is used in turn.
type nextSteps struct {
	generation uint64 // of the writer
	off        bool   // a trigger may change traces whenever something else is written
	next       map[string]int64
}

// maxNextSteps bounds how many traces are remembered.
const maxNextSteps = 4096

// nextStep is the index of the next step of a trace: 0 for the first, -1<<63 where
// there is none left.
func (e *executions) nextStep(conn *sqlite.Conn, id string) (next int64, err error) {
	s := &e.steps
	if now := e.writer.generation; s.next == nil || s.generation != now {
		triggers := false
		err := query(conn, "SELECT 1 FROM sqlite_schema WHERE type = 'trigger' LIMIT 1", nil, func(*sqlite.Stmt) bool {
			triggers = true
			return false
		})
		if err != nil {
			return 0, err
		}
		s.generation, s.off, s.next = now, triggers, make(map[string]int64)
	}
	if next, ok := s.next[id]; ok {
		return next, nil
	}
	err = query(conn, e.sql.lastStep, func(q *sqlite.Stmt) { q.BindText(1, id) }, func(row *sqlite.Stmt) bool {
		next = row.ColumnInt64(0) + 1
		return false
	})
	return next, err
}

// added notes that a trace was given a step of that index.
func (s *nextSteps) added(id string, index int64) {
	if s.off {
		return
	}
	if len(s.next) >= maxNextSteps {
		clear(s.next)
	}
	s.next[id] = index + 1
}

// forget notes that a trace was deleted.
func (s *nextSteps) forget(id string) { delete(s.next, id) }

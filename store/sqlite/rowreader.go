package sqlite

import (
	"treering/store"
	"zombiezen.com/go/sqlite"
)

// rowReader reads summaries off the rows of a list. Most of what a row holds is the
// text of its execution, and nearly all of that is only looked at, so every row's text
// is read into the same memory.
type rowReader struct {
	row   listRow
	class sqlite.ColumnType // of the text's column
	data  []byte            // the text, until the next row
}

// next goes on to a row.
func (r *rowReader) next(row listRow) {
	r.row, r.class, r.data = row, row.ColumnType(3), r.data[:0]
	if r.isText() {
		r.data = bytesOf(row.Stmt, 3, r.data)
	}
}

// isText reports whether the row has a text at all, and not a number in its place.
func (r *rowReader) isText() bool { return r.class == sqlite.TypeText || r.class == sqlite.TypeBlob }

// columns are those of the row but for its text, and whether they can be taken for
// what they should be.
func (r *rowReader) columns() (head executionRow, sound bool) {
	row := r.row.Stmt
	head = executionRow{column(row, 0), column(row, 1), column(row, 2), value{class: r.class}, r.row.torn}
	return head, head.fault() == nil
}

func (r *rowReader) summary() store.Summary {
	head, sound := r.columns()
	if !sound {
		return readExecution(r.row).summary()
	}
	s := store.SummaryOfRow(head.id.text, head.definitionID.text, head.version.int, r.data)
	if s.Bad == nil && len(r.data) > detachFrom {
		detach(&s)
	}
	return s
}

// status is the status of the summary, and whether that has nothing bad.
func (r *rowReader) status() (status store.Status, readable bool) {
	head, sound := r.columns()
	if !sound {
		return "", false
	}
	return store.StatusOfRow(head.id.text, head.definitionID.text, head.version.int, r.data)
}

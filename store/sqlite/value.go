package sqlite

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// value is one stored value with its storage class. A column's declared type
// binds nobody: a file written by others may hold text in a time and a blob in an
// id.
type value struct {
	class sqlite.ColumnType
	int   int64
	float float64
	text  string // of text and blobs
}

// column reads a result column as it is stored. Text and blobs are read by their
// length, so NULs inside them survive.
func column(row *sqlite.Stmt, col int) value {
	v := value{class: row.ColumnType(col)}
	switch v.class {
	case sqlite.TypeInteger:
		v.int = row.ColumnInt64(col)
	case sqlite.TypeFloat:
		v.float = row.ColumnFloat(col)
	case sqlite.TypeText:
		v.text = row.ColumnText(col)
	case sqlite.TypeBlob:
		// Not ColumnText: in a UTF-16 database that would convert the bytes.
		b := make([]byte, row.ColumnLen(col))
		row.ColumnBytes(col, b)
		v.text = string(b)
	case sqlite.TypeNull:
	}
	return v
}

// bind binds the value in its own storage class.
func (v value) bind(stmt *sqlite.Stmt, param int) {
	switch v.class {
	case sqlite.TypeInteger:
		stmt.BindInt64(param, v.int)
	case sqlite.TypeFloat:
		stmt.BindFloat(param, v.float)
	case sqlite.TypeText:
		stmt.BindText(param, v.text)
	case sqlite.TypeBlob:
		stmt.BindBytes(param, []byte(v.text))
	default:
		stmt.BindNull(param)
	}
}

// String is the value as a list shows it: text and blobs by their bytes, NULL as
// nothing.
func (v value) String() string {
	switch v.class {
	case sqlite.TypeInteger:
		return strconv.FormatInt(v.int, 10)
	case sqlite.TypeFloat:
		return strconv.FormatFloat(v.float, 'g', -1, 64)
	default:
		return v.text
	}
}

// is reports a value that is not of the class its column should hold.
func (v value) is(name string, want sqlite.ColumnType) error {
	if v.class == want {
		return nil
	}
	return fmt.Errorf("%s is %s, not %s", name, className(v.class), className(want))
}

func className(c sqlite.ColumnType) string {
	switch c {
	case sqlite.TypeInteger:
		return "an integer"
	case sqlite.TypeFloat:
		return "a float"
	case sqlite.TypeText:
		return "text"
	case sqlite.TypeBlob:
		return "a blob"
	default:
		return "NULL"
	}
}

// key writes the value for a cursor, with its class.
func (v value) key() string {
	switch v.class {
	case sqlite.TypeInteger:
		return string(binary.BigEndian.AppendUint64([]byte{'i'}, uint64(v.int)))
	case sqlite.TypeFloat:
		return string(binary.BigEndian.AppendUint64([]byte{'f'}, math.Float64bits(v.float)))
	case sqlite.TypeText:
		return "t" + v.text
	case sqlite.TypeBlob:
		return "b" + v.text
	default:
		return "n"
	}
}

// parseKey reads what key wrote.
func parseKey(s string) (value, error) {
	if s == "" {
		return value{}, store.ErrBadCursor
	}
	rest := s[1:]
	switch s[0] {
	case 'i', 'f':
		if len(rest) != 8 {
			return value{}, store.ErrBadCursor
		}
		n := binary.BigEndian.Uint64([]byte(rest))
		if s[0] == 'i' {
			return value{class: sqlite.TypeInteger, int: int64(n)}, nil
		}
		return value{class: sqlite.TypeFloat, float: math.Float64frombits(n)}, nil
	case 't':
		return value{class: sqlite.TypeText, text: rest}, nil
	case 'b':
		return value{class: sqlite.TypeBlob, text: rest}, nil
	case 'n':
		return value{class: sqlite.TypeNull}, nil
	}
	return value{}, store.ErrBadCursor
}

// order is the total order in which a table is paged: by these columns and, where
// the table has one, by the rowid, because the key columns of a foreign table may
// hold the same values twice (NULLs even under a primary key).
type order struct {
	columns []string
	rowid   bool
}

// by is the ORDER BY clause.
func (o order) by() string { return " ORDER BY " + strings.Join(o.all(), ", ") }

func (o order) all() []string {
	if o.rowid {
		return append(o.columns[:len(o.columns):len(o.columns)], "_rowid_")
	}
	return o.columns
}

// after is the condition that a row comes after key, with parameters numbered from
// param, one for each column. SQLite orders NULL before numbers before text before
// blobs, and so do its comparisons, except that nothing compares with NULL.
func (o order) after(key []value, param int) string {
	cols := o.all()
	cond := ""
	for i := len(key) - 1; i >= 0; i-- {
		p := "?" + strconv.Itoa(param+i)
		greater := cols[i] + " > " + p
		if key[i].class == sqlite.TypeNull {
			greater = cols[i] + " IS NOT NULL"
		}
		switch {
		case cond == "":
			cond = greater
		default:
			cond = "(" + greater + " OR " + cols[i] + " IS " + p + " AND " + cond + ")"
		}
	}
	if key[0].class != sqlite.TypeNull {
		// Said once more in a way that an index can be used for.
		cond = cols[0] + " >= ?" + strconv.Itoa(param) + " AND " + cond
	}
	return cond
}

// decodeKey reads the position out of a cursor: nil at the start.
func (o order) decodeKey(scope, cursor string) ([]value, error) {
	if cursor == "" {
		return nil, nil
	}
	parts, err := store.DecodeCursor(scope, cursor)
	if err != nil {
		return nil, err
	}
	if len(parts) != len(o.all()) {
		return nil, store.ErrBadCursor
	}
	key := make([]value, len(parts))
	for i, p := range parts {
		if key[i], err = parseKey(p); err != nil {
			return nil, err
		}
	}
	return key, nil
}

func encodeKey(scope string, key []value) string {
	parts := make([]string, len(key))
	for i, v := range key {
		parts[i] = v.key()
	}
	return store.EncodeCursor(scope, parts...)
}

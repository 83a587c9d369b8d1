package sqlite

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"

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
	// stored marks text whose bytes are those of a UTF-16 database, as a cursor keeps
	// it: to UTF-8 and back, text that is no whole UTF-16 becomes another.
	stored bool
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
		if v.stored {
			stmt.BindBytes(param, []byte(v.text)) // see placeholder
		} else {
			stmt.BindText(param, v.text)
		}
	case sqlite.TypeBlob:
		stmt.BindBytes(param, []byte(v.text))
	default:
		stmt.BindNull(param)
	}
}

// placeholder is what stands in SQL for the value that is bound to a parameter. The
// plus takes away the affinity that a cast has, which a parameter has not.
func (v value) placeholder(param int) string {
	p := "?" + strconv.Itoa(param)
	if v.stored {
		return "+CAST(" + p + " AS TEXT)"
	}
	return p
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
		if v.stored {
			return "w" + v.text
		}
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
	case 'w':
		return value{class: sqlite.TypeText, text: rest, stored: true}, nil
	case 'b':
		return value{class: sqlite.TypeBlob, text: rest}, nil
	case 'n':
		return value{class: sqlite.TypeNull}, nil
	}
	return value{}, store.ErrBadCursor
}

// compare orders two values as SQLite does without a collation: NULL, numbers by
// their exact value, text and blobs by their bytes.
func compare(a, b value) int {
	if ra, rb := classRank(a.class), classRank(b.class); ra != rb {
		return cmp.Compare(ra, rb)
	}
	switch {
	case a.class == sqlite.TypeText || a.class == sqlite.TypeBlob:
		return cmp.Compare(a.text, b.text)
	case a.class == sqlite.TypeInteger && b.class == sqlite.TypeInteger:
		return cmp.Compare(a.int, b.int)
	case a.class == sqlite.TypeFloat && b.class == sqlite.TypeFloat:
		return cmp.Compare(a.float, b.float)
	case a.class == sqlite.TypeNull:
		return 0
	}
	return a.exact().Cmp(b.exact())
}

// exact is the value of a number.
func (v value) exact() *big.Float {
	if v.class == sqlite.TypeInteger {
		return new(big.Float).SetInt64(v.int)
	}
	return big.NewFloat(v.float) // SQLite stores no NaN
}

func classRank(c sqlite.ColumnType) int {
	switch c {
	case sqlite.TypeInteger, sqlite.TypeFloat:
		return 1
	case sqlite.TypeText:
		return 2
	case sqlite.TypeBlob:
		return 3
	default:
		return 0
	}
}

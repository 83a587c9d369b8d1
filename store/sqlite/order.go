package sqlite

import (
	"strings"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// order is the total order in which a table is paged: by the columns of the list and
// then by what tells apart the rows of that table in which these are equal, for the
// key columns of a foreign table may hold the same values twice (NULLs even under a
// primary key). Text is compared by its bytes whatever the column's own collation.
type order struct {
	columns []string // of the list
	tie     []string // see shape
	utf16   bool     // the database keeps text as UTF-16
}

func (o order) all() []string {
	return append(o.columns[:len(o.columns):len(o.columns)], o.tie...)
}

// by is the ORDER BY clause.
func (o order) by() string {
	return " ORDER BY " + strings.Join(o.all(), bytewise+", ") + bytewise
}

const bytewise = " COLLATE BINARY"

// selected are the result columns that a key is read from, after those of the list,
// which begin with the order's own. In a UTF-16 database the stored bytes follow.
func (o order) selected() string {
	var b strings.Builder
	for _, c := range o.tie {
		b.WriteString(", " + c)
	}
	if o.utf16 {
		for _, c := range o.all() {
			b.WriteString(", CAST(" + c + " AS BLOB)")
		}
	}
	return b.String()
}

// key reads the position of a row whose list has n columns of its own.
func (o order) key(row *sqlite.Stmt, n int) []value {
	key := make([]value, 0, len(o.columns)+len(o.tie))
	for i := range o.columns {
		key = append(key, column(row, i))
	}
	for i := range o.tie {
		key = append(key, column(row, n+i))
	}
	if !o.utf16 {
		return key
	}
	for i := range key {
		if key[i].class == sqlite.TypeText {
			key[i].text, key[i].stored = column(row, n+len(o.tie)+i).text, true
		}
	}
	return key
}

// after is the condition that a row comes after key, with parameters numbered from
// param for the values that it returns. SQLite orders NULL before numbers before text
// before blobs, and so do its comparisons, except that nothing compares with NULL.
func (o order) after(key []value, param int) (cond string, bound []value) {
	cols := o.all()
	place := make([]string, len(key))
	for i, v := range key {
		if v.class != sqlite.TypeNull {
			place[i] = v.placeholder(param + len(bound))
			bound = append(bound, v)
		}
	}
	for i := len(key) - 1; i >= 0; i-- {
		col := cols[i] + bytewise
		greater, same := col+" > "+place[i], col+" = "+place[i]
		if key[i].class == sqlite.TypeNull {
			greater, same = cols[i]+" IS NOT NULL", cols[i]+" IS NULL"
		}
		if cond == "" {
			cond = greater
		} else {
			cond = "(" + greater + " OR " + same + " AND " + cond + ")"
		}
	}
	if key[0].class != sqlite.TypeNull {
		// Said once more in a way that an index can be used for.
		cond = cols[0] + bytewise + " >= " + place[0] + " AND " + cond
	}
	return cond, bound
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
	if len(parts) != len(o.columns)+len(o.tie) {
		return nil, store.ErrBadCursor
	}
	key := make([]value, len(parts))
	for i, p := range parts {
		if key[i], err = parseKey(p); err != nil {
			return nil, err
		}
		if key[i].class == sqlite.TypeText && key[i].stored != o.utf16 {
			return nil, store.ErrBadCursor
		}
	}
	return key, nil
}

// before reports whether key a comes before key b.
func (o order) before(a, b []value) bool {
	for i := range a {
		if c := compare(a[i], b[i]); c != 0 {
			return c < 0
		}
	}
	return false
}

func encodeKey(scope string, key []value) string {
	parts := make([]string, len(key))
	for i, v := range key {
		parts[i] = v.key()
	}
	return store.EncodeCursor(scope, parts...)
}

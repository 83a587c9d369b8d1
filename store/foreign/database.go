package foreign

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"treering/store"
)

// Database is a SQLite file that is open for reading.
type Database interface {
	// Read runs fn in one read transaction, and again from nothing where the file
	// changed meanwhile.
	Read(ctx context.Context, fn func(conn *sqlite.Conn) error) error
	ChangeToken(ctx context.Context) (string, error)
	Close() error
}

// Columns are the tables of a database and their columns, both as they are written.
type Columns map[string][]string

// Has reports whether a table is there with all of the columns.
func (c Columns) Has(table string, columns ...string) bool {
	have, ok := c[table]
	if !ok {
		return false
	}
	for _, want := range columns {
		found := false
		for _, h := range have {
			found = found || strings.EqualFold(h, want)
		}
		if !found {
			return false
		}
	}
	return true
}

// ColumnsOf reads which tables there are. Only their shapes are looked at.
func ColumnsOf(conn *sqlite.Conn) (Columns, error) {
	c := Columns{}
	err := Each(conn, "SELECT m.name, i.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS i WHERE m.type = 'table' AND m.rootpage > 0 ORDER BY m.name, i.cid", nil,
		func(row *sqlite.Stmt) error {
			table := row.ColumnText(0)
			c[table] = append(c[table], row.ColumnText(1))
			return nil
		})
	return c, err
}

// Each runs a query and hands its rows on. The statement is prepared once for each
// connection.
func Each(conn *sqlite.Conn, query string, bind func(*sqlite.Stmt), row func(*sqlite.Stmt) error) (err error) {
	stmt, err := conn.Prepare(query)
	if err != nil {
		return err
	}
	if bind != nil {
		bind(stmt)
	}
	defer func() {
		err = errors.Join(err, stmt.Reset(), stmt.ClearBindings())
	}()
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return err
		}
		if err := row(stmt); err != nil {
			return err
		}
	}
}

// Bytes reads a column as bytes, whatever it was declared as or is stored as.
func Bytes(row *sqlite.Stmt, column int) []byte {
	if row.ColumnType(column) == sqlite.TypeNull {
		return nil
	}
	b := make([]byte, row.ColumnLen(column))
	n := row.ColumnBytes(column, b)
	return b[:n]
}

// Text reads a column as text; what is no UTF-8 in it becomes U+FFFD.
func Text(row *sqlite.Stmt, column int) string {
	return strings.ToValidUTF8(row.ColumnText(column), "\uFFFD")
}

// Quote writes the name of a table or a column for use in SQL.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Within prepends a place to an error.
func Within(table string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("table %s: %w", table, err)
}

// maxShownBlob is how much of bytes that are no text a value shows.
const maxShownBlob = 64

// Value reads a column as JSON: numbers and texts as they are, other bytes as their
// number and the first of them.
func Value(row *sqlite.Stmt, column int) store.JSON {
	switch row.ColumnType(column) {
	case sqlite.TypeNull:
		return store.Null
	case sqlite.TypeInteger:
		return store.JSON(strconv.FormatInt(row.ColumnInt64(column), 10))
	case sqlite.TypeFloat:
		if v, err := store.ValueOf(row.ColumnFloat(column)); err == nil {
			return v
		}
		return store.Quote(row.ColumnText(column)) // no JSON number
	case sqlite.TypeText:
		return store.Quote(Text(row, column))
	}
	return BlobValue(Bytes(row, column))
}

// BlobValue shows bytes.
func BlobValue(b []byte) store.JSON {
	return store.ObjectOf(store.Member{Key: "bytes", Value: store.JSON(strconv.Itoa(len(b)))},
		store.Member{Key: "base64", Value: store.Quote(base64.StdEncoding.EncodeToString(b[:min(len(b), maxShownBlob)]))})
}

package rqlite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// answer is the body of an answer. The status is 200 even where a statement failed.
type answer struct {
	Results []result `json:"results"`
	Error   string   `json:"error"`
}

// result is what one statement came to.
type result struct {
	LastInsertID int64    `json:"last_insert_id"`
	RowsAffected int64    `json:"rows_affected"`
	Columns      []string `json:"columns"`
	Values       [][]cell `json:"values"`
	Error        string   `json:"error"`
}

// cellKind is the kind of a value as JSON has it. A blob in a column that is declared
// as text comes as text.
type cellKind uint8

const (
	isNull cellKind = iota
	isNumber
	isText
	isBlob
)

// cell is one value of a row.
type cell struct {
	kind cellKind
	text string // of text and blobs the bytes, of a number the digits as they came
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *cell) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case 'n':
		*c = cell{}
	case '"':
		c.kind = isText
		if plain := b[1 : len(b)-1]; bytes.IndexByte(plain, '\\') < 0 {
			c.text = string(plain)
			return nil
		}
		return json.Unmarshal(b, &c.text)
	case '[':
		c.kind = isBlob
		var raw []uint16
		if err := json.Unmarshal(b, &raw); err != nil {
			return err
		}
		bytes := make([]byte, len(raw))
		for i, v := range raw {
			bytes[i] = byte(v)
		}
		c.text = string(bytes)
	case 't':
		*c = cell{isNumber, "1"}
	case 'f':
		*c = cell{isNumber, "0"}
	default:
		*c = cell{isNumber, string(b)}
	}
	return nil
}

// int is a whole number.
func (c cell) int() (int64, bool) {
	if c.kind != isNumber {
		return 0, false
	}
	n, err := strconv.ParseInt(c.text, 10, 64)
	return n, err == nil
}

// float is a number; an infinity, which JSON has not, comes as text.
func (c cell) float() (float64, bool) {
	if c.kind != isNumber && c.text != "Inf" && c.text != "-Inf" {
		return 0, false
	}
	f, err := strconv.ParseFloat(c.text, 64)
	return f, err == nil
}

// pointer is nil for NULL.
func (c cell) pointer() *string {
	if c.kind == isNull {
		return nil
	}
	return &c.text
}

func (c cell) floatPointer() *float64 {
	f, ok := c.float()
	if !ok {
		return nil
	}
	return &f
}

// one returns the single row of a result with that many columns, nil where there is
// none.
func (r result) one(columns int) ([]cell, error) {
	if len(r.Values) == 0 {
		return nil, nil
	}
	if len(r.Values[0]) != columns {
		return nil, fmt.Errorf("rqlite: the answer has %d columns, not %d", len(r.Values[0]), columns)
	}
	return r.Values[0], nil
}

func (c cell) intPointer() *int64 {
	n, ok := c.int()
	if !ok {
		return nil
	}
	return &n
}

package rqlite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// statement is one SQL statement with its parameters, which it names ?1, ?2 and so
// on: string, int64, float64, nil and the pointers to them. It has no other question
// mark.
type statement struct {
	sql    string
	params []any
}

func sql(text string, params ...any) statement { return statement{text, params} }

var placeholder = regexp.MustCompile(`\?[0-9]+`)

// encode writes statements as the body of a request.
func encode(statements []statement) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, s := range statements {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := s.encode(&b); err != nil {
			return nil, err
		}
	}
	b.WriteByte(']')
	return b.Bytes(), nil
}

func (s statement) encode(b *bytes.Buffer) error {
	text := s.sql
	if s.hasOdd() {
		// As bytes it passes unchanged, and the cast makes text of it again.
		text = placeholder.ReplaceAllStringFunc(text, func(p string) string {
			n, err := strconv.Atoi(p[1:])
			if err == nil && n <= len(s.params) && isOdd(s.params[n-1]) {
				return "CAST(" + p + " AS TEXT)"
			}
			return p
		})
	}
	b.WriteByte('[')
	writeText(b, text)
	for _, p := range s.params {
		b.WriteByte(',')
		if err := writeParam(b, p); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

func (s statement) hasOdd() bool {
	for _, p := range s.params {
		if isOdd(p) {
			return true
		}
	}
	return false
}

// isOdd reports text that the server would not take as it is: what looks like a blob
// literal becomes a blob there, and JSON holds nothing but UTF-8.
func isOdd(param any) bool {
	var text string
	switch p := param.(type) {
	case string:
		text = p
	case *string:
		if p == nil {
			return false
		}
		text = *p
	default:
		return false
	}
	if !utf8.ValidString(text) {
		return true
	}
	text = strings.TrimSpace(text)
	return len(text) > 2 && (text[0] == 'x' || text[0] == 'X') && text[1] == '\''
}

func writeParam(b *bytes.Buffer, param any) error {
	switch p := param.(type) {
	case nil:
		b.WriteString("null")
	case string:
		if isOdd(p) {
			writeBytes(b, p)
		} else {
			writeText(b, p)
		}
	case *string:
		if p == nil {
			b.WriteString("null")
			return nil
		}
		return writeParam(b, *p)
	case int64:
		b.WriteString(strconv.FormatInt(p, 10))
	case float64:
		if math.IsNaN(p) || math.IsInf(p, 0) {
			return fmt.Errorf("rqlite: %v is no number that JSON has", p)
		}
		number := strconv.FormatFloat(p, 'g', -1, 64)
		if !strings.ContainsAny(number, ".e") {
			number += ".0" // a whole number would be taken for an integer
		}
		b.WriteString(number)
	case *float64:
		if p == nil {
			b.WriteString("null")
			return nil
		}
		return writeParam(b, *p)
	default:
		return fmt.Errorf("rqlite: a parameter is %T", param)
	}
	return nil
}

func writeBytes(b *bytes.Buffer, text string) {
	b.WriteByte('[')
	for i := range len(text) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(text[i])))
	}
	b.WriteByte(']')
}

// writeText writes valid UTF-8 as a JSON string.
func writeText(b *bytes.Buffer, text string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(err) // a string always encodes
	}
	b.Truncate(b.Len() - 1) // the line end
}

// quote writes a name for use in SQL, whatever characters it has.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

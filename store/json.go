package store

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON is one immutable JSON text. The zero value means "absent", which is not
// the same as null.
//
// encoding/json would not do: it stops at 10,000 levels, refuses the bare NaN
// and Infinity that Python's json.dumps writes, rewrites half surrogates, and
// its numbers lose digits unless every caller is careful. A JSON value keeps the
// text; it is scanned when somebody asks, iteratively, so depth costs nothing.
type JSON string

// Null is the JSON null, EmptyObject and EmptyArray the empty collections.
const (
	Null        JSON = "null"
	EmptyObject JSON = "{}"
	EmptyArray  JSON = "[]"
)

// Kind says what a JSON text holds, judged by its first byte.
type Kind uint8

// The kinds of a JSON text. NonFinite stands for NaN, Infinity and -Infinity,
// which Python writes and strict JSON does not know.
const (
	Absent Kind = iota
	NullKind
	Bool
	Number
	NonFinite
	String
	Array
	Object
)

var kindNames = [...]string{"nothing", "null", "a boolean", "a number", "a non-finite number", "a string", "an array", "an object"}

// String names the kind as an error message would.
func (k Kind) String() string { return kindNames[k] }

// Kind reports what j holds. It trusts that j was parsed.
func (j JSON) Kind() Kind {
	s := string(j)
	if s != "" && s[0] <= ' ' {
		s = s[skipSpace(s, 0):]
	}
	if s == "" {
		return Absent
	}
	switch s[0] {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return NullKind
	case 'N', 'I':
		return NonFinite
	case '-':
		if strings.HasPrefix(s, "-I") {
			return NonFinite
		}
	}
	return Number
}

// IsNull reports whether j is absent or null.
func (j JSON) IsNull() bool { k := j.Kind(); return k == Absent || k == NullKind }

// SyntaxError says where a JSON text stops being one.
type SyntaxError struct {
	Offset int    // bytes from the start of the text
	Reason string // what was found or missing there
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not JSON: %s at byte %d", e.Reason, e.Offset)
}

// ParseJSON checks that text is one JSON value and returns it without the white
// space around it. It reads what Python's json.dumps writes, so bare NaN,
// Infinity and -Infinity pass, and of duplicate keys the last will win. Text
// that is not valid UTF-8 is refused. Errors are *[SyntaxError].
func ParseJSON(text string) (JSON, error) {
	return parseText(text, false)
}

// ParseStrictJSON is ParseJSON for values that are about to be written to a
// store of ours: it also refuses non-finite numbers and duplicate keys.
func ParseStrictJSON(text string) (JSON, error) {
	return parseText(text, true)
}

func parseText(text string, strict bool) (JSON, error) {
	if !strict {
		start := skipSpace(text, 0)
		if end := valueEnd(text, start); end >= 0 && skipSpace(text, end) == len(text) {
			return JSON(text[start:end]), nil
		}
	}
	if at := invalidUTF8(text); at >= 0 {
		return "", &SyntaxError{at, "invalid UTF-8"}
	}
	start := skipSpace(text, 0)
	sc := scanner{src: text, strict: strict}
	end, err := sc.value(start)
	if err != nil {
		return "", err
	}
	if rest := skipSpace(text, end); rest != len(text) {
		return "", &SyntaxError{rest, "more text after the value"}
	}
	return JSON(text[start:end]), nil
}

// Members yields the members of an object in the order of the text, duplicates
// included. Of anything else it yields nothing.
func (j JSON) Members() iter.Seq2[string, JSON] {
	return func(yield func(string, JSON) bool) {
		for key, val := range j.rawMembers() {
			if !yield(unquote(string(key)), val) {
				return
			}
		}
	}
}

// rawMembers is Members with the keys as they stand in the text, quoted.
func (j JSON) rawMembers() iter.Seq2[JSON, JSON] {
	return func(yield func(JSON, JSON) bool) {
		for at := range j.spans() {
			if !yield(j[at.key:at.keyEnd], j[at.from:at.end]) {
				return
			}
		}
	}
}

// span is where one member stands in the text of an object: its quoted key, and its
// value.
type span struct{ key, keyEnd, from, end int }

// spans yields where the members of an object stand.
func (j JSON) spans() iter.Seq[span] {
	return func(yield func(span) bool) {
		s := string(j)
		i := skipSpace(s, 0)
		if i >= len(s) || s[i] != '{' {
			return
		}
		for i = skipSpace(s, i+1); i < len(s) && s[i] == '"'; {
			at := span{key: i}
			var err error
			if at.keyEnd, err = scanString(s, i); err != nil {
				return
			}
			at.from = skipSpace(s, at.keyEnd)
			if at.from >= len(s) || s[at.from] != ':' {
				return
			}
			at.from = skipSpace(s, at.from+1)
			if at.end = endOfValue(s, at.from); at.end < 0 || !yield(at) {
				return
			}
			i = skipSpace(s, at.end)
			if i >= len(s) || s[i] != ',' {
				return
			}
			i = skipSpace(s, i+1)
		}
	}
}

// endOfValue is the index after the value at i, where no white space may be, or -1
// where there is none.
func endOfValue(s string, i int) int {
	if end := valueEnd(s, i); end >= 0 {
		return end
	}
	// Nested too deeply for that, or no value.
	sc := scanner{src: s}
	end, err := sc.value(i)
	if err != nil {
		return -1
	}
	return end
}

// Elements yields the elements of an array in order. Of anything else it yields
// nothing.
func (j JSON) Elements() iter.Seq[JSON] {
	return func(yield func(JSON) bool) {
		s := string(j)
		i := skipSpace(s, 0)
		if i >= len(s) || s[i] != '[' {
			return
		}
		for i = skipSpace(s, i+1); i < len(s) && s[i] != ']'; {
			end := endOfValue(s, i)
			if end < 0 || !yield(j[i:end]) {
				return
			}
			i = skipSpace(s, end)
			if i >= len(s) || s[i] != ',' {
				return
			}
			i = skipSpace(s, i+1)
		}
	}
}

// Get returns the member of that name, the last where a key is repeated, and ""
// where there is none.
func (j JSON) Get(key string) JSON {
	var found JSON
	for k, v := range j.rawMembers() {
		if keyIs(string(k), key) {
			found = v
		}
	}
	return found
}

// At follows object keys from j and returns what it finds there, "" where a step
// is missing.
func (j JSON) At(path ...string) JSON {
	for _, key := range path {
		j = j.Get(key)
	}
	return j
}

func keyIs(quoted, key string) bool {
	if inner := quoted[1 : len(quoted)-1]; strings.IndexByte(inner, '\\') < 0 {
		return inner == key
	}
	return unquote(quoted) == key
}

// Text returns the value of a JSON string; half surrogates become U+FFFD. ok is
// false for every other kind.
func (j JSON) Text() (text string, ok bool) {
	if j.Kind() != String {
		return "", false
	}
	return unquote(strings.TrimSpace(string(j))), true
}

// unquote decodes a scanned, quoted string.
func unquote(q string) string {
	s := q[1 : len(q)-1]
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	return decodeEscapes(s, func(b []byte, _ uint16) []byte { return utf8.AppendRune(b, utf8.RuneError) })
}

// decodeEscapes decodes a string body; lone is asked what a half surrogate becomes.
func decodeEscapes(s string, lone func([]byte, uint16) []byte) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			n := strings.IndexByte(s[i:], '\\')
			if n < 0 {
				n = len(s) - i
			}
			b = append(b, s[i:i+n]...)
			i += n
			continue
		}
		c := s[i+1]
		i += 2
		switch c {
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r := hex4(s[i:])
			i += 4
			if !utf16.IsSurrogate(rune(r)) {
				b = utf8.AppendRune(b, rune(r))
				break
			}
			if i+6 <= len(s) && s[i] == '\\' && s[i+1] == 'u' {
				if both := utf16.DecodeRune(rune(r), rune(hex4(s[i+2:]))); both != utf8.RuneError {
					b = utf8.AppendRune(b, both)
					i += 6
					break
				}
			}
			b = lone(b, r)
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

func hex4(s string) uint16 {
	// Checked by scanString, so the error cannot happen.
	n, _ := strconv.ParseUint(s[:4], 16, 16)
	return uint16(n)
}

// Float64 returns the nearest float64 of a number. ok is false for every other
// kind and for a number beyond its range.
func (j JSON) Float64() (f float64, ok bool) {
	if j.Kind() != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(string(j)), 64)
	return f, err == nil
}

// Int64 returns a number that is a whole one within 64 bits, however it is
// written (3, 3.0, 30e-1).
func (j JSON) Int64() (n int64, ok bool) {
	if j.Kind() != Number {
		return 0, false
	}
	text := strings.TrimSpace(string(j))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	num := normalise(text)
	zeros, err := strconv.Atoi(num.exp)
	if err != nil || zeros < 0 || zeros > 18 {
		return 0, false
	}
	if num.digits == "" {
		return 0, true
	}
	digits := num.digits + strings.Repeat("0", zeros)
	if num.negative {
		digits = "-" + digits
	}
	n, err = strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

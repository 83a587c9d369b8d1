package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math/bits"
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
	if strict {
		if err := duplicateKey(JSON(text[start:end])); err != nil {
			return "", err
		}
	}
	return JSON(text[start:end]), nil
}

func invalidUTF8(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// scanner walks one value without recursion. When doc is set it also records
// the tokens.
type scanner struct {
	src    string
	strict bool
	doc    *Doc
}

// open containers: 'o' object, 'a' array; with the token index where known.
type frame struct {
	kind  byte
	token int32
}

func (sc *scanner) value(i int) (int, error) {
	s := sc.src
	var shallow [16]frame // most values are no deeper, and then nothing is allocated
	stack := shallow[:0]
	for {
		// A value starts at i.
		i = skipSpace(s, i)
		if i >= len(s) {
			return i, &SyntaxError{i, "the text ends where a value should be"}
		}
		var err error
		switch c := s[i]; {
		case c == '{' || c == '[':
			k, kind := byte('o'), Object
			if c == '[' {
				k, kind = 'a', Array
			}
			tok := sc.open(kind, i)
			i = skipSpace(s, i+1)
			if i < len(s) && (s[i] == '}' && k == 'o' || s[i] == ']' && k == 'a') {
				i++
				sc.close(tok, i)
				break
			}
			stack = append(stack, frame{k, tok})
			if k == 'o' {
				if i, err = sc.key(i); err != nil {
					return i, err
				}
			}
			continue
		case c == '"':
			end, err := scanString(s, i)
			if err != nil {
				return end, err
			}
			sc.leaf(String, i, end)
			i = end
		case c == '-' || c >= '0' && c <= '9':
			if strings.HasPrefix(s[i:], "-Infinity") && !sc.strict {
				sc.leaf(NonFinite, i, i+9)
				i += 9
				break
			}
			end, err := scanNumber(s, i)
			if err != nil {
				return end, err
			}
			sc.leaf(Number, i, end)
			i = end
		default:
			word, kind := literal(s[i:])
			if word == "" {
				return i, &SyntaxError{i, fmt.Sprintf("%q where a value should be", firstRune(s[i:]))}
			}
			if kind == NonFinite && sc.strict {
				return i, &SyntaxError{i, word + " is not a JSON number"}
			}
			sc.leaf(kind, i, i+len(word))
			i += len(word)
		}
		// A value ended at i: close what it completes, or go on to its sibling.
		for {
			if len(stack) == 0 {
				return i, nil
			}
			top := stack[len(stack)-1]
			i = skipSpace(s, i)
			if i >= len(s) {
				return i, &SyntaxError{i, "the text ends inside " + map[byte]string{'o': "an object", 'a': "an array"}[top.kind]}
			}
			if s[i] == ',' {
				i++
				if top.kind == 'o' {
					if i, err = sc.key(skipSpace(s, i)); err != nil {
						return i, err
					}
				}
				break
			}
			if s[i] == '}' && top.kind == 'o' || s[i] == ']' && top.kind == 'a' {
				i++
				sc.close(top.token, i)
				stack = stack[:len(stack)-1]
				continue
			}
			return i, &SyntaxError{i, fmt.Sprintf("%q where a comma or the end should be", firstRune(s[i:]))}
		}
	}
}

func (sc *scanner) key(i int) (int, error) {
	s := sc.src
	if i >= len(s) || s[i] != '"' {
		return i, &SyntaxError{i, "no key where one should be"}
	}
	end, err := scanString(s, i)
	if err != nil {
		return end, err
	}
	sc.leaf(String, i, end)
	i = skipSpace(s, end)
	if i >= len(s) || s[i] != ':' {
		return i, &SyntaxError{i, "no colon after a key"}
	}
	return i + 1, nil
}

func firstRune(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

func literal(s string) (string, Kind) {
	for _, w := range [...]struct {
		word string
		kind Kind
	}{{"true", Bool}, {"false", Bool}, {"null", NullKind}, {"NaN", NonFinite}, {"Infinity", NonFinite}} {
		if strings.HasPrefix(s, w.word) {
			return w.word, w.kind
		}
	}
	return "", Absent
}

func scanString(s string, i int) (int, error) {
	start := i
	for i++; ; {
		i = skipPlain(s, i)
		if i >= len(s) {
			return i, &SyntaxError{start, "a string without an end"}
		}
		switch c := s[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			if i+1 >= len(s) {
				return i, &SyntaxError{i, "the text ends inside an escape"}
			}
			switch s[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if i+6 > len(s) || !isHex4(s[i+2:i+6]) {
					return i, &SyntaxError{i, "a \\u escape without four hexadecimal digits"}
				}
				i += 6
			default:
				return i, &SyntaxError{i, "an unknown escape"}
			}
		default:
			return i, &SyntaxError{i, "a control character inside a string"}
		}
	}
}

// skipPlain returns where the first quote, backslash or control character at or
// after i is: by far the most of any text is none of them, so eight bytes are
// looked at in one step.
func skipPlain(s string, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		// A byte b is below n where the top bit of (b - n) &^ b is set. The lowest such
		// bit is exact; a borrow can only spoil those above it.
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		found := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c == '"' || c == '\\' || c < 0x20 {
			break
		}
	}
	return i
}

func isHex4(s string) bool {
	for i := range 4 {
		c := s[i] | 0x20
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func scanNumber(s string, i int) (int, error) {
	start := i
	digits := func() bool {
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > from
	}
	if s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
		if i < len(s) && s[i] >= '0' && s[i] <= '9' {
			return i, &SyntaxError{start, "a number with a leading zero"}
		}
	} else if !digits() {
		return i, &SyntaxError{start, "a sign without digits"}
	}
	if i < len(s) && s[i] == '.' {
		i++
		if !digits() {
			return i, &SyntaxError{start, "a number that ends in a point"}
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return i, &SyntaxError{start, "a number without its exponent"}
		}
	}
	return i, nil
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
		s := string(j)
		i := skipSpace(s, 0)
		if i >= len(s) || s[i] != '{' {
			return
		}
		for i = skipSpace(s, i+1); i < len(s) && s[i] == '"'; {
			sc := scanner{src: s}
			keyEnd, err := scanString(s, i)
			if err != nil {
				return
			}
			key := s[i:keyEnd]
			from := skipSpace(s, keyEnd)
			if from >= len(s) || s[from] != ':' {
				return
			}
			from = skipSpace(s, from+1)
			end, err := sc.value(from)
			if err != nil || !yield(JSON(key), JSON(s[from:end])) {
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
			sc := scanner{src: s}
			end, err := sc.value(i)
			if err != nil || !yield(JSON(s[skipSpace(s, i):end])) {
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
	if num.exp == nil || !num.exp.IsInt64() || num.exp.Int64() < 0 || num.exp.Int64() > 18 {
		return 0, false
	}
	digits := num.digits + strings.Repeat("0", int(num.exp.Int64()))
	if num.negative {
		digits = "-" + digits
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

// Quote returns s as a JSON string: only the quote, the backslash and control
// characters are escaped, and bytes that are not UTF-8 become U+FFFD.
func Quote(s string) JSON {
	return JSON(appendQuoted(make([]byte, 0, len(s)+2), s))
}

func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += n
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		default:
			b = fmt.Appendf(b, "\\u%04x", c)
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// Member is one member of an object: the key decoded, the value as text.
type Member struct {
	Key   string
	Value JSON
}

// ObjectOf builds an object from members in their order. Absent values are left
// out.
func ObjectOf(members ...Member) JSON {
	size := 2
	for _, m := range members {
		size += len(m.Key) + len(m.Value) + 4
	}
	b := append(make([]byte, 0, size), '{')
	for _, m := range members {
		if m.Value == "" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(appendQuoted(b, m.Key), ':')
		b = append(b, m.Value...)
	}
	return JSON(append(b, '}'))
}

// ArrayOf builds an array.
func ArrayOf(elements ...JSON) JSON {
	b := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e...)
	}
	return JSON(append(b, ']'))
}

// ValueOf encodes a Go value as encoding/json does, but without escaping <, >
// and &, and keeps JSON values and json.Numbers as they are written.
func ValueOf(v any) (JSON, error) {
	if j, ok := v.(JSON); ok {
		return j, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("encode %T as JSON: %w", v, err)
	}
	return JSON(bytes.TrimSuffix(b.Bytes(), []byte{'\n'})), nil
}

// MarshalJSON makes a JSON value embed itself as it is in encoding/json. An
// absent one is null.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == "" {
		return []byte("null"), nil
	}
	return []byte(j), nil
}

// UnmarshalJSON keeps the text.
func (j *JSON) UnmarshalJSON(b []byte) error {
	*j = JSON(bytes.Clone(b))
	return nil
}

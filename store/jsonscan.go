package store

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

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
	ctx    context.Context // looked at now and then; nil: nobody can give up
	keys   []string        // when strict: those of the open objects, outermost first
}

// nesting are the open containers, outermost first: a bit each, set for an object.
// What was torn or is hostile may open as many as it has bytes.
type nesting struct {
	bits  []uint64
	depth int
}

func (n *nesting) push(object bool) {
	if n.depth&63 == 0 {
		n.bits = append(n.bits[:n.depth>>6], 0)
	}
	if object {
		n.bits[n.depth>>6] |= 1 << (n.depth & 63)
	}
	n.depth++
}

// object reports whether the innermost is an object.
func (n *nesting) object() bool {
	at := n.depth - 1
	return n.bits[at>>6]>>(at&63)&1 == 1
}

func (n *nesting) pop() {
	n.depth--
	n.bits[n.depth>>6] &^= 1 << (n.depth & 63)
}

// frame is what is to be known of an open container besides: its token where tokens are
// recorded, and where its keys begin where they are compared.
type frame struct{ token, keys int32 }

// ctxEvery is after how many values a scan looks whether it is still wanted.
const ctxEvery = 1 << 14

func (sc *scanner) value(i int) (int, error) {
	s := sc.src
	var few [1]uint64 // most values are no deeper, and then nothing is allocated
	open := nesting{bits: few[:0]}
	var shallow [16]frame
	frames := shallow[:0]
	framed := sc.strict || sc.doc != nil
	for values := 1; ; values++ {
		if values%ctxEvery == 0 && sc.ctx != nil && sc.ctx.Err() != nil {
			return i, sc.ctx.Err()
		}
		// A value starts at i.
		i = skipSpace(s, i)
		if i >= len(s) {
			return i, &SyntaxError{i, "the text ends where a value should be"}
		}
		var err error
		switch c := s[i]; {
		case c == '{' || c == '[':
			object, kind := c == '{', Object
			if !object {
				kind = Array
			}
			tok := sc.open(kind, i)
			i = skipSpace(s, i+1)
			if i < len(s) && (s[i] == '}' && object || s[i] == ']' && !object) {
				i++
				sc.close(tok, i)
				break
			}
			open.push(object)
			if framed {
				frames = append(frames, frame{tok, int32(len(sc.keys))})
			}
			if object {
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
			if open.depth == 0 {
				return i, nil
			}
			object := open.object()
			i = skipSpace(s, i)
			if i >= len(s) {
				return i, &SyntaxError{i, "the text ends inside " + map[bool]string{true: "an object", false: "an array"}[object]}
			}
			if s[i] == ',' {
				i++
				if object {
					if i, err = sc.key(skipSpace(s, i)); err != nil {
						return i, err
					}
				}
				break
			}
			if s[i] == '}' && object || s[i] == ']' && !object {
				i++
				open.pop()
				if !framed {
					continue
				}
				top := frames[len(frames)-1]
				if key, twice := repeated(sc.keys[top.keys:]); twice {
					return i - 1, &SyntaxError{i - 1, fmt.Sprintf("a repeated key %q in the object that ends", key)}
				}
				sc.keys = sc.keys[:top.keys]
				sc.close(top.token, i)
				frames = frames[:len(frames)-1]
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
	if sc.strict {
		sc.keys = append(sc.keys, exactString(s[i:end]))
	}
	i = skipSpace(s, end)
	if i >= len(s) || s[i] != ':' {
		return i, &SyntaxError{i, "no colon after a key"}
	}
	return i + 1, nil
}

// repeated finds a key that stands twice. It may reorder the keys.
func repeated(keys []string) (string, bool) {
	if len(keys) < 2 {
		return "", false
	}
	if len(keys) > 8 {
		slices.Sort(keys)
		for i := range keys[1:] {
			if keys[i] == keys[i+1] {
				return keys[i], true
			}
		}
		return "", false
	}
	for i, k := range keys {
		if slices.Contains(keys[:i], k) {
			return k, true
		}
	}
	return "", false
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
	for ; i+8 <= len(s); i += 8 {
		if found := special(eight(s, i)); found != 0 {
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

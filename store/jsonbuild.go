package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Quote returns s as a JSON string: only the quote, the backslash and control
// characters are escaped, and bytes that are not UTF-8 become U+FFFD.
func Quote(s string) JSON {
	return handedOver(appendQuoted(make([]byte, 0, len(s)+2), s))
}

// handedOver makes a text of bytes that nobody has but the caller, who gives them up.
// They are copied only where much more room was made for them than they took.
func handedOver(b []byte) JSON {
	if cap(b)-len(b) > len(b)/2+16 {
		return JSON(b)
	}
	return JSON(view(b))
}

func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		for i+8 <= len(s) && unplain(eight(s, i)) == 0 {
			i += 8
		}
		if i == len(s) {
			break
		}
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
		if m.Value != "" {
			size += len(m.Key) + len(m.Value) + 4
		}
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
	return handedOver(append(b, '}'))
}

// ArrayOf builds an array.
func ArrayOf(elements ...JSON) JSON {
	size := 2
	for _, e := range elements {
		size += len(e) + 1
	}
	b := append(make([]byte, 0, size), '[')
	for i, e := range elements {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e...)
	}
	return handedOver(append(b, ']'))
}

// With returns an object in which a member has that value: in the place of the one
// that is there, the last where the key is repeated, or behind all others. The rest
// of the text stays as it is written. Anything but an object, and an absent value,
// changes nothing: j comes back.
func (j JSON) With(key string, value JSON) JSON {
	s := string(j)
	if value == "" || j.Kind() != Object {
		return j
	}
	from, end := -1, -1         // of the value that is there
	last := skipSpace(s, 0) + 1 // the end of the last member, or of the opening brace
	first := true
	for at := range j.spans() {
		last, first = at.end, false
		if keyIs(s[at.key:at.keyEnd], key) {
			from, end = at.from, at.end
		}
	}
	if from >= 0 {
		b := make([]byte, 0, from+len(value)+len(s)-end)
		return handedOver(append(append(append(b, s[:from]...), value...), s[end:]...))
	}
	b := append(make([]byte, 0, len(s)+len(key)+len(value)+4), s[:last]...)
	if !first {
		b = append(b, ',')
	}
	b = append(appendQuoted(b, key), ':')
	return handedOver(append(append(b, value...), s[last:]...))
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

package store

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

// This file decides fast what the scanner decides with reasons: the functions here
// know of no tokens, no errors and no strictness, and answer -1 where text is not
// JSON or nested deeper than they can tell. Whoever gets that asks the scanner.

// fastDepth is how deep they can tell: one bit of a word for each level.
const fastDepth = 64

const ones, highs = 0x0101010101010101, 0x8080808080808080

// eight is the eight bytes of s from i on, the first one lowest.
func eight(s string, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// special marks with its top bit the first byte of eight that ends a run of plain
// text in a string, which quotes, backslashes and control characters do. Bytes above
// the first may be marked wrongly.
func special(w uint64) uint64 {
	// A byte b is below n where the top bit of (b - n) &^ b is set. The lowest such
	// bit is exact; a borrow can only spoil those above it.
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w) & highs
}

// unplain is special with the bytes that are not ASCII marked too, which costs less.
func unplain(w uint64) uint64 {
	// In ASCII nothing is carried from byte to byte, and the top bit of a sum is set
	// where the byte is not zero, or not below a bound. With the bit of 2 turned over a
	// quote is 0x20, control characters are below it, and all others above, the
	// space too. Bytes above one that is not ASCII may be marked wrongly.
	return (^((w ^ (ones * 2)) + ones*(0x80-0x21)) | ^((w ^ (ones * '\\')) + ones*0x7f) | w) & highs
}

// textEnd is the index after the quoted string at i, and plain whether it is
// without escapes.
func textEnd(s string, i int) (end int, plain bool) {
	start := i + 1
	i = start
	plain = true
	var seen uint64 // all bytes looked at, and some behind the end
	for {
		for {
			if i+8 > len(s) {
				for i < len(s) && s[i] != '"' && s[i] != '\\' && s[i] >= 0x20 {
					seen |= uint64(s[i])
					i++
				}
				break
			}
			w := eight(s, i)
			seen |= w
			if found := special(w); found != 0 {
				i += bits.TrailingZeros64(found) / 8
				break
			}
			i += 8
		}
		if i >= len(s) {
			return -1, false
		}
		if s[i] == '"' {
			if seen&highs != 0 && !utf8.ValidString(s[start:i]) {
				return -1, false
			}
			return i + 1, plain
		}
		if s[i] != '\\' || i+1 >= len(s) {
			return -1, false
		}
		plain = false
		switch s[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if i+6 > len(s) || !isHex4(s[i+2:i+6]) {
				return -1, false
			}
			i += 6
		default:
			return -1, false
		}
	}
}

// numberEnd is the index after the number at i, or after -Infinity.
func numberEnd(s string, i int) int {
	if s[i] == '-' {
		if i++; i < len(s) && s[i] == 'I' {
			return wordEnd(s, i, "Infinity")
		}
	}
	from := i
	i = digitsEnd(s, i)
	if i == from || s[from] == '0' && i > from+1 {
		return -1
	}
	if i < len(s) && s[i] == '.' {
		i++
		from = i
		i = digitsEnd(s, i)
		if i == from {
			return -1
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		from = i
		i = digitsEnd(s, i)
		if i == from {
			return -1
		}
	}
	return i
}

// digitsEnd is the index after the digits from i on.
func digitsEnd(s string, i int) int {
	for i+8 <= len(s) {
		// A digit is at most 9 with its upper half taken off. A carry from a byte that
		// is none may only spoil the marks above it.
		digits := eight(s, i) ^ ones*'0'
		if other := (digits | (digits + ones*(0x80-10))) & highs; other != 0 {
			return i + bits.TrailingZeros64(other)/8
		}
		i += 8
	}
	for i < len(s) && s[i]-'0' <= 9 {
		i++
	}
	return i
}

func wordEnd(s string, i int, word string) int {
	if strings.HasPrefix(s[i:], word) {
		return i + len(word)
	}
	return -1
}

// leafEnd is the index after the value at i, which is no container.
func leafEnd(s string, i int) int {
	switch s[i] {
	case '"':
		end, _ := textEnd(s, i)
		return end
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return numberEnd(s, i)
	case 't':
		return wordEnd(s, i, "true")
	case 'f':
		return wordEnd(s, i, "false")
	case 'n':
		return wordEnd(s, i, "null")
	case 'N':
		return wordEnd(s, i, "NaN")
	case 'I':
		return wordEnd(s, i, "Infinity")
	}
	return -1
}

// colonEnd is the index of the value after the key that ends at i.
func colonEnd(s string, i int) int {
	if i < len(s) && s[i] <= ' ' {
		i = skipSpace(s, i)
	}
	if i >= len(s) || s[i] != ':' {
		return -1
	}
	if i++; i < len(s) && s[i] <= ' ' {
		i = skipSpace(s, i)
	}
	return i
}

// valueEnd is the index after the value at i, where no white space may be.
func valueEnd(s string, i int) int {
	var objects uint64 // the open containers, the innermost lowest: 1 for an object
	depth := 0
	key := false // a key is to come, not a value
	for i < len(s) {
		switch c := s[i]; {
		case c == '"':
			end := i + 1
			for {
				if end+8 > len(s) {
					end, _ = textEnd(s, i)
					break
				}
				found := unplain(eight(s, end))
				if found == 0 {
					end += 8
					continue
				}
				if end += bits.TrailingZeros64(found) / 8; s[end] == '"' {
					end++
				} else {
					end, _ = textEnd(s, i)
				}
				break
			}
			if end < 0 {
				return -1
			}
			i = end
			if !key {
				break
			}
			key = false
			if i < len(s) && s[i] <= ' ' {
				i = skipSpace(s, i)
			}
			if i >= len(s) || s[i] != ':' {
				return -1
			}
			if i++; i < len(s) && s[i] == ' ' {
				i++
			}
			if i < len(s) && s[i] <= ' ' {
				i = skipSpace(s, i)
			}
			continue
		case key:
			return -1
		case c == '{' || c == '[':
			if i++; i < len(s) && s[i] <= ' ' {
				i = skipSpace(s, i)
			}
			if i >= len(s) {
				return -1
			}
			if s[i] == c+2 { // the brackets' ends are two further in ASCII
				i++
				break
			}
			if depth++; depth > fastDepth {
				return -1
			}
			key = c == '{'
			objects <<= 1
			if key {
				objects |= 1
			}
			continue
		default:
			if i = leafEnd(s, i); i < 0 {
				return -1
			}
		}
		// A value ended at i.
		for {
			if depth == 0 {
				return i
			}
			if i < len(s) && s[i] <= ' ' {
				i = skipSpace(s, i)
			}
			if i >= len(s) {
				return -1
			}
			if s[i] == ',' {
				if i++; i < len(s) && s[i] == ' ' {
					i++
				}
				if i < len(s) && s[i] <= ' ' {
					i = skipSpace(s, i)
				}
				key = objects&1 != 0
				break
			}
			if s[i] != ']'+byte(objects&1)<<5 { // '}' is 32 further
				return -1
			}
			i++
			objects >>= 1
			depth--
		}
	}
	return -1
}

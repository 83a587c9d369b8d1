package store

import (
	"context"
	"strconv"
	"strings"
)

// ParseDocContext is [ParseDoc] that gives up with the context's error once
// nobody waits for it.
func ParseDocContext(ctx context.Context, j JSON) (*Doc, error) {
	return parseDoc(ctx, j)
}

// Source is the text that was parsed.
func (d *Doc) Source() JSON { return JSON(d.src) }

// Span is where token i stands in the text that was parsed, in bytes.
func (d *Doc) Span(i int) (start, end int) { t := d.toks[i]; return int(t.start), int(t.end) }

// Exact returns a text for a scalar or a key that is the same for equal values of
// one kind and for no others: strings are decoded, with half surrogates kept
// apart; numbers are normalised without rounding (1, 1.0 and 10e-1 are "1"). Of
// a container it is the text as it stands.
func (d *Doc) Exact(i int) string {
	t := d.toks[i]
	text := d.src[t.start:t.end]
	switch t.kind {
	case String:
		return exactString(text)
	case Number:
		return exactNumber(text)
	default:
		return text
	}
}

// plainDigits is up to how many digits a whole number is its own normal form.
const plainDigits = 18

func exactNumber(text string) string {
	if digits := strings.TrimPrefix(text, "-"); len(digits) <= plainDigits && strings.Trim(digits, "0123456789") == "" {
		if digits == "0" {
			return digits
		}
		return text
	}
	n := normalise(text)
	sign := ""
	if n.negative {
		sign = "-"
	}
	if n.digits == "" {
		return "0"
	}
	if zeros, err := strconv.Atoi(n.exp); err == nil && zeros >= 0 && zeros+len(n.digits) <= plainDigits {
		return sign + n.digits + strings.Repeat("0", zeros)
	}
	return sign + n.digits + "e" + n.exp
}

package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
)

// DefaultLimit is the page size where a request names none, and the largest one.
const DefaultLimit = 1000

// PageRequest asks for one page of a list.
type PageRequest struct {
	// Cursor is the Next of the page before, of the same list with the same
	// selection in the same store; "" is the first page.
	Cursor string
	// Limit is the number of items wanted. 0 means [DefaultLimit], more is cut to
	// it, a negative one is refused.
	Limit int
}

// Size is the effective limit. A negative one is a *[ValueError] of [ErrBadLimit].
func (r PageRequest) Size() (int, error) {
	switch {
	case r.Limit < 0:
		return 0, &ValueError{"limit", "must not be negative", ErrBadLimit}
	case r.Limit == 0 || r.Limit > DefaultLimit:
		return DefaultLimit, nil
	}
	return r.Limit, nil
}

// Page is one page of a list. An empty Next is the end; a short page is not.
type Page[T any] struct {
	Items []T
	Next  string
}

// cursorVersion changes when the layout of cursors does.
const cursorVersion = 1

// EncodeCursor makes an opaque position: key is where to go on, scope says which
// store and which selection it belongs to. The cursor carries a checksum over
// all of it but not the scope itself.
func EncodeCursor(scope string, key ...string) string {
	b := []byte{cursorVersion}
	for _, k := range key {
		b = binary.AppendUvarint(b, uint64(len(k)))
		b = append(b, k...)
	}
	sum := cursorSum(scope, b)
	return base64.RawURLEncoding.EncodeToString(append(b, sum[:cursorSumLen]...))
}

// DecodeCursor returns the key of a cursor made by EncodeCursor with the same
// scope. Anything else is [ErrBadCursor], never the first page.
func DecodeCursor(scope, cursor string) ([]string, error) {
	// The decoder would skip line ends.
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || strings.ContainsAny(cursor, "\r\n") || len(b) < 1+cursorSumLen || b[0] != cursorVersion {
		return nil, ErrBadCursor
	}
	body := b[:len(b)-cursorSumLen]
	if sum := cursorSum(scope, body); string(sum[:cursorSumLen]) != string(b[len(body):]) {
		return nil, ErrBadCursor
	}
	var key []string
	for rest := body[1:]; len(rest) > 0; {
		n, used := binary.Uvarint(rest)
		if used <= 0 || n > uint64(len(rest)-used) {
			return nil, ErrBadCursor
		}
		rest = rest[used:]
		key = append(key, string(rest[:n]))
		rest = rest[n:]
	}
	return key, nil
}

const cursorSumLen = 8

func cursorSum(scope string, body []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write(binary.AppendUvarint(nil, uint64(len(scope))))
	h.Write([]byte(scope))
	h.Write(body)
	return [sha256.Size]byte(h.Sum(nil))
}

// All pages a list through to its end and calls visit for every item, in order,
// until it returns an error.
func All[T any](list func(PageRequest) (Page[T], error), visit func(T) error) error {
	var req PageRequest
	for {
		page, err := list(req)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			if err := visit(item); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		req.Cursor = page.Next
	}
}

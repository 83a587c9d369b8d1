package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Doc is a parsed JSON text: its tokens in document order, from which values,
// members and subtrees are reached without scanning again. It is immutable and
// safe to share.
type Doc struct {
	src  string
	toks []token
}

// token is one value or key. next is the index of the first token after the
// subtree, so siblings are one step apart whatever lies below them.
type token struct {
	start, end uint32
	next       int32
	kind       Kind
}

// maxDoc bounds what a Doc can address; JSON of 4 GiB does not occur.
const maxDoc = math.MaxInt32

// ParseDoc parses j once. Errors are *[SyntaxError].
func ParseDoc(j JSON) (*Doc, error) {
	return parseDoc(context.Background(), j)
}

func parseDoc(ctx context.Context, j JSON) (*Doc, error) {
	if len(j) > maxDoc {
		return nil, &SyntaxError{maxDoc, "more text than can be addressed"}
	}
	d := &Doc{src: string(j), toks: make([]token, 0, 16+len(j)/16)}
	sc := scanner{src: d.src, doc: d, ctx: ctx}
	end, err := sc.value(0)
	if err != nil {
		return nil, err
	}
	if rest := skipSpace(d.src, end); rest != len(d.src) {
		return nil, &SyntaxError{rest, "more text after the value"}
	}
	return d, nil
}

func (sc *scanner) leaf(k Kind, start, end int) {
	if sc.doc == nil {
		return
	}
	sc.doc.toks = append(sc.doc.toks, token{uint32(start), uint32(end), int32(len(sc.doc.toks) + 1), k})
}

func (sc *scanner) open(k Kind, start int) int32 {
	if sc.doc == nil {
		return 0
	}
	sc.doc.toks = append(sc.doc.toks, token{start: uint32(start), kind: k})
	return int32(len(sc.doc.toks) - 1)
}

func (sc *scanner) close(tok int32, end int) {
	if sc.doc == nil {
		return
	}
	t := &sc.doc.toks[tok]
	t.end, t.next = uint32(end), int32(len(sc.doc.toks))
}

// Len is the number of tokens: values and keys.
func (d *Doc) Len() int { return len(d.toks) }

// Kind of token i. Token 0 is the whole value.
func (d *Doc) Kind(i int) Kind { return d.toks[i].kind }

// JSON is the text of token i, with everything below it.
func (d *Doc) JSON(i int) JSON { t := d.toks[i]; return JSON(d.src[t.start:t.end]) }

// Next is the index after the subtree of token i. The first token inside a
// container i is i+1; in objects keys and values alternate.
func (d *Doc) Next(i int) int { return int(d.toks[i].next) }

// Equal reports whether two JSON texts are the same value: the order of keys and
// the way a number or a string is written do not matter, exact numeric value
// does. Of duplicate keys the last counts. NaN equals NaN. Texts that are not
// JSON are equal only if they are the same text.
func Equal(a, b JSON) bool {
	if a == b {
		return true
	}
	da, errA := ParseDoc(a)
	db, errB := ParseDoc(b)
	if errA != nil || errB != nil {
		return false
	}
	type pair struct{ a, b int }
	todo := []pair{{0, 0}}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		ka := da.Kind(p.a)
		if ka != db.Kind(p.b) {
			return false
		}
		switch ka {
		case Object:
			ma, mb := da.lastMembers(p.a), db.lastMembers(p.b)
			if len(ma) != len(mb) {
				return false
			}
			for i := range ma {
				if ma[i].key != mb[i].key {
					return false
				}
				todo = append(todo, pair{ma[i].value, mb[i].value})
			}
		case Array:
			i, j := p.a+1, p.b+1
			endA, endB := da.Next(p.a), db.Next(p.b)
			for i < endA && j < endB {
				todo = append(todo, pair{i, j})
				i, j = da.Next(i), db.Next(j)
			}
			if i < endA || j < endB {
				return false
			}
		case Number:
			if !sameNumber(string(da.JSON(p.a)), string(db.JSON(p.b))) {
				return false
			}
		case String:
			if exactString(string(da.JSON(p.a))) != exactString(string(db.JSON(p.b))) {
				return false
			}
		default:
			if da.JSON(p.a) != db.JSON(p.b) {
				return false
			}
		}
	}
	return true
}

type docMember struct {
	key   string
	value int
}

// lastMembers lists an object's members sorted by key, the last of equal ones.
func (d *Doc) lastMembers(obj int) []docMember {
	var ms []docMember
	for i := obj + 1; i < d.Next(obj); i = d.Next(i + 1) {
		ms = append(ms, docMember{exactString(string(d.JSON(i))), i + 1})
	}
	slices.SortStableFunc(ms, func(a, b docMember) int { return strings.Compare(a.key, b.key) })
	out := ms[:0]
	for i, m := range ms {
		if i+1 < len(ms) && ms[i+1].key == m.key {
			continue
		}
		out = append(out, m)
	}
	return out
}

// exactString decodes a quoted string so that different strings stay different:
// half surrogates keep their code in the three bytes UTF-8 would not allow.
func exactString(q string) string {
	s := q[1 : len(q)-1]
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	return decodeEscapes(s, func(b []byte, r uint16) []byte {
		return append(b, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0xBF, 0x80|byte(r)&0xBF)
	})
}

// number is a JSON number as sign, digits without zeros at either end, and a
// decimal exponent in canonical text: equal values have equal fields, and nothing
// is rounded. Zero has no digits and the exponent "0".
//
// The exponent stays text because it may have as many digits as the number is
// long, and converting a million decimal digits to binary takes seconds.
type number struct {
	negative bool
	digits   string
	exp      string
}

func normalise(text string) number {
	negative := strings.HasPrefix(text, "-")
	text = strings.TrimPrefix(text, "-")
	exp := "0"
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		exp = strings.TrimPrefix(text[at+1:], "+")
		text = text[:at]
	}
	whole, frac, _ := strings.Cut(text, ".")
	digits := whole + frac
	trimmed := strings.TrimRight(digits, "0")
	shift := int64(len(digits) - len(trimmed) - len(frac))
	trimmed = strings.TrimLeft(trimmed, "0")
	if trimmed == "" {
		return number{exp: "0"}
	}
	return number{negative, trimmed, addDecimal(exp, shift)}
}

// addDecimal adds a number of bytes to a decimal integer of any length, in time
// linear in it, and returns the canonical text.
func addDecimal(text string, delta int64) string {
	negative := strings.HasPrefix(text, "-")
	digits := strings.TrimLeft(strings.TrimPrefix(text, "-"), "0")
	// 18 digits fit an int64, and so does their sum with the length of a text.
	if len(digits) <= 18 {
		n, _ := strconv.ParseInt("0"+digits, 10, 64) // digits only: cannot fail
		if negative {
			n = -n
		}
		return strconv.FormatInt(n+delta, 10)
	}
	// The magnitude is far above any delta, so the sign stays.
	if negative {
		delta = -delta
	}
	b := []byte(digits)
	for i := len(b) - 1; i >= 0 && delta != 0; i-- {
		d := int64(b[i]-'0') + delta
		delta = d / 10
		if d %= 10; d < 0 {
			d += 10
			delta--
		}
		b[i] = byte('0' + d)
	}
	out := string(b)
	if delta > 0 {
		out = strconv.FormatInt(delta, 10) + out
	}
	if out = strings.TrimLeft(out, "0"); negative {
		out = "-" + out
	}
	return out
}

func sameNumber(a, b string) bool { return a == b || normalise(a) == normalise(b) }

// CompareNumbers orders two numbers by their exact value, however many digits they
// have and however they are written: -1, 0 or 1. It trusts that both are of kind
// [Number].
func CompareNumbers(a, b JSON) int {
	x, y := normalise(strings.TrimSpace(string(a))), normalise(strings.TrimSpace(string(b)))
	if x == y {
		return 0
	}
	order := 1
	switch {
	case x.sign() != y.sign():
		return cmp.Compare(x.sign(), y.sign())
	case x.negative:
		order = -1
	}
	// Where the point stands decides first, then the digits, neither of which end in zeros.
	if c := compareIntegers(addDecimal(x.exp, int64(len(x.digits))), addDecimal(y.exp, int64(len(y.digits)))); c != 0 {
		return order * c
	}
	return order * strings.Compare(x.digits, y.digits)
}

func (n number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	}
	return 1
}

// compareIntegers orders two decimal integers in canonical text.
func compareIntegers(a, b string) int {
	x, negA := strings.CutPrefix(a, "-")
	y, negB := strings.CutPrefix(b, "-")
	if negA != negB {
		return pickSign(negA)
	}
	c := cmp.Compare(len(x), len(y))
	if c == 0 {
		c = strings.Compare(x, y)
	}
	if negA {
		return -c
	}
	return c
}

func pickSign(negative bool) int {
	if negative {
		return -1
	}
	return 1
}

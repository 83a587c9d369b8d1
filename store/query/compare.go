package query

import (
	"math"
	"strings"
	"unicode/utf8"

	"treering/store"
)

// textTest compares texts. Of != it makes what equals; the caller turns it round.
func textTest(f form, op operator, want string) func(string) bool {
	if op == opContains || f == proseText && op == opIs {
		return contains(want)
	}
	switch {
	case f == foldText:
		return func(s string) bool { return strings.EqualFold(s, want) }
	case f == pathText && op == opIs:
		return func(s string) bool {
			return strings.HasPrefix(s, want) && (len(s) == len(want) || s[len(want)] == '.')
		}
	}
	return func(s string) bool { return s == want }
}

// contains looks for a text somewhere: in any case, unless it has a capital itself.
func contains(want string) func(string) bool {
	if hasUpper(want) {
		return func(s string) bool { return strings.Contains(s, want) }
	}
	return func(s string) bool { return indexFold(s, want) >= 0 }
}

// indexFold finds lower, which is in lower case, in s in any case.
func indexFold(s, lower string) int {
	if lower == "" {
		return 0
	}
	first := lower[0]
	if first >= utf8.RuneSelf {
		for i := range s {
			if hasPrefixFold(s[i:], lower) {
				return i
			}
		}
		return -1
	}
	for i := 0; i < len(s); i++ {
		if lowerByte(s[i]) == first && hasPrefixFold(s[i:], lower) {
			return i
		}
	}
	return -1
}

func hasPrefixFold(s, lower string) bool {
	for len(lower) > 0 {
		if s == "" {
			return false
		}
		if lower[0] < utf8.RuneSelf {
			if lowerByte(s[0]) != lower[0] {
				return false
			}
			s, lower = s[1:], lower[1:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		l, ln := utf8.DecodeRuneInString(lower)
		if fold(r) != l {
			return false
		}
		s, lower = s[n:], lower[ln:]
	}
	return true
}

// bound is a number to compare whole ones with, exactly.
type bound struct {
	floor int64 // the greatest whole number that is not above it
	whole bool  // it is that number
	below bool  // it is below every whole number of 64 bits
}

func boundOf(text string) bound {
	j := store.JSON(text)
	if n, ok := j.Int64(); ok {
		return bound{floor: n, whole: true}
	}
	above := func(n int64) bool { // n is above the number
		v, err := store.ValueOf(n)
		return err == nil && store.CompareNumbers(v, j) > 0
	}
	if above(math.MinInt64) {
		return bound{below: true}
	}
	low, high := int64(math.MinInt64), int64(math.MaxInt64) // low is not above it
	for low < high {
		mid := low + int64((uint64(high)-uint64(low))/2) + 1
		if above(mid) {
			high = mid - 1
		} else {
			low = mid
		}
	}
	return bound{floor: low}
}

// compare orders n against the bound.
func (b bound) compare(n int64) int {
	switch {
	case b.below || n > b.floor:
		return 1
	case n < b.floor || !b.whole:
		return -1
	}
	return 0
}

// shortNumber is how long the text of a number may be so that a float64 compares it
// exactly: all numbers of 15 digits are different ones.
const shortNumber = 15

func isShort(s string) bool { return len(s) <= shortNumber && !strings.ContainsAny(s, "eE") }

// document compares a value in a document.
func (b *binder) document(e *comparison) predicate {
	f, p, op := e.field, e.path, e.op
	test := e.value.test(op)
	if op == opDiffers {
		return func(r Row) Result {
			v := p.in(r.document(f))
			// What is not there, or null, differs from nothing but null.
			return result(!v.IsNull() && !test(v))
		}
	}
	return func(r Row) Result {
		v := p.in(r.document(f))
		return result(v != "" && test(v))
	}
}

// test makes the comparison of a value with the literal. Of != it makes what
// equals.
func (l literal) test(op operator) func(store.JSON) bool {
	switch {
	case op == opContains:
		return containedIn(contains(l.text))
	case l.kind == store.Number:
		return l.numberTest(op)
	case l.kind == store.String:
		want := l.text
		return func(v store.JSON) bool {
			s, ok := v.Text()
			return ok && op.equalOr(strings.Compare(s, want))
		}
	}
	want := store.JSON(l.text)
	return func(v store.JSON) bool { return store.JSON(strings.TrimSpace(string(v))) == want }
}

// equalOr is holds, with != as what it turns round.
func (o operator) equalOr(order int) bool {
	if o == opDiffers {
		return order == 0
	}
	return o.holds(order)
}

func (l literal) numberTest(op operator) func(store.JSON) bool {
	want := store.JSON(l.text)
	float, _ := want.Float64()
	short := isShort(l.text)
	return func(v store.JSON) bool {
		if v.Kind() != store.Number {
			return false
		}
		if short && isShort(string(v)) {
			if f, ok := v.Float64(); ok {
				switch {
				case f < float:
					return op.equalOr(-1)
				case f > float:
					return op.equalOr(1)
				}
				return op.equalOr(0)
			}
		}
		return op.equalOr(store.CompareNumbers(v, want))
	}
}

// containedIn looks in a string, and in the strings and numbers of a list.
func containedIn(match func(string) bool) func(store.JSON) bool {
	one := func(v store.JSON) bool {
		if s, ok := v.Text(); ok {
			return match(s)
		}
		return v.Kind() == store.Number && match(string(v))
	}
	return func(v store.JSON) bool {
		if v.Kind() == store.Array {
			return anyElement(v, one)
		}
		return one(v)
	}
}

// anyElement stands apart because the loop's variables are allocated.
func anyElement(list store.JSON, match func(store.JSON) bool) bool {
	for e := range list.Elements() {
		if match(e) {
			return true
		}
	}
	return false
}

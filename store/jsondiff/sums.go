package jsondiff

import (
	"context"
	"hash/maphash"
	"math/bits"
	"slices"

	"treering/store"
)

// sum stands for a value: equal values have equal sums, and two different values
// as good as never have the same one. hi is drawn anew for every comparison, so
// nobody can prepare values for which it is the same; lo depends on the value
// alone, so that what is decided by it is decided the same way every time.
type sum struct{ hi, lo uint64 }

const (
	oddA = 0x9e3779b97f4a7c15
	oddB = 0xd6e8feb86659fd93
	oddC = 0xa0761d6478bd642f
	oddD = 0xe7037ed1a0b428db
)

// mul mixes two numbers.
func mul(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// with is the sum of s followed by o; the order matters.
func (s sum) with(o sum) sum {
	return sum{
		mul(s.hi^oddA, o.hi^oddB) ^ o.lo,
		mul(s.lo^oddC, o.lo^oddD) ^ bits.RotateLeft64(o.lo, 29),
	}
}

func sumOf(seed maphash.Seed, text string) sum {
	lo := uint64(len(text)) ^ oddB
	rest := text
	for ; len(rest) >= 8; rest = rest[8:] {
		w := uint64(rest[0]) | uint64(rest[1])<<8 | uint64(rest[2])<<16 | uint64(rest[3])<<24 |
			uint64(rest[4])<<32 | uint64(rest[5])<<40 | uint64(rest[6])<<48 | uint64(rest[7])<<56
		lo = mul(lo^oddC, w^oddD) + w
	}
	var w uint64
	for i := range len(rest) {
		w |= uint64(rest[i]) << (8 * i)
	}
	return sum{maphash.String(seed, text), mul(lo^oddC, w^oddD)}
}

// sums returns those of all tokens.
func sums(ctx context.Context, d *store.Doc, seed maphash.Seed) ([]sum, error) {
	out := make([]sum, d.Len())
	var members []member
	// What is in a container comes after it, so from the end all is there already.
	for i := d.Len() - 1; i >= 0; i-- {
		if i%(1<<15) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		kind := d.Kind(i)
		s := sum{uint64(kind) + 1, uint64(kind) + 101}
		switch kind {
		case store.Array:
			for j := i + 1; j < d.Next(i); j = d.Next(j) {
				s = s.with(out[j])
			}
		case store.Object:
			members = lastMembers(d, out, i, members[:0])
			// The order of members does not matter, so they are added.
			var all sum
			for _, m := range members {
				both := m.key.with(out[m.value])
				all.hi, all.lo = all.hi+both.hi, all.lo+both.lo
			}
			s = s.with(all)
		default:
			s = s.with(sumOf(seed, d.Exact(i)))
		}
		out[i] = s
	}
	return out, nil
}

// member is a member of an object: its key's sum and the token of its value.
type member struct {
	key   sum
	value int32
}

// fewMembers is up to how many members are looked through one by one.
const fewMembers = 12

// lastMembers appends an object's members: of equal keys the last value, at the
// place of the first.
func lastMembers(d *store.Doc, sums []sum, object int, out []member) []member {
	from := len(out)
	var at map[sum]int
	for i := object + 1; i < d.Next(object); i = d.Next(i + 1) {
		m := member{sums[i], int32(i + 1)}
		known := -1
		if at == nil {
			known = slices.IndexFunc(out[from:], func(o member) bool { return o.key == m.key })
			if known < 0 && len(out)-from == fewMembers {
				at = make(map[sum]int, 4*fewMembers)
				for k, o := range out[from:] {
					at[o.key] = k
				}
			}
		} else if k, ok := at[m.key]; ok {
			known = k
		}
		if known >= 0 {
			out[from+known].value = m.value
			continue
		}
		if at != nil {
			at[m.key] = len(out) - from
		}
		out = append(out, m)
	}
	return out
}

// members pairs those of two objects by key, in the order of the one after;
// those removed come last.
func (c *comparison) members(k kid) []kid {
	was := lastMembers(c.A, c.a.sums, int(k.a), nil)
	now := lastMembers(c.B, c.b.sums, int(k.b), nil)
	find := finder(was)
	kept := make([]bool, len(was))
	kids := make([]kid, 0, max(len(was), len(now)))
	for n, m := range now {
		pair := kid{-1, m.value, -1, -1, false}
		if i := find(m.key, n); i >= 0 {
			pair.a, kept[i] = was[i].value, true
		}
		kids = append(kids, pair)
	}
	for i, m := range was {
		if !kept[i] {
			kids = append(kids, kid{m.value, -1, -1, -1, false})
		}
	}
	return kids
}

// finder finds members by key; near is where the one looked for probably is.
func finder(in []member) func(key sum, near int) int {
	var at map[sum]int
	if len(in) > fewMembers {
		at = make(map[sum]int, len(in))
		for i, m := range in {
			at[m.key] = i
		}
	}
	return func(key sum, near int) int {
		if near < len(in) && in[near].key == key {
			return near
		}
		if at == nil {
			return slices.IndexFunc(in, func(m member) bool { return m.key == key })
		}
		if i, ok := at[key]; ok {
			return i
		}
		return -1
	}
}

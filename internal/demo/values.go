package demo

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"treering/store"
)

// fields are members of a JSON object in their order.
type fields []store.Member

func object(f fields) store.JSON      { return store.ObjectOf(f...) }
func text(s string) store.JSON        { return store.Quote(s) }
func number(n int) store.JSON         { return store.JSON(strconv.Itoa(n)) }
func list(v ...store.JSON) store.JSON { return store.ArrayOf(v...) }

func decimal(f float64, digits int) store.JSON {
	return store.JSON(strconv.FormatFloat(f, 'f', digits, 64))
}

func boolean(b bool) store.JSON { return store.JSON(strconv.FormatBool(b)) }

func texts(words ...string) store.JSON {
	v := make([]store.JSON, len(words))
	for i, w := range words {
		v[i] = text(w)
	}
	return store.ArrayOf(v...)
}

// with returns obj with one member set, at a dotted path. What is missing on the way
// becomes an object.
func with(obj store.JSON, path string, value store.JSON) store.JSON {
	key, rest, nested := strings.Cut(path, ".")
	if nested {
		value = with(obj.Get(key), rest, value)
	}
	return put(obj, key, value)
}

func put(obj store.JSON, key string, value store.JSON) store.JSON {
	if obj.Kind() != store.Object {
		obj = store.EmptyObject
	}
	return obj.With(key, value)
}

// epoch is a time as harel's stamps hold it: seconds with microseconds.
func epoch(t time.Time) store.JSON {
	return store.JSON(strconv.FormatFloat(seconds(t), 'f', -1, 64))
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// iso is a time as events and nodes hold it.
func iso(t time.Time) store.JSON {
	return store.JSON(t.UTC().Format(`"2006-01-02T15:04:05.000000Z"`))
}

// dice is everything random about the demo.
type dice struct{ r *rand.Rand }

func newDice(seed int64, stream uint64) dice {
	return dice{rand.New(rand.NewPCG(uint64(seed), stream))}
}

// uuid is a version 4 UUID.
func (d dice) uuid() string {
	var b [16]byte
	d.fill(&b)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// hex is 32 hexadecimal digits, the form of an event's id.
func (d dice) hex() string {
	var b [16]byte
	d.fill(&b)
	return hex.EncodeToString(b[:])
}

func (d dice) digest() string { return "sha256:" + d.hex() + d.hex() }

func (d dice) fill(b *[16]byte) {
	binary.BigEndian.PutUint64(b[:8], d.r.Uint64())
	binary.BigEndian.PutUint64(b[8:], d.r.Uint64())
}

// about is within an eighth of a duration.
func (d dice) about(t time.Duration) time.Duration {
	return time.Duration(float64(t) * (0.875 + d.r.Float64()/4)).Truncate(time.Microsecond)
}

func (d dice) between(low, high int) int { return low + d.r.IntN(high-low+1) }

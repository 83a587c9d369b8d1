package langgraph

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	"treering/store"
	"treering/store/foreign"
)

// maxDepth bounds the nesting that is decoded. What Python writes is flatter by far.
const maxDepth = 512

// malformedError is msgpack that is none.
type malformedError struct {
	at   int
	what string
}

func (e *malformedError) Error() string {
	return fmt.Sprintf("msgpack: %s at byte %d", e.what, e.at)
}

// decode turns msgpack into JSON. Objects of Python become {"$type", "value"}: nothing
// is imported or run. No length is believed before the bytes for it are there.
func decode(b []byte) (store.JSON, error) {
	d := decoder{in: b}
	if err := d.value(0); err != nil {
		return "", err
	}
	if d.at != len(b) {
		return "", &malformedError{d.at, "more than one value"}
	}
	return store.JSON(d.out), nil
}

type decoder struct {
	in  []byte
	at  int
	out []byte
}

func (d *decoder) fail(what string) error { return &malformedError{d.at, what} }

// take returns the next n bytes.
func (d *decoder) take(n uint64) ([]byte, error) {
	if n > uint64(len(d.in)-d.at) {
		return nil, d.fail(fmt.Sprintf("%d bytes are promised and %d are left", n, len(d.in)-d.at))
	}
	b := d.in[d.at : d.at+int(n)]
	d.at += int(n)
	return b, nil
}

// length reads a big-endian number of that many bytes.
func (d *decoder) length(size uint64) (uint64, error) {
	b, err := d.take(size)
	if err != nil {
		return 0, err
	}
	var full [8]byte
	copy(full[8-len(b):], b)
	return binary.BigEndian.Uint64(full[:]), nil
}

func (d *decoder) value(depth int) error {
	if depth > maxDepth {
		return d.fail("nested too deeply")
	}
	first, err := d.take(1)
	if err != nil {
		return err
	}
	c := first[0]
	switch {
	case c <= 0x7f:
		return d.number(strconv.Itoa(int(c)))
	case c >= 0xe0:
		return d.number(strconv.Itoa(int(int8(c))))
	case c <= 0x8f:
		return d.object(uint64(c&0x0f), depth)
	case c <= 0x9f:
		return d.array(uint64(c&0x0f), depth)
	case c <= 0xbf:
		return d.text(uint64(c & 0x1f))
	}
	switch c {
	case 0xc0:
		return d.number("null")
	case 0xc2:
		return d.number("false")
	case 0xc3:
		return d.number("true")
	case 0xc4, 0xc5, 0xc6:
		n, err := d.length(1 << (c - 0xc4))
		if err != nil {
			return err
		}
		return d.binary(n)
	case 0xc7, 0xc8, 0xc9:
		n, err := d.length(1 << (c - 0xc7))
		if err != nil {
			return err
		}
		return d.extension(n, depth)
	case 0xca:
		n, err := d.length(4)
		return d.float(float64(math.Float32frombits(uint32(n))), err)
	case 0xcb:
		n, err := d.length(8)
		return d.float(math.Float64frombits(n), err)
	case 0xcc, 0xcd, 0xce, 0xcf:
		n, err := d.length(1 << (c - 0xcc))
		if err != nil {
			return err
		}
		return d.number(strconv.FormatUint(n, 10))
	case 0xd0, 0xd1, 0xd2, 0xd3:
		size := uint64(1) << (c - 0xd0)
		n, err := d.length(size)
		if err != nil {
			return err
		}
		shift := 64 - 8*size
		return d.number(strconv.FormatInt(int64(n<<shift)>>shift, 10))
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return d.extension(1<<(c-0xd4), depth)
	case 0xd9, 0xda, 0xdb:
		n, err := d.length(1 << (c - 0xd9))
		if err != nil {
			return err
		}
		return d.text(n)
	case 0xdc, 0xdd:
		n, err := d.length(2 << (c - 0xdc))
		if err != nil {
			return err
		}
		return d.array(n, depth)
	case 0xde, 0xdf:
		n, err := d.length(2 << (c - 0xde))
		if err != nil {
			return err
		}
		return d.object(n, depth)
	}
	return d.fail(fmt.Sprintf("the byte %#x begins nothing", c))
}

func (d *decoder) number(text string) error {
	d.out = append(d.out, text...)
	return nil
}

// float writes a number as Python's JSON does, which has names for what is none.
func (d *decoder) float(f float64, err error) error {
	switch {
	case err != nil:
		return err
	case math.IsNaN(f):
		return d.number("NaN")
	case math.IsInf(f, 1):
		return d.number("Infinity")
	case math.IsInf(f, -1):
		return d.number("-Infinity")
	}
	return d.number(strconv.FormatFloat(f, 'g', -1, 64))
}

func (d *decoder) text(n uint64) error {
	b, err := d.take(n)
	if err != nil {
		return err
	}
	d.out = append(d.out, store.Quote(string(b))...)
	return nil
}

func (d *decoder) binary(n uint64) error {
	b, err := d.take(n)
	if err != nil {
		return err
	}
	d.out = append(d.out, foreign.BlobValue(b)...)
	return nil
}

func (d *decoder) array(n uint64, depth int) error {
	if n > uint64(len(d.in)-d.at) {
		return d.fail(fmt.Sprintf("%d elements are promised and %d bytes are left", n, len(d.in)-d.at))
	}
	d.out = append(d.out, '[')
	for i := range n {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		if err := d.value(depth + 1); err != nil {
			return err
		}
	}
	d.out = append(d.out, ']')
	return nil
}

func (d *decoder) object(n uint64, depth int) error {
	if n > uint64(len(d.in)-d.at)/2 {
		return d.fail(fmt.Sprintf("%d members are promised and %d bytes are left", n, len(d.in)-d.at))
	}
	d.out = append(d.out, '{')
	for i := range n {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		from := len(d.out)
		if err := d.value(depth + 1); err != nil {
			return err
		}
		if d.out[from] != '"' { // a key that is no text becomes the text of its JSON
			key := store.Quote(string(d.out[from:]))
			d.out = append(d.out[:from], key...)
		}
		d.out = append(d.out, ':')
		if err := d.value(depth + 1); err != nil {
			return err
		}
	}
	d.out = append(d.out, '}')
	return nil
}

// The extensions that LangGraph writes. The payload of each is msgpack again: the
// module and the name of a class, and what it is made from.
const (
	extConstructor0 = 0 // one argument
	extConstructor1 = 1 // a list of arguments
	extConstructor2 = 2 // named arguments
	extMethod       = 3 // an argument, and a method to call
	extPydantic1    = 4
	extPydantic2    = 5
	extNumpy        = 6
	extDelta        = 7
	extTime         = -1
)

func (d *decoder) extension(n uint64, depth int) error {
	code, err := d.take(1)
	if err != nil {
		return err
	}
	payload, err := d.take(n)
	if err != nil {
		return err
	}
	switch kind := int8(code[0]); kind {
	case extConstructor0, extConstructor1, extConstructor2, extMethod, extPydantic1, extPydantic2, extNumpy, extDelta:
		inner := decoder{in: payload}
		// The nesting goes on through the payload.
		if err := inner.value(depth + 1); err == nil && inner.at == len(payload) {
			d.out = append(d.out, described(kind, store.JSON(inner.out))...)
			return nil
		}
	case extTime:
		if t, ok := timestamp(payload); ok {
			d.out = append(d.out, store.Quote(t.UTC().Format(time.RFC3339Nano))...)
			return nil
		}
	}
	d.out = append(d.out, store.ObjectOf(store.Member{Key: "$ext", Value: store.JSON(strconv.Itoa(int(int8(code[0]))))},
		store.Member{Key: "value", Value: foreign.BlobValue(payload)})...)
	return nil
}

// described names the class that a value is of.
func described(kind int8, inner store.JSON) store.JSON {
	var parts []store.JSON
	for p := range inner.Elements() {
		parts = append(parts, p)
	}
	if kind == extNumpy || kind == extDelta || len(parts) < 3 {
		name := map[int8]string{extNumpy: "numpy.ndarray", extDelta: "delta"}[kind]
		if name == "" {
			name = "unknown"
		}
		return store.ObjectOf(store.Member{Key: "$type", Value: store.Quote(name)}, store.Member{Key: "value", Value: inner})
	}
	module, _ := parts[0].Text()
	name, _ := parts[1].Text()
	return store.ObjectOf(store.Member{Key: "$type", Value: store.Quote(module + "." + name)}, store.Member{Key: "value", Value: parts[2]})
}

// timestamp reads msgpack's own extension for times.
func timestamp(b []byte) (time.Time, bool) {
	switch len(b) {
	case 4:
		return time.Unix(int64(binary.BigEndian.Uint32(b)), 0), true
	case 8:
		n := binary.BigEndian.Uint64(b)
		return time.Unix(int64(n&(1<<34-1)), int64(n>>34)), true
	case 12:
		return time.Unix(int64(binary.BigEndian.Uint64(b[4:])), int64(binary.BigEndian.Uint32(b))), true
	}
	return time.Time{}, false
}

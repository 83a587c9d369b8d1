package jsondiff

import (
	"errors"
	"strings"

	"treering/store"
)

// ErrOtherValue means that a diff was to be applied to another value than the
// one it was made from.
var ErrOtherValue = errors.New("the value is not the one that the diff was made from")

// Apply returns what before became: the same JSON value as the one after, put
// together from what stayed the same and what the diff says. Strings compared by
// line are put together from their lines.
func (d *Diff) Apply(before store.JSON) (store.JSON, error) {
	if before != d.Before {
		return "", ErrOtherValue
	}
	if d.Empty() {
		return before, nil
	}
	var b strings.Builder
	type container struct {
		end   int32
		close byte
		first bool
	}
	var stack []container
	for n := 0; ; n++ {
		for len(stack) > 0 && int(stack[len(stack)-1].end) == n {
			b.WriteByte(stack[len(stack)-1].close)
			stack = stack[:len(stack)-1]
		}
		if n == len(d.Nodes) {
			return store.JSON(b.String()), nil
		}
		node := d.Nodes[n]
		if node.Op == Removed {
			continue
		}
		if len(stack) > 0 {
			top := &stack[len(stack)-1]
			if !top.first {
				b.WriteByte(',')
			}
			top.first = false
		}
		if key, ok := d.Key(n); ok {
			b.WriteString(string(key) + ":")
		}
		switch {
		case !d.Leaf(n):
			brackets := "[]"
			if d.B.Kind(int(node.B)) == store.Object {
				brackets = "{}"
			}
			b.WriteByte(brackets[0])
			stack = append(stack, container{node.Next, brackets[1], true})
		case node.Op == Same:
			b.WriteString(string(d.ValueA(n)))
		case node.text > 0 && d.B != nil:
			b.WriteString(string(store.Quote(d.after(n))))
		case node.text > 0:
			b.WriteString(d.after(n))
		default:
			b.WriteString(string(d.ValueB(n)))
		}
	}
}

// after is the text after of a node that was compared by line.
func (d *Diff) after(n int) string {
	var b strings.Builder
	for _, line := range d.Lines(n) {
		if line.Op == Removed {
			continue
		}
		b.WriteString(line.Text)
		if !line.Open {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

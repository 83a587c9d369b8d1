package jsondiff

import (
	"strconv"
	"strings"

	"treering/store"
)

// Path is where node n is, as a.b[3]["odd key"]; "" for the whole. Places in
// lists are those after, or those before for what was removed.
func (d *Diff) Path(n int) string {
	var chain []int
	for ; n > 0; n = int(d.Nodes[n].Up) {
		chain = append(chain, n)
	}
	var b strings.Builder
	for i := len(chain) - 1; i >= 0; i-- {
		switch node := d.Nodes[chain[i]]; {
		case node.IndexB >= 0:
			writeIndex(&b, int(node.IndexB))
		case node.IndexA >= 0:
			writeIndex(&b, int(node.IndexA))
		default:
			key, _ := d.Key(chain[i])
			writeKey(&b, key)
		}
	}
	return b.String()
}

// Key is the text of the key of node n, quoted as it is stored; ok is false where
// it is no member of an object.
func (d *Diff) Key(n int) (quoted store.JSON, ok bool) {
	switch node := d.Nodes[n]; {
	case node.Up < 0 || node.IndexA >= 0 || node.IndexB >= 0:
		return "", false
	case node.B >= 0:
		return d.B.JSON(int(node.B) - 1), true
	default:
		return d.A.JSON(int(node.A) - 1), true
	}
}

func writeIndex(b *strings.Builder, i int) {
	b.WriteString("[" + strconv.Itoa(i) + "]")
}

func writeKey(b *strings.Builder, quoted store.JSON) {
	key, _ := quoted.Text()
	if !bare(key) {
		b.WriteString("[" + string(quoted) + "]")
		return
	}
	if b.Len() > 0 {
		b.WriteByte('.')
	}
	b.WriteString(key)
}

// bare reports whether a key reads unambiguously without quotes.
func bare(key string) bool {
	for i := range len(key) {
		c := key[i]
		if c != '_' && c != '-' && c < 0x80 && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return key != ""
}

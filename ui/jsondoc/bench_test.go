package jsondoc

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"treering/store"
)

// giant is JSON of about that many bytes.
func giant(size int) store.JSON {
	var b strings.Builder
	b.WriteString(`{"items":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"rec-%06d","title":"python3 tools/port.py --module %d","score":%d.25,"tags":["a","b",%d],"note":null}`, i, i, i, i%13)
	}
	b.WriteString(`]}`)
	return store.JSON(b.String())
}

func BenchmarkOpen16MiB(b *testing.B) {
	j := giant(16 << 20)
	b.SetBytes(int64(len(j)))
	b.ReportAllocs()
	for b.Loop() {
		value(b, j)
	}
}

func BenchmarkFrameInTheMiddle(b *testing.B) {
	for name, j := range map[string]store.JSON{"16MiB": giant(16 << 20), "16KiB": giant(16 << 10), "word": words(16 << 20)} {
		b.Run(name, func(b *testing.B) {
			v := viewOf(b, docOf(b, j), 200, 60)
			v.cursor = place{line: v.stack.len / 2, off: len(j) / 2}
			v.settle()
			b.ReportAllocs()
			by := 59
			for b.Loop() {
				v.kept = nil
				v.Move(by)
				v.Draw(theme.Selected)
				by = -by
			}
		})
	}
}

func BenchmarkFold(b *testing.B) {
	v := viewOf(b, docOf(b, giant(16<<20)), 200, 60)
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			v.Deeper(-1)
			v.UnfoldAll()
		}
	})
	b.Run("one among all", func(b *testing.B) {
		v.Deeper(-1)
		v.Deeper(1)
		v.cursor = place{line: 3}
		for b.Loop() {
			v.Move(1)
			v.Toggle()
			v.Toggle()
		}
	})
}

func BenchmarkSearch16MiB(b *testing.B) {
	v := viewOf(b, docOf(b, giant(16<<20)), 200, 60)
	b.SetBytes(16 << 20)
	for b.Loop() {
		if _, ok, _ := v.Search("nowhere to be found", After)(context.Background()); ok {
			b.Fatal("found")
		}
	}
}

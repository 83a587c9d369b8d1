package treeview

import (
	"fmt"
	"runtime"
	"testing"

	"treering/internal/term"
)

// forest is a tree as a long session makes it: runs of twenty, then a fork.
func forest(n int) *Index {
	x := New(ByID)
	for i := range n {
		x.Add(numbered(i, forestParent(i)))
	}
	return x
}

func forestParent(i int) int {
	if i%20 == 0 {
		return i / 3
	}
	return i - 1
}

var sizes = [...]int{1_000, 1_000_000}

func BenchmarkBuild(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			given := make([]Entry, n)
			for i := range given {
				given[i] = numbered(i, forestParent(i))
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var f *Flat
			for b.Loop() {
				x := New(ByID)
				for _, e := range given {
					x.Add(e)
				}
				f = NewFlat(x, Runs)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB-heap")
			runtime.KeepAlive(given)
			runtime.KeepAlive(f)
		})
	}
}

func BenchmarkFlattenAfterFold(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := NewWidget(forest(n), Runs)
			w.SetHeight(58)
			w.Move(n / 2)
			for b.Loop() {
				w.ToggleFold()
			}
		})
	}
}

func BenchmarkWindow(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := NewWidget(forest(n), Runs)
			w.SetHeight(58)
			w.Move(n / 2)
			b.ReportAllocs()
			for b.Loop() {
				for i, r := range w.Visible() {
					_ = w.Flat().Gutter(i, Unicode(), DefaultLevels)
					_ = w.Index().Label(r, term.Profile{})
				}
			}
		})
	}
}

func BenchmarkMove(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := NewWidget(forest(n), Runs)
			w.SetHeight(58)
			w.Move(n / 2)
			d := 1
			for b.Loop() {
				w.Move(d)
				d = -d
			}
		})
	}
}

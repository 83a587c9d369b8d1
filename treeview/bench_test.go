package treeview

import (
	"bytes"
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

// window is a widget on such a tree, as large as a screen, in the middle.
func window(n int) *Widget {
	w := NewWidget(forest(n), Runs)
	w.SetHeight(58)
	w.Move(n / 2)
	return w
}

// every returns a set of each k-th node.
func every(x *Index, k int) Set {
	s := NewSet(x.Size())
	for r := 1; r <= x.Size(); r += k {
		s.Add(Ref(r))
	}
	return s
}

// sized runs a benchmark with a thousand nodes and with a million.
func sized(b *testing.B, bench func(b *testing.B, n int)) {
	for _, n := range [...]int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { bench(b, n) })
	}
}

// heapOf measures what build leaves on the heap, in bytes.
func heapOf(build func() any) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := build()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

func BenchmarkBuild(b *testing.B) {
	sized(b, func(b *testing.B, n int) {
		given := make([]Entry, n)
		for i := range given {
			given[i] = numbered(i, forestParent(i))
		}
		for b.Loop() {
			x := New(ByID)
			for _, e := range given {
				x.Add(e)
			}
			NewFlat(x, Runs)
		}
		b.ReportMetric(float64(heapOf(func() any { return NewFlat(forest(n), Runs) }))/1e6, "MB-heap")
		runtime.KeepAlive(given)
	})
}

func BenchmarkFlattenAfterFold(b *testing.B) {
	sized(b, func(b *testing.B, n int) {
		w := window(n)
		for b.Loop() {
			w.ToggleFold()
		}
	})
}

// With long runs folded and the newest branch first, as a session is shown.
func BenchmarkFlattenAsShown(b *testing.B) {
	sized(b, func(b *testing.B, n int) {
		w := window(n)
		w.SetRuns(12)
		w.SetActive(w.Index().ID(w.Index().LastHead()))
		for b.Loop() {
			w.ToggleFold()
		}
	})
}

func BenchmarkFlattenFiltered(b *testing.B) {
	for _, c := range []struct {
		name    string
		every   int
		context Context
	}{{"half", 2, Elided}, {"few", 10_000, Elided}, {"few-with-ancestors", 10_000, Shown}, {"half-with-ancestors", 2, Shown}} {
		b.Run(c.name, func(b *testing.B) {
			sized(b, func(b *testing.B, n int) {
				w := window(n)
				match := every(w.Index(), c.every)
				for b.Loop() {
					w.SetFilter(match, c.context)
				}
			})
		})
	}
}

func BenchmarkWindow(b *testing.B) {
	sized(b, func(b *testing.B, n int) {
		w := window(n)
		g := Unicode()
		b.ReportAllocs()
		for b.Loop() {
			for i, r := range w.Visible() {
				_ = w.Flat().Gutter(i, g, DefaultLevels)
				_ = w.Index().Label(r, term.Profile{})
				_ = w.Flat().Note(i, g, term.Profile{})
				_ = w.TagText(r, term.Profile{})
			}
		}
	})
}

func BenchmarkMove(b *testing.B) {
	sized(b, func(b *testing.B, n int) {
		w := window(n)
		d := 1
		for b.Loop() {
			w.Move(d)
			d = -d
		}
	})
}

// All titles, looking for what one of them in a thousand has.
func BenchmarkScanTitles(b *testing.B) {
	sized(b, func(b *testing.B, n int) {
		x := New(ByID)
		for i := range n {
			e := numbered(i, forestParent(i))
			if i%1000 == 999 {
				e.Title = "step with a needle in it"
			}
			x.Add(e)
		}
		needle := []byte("needle")
		for b.Loop() {
			hits := 0
			x.ScanTitles(0, Ref(n+1), func(_ Ref, title []byte) bool {
				if bytes.Contains(title, needle) {
					hits++
				}
				return true
			})
			if hits != n/1000 {
				b.Fatal(hits)
			}
		}
	})
}

// The first screen of hits.
func BenchmarkFirstHits(b *testing.B) {
	sized(b, func(b *testing.B, n int) {
		x := forest(n)
		needle := []byte("length")
		for b.Loop() {
			hits := 0
			x.ScanTitles(0, Ref(n+1), func(_ Ref, title []byte) bool {
				if bytes.Contains(title, needle) {
					hits++
				}
				return hits < 58
			})
		}
	})
}

// The next match, the whole tree away.
func BenchmarkFindFarAway(b *testing.B) {
	sized(b, func(b *testing.B, n int) {
		w := window(n)
		var s Set
		s.Add(w.cursor)
		for b.Loop() {
			if wrapped, ok := w.Find(1, s.Has); !ok || !wrapped {
				b.Fatal("not found")
			}
		}
	})
}

// Depth and ancestors of a tree that changed.
func BenchmarkAncestry(b *testing.B) {
	sized(b, func(b *testing.B, n int) {
		x := forest(n)
		for b.Loop() {
			x.version++
			x.Depth(1)
		}
	})
}

func BenchmarkCompare(b *testing.B) {
	for _, n := range [...]int{100, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := New(ByID)
			x.Add(numbered(0, 0))
			for i := 1; i <= 2*n; i++ {
				p := i - 1
				if i == n+1 {
					p = 0
				}
				e := numbered(i, p)
				e.Title = fmt.Sprint("step ", (i-1)%n, i == n/2)
				x.Add(e)
			}
			for b.Loop() {
				if c := Compare(x, Ref(n+1), Ref(2*n+1), CompareOptions{}); c.Ahead != n || c.First < 0 {
					b.Fatal(c.Ahead, c.First)
				}
			}
		})
	}
}

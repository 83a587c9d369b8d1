package query

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"treering/store"
)

// manyTitles are titles such as commands make.
func manyTitles(n int) []string {
	verbs := []string{"make CFLAGS=-O3 all", "make bench", "apt-get install -y build-essential", "git clone https://example.org/repository", "python3 -m pytest tests", "echo done"}
	titles := make([]string, n)
	for i := range titles {
		titles[i] = fmt.Sprintf("%s x%d", verbs[i%len(verbs)], i)
	}
	return titles
}

// A million titles: all of them, and until the first hit is known.
func BenchmarkSearch(b *testing.B) {
	titles := manyTitles(1_000_000)
	for _, text := range []string{"bench", "mkbnch", `"make bench"`, "kind:run bench", "nothing-like-it"} {
		m := bound1(b, text)
		b.Run("all/"+text, func(b *testing.B) {
			for b.Loop() {
				if err := Run(context.Background(), len(titles), 0, nodeWorker(m, titles), func(Chunk) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(titles)), "ns/title")
		})
	}
	m, enough := bound1(b, "bench"), errors.New("enough")
	b.Run("first hits", func(b *testing.B) {
		for b.Loop() {
			err := Run(context.Background(), len(titles), 0, nodeWorker(m, titles), func(c Chunk) error {
				if len(c.Hits) > 0 {
					return enough
				}
				return nil
			})
			if !errors.Is(err, enough) {
				b.Fatal(err)
			}
		}
	})
}

func bound1(b *testing.B, text string) *Matcher {
	b.Helper()
	q := parsed(b, text, Nodes)
	m, err := q.Bind(Env{Now: noon})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// One row, which allocates nothing.
func BenchmarkMatch(b *testing.B) {
	j := store.JSON(`{"command":"make -j2","exit_code":0,"user":{"label":"first"},"ts":"2026-11-30T11:59:00Z"}`)
	row := &NodeRow{ID: "n4", Parent: text("n2"), Kind: "run", Title: "make -O3 Bench", Data: data(j)}
	for _, text := range []string{"bench", `"O3"`, "kind:run", "data.exit_code=0", "data.user.label~IRS", "since:10m", "kind:run data.exit_code>=0 or bench"} {
		m := bound1(b, text)
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Match(row)
			}
		})
	}
}

func BenchmarkScore(b *testing.B) {
	p := NewPattern("mkbnch")
	for b.Loop() {
		p.Score("apt-get update && make CFLAGS=-O3 all bench")
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse(`kind:run data.user.label=first (since:10m or "make bench") not depth>3`, Nodes); err != nil {
			b.Fatal(err)
		}
	}
}

// The shape of a million nodes.
func BenchmarkBindShape(b *testing.B) {
	tree := make(forest, 1_000_000)
	for i := range tree {
		tree[i] = int32(i) - int32(i%3)
	}
	for _, text := range []string{"depth>3", "heads()", "descendants(n500000)"} {
		q := parsed(b, text, Nodes)
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				if _, err := q.Bind(Env{Tree: tree}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	j := store.JSON(`{"exit_code":0,"user":{"label":"first"},"items":[1,2],"ts":"2026-11-30T11:59:00Z"}`)
	row := &NodeRow{ID: "n2", Parent: text("n1"), Kind: "run", Title: "make -O3 Bench", Ref: 2, Data: data(j)}
	for _, text := range []string{
		"bench", "жь", `"O3"`, "kind:run parent:n1", "title:bench", "data.exit_code=0", "data.user.label~IRS", "data.items.1>=2", "since:10m", "depth>0 heads() descendants(n1)", "not (a or b)",
		"has:data.user", "",
	} {
		q := parsed(t, text, Nodes)
		m, err := q.Bind(Env{Now: noon, Tree: forest{0, 1}})
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { m.Match(row) }); n > 0 {
			t.Errorf("%q allocates %v times a row", text, n)
		}
	}
}

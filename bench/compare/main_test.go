package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseBenchmarks(t *testing.T) {
	got := samples{}
	err := parseBenchmarks([]byte(`goos: linux
cpu: some-thing-2
BenchmarkCommit/full/64-2         	    6400	     39612 ns/op	     25245 commits/s	       801.5 p50-us
BenchmarkMemoryLoad               	  200000	        31.5 ns/op	       0 B/op	       0 allocs/op
PASS
`), got)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]float64{
		"Commit/full/64 ns/op": 39612, "Commit/full/64 commits/s": 25245, "Commit/full/64 p50-us": 801.5,
		"MemoryLoad ns/op": 31.5, "MemoryLoad allocs/op": 0,
	} {
		if v, ok := got.median(key); !ok || v != want {
			t.Errorf("%s: %v, %v; want %v", key, v, ok, want)
		}
	}
}

func TestParseReferenceRefusesOtherLines(t *testing.T) {
	got := samples{}
	if err := parseReference([]byte("a/b\t12.5\tms\n"), got); err != nil || got["a/b"][0] != 12.5 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"a/b 12.5 ms\n", "a/b\tmany\tms\n"} {
		if err := parseReference([]byte(bad), samples{}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestCells(t *testing.T) {
	ours := samples{"A commits/s": {90, 400, 110}, "B ns/op": {3e6}, "C allocs/op": {0}}
	reference := samples{"a": {50}, "b": {6}}
	for _, c := range []struct {
		row  row
		want string
	}{
		{row{"a", "commits/s", "A", "commits/s", 1, "a", true, goal{factor: 2}}, "a 110 50.0 commits/s 2.20x 2x met"},
		{row{"a", "commits/s", "A", "commits/s", 1, "a", true, goal{factor: 3}}, "a 110 50.0 commits/s 2.20x 3x missed"},
		{row{"b", "ms", "B", "ns/op", 1e-6, "b", false, goal{bound: 2}}, "b 3.00 6.00 ms 2.00x 2 ms missed"},
		{row{"c", "allocs", "C", "allocs/op", 1, "", false, goal{bound: none}}, "c 0  allocs  0 allocs met"},
	} {
		got, err := c.row.cells(ours, reference, true)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("got  %q\nwant %q", text, c.want)
		}
	}
	if _, err := (row{ours: "D", metric: "ns/op"}).cells(ours, reference, true); err == nil {
		t.Error("a benchmark that did not run was taken")
	}
}

// The rows are looked up by their names, so no two of a group may share one.
func TestRowsAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range groups() {
		for _, r := range g.rows {
			key := g.name + "/" + r.name
			if seen[key] {
				t.Errorf("two rows %q", key)
			}
			seen[key] = true
		}
	}
}

func TestReplaceFigures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures.md")
	if err := os.WriteFile(path, []byte("head\n"+figuresBegin+"old\n"+figuresEnd+"tail\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := replaceFigures(path, []byte(markdown([][]string{{"a", "1"}}))); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "head\n" + figuresBegin + "\n|  | ours | reference | unit | better by | goal |  |\n| --- | ---: | ---: | --- | ---: | --- | --- |\n| a | 1 |\n\n" + figuresEnd + "tail\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := os.WriteFile(path, []byte("head\ntail\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replaceFigures(path, nil); err == nil {
		t.Error("a file without the marks was taken")
	}
}

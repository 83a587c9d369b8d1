package query

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func everyThird() func(int) Result {
	return func(i int) Result {
		switch i % 3 {
		case 0:
			return Yes
		case 1:
			return NoTime
		}
		return No
	}
}

func TestRun(t *testing.T) {
	for _, n := range []int{0, 1, 2, 99, 100, 101, 12345} {
		for _, chunk := range []int{1, 100, 0} {
			at, noTime := 0, 0
			var hits []int32
			err := Run(t.Context(), n, chunk, everyThird, func(c Chunk) error {
				if c.From != at || c.To <= c.From {
					t.Errorf("%d rows by %d: from %d to %d after %d", n, chunk, c.From, c.To, at)
				}
				at = c.To
				hits = append(hits, c.Hits...)
				noTime += c.NoTime
				return nil
			})
			if err != nil || at != n || len(hits) != (n+2)/3 || noTime != (n+1)/3 {
				t.Errorf("%d rows by %d: %v, %d looked at, %d hits, %d without a time", n, chunk, err, at, len(hits), noTime)
			}
			for i, h := range hits {
				if int(h) != 3*i {
					t.Fatalf("hit %d is %d", i, h)
				}
			}
		}
	}
}

// Work ends within a chunk when nobody wants it any more.
func TestRunIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var looked atomic.Int64
	err := Run(ctx, 1<<30, 1<<28, func() func(int) Result {
		return func(int) Result {
			if looked.Add(1) == 1000 {
				cancel()
			}
			return Yes
		}
	}, func(Chunk) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n, most := looked.Load(), int64(1000+checkEvery*runtime.GOMAXPROCS(0)); n > most {
		t.Errorf("%d rows were looked at, %d after it was cancelled", n, n-1000)
	}
	// Before it began.
	if err := Run(ctx, 10, 1, everyThird, func(Chunk) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := Run(ctx, 0, 1, everyThird, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestRunEndsWithTheFirstError(t *testing.T) {
	stop := errors.New("enough")
	got := 0
	err := Run(t.Context(), 1_000_000, 10, everyThird, func(Chunk) error {
		if got++; got == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || got != 3 {
		t.Errorf("%v after %d chunks", err, got)
	}
}

// A panic reaches whoever started the run, who can restore a terminal.
func TestRunPanics(t *testing.T) {
	defer func() {
		p := recover()
		err, ok := p.(error)
		if !ok || !strings.Contains(err.Error(), "boom") || !strings.Contains(err.Error(), "run_test.go") {
			t.Errorf("recovered %v", p)
		}
	}()
	_ = Run(t.Context(), 100, 10, func() func(int) Result { return func(int) Result { panic("boom") } }, func(Chunk) error { return nil })
	t.Error("Run returned")
}

// Workers share one matcher.
func TestRunWithAMatcher(t *testing.T) {
	titles := manyTitles(20_000)
	m, err := parsed(t, `bench kind:run not "x7"`, Nodes).Bind(Env{})
	if err != nil {
		t.Fatal(err)
	}
	var want, got []int32
	row := NodeRow{Kind: "run"}
	for i, title := range titles {
		if row.Title = title; m.Match(&row) == Yes {
			want = append(want, int32(i))
		}
	}
	err = Run(t.Context(), len(titles), 500, nodeWorker(m, titles), func(c Chunk) error { got = append(got, c.Hits...); return nil })
	if err != nil || len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("%v: %d hits, want %d", err, len(got), len(want))
	}
}

func nodeWorker(m *Matcher, titles []string) func() func(int) Result {
	return func() func(int) Result {
		row := NodeRow{Kind: "run"}
		return func(i int) Result {
			row.Title = titles[i]
			return m.Match(&row)
		}
	}
}

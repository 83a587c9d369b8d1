package tracefeed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"treering/store"
)

func ring(indexes ...int64) []store.TraceEntry {
	out := make([]store.TraceEntry, len(indexes))
	for i, n := range indexes {
		out[i] = store.TraceEntry{Index: n, Entry: store.JSON(fmt.Sprintf(`{"event_kind":"E%d","timestamp":%d,"context_out":{"n":%d}}`, n, 10*n, n))}
	}
	return out
}

func TestRingGauge(t *testing.T) {
	full := make([]int64, 200)
	for i := range full {
		full[i] = int64(i) + 250
	}
	for _, c := range []struct {
		indexes []int64
		want    string
	}{
		{nil, "no steps"},
		{[]int64{0}, "1 of 1"},
		{[]int64{0, 1, 2}, "3 of 3"},
		{full, "200 of 450, 250 dropped"},
		{[]int64{5, 6, 9}, "3 of 10, 5 dropped, 2 missing"},
		{[]int64{0, 2}, "2 of 3, 1 missing"},
		{[]int64{9, 3, 4}, "3 of 10, 3 dropped, 4 missing"},
		{[]int64{4, 4, 5}, "3 steps, 1 with an index that is not their own"},
		{[]int64{-1, 0}, "2 steps, 1 with an index that is not their own"},
	} {
		if got := Measure(ring(c.indexes...)).String(); got != c.want {
			t.Errorf("%v: %q, want %q", c.indexes, got, c.want)
		}
	}
}

func TestStepsMeasureTheTimeSinceTheStepBefore(t *testing.T) {
	entries := ring(3, 4, 6)
	entries = append(entries,
		store.TraceEntry{Index: 7, Bad: &store.RowError{Table: "trace", Key: "7"}},
		store.TraceEntry{Index: 8, Entry: `{"timestamp":"noon"}`},
		store.TraceEntry{Index: 9, Entry: `{"timestamp":95.5}`},
		store.TraceEntry{Index: 10, Entry: `{"timestamp":95.25}`},
	)
	type measured struct {
		Index           int64
		At, Took        float64
		Timed, Measured bool
	}
	var got []measured
	for _, s := range Steps(entries, nil) {
		got = append(got, measured{s.Index, s.At, s.Took, s.Timed, s.Measured})
	}
	want := []measured{
		{3, 30, 0, true, false}, // the step before was dropped
		{4, 40, 10, true, true},
		{6, 60, 0, true, false}, // 5 is missing
		{7, 0, 0, false, false}, // cannot be read
		{8, 0, 0, false, false}, // has no number for a time
		{9, 95.5, 0, true, false},
		{10, 95.25, -0.25, true, true}, // the clock went back
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStepsTakesOverWhatItRead(t *testing.T) {
	first := Steps(ring(0, 1, 2), nil)
	for i := range first {
		first[i].Note = "read before"
	}
	next := ring(1, 2, 3)
	next[1].Entry = `{"event_kind":"other"}`
	var notes []string
	for _, s := range Steps(next, first) {
		notes = append(notes, s.EventKind+" "+s.Note)
	}
	if diff := cmp.Diff([]string{"E1 read before", "other ", "E3 "}, notes); diff != "" {
		t.Error(diff)
	}
}

func TestDuration(t *testing.T) {
	for s, want := range map[float64]string{
		0: "+0s", 0.0001: "+0s", 0.001: "+0.001s", 0.25: "+0.25s", 1: "+1s", 1.5: "+1.5s", 1.257: "+1.26s", 59.99: "+59.99s",
		59.996: "+1m00s", 62: "+1m02s", 3599.6: "+1h00m", 3660: "+1h01m", 86399: "+1d00h", 90000: "+1d01h", -0.25: "-0.25s",
		1e20: "+1.16e+15d", math.Inf(1): "?",
	} {
		if got := Duration(s); got != want {
			t.Errorf("%v: %s, want %s", s, got, want)
		}
	}
}

func TestDiffStepSaysWhatItComparesWith(t *testing.T) {
	entries := ring(0, 1, 3)
	entries = append(entries,
		store.TraceEntry{Index: 4, Entry: `{"context_in":{"a":1},"context_out":{"a":2}}`},
		store.TraceEntry{Index: 5, Entry: `{"event_kind":"bare"}`},
		store.TraceEntry{Index: 6, Entry: `{"context_out":{}}`},
	)
	steps := Steps(entries, nil)
	for i, want := range []struct {
		before  Before
		changes int
	}{{Start, 1}, {Held, 1}, {Lost, 0}, {Given, 1}, {Unrecorded, 0}, {Lost, 0}} {
		d, err := DiffStep(t.Context(), steps, i)
		if err != nil {
			t.Fatal(err)
		}
		changes := 0
		if d.Diff != nil {
			changes = d.Diff.Counts.Added + d.Diff.Counts.Changed
		}
		if d.Before != want.before || changes != want.changes || d.Before.Known() != (d.Diff != nil) {
			t.Errorf("step %d: before %d with %d changes, want %+v", steps[i].Index, d.Before, changes, want)
		}
	}
	if d, err := DiffStep(t.Context(), Steps(ring(250, 251), nil), 0); d.Before.String() != "before: evicted" || d.Diff != nil || err != nil {
		t.Errorf("first step of a trimmed ring: %q, %v", d.Before, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	long := store.JSON("[" + strings.Repeat("1,", 1<<15) + "1]")
	entry := store.ObjectOf(store.Member{Key: "context_in", Value: "[]"}, store.Member{Key: "context_out", Value: long})
	if _, err := DiffStep(ctx, Steps([]store.TraceEntry{{Index: 7, Entry: entry}}, nil), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a comparison that nobody waits for: %v", err)
	}
}

// script is a watcher that answers from a list and a clock that each wait moves.
type script struct {
	answers []any // a token or an error
	now     time.Time
	waits   []time.Duration
}

func (s *script) ChangeToken(context.Context) (string, error) {
	if len(s.answers) == 0 {
		return "", errors.New("the script is over")
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	if err, ok := a.(error); ok {
		return "", err
	}
	return a.(string), nil
}

func (s *script) sleep(ctx context.Context, d time.Duration) error {
	s.now = s.now.Add(d)
	s.waits = append(s.waits, d)
	if len(s.answers) == 0 {
		return context.Canceled
	}
	return ctx.Err()
}

func TestPollReportsChangesOnly(t *testing.T) {
	s := &script{answers: []any{"a", "a", "a", "b", "b", "c"}}
	p := NewPoll(s, PollOptions{Now: func() time.Time { return s.now }, Sleep: s.sleep})
	p.Prime(t.Context())
	for range 2 {
		if u, err := p.Next(t.Context()); err != nil || !u.Changed || u.Err != nil || !u.Since.IsZero() {
			t.Fatalf("%+v, %v", u, err)
		}
	}
	if _, err := p.Next(t.Context()); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if len(s.waits) != 6 || s.waits[0] != DefaultInterval {
		t.Errorf("waits %v", s.waits)
	}
}

func TestPollWithoutAFirstStateReportsTheFirstOne(t *testing.T) {
	s := &script{answers: []any{errors.New("busy"), "a"}}
	p := NewPoll(s, PollOptions{Now: func() time.Time { return s.now }, Sleep: s.sleep})
	p.Prime(t.Context())
	if u, err := p.Next(t.Context()); err != nil || !u.Changed {
		t.Fatalf("%+v, %v", u, err)
	}
}

func TestPollBacksOffAndSaysSinceWhen(t *testing.T) {
	busy, gone := errors.New("busy"), errors.New("gone")
	s := &script{answers: []any{"a", busy, busy, gone, gone, gone, gone, gone, gone, "a", "a"}}
	p := NewPoll(s, PollOptions{Now: func() time.Time { return s.now }, Sleep: s.sleep})
	p.Prime(t.Context())
	u, _ := p.Next(t.Context())
	since := time.Time{}.Add(DefaultInterval)
	if !errors.Is(u.Err, busy) || !u.Since.Equal(since) {
		t.Fatalf("first failure: %+v", u)
	}
	if u, _ = p.Next(t.Context()); !errors.Is(u.Err, gone) || !u.Since.Equal(since) {
		t.Fatalf("another reason: %+v", u)
	}
	u, _ = p.Next(t.Context())
	if u.Err != nil || u.Changed || !u.Since.Equal(since) {
		t.Fatalf("recovery: %+v", u)
	}
	ms := time.Millisecond
	want := []time.Duration{250 * ms, 500 * ms, 1000 * ms, 2000 * ms, 4000 * ms, 8000 * ms, 8000 * ms, 8000 * ms, 8000 * ms}
	if diff := cmp.Diff(want, s.waits); diff != "" {
		t.Error(diff)
	}
	if _, err := p.Next(t.Context()); !errors.Is(err, context.Canceled) || s.waits[len(s.waits)-1] != DefaultInterval {
		t.Errorf("%v, waits %v", err, s.waits)
	}
}

// bellows is a watcher that can be waited for.
type bellows struct {
	script
	waited []string
}

func (b *bellows) Wait(ctx context.Context, token string) (string, error) {
	b.waited = append(b.waited, token)
	return b.ChangeToken(ctx)
}
func (b *bellows) Noticing() string                             { return "" }
func (b *bellows) Identity(ctx context.Context) (string, error) { return "", nil }

// A store that can be waited for is not asked: after each piece of news there is one
// frame's rest, and after a failure the pauses of any other store.
func TestPollWaitsForAStoreThatTells(t *testing.T) {
	s := &bellows{script: script{answers: []any{"a", "b", "c", errors.New("gone"), errors.New("gone"), "d", "e", "f"}}}
	p := NewPoll(s, PollOptions{Frame: 20 * time.Millisecond, Now: func() time.Time { return s.now }, Sleep: s.sleep})
	s.now = time.Unix(0, 0)
	p.Prime(t.Context())
	var news []string
	for range 5 {
		u, err := p.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		news = append(news, fmt.Sprint(u.Changed, u.Err, !u.Since.IsZero()))
	}
	if diff := cmp.Diff([]string{"true <nil> false", "true <nil> false", "false gone true", "true <nil> true", "true <nil> false"}, news); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, s.waited); diff != "" {
		t.Error(diff)
	}
	ms := time.Millisecond
	if diff := cmp.Diff([]time.Duration{20 * ms, 20 * ms, 500 * ms, 1000 * ms, 20 * ms}, s.waits); diff != "" {
		t.Error(diff)
	}
}

func TestPollChecksWithoutAWait(t *testing.T) {
	gone := errors.New("gone")
	s := &script{answers: []any{"a", "a", "b", gone, gone, "b"}}
	p := NewPoll(s, PollOptions{Now: func() time.Time { return s.now }, Sleep: s.sleep})
	s.now = time.Unix(0, 0)
	p.Prime(t.Context())
	since := s.now
	for i, want := range []Update{{}, {Changed: true}, {Err: gone, Since: since}, {}, {Since: since}} {
		if u, err := p.Check(t.Context()); err != nil || u != want {
			t.Errorf("check %d: %+v, %v; want %+v", i, u, err, want)
		}
	}
	if len(s.waits) > 0 {
		t.Errorf("waits %v", s.waits)
	}
}

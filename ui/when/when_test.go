package when

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDistance(t *testing.T) {
	for s, want := range map[float64]string{
		0: "0s", 59.9: "59s", 60: "1m", 3599: "59m", 3600: "1h", 86399: "23h", 86400: "1d", 176 * 86400: "176d",
		-61: "1m", math.Inf(1): "ages", math.NaN(): "?",
	} {
		if got := Distance(s, true); got != want {
			t.Errorf("%v: %s, want %s", s, got, want)
		}
	}
	if got := Distance(42, false); got != "<1m" {
		t.Error(got)
	}
}

func TestClock(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for s, want := range map[float64]string{
		Seconds(now) + 61.5:  "12:01:01",
		Seconds(now) - 86400: "2026-01-01 12:00:00",
		1e300:                "1e+300",
		math.Inf(-1):         "-inf",
	} {
		if got := Clock(s, now, time.UTC, 0); got != want {
			t.Errorf("%v: %s, want %s", s, got, want)
		}
	}
	if got := Clock(Seconds(now)+0.25, now, time.UTC, 3); got != "12:00:00.250" {
		t.Error(got)
	}
}

// The text stays the same until the change that was announced, and is another
// right after it.
func TestChangeIsWhenTheTextChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moment := rapid.Float64Range(-4e5, 4e5).Draw(t, "moment")
		fine := rapid.Bool().Draw(t, "fine")
		wait := Change(moment, fine)
		if wait <= 0 && math.Abs(moment) > 1e-9 {
			t.Fatalf("waits %v", wait)
		}
		text := Distance(moment, fine)
		if early := moment - wait + 5e-3; wait > 1e-2 && (early > 0) == (moment > 0) {
			if got := Distance(early, fine); got != text {
				t.Fatalf("%v: %s turns %s before %v", moment, text, got, wait)
			}
		}
		late := moment - wait - 2e-3
		if (late > 0) != (moment > 0) {
			return // it went from due to overdue, which other words tell
		}
		if got := Distance(late, fine); got == text {
			t.Fatalf("%v: still %s after %v", moment, text, wait)
		}
	})
}

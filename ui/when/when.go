// Package when puts times into words, and says when the words will change.
package when

import (
	"math"
	"strconv"
	"time"

	"treering/store"
)

// Epoch converts epoch seconds. ok is false for what no clock shows: NaN,
// infinities, and years outside 1 to 9999.
func Epoch(seconds float64) (t time.Time, ok bool) {
	if math.IsNaN(seconds) || seconds < -62135596800 || seconds >= 253402300800 {
		return time.Time{}, false
	}
	whole := math.Floor(seconds)
	return time.Unix(int64(whole), int64((seconds-whole)*1e9)), true
}

// Seconds is a time as epoch seconds.
func Seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// Clock prints epoch seconds as a time of day, with the date where it is not
// today's, and fractions of a second where digits asks for them. What is no time
// is printed as the number it is.
func Clock(seconds float64, now time.Time, zone *time.Location, digits int) string {
	t, ok := Epoch(seconds)
	if !ok {
		return store.FormatFireAt(seconds)
	}
	t = t.In(zone)
	format := "15:04:05"
	if digits > 0 {
		format += "." + "000000"[:min(digits, 6)]
	}
	if t.Format(time.DateOnly) != now.In(zone).Format(time.DateOnly) {
		format = "2006-01-02 " + format
	}
	return t.Format(format)
}

// Distance puts a span of seconds into its largest unit: "42s", "5m", "3h",
// "176d". Under a minute it is "<1m" unless fine is asked for. It rounds down
// and takes no account of the sign.
func Distance(seconds float64, fine bool) string {
	s := math.Abs(seconds)
	switch {
	case math.IsNaN(s):
		return "?"
	case s < 60 && !fine:
		return "<1m"
	case s < 60:
		return strconv.Itoa(int(s)) + "s"
	case s < 3600:
		return strconv.Itoa(int(s)/60) + "m"
	case s < 86400:
		return strconv.Itoa(int(s)/3600) + "h"
	case s < 1e12:
		return strconv.FormatInt(int64(s)/86400, 10) + "d"
	}
	return "ages"
}

// Change returns after how many seconds Distance will print something else.
// moment is the difference from now to the time told: positive in the future.
func Change(moment float64, fine bool) float64 {
	s := math.Abs(moment)
	unit := 60.0
	switch {
	case math.IsNaN(s) || s >= 1e12:
		return math.Inf(1)
	case s < 60 && fine:
		unit = 1
	case s < 3600:
	case s < 86400:
		unit = 3600
	default:
		unit = 86400
	}
	into := s - math.Floor(s/unit)*unit
	if moment > 0 {
		// The distance shrinks: the text changes as soon as the whole unit is gone.
		if !fine && s < 60 {
			return s
		}
		return into + 1e-3
	}
	return unit - into
}

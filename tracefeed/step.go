package tracefeed

import (
	"math"
	"strconv"
	"strings"

	"treering/store"
)

// Step is one step of a ring, read, with what its neighbours tell about it.
type Step struct {
	store.Step
	Index int64
	Entry store.JSON      // as stored
	Bad   *store.RowError // set where the entry could not be read; then nothing else is known

	// At is the step's time in epoch seconds, where Timed. Took is the time since
	// the step before, where Measured: both have a time and none is missing between
	// them. It is negative where the clock went back.
	At, Took        float64
	Timed, Measured bool
}

// Steps reads a ring, oldest first. Steps of an earlier reading are taken over
// where the entry is the same, so that following a ring costs what is new in it.
func Steps(entries []store.TraceEntry, earlier []Step) []Step {
	out := make([]Step, len(entries))
	k := 0
	for i, e := range entries {
		for k < len(earlier) && earlier[k].Index < e.Index {
			k++
		}
		if k < len(earlier) && earlier[k].Index == e.Index && earlier[k].Entry == e.Entry && e.Bad == nil && earlier[k].Bad == nil {
			out[i] = earlier[k]
		} else {
			out[i] = read(e)
		}
		out[i].Took, out[i].Measured = 0, false
		if i > 0 && out[i].Timed && out[i-1].Timed && out[i-1].Index == e.Index-1 {
			out[i].Took, out[i].Measured = out[i].At-out[i-1].At, true
		}
	}
	return out
}

func read(e store.TraceEntry) Step {
	s := Step{Index: e.Index, Entry: e.Entry, Bad: e.Bad}
	if e.Bad != nil {
		return s
	}
	s.Step = e.Step()
	s.At, s.Timed = s.Timestamp.Float64()
	return s
}

// Duration prints seconds as "+0.25s", "+1m02s", "+3h05m", "+12d04h"; under a
// millisecond as "+0s". A negative one keeps its sign.
func Duration(seconds float64) string {
	sign := "+"
	if seconds < 0 {
		sign, seconds = "-", -seconds
	}
	switch s := seconds; {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return "?"
	case s < 0.0005:
		return sign + "0s"
	case s < 59.995:
		digits := strconv.FormatFloat(s, 'f', pick(s < 1, 3, 2), 64)
		return sign + strings.TrimSuffix(strings.TrimRight(digits, "0"), ".") + "s"
	case s < 3599.5:
		whole := int64(s + 0.5)
		return sign + strconv.FormatInt(whole/60, 10) + "m" + two(whole%60) + "s"
	case s < 86370:
		whole := int64(s/60 + 0.5)
		return sign + strconv.FormatInt(whole/60, 10) + "h" + two(whole%60) + "m"
	case s > 1e15:
		return sign + strconv.FormatFloat(s/86400, 'g', 3, 64) + "d"
	default:
		whole := int64(s/3600 + 0.5)
		return sign + strconv.FormatInt(whole/24, 10) + "d" + two(whole%24) + "h"
	}
}

func pick(yes bool, a, b int) int {
	if yes {
		return a
	}
	return b
}

func two(n int64) string {
	if n < 10 {
		return "0" + strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10)
}

package store

import (
	"math"
	"strconv"
	"strings"
)

// FormatFireAt prints a time as Python prints a float, which is how timer event
// ids hold it: shortest digits, ".0" for whole numbers, an exponent below 1e-4
// and from 1e16 up.
func FormatFireAt(t float64) string {
	if a := math.Abs(t); a != 0 && (a < 1e-4 || a >= 1e16) || math.IsInf(t, 0) || math.IsNaN(t) {
		s := strconv.FormatFloat(t, 'e', -1, 64)
		switch {
		case math.IsNaN(t):
			return "nan"
		case math.IsInf(t, 1):
			return "inf"
		case math.IsInf(t, -1):
			return "-inf"
		}
		return s
	}
	s := strconv.FormatFloat(t, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// TimeoutEventID is the id of the Timeout event that a sweep makes of a timer.
// It is deterministic, so that a double fire is deduplicated.
func TimeoutEventID(id, path string, fireAt float64) string {
	return "timeout:" + id + ":" + path + ":" + FormatFireAt(fireAt)
}

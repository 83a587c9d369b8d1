package query

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"treering/store"
)

// when is a point in time, or a distance from now.
type when struct {
	relative bool
	seconds  float64 // since the epoch; where relative, before now (negative: after)
}

// at is the point in epoch seconds.
func (w when) at(now float64) float64 {
	if w.relative {
		return now - w.seconds
	}
	return w.seconds
}

// parseWhen reads 10m, 1h30m, +2h (from now on), now, epoch seconds or
// milliseconds, or an ISO 8601 time.
func parseWhen(text string) (when, error) {
	if text == "now" {
		return when{relative: true}, nil
	}
	if at, ok := parseTime(text); ok {
		return when{seconds: at}, nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		if math.Abs(f) < leastEpoch {
			return when{}, errors.New("a span needs a unit: s, m, h, d or w")
		}
		return when{seconds: epochSeconds(f)}, nil
	}
	rest, ahead := strings.CutPrefix(text, "+")
	seconds, ok := parseSpan(rest)
	if !ok {
		return when{}, errors.New("the units of a span are s, m, h, d and w; one with a + lies ahead")
	}
	if ahead {
		seconds = -seconds
	}
	return when{relative: true, seconds: seconds}, nil
}

// leastEpoch is where a number begins to be epoch seconds, in 1973, and leastMillis
// where it begins to be milliseconds, in the year 5138 or also in 1973.
const (
	leastEpoch  = 1e8
	leastMillis = 1e11
)

func epochSeconds(n float64) float64 {
	if math.Abs(n) >= leastMillis {
		return n / 1000
	}
	return n
}

// parseSpan reads 90s, 1h30m, 1.5d.
func parseSpan(s string) (seconds float64, ok bool) {
	if s == "" {
		return 0, false
	}
	for s != "" {
		n := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if n <= 0 {
			return 0, false
		}
		amount, err := strconv.ParseFloat(s[:n], 64)
		if err != nil {
			return 0, false
		}
		unit := 0.0
		switch s[n] {
		case 's':
			unit = 1
		case 'm':
			unit = 60
		case 'h':
			unit = 3600
		case 'd':
			unit = 86400
		case 'w':
			unit = 7 * 86400
		default:
			return 0, false
		}
		seconds += amount * unit
		s = s[n+1:]
	}
	return seconds, !math.IsInf(seconds, 0)
}

// parseTime reads an ISO 8601 date, or date and time, with a T or a blank between
// them; without a zone it is UTC. It allocates nothing for a time that is one.
func parseTime(s string) (epoch float64, ok bool) {
	if len(s) < len("2006-01-02") || s[4] != '-' || s[7] != '-' || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	date, err := time.Parse("2006-01-02", s[:10])
	if err != nil {
		return 0, false
	}
	epoch = float64(date.Unix())
	if len(s) == 10 {
		return epoch, true
	}
	if s[10] != 'T' && s[10] != 't' && s[10] != ' ' {
		return 0, false
	}
	clock := s[11:]
	clock, zone, ok := cutZone(clock)
	if !ok || len(clock) < len("15:04") || clock[2] != ':' {
		return 0, false
	}
	hours, ok1 := twoDigits(clock[:2], 24)
	minutes, ok2 := twoDigits(clock[3:5], 59)
	if !ok1 || !ok2 {
		return 0, false
	}
	seconds := 0.0
	if rest := clock[5:]; rest != "" {
		if rest[0] != ':' || len(rest) < 3 {
			return 0, false
		}
		whole, ok := twoDigits(rest[1:3], 60)
		if !ok {
			return 0, false
		}
		seconds = float64(whole)
		if rest = rest[3:]; rest != "" {
			if rest[0] != '.' && rest[0] != ',' || len(rest) < 2 {
				return 0, false
			}
			part, scale := 0.0, 0.1
			for i := 1; i < len(rest); i++ {
				if rest[i] < '0' || rest[i] > '9' {
					return 0, false
				}
				part += float64(rest[i]-'0') * scale
				scale /= 10
			}
			seconds += part
		}
	}
	return epoch + float64(hours*3600+minutes*60) + seconds - zone, true
}

// cutZone parts a clock time from Z, +hh, +hhmm or +hh:mm, in seconds.
func cutZone(s string) (clock string, zone float64, ok bool) {
	if n := len(s) - 1; n >= 0 && (s[n] == 'Z' || s[n] == 'z') {
		return s[:n], 0, true
	}
	at := strings.LastIndexAny(s, "+-")
	if at < 0 {
		return s, 0, true
	}
	z := s[at+1:]
	if len(z) == 5 && z[2] == ':' {
		m, okM := twoDigits(z[3:], 59)
		h, okH := twoDigits(z[:2], 23)
		zone, ok = float64(h*3600+m*60), okM && okH
	} else if len(z) == 4 {
		m, okM := twoDigits(z[2:], 59)
		h, okH := twoDigits(z[:2], 23)
		zone, ok = float64(h*3600+m*60), okM && okH
	} else if len(z) == 2 {
		var h int
		h, ok = twoDigits(z, 23)
		zone = float64(h * 3600)
	}
	if s[at] == '-' {
		zone = -zone
	}
	return s[:at], zone, ok
}

func twoDigits(s string, most int) (int, bool) {
	if len(s) != 2 || s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9' {
		return 0, false
	}
	n := int(s[0]-'0')*10 + int(s[1]-'0')
	return n, n <= most
}

// TimeOf reads a value as a time: epoch seconds or, from 1e11 on, milliseconds, or
// an ISO 8601 string, in UTC where it names no zone. The answer is in epoch seconds.
func TimeOf(v store.JSON) (epoch float64, ok bool) {
	switch v.Kind() {
	case store.Number:
		f, ok := v.Float64()
		return epochSeconds(f), ok
	case store.String:
		s, _ := v.Text()
		return parseTime(strings.TrimSpace(s))
	default:
	}
	return 0, false
}

// DataTime is the time that a node's data names: the first of ts, timestamp and
// created_at that is one.
func DataTime(data store.JSON) (epoch float64, ok bool) {
	for _, key := range [...]string{"ts", "timestamp", "created_at"} {
		if v := data.Get(key); v != "" {
			if at, ok := TimeOf(v); ok {
				return at, true
			}
		}
	}
	return 0, false
}

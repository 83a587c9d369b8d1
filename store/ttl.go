package store

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ErrNotTTL: text that names no time to live at all.
var ErrNotTTL = errors.New("no time to live")

// ParseTTL reads a time to live as people write one: a number of seconds, a
// duration such as 90m or 7d, or none, which is nil. Text that is none of these is
// [ErrNotTTL]; a number that no time to live can be, -0 among them, is [ErrBadTTL].
func ParseTTL(text string) (*float64, error) {
	if strings.EqualFold(text, "none") {
		return nil, nil
	}
	seconds, err := ParseDecimal(text)
	if err != nil {
		if seconds, err = parseDuration(text); err != nil {
			return nil, fmt.Errorf("%q is %w: SECONDS, a DURATION like 90m or 7d, or none", text, ErrNotTTL)
		}
	}
	if seconds == 0 && strings.HasPrefix(text, "-") {
		return nil, &ValueError{"ttl", text + " is not a time to live: zero or more seconds, or none", ErrBadTTL}
	}
	return &seconds, CheckTTL(&seconds)
}

// parseDuration is time.ParseDuration with days.
func parseDuration(text string) (seconds float64, err error) {
	if number, ok := strings.CutSuffix(text, "d"); ok {
		days, err := ParseDecimal(number)
		return days * 24 * 60 * 60, err
	}
	d, err := time.ParseDuration(text)
	return d.Seconds(), err
}

// ParseDecimal reads a decimal number, without the underscores and the hexadecimal
// form that Go allows. The words for what is not finite are read too, so that they
// can be refused as values. A number too large for a float is infinite.
func ParseDecimal(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil
	}
	if err == nil && strings.ContainsAny(text, "_xXpP") && !math.IsInf(n, 0) && !math.IsNaN(n) {
		err = fmt.Errorf("%q is no decimal number", text)
	}
	return n, err
}

// Seconds is a TTL argument.
func Seconds(s float64) *float64 { return &s }

// CheckTTL refuses what no TTL can be, with [ErrBadTTL].
func CheckTTL(ttl *float64) error {
	if ttl != nil && (*ttl < 0 || math.IsNaN(*ttl) || math.IsInf(*ttl, 0)) {
		return &ValueError{"ttl", fmt.Sprintf("%v is not a time to live: zero or more seconds, or none", *ttl), ErrBadTTL}
	}
	return nil
}

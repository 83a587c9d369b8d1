package tracefeed

import "time"

// rateParts is into how many parts a rate divides its window: it forgets one after the
// other, so that it does not jump.
const rateParts = 20

// Rate counts what happens within a sliding window. The zero value has none; see
// [NewRate].
type Rate struct {
	part   time.Duration
	counts [rateParts + 1]int64 // by number of the part, modulo their number
	first  int64                // number of the part in which it began to count
	last   int64                // number of the newest part
	begun  bool
}

// NewRate returns a rate over the window, which is positive.
func NewRate(window time.Duration) *Rate { return &Rate{part: max(window/rateParts, 1)} }

// Add counts n at that time. A time before the window is not counted.
func (r *Rate) Add(n int64, at time.Time) {
	part := r.advance(at)
	if part > r.last-int64(len(r.counts)) {
		r.counts[slot(part)] += n
	}
}

// PerSecond is how many there were a second within the window before that time. While
// it counts for less than the window it goes by the time it does.
func (r *Rate) PerSecond(at time.Time) float64 {
	if !r.begun {
		return 0
	}
	now := max(r.advance(at), r.last)
	var n int64
	parts := min(now-r.first, rateParts)
	for i := now - parts; i <= now; i++ {
		n += r.counts[slot(i)]
	}
	// Of the newest part only what has passed of it counts.
	passed := time.Duration(at.UnixNano() - now*int64(r.part))
	span := time.Duration(parts)*r.part + min(max(passed, 0), r.part)
	return float64(n) / max(span, r.part).Seconds()
}

// advance forgets what is too old by then, and returns the part of the time.
func (r *Rate) advance(at time.Time) int64 {
	part := at.UnixNano() / int64(r.part)
	switch {
	case !r.begun:
		r.begun, r.first, r.last = true, part, part
	case part > r.last+int64(len(r.counts)):
		r.counts = [rateParts + 1]int64{}
		r.last = part
	default:
		for ; r.last < part; r.last++ {
			r.counts[slot(r.last+1)] = 0
		}
	}
	return part
}

func slot(part int64) int {
	n := int64(rateParts + 1)
	return int(((part % n) + n) % n)
}

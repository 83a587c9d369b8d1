package tracefeed

import (
	"context"

	"treering/store"
	"treering/store/jsondiff"
)

// Before says what a step's context is compared with.
type Before uint8

const (
	// Held: the context after the step before, which is in the ring.
	Held Before = iota
	// Given: the context before, which the step itself records.
	Given
	// Start: nothing; this is the first step there was.
	Start
	// Evicted: unknown, the ring dropped the step before.
	Evicted
	// Lost: unknown, the step before is missing from the middle of the ring, or
	// cannot be read or has no context.
	Lost
	// Unrecorded: the step itself has no context.
	Unrecorded
)

var beforeTexts = [...]string{
	Held: "", Given: "", Start: "before: nothing, the first step", Evicted: "before: evicted",
	Lost: "before: missing", Unrecorded: "context not recorded",
}

// String is what a screen says, "" where the comparison speaks for itself.
func (b Before) String() string { return beforeTexts[b] }

// Known reports whether there is something to compare with.
func (b Before) Known() bool { return b <= Start }

// StepDiff is what one step did to the context.
type StepDiff struct {
	Before Before
	Diff   *jsondiff.Diff // nil unless Before.Known
}

// DiffStep compares the context after step i with that before it. The only error
// is the context's.
func DiffStep(ctx context.Context, steps []Step, i int) (StepDiff, error) {
	s := steps[i]
	d := StepDiff{Before: Held}
	var before store.JSON
	switch {
	case s.Context == "":
		d.Before = Unrecorded
	case s.ContextIn != "":
		d.Before, before = Given, s.ContextIn
	case s.Index == 0:
		d.Before, before = Start, store.EmptyObject
	case i == 0:
		d.Before = Evicted
	case steps[i-1].Index != s.Index-1 || steps[i-1].Context == "":
		d.Before = Lost
	default:
		before = steps[i-1].Context
	}
	var err error
	if d.Before.Known() {
		d.Diff, err = jsondiff.Compare(ctx, before, s.Context)
	}
	return d, err
}

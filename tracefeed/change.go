package tracefeed

import "treering/store"

// Change is where something is different from what it was.
type Change struct {
	Step int // in the steps that were given
	// Certain: it changed in that very step. Otherwise steps are missing before it, or
	// do not tell, in one of which it may have been.
	Certain bool
}

// NextChange finds the first step after step from behind which something is different:
// with no path the state that the execution is in, else the value of its context at
// the path. Where step from itself does not tell, the next one that does counts as what
// it was.
func NextChange(steps []Step, from int, path ...string) (Change, bool) {
	if from < 0 || from >= len(steps) {
		return Change{}, false
	}
	was, known := valueAfter(steps[from], path)
	certain := true
	for i := from + 1; i < len(steps); i++ {
		certain = certain && steps[i].Index == steps[i-1].Index+1
		now, told := valueAfter(steps[i], path)
		switch {
		case !told:
			// A step without a state to go to stays where it was; one without a context says
			// nothing of it.
			certain = certain && len(path) == 0 && steps[i].Bad == nil
		case !known:
			was, known, certain = now, true, true
		case !store.Equal(was, now):
			return Change{i, certain}, true
		}
	}
	return Change{}, false
}

// valueAfter is the value after a step, where the step tells. A member that is not
// there is a value too, other than null.
func valueAfter(s Step, path []string) (value store.JSON, told bool) {
	if s.Bad != nil {
		return "", false
	}
	if len(path) == 0 {
		if s.To == nil {
			return "", false
		}
		return store.Quote(*s.To), true
	}
	if s.Context == "" {
		return "", false
	}
	return s.Context.At(path...), true
}

package store

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Checked is a commit after checking: everything encoded, nothing of the
// caller's left in it.
type Checked struct {
	ID       string
	Expected int64 // the version the caller holds
	// DefinitionID and Data are what the row will hold, with version Expected+1 in it.
	DefinitionID, Data string
	Emits              []EncodedEmit
	ProcessedEventID   *string
	Timers             []TimerOp
	Spawns             []Spawn
	Trace              JSON
}

// EncodedEmit is an emit as the outbox stores it.
type EncodedEmit struct {
	TargetID *string
	Event    string
}

// Validate refuses a commit that no backend takes: no execution, an empty id or a
// negative version, timers that are not finite ([ErrBadTime]), a trace step, a
// spawn context or event data that is no object ([ErrNotObject]) or no JSON. It
// copies and encodes nothing.
func (c Commit) Validate() error {
	if err := c.ValidateExceptVersion(); err != nil {
		return err
	}
	return CheckVersion(c.Execution.Version)
}

// ValidateExceptVersion is Validate without a look at the execution's Version. A
// store that shares the object with its callers reads that only under its own
// lock, and has [CheckVersion] for it.
func (c Commit) ValidateExceptVersion() error {
	if err := c.checkIdentity(); err != nil {
		return err
	}
	for i := range c.Emits {
		if err := c.Emits[i].Event.check(); err != nil {
			return fmt.Errorf("emit %d: %w", i, err)
		}
	}
	return c.checkCompanions()
}

func (c Commit) checkIdentity() error {
	e := c.Execution
	if e == nil {
		return &ValueError{"execution", "is missing", ErrEmptyID}
	}
	if e.ID == "" {
		return &ValueError{"execution id", "must not be empty", ErrEmptyID}
	}
	// A foreign row may hold a NUL in its id, and may be written; what no JSON can
	// hold may not, since the blob would then name another id than its row.
	foreign := e.members != nil && e.Version > 0
	if err := checkText("execution id", e.ID, foreign); err != nil {
		return err
	}
	if err := checkText("definition id", e.DefinitionID, foreign); err != nil {
		return err
	}
	if err := checkText("status", string(e.Status), foreign); err != nil {
		return err
	}
	if err := checkText("root path", e.RootPath, foreign); err != nil {
		return err
	}
	if err := checkOptional("parent id", e.ParentID); err != nil {
		return err
	}
	if err := checkOptional("child id", e.ChildID); err != nil {
		return err
	}
	if err := checkOptional("outcome", e.Outcome); err != nil {
		return err
	}
	if err := checkOptional("error", e.Error); err != nil {
		return err
	}
	if err := checkOptional("active path", e.ActivePath); err != nil {
		return err
	}
	if err := checkOptional("definition fqn", e.DefinitionFQN); err != nil {
		return err
	}
	return checkOptional("processed event id", c.ProcessedEventID)
}

func checkOptional(field string, text *string) error {
	if text == nil {
		return nil
	}
	return checkText(field, *text, true)
}

// CheckVersion refuses a version that no commit can follow, with [ErrBadVersion].
func CheckVersion(version int64) error {
	if version < 0 || version == math.MaxInt64 {
		return &ValueError{"version", fmt.Sprintf("%d cannot be followed by another", version), ErrBadVersion}
	}
	return nil
}

// CheckExecutionID refuses an id under which nothing can be written: an empty one
// ([ErrEmptyID]) and one that is not UTF-8 ([ErrNotText]). A NUL passes, since
// foreign rows may have one; a commit, which has the execution, knows better.
func CheckExecutionID(id string) error {
	if id == "" {
		return &ValueError{"execution id", "must not be empty", ErrEmptyID}
	}
	return checkText("execution id", id, true)
}

// checkText refuses what cannot stand in JSON unchanged.
func checkText(field, text string, nul bool) error {
	if isPlain(text) || utf8.ValidString(text) && (nul || strings.IndexByte(text, 0) < 0) {
		return nil
	}
	return &ValueError{field, "must be valid UTF-8 without NUL", ErrNotText}
}

// isPlain reports whether text is ASCII without NUL, as nearly all names are.
func isPlain(text string) bool {
	if len(text) < 8 {
		for i := range len(text) {
			if c := text[i]; c == 0 || c >= utf8.RuneSelf {
				return false
			}
		}
		return true
	}
	// The last eight bytes may have been looked at in part.
	last := len(text) - 8
	for i := 0; ; i = min(i+8, last) {
		if w := eight(text, i); (w|(w-ones)&^w)&highs != 0 {
			return false
		}
		if i == last {
			return true
		}
	}
}

func (c Commit) checkCompanions() error {
	for i := range c.Emits {
		em := &c.Emits[i]
		if err := checkText("event id", em.Event.ID, true); err != nil {
			return err
		}
		if err := checkText("event kind", em.Event.Kind, true); err != nil {
			return err
		}
		if err := checkOptional("emit target", em.TargetID); err != nil {
			return err
		}
	}
	for _, s := range c.Spawns {
		if err := checkText("child id", s.ChildID, false); err != nil {
			return err
		}
		if err := checkText("root path", s.RootPath, true); err != nil {
			return err
		}
	}
	for _, t := range c.Timers {
		if err := checkText("timer path", t.Path, false); err != nil {
			return err
		}
		if t.Action == Schedule {
			if err := CheckFireAt(t.FireAt); err != nil {
				return err
			}
		}
	}
	for _, s := range c.Spawns {
		if s.Context != "" {
			if err := checkField("spawn context", s.Context, Object); err != nil {
				return err
			}
		}
	}
	if c.Trace != "" {
		return CheckTrace(c.Trace)
	}
	return nil
}

// Check is Validate with everything encoded and copied.
func (c Commit) Check() (Checked, error) {
	if err := c.checkIdentity(); err != nil {
		return Checked{}, err
	}
	e := c.Execution
	if err := CheckVersion(e.Version); err != nil {
		return Checked{}, err
	}
	data, err := e.Encode(e.Version + 1)
	if err != nil {
		return Checked{}, fmt.Errorf("execution %q: %w", e.ID, err)
	}
	out := Checked{ID: e.ID, Expected: e.Version, DefinitionID: e.DefinitionID, Data: data, Trace: c.Trace}
	for i, em := range c.Emits {
		text, err := em.Event.Encode()
		if err != nil {
			return Checked{}, fmt.Errorf("emit %d: %w", i, err)
		}
		out.Emits = append(out.Emits, EncodedEmit{copyText(em.TargetID), string(text)})
	}
	if err := c.checkCompanions(); err != nil {
		return Checked{}, err
	}
	out.ProcessedEventID = copyText(c.ProcessedEventID)
	out.Timers = slices.Clone(c.Timers)
	out.Spawns = slices.Clone(c.Spawns)
	for i := range out.Spawns {
		if out.Spawns[i].Context == "" {
			out.Spawns[i].Context = EmptyObject
		}
	}
	return out, nil
}

func copyText(s *string) *string {
	if s == nil {
		return nil
	}
	t := *s
	return &t
}

// CheckTrace refuses a trace step that is not a JSON object.
func CheckTrace(entry JSON) error { return checkField("trace", entry, Object) }

// CheckFireAt refuses NaN and the infinities with [ErrBadTime].
func CheckFireAt(t float64) error {
	if math.IsNaN(t) || math.IsInf(t, 0) {
		return &ValueError{"fire_at", fmt.Sprintf("%v is not a time", t), ErrBadTime}
	}
	return nil
}
